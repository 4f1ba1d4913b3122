//! Quantiles of the training targets in the leaves that a row reaches (Meinshausen, "Quantile
//! Regression Forests", Journal of Machine Learning Research 7, 2006), and the rank of a target among
//! them.
//!
//! The rows of the leaves are put together, each as often as it counts, over all trees. A quantile is linear
//! between two of them, as in `NumPy`. Few rows are sorted by rank. Of many rows, the weights of ranks with
//! equal high bits are added up first, and only ranks beside a quantile are sorted: a few nanoseconds for
//! each row that is met, whatever the number of training rows is.

use super::query::{QueryLeaves, RowsOfLeaves};
use super::targets::RankedTargets;
use crate::error::{Error, Result};
use crate::memory;
use crate::runtime::Runtime;

/// The name of the memory in errors.
const RESULT: &str = "quantiles";
/// Rows of a task.
const ROWS_PER_TASK: usize = 16;
/// The number of rows of leaves that are sorted at once (measured by `benches/peers/quantiles.py`, see
/// `benches/notes/uncertainty.md`).
const FEW: usize = 192;
/// Into how many intervals, as a power of two, the ranks of more rows are divided.
const INTERVAL_BITS: u32 = 10;

/// How a quantile between two targets is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interpolation {
    /// In proportion to its distance from both.
    Linear,
    /// The smaller one.
    Lower,
    /// The larger one.
    Higher,
    /// Their mean.
    Midpoint,
    /// The nearer one; if both are equally near, the one at the even place.
    Nearest,
}

/// How the rank of a target among others is counted, as in `scipy.stats.percentileofscore`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankKind {
    /// The mean of the ranks of equal ones.
    Rank,
    /// The number of targets up to this one.
    Weak,
    /// The number of targets below this one.
    Strict,
    /// The mean of `Weak` and `Strict`.
    Mean,
}

/// How rows of leaves are weighed and put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pooling {
    /// Whether rows weigh the less the more there are in their leaf.
    pub weighted_leaves: bool,
    /// Whether the leaf of each tree is asked alone, and the answers' mean is taken.
    pub leaf_by_leaf: bool,
}

/// The quantiles of each row, `(n_query, n_outputs, n_quantiles)`; NaN where no tree counts. Quantiles
/// must be in [0, 1].
pub fn leaf_quantiles(
    rows: &impl RowsOfLeaves,
    targets: RankedTargets<'_>,
    query: QueryLeaves<'_>,
    (quantiles, interpolation): (&[f64], Interpolation),
    pooling: Pooling,
    runtime: &Runtime<'_>,
) -> Result<Vec<f64>> {
    let ask = |pool: &mut Pool, output: usize, _: usize, found: &mut [f64]| {
        pool.quantiles(targets.of_output(output), quantiles, interpolation, found);
    };
    ask_all(rows, targets, query, (quantiles.len(), pooling), ask, runtime)
}

/// The rank of `y`, `(n_query, n_outputs)`, among the targets in the leaves of each row, as a share; NaN
/// where no tree counts.
pub fn leaf_ranks(
    rows: &impl RowsOfLeaves,
    targets: RankedTargets<'_>,
    query: QueryLeaves<'_>,
    (y, kind): (&[f64], RankKind),
    pooling: Pooling,
    runtime: &Runtime<'_>,
) -> Result<Vec<f64>> {
    let n_outputs = targets.n_outputs();
    if y.len() * rows.n_trees() != query.ids.len() * n_outputs {
        let (got, expected) = (format!("{} values", y.len()), "a target for each row and output".into());
        return Err(Error::ShapeMismatch { what: "y", expected, got });
    }
    let ask = |pool: &mut Pool, output: usize, row: usize, found: &mut [f64]| {
        found[0] = pool.share_below(targets.of_output(output), y[row * n_outputs + output], kind);
    };
    ask_all(rows, targets, query, (1, pooling), ask, runtime)
}

/// Calls `ask` for each row and output with the rows of its leaves.
fn ask_all(
    rows: &impl RowsOfLeaves,
    targets: RankedTargets<'_>,
    query: QueryLeaves<'_>,
    (n_answers, pooling): (usize, Pooling),
    ask: impl Fn(&mut Pool, usize, usize, &mut [f64]) + Sync,
    runtime: &Runtime<'_>,
) -> Result<Vec<f64>> {
    targets.check()?;
    let (n_trees, n_outputs) = (rows.n_trees(), targets.n_outputs());
    let n_query = query.n_rows(n_trees)?;
    let per_row = n_outputs * n_answers;
    let mut answers: Vec<f64> = memory::zeros(RESULT, n_query.saturating_mul(per_row))?;
    answers.fill(f64::NAN);
    if per_row == 0 {
        return Ok(answers);
    }
    let parts = (0..n_query).step_by(ROWS_PER_TASK).zip(answers.chunks_mut(ROWS_PER_TASK * per_row));
    runtime.map(parts.collect(), |(first, answers): (usize, &mut [f64])| {
        let mut pool = Pool::new(targets.n_samples);
        let mut of_tree = vec![0.0; n_answers];
        for (row, answers) in (first..).zip(answers.chunks_mut(per_row)) {
            runtime.check_interrupt()?;
            for (output, answers) in answers.chunks_mut(n_answers).enumerate() {
                if !pooling.leaf_by_leaf {
                    pool.fill(rows, query.leaves(row, n_trees), &targets, output, pooling.weighted_leaves)?;
                    if pool.total > 0.0 {
                        ask(&mut pool, output, row, answers);
                    }
                    continue;
                }
                let mut n_asked = 0.0;
                for leaf in query.leaves(row, n_trees) {
                    pool.fill(rows, std::iter::once(leaf), &targets, output, false)?;
                    if pool.total > 0.0 {
                        ask(&mut pool, output, row, &mut of_tree);
                        n_asked += 1.0;
                        for (mean, &new) in answers.iter_mut().zip(&of_tree) {
                            *mean = if n_asked > 1.0 { *mean + new } else { new };
                        }
                    }
                }
                for sum in answers {
                    *sum /= n_asked;
                }
            }
        }
        Ok(())
    })?;
    Ok(answers)
}

/// The rows of some leaves: their ranks in an output, and weights.
struct Pool {
    entries: Vec<(u32, f64)>,
    total: f64,
    /// How far ranks are shifted to give their interval.
    shift: u32,
    /// For each interval the weight of the ranks before it; and at the end of all ranks.
    before: Vec<f64>,
    is_near: Vec<bool>,
    near: Vec<(u32, f64)>,
}

impl Pool {
    fn new(n_samples: usize) -> Self {
        let n_bits = usize::BITS - n_samples.leading_zeros();
        Self {
            entries: Vec::new(),
            total: 0.0,
            shift: n_bits.saturating_sub(INTERVAL_BITS),
            before: Vec::new(),
            is_near: Vec::new(),
            near: Vec::new(),
        }
    }

    /// Takes the rows of these leaves.
    fn fill(
        &mut self,
        rows: &impl RowsOfLeaves,
        leaves: impl Iterator<Item = (usize, i64)>,
        targets: &RankedTargets<'_>,
        output: usize,
        weighted_leaves: bool,
    ) -> Result<()> {
        let Self { entries, total, .. } = self;
        entries.clear();
        *total = 0.0;
        let mut n_leaves = 0.0;
        for (tree, node) in leaves {
            let start = entries.len();
            let mut of_leaf = 0.0;
            rows.visit(tree, node, |(rank, weight)| {
                if weight > 0 {
                    entries.push((targets.rank(output, rank), weight as f64));
                    of_leaf += weight as f64;
                }
            })?;
            if weighted_leaves {
                entries[start..].iter_mut().for_each(|entry| entry.1 /= of_leaf);
            }
            n_leaves += f64::from(u8::from(of_leaf > 0.0));
            *total += of_leaf;
        }
        if weighted_leaves {
            // All leaves weigh the same, and together as much as their rows.
            let of_leaf = *total / n_leaves;
            for entry in entries {
                entry.1 *= of_leaf;
            }
        }
        Ok(())
    }

    /// Sets `found` to the quantiles of the targets, which are by rank.
    fn quantiles(&mut self, targets: &[f64], quantiles: &[f64], interpolation: Interpolation, found: &mut [f64]) {
        let height = (self.total - 1.0).max(0.0);
        let value = |rank: u32| targets[rank as usize];
        if self.entries.len() <= FEW {
            self.entries.sort_unstable_by_key(|entry| entry.0);
            for (found, &quantile) in found.iter_mut().zip(quantiles) {
                *found = quantile_of(&self.entries, (0.0, None), quantile * height, interpolation, value);
            }
            return;
        }
        self.add_up_intervals(targets.len());
        self.keep_near(quantiles.iter().map(|quantile| quantile * height));
        for (found, &quantile) in found.iter_mut().zip(quantiles) {
            let (before, own) = self.interval_at(quantile * height);
            let interval = |entry: &(u32, f64)| (entry.0 >> self.shift) as usize;
            let start = self.near.partition_point(|entry| interval(entry) < own);
            let end = start + self.near[start..].partition_point(|entry| interval(entry) == own);
            let last = start.checked_sub(1).map(|last| self.near[last].0);
            *found = quantile_of(&self.near[start..end], (before, last), quantile * height, interpolation, value);
        }
    }

    /// Adds up the weights of the ranks before each interval.
    fn add_up_intervals(&mut self, n_samples: usize) {
        self.before.clear();
        self.before.resize((n_samples >> self.shift) + 2, 0.0);
        for &(rank, weight) in &self.entries {
            self.before[(rank >> self.shift) as usize + 1] += weight;
        }
        let mut sum = 0.0;
        for before in &mut self.before {
            sum += *before;
            *before = sum;
        }
    }

    /// The interval in which weights come to more than 1 above a height, and their sum before it; behind all
    /// intervals, if there is none.
    fn interval_at(&self, height: f64) -> (f64, usize) {
        let own = self.before.partition_point(|&before| before <= height + 1.0) - 1;
        (self.before[own], own)
    }

    /// Keeps, sorted, the entries of the intervals at these heights, and of the last ones before them that
    /// have any.
    fn keep_near(&mut self, heights: impl Iterator<Item = f64>) {
        self.is_near.clear();
        self.is_near.resize(self.before.len(), false);
        for height in heights {
            let (weight, own) = self.interval_at(height);
            self.is_near[own] = true;
            let end = self.before[..=own].partition_point(|&before| before < weight);
            if let Some(last) = end.checked_sub(1) {
                self.is_near[last] = true;
            }
        }
        self.near.clear();
        self.near.extend(self.entries.iter().filter(|entry| self.is_near[(entry.0 >> self.shift) as usize]));
        self.near.sort_unstable_by_key(|entry| entry.0);
    }

    /// Which share of the targets, which are by rank, lies below `y`.
    fn share_below(&mut self, targets: &[f64], y: f64, kind: RankKind) -> f64 {
        let (first, end) = (targets.partition_point(|&value| value < y), targets.partition_point(|&value| value <= y));
        let (mut below, mut up_to) = (0.0, 0.0);
        for &(rank, weight) in &self.entries {
            below += if (rank as usize) < first { weight } else { 0.0 };
            up_to += if (rank as usize) < end { weight } else { 0.0 };
        }
        match kind {
            RankKind::Strict => below / self.total,
            RankKind::Weak => up_to / self.total,
            RankKind::Mean => (below + up_to) / (2.0 * self.total),
            RankKind::Rank => (below + up_to + f64::from(u8::from(up_to > below))) / (2.0 * self.total),
        }
    }
}

/// The quantile at a height between 0 and the total weight less 1, given the entries around it by rank, and
/// the weight and the rank of the entries before them. A rank of weight w counts as w equal ranks.
fn quantile_of(
    entries: &[(u32, f64)],
    (before, last): (f64, Option<u32>),
    height: f64,
    interpolation: Interpolation,
    value: impl Fn(u32) -> f64,
) -> f64 {
    // The last rank up to which the weights are at most 1 above the height, and the next one.
    let (mut weight, mut floor) = (before, last);
    let mut rest = entries.iter();
    let ceil = loop {
        let Some(&(rank, own)) = rest.next() else { break None };
        if weight + own > height + 1.0 {
            break Some(rank);
        }
        (weight, floor) = (weight + own, Some(rank));
    };
    let (floor, ceil) = match (floor, ceil) {
        (None, None) => return f64::NAN,
        (Some(only), None) | (None, Some(only)) => return value(only),
        (Some(floor), Some(ceil)) => (value(floor), value(ceil)),
    };
    let share = height - (weight - 1.0);
    if share <= 0.0 || floor == ceil {
        return floor;
    }
    if share >= 1.0 {
        return ceil;
    }
    match interpolation {
        Interpolation::Linear => floor + share * (ceil - floor),
        Interpolation::Lower => floor,
        Interpolation::Higher => ceil,
        Interpolation::Midpoint => floor / 2.0 + ceil / 2.0,
        Interpolation::Nearest => {
            let is_floor = share < 0.5 || share == 0.5 && (weight - 1.0) % 2.0 == 0.0;
            if is_floor { floor } else { ceil }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `NumPy`'s definition.
    fn naive(values: &[f64], quantile: f64, interpolation: Interpolation) -> f64 {
        let height = quantile * (values.len() - 1) as f64;
        let (floor, share) = (height.floor(), height.fract());
        let (low, high) = (values[floor as usize], values[(floor as usize + 1).min(values.len() - 1)]);
        match interpolation {
            _ if share == 0.0 || low == high => low,
            Interpolation::Linear => low + share * (high - low),
            Interpolation::Lower => low,
            Interpolation::Higher => high,
            Interpolation::Midpoint => low / 2.0 + high / 2.0,
            Interpolation::Nearest if share == 0.5 => {
                if floor % 2.0 == 0.0 {
                    low
                } else {
                    high
                }
            }
            Interpolation::Nearest => {
                if share < 0.5 {
                    low
                } else {
                    high
                }
            }
        }
    }

    proptest! {
        #[test]
        fn quantiles_are_those_of_repeated_targets(
            entries in proptest::collection::vec((0..3000u32, 1..4u32), 1..2500),
            quantile in prop_oneof![Just(0.0), Just(0.5), Just(1.0), 0.0..=1.0f64],
        ) {
            let targets: Vec<f64> = (0..3000).map(|rank| f64::from(rank / 7 * 10)).collect();
            let copies = entries.iter().flat_map(|&(rank, n)| std::iter::repeat_n(targets[rank as usize], n as usize));
            let mut copies: Vec<f64> = copies.collect();
            copies.sort_unstable_by(f64::total_cmp);
            for interpolation in [
                Interpolation::Linear, Interpolation::Lower, Interpolation::Higher, Interpolation::Midpoint,
                Interpolation::Nearest,
            ] {
                let mut pool = Pool::new(targets.len());
                pool.entries = entries.iter().map(|&(rank, n)| (rank, f64::from(n))).collect();
                pool.total = copies.len() as f64;
                let mut found = [0.0; 2];
                pool.quantiles(&targets, &[quantile, quantile], interpolation, &mut found);
                let expected = naive(&copies, quantile, interpolation);
                prop_assert!((found[0] - expected).abs() <= 1e-9 * expected.abs(), "{:?} {} {}", interpolation, found[0], expected);
                prop_assert_eq!(found[0].to_bits(), found[1].to_bits());
            }
        }
    }
}
