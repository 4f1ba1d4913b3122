//! All subsets of a few categories, for criteria for which no single order of the categories has
//! the best subset among its cuts.
//!
//! A subset and the rest of the categories are the same cut. Some orders of the categories have all
//! of these cuts between them, whatever the targets of the rows are; so the best subset is found
//! without putting anything in order. A cut of several orders counts as one of the first of them.

use crate::criterion::Criterion;
use crate::criterion::small::LANES;

/// Up to this many units of categories, all subsets are tried: their cuts fit into one register.
pub(crate) const MAX_UNITS: usize = 5;

/// By number of units: orders that have all cuts between them, and as few of them as possible. A unit at an
/// end of an order is a subset of one unit; with the unit next to it, it makes a subset of two.
const ORDERS: [&[&[u8]]; MAX_UNITS + 1] = [
    &[],
    &[],
    &[&[0, 1]],
    &[&[0, 1, 2], &[1, 0, 2]],
    &[&[0, 1, 2, 3], &[1, 2, 0, 3], &[2, 0, 1, 3]],
    &[&[0, 1, 3, 2, 4], &[1, 2, 4, 3, 0], &[2, 3, 0, 4, 1], &[3, 4, 1, 0, 2], &[4, 0, 2, 1, 3]],
];

/// The orders of `n_units` units that have all cuts between them. `None` if there are too many
/// units, or if one order by the means of the units is enough for this criterion.
pub(crate) fn orders<C: Criterion>(criterion: &C, n_units: usize) -> Option<&'static [&'static [u8]]> {
    if criterion.n_orders() > 1 { ORDERS.get(n_units).copied() } else { None }
}

/// For each cut, a bit for each unit on the left. Lanes without a cut have all units.
type Lefts = [u32; LANES];

/// The cuts of [`ORDERS`], by number of units.
const SUBSETS: [Lefts; MAX_UNITS + 1] = {
    let mut subsets = [[0; LANES]; MAX_UNITS + 1];
    let mut n_units = 0;
    while n_units <= MAX_UNITS {
        subsets[n_units] = cuts(ORDERS[n_units], n_units);
        n_units += 1;
    }
    subsets
};

/// The cuts of some orders, each cut once, in the order of the orders and of their places.
const fn cuts(orders: &[&[u8]], n_units: usize) -> Lefts {
    let all = (1 << n_units) - 1;
    let mut lefts = [all; LANES];
    let (mut n_cuts, mut number) = (0, 0);
    while number < orders.len() {
        let (mut left, mut place) = (0, 0);
        while place + 1 < n_units {
            left |= 1 << orders[number][place];
            let (mut is_new, mut i) = (true, 0);
            while i < n_cuts {
                is_new = is_new && lefts[i] != left && lefts[i] != all & !left;
                i += 1;
            }
            if is_new {
                lefts[n_cuts] = left;
                n_cuts += 1;
            }
            place += 1;
        }
        number += 1;
    }
    lefts
}

/// The cuts of the orders that [`orders`] returns for `n_units` units, each cut once: a bit for each unit
/// on the left. Lanes without a cut have all units.
pub(crate) fn lefts(n_units: usize) -> &'static Lefts {
    &SUBSETS[n_units]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_subset_is_one_cut() {
        for (n_units, orders) in ORDERS.iter().enumerate().skip(2) {
            let all = (1u32 << n_units) - 1;
            let lefts = lefts(n_units);
            let n_cuts = (1 << (n_units - 1)) - 1;
            let cuts: BTreeSet<u32> = lefts[..n_cuts].iter().map(|&left| left.min(all & !left)).collect();
            assert!(cuts.len() == n_cuts && cuts.iter().all(|left| (1..all).contains(left)));
            assert!(lefts[n_cuts..].iter().all(|&left| left == all));
            for order in *orders {
                let mut units = order.to_vec();
                units.sort_unstable();
                assert!(units.into_iter().eq(0..n_units as u8));
            }
            // The first order that has the cut, and the place of the cut in it.
            let first_place = |&left: &u32| {
                let is_cut =
                    |order: &[u8], n: usize| order[..n].iter().fold(0, |left, unit| left | 1u32 << unit) == left;
                let place = |order: &&[u8]| (1..n_units).find(|&n| is_cut(order, n));
                orders.iter().enumerate().find_map(|(number, order)| Some((number, place(order)?))).unwrap()
            };
            assert!(lefts[..n_cuts].iter().map(first_place).is_sorted());
        }
    }
}
