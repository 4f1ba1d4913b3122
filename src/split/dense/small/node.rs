//! The search of one node: its columns of numbers, and the best candidate so far.

use std::cmp::Ordering;
use std::ops::Range;

use super::SmallScratch;
use super::rows::{Extremes, gather, part_alike};
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
    /// Whether no column that is drawn later can win: in a node of two rows, whose cuts all part
    /// the two, and where the best cut has the highest conceivable score.
    pub(super) fn is_decided<R: SmallRows<C>>(&self, rows: &R, n: usize) -> bool {
        self.best.as_ref().is_some_and(|best| n == 2 || best.cut.score >= rows.most_score() * (1.0 - MARGIN))
    }

    /// Begins a column, whose ranks take the place of those that are not of the best candidate.
    pub(super) fn begin_column<R: SmallRows<C>>(&self, scratch: &mut SmallScratch<R>) {
        scratch.current = self.best.as_ref().map_or(0, |best| 1 - best.ranks);
    }

    /// Searches a column. Returns whether it varies.
    pub(super) fn search_column<R: SmallRows<C>>(&mut self, scratch: &mut SmallScratch<R>, feature: u32) -> bool {
        let missing = self.search.data.missing_rank(feature);
        self.begin_column(scratch);
        let SmallScratch { lists, node, ranks, current, .. } = &mut *scratch;
        let samples = lists[node.list].samples(node.range());
        let Extremes { lowest, highest, highest_value } =
            gather(self.columns.column(feature), samples, missing, &mut ranks[*current]);
        if lowest == highest {
            return false;
        }
        let is_categorical = self.search.data.is_categorical(feature);
        let (extremes, missing) = (lowest..highest_value, missing.filter(|&missing| missing == highest));
        if is_categorical {
            self.search_categories(scratch, feature);
            return true;
        }
        match self.search.params.splitter {
            Splitter::Best => self.search_numbers(scratch, feature, extremes, missing),
            Splitter::Random => self.cut_numbers_at_random(scratch, feature, extremes, missing),
        }
        true
    }

    /// Offers the cuts of a column of numbers that varies. `extremes` are the ranks of its values,
    /// and `missing` is that of missing values if the node has any in the column. As theirs is the
    /// last rank of the column, they go right at first; then the same cuts are offered with them on
    /// the left.
    fn search_numbers<R: SmallRows<C>>(
        &mut self,
        scratch: &mut SmallScratch<R>,
        feature: u32,
        extremes: Range<u32>,
        missing: Option<u32>,
    ) {
        let Some(missing) = missing else {
            self.offer_cuts(scratch, feature, extremes);
            return;
        };
        let level = self.search.level;
        let Range { start: lowest, end: highest } = extremes;
        // The last cut parts all values from missing values.
        let n_chunks = scratch.set_cuts(extremes, highest - lowest + 1);
        scratch.lasts[..n_chunks].as_flattened_mut().iter_mut().for_each(|last| *last = highest.min(*last));
        let score = scratch.score_cuts(self.search.criterion, level, n_chunks);
        self.offer_scored(scratch, feature, n_chunks, score, Some(Side::Right));
        if lowest < highest {
            self.move_missing_left(scratch, missing);
            let SmallScratch { rows, node, ranks, current, lasts, scores, .. } = &mut *scratch;
            let (ranks, lasts) = (&ranks[*current][..node.n_samples()], &lasts[..n_chunks]);
            let score = rows.score_again(self.search.criterion, level, ranks, lasts, &mut scores[..n_chunks]);
            self.offer_scored(scratch, feature, n_chunks, score, Some(Side::Left));
        }
    }

    /// Gives missing values of the column that is searched the rank 0, which no value has, so that they are
    /// on the left of all cuts.
    fn move_missing_left<R: SmallRows<C>>(&self, scratch: &mut SmallScratch<R>, missing: u32) {
        let before = scratch.current;
        self.begin_column(scratch);
        if scratch.current != before {
            // The ranks as they were are those of the best candidate.
            let n = scratch.node.n_samples();
            let [first, second] = &mut scratch.ranks;
            let (from, to) = if before == 0 { (first, second) } else { (second, first) };
            to[..n].copy_from_slice(&from[..n]);
        }
        scratch.ranks_mut().iter_mut().filter(|rank| **rank == missing).for_each(|rank| *rank = 0);
    }

    /// Offers the random cut of a column of numbers as [`search_numbers`](Self::search_numbers) does
    /// all cuts: with missing values on the right; then the cut between values and missing values;
    /// then the random cut with missing values on the left.
    fn cut_numbers_at_random<R: SmallRows<C>>(
        &mut self,
        scratch: &mut SmallScratch<R>,
        feature: u32,
        extremes: Range<u32>,
        missing: Option<u32>,
    ) {
        let Some(missing) = missing else {
            let random = self.random_cut(scratch.ranks(), feature, extremes);
            let SmallScratch { rows, node, ranks, current, .. } = &mut *scratch;
            let ranks = &ranks[*current][..node.n_samples()];
            let rough = rows.rough_below(self.search.criterion, self.search.level, ranks, random.last_left + 1);
            if self.is_low(rough, |score| rows.least_to_win(score)) {
                return;
            }
            let cut = rows.cut_below(self.search.criterion, ranks, random.last_left + 1);
            self.offer(scratch, cut, random, None);
            return;
        };
        let Range { start: lowest, end: highest } = extremes;
        let values = CutAt::after(feature, highest);
        if lowest == highest {
            let cut = scratch.rows.cut_below(self.search.criterion, scratch.ranks(), highest + 1);
            self.offer(scratch, cut, values, Some(Side::Right));
            return;
        }
        let random = self.random_cut(scratch.ranks(), feature, lowest..highest);
        let cuts =
            scratch.rows.cuts_with_missing(self.search.criterion, scratch.ranks(), random.last_left + 1, missing);
        let [right, of_values, left] = cuts;
        self.offer(scratch, right, random, Some(Side::Right));
        self.offer(scratch, of_values, values, Some(Side::Right));
        if !self.is_low(left.score, |score| score - score.abs() * 2.0 * MARGIN - scratch.rows.absolute()) {
            self.move_missing_left(scratch, missing);
            self.offer(scratch, left, random, Some(Side::Left));
        }
    }

    /// Offers the cuts of a column that varies and has no missing values.
    pub(super) fn offer_cuts<R: SmallRows<C>>(
        &mut self,
        scratch: &mut SmallScratch<R>,
        feature: u32,
        extremes: Range<u32>,
    ) {
        let n_cuts = extremes.end - extremes.start;
        let n_chunks = scratch.set_cuts(extremes, n_cuts);
        let highest = scratch.score_cuts(self.search.criterion, self.search.level, n_chunks);
        self.offer_scored(scratch, feature, n_chunks, highest, None);
    }

    /// Offers the cuts of a column that have been scored, whose `highest` score is given. `missing` is as in
    /// [`take`](Self::take).
    fn offer_scored<R: SmallRows<C>>(
        &mut self,
        scratch: &mut SmallScratch<R>,
        feature: u32,
        n_chunks: usize,
        highest: f64,
        missing: Option<Side>,
    ) {
        // Rows are counted only if some cut, legal or not, may win.
        if self.is_low(highest, |score| scratch.rows.least_to_win(score)) {
            return;
        }
        let SmallScratch { legal, node, ranks, current, lasts, scores, .. } = &mut *scratch;
        let (ranks, lasts, scores) =
            (&ranks[*current][..node.n_samples()], &lasts[..n_chunks], &mut scores[..n_chunks]);
        let highest = legal.remove(self.search.level, ranks, lasts, scores, highest);
        let SmallScratch { lasts, scores, .. } = &*scratch;
        let (lasts, scores) = (lasts[..n_chunks].as_flattened(), scores[..n_chunks].as_flattened());
        let cuts = lasts.iter().copied().zip(scores.iter().copied());
        self.offer_by_rank(scratch, feature, cuts, highest, missing);
    }

    /// As [`offer_scored`](Self::offer_scored). `cuts` have the last rank on the left and the score
    /// of each cut, in the order in which they were scored.
    #[inline]
    pub(super) fn offer_by_rank<R: SmallRows<C>>(
        &mut self,
        scratch: &SmallScratch<R>,
        feature: u32,
        cuts: impl Iterator<Item = (u32, f64)>,
        highest: f64,
        missing: Option<Side>,
    ) {
        let (rows, ranks, criterion) = (&scratch.rows, scratch.ranks(), self.search.criterion);
        if self.is_low(highest, |score| rows.least_to_win(score)) {
            return;
        }
        let least = rows.least_close(highest);
        let close = cuts.enumerate().filter(|&(_, (_, score))| score >= least);
        let close = close.map(|(i, (last, _))| (last, move || rows.scored_cut(criterion, i, ranks, last)));
        if let Some((cut, last)) =
            Self::winner(rows, close, |a, b| rows.compare_below(criterion, (ranks, a + 1), (ranks, b + 1)))
        {
            self.offer(scratch, cut, CutAt::after(feature, last), missing);
        }
    }

    /// Whether none of some cuts wins, whose highest score is this one. `least_to_win` says which
    /// score the best of them needs to win against a cut of another score.
    #[inline]
    pub(super) fn is_low(&self, highest: f64, least_to_win: impl FnOnce(f64) -> f64) -> bool {
        highest == f64::NEG_INFINITY || self.best.as_ref().is_some_and(|best| highest < least_to_win(best.cut.score))
    }

    /// The best one of some cuts, and its place. `cuts` have the place of each cut and what makes the
    /// cut, and `exactly` tells the exact order of the cuts at two places. Of equally good cuts, that of the
    /// lowest place wins. Cuts of one place are the same, so that one of them is made.
    #[inline]
    pub(super) fn winner<R: SmallRows<C>, F: FnOnce() -> SmallCut>(
        rows: &R,
        cuts: impl Iterator<Item = (u32, F)>,
        exactly: impl Fn(u32, u32) -> Ordering,
    ) -> Option<(SmallCut, u32)> {
        let mut winner: Option<(SmallCut, u32)> = None;
        for (place, cut) in cuts {
            if winner.is_some_and(|(_, other)| other == place) {
                continue;
            }
            let cut = cut();
            let wins = winner.is_none_or(|(other, other_place)| {
                match rows.compare(&cut, &other, || exactly(place, other_place)) {
                    Ordering::Greater => true,
                    Ordering::Equal => place < other_place,
                    Ordering::Less => false,
                }
            });
            if wins {
                winner = Some((cut, place));
            }
        }
        winner
    }

    /// The random cut of a column of numbers between two of its ranks.
    fn random_cut(&self, ranks: &[u32], feature: u32, extremes: Range<u32>) -> CutAt {
        let threshold = |low, high| threshold_between(self.key, feature, low, high);
        let (last_left, threshold) = self.search.data.cut_between(feature, extremes, ranks, threshold);
        CutAt { feature, last_left, threshold: Some(ThresholdRule::At(threshold)) }
    }

    /// Offers a cut of the column that is searched. `missing` is as in [`take`](Self::take).
    #[inline]
    pub(super) fn offer<R: SmallRows<C>>(
        &mut self,
        scratch: &SmallScratch<R>,
        cut: SmallCut,
        at: CutAt,
        missing: Option<Side>,
    ) {
        let is_better = |best: &SmallBest| {
            let rows = &scratch.rows;
            let order = rows.compare(&cut, &best.cut, || {
                let (ranks, last) = (scratch.ranks(), at.last_left);
                let (of_best, last_of_best) = (&scratch.ranks[best.ranks][..ranks.len()], best.at.last_left);
                // Columns often part the few rows of a node alike.
                if part_alike((ranks, last), (of_best, last_of_best)) {
                    return Ordering::Equal;
                }
                rows.compare_below(self.search.criterion, (ranks, last + 1), (of_best, last_of_best + 1))
            });
            order == Ordering::Greater
        };
        if cut.score > f64::NEG_INFINITY
            && self.best.as_ref().is_none_or(is_better)
            && scratch.legal.allows(cut.weight, scratch.ranks(), at.last_left)
        {
            self.take(scratch, (cut, at), missing);
        }
    }

    /// Takes a cut of the column that is searched, which is better than the best so far. `missing` is
    /// the side to which missing numbers go, if the node has any in the column.
    fn take<R: SmallRows<C>>(
        &mut self,
        scratch: &SmallScratch<R>,
        (cut, at): (SmallCut, CutAt),
        missing: Option<Side>,
    ) {
        self.best = Some(SmallBest { cut, at, missing, ranks: scratch.current });
    }
}
