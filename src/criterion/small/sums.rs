//! Squared error of up to [`MAX_OUTPUTS`] targets in small subtrees; see
//! `criterion::squared_error`.
//!
//! Let `W` be the weight of the node and `S` the weighted sum of its targets `q`. A row of weight
//! `w` has the excess `w (W q - S)`, and a cut has the sum of the excesses on its left, which is
//! exact. The score is the square of that sum over `w (W - w)`, `w` being the weight on the left.
//! The squares of several targets are added up, in the scale of the finest target.

use super::{
    BY_RANK, BY_RANK_OF_FEW, BY_UNIT, ByRow, FEW_ROWS, LANES, MAX_ROWS, MAX_WEIGHT, SmallCut, SmallRows, goes_left,
    higher, highest_of, is_end, n_lanes,
};
use crate::criterion::squared_error::SquaredError;
use crate::criterion::sums::{factors, shifts};
use crate::criterion::weights::{Moment, SampleWeights};
use crate::simd::{Level, vectorized};

/// The most targets. So many squares, each of at most [`MAX_PRODUCT`] squared, fit in 128 bits.
const MAX_OUTPUTS: usize = 8;
/// The square of the total weight, times the range of the targets, is at most this, so that sums of
/// excesses fit in 64 bits in whatever order they are added up.
const MAX_PRODUCT: u64 = 1 << 61;

/// The rows of a small subtree.
pub struct SmallSums {
    /// By place: the weight of the row.
    weights: ByRow<i32>,
    /// The node's weight.
    weight: i64,
    /// The weights of the node's rows.
    row_weights: ByRow<i32>,
    /// The weights on the left of the cuts that were scored last.
    lefts: [[i32; LANES]; MAX_ROWS / LANES],
    /// The weights of units of categories.
    unit_weights: ByRow<i32>,
    outputs: Box<[Output]>,
}

/// The numbers of one target.
struct Output {
    /// By how many bits the target's scale is coarser than the finest one, and 2 to this power.
    shift: u32,
    factor: f64,
    /// The target of the subtree's first row. All others are distances from it.
    origin: i64,
    /// By place: the target of the row.
    targets: ByRow<i64>,
    /// The weighted sum of the node's targets.
    sum: i64,
    /// The square of the node's weight times the variance.
    variance: u128,
    /// The excesses of the node's rows.
    row_excesses: ByRow<i64>,
    /// The excesses on the left of the cuts that were scored last.
    excesses: [[i64; LANES]; MAX_ROWS / LANES],
    /// The excesses of units of categories.
    unit_excesses: ByRow<i64>,
}

impl Output {
    /// The square of an excess, for the score.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
    fn square(&self, excess: i64) -> f64 {
        let excess = excess as f64 * self.factor;
        excess * excess
    }

    /// The square of an excess as an integer, for comparisons that must be exact.
    fn exact_square(&self, excess: i64) -> u128 {
        let excess = u128::from(excess.unsigned_abs()) << self.shift;
        excess * excess
    }
}

impl SmallSums {
    /// The cut that has `left(output)` on its left: its weight, and the excess of an output.
    #[inline]
    fn cut_of(&self, left: impl Fn(&Output) -> (i32, i64)) -> SmallCut {
        let (mut weight, mut square, mut numerator) = (0, 0.0, 0);
        for output in &self.outputs {
            let excess;
            (weight, excess) = left(output);
            square += output.square(excess);
            numerator += output.exact_square(excess);
        }
        let weight = weight as u64;
        let denominator = weight * (self.weight as u64 - weight);
        SmallCut { score: square / denominator as f64, numerator, denominator, weight }
    }
}

impl<W: SampleWeights> SmallRows<SquaredError<'_, W>> for SmallSums {
    fn new(criterion: &SquaredError<'_, W>) -> Option<Self> {
        if !W::ARE_SMALL || criterion.n_outputs > MAX_OUTPUTS {
            return None;
        }
        let scale = &criterion.numbers.scale;
        let output = |(shift, &factor): (u32, &f64)| Output {
            shift,
            factor,
            origin: 0,
            targets: [0; MAX_ROWS],
            sum: 0,
            variance: 0,
            row_excesses: [0; MAX_ROWS],
            excesses: [[0; LANES]; MAX_ROWS / LANES],
            unit_excesses: [0; MAX_ROWS],
        };
        Some(Self {
            weights: [0; MAX_ROWS],
            weight: 0,
            row_weights: [0; MAX_ROWS],
            lefts: [[0; LANES]; MAX_ROWS / LANES],
            unit_weights: [0; MAX_ROWS],
            outputs: shifts(scale).zip(&factors(scale)).map(output).collect(),
        })
    }

    fn load(&mut self, criterion: &SquaredError<'_, W>, samples: &[u32]) -> bool {
        let mut total = 0;
        for (weight, &sample) in self.weights.iter_mut().zip(samples) {
            let w = criterion.weights.weight(sample);
            total += w;
            *weight = w as i32;
        }
        if total > MAX_WEIGHT {
            return false;
        }
        let n_outputs = self.outputs.len();
        self.outputs.iter_mut().enumerate().all(|(number, output)| {
            let target = |sample: u32| criterion.numbers.fixed[sample as usize * n_outputs + number];
            output.origin = target(samples[0]);
            let (mut least, mut most) = (0, 0);
            for (distance, &sample) in output.targets.iter_mut().zip(samples) {
                *distance = target(sample) - output.origin;
                least = (*distance).min(least);
                most = (*distance).max(most);
            }
            // Neither the shift nor the range is above 61 bits.
            output.shift <= 61
                && u128::from(most.abs_diff(least)) << output.shift <= u128::from(MAX_PRODUCT / (total * total))
        })
    }

    fn enter(&mut self, places: &[u8]) {
        for output in &mut self.outputs {
            // The weights are added up anew for each output, which costs less than a loop for them.
            let (mut weight, mut sum, mut squares) = (0, 0, 0);
            for &place in places {
                let place = usize::from(place);
                let (w, q) = (i64::from(self.weights[place]), output.targets[place]);
                weight += w;
                sum += w * q;
                squares += (w * q).unsigned_abs() as u128 * q.unsigned_abs() as u128;
            }
            self.weight = weight;
            output.sum = sum;
            let magnitude = u128::from(sum.unsigned_abs());
            output.variance = weight as u128 * squares - magnitude * magnitude;
        }
    }

    fn weight(&self) -> u64 {
        self.weight as u64
    }

    fn is_pure(&self) -> bool {
        self.outputs.iter().all(|output| output.variance == 0)
    }

    fn impurity(&self, criterion: &SquaredError<'_, W>) -> f64 {
        let variances = self.outputs.iter().enumerate().map(|(number, output)| {
            // Half of the nodes are leaves of one row.
            if output.variance == 0 {
                return 0.0;
            }
            let exact = <W::Moment as Moment>::Exact::from(output.variance);
            criterion.variance(exact, self.weight as u64, number)
        });
        variances.sum::<f64>() / self.outputs.len() as f64
    }

    fn write_value(&self, criterion: &SquaredError<'_, W>, samples: &[u32], value: &mut [f64]) {
        let weight = self.weight as u64;
        for (number, (value, output)) in value.iter_mut().zip(&self.outputs).enumerate() {
            if output.variance == 0 {
                *value = criterion.refined_mean(samples, number);
                continue;
            }
            let mean = output.origin + output.sum.div_euclid(self.weight);
            let rest = output.sum.rem_euclid(self.weight);
            let fixed = mean as f64 + rest as f64 / weight as f64;
            let exact = <W::Moment as Moment>::Exact::from(output.variance);
            *value = criterion.value(samples, number, weight, exact, fixed);
        }
    }

    fn begin(&mut self, places: &[u8], _samples: &mut [u32]) {
        for output in &mut self.outputs {
            let rows = self.row_weights.iter_mut().zip(&mut output.row_excesses);
            for ((row_weight, row_excess), &place) in rows.zip(places) {
                let place = usize::from(place);
                *row_weight = self.weights[place];
                *row_excess = i64::from(self.weights[place]) * (self.weight * output.targets[place] - output.sum);
            }
        }
    }

    fn score_cuts(&mut self, level: Level, ranks: &[u32], lasts: &[[u32; LANES]], scores: &mut [[f64; LANES]]) -> f64 {
        let Self { row_weights, weight, lefts, outputs, .. } = self;
        let weight = *weight as i32;
        // Most nodes have few rows, which need half as many divisions.
        if ranks.len() <= FEW_ROWS {
            score_cuts::<BY_RANK_OF_FEW>(level, ranks, row_weights, outputs, lasts, weight, lefts, scores)
        } else {
            score_cuts::<BY_RANK>(level, ranks, row_weights, outputs, lasts, weight, lefts, scores)
        }
    }

    fn score_with(
        &mut self,
        level: Level,
        ranks: &[u32],
        missing: u32,
        lasts: &[[u32; LANES]],
        scores: &mut [[f64; LANES]],
    ) -> f64 {
        let Self { row_weights, weight, lefts, outputs, .. } = self;
        let (weight, lefts) = (*weight as i32, &mut lefts[..lasts.len()]);
        if ranks.len() <= FEW_ROWS {
            score_moved::<BY_RANK_OF_FEW>(level, ranks, missing, row_weights, outputs, weight, lefts, scores)
        } else {
            score_moved::<BY_RANK>(level, ranks, missing, row_weights, outputs, weight, lefts, scores)
        }
    }

    fn score_subsets(&mut self, level: Level, units: &[u32], lefts: &[u32; LANES], scores: &mut [f64; LANES]) -> f64 {
        let Self { row_weights, weight, lefts: weights, outputs, .. } = self;
        let (lefts, scores) = (std::slice::from_ref(lefts), std::slice::from_mut(scores));
        score_cuts::<BY_UNIT>(level, units, row_weights, outputs, lefts, *weight as i32, weights, scores)
    }

    fn is_lower(&self, i: usize) -> bool {
        self.outputs[0].excesses.as_flattened()[i] < 0
    }

    fn cut(&self, i: usize) -> SmallCut {
        self.cut_of(|output| (self.lefts.as_flattened()[i], output.excesses.as_flattened()[i]))
    }

    fn cut_below(&self, ranks: &[u32], end: u32) -> SmallCut {
        self.cut_of(|output| sums_where(ranks, &self.row_weights, &output.row_excesses, |rank| rank < end))
    }

    fn add_units(&mut self, units: &[u8], n_units: usize) {
        self.unit_weights[..n_units].fill(0);
        for (&unit, row_weight) in units.iter().zip(&self.row_weights) {
            self.unit_weights[usize::from(unit)] += row_weight;
        }
        for Output { unit_excesses, row_excesses, .. } in &mut self.outputs {
            unit_excesses[..n_units].fill(0);
            for (&unit, row_excess) in units.iter().zip(row_excesses) {
                unit_excesses[usize::from(unit)] += *row_excess;
            }
        }
    }

    /// An order by the means of each target.
    fn sort_units(&mut self, i: usize, units: &mut [u8]) -> Option<u32> {
        let output = self.outputs.get(i)?;
        let excess = |unit: u8| i128::from(output.unit_excesses[usize::from(unit)]);
        let weight = |unit: u8| i128::from(self.unit_weights[usize::from(unit)]);
        units.sort_unstable_by(|&a, &b| (excess(a) * weight(b)).cmp(&(excess(b) * weight(a))).then(a.cmp(&b)));
        Some(i as u32)
    }
}

vectorized! {
    fn score_cuts<const BY: usize>(
        ranks: &[u32],
        row_weights: &[i32],
        outputs: &mut [Output],
        lasts: &[[u32; LANES]],
        node_weight: i32,
        lefts: &mut [[i32; LANES]],
        scores: &mut [[f64; LANES]],
    ) -> f64 {
        let mut highest = [f64::NEG_INFINITY; LANES];
        let Some((first, others)) = outputs.split_first_mut() else { return f64::NEG_INFINITY };
        for (chunk, ((lasts, lefts), scores)) in lasts.iter().zip(lefts).zip(scores).enumerate() {
            // The weights are added up together with the first target. In lanes without a cut, all
            // rows are on the left.
            let (mut left, mut excess) = ([0; LANES], [0; LANES]);
            left[n_lanes(BY)..].fill(node_weight);
            for ((&rank, &row_weight), &row_excess) in ranks.iter().zip(row_weights).zip(&first.row_excesses) {
                if is_end(row_weight) {
                    break;
                }
                for lane in 0..n_lanes(BY) {
                    left[lane] += if goes_left::<BY>(rank, lasts[lane]) { row_weight } else { 0 };
                    excess[lane] += if goes_left::<BY>(rank, lasts[lane]) { row_excess } else { 0 };
                }
            }
            *lefts = left;
            first.excesses[chunk] = excess;
            let mut squares = [0.0; LANES];
            for lane in 0..n_lanes(BY) {
                squares[lane] = first.square(excess[lane]);
            }
            for output in &mut *others {
                let mut excess = [0; LANES];
                for ((&rank, &row_weight), &row_excess) in ranks.iter().zip(row_weights).zip(&output.row_excesses) {
                    if is_end(row_weight) {
                        break;
                    }
                    for lane in 0..n_lanes(BY) {
                        excess[lane] += if goes_left::<BY>(rank, lasts[lane]) { row_excess } else { 0 };
                    }
                }
                output.excesses[chunk] = excess;
                for lane in 0..n_lanes(BY) {
                    squares[lane] += output.square(excess[lane]);
                }
            }
            *scores = score::<BY>(squares, left, node_weight);
            highest = higher(highest, scores);
        }
        highest_of(highest)
    }
}

vectorized! {
    fn score_moved<const BY: usize>(
        ranks: &[u32],
        missing: u32,
        row_weights: &ByRow<i32>,
        outputs: &mut [Output],
        node_weight: i32,
        lefts: &mut [[i32; LANES]],
        scores: &mut [[f64; LANES]],
    ) -> f64 {
        let mut weight = 0;
        for (number, output) in outputs.iter_mut().enumerate() {
            let excess;
            (weight, excess) = sums_where(ranks, row_weights, &output.row_excesses, |rank| rank == missing);
            for (excesses, scores) in output.excesses.iter_mut().zip(&mut *scores) {
                for lane in 0..n_lanes(BY) {
                    excesses[lane] += excess;
                    let excess = excesses[lane] as f64 * output.factor;
                    // The sums of squares wait in the place of the scores.
                    scores[lane] = excess * excess + if number == 0 { 0.0 } else { scores[lane] };
                }
            }
        }
        let mut highest = [f64::NEG_INFINITY; LANES];
        for (lefts, scores) in lefts.iter_mut().zip(scores) {
            for left in &mut lefts[..n_lanes(BY)] {
                *left += weight;
            }
            *scores = score::<BY>(*scores, *lefts, node_weight);
            highest = higher(highest, scores);
        }
        highest_of(highest)
    }
}

/// The scores of cuts, given the squares of their excesses and the weights on their left.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
fn score<const BY: usize>(squares: [f64; LANES], left: [i32; LANES], node_weight: i32) -> [f64; LANES] {
    let mut scores = [f64::NEG_INFINITY; LANES];
    for lane in 0..n_lanes(BY) {
        let score = squares[lane] / f64::from(left[lane] * (node_weight - left[lane]));
        scores[lane] = if left[lane] < node_weight { score } else { f64::NEG_INFINITY };
    }
    scores
}

/// The weight and the excess of rows of certain ranks.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
fn sums_where(
    ranks: &[u32],
    row_weights: &ByRow<i32>,
    row_excesses: &ByRow<i64>,
    is_summed: impl Fn(u32) -> bool,
) -> (i32, i64) {
    let (mut weight, mut excess) = (0, 0);
    for ((&rank, &row_weight), &row_excess) in ranks.iter().zip(row_weights).zip(row_excesses) {
        // Without branches on ranks, which would be mispredicted.
        weight += row_weight & -i32::from(is_summed(rank));
        excess += row_excess & -i64::from(is_summed(rank));
    }
    (weight, excess)
}
