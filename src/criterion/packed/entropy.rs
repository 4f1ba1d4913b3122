//! The cuts of histograms of classes by entropy, in floating point: logarithms come from
//! [`near_log2`], and all errors together are less than half of what
//! [`Measure::tolerance`](crate::criterion::classes::Measure::tolerance) allows.
//!
//! With `T(c) = c log2 c`, a cut into the weights `w` and `W - w` that has `c_k` of the weights `C_k`
//! of the classes on the left scores `sum_k f_k(c_k) - n (T(w) + T(W - w))`, where
//! `f_k(c) = T(c) + T(C_k - c)` and `n` is the number of outputs.

use super::ByBin;
use crate::num::log2::{ULP, near_log2, near_x_log2_x};
use crate::simd::vectorized;

/// Scores are in units of the fixed-point logarithms.
const UNIT: f64 = 1.0 / ULP;

vectorized! {
    /// Sets `terms[b]` to `f_k` of the weight `ends[b]` of a class before bin `b`. `whole` is the
    /// weight of the class.
    pub(super) fn class_terms(ends: &[f64], whole: f64, terms: &mut [f64]) {
        for (term, &own) in terms.iter_mut().zip(ends) {
            *term = near_x_log2_x(own) + near_x_log2_x(whole - own);
        }
    }
}

vectorized! {
    /// The score of the cut after each bin. `terms` has [`class_terms`] of all classes, `size` numbers
    /// of each; `weights[b]` is the weight of all bins before bin `b`. Sets `of_ends[b]` to the score of the
    /// cut before bin `b`, also where there are no rows on a side or in the bin before; it has one number
    /// more than `scores`.
    pub(super) fn cut_scores(
        terms: &[f64],
        size: usize,
        weights: &[f64],
        n_outputs: f64,
        scores: &mut [f64],
        of_ends: &mut [f64],
    ) {
        let n = scores.len();
        // No rows on the left: no cut scores less.
        of_ends[0] = f64::NEG_INFINITY;
        let of_ends = &mut of_ends[1..=n];
        scores.fill(0.0);
        for terms in terms.chunks_exact(size) {
            for (score, &term) in scores.iter_mut().zip(&terms[1..=n]) {
                *score += term;
            }
        }
        let node_weight = weights[n];
        let (before, after) = (&weights[..n], &weights[1..=n]);
        for bin in 0..n {
            let weight = after[bin];
            let score = scores[bin] - n_outputs * (near_x_log2_x(weight) + near_x_log2_x(node_weight - weight));
            let is_cut = weight > before[bin] && weight < node_weight;
            of_ends[bin] = score * UNIT;
            scores[bin] = if is_cut { score * UNIT } else { f64::NEG_INFINITY };
        }
    }
}

vectorized! {
    /// An upper bound of the scores of the cuts within each bin.
    ///
    /// A cut has all rows before the bin on the left, and for each class `k` between none and all of
    /// the bin's weight `d_k`. As `f_k` is convex, for any number `l` a score is at most
    ///
    /// > `sum_k max(f_k(c_k), f_k(c_k + d_k) - l d_k) + n max_w (l (w - w_b) - T(w) - T(W - w))`
    ///
    /// where `w_b` is the weight before the bin. With `l = log2(m / (W - m))` for the weight `m` half
    /// way through the bin, the last maximum is at `w = m`.
    ///
    /// A bin of one class has its best cuts at its ends (`of_ends`, see [`cut_scores`]) if
    /// `has_best_at_ends`, as the score is convex in the weight of a class. Logarithms are rounded, so a cut
    /// within the bin may score more by that.
    #[allow(clippy::too_many_arguments, reason = "arrays over bins")]
    pub(super) fn inner_bounds(
        terms: &[f64],
        ends: &[f64],
        size: usize,
        weights: &[f64],
        n_outputs: f64,
        of_ends: &[f64],
        has_best_at_ends: bool,
        error: f64,
        bounds: &mut [f64],
    ) {
        let n = bounds.len();
        let node_weight = weights[n];
        let (before, after) = (&weights[..n], &weights[1..=n]);
        let mut slopes: ByBin = [0.0; super::MAX_BINS];
        let mut peaks: ByBin = [0.0; super::MAX_BINS];
        let (slopes, peaks) = (&mut slopes[..n], &mut peaks[..n]);
        for bin in 0..n {
            let middle = 0.5 * (before[bin] + after[bin]);
            let (log, other_log) = (near_log2(middle), near_log2(node_weight - middle));
            slopes[bin] = log - other_log;
            let of_weight = slopes[bin] * (middle - before[bin]) - middle * log - (node_weight - middle) * other_log;
            bounds[bin] = n_outputs * of_weight;
        }
        for (terms, ends) in terms.chunks_exact(size).zip(ends.chunks_exact(size)) {
            let (low, high) = (&terms[..n], &terms[1..=n]);
            let (start, end) = (&ends[..n], &ends[1..=n]);
            for bin in 0..n {
                let own = end[bin] - start[bin];
                let with_all = high[bin] - slopes[bin] * own;
                bounds[bin] += if with_all > low[bin] { with_all } else { low[bin] };
                peaks[bin] = own.max(peaks[bin]);
            }
        }
        for bin in 0..n {
            let most = bounds[bin] * UNIT;
            let of_better_end = if of_ends[bin] > of_ends[bin + 1] { of_ends[bin] } else { of_ends[bin + 1] };
            let is_of_one_class = peaks[bin] >= after[bin] - before[bin];
            let is_at_ends = is_of_one_class && has_best_at_ends && of_better_end < most;
            bounds[bin] = if is_at_ends { of_better_end } else { most } + error;
        }
    }
}
