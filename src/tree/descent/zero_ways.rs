//! Sparse rows go down a tree in groups, and only their entries are looked at.
//!
//! At a split, a row without an entry of its feature goes the way of zero. So a row follows the way
//! of zero until it meets a split at which an entry of its own sends it the other way: on text,
//! that happens two or three times where the way to its leaf has eighty splits. The splits of a way
//! follow each other in memory. Each is met by a group of rows at once: one word tells whether any
//! row that follows the way has an entry of its feature. Rows that leave the way follow another
//! one, from the other child on.
//!
//! What an entry decides is decided by the tree itself, so this serves every tree: with missing
//! values, with categories, and with values that single precision does not hold.

use super::split_view::{AT_LEAF, SplitView};
use crate::bitset::ones;
use crate::data::row_group::{GROUP, RowGroup};
use crate::simd::{Level, prefetch, vectorized};

/// The ways of zero of a tree.
#[derive(Debug)]
pub struct Ways {
    /// The first step of the way that begins at the root, or a leaf.
    root: u32,
    steps: Box<[Step]>,
}

/// A split on a way, or the end of the way.
#[derive(Debug, Clone, Copy)]
struct Step {
    /// NaN if the split has a set of categories.
    threshold: f64,
    /// At the end of a way, the number of features, as every row stops there.
    feature: u32,
    /// The first step of the way of rows that leave, or a leaf with [`AT_LEAF`]. At the end of the
    /// way, its leaf.
    other: u32,
    /// The position of the split in the tree. At the end of the way, its leaf.
    at: u32,
}

impl Ways {
    /// The ways of the tree of the split or leaf `root`, with `n_leaves` leaves, over `n_features` features.
    /// `split` and `zero` tell the split at a position, and the position that follows for a value of 0.
    /// O(splits).
    pub fn new<'t>(
        (root, n_leaves, n_features): (u32, usize, usize),
        split: impl Fn(u32) -> SplitView<'t>,
        zero: impl Fn(u32) -> u32,
    ) -> Self {
        let mut steps = Vec::<Step>::with_capacity(2 * n_leaves);
        // Splits at which ways begin, each with the step that leads to it.
        let mut waiting = Vec::new();
        if root & AT_LEAF == 0 {
            waiting.push((root, None));
        }
        while let Some((mut at, from)) = waiting.pop() {
            if let Some(from) = from {
                let first = steps.len() as u32;
                let from: &mut Step = &mut steps[from];
                from.other = first;
            }
            while at & AT_LEAF == 0 {
                let SplitView { feature, threshold, set, children: [left, right], .. } = split(at);
                let threshold = if set.is_some() { f64::NAN } else { threshold };
                let zero = zero(at);
                let other = if zero == left { right } else { left };
                if other & AT_LEAF == 0 {
                    waiting.push((other, Some(steps.len())));
                }
                steps.push(Step { threshold, feature, other, at });
                at = zero;
            }
            steps.push(Step { threshold: 0.0, feature: n_features as u32, other: at, at });
        }
        let root = if root & AT_LEAF == 0 { 0 } else { root };
        Self { root, steps: steps.into() }
    }

    pub fn n_bytes(&self) -> usize {
        size_of_val(&self.steps[..])
    }
}

/// Sends groups of rows through trees.
#[derive(Debug)]
pub struct GroupDescent {
    level: Level,
    /// Ways that are still to be followed, by their first steps, each with the rows that follow it.
    pending: Vec<(u32, u64)>,
}

impl GroupDescent {
    pub fn new() -> Self {
        Self { level: Level::widest(), pending: Vec::new() }
    }

    /// Sets `leaves` to the numbers of the leaves that the rows of a group reach. `leaves_zero` tells whether
    /// a value leaves the way of zero at a position in the tree.
    pub fn run(&mut self, ways: &Ways, group: &RowGroup, leaves_zero: &dyn Fn(u32, f64) -> bool, leaves: &mut [u32]) {
        follow(self.level, ways, group, leaves_zero, &mut self.pending, leaves);
    }
}

vectorized! {
    /// Follows ways to leaves, see [`GroupDescent::run`]. Compiled for several levels because it counts bits.
    fn follow(
        ways: &Ways,
        group: &RowGroup,
        leaves_zero: &dyn Fn(u32, f64) -> bool,
        pending: &mut Vec<(u32, u64)>,
        leaves: &mut [u32],
    ) {
        assert!(leaves.len() <= GROUP, "too many rows");
        let stored = group.stored();
        let all = u64::MAX.checked_shr((GROUP - leaves.len()) as u32).unwrap_or(0);
        pending.push((ways.root, all));
        while let Some((mut place, mut rows)) = pending.pop() {
            while place & AT_LEAF == 0 && rows != 0 {
                // The end of a way stops every row.
                let mut rest = ways.steps[place as usize..].iter();
                let Some(n_passed) = rest.position(|step| stored[step.feature as usize] & rows != 0) else {
                    unreachable!("a way ends at a leaf")
                };
                place += n_passed as u32;
                let Step { threshold, feature, other, at } = ways.steps[place as usize];
                if at & AT_LEAF != 0 {
                    place = other;
                    continue;
                }
                let zero_goes_left = 0.0 <= threshold;
                let mut leaving = 0;
                for lane in ones(stored[feature as usize] & rows) {
                    let value = group.value(feature, lane);
                    let leaves = if value.is_nan() || threshold.is_nan() {
                        leaves_zero(at, value)
                    } else {
                        (value <= threshold) != zero_goes_left
                    };
                    leaving |= u64::from(leaves) << lane;
                }
                if leaving != 0 {
                    pending.push((other, leaving));
                    // There is no step to ask for where a leaf follows.
                    prefetch(&ways.steps, other as usize);
                    rows &= !leaving;
                }
                place += 1;
            }
            for lane in ones(rows) {
                leaves[lane as usize] = place & !AT_LEAF;
            }
        }
    }
}
