//! Growth of a tree with a limited number of leaves: of all nodes that can be split, the one whose split lowers the
//! impurity of the tree most is split next (scikit-learn's `max_leaf_nodes`; H. Shi, "Best-first decision tree learning",
//! 2007).
//!
//! A node's split must be known to be compared, so a node is expanded when it is reached, and its children wait with it;
//! they are dropped if the tree is full before its turn. Whether and how a node is split does not depend on the turn:
//! trees with fewer leaves are tops of those with more, and without a limit that counts it is the depth-first tree.
//!
//! Turns: the improvement, the node's weight times its impurity less the same for its children, is computed in `f64` from
//! exact statistics. It is compared to [`KEPT_BITS`] and counts as 0 within its rounding, so that what ties in
//! mathematics ties here, for small statistics always. Of ties the node that was reached first has its turn, a left child
//! before a right one. Statistics and turns are the same for any storage and number of threads.
//!
//! Children take nothing over from their parent's search: turns jump from branch to branch, and columns kept for each
//! waiting node would take the memory of the data set many times over. O(log leaves) per node beside the search.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::expand::{Expansion, Pending, Split};
use super::part::Part;
use crate::criterion::Criterion;
use crate::error::Result;
use crate::split::{Effort, Scratch, Search};

/// Improvements are compared to so many significant bits: the rounding of a node that gains a thousandth of its cost is
/// ten bits below, and those of small statistics that differ at all differ by more.
const KEPT_BITS: u32 = 31;
/// An improvement below this share of a node's cost is rounding.
const NOISE: f64 = 1.0 / (1u64 << 46) as f64;

/// Grows the tree of `root` up to `max_leaf_nodes` leaves.
pub fn grow<C: Criterion>(search: &Search<'_, C>, root: Pending<'_, C>, max_leaf_nodes: u64) -> Result<(Part, Effort)> {
    let mut scratch = Scratch::new(search);
    let mut part = Part::new(search.criterion.n_values());
    let mut waiting = BinaryHeap::new();
    let id = part.add(search, &root, None)?;
    waiting.extend(expand(search, &mut scratch, id, root)?);
    let mut n_leaves = 1;
    while n_leaves < max_leaf_nodes
        && let Some(Waiting { id: parent, split, left, right, .. }) = waiting.pop()
    {
        part.splits.push((parent, split));
        n_leaves += 1;
        for (child, is_left) in [(left, true), (right, false)] {
            let id = part.add(search, &child, Some((parent, is_left)))?;
            if n_leaves < max_leaf_nodes {
                waiting.extend(expand(search, &mut scratch, id, child)?);
            }
        }
    }
    Ok((part, search.take_effort(&mut scratch)))
}

/// A node that can be split.
struct Waiting<'s, C: Criterion> {
    improvement: f64,
    id: usize,
    split: Split,
    left: Pending<'s, C>,
    right: Pending<'s, C>,
}

/// Expands a node; nothing if it is a leaf.
fn expand<'s, C: Criterion>(
    search: &Search<'_, C>,
    scratch: &mut Scratch<C>,
    id: usize,
    node: Pending<'s, C>,
) -> Result<Option<Waiting<'s, C>>> {
    let cost = |node: &Pending<'_, C>| search.criterion.cost(&node.totals);
    let before = cost(&node);
    let Expansion::Split(fork) = node.expand(search, scratch)? else { return Ok(None) };
    let (split, mut left, mut right) = fork.children(search, scratch);
    (left.heritage, right.heritage) = (None, None);
    let improvement = improvement(before, cost(&left) + cost(&right));
    Ok(Some(Waiting { improvement, id, split, left, right }))
}

/// By how much a cost falls, as turns see it.
fn improvement(before: f64, after: f64) -> f64 {
    const DROPPED: u32 = f64::MANTISSA_DIGITS - KEPT_BITS;
    let decrease = before - after;
    if decrease > before * NOISE {
        // The bits of positive numbers are in their order, and a carry out of the fraction is right.
        let bits = decrease.to_bits() + (1 << (DROPPED - 1));
        f64::from_bits(bits >> DROPPED << DROPPED)
    } else {
        0.0
    }
}

impl<C: Criterion> Ord for Waiting<'_, C> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.improvement.total_cmp(&other.improvement).then(other.id.cmp(&self.id))
    }
}

impl<C: Criterion> PartialOrd for Waiting<'_, C> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<C: Criterion> PartialEq for Waiting<'_, C> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<C: Criterion> Eq for Waiting<'_, C> {}

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
