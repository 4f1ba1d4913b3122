//! The nodes of a tree while it grows, numbered in the order in which they are reached.

use std::mem;
use std::sync::Arc;

use super::records::{Record, Records, Run, preorder};
use super::sets::{CategorySet, CategorySets, Rule};
use super::{MAX_NODES, TREE_LEAF, VALUES, any_categories};
use crate::error::{Error, Result};
use crate::memory;

/// Collects nodes in the order of growth. [`finish`](Self::finish) finds their preorder.
#[derive(Debug)]
pub(crate) struct TreeBuilder {
    n_values: usize,
    nodes: Vec<Record>,
    values: Vec<f64>,
    /// Category sets, each with the id of the node that splits by it; in the order of the splits.
    sets: Vec<(usize, CategorySet)>,
}

/// Number of nodes for which a new builder reserves room. Arrays that grow step by step would
/// take a tenth of the time of a tree of the iris data.
const FIRST_NODES: usize = 64;

impl TreeBuilder {
    pub fn new(n_values: usize) -> Self {
        let values = Vec::with_capacity(FIRST_NODES * n_values.min(8));
        Self { n_values, nodes: Vec::with_capacity(FIRST_NODES), values, sets: Vec::new() }
    }

    /// Adds a leaf. Returns its id, and the slice into which the caller writes what the leaf
    /// predicts.
    pub fn add(&mut self, impurity: f64, n_samples: usize, weight: f64) -> Result<(usize, &mut [f64])> {
        let id = self.nodes.len();
        if id >= MAX_NODES {
            return Err(Error::TooLarge { what: "the number of nodes", limit: MAX_NODES as u64, got: id as u64 + 1 });
        }
        self.nodes.push(Record { impurity, n_samples: n_samples as i64, weight, ..Record::LEAF });
        let start = self.values.len();
        if self.n_values == 1 {
            self.values.push(0.0);
        } else {
            memory::make_room(VALUES, &mut self.values, self.n_values)?;
            self.values.resize(start + self.n_values, 0.0);
        }
        Ok((id, &mut self.values[start..]))
    }

    /// Turns a leaf into a split. [`link`](Self::link) adds its children later.
    pub fn split(&mut self, node: usize, feature: u32, rule: Rule<'_>, missing_go_left: bool) {
        let record = &mut self.nodes[node];
        record.feature = feature as i32;
        record.missing_go_left = missing_go_left;
        match rule {
            Rule::Threshold(threshold) => record.threshold = threshold,
            Rule::Categories(set) => self.sets.push((node, set.clone())),
        }
    }

    /// Sets what the split of a node gains, in the place of its impurity. [`Records::fold_gains`] makes
    /// impurities of gains when the tree is whole.
    pub fn set_gain(&mut self, node: usize, gain: f64) {
        self.nodes[node].impurity = gain;
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Notes that the nodes from `first` on are a subtree of this height, in preorder.
    pub fn mark_preorder(&mut self, first: usize, height: u64) {
        let run = (u16::try_from(self.nodes.len() - first), u8::try_from(height));
        if let (Some(node), (Ok(n_nodes), Ok(height))) = (self.nodes.get_mut(first), run) {
            node.run = Run { n_nodes, height };
        }
    }

    /// Makes `child` the left (0) or the right (1) child of `parent`.
    pub fn link(&mut self, parent: usize, place: usize, child: usize) {
        self.nodes[parent].children[place] = child as i32;
    }

    /// Takes back the memory of a tree that was [finished](Self::finish), for the next one.
    pub fn reuse(&mut self, tree: Records) {
        (self.nodes, self.values) = (tree.nodes, tree.values);
        self.nodes.clear();
        self.values.clear();
    }

    /// Moves the nodes of another part of the tree behind the nodes of this one. Returns the new id
    /// of the first of them.
    pub fn append(&mut self, part: &mut Self) -> Result<usize> {
        let offset = self.nodes.len();
        let n = offset + part.nodes.len();
        if n > MAX_NODES {
            return Err(Error::TooLarge { what: "the number of nodes", limit: MAX_NODES as u64, got: n as u64 });
        }
        // The sibling of a child may be in a part that is not linked yet.
        let children = part.nodes.iter_mut().flat_map(|node| &mut node.children);
        children.filter(|child| **child != TREE_LEAF).for_each(|child| *child += offset as i32);
        self.nodes.append(&mut part.nodes);
        memory::make_room(VALUES, &mut self.values, part.values.len())?;
        self.values.append(&mut part.values);
        self.sets.extend(part.sets.drain(..).map(|(node, set)| (offset + node, set)));
        Ok(offset)
    }

    /// The whole tree, if all of its nodes are here. Leaves the builder without nodes. O(nodes).
    pub fn finish(&mut self, n_features: usize, n_classes: Vec<u32>, n_categories: Arc<[u32]>) -> Records {
        let (mut nodes, values) = (mem::take(&mut self.nodes), mem::take(&mut self.values));
        let mut sets_of_nodes = mem::take(&mut self.sets);
        let (order, max_depth) = preorder(&nodes);
        let mut sets = CategorySets::default();
        if !sets_of_nodes.is_empty() {
            let mut positions = vec![0; nodes.len()];
            for (position, &node) in (0u32..).zip(&order) {
                positions[node as usize] = position;
            }
            sets_of_nodes.sort_unstable_by_key(|&(node, _)| positions[node]);
            for (node, set) in sets_of_nodes {
                nodes[node].threshold = sets.push(set.view()) as f64;
            }
        }
        let n_categories = any_categories(n_categories);
        Records { n_features, n_classes, n_categories, nodes, values, sets, order, max_depth }
    }
}
