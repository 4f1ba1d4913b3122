//! The walk down a subtree of few rows of dense data.
//!
//! It visits the same nodes as the driver, with the same keys and the same splits, and calls the
//! same functions of the policy for each. But nothing is made for a node but a few
//! numbers: its rows are a range of a list. `benches/notes/small-subtrees.md` says what that saves.

use smallvec::SmallVec;

use super::expand::{self, NodeSize, Pending, Split};
use super::facts::NodeFacts;
use super::policy::{Follow, Policy};
use crate::criterion::Criterion;
use crate::criterion::small::SmallRows;
use crate::error::Result;
use crate::rng::{NodeKey, Side};
use crate::split::{Search, SmallNodeRows, SmallScratch, SmallSplit};

/// A node that waits to be visited.
struct WaitingNode<L> {
    rows: SmallNodeRows,
    depth: u64,
    key: NodeKey,
    load: L,
}

/// A node, as the policy sees it.
struct SmallFacts<'a, C, R> {
    criterion: &'a C,
    scratch: &'a SmallScratch<R>,
    depth: u64,
}

impl<C: Criterion, R: SmallRows<C>> NodeFacts for SmallFacts<'_, C, R> {
    fn samples(&self) -> &[u32] {
        self.scratch.samples()
    }

    fn depth(&self) -> u64 {
        self.depth
    }

    fn weight(&self) -> u64 {
        self.scratch.rows.weight()
    }

    fn impurity(&self) -> f64 {
        self.scratch.rows.impurity(self.criterion)
    }

    fn write_value(&self, value: &mut [f64]) {
        self.scratch.rows.write_value(self.criterion, self.samples(), value);
    }
}

/// A node of one row, as the policy sees it. Half of all nodes are of this kind where targets are numbers.
struct RowFacts<'a, C, R> {
    criterion: &'a C,
    rows: &'a R,
    place: u8,
    sample: &'a [u32; 1],
    depth: u64,
}

impl<C: Criterion, R: SmallRows<C>> NodeFacts for RowFacts<'_, C, R> {
    fn samples(&self) -> &[u32] {
        self.sample
    }

    fn depth(&self) -> u64 {
        self.depth
    }

    fn weight(&self) -> u64 {
        self.rows.row_weight(self.place)
    }

    fn impurity(&self) -> f64 {
        self.rows.row_impurity(self.place)
    }

    fn write_value(&self, value: &mut [f64]) {
        self.rows.write_row_value(self.criterion, self.place, self.sample[0], value);
    }
}

/// Whether the best split of the node that was entered last, which sends `n_left` rows left, decreases the
/// impurity by less than `min_impurity_decrease`. The node is entered again.
fn gains_too_little<C: Criterion, R: SmallRows<C>>(
    search: &Search<'_, C>,
    scratch: &mut SmallScratch<R>,
    n_left: usize,
) -> bool {
    let [left, right] = scratch.children(n_left);
    let mut size = |node| {
        scratch.enter(search.criterion, node);
        NodeSize { weight: scratch.rows.weight(), impurity: scratch.rows.impurity(search.criterion) }
    };
    let (a, b) = (size(left), size(right));
    let node = size(left.united(right));
    expand::gains_too_little(search, node, a, b)
}

/// Walks the subtree of a node whose rows have been loaded. Nodes are visited in preorder,
/// the left child first.
pub(super) fn walk<'l, C: Criterion, R: SmallRows<C>, P: Policy>(
    search: &Search<'_, C>,
    policy: &P,
    root: &Pending<'_, C>,
    load: P::Load<'l>,
    finds: &mut P::Finds,
    scratch: &mut SmallScratch<R>,
) -> Result<()> {
    search.runtime.check_interrupt()?;
    let criterion = search.criterion;
    let first = policy.n_recorded(finds);
    let mut deepest = root.depth;
    // The right children whose left siblings' subtrees are not walked yet.
    let mut waiting: SmallVec<[WaitingNode<P::Load<'l>>; 16]> = SmallVec::new();
    let mut node =
        WaitingNode { rows: SmallNodeRows::root(root.samples.ids().len()), depth: root.depth, key: root.key, load };
    loop {
        let WaitingNode { rows, depth, key, mut load } = node;
        let n = rows.n_samples();
        deepest = deepest.max(depth);
        if n == 1 {
            let (place, sample) = scratch.row(rows);
            let facts = RowFacts { criterion, rows: &scratch.rows, place, sample: &[sample], depth };
            policy.visit(search, &facts, &mut load, finds)?;
            policy.finish_leaf(search, &facts, load, finds);
            match waiting.pop() {
                Some(next) => node = next,
                None => break,
            }
            continue;
        }
        scratch.enter(criterion, rows);
        policy.visit(search, &SmallFacts { criterion, scratch, depth }, &mut load, finds)?;
        let must_stop = expand::must_stop(search, depth, n, scratch.rows.weight(), || scratch.rows.is_pure(criterion));
        let mut found = if must_stop { None } else { scratch.best_split(search, key) };
        if search.params.min_impurity_decrease > 0.0
            && let Some(SmallSplit { n_left, .. }) = found
            && gains_too_little(search, scratch, n_left)
        {
            found = None;
        }
        let next = if let Some(found) = found {
            let SmallSplit { feature, threshold, missing, n_left, weight, .. } = found;
            let heavier = if weight > scratch.rows.weight() - weight { Side::Left } else { Side::Right };
            let rows = scratch.samples().split_at(n_left);
            let mut split = Split::of(search.data, feature, rows, heavier, missing, || threshold);
            if criterion.splits_carry_gain() {
                split = split.with_gain(scratch.rows.gain_of_split(criterion, rows.0));
            }
            let children = scratch.children(n_left);
            let child = |side, load| {
                let rows = children[usize::from(side == Side::Right)];
                WaitingNode { rows, depth: depth + 1, key: key.child(side), load }
            };
            match policy.follow(search, &split, [n_left, n - n_left], load) {
                Follow::One(side, load) => Some(child(side, load)),
                Follow::Both(left, right) => {
                    policy.keep(split, &left, finds);
                    waiting.push(child(Side::Right, right));
                    Some(child(Side::Left, left))
                }
            }
        } else {
            policy.finish_leaf(search, &SmallFacts { criterion, scratch, depth }, load, finds);
            waiting.pop()
        };
        match next {
            Some(next) => node = next,
            None => break,
        }
    }
    policy.finish_preorder(first, deepest - root.depth, finds);
    Ok(())
}
