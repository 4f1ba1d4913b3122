//! A tree in a fifth of the memory of its arrays: what they can be computed from, bit for bit.
//!
//! Splits are records of 20 bytes that a traversal reads in one go. Node ids are not stored: in
//! preorder a split comes after as many leaves as lie to the left of its path, and these can be
//! counted on the way. The statistics of nodes are bytes (`shares`, `numbers`) that are read when
//! the tree is unpacked: those of splits follow from those of leaves, but for what is rounded.
//! Nothing is lost. O(nodes) in both directions. `parts` writes and reads packed trees as bytes.
//!
//! The split of a categorical feature has a NaN for a threshold (`set_word`): no comparison holds
//! then, so numeric splits pay one branch that is never taken, and nothing in memory.

mod bytes;
mod numbers;
mod pack;
mod parts;
mod set_bytes;
mod set_word;
mod shares;

use std::sync::Arc;

use numbers::Numbers;
pub use parts::{Entry, Fault, Parts, Shape};
use shares::Shares;

use super::descent::clusters::Clusters;
use super::descent::flat::{Cell, FlatTree, Layouts, Node};
use super::descent::split_view::{AT_LEAF as LEAF, SplitView};
use super::descent::walk::Walk;
use super::descent::zero_ways::Ways;
use super::leaves::MadeLeafShares;
use super::made::Made;
use super::records::{Record, Records};
use super::sets::CategorySets;
use super::{Tree, n_values};
use crate::error::Result;

/// In a feature: missing values go left.
const MISSING_LEFT: u32 = 1 << 31;

/// A decision tree, packed. Immutable. A clone lacks what predictions have made.
#[derive(Debug, Clone, PartialEq)]
pub struct PackedTree {
    n_features: usize,
    n_classes: Vec<u32>,
    max_depth: usize,
    /// In preorder, as everything here.
    splits: Box<[PackedSplit]>,
    statistics: NodeStatistics,
    /// By feature; empty if all are numeric.
    n_categories: Arc<[u32]>,
    /// The sets of categories that are not small, in the order of their splits.
    sets: Box<[u64]>,
    /// What the leaves predict, made at the first prediction.
    leaves: MadeLeafShares,
    /// The tree laid out for rows without missing values.
    layouts: Layouts,
    /// The tree as clusters, made at the first batch for which that pays.
    clusters: Made<Clusters>,
    /// The ways of rows without entries, made at the first batch of sparse rows for which that
    /// pays.
    ways: Made<Ways>,
}

/// Aligned to four bytes, so that there is no padding.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[repr(C, packed(4))]
struct PackedSplit {
    /// The bits of the threshold, or of a set: by them, not by its value, splits are equal.
    threshold: u64,
    /// With [`MISSING_LEFT`].
    feature: u32,
    children: [u32; 2],
}

impl PackedSplit {
    #[inline]
    fn threshold(&self) -> f64 {
        f64::from_bits(self.threshold)
    }

    #[inline]
    fn missing_go_left(&self) -> bool {
        self.feature & MISSING_LEFT != 0
    }

    #[inline]
    fn feature(&self) -> u32 {
        self.feature & !MISSING_LEFT
    }

    #[inline]
    fn is_categorical(&self) -> bool {
        self.threshold().is_nan()
    }
}

/// The statistics of nodes, which prediction does not need to find the way of a row.
#[derive(Debug, Clone, PartialEq)]
enum NodeStatistics {
    Shares(Shares),
    Numbers(Numbers),
}

impl PackedTree {
    /// Packs a tree, the weights of whose nodes are probably multiples of `unit`.
    pub fn new(tree: &Tree, unit: f64) -> Self {
        Self::of(&Records::of(tree), unit)
    }

    /// Packs a tree of records.
    pub(crate) fn of(tree: &Records, unit: f64) -> Self {
        let is_of_shares = tree.n_classes.iter().any(|&n| n > 1);
        let shares = if is_of_shares { Shares::pack(tree, unit) } else { None };
        let (mut splits, statistics) = if let Some((splits, shares)) = shares {
            (splits, NodeStatistics::Shares(shares))
        } else {
            let (splits, numbers) = Numbers::pack(tree, unit);
            (splits, NodeStatistics::Numbers(numbers))
        };
        let mut sets = CategorySets::default();
        if !tree.sets.is_empty() {
            for split in splits.iter_mut().filter(|split| split.is_categorical()) {
                split.threshold = set_word::word(tree.sets.get(set_word::number(split.threshold)), &mut sets);
            }
        }
        Self {
            n_features: tree.n_features,
            n_classes: tree.n_classes.clone(),
            max_depth: tree.max_depth,
            splits,
            statistics,
            n_categories: Arc::clone(&tree.n_categories),
            sets: sets.words().into(),
            leaves: MadeLeafShares::default(),
            layouts: Layouts::default(),
            clusters: Made::default(),
            ways: Made::default(),
        }
    }

    /// The tree with all its arrays.
    pub fn unpack(&self) -> Result<Tree> {
        let n = self.node_count();
        let mut nodes = vec![Record::LEAF; n];
        let mut sets = CategorySets::default();
        // Nodes in preorder; with a right child its parent.
        let mut pending = vec![(self.root(), None::<usize>)];
        for id in 0..n {
            let Some((child, parent)) = pending.pop() else { break };
            if let Some(parent) = parent {
                nodes[parent].children[1] = id as i32;
            }
            if let Some(split) = self.splits.get(child as usize) {
                let node = &mut nodes[id];
                node.children[0] = id as i32 + 1;
                node.feature = split.feature() as i32;
                node.threshold = split.threshold();
                if split.is_categorical() {
                    node.threshold = sets.push(set_word::view(split.threshold, &self.sets)) as f64;
                }
                node.missing_go_left = split.missing_go_left();
                pending.push((split.children[1], Some(id)));
                pending.push((split.children[0], None));
            }
        }
        let mut tree = Records {
            n_features: self.n_features,
            n_classes: self.n_classes.clone(),
            n_categories: Arc::clone(&self.n_categories),
            nodes,
            values: Vec::new(),
            sets,
            order: (0..n as u32).collect(),
            max_depth: self.max_depth,
        };
        match &self.statistics {
            NodeStatistics::Numbers(numbers) => numbers.add_to(&mut tree)?,
            NodeStatistics::Shares(shares) => shares.add_to(&mut tree)?,
        }
        tree.into_tree()
    }

    /// Number of features of the training data.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// Number of classes of each output; 1 for regression.
    pub fn n_classes(&self) -> &[u32] {
        &self.n_classes
    }

    /// The number of categories of each feature, 0 of a numeric one; empty if all are numeric.
    pub fn n_categories(&self) -> &[u32] {
        &self.n_categories
    }

    /// Values per prediction: outputs times classes of the output that has most.
    pub fn n_values(&self) -> usize {
        n_values(&self.n_classes)
    }

    /// The feature of each split, in preorder.
    pub fn features(&self) -> impl Iterator<Item = u32> + '_ {
        self.splits.iter().map(PackedSplit::feature)
    }

    /// Depth of the deepest leaf.
    pub fn max_depth(&self) -> usize {
        self.max_depth
    }

    /// Number of nodes.
    pub fn node_count(&self) -> usize {
        2 * self.splits.len() + 1
    }

    /// The number of bytes that the tree holds.
    pub fn n_bytes(&self) -> usize {
        let statistics = match &self.statistics {
            NodeStatistics::Shares(shares) => shares.records.len() + shares.impurities.len(),
            NodeStatistics::Numbers(numbers) => size_of_val(&numbers.values[..]) + numbers.records.len(),
        };
        let categories = size_of_val(&self.sets[..]) + size_of_val(&self.n_categories[..]);
        size_of::<Self>()
            + size_of_val(&self.splits[..])
            + statistics
            + categories
            + self.leaves.n_bytes()
            + self.layouts.n_bytes()
            + self.clusters.get().map_or(0, Clusters::n_bytes)
            + self.ways.get().map_or(0, Ways::n_bytes)
    }

    #[inline]
    fn goes_left(&self, split: &PackedSplit, value: f64) -> bool {
        let threshold = split.threshold();
        if value.is_nan() || threshold.is_nan() {
            self.goes_left_without_threshold(split, value)
        } else {
            value <= threshold
        }
    }

    /// Whether a value goes left that is missing, or of a categorical feature.
    #[inline]
    fn goes_left_without_threshold(&self, split: &PackedSplit, value: f64) -> bool {
        if value.is_nan() {
            return split.missing_go_left();
        }
        set_word::goes_left(split.threshold, &self.sets, value)
    }
}

/// A position is a child: a leaf by its number among leaves, with the bit [`LEAF`], or a split by
/// its number among splits.
impl Walk for PackedTree {
    const HOLDS_SETS: bool = true;

    #[inline]
    fn root(&self) -> u32 {
        if self.splits.is_empty() { LEAF } else { 0 }
    }

    #[inline]
    fn split(&self, at: u32) -> SplitView<'_> {
        let split = &self.splits[at as usize];
        SplitView {
            feature: split.feature(),
            threshold: split.threshold(),
            set: split.is_categorical().then(|| set_word::view(split.threshold, &self.sets)),
            missing_go_left: split.missing_go_left(),
            children: split.children,
        }
    }

    #[inline]
    fn step(&self, at: u32, value: impl Fn(u32) -> f64) -> u32 {
        let split = &self.splits[at as usize];
        split.children[usize::from(!self.goes_left(split, value(split.feature())))]
    }

    #[inline]
    fn step_by_bits(&self, at: u32, value: impl Fn(u32) -> f64, bit: impl Fn(u32) -> u64) -> u32 {
        let split = &self.splits[at as usize];
        let (feature, word) = (split.feature(), split.threshold);
        let value = value(feature);
        let goes_left = if value.is_nan() || set_word::is_looked_up(word) {
            self.goes_left_without_threshold(split, value)
        } else {
            // Without a branch: the bit of a number is 0, and no number is at most a set.
            (value <= split.threshold()) | (bit(feature) & word != 0)
        };
        split.children[usize::from(!goes_left)]
    }

    fn flat<T: Cell>(&self) -> Option<&FlatTree<T>> {
        T::layout(&self.layouts).get_or_make(|| {
            if !self.n_categories.is_empty() {
                return None;
            }
            FlatTree::new(self.n_features, self.node_count(), self.root(), |at| match self.splits.get(at as usize) {
                Some(split) => {
                    Node::Split { feature: split.feature(), threshold: split.threshold(), children: split.children }
                }
                None => Node::Leaf(at & !LEAF),
            })
        })
    }

    fn n_leaves(&self) -> usize {
        self.splits.len() + 1
    }

    fn n_categories(&self) -> &[u32] {
        &self.n_categories
    }

    fn leaf_ids(&self) -> Option<Vec<u32>> {
        let mut ids = Vec::with_capacity(self.n_leaves());
        let mut pending = vec![self.root()];
        // Nodes in preorder, in which leaves are numbered.
        for id in 0.. {
            let Some(at) = pending.pop() else { break };
            match self.splits.get(at as usize) {
                Some(split) => pending.extend([split.children[1], split.children[0]]),
                None => ids.push(id),
            }
        }
        Some(ids)
    }

    fn clusters(&self, n_rows: usize) -> Option<&Clusters> {
        self.clusters.for_batch(self.splits.len(), n_rows, || {
            // In preorder, children come after their parents.
            Clusters::new(self.n_features, &self.n_categories, self.splits.len(), self.root(), |id| {
                ((id as usize) < self.splits.len()).then(|| self.split(id))
            })
        })
    }

    fn ways(&self, n_rows: usize) -> Option<&Ways> {
        self.ways.for_batch(self.splits.len(), n_rows, || {
            let shape = (self.root(), self.splits.len() + 1, self.n_features);
            Some(Ways::new(shape, |at| self.split(at), |at| self.step(at, |_| 0.0)))
        })
    }

    #[inline]
    fn add_values(&self, leaves: &[u32], sums: &mut [f64]) {
        match &self.statistics {
            NodeStatistics::Numbers(numbers) => numbers.add_values(leaves, sums),
            NodeStatistics::Shares(shares) => {
                let (n_leaves, n_outputs) = (self.n_leaves(), self.n_classes.len());
                let make = || shares.leaf_shares(n_leaves, n_outputs, self.n_values() / n_outputs);
                self.leaves.get_or_make(make).add(leaves, sums);
            }
        }
    }

    #[inline]
    fn descend(&self, value: impl Fn(u32) -> f64, mut pass: impl FnMut(usize)) -> usize {
        let mut at = self.root();
        // Leaves that come before the node in preorder.
        let mut n_leaves = 0;
        let mut id = 0;
        while at & LEAF == 0 {
            pass(id);
            let split = &self.splits[at as usize];
            let goes_left = self.goes_left(split, value(split.feature()));
            let child = split.children[usize::from(!goes_left)];
            if goes_left {
                id += 1;
            } else {
                // A tree of k splits has k + 1 leaves: so has the one that is passed over.
                let passed = if child & LEAF == 0 { child - at } else { (child & !LEAF) - n_leaves };
                n_leaves += passed;
                id += 2 * passed as usize;
            }
            at = child;
        }
        pass(id);
        id
    }
}
