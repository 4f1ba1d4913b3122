//! A part of a tree while it grows. Depth-first and best-first growth record their nodes in it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::expand::Split;
use super::facts::NodeFacts;
use crate::data::Dataset;
use crate::error::Result;
use crate::tree::builder::TreeBuilder;
use crate::tree::records::Records;
use crate::tree::sets::Rule;

/// A part of a tree: its nodes, and the splits that these do not have yet.
pub struct Part {
    pub nodes: TreeBuilder,
    splits: Vec<(usize, Split)>,
}

impl Part {
    /// Makes a part without nodes, whose nodes will predict `n_values` values each.
    pub fn new(n_values: usize) -> Self {
        Self { nodes: TreeBuilder::new(n_values), splits: Vec::new() }
    }

    /// Adds a node as a leaf and returns its id. `weight_unit` is the weight that the integer 1
    /// stands for. `parent` is the id of the node's parent, and
    /// the place of the node among its children: 0 on the left, 1 on the right.
    pub fn add(&mut self, weight_unit: f64, node: &impl NodeFacts, parent: Option<(usize, usize)>) -> Result<usize> {
        let weight = node.weight() as f64 * weight_unit;
        let (id, value) = self.nodes.add(node.impurity(), node.samples().len(), weight)?;
        node.write_value(value);
        if let Some((parent, place)) = parent {
            self.nodes.link(parent, place, id);
        }
        Ok(id)
    }

    /// Takes the split of a node.
    pub fn keep(&mut self, node: usize, split: Split) {
        if split.gain() > 0.0 {
            self.nodes.set_gain(node, split.gain());
        }
        match split.known_threshold() {
            Some(threshold) => {
                let (feature, missing_go_left) = (split.feature(), split.missing_go_left());
                self.nodes.split(node, feature, Rule::Threshold(threshold), missing_go_left);
            }
            None => self.splits.push((node, split)),
        }
    }

    /// Moves the nodes of another part behind the nodes of this one. Returns the new id of the
    /// first of them.
    pub fn append(&mut self, other: &mut Self) -> Result<usize> {
        let offset = self.nodes.append(&mut other.nodes)?;
        self.splits.extend(other.splits.drain(..).map(|(node, split)| (offset + node, split)));
        Ok(offset)
    }

    /// The whole tree, if this part holds all nodes. Leaves the part without nodes.
    pub fn finish(&mut self, data: &Dataset, n_classes: Vec<u32>) -> Records {
        // Thresholds that have to be looked up are so at the end, together: each costs two cache misses, and
        // the misses of several look-ups overlap.
        for (node, split) in self.splits.drain(..) {
            let (feature, missing_go_left) = (split.feature(), split.missing_go_left());
            self.nodes.split(node, feature, split.rule(data), missing_go_left);
        }
        self.nodes.finish(data.n_features(), n_classes, Arc::clone(data.n_categories()))
    }
}

/// Parts without nodes, whose memory the next trees of a forest use. To give it back and to ask for
/// it anew for each tree takes up to a sixth of the time of a tree of 20,000 rows (page faults).
#[derive(Default)]
pub struct SpareParts(Mutex<Vec<Part>>);

impl SpareParts {
    /// A spare part, or a new one, whose nodes will predict `n_values` values each. All parts must
    /// have the same `n_values`.
    pub fn take(&self, n_values: usize) -> Part {
        self.lock().pop().unwrap_or_else(|| Part::new(n_values))
    }

    /// Keeps a part that has no nodes.
    pub fn keep(&self, part: Part) {
        self.lock().push(part);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Part>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
