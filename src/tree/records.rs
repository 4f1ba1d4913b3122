//! The nodes of a whole tree as records, one after the other in any order: growth makes them, and packing and
//! unpacking work on them. Whoever visits a node finds all of it on one or two cache lines, where the arrays
//! of a [`Tree`] would take one line each.

use std::sync::Arc;

use super::sets::CategorySets;
use super::{NodeArrays, TREE_LEAF, TREE_UNDEFINED, Tree, n_values};
use crate::error::Result;

/// A node without its prediction. [`NodeArrays`] explains the fields that have no comment here.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record {
    /// The ids of the left and the right child, or [`TREE_LEAF`] twice.
    pub children: [i32; 2],
    pub feature: i32,
    pub missing_go_left: bool,
    pub run: Run,
    pub threshold: f64,
    pub impurity: f64,
    pub n_samples: i64,
    pub weight: f64,
}

/// The subtree of a node, if its nodes are known to come one after the other, in preorder: how many
/// they are (0 if that is not known), and the depth of the deepest below this node.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Run {
    pub n_nodes: u16,
    pub height: u8,
}

impl Record {
    /// A leaf without statistics.
    pub const LEAF: Self = Self {
        children: [TREE_LEAF; 2],
        feature: TREE_UNDEFINED,
        missing_go_left: false,
        run: Run { n_nodes: 0, height: 0 },
        threshold: TREE_UNDEFINED as f64,
        impurity: 0.0,
        n_samples: 0,
        weight: 0.0,
    };

    /// The ids of the children; `None` for a leaf.
    #[inline]
    pub fn children(&self) -> Option<[usize; 2]> {
        (self.children[0] != TREE_LEAF).then(|| self.children.map(|child| child as usize))
    }

    /// Turns a split into a leaf.
    pub fn make_leaf(&mut self) {
        let Self { impurity, n_samples, weight, .. } = *self;
        *self = Self { impurity, n_samples, weight, ..Self::LEAF };
    }
}

/// A whole tree, whose nodes are in any order.
#[derive(Debug)]
pub(crate) struct Records {
    pub n_features: usize,
    pub n_classes: Vec<u32>,
    /// By feature; empty if all are numeric.
    pub n_categories: Arc<[u32]>,
    /// The nodes. Node 0 is the root. The threshold of a categorical split is the number of its
    /// set.
    pub nodes: Vec<Record>,
    /// The predictions of the nodes, `n_values` values each.
    pub values: Vec<f64>,
    /// The category sets, in the preorder of their splits.
    pub sets: CategorySets,
    /// The ids of the nodes in preorder. Nodes that it leaves out are not of the tree.
    pub order: Vec<u32>,
    pub max_depth: usize,
}

impl Records {
    /// The records of a tree. O(nodes).
    pub fn of(tree: &Tree) -> Self {
        let arrays = tree.nodes();
        let record = |node: usize| Record {
            children: [arrays.children_left[node], arrays.children_right[node]],
            feature: arrays.feature[node],
            missing_go_left: arrays.missing_go_to_left[node] != 0,
            run: Run::default(),
            threshold: arrays.threshold[node],
            impurity: arrays.impurity[node],
            n_samples: arrays.n_node_samples[node],
            weight: arrays.weighted_n_node_samples[node],
        };
        Self {
            n_features: tree.n_features(),
            n_classes: tree.n_classes().to_vec(),
            n_categories: Arc::clone(tree.n_categories()),
            nodes: (0..tree.node_count()).map(record).collect(),
            values: arrays.value.clone(),
            sets: tree.category_sets().clone(),
            order: (0..tree.node_count() as u32).collect(),
            max_depth: tree.max_depth(),
        }
    }

    pub fn n_values(&self) -> usize {
        n_values(&self.n_classes)
    }

    /// The ids of the nodes in preorder.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = usize> + Clone {
        self.order.iter().map(|&node| node as usize)
    }

    /// Whether a node splits on a categorical feature.
    pub fn is_categorical(&self, node: &Record) -> bool {
        let feature = usize::try_from(node.feature).ok();
        feature.and_then(|feature| self.n_categories.get(feature)).is_some_and(|&n| n > 0)
    }

    /// Makes impurities of the gains of splits, which the nodes have in the place of impurities: the
    /// impurity of a node times its weight is what all splits from the node down gain. So the gain of a
    /// split is what the impurity decreases by, as importances and pruning expect. For log-rank
    /// statistics, pruning is then the split-complexity pruning of `LeBlanc` and Crowley ("Survival trees by
    /// goodness of split", JASA 88, 1993). O(nodes).
    pub fn fold_gains(&mut self) {
        for node in self.order.iter().rev().map(|&node| node as usize) {
            let Some(children) = self.nodes[node].children() else { continue };
            let below = children.map(|child| self.nodes[child].impurity * self.nodes[child].weight);
            let record = &mut self.nodes[node];
            record.impurity = (record.impurity + below[0] + below[1]) / record.weight;
        }
    }

    /// The tree with its arrays. O(nodes).
    pub fn into_tree(self) -> Result<Tree> {
        let n_values = self.n_values();
        let Self { n_features, n_classes, n_categories, nodes, values, sets, order, .. } = self;
        let mut new_ids = vec![TREE_LEAF; nodes.len()];
        for (new, &old) in (0..).zip(&order) {
            new_ids[old as usize] = new;
        }
        let mut arrays = NodeArrays::with_room(order.len(), order.len().saturating_mul(n_values))?;
        for node in order.iter().map(|&node| node as usize) {
            let Record { children, feature, missing_go_left, threshold, impurity, n_samples, weight, .. } = nodes[node];
            let [left, right] = children.map(|child| if child == TREE_LEAF { child } else { new_ids[child as usize] });
            arrays.children_left.push(left);
            arrays.children_right.push(right);
            arrays.feature.push(feature);
            arrays.threshold.push(threshold);
            arrays.missing_go_to_left.push(missing_go_left.into());
            arrays.impurity.push(impurity);
            arrays.n_node_samples.push(n_samples);
            arrays.weighted_n_node_samples.push(weight);
            arrays.value.extend(&values[node * n_values..][..n_values]);
        }
        Tree::with_categories(n_features, n_classes, arrays, n_categories, sets)
    }
}

/// The ids of the nodes that can be reached from node 0, in preorder, and the depth of the deepest.
/// O(nodes).
pub(super) fn preorder(nodes: &[Record]) -> (Vec<u32>, usize) {
    let mut order = Vec::with_capacity(nodes.len());
    let (mut max_depth, mut waiting) = (0, vec![(0u32, 0)]);
    while let Some((mut node, mut depth)) = waiting.pop() {
        loop {
            let record = &nodes[node as usize];
            let Run { n_nodes, height } = record.run;
            if n_nodes > 0 {
                order.extend(node..node + u32::from(n_nodes));
                depth += usize::from(height);
                break;
            }
            order.push(node);
            let Some([left, right]) = record.children() else { break };
            depth += 1;
            waiting.push((right as u32, depth));
            node = left as u32;
        }
        max_depth = max_depth.max(depth);
    }
    (order, max_depth)
}
