//! The order of many categories, once per tree, by rows that the tree is not grown on.
//!
//! A node that orders categories by its own rows and then cuts the order by the same rows finds differences
//! between categories where there are none; more of them with more categories, and with fewer rows of each.
//! So a forest that leaves rows out of the sample of a tree orders the categories by these rows, out of bag,
//! and the tree is grown as though places in the order were numbers. A tree that is grown on all rows does so
//! by half of them (`halves`). Ordering once per tree is the method of Wright & Koenig, "Splitting on
//! categorical predictors in random forests", 2019 (theirs orders by all rows). Several classes are ordered
//! along the first principal component of their shares, as in Coppersmith, Hong & Hosking, "Partitioning
//! nominal attributes in decision trees", Data Mining and Knowledge Discovery 3, 1999.
//!
//! Means of few rows are drawn towards the mean of all ([`ROWS_OF_ALL`]). An order that says nothing of the
//! other rows ([`LEAST_ERRORS`], [`LEAST_CONFIRMED`]) comes from noise, or from categories that matter
//! together with other features alone. Up to [`MANY_CATEGORIES`] are cut in it as in any other order; a
//! column of more does not vary in this tree.
//!
//! All sums are added up in the order of the rows, and ties are broken by the identities of the
//! categories (`data::identity`). So an order depends neither on codes nor on how columns are stored.

use std::borrow::Cow;
use std::cell::LazyCell;
use std::sync::OnceLock;

use super::copies::RowCopies;
use super::correlation::{Correlation, Mass, Totals};
use super::halves::{Equals, KnownRows};
use crate::data::target::TargetValues;
use crate::data::{Dataset, Places, Target};
use crate::error::Result;
use crate::params::MANY_CATEGORIES;
use crate::runtime::Runtime;

/// The number of rows at the mean of all rows that each category is taken to have besides its own
/// (benches/papers/categories.py).
const ROWS_OF_ALL: f64 = 10.0;
/// How many standard errors the correlation of places and targets of the other rows must be above 0
/// (as above).
const LEAST_ERRORS: f64 = 2.0;
/// By half of its rows, a tree is grown on the rows that order categories too. There the correlation of
/// the other half must be at least this share of theirs: if it is less, splits on the feature would
/// follow chance more than the feature (as above).
const LEAST_CONFIRMED: f64 = 0.5;
/// Coordinates are compared in units of the largest one divided by this: rounding does not
/// decide on ties.
const TIE: f64 = (1u64 << 40) as f64;
/// The number of steps of the power iteration towards the first principal component.
const N_STEPS: usize = 16;

/// The rows of a tree.
pub(super) struct TreeRows<'a> {
    /// The number of each row of the target in the data set; `None` if that is its own number.
    pub numbers: Option<&'a [u32]>,
    /// The target, with the weights of the rows whatever the tree.
    pub target: &'a Target,
    /// Which rows put categories in order.
    pub sample: Sample<'a>,
}

/// How rows are divided into two sides: one side puts categories in order, the other one tells whether the
/// order is of use.
#[derive(Clone, Copy)]
pub(super) enum Sample<'a> {
    /// For each row, how often it is in the bag. The rows that are not in it put categories in order.
    Bag(&'a [u32]),
    /// For each row, its copies in the bag. The other copies put categories in order.
    Copies(&'a [RowCopies]),
    /// The tree has all rows. For each row, how many of its equals are in the half that does not put
    /// categories in order.
    Halves(&'a KnownRows, &'a [u32]),
}

/// The sides of [`Sample`].
const ORDERS: usize = 0;
const CHECKS: usize = 1;

impl TreeRows<'_> {
    /// Calls `visit` with the sides on which a row of positive weight is, or rows that equal it.
    #[inline]
    fn visit_sides(&self, row: usize, mut visit: impl FnMut(usize, Mass)) {
        match self.sample {
            Sample::Bag(counts) => {
                let weight = self.target.weights().get(row) as f64;
                if weight > 0.0 {
                    visit(usize::from(counts[row] > 0), Mass { weight, squares: weight * weight });
                }
            }
            Sample::Copies(copies) => {
                let RowCopies { n, n_drawn } = copies[row];
                let weight = self.target.weights().get(row) as f64;
                for (side, n_of_side) in [(ORDERS, n - n_drawn), (CHECKS, n_drawn)] {
                    if n_of_side > 0.0 {
                        let weight = weight * n_of_side / n;
                        visit(side, Mass { weight, squares: weight * weight / n_of_side });
                    }
                }
            }
            Sample::Halves(known, checking) => {
                let Equals { n_rows, weight } = known.of(row);
                for (side, n) in [(ORDERS, n_rows - checking[row]), (CHECKS, checking[row])] {
                    if n > 0 {
                        let weight = weight * f64::from(n) / f64::from(n_rows);
                        visit(side, Mass { weight, squares: weight * weight / f64::from(n) });
                    }
                }
            }
        }
    }

    /// The weight of a row, or of all rows that equal it, on both sides.
    #[inline]
    fn weight(&self, row: usize) -> f64 {
        match self.sample {
            Sample::Bag(_) | Sample::Copies(_) => self.target.weights().get(row) as f64,
            Sample::Halves(known, _) => known.of(row).weight,
        }
    }

    /// Calls `visit` with some of the rows and their ranks of a feature.
    fn visit_ranks(
        &self,
        data: &Dataset,
        feature: u32,
        rows: impl Iterator<Item = u32>,
        visit: impl FnMut(usize, u32),
    ) {
        data.visit_ranks_of(feature, self.numbers, rows, visit);
    }
}

/// Returns the data set with places for the categories of each feature that has more than `most` of
/// them among these rows. More than [`MANY_CATEGORIES`] are not told apart by an order of no use.
/// `known` must be of these rows. O(rows) for each feature with that many ranks.
pub(super) fn with_orders<'d>(
    data: &'d Dataset,
    rows: &TreeRows<'_>,
    known: &KnownCategories,
    most: usize,
    runtime: &Runtime<'_>,
) -> Result<Cow<'d, Dataset>> {
    let all = known.of_features.get_or_init(|| {
        // If the call is interrupted, some features are left out, and the call ends below.
        let features = data.features_with_more(most).take_while(|_| runtime.check_interrupt().is_ok());
        let all = features.map(|feature| Categories::new(data, feature));
        all.filter(|categories| categories.ranks.len() > most).collect()
    });
    runtime.check_interrupt()?;
    if all.is_empty() {
        return Ok(Cow::Borrowed(data));
    }
    let numbers = TargetVectors::new(rows, known);
    let sides = LazyCell::new(|| SideRows::new(rows));
    let numbered = (numbers.n == 1).then(|| NumberedRows::new(rows, &numbers));
    let mut places = Vec::new();
    for categories in all {
        runtime.check_interrupt()?;
        let feature = categories.feature;
        let TreeOrder { categories: order, is_of_use } =
            order_of(data, rows, categories, &sides, numbered.as_ref(), &numbers);
        let of_ranks = (is_of_use || order.len() <= MANY_CATEGORIES).then(|| {
            let mut places = vec![u32::MAX; data.n_ranks(feature)];
            for (place, &category) in (0..).zip(&order) {
                places[categories.ranks[category as usize] as usize] = place;
            }
            // Ranks that these rows do not have come last.
            let absent = places.iter_mut().filter(|place| **place == u32::MAX);
            absent.zip(order.len() as u32..).for_each(|(place, last)| *place = last);
            places.into()
        });
        places.push(Places { feature, of_ranks });
    }
    data.with_places(&places, runtime).map(Cow::Owned)
}

/// Facts about the categories and targets of rows that all trees on these rows share. Made by the first tree.
#[derive(Default)]
pub(super) struct KnownCategories {
    of_features: OnceLock<Vec<Categories>>,
    /// See [`TargetVectors::scales`].
    scales: OnceLock<Vec<Scale>>,
}

/// The rows of positive weight on either side.
struct SideRows {
    orders: Vec<u32>,
    checks: Vec<u32>,
}

impl SideRows {
    fn new(rows: &TreeRows<'_>) -> Self {
        let n_rows = rows.target.n_samples();
        let mut lists = [(); 2].map(|()| vec![0; n_rows]);
        let mut n = [0; 2];
        for row in 0..n_rows {
            let mut is_on = [false; 2];
            rows.visit_sides(row, |side, mass| is_on[side] = mass.weight > 0.0);
            // The row is written behind both lists: a branch on the side would be mispredicted.
            for side in [ORDERS, CHECKS] {
                lists[side][n[side]] = row as u32;
                n[side] += usize::from(is_on[side]);
            }
        }
        let [orders, checks] = lists;
        let first = |mut list: Vec<u32>, n| {
            list.truncate(n);
            list
        };
        Self { orders: first(orders, n[ORDERS]), checks: first(checks, n[CHECKS]) }
    }
}

/// The categories of a feature that some rows of positive weight have, in the order of their identities.
struct Categories {
    feature: u32,
    /// The rank of each category.
    ranks: Vec<u32>,
    /// The category of each rank; not used for ranks that the rows do not have.
    of_ranks: Vec<u32>,
}

impl Categories {
    fn new(data: &Dataset, feature: u32) -> Self {
        let ranks = data.ranks_by_identity(feature);
        let mut of_ranks = vec![u32::MAX; data.n_ranks(feature)];
        (0..).zip(&ranks).for_each(|(category, &rank)| of_ranks[rank as usize] = category);
        Self { feature, ranks, of_ranks }
    }
}

/// Targets as vectors: a number for each output, on a scale of its own, or 0 and 1 for each class,
/// or for the second of two. Times until events are martingale residuals.
struct TargetVectors<'a> {
    target: &'a Target,
    n: usize,
    /// By output; empty for classes.
    scales: &'a [Scale],
}

/// The scale of an output of numbers: their mean, and the inverse of their standard deviation.
#[derive(Clone, Copy)]
struct Scale {
    mean: f64,
    factor: f64,
}

impl<'a> TargetVectors<'a> {
    fn new(rows: &TreeRows<'a>, known: &'a KnownCategories) -> Self {
        let target = rows.target;
        let n = target.n_outputs();
        let numbers: &dyn Fn(usize) -> f64 = match target.values() {
            TargetValues::Numbers(numbers) => &|at| numbers.raw[at],
            TargetValues::Survival(survival) => &|row| survival.residual(row),
            TargetValues::Classes(classes) => {
                let n_classes = classes.first.last().map_or(0, |&n| n as usize);
                let n = if n_classes == 2 && target.n_outputs() == 1 { 1 } else { n_classes };
                return Self { target, n, scales: &[] };
            }
            TargetValues::Absent => return Self { target, n: 0, scales: &[] },
        };
        let scale = |output: usize| {
            let all_rows = || 0..target.n_samples();
            let total: f64 = all_rows().map(|row| rows.weight(row)).sum();
            let mean_of = |number: &dyn Fn(f64) -> f64| {
                all_rows().map(|row| rows.weight(row) * number(numbers(row * n + output))).sum::<f64>() / total
            };
            let mean = mean_of(&|value| value);
            let squares = mean_of(&|value| (value - mean).powi(2));
            Scale { mean, factor: if squares > 0.0 { 1.0 / squares.sqrt() } else { 0.0 } }
        };
        Self { target, n, scales: known.scales.get_or_init(|| (0..n).map(scale).collect()) }
    }

    /// Calls `visit` with each number of a row that is not 0.
    #[inline]
    fn visit(&self, row: usize, mut visit: impl FnMut(usize, f64)) {
        let n_outputs = self.target.n_outputs();
        match self.target.values() {
            // The slot of the second class is 1.
            TargetValues::Classes(classes) if self.n == 1 => visit(0, f64::from(classes.slots[row])),
            TargetValues::Classes(classes) => {
                classes.slots[row * n_outputs..][..n_outputs].iter().for_each(|&slot| visit(slot as usize, 1.0));
            }
            TargetValues::Numbers(numbers) => {
                let raw = &numbers.raw[row * n_outputs..][..n_outputs];
                for (at, (value, Scale { mean, factor })) in raw.iter().zip(self.scales).enumerate() {
                    visit(at, (value - mean) * factor);
                }
            }
            TargetValues::Survival(survival) => {
                let Scale { mean, factor } = self.scales[0];
                visit(0, (survival.residual(row) - mean) * factor);
            }
            TargetValues::Absent => {}
        }
    }
}

/// The rows on either side, where targets are single numbers, in the form that all features need.
struct NumberedRows {
    /// A row is here twice if rows that equal it are on both sides.
    rows: Vec<u32>,
    of_rows: Vec<NumberedRow>,
    /// The sums over the rows of each side.
    totals: [Totals; 2],
}

struct NumberedRow {
    /// The side on which the row is.
    side: usize,
    /// The sums of this row alone.
    sums: RowSums,
}

/// Sums over rows: of weights, of weighted numbers, and of squared weights. The last number is padding,
/// so that adding a row takes two additions of vector registers.
type RowSums = [f64; 4];

impl NumberedRows {
    fn new(rows: &TreeRows<'_>, numbers: &TargetVectors<'_>) -> Self {
        let n_rows = rows.target.n_samples();
        let mut numbered =
            Self { rows: Vec::with_capacity(n_rows), of_rows: Vec::with_capacity(n_rows), totals: Default::default() };
        for row in 0..n_rows {
            let mut number = 0.0;
            numbers.visit(row, |_, value| number = value);
            rows.visit_sides(row, |side, mass| {
                numbered.rows.push(row as u32);
                let sums = [mass.weight, mass.weight * number, mass.squares, 0.0];
                numbered.of_rows.push(NumberedRow { side, sums });
                numbered.totals[side].add(number, mass);
            });
        }
        numbered
    }
}

/// An order of categories.
struct TreeOrder {
    categories: Vec<u32>,
    /// Whether it says anything of the rows of the other side.
    is_of_use: bool,
}

/// The order of the categories by the rows of one side.
fn order_of(
    data: &Dataset,
    rows: &TreeRows<'_>,
    categories: &Categories,
    sides: &LazyCell<SideRows, impl FnOnce() -> SideRows>,
    numbered: Option<&NumberedRows>,
    numbers: &TargetVectors<'_>,
) -> TreeOrder {
    let (n, n_categories) = (numbers.n, categories.ranks.len());
    let category = |rank: u32| categories.of_ranks[rank as usize] as usize;
    // Sums over the rows that put categories in order: of weights, their squares and the numbers of
    // each category.
    let mut means = vec![0.0; n_categories * n];
    let (mut weight_sums, mut square_sums) = (vec![0.0; n_categories], vec![0.0; n_categories]);
    let mut sums = [ORDERS, CHECKS].map(|_| Correlation::new(n_categories));
    if let Some(numbered) = numbered {
        // The axis is known, so all rows can be looked at in one pass, where the rows that put categories in
        // order have sums of their own: a branch on the side would be mispredicted.
        let mut of_categories = vec![[RowSums::default(); 2]; n_categories];
        let mut of_rows = numbered.of_rows.iter();
        rows.visit_ranks(data, categories.feature, numbered.rows.iter().copied(), |_, rank| {
            let Some(NumberedRow { side, sums }) = of_rows.next() else { return };
            let of_category = &mut of_categories[category(rank)][*side];
            of_category.iter_mut().zip(sums).for_each(|(sum, of_row)| *sum += of_row);
        });
        for (side, (sums, totals)) in sums.iter_mut().zip(numbered.totals).enumerate() {
            let part = |part: usize| of_categories.iter().map(move |sums| sums[side][part]);
            *sums = Correlation { weights: part(0).collect(), sums: part(1).collect(), totals };
        }
        square_sums = of_categories.iter().map(|sums| sums[ORDERS][2]).collect();
        (weight_sums, means) = (sums[ORDERS].weights.clone(), sums[ORDERS].sums.clone());
    } else {
        rows.visit_ranks(data, categories.feature, sides.orders.iter().copied(), |row, rank| {
            let category = category(rank);
            rows.visit_sides(row, |side, Mass { weight, squares }| {
                if side == ORDERS {
                    weight_sums[category] += weight;
                    square_sums[category] += squares;
                    let sums = &mut means[category * n..][..n];
                    numbers.visit(row, |at, number| sums[at] += weight * number);
                }
            });
        });
    }
    let total: f64 = weight_sums.iter().sum();
    let mut mean_of_all = vec![0.0; n];
    // Without a row that puts categories in order all sums are 0.
    for sums in means.chunks_exact(n).filter(|_| total > 0.0) {
        mean_of_all.iter_mut().zip(sums).for_each(|(mean, sum)| *mean += sum / total);
    }
    for ((sums, &weight), &squares) in means.chunks_exact_mut(n).zip(&weight_sums).zip(&square_sums) {
        // This many rows of equal weight say as much as these rows.
        let n_rows = if squares > 0.0 { weight * weight / squares } else { 0.0 };
        let share = n_rows / (n_rows + ROWS_OF_ALL);
        for (sum, mean) in sums.iter_mut().zip(&mean_of_all) {
            *sum = if share > 0.0 { (*sum / weight - mean) * share } else { 0.0 };
        }
    }
    let axis = first_axis(&means, &weight_sums, n);
    let coordinate = |mean: &[f64]| mean.iter().zip(&axis).map(|(mean, part)| mean * part).sum::<f64>();
    let coordinates: Vec<f64> = means.chunks_exact(n).map(coordinate).collect();
    if n > 1 {
        let of_halves = matches!(rows.sample, Sample::Halves(..));
        for (side, list) in [(ORDERS, &sides.orders), (CHECKS, &sides.checks)] {
            if side == ORDERS && !of_halves {
                continue;
            }
            rows.visit_ranks(data, categories.feature, list.iter().copied(), |row, rank| {
                let mut number = 0.0;
                numbers.visit(row, |at, value| number += axis[at] * value);
                rows.visit_sides(row, |other, mass| {
                    if other == side {
                        sums[side].add(category(rank), number, mass.weight);
                        sums[side].totals.add(number, mass);
                    }
                });
            });
        }
    }
    let mut order: Vec<u32> = (0..n_categories as u32).collect();
    let largest = coordinates.iter().fold(0.0, |largest: f64, coordinate| largest.max(coordinate.abs()));
    let scale = if largest > 0.0 { TIE / largest } else { 0.0 };
    order.sort_by_cached_key(|&category| (coordinates[category as usize] * scale).round() as i64);
    let is_confirmed = match rows.sample {
        Sample::Bag(_) | Sample::Copies(_) => true,
        Sample::Halves(..) => {
            let [own, other] = sums.each_ref().map(|sums| sums.coefficient(&coordinates));
            other >= LEAST_CONFIRMED * own
        }
    };
    TreeOrder { categories: order, is_of_use: is_confirmed && sums[CHECKS].n_errors(&coordinates) >= LEAST_ERRORS }
}

/// The axis along which weighted rows of `n` numbers, centred, vary most. By power iteration from a
/// fixed start: the bits are always the same. O(numbers) per step.
fn first_axis(rows: &[f64], weights: &[f64], n: usize) -> Vec<f64> {
    // The parts differ: an axis of equal parts is at right angles to all shares of classes.
    let mut axis: Vec<f64> = (0..n).map(|at| 1.0 / (at + 1) as f64).collect();
    if n == 1 {
        return axis;
    }
    for _ in 0..N_STEPS {
        let mut next = vec![0.0; n];
        for (row, weight) in rows.chunks_exact(n).zip(weights) {
            let along = weight * row.iter().zip(&axis).map(|(number, part)| number * part).sum::<f64>();
            next.iter_mut().zip(row).for_each(|(part, number)| *part += along * number);
        }
        let larger = |largest: f64, part: &f64| if part.abs() > largest.abs() { *part } else { largest };
        let largest = next.iter().fold(0.0, larger);
        if largest == 0.0 {
            break;
        }
        // Dividing by the largest part also fixes the sign.
        axis = next.into_iter().map(|part| part / largest).collect();
    }
    axis
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_axis_is_the_longest() {
        let rows = [3.0, 1.0, -3.0, -1.0, 0.1, -0.3, -0.1, 0.3];
        let axis = first_axis(&rows, &[1.0; 4], 2);
        assert!((axis[0] - 1.0).abs() < 1e-9 && (axis[1] - 1.0 / 3.0).abs() < 1e-9, "{axis:?}");
        assert_eq!(first_axis(&[0.0; 6], &[1.0; 2], 3), [1.0, 0.5, 1.0 / 3.0]);
    }
}
