//! SHAP values of forests.

use std::ops::Range;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::blocks::Blocks;
pub use super::blocks::CsrMatrix;
use super::kernel::{Contributions, MOST_ROWS, ROWS, Rule, Scratch, Team, all_rows};
use super::plan::{Kept, Plan};
use super::quadrature::{LANES, bounding_points, errors_of, rule};
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
/// What memory for results is asked for.
const RESULT: &str = "SHAP values";

/// The contributions of features to predictions.
#[derive(Debug, Clone, PartialEq)]
pub struct ShapValues {
    /// The features that the trees use, ascending. Those of all others are 0.
    pub features: Vec<u32>,
    /// Row-major `(n_samples, features.len(), n_values)`, and of pairs `(n_samples, features.len(),
    /// features.len(), n_values)`.
    pub values: Vec<f64>,
}

/// The prediction if nothing is known of a row: the mean over the trees of the means of their leaves
/// by training weight. Shape `(n_values,)`.
pub fn expected_value(forest: &Forest, runtime: &Runtime<'_>) -> Result<Vec<f64>> {
    let of_tree = |tree: &PackedTree| Ok(plan(tree, runtime)?.expected);
    let mut sums = vec![0.0; forest.n_values()];
    for expected in runtime.map(forest.trees().collect(), of_tree)? {
        sums.iter_mut().zip(expected).for_each(|(sum, value)| *sum += value);
    }
    Ok(sums.into_iter().map(|sum| sum / forest.len() as f64).collect())
}

/// The contributions of the features to the prediction for each row: path-dependent SHAP values. With
/// the [expected value](expected_value) they add up to the prediction. The runtime counts trees.
pub fn shap_values(forest: &Forest, x: &dyn Matrix, runtime: &Runtime<'_>) -> Result<ShapValues> {
    let (features, blocks) = explain(forest, x, false, runtime)?;
    Ok(ShapValues { features, values: blocks.into_rows(runtime)? })
}

/// The [`shap_values`] of each value: a matrix of shape `(n_samples, n_features)` without zeros.
pub fn sparse_shap_values(forest: &Forest, x: &dyn Matrix, runtime: &Runtime<'_>) -> Result<Vec<CsrMatrix>> {
    let (features, blocks) = explain(forest, x, false, runtime)?;
    blocks.into_matrices(&features, runtime)
}

/// The contributions of pairs of features: path-dependent SHAP interaction values. Those of a pair
/// are half of the interaction at each of its two places. Those of a feature with itself are what its
/// SHAP value has beside them. The runtime counts trees.
pub fn shap_interactions(forest: &Forest, x: &dyn Matrix, runtime: &Runtime<'_>) -> Result<ShapValues> {
    let (features, blocks) = explain(forest, x, true, runtime)?;
    let mut values = blocks.into_rows(runtime)?;
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

/// The features that the trees use, and their contributions.
fn explain(forest: &Forest, x: &dyn Matrix, of_pairs: bool, runtime: &Runtime<'_>) -> Result<(Vec<u32>, Blocks)> {
    let n_samples = check_features(x.shape(), forest.n_features())?;
    let rows = x.rows()?;
    let kept = Kept::of(forest.trees().next().map_or(&[], PackedTree::n_classes));
    let n_kept = kept.n_values(forest.n_values());
    let features = used_features(forest, runtime)?;
    let row_len = features.len().saturating_pow(if of_pairs { 2 } else { 1 }).saturating_mul(n_kept);
    let mut cells = memory::zeros(RESULT, n_samples.next_multiple_of(ROWS).saturating_mul(row_len))?;
    let n_each = n_samples.div_ceil(BATCHES_PER_THREAD * runtime.n_threads());
    let len = n_each.clamp(1, MOST_ROWS).next_multiple_of(ROWS);
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
            let parts = (0..n_samples).step_by(len).zip(cells.chunks_mut(len * row_len));
            runtime.map(parts.collect(), visit)?;
        }
        lock().clear();
        for _ in trees {
            runtime.advance();
        }
    }
    let scale = 1.0 / forest.len() as f64;
    Ok((features, Blocks { cells, n_samples, row_len, n_kept, has_complement: kept == Kept::SecondShare, scale }))
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
    /// In the place of points, where factors become bounds of them.
    bounding: OnceLock<Rule>,
    /// For each multiple of [`LANES`], the rule of so many points; made when a row needs it.
    rules: Vec<OnceLock<Rule>>,
}

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

    /// The rule of so many points.
    fn rule(&self, n_points: usize) -> &Rule {
        self.rules[n_points / LANES - 1].get_or_init(|| Rule::new(&self.plan.splits, rule(n_points)))
    }

    /// Adds the contributions in this tree for a batch of rows.
    fn explain(
        &self,
        reader: &mut Reader<'_>,
        batch: Range<usize>,
        scratch: &mut Scratch,
        mut to: Contributions<'_>,
        runtime: &Runtime<'_>,
    ) -> Result<()> {
        let all = all_rows(batch.len());
        scratch.begin(&self.plan);
        for (number, row) in batch.enumerate() {
            scratch.route(&self.plan, number, reader.row(row));
        }
        for group in &self.plan.groups {
            // By the number of points that rows need, their bits: what is computed for a row depends
            // on this row alone.
            let mut alike = vec![0u64; group.n_points / LANES];
            if let [alike] = &mut alike[..] {
                *alike = all;
            } else {
                let bounding = self.bounding.get_or_init(|| Rule::new(&self.plan.splits, vec![bounding_points()]));
                let errors = errors_of(group.n_points);
                for team in Team::of(all) {
                    runtime.check_interrupt()?;
                    scratch.choose(&team);
                    let needed = scratch.needed_points(&self.plan, group, bounding, &errors, &team)?;
                    for (&row, n_points) in team.rows().iter().zip(needed) {
                        alike[n_points / LANES - 1] |= 1 << row;
                    }
                }
            }
            for (n, alike) in (1..).zip(alike) {
                for team in Team::of(alike) {
                    runtime.check_interrupt()?;
                    scratch.choose(&team);
                    scratch.visit(&self.plan, group, self.rule(n * LANES), &team, &mut to)?;
                }
            }
        }
        Ok(())
    }
}
