//! SHAP values of forests.

use std::ops::Range;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::kernel::{At, Contributions, MOST_ROWS, Scratch, all_rows};
use super::matrices::{CsrMatrix, RESULT, matrices};
use super::plan::{Coefficients, Kept, Plan};
use super::quadrature::{LANES, Points, bounding_points, rule};
use crate::data::Matrix;
use crate::data::rows::Reader;
use crate::error::Result;
use crate::forest::Forest;
use crate::memory;
use crate::runtime::Runtime;
use crate::tree::packed::PackedTree;
use crate::tree::predict::check_features;

/// Trees whose plans are held at once.
const TREES_AT_ONCE: usize = 8;
/// Batches per thread, if there are enough rows.
const BATCHES_PER_THREAD: usize = 4;
/// The most bytes of the sums of a batch, with as many values as places where sums wait: a part of
/// a second-level cache.
const SUMS_BYTES: usize = 1 << 18;
/// How many sums wait for each other in a large tree.
const PLACES: usize = 12;

/// The contributions of features to predictions.
#[derive(Debug, Clone, PartialEq)]
pub struct ShapValues {
    /// The features that the trees use, ascending. Those of all others are 0.
    pub features: Vec<u32>,
    /// Row-major `(n_samples, features.len(), n_values)`, and of pairs `(n_samples, features.len(),
    /// features.len(), n_values)`.
    pub values: Vec<f64>,
}

/// The prediction if nothing is known of a row: the mean over the trees of the means of their
/// leaves by training weight. Shape `(n_values,)`.
pub fn expected_value(forest: &Forest, runtime: &Runtime<'_>) -> Result<Vec<f64>> {
    let of_tree = |tree: &PackedTree| Ok(plan(tree, runtime)?.expected);
    let mut sums = vec![0.0; forest.n_values()];
    for expected in runtime.map(forest.trees().collect(), of_tree)? {
        sums.iter_mut().zip(expected).for_each(|(sum, value)| *sum += value);
    }
    Ok(sums.into_iter().map(|sum| sum / forest.len() as f64).collect())
}

/// The contributions of the features to the prediction for each row: path-dependent SHAP values.
/// With the [expected value](expected_value) they add up to the prediction. The runtime counts
/// trees.
pub fn shap_values(forest: &Forest, x: &dyn Matrix, runtime: &Runtime<'_>) -> Result<ShapValues> {
    explain(forest, x, false, runtime)
}

/// The [`shap_values`] of each value: a matrix of shape `(n_samples, n_features)` without zeros.
pub fn sparse_shap_values(forest: &Forest, x: &dyn Matrix, runtime: &Runtime<'_>) -> Result<Vec<CsrMatrix>> {
    let shap = explain(forest, x, false, runtime)?;
    matrices(&shap.features, &shap.values, x.shape().0, forest.n_values(), runtime)
}

/// The contributions of pairs of features: path-dependent SHAP interaction values. Those of a pair
/// are half of the interaction at each of its two places. Those of a feature with itself are what
/// its SHAP value has beside them. The runtime counts trees.
pub fn shap_interactions(forest: &Forest, x: &dyn Matrix, runtime: &Runtime<'_>) -> Result<ShapValues> {
    let ShapValues { features, mut values } = explain(forest, x, true, runtime)?;
    let (n, n_values) = (features.len(), forest.n_values());
    for (turn, square) in values.chunks_exact_mut((n * n * n_values).max(1)).enumerate() {
        runtime.check_in_turn(turn)?;
        let at = |i: usize, j: usize, value: usize| (i * n + j) * n_values + value;
        for i in 0..n {
            for (j, value) in (0..i).flat_map(|j| (0..n_values).map(move |value| (j, value))) {
                let half = f64::midpoint(square[at(i, j, value)], square[at(j, i, value)]);
                (square[at(i, j, value)], square[at(j, i, value)]) = (half, half);
            }
        }
        for (i, value) in (0..n).flat_map(|i| (0..n_values).map(move |value| (i, value))) {
            let others: f64 = (0..n).filter(|&j| j != i).map(|j| square[at(i, j, value)]).sum();
            square[at(i, i, value)] -= others;
        }
    }
    Ok(ShapValues { features, values })
}

fn explain(forest: &Forest, x: &dyn Matrix, of_pairs: bool, runtime: &Runtime<'_>) -> Result<ShapValues> {
    let n_samples = check_features(x.shape(), forest.n_features())?;
    let rows = x.rows()?;
    let kept = Kept::of(forest.trees().next().map_or(&[], PackedTree::n_classes));
    let n_kept = kept.n_values(forest.n_values());
    let features = used_features(forest, runtime)?;
    let row_len = features.len().saturating_pow(if of_pairs { 2 } else { 1 }).saturating_mul(n_kept);
    let mut values = memory::zeros(RESULT, n_samples.saturating_mul(row_len))?;
    let n_batches = n_samples.div_ceil(BATCHES_PER_THREAD * runtime.n_threads());
    let fitting = SUMS_BYTES / (PLACES * LANES * size_of::<f64>() * n_kept);
    let len = Reader::block_len(rows, n_batches.clamp(1, MOST_ROWS).min(fitting.max(1))).max(1);
    let idle = Mutex::new(Vec::new());
    let lock = || idle.lock().unwrap_or_else(PoisonError::into_inner);
    let trees: Vec<&PackedTree> = forest.trees().collect();
    for trees in trees.chunks(TREES_AT_ONCE) {
        let plans = runtime.map(trees.to_vec(), |tree| Ok(Prepared::new(plan(tree, runtime)?, &features)))?;
        let n_reads = trees.iter().map(|tree| tree.max_depth()).sum();
        let visit = |(start, contributions): (usize, &mut [f64])| -> Result<()> {
            let worker = lock().pop();
            let (mut reader, mut scratch) = match worker {
                Some(worker) => worker,
                None => (Reader::new(rows, len, n_reads)?, Scratch::default()),
            };
            let block = start..(start + len).min(n_samples);
            reader.load(block.clone());
            for plan in &plans {
                runtime.check_interrupt()?;
                let n_features = features.len();
                let to =
                    Contributions { all: &mut *contributions, row_len, numbers: &plan.numbers, of_pairs, n_features };
                plan.explain(&mut reader, block.clone(), &mut scratch, to, runtime)?;
            }
            lock().push((reader, scratch));
            Ok(())
        };
        if row_len > 0 {
            let parts = (0..n_samples).step_by(len).zip(values.chunks_mut(len * row_len));
            runtime.map(parts.collect(), visit)?;
        }
        lock().clear();
        for _ in trees {
            runtime.advance();
        }
    }
    let values = finished(values, kept, 1.0 / forest.len() as f64)?;
    Ok(ShapValues { features, values })
}

/// The values of all classes, as means over trees.
fn finished(mut values: Vec<f64>, kept: Kept, scale: f64) -> Result<Vec<f64>> {
    if kept == Kept::SecondShare {
        let mut both = memory::reserve(RESULT, 2 * values.len())?;
        both.extend(values.into_iter().flat_map(|value| [-value * scale, value * scale]));
        return Ok(both);
    }
    for value in &mut values {
        *value *= scale;
    }
    Ok(values)
}

/// The features that the trees use, ascending.
fn used_features(forest: &Forest, runtime: &Runtime<'_>) -> Result<Vec<u32>> {
    let of_tree = |tree: &PackedTree| -> Result<Vec<u32>> {
        runtime.check_interrupt()?;
        let mut features: Vec<u32> = tree.features().collect();
        features.sort_unstable();
        features.dedup();
        Ok(features)
    };
    let mut features: Vec<u32> = runtime.map(forest.trees().collect(), of_tree)?.concat();
    features.sort_unstable();
    features.dedup();
    Ok(features)
}

fn plan(tree: &PackedTree, runtime: &Runtime<'_>) -> Result<Plan> {
    runtime.check_interrupt()?;
    Plan::new(tree.unpack()?, Kept::of(tree.n_classes()), runtime)
}

/// A plan with the factors of its splits.
struct Prepared {
    plan: Plan,
    /// By feature of the tree: its number among those of the forest.
    numbers: Vec<usize>,
    /// The factors in the place of which there are bounds of them.
    bounding: OnceLock<Vec<Coefficients>>,
    /// For each multiple of [`LANES`]: the rule of so many points, with the coefficients of all
    /// splits for eight points at a time; made when a row needs it.
    rules: Vec<OnceLock<Rule>>,
}

/// Eight points at a time, with the coefficients of all splits.
type Rule = Vec<(Points, Vec<Coefficients>)>;

impl Prepared {
    fn new(plan: Plan, features: &[u32]) -> Self {
        let number = |feature: &u32| features.binary_search(feature).unwrap_or(0);
        let most = plan.groups.iter().map(|group| group.n_points).max().unwrap_or(0);
        Self {
            numbers: plan.features.iter().map(number).collect(),
            bounding: OnceLock::new(),
            rules: (0..most / LANES).map(|_| OnceLock::new()).collect(),
            plan,
        }
    }

    fn coefficients(&self, points: &Points) -> Vec<Coefficients> {
        self.plan.splits.iter().map(|split| Coefficients::new(split, points)).collect()
    }

    /// Adds the contributions in this tree for a block of rows.
    fn explain(
        &self,
        reader: &mut Reader<'_>,
        block: Range<usize>,
        scratch: &mut Scratch,
        mut to: Contributions<'_>,
        runtime: &Runtime<'_>,
    ) -> Result<()> {
        let n_rows = block.len();
        scratch.begin(&self.plan, n_rows);
        for (lane, row) in block.enumerate() {
            scratch.route(&self.plan, lane, reader.row(row));
        }
        for group in &self.plan.groups {
            let needed = if group.n_points == LANES {
                vec![LANES; n_rows]
            } else {
                let bounding = self.bounding.get_or_init(|| self.coefficients(&bounding_points()));
                scratch.needed_points(&self.plan, group, bounding)?
            };
            // What is computed for a row depends on this row alone.
            let mut rest = all_rows(n_rows);
            while rest != 0 {
                let n_points = needed[rest.trailing_zeros() as usize];
                let alike = (0..n_rows).filter(|&row| needed[row] == n_points).fold(0, |bits, row| bits | 1 << row);
                let rule = self.rules[n_points / LANES - 1].get_or_init(|| {
                    rule(n_points).into_iter().map(|points| (points, self.coefficients(&points))).collect()
                });
                for (points, coefficients) in rule {
                    runtime.check_interrupt()?;
                    scratch.visit(&self.plan, group, &At { points, coefficients }, alike, &mut to)?;
                }
                rest &= !alike;
            }
        }
        Ok(())
    }
}
