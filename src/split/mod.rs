//! The search for the best split of a node: fill a column, scan it, keep the best.
//!
//! *Fill* (`dense`, `sparse`) knows how columns are stored and makes a `NodeColumn`. *Scan*
//! (`scan`, `random`, `categorical`) knows the criterion and offers candidates to a `Best`.
//! Storages and criteria meet in the `NodeColumn` alone, so the code for them adds up instead of
//! multiplying. The search reads the rows of a node and never moves them, so several threads can
//! search the columns of one node.
//!
//! Candidates have a total order, which is also the tie rule: first the exact score; then the
//! position at which the node's permutation draws the feature; then, between cuts of one feature,
//! missing values on the right before missing values on the left; then the number of the order of
//! categories; then the lower threshold. As the order is total, the winner does not depend on the
//! order in which candidates are evaluated.
//!
//! In a column with missing values these have the last rank, and no value has rank 0. So a cut that
//! sends missing values right is an ordinary cut, and the last such cut parts them from all values.
//! A cut that sends missing values left is a cut of the same column with the missing values put in
//! front of all others. If a node has missing values in a column, the search looks at the column
//! both ways.

mod bar;
pub(crate) mod best;
mod by_column;
mod candidate;
mod categorical;
pub(crate) mod constants;
mod dense;
mod draw;
pub mod entries;
mod evaluate;
pub mod folds;
mod found;
pub mod limits;
mod node;
mod random;
pub mod samples;
mod scan;
pub mod sparse;
mod spread;
mod subsets;

pub(crate) use candidate::threshold_between;
pub use candidate::{Candidate, Cut, ThresholdRule};
pub use constants::ConstantFeatures;
pub use dense::small::{SmallForm, SmallNodeRows, SmallScratch, SmallSplit};
pub use found::Found;
pub use node::{Node, Search};
pub use sparse::heritage::{Division, Heirs, Heritage, Wanted};
pub use sparse::scratch::Effort;

use crate::criterion::Criterion;
use crate::data::Columns;
use crate::error::Result;
use draw::Drawn;
use node::NodeSearch;
use samples::SampleSet;
use sparse::scratch::SearchScratch;
use spread::Scans;

/// Scratch of one worker. Each search assumes that the scratch is dirty, except where a field says
/// otherwise.
pub struct Scratch<C: Criterion> {
    scans: Scans<C>,
    dense: dense::DenseScratch<C>,
    /// The most rows of a small subtree; 0 if there are none.
    pub most_small_rows: usize,
    /// Buffers for small subtrees, and for single nodes of few rows, of one output and small whole weights.
    pub small: SmallForm<C::Small>,
    /// Buffers for small subtrees of several outputs.
    pub several: SmallForm<C::Several>,
    /// Buffers for small subtrees with other weights than small integers.
    pub wide: SmallForm<C::Wide>,
    sparse: SearchScratch,
    /// How many nodes have been searched with it.
    n_searches: u64,
}

/// A search of a node, by its number among the searches with one [`Scratch`]. The partition of the node's
/// rows takes it, and uses what the search has left in the scratch, unless another search came between. No
/// other name of a node would do: folds have nodes of equal keys with different rows.
#[derive(Debug)]
#[must_use = "the rows of the node are partitioned next"]
pub struct Searched(u64);

#[cfg(test)]
impl Searched {
    /// No search has this number, so nothing in the scratch belongs to it.
    pub const NONE: Self = Self(0);
}

impl<C: Criterion> Scratch<C> {
    /// Makes scratch that is large enough for any node of a tree. Fails if there is not the memory
    /// for it.
    pub fn new(search: &Search<'_, C>) -> Result<Self> {
        let data = search.data;
        let sparse = match data.columns() {
            Columns::Dense(_) => SearchScratch::default(),
            Columns::Sparse(_) => SearchScratch::new(data.n_samples(), data.n_features())?,
        };
        let dense = dense::DenseScratch::new(search.criterion);
        Ok(Self {
            scans: Scans::new(search.criterion),
            most_small_rows: dense::small::most_rows(search, dense.has_packed()),
            dense,
            small: SmallForm::default(),
            several: SmallForm::default(),
            wide: SmallForm::default(),
            sparse,
            n_searches: 0,
        })
    }

    /// Marks the leftovers of the last search as not belonging to the node at hand.
    fn forget(&mut self) {
        self.dense.forget();
        self.sparse.winner.forget();
    }
}

impl<C: Criterion> Search<'_, C> {
    /// Finds the best legal split of a node over the features that the node draws. `heritage` is
    /// what the node has taken over from its parent's search, if anything.
    pub fn best_split(
        &self,
        node: &Node<'_, C>,
        heritage: Option<Heritage<C>>,
        scratch: &mut Scratch<C>,
    ) -> Result<(Found<C>, Searched)> {
        scratch.forget();
        scratch.n_searches += 1;
        let found = self.search_node(node, heritage, scratch)?;
        if self.data.has_categories() {
            // When the call is interrupted, the search of a categorical column ends early without
            // an error.
            self.runtime.check_interrupt()?;
        }
        Ok((found, Searched(scratch.n_searches)))
    }

    fn search_node(
        &self,
        node: &Node<'_, C>,
        heritage: Option<Heritage<C>>,
        scratch: &mut Scratch<C>,
    ) -> Result<Found<C>> {
        if let Some(found) = self.search_small_node(node, scratch) {
            return Ok(found);
        }
        let order = node.key.feature_order(self.data.n_features());
        if let Columns::Sparse(columns) = self.data.columns()
            && sparse::by_positions::is_cheapest(self, node)
        {
            let at = NodeSearch { search: self, node, order: &order };
            let Scratch { scans, sparse, .. } = scratch;
            return sparse::by_positions::search_positions(at, columns, &mut scans.own, sparse);
        }
        let Drawn { features, constants } = self.draw(node, &order, &mut scratch.sparse)?;
        let drawn = features.as_deref();
        if drawn.is_some_and(<[u32]>::is_empty) {
            return Ok(Found { best: None, constants, heritage });
        }
        let node = &Node { constants: constants.as_deref().unwrap_or(node.constants), ..*node };
        let at = NodeSearch { search: self, node, order: &order };
        let Scratch { scans, dense, sparse, .. } = scratch;
        let found = match self.data.columns() {
            Columns::Dense(columns) => dense::best_split(at, columns, drawn, scans, dense),
            Columns::Sparse(columns) => sparse::best_split(at, heritage, columns, drawn, scans, sparse),
        }?;
        Ok(Found { constants: found.constants.or(constants), ..found })
    }

    /// The best split of a node of few rows that is not visited on the walk down a small subtree, as trees of
    /// a limited number of leaves take turns. `None` if it is not searched as such a node.
    fn search_small_node(&self, node: &Node<'_, C>, scratch: &mut Scratch<C>) -> Option<Found<C>> {
        let is_small = (2..=scratch.most_small_rows).contains(&node.samples.ids().len());
        if !is_small || self.data.has_categories() {
            return None;
        }
        let Scratch { small, several, wide, .. } = scratch;
        let found = small.find(self, node).or_else(|| several.find(self, node)).or_else(|| wide.find(self, node))?;
        found.best.is_none_or(|best| self.is_within_limits(node, &best)).then_some(found)
    }

    /// Whether the limits of a node allow a split of its numbers. The search of small nodes knows no limits,
    /// but if they allow its split, that is also the best of all splits that they allow.
    fn is_within_limits(&self, node: &Node<'_, C>, split: &Candidate) -> bool {
        let (Some(limits), Columns::Dense(columns)) = (node.limits, self.data.columns()) else { return true };
        let constraint = self.params.constraint(split.feature);
        if constraint == 0 {
            return true;
        }
        let (column, missing_rank) = (columns.column(split.feature), self.data.missing_rank(split.feature));
        let goes_left = |&&sample: &&u32| split.goes_left(column.rank(sample), missing_rank);
        let left: Vec<u32> = node.samples.ids().iter().filter(goes_left).copied().collect();
        let left = self.criterion.totals(&left);
        let right = self.criterion.minus(node.totals, &left);
        limits.allow_children(self.criterion, (&left, &right), constraint)
    }

    /// Divides the heritage of a node among the node's children. Nodes of dense data have none.
    pub fn divide_heritage(
        &self,
        heritage: Option<Heritage<C>>,
        division: &Division<'_, C>,
        scratch: &mut Scratch<C>,
    ) -> Heirs<C> {
        match (heritage, self.data.columns()) {
            (None, _) | (_, Columns::Dense(_)) => Heirs { small: None, large: None },
            (Some(heritage), Columns::Sparse(columns)) => {
                heritage.divide(self, columns, division, &mut scratch.scans.own, &mut scratch.sparse.slot_map)
            }
        }
    }

    /// Moves the rows that go left to the front of the node's rows. Returns how many rows go left.
    pub fn partition(
        &self,
        samples: &mut SampleSet<'_>,
        Searched(number): Searched,
        split: &Candidate,
        heritage: Option<&Heritage<C>>,
        scratch: &mut Scratch<C>,
    ) -> usize {
        if number != scratch.n_searches {
            scratch.forget();
        }
        let Scratch { dense, sparse, .. } = scratch;
        let missing_rank = self.data.missing_rank(split.feature);
        match self.data.columns() {
            Columns::Dense(columns) => dense::partition(columns, samples, split, missing_rank, dense),
            Columns::Sparse(columns) => {
                sparse::partition::partition(columns, samples, split, missing_rank, heritage, sparse)
            }
        }
    }

    /// Returns how much the searches with this scratch have read since the last call of this
    /// function.
    pub fn take_effort(&self, scratch: &mut Scratch<C>) -> Effort {
        std::mem::take(&mut scratch.sparse.effort)
    }
}
