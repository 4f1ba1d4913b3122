//! The search of the nodes of small subtrees (see `criterion::small`): column by column, in the
//! order in which the node draws them, without a sort and without buffers that outlive a column.
//!
//! The columns of a node are read from where they are. Ties go to the column that is drawn first,
//! so a column that comes later must be better to win. If the classes are parted completely, no
//! column that comes later is read.

mod categories;
mod columns;
mod units;

use std::cmp::Ordering;
use std::ops::Range;

use crate::criterion::Criterion;
use crate::criterion::small::{ByRow, FEW_ROWS, LANES, MARGIN, MAX_ROWS, SmallCut, SmallRows};
use crate::data::dense::{BitColumns, DenseColumn, Place, Ranks, all_and_any};
use crate::data::{Columns, DenseColumns};
use crate::params::{FeatureSampling, Splitter, Tier};
use crate::rng::{NodeKey, Side};
use crate::simd::{Level, prefetch};
use crate::split::candidate::{ThresholdRule, threshold_between};
use crate::split::dense::cells::beside;
use crate::split::node::Search;
use crate::tuning::tuned;

use units::SmallUnits;

tuned! {
    /// In a data set of at least this many rows, a node asks for its ranks in all columns that it
    /// draws before it searches the first of them: each is a cache miss, and the misses of all
    /// columns overlap (bench `sweep`).
    fn ask_ahead_from() -> usize = 200_000;
}

tuned! {
    /// A node asks first which columns of few values vary, for which it reads all words of its rows, if
    /// it draws at least this many of these columns per word (bench `sweep`).
    fn bits_per_word() -> f64 = 3.0;
}

/// How many features a node draws at a time, once those that it draws in any case do not vary.
const BATCH: u32 = 16;

/// Buffers of one worker.
pub struct SmallScratch<C: Criterion> {
    /// The numbers of the rows of the subtree.
    pub rows: C::Small,
    /// The places and the ids of these rows. A node is a range of both.
    places: ByRow<u8>,
    samples: ByRow<u32>,
    /// The node that was entered last.
    node: Range<usize>,
    features: Vec<u32>,
    /// The ranks of the node's rows in the column that is searched, and in the column of the best candidate
    /// so far. A column of categories has places in an order or units in the place of ranks.
    ranks: [ByRow<u32>; 2],
    /// Which of the two are those of the column that is searched.
    current: usize,
    /// The ranks after which the column is cut, and the scores of these cuts.
    lasts: [[u32; LANES]; MAX_ROWS / LANES],
    scores: [[f64; LANES]; MAX_ROWS / LANES],
    units: SmallUnits,
    /// Whether columns of nodes of few rows are searched side by side.
    are_side_by_side: bool,
    /// Whether nodes ask first which columns of few values vary, and for each word of these columns, the
    /// bits that vary in the node.
    asks_bits: bool,
    varying_bits: Vec<u64>,
}

/// The best split of a node of a small subtree.
#[derive(Clone, Copy)]
pub struct SmallSplit {
    /// The feature that is cut.
    pub feature: u32,
    /// Which values go left, if they are numbers.
    pub threshold: ThresholdRule,
    /// The side of missing numbers, if the node has any in the column.
    pub missing: Option<Side>,
    /// The number of rows that go left.
    pub n_left: usize,
    /// Their weight.
    pub weight: u64,
}

/// Where a column is cut.
#[derive(Clone, Copy)]
struct CutAt {
    feature: u32,
    /// The last rank that goes left.
    last_left: u32,
    threshold: ThresholdRule,
}

impl CutAt {
    /// A cut between two ranks.
    fn between(feature: u32, last_left: u32, first_right: u32) -> Self {
        Self { feature, last_left, threshold: ThresholdRule::Between { last_left, first_right } }
    }
}

impl<C: Criterion> SmallScratch<C> {
    /// Makes scratch, if the nodes of small subtrees are searched in this way: if the columns are
    /// dense, all cuts are legal, and the criterion has the statistics.
    pub fn new(search: &Search<'_, C>) -> Option<Box<Self>> {
        let Columns::Dense(columns) = search.data.columns() else { return None };
        let is_free = matches!(search.params.force_tier, None | Some(Tier::Small));
        if !(is_free && search.all_legal()) {
            return None;
        }
        let rows = C::Small::new(search.criterion)?;
        Some(Box::new(Self {
            are_side_by_side: rows.scores_columns() && columns::are_side_by_side(search),
            rows,
            places: [0; MAX_ROWS],
            samples: [0; MAX_ROWS],
            node: 0..0,
            features: Vec::new(),
            ranks: [[0; MAX_ROWS]; 2],
            current: 0,
            lasts: [[0; LANES]; MAX_ROWS / LANES],
            scores: [[0.0; LANES]; MAX_ROWS / LANES],
            units: SmallUnits::new(),
            asks_bits: columns.bits().is_some_and(|bits| bits.drawn_per_word(search.n_drawn()) >= bits_per_word()),
            varying_bits: Vec::new(),
        }))
    }

    /// Loads the rows of a subtree, at most [`MAX_ROWS`]. Returns false if it is not searched in this way.
    pub fn load(&mut self, criterion: &C, samples: &[u32]) -> bool {
        let is_small = self.rows.load(criterion, samples);
        if is_small {
            self.places = std::array::from_fn(|place| place as u8);
            self.samples[..samples.len()].copy_from_slice(samples);
        }
        is_small
    }

    /// Enters a node: a range of the rows of the subtree.
    pub fn enter(&mut self, node: Range<usize>) {
        self.rows.enter(&self.places[node.clone()]);
        self.node = node;
    }

    /// The ids of the rows of the node.
    pub fn samples(&self) -> &[u32] {
        &self.samples[self.node.clone()]
    }

    /// The best split of the node. `None` if no feature varies. The rows that go left are moved to the
    /// front of the node.
    pub fn best_split(&mut self, search: &Search<'_, C>, key: NodeKey) -> Option<SmallSplit> {
        let Columns::Dense(columns) = search.data.columns() else { return None };
        let n = self.node.len();
        self.rows.begin(&mut self.places[self.node.clone()], &mut self.samples[self.node.clone()]);
        let order = key.feature_order(search.data.n_features());
        let (n_features, n_drawn) = (search.data.n_features() as u32, search.n_drawn() as u32);
        // How many of the features must be looked at in any case, and how many must vary.
        let (n_certain, n_wanted) = match search.params.feature_sampling {
            FeatureSampling::All => (n_drawn, 1),
            FeatureSampling::Active => (0, n_drawn),
        };
        let bits = columns.bits().filter(|_| self.asks_bits);
        if let Some(bits) = bits {
            self.find_varying_bits(bits);
        }
        let mut node = SmallNode { search, key, columns, best: None };
        let mut features = std::mem::take(&mut self.features);
        let (mut start, mut n_varying) = (0, 0);
        let are_enough = |position, n_varying| position >= n_certain && n_varying >= n_wanted;
        'draw: while start < n_features && !are_enough(start, n_varying) {
            let end = if start == 0 { n_drawn } else { n_features.min(start + BATCH) };
            features.resize((end - start) as usize, 0);
            order.draw(search.level, start, &mut features);
            if start == 0 && search.data.n_samples() >= ask_ahead_from() {
                ask_for(columns, &features, self.samples());
            }
            if start == 0 && self.are_side_by_side && (3..=FEW_ROWS).contains(&n) {
                n_varying += node.search_columns(self, n, &features);
                start = end;
                continue;
            }
            for (position, &feature) in (start..end).zip(&features) {
                if are_enough(position, n_varying) {
                    break 'draw;
                }
                if bits.and_then(|bits| bits.place(feature)).is_some_and(|place| self.is_constant(place)) {
                    continue;
                }
                n_varying += u32::from(node.search_column(self, n, feature));
                if node.is_decided(&self.rows, n) {
                    break 'draw;
                }
            }
            start = end;
        }
        self.features = features;
        let SmallBest { cut, at: CutAt { feature, last_left, threshold }, missing, ranks } = node.best?;
        let rows = (&mut self.places[self.node.clone()], &mut self.samples[self.node.clone()]);
        let n_left = partition(rows, &self.ranks[ranks], last_left);
        Some(SmallSplit { feature, threshold, missing, n_left, weight: cut.weight.into() })
    }
}

impl<C: Criterion> SmallScratch<C> {
    /// Finds the cuts of columns of few values that have rows on both sides in the node.
    fn find_varying_bits(&mut self, bits: &BitColumns) {
        let samples = &self.samples[self.node.clone()];
        self.varying_bits.clear();
        self.varying_bits.extend((0..bits.n_words() as u32).map(|number| {
            let words = bits.words(number);
            let [all, any] = all_and_any(samples.iter().map(|&sample| words[sample as usize]));
            any & !all
        }));
    }

    /// Whether a column of few values does not vary in the node.
    fn is_constant(&self, place: Place) -> bool {
        self.varying_bits[place.word as usize] & place.bits() == 0
    }

    /// Sets the ranks after which a column is cut, between the extremes of its values: the ranks of
    /// the rows, or the `n_cuts` first ones if that is fewer. A cut after a rank that no row has is
    /// the same as one of a lower rank, so it does not win. Returns the number of chunks of
    /// [`LANES`] cuts.
    fn set_cuts(&mut self, n: usize, extremes: Range<u32>, n_cuts: u32) -> usize {
        let n_chunks = n.min(n_cuts as usize).div_ceil(LANES);
        let lasts = &mut self.lasts.as_flattened_mut()[..n_chunks * LANES];
        let ranks = &self.ranks[self.current];
        if n_chunks < n.div_ceil(LANES) {
            lasts.iter_mut().zip(extremes.start..).for_each(|(last, rank)| *last = rank);
        } else {
            let (lasts, padding) = lasts.split_at_mut(n);
            lasts.copy_from_slice(&ranks[..n]);
            padding.fill(extremes.end);
        }
        n_chunks
    }

    /// Scores the cuts of the column whose ranks are loaded.
    fn score_cuts(&mut self, level: Level, n: usize, n_chunks: usize) -> f64 {
        let ranks = &self.ranks[self.current][..n];
        self.rows.score_cuts(level, ranks, &self.lasts[..n_chunks], &mut self.scores[..n_chunks])
    }

    /// The ranks of the `n` rows of the node in the column that is searched.
    fn ranks(&self, n: usize) -> &[u32] {
        &self.ranks[self.current][..n]
    }

    /// As [`ranks`](Self::ranks), to be changed.
    fn ranks_mut(&mut self, n: usize) -> &mut [u32] {
        &mut self.ranks[self.current][..n]
    }
}

/// The search of one node.
struct SmallNode<'a, C> {
    search: &'a Search<'a, C>,
    key: NodeKey,
    columns: &'a DenseColumns,
    best: Option<SmallBest>,
}

/// The best candidate so far.
struct SmallBest {
    cut: SmallCut,
    at: CutAt,
    /// The side of missing numbers, if the node has any in the column.
    missing: Option<Side>,
    /// Which of the two lists of ranks are those of the column. Rows of ranks up to `at.last_left` go left.
    ranks: usize,
}

impl<C: Criterion> SmallNode<'_, C> {
    /// Whether no column that is drawn later can win: in a node of two rows, whose cuts all part
    /// the two, and where the best cut has the highest conceivable score.
    fn is_decided(&self, rows: &C::Small, n: usize) -> bool {
        self.best.as_ref().is_some_and(|best| n == 2 || best.cut.score >= rows.most_score() * (1.0 - MARGIN))
    }

    /// Begins a column, whose ranks take the place of those that are not of the best candidate.
    fn begin_column(&self, scratch: &mut SmallScratch<C>) {
        scratch.current = self.best.as_ref().map_or(0, |best| 1 - best.ranks);
    }

    /// Searches a column. Returns whether it varies.
    fn search_column(&mut self, scratch: &mut SmallScratch<C>, n: usize, feature: u32) -> bool {
        let missing = self.search.data.missing_rank(feature);
        self.begin_column(scratch);
        let SmallScratch { samples, node, ranks, current, .. } = &mut *scratch;
        let Extremes { lowest, highest, highest_value } =
            gather(self.columns.column(feature), &samples[node.clone()], missing, &mut ranks[*current]);
        if lowest == highest {
            return false;
        }
        if self.search.data.is_categorical(feature) {
            self.search_categories(scratch, n, feature);
            return true;
        }
        let (extremes, missing) = (lowest..highest_value, missing.filter(|&missing| missing == highest));
        match self.search.params.splitter {
            // The only cut parts the two rows, wherever the threshold is.
            splitter if n == 2 && missing.is_none() => {
                let threshold = match splitter {
                    Splitter::Best => ThresholdRule::Between { last_left: lowest, first_right: highest },
                    Splitter::Random => ThresholdRule::Random { key: self.key, lowest, highest },
                };
                self.offer_cut(scratch, n, CutAt { feature, last_left: lowest, threshold }, None);
            }
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
        let values = CutAt::between(feature, highest, missing);
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
    fn best_cut(
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
    fn best_by_rank(
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
        let (_, above, _) = beside(self.search.level, ranks, last);
        Some((cut, CutAt::between(feature, last, above)))
    }

    /// Whether none of some cuts wins, whose highest score is this one. `least_to_win` says which
    /// score the best of them needs to win against a cut of another score.
    #[inline]
    fn is_low(&self, highest: f64, least_to_win: impl FnOnce(f64) -> f64) -> bool {
        highest == f64::NEG_INFINITY || self.best.as_ref().is_some_and(|best| highest < least_to_win(best.cut.score))
    }

    /// The best one of some cuts and its place, if it is better than the best candidate so far.
    /// `cuts` have the place of each cut and what makes the cut. Of equally good cuts, that of the
    /// lowest place wins. Cuts of one place are the same, so that one of them is made.
    #[inline]
    fn winner<F: FnOnce() -> SmallCut>(&self, cuts: impl Iterator<Item = (u32, F)>) -> Option<(SmallCut, u32)> {
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
        CutAt { feature, last_left, threshold: ThresholdRule::At(threshold) }
    }

    /// Offers a cut of the column of numbers that is searched. `missing` is as in [`take`](Self::take), but
    /// missing values do not go left.
    fn offer_cut(&mut self, scratch: &mut SmallScratch<C>, n: usize, at: CutAt, missing: Option<(u32, Side)>) {
        let cut = scratch.rows.cut_below(scratch.ranks(n), at.last_left + 1);
        self.offer(scratch, n, cut, at, missing);
    }

    /// Offers a cut of the column of numbers that is searched. `missing` is as in [`take`](Self::take).
    #[inline]
    fn offer(
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
    fn take(
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

/// Moves rows of ranks up to `last` to the front and keeps the order on both sides. Rows have places and
/// ids. Returns how many these are.
fn partition((places, samples): (&mut [u8], &mut [u32]), ranks: &[u32], last: u32) -> usize {
    let mut right = ([0; MAX_ROWS], [0; MAX_ROWS]);
    let (mut n_left, mut n_right) = (0, 0);
    for (at, &rank) in (0..places.len()).zip(ranks) {
        let (place, sample) = (places[at], samples[at]);
        // The row is written to both sides: n_left <= at, and the slot at n_right is not used yet.
        (places[n_left], samples[n_left]) = (place, sample);
        (right.0[n_right], right.1[n_right]) = (place, sample);
        n_left += usize::from(rank <= last);
        n_right += usize::from(rank > last);
    }
    places[n_left..].copy_from_slice(&right.0[..n_right]);
    samples[n_left..].copy_from_slice(&right.1[..n_right]);
    n_left
}

/// The lowest and the highest of some ranks, and the highest one of a value: 0 if all are missing.
struct Extremes {
    lowest: u32,
    highest: u32,
    highest_value: u32,
}

/// Asks for the ranks of some rows in some columns before they are needed. Out of line, because only
/// large data sets need it: in line, it made single trees of other data 1 to 3 % slower
/// (`benches/NOTES.md`).
#[cold]
fn ask_for(columns: &DenseColumns, features: &[u32], samples: &[u32]) {
    fn ask<R>(ranks: &[R], samples: &[u32]) {
        for &sample in samples {
            prefetch(ranks, sample as usize);
        }
    }
    for &feature in features {
        match &columns.column(feature).ranks {
            Ranks::U8(ranks) => ask(ranks, samples),
            Ranks::U16(ranks) => ask(ranks, samples),
            Ranks::U32(ranks) => ask(ranks, samples),
        }
    }
}

/// Sets `out` to the ranks of some rows, and returns their extremes. `missing` is the rank of
/// missing values, the highest one, if the column has any.
fn gather(column: &DenseColumn, samples: &[u32], missing: Option<u32>, out: &mut [u32; MAX_ROWS]) -> Extremes {
    fn gather<R: Copy + Into<u32>>(
        ranks: &[R],
        samples: &[u32],
        missing: Option<u32>,
        out: &mut [u32; MAX_ROWS],
    ) -> Extremes {
        let (mut lowest, mut highest) = (u32::MAX, 0);
        let rows = out.iter_mut().zip(samples);
        let Some(missing) = missing else {
            for (out, &sample) in rows {
                let rank = ranks[sample as usize].into();
                *out = rank;
                lowest = rank.min(lowest);
                highest = rank.max(highest);
            }
            return Extremes { lowest, highest, highest_value: highest };
        };
        let mut highest_value = 0;
        for (out, &sample) in rows {
            let rank = ranks[sample as usize].into();
            *out = rank;
            lowest = rank.min(lowest);
            highest = rank.max(highest);
            highest_value = if rank < missing { rank.max(highest_value) } else { highest_value };
        }
        Extremes { lowest, highest, highest_value }
    }
    match &column.ranks {
        Ranks::U8(ranks) => gather(ranks, samples, missing, out),
        Ranks::U16(ranks) => gather(ranks, samples, missing, out),
        Ranks::U32(ranks) => gather(ranks, samples, missing, out),
    }
}
