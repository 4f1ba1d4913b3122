//! Gini impurity of two classes in small subtrees; see `criterion::binary` for the formulas.

use std::cmp::Ordering;

use super::filter::{Rough, set_pairs};
use super::format::{Components, InOneInteger, InTwoDoubles, packed, unpacked};
use super::kernel::{CriterionRows, Held, Precision};
use super::{ByRow, ExactScore, MAX_ROWS, MAX_WEIGHT, SmallCut};
use crate::criterion::binary::{BinaryGini, BinaryTotals};
use crate::criterion::statistics::Statistics;
use crate::criterion::weights::SampleWeights;

/// The rows of a small subtree. The excess of some is at most `MAX_WEIGHT^2 / 4` from 0.
pub struct BinaryRows {
    /// By place: the weight of the row, and the same if it is of the second class, else 0.
    weights: ByRow<u16>,
    seconds: ByRow<u16>,
    /// The node's weight, and the weight of its second class.
    node: BinaryTotals,
}

impl BinaryRows {
    fn exact(&self, left: i32) -> ExactScore {
        let (weight, excess) = unpacked(left);
        let (weight, excess) = (weight as u32, u64::from(excess.unsigned_abs()));
        ExactScore { numerator: u128::from(excess * excess), denominator: weight * (self.node.weight as u32 - weight) }
    }
}

impl Held for BinaryRows {
    type Lanes = Components<InOneInteger>;
    const ARE_EXACT: bool = true;
    /// A node whose classes are parted by one column reads no other.
    const SIDE_BY_SIDE: bool = false;
    const ROUGH_FIRST: bool = false;
    const CATEGORIES: bool = true;
}

impl<W: SampleWeights> CriterionRows<BinaryGini<'_, W>> for BinaryRows {
    /// The weight of the left rows and their excess, packed in one integer.
    type Left = i32;

    fn new(_criterion: &BinaryGini<'_, W>) -> Option<Self> {
        let (weights, seconds) = ([0; MAX_ROWS], [0; MAX_ROWS]);
        Some(Self { weights, seconds, node: BinaryTotals::default() })
    }

    fn load(&mut self, criterion: &BinaryGini<'_, W>, samples: &mut [u32]) -> bool {
        let mut total = 0;
        for ((weight, second), &sample) in self.weights.iter_mut().zip(&mut self.seconds).zip(&*samples) {
            let w = criterion.weights.weight(sample);
            total += w;
            *weight = w as u16;
            *second = w as u16 * criterion.classes[sample as usize] as u16;
        }
        total <= MAX_WEIGHT
    }

    fn enter(&mut self, _criterion: &BinaryGini<'_, W>, places: &[u8], _samples: &[u32]) {
        let (mut weight, mut second) = (0, 0);
        for &place in places {
            weight += self.weights[usize::from(place)];
            second += self.seconds[usize::from(place)];
        }
        self.node = BinaryTotals { weight: weight.into(), second: second.into() };
    }

    fn weight(&self) -> u64 {
        self.node.weight
    }

    fn is_pure(&self, criterion: &BinaryGini<'_, W>) -> bool {
        criterion.is_pure(&self.node)
    }

    fn impurity(&self, criterion: &BinaryGini<'_, W>) -> f64 {
        criterion.impurity(&self.node)
    }

    fn write_value(&self, criterion: &BinaryGini<'_, W>, samples: &[u32], value: &mut [f64]) {
        criterion.write_value(&self.node, samples, value);
    }

    fn row_weight(&self, place: u8) -> u64 {
        self.weights[usize::from(place)].into()
    }

    fn write_row_value(&self, criterion: &BinaryGini<'_, W>, _place: u8, sample: u32, value: &mut [f64]) {
        criterion.write_row_value(sample, value);
    }

    fn begin(&mut self, _criterion: &BinaryGini<'_, W>, _places: &[u8], _samples: &[u32]) {}

    fn set_lanes(
        &self,
        _criterion: &BinaryGini<'_, W>,
        places: &[u8],
        _n: usize,
        lanes: &mut Components<InOneInteger>,
    ) -> Precision {
        let [cells] = &mut lanes.cells;
        let (weight, second) = (self.node.weight as i32, self.node.second as i32);
        for (cell, &place) in cells.iter_mut().zip(places) {
            let (w, s) = (i32::from(self.weights[usize::from(place)]), i32::from(self.seconds[usize::from(place)]));
            *cell = packed(w, s * weight - w * second);
        }
        Precision::Exact
    }

    /// The classes cannot be parted better than completely.
    fn most_score(&self) -> f64 {
        (self.node.second * (self.node.weight - self.node.second)) as f64
    }

    /// Let `W` be the weight of the node. Scores are at most `W^2 / 4`, and quotients whose denominators are
    /// at most that. So different ones differ by at least the inverse of its square: for this weight,
    /// relatively by 2^-48.
    fn are_scores_exact(&self) -> bool {
        self.node.weight <= 512
    }

    #[inline]
    fn lefts<const K: usize>(
        &self,
        _criterion: &BinaryGini<'_, W>,
        lanes: &Components<InOneInteger>,
        ranks: &[u32],
        is_left: impl Fn(u32) -> [bool; K],
    ) -> [i32; K] {
        let [cells] = &lanes.cells;
        let mut lefts = [0; K];
        for (&rank, &cell) in ranks.iter().zip(cells) {
            let is_left = is_left(rank);
            for i in 0..K {
                lefts[i] += cell & -i32::from(is_left[i]);
            }
        }
        lefts
    }

    #[inline]
    fn cut(&self, _criterion: &BinaryGini<'_, W>, &left: &i32) -> SmallCut {
        let ExactScore { numerator, denominator } = self.exact(left);
        SmallCut { score: numerator as u64 as f64 / f64::from(denominator), weight: unpacked(left).0 as u64 }
    }

    fn compare(&self, _criterion: &BinaryGini<'_, W>, &a: &i32, &b: &i32) -> Ordering {
        self.exact(a).compare(&self.exact(b))
    }

    #[inline]
    fn of_lanes(lanes: &Components<InOneInteger>, i: usize) -> Option<i32> {
        Some(lanes.lefts[0][i])
    }

    fn row(&self, lanes: &Components<InOneInteger>, row: usize) -> Option<(i64, i64)> {
        let (weight, excess) = unpacked(lanes.cells[0][row]);
        Some((weight.into(), excess.into()))
    }

    fn excess(&left: &i32) -> Option<i64> {
        Some(unpacked(left).1.into())
    }
}

impl<W: SampleWeights> Rough for BinaryGini<'_, W> {
    type Lanes = Components<InTwoDoubles>;
    const SIDE_BY_SIDE: bool = true;
    const ROUGH_FIRST: bool = false;

    /// The excess of a row is `W c - w C`.
    fn set_lanes(
        &self,
        node: &BinaryTotals,
        samples: &[u32],
        weights: &[u64],
        lanes: &mut Components<InTwoDoubles>,
    ) -> Precision {
        let (weight, second) = (node.weight as f64, node.second as f64);
        let distances = [-second, weight - second];
        let excess = |sample: u32, w: f64| w * distances[self.classes[sample as usize] as usize & 1];
        let error = set_pairs(samples, weights, (weight, 1.0), excess, &mut lanes.cells);
        Precision::Squares { error, per_unit: 1.0, absolute: self.tolerance(node, 0.0) }
    }

    fn most_score(&self, node: &BinaryTotals) -> f64 {
        node.second as f64 * (node.weight - node.second) as f64
    }

    fn write_row_value(&self, sample: u32, value: &mut [f64]) {
        value.fill(0.0);
        value[self.classes[sample as usize] as usize] = 1.0;
    }
}
