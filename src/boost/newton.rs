//! The engine of boosting by first and second derivatives (T. Chen and C. Guestrin, "`XGBoost`: a scalable
//! tree boosting system", 2016, section 2.2), for all data.
//!
//! With sums G of weighted negative gradients and H of weighted second derivatives, a node predicts
//! `G / (H + l2)`, and a split gains `G_L^2 / (H_L + l2) + G_R^2 / (H_R + l2) - G^2 / (H + l2)`. Both sums
//! are integers, so scores depend neither on the order of rows nor on threads; scores are compared as `f64`.
//!
//! The gain is a convex function of `(G_L, H_L)`. So what the cuts within a bin can gain is at most what the
//! corners gain of a rectangle that holds all their sums: `H_L` grows by at most that of the bin, and the sum
//! of any `k` of the `m` gradients differs from `k` times their mean by at most `sqrt(k (m - k) S / m)`, if
//! `S` is the sum of their squared deviations (Cauchy and Schwarz).

use std::cmp::Ordering;

use super::bins::{Bins, MAX_BINS};
use super::by_rows;
use super::fixed::Fixed;
use super::growth::{self, Engine, Gain, Grown, SearchedNode};
use super::objective::Curvatures;
use super::orders::{Order, Orders};
use super::slopes::{Short, Slopes, Wide};
use crate::data::target::Weights;
use crate::data::{Dataset, Target};
use crate::error::Result;
use crate::grow::facts::NodeFacts;
use crate::params::ValidTreeParams;
use crate::rng::Permutation;
use crate::runtime::Runtime;
use crate::simd::{Level, vectorized};
use crate::split::Candidate;

/// Children of smaller sums of second derivatives are illegal, as in scikit-learn's histogram boosting.
const LEAST_HESSIAN: f64 = 1e-3;
/// Is added to the sum of second derivatives of a category where the means of categories are compared, so
/// that rare ones do not come first and last. scikit-learn and `LightGBM` have the same number.
const CATEGORY_SMOOTHING: f64 = 10.0;
/// A gain that is a smaller share of its terms may be rounding error.
const NOISE: f64 = 1e-13;
/// Parts of a bin that are bounded by themselves.
const SEGMENTS: usize = 8;
/// Bounds are raised by this share, as they are rounded.
const SLACK: f64 = 1.0 + 1e-9;
/// Sums of fixed-point gradients are below `2^GRADIENT_BITS`.
const GRADIENT_BITS: i32 = 61;
/// What splits minimise besides the loss, and where they may be.
#[derive(Debug, Clone, Copy)]
pub struct Regularization<'a> {
    /// Is added to sums of second derivatives.
    pub l2: f64,
    /// Whether cuts within bins are searched.
    pub reads_bins: bool,
    /// How categories are ordered.
    pub orders: &'a Orders,
}

/// First and second derivatives of all rows for one tree.
pub struct Derivatives<'a> {
    /// Negative gradients.
    pub pulls: &'a [f64],
    pub curvatures: &'a Curvatures,
}

/// How large derivatives are. The most may be NaN.
struct Extremes {
    most_pull: f64,
    least_curvature: f64,
    most_curvature: f64,
}

impl Extremes {
    /// Of the rows that have a weight.
    fn of(weights: &Weights, derivatives: &Derivatives<'_>, runtime: &Runtime<'_>) -> Result<Self> {
        // Bits of numbers that are not negative are in the order of the numbers, NaN the last.
        let most = |a: f64, b: f64| f64::from_bits(a.to_bits().max(b.abs().to_bits()));
        let none = || Self { most_pull: 0.0, least_curvature: f64::INFINITY, most_curvature: 0.0 };
        let of_parts = by_rows::map_parts(derivatives.pulls.len(), runtime, |rows| {
            rows.filter(|&row| weights.is_positive(row)).fold(none(), |all, row| {
                let curvature = derivatives.curvatures.of(row);
                Self {
                    most_pull: most(all.most_pull, derivatives.pulls[row]),
                    least_curvature: all.least_curvature.min(curvature),
                    most_curvature: most(all.most_curvature, curvature),
                }
            })
        })?;
        Ok(of_parts.into_iter().fold(none(), |all, part| Self {
            most_pull: most(all.most_pull, part.most_pull),
            least_curvature: all.least_curvature.min(part.least_curvature),
            most_curvature: most(all.most_curvature, part.most_curvature),
        }))
    }
}

/// Grows a tree. `target` has the weights; rows of weight 0 take no part.
pub fn grow(
    (data, bins): (&Dataset, &Bins),
    (target, derivatives): (&Target, &Derivatives<'_>),
    params: &ValidTreeParams,
    regularization: Regularization<'_>,
    runtime: &Runtime<'_>,
) -> Result<Grown> {
    let extremes = Extremes::of(target.weights(), derivatives, runtime)?;
    let is_constant = target.weights().are_unit() && extremes.least_curvature == extremes.most_curvature;
    let given = (target, derivatives, &extremes);
    let is_short = is_constant || (!regularization.reads_bins && extremes.least_curvature >= 0.0);
    if is_short && Short::holds(target.n_samples()) {
        let engine = Newton::<Short>::new(given, params, regularization, is_constant, runtime)?;
        return growth::grow((data, bins), target, &engine, params, runtime);
    }
    let engine = Newton::<Wide>::new(given, params, regularization, false, runtime)?;
    growth::grow((data, bins), target, &engine, params, runtime)
}

/// What the searches of all nodes of a tree share. Gradients are multiples of one unit, second derivatives
/// of another.
struct Newton<'a, C> {
    rows: Vec<C>,
    target: &'a Target,
    params: &'a ValidTreeParams,
    min_leaf: u32,
    reads_bins: bool,
    orders: &'a Orders,
    gradient_unit: f64,
    hessian_unit: f64,
    square_unit: f64,
    /// The second derivative of each row, if that is all that cells know of them.
    constant: Option<i64>,
    /// In units of second derivatives.
    l2: f64,
    least_hessian: f64,
    smoothing: f64,
    total_weight: f64,
    level: Level,
}

/// What a node has of its rows.
pub struct Totals {
    gradient: i64,
    hessian: i64,
    weight: u64,
}

impl<'a, C: Slopes> Newton<'a, C> {
    fn new(
        (target, derivatives, extremes): (&'a Target, &Derivatives<'_>, &Extremes),
        params: &'a ValidTreeParams,
        Regularization { l2, reads_bins, orders }: Regularization<'a>,
        is_constant: bool,
        runtime: &Runtime<'_>,
    ) -> Result<Self> {
        let weights = target.weights();
        let total = weights.total(target.n_samples());
        let gradients = Fixed::new(extremes.most_pull, (weights, total), GRADIENT_BITS)?;
        let hessians = Fixed::new(extremes.most_curvature, (weights, total), C::HESSIAN_BITS)?;
        let gradient = |row: usize| gradients.of(row, derivatives.pulls[row]);
        let hessian = |row: usize| hessians.of(row, derivatives.curvatures.of(row));
        // Each row that takes part weighs 1.
        let constant = is_constant.then(|| hessians.of_one(extremes.least_curvature));
        let square = |fixed: i64| fixed as f64 * fixed as f64;
        let takes_part = |row: &usize| weights.is_positive(*row);
        // In the order of the rows, as such a sum is rounded.
        let squares: f64 = if reads_bins {
            (0..target.n_samples()).filter(takes_part).map(|row| square(gradient(row))).sum()
        } else {
            0.0
        };
        let square_unit = (squares / f64::from(1u32 << 31)).max(1.0);
        let mut rows = vec![C::default(); target.n_samples()];
        by_rows::for_each_part(&mut rows, 1, runtime, |first, cells| {
            for (row, cell) in (first..).zip(cells).filter(|(row, _)| takes_part(row)) {
                let (gradient, hessian) = (gradient(row), constant.unwrap_or_else(|| hessian(row)));
                let squares = if reads_bins { (square(gradient) / square_unit) as u32 + 1 } else { 0 };
                *cell = C::of_row(gradient, hessian, squares, is_constant);
            }
        })?;
        let unit = |fixed: &Fixed<'_>| target.weight_unit() / fixed.scale();
        let hessian_unit = unit(&hessians);
        Ok(Self {
            rows,
            target,
            params,
            min_leaf: u32::try_from(params.min_samples_leaf.max(1)).unwrap_or(u32::MAX),
            reads_bins,
            orders,
            gradient_unit: unit(&gradients),
            hessian_unit,
            square_unit,
            constant,
            l2: l2 / hessian_unit,
            least_hessian: LEAST_HESSIAN / hessian_unit,
            smoothing: CATEGORY_SMOOTHING / hessian_unit,
            total_weight: total as f64 * target.weight_unit(),
            level: Level::widest(),
        })
    }

    #[inline]
    fn hessian(&self, sums: &C) -> i64 {
        sums.hessian(self.constant)
    }

    fn at(&self, gradient: i64, hessian: i64, n: u32) -> AtNode {
        let mean = gradient as f64 / (hessian as f64 + self.l2);
        AtNode { gradient, hessian, n, mean: if mean.is_finite() { mean } else { 0.0 }, l2: self.l2 }
    }

    /// What a side of a split adds to the score, given its sums in `f64`.
    fn value(&self, totals: &Totals) -> f64 {
        let denominator = totals.hessian as f64 * self.hessian_unit + self.l2 * self.hessian_unit;
        if denominator > 0.0 { totals.gradient as f64 * self.gradient_unit / denominator } else { 0.0 }
    }
}

/// The sums of a node, and what it predicts.
#[derive(Clone, Copy)]
struct AtNode {
    gradient: i64,
    hessian: i64,
    n: u32,
    mean: f64,
    l2: f64,
}

impl AtNode {
    /// The score of a cut that has these sums on the left: its gain, plus `l2 mean^2`. Gradients are taken
    /// from what the mean predicts, so that large ones do not cancel. One division serves both sides.
    #[inline]
    fn score(self, gradient: f64, hessian: f64) -> f64 {
        let (left, right) = (hessian + self.l2, self.hessian as f64 - hessian + self.l2);
        let of_left = gradient - self.mean * left;
        let of_right = self.gradient as f64 - gradient - self.mean * right;
        (of_left * of_left * right + of_right * of_right * left) / (left * right)
    }

    /// Whether both sides have enough second derivatives, given the sum of those on the left.
    #[inline]
    #[allow(clippy::needless_bitwise_bool, reason = "a branch would keep scores apart")]
    fn suffices(self, hessian: f64, least: f64) -> bool {
        (hessian >= least) & (hessian <= self.hessian as f64 - least)
    }

    fn gain(self, score: f64) -> f64 {
        score - self.l2 * self.mean * self.mean
    }
}

vectorized! {
    /// Sets `scores` to those of cuts that have these sums on the left, negative infinity where one side has
    /// less than `least` of the second derivatives.
    fn score_cuts(at: AtNode, least: f64, gradients: &[f64], hessians: &[f64], scores: &mut [f64]) {
        for (score, (&gradient, &hessian)) in scores.iter_mut().zip(gradients.iter().zip(hessians)) {
            let of_cut = at.score(gradient, hessian);
            *score = if at.suffices(hessian, least) { of_cut } else { f64::NEG_INFINITY };
        }
    }
}

/// The best cut so far.
struct Leader {
    score: f64,
    candidate: Option<Candidate>,
    floor: f64,
}

impl Leader {
    fn take(&mut self, order: &Permutation, score: f64, new: Candidate) {
        let wins = match &self.candidate {
            None => true,
            Some(old) => score > self.score || (score.total_cmp(&self.score).is_eq() && precedes(order, &new, old)),
        };
        if wins {
            *self = Self { score, candidate: Some(new), floor: self.floor.max(score) };
        }
    }
}

/// The tie rule of all trees: the feature that the node draws first, then missing values on the right, then
/// the lowest cut.
fn precedes(order: &Permutation, new: &Candidate, old: &Candidate) -> bool {
    if new.feature != old.feature {
        return order.position(new.feature) < order.position(old.feature);
    }
    let place = |candidate: &Candidate| (candidate.missing_go_left(), candidate.last_left);
    place(new) < place(old)
}

impl<C: Slopes> Engine for Newton<'_, C> {
    type Cell = C;
    type Totals = Totals;
    type AtNode = AtNode;
    type Best = Leader;
    const KEEPS_GAINS: bool = true;

    fn rows(&self) -> &[C] {
        &self.rows
    }

    fn totals(&self, samples: &[u32]) -> Totals {
        samples.iter().fold(Totals { gradient: 0, hessian: 0, weight: 0 }, |totals, &row| Totals {
            gradient: totals.gradient + self.rows[row as usize].gradient(),
            hessian: totals.hessian + self.hessian(&self.rows[row as usize]),
            weight: totals.weight + self.target.weights().get(row as usize),
        })
    }

    fn totals_of(&self, rows: &C) -> Option<Totals> {
        let weight = matches!(self.target.weights(), Weights::Unit).then(|| rows.n().into())?;
        Some(Totals { gradient: rows.gradient(), hessian: self.hessian(rows), weight })
    }

    fn minus(&self, node: &Totals, child: &Totals) -> Totals {
        Totals {
            gradient: node.gradient - child.gradient,
            hessian: node.hessian - child.hessian,
            weight: node.weight - child.weight,
        }
    }

    fn facts<'a>(&'a self, samples: &'a [u32], depth: u64, totals: &'a Totals) -> impl NodeFacts + 'a {
        Facts { samples, depth, weight: totals.weight, value: self.value(totals) }
    }

    fn must_stop(&self, depth: u64, n_samples: usize, _: &Totals) -> bool {
        let least = self.params.min_samples_split.max(2 * u64::from(self.min_leaf));
        depth >= self.params.max_depth || (n_samples as u64) < least
    }

    fn gain(&self, node: &Totals, children: [&Totals; 2]) -> Option<Gain> {
        let at = self.at(node.gradient, node.hessian, 0);
        let gain = at.gain(at.score(children[0].gradient as f64, children[0].hessian as f64));
        let term = |totals: &Totals| (totals.gradient as f64).powi(2) / (totals.hessian as f64 + self.l2);
        let noise = NOISE * (term(children[0]) + term(children[1]));
        let unit = self.gradient_unit * self.gradient_unit / self.hessian_unit;
        let is_too_little = gain * unit / self.total_weight < self.params.min_impurity_decrease;
        if gain.is_nan() || gain <= noise || is_too_little {
            return None;
        }
        Some(Gain { priority: gain, kept: gain * unit })
    }

    fn at_node(&self, node: &SearchedNode<'_, Self>) -> AtNode {
        self.at(node.whole.gradient(), self.hessian(&node.whole), node.whole.n())
    }

    fn min_leaf(&self) -> u32 {
        self.min_leaf
    }

    #[inline]
    fn score(&self, at: AtNode, left: &C) -> f64 {
        let (n, hessian) = (left.n(), self.hessian(left) as f64);
        let is_legal = n >= self.min_leaf && at.n - n >= self.min_leaf && at.suffices(hessian, self.least_hessian);
        if is_legal { at.score(left.gradient() as f64, hessian) } else { f64::NEG_INFINITY }
    }

    /// Numbers are converted before scores are computed, so that a register holds several scores.
    fn score_all(
        &self,
        at: AtNode,
        lefts: &[C],
        [gradients, hessians]: &mut [[f64; MAX_BINS]; 2],
        scores: &mut [f64; MAX_BINS],
    ) {
        for (left, (gradient, hessian)) in lefts.iter().zip(gradients.iter_mut().zip(&mut *hessians)) {
            (*gradient, *hessian) = (left.gradient() as f64, self.hessian(left) as f64);
        }
        let n = lefts.len();
        score_cuts(self.level, at, self.least_hessian, &gradients[..n], &hessians[..n], &mut scores[..n]);
    }

    fn may_hold(&self, at: AtNode, before: &C, bin: &C, floor: f64) -> bool {
        if before.n() + bin.n() < self.min_leaf + 1 || at.n < before.n() + 1 + self.min_leaf {
            return false;
        }
        let size = f64::from(bin.n());
        let of_bin = bin.gradient() as f64;
        let squares = bin.squares() as f64 * self.square_unit;
        let spread = (squares - of_bin * of_bin / size * (1.0 - 1e-14)).max(0.0);
        let most = at.hessian as f64 - self.least_hessian;
        let hessians = [self.hessian(before) as f64, (self.hessian(before) + self.hessian(bin)) as f64];
        let [least, most] = hessians.map(|hessian| hessian.max(self.least_hessian).min(most));
        let reaches = |gradient: f64| {
            [least, most].into_iter().any(|hessian| {
                let score = at.score(gradient, hessian) * SLACK;
                score.is_nan() || score >= floor
            })
        };
        // The cuts that have `first` to `last` of the rows of the bin on the left.
        let may_be_between = |first: f64, last: f64| {
            let sums = [first, last].map(|k| before.gradient() as f64 + k / size * of_bin);
            let widest = (size / 2.0).clamp(first, last);
            let around = (widest * (size - widest) / size * spread).sqrt();
            reaches(sums[0].min(sums[1]) - around) || reaches(sums[0].max(sums[1]) + around)
        };
        may_be_between(1.0, size - 1.0)
            && (0..SEGMENTS).any(|segment| {
                let share = |at: usize| at as f64 / SEGMENTS as f64 * size;
                let (first, last) = (share(segment).max(1.0), share(segment + 1).min(size - 1.0));
                first <= last && may_be_between(first, last)
            })
    }

    fn reads_bins(&self) -> bool {
        self.reads_bins
    }

    fn order_of(&self, feature: u32) -> &Order {
        self.orders.get(feature as usize).unwrap_or(&Order::Node)
    }

    fn min_samples_category(&self) -> u32 {
        u32::try_from(self.params.min_samples_category).unwrap_or(u32::MAX)
    }

    fn compare_means(&self, a: &C, b: &C) -> Ordering {
        let mean = |sums: &C| sums.gradient() as f64 / (self.hessian(sums) as f64 + self.l2 + self.smoothing);
        mean(a).total_cmp(&mean(b))
    }

    /// Scores are exact but where constraints forbid cuts, which is seen when they are offered.
    fn tolerance(&self, _: &SearchedNode<'_, Self>, _: f64) -> f64 {
        if self.params.monotonic_cst.is_some() { f64::INFINITY } else { 0.0 }
    }

    fn no_cut(&self) -> Leader {
        Leader { score: f64::NEG_INFINITY, candidate: None, floor: f64::NEG_INFINITY }
    }

    #[inline]
    fn floor(&self, best: &Leader) -> f64 {
        best.floor
    }

    fn score_of(&self, best: &Leader) -> Option<f64> {
        best.candidate.map(|_| best.score)
    }

    fn candidate(&self, best: Leader) -> Option<Candidate> {
        best.candidate
    }

    fn offer(&self, node: &SearchedNode<'_, Self>, left: &C, score: f64, candidate: Candidate, best: &mut Leader) {
        let constraint = self.params.constraint(candidate.feature);
        if constraint != 0 {
            let mean = |gradient: i64, hessian: i64| gradient as f64 / (hessian as f64 + self.l2);
            let (whole, hessian) = (&node.whole, self.hessian(left));
            let right = mean(whole.gradient() - left.gradient(), self.hessian(whole) - hessian);
            let rise = right - mean(left.gradient(), hessian);
            if rise * f64::from(constraint) < 0.0 {
                return;
            }
        }
        best.take(&node.order, score, candidate);
    }

    fn merge(&self, node: &SearchedNode<'_, Self>, best: &mut Leader, other: Leader) {
        if let Some(candidate) = other.candidate {
            best.take(&node.order, other.score, candidate);
        }
    }

    fn follow(&self, _: &SearchedNode<'_, Self>, best: &mut Leader, score: f64) {
        best.floor = best.floor.max(score);
    }
}

/// The facts that a tree keeps of a node. What its splits gain stands in the place of an impurity.
struct Facts<'a> {
    samples: &'a [u32],
    depth: u64,
    weight: u64,
    value: f64,
}

impl NodeFacts for Facts<'_> {
    fn samples(&self) -> &[u32] {
        self.samples
    }

    fn depth(&self) -> u64 {
        self.depth
    }

    fn weight(&self) -> u64 {
        self.weight
    }

    fn impurity(&self) -> f64 {
        0.0
    }

    fn write_value(&self, value: &mut [f64]) {
        value[0] = self.value;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::boost::examples::{dataset, matrix, noise};
    use crate::params::{Count, CriterionKind, TreeParams};

    proptest! {
        /// Second derivatives are the same for all rows, or they are multiples that both cells hold exactly
        /// and no cut is within a bin.
        #[test]
        fn short_cells_grow_the_trees_of_wide_ones(
            n in 2usize..1200,
            n_features in 1usize..7,
            seed: u64,
            is_constant: bool,
            min_samples_leaf in 1u64..20,
            max_leaf_nodes in prop::option::of(2u64..40),
            l2 in prop_oneof![Just(0.0), 0.1..3.0f64],
            share in 0.3f64..1.4,
            has_missing: bool,
            is_sparse: bool,
        ) {
            let runtime = Runtime::unstoppable();
            let data = dataset(matrix(n, n_features, seed), seed, has_missing, is_sparse);
            let pulls: Vec<f64> = (0..n).map(|row| noise(!seed, row) - 0.5).collect();
            let curvature = |row: usize| if is_constant { 0.75 } else { (noise(seed, row) * 256.0).ceil() / 1024.0 };
            let curvatures = Curvatures::Each((0..n).map(curvature).collect());
            let counts: Vec<u32> = (0..n).map(|row| u32::from(row == 0 || noise(seed, !row) < share)).collect();
            let target = Target::regression(&pulls, 1, None).unwrap().reweighted(&counts).unwrap();
            let params = TreeParams {
                min_samples_leaf: Count::Absolute(min_samples_leaf),
                max_leaf_nodes,
                max_depth: Some(6),
                seed,
                ..TreeParams::new(CriterionKind::SquaredError)
            };
            let params = params.check(n, n_features).unwrap();
            let bins = Bins::of((&data, target.weights()), (!is_constant).then_some(255), params.min_samples_leaf, &runtime).unwrap().unwrap();
            let derivatives = Derivatives { pulls: &pulls, curvatures: &curvatures };
            let extremes = Extremes::of(target.weights(), &derivatives, &runtime).unwrap();
            let given = (&target, &derivatives, &extremes);
            let regularization = Regularization { l2, reads_bins: is_constant, orders: &Orders::new() };
            let short = Newton::<Short>::new(given, &params, regularization, is_constant, &runtime).unwrap();
            let wide = Newton::<Wide>::new(given, &params, regularization, false, &runtime).unwrap();
            let data = (&data, &bins);
            let short = growth::grow(data, &target, &short, &params, &runtime).unwrap();
            let wide = growth::grow(data, &target, &wide, &params, &runtime).unwrap();
            prop_assert_eq!(short, wide);
        }
    }
}
