//! A grown tree: flat immutable arrays with one entry per node. Names and meanings are
//! scikit-learn's.
//!
//! Nodes are numbered in preorder, left child first, in whatever order they were grown: a parent
//! comes before its children, and `children_left[i] == i + 1`. This numbering is an invariant of
//! [`Tree`], and arrays from outside are checked for it, so a traversal always ends.
//!
//! Where a node splits on a categorical feature, its entry in `threshold` is the number of the
//! split's [category set](crate::tree::sets). Sets are numbered in the order of the nodes. A tree
//! without categorical features holds no sets.

pub(crate) mod builder;
pub(crate) mod descent;
mod flagged;
mod importance;
mod leaves;
mod made;
pub mod packed;
pub(crate) mod predict;
mod prune;
pub(crate) mod records;
pub(crate) mod refill;
pub mod sets;

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::memory;
use crate::num::{exponent, scale_by_power_of_two};
use descent::clusters::Clusters;
use descent::zero_ways::Ways;
use made::Made;
use sets::{CategorySets, SetView};

pub use descent::split_view::AT_LEAF;
pub(crate) use descent::split_view::SplitView;
pub use descent::walk::Walk;

/// The name of the memory for values of nodes, in errors.
const VALUES: &str = "the values of a tree";
/// Value of `children_left` and `children_right` that marks a leaf.
pub const TREE_LEAF: i32 = -1;
/// Value of `feature` and `threshold` in a leaf.
pub const TREE_UNDEFINED: i32 = -2;
/// The largest number of nodes of a tree; node ids are `i32`.
const MAX_NODES: usize = i32::MAX as usize;

/// The arrays of a tree. Each has one entry per node, except `value`, which has
/// [`n_values`](Tree::n_values) entries per node.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NodeArrays {
    /// Id of the left child, or [`TREE_LEAF`].
    pub children_left: Vec<i32>,
    /// Id of the right child, or [`TREE_LEAF`].
    pub children_right: Vec<i32>,
    /// The feature of the split, or [`TREE_UNDEFINED`].
    pub feature: Vec<i32>,
    /// Numeric feature: rows with a value up to the threshold go left. Categorical feature: the
    /// number of the split's category set.
    pub threshold: Vec<f64>,
    /// 1 if missing values go left, 0 if they go right.
    pub missing_go_to_left: Vec<u8>,
    /// Impurity of the node in the criterion's unit (Gini impurity, bits, variance, ...); the mean
    /// over the outputs.
    pub impurity: Vec<f64>,
    /// Number of the node's training rows that have a weight above 0.
    pub n_node_samples: Vec<i64>,
    /// Sum of the weights of the node's training rows.
    pub weighted_n_node_samples: Vec<f64>,
    /// The prediction of the node (class shares or numbers), row-major `(node_count, n_outputs,
    /// max_n_classes)`.
    pub value: Vec<f64>,
}

impl NodeArrays {
    /// Arrays without nodes, with room for `n_nodes` nodes and `n_values` values in all.
    fn with_room(n_nodes: usize, n_values: usize) -> Result<Self> {
        // With a class for each row, the values grow with the square of the rows.
        let value = memory::reserve(VALUES, n_values)?;
        Ok(Self {
            children_left: Vec::with_capacity(n_nodes),
            children_right: Vec::with_capacity(n_nodes),
            feature: Vec::with_capacity(n_nodes),
            threshold: Vec::with_capacity(n_nodes),
            missing_go_to_left: Vec::with_capacity(n_nodes),
            impurity: Vec::with_capacity(n_nodes),
            n_node_samples: Vec::with_capacity(n_nodes),
            weighted_n_node_samples: Vec::with_capacity(n_nodes),
            value,
        })
    }

    /// The lengths of all arrays but `value`.
    fn lengths(&self) -> [usize; 8] {
        [
            self.children_left.len(),
            self.children_right.len(),
            self.feature.len(),
            self.threshold.len(),
            self.missing_go_to_left.len(),
            self.impurity.len(),
            self.n_node_samples.len(),
            self.weighted_n_node_samples.len(),
        ]
    }
}

/// A decision tree. Immutable once it is made.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    n_features: usize,
    n_classes: Vec<u32>,
    max_depth: usize,
    n_leaves: usize,
    nodes: NodeArrays,
    /// Number of categories of each feature, 0 if the feature is numeric. Empty if all features are
    /// numeric.
    n_categories: Arc<[u32]>,
    sets: CategorySets,
    /// The tree as clusters, made at the first batch for which that pays.
    clusters: Made<Clusters>,
    /// The ways of rows without entries, made at the first batch of sparse rows for which that
    /// pays.
    ways: Made<Ways>,
}

impl Tree {
    /// Makes a tree over numeric features from its arrays, which must be consistent and in
    /// preorder.
    pub fn new(n_features: usize, n_classes: Vec<u32>, nodes: NodeArrays) -> Result<Self> {
        Self::with_categories(n_features, n_classes, nodes, Arc::default(), CategorySets::default())
    }

    /// Makes a tree whose features may be categorical. `n_categories` has the number of categories
    /// of each feature, 0 for a numeric feature, or is empty if all features are numeric. `sets`
    /// has one set per split on a categorical feature, in the order of the nodes.
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
        let lengths = nodes.lengths();
        if n == 0 || n > MAX_NODES || n_values == 0 || lengths != [n; 8] || nodes.value.len() != n * n_values {
            return illegal(
                format!("{n} nodes, arrays of {:?} and {} values", &lengths[1..], nodes.value.len()),
                "arrays of one entry per node",
            );
        }
        if !n_categories.is_empty() && n_categories.len() != n_features {
            return illegal(format!("{} numbers of categories", n_categories.len()), "a number per feature, or none");
        }
        let n_categories = any_categories(n_categories);
        let mut n_sets = 0;
        // In preorder, the node after an inner node is its left child. The node after a leaf is the
        // right child that began to wait last.
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
        let (clusters, ways) = (Made::default(), Made::default());
        Ok(Self { n_features, n_classes, max_depth, n_leaves, nodes, n_categories, sets, clusters, ways })
    }

    /// A tree of the same splits, whose nodes predict other numbers: row-major `(node_count, n_outputs)`.
    pub fn with_numbers(&self, value: Vec<f64>, n_outputs: usize) -> Result<Self> {
        self.with_nodes(vec![1; n_outputs], NodeArrays { value, ..self.nodes.clone() })
    }

    /// The tree of rows each of which stands for as many copies as it weighs: a node has that many samples.
    pub fn with_copies(&self) -> Result<Self> {
        let n_node_samples = self.nodes.weighted_n_node_samples.iter().map(|&weight| weight.round() as i64).collect();
        self.with_nodes(self.n_classes.clone(), NodeArrays { n_node_samples, ..self.nodes.clone() })
    }

    /// A tree of the same features and sets of categories.
    fn with_nodes(&self, n_classes: Vec<u32>, nodes: NodeArrays) -> Result<Self> {
        let (n_categories, sets) = (Arc::clone(&self.n_categories), self.sets.clone());
        Self::with_categories(self.n_features, n_classes, nodes, n_categories, sets)
    }

    /// Number of features of the training data.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// Number of classes of each output; 1 for each output of a regression tree.
    pub fn n_classes(&self) -> &[u32] {
        &self.n_classes
    }

    /// Number of outputs (targets) that the tree predicts.
    pub fn n_outputs(&self) -> usize {
        self.n_classes.len()
    }

    /// The largest number of classes that any output has.
    pub fn max_n_classes(&self) -> usize {
        n_values(&self.n_classes) / self.n_outputs()
    }

    /// Values of a node: outputs times the largest number of classes of an output.
    pub fn n_values(&self) -> usize {
        n_values(&self.n_classes)
    }

    /// Number of nodes: inner nodes and leaves.
    pub fn node_count(&self) -> usize {
        self.nodes.feature.len()
    }

    /// Depth of the deepest leaf; the root has depth 0.
    pub fn max_depth(&self) -> usize {
        self.max_depth
    }

    /// Number of leaves: 1 if the root is not split.
    pub fn n_leaves(&self) -> usize {
        self.n_leaves
    }

    /// The weight of a node, times the power of two that makes the root's weight about 1, so that products
    /// with impurities do not overflow. Quotients of scaled weights equal the quotients of the weights.
    fn scaled_weights(&self) -> impl Fn(usize) -> f64 + '_ {
        let weights = &self.nodes().weighted_n_node_samples;
        let scale = -exponent(weights[0]);
        move |node| scale_by_power_of_two(weights[node], scale)
    }

    /// The nodes as parallel arrays, in preorder.
    pub fn nodes(&self) -> &NodeArrays {
        &self.nodes
    }

    /// The number of categories of each feature, 0 for a numeric feature. Empty if all features are
    /// numeric.
    pub fn n_categories(&self) -> &Arc<[u32]> {
        &self.n_categories
    }

    /// The category sets of the splits on categorical features, in the order of the nodes.
    pub fn category_sets(&self) -> &CategorySets {
        &self.sets
    }

    /// The category set of a node, or `None` unless the node splits on a categorical feature.
    #[inline]
    pub fn category_set(&self, node: usize) -> Option<SetView<'_>> {
        let feature = usize::try_from(self.nodes.feature[node]).ok()?;
        let is_split = self.nodes.children_left[node] != TREE_LEAF;
        let is_categorical = is_split && self.n_categories.get(feature).is_some_and(|&n| n > 0);
        is_categorical.then(|| self.sets.get(self.nodes.threshold[node] as usize))
    }

    /// The thresholds of all nodes, with NaN for the splits on categorical features.
    pub fn numeric_thresholds(&self) -> Vec<f64> {
        let threshold = |node: usize| match self.category_set(node) {
            Some(_) => f64::NAN,
            None => self.nodes.threshold[node],
        };
        (0..self.node_count()).map(threshold).collect()
    }

    /// Whether a row goes left at `node`, given the row's value of the feature on which `node`
    /// splits.
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

    /// The prediction of a node: [`n_values`](Self::n_values) numbers, output by output.
    pub fn value(&self, node: usize) -> &[f64] {
        &self.nodes.value[node * self.n_values()..][..self.n_values()]
    }
}

/// The numbers of categories, or none if all features are numeric, so that equal trees compare
/// equal.
fn any_categories(n_categories: Arc<[u32]>) -> Arc<[u32]> {
    if n_categories.iter().all(|&n| n == 0) { Arc::default() } else { n_categories }
}

pub(crate) fn n_values(n_classes: &[u32]) -> usize {
    n_classes.len() * n_classes.iter().copied().max().unwrap_or(0) as usize
}
