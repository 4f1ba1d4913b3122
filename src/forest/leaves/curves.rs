//! Curves of the time until an event, from the training rows in the leaves that a row reaches.
//!
//! In a leaf, of the weight `Y` of the rows that are still at risk at a time, `d` has an event then. The
//! cumulative hazard is the sum of `d / Y` up to a time (Nelson, 1969; Aalen, 1978), the survival function
//! the product of `1 - d / Y` (Kaplan and Meier, 1958), and the cumulative incidence of a cause the sum of
//! the survival function just before a time, times the `d / Y` of the cause (Aalen and Johansen, 1978). A
//! forest takes the mean over its trees (Ishwaran et al., "Random survival forests", Annals of Applied
//! Statistics 2, 2008; for causes "Random survival forests for competing risks", Biostatistics 15, 2014).
//!
//! Steps are added up by the distinct times of all training rows, and once at the end along the times
//! that have a step: so a curve costs the rows of the leaves, up to a logarithm.

use super::query::{QueryLeaves, RowsOfLeaves};
use crate::error::{Error, Result};
use crate::forest::idle::Idle;
use crate::memory;
use crate::runtime::Runtime;

/// The name of the memory in errors.
const RESULT: &str = "curves";
/// Rows of a task.
const ROWS_PER_TASK: usize = 16;

/// A function of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Curve {
    /// The cumulative hazard of any event.
    CumulativeHazard,
    /// The probability that no event has happened.
    Survival,
    /// The probability that the event of this code has happened, and no other one before.
    Incidence(u32),
}

/// The outcomes of the training rows, in order of time.
#[derive(Debug, Clone, Copy)]
pub struct RankedEvents<'a> {
    /// The time of each training row, ascending.
    pub times: &'a [f64],
    /// The codes of the events, 0 where a row is censored.
    pub events: &'a [u32],
}

/// The curve of each row, `(n_query, at.len())`; NaN where no tree counts. `at` are the times at which a
/// curve is asked for. O(rows of the leaves + `at`) up to logarithms for each row, and O(training rows) once.
pub fn leaf_curves(
    rows: &impl RowsOfLeaves,
    outcomes: RankedEvents<'_>,
    query: QueryLeaves<'_>,
    at: &[f64],
    curve: Curve,
    runtime: &Runtime<'_>,
) -> Result<Vec<f64>> {
    let n_trees = rows.n_trees();
    let n_query = query.n_rows(n_trees)?;
    if outcomes.times.len() != outcomes.events.len() || !outcomes.times.is_sorted() {
        let (got, expected) = (format!("{} events", outcomes.events.len()), "one for each time, ascending".into());
        return Err(Error::ShapeMismatch { what: "events", expected, got });
    }
    let grid = Grid::new(outcomes.times, at);
    let mut curves: Vec<f64> = memory::zeros(RESULT, n_query.saturating_mul(at.len()))?;
    if at.is_empty() {
        return Ok(curves);
    }
    let parts = (0..n_query).step_by(ROWS_PER_TASK).zip(curves.chunks_mut(ROWS_PER_TASK * at.len()));
    let idle = Idle::new();
    let write = |first: usize, curves: &mut [f64], steps: &mut Steps| {
        let mut of_leaf = Vec::new();
        for (row, values) in (first..).zip(curves.chunks_mut(at.len())) {
            runtime.check_interrupt()?;
            let mut n_counted = 0.0;
            for (tree, leaf) in query.leaves(row, n_trees) {
                n_counted += 1.0;
                of_leaf.clear();
                rows.visit(tree, leaf, |row| of_leaf.push(row))?;
                if !of_leaf.is_sorted_by_key(|row| row.0) {
                    of_leaf.sort_unstable_by_key(|row| row.0);
                }
                add_steps(&of_leaf, outcomes.events, &grid.time_of, curve, steps);
            }
            grid.add_up(steps, n_counted, curve, values);
        }
        Ok(())
    };
    runtime.map(parts.collect(), |(first, curves): (usize, &mut [f64])| {
        idle.with(|| Steps::new(grid.n_times), |steps| write(first, curves, steps))
    })?;
    Ok(curves)
}

/// The distinct times of the training rows, and the times at which curves are asked for.
struct Grid {
    n_times: usize,
    /// By rank, the number of the time.
    time_of: Vec<u32>,
    /// For each time that is asked for, how many distinct times are not after it.
    n_passed: Vec<usize>,
}

impl Grid {
    fn new(times: &[f64], at: &[f64]) -> Self {
        let mut distinct: Vec<f64> = Vec::new();
        let mut time_of = Vec::with_capacity(times.len());
        for &time in times {
            if distinct.last() != Some(&time) {
                distinct.push(time);
            }
            time_of.push(distinct.len() as u32 - 1);
        }
        let n_passed = at.iter().map(|&at| distinct.partition_point(|&time| time <= at)).collect();
        Self { n_times: distinct.len(), time_of, n_passed }
    }

    /// Adds steps up along the times, writes the curve of `n_trees` trees, NaN without a tree, and clears the
    /// steps.
    fn add_up(&self, steps: &mut Steps, n_trees: f64, curve: Curve, values: &mut [f64]) {
        let sums = steps.add_up();
        for (value, &n_passed) in values.iter_mut().zip(&self.n_passed) {
            let n_steps = sums.partition_point(|&(time, _)| (time as usize) < n_passed);
            let mean = n_steps.checked_sub(1).map_or(0.0, |last| sums[last].1) / n_trees;
            // Rounding may carry the sum of all steps beyond 1.
            *value = if curve == Curve::Survival { (1.0 - mean).max(0.0) } else { mean };
            if n_trees == 0.0 {
                *value = f64::NAN;
            }
        }
    }
}

/// The steps of a curve, by the number of their time.
struct Steps {
    /// For each time its step, 0 where there is none.
    of_time: Vec<f64>,
    /// The times that have a step, each at least once.
    times: Vec<u32>,
    /// The times of steps, ascending, with the sums of the steps up to them.
    sums: Vec<(u32, f64)>,
}

impl Steps {
    fn new(n_times: usize) -> Result<Self> {
        Ok(Self { of_time: memory::zeros(RESULT, n_times)?, times: Vec::new(), sums: Vec::new() })
    }

    fn add(&mut self, time: u32, step: f64) {
        let sum = &mut self.of_time[time as usize];
        if *sum == 0.0 {
            self.times.push(time);
        }
        *sum += step;
    }

    /// Adds the steps up along the times, and clears them. O(steps log steps), however many times there are.
    fn add_up(&mut self) -> &[(u32, f64)] {
        self.times.sort_unstable();
        self.times.dedup();
        self.sums.clear();
        let mut sum = 0.0;
        for time in self.times.drain(..) {
            sum += std::mem::take(&mut self.of_time[time as usize]);
            self.sums.push((time, sum));
        }
        &self.sums
    }
}

/// Adds the steps of a leaf's curve to `steps`. The rows of the leaf are in order of time.
fn add_steps(rows: &[(u32, u64)], events: &[u32], time_of: &[u32], curve: Curve, steps: &mut Steps) {
    let mut at_risk: u64 = rows.iter().map(|row| row.1).sum();
    let mut surviving = 1.0;
    for rows in rows.chunk_by(|a, b| time_of[a.0 as usize] == time_of[b.0 as usize]) {
        let weight = |counts: &dyn Fn(u32) -> bool| {
            rows.iter().filter(|row| counts(events[row.0 as usize])).map(|row| row.1).sum::<u64>() as f64
        };
        let died = weight(&|event| event != 0);
        if died > 0.0 {
            let hazard = died / at_risk as f64;
            let step = match curve {
                Curve::CumulativeHazard => hazard,
                Curve::Survival => surviving * hazard,
                Curve::Incidence(cause) => surviving * (weight(&|event| event == cause) / at_risk as f64),
            };
            steps.add(time_of[rows[0].0 as usize], step);
            surviving *= 1.0 - hazard;
        }
        at_risk -= rows.iter().map(|row| row.1).sum::<u64>();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One leaf of all rows in each tree.
    struct OneLeaf(Vec<Vec<(u32, u64)>>);

    impl RowsOfLeaves for OneLeaf {
        fn n_trees(&self) -> usize {
            self.0.len()
        }

        fn visit(&self, tree: usize, _leaf: i64, visit: impl FnMut((u32, u64))) -> Result<()> {
            self.0[tree].iter().copied().for_each(visit);
            Ok(())
        }
    }

    fn curve(rows: &OneLeaf, kind: Curve, at: &[f64]) -> Vec<f64> {
        // The times of the textbook: an event and a censoring at 3.
        let outcomes = RankedEvents { times: &[1.0, 2.0, 3.0, 3.0, 5.0, 6.0], events: &[1, 0, 2, 0, 1, 1] };
        let ids = vec![0; rows.0.len()];
        leaf_curves(rows, outcomes, QueryLeaves { ids: &ids, counts: None }, at, kind, &Runtime::unstoppable()).unwrap()
    }

    #[test]
    fn curves_are_those_of_the_textbook() {
        let rows = OneLeaf(vec![(0..6).map(|rank| (rank, 1)).collect()]);
        let at = [0.5, 1.0, 2.5, 3.0, 5.0, 7.0];
        let close = |found: Vec<f64>, expected: [f64; 6]| {
            assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-15), "{found:?}");
        };
        let hazards = [1.0 / 6.0, 1.0 / 4.0, 1.0 / 2.0, 1.0];
        let h = |n: usize| hazards[..n].iter().sum::<f64>();
        close(curve(&rows, Curve::CumulativeHazard, &at), [0.0, h(1), h(1), h(2), h(3), h(4)]);
        let s = [1.0, 5.0 / 6.0, 5.0 / 8.0, 5.0 / 16.0, 0.0];
        close(curve(&rows, Curve::Survival, &at), [1.0, s[1], s[1], s[2], s[3], 0.0]);
        let cause = 5.0 / 6.0 / 4.0;
        close(curve(&rows, Curve::Incidence(2), &at), [0.0, 0.0, 0.0, cause, cause, cause]);
    }

    #[test]
    fn weights_are_copies_and_trees_are_averaged() {
        let whole = OneLeaf(vec![vec![(5, 1), (1, 1), (1, 1), (2, 1), (2, 1), (2, 1)], vec![(0, 2), (4, 1)]]);
        let weighted = OneLeaf(vec![vec![(1, 2), (2, 3), (5, 1)], vec![(0, 1), (0, 1), (4, 1)]]);
        let at = [1.0, 3.0, 6.0];
        for kind in [Curve::CumulativeHazard, Curve::Survival, Curve::Incidence(1)] {
            assert_eq!(curve(&whole, kind, &at), curve(&weighted, kind, &at));
        }
        let hazard = curve(&whole, Curve::CumulativeHazard, &at);
        assert!((hazard[0] - 2.0 / 3.0 / 2.0).abs() < 1e-15);
        assert!((hazard[1] - f64::midpoint(2.0 / 3.0, 3.0 / 4.0)).abs() < 1e-15);
    }
}
