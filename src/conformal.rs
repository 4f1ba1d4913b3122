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
/// What rounding may add to a mass.
const ROUNDING: f64 = 1e-6;

/// Which models have not seen each training row.
#[derive(Debug, Clone, Copy)]
pub enum Unseen<'a> {
    /// One model: its number.
    Model(&'a [u32]),
    /// Some of the models, whose mean is the prediction: a bit for each model, row-major `(n_training,
    /// n_models.div_ceil(8))`. Eight models are in a byte, the first in the lowest bit.
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

/// The residuals of the training rows: targets less predictions.
#[derive(Debug, Clone, Copy)]
pub struct Residuals<'a> {
    /// For each training row.
    pub values: &'a [f64],
    /// How many rows each of them counts as, above 0. `None` if each counts once.
    pub copies: Option<&'a [f64]>,
}

impl Residuals<'_> {
    /// How many rows there are, each copy counted.
    fn total(&self) -> f64 {
        self.copies.map_or(self.values.len() as f64, |copies| copies.iter().sum())
    }
}

/// The bounds of the intervals of query rows, `(n_query, 2, n_masses)`: lower and upper ones.
///
/// `predictions` are row-major `(n_query, n_models)`. A mass is a number of places, above 0. The upper bound
/// of a mass is the first prediction plus absolute residual up to which there are so many places; the lower
/// bound is the prediction less absolute residual that is found alike from above. The shortest interval
/// of a mass begins at a place, the prediction plus residual, behind which there are so many places up to its
/// end. O(training rows * (models / 8 + masses)) for each query row, and a sort if copies are counted.
pub fn interval_bounds(
    (predictions, n_models): (&[f64], usize),
    unseen: Unseen<'_>,
    residuals: Residuals<'_>,
    (masses, kind): (&[f64], Bounds),
    runtime: &Runtime<'_>,
) -> Result<Vec<f64>> {
    let n = residuals.values.len();
    let models = Models::new(unseen, n, n_models)?;
    let most = residuals.total() - if kind == Bounds::Shortest { 1.0 } else { 0.0 };
    let copies_fit =
        residuals.copies.is_none_or(|copies| copies.len() == n && copies.iter().all(|&c| c > 0.0 && c.is_finite()));
    if n == 0
        || predictions.len() % n_models != 0
        || !copies_fit
        || masses.iter().any(|&mass| mass.is_nan() || mass > most + ROUNDING)
    {
        return Err(illegal(n, n_models));
    }
    let (n_query, per_row) = (predictions.len() / n_models, 2 * masses.len());
    let mut bounds: Vec<f64> = memory::zeros(WHAT, n_query.saturating_mul(per_row))?;
    if per_row == 0 {
        return Ok(bounds);
    }
    let parts = predictions.chunks(ROWS_PER_TASK * n_models).zip(bounds.chunks_mut(ROWS_PER_TASK * per_row));
    runtime.map(parts.collect(), |(predictions, bounds): (&[f64], &mut [f64])| {
        let mut means: Vec<f64> = memory::zeros(WHAT, n)?;
        let mut places = Places { values: means.clone(), ..Places::default() };
        for (of_models, bounds) in predictions.chunks_exact(n_models).zip(bounds.chunks_exact_mut(per_row)) {
            runtime.check_interrupt()?;
            models.write_means(of_models, &mut means);
            let (lower, upper) = bounds.split_at_mut(masses.len());
            match (kind, residuals.copies) {
                (Bounds::Shortest, None) => {
                    places.set(&means, residuals.values, |mean, residual| mean + residual);
                    for ((lower, upper), &mass) in lower.iter_mut().zip(upper).zip(masses) {
                        (*lower, *upper) = shortest_interval(&mut places.values, rank_of(mass) + 1);
                    }
                }
                (Bounds::Shortest, Some(copies)) => {
                    places.set(&means, residuals.values, |mean, residual| mean + residual);
                    for ((lower, upper), &mass) in lower.iter_mut().zip(upper).zip(masses) {
                        (*lower, *upper) = places.shortest_interval(copies, mass);
                    }
                }
                (Bounds::Symmetric, None) => {
                    places.set(&means, residuals.values, |mean, residual| mean - residual.abs());
                    lower.iter_mut().zip(masses).for_each(|(bound, &m)| *bound = places.find(n - 1 - rank_of(m)));
                    places.set(&means, residuals.values, |mean, residual| mean + residual.abs());
                    upper.iter_mut().zip(masses).for_each(|(bound, &m)| *bound = places.find(rank_of(m)));
                }
                (Bounds::Symmetric, Some(copies)) => {
                    // From above is from below among negative numbers.
                    places.set(&means, residuals.values, |mean, residual| residual.abs() - mean);
                    lower.iter_mut().zip(masses).for_each(|(bound, &m)| *bound = -places.find_mass(copies, m));
                    places.set(&means, residuals.values, |mean, residual| mean + residual.abs());
                    upper.iter_mut().zip(masses).for_each(|(bound, &m)| *bound = places.find_mass(copies, m));
                }
            }
        }
        Ok(())
    })?;
    Ok(bounds)
}

/// The rank, counted from 0, of the place up to which there are so many places, each of which counts once.
fn rank_of(mass: f64) -> usize {
    (mass.ceil() as usize).max(1) - 1
}

fn illegal(n: usize, n_models: usize) -> Error {
    let (got, expected) = (format!("{n} residuals of {n_models} models"), "as fit has made them".into());
    Error::InvalidArgument { name: "residuals", got, expected }
}

/// The models that have not seen a training row, ready to be asked.
enum Models<'a> {
    One(&'a [u32]),
    /// The subsets of models, eight models in a byte.
    Several {
        n_tables: usize,
        /// Row-major `(n_training, n_tables)`.
        bytes: &'a [u8],
        /// One divided by the number of models.
        share: Vec<f64>,
    },
}

impl<'a> Models<'a> {
    /// Fails unless each of `n` rows has a model, and all are below `n_models`.
    fn new(unseen: Unseen<'a>, n: usize, n_models: usize) -> Result<Self> {
        match unseen {
            Unseen::Model(models) => {
                let is_sound = models.len() == n && models.iter().all(|&model| (model as usize) < n_models);
                if is_sound { Ok(Self::One(models)) } else { Err(illegal(n, n_models)) }
            }
            Unseen::Models(bytes) => {
                let n_tables = n_models.div_ceil(TREES);
                if n_models == 0 || bytes.len() != n * n_tables {
                    return Err(illegal(n, n_models));
                }
                let last = u8::MAX >> (n_tables * TREES - n_models);
                let mut share = memory::reserve(WHAT, n)?;
                for row in bytes.chunks_exact(n_tables) {
                    let n_unseen: u32 = row.iter().map(|byte| byte.count_ones()).sum();
                    if n_unseen == 0 || row[n_tables - 1] & !last != 0 {
                        return Err(illegal(n, n_models));
                    }
                    share.push(1.0 / f64::from(n_unseen));
                }
                Ok(Self::Several { n_tables, bytes, share })
            }
        }
    }

    /// Writes the mean of the models of each training row.
    fn write_means(&self, models: &[f64], means: &mut [f64]) {
        match self {
            Self::One(of_row) => {
                means.iter_mut().zip(*of_row).for_each(|(mean, &model)| *mean = models[model as usize]);
            }
            Self::Several { n_tables, bytes, share } => {
                let tables: Vec<[f64; 1 << TREES]> = models.chunks(TREES).map(sums_of_subsets).collect();
                for (mean, (bytes, share)) in means.iter_mut().zip(bytes.chunks_exact(*n_tables).zip(share)) {
                    let sum = |sum, (table, &byte): (&[f64; 1 << TREES], &u8)| sum + table[usize::from(byte)];
                    *mean = tables.iter().zip(bytes).fold(0.0, sum) * share;
                }
            }
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
    let mut best = (places[0], places[gap]);
    for (&lower, &upper) in places.iter().zip(&places[gap..]) {
        if (upper - lower).total_cmp(&(best.1 - best.0)).is_lt() {
            best = (lower, upper);
        }
    }
    best
}

/// The places of a query row, and buffers to find order statistics of them.
#[derive(Default)]
struct Places {
    values: Vec<f64>,
    sample: Vec<f64>,
    kept: Vec<f64>,
    /// The places in order, each with the number of rows up to it.
    sums: Vec<(f64, f64)>,
    /// Whether `sums` are of these values.
    sorted: bool,
}

impl Places {
    /// Makes the places of the training rows, given their means and residuals.
    fn set(&mut self, means: &[f64], residuals: &[f64], place: impl Fn(f64, f64) -> f64) {
        let of_rows = means.iter().zip(residuals);
        self.values.iter_mut().zip(of_rows).for_each(|(own, (&mean, &residual))| *own = place(mean, residual));
        self.sorted = false;
    }

    /// Sorts the places, and adds up copies along them.
    fn add_up(&mut self, copies: &[f64]) -> &[(f64, f64)] {
        if !std::mem::replace(&mut self.sorted, true) {
            self.sums.clear();
            self.sums.extend(self.values.iter().copied().zip(copies.iter().copied()));
            self.sums.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
            let mut sum = 0.0;
            for (_, copies) in &mut self.sums {
                sum += *copies;
                *copies = sum;
            }
        }
        &self.sums
    }

    /// The first place up to which there are so many places, copies counted.
    fn find_mass(&mut self, copies: &[f64], mass: f64) -> f64 {
        let sums = self.add_up(copies);
        sums[sums.partition_point(|&(_, sum)| sum < mass).min(sums.len() - 1)].0
    }

    /// As the function of this name, copies counted.
    fn shortest_interval(&mut self, copies: &[f64], mass: f64) -> (f64, f64) {
        let sums = self.add_up(copies);
        // From the least place to the largest one there are `mass + 1` rows at least.
        let mut best = (sums[0].0, sums[sums.len() - 1].0);
        let (mut before, mut end) = (0.0, 0);
        for &(lower, sum) in sums {
            while end < sums.len() && sums[end].1 - before < mass + 1.0 {
                end += 1;
            }
            let Some(&(upper, _)) = sums.get(end) else { break };
            if upper - lower < best.1 - best.0 {
                best = (lower, upper);
            }
            before = sum;
        }
        best
    }

    /// The place of rank `rank`, counted from 0. O(n).
    fn find(&mut self, rank: usize) -> f64 {
        let Self { values: numbers, sample, kept, .. } = self;
        kept.resize(numbers.len(), 0.0);
        if numbers.len() > FEW {
            sample.clear();
            sample.extend(numbers.iter().step_by(numbers.len() / SAMPLE));
            sample.sort_unstable_by(f64::total_cmp);
            let place = rank * sample.len() / numbers.len();
            let least = place.checked_sub(MARGIN).map_or(f64::NEG_INFINITY, |place| sample[place]);
            let most = sample.get(place + MARGIN).copied().unwrap_or(f64::INFINITY);
            let (mut n_below, mut n_kept) = (0, 0);
            for &number in &*numbers {
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
            let flags: Vec<bool> =
                (0..n * n_models).map(|i| i % n_models == 0 || draw(2 * n + i) > 300.0).collect();
            let byte = |flags: &[bool]| (0..).zip(flags).fold(0, |byte, (bit, &flag)| byte | u8::from(flag) << bit);
            let bytes: Vec<u8> = flags.chunks(n_models).flat_map(|row| row.chunks(TREES).map(byte)).collect();
            let of_row: Vec<u32> = (0..n).map(|i| draw(i + 7) as u32 % n_models as u32).collect();
            let ranks = [0, n / 10, n - 1];
            for unseen in [Unseen::Models(&bytes), Unseen::Model(&of_row)] {
                let runtime = Runtime::unstoppable();
                let ask = |ranks: &[usize], kind| {
                    let masses: Vec<f64> = ranks.iter().map(|&rank| rank as f64 + 1.0).collect();
                    let residuals = Residuals { values: &residuals, copies: None };
                    interval_bounds((&predictions, n_models), unseen, residuals, (&masses, kind), &runtime)
                };
                prop_assert!(ask(&[n - 1], Bounds::Shortest).is_err() && ask(&[n], Bounds::Symmetric).is_err());
                let shortest = ask(&ranks.map(|rank| rank.min(n.max(2) - 2))[..if n > 1 { 3 } else { 0 }], Bounds::Shortest);
                let (found, shortest) = (ask(&ranks, Bounds::Symmetric).unwrap(), shortest.unwrap());
                for (query, found) in found.chunks(6).enumerate() {
                    let models = &predictions[query * n_models..][..n_models];
                    let mean = |row: usize| match unseen {
                        Unseen::Model(of_row) => models[of_row[row] as usize],
                        Unseen::Models(_) => {
                            let own = &flags[row * n_models..][..n_models];
                            let sum: f64 = models.iter().zip(own).filter(|(_, flag)| **flag).map(|(v, _)| v).sum();
                            sum / own.iter().filter(|flag| **flag).count() as f64
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

    /// Copies may also be fractions, whose sums are whole here.
    #[test]
    fn copies_are_rows() {
        let (residuals, times) = ([-3.0, 1.0, 0.5, -2.0, 1.5], [1usize, 3, 2, 1, 4]);
        let (of_row, predictions) = ([0u32, 1, 0, 1, 2], [10.0, 20.0, 15.0]);
        let repeat = |row: usize| std::iter::repeat_n(row, times[row]);
        let rows: Vec<usize> = (0..5).flat_map(repeat).collect();
        let (values, models): (Vec<f64>, Vec<u32>) = rows.iter().map(|&row| (residuals[row], of_row[row])).unzip();
        let copies = times.map(|n| n as f64);
        let (twice, models_twice) = (values.repeat(2), models.repeat(2));
        let halves = vec![0.5; twice.len()];
        let runtime = Runtime::unstoppable();
        for kind in [Bounds::Symmetric, Bounds::Shortest] {
            let masses: Vec<f64> = (1..=10).map(|mass| f64::from(mass) - 1e-9).collect();
            let ask = |values: &[f64], copies, models: &[u32]| {
                let residuals = Residuals { values, copies };
                interval_bounds((&predictions, 3), Unseen::Model(models), residuals, (&masses, kind), &runtime).unwrap()
            };
            let expected = ask(&values, None, &models);
            assert_eq!(ask(&residuals, Some(&copies), &of_row), expected);
            assert_eq!(ask(&twice, Some(&halves), &models_twice), expected);
        }
    }
}
