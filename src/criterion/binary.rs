//! Gini impurity of two classes and one output, at half the work per sample of `gini`.
//!
//! Let `c` be the pushed weight of the second class and `w` of both, `C` and `W` those of the node, and
//! `D = W c - w C`. The impurity falls by a constant times `D^2 / (w (W - w))`, and pushing a sample adds its weight
//! times `-C` or `W - C` to `D`: no counts, no look-up of the node's. `|D| <= W^2 / 4`. The order of candidates is the
//! one of `gini`, since both are exact.

use std::cmp::Ordering;

use super::Criterion;
use super::weights::{Moment, SampleWeights};
use crate::data::target::Classes;
use crate::num::{Ratio, Wide};

/// Gini impurity of two classes.
pub struct BinaryGini<'a, W> {
    /// 0 or 1 for each sample.
    classes: &'a [u32],
    weights: W,
}

/// The weight of a node and of its second class.
#[derive(Debug)]
pub struct BinaryTotals {
    weight: u64,
    second: u64,
}

/// The weight and the excess `D` of the pushed samples.
#[derive(Debug)]
pub struct BinaryScan<M> {
    weight: u64,
    excess: M,
    /// What a unit of weight of each class adds to the excess.
    steps: [i64; 2],
}

impl<'a, W: SampleWeights> BinaryGini<'a, W> {
    /// The criterion, if there is one output of at most two classes.
    pub fn new(classes: &'a Classes, weights: W) -> Option<Self> {
        (*classes.first == [0, 2]).then_some(Self { classes: &classes.slots, weights })
    }
}

impl<W: SampleWeights> Criterion for BinaryGini<'_, W> {
    type Totals = BinaryTotals;
    type Scan = BinaryScan<W::Moment>;
    type Proof = Ratio;

    fn totals(&self, samples: &[u32]) -> BinaryTotals {
        let mut totals = BinaryTotals { weight: 0, second: 0 };
        for &sample in samples {
            let w = self.weights.weight(sample);
            totals.weight += w;
            totals.second += w * u64::from(self.classes[sample as usize]);
        }
        totals
    }

    fn minus(&self, node: &BinaryTotals, child: &BinaryTotals) -> BinaryTotals {
        BinaryTotals { weight: node.weight - child.weight, second: node.second - child.second }
    }

    fn weight(&self, totals: &BinaryTotals) -> u64 {
        totals.weight
    }

    fn is_pure(&self, totals: &BinaryTotals) -> bool {
        totals.second == 0 || totals.second == totals.weight
    }

    fn impurity(&self, totals: &BinaryTotals) -> f64 {
        // 1 - p^2 - (1 - p)^2 = 2 p (1 - p), its numerator exact as in `gini`.
        let (weight, second) = (u128::from(totals.weight), u128::from(totals.second));
        (2 * second * (weight - second)) as f64 / (weight * weight) as f64
    }

    fn n_values(&self) -> usize {
        2
    }

    fn write_value(&self, totals: &BinaryTotals, _samples: &[u32], value: &mut [f64]) {
        value[0] = (totals.weight - totals.second) as f64 / totals.weight as f64;
        value[1] = totals.second as f64 / totals.weight as f64;
    }

    fn scan(&self) -> Self::Scan {
        BinaryScan { weight: 0, excess: W::Moment::default(), steps: [0, 0] }
    }

    fn begin(&self, node: &BinaryTotals, scan: &mut Self::Scan) {
        let (weight, second) = (node.weight as i64, node.second as i64);
        *scan = BinaryScan { weight: 0, excess: W::Moment::default(), steps: [-second, weight - second] };
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "one call per entry; left out of line it costs a fifth of bench `fit`")]
    fn push(&self, _node: &BinaryTotals, scan: &mut Self::Scan, sample: u32) {
        let w = self.weights.weight(sample);
        scan.weight += w;
        scan.excess = scan.excess.plus_product(w, scan.steps[self.classes[sample as usize] as usize & 1]);
    }

    #[inline]
    fn pushed_weight(&self, scan: &Self::Scan) -> u64 {
        scan.weight
    }

    #[inline]
    fn score(&self, node: &BinaryTotals, scan: &Self::Scan) -> f64 {
        let excess = scan.excess.to_f64();
        excess * excess / (scan.weight as i64 as f64 * (node.weight - scan.weight) as i64 as f64)
    }

    #[inline]
    fn tolerance(&self, _node: &BinaryTotals, score: f64) -> f64 {
        // The excess is exact; fewer than eight roundings follow.
        score * (16.0 * f64::EPSILON)
    }

    fn proof(&self, node: &BinaryTotals, scan: &Self::Scan) -> Ratio {
        let excess = Wide::from(scan.excess.to_i128().unsigned_abs());
        let rest = node.weight - scan.weight;
        Ratio { numerator: excess.times(&excess), denominator: u128::from(scan.weight) * u128::from(rest) }
    }

    fn compare(&self, a: &Ratio, b: &Ratio) -> Ordering {
        a.compare(b)
    }
}
