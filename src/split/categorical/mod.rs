//! The search of categorical columns: which subset of the categories in a node goes left.
//!
//! The categories are put in an order, and the best cut of this order is taken. For two classes or one
//! number, the order is by the categories' means, and its best cut is the best of all subsets (Fisher, "On
//! grouping for maximum homogeneity", JASA 53, 1958; Breiman et al., "Classification and Regression Trees",
//! 1984, theorem 4.5). For more classes and for several outputs no order is known to have the best subset.
//! All subsets of up to five categories are tried (`subsets`); for more categories, several orders: one for
//! each class against the rest, and one along the first principal component of the categories' class shares
//! (`criterion/component`), or one for each output. A forest may give the categories of a column places in an
//! order of the whole tree (`forest/orders`): then the search takes places for numbers, and only the winner's
//! sides are worked out here. ("Climbing trees 2", section "Categorical features", tries one category against
//! the rest.) A random split draws a subset.
//!
//! A missing value is one more category. Categories with equal means are ordered by their identities
//! (`data::identity`), so that the split depends neither on the codes nor on the order of the codes.
//! O(E + C log C) per order, for E entries and C categories of the column in the node. Classes that the
//! node does not have cost nothing.

mod at_random;
mod units;

use std::cmp::Ordering;

use crate::criterion::Criterion;
use crate::criterion::component::ClassWeights;
use crate::data::entry::{Entry, samples_of};
use crate::error::Result;
use crate::num::sort_by;
use crate::params::Splitter;
use crate::rng::{NodeKey, Side};
use crate::split::best::Best;
use crate::split::candidate::{Candidate, Cut};
use crate::split::entries::{SortScratch, entries_vary};
use crate::split::node::{Node, NodeColumn, NodeSearch, Outcome, Search};
use crate::split::scan::Pass;
use crate::split::subsets;
pub(super) use at_random::RandomSubset;
use units::Units;

/// The weight of a unit, and the weighted sum of the numbers by whose mean the units are ordered.
#[derive(Debug, Clone, Copy, Default)]
struct UnitSum {
    weight: u64,
    sum: u128,
}

impl UnitSum {
    /// The exact order of two means, by the products of each sum with the other weight.
    fn compare(&self, other: &Self) -> Ordering {
        let product = |a: u128, b: u64| {
            let low = (a & u128::from(u64::MAX)) * u128::from(b);
            ((a >> 64) * u128::from(b) + (low >> 64), low as u64)
        };
        product(self.sum, other.weight).cmp(&product(other.sum, self.weight))
    }
}

/// An order of the units.
struct UnitOrder {
    /// The number of this order among all orders that may be tried.
    number: u32,
    /// The place of each unit in the order.
    places: Vec<u32>,
    /// The sums of each unit, if the order is by means; empty otherwise.
    sums: Vec<UnitSum>,
}

/// The search of one categorical column of a node.
struct Categorical<'a, C: Criterion> {
    at: NodeSearch<'a, C>,
    column: NodeColumn<'a>,
    units: &'a Units,
}

impl<C: Criterion> Categorical<'_, C> {
    /// The sums of each unit for an order; `total` is the sum over all rows of the node.
    fn sums(&self, order: usize, total: u128) -> Vec<UnitSum> {
        let NodeSearch { search, node, .. } = self.at;
        let criterion = search.criterion;
        let value = criterion.order(order);
        let mut sums = vec![UnitSum::default(); self.units.len()];
        for (sample, &unit) in samples_of(self.column.entries).zip(&self.units.of_entries) {
            let weight = criterion.sample_weight(sample);
            let sum = &mut sums[unit as usize];
            sum.weight += weight;
            sum.sum += u128::from(weight) * u128::from(value(sample));
        }
        if let Some(common) = self.units.common {
            // The weight of rows without an entry: the node's weight less the weight of rows with an entry.
            let weight = criterion.weight(node.totals) - sums.iter().map(|sum| sum.weight).sum::<u64>();
            let sum = total - sums.iter().map(|sum| sum.sum).sum::<u128>();
            sums[common as usize].weight += weight;
            sums[common as usize].sum += sum;
        }
        sums
    }

    /// Calls `visit` with every order to try, or only with the order of number `wanted`. If the
    /// call is interrupted, some orders are left out, and the caller must not use the result.
    fn visit_orders(&self, wanted: Option<u32>, mut visit: impl FnMut(UnitOrder)) {
        let NodeSearch { search, node, .. } = self.at;
        let criterion = search.criterion;
        if search.params.splitter == Splitter::Random {
            visit(self.order_at_random(node.key));
            return;
        }
        if let Some(orders) = subsets::orders(criterion, self.units.len()) {
            let orders = (0..).zip(orders).filter(|&(number, _)| wanted.is_none_or(|wanted| wanted == number));
            for (number, order) in orders {
                let order: Vec<u32> = order.iter().map(|&unit| unit.into()).collect();
                visit(UnitOrder { number, places: places(&order), sums: Vec::new() });
            }
            return;
        }
        let n_shares = criterion.n_shares();
        let of_component = criterion.n_orders() as u32;
        let is_wanted = |number| wanted.is_none_or(|wanted| wanted == number);
        let mut classes = ClassWeights::default();
        for number in 0..criterion.n_orders() {
            let is_visited = is_wanted(number as u32);
            if !is_visited && !is_wanted(of_component) {
                continue;
            }
            // There may be an order for each class, so the stop flag is read for each order.
            if search.runtime.check_interrupt().is_err() {
                return;
            }
            let total = criterion.order_total(node.totals, node.samples.ids(), number);
            debug_assert_eq!(total, {
                let value = criterion.order(number);
                let part = |&sample| u128::from(criterion.sample_weight(sample)) * u128::from(value(sample));
                node.samples.ids().iter().map(part).sum::<u128>()
            });
            if total == 0 {
                // The node does not have this class.
                continue;
            }
            let sums = self.sums(number, total);
            if number < n_shares {
                classes.push_class(sums.iter().map(|sum| sum.sum as f64));
            }
            if is_visited {
                let by_mean = sorted(self.units.len(), &|a, b| sums[a as usize].compare(&sums[b as usize]));
                visit(UnitOrder { number: number as u32, places: places(&by_mean), sums });
            }
        }
        if classes.n_classes() > 2 && is_wanted(of_component) {
            let scores = classes.component(self.units.len());
            let order = sorted(self.units.len(), &|a, b| scores[a as usize].total_cmp(&scores[b as usize]));
            visit(UnitOrder { number: of_component, places: places(&order), sums: Vec::new() });
        }
    }

    /// An order with two places: the first for a [`RandomSubset`] of the units, the second for all others.
    fn order_at_random(&self, key: NodeKey) -> UnitOrder {
        let all = self.at.search.data.identities(self.column.feature).unwrap_or_default();
        let mut identities = Vec::with_capacity(self.units.len());
        for &(rank, unit) in &self.units.ranks {
            // A unit of several categories is named by its first category. Units are numbered in the
            // order of these categories.
            if unit as usize == identities.len() {
                identities.push(all[rank as usize]);
            }
        }
        let left = RandomSubset::of(key, self.column.feature, identities.iter().copied());
        let places = identities.into_iter().map(|identity| u32::from(!left.has(identity))).collect();
        UnitOrder { number: 0, places, sums: Vec::new() }
    }

    /// Offers the cuts of an order, pushing the sums of one unit after the other. O(units).
    fn offer_sums(
        &self,
        order: &UnitOrder,
        push: &impl Fn(&C::Totals, &mut C::Pushed, u64, u128),
        scan: &mut C::Scan,
        best: &mut Best<C>,
    ) {
        let NodeSearch { search, node, order: features } = self.at;
        let (criterion, totals, feature) = (search.criterion, node.totals, self.column.feature);
        // The order is a permutation, and its inverse tells the unit of each place.
        let mut units = places(&order.places);
        units.pop();
        let mut pushed = criterion.begin(totals, scan);
        let mut n_pushed = 0;
        for (place, &unit) in (0..).zip(&units) {
            let UnitSum { weight, sum } = order.sums[unit as usize];
            push(totals, &mut pushed, weight, sum);
            n_pushed += self.units.n_rows[unit as usize] as usize;
            if !criterion.may_score(totals, scan, pushed, best.floor()) {
                continue;
            }
            let score = criterion.score(totals, scan, pushed);
            if best.may_win(score) && search.is_legal(node, feature, (Side::Left, n_pushed), (scan, pushed)) {
                let between = Candidate::between(feature, place, place + 1, n_pushed);
                let candidate = Candidate { order: order.number, ..between };
                best.offer(criterion, totals, features, (scan, pushed), score, candidate);
            }
        }
    }

    /// Offers the cuts of an order by a scan of the rows, whose ranks are the places of their
    /// units.
    fn offer_rows(&self, order: &UnitOrder, scan: &mut C::Scan, best: &mut Best<C>) {
        let place = |unit: u32| order.places[unit as usize];
        let common = self.units.common.map(place);
        let mut sorted = SortScratch::default();
        let places = self.units.of_entries.iter().map(|&unit| place(unit));
        // Rows of other categories that share a place with the common rows are only counted too.
        let entries = self.column.entries.iter().zip(places).filter(|&(_, place)| Some(place) != common);
        sorted.entries.extend(entries.map(|(entry, place)| Entry::new(place, entry.sample())));
        sorted.sort();
        let (feature, n_samples) = (self.column.feature, self.at.node.samples.len());
        let column = NodeColumn::new(feature, &sorted.entries, n_samples, common.unwrap_or_default());
        let mut pass = Pass { at: self.at, feature, side: Side::Left, missing: None, order: order.number };
        pass.run_inwards(column, &[], scan, best);
    }
}

/// The units, sorted by `compare`. Of equal units, the one with the lower identity comes first: units
/// are numbered by identities.
pub(super) fn sorted(n: usize, compare: &dyn Fn(u32, u32) -> Ordering) -> Vec<u32> {
    let mut units: Vec<u32> = (0..n as u32).collect();
    sort_by(&mut units, |a, b| compare(a, b).then(a.cmp(&b)));
    units
}

/// The inverse of a permutation.
fn places(order: &[u32]) -> Vec<u32> {
    let mut places = vec![0; order.len()];
    for (place, &unit) in (0..).zip(order) {
        places[unit as usize] = place;
    }
    places
}

/// Offers the cuts of a categorical column, whose entries may be in any order. If the call is
/// interrupted, some cuts are left out.
pub(crate) fn search<C: Criterion>(
    at: NodeSearch<'_, C>,
    column: NodeColumn<'_>,
    scan: &mut C::Scan,
    best: &mut Best<C>,
) -> Outcome {
    if !entries_vary(column.entries, at.node.samples.len()) {
        return Outcome::Constant;
    }
    let units = Units::new(at.search.data, column, at.search.params.min_samples_category);
    if units.len() > 1 {
        let categorical = Categorical { at, column, units: &units };
        let push = at.search.criterion.sum_pusher();
        categorical.visit_orders(None, |order| match &push {
            Some(push) if !order.sums.is_empty() => categorical.offer_sums(&order, push, scan, best),
            _ => categorical.offer_rows(&order, scan, best),
        });
    }
    // Nothing is known of the other subsets of the categories, which the children of the node may
    // try.
    Outcome::Hopeless
}

impl<C: Criterion> Search<'_, C> {
    /// Whether columns of categories are split at random, and each category is a unit of its own.
    pub(super) fn splits_categories_at_random(&self) -> bool {
        self.params.splitter == Splitter::Random && self.params.min_samples_category <= 1
    }

    /// Works out a split on a categorical feature whose categories have no places: returns for each
    /// row of the node, in their order, whether the row goes left, and sets how many do if the split
    /// is loose. `None` for all other features.
    /// Unless the cut says which ranks go left, or random subsets go left, the order of the categories
    /// is made once more for this, in O(W + C log C) for W rows and C categories, or in that time for
    /// each class of the node.
    pub fn divide(&self, node: &Node<'_, C>, split: &mut Candidate) -> Result<Option<Vec<bool>>> {
        let data = self.data;
        if !data.is_categorical(split.feature) {
            return Ok(None);
        }
        let samples = node.samples.ids();
        let rows = || samples.iter().copied();
        if let Cut::Ranks(left) = split.cut {
            let left: [bool; 256] = std::array::from_fn(|rank| left[rank / 64] >> (rank % 64) & 1 != 0);
            let mut goes_left = Vec::with_capacity(samples.len());
            data.visit_ranks(split.feature, rows(), |_, rank| goes_left.push(left[rank as usize % 256]));
            if split.is_loose {
                split.n_left = goes_left.iter().map(|&goes_left| usize::from(goes_left)).sum();
                split.is_loose = false;
            }
            return Ok(Some(goes_left));
        }
        if self.splits_categories_at_random() {
            let identities = data.identities(split.feature).unwrap_or_default();
            let mut names = Vec::with_capacity(samples.len());
            data.visit_ranks(split.feature, rows(), |_, rank| names.push(identities[rank as usize]));
            let left = RandomSubset::of(node.key, split.feature, names.iter().copied());
            return Ok(Some(names.into_iter().map(|identity| left.has(identity)).collect()));
        }
        let order = node.key.feature_order(data.n_features());
        let at = NodeSearch { search: self, node, order: &order };
        let mut entries = Vec::with_capacity(samples.len());
        data.visit_ranks(split.feature, rows(), |sample, rank| entries.push(Entry::new(rank, sample)));
        let column = NodeColumn { feature: split.feature, entries: &entries, n_common: 0, common_rank: 0 };
        let units = Units::new(data, column, self.params.min_samples_category);
        let mut goes_left = vec![false; units.len()];
        Categorical { at, column, units: &units }.visit_orders(Some(split.order), |order| {
            goes_left = order.places.iter().map(|&place| place <= split.last_left).collect();
        });
        self.runtime.check_interrupt()?;
        Ok(Some(units.of_entries.iter().map(|&unit| goes_left[unit as usize]).collect()))
    }
}
