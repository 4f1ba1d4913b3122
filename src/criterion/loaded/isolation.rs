//! No target: trees that isolate rows (Liu, Ting, Zhou, "Isolation Forest", ICDM 2008, algorithm 2).
//!
//! Every cut is as good as any other: nodes draw one feature, and a random threshold. A node of one
//! row is pure. What a node predicts is the length of the path of a row that comes to it: its
//! depth, and what the rows in it would add if they were isolated one by one. That is
//! [`mean_path_length`], the mean depth of the leaves of a random binary search tree (section 3,
//! equation 1 there).

use std::cmp::Ordering;
use std::f64::consts::LN_2;
use std::sync::Arc;

use super::rule::{Pass, Proof, Pushed, Rule};
use super::sample_order::SampleOrder;
use super::{NodeLists, NodeWeights};
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
pub(in crate::criterion) struct Isolation;

impl<'a> Rule<'a> for Isolation {
    fn order(&self, _number: usize) -> Option<&SampleOrder> {
        None
    }

    fn has_target(&self) -> bool {
        false
    }

    fn is_pure(&self, node: &NodeLists) -> bool {
        node.weight <= 1
    }

    /// The mean length of the path from the node to a row of its own.
    fn impurity(&self, node: &NodeLists) -> f64 {
        mean_path_length(node.weight)
    }

    fn cost(&self, node: &NodeLists) -> f64 {
        node.weight as f64 * mean_path_length(node.weight)
    }

    fn n_means(&self) -> usize {
        1
    }

    fn mean(&self, node: &NodeLists, _output: usize) -> f64 {
        mean_path_length(node.weight)
    }

    /// All categories have the same mean.
    fn numbers(&self) -> &'a [i64] {
        &[]
    }

    fn tolerance(&self, _score: f64) -> f64 {
        0.0
    }

    fn compare(&self, _a: &Proof, _b: &Proof) -> Ordering {
        Ordering::Equal
    }

    fn pass(self: Arc<Self>, weights: NodeWeights<'a>) -> Box<dyn Pass + 'a> {
        Box::new(IsolationPass { weights })
    }
}

/// A scan of a column, of which the weight of the pushed samples is all that matters.
struct IsolationPass<'a> {
    weights: NodeWeights<'a>,
}

impl Pass for IsolationPass<'_> {
    fn begin(&mut self, _node: &NodeLists) {}

    #[inline]
    fn push(&mut self, pushed: &mut Pushed, sample: u32) {
        pushed.weight += self.weights.of(sample);
    }

    fn score(&self, _pushed: Pushed) -> f64 {
        1.0
    }

    fn proof(&self, _pushed: Pushed) -> Proof {
        Proof::new()
    }

    fn side_means(&self, node: &NodeLists, pushed: Pushed, _output: usize) -> [f64; 2] {
        [pushed.weight, node.weight - pushed.weight].map(mean_path_length)
    }
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
