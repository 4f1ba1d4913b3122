//! The columns of a node of few rows side by side (see `criterion::small::columns`).

use super::{SmallNode, SmallScratch};
use crate::criterion::Criterion;
use crate::criterion::small::{COLUMNS, FEW_ROWS, MARGIN, SmallRows};
use crate::params::{FeatureSampling, Splitter};
use crate::split::candidate::Candidate;
use crate::split::dense::cells::beside;
use crate::split::dense::lanes::load_lane;
use crate::split::node::Search;
use crate::tuning::tuned;

tuned! {
    /// From this many drawn columns on, those of a node of few rows are searched side by side (bench
    /// `sweep`).
    fn side_by_side_from() -> usize = 3;
}

/// Whether nodes of few rows may search their columns side by side: where all of these are searched
/// for their best cuts, and are numbers, none of them missing.
pub(super) fn are_side_by_side<C: Criterion>(search: &Search<'_, C>) -> bool {
    search.params.splitter == Splitter::Best
        && search.params.feature_sampling == FeatureSampling::All
        && search.n_drawn() >= side_by_side_from()
        && !search.data.has_categories()
        && !search.data.has_missing()
}

impl<C: Criterion> SmallNode<'_, C> {
    /// Searches at most [`COLUMNS`] columns of a node of `n` rows, at most [`FEW_ROWS`]. Returns how many
    /// of them vary.
    pub(super) fn search_columns(&mut self, scratch: &mut SmallScratch<C>, n: usize, features: &[u32]) -> u32 {
        let mut ranks = [[0; COLUMNS]; FEW_ROWS];
        let ranks = &mut ranks[..n];
        for (column, &feature) in features.iter().enumerate() {
            load_lane(self.columns.column(feature), &scratch.searched[..n], ranks, column, |rank, _| rank);
        }
        let best = scratch.rows.best_by_column(self.search.level, ranks);
        let mut n_varying = 0;
        for (column, &feature) in features.iter().enumerate() {
            let (score, last) = (best.scores[column], best.lasts[column]);
            n_varying += u32::from(score > f64::NEG_INFINITY);
            let is_low = |other: f64| score < other * (1.0 - MARGIN);
            if score == f64::NEG_INFINITY || self.best.as_ref().is_some_and(|best| is_low(best.cut.score)) {
                continue;
            }
            if best.are_close[column] != 0 {
                self.search_column(scratch, n, feature);
                continue;
            }
            let cut = scratch.rows.cut_of_column(&best, column);
            if self.beats(&cut) {
                let of_column = &mut scratch.ranks[..n];
                of_column.iter_mut().zip(&*ranks).for_each(|(rank, ranks)| *rank = ranks[column]);
                let (_, above, n_left) = beside(self.search.level, of_column, last);
                self.take((cut, Candidate::between(feature, last, above, n_left)), None);
            }
        }
        n_varying
    }
}
