//! The steps by which a visit goes through a tree, for the leaves of a group.
//!
//! Steps pass over the nodes without a leaf of the group. Of two subtrees the one with more nodes comes
//! first: results that wait for the other one then are no more than the logarithm of the number of nodes.
//!
//! Steps are kept with a forest, and each row reads all of them. So a step is stored in five bytes: a split,
//! and a [code](Code). The rest follows from the steps before it.

use super::plan::{LeafFacts, PLAN};
use super::quadrature::LANES;
use crate::error::Result;
use crate::memory;
use crate::num::sort_by_key;
use crate::runtime::Runtime;
use crate::tree::{TREE_LEAF, Tree};

/// The subtree below a split on one side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Child {
    /// No leaf of the group whose values are other than 0.
    Nothing,
    /// A leaf, by its number in the group.
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
#[derive(Default)]
pub struct LeafGroup {
    /// The number of points that suffices for every path of the group.
    pub n_points: usize,
    splits: Vec<u32>,
    codes: Vec<Code>,
    /// Number of depths at which there are splits.
    pub n_depths: usize,
    /// Number of results that wait at once.
    pub n_places: usize,
    /// By leaf, what it predicts, row-major `(n_leaves, n_values)`, less the part that all have in common.
    pub values: Vec<f64>,
    /// By leaf, the error of quadrature that is allowed for values of 1; empty if no row is asked for it.
    pub tolerances: Vec<f64>,
    /// By closed split: which values are other than 0 in a leaf of the group below it. Empty where leaves
    /// have one value: then that one.
    present: Vec<PartBounds>,
    present_values: Vec<u32>,
    /// The closed splits in their order, if leaves have one value; otherwise empty.
    pub closed: Vec<Closed>,
    /// Where the parts of `closed` end: each is a subtree of [`FEW_NODES`] or fewer, or one split.
    pub part_ends: Vec<u32>,
}

/// The nodes of a subtree whose intermediate results fit in a first-level cache.
pub const FEW_NODES: u32 = 256;

/// A split whose children are finished.
#[derive(Debug, Clone, Copy)]
pub struct Closed {
    pub split: u32,
    code: Code,
}

impl Closed {
    /// What the children are: [`NOTHING`], a [`LEAF`], or a subtree: the [`FIRST`] or [`SECOND`] that is
    /// visited.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "compiled for each width of registers")]
    pub fn kinds(self) -> [u8; 2] {
        [self.code.0 >> 2 & 3, self.code.0 >> 4 & 3]
    }
}

/// The bounds of the three parts of a split's list of values. Between the first two bounds lie the values
/// that only the left child has, between the second and the third the values that only the right child has,
/// between the last two the values that both have.
pub type PartBounds = [usize; 4];

/// The kind of a step in the lowest two bits. Of a closed split two bits for each child follow, and a bit
/// that says whether it is the second subtree of its parent.
#[derive(Debug, Clone, Copy)]
struct Code(u8);

const OPEN: u8 = 0;
/// The edge to the right has the next number.
const ENTER_LEFT: u8 = 1;
const CLOSE: u8 = 3;

pub const NOTHING: u8 = 0;
pub const LEAF: u8 = 1;
pub const FIRST: u8 = 2;
pub const SECOND: u8 = 3;
const IS_SECOND: u8 = 1 << 6;

impl Code {
    fn closing(children: [Child; 2], is_second: bool) -> Self {
        let kind = |child: Child| match child {
            Child::Nothing => NOTHING,
            Child::Leaf(_) => LEAF,
            Child::Subtree(false) => FIRST,
            Child::Subtree(true) => SECOND,
        };
        Self(CLOSE | kind(children[0]) << 2 | kind(children[1]) << 4 | if is_second { IS_SECOND } else { 0 })
    }
}

/// The steps of a group, one after the other.
#[derive(Clone)]
pub struct Steps<'a> {
    group: &'a LeafGroup,
    at: usize,
    depth: u32,
    place: u32,
    n_leaves: u32,
    n_closed: u32,
}

#[allow(clippy::inline_always, reason = "compiled for each width of registers")]
impl Iterator for Steps<'_> {
    type Item = PlanStep;

    #[inline(always)]
    fn next(&mut self) -> Option<PlanStep> {
        let (&Code(code), &split) = self.group.codes.get(self.at).zip(self.group.splits.get(self.at))?;
        self.at += 1;
        match code & 3 {
            OPEN => Some(PlanStep::Open { split }),
            CLOSE => {
                let mut child = |kind: u8| match kind & 3 {
                    NOTHING => Child::Nothing,
                    LEAF => {
                        self.n_leaves += 1;
                        Child::Leaf(self.n_leaves - 1)
                    }
                    kind => Child::Subtree(kind == SECOND),
                };
                let children = [child(code >> 2), child(code >> 4)];
                let (depth, place, present) = (self.depth, self.place, self.n_closed);
                self.n_closed += 1;
                // The root is closed last.
                self.depth = depth.saturating_sub(1);
                self.place -= u32::from(code & IS_SECOND != 0);
                Some(PlanStep::Close { split, depth, place, children, present })
            }
            side => {
                let depth = self.depth;
                self.depth += 1;
                let side = side - ENTER_LEFT;
                // The code has the bit of the child that is entered.
                self.place += u32::from(code & IS_SECOND != 0);
                Some(PlanStep::Enter { split, side, depth })
            }
        }
    }
}

impl LeafGroup {
    /// The steps.
    pub fn steps(&self) -> Steps<'_> {
        Steps { group: self, at: 0, depth: 0, place: 0, n_leaves: 0, n_closed: 0 }
    }

    /// The values of a closed split that are not 0 everywhere below it, in three parts: values that only the
    /// left child has, values that only the right one has, and values that both have.
    pub fn present(&self, number: u32, children: [Child; 2]) -> [&[u32]; 3] {
        let Some(bounds) = self.present.get(number as usize) else {
            let part = match children {
                [_, Child::Nothing] => 0,
                [Child::Nothing, _] => 1,
                _ => 2,
            };
            return std::array::from_fn(|at| if at == part { &[0][..] } else { &[] });
        };
        [0, 1, 2].map(|part| &self.present_values[bounds[part]..bounds[part + 1]])
    }

    fn push(&mut self, split: u32, code: Code) -> Result<()> {
        memory::make_room(PLAN, &mut self.splits, 1)?;
        memory::make_room(PLAN, &mut self.codes, 1)?;
        self.splits.push(split);
        self.codes.push(code);
        Ok(())
    }

    /// Adds a leaf by its node.
    fn push_leaf(&mut self, node: u32, LeafFacts { values, n_values, tolerances }: LeafFacts<'_>) -> Result<()> {
        memory::make_room(PLAN, &mut self.values, n_values)?;
        self.values.extend_from_slice(&values[node as usize * n_values..][..n_values]);
        if self.n_points > LANES {
            memory::make_room(PLAN, &mut self.tolerances, 1)?;
            self.tolerances.push(tolerances[node as usize]);
        }
        Ok(())
    }

    /// Lists the values of a split, given the values of its children. `sides_of` is all 0 before and after.
    fn list_present(&mut self, of_children: &[Vec<u32>; 2], sides_of: &mut [u8]) {
        for (side, values) in of_children.iter().enumerate() {
            for &value in values {
                sides_of[value as usize] |= 1 << side;
            }
        }
        let mut bounds: PartBounds = [self.present_values.len(); 4];
        for (part, (child, sides)) in [(0, 1), (1, 2), (0, 3)].into_iter().enumerate() {
            let values = of_children[child].iter().copied();
            self.present_values.extend(values.filter(|&value| sides_of[value as usize] == sides));
            bounds[part + 1] = self.present_values.len();
        }
        of_children.iter().flatten().for_each(|&value| sides_of[value as usize] = 0);
        self.present.push(bounds);
    }

    fn trim(&mut self) {
        self.splits.shrink_to_fit();
        self.codes.shrink_to_fit();
        self.values.shrink_to_fit();
        self.tolerances.shrink_to_fit();
        self.present.shrink_to_fit();
        self.present_values.shrink_to_fit();
        self.closed.shrink_to_fit();
        self.part_ends.shrink_to_fit();
    }
}

/// A split on the way down, while steps are listed.
struct Frame {
    node: usize,
    is_second: bool,
    /// Leaves by their nodes.
    children: [Child; 2],
    /// The sides with subtrees that are not listed yet; the next one is last.
    pending: Vec<u8>,
}

/// The steps for the leaves that want more points than `above`, and at most `up_to`; `None` if there are
/// none below a split.
pub fn list_steps(
    tree: &Tree,
    split_of: &[u32],
    (above, up_to): (u32, u32),
    wanted: &dyn Fn(usize) -> u32,
    leaves: LeafFacts<'_>,
    runtime: &Runtime<'_>,
) -> Result<Option<LeafGroup>> {
    let nodes = tree.nodes();
    let LeafFacts { values, n_values, .. } = leaves;
    let is_leaf = |node: usize| nodes.children_left[node] == TREE_LEAF;
    // The number of splits to be visited in each subtree, or 1 for a leaf of the group.
    let mut sizes: Vec<u32> = memory::zeros(PLAN, tree.node_count())?;
    for node in (0..tree.node_count()).rev() {
        runtime.check_in_turn(node)?;
        sizes[node] = if is_leaf(node) {
            u32::from(wanted(node) > above && wanted(node) <= up_to)
        } else {
            let below = sizes[nodes.children_left[node] as usize] + sizes[nodes.children_right[node] as usize];
            below + u32::from(below > 0)
        };
    }
    if is_leaf(0) || sizes[0] == 0 {
        return Ok(None);
    }
    let mut group = LeafGroup { n_points: up_to as usize, ..LeafGroup::default() };
    // By split, the number of its values; by value, a bit for each child that has it.
    let mut present_of: Vec<u32> = memory::zeros(PLAN, if n_values == 1 { 0 } else { tree.node_count() })?;
    let mut sides_of: Vec<u8> = memory::zeros(PLAN, n_values)?;
    let frame = |node: usize, is_second: bool| {
        let sides = [nodes.children_left[node] as usize, nodes.children_right[node] as usize];
        let mut pending: Vec<u8> =
            (0..2).filter(|&side: &u8| !is_leaf(sides[side as usize]) && sizes[sides[side as usize]] > 0).collect();
        sort_by_key(&mut pending, |side| sizes[sides[side as usize]]);
        let second = (pending.len() == 2).then(|| pending[0]);
        let child = |side: u8| match sides[side as usize] {
            child if sizes[child] == 0 => Child::Nothing,
            child if is_leaf(child) => Child::Leaf(child as u32),
            _ => Child::Subtree(second == Some(side)),
        };
        Frame { node, is_second, children: [child(0), child(1)], pending }
    };
    let mut path = vec![frame(0, false)];
    let (mut place, mut is_new) = (0, true);
    while let Some(last) = path.last_mut() {
        runtime.check_in_turn(group.codes.len())?;
        let (split, node, children) = (split_of[last.node], last.node, last.children);
        let sides = [nodes.children_left[node] as usize, nodes.children_right[node] as usize];
        if is_new && !last.pending.is_empty() {
            group.push(split, Code(OPEN))?;
        }
        is_new = false;
        if let Some(side) = last.pending.pop() {
            let is_second = children[side as usize] == Child::Subtree(true);
            let code = (ENTER_LEFT + side) | if is_second { IS_SECOND } else { 0 };
            group.push(split, Code(code))?;
            place += usize::from(is_second);
            path.push(frame(sides[side as usize], is_second));
            is_new = true;
        } else {
            group.n_depths = group.n_depths.max(path.len());
            group.n_places = group.n_places.max(place + 2);
            for child in children {
                if let Child::Leaf(leaf) = child {
                    group.push_leaf(leaf, leaves)?;
                }
            }
            if n_values > 1 {
                let of_children = [0, 1].map(|side| match children[side] {
                    Child::Nothing => Vec::new(),
                    Child::Leaf(leaf) => {
                        let value = &values[leaf as usize * n_values..][..n_values];
                        (0..n_values as u32).filter(|&number| value[number as usize] != 0.0).collect()
                    }
                    Child::Subtree(_) => group.present(present_of[sides[side]], children).concat(),
                });
                present_of[node] = group.present.len() as u32;
                group.list_present(&of_children, &mut sides_of);
            }
            let code = Code::closing(children, path.pop().is_some_and(|closed| closed.is_second));
            group.push(split, code)?;
            if n_values == 1 {
                memory::make_room(PLAN, &mut group.closed, 1)?;
                group.closed.push(Closed { split, code });
                let is_large = |node: usize| sizes[node] > FEW_NODES;
                if is_large(node) || path.last().is_none_or(|above| is_large(above.node)) {
                    memory::make_room(PLAN, &mut group.part_ends, 1)?;
                    group.part_ends.push(group.closed.len() as u32);
                }
            }
            place -= usize::from(code.0 & IS_SECOND != 0);
        }
    }
    group.trim();
    Ok(Some(group))
}
