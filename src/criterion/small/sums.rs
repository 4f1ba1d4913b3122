//! Squared error of one target in small subtrees; see `criterion::squared_error`.
//!
//! Let `W` be the weight of the node and `S` the weighted sum of its targets `q`. A row of weight
//! `w` has the excess `w (W q - S)`, and a cut has the sum of the excesses on its left, which is
//! exact. The score is the square of that sum over `w (W - w)`, `w` being the weight on the left.

use super::{ByRow, LANES, MAX_ROWS, MAX_WEIGHT, SmallCut, SmallRows, highest_of};
use crate::criterion::squared_error::SquaredError;
use crate::criterion::weights::{Moment, SampleWeights};
use crate::simd::{Level, vectorized};

/// The square of the total weight, times the range of the targets, is at most this, so that sums of
/// excesses fit in 64 bits in whatever order they are added up.
const MAX_PRODUCT: u64 = 1 << 61;

/// The rows of a small subtree.
pub struct SmallSums {
    /// The target of the subtree's first row. All others are distances from it.
    origin: i64,
    /// By place: the weight of the row, and its target.
    weights: ByRow<i32>,
    targets: ByRow<i64>,
    /// The node's weight and the weighted sum of its targets.
    weight: i64,
    sum: i64,
    /// `weight^2` times the variance of the node.
    variance: u128,
    /// The weights and excesses of the node's rows.
    row_weights: ByRow<i32>,
    row_excesses: ByRow<i64>,
    /// The cuts that were scored last.
    cuts: [Sums; MAX_ROWS / LANES],
}

/// Some cuts side by side: the weight and the excess on the left.
#[derive(Clone, Copy)]
struct Sums {
    left: [i32; LANES],
    excess: [i64; LANES],
}

impl SmallSums {
    fn cut_of(&self, left: i32, excess: i64) -> SmallCut {
        let (weight, square) = (left as u64, u128::from(excess.unsigned_abs()) * u128::from(excess.unsigned_abs()));
        let denominator = weight * (self.weight as u64 - weight);
        let score = excess as f64 * excess as f64 / denominator as f64;
        SmallCut { score, numerator: square, denominator, weight }
    }
}

impl<W: SampleWeights> SmallRows<SquaredError<'_, W>> for SmallSums {
    fn new(criterion: &SquaredError<'_, W>) -> Option<Self> {
        (W::ARE_SMALL && criterion.n_outputs == 1).then_some(Self {
            origin: 0,
            weights: [0; MAX_ROWS],
            targets: [0; MAX_ROWS],
            weight: 0,
            sum: 0,
            variance: 0,
            row_weights: [0; MAX_ROWS],
            row_excesses: [0; MAX_ROWS],
            cuts: [Sums { left: [0; LANES], excess: [0; LANES] }; MAX_ROWS / LANES],
        })
    }

    fn load(&mut self, criterion: &SquaredError<'_, W>, samples: &[u32]) -> bool {
        self.origin = criterion.numbers.fixed[samples[0] as usize];
        let (mut total, mut least, mut most) = (0, 0, 0);
        for ((weight, target), &sample) in self.weights.iter_mut().zip(&mut self.targets).zip(samples) {
            let w = criterion.weights.weight(sample);
            total += w;
            *weight = w as i32;
            *target = criterion.numbers.fixed[sample as usize] - self.origin;
            least = (*target).min(least);
            most = (*target).max(most);
        }
        total <= MAX_WEIGHT && most.abs_diff(least) <= MAX_PRODUCT / (total * total)
    }

    fn enter(&mut self, places: &[u8]) {
        let (mut weight, mut sum, mut squares) = (0, 0, 0);
        for &place in places {
            let place = usize::from(place);
            let (w, q) = (i64::from(self.weights[place]), self.targets[place]);
            weight += w;
            sum += w * q;
            squares += (w * q).unsigned_abs() as u128 * q.unsigned_abs() as u128;
        }
        self.weight = weight;
        self.sum = sum;
        let magnitude = u128::from(sum.unsigned_abs());
        self.variance = weight as u128 * squares - magnitude * magnitude;
    }

    fn weight(&self) -> u64 {
        self.weight as u64
    }

    fn is_pure(&self) -> bool {
        self.variance == 0
    }

    fn impurity(&self, criterion: &SquaredError<'_, W>) -> f64 {
        criterion.variance(<W::Moment as Moment>::Exact::from(self.variance), self.weight as u64, 0)
    }

    fn write_value(&self, criterion: &SquaredError<'_, W>, samples: &[u32], value: &mut [f64]) {
        let weight = self.weight as u64;
        let mean = self.origin + self.sum.div_euclid(self.weight);
        let rest = self.sum.rem_euclid(self.weight);
        let fixed = mean as f64 + rest as f64 / weight as f64;
        value[0] = criterion.value(samples, 0, weight, <W::Moment as Moment>::Exact::from(self.variance), fixed);
    }

    fn begin(&mut self, places: &[u8], _samples: &mut [u32]) {
        for ((row_weight, row_excess), &place) in self.row_weights.iter_mut().zip(&mut self.row_excesses).zip(places) {
            let place = usize::from(place);
            *row_weight = self.weights[place];
            *row_excess = i64::from(self.weights[place]) * (self.weight * self.targets[place] - self.sum);
        }
    }

    fn score_cuts(&mut self, level: Level, ranks: &[u32], lasts: &[[u32; LANES]], scores: &mut [[f64; LANES]]) -> f64 {
        let Self { row_weights, row_excesses, weight, cuts, .. } = self;
        score_cuts(level, ranks, row_weights, row_excesses, lasts, *weight as i32, cuts, scores)
    }

    fn cut(&self, i: usize) -> SmallCut {
        let Sums { left, excess } = &self.cuts[i / LANES];
        self.cut_of(left[i % LANES], excess[i % LANES])
    }

    fn cut_below(&self, ranks: &[u32], end: u32) -> SmallCut {
        let (mut weight, mut excess) = (0, 0);
        for ((&rank, &row_weight), &row_excess) in ranks.iter().zip(&self.row_weights).zip(&self.row_excesses) {
            // Without branches on ranks, which would be mispredicted.
            weight += row_weight & -i32::from(rank < end);
            excess += row_excess & -i64::from(rank < end);
        }
        self.cut_of(weight, excess)
    }
}

vectorized! {
    fn score_cuts(
        ranks: &[u32],
        row_weights: &[i32],
        row_excesses: &[i64],
        lasts: &[[u32; LANES]],
        node_weight: i32,
        cuts: &mut [Sums],
        scores: &mut [[f64; LANES]],
    ) -> f64 {
        let mut highest = [f64::NEG_INFINITY; LANES];
        for ((lasts, cut), scores) in lasts.iter().zip(cuts).zip(scores) {
            let (mut left, mut excess) = ([0; LANES], [0; LANES]);
            for ((&rank, &row_weight), &row_excess) in ranks.iter().zip(row_weights).zip(row_excesses) {
                for lane in 0..LANES {
                    left[lane] += if rank <= lasts[lane] { row_weight } else { 0 };
                    excess[lane] += if rank <= lasts[lane] { row_excess } else { 0 };
                }
            }
            *cut = Sums { left, excess };
            for lane in 0..LANES {
                let excess = excess[lane] as f64;
                let score = excess * excess / f64::from(left[lane] * (node_weight - left[lane]));
                scores[lane] = if left[lane] < node_weight { score } else { f64::NEG_INFINITY };
            }
            for lane in 0..LANES {
                highest[lane] = if scores[lane] > highest[lane] { scores[lane] } else { highest[lane] };
            }
        }
        highest_of(highest)
    }
}
