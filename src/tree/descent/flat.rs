//! A tree laid out for rows without missing values: eight bytes a node for rows in single precision, sixteen
//! for rows in double precision, and sixteen rows side by side.
//!
//! A node is a cut, a feature and the place of its left child; the right child comes next. So a
//! step is `left + (value > cut)`, without a branch. For rows in single precision the cut of a split is its
//! threshold rounded down, which no value in single precision lies above without lying above the
//! threshold too. A leaf is its own left child, and its cut is a NaN, which no value exceeds: a row
//! that has reached its leaf stays there while the others go on. The payload of the NaN is the
//! number of the leaf. Nodes are in the order of their depths, so that the top of the tree shares
//! cache lines.
//!
//! Sixteen rows in registers hide the latency of the reads of each; a list of the rows that go on
//! costs more than the steps that it saves (`benches/notes/prediction.md`).

#![allow(unsafe_code, reason = "bounds checks double the time of a step, `benches/notes/prediction.md`")]

use std::collections::VecDeque;
use std::fmt::Debug;

use crate::tree::made::Made;

/// Rows side by side.
const LANES: usize = 16;

/// A value of a row, and a cut.
pub trait Cell: Copy + PartialOrd + Debug {
    /// The largest number of a leaf that a NaN has room for.
    const LAST_LEAF: u32;

    /// The greatest number that is not above a threshold, which is not NaN.
    fn rounded_down(threshold: f64) -> Self;
    /// The NaN that holds the number of a leaf.
    fn of_leaf(number: u32) -> Self;
    /// The number of a leaf, given its NaN.
    fn leaf(self) -> u32;
    /// The layouts for rows of this precision.
    fn layout(layouts: &Layouts) -> &Made<FlatTree<Self>>;
}

impl Cell for f32 {
    const LAST_LEAF: u32 = 0x003F_FFFF;

    fn rounded_down(threshold: f64) -> Self {
        let nearest = threshold as Self;
        if f64::from(nearest) > threshold { nearest.next_down() } else { nearest }
    }

    fn of_leaf(number: u32) -> Self {
        Self::from_bits(0x7FC0_0000 | number)
    }

    fn leaf(self) -> u32 {
        self.to_bits() & Self::LAST_LEAF
    }

    fn layout(layouts: &Layouts) -> &Made<FlatTree<Self>> {
        &layouts.singles
    }
}

impl Cell for f64 {
    const LAST_LEAF: u32 = u32::MAX;

    fn rounded_down(threshold: f64) -> Self {
        threshold
    }

    fn of_leaf(number: u32) -> Self {
        Self::from_bits(0x7FF8_0000_0000_0000 | u64::from(number))
    }

    fn leaf(self) -> u32 {
        self.to_bits() as u32
    }

    fn layout(layouts: &Layouts) -> &Made<FlatTree<Self>> {
        &layouts.doubles
    }
}

/// The layouts of a tree, each made at the first batch of rows that it is for.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Layouts {
    singles: Made<FlatTree<f32>>,
    doubles: Made<FlatTree<f64>>,
}

impl Layouts {
    pub fn n_bytes(&self) -> usize {
        self.singles.get().map_or(0, FlatTree::n_bytes) + self.doubles.get().map_or(0, FlatTree::n_bytes)
    }
}

/// A node of a tree that is to be laid out: a split, or a leaf by its number.
pub enum Node {
    Split { feature: u32, threshold: f64, children: [u32; 2] },
    Leaf(u32),
}

/// A tree laid out for rows whose values are `T`.
#[derive(Debug)]
pub struct FlatTree<T> {
    n_features: usize,
    /// The bits of [`FlatNode::word`] that hold the left child; the bits above hold the feature.
    child_bits: u32,
    nodes: Box<[FlatNode<T>]>,
}

#[derive(Debug, Clone, Copy)]
struct FlatNode<T> {
    cut: T,
    word: u32,
}

impl<T: Cell> FlatTree<T> {
    /// Lays out the tree of the node `root`. `n_nodes` is the number of its nodes. Returns nothing
    /// if the numbers of features and nodes are too large. O(nodes).
    pub fn new(n_features: usize, n_nodes: usize, root: u32, node: impl Fn(u32) -> Node) -> Option<Self> {
        let child_bits = n_features.saturating_sub(1).leading_zeros().checked_sub(usize::BITS - u32::BITS)?;
        if child_bits == 0 || n_nodes as u64 >= 1 << child_bits || n_nodes as u64 / 2 > u64::from(T::LAST_LEAF) {
            return None;
        }
        let unknown = FlatNode { cut: T::of_leaf(0), word: 0 };
        let mut nodes = Vec::with_capacity(n_nodes);
        nodes.push(unknown);
        let mut waiting = VecDeque::from([(root, 0)]);
        while let Some((id, place)) = waiting.pop_front() {
            nodes[place] = match node(id) {
                Node::Leaf(number) => FlatNode { cut: T::of_leaf(number), word: place as u32 },
                Node::Split { feature, threshold, children } => {
                    let left = nodes.len();
                    nodes.extend([unknown; 2]);
                    waiting.extend(children.into_iter().zip(left..));
                    // No feature needs bits if there is one only.
                    let feature = feature.checked_shl(child_bits).unwrap_or(0);
                    FlatNode { cut: T::rounded_down(threshold), word: feature | left as u32 }
                }
            };
        }
        Some(Self { n_features, child_bits, nodes: nodes.into() })
    }

    /// Sets `leaves` to the numbers of the leaves that rows reach. The values of row `i`, none of
    /// them NaN, begin at `starts[i]` in `cells`. O(rows * depth).
    pub fn descend(&self, cells: &[T], starts: &[usize], leaves: &mut [u32]) {
        let last = self.n_features - 1;
        assert!(starts.iter().all(|&start| start + last < cells.len()), "a row ends beyond the cells");
        let (groups, rest) = starts.as_chunks::<LANES>();
        let (group_leaves, rest_leaves) = leaves.as_chunks_mut::<LANES>();
        for (starts, leaves) in groups.iter().zip(group_leaves) {
            self.descend_together::<LANES>(cells, starts, leaves);
        }
        for (start, leaf) in rest.iter().zip(rest_leaves) {
            self.descend_together::<1>(cells, &[*start], std::array::from_mut(leaf));
        }
    }

    #[inline]
    fn descend_together<const N: usize>(&self, cells: &[T], starts: &[usize; N], leaves: &mut [u32; N]) {
        let mask = u32::MAX.checked_shr(u32::BITS - self.child_bits).unwrap_or(0);
        let mut at = [0; N];
        loop {
            let mut moved = 0;
            for lane in 0..N {
                debug_assert!((at[lane] as usize) < self.nodes.len());
                // SAFETY: the root is a node, the children of a split are nodes (`new` has pushed
                // both), and a leaf is followed by itself.
                let FlatNode { cut, word } = unsafe { *self.nodes.get_unchecked(at[lane] as usize) };
                let feature = word.checked_shr(self.child_bits).unwrap_or(0) as usize;
                let cell = starts[lane] + feature;
                debug_assert!(cell < cells.len());
                // SAFETY: features are below `n_features`, and `descend` has checked that the cell
                // of the last feature is there for each start.
                let value = unsafe { *cells.get_unchecked(cell) };
                let next = (word & mask) + u32::from(value > cut);
                moved |= next ^ at[lane];
                at[lane] = next;
            }
            if moved == 0 {
                break;
            }
        }
        *leaves = at.map(|at| self.nodes[at as usize].cut.leaf());
    }

    pub fn n_bytes(&self) -> usize {
        size_of_val(&self.nodes[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_are_rounded_down() {
        for threshold in [0.1, -0.1, 1.0 / 3.0, 1e300, -1e300, 1e-300, -1e-300, f64::INFINITY, 16_777_217.0, -0.0] {
            let cut = f32::rounded_down(threshold);
            assert!(f64::from(cut) <= threshold, "{threshold}");
            assert!(cut == f32::INFINITY || f64::from(cut.next_up()) > threshold, "{threshold}");
        }
    }

    #[test]
    fn trees_of_one_feature_or_too_many_are_told_apart() {
        let split = |id: u32| match id {
            0 => Node::Split { feature: 0, threshold: 0.5, children: [1, 2] },
            leaf => Node::Leaf(leaf - 1),
        };
        let mut leaves = [9; 3];
        let tree = FlatTree::<f32>::new(1, 3, 0, split).unwrap();
        tree.descend(&[0.5, 0.6, f32::NEG_INFINITY], &[0, 1, 2], &mut leaves);
        assert_eq!(leaves, [0, 1, 0]);
        // Above the threshold by less than single precision tells.
        let doubles = FlatTree::<f64>::new(1, 3, 0, split).unwrap();
        doubles.descend(&[0.5, 0.5 + f64::EPSILON, f64::NEG_INFINITY], &[0, 1, 2], &mut leaves);
        assert_eq!(leaves, [0, 1, 0]);
        assert!(FlatTree::<f32>::new(1 << 31, 3, 0, split).is_none());
        // Some rows end beyond the group of sixteen, and one tree is a leaf.
        let cells: Vec<f32> = (0..35).map(|i| i as f32 / 34.0).collect();
        let starts: Vec<usize> = (0..35).collect();
        let mut leaves = [9; 35];
        tree.descend(&cells, &starts, &mut leaves);
        assert!(leaves.iter().zip(&cells).all(|(&leaf, &cell)| leaf == u32::from(cell > 0.5)));
        FlatTree::<f32>::new(1, 1, 7, |_| Node::Leaf(0)).unwrap().descend(&cells, &starts, &mut leaves);
        assert_eq!(leaves, [0; 35]);
    }
}
