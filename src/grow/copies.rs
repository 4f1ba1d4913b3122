//! Which subtrees of dense data are grown on a copy of their rows.
//!
//! The rows of a node lie scattered over columns that may exceed every cache, and each of its cells costs a cache miss. A
//! copy brings them together, for all levels below. It is worth its cost if those read more cells than there are to copy:
//! a node reads only the columns that it draws.

use crate::data::{Columns, Dataset};

/// Most cells of a copy that stays in the second-level cache: half of 1 MiB (bench `fit`).
const NEAR_CELLS: usize = 1 << 17;
/// A node with this many times fewer rows than the data is copied too: each of its cache lines then holds one of its cells.
const SPREAD: usize = 16;
/// What a level saves per cell that it reads, as a share of the cost of copying one (bench `fit`).
const SAVED_PER_LEVEL: f64 = 0.6;

/// The rule for one data set.
#[derive(Debug, Clone, Copy)]
pub struct Copies {
    max_samples: usize,
    max_near_samples: usize,
    /// Columns of the data per column that a node draws.
    n_features_per_draw: f64,
}

impl Copies {
    /// The rule, if there is anything to be copied: not if all cells are near enough.
    pub fn of(data: &Dataset, n_drawn: usize, forced: Option<bool>) -> Option<Self> {
        let (n_samples, n_features) = (data.n_samples(), data.n_features());
        let is_dense = matches!(data.columns(), Columns::Dense(_));
        if !is_dense || forced == Some(false) {
            return None;
        }
        if forced == Some(true) {
            // All but the root, again and again.
            let max_samples = n_samples.saturating_sub(1);
            return Some(Self { max_samples, max_near_samples: max_samples, n_features_per_draw: 0.0 });
        }
        let max_near_samples = NEAR_CELLS / n_features;
        (n_samples > 2 * max_near_samples).then(|| Self {
            max_samples: max_near_samples.max(n_samples / SPREAD),
            max_near_samples,
            n_features_per_draw: n_features as f64 / n_drawn as f64,
        })
    }

    /// Whether the subtree of a node with so many rows is to be grown on a copy.
    pub fn admit(&self, n_samples: usize) -> bool {
        // A subtree of n rows has some log2(n) levels or more.
        self.admit_levels(n_samples, (n_samples as f64).log2())
    }

    /// The same for a subtree of which only the nodes are visited that some of `n_query` query rows reach.
    pub fn admit_visits(&self, n_samples: usize, n_query: usize) -> bool {
        // Levels that are visited, as if whole: the first log2(m), and a path below each of their nodes, whose rows halve.
        self.admit_levels(n_samples, (n_samples as f64).log2().min((n_query as f64).log2() + 1.0))
    }

    fn admit_levels(&self, n_samples: usize, levels: f64) -> bool {
        // One that is not near will be copied again.
        let levels = if n_samples > self.max_near_samples { levels.min((SPREAD as f64).log2()) } else { levels };
        n_samples <= self.max_samples && levels * SAVED_PER_LEVEL > self.n_features_per_draw
    }
}
