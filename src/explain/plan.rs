//! The order in which the nodes of a tree are visited, and the facts of each split that no row changes.
//!
//! Leaves are in groups by the number of points that their paths need. Each group has a list of
//! steps of its own that passes over the nodes without such a leaf. Of two subtrees the one with
//! more nodes comes first: results that wait for the other one then are no more than the logarithm
//! of the number of nodes.

use super::covers::Covers;
use super::quadrature::{LANES, Points};
use crate::error::Result;
use crate::memory;
use crate::runtime::Runtime;
use crate::tree::{TREE_LEAF, Tree};

/// The subtree below a split on one side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Child {
    /// No leaf of the group whose values are other than 0.
    Nothing,
    /// A leaf, by its node.
    Leaf(u32),
    /// A subtree, whose results are in the place of its split or, if true, in the place behind it.
    Subtree(bool),
}

/// Whether any of the children of a split is a subtree.
pub fn has_subtree(children: [Child; 2]) -> bool {
    children.iter().any(|child| matches!(child, Child::Subtree(_)))
}

/// A step of a visit.
#[derive(Debug, Clone, Copy)]
pub enum PlanStep {
    /// Down to a split, which has a subtree.
    Open { split: u32 },
    /// Down an edge of a split at this depth.
    Enter { split: u32, side: u8, depth: u32 },
    /// Back up to a split at this depth: the results of its children become its own, for the values
    /// that [`LeafGroup::present`] names under this number.
    Close { split: u32, depth: u32, place: u32, children: [Child; 2], present: u32 },
}

/// The steps for the leaves of a group.
pub struct LeafGroup {
    /// The number of points that suffices for every path of the group.
    pub n_points: usize,
    pub steps: Vec<PlanStep>,
    /// Number of depths at which there are splits.
    pub n_depths: usize,
    /// Number of results that wait at once.
    pub n_places: usize,
    /// By closed split: which values are other than 0 in a leaf of the group below it.
    present: Vec<PartBounds>,
    values: Vec<u32>,
}

/// The bounds of the three parts of a split's list of values. Between the first two bounds lie the values
/// that only the left child has, between the second and the third the values that only the right child has,
/// between the last two the values that both have.
type PartBounds = [usize; 4];

/// A split, as it is visited.
#[derive(Debug, Clone, Copy)]
pub struct PlanSplit {
    pub node: u32,
    /// The number of the feature among the features of the tree.
    pub feature: u32,
    /// The product of the shares of the splits above on the same feature.
    pub before: f64,
    /// The share of the node's weight that each child has.
    pub share: [f64; 2],
}

/// A tree that is ready to be visited.
pub struct Plan {
    pub tree: Tree,
    pub splits: Vec<PlanSplit>,
    /// The features of the tree, ascending.
    pub features: Vec<u32>,
    pub groups: Vec<LeafGroup>,
    /// By leaf, the error of quadrature that is allowed for values of 1.
    pub tolerances: Vec<f64>,
    /// The prediction of the tree for a row without any known value.
    pub expected: Vec<f64>,
    /// The predictions of the leaves by node, row-major `(node_count, n_values)`, less the part that all have
    /// in common.
    pub values: Vec<f64>,
    /// Values of a node in `values`, by [`Kept`].
    pub n_values: usize,
}

impl Plan {
    /// Makes the plan of a tree.
    pub fn new(tree: Tree, kept: Kept, runtime: &Runtime<'_>) -> Result<Self> {
        let nodes = tree.nodes();
        let mut features: Vec<u32> = nodes.feature.iter().filter_map(|&feature| u32::try_from(feature).ok()).collect();
        features.sort_unstable();
        features.dedup();
        let number = |feature: usize| features.binary_search(&(feature as u32)).unwrap_or(0);
        let covers = Covers::new(&tree, number, features.len(), runtime)?;
        let mut splits = memory::reserve(PLAN, tree.node_count() / 2)?;
        let mut split_of: Vec<u32> = memory::zeros(PLAN, tree.node_count())?;
        for node in (0..tree.node_count()).filter(|&node| nodes.children_left[node] != TREE_LEAF) {
            split_of[node] = splits.len() as u32;
            let children = [nodes.children_left[node] as usize, nodes.children_right[node] as usize];
            splits.push(PlanSplit {
                node: node as u32,
                feature: number(nodes.feature[node] as usize) as u32,
                before: covers.before[node],
                share: children.map(|child| covers.share[child]),
            });
        }
        let (values, n_values) = kept.values(&tree, &covers.expected)?;
        let is_zero = |node: usize| values[node * n_values..][..n_values].iter().all(|&value| value == 0.0);
        // A constant is not explained by any feature.
        let wanted = |node: usize| if is_zero(node) { 0 } else { covers.n_points[node] };
        let mut groups = Vec::new();
        for range in ranges(&tree, &wanted)? {
            runtime.check_interrupt()?;
            let group = LeafGroup::new(&tree, &split_of, range, &wanted, (&values, n_values))?;
            // A tree of one leaf has no step, and so no room for products.
            if !group.steps.is_empty() {
                groups.push(group);
            }
        }
        let Covers { tolerances, expected, .. } = covers;
        Ok(Self { tree, splits, features, groups, tolerances, expected, values, n_values })
    }
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
const PLAN: &str = "the explanation of a tree";

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

/// A split on the way down, while steps are listed.
struct Frame {
    node: usize,
    depth: u32,
    place: u32,
    children: [Child; 2],
    /// The sides with subtrees that are not listed yet; the next one is last.
    pending: Vec<u8>,
}

impl LeafGroup {
    /// The values of a closed split that are not 0 everywhere below it, in three parts: values that only the
    /// left child has, values that only the right one has, and values that both have. Each part with its
    /// place in the list of the group.
    pub fn present(&self, number: u32) -> [(usize, &[u32]); 3] {
        let bounds = self.present[number as usize];
        [0, 1, 2].map(|part| (bounds[part], &self.values[bounds[part]..bounds[part + 1]]))
    }

    /// The steps for the leaves that want more points than `above`, and at most `up_to`. The values
    /// of nodes are row-major, `n_values` per node.
    fn new(
        tree: &Tree,
        split_of: &[u32],
        (above, up_to): (u32, u32),
        wanted: &dyn Fn(usize) -> u32,
        (values, n_values): (&[f64], usize),
    ) -> Result<Self> {
        let nodes = tree.nodes();
        let is_leaf = |node: usize| nodes.children_left[node] == TREE_LEAF;
        // The number of splits to be visited in each subtree, or 1 for a leaf of the group.
        let mut sizes: Vec<u32> = memory::zeros(PLAN, tree.node_count())?;
        for node in (0..tree.node_count()).rev() {
            sizes[node] = if is_leaf(node) {
                u32::from(wanted(node) > above && wanted(node) <= up_to)
            } else {
                let below = sizes[nodes.children_left[node] as usize] + sizes[nodes.children_right[node] as usize];
                below + u32::from(below > 0)
            };
        }
        let mut group = Self {
            n_points: up_to as usize,
            steps: Vec::new(),
            n_depths: 0,
            n_places: 0,
            present: Vec::new(),
            values: Vec::new(),
        };
        // By split, the number of its values; by value, a bit for each child that has it.
        let mut present_of: Vec<u32> = memory::zeros(PLAN, tree.node_count())?;
        let mut sides_of: Vec<u8> = memory::zeros(PLAN, n_values)?;
        let frame = |node: usize, depth: u32, place: u32| {
            let sides = [nodes.children_left[node] as usize, nodes.children_right[node] as usize];
            let mut pending: Vec<u8> =
                (0..2).filter(|&side: &u8| !is_leaf(sides[side as usize]) && sizes[sides[side as usize]] > 0).collect();
            pending.sort_by_key(|&side| sizes[sides[side as usize]]);
            let second = (pending.len() == 2).then(|| pending[0]);
            let child = |side: u8| match sides[side as usize] {
                child if sizes[child] == 0 => Child::Nothing,
                child if is_leaf(child) => Child::Leaf(child as u32),
                _ => Child::Subtree(second == Some(side)),
            };
            Frame { node, depth, place, children: [child(0), child(1)], pending }
        };
        if is_leaf(0) || sizes[0] == 0 {
            return Ok(group);
        }
        let mut path = vec![frame(0, 0, 0)];
        let mut is_new = true;
        while let Some(last) = path.last_mut() {
            let (split, depth, place) = (split_of[last.node], last.depth, last.place);
            group.n_depths = group.n_depths.max(depth as usize + 1);
            group.n_places = group.n_places.max(place as usize + 2);
            if is_new && !last.pending.is_empty() {
                group.steps.push(PlanStep::Open { split });
            }
            is_new = false;
            if let Some(side) = last.pending.pop() {
                group.steps.push(PlanStep::Enter { split, side, depth });
                let sides = [nodes.children_left[last.node], nodes.children_right[last.node]];
                let is_second = last.children[side as usize] == Child::Subtree(true);
                path.push(frame(sides[side as usize] as usize, depth + 1, place + u32::from(is_second)));
                is_new = true;
            } else {
                let sides = [nodes.children_left[last.node], nodes.children_right[last.node]];
                let of_children = [0, 1].map(|side| match last.children[side] {
                    Child::Nothing => Vec::new(),
                    Child::Leaf(leaf) => {
                        let value = &values[leaf as usize * n_values..][..n_values];
                        (0..n_values as u32).filter(|&number| value[number as usize] != 0.0).collect()
                    }
                    Child::Subtree(_) => {
                        group.present(present_of[sides[side] as usize]).map(|(_, values)| values).concat()
                    }
                });
                let present = group.present.len() as u32;
                present_of[last.node] = present;
                group.list_present(&of_children, &mut sides_of);
                group.steps.push(PlanStep::Close { split, depth, place, children: last.children, present });
                path.pop();
            }
        }
        Ok(group)
    }

    /// Lists the values of a split, given the values of its children. `sides_of` is all 0 before and after.
    fn list_present(&mut self, of_children: &[Vec<u32>; 2], sides_of: &mut [u8]) {
        for (side, values) in of_children.iter().enumerate() {
            for &value in values {
                sides_of[value as usize] |= 1 << side;
            }
        }
        let mut bounds: PartBounds = [self.values.len(); 4];
        for (part, (child, sides)) in [(0, 1), (1, 2), (0, 3)].into_iter().enumerate() {
            let values = of_children[child].iter().copied();
            self.values.extend(values.filter(|&value| sides_of[value as usize] == sides));
            bounds[part + 1] = self.values.len();
        }
        of_children.iter().flatten().for_each(|&value| sides_of[value as usize] = 0);
        self.present.push(bounds);
    }
}

/// The factors of the edges of a split, for some points.
///
/// A feature of a path has the factor `w + (1 - w) p` for a row that goes along all splits on it,
/// and `w (1 - p)` for another row. `factor` is what multiplies the product of all factors of the
/// path, and `gain` is the derivative of the feature's contribution: `(1 - w) / (w + (1 - w) p)`,
/// or `-1 / (1 - p)`, less the same above the split, and multiplied by the weights of the points. A
/// row that has left the way above has the share of the child for a factor, and no gain.
#[derive(Debug, Clone, Copy)]
pub struct Coefficients {
    /// For a row that goes to this side: left, right.
    pub taken: [[f64; LANES]; 2],
    pub gain_taken: [[f64; LANES]; 2],
    /// For a row that goes to the other side; to be multiplied by the share of the child.
    pub left: [f64; LANES],
    pub gain_left: [f64; LANES],
}

impl Coefficients {
    pub fn new(split: &PlanSplit, points: &Points) -> Self {
        let [left, right] = [0, 1].map(|side| split.factors(side, points));
        let [(left_gain, gain_left), (right_gain, _)] = [0, 1].map(|side| split.gains(side, points));
        Self { taken: [left.0, right.0], gain_taken: [left_gain, right_gain], left: left.1, gain_left }
    }
}

#[allow(clippy::inline_always, reason = "compiled for each width of registers")]
impl PlanSplit {
    /// [`Coefficients::taken`] of a side, and [`Coefficients::left`].
    #[inline(always)]
    pub fn factors(&self, side: usize, points: &Points) -> ([f64; LANES], [f64; LANES]) {
        let w = self.before * self.share[side];
        let factor = points.at.map(|p| w + (1.0 - w) * p);
        if self.is_first() {
            return (factor, points.rest);
        }
        let above = points.at.map(|p| self.before + (1.0 - self.before) * p);
        let taken = std::array::from_fn(|lane| factor[lane] / above[lane]);
        (taken, std::array::from_fn(|lane| points.rest[lane] * self.before / above[lane]))
    }

    /// [`Coefficients::gain_taken`] of a side, and [`Coefficients::gain_left`].
    #[inline(always)]
    pub fn gains(&self, side: usize, points: &Points) -> ([f64; LANES], [f64; LANES]) {
        let w = self.before * self.share[side];
        let gain = points.at.map(|p| (1.0 - w) / (w + (1.0 - w) * p));
        let weighted = |gain: &[f64; LANES]| std::array::from_fn(|lane| points.weight[lane] * gain[lane]);
        if self.is_first() {
            return (weighted(&gain), weighted(&points.gain_left));
        }
        let above = points.at.map(|p| (1.0 - self.before) / (self.before + (1.0 - self.before) * p));
        let minus = |gain: &[f64; LANES]| std::array::from_fn(|lane| gain[lane] - above[lane]);
        (weighted(&minus(&gain)), weighted(&minus(&points.gain_left)))
    }

    /// Whether no split above is on the same feature. Then `before` is 1, and no division by it is needed.
    #[inline(always)]
    fn is_first(&self) -> bool {
        self.before == 1.0
    }
}
