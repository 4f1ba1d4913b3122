//! The nodes of a tree while it grows, numbered in the order in which they are reached.

use std::sync::Arc;

use super::sets::{CategorySet, CategorySets, Rule};
use super::{MAX_NODES, NodeArrays, TREE_LEAF, TREE_UNDEFINED, Tree};
use crate::error::{Error, Result};

/// Collects nodes in the order of growth. [`finish`](Self::finish) renumbers them in preorder.
#[derive(Debug)]
pub(crate) struct TreeBuilder {
    n_values: usize,
    nodes: NodeArrays,
    /// Category sets, each with the id of the node that splits by it; in the order of the splits.
    sets: Vec<(usize, CategorySet)>,
}

/// Number of nodes for which a new builder reserves room. Nine arrays that grow step by step would
/// take a tenth of the time of a tree of the iris data.
const FIRST_NODES: usize = 64;

/// The record of a node when it is reached, before it is known whether the node will be split.
pub(crate) struct NodeRecord {
    pub impurity: f64,
    pub n_samples: usize,
    pub weight: f64,
}

impl TreeBuilder {
    pub fn new(n_values: usize) -> Self {
        let nodes = NodeArrays::with_capacity(FIRST_NODES, FIRST_NODES * n_values.min(8));
        Self { n_values, nodes, sets: Vec::new() }
    }

    /// Adds a leaf. Returns its id, and the slice into which the caller writes what the leaf
    /// predicts.
    pub fn add(&mut self, record: &NodeRecord) -> Result<(usize, &mut [f64])> {
        let nodes = &mut self.nodes;
        let id = nodes.feature.len();
        if id >= MAX_NODES {
            return Err(Error::TooLarge { what: "the number of nodes", limit: MAX_NODES as u64, got: id as u64 + 1 });
        }
        nodes.children_left.push(TREE_LEAF);
        nodes.children_right.push(TREE_LEAF);
        nodes.feature.push(TREE_UNDEFINED);
        nodes.threshold.push(f64::from(TREE_UNDEFINED));
        nodes.missing_go_to_left.push(0);
        nodes.impurity.push(record.impurity);
        nodes.n_node_samples.push(record.n_samples as i64);
        nodes.weighted_n_node_samples.push(record.weight);
        nodes.value.resize((id + 1) * self.n_values, 0.0);
        Ok((id, &mut nodes.value[id * self.n_values..]))
    }

    /// Turns a leaf into a split. [`link`](Self::link) adds its children later.
    pub fn split(&mut self, node: usize, feature: u32, rule: Rule<'_>, missing_go_left: bool) {
        self.nodes.feature[node] = feature as i32;
        match rule {
            Rule::Threshold(threshold) => self.nodes.threshold[node] = threshold,
            Rule::Categories(set) => self.sets.push((node, set.clone())),
        }
        self.nodes.missing_go_to_left[node] = missing_go_left.into();
    }

    /// Makes `child` the left or the right child of `parent`.
    pub fn link(&mut self, parent: usize, is_left: bool, child: usize) {
        let children = if is_left { &mut self.nodes.children_left } else { &mut self.nodes.children_right };
        children[parent] = child as i32;
    }

    /// Adds the nodes of another part of the tree behind the nodes of this one. Returns the new id
    /// of the first added node.
    pub fn append(&mut self, mut part: Self) -> Result<usize> {
        let offset = self.nodes.feature.len();
        let n = offset + part.nodes.feature.len();
        if n > MAX_NODES {
            return Err(Error::TooLarge { what: "the number of nodes", limit: MAX_NODES as u64, got: n as u64 });
        }
        self.sets.extend(part.sets.into_iter().map(|(node, set)| (offset + node, set)));
        if offset == 0 {
            self.nodes = part.nodes;
            return Ok(0);
        }
        let children = part.nodes.children_left.iter_mut().chain(&mut part.nodes.children_right);
        children.filter(|child| **child != TREE_LEAF).for_each(|child| *child += offset as i32);
        self.nodes.append(part.nodes);
        Ok(offset)
    }

    pub fn finish(self, n_features: usize, n_classes: Vec<u32>, n_categories: Arc<[u32]>) -> Result<Tree> {
        let Self { n_values, nodes, sets: mut sets_of_nodes } = self;
        let (mut nodes, new_id) = in_preorder(&nodes, n_values, |_| false);
        sets_of_nodes.sort_unstable_by_key(|&(old, _)| new_id[old]);
        let mut sets = CategorySets::default();
        for (old, set) in sets_of_nodes {
            nodes.threshold[new_id[old] as usize] = sets.push(set.view()) as f64;
        }
        Tree::with_categories(n_features, n_classes, nodes, n_categories, sets)
    }
}

/// Returns the nodes that can be reached from the root, in preorder. Those for which `becomes_leaf`
/// holds are leaves. Also returns the new id of each of these nodes, by its old one.
pub(super) fn in_preorder(
    old: &NodeArrays,
    n_values: usize,
    becomes_leaf: impl Fn(usize) -> bool,
) -> (NodeArrays, Vec<i32>) {
    let is_leaf = |node: usize| old.children_left[node] == TREE_LEAF || becomes_leaf(node);
    // order[new] = old
    let mut order = Vec::with_capacity(old.feature.len());
    let mut new_id = vec![TREE_LEAF; old.feature.len()];
    let mut stack = vec![0usize];
    while let Some(node) = stack.pop() {
        new_id[node] = order.len() as i32;
        order.push(node);
        if !is_leaf(node) {
            stack.push(old.children_right[node] as usize);
            stack.push(old.children_left[node] as usize);
        }
    }
    let mut nodes = old.picked(&order, n_values);
    for (new, &node) in order.iter().enumerate() {
        if is_leaf(node) {
            (nodes.children_left[new], nodes.children_right[new]) = (TREE_LEAF, TREE_LEAF);
            (nodes.feature[new], nodes.threshold[new]) = (TREE_UNDEFINED, f64::from(TREE_UNDEFINED));
            nodes.missing_go_to_left[new] = 0;
        } else {
            nodes.children_left[new] = new_id[old.children_left[node] as usize];
            nodes.children_right[new] = new_id[old.children_right[node] as usize];
        }
    }
    (nodes, new_id)
}
