//! Growth of a tree with a limited number of leaves. Of all nodes that can be split, the node whose
//! split lowers the impurity of the tree most is split next (scikit-learn's `max_leaf_nodes`; H.
//! Shi, "Best-first decision tree learning", 2007).
//!
//! The splits of nodes can only be compared once they are known. So a node is expanded when it is
//! reached, and its two children wait with it. If the tree is full before the node's turn comes,
//! the children are dropped and the node stays a leaf. Whether and how a node is split does not
//! depend on its turn. So a tree with fewer leaves is the top of a tree with more, and a limit that
//! is never reached gives the tree of depth-first growth.
//!
//! Turns go by improvement: the weight of the node times its impurity, minus the same product for
//! each child; or the gain of the split, if splits carry their gains. The improvement is computed in
//! `f64` from exact statistics and rounded to [`KEPT_BITS`] significant bits; an improvement within
//! the rounding error counts as 0. So improvements that are equal in mathematics compare as equal,
//! always so for small statistics.
//! Among equal improvements the node that was reached first has its turn, and a left child is
//! reached before its sibling. Statistics and turns do not depend on the storage or the number of
//! threads.
//!
//! Children take no heritage over from their parent's search, because turns jump from branch to
//! branch: columns kept for each waiting node would take the memory of the data set many times
//! over. Choosing the next node costs O(log leaves) per node, besides the search.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::expand::{Expansion, Pending, Split};
use super::part::Part;
use crate::criterion::Criterion;
use crate::error::Result;
use crate::split::{Effort, Scratch, Search};

/// Number of significant bits to which improvements are rounded. For a node that gains a thousandth
/// of its cost, the rounding error is ten bits below the last kept bit. Improvements of small
/// statistics that differ at all differ in the kept bits.
const KEPT_BITS: u32 = 31;
/// An improvement of at most this share of the node's cost is taken for rounding error.
const NOISE: f64 = 1.0 / (1u64 << 46) as f64;

/// Grows the tree of `root` up to `max_leaf_nodes` leaves.
pub fn grow<C: Criterion>(search: &Search<'_, C>, root: Pending<'_, C>, max_leaf_nodes: u64) -> Result<(Part, Effort)> {
    let mut scratch = Scratch::new(search)?;
    let mut part = Part::new(search.criterion.n_values());
    let weight_unit = search.target.weight_unit();
    let mut waiting = BinaryHeap::new();
    let id = part.add(weight_unit, &root.facts(search.criterion), None)?;
    waiting.extend(expand(search, &mut scratch, id, root)?);
    let mut n_leaves = 1;
    while n_leaves < max_leaf_nodes
        && let Some(WaitingSplit { id: parent, split, left, right, .. }) = waiting.pop()
    {
        part.keep(parent, split);
        n_leaves += 1;
        for (place, child) in [left, right].into_iter().enumerate() {
            let id = part.add(weight_unit, &child.facts(search.criterion), Some((parent, place)))?;
            if n_leaves < max_leaf_nodes {
                waiting.extend(expand(search, &mut scratch, id, child)?);
            }
        }
    }
    Ok((part, search.take_effort(&mut scratch)))
}

/// A node that can be split and waits for its turn, with its split and its two children.
struct WaitingSplit<'s, C: Criterion> {
    improvement: f64,
    id: usize,
    split: Split,
    left: Pending<'s, C>,
    right: Pending<'s, C>,
}

/// Expands a node. Returns `None` if the node is a leaf.
fn expand<'s, C: Criterion>(
    search: &Search<'_, C>,
    scratch: &mut Scratch<C>,
    id: usize,
    node: Pending<'s, C>,
) -> Result<Option<WaitingSplit<'s, C>>> {
    let cost = |node: &Pending<'_, C>| search.criterion.cost(&node.totals);
    let before = cost(&node);
    let Expansion::Split(fork) = node.expand(search, scratch)? else { return Ok(None) };
    let (split, left, right) = fork.without_heritage().children(search, scratch);
    let improvement = if search.criterion.splits_carry_gain() {
        improvement(split.gain(), 0.0)
    } else {
        improvement(before, cost(&left) + cost(&right))
    };
    Ok(Some(WaitingSplit { improvement, id, split, left, right }))
}

/// The decrease from `before` to `after`, rounded to [`KEPT_BITS`]; 0 if it may be rounding error.
pub fn improvement(before: f64, after: f64) -> f64 {
    const DROPPED: u32 = f64::MANTISSA_DIGITS - KEPT_BITS;
    let decrease = before - after;
    if decrease > before * NOISE {
        // Positive floats are ordered like their bits, so a carry from the fraction into the
        // exponent rounds up correctly.
        let bits = decrease.to_bits() + (1 << (DROPPED - 1));
        f64::from_bits(bits >> DROPPED << DROPPED)
    } else {
        0.0
    }
}

impl<C: Criterion> Ord for WaitingSplit<'_, C> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.improvement.total_cmp(&other.improvement).then(other.id.cmp(&self.id))
    }
}

impl<C: Criterion> PartialOrd for WaitingSplit<'_, C> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<C: Criterion> PartialEq for WaitingSplit<'_, C> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<C: Criterion> Eq for WaitingSplit<'_, C> {}

#[cfg(test)]
mod tests {
    use super::improvement;

    #[test]
    fn improvements_that_differ_by_rounding_are_one() {
        assert_eq!(improvement(1.0, 0.9), improvement(0.4, 0.3));
        assert_ne!(improvement(1.0, 0.9), improvement(1.0, 0.9 + 1e-9));
        assert_eq!(improvement(3.0, 3.0 * (1.0 - f64::EPSILON)), 0.0);
        assert_eq!(improvement(3.0, 3.5), 0.0);
    }
}
