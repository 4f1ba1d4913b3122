//! Partial dependence: the mean prediction where only some features are known.
//!
//! A split on a known feature is followed as its value says. At any other split both children count, in
//! proportion to their training weights (J. Friedman, "Greedy function approximation: a gradient boosting
//! machine", Annals of Statistics 29, 2001, section 8.2, by the recursion of scikit-learn). Below a node
//! without such splits the mean of the leaves is a constant, which is computed once: points only descend
//! to there.

use super::covers::shares;
use crate::error::Result;
use crate::forest::Forest;
use crate::memory;
use crate::runtime::Runtime;
use crate::tree::Tree;
use crate::tree::predict::divide;

/// Points that a thread takes at a time.
const POINTS: usize = 64;

/// A tree in which some features are known.
struct KnownTree<'a> {
    tree: &'a Tree,
    /// For each node the place of its feature among the known ones; [`ABOVE`] if only a node below splits on
    /// a known feature, [`CONSTANT`] if none does.
    place: Vec<u32>,
    /// For each node the share of its parent's weight that it has.
    shares: Vec<f64>,
    /// For each node without known features below, what it predicts: the mean of its leaves.
    means: Vec<f64>,
}

const CONSTANT: u32 = u32::MAX;
const ABOVE: u32 = u32::MAX - 1;

impl<'a> KnownTree<'a> {
    /// O(nodes), as children have larger numbers than their parents.
    fn new(tree: &'a Tree, features: &[u32]) -> Result<Self> {
        let (nodes, n_values) = (tree.nodes(), tree.n_values());
        let mut place = memory::filled("the nodes of a tree", CONSTANT, tree.node_count())?;
        let shares = shares(tree)?;
        let mut means: Vec<f64> = memory::zeros("the values of a tree", nodes.value.len())?;
        for node in (0..tree.node_count()).rev() {
            let Ok(left) = usize::try_from(nodes.children_left[node]) else {
                means[node * n_values..][..n_values].copy_from_slice(tree.value(node));
                continue;
            };
            let right = nodes.children_right[node] as usize;
            let known = features.iter().position(|&feature| feature as i32 == nodes.feature[node]);
            if let Some(known) = known {
                place[node] = known as u32;
            } else if place[left] != CONSTANT || place[right] != CONSTANT {
                place[node] = ABOVE;
            } else {
                for value in 0..n_values {
                    let of = |child: usize| means[child * n_values + value];
                    means[node * n_values + value] = of(left) * shares[left] + of(right) * shares[right];
                }
            }
        }
        Ok(Self { tree, place, shares, means })
    }

    /// Adds to `sums` what the tree predicts for a point, which has the value of each known feature.
    /// `pending` is scratch.
    fn add(&self, point: impl Fn(usize) -> f64, pending: &mut Vec<(usize, f64)>, sums: &mut [f64]) {
        let nodes = self.tree.nodes();
        pending.push((0, 1.0));
        while let Some((node, weight)) = pending.pop() {
            let children = || [&nodes.children_left, &nodes.children_right].map(|children| children[node] as usize);
            match self.place[node] {
                CONSTANT => {
                    let means = &self.means[node * sums.len()..];
                    sums.iter_mut().zip(means).for_each(|(sum, mean)| *sum += weight * mean);
                }
                ABOVE => {
                    let [left, right] = children();
                    pending.push((right, weight * self.shares[right]));
                    pending.push((left, weight * self.shares[left]));
                }
                known => {
                    let [left, right] = children();
                    let goes_left = self.tree.goes_left(node, point(known as usize));
                    pending.push((if goes_left { left } else { right }, weight));
                }
            }
        }
    }
}

/// The mean prediction at each point where only `features` are known. `points` has one row of values per
/// feature. Shape `(n_points, n_values)`.
///
/// O(nodes + points * nodes above the last splits on the features) per tree; the points are shared out to
/// the threads.
pub fn partial_dependence(
    forest: &Forest,
    features: &[u32],
    points: &[f64],
    runtime: &Runtime<'_>,
) -> Result<Vec<f64>> {
    let (n_points, n_values) = (points.len() / features.len(), forest.n_values());
    let mut sums: Vec<f64> = memory::zeros("the means of the points", n_points * n_values)?;
    for packed in forest.trees() {
        let tree = packed.unpack()?;
        let known = KnownTree::new(&tree, features)?;
        let blocks: Vec<_> = sums.chunks_mut(POINTS * n_values).enumerate().collect();
        runtime.map(blocks, |(block, sums)| {
            runtime.check_interrupt()?;
            let mut pending = Vec::new();
            for (at, sums) in sums.chunks_mut(n_values).enumerate() {
                known.add(|known| points[known * n_points + block * POINTS + at], &mut pending, sums);
            }
            Ok(())
        })?;
    }
    divide(&mut sums, forest.len() as f64);
    Ok(sums)
}
