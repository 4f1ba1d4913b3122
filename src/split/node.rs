//! A node to be split, and what the searches of all nodes of a tree share.

use crate::criterion::{self, Criterion};
use crate::data::Entry;
use crate::data::{Dataset, Target};
use crate::error::Result;
use crate::params::{CriterionKind, FeatureSampling, ValidTreeParams};
use crate::rng::{NodeKey, Permutation, Side};
use crate::runtime::Runtime;
use crate::simd::Level;
use crate::split::constants::ConstantFeatures;
use crate::split::limits::{self, Limits};
use crate::split::samples::SampleSet;

/// Everything that the searches of all nodes of a tree share.
pub struct Search<'a, C> {
    /// The data set whose columns are searched.
    pub data: &'a Dataset,
    /// The targets and weights from which `criterion` was made.
    pub target: &'a Target,
    /// The criterion that splits minimise, with targets and weights in its own form.
    pub criterion: &'a C,
    /// The kind of `criterion`, resolved once per tree: subtrees on copies of their rows must use
    /// the same kind.
    pub kind: CriterionKind,
    /// The hyperparameters of the tree, already checked.
    pub params: &'a ValidTreeParams,
    /// The total weight of the root's rows, in integer units.
    pub total_weight: u64,
    /// The largest weight of a sample, in integer units.
    pub max_weight: u64,
    /// The least weight that a child may have, in integer units; not necessarily a whole number.
    pub min_weight_leaf: f64,
    /// The threads and the stop flag of the call.
    pub runtime: &'a Runtime<'a>,
    /// The width of the vector registers that loops use.
    pub level: Level,
}

impl<'a, C: Criterion> Search<'a, C> {
    /// Makes the search of a tree whose root weighs `total_weight`. Fails if monotonic constraints
    /// are given that this target or a categorical column rules out.
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

    /// The search of another tree on the same columns and targets, whose root weighs
    /// `total_weight`.
    #[must_use]
    pub fn with_total_weight(&self, total_weight: u64) -> Self {
        Self { total_weight, min_weight_leaf: self.params.min_weight_fraction_leaf * total_weight as f64, ..*self }
    }

    /// Makes the search of a subtree of this tree whose rows have been copied to `data` and
    /// `target`. Its criterion is still missing; [`with_criterion`](Search::with_criterion) adds
    /// one.
    pub fn on_copy<'b>(&self, data: &'b Dataset, target: &'b Target) -> Search<'b, ()>
    where
        'a: 'b,
    {
        Search { data, target, ..self.with_criterion(&()) }
    }
}

impl<'a, C> Search<'a, C> {
    /// Returns this search with another criterion, which must belong to this search's target.
    pub fn with_criterion<'b, D>(&self, criterion: &'b D) -> Search<'b, D>
    where
        'a: 'b,
    {
        let &Self { data, target, kind, params, total_weight, max_weight, min_weight_leaf, runtime, level, .. } = self;
        Search { data, target, criterion, kind, params, total_weight, max_weight, min_weight_leaf, runtime, level }
    }
}

impl<'a, C> Search<'a, C> {
    /// Returns this search with another runtime: other threads, another stop flag.
    pub fn with_runtime<'b>(&self, runtime: &'b Runtime<'b>) -> Search<'b, C>
    where
        'a: 'b,
    {
        Search { runtime, ..*self }
    }
}

impl<C> Clone for Search<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Search<'_, C> {}

/// A node whose best split is searched.
pub struct Node<'a, C: Criterion> {
    /// The training rows of the node.
    pub samples: &'a SampleSet<'a>,
    /// How many entries the rows store: cells of dense data, nonzeros of sparse data.
    pub n_entries: usize,
    /// The statistics of these rows.
    pub totals: &'a C::Totals,
    /// The key from which the node's random choices are derived.
    pub key: NodeKey,
    /// The features that are known not to vary in the node, or may not split it.
    pub constants: &'a ConstantFeatures,
    /// The range in which predictions below the node must lie, if any feature is constrained.
    pub limits: Option<&'a Limits>,
}

/// The context of every step of the search of one node.
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

impl<C: Criterion> NodeSearch<'_, C> {
    /// Whether a feature may not split the node, although it may vary there: it may not interact with those
    /// above.
    #[inline]
    pub fn is_excluded(&self, feature: u32) -> bool {
        self.search.params.interaction_cst.is_some() && self.node.constants.contains(feature)
    }
}

/// One column in a node. Rows with the common value of the column (zero in a sparse column) are
/// only counted; every other row has an entry.
#[derive(Clone, Copy)]
pub(crate) struct NodeColumn<'a> {
    pub feature: u32,
    /// Ascending for a scan; in any order for a random threshold and for a categorical feature.
    pub entries: &'a [Entry],
    /// How many rows of the node have the common value, and so no entry.
    pub n_common: usize,
    /// The rank of the common value. No entry has this rank.
    pub common_rank: u32,
}

impl<'a> NodeColumn<'a> {
    /// The column in a node of `n_samples` rows. Rows without an entry have the common value.
    pub fn new(feature: u32, entries: &'a [Entry], n_samples: usize, common_rank: u32) -> Self {
        Self { feature, entries, n_common: n_samples - entries.len(), common_rank }
    }
}

/// The result of the search of one column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Outcome {
    /// The column does not vary in the node.
    Constant,
    /// No bound on the column's gain is known. Either the column has too few entries to win and was
    /// not scanned, or the feature is categorical and other subsets of the categories were not
    /// tried.
    Hopeless,
    /// No legal cut of the column has a higher score than this one; minus infinity if no cut is
    /// legal.
    Highest(f64),
}

impl<C: Criterion> Search<'_, C> {
    /// How many features each node draws: `max_features`, or all if there are fewer.
    pub fn n_drawn(&self) -> usize {
        self.params.max_features.min(self.data.n_features() as u64) as usize
    }

    /// Whether the features that a node draws are listed in the order of the draw.
    pub(crate) fn draws_in_order(&self) -> bool {
        self.params.feature_sampling == FeatureSampling::All
    }

    /// Whether each node may be split by every feature that varies in it.
    pub(crate) fn draws_all(&self) -> bool {
        self.n_drawn() == self.data.n_features()
            && self.params.max_tree_features.is_none()
            && self.params.interaction_cst.is_none()
    }

    /// Whether every cut that leaves at least one row on each side is legal, unless the criterion
    /// forbids it by its score.
    pub(crate) fn all_legal(&self) -> bool {
        self.params.min_samples_leaf <= 1
            && self.params.min_share_leaf <= 0.0
            && self.min_weight_leaf <= 0.0
            && self.params.monotonic_cst.is_none()
    }

    /// Whether a cut on `feature` is legal. The rows on the given side of the cut are the
    /// `n_pushed` pushed ones. Both sides must have enough rows and enough weight; if predictions
    /// are limited, the limits must allow the predictions of both sides.
    #[inline]
    pub(crate) fn is_legal(
        &self,
        node: &Node<'_, C>,
        feature: u32,
        (side, n_pushed): (Side, usize),
        (scan, pushed): (&C::Scan, C::Pushed),
    ) -> bool {
        let min = self.params.least_rows(node.samples.len());
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
