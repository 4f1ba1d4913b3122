//! No target: trees that isolate rows (Liu, Ting, Zhou, "Isolation Forest", ICDM 2008, algorithm 2).
//!
//! Every cut is as good as any other: nodes draw one feature, and a random threshold. A node of one
//! row is pure. What a node predicts is the length of the path of a row that comes to it: its
//! depth, and what the rows in it would add if they were isolated one by one. That is
//! [`mean_path_length`], the mean depth of the leaves of a random binary search tree (section 3,
//! equation 1 there).

use std::cmp::Ordering;
use std::f64::consts::LN_2;

use super::bounded::Bounded;
use super::ordered::Ordered;
use super::statistics::Statistics;
use crate::data::target::Weights;
use crate::num::log2::{Log2, ULP};

/// Euler's constant.
const EULER_GAMMA: f64 = 0.577_215_664_901_532_9;

/// The mean number of comparisons of an unsuccessful search among `n` keys in a random binary search tree:
/// `2 H(n - 1) - 2 (n - 1) / n`, where the harmonic number is `ln(n - 1)` and Euler's constant, as in
/// scikit-learn; 1 for two rows, 0 for fewer. `n` must be below 2^52.
pub fn mean_path_length(n: u64) -> f64 {
    match n {
        0 | 1 => 0.0,
        2 => 1.0,
        _ => {
            let before = (n - 1) as f64;
            let logarithm = Log2::new().log2(n - 1) as f64 * ULP * LN_2;
            2.0 * (logarithm + EULER_GAMMA) - 2.0 * before / n as f64
        }
    }
}

/// The criterion of trees without a target. A weight of k is as k rows.
pub struct Isolation<'a> {
    weights: &'a Weights,
}

impl<'a> Isolation<'a> {
    /// The criterion over rows with these weights.
    pub fn new(weights: &'a Weights) -> Self {
        Self { weights }
    }
}

impl Statistics for Isolation<'_> {
    /// The weight of the samples.
    type Totals = u64;
    type Scan = ();
    /// The weight of the pushed samples.
    type Pushed = u64;
    type Proof = ();
    const HAS_TARGET: bool = false;

    fn totals(&self, samples: &[u32]) -> u64 {
        samples.iter().map(|&sample| self.sample_weight(sample)).sum()
    }

    fn minus(&self, node: &u64, child: &u64) -> u64 {
        node - child
    }

    #[inline]
    fn sample_weight(&self, sample: u32) -> u64 {
        self.weights.get(sample as usize)
    }

    fn weight(&self, totals: &u64) -> u64 {
        *totals
    }

    fn is_pure(&self, totals: &u64) -> bool {
        *totals <= 1
    }

    /// The mean length of the path from the node to a row of its own.
    fn impurity(&self, totals: &u64) -> f64 {
        mean_path_length(*totals)
    }

    fn cost(&self, totals: &u64) -> f64 {
        *totals as f64 * mean_path_length(*totals)
    }

    fn write_value(&self, totals: &u64, _samples: &[u32], value: &mut [f64]) {
        value[0] = mean_path_length(*totals);
    }

    fn n_means(&self) -> usize {
        1
    }

    fn mean(&self, totals: &u64, _output: usize) -> f64 {
        mean_path_length(*totals)
    }

    fn side_means(&self, node: &u64, _scan: &(), pushed: u64, _output: usize) -> [f64; 2] {
        [mean_path_length(pushed), mean_path_length(node - pushed)]
    }

    fn scan(&self) {}

    fn begin(&self, _node: &u64, _scan: &mut ()) -> u64 {
        0
    }

    #[inline]
    fn push(&self, _node: &u64, _scan: &mut (), pushed: &mut u64, sample: u32) {
        *pushed += self.sample_weight(sample);
    }

    fn pushed_weight(pushed: &u64) -> u64 {
        *pushed
    }

    fn score(&self, _node: &u64, _scan: &(), _pushed: u64) -> f64 {
        1.0
    }

    fn tolerance(&self, _node: &u64, _score: f64) -> f64 {
        0.0
    }

    fn proof(&self, _scan: &(), _pushed: u64) {}

    fn compare(&self, _node: &u64, _a: &(), _b: &()) -> Ordering {
        Ordering::Equal
    }
}

/// All categories have the same mean.
impl Ordered for Isolation<'_> {
    fn order(&self, _order: usize) -> impl Fn(u32) -> u64 {
        |_| 0
    }
}

impl Bounded for Isolation<'_> {
    type Spread = ();
    type Mean = ();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_lengths_are_those_of_scikit_learn() {
        // sklearn.ensemble._iforest._average_path_length
        let known = [
            (0, 0.0),
            (1, 0.0),
            (2, 1.0),
            (3, 1.207_392_357_589_622_7),
            (5, 2.327_020_052_042_847),
            (999, 12.967_939_884_427_993),
        ];
        for (n, expected) in known {
            assert!((mean_path_length(n) - expected).abs() < 1e-14, "{n}");
        }
        assert!((2..5000).all(|n| mean_path_length(n) < mean_path_length(n + 1)));
    }
}
