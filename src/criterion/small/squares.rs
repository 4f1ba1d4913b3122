//! Squared error of one output in small subtrees.
//!
//! Let `W` be the weight of the node and `S` the weighted sum of its numbers `q`. A row of weight `w` has
//! the excess `w (W q - S)`, which is exact. In lanes it is rounded to a unit that leaves 21 bits; the exact
//! sums of the cuts that may be the best ones are added up afterwards.

use std::cmp::Ordering;

use super::filter::{Rough, set_pairs};
use super::format::{Components, EXCESS_BITS, InOneInteger, packed};
use super::kernel::{CriterionRows, Held, Precision};
use super::several::Squares;
use super::{ByRow, ExactScore, MARGIN, MAX_ROWS, MAX_WEIGHT, SmallCut};
use crate::criterion::squared_error::{SquaredError, SumTotals};
use crate::criterion::statistics::Statistics;
use crate::criterion::sums::{MAX_OUTPUTS, NarrowTotals, OverSums};
use crate::criterion::weights::SampleWeights;

/// The square of the total weight, times the range of the numbers, is at most this, so that sums of
/// excesses fit in 64 bits in whatever order they are added up.
const MAX_PRODUCT: u64 = 1 << 61;

/// The rows of a small subtree.
pub struct SquareRows {
    /// By place: the weight of the row, and its number less the number of the first row.
    weights: ByRow<i32>,
    numbers: ByRow<i64>,
    origin: i64,
    node: NarrowTotals,
    /// The weights and excesses of the node's rows.
    row_weights: ByRow<i32>,
    row_excesses: ByRow<i64>,
}

impl SquareRows {
    fn product(&self, left: i32) -> u32 {
        left as u32 * (self.node.weight as u32 - left as u32)
    }

    fn exact(&self, (weight, excess): (i32, i64)) -> ExactScore {
        let excess = u128::from(excess.unsigned_abs());
        ExactScore { numerator: excess * excess, denominator: self.product(weight) }
    }
}

impl Held for SquareRows {
    type Lanes = Components<InOneInteger>;
    const ARE_EXACT: bool = false;
    const SIDE_BY_SIDE: bool = true;
    const ROUGH_FIRST: bool = false;
    const CATEGORIES: bool = true;
}

impl<W: SampleWeights> CriterionRows<SquaredError<'_, W>> for SquareRows {
    type Left = (i32, i64);

    fn new(criterion: &SquaredError<'_, W>) -> Option<Self> {
        (criterion.n_small_outputs() == Some(1)).then(|| Self {
            weights: [0; MAX_ROWS],
            numbers: [0; MAX_ROWS],
            origin: 0,
            node: NarrowTotals::default(),
            row_weights: [0; MAX_ROWS],
            row_excesses: [0; MAX_ROWS],
        })
    }

    fn load(&mut self, criterion: &SquaredError<'_, W>, samples: &mut [u32]) -> bool {
        let row = criterion.rows(0);
        self.origin = row(samples[0]).1;
        let (mut total, mut least, mut most) = (0, 0, 0);
        for ((weight, number), &sample) in self.weights.iter_mut().zip(&mut self.numbers).zip(&*samples) {
            let (w, q) = row(sample);
            total += w;
            *weight = w as i32;
            *number = q - self.origin;
            least = (*number).min(least);
            most = (*number).max(most);
        }
        total <= MAX_WEIGHT && most.abs_diff(least) <= MAX_PRODUCT / (total * total)
    }

    fn enter(&mut self, _criterion: &SquaredError<'_, W>, places: &[u8], _samples: &[u32]) {
        let (mut weight, mut sum, mut squares) = (0, 0, 0);
        for &place in places {
            let place = usize::from(place);
            let (w, q) = (i64::from(self.weights[place]), self.numbers[place]);
            weight += w;
            sum += w * q;
            squares += i128::from(w * q) * i128::from(q);
        }
        let variance = (i128::from(weight) * squares - i128::from(sum) * i128::from(sum)) as u128;
        self.node = NarrowTotals { weight: weight as u64, origin: self.origin, sum, variance, terms: 0 };
    }

    fn weight(&self) -> u64 {
        self.node.weight
    }

    fn is_pure(&self, _criterion: &SquaredError<'_, W>) -> bool {
        self.node.variance == 0
    }

    fn impurity(&self, criterion: &SquaredError<'_, W>) -> f64 {
        // Half of the nodes are leaves of one row.
        if self.node.variance == 0 { 0.0 } else { criterion.narrow_impurity(0, &self.node) }
    }

    fn write_value(&self, criterion: &SquaredError<'_, W>, samples: &[u32], value: &mut [f64]) {
        value[0] = criterion.narrow_value(0, samples, &self.node);
    }

    fn row_weight(&self, place: u8) -> u64 {
        self.weights[usize::from(place)] as u64
    }

    fn write_row_value(&self, criterion: &SquaredError<'_, W>, _place: u8, sample: u32, value: &mut [f64]) {
        criterion.write_row_value(sample, value);
    }

    fn begin(&mut self, _criterion: &SquaredError<'_, W>, places: &[u8], _samples: &[u32]) {
        let NarrowTotals { weight, sum, .. } = self.node;
        let rows = self.row_weights.iter_mut().zip(&mut self.row_excesses);
        for ((row_weight, row_excess), &place) in rows.zip(places) {
            let w = self.weights[usize::from(place)];
            *row_weight = w;
            *row_excess = i64::from(w) * (weight as i64 * self.numbers[usize::from(place)] - sum);
        }
    }

    /// A score is the square of `D / sqrt(w (W - w))`, `D` being the excess on the left. A rounded `D` is off
    /// by at most half of the number of rows, and `w (W - w)` is at least `W - 1`.
    fn set_lanes(
        &self,
        _criterion: &SquaredError<'_, W>,
        _places: &[u8],
        n: usize,
        lanes: &mut Components<InOneInteger>,
    ) -> Precision {
        let [cells] = &mut lanes.cells;
        let excesses = &self.row_excesses[..n];
        // Excesses add up to 0, so no sum of some of them is farther from 0 than half of all absolute
        // values. One bit stays free, since the errors of up to 256 rows may add up to 128.
        let most = excesses.iter().map(|excess| excess.unsigned_abs()).sum::<u64>() / 2;
        let shift = (u64::BITS - most.leading_zeros()).saturating_sub(EXCESS_BITS - 1);
        let half = (1 << shift) >> 1;
        for ((cell, &weight), &excess) in cells.iter_mut().zip(&self.row_weights).zip(excesses) {
            *cell = packed(weight, ((excess + half) >> shift) as i32);
        }
        let error = if shift == 0 { 0.0 } else { n as f64 / 2.0 };
        let error = error * (1.0 + MARGIN) / ((self.node.weight - 1) as f64).sqrt();
        Precision::Squares { error, per_unit: 1.0 / (1u64 << shift) as f64, absolute: 0.0 }
    }

    fn most_score(&self) -> f64 {
        f64::INFINITY
    }

    #[inline]
    fn lefts<const K: usize>(
        &self,
        _criterion: &SquaredError<'_, W>,
        _lanes: &Components<InOneInteger>,
        ranks: &[u32],
        is_left: impl Fn(u32) -> [bool; K],
    ) -> [(i32, i64); K] {
        let mut lefts = [(0, 0); K];
        for ((&rank, &weight), &excess) in ranks.iter().zip(&self.row_weights).zip(&self.row_excesses) {
            let is_left = is_left(rank);
            for i in 0..K {
                lefts[i].0 += weight & -i32::from(is_left[i]);
                lefts[i].1 += excess & -i64::from(is_left[i]);
            }
        }
        lefts
    }

    #[inline]
    fn cut(&self, _criterion: &SquaredError<'_, W>, &(weight, excess): &(i32, i64)) -> SmallCut {
        let score = excess as f64 * excess as f64 / f64::from(self.product(weight));
        SmallCut { score, weight: weight as u64 }
    }

    fn compare(&self, _criterion: &SquaredError<'_, W>, &a: &(i32, i64), &b: &(i32, i64)) -> Ordering {
        self.exact(a).compare(&self.exact(b))
    }

    fn row(&self, _lanes: &Components<InOneInteger>, row: usize) -> Option<(i64, i64)> {
        Some((self.row_weights[row].into(), self.row_excesses[row]))
    }

    fn excess(&(_, excess): &(i32, i64)) -> Option<i64> {
        Some(excess)
    }
}

impl<W: SampleWeights> Rough for SquaredError<'_, W> {
    type Lanes = Squares;
    const SIDE_BY_SIDE: bool = true;
    const ROUGH_FIRST: bool = true;

    fn is_served(&self) -> bool {
        self.n_outputs <= MAX_OUTPUTS
    }

    /// The excess of a row is `w (q - S / W)`, in the unit of the finest output.
    fn set_lanes(
        &self,
        node: &SumTotals<W::Moment>,
        samples: &[u32],
        weights: &[u64],
        Squares { first, others }: &mut Squares,
    ) -> Precision {
        let excess = |output: usize| {
            let (mean, fraction) = (node.outputs[output].mean, node.outputs[output].fraction);
            let factor = self.unit(output);
            move |sample: u32, w: f64| w * ((self.values(sample)[output] - mean) as f64 - fraction) * factor
        };
        let (weight, cells) = (self.weight(node) as f64, &mut first.cells);
        others.resize(self.n_outputs - 1, [0.0; MAX_ROWS]);
        let mut error = 0.0;
        for (output, other) in (1..).zip(others) {
            error += set_pairs(samples, weights, (weight, self.unit(output)), excess(output), cells);
            *other = cells[1];
        }
        error += set_pairs(samples, weights, (weight, self.unit(0)), excess(0), cells);
        Precision::Squares { error, per_unit: 1.0, absolute: self.tolerance(node, 0.0) }
    }

    fn write_row_value(&self, sample: u32, value: &mut [f64]) {
        for (output, value) in value.iter_mut().enumerate() {
            *value = self.refined_mean(&[sample], output);
        }
    }
}
