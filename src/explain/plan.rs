//! The facts of a tree that no row changes, for the visits that explain rows.
//!
//! Leaves are in groups by the number of points that their paths need, each visited by steps of its own
//! ([`steps`](super::steps)).

use super::covers::{Covers, NO_EDGE};
use super::quadrature::{LANES, Points};
use super::steps::{Closed, LeafGroup, PartBounds, list_steps};
use crate::error::Result;
use crate::memory;
use crate::runtime::Runtime;
use crate::tree::{TREE_LEAF, Tree};

/// A split, as it is visited.
#[derive(Debug, Clone, Copy)]
pub struct PlanSplit {
    /// The number of the feature among the features of the tree.
    pub feature: u32,
    /// The nearest edge above of a split on the same feature, as `2 * split + side`, or [`NO_EDGE`].
    pub above: u32,
    /// The product of the shares of the splits above on the same feature.
    pub before: f64,
    /// The share of the node's weight that each child has.
    pub share: [f64; 2],
}

/// What a visit needs of a tree, beside its rules, and no row changes.
pub struct Plan {
    /// In preorder, as in the packed tree.
    pub splits: Vec<PlanSplit>,
    /// The features of the tree, ascending.
    pub features: Vec<u32>,
    pub groups: Vec<LeafGroup>,
    /// The prediction of the tree for a row without any known value.
    pub expected: Vec<f64>,
    /// How many values of a leaf are explained, by [`Kept`].
    pub n_values: usize,
}

impl Plan {
    /// Makes the plan of a tree.
    pub fn new(tree: &Tree, kept: Kept, runtime: &Runtime<'_>) -> Result<Self> {
        let nodes = tree.nodes();
        let mut features: Vec<u32> = nodes.feature.iter().filter_map(|&feature| u32::try_from(feature).ok()).collect();
        features.sort_unstable();
        features.dedup();
        let number = |feature: usize| features.binary_search(&(feature as u32)).unwrap_or(0);
        let covers = Covers::new(tree, number, features.len(), runtime)?;
        let mut splits = memory::reserve(PLAN, tree.node_count() / 2)?;
        let mut split_of: Vec<u32> = memory::zeros(PLAN, tree.node_count())?;
        for node in (0..tree.node_count()).filter(|&node| nodes.children_left[node] != TREE_LEAF) {
            split_of[node] = splits.len() as u32;
            let children = [nodes.children_left[node] as usize, nodes.children_right[node] as usize];
            let above = covers.above[node];
            splits.push(PlanSplit {
                feature: number(nodes.feature[node] as usize) as u32,
                above: if above == NO_EDGE { NO_EDGE } else { 2 * split_of[above as usize / 2] + above % 2 },
                before: covers.before[node],
                share: children.map(|child| covers.share[child]),
            });
        }
        let (values, n_values) = kept.values(tree, &covers.expected)?;
        let is_zero = |node: usize| values[node * n_values..][..n_values].iter().all(|&value| value == 0.0);
        // A constant is not explained by any feature.
        let wanted = |node: usize| if is_zero(node) { 0 } else { covers.n_points[node] };
        let mut groups = Vec::new();
        let leaves = LeafFacts { values: &values, n_values, tolerances: &covers.tolerances };
        for range in ranges(tree, &wanted)? {
            // A tree of one leaf has no step, and so no room for products.
            groups.extend(list_steps(tree, &split_of, range, &wanted, leaves, runtime)?);
        }
        Ok(Self { splits, features, groups, expected: covers.expected, n_values })
    }

    /// The bytes that a plan takes for each split of a tree with this number of values, about.
    pub fn bytes_per_split(n_values: usize) -> usize {
        let of_values = match n_values {
            1 => size_of::<Closed>(),
            n => size_of::<PartBounds>() + n.min(8) * size_of::<u32>(),
        };
        size_of::<PlanSplit>() + 16 + n_values * size_of::<f64>() + of_values
    }
}

/// Facts of the nodes that are leaves.
#[derive(Clone, Copy)]
pub struct LeafFacts<'a> {
    /// What each predicts, row-major `(node_count, n_values)`, less the part that all have in common.
    pub values: &'a [f64],
    pub n_values: usize,
    /// The error of quadrature that is allowed for values of 1.
    pub tolerances: &'a [f64],
}

/// Which values of leaves are explained.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kept {
    /// The second of two class shares: the first one is its complement.
    SecondShare,
    /// The shares of all classes.
    Shares,
    /// The numbers of all outputs.
    Numbers,
}

impl Kept {
    /// Which values of a leaf are kept for trees with these numbers of classes.
    pub fn of(n_classes: &[u32]) -> Self {
        match n_classes {
            [2] => Self::SecondShare,
            _ if n_classes.iter().any(|&n| n > 1) => Self::Shares,
            _ => Self::Numbers,
        }
    }

    /// The number of values that are kept of `n_values`.
    pub fn n_values(self, n_values: usize) -> usize {
        if self == Self::SecondShare { 1 } else { n_values }
    }

    /// The values of all nodes, and the number of values of a node.
    fn values(self, tree: &Tree, expected: &[f64]) -> Result<(Vec<f64>, usize)> {
        let all = &tree.nodes().value;
        let n_values = self.n_values(tree.n_values());
        let mut values = memory::reserve(PLAN, tree.node_count() * n_values)?;
        match self {
            Self::SecondShare => values.extend(all.chunks_exact(2).map(|shares| shares[1])),
            Self::Shares => values.extend_from_slice(all),
            // Without their mean, numbers keep more digits.
            Self::Numbers => {
                let centred = |value: &[f64]| -> Vec<f64> { value.iter().zip(expected).map(|(v, e)| v - e).collect() };
                values.extend(all.chunks_exact(n_values).flat_map(centred));
            }
        }
        Ok((values, n_values))
    }
}

/// The name of this file's memory in errors.
pub const PLAN: &str = "the explanation of a tree";

/// The groups of leaves by numbers of points, each from above one number up to another: all leaves in one
/// group, or the leaves with the fewest points in a group of their own, whichever takes less time.
fn ranges(tree: &Tree, wanted: &dyn Fn(usize) -> u32) -> Result<Vec<(u32, u32)>> {
    let nodes = tree.nodes();
    let (few, mut most) = (LANES as u32, 0);
    // By node, whether there is a leaf below with few points, and with more.
    let mut below: Vec<u8> = memory::zeros(PLAN, tree.node_count())?;
    let mut n_nodes = [0usize; 4];
    for node in (0..tree.node_count()).rev() {
        below[node] = if nodes.children_left[node] == TREE_LEAF {
            most = most.max(wanted(node));
            match wanted(node) {
                0 => 0,
                n if n <= few => 1,
                _ => 2,
            }
        } else {
            below[nodes.children_left[node] as usize] | below[nodes.children_right[node] as usize]
        };
        n_nodes[below[node] as usize] += 1;
    }
    let n_groups = (most / few) as usize;
    let [_, with_few, with_more, with_both] = n_nodes;
    let together = (with_few + with_more + with_both) * n_groups;
    let apart = with_few + with_both + (with_more + with_both) * n_groups;
    Ok(match most {
        0 => Vec::new(),
        _ if most <= few || together <= apart => vec![(0, most)],
        _ => vec![(0, few), (few, most)],
    })
}

#[allow(clippy::inline_always, reason = "compiled for each width of registers")]
impl PlanSplit {
    /// What multiplies the product of all factors of a path on the edge to a side, for a row that takes it.
    ///
    /// A feature of a path has the factor `w + (1 - w) p` for a row that goes along all splits on it, and
    /// `w (1 - p)` for another row. A row that has left the way above has the share of the child for a
    /// factor.
    #[inline(always)]
    pub fn taken(&self, side: usize, points: &Points) -> [f64; LANES] {
        let w = self.before * self.share[side];
        let factor = points.at.map(|p| w + (1.0 - w) * p);
        if self.is_first() {
            return factor;
        }
        let above = self.above(points);
        std::array::from_fn(|lane| factor[lane] / above[lane])
    }

    /// The same for a row that goes to the other side; to be multiplied by the share of the child.
    #[inline(always)]
    pub fn left(&self, points: &Points) -> [f64; LANES] {
        if self.is_first() {
            return points.rest;
        }
        let above = self.above(points);
        std::array::from_fn(|lane| points.rest[lane] * self.before / above[lane])
    }

    /// The derivative of the feature's contribution for a row that takes the edge to a side, times the
    /// weights of the points: `(1 - w) / (w + (1 - w) p)`, less the same above the split. A row that has left
    /// the way above has none.
    #[inline(always)]
    pub fn gain_taken(&self, side: usize, points: &Points) -> [f64; LANES] {
        let w = self.before * self.share[side];
        self.weighted(points.at.map(|p| (1.0 - w) / (w + (1.0 - w) * p)), points)
    }

    /// The same for a row that goes to the other side: `-1 / (1 - p)`, less the derivative above the split.
    #[inline(always)]
    pub fn gain_left(&self, points: &Points) -> [f64; LANES] {
        self.weighted(points.gain_left, points)
    }

    #[inline(always)]
    fn weighted(&self, gain: [f64; LANES], points: &Points) -> [f64; LANES] {
        if self.is_first() {
            return std::array::from_fn(|lane| points.weight[lane] * gain[lane]);
        }
        let above = points.at.map(|p| (1.0 - self.before) / (self.before + (1.0 - self.before) * p));
        std::array::from_fn(|lane| points.weight[lane] * (gain[lane] - above[lane]))
    }

    /// The factor above the split, for a row that has gone along.
    #[inline(always)]
    fn above(&self, points: &Points) -> [f64; LANES] {
        points.at.map(|p| self.before + (1.0 - self.before) * p)
    }

    /// Whether no split above is on the same feature. Then `before` is 1, and no division by it is needed.
    #[inline(always)]
    fn is_first(&self) -> bool {
        self.before == 1.0
    }
}
