//! The columns of a node of few rows side by side, one per lane of a vector register.

use smallvec::SmallVec;

use super::SmallScratch;
use super::node::SmallNode;
use crate::criterion::Criterion;
use crate::criterion::small::{ByColumn, COLUMNS, FEW_ROWS, SmallRows};
use crate::params::{FeatureSampling, Splitter};
use crate::rng::Side;
use crate::split::dense::lanes::load_lane;
use crate::split::node::Search;
use crate::tuning::tuned;

tuned! {
    /// From this many drawn columns on, those of a node of few rows are searched side by side (bench
    /// `sweep`).
    fn side_by_side_from() -> usize = 3;
}

/// Whether nodes of few rows may search their columns side by side: where all of these are searched
/// for their best cuts, and are numbers.
pub(super) fn are_side_by_side<C: Criterion>(search: &Search<'_, C>) -> bool {
    search.params.splitter == Splitter::Best
        && search.params.feature_sampling == FeatureSampling::All
        && search.n_drawn() >= side_by_side_from()
        && !search.data.has_categories()
}

/// A column in one of the lanes.
#[derive(Clone, Copy)]
struct LaneColumn {
    feature: u32,
    /// The side to which missing values go, if the node has any in the column.
    missing: Option<Side>,
}

impl<C: Criterion> SmallNode<'_, C> {
    /// Searches the columns of a node of at most [`FEW_ROWS`]. Returns how many of them vary; `None` if the
    /// criterion searches columns one by one.
    ///
    /// A column with missing values in the node takes two lanes: one in which their rank is above all
    /// others, and one in which it is 0, below all others.
    pub(super) fn search_columns<R: SmallRows<C>>(
        &mut self,
        scratch: &mut SmallScratch<R>,
        features: &[u32],
    ) -> Option<u32> {
        let mut ranks = [[0; COLUMNS]; FEW_ROWS];
        let ranks = &mut ranks[..scratch.node.n_samples()];
        let load = |scratch: &SmallScratch<R>, ranks: &mut [ByColumn<u32>], lane, feature| {
            load_lane(self.columns.column(feature), scratch.samples(), ranks, lane, |rank| rank);
        };
        let mut n_varying = 0;
        if !self.search.data.has_missing() {
            for features in features.chunks(COLUMNS) {
                for (lane, &feature) in features.iter().enumerate() {
                    load(scratch, ranks, lane, feature);
                }
                let lane = |lane: usize| LaneColumn { feature: features[lane], missing: None };
                n_varying += self.search_lanes(scratch, ranks, features.len(), lane)?;
            }
            return Some(n_varying);
        }
        let mut lanes = SmallVec::<[LaneColumn; COLUMNS]>::new();
        for &feature in features {
            if lanes.len() + 1 >= COLUMNS {
                n_varying += self.search_lanes(scratch, ranks, lanes.len(), |lane| lanes[lane])?;
                lanes.clear();
            }
            let lane = lanes.len();
            load(scratch, ranks, lane, feature);
            let missing = self.search.data.missing_rank(feature);
            let missing = missing.filter(|&missing| ranks.iter().any(|ranks| ranks[lane] == missing));
            lanes.push(LaneColumn { feature, missing: missing.map(|_| Side::Right) });
            if let Some(missing) = missing {
                for ranks in &mut *ranks {
                    ranks[lane + 1] = if ranks[lane] == missing { 0 } else { ranks[lane] };
                }
                lanes.push(LaneColumn { feature, missing: Some(Side::Left) });
            }
        }
        Some(n_varying + self.search_lanes(scratch, ranks, lanes.len(), |lane| lanes[lane])?)
    }

    /// Searches the columns in the lanes. Returns how many of them vary.
    #[inline]
    fn search_lanes<R: SmallRows<C>>(
        &mut self,
        scratch: &mut SmallScratch<R>,
        ranks: &[ByColumn<u32>],
        n_lanes: usize,
        lanes: impl Fn(usize) -> LaneColumn,
    ) -> Option<u32> {
        let mut scores = [[0.0; COLUMNS]; FEW_ROWS];
        let scores = &mut scores[..ranks.len()];
        let level = self.search.level;
        let mut highest = scratch.rows.score_columns(self.search.criterion, level, ranks, scores)?;
        let may_win = |&score: &f64| !self.is_low(score, |best| scratch.rows.least_to_win(best));
        if highest.iter().any(may_win) {
            highest = scratch.legal.remove_in_columns(level, ranks, scores, highest);
        }
        let mut n_varying = 0;
        for lane in 0..n_lanes {
            let LaneColumn { feature, missing } = lanes(lane);
            let are_missing_left = missing == Some(Side::Left);
            let varies = highest[lane] > f64::NEG_INFINITY
                || !self.search.all_legal() && ranks.iter().any(|row| row[lane] != ranks[0][lane]);
            n_varying += u32::from(varies && !are_missing_left);
            if self.is_low(highest[lane], |score| scratch.rows.least_to_win(score)) {
                continue;
            }
            self.begin_column(scratch);
            scratch.ranks_mut().iter_mut().zip(ranks).for_each(|(rank, ranks)| *rank = ranks[lane]);
            let cuts = ranks.iter().zip(&*scores).map(|(ranks, scores)| (ranks[lane], scores[lane]));
            self.offer_by_rank(scratch, feature, cuts, highest[lane], missing);
        }
        Some(n_varying)
    }
}
