//! Which subtrees of dense data are grown on a copy of their rows.
//!
//! The rows of a node lie scattered over columns that may exceed every cache, so each cell of the
//! node costs a cache miss. A copy brings the cells of the node's rows together, for all levels of
//! the subtree. The copy pays if these levels read more cells than are copied: a copy has all
//! columns, but a node reads only the columns that it draws.

use crate::data::{Columns, Dataset};
use crate::tuning::tuned;

tuned! {
    /// Most bytes of the ranks of a copy that stays in the second-level cache (bench `sweep`).
    fn near_bytes() -> usize = 1 << 20;
    /// A node that has this many times fewer rows than its data set is copied even if the copy
    /// exceeds [`near_bytes`]: each cache line that such a node reads holds one cell of the node.
    fn spread() -> usize = 16;
    /// Time that a level of the subtree saves on a copy per cell that it reads, as a share of the
    /// time to copy one cell (bench `sweep`).
    fn saved_per_level() -> f64 = 1.0;
}

/// The rule that says which subtrees of one data set are copied.
#[derive(Debug, Clone, Copy)]
pub struct Copies {
    max_samples: usize,
    max_near_samples: usize,
    /// Number of columns of the data set, divided by the number of columns that a node draws.
    n_features_per_draw: f64,
}

impl Copies {
    /// Makes the rule for a data set whose nodes draw `n_drawn` columns. Returns `None` if nothing
    /// is ever copied: if the data set is sparse or so small that all its cells stay near, or if
    /// `forced` forbids copies.
    pub fn of(data: &Dataset, n_drawn: usize, forced: Option<bool>) -> Option<Self> {
        let (n_samples, n_features) = (data.n_samples(), data.n_features());
        let Columns::Dense(columns) = data.columns() else { return None };
        if forced == Some(false) {
            return None;
        }
        if forced == Some(true) {
            // Every node but the root is copied, again at each level.
            let max_samples = n_samples.saturating_sub(1);
            return Some(Self { max_samples, max_near_samples: max_samples, n_features_per_draw: 0.0 });
        }
        let max_near_samples = near_bytes() * n_samples / columns.n_bytes();
        (n_samples > 2 * max_near_samples).then(|| Self {
            max_samples: max_near_samples.max(n_samples / spread()),
            max_near_samples,
            n_features_per_draw: n_features as f64 / n_drawn as f64,
        })
    }

    /// Whether the subtree of a node with `n_samples` rows is grown on a copy of them.
    pub fn admit(&self, n_samples: usize) -> bool {
        // A subtree of n rows has at least about log2(n) levels.
        self.admit_levels(n_samples, (n_samples as f64).log2())
    }

    /// Whether the subtree of a node with `n_samples` rows is grown on a copy of them, if only the
    /// nodes that one of `n_query` query rows reaches are visited.
    pub fn admit_visits(&self, n_samples: usize, n_query: usize) -> bool {
        // The cells that m query rows make the subtree read are the cells of log2(m) + 1 whole levels: the
        // first log2(m) levels may be visited as a whole, and below each of their nodes one path, along which
        // the number of rows halves, so that it adds up to one more level.
        self.admit_levels(n_samples, (n_samples as f64).log2().min((n_query as f64).log2() + 1.0))
    }

    fn admit_levels(&self, n_samples: usize, levels: f64) -> bool {
        // A copy that exceeds the cache serves log2(spread()) levels at most: subtrees with
        // spread() times fewer rows are copied again.
        let levels = if n_samples > self.max_near_samples { levels.min((spread() as f64).log2()) } else { levels };
        n_samples <= self.max_samples && levels * saved_per_level() > self.n_features_per_draw
    }
}
