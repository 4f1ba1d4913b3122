//! The shares of training weight that a path leaves behind, feature by feature.
//!
//! A path meets some features, some of them more than once. What counts of a feature is the product
//! of the shares of all splits on it: the share of the training weight that goes the way of the
//! path if nothing is known of the feature.

use super::quadrature::{Bound, LANES};
use crate::error::Result;
use crate::memory;
use crate::runtime::Runtime;
use crate::tree::{TREE_LEAF, Tree};

/// The largest error of quadrature of all leaves together, relative to the values of the leaves.
const TOLERANCE: f64 = 1e-13;

/// Shares and errors of a tree that do not depend on the rows that are explained.
pub struct Covers {
    /// By node: the share of the weight of the parent, the root's is 1.
    pub share: Vec<f64>,
    /// By split: the product of the shares, above it, of the splits on its feature.
    pub before: Vec<f64>,
    /// By split: the nearest edge above it of a split on its feature, as `2 * node + side`, or [`NO_EDGE`].
    pub above: Vec<u32>,
    /// By leaf: the number of points by which its path is integrated.
    pub n_points: Vec<u32>,
    /// By leaf: the error of quadrature that is allowed for values of 1.
    pub tolerances: Vec<f64>,
    /// The mean of the leaves, weighted by the shares of their paths: the expected value of an unknown row.
    pub expected: Vec<f64>,
}

/// In the place of an edge, if there is none.
pub const NO_EDGE: u32 = u32::MAX;

/// An edge on the way back up, with what it had changed.
struct Undo {
    node: usize,
    feature: usize,
    before: f64,
    above: u32,
    bound: Bound,
    cover: f64,
}

impl Covers {
    /// The covers of a tree. `slot` numbers the features that the tree uses, below `n_slots`.
    pub fn new(tree: &Tree, slot: impl Fn(usize) -> usize, n_slots: usize, runtime: &Runtime<'_>) -> Result<Self> {
        let nodes = tree.nodes();
        let n = tree.node_count();
        let share = shares(tree)?;
        let mut before = memory::filled("covers", 1.0, n)?;
        let mut above = memory::filled("covers", NO_EDGE, n)?;
        let mut n_points: Vec<u32> = memory::zeros("covers", n)?;
        let mut tolerances: Vec<f64> = memory::zeros("covers", n)?;
        let mut expected = vec![0.0; tree.n_values()];
        // Of the features on the path: the products of their shares, the last edges, and the number of
        // their splits.
        let mut product = vec![1.0; n_slots];
        let mut edges = vec![NO_EDGE; n_slots];
        let mut n_splits = vec![0u32; n_slots];
        let mut n_distinct = 0usize;
        let (mut bound, mut cover) = (Bound::ONE, 1.0);
        let mut path: Vec<Undo> = Vec::new();
        for node in 0..n {
            runtime.check_in_turn(node)?;
            // In preorder, a node follows its parent, or is the right child of a node on the path.
            while let Some(last) = path.last()
                && node != last.node + 1
                && node != nodes.children_right[last.node] as usize
            {
                product[last.feature] = last.before;
                edges[last.feature] = last.above;
                n_splits[last.feature] -= 1;
                n_distinct -= usize::from(n_splits[last.feature] == 0);
                path.pop();
            }
            if let Some(parent) = path.last() {
                product[parent.feature] = parent.before * share[node];
                edges[parent.feature] = 2 * parent.node as u32 + u32::from(node != parent.node + 1);
                cover = parent.cover * share[node];
                let old = (n_splits[parent.feature] > 1).then_some(parent.before);
                bound = parent.bound.replaced(old, product[parent.feature]);
            }
            if nodes.children_left[node] == TREE_LEAF {
                // By this number of points a product of `n_distinct` factors, one of them taken out, is
                // integrated exactly.
                let exact = n_distinct.div_ceil(2).max(1).next_multiple_of(LANES);
                tolerances[node] = TOLERANCE * cover.max(1.0 / n as f64);
                n_points[node] =
                    if exact == LANES { LANES as u32 } else { bound.n_points(tolerances[node], exact) as u32 };
                let value = tree.value(node);
                expected.iter_mut().zip(value).for_each(|(sum, value)| *sum += cover * value);
                continue;
            }
            let feature = slot(nodes.feature[node] as usize);
            before[node] = product[feature];
            above[node] = edges[feature];
            n_distinct += usize::from(n_splits[feature] == 0);
            n_splits[feature] += 1;
            path.push(Undo { node, feature, before: product[feature], above: edges[feature], bound, cover });
        }
        Ok(Self { share, before, above, n_points, tolerances, expected })
    }
}

/// The shares of their parents' weights that nodes have. Where all weights are 0, children have
/// half each.
pub(super) fn shares(tree: &Tree) -> Result<Vec<f64>> {
    let nodes = tree.nodes();
    let mut shares = memory::filled("covers", 1.0, tree.node_count())?;
    for node in 0..tree.node_count() {
        if nodes.children_left[node] != TREE_LEAF {
            let children = [nodes.children_left[node] as usize, nodes.children_right[node] as usize];
            let weights = children.map(|child| nodes.weighted_n_node_samples[child].max(0.0));
            let total = weights[0] + weights[1];
            for (child, weight) in children.into_iter().zip(weights) {
                shares[child] = if total > 0.0 { weight / total } else { 0.5 };
            }
        }
    }
    Ok(shares)
}
