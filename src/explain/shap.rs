//! SHAP values of forests.

use std::ops::Range;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::blocks::{BlockShape, Blocks, CsrMatrix};
use super::kernel::{self, Contributions, EXPLANATION};
use super::one_row::RowScratch;
use super::plan::{Kept, Plan};
use super::quadrature::{LANES, Points, bounding_points, rule};
use super::steps::LeafGroup;
use super::teams;
use super::turns::{MOST_ROWS, Turns, all_rows};
use crate::data::Matrix;
use crate::data::rows::{Reader, Rows};
use crate::error::Result;
use crate::forest::Forest;
use crate::memory;
use crate::runtime::Runtime;
use crate::tree::descent::blocks::check_features;
use crate::tree::packed::PackedTree;
use crate::tuning::tuned;

tuned! {
    /// Rows are visited side by side if each has at least this many contributions (bench `sweep`).
    fn teams_from() -> usize = 16_384;
}

/// The least number of trees whose plans are held at once, if they are not kept.
const TREES_AT_ONCE: usize = 8;
/// Batches per thread, if there are enough rows.
const BATCHES_PER_THREAD: usize = 4;
/// The most bytes of the sums of a batch, for all values and all places where sums wait: a part of a
/// second-level cache.
const SUMS_BYTES: usize = 1 << 18;
/// How many sums wait for each other in a large tree.
const PLACES: usize = 12;

/// The contributions of features to predictions.
#[derive(Debug, Clone, PartialEq)]
pub struct ShapValues {
    /// The features that the trees use, ascending. The values of all other features are 0.
    pub features: Vec<u32>,
    /// Row-major `(n_samples, features.len(), n_values)`, and of pairs `(n_samples, features.len(),
    /// features.len(), n_values)`.
    pub values: Vec<f64>,
}

/// A forest that is explained, with what is kept for that.
#[derive(Clone, Copy)]
pub struct Explained<'a> {
    forest: &'a Forest,
    plans: Option<&'a Plans>,
}

impl<'a> From<&'a Forest> for Explained<'a> {
    /// Nothing is kept.
    fn from(forest: &'a Forest) -> Self {
        Self { forest, plans: None }
    }
}

/// What explanations need of a forest beside its trees, and no row changes. Made by the first explanation:
/// for one row, it takes many times as long as the rest.
#[derive(Default)]
pub struct KeptPlans(OnceLock<Plans>);

impl KeptPlans {
    /// The forest whose plans these are, which are made and kept unless there is little memory.
    pub fn explained<'a>(&'a self, forest: &'a Forest, runtime: &Runtime<'_>) -> Result<Explained<'a>> {
        let n_bytes = || {
            let kept = Kept::of(forest.trees().next().map_or(&[], PackedTree::n_classes));
            let n_splits: usize = forest.trees().map(|tree| tree.node_count() / 2).sum();
            n_splits.saturating_mul(Plan::bytes_per_split(kept.n_values(forest.n_values())))
        };
        if self.0.get().is_none() && memory::is_to_spare(n_bytes()) {
            let plans = Plans::new(forest, runtime)?;
            self.0.get_or_init(|| plans);
        }
        Ok(Explained { forest, plans: self.0.get() })
    }
}

/// The plans of the trees of a forest.
struct Plans {
    /// The features that the trees use, ascending.
    features: Vec<u32>,
    of_trees: Vec<Prepared>,
}

impl Plans {
    fn new(forest: &Forest, runtime: &Runtime<'_>) -> Result<Self> {
        let features = used_features(forest, runtime)?;
        let of_trees = runtime.map(forest.trees().collect(), |tree| Prepared::new(tree, &features, runtime))?;
        Ok(Self { features, of_trees })
    }
}

/// The prediction if nothing is known of a row: the mean over the trees of the means of their
/// leaves by training weight. Shape `(n_values,)`.
pub fn expected_value<'a>(forest: impl Into<Explained<'a>>, runtime: &Runtime<'_>) -> Result<Vec<f64>> {
    let Explained { forest, plans } = forest.into();
    let mut sums = vec![0.0; forest.n_values()];
    let mut add = |expected: &[f64]| sums.iter_mut().zip(expected).for_each(|(sum, value)| *sum += value);
    if let Some(plans) = plans {
        plans.of_trees.iter().for_each(|tree| add(&tree.plan.expected));
    } else {
        let of_tree = |tree: &PackedTree| Ok(plan(tree, runtime)?.expected);
        runtime.map(forest.trees().collect(), of_tree)?.iter().for_each(|expected| add(expected));
    }
    Ok(sums.into_iter().map(|sum| sum / forest.len() as f64).collect())
}

/// The contributions of the features to the prediction for each row: path-dependent SHAP values.
/// With the [expected value](expected_value) they add up to the prediction. The runtime counts
/// trees.
pub fn shap_values<'a>(forest: impl Into<Explained<'a>>, x: &dyn Matrix, runtime: &Runtime<'_>) -> Result<ShapValues> {
    shap_values_by(forest, x, None, runtime)
}

/// The items that a thread works on side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SideBySide {
    /// Eight points of the quadrature.
    Points,
    /// Eight rows.
    Rows,
}

/// [`shap_values`] by one of two ways; `None` chooses by the forest alone.
pub fn shap_values_by<'a>(
    forest: impl Into<Explained<'a>>,
    x: &dyn Matrix,
    of_what: Option<SideBySide>,
    runtime: &Runtime<'_>,
) -> Result<ShapValues> {
    let (features, blocks) = explain(forest.into(), x, false, of_what, runtime)?;
    Ok(ShapValues { features, values: blocks.into_rows(runtime)? })
}

/// The [`shap_values`] of each value: a matrix of shape `(n_samples, n_features)` without zeros.
pub fn sparse_shap_values<'a>(
    forest: impl Into<Explained<'a>>,
    x: &dyn Matrix,
    runtime: &Runtime<'_>,
) -> Result<Vec<CsrMatrix>> {
    let (features, blocks) = explain(forest.into(), x, false, None, runtime)?;
    blocks.into_matrices(&features, runtime)
}

/// The contributions of pairs of features: path-dependent SHAP interaction values. A pair has half of its
/// interaction at each of its two places. A feature with itself has its SHAP value less its halves of all
/// pairs. The runtime counts trees.
pub fn shap_interactions<'a>(
    forest: impl Into<Explained<'a>>,
    x: &dyn Matrix,
    runtime: &Runtime<'_>,
) -> Result<ShapValues> {
    let explained = forest.into();
    let (features, blocks) = explain(explained, x, true, None, runtime)?;
    let mut values = blocks.into_rows(runtime)?;
    let (n, n_values) = (features.len(), explained.forest.n_values());
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

fn explain(
    Explained { forest, plans: kept_plans }: Explained<'_>,
    x: &dyn Matrix,
    of_pairs: bool,
    of_what: Option<SideBySide>,
    runtime: &Runtime<'_>,
) -> Result<(Vec<u32>, Blocks)> {
    let n_samples = check_features(x.shape(), forest.n_features())?;
    let rows = x.rows()?;
    let kept = Kept::of(forest.trees().next().map_or(&[], PackedTree::n_classes));
    let n_kept = kept.n_values(forest.n_values());
    let features = match kept_plans {
        Some(plans) => plans.features.clone(),
        None => used_features(forest, runtime)?,
    };
    let row_len = features.len().saturating_pow(if of_pairs { 2 } else { 1 }).saturating_mul(n_kept);
    let are_teams = !of_pairs && of_what.map_or(row_len >= teams_from(), |what| what == SideBySide::Rows);
    // Each thread takes rows, or, if there are few, trees. The sums of a tree are added by themselves then.
    let sums_by_tree = !of_pairs && !are_teams;
    let shape = block_shape(rows, n_kept, (are_teams, sums_by_tree), runtime.n_threads());
    let finish = (kept == Kept::SecondShare, 1.0 / forest.len() as f64);
    let mut blocks = Blocks::zeros((n_samples, row_len), shape, n_kept, finish)?;
    let len = shape.n_rows;
    if row_len > 0 {
        // A new page that is written at once costs one fault of the system. A page that is read first costs
        // two, and the second fault stops the other threads.
        let block_len = blocks.block_len();
        runtime.map(blocks.cells.chunks_mut(block_len).collect(), |all: &mut [f64]| {
            runtime.check_interrupt()?;
            all.fill(0.0);
            Ok(())
        })?;
    }
    let idle = Mutex::new(Vec::new());
    let lock = || idle.lock().unwrap_or_else(PoisonError::into_inner);
    let visit = |(plan, tree): (&Prepared, &PackedTree), start: usize, all: &mut [f64]| -> Result<()> {
        runtime.check_interrupt()?;
        let worker = lock().pop();
        let (mut reader, mut scratch) = match worker {
            Some(worker) => worker,
            None => (Reader::new(rows, len, tree.max_depth())?, VisitScratch { are_teams, ..VisitScratch::default() }),
        };
        let block = start..(start + len).min(n_samples);
        reader.load(block.clone());
        let (numbers, n_features) = (&plan.numbers, features.len());
        let to = Contributions { all, n_rows: shape.room, numbers, of_pairs, n_features };
        plan.explain(tree, (&mut reader, block), &mut scratch, to, runtime)?;
        lock().push((reader, scratch));
        Ok(())
    };
    let cells = n_kept * shape.room;
    let sum_up = |of: (&Prepared, &PackedTree), start: usize| {
        let mut sums = memory::zeros(EXPLANATION, of.0.numbers.len() * cells)?;
        visit(of, start, &mut sums)?;
        Ok(sums)
    };
    let n_threads = runtime.n_threads();
    let are_few = n_samples.div_ceil(len) < BATCHES_PER_THREAD * n_threads;
    let trees: Vec<&PackedTree> = forest.trees().collect();
    let at_once = TREES_AT_ONCE.max(n_threads);
    for (number, trees) in trees.chunks(at_once).enumerate() {
        let made;
        let plans = if let Some(plans) = kept_plans {
            &plans.of_trees[number * at_once..]
        } else {
            made = runtime.map(trees.to_vec(), |tree| Prepared::new(tree, &features, runtime))?;
            &made
        };
        let planned = || plans.iter().zip(trees.iter().copied());
        let block_len = blocks.block_len().max(1);
        let blocks = (0..n_samples).step_by(len).zip(blocks.cells.chunks_mut(block_len));
        let mut blocks: Vec<(usize, &mut [f64])> = if row_len > 0 { blocks.collect() } else { Vec::new() };
        if sums_by_tree && are_few {
            for (start, all) in &mut blocks {
                let sums = runtime.map(planned().collect(), |of| sum_up(of, *start))?;
                planned().zip(&sums).for_each(|((plan, _), sums)| plan.add(sums, all, cells));
            }
            for _ in trees {
                runtime.advance();
            }
        } else {
            // Tree by tree, so that the plan of one stays in a cache while all rows are visited.
            for of in planned() {
                runtime.map(blocks.iter_mut().collect(), |(start, all)| {
                    if !sums_by_tree {
                        return visit(of, *start, all);
                    }
                    of.0.add(&sum_up(of, *start)?, all, cells);
                    Ok(())
                })?;
                runtime.advance();
            }
        }
    }
    Ok((features, blocks))
}

/// How many rows are worked on together.
fn block_shape(
    rows: &dyn Rows,
    n_kept: usize,
    (are_teams, sums_by_tree): (bool, bool),
    n_threads: usize,
) -> BlockShape {
    let n_samples = rows.shape().0;
    if are_teams {
        let n_rows = Reader::block_len(rows, n_samples.div_ceil(n_threads).clamp(1, teams::ROWS)).max(1);
        return BlockShape { n_rows, room: teams::ROWS };
    }
    // Where threads can take trees, a few rows need not be shared out.
    let n_batches = if sums_by_tree { n_samples } else { n_samples.div_ceil(BATCHES_PER_THREAD * n_threads) };
    let fitting = SUMS_BYTES / (PLACES * LANES * size_of::<f64>() * n_kept);
    let n_rows = Reader::block_len(rows, n_batches.clamp(1, MOST_ROWS).min(fitting.max(1))).max(1);
    BlockShape { n_rows, room: n_rows }
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
    Plan::new(&tree.unpack()?, Kept::of(tree.n_classes()), runtime)
}

/// The plan of a tree of a forest.
struct Prepared {
    plan: Plan,
    /// By feature of the tree: its number among the features of the forest.
    numbers: Vec<usize>,
    /// For each multiple of [`LANES`]: the rule of that number of points, eight at a time; made when a row
    /// needs it.
    rules: Vec<OnceLock<Vec<Points>>>,
}

/// The buffers of a thread that visits trees.
#[derive(Default)]
struct VisitScratch {
    turns: Turns,
    /// Whether rows are visited side by side; points otherwise.
    are_teams: bool,
    teams: teams::TeamScratch,
    points: kernel::KernelScratch,
    one_row: RowScratch,
}

impl VisitScratch {
    /// The numbers of points that rows need for the leaves of a group.
    fn needed_points(&mut self, of: (&Plan, &LeafGroup), runtime: &Runtime<'_>) -> Result<Vec<usize>> {
        let points = &bounding_points();
        if self.are_teams {
            return self.teams.needed_points(of, points, &self.turns, runtime);
        }
        self.points.needed_points(of, points, &self.turns, runtime)
    }

    /// Adds the contributions in the leaves of a group for the rows whose bits are set.
    fn visit(
        &mut self,
        of: (&Plan, &LeafGroup),
        rule: &[Points],
        rows: u64,
        to: &mut Contributions<'_>,
        runtime: &Runtime<'_>,
    ) -> Result<()> {
        if self.are_teams {
            return self.teams.visit(of, rule, &self.turns, rows, to, runtime);
        }
        if self.turns.n_rows == 1 && of.0.n_values == 1 && !to.of_pairs {
            return rule.iter().try_for_each(|points| self.one_row.visit(of, points, &self.turns, to, runtime));
        }
        rule.iter().try_for_each(|points| self.points.visit(of, points, &self.turns, rows, to, runtime))
    }
}

impl Prepared {
    fn new(tree: &PackedTree, features: &[u32], runtime: &Runtime<'_>) -> Result<Self> {
        let plan = plan(tree, runtime)?;
        let number = |feature: &u32| features.binary_search(feature).unwrap_or(0);
        let most = plan.groups.iter().map(|group| group.n_points).max().unwrap_or(0);
        let numbers = plan.features.iter().map(number).collect();
        Ok(Self { numbers, rules: (0..most / LANES).map(|_| OnceLock::new()).collect(), plan })
    }

    /// Adds contributions by the tree's features to those by the forest's; each feature has so many cells.
    fn add(&self, sums: &[f64], all: &mut [f64], n_cells: usize) {
        for (&number, sums) in self.numbers.iter().zip(sums.chunks_exact(n_cells)) {
            all[number * n_cells..][..n_cells].iter_mut().zip(sums).for_each(|(all, sum)| *all += sum);
        }
    }

    /// Adds the contributions in this tree for a block of rows.
    fn explain(
        &self,
        tree: &PackedTree,
        (reader, block): (&mut Reader<'_>, Range<usize>),
        scratch: &mut VisitScratch,
        mut to: Contributions<'_>,
        runtime: &Runtime<'_>,
    ) -> Result<()> {
        let n_rows = block.len();
        scratch.turns.take((&self.plan, tree), block, reader, runtime)?;
        for group in &self.plan.groups {
            let of = (&self.plan, group);
            let needed =
                if group.n_points == LANES { vec![LANES; n_rows] } else { scratch.needed_points(of, runtime)? };
            // The result for a row depends on this row alone.
            let mut rest = all_rows(n_rows);
            while rest != 0 {
                let n_points = needed[rest.trailing_zeros() as usize];
                let alike = (0..n_rows).filter(|&row| needed[row] == n_points).fold(0, |bits, row| bits | 1 << row);
                let points = self.rules[n_points / LANES - 1].get_or_init(|| rule(n_points));
                scratch.visit(of, points, alike, &mut to, runtime)?;
                rest &= !alike;
            }
        }
        Ok(())
    }
}
