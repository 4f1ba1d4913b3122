//! A part of a tree while it grows. Depth-first and best-first growth record their nodes in it.

use std::sync::Arc;

use super::expand::Split;
use super::facts::NodeFacts;
use crate::data::Dataset;
use crate::error::Result;
use crate::tree::Tree;
use crate::tree::builder::{NodeRecord, TreeBuilder};

/// A part of a tree: its nodes, and the splits of those that are split so far.
pub struct Part {
    pub nodes: TreeBuilder,
    pub splits: Vec<(usize, Split)>,
}

impl Part {
    /// Makes a part without nodes, whose nodes will predict `n_values` values each.
    pub fn new(n_values: usize) -> Self {
        Self { nodes: TreeBuilder::new(n_values), splits: Vec::new() }
    }

    /// Adds a node as a leaf and returns its id. `weight_unit` is the weight that the integer 1
    /// stands for. `parent` is the id of the node's parent, and
    /// whether the node is the left child.
    pub fn add(&mut self, weight_unit: f64, node: &impl NodeFacts, parent: Option<(usize, bool)>) -> Result<usize> {
        let (id, value) = self.nodes.add(&NodeRecord {
            impurity: node.impurity(),
            n_samples: node.samples().len(),
            weight: node.weight() as f64 * weight_unit,
        })?;
        node.write_value(value);
        if let Some((parent, is_left)) = parent {
            self.nodes.link(parent, is_left, id);
        }
        Ok(id)
    }

    /// Adds the nodes of another part behind the nodes of this one. Returns the new id of the first
    /// added node.
    pub fn append(&mut self, other: Self) -> Result<usize> {
        let offset = self.nodes.append(other.nodes)?;
        if offset == 0 {
            self.splits = other.splits;
        } else {
            self.splits.extend(other.splits.into_iter().map(|(node, split)| (offset + node, split)));
        }
        Ok(offset)
    }

    /// Makes the tree, if this part holds all nodes.
    pub fn finish(self, data: &Dataset, n_classes: Vec<u32>) -> Result<Tree> {
        let Self { mut nodes, splits } = self;
        // All thresholds are looked up at the end, together: each costs two cache misses, and the
        // misses of several look-ups overlap.
        for (node, split) in splits {
            let (feature, missing_go_left) = (split.feature(), split.missing_go_left());
            nodes.split(node, feature, split.rule(data), missing_go_left);
        }
        nodes.finish(data.n_features(), n_classes, Arc::clone(data.n_categories()))
    }
}
