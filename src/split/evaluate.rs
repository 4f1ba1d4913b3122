//! Offers the cuts of one filled column of a node. Here the storages, which fill columns, meet the
//! ways to cut a column: all thresholds, one random threshold, or subsets of categories.

use crate::criterion::Criterion;
use crate::params::Splitter;
use crate::split::best::Best;
use crate::split::node::{NodeColumn, NodeSearch, Outcome};
use crate::split::{categorical, random, scan};
use crate::tuning::tuned;

tuned! {
    /// The best conceivable split is only computed for nodes with up to this many rows (bench
    /// `sweep`).
    fn best_conceivable_up_to() -> usize = 16;
}

impl<C: Criterion> NodeSearch<'_, C> {
    /// Sets `features` to the numerical features that the node draws and that may vary in the node,
    /// in the order of the draw; and `categorical` to the categorical ones. `drawn` lists the
    /// features that the node draws; `None` means all.
    pub(crate) fn list_features(&self, drawn: Option<&[u32]>, features: &mut Vec<u32>, categorical: &mut Vec<u32>) {
        match drawn {
            Some(drawn) => {
                features.clear();
                features.extend_from_slice(drawn);
            }
            None => self.order.first(self.search.level, self.search.data.n_features() as u32, features),
        }
        features.retain(|&feature| !self.node.constants.contains(feature));
        categorical.clear();
        if self.search.data.has_categories() {
            categorical.extend(features.extract_if(.., |feature| self.search.data.is_categorical(*feature)));
        }
    }

    /// The best split that any feature could make of the rows of this node, see
    /// [`Bounded::best_conceivable`](crate::criterion::Bounded::best_conceivable). `None` if the
    /// node is too large, or if the criterion cannot compute that split cheaply.
    pub(crate) fn best_conceivable(&self, scan: &mut C::Scan) -> Option<C::Proof> {
        let samples = self.node.samples.ids();
        if samples.len() > best_conceivable_up_to() {
            return None;
        }
        self.search.criterion.best_conceivable(self.node.totals, samples, scan)
    }

    /// Offers the cuts of a column to `best`, unless the column has too few entries to win.
    pub(crate) fn evaluate(&self, column: NodeColumn<'_>, scan: &mut C::Scan, best: &mut Best<C>) -> Outcome {
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
