//! Gini impurity, `1 - sum_k p_k^2` (Breiman, Friedman, Olshen, Stone, "Classification and
//! Regression Trees", 1984, section 4.1).
//!
//! Let `S_0`, `S_1` be the sums of squared class counts of the two sides, `w_0`, `w_1` their weights, and
//! `S`, `w` the same sum and weight for the node. The impurity falls by `(S_0 / w_0 + S_1 / w_1 - S / w) /
//! w`, so the score is `S_0 / w_0 + S_1 / w_1`.

use std::cmp::Ordering;
use std::marker::PhantomData;

use super::classes::{Measure, Sides, Terms, TermsVisitor};
use super::statistics::QUOTIENT_SLACK;
use super::weights::Moment;
use crate::num::{Exact, Ratio, Wide, quotient};

/// Gini impurity; `S` is the integer type of sums of squared counts.
#[derive(Default)]
pub struct Gini<S>(PhantomData<S>);

impl<S: Moment> Measure for Gini<S> {
    type Sum = S;

    fn is_squared_distance(&self) -> bool {
        true
    }

    #[inline]
    fn growth(&self, count: u64, weight: u64) -> S {
        S::product(weight, (2 * count + weight) as i64)
    }

    fn impurity(&self, sum: S, weight: u64, n_outputs: usize) -> f64 {
        // The numerator is an exact integer, and 0 for a pure node.
        let square = u128::from(weight) * u128::from(weight);
        quotient(square * n_outputs as u128 - sum.to_i128() as u128, square)
    }

    fn score_of_none(&self, sum: S, weight: u64, _n_outputs: usize) -> f64 {
        sum.unsigned_to_f64() / weight as f64
    }

    fn cost(&self, sum: S, weight: u64, n_outputs: usize) -> f64 {
        let square = i128::from(weight) * i128::from(weight);
        (square * n_outputs as i128 - sum.to_i128()) as f64 / weight as f64
    }

    #[inline]
    fn score(&self, split: &Sides<S>) -> f64 {
        // Two conversions of at most two roundings each, two divisions and an addition: together
        // far below 16 units of 2^-52.
        let [s0, s1] = split.sums.map(S::unsigned_to_f64);
        let [w0, w1] = split.weights.map(|w| w as i64 as f64);
        s0 / w0 + s1 / w1
    }

    #[inline]
    fn may_score(&self, split: &Sides<S>, least: f64) -> bool {
        let [s0, s1] = split.sums.map(S::unsigned_to_f64);
        let [w0, w1] = split.weights.map(|w| w as i64 as f64);
        s0 * w1 + s1 * w0 >= least * (w0 * w1) * QUOTIENT_SLACK
    }

    /// Each output has one class on either side.
    fn most_score(&self, weight: f64, n_outputs: f64) -> f64 {
        weight * n_outputs
    }

    /// A rounding of each term, of each addition, and a few more, of the highest score at most.
    fn error_of_terms(&self, weight: f64, n_outputs: f64, n_terms: f64) -> f64 {
        weight * n_outputs * (4.0 * n_terms + 16.0) * f64::EPSILON
    }

    fn visit_terms<V: TermsVisitor>(&self, visitor: V) -> V::Output {
        visitor.visit::<SquareTerms>()
    }

    fn compare(&self, a: &Sides<S>, b: &Sides<S>) -> Ordering {
        let ratio = |split: &Sides<S>| {
            let [w0, w1] = split.weights.map(u128::from);
            let [s0, s1] = split.sums.map(|sum| Wide::from(sum.to_i128() as u128));
            Ratio { numerator: s0.times(&Wide::from(w1)).plus(&s1.times(&Wide::from(w0))), denominator: w0 * w1 }
        };
        ratio(a).compare(&ratio(b))
    }
}

/// The squares of class weights, over the weight of each side.
pub(super) struct SquareTerms;

#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
impl Terms for SquareTerms {
    #[inline(always)]
    fn class_terms(left: f64, right: f64) -> [f64; 2] {
        [left * left, right * right]
    }

    #[inline(always)]
    fn score_of_terms([s0, s1]: [f64; 2], [w0, w1]: [f64; 2], _n_outputs: f64) -> f64 {
        s0 / w0 + s1 / w1
    }
}
