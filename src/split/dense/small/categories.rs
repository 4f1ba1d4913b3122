//! The search of a column of categories in a node of a small subtree.
//!
//! All subsets of a few categories are scored side by side. More categories are put in order as in
//! `split::categorical`; then the places of the rows in the order are searched as the ranks of a
//! number are.

use smallvec::SmallVec;

use super::units::{FEW_RANKS, ranks_of, set_of};
use super::{Left, SmallBest, SmallNode, SmallScratch};
use crate::criterion::Criterion;
use crate::criterion::small::{ByRow, LANES, MARGIN, MAX_ROWS, SmallCut, SmallRows, least_close};
use crate::params::Splitter;
use crate::split::candidate::Candidate;
use crate::split::categorical::RandomSubset;
use crate::split::subsets::{self, Subsets};

impl<C: Criterion> SmallNode<'_, C> {
    /// Offers the cuts of a categorical column that varies.
    pub(super) fn search_categories(&mut self, scratch: &mut SmallScratch<C>, n: usize, feature: u32) {
        let SmallScratch { units, ranks, rows, .. } = &mut *scratch;
        if self.search.splits_categories_at_random() {
            self.cut_categories_at_random(scratch, n, feature);
            return;
        }
        units.group(self.search.data, feature, &ranks[..n], self.search.params.min_samples_category);
        let n_units = units.len();
        if n_units == 1 {
            return;
        }
        let is_random = self.search.params.splitter == Splitter::Random;
        // If the criterion forbids cuts of the one order by means, the best of all subsets need not be
        // a cut of this order.
        let has_best_in_order = !C::FORBIDS_CUTS || subsets::orders(self.search.criterion, n_units).is_some();
        if n_units <= subsets::MAX_UNITS && !is_random && has_best_in_order {
            self.offer_subsets(scratch, n, feature, n_units);
            return;
        }
        let (mut of_rows, mut places) = ([0; MAX_ROWS], [0; MAX_ROWS]);
        of_rows.iter_mut().zip(&ranks[..n]).for_each(|(of_row, &rank)| *of_row = units.unit(rank));
        if is_random {
            units.place_at_random(self.key, feature, &mut places);
            self.offer_places(scratch, feature, 2, 0, &places, &of_rows[..n]);
            return;
        }
        rows.add_units(&of_rows[..n], n_units);
        if let Some(best) = &self.best
            && rows.most_score_of_units() < best.cut.score * (1.0 - MARGIN)
        {
            return;
        }
        for i in 0.. {
            let mut order: ByRow<u8> = std::array::from_fn(|unit| unit as u8);
            let Some(number) = scratch.rows.sort_units(i, &mut order[..n_units]) else { break };
            (0..).zip(&order[..n_units]).for_each(|(place, &unit)| places[usize::from(unit)] = place);
            self.offer_places(scratch, feature, n_units, number, &places, &of_rows[..n]);
        }
    }

    /// Offers the cut that has a [`RandomSubset`] of the categories on the left. O(rows).
    fn cut_categories_at_random(&mut self, scratch: &mut SmallScratch<C>, n: usize, feature: u32) {
        let first_rows = self.search.data.first_rows(feature).unwrap_or_default();
        let first_row = |rank: u32| first_rows[rank as usize];
        // The ranks become places: 0 on the left, 1 on the right. Only many ranks are needed once more.
        let places = &mut scratch.ranks[..n];
        let (mut few, mut many) = (0, SmallVec::<[u32; 2 * LANES]>::new());
        let are_few = first_rows.len() <= FEW_RANKS;
        if are_few {
            let all = set_of(places.iter().copied());
            let left = RandomSubset::of(self.key, feature, ranks_of(all).map(first_row));
            few = set_of(ranks_of(all).filter(|&rank| left.has(first_row(rank))));
            for rank in places.iter_mut() {
                *rank = u32::from(few >> (*rank % u64::BITS) & 1 == 0);
            }
        } else {
            many.extend_from_slice(places);
            let left = RandomSubset::of(self.key, feature, many.iter().copied().map(first_row));
            for rank in places.iter_mut() {
                *rank = u32::from(!left.has(first_row(*rank)));
            }
        }
        let cut = scratch.rows.cut_below(places, 1);
        if cut.score > f64::NEG_INFINITY && self.beats(&cut) {
            let n_left = places.iter().filter(|&&place| place == 0).count();
            let many_left = many.iter().zip(&*places).filter(|&(_, &place)| place == 0).map(|(&rank, _)| rank);
            let left = if are_few { Left::Few(few) } else { Left::of_many(many_left) };
            self.best = Some(SmallBest { cut, candidate: Candidate::between(feature, 0, 1, n_left), left });
        }
    }

    /// Offers the best subset of a few units of categories.
    fn offer_subsets(&mut self, scratch: &mut SmallScratch<C>, n: usize, feature: u32, n_units: usize) {
        let SmallScratch { units, ranks, rows, scores, .. } = &mut *scratch;
        // The ranks are not needed any more.
        let bits = &mut ranks[..n];
        for rank in bits.iter_mut() {
            *rank = 1 << units.unit(*rank);
        }
        let Subsets { lefts, places } = Subsets::of(n_units);
        let highest = rows.score_subsets(self.search.level, bits, lefts, &mut scores[0]);
        let rows = &*rows;
        // If one order is enough, its cuts have the units of lower means on the left, and the best
        // subsets are such cuts, unless all means are equal. The cut with fewer units on the left is
        // the lower one.
        let by_mean = subsets::orders(self.search.criterion, n_units).is_none() && !rows.have_equal_means();
        let left = |cut: usize| {
            let all = (1 << n_units) - 1;
            if by_mean && !rows.is_lower(cut) { all & !lefts[cut] } else { lefts[cut] }
        };
        let number = |cut: usize| {
            let n_left = if by_mean { left(cut).count_ones() } else { 0 };
            n_left * LANES as u32 + cut as u32
        };
        if self.is_low(highest, least_close) {
            return;
        }
        let close = scores[0].iter().enumerate().filter(|&(_, &score)| score >= least_close(highest));
        let close = close.map(|(cut, _)| (number(cut), move || rows.cut(cut)));
        let Some((cut, number)) = self.winner(close) else { return };
        let number = number as usize % LANES;
        let (left, (order, place)) = (left(number), places[number]);
        let n_left = bits.iter().filter(|&&bit| bit & left != 0).count();
        let weight = if left == lefts[number] { cut.weight } else { rows.weight() - cut.weight };
        let between = Candidate::between(feature, place.into(), u32::from(place) + 1, n_left);
        self.best = Some(SmallBest {
            cut: SmallCut { weight, ..cut },
            candidate: Candidate { order: order.into(), ..between },
            left: units.ranks_where(|unit| left >> unit & 1 != 0),
        });
    }

    /// Offers the best cut of an order of categories. `number` is that of the order, `places` has
    /// the place of each unit, below `n_places`, and `of_rows` has the unit of each row.
    fn offer_places(
        &mut self,
        scratch: &mut SmallScratch<C>,
        feature: u32,
        n_places: usize,
        number: u32,
        places: &ByRow<u8>,
        of_rows: &[u8],
    ) {
        for (rank, &unit) in scratch.ranks.iter_mut().zip(of_rows) {
            *rank = places[usize::from(unit)].into();
        }
        if let Some((cut, candidate)) = self.best_cut(scratch, of_rows.len(), feature, 0..n_places as u32 - 1) {
            let goes_left = |unit: u8| u32::from(places[usize::from(unit)]) <= candidate.last_left;
            let left = scratch.units.ranks_where(goes_left);
            let candidate = Candidate { order: number, ..candidate };
            self.best = Some(SmallBest { cut, candidate, left });
        }
    }
}
