//! The best cut of a categorical column in a node of more rows than a small subtree has: count the
//! rows of each category, put the categories in an order, and score the cuts of the order, as a
//! histogram does. The orders are those of `split::categorical`. O(rows + categories
//! log(categories)) per order.

use smallvec::{SmallVec, smallvec};

use crate::criterion::Criterion;
use crate::criterion::component::ClassWeights;
use crate::criterion::packed::{Packed, Summed};
use crate::data::DenseColumns;
use crate::data::dense::{DenseColumn, Ranks, gather};
use crate::error::Result;
use crate::rng::Side;
use crate::split::best::Best;
use crate::split::candidate::{Candidate, Cut};
use crate::split::categorical::sorted;
use crate::split::dense::column::{RowsOf, fill_column};
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
    let mut scratch = SortScratch::default();
    let mut n_varying = 0;
    for &feature in features {
        at.search.runtime.check_interrupt()?;
        let column = columns.column(feature);
        let counted =
            packed.as_mut().and_then(|(packed, rows)| best_cut(at, feature, column, rows, packed, scan, best));
        let outcome = counted.unwrap_or_else(|| {
            let column = fill_column(feature, column, at.node.samples.ids(), false, &mut scratch);
            at.evaluate(column, scan, best)
        });
        n_varying += usize::from(outcome != Outcome::Constant);
    }
    Ok(n_varying)
}

/// Offers the cuts of a categorical column of bytes to `best`; `None` if the ranks are not bytes.
/// `rows` are the rows of the node in packed form. If the call is interrupted, some cuts are left
/// out.
pub(super) fn best_cut<C: Criterion>(
    at: NodeSearch<'_, C>,
    feature: u32,
    column: &DenseColumn,
    rows: &RowsOf<C>,
    packed: &mut C::Packed,
    scan: &mut C::Scan,
    best: &mut Best<C>,
) -> Option<Outcome> {
    let Ranks::U8(ranks) = &column.ranks else { return None };
    let NodeSearch { search, node, .. } = at;
    let samples = node.samples.ids();
    let mut bins = vec![0u8; samples.len()];
    gather(ranks, samples, &mut bins);
    let n_rows = count(&bins, column.n_ranks as usize);
    let first_rows = search.data.first_rows(feature)?;
    // There are at most 256 ranks.
    let all = (0..column.n_ranks).map(|rank| rank as u8);
    let mut ranks: SmallVec<[u8; 16]> = all.filter(|&rank| n_rows[usize::from(rank)] > 0).collect();
    if ranks.len() == 1 {
        return Some(Outcome::Constant);
    }
    sort_by_first_row(&mut ranks, first_rows);
    // All categories of too few rows are one unit, which the first of them stands for.
    let is_small = |rank: u8| u64::from(n_rows[usize::from(rank)]) < search.params.min_samples_category;
    let first_small = ranks.iter().copied().find(|&rank| is_small(rank));
    let unit = |rank: u8| first_small.filter(|_| is_small(rank)).unwrap_or(rank);
    if first_small.is_some() {
        for bin in &mut bins {
            *bin = unit(*bin);
        }
    }
    let units: SmallVec<[u8; 16]> = ranks.iter().copied().filter(|&rank| unit(rank) == rank).collect();
    if units.len() > 1 {
        packed.count(node.totals, rows, &bins, column.n_ranks as usize);
        let ranks: SmallVec<[Rank; 16]> = ranks
            .into_iter()
            .map(|rank| Rank { number: rank, unit: unit(rank), n_rows: n_rows[usize::from(rank)] as usize })
            .collect();
        Counted { at, feature, ranks: &ranks, units: &units, packed }.offer_orders(scan, best);
    }
    Some(Outcome::Hopeless)
}

/// Sorts ranks by the first rows of their categories. Compiled once, not for each criterion.
fn sort_by_first_row(ranks: &mut [u8], first_rows: &[u32]) {
    ranks.sort_unstable_by_key(|&rank| first_rows[usize::from(rank)]);
}

/// The number of rows in each bin.
fn count(bins: &[u8], n_bins: usize) -> SmallVec<[u32; 16]> {
    // Rows are counted in turn in four copies, as additions to one number would wait for each other.
    let mut turns: SmallVec<[[u32; 4]; 16]> = smallvec![[0; 4]; n_bins];
    let (chunks, rest) = bins.as_chunks::<4>();
    for chunk in chunks {
        for (turn, &bin) in chunk.iter().enumerate() {
            turns[usize::from(bin)][turn] += 1;
        }
    }
    for &bin in rest {
        turns[usize::from(bin)][0] += 1;
    }
    turns.iter().map(|turns| turns.iter().sum()).collect()
}

/// A rank that the node has, the rank that stands for its unit, and how many rows have it.
struct Rank {
    number: u8,
    unit: u8,
    n_rows: usize,
}

/// A column whose rows have been counted, each in the bin of its unit.
struct Counted<'a, C: Criterion> {
    at: NodeSearch<'a, C>,
    feature: u32,
    ranks: &'a [Rank],
    /// The units, in the order of the first rows of their categories.
    units: &'a [u8],
    packed: &'a mut C::Packed,
}

impl<C: Criterion> Counted<'_, C> {
    /// Offers the cuts of all orders.
    fn offer_orders(&mut self, scan: &mut C::Scan, best: &mut Best<C>) {
        let NodeSearch { search, node, .. } = self.at;
        let (criterion, n_units) = (search.criterion, self.units.len());
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
            // There may be as many orders as classes, so the stop flag is read for each order.
            if search.runtime.check_interrupt().is_err() {
                return;
            }
            let bin = |unit: u32| self.units[unit as usize];
            let order = sorted(n_units, &|a, b| self.packed.compare_bins(number, bin(a), bin(b)));
            self.offer(order.into_iter(), number, scan, best);
        }
        if n_shares > 0 && numbers.len() > 2 {
            let mut classes = ClassWeights::default();
            for &class in &numbers {
                classes.push_class(self.units.iter().map(|&bin| self.packed.class_weight(class, bin)));
            }
            let coordinates = classes.component(n_units);
            let order = sorted(n_units, &|a, b| coordinates[a as usize].total_cmp(&coordinates[b as usize]));
            self.offer(order.into_iter(), criterion.n_orders(), scan, best);
        }
    }

    /// Offers the cuts of an order of the units.
    fn offer(&mut self, order: impl Iterator<Item = u32>, number: usize, scan: &mut C::Scan, best: &mut Best<C>) {
        let order: SmallVec<[u8; 16]> = order.map(|unit| self.units[unit as usize]).collect();
        let NodeSearch { search, node, order: features } = self.at;
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
            let pushed = self.packed.pushed(criterion, totals, scan, Summed::Bins(place + 1));
            let score = criterion.score(totals, scan, pushed);
            if !best.may_win(score) {
                continue;
            }
            let (mut left, mut n_left) = ([0; 4], 0);
            for &Rank { number: rank, n_rows, .. } in
                self.ranks.iter().filter(|rank| order[..=place].contains(&rank.unit))
            {
                left[usize::from(rank / 64)] |= 1 << (rank % 64);
                n_left += n_rows;
            }
            if search.is_legal(node, self.feature, (Side::Left, n_left), (scan, pushed)) {
                let candidate = Candidate {
                    feature: self.feature,
                    last_left: place as u32,
                    missing: None,
                    order: number as u32,
                    cut: Cut::Ranks(left),
                    n_left,
                    is_loose: false,
                };
                best.offer(criterion, totals, features, (scan, pushed), score, candidate);
            }
        }
    }
}
