//! Gini impurity, `1 - sum_k p_k^2` (Breiman, Friedman, Olshen, Stone, "Classification and
//! Regression Trees", 1984, section 4.1).
//!
//! Let `S_0`, `S_1` be the sums of squared class counts of the two sides, `w_0`, `w_1` their
//! weights, and `S`, `w` those of the node. The impurity falls by
//! `(S_0 / w_0 + S_1 / w_1 - S / w) / w`, so the score is `S_0 / w_0 + S_1 / w_1`.

use std::cmp::Ordering;
use std::marker::PhantomData;

use super::QUOTIENT_SLACK;
use super::classes::{Measure, Sides};
use super::weights::SquareSum;
use crate::num::{Exact, Ratio, Wide};

/// Gini impurity; `S` is the integer type of sums of squared counts.
pub struct Gini<S>(PhantomData<S>);

impl<S> Gini<S> {
    /// The measure, which has no state.
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<S> Default for Gini<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: SquareSum> Measure for Gini<S> {
    type Sum = S;
    const IS_SQUARED_DISTANCE: bool = true;

    #[inline]
    fn grown(&self, sum: S, count: u64, weight: u64) -> S {
        sum.plus_product(weight, 2 * count + weight)
    }

    #[inline]
    fn shrunk(&self, sum: S, count: u64, weight: u64) -> S {
        sum.minus_product(weight, 2 * count - weight)
    }

    fn impurity(&self, sum: S, weight: u64, n_outputs: usize) -> f64 {
        // The numerator is an exact integer, and 0 for a pure node.
        let square = u128::from(weight) * u128::from(weight);
        (square * n_outputs as u128 - sum.to_u128()) as f64 / square as f64
    }

    fn score_of_none(&self, sum: S, weight: u64, _n_outputs: usize) -> f64 {
        sum.to_f64() / weight as f64
    }

    fn cost(&self, sum: S, weight: u64, n_outputs: usize) -> f64 {
        let square = u128::from(weight) * u128::from(weight);
        (square * n_outputs as u128 - sum.to_u128()) as f64 / weight as f64
    }

    #[inline]
    fn score(&self, split: &Sides<S>) -> f64 {
        let [s0, s1] = split.sums.map(S::to_f64);
        let [w0, w1] = split.weights.map(|w| w as i64 as f64);
        s0 / w0 + s1 / w1
    }

    #[inline]
    fn may_score(&self, split: &Sides<S>, least: f64) -> bool {
        let [s0, s1] = split.sums.map(S::to_f64);
        let [w0, w1] = split.weights.map(|w| w as i64 as f64);
        s0 * w1 + s1 * w0 >= least * (w0 * w1) * QUOTIENT_SLACK
    }

    #[inline]
    fn tolerance(&self, score: f64) -> f64 {
        // The score has two conversions of at most two roundings each, two divisions and an
        // addition: together far below 16 units of 2^-52.
        score * (16.0 * f64::EPSILON)
    }

    fn compare(&self, a: &Sides<S>, b: &Sides<S>) -> Ordering {
        let ratio = |split: &Sides<S>| {
            let [w0, w1] = split.weights.map(u128::from);
            let [s0, s1] = split.sums.map(|sum| Wide::from(sum.to_u128()));
            Ratio { numerator: s0.times(&Wide::from(w1)).plus(&s1.times(&Wide::from(w0))), denominator: w0 * w1 }
        };
        ratio(a).compare(&ratio(b))
    }
}
