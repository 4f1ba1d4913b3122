//! The search for the best split of a node: fill a column, scan it, keep the best.
//!
//! *Fill* (`dense`, `sparse`) knows storage and makes a `NodeColumn`; *scan* (`scan`, `random`) knows the criterion
//! and offers candidates to a `Best`. They meet in the node column, so storages and criteria add up
//! instead of multiplying. The search reads samples and never moves them, which is what makes it parallel.
//!
//! Order of candidates, and so the tie rule: the exact score; then the position at which the node's permutation draws
//! the feature; then missing values on the right; then the lower threshold. It is total, so the order of evaluation
//! cannot show.
//!
//! Missing values have the last rank of their column, and rank 0 is free. So a cut that sends them right is an ordinary one,
//! the last of which parts them from all others; and cuts that send them left are those of the same column with the missing
//! values in front. Whoever searches a column looks at it both ways if the node has missing values there.

mod best;
mod by_column;
mod categorical;
mod dense;
mod draw;
pub mod folds;
pub mod limits;
mod random;
pub mod samples;
mod scan;
pub mod sparse;

pub use best::Candidate;
pub use by_column::ConstantFeatures;
pub use categorical::Sides;
pub use sparse::{Division, Effort, Heirs, Heritage, Wanted};

use std::sync::Arc;

use crate::criterion::Criterion;
use crate::data::{Columns, Dataset, Target};
use crate::error::Result;
use crate::params::{Splitter, ValidTreeParams};
use crate::rng::{NodeKey, Permutation, Side};
use crate::runtime::Runtime;
use crate::simd::Level;
use limits::Limits;
use samples::SampleSet;
use sparse::intersect::Entry;

use best::Best;
use draw::Drawn;

/// What stays the same in all nodes of a tree.
pub struct Search<'a, C> {
    /// The columns.
    pub data: &'a Dataset,
    /// The targets and weights, as they were given to the criterion.
    pub target: &'a Target,
    /// Targets, weights and what to minimise.
    pub criterion: &'a C,
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
        Ok(Self { data, target, criterion, params, total_weight, max_weight, min_weight_leaf, runtime, level })
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
        let &Self { data, target, params, total_weight, max_weight, min_weight_leaf, runtime, level, .. } = self;
        Search { data, target, criterion, params, total_weight, max_weight, min_weight_leaf, runtime, level }
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

/// Nodes up to this size may ask for the best conceivable split (bench `fit`).
const SUMMIT_UP_TO: usize = 16;

impl<C: Criterion> NodeSearch<'_, C> {
    /// Sets `features` to those that the node draws, `drawn` or all, and that may vary in it, in the order of the draw; and
    /// moves those that are categorical to a list of their own.
    fn list_features(&self, drawn: Option<&[u32]>, features: &mut Vec<u32>, categorical: &mut Vec<u32>) {
        match drawn {
            Some(drawn) => {
                features.clear();
                features.extend_from_slice(drawn);
            }
            None => self.order.first(self.search.data.n_features() as u32, features),
        }
        features.retain(|&feature| !self.node.constants.contains(feature));
        categorical.clear();
        if self.search.data.has_categories() {
            categorical.extend(features.extract_if(.., |feature| self.search.data.is_categorical(*feature)));
        }
    }

    /// The best conceivable split of a small node, see [`Bounded::best_conceivable`](crate::criterion::Bounded::best_conceivable).
    fn summit(&self, scan: &mut C::Scan) -> Option<C::Proof> {
        let samples = self.node.samples.ids();
        if samples.len() > SUMMIT_UP_TO {
            return None;
        }
        self.search.criterion.best_conceivable(self.node.totals, samples, scan)
    }

    /// Offers the candidates of a column to `best`.
    fn evaluate(&self, column: NodeColumn<'_>, scan: &mut C::Scan, best: &mut Best<C>) -> Outcome {
        if column.n_common > 0 && !best.may_win_with(column.entries.len()) && !column.entries.is_empty() {
            return Outcome::Hopeless;
        }
        if self.search.data.is_categorical(column.feature) {
            return categorical::search(*self, column, scan, best);
        }
        let score = match self.search.params.splitter {
            Splitter::Best => scan::best_cut(*self, column, scan, best),
            Splitter::Random => random::random_cut(*self, column, scan, best),
        };
        score.map_or(Outcome::Constant, Outcome::Highest)
    }
}

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

/// Scratch of one worker; assumed dirty unless a part says otherwise.
pub struct Scratch<C: Criterion> {
    scan: C::Scan,
    dense: dense::DenseScratch<C>,
    sparse: sparse::SearchScratch,
}

impl<C: Criterion> Scratch<C> {
    /// Scratch that fits any node of a tree.
    pub fn new(search: &Search<'_, C>) -> Self {
        let data = search.data;
        let sparse = match data.columns() {
            Columns::Dense(_) => sparse::SearchScratch::default(),
            Columns::Sparse(_) => sparse::SearchScratch::new(data.n_samples(), data.n_features()),
        };
        Self { scan: search.criterion.scan(), dense: dense::DenseScratch::new(search.criterion), sparse }
    }
}

/// The outcome of a search.
pub struct Found<C: Criterion> {
    /// The best split, if any is legal.
    pub best: Option<Candidate>,
    /// The features that are known not to vary in the node, and so in its children, where they are more than before.
    pub constants: Option<Arc<ConstantFeatures>>,
    /// What the children can take over.
    pub heritage: Option<Heritage<C>>,
}

impl<C: Criterion> Search<'_, C> {
    /// The best legal split of a node over the features it draws. `heritage` is what the node has taken over from
    /// its parent, if anything.
    pub fn best_split(
        &self,
        node: &Node<'_, C>,
        heritage: Option<Heritage<C>>,
        scratch: &mut Scratch<C>,
    ) -> Result<Found<C>> {
        let order = node.key.feature_order(self.data.n_features());
        let Drawn { features, constants } = self.draw(node, &order, scratch)?;
        let drawn = features.as_deref();
        if drawn.is_some_and(<[u32]>::is_empty) {
            return Ok(Found { best: None, constants, heritage });
        }
        let node = &Node { constants: constants.as_deref().unwrap_or(node.constants), ..*node };
        let at = NodeSearch { search: self, node, order: &order };
        let found = match self.data.columns() {
            Columns::Dense(columns) => dense::best_split(at, columns, drawn, scratch),
            Columns::Sparse(columns) => sparse::best_split(self, node, heritage, columns, &order, drawn, scratch),
        }?;
        if self.data.has_categories() {
            // Categorical columns are left half-way when the call is to end.
            self.runtime.check_interrupt()?;
        }
        Ok(Found { constants: found.constants.or(constants), ..found })
    }

    /// Divides the heritage of a node among its children.
    pub fn bequeath(
        &self,
        heritage: Option<Heritage<C>>,
        division: &Division<'_, C>,
        scratch: &mut Scratch<C>,
    ) -> Heirs<C> {
        match (heritage, self.data.columns()) {
            (None, _) | (_, Columns::Dense(_)) => Heirs { small: None, large: None },
            (Some(heritage), Columns::Sparse(columns)) => {
                heritage.divide(self, columns, division, &mut scratch.scan, &mut scratch.sparse.lane_map)
            }
        }
    }

    /// Entries that these rows store: cells, or nonzeros. O(rows).
    pub fn n_entries(&self, samples: &[u32]) -> usize {
        match self.data.columns() {
            Columns::Dense(_) => samples.len() * self.data.n_features(),
            Columns::Sparse(columns) => samples.iter().map(|&sample| columns.row_nnz(sample)).sum(),
        }
    }

    /// Moves the rows of a node that go left to its front; returns their number.
    pub fn partition(
        &self,
        samples: &mut SampleSet<'_>,
        split: &Candidate,
        heritage: Option<&Heritage<C>>,
        scratch: &mut Scratch<C>,
    ) -> usize {
        let Scratch { dense, sparse, .. } = scratch;
        let missing_rank = self.data.missing_rank(split.feature);
        match self.data.columns() {
            Columns::Dense(columns) => dense::partition(columns, samples, split, missing_rank, dense),
            Columns::Sparse(columns) => sparse::partition(columns, samples, split, missing_rank, heritage, sparse),
        }
    }

    /// Whether any cut with a row on either side is legal.
    fn all_legal(&self) -> bool {
        !C::FORBIDS_CUTS
            && self.params.min_samples_leaf <= 1
            && self.min_weight_leaf <= 0.0
            && self.params.monotonic_cst.is_none()
    }

    /// Whether a cut on a feature is legal, of which this side is pushed: both sides are large enough, and their predictions
    /// in the order that is asked for.
    #[inline]
    fn is_legal(
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

    /// What the searches with this scratch have cost since this was last asked.
    pub fn take_effort(&self, scratch: &mut Scratch<C>) -> Effort {
        std::mem::take(&mut scratch.sparse.effort)
    }
}
