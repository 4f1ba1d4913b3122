//! Random thresholds of dense columns: gather the node's ranks, find the lowest and the highest,
//! and sum up the rows below a threshold between the two.
//!
//! Columns are not sorted and values not compared: a threshold becomes a rank. The columns of a
//! small node go through each step side by side, one per lane of a vector register, so that the
//! node costs one loop per step instead of one per step and column, and cache misses overlap. A
//! large node takes one column after the other, with several rows in a vector register. O(rows) per
//! column.
//!
//! Where a column has missing values in the node, three cuts are offered: the threshold with
//! missing values on either side, and missing values against all values.
//!
//! Categories are counted in bins if they are few (`categories`). Of many, each row is asked on which
//! side of a random subset its category is.

use smallvec::SmallVec;

use crate::criterion::Criterion;
use crate::criterion::packed::LANES;
use crate::criterion::packed::{Packed, Summed};
use crate::data::DenseColumns;
use crate::data::dense::{BitColumns, Ranks};
use crate::error::Result;
use crate::rng::Side;
use crate::split::best::Best;
use crate::split::by_column::Progress;
use crate::split::candidate::{Candidate, Cut, threshold_between};
use crate::split::categorical::RandomSubset;
use crate::split::dense::bits::{self, BitScratch};
use crate::split::dense::categories::search_categorical;
use crate::split::dense::column::RowsOf;
use crate::split::dense::lanes::{extremes, extremes_below, load_lane, n_below, rotate};
use crate::split::dense::offer;
use crate::split::found::Found;
use crate::split::node::{NodeSearch, Search};
use crate::split::samples::SampleSet;
use crate::tuning::tuned;

tuned! {
    /// From this many rows on, a node takes one column after the other (bench `sweep`).
    fn large_from() -> usize = 32;
    /// A node of at most this many rows does not hand on which columns are constant: finding that
    /// out again costs its children less. Nor does it read columns of few values as bits (bench `sweep`).
    fn forgetful_up_to() -> usize = 64;
    /// Columns of few values are read as bits if a node draws at least this many of them per word
    /// (bench `sweep`).
    fn random_bits_per_word() -> f64 = 1.5;
}

/// Buffers of one worker. Each search assumes that they are dirty.
#[derive(Debug, Default)]
pub(crate) struct RandomScratch {
    features: Vec<u32>,
    categorical: Vec<u32>,
    side_by_side: Vec<[u32; LANES]>,
    alone: Vec<[u32; 1]>,
    /// The lane that still holds the ranks of the winning column of the last search: the partition
    /// reads them next.
    winner: Option<usize>,
}

impl RandomScratch {
    /// Marks the leftovers of the last search as not belonging to the node at hand.
    pub fn forget(&mut self) {
        self.winner = None;
    }

    /// Moves the rows that go left to the front of the node's rows and returns their number. `None`
    /// if the search of the node has not left the ranks of its winning column here.
    pub fn partition(&mut self, samples: &mut SampleSet<'_>, split: &Candidate) -> Option<usize> {
        fn by<const N: usize>(
            ranks: &[[u32; N]],
            lane: usize,
            samples: &mut SampleSet<'_>,
            split: &Candidate,
        ) -> usize {
            // If they go right: the search has changed the rank of missing values to 0, which no
            // value of this column has.
            let first = u32::from(split.missing == Some(Side::Right));
            samples.partition(|place, _| (first..=split.last_left).contains(&ranks[place][lane]))
        }
        let lane = self.winner.take()?;
        Some(if samples.len() < large_from() {
            by(&self.side_by_side, lane, samples, split)
        } else {
            by(&self.alone, lane, samples, split)
        })
    }
}

/// The columns of few values as bits, if large nodes read them.
pub(crate) fn bits_of<'c, C: Criterion>(search: &Search<'_, C>, columns: &'c DenseColumns) -> Option<&'c BitColumns> {
    columns.bits(search.runtime).filter(|bits| bits.drawn_per_word(search.n_drawn()) >= random_bits_per_word())
}

/// The best split of a node, with one random threshold per column.
#[allow(clippy::too_many_arguments, reason = "columns of a node, and scratch")]
pub(crate) fn best_split<C: Criterion>(
    at: NodeSearch<'_, C>,
    columns: &DenseColumns,
    drawn: Option<&[u32]>,
    rows: &mut RowsOf<C>,
    packed: &mut C::Packed,
    scan: &mut C::Scan,
    scratch: &mut RandomScratch,
    of_bits: &mut BitScratch,
) -> Result<Found<C>> {
    let NodeSearch { search, node, .. } = at;
    let samples = node.samples.ids();
    let RandomScratch { features, categorical, side_by_side, alone, winner } = scratch;
    at.list_features(drawn, features, categorical);
    let best_conceivable = if features.len() > LANES { at.best_conceivable(scan) } else { None };
    packed.load(search.criterion, node.totals, samples, rows);
    *winner = None;
    let bits = if samples.len() > forgetful_up_to() { bits_of(search, columns) } else { None };
    let in_order = search.data.is_plain() && bits.is_none();
    let mut progress = Progress::new(Best::below(best_conceivable, in_order));
    if let Some(bits) = bits {
        bits::search(at, bits, features.iter().copied(), rows, packed, scan, of_bits, &mut progress)?;
        features.retain(|&feature| bits::place_of(at, bits, feature).is_none());
    }
    if samples.len() < large_from() {
        let ranks = resized(side_by_side, samples.len());
        RandomCuts { at, columns, rows, packed, scan, ranks, winner, progress }.run(features, categorical)
    } else {
        let ranks = resized(alone, samples.len());
        RandomCuts { at, columns, rows, packed, scan, ranks, winner, progress }.run(features, categorical)
    }
}

fn resized<const N: usize>(ranks: &mut Vec<[u32; N]>, len: usize) -> &mut [[u32; N]] {
    if ranks.len() < len {
        ranks.resize(len, [0; N]);
    }
    &mut ranks[..len]
}

/// The search of one node, `N` columns at a time.
struct RandomCuts<'a, C: Criterion, const N: usize> {
    at: NodeSearch<'a, C>,
    columns: &'a DenseColumns,
    rows: &'a RowsOf<C>,
    packed: &'a mut C::Packed,
    scan: &'a mut C::Scan,
    /// For each row of the node, its rank in each column of the batch.
    ranks: &'a mut [[u32; N]],
    /// The lane of the best candidate, if that candidate is of the batch whose ranks
    /// are loaded.
    winner: &'a mut Option<usize>,
    progress: Progress<C>,
}

impl<C: Criterion, const N: usize> RandomCuts<'_, C, N> {
    /// Searches these features. If none of them varies, searches the first column that does among
    /// the others, in the order of the permutation.
    fn run(mut self, features: &[u32], categorical: &[u32]) -> Result<Found<C>> {
        let NodeSearch { search, node, order } = self.at;
        let n_features = search.data.n_features() as u32;
        for batch in features.chunks(N) {
            search.runtime.check_interrupt()?;
            self.search(batch);
            if self.progress.best.is_final(search.criterion, node.totals) {
                break;
            }
        }
        if !categorical.is_empty() {
            self.search_categorical(categorical)?;
        }
        for position in search.n_drawn() as u32..n_features {
            if self.progress.n_varying > 0 {
                break;
            }
            search.runtime.check_interrupt()?;
            let feature = order.at(position);
            if self.at.is_excluded(feature) {
                continue;
            }
            if search.data.is_categorical(feature) {
                self.search_categorical(&[feature])?;
            } else {
                self.search(&[feature]);
            }
        }
        let Progress { best, constants, .. } = self.progress;
        if best.feature().is_some_and(|feature| search.data.is_categorical(feature)) {
            // Categorical columns are not loaded into lanes.
            *self.winner = None;
        }
        let constants = node.constants.with(&constants, &|_| node.samples.len());
        Ok(Found { best: best.candidate(), constants, heritage: None })
    }

    /// Searches columns of categories.
    fn search_categorical(&mut self, features: &[u32]) -> Result<()> {
        let Self { at, columns, rows, .. } = *self;
        let are_asked = at.search.splits_categories_at_random();
        let is_asked = |&feature: &u32| are_asked && !matches!(columns.column(feature).ranks, Ranks::U8(_));
        let (asked, others): (SmallVec<[u32; LANES]>, SmallVec<[u32; LANES]>) =
            features.iter().copied().partition(is_asked);
        let Self { packed, scan, progress, .. } = self;
        progress.n_varying += search_categorical(at, columns, &others, Some((packed, rows)), scan, &mut progress.best)?;
        for feature in asked {
            at.search.runtime.check_interrupt()?;
            self.ask_rows(feature);
        }
        Ok(())
    }

    /// Offers the cut of a column that has a [`RandomSubset`] of its categories on the left: asks each row
    /// on which side its category is. O(rows).
    fn ask_rows(&mut self, feature: u32) {
        let NodeSearch { search, node, .. } = self.at;
        let identities = search.data.identities(feature).unwrap_or_default();
        *self.winner = None;
        // First the names of the categories, then the places 0 and 1 of both sides.
        let (column, samples) = (self.columns.column(feature), node.samples.ids());
        load_lane(column, samples, self.ranks, 0, |rank| identities[rank as usize]);
        if self.ranks.iter().all(|names| names[0] == self.ranks[0][0]) {
            return;
        }
        let left = RandomSubset::of(node.key, feature, self.ranks.iter().map(|names| names[0]));
        self.ranks.iter_mut().for_each(|names| names[0] = u32::from(!left.has(names[0])));
        self.packed.add_below(search.level, self.rows, self.ranks, &[1; N]);
        let n_left = self.ranks.iter().map(|places| usize::from(places[0] == 0)).sum();
        self.offer(0, Candidate::between(feature, 0, 1, n_left));
        self.progress.n_varying += 1;
    }

    /// Offers the cuts of each column of the batch.
    fn search(&mut self, batch: &[u32]) {
        let NodeSearch { search, node, .. } = self.at;
        let (data, level) = (search.data, search.level);
        *self.winner = None;
        for (lane, &feature) in batch.iter().enumerate() {
            let (column, samples) = (self.columns.column(feature), node.samples.ids());
            if N == 1 {
                column.gather(samples, self.ranks.as_flattened_mut());
            } else {
                load_lane(column, samples, self.ranks, lane, |rank| rank);
            }
        }
        let missing = self.missing(batch);
        let (lowest, highest) = match &missing {
            None => extremes(level, self.ranks),
            Some(missing) => extremes_below(level, self.ranks, &missing.ranks),
        };
        let n_missing = missing.as_ref().map_or([0; N], |missing| missing.n);
        // Where all values are missing, the highest rank is 0 and the lowest is above 0.
        let varies = |lane: usize| lowest[lane] < highest[lane];
        let mut values = [(0.0, 0.0); N];
        for (lane, &feature) in batch.iter().enumerate().filter(|&(lane, _)| varies(lane)) {
            values[lane] = (data.value(feature, lowest[lane]), data.value(feature, highest[lane]));
        }
        // The first rank above the threshold is among a few ranks, or is the one after them. Where
        // no row has one of these few ranks, each of them divides the rows as the threshold does.
        // Elsewhere the first rank above the threshold is looked up.
        let (mut ends, mut last, mut thresholds) = ([0; N], [0; N], [0.0; N]);
        for (lane, &feature) in batch.iter().enumerate().filter(|&(lane, _)| varies(lane)) {
            let (low, high) = values[lane];
            thresholds[lane] = threshold_between(node.key, feature, low, high);
            let around = data.ranks_around(feature, thresholds[lane]);
            ends[lane] = around.start.max(lowest[lane] + 1).min(highest[lane]);
            last[lane] = around.end.clamp(ends[lane], highest[lane]);
        }
        let mut n_left = n_below(level, self.ranks, &ends);
        if ends != last {
            let n_at_most = n_below(level, self.ranks, &last);
            for lane in 0..batch.len() {
                if n_left[lane] == n_at_most[lane] {
                    continue;
                }
                ends[lane] = data.rank_above(batch[lane], thresholds[lane], ends[lane]..last[lane]);
                n_left[lane] = self.ranks.iter().map(|ranks| u32::from(ranks[lane] < ends[lane])).sum();
            }
        }
        self.packed.add_below(level, self.rows, self.ranks, &ends);
        let candidate = |lane: usize, n_left: u32, side| Candidate {
            feature: batch[lane],
            last_left: ends[lane].saturating_sub(1),
            missing: (n_missing[lane] > 0).then_some(side),
            order: 0,
            cut: Cut::Random { key: node.key, lowest: lowest[lane], highest: highest[lane] },
            n_left: n_left as usize,
            is_loose: false,
        };
        for (lane, &feature) in batch.iter().enumerate() {
            let is_part_missing = n_missing[lane] > 0 && n_missing[lane] < node.samples.len() as u32;
            if varies(lane) {
                self.offer(lane, candidate(lane, n_left[lane], Side::Right));
            } else if !is_part_missing {
                if node.samples.len() > forgetful_up_to() {
                    self.progress.constants.push(feature);
                }
                continue;
            }
            self.progress.n_varying += 1;
        }
        if let Some(missing) = missing.filter(|missing| missing.n != [0; N]) {
            // First the cut between values and missing values, then the threshold with missing
            // values on the left: they get rank 0 and so are below every threshold.
            self.packed.add_below(level, self.rows, self.ranks, &missing.ranks);
            for lane in (0..batch.len()).filter(|&lane| n_missing[lane] > 0) {
                let n_left = node.samples.len() as u32 - n_missing[lane];
                let all = candidate(lane, n_left, Side::Right);
                if n_left > 0 {
                    self.offer(
                        lane,
                        Candidate { last_left: highest[lane], cut: Cut::Before(missing.ranks[lane]), ..all },
                    );
                }
            }
            rotate(level, self.ranks, &missing.ranks);
            self.packed.add_below(level, self.rows, self.ranks, &ends);
            for lane in (0..batch.len()).filter(|&lane| n_missing[lane] > 0 && varies(lane)) {
                self.offer(lane, candidate(lane, n_left[lane] + n_missing[lane], Side::Left));
            }
        }
    }

    /// The missing values of the columns of a batch; `None` if the data set has none.
    fn missing(&self, batch: &[u32]) -> Option<Missing<N>> {
        let data = self.at.search.data;
        data.has_missing().then(|| {
            // `u32::MAX` in columns without missing values: no value has this rank.
            let mut ranks = [u32::MAX; N];
            for (rank, &feature) in ranks.iter_mut().zip(batch) {
                *rank = data.missing_rank(feature).unwrap_or(u32::MAX);
            }
            let n_values = n_below(self.at.search.level, self.ranks, &ranks);
            let mut n = n_values.map(|n| self.ranks.len() as u32 - n);
            n[batch.len()..].fill(0);
            Missing { ranks, n }
        })
    }

    /// Offers a cut of the column in `lane`. The rows on the left of the cut have been added up
    /// there.
    fn offer(&mut self, lane: usize, candidate: Candidate) {
        let NodeSearch { search, node, .. } = self.at;
        let pushed = self.packed.pushed(search.criterion, node.totals, self.scan, Summed::Lane(lane));
        if offer(self.at, candidate, (self.scan, pushed), || candidate.n_left, &mut self.progress.best) {
            *self.winner = Some(lane);
        }
    }
}

/// The missing values of columns side by side.
struct Missing<const N: usize> {
    /// For each column, the rank of missing values, which is above all others.
    ranks: [u32; N],
    /// For each column, the number of rows of the node that have a missing value.
    n: [u32; N],
}
