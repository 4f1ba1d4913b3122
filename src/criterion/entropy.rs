//! Shannon entropy in bits, `-sum_k p_k log2 p_k` (Quinlan, "Induction of decision trees", Machine
//! Learning 1, 1986). `log_loss` is the same criterion.
//!
//! With `T(c) = c log2 c`, the two sides cost `sum_sides (T(w) - sum_k T(c_k))` bits in all, where
//! `c_k` are the class counts of a side and `w` is its weight. Logarithms are fixed-point integers
//! (`num::log2`), so costs are exact integers too. The score is the cost with its sign changed,
//! rounded; candidates are proved by comparing the costs.

use std::cmp::Ordering;

use super::classes::{Measure, Sides, Terms, TermsVisitor};
use super::weights::Moment;
use crate::num::log2::{Log2, ULP, single_x_log2_x};

/// Entropy; sums are `sum_k T(c_k)` in fixed point.
pub struct Entropy {
    log2: Log2,
    n_outputs: i128,
}

impl Entropy {
    /// The measure for a target with `n_outputs` outputs.
    pub fn new(n_outputs: usize) -> Self {
        Self { log2: Log2::new(), n_outputs: n_outputs as i128 }
    }

    #[inline]
    fn cost_of_sides(&self, split: &Sides<i128>) -> i128 {
        let [t0, t1] = split.weights.map(|w| self.log2.x_log2_x(w));
        self.n_outputs * (t0 + t1) - split.sums[0] - split.sums[1]
    }
}

impl Measure for Entropy {
    type Sum = i128;

    fn is_squared_distance(&self) -> bool {
        false
    }

    #[inline]
    fn growth(&self, count: u64, weight: u64) -> i128 {
        self.log2.x_log2_x(count + weight) - self.log2.x_log2_x(count)
    }

    fn impurity(&self, sum: i128, weight: u64, n_outputs: usize) -> f64 {
        let cost = n_outputs as i128 * self.log2.x_log2_x(weight) - sum;
        // Proportional counts give the same whole part and the same fraction, so the same bits.
        let (whole, rest) = (cost / i128::from(weight), cost % i128::from(weight));
        (whole as f64 + rest as f64 / weight as f64) * ULP
    }

    fn score_of_none(&self, sum: i128, weight: u64, n_outputs: usize) -> f64 {
        -self.cost(sum, weight, n_outputs)
    }

    fn cost(&self, sum: i128, weight: u64, n_outputs: usize) -> f64 {
        (n_outputs as i128 * self.log2.x_log2_x(weight) - sum).to_f64()
    }

    #[inline]
    fn score(&self, split: &Sides<i128>) -> f64 {
        -self.cost_of_sides(split).to_f64()
    }

    #[inline]
    fn tolerance(&self, _score: f64, weight: u64, n_outputs: usize, n_slots: usize) -> f64 {
        tolerance(weight, n_outputs, n_slots)
    }

    /// Nothing is left to tell.
    fn most_score(&self, _weight: f64, _n_outputs: f64) -> f64 {
        0.0
    }

    /// The `x` of all terms add up to the weight for each output, and once more for the weights of both
    /// sides. Besides what terms are off by, `x` has a rounding, and so has each addition, of at most all
    /// terms together.
    fn error_of_terms(&self, weight: f64, n_outputs: f64, n_terms: f64) -> f64 {
        let all_terms = 2.0 * weight * n_outputs * (weight.log2() + 2.0);
        all_terms * (0.5f64.powi(20) + (n_terms + 4.0) * 0.5f64.powi(23)) * (1.0 / ULP)
    }

    fn visit_terms<V: TermsVisitor>(&self, visitor: V) -> V::Output {
        visitor.visit::<LogTerms>()
    }

    fn compare(&self, a: &Sides<i128>, b: &Sides<i128>) -> Ordering {
        self.cost_of_sides(b).cmp(&self.cost_of_sides(a))
    }
}

/// Single precision suffices: what is close is compared exactly.
pub(super) struct LogTerms;

#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
impl Terms for LogTerms {
    #[inline(always)]
    fn class_terms(left: f64, right: f64) -> [f64; 2] {
        [f64::from(single_x_log2_x(left as f32) + single_x_log2_x(right as f32)), 0.0]
    }

    #[inline(always)]
    fn score_of_terms([sum, _]: [f64; 2], [w0, w1]: [f64; 2], n_outputs: f64) -> f64 {
        let of_weights = single_x_log2_x(w0 as f32) + single_x_log2_x(w1 as f32);
        (sum - n_outputs * f64::from(of_weights)) * (1.0 / ULP)
    }
}

/// See [`Measure::tolerance`]. Holds for scores in floating point, too (`packed::entropy`).
///
/// Let `L` be the logarithm of the weight `W` of the node. A term `x log2 x` is off by at most `x (L + 1)
/// 2^-51`: the error of [`near_log2`](crate::num::log2::near_log2), and one rounding. The `x` of all classes
/// add up to `W` for each output, in the node and over both sides. Adding the terms up takes two roundings
/// for each class, of at most `W L 2^-53` for each output. Together that is less than half of the result.
pub(super) fn tolerance(weight: u64, n_outputs: usize, n_slots: usize) -> f64 {
    let log = f64::from(u64::BITS - weight.leading_zeros());
    let terms = weight as f64 * n_outputs as f64 * (log + 2.0);
    terms * (8 + n_slots) as f64 * (0.5f64.powi(51) / ULP)
}
