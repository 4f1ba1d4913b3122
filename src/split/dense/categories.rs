//! The best cut of a categorical column in a node of more rows than a small subtree has: count the rows of
//! each category, put the categories in an order, and score the cuts of the order, as a histogram does.
//! `split::categorical` defines the orders. O(rows + categories log(categories)) per order.

use smallvec::{SmallVec, smallvec};

use crate::criterion::Criterion;
use crate::criterion::component::ClassWeights;
use crate::criterion::packed::{MAX_BINS, Packed, Summed};
use crate::data::DenseColumns;
use crate::data::dense::{DenseColumn, Ranks, gather};
use crate::error::Result;
use crate::num::sort_by_key;
use crate::params::Splitter;
use crate::split::best::Best;
use crate::split::candidate::{Candidate, Cut};
use crate::split::categorical::{RandomSubset, sorted};
use crate::split::dense::column::{RowsOf, fill_column};
use crate::split::dense::offer;
use crate::split::entries::SortScratch;
use crate::split::node::{NodeSearch, Outcome};
use crate::split::subsets;

/// Offers the cuts of categorical columns to `best`. Returns how many of these columns vary in the
/// node. `packed` has the packed forms of the criterion, and the rows of the node in them.
pub(crate) fn search_categorical<C: Criterion>(
    at: NodeSearch<'_, C>,
    columns: &DenseColumns,
    features: &[u32],
    mut packed: Option<(&mut C::Packed, &RowsOf<C>)>,
    scan: &mut C::Scan,
    best: &mut Best<C>,
) -> Result<usize> {
    let (mut scratch, mut codes) = (SortScratch::default(), Vec::new());
    let mut n_varying = 0;
    for &feature in features {
        at.search.runtime.check_interrupt()?;
        let column = columns.column(feature);
        let counted = packed
            .as_mut()
            .and_then(|(packed, rows)| best_cut(at, feature, column, (packed, rows), &mut codes, scan, best));
        let outcome = counted.unwrap_or_else(|| {
            let column = fill_column(feature, column, at.node.samples.ids(), false, &mut scratch);
            at.evaluate(column, scan, best)
        });
        n_varying += usize::from(outcome != Outcome::Constant);
    }
    Ok(n_varying)
}

/// Offers the cuts of a categorical column of bytes to `best`; `None` if the ranks are not bytes.
/// `rows` are the rows of the node in packed form, and `bins` is a buffer. If the call is
/// interrupted, some cuts are left out.
pub(super) fn best_cut<C: Criterion>(
    at: NodeSearch<'_, C>,
    feature: u32,
    column: &DenseColumn,
    (packed, rows): (&mut C::Packed, &RowsOf<C>),
    bins: &mut Vec<u8>,
    scan: &mut C::Scan,
    best: &mut Best<C>,
) -> Option<Outcome> {
    let Ranks::U8(ranks) = &column.ranks else { return None };
    let NodeSearch { search, node, .. } = at;
    let samples = node.samples.ids();
    bins.resize(samples.len(), 0);
    gather(ranks, samples, bins);
    let identities = search.data.identities(feature)?;
    // There are at most 256 ranks.
    let all = (0..column.n_ranks).map(|rank| rank as u8);
    packed.count(node.totals, rows, bins, column.n_ranks as usize, false);
    let mut ranks: SmallVec<[u8; 16]> = all.filter(|&rank| packed.bin_has_rows(rank)).collect();
    if ranks.len() == 1 {
        return Some(Outcome::Constant);
    }
    sort_by_key(&mut ranks, |rank: u8| identities[usize::from(rank)]);
    // Where nothing depends on the numbers of rows, they are not counted.
    let n_rows = (!search.all_legal()).then(|| count(bins, column.n_ranks as usize));
    let mut units = ranks.clone();
    let mut ranks: SmallVec<[Rank; 16]> = ranks
        .into_iter()
        .map(|rank| {
            let n_rows = n_rows.as_ref().map_or(0, |n_rows| n_rows[usize::from(rank)] as usize);
            Rank { number: rank, unit: rank, n_rows }
        })
        .collect();
    if search.params.min_samples_category > 1 {
        let n_rows = n_rows.unwrap_or_else(|| count(bins, column.n_ranks as usize));
        join_small(&mut ranks, &n_rows, search.params.min_samples_category);
        let mut unit_of = [0; MAX_BINS];
        ranks.iter().for_each(|rank| unit_of[usize::from(rank.number)] = rank.unit);
        for bin in bins.iter_mut() {
            *bin = unit_of[usize::from(*bin)];
        }
        packed.count(node.totals, rows, bins, column.n_ranks as usize, false);
        units = ranks.iter().filter(|rank| rank.unit == rank.number).map(|rank| rank.unit).collect();
    }
    if units.len() > 1 {
        CountedCategories { at, feature, ranks: &ranks, units: &units, packed }.offer_orders(scan, best);
    }
    Some(Outcome::Hopeless)
}

/// Makes one unit of all categories of fewer than `least_rows` rows. The first of them stands for it.
fn join_small(ranks: &mut [Rank], n_rows: &[u32], least_rows: u64) {
    let mut first_small = None;
    for rank in ranks {
        if u64::from(n_rows[usize::from(rank.number)]) < least_rows {
            rank.unit = *first_small.get_or_insert(rank.number);
        }
    }
}

/// The number of rows in each bin.
fn count(bins: &[u8], n_bins: usize) -> SmallVec<[u32; 16]> {
    let mut n_rows = smallvec![0; n_bins];
    for &bin in bins {
        n_rows[usize::from(bin)] += 1;
    }
    n_rows
}

/// A rank that the node has, the rank that stands for its unit, and how many rows have it, where
/// that is known.
struct Rank {
    number: u8,
    unit: u8,
    n_rows: usize,
}

/// A column whose rows have been counted, each in the bin of its unit.
struct CountedCategories<'a, C: Criterion> {
    at: NodeSearch<'a, C>,
    feature: u32,
    ranks: &'a [Rank],
    /// The units, in the order of the identities of their categories.
    units: &'a [u8],
    packed: &'a mut C::Packed,
}

impl<C: Criterion> CountedCategories<'_, C> {
    /// Offers the cuts of all orders.
    fn offer_orders(&mut self, scan: &mut C::Scan, best: &mut Best<C>) {
        let NodeSearch { search, node, .. } = self.at;
        let (criterion, n_units) = (search.criterion, self.units.len());
        if search.params.splitter == Splitter::Random {
            self.offer_at_random(scan, best);
            return;
        }
        if let Some(orders) = subsets::orders(criterion, n_units) {
            for (number, order) in orders.iter().enumerate() {
                self.offer(order.iter().map(|&unit| unit.into()), number, scan, best);
            }
            return;
        }
        let n_shares = criterion.n_shares();
        let total = |number| criterion.order_total(node.totals, node.samples.ids(), number);
        let mut numbers: Vec<usize> = (0..criterion.n_orders()).filter(|&number| total(number) > 0).collect();
        // Why one order suffices where a node has two classes: see `SmallClasses`. That needs all
        // cuts to be legal.
        if n_shares > 0 && numbers.len() == 2 && search.all_legal() {
            numbers.truncate(1);
        }
        for &number in &numbers {
            // There may be an order for each class, so the stop flag is read for each order.
            if search.runtime.check_interrupt().is_err() {
                return;
            }
            let bin = |unit: u32| self.units[unit as usize];
            let order = sorted(n_units, &|a, b| self.packed.compare_bins(number, bin(a), bin(b)));
            self.offer(order.into_iter(), number, scan, best);
        }
        let mut classes = ClassWeights::default();
        if let Some(weight) = self.packed.class_weights().filter(|_| n_shares > 0 && numbers.len() > 2) {
            for &class in &numbers {
                classes.push_class(self.units.iter().map(|&bin| weight(class, bin)));
            }
        }
        if classes.n_classes() > 0 {
            let coordinates = classes.component(n_units);
            let order = sorted(n_units, &|a, b| coordinates[a as usize].total_cmp(&coordinates[b as usize]));
            self.offer(order.into_iter(), criterion.n_orders(), scan, best);
        }
    }

    /// Offers the cut that has a random subset of the units on the left.
    fn offer_at_random(&mut self, scan: &mut C::Scan, best: &mut Best<C>) {
        let NodeSearch { search, node, .. } = self.at;
        let all = search.data.identities(self.feature).unwrap_or_default();
        // Units are named by their first categories, whose ranks stand for the units.
        let identity = |unit: u8| all[usize::from(unit)];
        let left = RandomSubset::of(node.key, self.feature, self.units.iter().copied().map(identity));
        let (mut order, right): (SmallVec<[u8; 16]>, SmallVec<[u8; 16]>) =
            self.units.iter().copied().partition(|&unit| left.has(identity(unit)));
        let n_left = order.len();
        order.extend(right);
        self.packed.put_in_order(node.totals, &order);
        self.offer_cut(&order, n_left - 1, 0, scan, best);
    }

    /// Offers the cuts of an order of the units.
    fn offer(&mut self, order: impl Iterator<Item = u32>, number: usize, scan: &mut C::Scan, best: &mut Best<C>) {
        let order: SmallVec<[u8; 16]> = order.map(|unit| self.units[unit as usize]).collect();
        let NodeSearch { search, node, .. } = self.at;
        let (criterion, totals) = (search.criterion, node.totals);
        self.packed.put_in_order(totals, &order);
        let mut scores: SmallVec<[f64; 16]> = smallvec![0.0; order.len()];
        self.packed.scores(search.level, totals, &mut scores);
        let highest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut least = best.floor();
        if search.all_legal() && highest > f64::NEG_INFINITY {
            least = least.max(highest - 2.0 * criterion.tolerance(totals, highest));
        }
        for (place, _) in scores.iter().enumerate().filter(|&(_, &score)| score >= least && score > f64::NEG_INFINITY) {
            self.offer_cut(&order, place, number, scan, best);
        }
    }

    /// Offers the cut after a place of an order, in which the units have been put.
    fn offer_cut(&self, order: &[u8], place: usize, number: usize, scan: &mut C::Scan, best: &mut Best<C>) {
        let NodeSearch { search, node, .. } = self.at;
        let ranks_left = || self.ranks.iter().filter(|rank| order[..=place].contains(&rank.unit));
        let mut left = [0; 4];
        for &Rank { number: rank, .. } in ranks_left() {
            left[usize::from(rank / 64)] |= 1 << (rank % 64);
        }
        let candidate = Candidate {
            feature: self.feature,
            last_left: place as u32,
            missing: None,
            order: number as u32,
            cut: Cut::Ranks(left),
            n_left: 0,
            is_loose: search.all_legal(),
        };
        let pushed = self.packed.pushed(search.criterion, node.totals, scan, Summed::Bins(place + 1));
        let n_left = || ranks_left().map(|rank| rank.n_rows).sum();
        offer(self.at, candidate, (scan, pushed), n_left, best);
    }
}
