//! The search of a column of categories in a node of a small subtree.
//!
//! All subsets of a few categories are scored side by side. More categories are put in order as in
//! `split::categorical`; then the places of the rows in the order are searched as the ranks of a
//! number are.

use super::SmallScratch;
use super::node::{CutAt, SmallNode};
use super::units::{FEW_RANKS, ranks_of, set_of};
use crate::criterion::Criterion;
use crate::criterion::small::{ByRow, LANES, MARGIN, MAX_ROWS, SmallCut, SmallRows};
use crate::params::Splitter;
use crate::split::categorical::RandomSubset;
use crate::split::subsets;
use std::cmp::Ordering;

impl<C: Criterion> SmallNode<'_, C> {
    /// Offers the cuts of a categorical column that varies.
    pub(super) fn search_categories<R: SmallRows<C>>(&mut self, scratch: &mut SmallScratch<R>, feature: u32) {
        let SmallScratch { units, node, ranks, current, rows, .. } = &mut *scratch;
        let n = node.n_samples();
        let ranks = &ranks[*current][..n];
        if self.search.splits_categories_at_random() {
            self.cut_categories_at_random(scratch, feature);
            return;
        }
        units.group(self.search.data, feature, ranks, self.search.params.min_samples_category);
        let n_units = units.len();
        if n_units == 1 {
            return;
        }
        let is_random = self.search.params.splitter == Splitter::Random;
        // If the criterion or a limit forbids cuts of the one order by means, the best of all subsets need
        // not be a cut of this order.
        let has_best_in_order = !self.search.criterion.forbids_cuts() && self.search.all_legal()
            || subsets::orders(self.search.criterion, n_units).is_some();
        if n_units <= subsets::MAX_UNITS && !is_random && has_best_in_order {
            self.offer_subsets(scratch, feature, n_units);
            return;
        }
        let (mut of_rows, mut places) = ([0; MAX_ROWS], [0; MAX_ROWS]);
        of_rows.iter_mut().zip(ranks).for_each(|(of_row, &rank)| *of_row = units.unit(rank));
        if is_random {
            units.place_at_random(self.key, feature, &mut places);
            self.offer_places(scratch, feature, 2, &places, &of_rows[..n]);
            return;
        }
        rows.add_units(self.search.criterion, &of_rows[..n], n_units);
        if let Some(best) = &self.best
            && rows.most_score_of_units() < best.cut.score * (1.0 - MARGIN)
        {
            return;
        }
        for i in 0.. {
            let mut order: ByRow<u8> = std::array::from_fn(|unit| unit as u8);
            if !scratch.rows.sort_units(i, self.search.all_legal(), &mut order[..n_units]) {
                break;
            }
            (0..).zip(&order[..n_units]).for_each(|(place, &unit)| places[usize::from(unit)] = place);
            self.offer_places(scratch, feature, n_units, &places, &of_rows[..n]);
        }
    }

    /// Offers the cut that has a [`RandomSubset`] of the categories on the left. O(rows).
    fn cut_categories_at_random<R: SmallRows<C>>(&mut self, scratch: &mut SmallScratch<R>, feature: u32) {
        let identities = self.search.data.identities(feature).unwrap_or_default();
        let identity = |rank: u32| identities[rank as usize];
        // The ranks become places: 0 on the left, 1 on the right.
        let places = &mut scratch.ranks[scratch.current][..scratch.node.n_samples()];
        if identities.len() <= FEW_RANKS {
            let all = set_of(places.iter().copied());
            let left = RandomSubset::of(self.key, feature, ranks_of(all).map(identity));
            let left = set_of(ranks_of(all).filter(|&rank| left.has(identity(rank))));
            for rank in places.iter_mut() {
                *rank = u32::from(left >> (*rank % u64::BITS) & 1 == 0);
            }
        } else {
            let left = RandomSubset::of(self.key, feature, places.iter().copied().map(identity));
            for rank in places.iter_mut() {
                *rank = u32::from(!left.has(identity(*rank)));
            }
        }
        let cut = scratch.rows.cut_below(self.search.criterion, places, 1);
        self.offer(scratch, cut, CutAt::after(feature, 0), None);
    }

    /// Offers the best subset of a few units of categories.
    fn offer_subsets<R: SmallRows<C>>(&mut self, scratch: &mut SmallScratch<R>, feature: u32, n_units: usize) {
        let SmallScratch { units, node, ranks, current, rows, legal, scores, .. } = &mut *scratch;
        // The ranks are not needed any more.
        let bits = &mut ranks[*current][..node.n_samples()];
        for rank in bits.iter_mut() {
            *rank = 1 << units.unit(*rank);
        }
        let lefts = subsets::lefts(n_units);
        let level = self.search.level;
        let highest = rows.score_subsets(self.search.criterion, level, bits, lefts, &mut scores[0]);
        if self.is_low(highest, |score| rows.least_to_win(score)) {
            return;
        }
        let highest = legal.remove_subsets(level, bits, lefts, &mut scores[0], highest);
        if self.is_low(highest, |score| rows.least_to_win(score)) {
            return;
        }
        let (rows, units, criterion) = (&scratch.rows, scratch.ranks(), self.search.criterion);
        // If one order is enough, its cuts have the units of lower means on the left, and the best
        // subsets are such cuts, unless all means are equal. The cut with fewer units on the left is
        // the lower one.
        let by_mean = subsets::orders(self.search.criterion, n_units).is_none()
            && lefts.iter().any(|&left| rows.compare_subset_mean(criterion, units, left).is_some_and(Ordering::is_ne));
        let left = |cut: usize| {
            let all = (1 << n_units) - 1;
            if by_mean && rows.compare_subset_mean(criterion, units, lefts[cut]).is_none_or(Ordering::is_ge) {
                all & !lefts[cut]
            } else {
                lefts[cut]
            }
        };
        let number = |cut: usize| {
            let n_left = if by_mean { left(cut).count_ones() } else { 0 };
            n_left * LANES as u32 + cut as u32
        };
        if self.is_low(highest, |score| rows.least_to_win(score)) {
            return;
        }
        let close = scratch.scores[0].iter().enumerate().filter(|&(_, &score)| score >= rows.least_close(highest));
        let close = close.map(|(cut, _)| (number(cut), move || rows.subset_cut(criterion, units, lefts[cut])));
        let cut_of = |number: u32| number as usize % LANES;
        let Some((cut, number)) = Self::winner(rows, close, |a, b| {
            rows.compare_subsets(criterion, units, lefts[cut_of(a)], lefts[cut_of(b)])
        }) else {
            return;
        };
        let number = cut_of(number);
        let left = left(number);
        let weight = if left == lefts[number] { cut.weight } else { rows.weight() - cut.weight };
        // Units become places on either side of the cut.
        for bit in scratch.ranks_mut() {
            *bit = u32::from(*bit & left == 0);
        }
        self.offer(scratch, SmallCut { weight, ..cut }, CutAt::after(feature, 0), None);
    }

    /// Offers the best cut of an order of categories. `places` has the place of each unit, below `n_places`,
    /// and `of_rows` has the unit of each row.
    fn offer_places<R: SmallRows<C>>(
        &mut self,
        scratch: &mut SmallScratch<R>,
        feature: u32,
        n_places: usize,
        places: &ByRow<u8>,
        of_rows: &[u8],
    ) {
        self.begin_column(scratch);
        for (rank, &unit) in scratch.ranks_mut().iter_mut().zip(of_rows) {
            *rank = places[usize::from(unit)].into();
        }
        self.offer_cuts(scratch, feature, 0..n_places as u32 - 1);
    }
}
