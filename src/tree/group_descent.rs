//! Groups of sparse rows follow the [ways](Ways) of zero of a tree, and leave them at their entries.

use super::position::AT_LEAF;
use super::walk::Walk;
use super::ways::{Step, Ways};
use crate::bitset::ones;
use crate::data::row_group::{GROUP, RowGroup};

/// Sends groups of rows through trees.
#[derive(Debug, Default)]
pub(super) struct GroupDescent {
    /// Ways that are still to be followed, by their first steps, each with the rows that follow it.
    pending: Vec<(u32, u64)>,
}

impl GroupDescent {
    /// Sets `leaves` to the numbers of the leaves that the rows of a group reach. `ways` are those
    /// of the tree.
    pub fn run<W: Walk>(&mut self, tree: &W, ways: &Ways, group: &RowGroup, leaves: &mut [u32]) {
        assert!(leaves.len() <= GROUP, "too many rows");
        let stored = group.stored();
        let all = u64::MAX.checked_shr((GROUP - leaves.len()) as u32).unwrap_or(0);
        self.pending.push((ways.root, all));
        while let Some((mut place, mut rows)) = self.pending.pop() {
            while place & AT_LEAF == 0 && rows != 0 {
                // The end of a way stops every row.
                let rest = ways.steps[place as usize..].iter();
                let Some(n_passed) = rest.clone().position(|step| stored[step.feature as usize] & rows != 0) else {
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
                        tree.step(at, |_| value) != tree.step(at, |_| 0.0)
                    } else {
                        (value <= threshold) != zero_goes_left
                    };
                    leaving |= u64::from(leaves) << lane;
                }
                if leaving != 0 {
                    self.pending.push((other, leaving));
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
