//! Packed forms of numbers, for the criteria whose scores follow from weighted sums of them: squared
//! error and Poisson deviance, of up to [`MAX_OUTPUTS`] outputs.
//!
//! A bin has, for each output, the number and the weight of its rows and the sum of their weighted
//! excesses: the excess of a number is the number less the whole part of the node's mean, so that
//! sums are exact integers. For the bounds alone, a bin also has the sum of weighted squared
//! excesses, in floating point.

use std::cmp::Ordering;

use super::{ByBin, FEW_BINS, Inside, LANES, MAX_BINS, Packed, SLACK, Summed, TURNS, in_turns, masks_without};
use crate::criterion::sums::{LOGS, OverSums, SQUARES, Whole};
use crate::criterion::weights::{Moment, Sizes};
use crate::num::{Exact, Wide};
use crate::simd::{Level, vectorized};

const ENDS: usize = MAX_BINS + 1;
/// A number for each end of a bin: the one before the first bin, then the one after each.
type ByEnd<T> = [T; ENDS];

/// Parameters of loops over bins that are called once for each output: for the only output, for one
/// that is followed by others, and for the last one of several.
const ONLY: usize = 0;
const MORE: usize = 1;
const LAST: usize = 2;

/// Histogram of weights and numbers, and buffers.
pub struct PackedSums<M: Moment> {
    n_bins: usize,
    outputs: Box<[OutputBins<M>]>,
    /// The weight of all bins before each end.
    weights: Box<ByEnd<f64>>,
    /// The weighted squared distances between the rows of each bin and the node's mean, rounded up,
    /// summed over the outputs in the unit of bounds.
    squares: Box<ByBin>,
    /// Scratch of the bounds, see `inner_bounds`.
    work: Box<[ByBin; 3]>,
    /// For each lane, the weight of the rows below the end of its column.
    below: [u64; LANES],
}

/// The sums of one output.
struct OutputBins<M: Moment> {
    /// See [`OverSums::unit`].
    unit: f64,
    bins: Box<[Bin<M>; MAX_BINS]>,
    /// The sum over all bins before each end.
    ends: Box<ByEnd<M>>,
    /// The sums of `ends`, less the fraction of the node's mean (see [`Whole::fraction`]).
    excesses: Box<ByEnd<f64>>,
    /// For each lane, the sum of the rows below the end of its column.
    below: [M; LANES],
}

#[derive(Clone, Copy, Default)]
struct Bin<M: Moment> {
    /// The weight of the rows, and their number.
    sizes: M::Sizes,
    sum: M,
    squares: f64,
}

/// The rows of a node: for each output all rows, each as a bin of its own.
#[derive(Default)]
pub struct SumRows<M: Moment> {
    n: usize,
    rows: Vec<Bin<M>>,
}

impl<M: Moment> Bin<M> {
    /// A row of this weight.
    #[inline]
    fn of_row(weight: u64, excess: i64) -> Self {
        let sum = M::product(weight, excess);
        Self { sizes: M::Sizes::of_row(weight), sum, squares: sum.to_f64() * excess as f64 }
    }

    fn weight(&self) -> u64 {
        self.sizes.weight()
    }

    /// Adds the rows of another bin; the squares only if bounds need them.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "one call per row")]
    fn add<const WITH_SQUARES: bool>(&mut self, rows: &Self) {
        self.sizes += rows.sizes;
        self.sum = self.sum + rows.sum;
        if WITH_SQUARES {
            self.squares += rows.squares;
        }
    }
}

impl<M: Moment> OutputBins<M> {
    fn new(unit: f64) -> Self {
        Self {
            unit,
            bins: Box::new([Bin::default(); MAX_BINS]),
            ends: Box::new([M::default(); ENDS]),
            excesses: Box::new([0.0; ENDS]),
            below: [M::default(); LANES],
        }
    }

    /// Counts rows into bins.
    fn count<const WITH_SQUARES: bool>(&mut self, rows: &[Bin<M>], bins: &[u8], n_bins: usize) {
        let all = &mut self.bins;
        if n_bins <= FEW_BINS {
            all[..TURNS * FEW_BINS].fill(Bin::default());
            in_turns(rows, bins, |turn, row, bin| {
                all[turn * FEW_BINS + usize::from(bin) % FEW_BINS].add::<WITH_SQUARES>(row);
            });
            let (counts, turns) = all.split_at_mut(FEW_BINS);
            for turn in turns[..(TURNS - 1) * FEW_BINS].chunks_exact(FEW_BINS) {
                counts.iter_mut().zip(turn).for_each(|(count, more)| count.add::<WITH_SQUARES>(more));
            }
        } else {
            all[..n_bins].fill(Bin::default());
            for (row, &bin) in rows.iter().zip(bins) {
                all[usize::from(bin)].add::<WITH_SQUARES>(row);
            }
        }
    }
}

/// The order of two means, given as sums and weights.
fn compare_wide_means((sum, weight): (i128, u64), (other_sum, other_weight): (i128, u64)) -> Ordering {
    if let (Some(a), Some(b)) = (sum.checked_mul(other_weight.into()), other_sum.checked_mul(weight.into())) {
        return a.cmp(&b);
    }
    let product = |sum: i128, weight: u64| Wide::<10>::from(sum.unsigned_abs()).times(&Wide::from(u128::from(weight)));
    match (sum < 0, other_sum < 0) {
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (are_negative, _) => {
            let order = product(sum, other_weight).partial_cmp(&product(other_sum, weight)).unwrap_or(Ordering::Equal);
            if are_negative { order.reverse() } else { order }
        }
    }
}

impl<M: Moment> SumRows<M> {
    fn of_output(&self, output: usize) -> &[Bin<M>] {
        &self.rows[output * self.n..][..self.n]
    }
}

impl<M: Moment> PackedSums<M> {
    /// The parameter of loops over bins for an output.
    fn part(&self, output: usize) -> usize {
        match self.outputs.len() {
            1 => ONLY,
            n if output + 1 < n => MORE,
            _ => LAST,
        }
    }

    /// Sets the sums over these bins before each.
    fn add_up<C: OverSums>(&mut self, node: &C::Totals, bins: &(impl ExactSizeIterator<Item = usize> + Clone)) {
        let Self { n_bins, outputs, weights, squares, .. } = self;
        *n_bins = bins.len();
        for (number, OutputBins { unit, bins: all, ends, excesses, .. }) in outputs.iter_mut().enumerate() {
            let whole = C::whole(node, number, *unit);
            let (mean, unit) = (whole.fraction + whole.mean, whole.bound_unit);
            let (mut weight, mut sum) = (0, M::default());
            for (place, bin) in bins.clone().enumerate() {
                let bin = &all[bin];
                weight += bin.weight();
                sum = sum + bin.sum;
                ends[place + 1] = sum;
                let end_weight = weight as i64 as f64;
                weights[place + 1] = end_weight;
                // The operations of `SquaredError::squares`, so that scores have its bits.
                excesses[place + 1] = sum.to_f64() - end_weight * whole.fraction;
                let weight = bin.weight() as i64 as f64;
                let distances = bin.squares - 2.0 * mean * bin.sum.to_f64() + mean * mean * weight;
                let distances = (distances + (bin.squares + weight) * 1e-9) * unit;
                squares[place] = if number == 0 { distances } else { squares[place] + distances };
            }
        }
    }
}

impl<C: OverSums> Packed<C> for PackedSums<C::Sum> {
    type Rows = SumRows<C::Sum>;

    fn new(criterion: &C) -> Option<Self> {
        let n_outputs = criterion.n_narrow_outputs()?;
        Some(Self {
            n_bins: 0,
            outputs: (0..n_outputs).map(|output| OutputBins::new(criterion.unit(output))).collect(),
            weights: Box::new([0.0; ENDS]),
            squares: Box::new([0.0; MAX_BINS]),
            work: Box::new([[0.0; MAX_BINS]; 3]),
            below: [0; LANES],
        })
    }

    fn load(&self, criterion: &C, node: &C::Totals, samples: &[u32], rows: &mut SumRows<C::Sum>) {
        rows.n = samples.len();
        rows.rows.clear();
        for (output, OutputBins { unit, .. }) in self.outputs.iter().enumerate() {
            let floor = C::whole(node, output, *unit).floor;
            let row = criterion.rows(output);
            rows.rows.extend(samples.iter().map(|&sample| {
                let (weight, number) = row(sample);
                Bin::of_row(weight, number - floor)
            }));
        }
    }

    fn count(&mut self, node: &C::Totals, rows: &SumRows<C::Sum>, bins: &[u8], n_bins: usize, with_bounds: bool) {
        for (number, output) in self.outputs.iter_mut().enumerate() {
            let count = if with_bounds { OutputBins::count::<true> } else { OutputBins::count::<false> };
            count(output, rows.of_output(number), bins, n_bins);
        }
        self.add_up::<C>(node, &(0..n_bins));
    }

    fn rotate(&mut self, node: &C::Totals) {
        let n_bins = self.n_bins;
        self.outputs.iter_mut().for_each(|output| output.bins[..n_bins].rotate_right(1));
        self.add_up::<C>(node, &(0..n_bins));
    }

    fn bin_has_rows(&self, bin: u8) -> bool {
        self.outputs[0].bins[usize::from(bin)].weight() > 0
    }

    fn compare_bins(&self, number: usize, a: u8, b: u8) -> Ordering {
        let mean = |bin: u8| {
            let bin = &self.outputs[number].bins[usize::from(bin)];
            (bin.sum.to_i128(), bin.weight())
        };
        compare_wide_means(mean(a), mean(b))
    }

    fn put_in_order(&mut self, node: &C::Totals, bins: &[u8]) {
        self.add_up::<C>(node, &bins.iter().map(|&bin| usize::from(bin)));
    }

    fn scores(&mut self, level: Level, node: &C::Totals, scores: &mut [f64]) {
        let n = self.n_bins;
        for (number, output) in self.outputs.iter().enumerate() {
            let add = match (C::LOSS, self.part(number)) {
                (LOGS, ONLY) => add_scores::<LOGS, ONLY>,
                (LOGS, MORE) => add_scores::<LOGS, MORE>,
                (LOGS, _) => add_scores::<LOGS, LAST>,
                (_, ONLY) => add_scores::<SQUARES, ONLY>,
                (_, MORE) => add_scores::<SQUARES, MORE>,
                _ => add_scores::<SQUARES, LAST>,
            };
            if number == 0 && self.outputs.len() > 1 {
                scores.fill(0.0);
            }
            let whole = C::whole(node, number, output.unit);
            add(level, &self.weights[..=n], &output.excesses[1..=n], &whole, scores);
        }
    }

    fn bounds(&mut self, level: Level, node: &C::Totals, _all_legal: bool, bounds: &mut [f64]) {
        let n = self.n_bins;
        let mut all = Whole::default();
        for (number, output) in self.outputs.iter().enumerate() {
            let whole = C::whole(node, number, output.unit);
            let steepness = whole.steepness.max(all.steepness);
            all = Whole { steepness, bound_error: all.bound_error + whole.bound_error, ..whole };
            let part = self.part(number);
            let add = match (C::LOSS, part) {
                (LOGS, ONLY) => inner_bounds::<LOGS, ONLY>,
                (LOGS, MORE) => inner_bounds::<LOGS, MORE>,
                (LOGS, _) => inner_bounds::<LOGS, LAST>,
                (_, ONLY) => inner_bounds::<SQUARES, ONLY>,
                (_, MORE) => inner_bounds::<SQUARES, MORE>,
                _ => inner_bounds::<SQUARES, LAST>,
            };
            if number == 0 && part == MORE {
                self.work.iter_mut().for_each(|sums| sums[..n].fill(0.0));
            }
            add(level, &self.weights[..=n], &output.excesses[..=n], &self.squares[..n], &all, &mut self.work, bounds);
        }
        for (bound, bin) in bounds.iter_mut().zip(&self.outputs[0].bins[..n]) {
            if !bin.sizes.are_several() {
                *bound = f64::NEG_INFINITY;
            }
        }
    }

    fn add_below<const N: usize>(&mut self, level: Level, rows: &SumRows<C::Sum>, ranks: &[[u32; N]], ends: &[u32; N]) {
        for (number, output) in self.outputs.iter_mut().enumerate() {
            let (weights, sums) = sums_below(level, rows.of_output(number), ranks, ends);
            self.below[..N].copy_from_slice(&weights);
            output.below[..N].copy_from_slice(&sums);
        }
    }

    fn add_without(&mut self, level: Level, rows: &SumRows<C::Sum>, words: &[u64], bits: &[u32; LANES]) {
        for (number, output) in self.outputs.iter_mut().enumerate() {
            (self.below, output.below) = sums_without(level, rows.of_output(number), words, bits);
        }
    }

    fn pushed(&self, criterion: &C, node: &C::Totals, scan: &mut C::Scan, rows: Summed) -> C::Pushed {
        match rows {
            Summed::Bins(n_bins) => {
                let sums = self.outputs.iter().map(|output| output.ends[n_bins]);
                criterion.pushed_sums(node, scan, self.weights[n_bins] as u64, sums)
            }
            Summed::Lane(lane) => {
                let sums = self.outputs.iter().map(|output| output.below[lane]);
                criterion.pushed_sums(node, scan, self.below[lane], sums)
            }
        }
    }
}

vectorized! {
    /// Adds an output's part of the scores, and makes scores of the sums after the last output.
    fn add_scores<const LOSS: usize, const PART: usize>(
        weights: &[f64],
        excesses: &[f64],
        whole: &Whole,
        scores: &mut [f64],
    ) {
        let n = scores.len();
        let (before, after, excesses) = (&weights[..n], &weights[1..=n], &excesses[..n]);
        for bin in 0..n {
            let weight = after[bin];
            let part = whole.part::<LOSS>(weight, excesses[bin]);
            let sum = if PART == ONLY { part } else { scores[bin] + part };
            let score = if LOSS == LOGS { sum } else { sum / (weight * (whole.weight - weight)) };
            let is_cut = weight > before[bin] && weight < whole.weight;
            scores[bin] = if PART == MORE { sum } else if is_cut { score } else { f64::NEG_INFINITY };
        }
    }
}

vectorized! {
    /// Adds an output's squared excesses, in the unit of bounds, of all rows before each bin and up to its
    /// end, and of twice the rows up to its middle. After the last output, sets `bounds`. A score of squares
    /// is the gain over the node's weight. [`Whole::bound_unit`] tells how a gain of squares bounds a gain of
    /// logarithms.
    fn inner_bounds<const LOSS: usize, const PART: usize>(
        weights: &[f64],
        excesses: &[f64],
        squares: &[f64],
        whole: &Whole,
        work: &mut [ByBin; 3],
        bounds: &mut [f64],
    ) {
        let n = bounds.len();
        let (low, high) = (&weights[..n], &weights[1..=n]);
        let (low_excesses, high_excesses, squares) = (&excesses[..n], &excesses[1..=n], &squares[..n]);
        let [before, after, middle] = work;
        let (before, after, middle) = (&mut before[..n], &mut after[..n], &mut middle[..n]);
        // Squares have no mean beside the fraction, and one output has the unit 1.
        let mean = if LOSS == LOGS { whole.mean } else { 0.0 };
        let unit = if LOSS == SQUARES && PART == ONLY { 1.0 } else { whole.bound_unit };
        for bin in 0..n {
            let less = |excess: f64, weight: f64| if LOSS == LOGS { excess - weight * mean } else { excess };
            let (low_excess, high_excess) = (less(low_excesses[bin], low[bin]), less(high_excesses[bin], high[bin]));
            let square = |excess: f64, sum: f64| {
                let square = excess * excess * unit;
                if PART == ONLY { square } else { sum + square }
            };
            let inside = Inside {
                low: low[bin],
                high: high[bin],
                before: square(low_excess, before[bin]),
                after: square(high_excess, after[bin]),
                middle: square(low_excess + high_excess, middle[bin]),
                squares: squares[bin],
            };
            if PART == MORE {
                (before[bin], after[bin], middle[bin]) = (inside.before, inside.after, inside.middle);
                continue;
            }
            let gain = inside.most_gain(whole.weight);
            bounds[bin] = if LOSS == LOGS {
                let (left, right) = (low[bin] + 1.0, whole.weight - high[bin] + 1.0);
                let lighter = if left < right { left } else { right };
                let deviation = inside.most_square().sqrt() * whole.steepness / lighter;
                gain * (1.0 + if deviation < 1.0 { deviation } else { 1.0 }) * SLACK + whole.bound_error
            } else {
                gain / whole.weight * SLACK
            };
        }
    }
}

vectorized! {
    /// The weight and the sum of the rows whose rank is below the end, for each column.
    fn sums_below<M: Moment, const N: usize>(rows: &[Bin<M>], ranks: &[[u32; N]], ends: &[u32; N]) -> ([u64; N], [M; N]) {
        let (mut sizes, mut sums) = ([M::Sizes::default(); N], [M::default(); N]);
        for (row, ranks) in rows.iter().zip(ranks) {
            for lane in 0..N {
                // A choice of the row or 0 becomes a branch, or reads of distant numbers, which take four
                // times as long (`benches/notes/dense-search.md`).
                let mask = -i64::from(ranks[lane] < ends[lane]);
                sizes[lane] += row.sizes.masked(mask as u64);
                sums[lane] = sums[lane] + row.sum.masked(mask as u64);
            }
        }
        (sizes.map(Sizes::weight), sums)
    }
}

vectorized! {
    /// The weight and the sum of the rows whose word does not have the bit, for each bit.
    fn sums_without<M: Moment>(rows: &[Bin<M>], words: &[u64], bits: &[u32; LANES]) -> ([u64; LANES], [M; LANES]) {
        let (mut weights, mut sums) = ([0; LANES], [M::default(); LANES]);
        for (row, &word) in rows.iter().zip(words) {
            let masks = masks_without(word, bits);
            for lane in 0..LANES {
                weights[lane] += row.weight() & masks[lane];
            }
            for lane in 0..LANES {
                sums[lane] = sums[lane] + row.sum.masked(masks[lane]);
            }
        }
        (weights, sums)
    }
}
