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

mod bar;
mod best;
mod by_column;
mod candidate;
mod categorical;
mod constants;
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

pub use candidate::{Candidate, Cut};
pub use categorical::Sides;
pub use constants::ConstantFeatures;
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

/// Scratch of one worker; assumed dirty unless a part says otherwise.
pub struct Scratch<C: Criterion> {
    scans: Scans<C>,
    dense: dense::DenseScratch<C>,
    sparse: SearchScratch,
}

impl<C: Criterion> Scratch<C> {
    /// Scratch that fits any node of a tree.
    pub fn new(search: &Search<'_, C>) -> Self {
        let data = search.data;
        let sparse = match data.columns() {
            Columns::Dense(_) => SearchScratch::default(),
            Columns::Sparse(_) => SearchScratch::new(data.n_samples(), data.n_features()),
        };
        Self { scans: Scans::new(search.criterion), dense: dense::DenseScratch::new(search.criterion), sparse }
    }
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
        let Drawn { features, constants } = self.draw(node, &order, &mut scratch.sparse)?;
        let drawn = features.as_deref();
        if drawn.is_some_and(<[u32]>::is_empty) {
            return Ok(Found { best: None, constants, heritage });
        }
        let node = &Node { constants: constants.as_deref().unwrap_or(node.constants), ..*node };
        let at = NodeSearch { search: self, node, order: &order };
        let Scratch { scans, dense, sparse } = scratch;
        let found = match self.data.columns() {
            Columns::Dense(columns) => dense::best_split(at, columns, drawn, scans, dense),
            Columns::Sparse(columns) => sparse::best_split(at, heritage, columns, drawn, scans, sparse),
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
                heritage.divide(self, columns, division, &mut scratch.scans.own, &mut scratch.sparse.lane_map)
            }
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
            Columns::Sparse(columns) => {
                sparse::partition::partition(columns, samples, split, missing_rank, heritage, sparse)
            }
        }
    }

    /// What the searches with this scratch have cost since this was last asked.
    pub fn take_effort(&self, scratch: &mut Scratch<C>) -> Effort {
        std::mem::take(&mut scratch.sparse.effort)
    }
}
