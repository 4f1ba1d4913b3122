//! The engine of boosting by first derivatives, for columns of numbers: trees of squared error. It
//! grows the trees that [`grow`](crate::grow::grow) grows, bit for bit.
//!
//! Within a bin of `m` rows whose gradients have the sum of squared deviations `S`, the sum of any `k` of
//! the rows differs from `k` times their mean by at most `sqrt(k (m - k) S / m)` (Cauchy and Schwarz). That
//! bounds the scores of the cuts within a bin, first for all of them, then for each eighth of the bin.

use std::cmp::Ordering;

use super::bins::Bins;
use super::gradients::{Bin, Gradients};
use super::growth::{self, Engine, Gain, Grown, SearchedNode};
use crate::criterion::Statistics;
use crate::criterion::squared_error::{SquaredError, SumTotals};
use crate::criterion::sums::SumPushed;
use crate::criterion::weights::SmallWeights;
use crate::data::target::TargetValues;
use crate::data::{Dataset, Target};
use crate::error::Result;
use crate::grow::best_first::improvement;
use crate::grow::expand::{NodeSize, gains_too_little, must_stop};
use crate::grow::facts::{Facts, NodeFacts};
use crate::params::ValidTreeParams;
use crate::runtime::Runtime;
use crate::split::best::Best;
use crate::split::{Candidate, Search};

/// The criterion: all rows of a bag weigh 1.
type Criterion<'a> = SquaredError<'a, SmallWeights<'a>>;

/// Parts of a bin that are bounded by themselves.
const SEGMENTS: usize = 8;
/// Bounds are raised by this share, as they are rounded.
const SLACK: f64 = 1.0 + 1e-9;

/// The most leaves, and the largest depth, of trees that are grown on bins. Deeper trees have many nodes of
/// few rows, for which histograms of all columns are a waste (`benches/peers/boosting.py`).
const MOST_LEAVES: u64 = 1024;
const MOST_DEPTH: u64 = 10;

/// Whether trees of these data and hyperparameters may be grown on bins: trees are small, all columns are
/// numbers, and nodes draw all features.
pub fn may_serve(data: &Dataset, params: &ValidTreeParams) -> bool {
    (params.max_depth <= MOST_DEPTH || params.max_leaf_nodes.is_some_and(|most| most <= MOST_LEAVES))
        && !data.has_categories()
        && params.max_features >= data.n_features() as u64
        && params.max_tree_features.is_none()
        && params.monotonic_cst.is_none()
        && params.interaction_cst.is_none()
}

/// Grows a tree as [`grow`](crate::grow::grow) grows tree number 0; nothing if bins do not serve for it.
pub fn grow(
    data: &Dataset,
    bins: &Bins,
    target: &Target,
    params: &ValidTreeParams,
    runtime: &Runtime<'_>,
) -> Result<Option<Grown>> {
    // All rows of the bag weigh 1, and sums fit in 64 bits.
    let TargetValues::Numbers(numbers) = target.values() else { return Ok(None) };
    if !target.weights().are_unit() || !numbers.sums_fit_i64 || !may_serve(data, params) {
        return Ok(None);
    }
    let criterion = Criterion::new(numbers, SmallWeights(None));
    let samples = target.weighted_samples();
    let totals = criterion.totals(&samples);
    let search = Search::new(data, target, &criterion, params, criterion.weight(&totals), runtime)?;
    let gradients = Gradients::new(&numbers.fixed, &samples);
    let engine = Exact {
        search: &search,
        gradients: &gradients,
        min_leaf: least_rows(params.min_samples_leaf, search.min_weight_leaf),
    };
    growth::grow((data, bins), target, &engine, params, runtime).map(Some)
}

/// The least number of rows of a child, each of which weighs 1.
fn least_rows(min_samples_leaf: u64, min_weight_leaf: f64) -> u32 {
    let least = min_samples_leaf.max(min_weight_leaf.ceil() as u64).max(1);
    u32::try_from(least).unwrap_or(u32::MAX)
}

/// What the searches of all nodes of a tree share.
struct Exact<'a, 'c> {
    search: &'a Search<'a, Criterion<'c>>,
    gradients: &'a Gradients,
    /// The least number of rows of a child.
    min_leaf: u32,
}

/// The mean of a node as an integer and a fraction, so that excesses lose no digits.
#[derive(Clone, Copy)]
struct Mean {
    n: u32,
    whole: i64,
    fraction: f64,
}

impl Mean {
    /// How much the sum of `n` rows exceeds `n` times the mean.
    #[inline]
    fn excess(self, sum: i64, n: u32) -> f64 {
        (sum - i64::from(n) * self.whole) as f64 - f64::from(n) * self.fraction
    }
}

impl<'c> Engine for Exact<'_, 'c> {
    type Cell = Bin;
    type Totals = SumTotals<i64>;
    type AtNode = Mean;
    type Best = Best<Criterion<'c>>;
    const KEEPS_GAINS: bool = false;

    fn rows(&self) -> &[Bin] {
        &self.gradients.rows
    }

    fn totals(&self, samples: &[u32]) -> Self::Totals {
        self.search.criterion.totals(samples)
    }

    fn totals_of(&self, _: &Bin) -> Option<Self::Totals> {
        None
    }

    fn minus(&self, node: &Self::Totals, child: &Self::Totals) -> Self::Totals {
        self.search.criterion.minus(node, child)
    }

    fn facts<'a>(&'a self, samples: &'a [u32], depth: u64, totals: &'a Self::Totals) -> impl NodeFacts + 'a {
        Facts { criterion: self.search.criterion, samples, depth, totals, limits: None }
    }

    fn must_stop(&self, depth: u64, n_samples: usize, totals: &Self::Totals) -> bool {
        let criterion = self.search.criterion;
        must_stop(self.search, depth, n_samples, criterion.weight(totals), || criterion.is_pure(totals))
    }

    fn gain(&self, node: &Self::Totals, children: [&Self::Totals; 2]) -> Option<Gain> {
        let criterion = self.search.criterion;
        let size = |totals| NodeSize::of(criterion, totals);
        if self.search.params.min_impurity_decrease > 0.0
            && gains_too_little(self.search, size(node), size(children[0]), size(children[1]))
        {
            return None;
        }
        let after = criterion.cost(children[0]) + criterion.cost(children[1]);
        Some(Gain { priority: improvement(criterion.cost(node), after), kept: 0.0 })
    }

    fn at_node(&self, node: &SearchedNode<'_, Self>) -> Mean {
        let Bin { sum, n, .. } = node.whole;
        Mean { n, whole: sum.div_euclid(i64::from(n)), fraction: sum.rem_euclid(i64::from(n)) as f64 / f64::from(n) }
    }

    fn min_leaf(&self) -> u32 {
        self.min_leaf
    }

    #[inline]
    fn score(&self, mean: Mean, left: &Bin) -> f64 {
        if left.n < self.min_leaf || mean.n - left.n < self.min_leaf {
            return f64::NEG_INFINITY;
        }
        let excess = mean.excess(left.sum, left.n);
        excess * excess / (f64::from(left.n) * f64::from(mean.n - left.n))
    }

    fn may_hold(&self, mean: Mean, before: &Bin, bin: &Bin, floor: f64) -> bool {
        let (sum, n) = (before.sum, before.n);
        if n + bin.n < self.min_leaf + 1 || mean.n < n + 1 + self.min_leaf {
            return false;
        }
        if floor == f64::NEG_INFINITY {
            return true;
        }
        let size = f64::from(bin.n);
        let (before, after) = (mean.excess(sum, n), mean.excess(sum + bin.sum, n + bin.n));
        let squares = f64::from(bin.squares) * self.gradients.unit;
        let of_mean = bin.sum as f64 * bin.sum as f64 / size;
        let spread = (squares - of_mean * (1.0 - 1e-14)).max(0.0);
        // The least product of the numbers of rows on both sides is at an end of the legal cuts.
        let bound = |first: f64, last: f64, excess: f64, within: f64| {
            let most = f64::from(mean.n) - f64::from(self.min_leaf);
            let (first, last) = (first.max(f64::from(self.min_leaf)), last.min(most));
            if first > last {
                return f64::NEG_INFINITY;
            }
            let product = (first * (f64::from(mean.n) - first)).min(last * (f64::from(mean.n) - last));
            (excess + within) * (excess + within) / product * SLACK
        };
        let (first, last) = (f64::from(n) + 1.0, f64::from(n) + size - 1.0);
        if bound(first, last, before.abs().max(after.abs()), 0.5 * (size * spread).sqrt()) < floor {
            return false;
        }
        (0..SEGMENTS).any(|segment| {
            let share = |at: usize| at as f64 / SEGMENTS as f64 * size;
            let (start, end) = (share(segment).max(1.0), share(segment + 1).min(size - 1.0));
            if start > end {
                return false;
            }
            let at = |k: f64| (before + k / size * (after - before)).abs();
            let widest = (size / 2.0).clamp(start, end);
            let within = (widest * (size - widest) / size * spread).sqrt();
            bound(f64::from(n) + start, f64::from(n) + end, at(start).max(at(end)), within) >= floor
        })
    }

    fn reads_bins(&self) -> bool {
        true
    }

    fn compare_means(&self, a: &Bin, b: &Bin) -> Ordering {
        (i128::from(a.sum) * i128::from(b.n)).cmp(&(i128::from(b.sum) * i128::from(a.n)))
    }

    fn tolerance(&self, node: &SearchedNode<'_, Self>, score: f64) -> f64 {
        self.search.criterion.tolerance(node.totals, score)
    }

    fn no_cut(&self) -> Self::Best {
        Best::new()
    }

    #[inline]
    fn floor(&self, best: &Self::Best) -> f64 {
        best.floor()
    }

    fn score_of(&self, best: &Self::Best) -> Option<f64> {
        best.score()
    }

    fn candidate(&self, best: Self::Best) -> Option<Candidate> {
        best.candidate()
    }

    fn offer(
        &self,
        node: &SearchedNode<'_, Self>,
        left: &Bin,
        score: f64,
        candidate: Candidate,
        best: &mut Self::Best,
    ) {
        let criterion = self.search.criterion;
        let mut others = criterion.scan();
        let pushed = SumPushed::new(left.n.into(), [left.sum].into_iter(), &mut others);
        best.offer(criterion, node.totals, &node.order, (&others, pushed), score, candidate);
    }

    fn merge(&self, node: &SearchedNode<'_, Self>, best: &mut Self::Best, other: Self::Best) {
        best.merge(self.search.criterion, node.totals, &node.order, other);
    }

    fn follow(&self, node: &SearchedNode<'_, Self>, best: &mut Self::Best, score: f64) {
        best.follow(self.search.criterion, node.totals, score);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use proptest::prelude::*;

    use super::*;
    use crate::boost::examples::{dataset, matrix, noise};
    use crate::boost::leaves::RowsByNode;
    use crate::params::{CriterionKind, TreeParams};

    #[test]
    fn threads_do_not_show() {
        let (n, n_features) = (12_000, 5);
        let data = Dataset::from_dense(matrix(n, n_features, 7).view(), &Runtime::unstoppable()).unwrap();
        let y: Vec<f64> = (0..n).map(|row| data.value(0, data.rank(0, row as u32)) + noise(3, row)).collect();
        let target = Target::regression(&y, 1, None).unwrap().refilled(&y).unwrap();
        let params = TreeParams {
            max_leaf_nodes: Some(20),
            min_samples_leaf: crate::params::Count::Absolute(1),
            ..TreeParams::new(CriterionKind::SquaredError)
        };
        let params = params.check(n, n_features).unwrap();
        let stop = AtomicBool::new(false);
        let [one, three] = [1, 3].map(|n_threads| {
            let runtime = Runtime::new(n_threads, &stop);
            let bins = Bins::of((&data, target.weights()), None, params.min_samples_leaf, &runtime).unwrap().unwrap();
            grow(&data, &bins, &target, &params, &runtime).unwrap()
        });
        assert_eq!(one, three);
        let found = one.map(|grown| grown.tree);
        assert_eq!(found, Some(crate::grow::grow(&data, &target, &params, 0, &Runtime::unstoppable()).unwrap()));
    }

    proptest! {
        #[test]
        fn trees_on_bins_are_those_of_the_wide_engine(
            n in 2usize..1500,
            n_features in 1usize..9,
            seed: u64,
            gradients in 0u32..4,
            min_samples_leaf in 1u64..30,
            max_depth in 1u64..8,
            max_leaf_nodes in prop::option::of(2u64..40),
            share in 0.3f64..1.4,
            decrease in prop::option::of(0.0f64..0.05),
            has_missing: bool,
            is_sparse: bool,
        ) {
            let runtime = Runtime::unstoppable();
            let x = matrix(n, n_features, seed);
            let signal = |row: usize| x[[row, 0]] - 0.5;
            let data = dataset(x.clone(), seed, has_missing, is_sparse);
            let y: Vec<f64> = (0..n).map(|row| {
                let value = noise(!seed, row) - 0.5;
                match gradients {
                    0 => value,
                    1 => value.signum(),
                    2 => signal(row).signum() + 0.1 * value,
                    // A few rows far from the others.
                    _ => if row % 97 == 3 { value * 1e9 } else { value },
                }
            }).collect();
            let counts: Vec<u32> = (0..n).map(|row| u32::from(row == 0 || noise(seed, !row) < share)).collect();
            let target = Target::regression(&y, 1, None).unwrap().reweighted(&counts).unwrap().refilled(&y).unwrap();
            let params = TreeParams {
                min_samples_leaf: crate::params::Count::Absolute(min_samples_leaf),
                max_depth: Some(max_depth),
                max_leaf_nodes,
                min_impurity_decrease: decrease.unwrap_or(0.0),
                seed,
                ..TreeParams::new(CriterionKind::SquaredError)
            };
            let params = params.check(n, n_features).unwrap();
            let bins = Bins::of((&data, target.weights()), None, params.min_samples_leaf, &runtime).unwrap().unwrap();
            if let Some(Grown { tree: found, rows, leaf_numbers }) = grow(&data, &bins, &target, &params, &runtime).unwrap() {
                if rows.len() == n {
                    let descended = RowsByNode::new(&data, &found, &runtime).unwrap();
                    let kept = RowsByNode::of_grown(rows, &found, true);
                    let mut numbers = Vec::new();
                    for node in 0..found.node_count() {
                        let sorted = |rows: &[u32]| {
                            let mut rows = rows.to_vec();
                            rows.sort_unstable();
                            rows
                        };
                        prop_assert_eq!(sorted(kept.of(node)), sorted(descended.of(node)));
                        let is_leaf = found.nodes().children_left[node] < 0;
                        prop_assert!(!is_leaf || kept.of(node).is_sorted());
                        if is_leaf {
                            let mut of_rows = kept.of(node).iter().map(|&row| leaf_numbers[row as usize]);
                            numbers.extend(of_rows.next());
                            prop_assert!(of_rows.all(|number| Some(&number) == numbers.last()));
                        }
                    }
                    numbers.sort_unstable();
                    prop_assert!(numbers.is_sorted_by(|a, b| a < b));
                }
                prop_assert_eq!(found, crate::grow::grow(&data, &target, &params, 0, &runtime).unwrap());
            } else {
                // Sums of wide gradients do not fit.
                prop_assert_eq!(gradients, 3);
            }
        }
    }
}
