//! A grown tree: flat immutable arrays, one entry per node, with scikit-learn's names and meanings.
//!
//! Nodes are numbered in preorder, left child first, whatever the order in which they were grown: the parent comes
//! before its children, `children_left[i] == i + 1`. That is an invariant of the type; arrays from outside are checked
//! for it, so a traversal always ends.
//!
//! The split of a categorical feature has, in the place of its threshold, the number of its [set](crate::tree::sets), in the
//! order of the nodes. Trees without such features hold nothing for them.

mod importance;
pub mod packed;
pub(crate) mod predict;
mod prune;
pub mod sets;

use std::sync::Arc;

use crate::error::{Error, Result};
pub use predict::Leaf;
use sets::{CategorySet, CategorySets, Rule, SetView};

/// In `children_left` and `children_right`: the node is a leaf.
pub const TREE_LEAF: i32 = -1;
/// In `feature` and `threshold`: the node is a leaf.
pub const TREE_UNDEFINED: i32 = -2;
/// Node ids are `i32`.
const MAX_NODES: usize = i32::MAX as usize;

/// The arrays of a tree. All have one entry per node, `value` has [`n_values`](Tree::n_values) per node.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NodeArrays {
    /// Left child, or [`TREE_LEAF`].
    pub children_left: Vec<i32>,
    /// Right child, or [`TREE_LEAF`].
    pub children_right: Vec<i32>,
    /// The feature of the split, or [`TREE_UNDEFINED`].
    pub feature: Vec<i32>,
    /// Rows with a value up to this go left; of a categorical feature, the number of the split's set.
    pub threshold: Vec<f64>,
    /// Whether missing values go left.
    pub missing_go_to_left: Vec<u8>,
    /// Impurity: Gini impurity, bits, or variance; mean over outputs.
    pub impurity: Vec<f64>,
    /// Training rows with a weight above 0.
    pub n_node_samples: Vec<i64>,
    /// Their weight.
    pub weighted_n_node_samples: Vec<f64>,
    /// Class shares or means, row-major `(node_count, n_outputs, max_n_classes)`.
    pub value: Vec<f64>,
}

/// A decision tree. Immutable.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    n_features: usize,
    n_classes: Vec<u32>,
    max_depth: usize,
    n_leaves: usize,
    nodes: NodeArrays,
    /// By feature; empty if all are numeric.
    n_categories: Arc<[u32]>,
    sets: CategorySets,
}

impl Tree {
    /// A tree over numeric features from its arrays, which must be consistent and in preorder.
    pub fn new(n_features: usize, n_classes: Vec<u32>, nodes: NodeArrays) -> Result<Self> {
        Self::with_categories(n_features, n_classes, nodes, Arc::default(), CategorySets::default())
    }

    /// The same with features that have this number of categories, or are numeric where it is 0, or all if it is empty; and
    /// the sets of the splits on these, in their order.
    pub fn with_categories(
        n_features: usize,
        n_classes: Vec<u32>,
        nodes: NodeArrays,
        n_categories: Arc<[u32]>,
        sets: CategorySets,
    ) -> Result<Self> {
        let illegal = |got: String, expected: &str| {
            Err(Error::InvalidArgument { name: "the tree's state", got, expected: expected.into() })
        };
        let n = nodes.children_left.len();
        let n_values = n_values(&n_classes);
        let lengths = [
            nodes.children_right.len(),
            nodes.feature.len(),
            nodes.threshold.len(),
            nodes.missing_go_to_left.len(),
            nodes.impurity.len(),
            nodes.n_node_samples.len(),
            nodes.weighted_n_node_samples.len(),
        ];
        if n == 0 || n > MAX_NODES || n_values == 0 || lengths != [n; 7] || nodes.value.len() != n * n_values {
            return illegal(
                format!("{n} nodes, arrays of {lengths:?} and {} values", nodes.value.len()),
                "arrays of one entry per node",
            );
        }
        if !n_categories.is_empty() && n_categories.len() != n_features {
            return illegal(format!("{} numbers of categories", n_categories.len()), "a number per feature, or none");
        }
        // All numeric is one state, not two.
        let is_numeric = n_categories.iter().all(|&n| n == 0);
        let n_categories = if is_numeric { Arc::default() } else { n_categories };
        let mut n_sets = 0;
        // In preorder a left child comes next, and after a leaf the last right child that still waits.
        let mut waiting = Vec::new();
        let (mut depth, mut max_depth, mut n_leaves) = (0, 0, 0);
        for node in 0..n {
            let (left, right) = (nodes.children_left[node], nodes.children_right[node]);
            let next = node + 1;
            if left == TREE_LEAF && right == TREE_LEAF {
                n_leaves += 1;
                max_depth = max_depth.max(depth);
                match waiting.pop() {
                    Some((child, child_depth)) if next < n && child as usize == next => depth = child_depth,
                    None if next == n => {}
                    _ => return illegal(format!("node {next} after leaf {node}"), "a tree in preorder"),
                }
                continue;
            }
            let feature = usize::try_from(nodes.feature[node]).ok();
            if left as usize != next || feature.is_none_or(|feature| feature >= n_features) {
                return illegal(
                    format!("left child {left} and feature {} at node {node}", nodes.feature[node]),
                    "in preorder, with features in range",
                );
            }
            let threshold = nodes.threshold[node];
            match n_categories.get(nodes.feature[node] as usize) {
                None | Some(0) if threshold.is_nan() => {
                    return illegal(format!("threshold NaN at node {node}"), "with thresholds that are numbers");
                }
                None | Some(0) => {}
                Some(&n) => {
                    let is_next = threshold == n_sets as f64 && n_sets < sets.len();
                    if !is_next || sets.get(n_sets).last().is_some_and(|code| code >= n) {
                        return illegal(
                            format!("category set {threshold} of {} at node {node}", sets.len()),
                            "with one set of its feature's categories per split on a categorical feature, in order",
                        );
                    }
                    n_sets += 1;
                }
            }
            depth += 1;
            waiting.push((right, depth));
        }
        if n_sets != sets.len() {
            return illegal(format!("{} category sets for {n_sets} splits", sets.len()), "one set per split");
        }
        if !waiting.is_empty() {
            return illegal(format!("{n} nodes"), "a tree whose last node is a leaf");
        }
        Ok(Self { n_features, n_classes, max_depth, n_leaves, nodes, n_categories, sets })
    }

    /// Number of features of the training data.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// Number of classes of each output; 1 for regression.
    pub fn n_classes(&self) -> &[u32] {
        &self.n_classes
    }

    /// Number of outputs.
    pub fn n_outputs(&self) -> usize {
        self.n_classes.len()
    }

    /// The largest number of classes of an output.
    pub fn max_n_classes(&self) -> usize {
        n_values(&self.n_classes) / self.n_outputs()
    }

    /// Values per node: `n_outputs * max_n_classes`.
    pub fn n_values(&self) -> usize {
        n_values(&self.n_classes)
    }

    /// Number of nodes.
    pub fn node_count(&self) -> usize {
        self.nodes.feature.len()
    }

    /// Depth of the deepest leaf; the root has depth 0.
    pub fn max_depth(&self) -> usize {
        self.max_depth
    }

    /// Number of leaves.
    pub fn n_leaves(&self) -> usize {
        self.n_leaves
    }

    /// The arrays.
    pub fn nodes(&self) -> &NodeArrays {
        &self.nodes
    }

    /// The number of categories of each feature, 0 of a numeric one; empty if all are numeric.
    pub fn n_categories(&self) -> &Arc<[u32]> {
        &self.n_categories
    }

    /// The sets of the splits on categorical features.
    pub fn category_sets(&self) -> &CategorySets {
        &self.sets
    }

    /// The set of a node, if it is a split on a categorical feature.
    #[inline]
    pub fn category_set(&self, node: usize) -> Option<SetView<'_>> {
        let feature = usize::try_from(self.nodes.feature[node]).ok()?;
        let is_split = self.nodes.children_left[node] != TREE_LEAF;
        let is_categorical = is_split && self.n_categories.get(feature).is_some_and(|&n| n > 0);
        is_categorical.then(|| self.sets.get(self.nodes.threshold[node] as usize))
    }

    /// Whether a value of its feature goes left at a split.
    #[inline]
    pub(crate) fn goes_left(&self, node: usize, value: f64) -> bool {
        let missing_left = || self.nodes.missing_go_to_left[node] != 0;
        if !self.sets.is_empty()
            && let Some(set) = self.category_set(node)
        {
            return if value.is_nan() { missing_left() } else { set.goes_left(value) };
        }
        value <= self.nodes.threshold[node] || value.is_nan() && missing_left()
    }

    /// The values of a node.
    pub fn value(&self, node: usize) -> &[f64] {
        &self.nodes.value[node * self.n_values()..][..self.n_values()]
    }
}

pub(crate) fn n_values(n_classes: &[u32]) -> usize {
    n_classes.len() * n_classes.iter().copied().max().unwrap_or(0) as usize
}

/// Collects nodes in the order of growth; [`finish`](Self::finish) numbers them in preorder.
#[derive(Debug)]
pub(crate) struct TreeBuilder {
    n_values: usize,
    nodes: NodeArrays,
    /// With the splits that they belong to.
    sets: Vec<(usize, CategorySet)>,
}

/// Nodes for which a builder has room at first: nine arrays that grow step by step are a tenth of the time of a tree of
/// iris.
const FIRST_NODES: usize = 64;

/// `array` in a new order.
fn pick<T: Copy>(order: &[usize], array: &[T]) -> Vec<T> {
    order.iter().map(|&old| array[old]).collect()
}

/// What is known of a node when it is reached.
pub(crate) struct NodeRecord {
    pub impurity: f64,
    pub n_samples: usize,
    pub weight: f64,
}

impl TreeBuilder {
    pub fn new(n_values: usize) -> Self {
        let nodes = NodeArrays {
            children_left: Vec::with_capacity(FIRST_NODES),
            children_right: Vec::with_capacity(FIRST_NODES),
            feature: Vec::with_capacity(FIRST_NODES),
            threshold: Vec::with_capacity(FIRST_NODES),
            missing_go_to_left: Vec::with_capacity(FIRST_NODES),
            impurity: Vec::with_capacity(FIRST_NODES),
            n_node_samples: Vec::with_capacity(FIRST_NODES),
            weighted_n_node_samples: Vec::with_capacity(FIRST_NODES),
            value: Vec::with_capacity(FIRST_NODES * n_values.min(8)),
        };
        Self { n_values, nodes, sets: Vec::new() }
    }

    /// Adds a leaf and returns its id and its value, to be written.
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

    /// Turns a leaf into a split; its children are linked when they are added.
    pub fn split(&mut self, node: usize, feature: u32, rule: Rule<'_>, missing_go_left: bool) {
        self.nodes.feature[node] = feature as i32;
        match rule {
            Rule::Threshold(threshold) => self.nodes.threshold[node] = threshold,
            Rule::Categories(set) => self.sets.push((node, set.clone())),
        }
        self.nodes.missing_go_to_left[node] = missing_go_left.into();
    }

    /// Makes `child` a child of `parent`.
    pub fn link(&mut self, parent: usize, is_left: bool, child: usize) {
        let children = if is_left { &mut self.nodes.children_left } else { &mut self.nodes.children_right };
        children[parent] = child as i32;
    }

    /// Adds the nodes of another part; returns the id of its first.
    pub fn append(&mut self, part: Self) -> Result<usize> {
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
        let shift = |child: i32| if child == TREE_LEAF { child } else { child + offset as i32 };
        let NodeArrays {
            children_left,
            children_right,
            feature,
            threshold,
            missing_go_to_left,
            impurity,
            n_node_samples,
            weighted_n_node_samples,
            value,
        } = part.nodes;
        let nodes = &mut self.nodes;
        nodes.children_left.extend(children_left.into_iter().map(shift));
        nodes.children_right.extend(children_right.into_iter().map(shift));
        nodes.feature.extend(feature);
        nodes.threshold.extend(threshold);
        nodes.missing_go_to_left.extend(missing_go_to_left);
        nodes.impurity.extend(impurity);
        nodes.n_node_samples.extend(n_node_samples);
        nodes.weighted_n_node_samples.extend(weighted_n_node_samples);
        nodes.value.extend(value);
        Ok(offset)
    }

    pub fn finish(self, n_features: usize, n_classes: Vec<u32>, n_categories: Arc<[u32]>) -> Result<Tree> {
        let Self { n_values, nodes, sets: mut sets_of_nodes } = self;
        // order[new] = old
        let mut order = Vec::with_capacity(nodes.feature.len());
        let mut stack = vec![0usize];
        while let Some(node) = stack.pop() {
            order.push(node);
            if nodes.children_left[node] != TREE_LEAF {
                stack.push(nodes.children_right[node] as usize);
                stack.push(nodes.children_left[node] as usize);
            }
        }
        let mut new_id = vec![0i32; order.len()];
        for (new, &old) in order.iter().enumerate() {
            new_id[old] = new as i32;
        }
        let children = |array: &[i32]| -> Vec<i32> {
            order.iter().map(|&old| usize::try_from(array[old]).map_or(TREE_LEAF, |child| new_id[child])).collect()
        };
        let mut nodes = NodeArrays {
            children_left: children(&nodes.children_left),
            children_right: children(&nodes.children_right),
            feature: pick(&order, &nodes.feature),
            threshold: pick(&order, &nodes.threshold),
            missing_go_to_left: pick(&order, &nodes.missing_go_to_left),
            impurity: pick(&order, &nodes.impurity),
            n_node_samples: pick(&order, &nodes.n_node_samples),
            weighted_n_node_samples: pick(&order, &nodes.weighted_n_node_samples),
            value: order.iter().flat_map(|&old| &nodes.value[old * n_values..][..n_values]).copied().collect(),
        };
        sets_of_nodes.sort_unstable_by_key(|&(old, _)| new_id[old]);
        let mut sets = CategorySets::default();
        for (old, set) in sets_of_nodes {
            nodes.threshold[new_id[old] as usize] = sets.push(set.view()) as f64;
        }
        Tree::with_categories(n_features, n_classes, nodes, n_categories, sets)
    }
}
