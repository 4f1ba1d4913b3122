//! The visit of a tree by one row, for eight points and leaves of one value.
//!
//! In [`kernel`](super::kernel), a step goes down to a split, along an edge, or back up. A processor cannot
//! foresee which, and waits at each step. Many rows share the waiting; one row does not. So here two loops
//! pass over the splits: one from the root down, for the products of factors, and one back up, for the sums
//! over leaves. The numbers are those of `kernel`, bit for bit.
//!
//! Between the loops each split keeps two registers. For these to stay in a first-level cache, both loops
//! pass over one small subtree after the other. The splits above these subtrees are summed up at last.

use std::ops::Range;

use super::covers::NO_EDGE;
use super::kernel::{Contributions, EXPLANATION, total};
use super::lanes::{Lanes, ZERO, plus, times};
use super::plan::{Plan, PlanSplit};
use super::quadrature::{LANES, Points};
use super::steps::{Closed, FEW_NODES, FIRST, LEAF, LeafGroup, SECOND};
use super::turns::Turns;
use crate::error::Result;
use crate::memory;
use crate::runtime::Runtime;
use crate::simd::{Level, vectorized};

/// The buffers of a thread that visits trees with one row.
#[derive(Default)]
pub struct RowScratch {
    /// By place of a split: a number for the child that the row goes to, and one for the other child. On the
    /// way down it is the product of the factors of the path, times the value if the child is a leaf. On the
    /// way up, the sum over the leaves below a split takes the place of its product.
    edges: Vec<[Lanes; 2]>,
    /// By place of a split: its own place among the edges, two for each place of a split.
    edge_of: Vec<u32>,
    /// By split: [`TAKEN_RIGHT`] and [`IS_OFF`].
    turns: Vec<u8>,
    /// The edges to subtrees that are still to be visited; the next one is last.
    waiting: Vec<u32>,
    /// By split of a part: its contribution, point by point.
    gains: Vec<Lanes>,
    /// By closed split: its contribution.
    totals: Vec<f64>,
}

/// The row goes to the right child.
const TAKEN_RIGHT: u8 = 1;
/// The row has left the path at a split above on the same feature.
const IS_OFF: u8 = 2;

/// A visit in progress.
struct RowVisit<'a> {
    splits: &'a [PlanSplit],
    closed: &'a [Closed],
    values: &'a [f64],
    go_left: &'a [u64],
    points: &'a Points,
    /// How many leaves are still to be met on the way down, from the last leaf to the first.
    n_leaves: usize,
    edges: &'a mut [[Lanes; 2]],
    edge_of: &'a mut [u32],
    turns: &'a mut [u8],
    waiting: &'a mut [u32],
    /// How many edges wait.
    n_waiting: usize,
    gains: &'a mut [Lanes],
    totals: &'a mut [f64],
}

impl RowScratch {
    /// Adds the contributions of the features in the leaves of a group, at some points.
    pub fn visit(
        &mut self,
        (plan, group): (&Plan, &LeafGroup),
        points: &Points,
        turns: &Turns,
        to: &mut Contributions<'_>,
        runtime: &Runtime<'_>,
    ) -> Result<()> {
        let n_parts = group.part_ends.len();
        // The root, the splits that are parts of their own, and one other part.
        let n_places = 1 + n_parts + FEW_NODES as usize;
        resize(&mut self.edges, n_places, [ZERO; 2])?;
        resize(&mut self.edge_of, n_places, 0)?;
        resize(&mut self.turns, plan.splits.len(), 0)?;
        resize(&mut self.gains, FEW_NODES as usize, ZERO)?;
        resize(&mut self.totals, group.closed.len(), 0.0)?;
        self.edges[0][0] = [1.0; LANES];
        resize(&mut self.waiting, group.n_places + 2, 0)?;
        self.waiting[0] = 0;
        let mut visit = RowVisit {
            splits: &plan.splits,
            closed: &group.closed,
            values: &group.values,
            go_left: &turns.go_left,
            points,
            n_leaves: group.values.len(),
            edges: &mut self.edges,
            edge_of: &mut self.edge_of,
            turns: &mut self.turns,
            waiting: &mut self.waiting,
            n_waiting: 1,
            gains: &mut self.gains,
            totals: &mut self.totals,
        };
        let part = |number: usize| {
            let start = if number == 0 { 0 } else { group.part_ends[number - 1] };
            start as usize..group.part_ends[number] as usize
        };
        let level = Level::widest();
        for number in (0..n_parts).rev() {
            runtime.check_in_turn(number)?;
            let range = part(number);
            if range.len() == 1 {
                down(level, &mut visit, range, 1 + number);
            } else {
                down(level, &mut visit, range.clone(), 1 + n_parts);
                up(level, &mut visit, range, 1 + n_parts);
            }
        }
        for (number, range) in (0..n_parts).map(|number| (number, part(number))).filter(|(_, part)| part.len() == 1) {
            up(level, &mut visit, range, 1 + number);
        }
        for (closed, total) in group.closed.iter().zip(&self.totals) {
            to.all[plan.splits[closed.split as usize].feature as usize * to.n_rows] += total;
        }
        Ok(())
    }
}

/// Makes room for `n` items.
fn resize<T: Copy>(items: &mut Vec<T>, n: usize, value: T) -> Result<()> {
    if items.len() < n {
        *items = memory::filled(EXPLANATION, value, n)?;
    }
    Ok(())
}

vectorized! {
    /// Passes over some splits from the last one to the first; their places begin at `first_place`.
    fn down(visit: &mut RowVisit<'_>, range: Range<usize>, first_place: usize) {
        for (number, closed) in visit.closed[range].iter().enumerate().rev() {
            let place = first_place + number;
            visit.n_waiting -= 1;
            let edge = visit.waiting[visit.n_waiting];
            visit.edge_of[place] = edge;
            let product = visit.edges[edge as usize / 2][edge as usize % 2];
            let own = &visit.splits[closed.split as usize];
            let way = usize::from(visit.go_left[closed.split as usize] & 1 == 0);
            let is_along = own.above == NO_EDGE || u32::from(visit.turns[own.above as usize / 2]) == own.above % 2;
            let turn = if way == 1 { TAKEN_RIGHT } else { 0 };
            visit.turns[closed.split as usize] = if is_along { turn } else { turn | IS_OFF };
            let kinds = closed.kinds();
            let are_leaves = kinds.map(|kind| usize::from(kind == LEAF));
            visit.n_leaves -= are_leaves[0] + are_leaves[1];
            let behind = visit.n_leaves + are_leaves[0];
            // A branch less, too: the value of a leaf, and 1 for a subtree.
            let worth = |leaf: usize, kind: u8| {
                let value = visit.values.get(leaf).copied().unwrap_or(0.0);
                let bits_if = |value: f64, is_it: bool| value.to_bits() & u64::from(is_it).wrapping_neg();
                f64::from_bits(bits_if(value, kind == LEAF) | bits_if(1.0, kind > LEAF))
            };
            let worths = [worth(visit.n_leaves, kinds[0]), worth(behind, kinds[1])];
            let (near, far) = ([worths[way]; LANES], [worths[1 - way]; LANES]);
            let edges = &mut visit.edges[place];
            if is_along {
                let left = times(&own.left(visit.points), &[own.share[1 - way]; LANES]);
                edges[0] = times(&times(&product, &own.taken(way, visit.points)), &near);
                edges[1] = times(&times(&product, &left), &far);
            } else {
                edges[0] = times(&times(&product, &[own.share[way]; LANES]), &near);
                edges[1] = times(&times(&product, &[own.share[1 - way]; LANES]), &far);
            }
            // Splits are closed in the order first subtree, second subtree, split. Without a branch: which of
            // them there are cannot be foreseen.
            let kinds = [kinds[way], kinds[1 - way]];
            let first = usize::from(kinds[1] == FIRST);
            visit.waiting[visit.n_waiting] = (2 * place + first) as u32;
            visit.n_waiting += usize::from(kinds[first] == FIRST);
            visit.waiting[visit.n_waiting] = (2 * place + 1 - first) as u32;
            visit.n_waiting += usize::from(kinds[1 - first] == SECOND);
        }
    }
}

vectorized! {
    /// Passes over some splits from the first one to the last; their places begin at `first_place`.
    fn up(visit: &mut RowVisit<'_>, range: Range<usize>, first_place: usize) {
        for ((place, closed), gain) in (first_place..).zip(&visit.closed[range.clone()]).zip(&mut *visit.gains) {
            let own = &visit.splits[closed.split as usize];
            let [taken, left] = visit.edges[place];
            let edge = visit.edge_of[place] as usize;
            visit.edges[edge / 2][edge % 2] = plus(&taken, &left);
            let turn = visit.turns[closed.split as usize];
            *gain = if turn & IS_OFF == 0 {
                let taken = times(&taken, &own.gain_taken(turn as usize, visit.points));
                plus(&taken, &times(&left, &own.gain_left(visit.points)))
            } else {
                ZERO
            };
        }
        // In a loop of its own: in the loop above the compiler would split all registers into halves.
        for (sum, gain) in visit.totals[range].iter_mut().zip(&*visit.gains) {
            *sum = total(gain);
        }
    }
}
