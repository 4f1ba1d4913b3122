//! Bounds of prediction intervals by models that have not seen a training row: CV+ (Barber, Candès,
//! Ramdas, Tibshirani, "Predictive inference with the jackknife+", Annals of Statistics 49, 2021) and
//! jackknife+ after bootstrap (Kim, Xu, Barber, "Predictive inference is free with the
//! jackknife+-after-bootstrap", 2020).
//!
//! For a query row, each training row says where the target may be: around the prediction of the models
//! that have not seen the training row, as far as its residual. The bounds are order statistics of
//! these places. With one tree in a model, the prediction is the mean of many trees, another set for each
//! training row. Such sums are taken from tables: eight trees have 256 sums, so that a training row costs
//! a look-up for eight trees.

use crate::error::{Error, Result};
use crate::memory;
use crate::runtime::Runtime;

/// The name of the memory in errors.
const WHAT: &str = "bounds of intervals";
/// Query rows of a task.
const ROWS_PER_TASK: usize = 16;
/// Trees of a table.
const TREES: usize = 8;
/// Among more places than this, a sample tells first between which values an order statistic lies (measured
/// by `benches/peers/intervals.py`, see `benches/notes/uncertainty.md`).
const FEW: usize = 2048;
/// Size of the sample, and how many of its ranks the order statistic may be away.
const SAMPLE: usize = 256;
const MARGIN: usize = 16;

/// Which models have not seen each training row.
#[derive(Debug, Clone, Copy)]
pub enum Unseen<'a> {
    /// One model: its number.
    Model(&'a [u32]),
    /// Some of the models, whose mean is the prediction: row-major `(n_training, n_models)`, 0 for a model
    /// that has seen the row.
    Models(&'a [u8]),
}

/// Which order statistics are the bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bounds {
    /// Equally many places beyond the upper bound and below the lower one, by absolute residuals.
    Symmetric,
    /// The shortest interval that leaves out equally many places, by residuals of either sign.
    Shortest,
}

/// The bounds of the intervals of query rows, `(n_query, 2, n_ranks)`: lower and upper ones.
///
/// `predictions` are row-major `(n_query, n_models)`, and residuals are targets less predictions. The
/// upper bound of a rank, counted from 0, is the prediction plus absolute residual of this rank; the lower
/// bound is the prediction less absolute residual that has the same rank from above. The shortest interval
/// of a rank begins at a place, the prediction plus residual, and ends `rank + 1` places later.
/// O(training rows * (models / 8 + ranks)) for each query row.
pub fn interval_bounds(
    (predictions, n_models): (&[f64], usize),
    unseen: Unseen<'_>,
    residuals: &[f64],
    (ranks, kind): (&[usize], Bounds),
    runtime: &Runtime<'_>,
) -> Result<Vec<f64>> {
    let n = residuals.len();
    let most = if kind == Bounds::Shortest { n.saturating_sub(1) } else { n };
    let is_sound = match unseen {
        Unseen::Model(models) => models.len() == n && models.iter().all(|&model| (model as usize) < n_models),
        Unseen::Models(flags) => {
            flags.len() == n * n_models
                && flags.chunks_exact(n_models.max(1)).all(|row| row.iter().any(|&flag| flag != 0))
        }
    };
    if !is_sound
        || n == 0
        || n_models == 0
        || predictions.len() % n_models != 0
        || ranks.iter().any(|&rank| rank >= most)
    {
        let (got, expected) = (format!("{n} residuals of {n_models} models"), "as fit has made them".into());
        return Err(Error::InvalidArgument { name: "residuals", got, expected });
    }
    let sums = match unseen {
        Unseen::Model(_) => None,
        Unseen::Models(flags) => Some(Subsets::new(flags, n_models)?),
    };
    let (n_query, per_row) = (predictions.len() / n_models, 2 * ranks.len());
    let mut bounds: Vec<f64> = memory::zeros(WHAT, n_query.saturating_mul(per_row))?;
    if per_row == 0 {
        return Ok(bounds);
    }
    let parts = predictions.chunks(ROWS_PER_TASK * n_models).zip(bounds.chunks_mut(ROWS_PER_TASK * per_row));
    runtime.map(parts.collect(), |(predictions, bounds): (&[f64], &mut [f64])| {
        let mut means: Vec<f64> = memory::zeros(WHAT, n)?;
        let mut places = means.clone();
        let mut order = OrderStatistics::default();
        for (models, bounds) in predictions.chunks_exact(n_models).zip(bounds.chunks_exact_mut(per_row)) {
            runtime.check_interrupt()?;
            match (unseen, &sums) {
                (Unseen::Model(of_row), _) => {
                    means.iter_mut().zip(of_row).for_each(|(mean, &model)| *mean = models[model as usize]);
                }
                (_, Some(sums)) => sums.write_means(models, &mut means),
                _ => unreachable!("means of several models have sums"),
            }
            let (lower, upper) = bounds.split_at_mut(ranks.len());
            let of_rows = || means.iter().copied().zip(residuals.iter().copied());
            if kind == Bounds::Shortest {
                places.iter_mut().zip(of_rows()).for_each(|(place, (mean, residual))| *place = mean + residual);
                for ((lower, upper), rank) in lower.iter_mut().zip(upper).zip(ranks) {
                    (*lower, *upper) = shortest_interval(&mut places, rank + 1);
                }
                continue;
            }
            places.iter_mut().zip(of_rows()).for_each(|(place, (mean, residual))| *place = mean - residual.abs());
            lower.iter_mut().zip(ranks).for_each(|(bound, rank)| *bound = order.find(&places, n - 1 - rank));
            places.iter_mut().zip(of_rows()).for_each(|(place, (mean, residual))| *place = mean + residual.abs());
            upper.iter_mut().zip(ranks).for_each(|(bound, &rank)| *bound = order.find(&places, rank));
        }
        Ok(())
    })?;
    Ok(bounds)
}

/// The subsets of models that have not seen a training row, eight models in a byte.
struct Subsets {
    n_tables: usize,
    /// Row-major `(n_training, n_tables)`.
    bytes: Vec<u8>,
    /// One divided by the number of models.
    share: Vec<f64>,
}

impl Subsets {
    fn new(flags: &[u8], n_models: usize) -> Result<Self> {
        let (n, n_tables) = (flags.len() / n_models, n_models.div_ceil(TREES));
        let (mut bytes, mut share) = (memory::reserve(WHAT, n * n_tables)?, memory::reserve(WHAT, n)?);
        for row in flags.chunks_exact(n_models) {
            bytes.extend(
                row.chunks(TREES)
                    .map(|trees| (0..).zip(trees).fold(0u8, |byte, (bit, &flag)| byte | u8::from(flag != 0) << bit)),
            );
            share.push(1.0 / row.iter().filter(|&&flag| flag != 0).count() as f64);
        }
        Ok(Self { n_tables, bytes, share })
    }

    /// Writes the mean of the models of each training row.
    fn write_means(&self, models: &[f64], means: &mut [f64]) {
        let tables: Vec<[f64; 1 << TREES]> = models.chunks(TREES).map(sums_of_subsets).collect();
        let rows = self.bytes.chunks_exact(self.n_tables).zip(&self.share);
        for (mean, (bytes, share)) in means.iter_mut().zip(rows) {
            *mean = tables.iter().zip(bytes).fold(0.0, |sum, (table, &byte)| sum + table[usize::from(byte)]) * share;
        }
    }
}

/// The sum of each subset of up to eight numbers, which the bits of its place name.
fn sums_of_subsets(numbers: &[f64]) -> [f64; 1 << TREES] {
    let mut sums = [0.0; 1 << TREES];
    for (bit, number) in numbers.iter().enumerate() {
        let (known, next) = sums.split_at_mut(1 << bit);
        next.iter_mut().zip(known).for_each(|(sum, &mut known)| *sum = known + number);
    }
    sums
}

/// The first of the shortest intervals that begin at a place and end `gap` places later; `gap` is less than
/// their number. Changes their order. O(n log n), where n is the number of such intervals, beyond O(places).
fn shortest_interval(places: &mut [f64], gap: usize) -> (f64, f64) {
    let n_intervals = places.len() - gap;
    if n_intervals > gap {
        places.sort_unstable_by(f64::total_cmp);
    } else {
        // No interval begins or ends at the places between.
        places.select_nth_unstable_by(gap, f64::total_cmp);
        places[gap..].sort_unstable_by(f64::total_cmp);
        places[..gap].select_nth_unstable_by(n_intervals - 1, f64::total_cmp);
        places[..n_intervals].sort_unstable_by(f64::total_cmp);
    }
    let intervals = places.iter().copied().zip(places[gap..].iter().copied());
    let width = |(lower, upper): (f64, f64)| upper - lower;
    intervals.min_by(|&a, &b| width(a).total_cmp(&width(b))).expect("there are more places than the gap")
}

/// Finds order statistics; has the buffers for it.
#[derive(Default)]
struct OrderStatistics {
    sample: Vec<f64>,
    kept: Vec<f64>,
}

impl OrderStatistics {
    /// The number of rank `rank`, counted from 0, in the order of all numbers. O(n).
    fn find(&mut self, numbers: &[f64], rank: usize) -> f64 {
        let Self { sample, kept } = self;
        kept.resize(numbers.len(), 0.0);
        if numbers.len() > FEW {
            sample.clear();
            sample.extend(numbers.iter().step_by(numbers.len() / SAMPLE));
            sample.sort_unstable_by(f64::total_cmp);
            let place = rank * sample.len() / numbers.len();
            let least = place.checked_sub(MARGIN).map_or(f64::NEG_INFINITY, |place| sample[place]);
            let most = sample.get(place + MARGIN).copied().unwrap_or(f64::INFINITY);
            let (mut n_below, mut n_kept) = (0, 0);
            for &number in numbers {
                kept[n_kept] = number;
                n_below += usize::from(number < least);
                n_kept += usize::from(number >= least && number <= most);
            }
            if (n_below..n_below + n_kept).contains(&rank) {
                return *kept[..n_kept].select_nth_unstable_by(rank - n_below, f64::total_cmp).1;
            }
        }
        kept.copy_from_slice(numbers);
        *kept.select_nth_unstable_by(rank, f64::total_cmp).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bounds_are_order_statistics_of_sorted_places(
            (n, n_models, seed) in (1..30usize, 1..20usize, any::<u64>()),
            is_long in any::<bool>(),
        ) {
            let n = if is_long { n * 211 } else { n };
            let draw = |i: usize| {
                let mixed = (seed ^ i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
                (mixed.wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 44) as f64 / 1024.0
            };
            let residuals: Vec<f64> = (0..n).map(|row| draw(row) * [-1.0, 0.5][row % 2]).collect();
            let predictions: Vec<f64> = (0..3 * n_models).map(|i| draw(n + i)).collect();
            let flags: Vec<u8> =
                (0..n * n_models).map(|i| u8::from(i % n_models == 0 || draw(2 * n + i) > 300.0)).collect();
            let of_row: Vec<u32> = (0..n).map(|i| draw(i + 7) as u32 % n_models as u32).collect();
            let ranks = [0, n / 10, n - 1];
            for unseen in [Unseen::Models(&flags), Unseen::Model(&of_row)] {
                let runtime = Runtime::unstoppable();
                let ask = |ranks: &[usize], kind| {
                    interval_bounds((&predictions, n_models), unseen, &residuals, (ranks, kind), &runtime)
                };
                prop_assert!(ask(&[n - 1], Bounds::Shortest).is_err() && ask(&[n], Bounds::Symmetric).is_err());
                let shortest = ask(&ranks.map(|rank| rank.min(n.max(2) - 2))[..if n > 1 { 3 } else { 0 }], Bounds::Shortest);
                let (found, shortest) = (ask(&ranks, Bounds::Symmetric).unwrap(), shortest.unwrap());
                for (query, found) in found.chunks(6).enumerate() {
                    let models = &predictions[query * n_models..][..n_models];
                    let mean = |row: usize| match unseen {
                        Unseen::Model(of_row) => models[of_row[row] as usize],
                        Unseen::Models(flags) => {
                            let own = &flags[row * n_models..][..n_models];
                            let sum: f64 = models.iter().zip(own).filter(|(_, flag)| **flag != 0).map(|(v, _)| v).sum();
                            sum / own.iter().filter(|flag| **flag != 0).count() as f64
                        }
                    };
                    let places = |distance: fn(f64) -> f64| {
                        let mut places: Vec<f64> = (0..n).map(|row| mean(row) + distance(residuals[row])).collect();
                        places.sort_unstable_by(f64::total_cmp);
                        places
                    };
                    let (lower, upper) = (places(|residual| -residual.abs()), places(f64::abs));
                    let both = places(|residual| residual);
                    for (i, &rank) in ranks.iter().enumerate() {
                        prop_assert!((found[i] - lower[n - 1 - rank]).abs() < 1e-9);
                        prop_assert!((found[3 + i] - upper[rank]).abs() < 1e-9);
                        if n > 1 {
                            let gap = rank.min(n - 2) + 1;
                            let least = (gap..n).map(|end| both[end] - both[end - gap]).min_by(f64::total_cmp).unwrap();
                            let (first, last) = (shortest[query * 6 + i], shortest[query * 6 + 3 + i]);
                            prop_assert!((last - first - least).abs() < 1e-9);
                            let n_inside = both.iter().filter(|&&place| (first - 1e-9..=last + 1e-9).contains(&place));
                            prop_assert!(n_inside.count() > gap);
                        }
                    }
                }
            }
        }
    }
}
