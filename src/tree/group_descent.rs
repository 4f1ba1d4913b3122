//! Groups of sparse rows follow the [ways](Ways) of zero of a tree, and leave them at their entries.

use super::position::AT_LEAF;
use super::walk::Walk;
use super::ways::{Step, Ways};
use crate::bitset::ones;
use crate::data::row_group::{GROUP, RowGroup};
use crate::simd::{Level, prefetch, vectorized};

/// Sends groups of rows through trees.
#[derive(Debug)]
pub(super) struct GroupDescent {
    level: Level,
    /// Ways that are still to be followed, by their first steps, each with the rows that follow it.
    pending: Vec<(u32, u64)>,
}

impl GroupDescent {
    pub fn new() -> Self {
        Self { level: Level::widest(), pending: Vec::new() }
    }

    /// Sets `leaves` to the numbers of the leaves that the rows of a group reach. `ways` belong to the tree.
    pub fn run<W: Walk>(&mut self, tree: &W, ways: &Ways, group: &RowGroup, leaves: &mut [u32]) {
        let leaves_zero = |at: u32, value: f64| tree.step(at, |_| value) != tree.step(at, |_| 0.0);
        follow(self.level, ways, group, &leaves_zero, &mut self.pending, leaves);
    }
}

vectorized! {
    /// Follows ways to leaves, see [`GroupDescent::run`]. `leaves_zero` tells whether a value leaves
    /// the way of zero at a position in the tree. Compiled for several levels because it counts bits.
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
