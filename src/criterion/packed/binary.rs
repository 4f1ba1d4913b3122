//! Packed forms of two classes of one output, for Gini impurity.
//!
//! A bin is one integer: the weight of its rows in the low half, and the weight of its rows of the
//! second class in the high half. So a row costs one addition, and sums over bins are exact.

use std::cmp::Ordering;

use super::{FEW_BINS, LANES, MAX_BINS, Packed, SLACK, Summed, TURNS, compare_means, in_turns, masks_without};
use crate::criterion::binary::{BinaryGini, BinaryPushed, BinaryTotals};
use crate::criterion::bins::BinPair;
use crate::criterion::weights::{Moment, SampleWeights};
use crate::simd::{Level, vectorized};

/// If a node's weight is below this, products of two of its weights are exact in `f64`.
const EXACT_BELOW: u64 = 1 << 26;

/// Histogram of weights and classes, and buffers.
pub struct PackedBinary<P> {
    n_bins: usize,
    bins: [P; MAX_BINS],
    /// `ends[b]` is the sum over all bins before bin `b`.
    ends: [P; MAX_BINS + 1],
    /// The low and the high halves of `ends`.
    weights: [f64; MAX_BINS + 1],
    seconds: [f64; MAX_BINS + 1],
    /// For each lane, the sum of the rows below the end of its column.
    below: [P; LANES],
}

impl<P: BinPair> PackedBinary<P> {
    /// Sets `ends`, `weights` and `seconds` from these bins.
    fn add_up(&mut self, bins: impl ExactSizeIterator<Item = usize>) {
        self.n_bins = bins.len();
        let mut sum = P::default();
        for (place, bin) in (1..).zip(bins) {
            sum += self.bins[bin];
            self.ends[place] = sum;
        }
        for bin in 1..=self.n_bins {
            let [weight, second] = self.ends[bin].unpack();
            self.weights[bin] = weight as i64 as f64;
            self.seconds[bin] = second as i64 as f64;
        }
    }
}

impl<W: SampleWeights> Packed<BinaryGini<'_, W>> for PackedBinary<W::Pair> {
    type Rows = Vec<W::Pair>;

    fn new(_criterion: &BinaryGini<'_, W>) -> Option<Self> {
        Some(Self {
            n_bins: 0,
            bins: [W::Pair::default(); MAX_BINS],
            ends: [W::Pair::default(); MAX_BINS + 1],
            weights: [0.0; MAX_BINS + 1],
            seconds: [0.0; MAX_BINS + 1],
            below: [W::Pair::default(); LANES],
        })
    }

    fn load(&self, criterion: &BinaryGini<'_, W>, _node: &BinaryTotals, samples: &[u32], rows: &mut Vec<W::Pair>) {
        rows.clear();
        // Copies of what does not change: behind a reference it would be read anew for each row.
        let BinaryGini { classes, weights, .. } = *criterion;
        rows.extend(samples.iter().map(|&sample| {
            let w = weights.weight(sample);
            W::Pair::pack(w, w * u64::from(classes[sample as usize]))
        }));
    }

    fn count(&mut self, _node: &BinaryTotals, rows: &Vec<W::Pair>, bins: &[u8], n_bins: usize, _with_bounds: bool) {
        self.n_bins = n_bins;
        if n_bins <= FEW_BINS {
            let mut turns = [[W::Pair::default(); FEW_BINS]; TURNS];
            in_turns(rows, bins, |turn, row, bin| turns[turn][usize::from(bin) % FEW_BINS] += *row);
            for (bin, sum) in self.bins[..n_bins].iter_mut().enumerate() {
                *sum = W::Pair::default();
                for turn in &turns {
                    *sum += turn[bin];
                }
            }
        } else {
            self.bins[..n_bins].fill(W::Pair::default());
            let (rows, rest) = rows.as_chunks::<8>();
            let (bins, rest_bins) = bins.as_chunks::<8>();
            for (rows, bins) in rows.iter().zip(bins) {
                for (&row, &bin) in rows.iter().zip(bins) {
                    self.bins[bin as usize] += row;
                }
            }
            for (&row, &bin) in rest.iter().zip(rest_bins) {
                self.bins[bin as usize] += row;
            }
        }
        self.add_up(0..n_bins);
    }

    fn rotate(&mut self, _node: &BinaryTotals) {
        self.bins[..self.n_bins].rotate_right(1);
        self.add_up(0..self.n_bins);
    }

    fn bin_has_rows(&self, bin: u8) -> bool {
        self.bins[usize::from(bin)] != W::Pair::default()
    }

    fn compare_bins(&self, _number: usize, a: u8, b: u8) -> Ordering {
        let mean = |bin: u8| {
            let [weight, second] = self.bins[usize::from(bin)].unpack();
            (second as i64, weight)
        };
        compare_means(mean(a), mean(b))
    }

    fn put_in_order(&mut self, _node: &BinaryTotals, bins: &[u8]) {
        self.add_up(bins.iter().map(|&bin| usize::from(bin)));
    }

    fn scores(&mut self, level: Level, node: &BinaryTotals, scores: &mut [f64]) {
        let n = self.n_bins;
        if node.weight < EXACT_BELOW {
            let whole = [node.weight as f64, node.second as f64];
            cut_scores(level, &self.weights[..=n], &self.seconds[1..=n], whole, scores);
        } else {
            for (bin, score) in scores.iter_mut().enumerate() {
                let [weight, second] = self.ends[bin + 1].unpack();
                let rest = node.weight - weight;
                *score = if self.ends[bin] != self.ends[bin + 1] && rest > 0 {
                    let excess =
                        W::Moment::product(second, node.weight as i64).minus_product(weight, node.second as i64);
                    excess.to_f64().powi(2) / (weight as f64 * rest as f64)
                } else {
                    f64::NEG_INFINITY
                };
            }
        }
    }

    /// The score is convex in the two class weights of a side, so that its maximum over the cuts within a bin
    /// is at a corner: all rows of one class of the bin are pushed, and none of the other. The score is even
    /// strictly convex along each of the two weights. So in a bin of one class, the cuts within the bin score
    /// less than the cuts at its ends.
    fn bounds(&mut self, level: Level, node: &BinaryTotals, all_legal: bool, bounds: &mut [f64]) {
        let n = self.n_bins;
        let whole = [node.weight as f64, node.second as f64];
        // Bounds the rounding of the excess where products are not exact.
        let error = if node.weight < EXACT_BELOW { 0.0 } else { whole[0] * whole[1] * (4.0 * f64::EPSILON) };
        corner_scores(level, &self.weights[..=n], &self.seconds[..=n], whole, error, all_legal, bounds);
    }

    fn add_below<const N: usize>(&mut self, level: Level, rows: &Vec<W::Pair>, ranks: &[[u32; N]], ends: &[u32; N]) {
        self.below[..N].copy_from_slice(&sums_below(level, rows, ranks, ends));
    }

    fn add_without(&mut self, level: Level, rows: &Vec<W::Pair>, words: &[u64], bits: &[u32; LANES]) {
        self.below = sums_without(level, rows, words, bits);
    }

    fn pushed(
        &self,
        _criterion: &BinaryGini<'_, W>,
        node: &BinaryTotals,
        _scan: &mut (),
        rows: Summed,
    ) -> BinaryPushed<W::Moment> {
        let sum = match rows {
            Summed::Bins(n_bins) => self.ends[n_bins],
            Summed::Lane(lane) => self.below[lane],
        };
        let [weight, second] = sum.unpack();
        BinaryPushed::new(node, BinaryTotals { weight, second })
    }
}

vectorized! {
    fn cut_scores(weights: &[f64], seconds: &[f64], whole: [f64; 2], scores: &mut [f64]) {
        let [node_weight, node_second] = whole;
        let n = scores.len();
        let (before, after, seconds) = (&weights[..n], &weights[1..=n], &seconds[..n]);
        for bin in 0..n {
            let weight = after[bin];
            let excess = node_weight * seconds[bin] - node_second * weight;
            let score = excess * excess / (weight * (node_weight - weight));
            scores[bin] = if weight > before[bin] && weight < node_weight { score } else { f64::NEG_INFINITY };
        }
    }
}

vectorized! {
    fn corner_scores(
        weights: &[f64],
        seconds: &[f64],
        whole: [f64; 2],
        error: f64,
        all_legal: bool,
        scores: &mut [f64],
    ) {
        let [node_weight, node_second] = whole;
        let n = scores.len();
        let (weights, weights_after) = (&weights[..n], &weights[1..=n]);
        let (seconds, seconds_after) = (&seconds[..n], &seconds[1..=n]);
        for bin in 0..n {
            let second = seconds_after[bin] - seconds[bin];
            let first = weights_after[bin] - weights[bin] - second;
            let excess = node_weight * seconds[bin] - node_second * weights[bin];
            let corner = |weight: f64, excess: f64| {
                let most = excess.abs() + error;
                let weight = weights[bin] + weight;
                let product = weight * (node_weight - weight);
                // A side without rows is no cut.
                if product > 0.0 { most * most / product } else { f64::NEG_INFINITY }
            };
            let by_second = corner(second, excess + second * (node_weight - node_second));
            let by_first = corner(first, excess - first * node_second);
            let higher = if by_second > by_first { by_second } else { by_first };
            let is_open = (first > 0.0 && second > 0.0) || !all_legal;
            scores[bin] = if is_open { higher * SLACK } else { f64::NEG_INFINITY };
        }
    }
}

vectorized! {
    fn sums_below<P: BinPair, const N: usize>(rows: &[P], ranks: &[[u32; N]], ends: &[u32; N]) -> [P; N] {
        let mut sums = [P::default(); N];
        for (&row, ranks) in rows.iter().zip(ranks) {
            for lane in 0..N {
                sums[lane] += if ranks[lane] < ends[lane] { row } else { P::default() };
            }
        }
        sums
    }
}

vectorized! {
    fn sums_without<P: BinPair>(rows: &[P], words: &[u64], bits: &[u32; LANES]) -> [P; LANES] {
        let mut sums = [P::default(); LANES];
        for (&row, &word) in rows.iter().zip(words) {
            let masks = masks_without(word, bits);
            for lane in 0..LANES {
                sums[lane] += row.masked(masks[lane]);
            }
        }
        sums
    }
}
