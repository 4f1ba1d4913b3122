//! The search of one node: its columns of numbers, and the best candidate so far.

use std::cmp::Ordering;
use std::ops::Range;

use super::SmallScratch;
use super::rows::{Extremes, gather};
use crate::criterion::Criterion;
use crate::criterion::small::{MARGIN, SmallCut, SmallRows};
use crate::data::DenseColumns;
use crate::params::Splitter;
use crate::rng::{NodeKey, Side};
use crate::split::candidate::{ThresholdRule, threshold_between};
use crate::split::node::Search;

/// Where a column is cut.
#[derive(Clone, Copy)]
pub(super) struct CutAt {
    pub feature: u32,
    /// The last rank that goes left.
    pub last_left: u32,
    /// If there is none, it is half way to the next rank.
    pub threshold: Option<ThresholdRule>,
}

impl CutAt {
    /// A cut between a rank and the next one.
    pub(super) fn after(feature: u32, last_left: u32) -> Self {
        Self { feature, last_left, threshold: None }
    }
}

/// The search of one node.
pub(super) struct SmallNode<'a, C> {
    pub search: &'a Search<'a, C>,
    pub key: NodeKey,
    pub columns: &'a DenseColumns,
    pub best: Option<SmallBest>,
}

/// The best candidate so far.
pub(super) struct SmallBest {
    pub cut: SmallCut,
    pub at: CutAt,
    /// The side of missing numbers, if the node has any in the column.
    pub missing: Option<Side>,
    /// Which of the two lists of ranks are those of the column. Rows of ranks up to `at.last_left` go left.
    pub ranks: usize,
}

impl<C: Criterion> SmallNode<'_, C> {
    /// Whether a node of `n` rows has two, which every column of numbers that varies parts alike, so that
    /// nothing is scored.
    pub(super) fn is_pair(n: usize) -> bool {
        n == 2 && !C::FORBIDS_CUTS
    }

    /// Parts the two rows of a node by the column of numbers that is searched.
    fn part_pair(&mut self, scratch: &mut SmallScratch<C>, feature: u32, extremes: Range<u32>) {
        let Range { start: lowest, end: highest } = extremes;
        let threshold = match self.search.params.splitter {
            Splitter::Best => ThresholdRule::Between { last_left: lowest, first_right: highest },
            Splitter::Random => ThresholdRule::Random { key: self.key, lowest, highest },
        };
        let left = scratch.node.range.start + usize::from(scratch.ranks(2)[0] != lowest);
        let weight = scratch.rows.row_weight(scratch.lists[scratch.node.list].places[left]);
        let cut = SmallCut { score: f64::INFINITY, numerator: 0, denominator: 1, weight };
        self.take(scratch, 2, (cut, CutAt { feature, last_left: lowest, threshold: Some(threshold) }), None);
    }

    /// Whether no column that is drawn later can win: in a node of two rows, whose cuts all part
    /// the two, and where the best cut has the highest conceivable score.
    pub(super) fn is_decided(&self, rows: &C::Small, n: usize) -> bool {
        self.best.as_ref().is_some_and(|best| n == 2 || best.cut.score >= rows.most_score() * (1.0 - MARGIN))
    }

    /// Begins a column, whose ranks take the place of those that are not of the best candidate.
    pub(super) fn begin_column(&self, scratch: &mut SmallScratch<C>) {
        scratch.current = self.best.as_ref().map_or(0, |best| 1 - best.ranks);
    }

    /// Searches a column. Returns whether it varies.
    pub(super) fn search_column(&mut self, scratch: &mut SmallScratch<C>, n: usize, feature: u32) -> bool {
        let missing = self.search.data.missing_rank(feature);
        self.begin_column(scratch);
        let SmallScratch { lists, node, ranks, current, .. } = &mut *scratch;
        let samples = &lists[node.list].samples[node.range.clone()];
        let Extremes { lowest, highest, highest_value } =
            gather(self.columns.column(feature), samples, missing, &mut ranks[*current]);
        if lowest == highest {
            return false;
        }
        let is_categorical = self.search.data.is_categorical(feature);
        let (extremes, missing) = (lowest..highest_value, missing.filter(|&missing| missing == highest));
        if Self::is_pair(n) && !is_categorical && missing.is_none() {
            self.part_pair(scratch, feature, lowest..highest);
            return true;
        }
        scratch.begin();
        if is_categorical {
            self.search_categories(scratch, n, feature);
            return true;
        }
        match self.search.params.splitter {
            Splitter::Best => self.search_numbers(scratch, n, feature, extremes, missing),
            Splitter::Random => self.cut_numbers_at_random(scratch, n, feature, extremes, missing),
        }
        true
    }

    /// Offers the cuts of a column of numbers that varies. `extremes` are the ranks of its values,
    /// and `missing` is that of missing values if the node has any in the column. As theirs is the
    /// last rank of the column, they go right at first; then the same cuts are offered with them on
    /// the left.
    fn search_numbers(
        &mut self,
        scratch: &mut SmallScratch<C>,
        n: usize,
        feature: u32,
        extremes: Range<u32>,
        missing: Option<u32>,
    ) {
        let Some(missing) = missing else {
            if let Some(offered) = self.best_cut(scratch, n, feature, extremes) {
                self.take(scratch, n, offered, None);
            }
            return;
        };
        let level = self.search.level;
        let Range { start: lowest, end: highest } = extremes;
        // The last cut parts all values from missing values.
        let n_chunks = scratch.set_cuts(n, extremes, highest - lowest + 1);
        scratch.lasts[..n_chunks].as_flattened_mut().iter_mut().for_each(|last| *last = highest.min(*last));
        let score = scratch.score_cuts(level, n, n_chunks);
        let right = Some((missing, Side::Right));
        if let Some(offered) = self.best_of_cuts(scratch, n, feature, n_chunks, score, right) {
            self.take(scratch, n, offered, right);
        }
        if lowest < highest {
            let SmallScratch { rows, ranks, current, lasts, scores, .. } = &mut *scratch;
            let (ranks, lasts) = (&ranks[*current][..n], &lasts[..n_chunks]);
            let score = rows.score_with(level, ranks, missing, lasts, &mut scores[..n_chunks]);
            let left = Some((missing, Side::Left));
            if let Some(offered) = self.best_of_cuts(scratch, n, feature, n_chunks, score, left) {
                self.take(scratch, n, offered, left);
            }
        }
    }

    /// Offers the random cut of a column of numbers as [`search_numbers`](Self::search_numbers) does
    /// all cuts: with missing values on the right; then the cut between values and missing values;
    /// then the random cut with missing values on the left.
    fn cut_numbers_at_random(
        &mut self,
        scratch: &mut SmallScratch<C>,
        n: usize,
        feature: u32,
        extremes: Range<u32>,
        missing: Option<u32>,
    ) {
        let Some(missing) = missing else {
            let random = self.random_cut(scratch.ranks(n), feature, extremes);
            self.offer_cut(scratch, n, random, None);
            return;
        };
        let Range { start: lowest, end: highest } = extremes;
        let values = CutAt::after(feature, highest);
        let right = Some((missing, Side::Right));
        if lowest == highest {
            self.offer_cut(scratch, n, values, right);
            return;
        }
        let random = self.random_cut(scratch.ranks(n), feature, lowest..highest);
        let cuts = scratch.rows.cuts_with_missing(scratch.ranks(n), random.last_left + 1, missing);
        let missing_left = Some((missing, Side::Left));
        for (cut, (at, side)) in cuts.into_iter().zip([(random, right), (values, right), (random, missing_left)]) {
            self.offer(scratch, n, cut, at, side);
        }
    }

    /// The best cut of a column that varies and has no missing values, if it is better than the best
    /// candidate so far.
    pub(super) fn best_cut(
        &self,
        scratch: &mut SmallScratch<C>,
        n: usize,
        feature: u32,
        extremes: Range<u32>,
    ) -> Option<(SmallCut, CutAt)> {
        let n_cuts = extremes.end - extremes.start;
        let n_chunks = scratch.set_cuts(n, extremes, n_cuts);
        let highest = scratch.score_cuts(self.search.level, n, n_chunks);
        self.best_of_cuts(scratch, n, feature, n_chunks, highest, None)
    }

    /// The best of the cuts of a column, whose `highest` score is given, if it is better than the
    /// best candidate so far. `missing` is as in [`take`](Self::take).
    fn best_of_cuts(
        &self,
        scratch: &SmallScratch<C>,
        n: usize,
        feature: u32,
        n_chunks: usize,
        highest: f64,
        missing: Option<(u32, Side)>,
    ) -> Option<(SmallCut, CutAt)> {
        let SmallScratch { rows, lasts, scores, .. } = scratch;
        let (lasts, scores) = (lasts[..n_chunks].as_flattened(), scores[..n_chunks].as_flattened());
        let cuts = lasts.iter().copied().zip(scores.iter().copied());
        let missing_left = missing.filter(|&(_, side)| side == Side::Left).map(|(rank, _)| rank);
        self.best_by_rank(rows, scratch.ranks(n), feature, cuts, highest, missing_left)
    }

    /// As [`best_of_cuts`](Self::best_of_cuts). `cuts` have the last rank on the left and the score
    /// of each cut, in the order in which they were scored. `ranks` are those of the node's rows in
    /// the column.
    #[inline]
    pub(super) fn best_by_rank(
        &self,
        rows: &C::Small,
        ranks: &[u32],
        feature: u32,
        cuts: impl Iterator<Item = (u32, f64)>,
        highest: f64,
        missing_left: Option<u32>,
    ) -> Option<(SmallCut, CutAt)> {
        if self.is_low(highest, |score| rows.least_to_win(score)) {
            return None;
        }
        let least = rows.least_close(highest);
        let close = cuts.enumerate().filter(|&(_, (_, score))| score >= least);
        let close = close.map(|(i, (last, _))| (last, move || rows.scored_cut(i, ranks, last, missing_left)));
        let (cut, last) = self.winner(close)?;
        Some((cut, CutAt::after(feature, last)))
    }

    /// Whether none of some cuts wins, whose highest score is this one. `least_to_win` says which
    /// score the best of them needs to win against a cut of another score.
    #[inline]
    pub(super) fn is_low(&self, highest: f64, least_to_win: impl FnOnce(f64) -> f64) -> bool {
        highest == f64::NEG_INFINITY || self.best.as_ref().is_some_and(|best| highest < least_to_win(best.cut.score))
    }

    /// The best one of some cuts and its place, if it is better than the best candidate so far.
    /// `cuts` have the place of each cut and what makes the cut. Of equally good cuts, that of the
    /// lowest place wins. Cuts of one place are the same, so that one of them is made.
    #[inline]
    pub(super) fn winner<F: FnOnce() -> SmallCut>(
        &self,
        cuts: impl Iterator<Item = (u32, F)>,
    ) -> Option<(SmallCut, u32)> {
        let mut winner: Option<(SmallCut, u32)> = None;
        for (place, cut) in cuts {
            if winner.is_some_and(|(_, other)| other == place) {
                continue;
            }
            let cut = cut();
            let wins = winner.is_none_or(|(other, other_place)| match cut.compare(&other) {
                Ordering::Greater => true,
                Ordering::Equal => place < other_place,
                Ordering::Less => false,
            });
            if wins {
                winner = Some((cut, place));
            }
        }
        winner.filter(|(cut, _)| self.beats(cut))
    }

    /// The random cut of a column of numbers between two of its ranks.
    fn random_cut(&self, ranks: &[u32], feature: u32, extremes: Range<u32>) -> CutAt {
        let threshold = |low, high| threshold_between(self.key, feature, low, high);
        let (last_left, threshold) = self.search.data.cut_between(feature, extremes, ranks, threshold);
        CutAt { feature, last_left, threshold: Some(ThresholdRule::At(threshold)) }
    }

    /// Offers a cut of the column of numbers that is searched. `missing` is as in [`take`](Self::take), but
    /// missing values do not go left.
    fn offer_cut(&mut self, scratch: &mut SmallScratch<C>, n: usize, at: CutAt, missing: Option<(u32, Side)>) {
        let cut = scratch.rows.cut_below(scratch.ranks(n), at.last_left + 1);
        self.offer(scratch, n, cut, at, missing);
    }

    /// Offers a cut of the column of numbers that is searched. `missing` is as in [`take`](Self::take).
    #[inline]
    pub(super) fn offer(
        &mut self,
        scratch: &mut SmallScratch<C>,
        n: usize,
        cut: SmallCut,
        at: CutAt,
        missing: Option<(u32, Side)>,
    ) {
        if cut.score > f64::NEG_INFINITY && self.beats(&cut) {
            self.take(scratch, n, (cut, at), missing);
        }
    }

    /// Takes a cut of the column that is searched, which is better than the best so far. `missing` is
    /// the rank of missing numbers and the side to which they go, if the node has any in the column. A cut
    /// with them on the left is the last of its column, so their rank can become one of the left.
    pub(super) fn take(
        &mut self,
        scratch: &mut SmallScratch<C>,
        n: usize,
        (cut, at): (SmallCut, CutAt),
        missing: Option<(u32, Side)>,
    ) {
        if let Some((missing, Side::Left)) = missing {
            scratch.ranks_mut(n).iter_mut().filter(|rank| **rank == missing).for_each(|rank| *rank = 0);
        }
        self.best = Some(SmallBest { cut, at, missing: missing.map(|(_, side)| side), ranks: scratch.current });
    }

    fn beats(&self, cut: &SmallCut) -> bool {
        self.best.as_ref().is_none_or(|best| cut.compare(&best.cut) == Ordering::Greater)
    }
}
