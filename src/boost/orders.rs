//! The order of many categories, once per tree, by half of its rows.
//!
//! A node that orders categories by its own rows, and then cuts the order by the same rows, finds differences
//! between categories where there are none, as `forest::orders` says. So a half of the rows, another one for
//! each tree, orders the categories of a column, and all rows of a node choose a cut of this order. What a
//! category predicts is drawn towards what all rows predict. If the other half does not confirm the order of
//! a column of very many categories, the tree does not split on the column.
//!
//! Halves are drawn by what rows hold (`forest::halves`): a row of weight k is as k copies.

use super::bins::{Bins, MAX_BINS};
use super::newton::Derivatives;
use crate::data::Dataset;
use crate::error::Result;
use crate::forest::{Equals, KnownRows};
use crate::params::MANY_CATEGORIES;
use crate::runtime::Runtime;

/// What is added to the sum of second derivatives of a category, as where nodes order categories.
const SMOOTHING: f64 = 10.0;
/// The other half must predict at least this share of what an order predicts of its own half, as in
/// `forest::orders`.
const LEAST_CONFIRMED: f64 = 0.5;
/// Means are compared in units of the largest one divided by this: rounding does not decide on ties.
const TIE: f64 = (1u64 << 40) as f64;

/// How the categories of a column are ordered.
#[derive(Debug, Clone, PartialEq)]
pub enum Order {
    /// By the rows of each node.
    Node,
    /// By the place of each bin.
    Tree(Box<[u8; MAX_BINS]>),
    /// Not at all: no node is split on the column.
    Unconfirmed,
}

/// By feature; nothing if all are ordered by the rows of each node.
pub type Orders = Vec<Order>;

/// The features whose categories each tree orders by half of its rows.
pub struct Halves {
    features: Vec<Feature>,
}

/// A feature whose categories are ordered once per tree.
struct Feature {
    number: u32,
    /// Its bins that some rows are in, in the order of the identities of categories.
    bins: Vec<u8>,
    n_categories: usize,
}

/// Sums of weighted negative gradients and of weighted second derivatives.
type Sums = [f64; 2];

impl Halves {
    /// The features of more than `most` categories. O(ranks).
    pub fn of(data: &Dataset, bins: &Bins, most: usize) -> Self {
        // Columns without bins split no node.
        let numbers = data.features_with_more(most).filter(|&number| bins.columns[number as usize].n_bins > 0);
        let features = numbers.map(|number| Feature::new(data, bins, number));
        Self { features: features.filter(|feature| feature.n_categories > most).collect() }
    }

    /// The orders of the tree with this seed, whose rows are `known`. O(rows) for each feature that is
    /// ordered.
    pub fn orders(
        &self,
        (data, bins, known): (&Dataset, &Bins, &KnownRows),
        derivatives: &Derivatives<'_>,
        (l2, seed): (f64, u64),
        runtime: &Runtime<'_>,
    ) -> Result<Orders> {
        let in_second = known.in_second_half(seed);
        // A row is listed for each half that rows which equal it are in.
        let (mut rows, mut of_rows) = (Vec::new(), Vec::new());
        let mut totals = [Sums::default(); 2];
        for (row, &n_second) in in_second.iter().enumerate() {
            let Equals { n_rows, weight } = known.of(row);
            for (half, n) in [n_rows - n_second, n_second].into_iter().enumerate() {
                if n > 0 {
                    let weight = weight * f64::from(n) / f64::from(n_rows);
                    let sums = [derivatives.pulls[row], derivatives.curvatures.of(row)].map(|number| weight * number);
                    add(&mut totals[half], sums);
                    rows.push(row as u32);
                    of_rows.push((half, sums));
                }
            }
        }
        let order = |feature: &Feature| {
            let mut of_bins = [[Sums::default(); MAX_BINS]; 2];
            let mut entries = of_rows.iter();
            data.visit_ranks_of(feature.number, None, rows.iter().copied(), |_, rank| {
                if let Some(&(half, sums)) = entries.next() {
                    add(&mut of_bins[half][bins.columns[feature.number as usize].bin(rank)], sums);
                }
            });
            Ok((feature.number, feature.order(&of_bins, &totals, l2 + SMOOTHING)))
        };
        let mut orders = vec![Order::Node; data.n_features()];
        for (feature, order) in runtime.map(self.features.iter().collect(), order)? {
            orders[feature as usize] = order;
        }
        Ok(orders)
    }
}

impl Feature {
    fn new(data: &Dataset, bins: &Bins, number: u32) -> Self {
        let ranks = data.ranks_by_identity(number);
        let mut is_listed = [false; MAX_BINS];
        let of_ranks = ranks.iter().map(|&rank| bins.columns[number as usize].bin(rank));
        let firsts = of_ranks.filter(|&bin| !std::mem::replace(&mut is_listed[bin], true));
        Self { number, bins: firsts.map(|bin| bin as u8).collect(), n_categories: ranks.len() }
    }

    /// The order by the sums of each bin over the first half. `totals` are the sums over all rows.
    fn order(&self, of_bins: &[[Sums; MAX_BINS]; 2], totals: &[Sums; 2], smoothing: f64) -> Order {
        // By how much the gradients of a bin exceed what all rows of the half predict.
        let excess = |half: usize, bin: usize| {
            let ([gradient, hessian], [of_all, hessian_of_all]) = (of_bins[half][bin], totals[half]);
            if hessian_of_all > 0.0 { gradient - of_all / hessian_of_all * hessian } else { 0.0 }
        };
        let mut means = [0.0; MAX_BINS];
        for &bin in &self.bins {
            let bin = usize::from(bin);
            means[bin] = excess(0, bin) / (of_bins[0][bin][1] + smoothing);
        }
        let confirmed = |half: usize| {
            let sum: f64 = self.bins.iter().map(|&bin| means[usize::from(bin)] * excess(half, bin.into())).sum();
            if totals[half][1] > 0.0 { sum / totals[half][1] } else { 0.0 }
        };
        if self.n_categories > MANY_CATEGORIES && confirmed(1) < LEAST_CONFIRMED * confirmed(0) {
            return Order::Unconfirmed;
        }
        let largest = means.iter().fold(0.0, |largest: f64, mean| largest.max(mean.abs()));
        let scale = if largest > 0.0 { TIE / largest } else { 0.0 };
        let mut order = self.bins.clone();
        order.sort_by_key(|&bin| (means[usize::from(bin)] * scale).round() as i64);
        let mut places = Box::new([u8::MAX; MAX_BINS]);
        (0..=u8::MAX).zip(order).for_each(|(place, bin)| places[usize::from(bin)] = place);
        Order::Tree(places)
    }
}

fn add(sums: &mut Sums, others: Sums) {
    sums.iter_mut().zip(others).for_each(|(sum, other)| *sum += other);
}
