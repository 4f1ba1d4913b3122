//! Trees whose leaves are filled by other rows than those that have chosen the splits: honest trees (Wager,
//! Athey, "Estimation and inference of heterogeneous treatment effects using random forests", Journal of the
//! American Statistical Association 113, 2018).

use std::sync::Arc;

use super::grow::Bags;
use super::{Forest, Member};
use crate::criterion::{self, Criterion, Visitor};
use crate::data::{Matrix, Target};
use crate::error::{Error, Result};
use crate::memory;
use crate::params::ValidForestParams;
use crate::runtime::Runtime;
use crate::tree::packed::PackedTree;
use crate::tree::records::Records;
use crate::tree::refill::Filling;
use crate::tree::{TREE_LEAF, Tree};

/// Leaves of rows that are held at once, 12 bytes each.
pub(super) const LEAVES_AT_ONCE: usize = 1 << 20;
/// Rows whose leaves are put in the order of the trees together, which stay in cache.
const ROWS_AT_ONCE: usize = 64;
/// The name of the memory in errors.
const WHAT: &str = "the rows of the leaves";

/// The forest with other leaves. `fill` gets the place of a tree, the tree, and the leaf of each row of `x`,
/// and returns the new tree. Trees are filled by one thread each. O(rows of `x` times depth) for each tree,
/// beside `fill`.
pub(super) fn refill(
    forest: &Forest,
    x: &dyn Matrix,
    runtime: &Runtime<'_>,
    fill: impl Fn(usize, &PackedTree, &dyn Fn(u32) -> usize) -> Result<PackedTree> + Sync,
) -> Result<Forest> {
    let step = (LEAVES_AT_ONCE / x.shape().0.max(1)).max(runtime.n_threads());
    let mut members = Vec::with_capacity(forest.len());
    for first in (0..forest.len()).step_by(step) {
        let some = forest.part(first..(first + step).min(forest.len()), 1)?;
        let leaves = by_tree(&some.apply(x, runtime)?, some.len())?;
        let fill = |at: usize| {
            runtime.check_interrupt()?;
            let Member { tree, seed } = &some.members()[at];
            let own = &leaves[at * x.shape().0..][..x.shape().0];
            let leaf = |row: u32| own[row as usize] as usize;
            Ok(Member { tree: Arc::new(fill(first + at, tree, &leaf)?), seed: *seed })
        };
        members.extend(runtime.map((0..some.len()).collect(), fill)?);
    }
    Forest::new(members)
}

/// The leaves of all rows tree by tree, given those of each row.
fn by_tree(leaves: &[i64], n_trees: usize) -> Result<Vec<u32>> {
    let n_rows = leaves.len() / n_trees;
    let mut sorted: Vec<u32> = memory::zeros(WHAT, leaves.len())?;
    for (first, block) in (0..).step_by(ROWS_AT_ONCE).zip(leaves.chunks(ROWS_AT_ONCE * n_trees)) {
        for tree in 0..n_trees {
            let own = &mut sorted[tree * n_rows + first..];
            own.iter_mut().zip(block.chunks_exact(n_trees)).for_each(|(leaf, of_row)| *leaf = of_row[tree] as u32);
        }
    }
    Ok(sorted)
}

/// The forest with the splits of another, which [`grow_forest`](super::grow_forest) has grown with these
/// arguments, and with what the other part of the rows of each tree says of its nodes. `x` has the rows of
/// the target. A leaf that gets no row is left out: its sibling takes the place of their parent.
pub fn fill_trees(
    forest: &Forest,
    x: &dyn Matrix,
    target: &Target,
    params: &ValidForestParams,
    sample_ids: Option<&[u64]>,
    runtime: &Runtime<'_>,
) -> Result<Forest> {
    if x.shape().0 != target.n_samples() {
        let expected = format!("{} samples, as many as y", target.n_samples());
        return Err(Error::ShapeMismatch { what: "X", expected, got: format!("{} samples", x.shape().0) });
    }
    let bags = Bags::new(target, params, sample_ids)?;
    let seeds: Vec<u64> = forest.members().iter().map(|member| member.seed).collect();
    refill(forest, x, runtime, |at, tree, leaf| {
        let runtime = runtime.serial();
        let target = bags.filling(seeds[at], &runtime)?;
        let tree = tree.unpack()?;
        let filler = Filler { tree: &tree, target: &target, leaf, runtime: &runtime };
        criterion::visit(params.tree.criterion, &target, filler, &runtime)
    })
}

/// Fills a tree with the rows of a target.
struct Filler<'a> {
    tree: &'a Tree,
    target: &'a Target,
    leaf: &'a dyn Fn(u32) -> usize,
    runtime: &'a Runtime<'a>,
}

impl Filler<'_> {
    /// The rows that have a weight, leaf by leaf; and where those of each node begin that is a leaf, and
    /// where all end. As nodes are in preorder, the rows of a subtree come one after the other.
    fn list_rows(&self) -> Result<(Vec<u32>, Vec<u32>)> {
        let rows = self.target.weighted_samples();
        let mut starts: Vec<u32> = memory::zeros(WHAT, self.tree.node_count() + 1)?;
        for &row in &rows {
            starts[(self.leaf)(row) + 1] += 1;
        }
        for node in 0..self.tree.node_count() {
            starts[node + 1] += starts[node];
        }
        let mut sorted: Vec<u32> = memory::zeros(WHAT, rows.len())?;
        let mut next: Vec<u32> = memory::reserve(WHAT, starts.len())?;
        next.extend_from_slice(&starts);
        for row in rows {
            let at = &mut next[(self.leaf)(row)];
            sorted[*at as usize] = row;
            *at += 1;
        }
        Ok((sorted, starts))
    }
}

impl Visitor for Filler<'_> {
    type Output = PackedTree;

    fn visit<C: Criterion>(self, criterion: &C) -> Result<PackedTree> {
        let Self { tree, target, runtime, .. } = self;
        let (rows, starts) = self.list_rows()?;
        let (nodes, n_values) = (tree.nodes(), criterion.n_values());
        let of_nodes = |first: usize, end: usize| &rows[starts[first] as usize..starts[end] as usize];
        let mut fillings: Vec<Filling> = memory::filled(WHAT, Filling::default(), tree.node_count())?;
        let mut values: Vec<f64> = memory::zeros(WHAT, tree.node_count().saturating_mul(n_values))?;
        // Nodes that have rows, where their subtrees end, and their statistics.
        let mut pending = vec![(0, tree.node_count(), criterion.totals(&rows))];
        while let Some((node, end, totals)) = pending.pop() {
            runtime.check_in_turn(node)?;
            let own = of_nodes(node, end);
            let filling = &mut fillings[node];
            filling.n_rows = own.len() as i64;
            filling.weight = criterion.weight(&totals) as f64 * target.weight_unit();
            filling.impurity = criterion.impurity_of_filled(&totals);
            criterion.write_value(&totals, own, &mut values[node * n_values..][..n_values]);
            if nodes.children_left[node] == TREE_LEAF {
                continue;
            }
            let (left, right) = (nodes.children_left[node] as usize, nodes.children_right[node] as usize);
            let sizes = [of_nodes(left, right).len(), of_nodes(right, end).len()];
            match sizes {
                [_, 0] => pending.push((left, right, totals)),
                [0, _] => pending.push((right, end, totals)),
                [n_left, n_right] => {
                    let left_is_small = n_left <= n_right;
                    let small =
                        criterion.totals(if left_is_small { of_nodes(left, right) } else { of_nodes(right, end) });
                    let large = criterion.minus(&totals, &small);
                    let (of_left, of_right) = if left_is_small { (small, large) } else { (large, small) };
                    if criterion.splits_carry_gain() {
                        fillings[node].impurity = criterion.gain_of_split(&totals, &of_left);
                    }
                    pending.push((right, end, of_right));
                    pending.push((left, right, of_left));
                }
            }
        }
        let filling = |node: usize, value: &mut Vec<f64>| {
            value.extend_from_slice(&values[node * n_values..][..n_values]);
            fillings[node]
        };
        let filled = tree.refilled(target.n_classes(), &|node| fillings[node].n_rows, &filling, runtime)?;
        let mut records = Records::of(&filled);
        if criterion.splits_carry_gain() {
            records.fold_gains();
        }
        Ok(PackedTree::of(&records, target.weight_unit()))
    }
}
