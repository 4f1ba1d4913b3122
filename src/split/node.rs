//! A node to be split, and what the searches of all nodes of a tree share.

use crate::criterion::{self, Criterion};
use crate::data::Columns;
use crate::data::Dataset;
use crate::data::Target;
use crate::error::Result;
use crate::params::CriterionKind;
use crate::params::ValidTreeParams;
use crate::rng::NodeKey;
use crate::rng::Permutation;
use crate::rng::Side;
use crate::runtime::Runtime;
use crate::simd::Level;
use crate::split::limits;

use crate::split::constants::ConstantFeatures;
use crate::split::entries::Entry;
use crate::split::limits::Limits;
use crate::split::samples::SampleSet;

/// What stays the same in all nodes of a tree.
pub struct Search<'a, C> {
    /// The columns.
    pub data: &'a Dataset,
    /// The targets and weights, as they were given to the criterion.
    pub target: &'a Target,
    /// Targets, weights and what to minimise.
    pub criterion: &'a C,
    /// The kind of the criterion, the same in all subtrees.
    pub kind: CriterionKind,
    /// Hyperparameters.
    pub params: &'a ValidTreeParams,
    /// The weight of the root, in integer units.
    pub total_weight: u64,
    /// The largest weight of a sample, in integer units.
    pub max_weight: u64,
    /// Least weight of a child, in integer units.
    pub min_weight_leaf: f64,
    /// Threads and stop flag.
    pub runtime: &'a Runtime<'a>,
    /// Vector registers to use.
    pub level: Level,
}

impl<'a, C: Criterion> Search<'a, C> {
    /// The search of a tree whose root weighs `total_weight`. Fails if the target or the columns do not go with the
    /// monotonic constraints.
    pub fn new(
        data: &'a Dataset,
        target: &'a Target,
        criterion: &'a C,
        params: &'a ValidTreeParams,
        total_weight: u64,
        runtime: &'a Runtime<'a>,
    ) -> Result<Self> {
        limits::check(data, criterion, params)?;
        let max_weight = target.weights().max();
        let min_weight_leaf = params.min_weight_fraction_leaf * total_weight as f64;
        let level = params.force_level.unwrap_or_else(Level::widest);
        let kind = criterion::resolve(params.criterion, target);
        Ok(Self { data, target, criterion, kind, params, total_weight, max_weight, min_weight_leaf, runtime, level })
    }

    /// Sets the weight of the root.
    pub fn set_total_weight(&mut self, total_weight: u64) {
        self.total_weight = total_weight;
        self.min_weight_leaf = self.params.min_weight_fraction_leaf * total_weight as f64;
    }

    /// The search of a subtree of the same tree on a copy of its rows, but for the criterion, which
    /// [`with_criterion`](Search::with_criterion) adds.
    pub fn on_copy<'b>(&self, data: &'b Dataset, target: &'b Target) -> Search<'b, ()>
    where
        'a: 'b,
    {
        Search { data, target, ..self.with_criterion(&()) }
    }
}

impl<'a, C> Search<'a, C> {
    /// The same search with another criterion, which must be that of the same target.
    pub fn with_criterion<'b, D>(&self, criterion: &'b D) -> Search<'b, D>
    where
        'a: 'b,
    {
        let &Self { data, target, kind, params, total_weight, max_weight, min_weight_leaf, runtime, level, .. } = self;
        Search { data, target, criterion, kind, params, total_weight, max_weight, min_weight_leaf, runtime, level }
    }
}

impl<C> Clone for Search<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Search<'_, C> {}

/// A node to be split.
pub struct Node<'a, C: Criterion> {
    /// Its rows.
    pub samples: &'a SampleSet<'a>,
    /// Entries that its rows store: cells, or nonzeros.
    pub n_entries: usize,
    /// Their statistics.
    pub totals: &'a C::Totals,
    /// The key of its random choices.
    pub key: NodeKey,
    /// Features known not to vary in it.
    pub constants: &'a ConstantFeatures,
    /// Between what predictions must lie, if features are constrained.
    pub limits: Option<&'a Limits>,
}

/// A node, and what its search needs throughout.
pub(crate) struct NodeSearch<'a, C: Criterion> {
    pub search: &'a Search<'a, C>,
    pub node: &'a Node<'a, C>,
    /// The order in which the node draws features.
    pub order: &'a Permutation,
}

impl<C: Criterion> Clone for NodeSearch<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C: Criterion> Copy for NodeSearch<'_, C> {}

/// One column in a node: the rows of one common value, zero in a sparse column, are only counted.
#[derive(Clone, Copy)]
pub(crate) struct NodeColumn<'a> {
    pub feature: u32,
    /// Ascending for the scan; in any order for a random threshold.
    pub entries: &'a [Entry],
    /// Rows of the node that are in no entry.
    pub n_common: usize,
    /// The rank of those rows; no entry has it.
    pub common_rank: u32,
}

/// What has come of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Outcome {
    /// It does not vary in the node.
    Constant,
    /// It varies, and was not scanned: it is too sparse to win.
    Hopeless,
    /// The highest score of its legal cuts; minus infinity if none is legal.
    Highest(f64),
}

impl<C: Criterion> Search<'_, C> {
    /// How many features a node draws.
    pub fn n_drawn(&self) -> usize {
        self.params.max_features.min(self.data.n_features() as u64) as usize
    }

    pub(crate) fn draws_all(&self) -> bool {
        self.n_drawn() == self.data.n_features()
    }

    /// Entries that these rows store: cells, or nonzeros. O(rows).
    pub fn n_entries(&self, samples: &[u32]) -> usize {
        match self.data.columns() {
            Columns::Dense(_) => samples.len() * self.data.n_features(),
            Columns::Sparse(columns) => samples.iter().map(|&sample| columns.row_nnz(sample)).sum(),
        }
    }

    /// Whether any cut with a row on either side is legal.
    pub(crate) fn all_legal(&self) -> bool {
        !C::FORBIDS_CUTS
            && self.params.min_samples_leaf <= 1
            && self.min_weight_leaf <= 0.0
            && self.params.monotonic_cst.is_none()
    }

    /// Whether a cut on a feature is legal, of which this side is pushed: both sides are large enough, and their predictions
    /// in the order that is asked for.
    #[inline]
    pub(crate) fn is_legal(
        &self,
        node: &Node<'_, C>,
        feature: u32,
        (side, n_pushed): (Side, usize),
        (scan, pushed): (&C::Scan, C::Pushed),
    ) -> bool {
        let min = self.params.min_samples_leaf;
        let n_rest = node.samples.len() - n_pushed;
        if (n_pushed as u64) < min || (n_rest as u64) < min {
            return false;
        }
        let weight = C::pushed_weight(&pushed);
        let rest = self.criterion.weight(node.totals) - weight;
        if self.min_weight_leaf > 0.0 && !(weight as f64 >= self.min_weight_leaf && rest as f64 >= self.min_weight_leaf)
        {
            return false;
        }
        node.limits.is_none_or(|limits| {
            limits.allow(self.criterion, (node.totals, scan, pushed), self.params.constraint(feature), side)
        })
    }
}
