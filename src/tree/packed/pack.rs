//! The walk over the nodes of a tree that packs it: one pass, in reverse preorder.

use super::{LEAF, MISSING_LEFT, PackedSplit, set_word};
use crate::tree::records::{Record, Records};

/// Takes the statistics of nodes, in reverse preorder, so that children come before their parents: the left
/// child and all nodes below it directly before its parent, and before these the right child.
pub trait TakeNodes {
    /// Why the statistics of a node cannot be taken in this form.
    type Misfit;

    /// Takes a leaf. O(values).
    fn take_leaf(&mut self, leaf: usize) -> Result<(), Self::Misfit>;

    /// Takes a split. O(values).
    fn take_split(&mut self, split: usize, children: [usize; 2]) -> Result<(), Self::Misfit>;
}

/// Hands all nodes to `statistics`. Returns the splits in preorder, those of
/// categories with the numbers of their sets, unless a node does not fit. O(nodes).
pub fn pack<S: TakeNodes>(tree: &Records, statistics: &mut S) -> Result<Box<[PackedSplit]>, S::Misfit> {
    // How many splits and leaves come before the node in preorder.
    let (mut n_splits, mut n_leaves) = (tree.order.len() / 2, tree.order.len() / 2 + 1);
    let mut splits = vec![PackedSplit::default(); n_splits].into_boxed_slice();
    // The children whose parents are to come.
    let mut orphans = Vec::new();
    for node in tree.ids().rev() {
        let record = &tree.nodes[node];
        if let Some(children) = record.children() {
            statistics.take_split(node, children)?;
            let [left, right] = [orphans.pop(), orphans.pop()].map(Option::unwrap_or_default);
            n_splits -= 1;
            splits[n_splits] = packed_split(tree, record, [left, right]);
            orphans.push(n_splits as u32);
        } else {
            statistics.take_leaf(node)?;
            n_leaves -= 1;
            orphans.push(LEAF | n_leaves as u32);
        }
    }
    Ok(splits)
}

fn packed_split(tree: &Records, record: &Record, children: [u32; 2]) -> PackedSplit {
    let threshold = if tree.is_categorical(record) {
        set_word::of_number(record.threshold as usize)
    } else {
        record.threshold.to_bits()
    };
    let missing_left = if record.missing_go_left { MISSING_LEFT } else { 0 };
    PackedSplit { threshold, feature: record.feature as u32 | missing_left, children }
}
