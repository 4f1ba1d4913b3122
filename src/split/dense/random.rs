//! Random thresholds of dense columns: gather the node's ranks, find their extremes, and sum the rows below the threshold.
//!
//! No sort and no comparison of values: a threshold becomes a rank. The columns of a node go through each step side by
//! side, one per lane of a vector register, so that a small node costs one loop per step and not one per step and column, and
//! cache misses overlap. Large nodes take one column after the other, with the rows side by side. O(W) per column.
//!
//! Where a column has missing values in the node, three cuts are offered: the threshold with these on either side, and they
//! against all others.

use crate::criterion::packed::Packed;
use crate::tuning::tuned;

use crate::criterion::Criterion;
use crate::criterion::packed::lanes::LANES;
use crate::data::DenseColumns;
use crate::error::Result;
use crate::rng::{NodeKey, Side};
use crate::split::best::Best;
use crate::split::candidate::{Candidate, Cut, threshold_between};
use crate::split::dense::column::{RowsOf, search_categorical};
use crate::split::dense::lanes::{extremes, extremes_below, load_lane, n_below, rotate};
use crate::split::found::Found;
use crate::split::node::NodeSearch;
use crate::split::samples::SampleSet;

tuned! {
    /// Nodes from this size on take one column after the other (bench `sweep`).
    fn large_from() -> usize = 1024;
    /// Nodes up to this size do not hand on which columns are constant: to find out costs less.
    fn forgetful_up_to() -> usize = 64;
}

/// Buffers of one worker, assumed dirty.
#[derive(Debug, Default)]
pub(crate) struct RandomScratch {
    features: Vec<u32>,
    categorical: Vec<u32>,
    side_by_side: Vec<[u32; LANES]>,
    alone: Vec<[u32; 1]>,
    /// The lane that still has the winning column: the partition needs it next.
    winner: Option<(NodeKey, usize)>,
}

impl RandomScratch {
    /// Partitions the node that was searched last, if the ranks that it takes are still here.
    pub fn partition(&mut self, samples: &mut SampleSet<'_>, key: NodeKey, split: &Candidate) -> Option<usize> {
        fn by<const N: usize>(
            ranks: &[[u32; N]],
            lane: usize,
            samples: &mut SampleSet<'_>,
            split: &Candidate,
        ) -> usize {
            // Missing values have moved in front, and then nothing else has rank 0.
            let first = u32::from(split.missing == Some(Side::Right));
            let mut ranks = ranks.iter();
            samples.partition(|_| ranks.next().is_some_and(|ranks| (first..=split.last_left).contains(&ranks[lane])))
        }
        let (_, lane) = self.winner.take().filter(|&(node, _)| node == key)?;
        Some(if samples.len() < large_from() {
            by(&self.side_by_side, lane, samples, split)
        } else {
            by(&self.alone, lane, samples, split)
        })
    }
}

/// The best of one random cut per column.
pub(crate) fn best_split<C: Criterion>(
    at: NodeSearch<'_, C>,
    columns: &DenseColumns,
    drawn: Option<&[u32]>,
    rows: &mut RowsOf<C>,
    packed: &mut C::Packed,
    scan: &mut C::Scan,
    scratch: &mut RandomScratch,
) -> Result<Found<C>> {
    let NodeSearch { search, node, .. } = at;
    let samples = node.samples.ids();
    let RandomScratch { features, categorical, side_by_side, alone, winner } = scratch;
    at.list_features(drawn, features, categorical);
    let summit = if features.len() > LANES { at.best_conceivable(scan) } else { None };
    packed.load(search.criterion, node.totals, samples, rows);
    let best = Best::below(summit, search.data.is_plain());
    if samples.len() < large_from() {
        let ranks = resized(side_by_side, samples.len());
        RandomCuts { at, columns, rows, packed, scan, ranks, best, winner, constants: Vec::new() }
            .run(features, categorical)
    } else {
        let ranks = resized(alone, samples.len());
        RandomCuts { at, columns, rows, packed, scan, ranks, best, winner, constants: Vec::new() }
            .run(features, categorical)
    }
}

fn resized<const N: usize>(ranks: &mut Vec<[u32; N]>, len: usize) -> &mut [[u32; N]] {
    if ranks.len() < len {
        ranks.resize(len, [0; N]);
    }
    &mut ranks[..len]
}

/// The search of one node, by `N` columns at a time.
struct RandomCuts<'a, C: Criterion, const N: usize> {
    at: NodeSearch<'a, C>,
    columns: &'a DenseColumns,
    rows: &'a RowsOf<C>,
    packed: &'a mut C::Packed,
    scan: &'a mut C::Scan,
    /// The ranks of each row.
    ranks: &'a mut [[u32; N]],
    best: Best<C>,
    /// The lane of the best candidate, if it is of the last batch.
    winner: &'a mut Option<(NodeKey, usize)>,
    constants: Vec<u32>,
}

impl<C: Criterion, const N: usize> RandomCuts<'_, C, N> {
    /// Searches these features; if none of them varies, the first of the others in the order of the draw that does.
    fn run(mut self, features: &[u32], categorical: &[u32]) -> Result<Found<C>> {
        let NodeSearch { search, node, order } = self.at;
        let n_features = search.data.n_features() as u32;
        let mut n_varying = 0;
        for batch in features.chunks(N) {
            search.runtime.check_interrupt()?;
            n_varying += self.search(batch);
            if self.best.is_final(search.criterion, node.totals) {
                break;
            }
        }
        if !categorical.is_empty() {
            n_varying += search_categorical(self.at, self.columns, categorical, self.scan, &mut self.best)?;
        }
        for position in search.n_drawn() as u32..n_features {
            if n_varying > 0 {
                break;
            }
            search.runtime.check_interrupt()?;
            let feature = order.at(position);
            n_varying += if search.data.is_categorical(feature) {
                search_categorical(self.at, self.columns, &[feature], self.scan, &mut self.best)?
            } else {
                self.search(&[feature])
            };
        }
        if self.best.feature().is_some_and(|feature| search.data.is_categorical(feature)) {
            // It was not in a lane.
            *self.winner = None;
        }
        let constants = node.constants.with(&self.constants, |_| node.samples.len());
        Ok(Found { best: self.best.candidate(), constants, heritage: None })
    }

    /// Offers the random cuts of each column of the batch. Returns the number of columns that vary.
    fn search(&mut self, batch: &[u32]) -> usize {
        let NodeSearch { search, node, .. } = self.at;
        let (data, level) = (search.data, search.level);
        *self.winner = None;
        for (lane, &feature) in batch.iter().enumerate() {
            load_lane(self.columns.column(feature), node.samples.ids(), self.ranks, lane, |rank, _| rank);
        }
        let missing = self.missing(batch);
        let (lowest, highest) = match &missing {
            None => extremes(level, self.ranks),
            Some(missing) => extremes_below(level, self.ranks, &missing.ranks),
        };
        let n_missing = missing.as_ref().map_or([0; N], |missing| missing.n);
        // All values of a column may be missing.
        let varies = |lane: usize| lowest[lane] < highest[lane];
        let mut values = [(0.0, 0.0); N];
        for (lane, &feature) in batch.iter().enumerate().filter(|&(lane, _)| varies(lane)) {
            values[lane] = (data.value(feature, lowest[lane]), data.value(feature, highest[lane]));
        }
        // The first rank beyond the threshold is one of a few. Where no row has one of those, any of them parts the rows as
        // it does.
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
        let mut n_varying = 0;
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
                    self.constants.push(feature);
                }
                continue;
            }
            n_varying += 1;
        }
        if let Some(missing) = missing.filter(|missing| missing.n != [0; N]) {
            // First all values of each such column, then those below the threshold with missing values in front.
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
        n_varying
    }

    /// The missing values of the columns of a batch, if the data set has any.
    fn missing(&self, batch: &[u32]) -> Option<Missing<N>> {
        let data = self.at.search.data;
        data.has_missing().then(|| {
            // No rank is so high, unless it is that of missing values.
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

    /// Offers the cut whose rows were added up in a lane.
    fn offer(&mut self, lane: usize, candidate: Candidate) {
        let NodeSearch { search, node, order } = self.at;
        let criterion = search.criterion;
        let pushed = self.packed.pushed_below(criterion, node.totals, self.scan, lane);
        let score = criterion.score(node.totals, self.scan, pushed);
        let legal = |scan| search.is_legal(node, candidate.feature, (Side::Left, candidate.n_left), (scan, pushed));
        if self.best.may_win(score) && legal(self.scan) {
            self.best.offer(criterion, node.totals, order, (self.scan, pushed), score, candidate);
            if self.best.feature() == Some(candidate.feature) {
                *self.winner = Some((node.key, lane));
            }
        }
    }
}

/// Missing values of columns side by side.
struct Missing<const N: usize> {
    /// Their ranks, above all others.
    ranks: [u32; N],
    /// Their numbers.
    n: [u32; N],
}
