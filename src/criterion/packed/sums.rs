//! Packed forms of one regression target, for squared error.
//!
//! A bin has the number and the weight of its rows and the sum of their weighted excesses: the
//! excess of a target is the target less the whole part of the node's mean, so that sums are exact
//! integers. For the bounds alone, a bin also has the sum of weighted squared excesses, in floating
//! point.

use std::cmp::Ordering;

use super::lanes::{Cuts, Keys, LANES, MAX_PLACES, Scores, mask_missing, mask_ties, place};
use super::{ByBin, Inside, MAX_BINS, Packed, SLACK, Summed, compare_means};
use crate::criterion::squared_error::{SquaredError, SumTotals};
use crate::criterion::sums::SumPushed;
use crate::criterion::weights::{Moment, SampleWeights};
use crate::data::target::COARSE_BITS;
use crate::simd::{Level, vectorized};

/// Histogram of weights and targets, and buffers.
pub struct PackedSums {
    n_bins: usize,
    bins: Box<[Bin; MAX_BINS]>,
    /// `ends[b]` is the sum over all bins before bin `b`.
    ends: Box<[End; MAX_BINS + 1]>,
    /// The weights of `ends`, and the sums of the excesses over the whole mean, its fraction
    /// included.
    weights: Box<[f64; MAX_BINS + 1]>,
    excesses: Box<[f64; MAX_BINS + 1]>,
    /// The weighted squared distances between the rows of each bin and the node's mean, rounded up.
    squares: Box<ByBin>,
    /// Whether targets have few enough bits for [`Packed::lane_scores`].
    is_coarse: bool,
    /// The rows of a small node: the weighted excess and the weight.
    places: Box<[[f64; 2]; MAX_PLACES]>,
    /// For each lane, the sum of the rows below the end of its column.
    below: [End; LANES],
}

#[derive(Clone, Copy, Default)]
struct Bin {
    /// The weight of the rows in the low half, their number in the high half.
    sizes: u64,
    sum: i64,
    squares: f64,
}

#[derive(Clone, Copy, Default)]
struct End {
    weight: u64,
    sum: i64,
}

/// The rows of a node.
#[derive(Default)]
pub struct SumRows {
    /// The target of each row, less the whole part of the node's mean.
    excesses: Vec<i64>,
    /// The weight of each row; empty if all weights are 1.
    weights: Vec<u32>,
}

const ONE_ROW: u64 = 1 << 32;

fn weight_of(sizes: u64) -> u64 {
    sizes & 0xFFFF_FFFF
}

impl Bin {
    #[inline]
    fn add(&mut self, weight: u64, excess: i64) {
        let product = weight as i64 * excess;
        self.sizes += ONE_ROW | weight;
        self.sum += product;
        self.squares += product as f64 * excess as f64;
    }
}

impl PackedSums {
    /// Sets the sums over these bins before each; `fraction` is the fraction of the node's mean.
    fn add_up(&mut self, fraction: f64, bins: impl ExactSizeIterator<Item = usize>) {
        self.n_bins = bins.len();
        let mut end = End::default();
        for (place, bin) in bins.enumerate() {
            let Bin { sizes, sum, squares } = self.bins[bin];
            end = End { weight: end.weight + weight_of(sizes), sum: end.sum + sum };
            self.ends[place + 1] = end;
            let weight = end.weight as i64 as f64;
            self.weights[place + 1] = weight;
            // The operations of `SquaredError::squares`, so that scores have its bits.
            self.excesses[place + 1] = end.sum as f64 - weight * fraction;
            let weight = weight_of(sizes) as i64 as f64;
            let distances = squares - 2.0 * fraction * sum as f64 + fraction * fraction * weight;
            self.squares[place] = distances + (squares + weight) * 1e-9;
        }
    }
}

impl<W: SampleWeights> Packed<SquaredError<'_, W>> for PackedSums {
    type Rows = SumRows;

    fn new(criterion: &SquaredError<'_, W>) -> Option<Self> {
        (W::ARE_SMALL && criterion.n_outputs == 1).then(|| Self {
            n_bins: 0,
            bins: Box::new([Bin::default(); MAX_BINS]),
            ends: Box::new([End::default(); MAX_BINS + 1]),
            weights: Box::new([0.0; MAX_BINS + 1]),
            excesses: Box::new([0.0; MAX_BINS + 1]),
            squares: Box::new([0.0; MAX_BINS]),
            is_coarse: criterion.numbers.bits <= COARSE_BITS,
            places: Box::new([[0.0; 2]; MAX_PLACES]),
            below: [End::default(); LANES],
        })
    }

    fn load(&self, criterion: &SquaredError<'_, W>, node: &SumTotals<W::Moment>, samples: &[u32], rows: &mut SumRows) {
        let mean = node.outputs[0].mean;
        rows.excesses.clear();
        rows.excesses.extend(samples.iter().map(|&sample| criterion.numbers.fixed[sample as usize] - mean));
        rows.weights.clear();
        if !W::ARE_UNIT {
            rows.weights.extend(samples.iter().map(|&sample| criterion.weights.weight(sample) as u32));
        }
    }

    fn count(&mut self, node: &SumTotals<W::Moment>, rows: &SumRows, bins: &[u8], n_bins: usize) {
        self.n_bins = n_bins;
        self.bins[..n_bins].fill(Bin::default());
        let pairs = rows.excesses.iter().zip(bins);
        if W::ARE_UNIT {
            for (&excess, &bin) in pairs {
                self.bins[bin as usize].add(1, excess);
            }
        } else {
            for ((&excess, &bin), &weight) in pairs.zip(&rows.weights) {
                self.bins[bin as usize].add(u64::from(weight), excess);
            }
        }
        self.add_up(node.outputs[0].fraction, 0..n_bins);
    }

    fn rotate(&mut self, node: &SumTotals<W::Moment>) {
        self.bins[..self.n_bins].rotate_right(1);
        self.add_up(node.outputs[0].fraction, 0..self.n_bins);
    }

    fn bin_has_rows(&self, bin: u8) -> bool {
        weight_of(self.bins[usize::from(bin)].sizes) > 0
    }

    fn compare_bins(&self, _number: usize, a: u8, b: u8) -> Ordering {
        let mean = |bin: u8| {
            let Bin { sizes, sum, .. } = self.bins[usize::from(bin)];
            (sum, weight_of(sizes))
        };
        compare_means(mean(a), mean(b))
    }

    fn put_in_order(&mut self, node: &SumTotals<W::Moment>, bins: &[u8]) {
        self.add_up(node.outputs[0].fraction, bins.iter().map(|&bin| usize::from(bin)));
    }

    fn scores(&self, level: Level, node: &SumTotals<W::Moment>, scores: &mut [f64]) {
        let n = self.n_bins;
        let node_weight = node.weight as f64;
        cut_scores(level, &self.weights[..=n], &self.excesses[1..=n], node_weight, scores);
    }

    fn bounds(&mut self, level: Level, node: &SumTotals<W::Moment>, _all_legal: bool, bounds: &mut [f64]) {
        let n = self.n_bins;
        let Self { weights, excesses, squares, bins, .. } = self;
        inner_bounds(level, &weights[..=n], &excesses[..=n], &squares[..n], node.weight as f64, bounds);
        for (bound, bin) in bounds.iter_mut().zip(&bins[..n]) {
            if bin.sizes < 2 * ONE_ROW {
                *bound = f64::NEG_INFINITY;
            }
        }
    }

    fn lane_scores(&mut self, level: Level, node: &SumTotals<W::Moment>, rows: &SumRows, cuts: Cuts<'_>) -> bool {
        // Below this weight, sums of excesses are exact in `f64`.
        if !self.is_coarse || node.weight >= 1 << (f64::MANTISSA_DIGITS - COARSE_BITS) {
            return false;
        }
        let fraction = node.outputs[0].fraction;
        if W::ARE_UNIT {
            for (slot, &excess) in self.places.iter_mut().zip(&rows.excesses) {
                *slot = [excess as f64, 1.0];
            }
        } else {
            for (slot, (&excess, &weight)) in self.places.iter_mut().zip(rows.excesses.iter().zip(&rows.weights)) {
                *slot = [(i64::from(weight) * excess) as f64, f64::from(weight)];
            }
        }
        let missing = cuts.missing_sums(|[sum, weight]: [f64; 2], place| {
            let [more, one] = self.places[place];
            [sum + more, weight + one]
        });
        let whole = [node.weight as f64, fraction];
        let Cuts { keys, scores, missing: to_left } = cuts;
        match to_left {
            None => sorted_scores::<0>(level, &self.places, whole, keys, &[0; LANES], &missing, scores, &mut []),
            Some((ranks, others)) => {
                sorted_scores::<1>(level, &self.places, whole, keys, ranks, &missing, scores, others);
            }
        }
        true
    }

    fn add_below<const N: usize>(&mut self, level: Level, rows: &SumRows, ranks: &[[u32; N]], ends: &[u32; N]) {
        let (weights, sums) = sums_below(level, &rows.excesses, &rows.weights, ranks, ends);
        for (end, (weight, sum)) in self.below.iter_mut().zip(weights.into_iter().zip(sums)) {
            *end = End { weight, sum };
        }
    }

    fn pushed(
        &self,
        _criterion: &SquaredError<'_, W>,
        node: &SumTotals<W::Moment>,
        _scan: &mut Box<[W::Moment]>,
        rows: Summed,
    ) -> SumPushed<W::Moment> {
        let End { weight, sum } = match rows {
            Summed::Bins(n_bins) => self.ends[n_bins],
            Summed::Lane(lane) => self.below[lane],
        };
        let first = W::Moment::from(sum).plus_product(weight, node.outputs[0].mean);
        SumPushed { weight, first }
    }
}

vectorized! {
    fn cut_scores(weights: &[f64], excesses: &[f64], node_weight: f64, scores: &mut [f64]) {
        let n = scores.len();
        let (before, after, excesses) = (&weights[..n], &weights[1..=n], &excesses[..n]);
        for bin in 0..n {
            let weight = after[bin];
            let score = excesses[bin] * excesses[bin] / (weight * (node_weight - weight));
            scores[bin] = if weight > before[bin] && weight < node_weight { score } else { f64::NEG_INFINITY };
        }
    }
}

vectorized! {
    /// The score is the gain over the node's weight.
    fn inner_bounds(weights: &[f64], excesses: &[f64], squares: &[f64], node_weight: f64, bounds: &mut [f64]) {
        let n = bounds.len();
        let (weights, weights_after) = (&weights[..n], &weights[1..=n]);
        let (excesses, excesses_after) = (&excesses[..n], &excesses[1..=n]);
        let squares = &squares[..n];
        for bin in 0..n {
            let inside = Inside {
                low: weights[bin],
                high: weights_after[bin],
                before: excesses[bin] * excesses[bin],
                after: excesses_after[bin] * excesses_after[bin],
                twice_middle: (excesses[bin] + excesses_after[bin]).abs(),
                squares: squares[bin],
            };
            bounds[bin] = inside.most_gain(node_weight) / node_weight * SLACK;
        }
    }
}

vectorized! {
    /// Scores the cuts between sorted keys, see [`Packed::lane_scores`]. If `MISSING` is 1, also
    /// sets `others` to the scores with missing values on the left, where `ranks` and `missing`
    /// have the rank and the sum of the missing values in each lane. `whole` has the weight of the
    /// node and the fraction of its mean.
    fn sorted_scores<const MISSING: usize>(
        places: &[[f64; 2]; MAX_PLACES],
        whole: [f64; 2],
        keys: &[Keys],
        ranks: &Keys,
        missing: &[[f64; 2]; LANES],
        scores: &mut [Scores],
        others: &mut [Scores],
    ) {
        let [node_weight, fraction] = whole;
        let missing_sums: [f64; LANES] = std::array::from_fn(|lane| missing[lane][0]);
        let missing_weights: [f64; LANES] = std::array::from_fn(|lane| missing[lane][1]);
        let (mut sums, mut weights) = ([0.0; LANES], [0.0; LANES]);
        for (i, (scores, keys)) in scores.iter_mut().zip(keys.windows(2)).enumerate() {
            for lane in 0..LANES {
                let [sum, weight] = places[place(keys[0][lane])];
                sums[lane] += sum;
                weights[lane] += weight;
            }
            for lane in 0..LANES {
                let weight: f64 = weights[lane];
                let excess = sums[lane] - weight * fraction;
                scores[lane] = excess * excess / (weight * (node_weight - weight));
            }
            if MISSING == 1 {
                for lane in 0..LANES {
                    let weight = weights[lane] + missing_weights[lane];
                    let excess = sums[lane] + missing_sums[lane] - weight * fraction;
                    others[i][lane] = excess * excess / (weight * (node_weight - weight));
                }
                mask_missing(&keys[1], ranks, &mut others[i]);
                mask_ties(&keys[0], &keys[1], &mut others[i]);
            }
            mask_ties(&keys[0], &keys[1], scores);
        }
    }
}

vectorized! {
    fn sums_below<const N: usize>(
        excesses: &[i64],
        weights: &[u32],
        ranks: &[[u32; N]],
        ends: &[u32; N],
    ) -> ([u64; N], [i64; N]) {
        let (mut n, mut sums) = ([0; N], [0; N]);
        if weights.is_empty() {
            for (&excess, ranks) in excesses.iter().zip(ranks) {
                for lane in 0..N {
                    n[lane] += u64::from(ranks[lane] < ends[lane]);
                    sums[lane] += if ranks[lane] < ends[lane] { excess } else { 0 };
                }
            }
        } else {
            for ((&excess, &weight), ranks) in excesses.iter().zip(weights).zip(ranks) {
                let (weight, product) = (u64::from(weight), i64::from(weight) * excess);
                for lane in 0..N {
                    n[lane] += if ranks[lane] < ends[lane] { weight } else { 0 };
                    sums[lane] += if ranks[lane] < ends[lane] { product } else { 0 };
                }
            }
        }
        (n, sums)
    }
}
