//! Prediction with grown trees: the leaves that rows reach in one tree, or in each of many.
//!
//! Rows are the unit of parallel work, in blocks; within a block, tree after tree is applied, so
//! that the top of a tree stays in the cache. O(depth) per row and tree. Values are added in the
//! order of the trees whatever the blocks are, so that their sum has one rounding.

use std::ops::Range;

use super::descent::blocks::{MIN_BLOCK, RowBlocks};
use super::descent::clusters::Clusters;
use super::descent::split_view::{AT_LEAF, SplitView};
use super::descent::visit_leaves;
use super::descent::walk::Walk;
use super::descent::zero_ways::Ways;
use super::{TREE_LEAF, Tree};
use crate::data::Matrix;
use crate::data::rows::Reader;
use crate::error::Result;
use crate::memory;
use crate::runtime::Runtime;

/// The number of class shares that a thread holds while it chooses labels: 16 MB. Only with more than 64
/// classes is a part of a block smaller than a block.
const MEANS_AT_ONCE: usize = 1 << 21;
/// Finding out the ids of this many leaves costs about what one descent does that counts nodes.
const LEAVES_PER_DESCENT: usize = 32;

/// A position is the id of a node.
impl Walk for Tree {
    #[inline]
    fn root(&self) -> u32 {
        self.position(0)
    }

    fn split(&self, at: u32) -> SplitView<'_> {
        let (nodes, node) = (self.nodes(), at as usize);
        SplitView {
            feature: nodes.feature[node] as u32,
            threshold: nodes.threshold[node],
            missing_go_left: nodes.missing_go_to_left[node] != 0,
            set: self.category_set(node),
            children: [nodes.children_left[node], nodes.children_right[node]].map(|child| self.position(child)),
        }
    }

    #[inline]
    fn step(&self, at: u32, value: impl Fn(u32) -> f64) -> u32 {
        let (nodes, node) = (self.nodes(), at as usize);
        let goes_left = self.goes_left(node, value(nodes.feature[node] as u32));
        self.position(if goes_left { nodes.children_left[node] } else { nodes.children_right[node] })
    }

    #[inline]
    fn add_values(&self, leaves: &[u32], sums: &mut [f64]) {
        for (&leaf, sums) in leaves.iter().zip(sums.chunks_exact_mut(self.n_values())) {
            sums.iter_mut().zip(self.value(leaf as usize)).for_each(|(sum, value)| *sum += value);
        }
    }

    fn n_leaves(&self) -> usize {
        Self::n_leaves(self)
    }

    fn n_categories(&self) -> &[u32] {
        Self::n_categories(self)
    }

    fn clusters(&self, n_rows: usize) -> Option<&Clusters> {
        self.clusters.for_batch(self.n_leaves() - 1, n_rows, || {
            let nodes = self.nodes();
            Clusters::new(self.n_features(), self.n_categories(), self.node_count(), self.root(), |id| {
                (nodes.children_left.get(id as usize)? != &TREE_LEAF).then(|| self.split(id))
            })
        })
    }

    fn ways(&self, n_rows: usize) -> Option<&Ways> {
        self.ways.for_batch(self.n_leaves() - 1, n_rows, || {
            let shape = (self.root(), self.n_leaves(), self.n_features());
            Some(Ways::new(shape, |at| self.split(at), |at| self.step(at, |_| 0.0)))
        })
    }

    #[inline]
    fn descend(&self, value: impl Fn(u32) -> f64, mut pass: impl FnMut(usize)) -> usize {
        let mut at = self.root();
        while at & AT_LEAF == 0 {
            pass(at as usize);
            at = self.step(at, &value);
        }
        let leaf = (at & !AT_LEAF) as usize;
        pass(leaf);
        leaf
    }
}

impl Tree {
    #[inline]
    fn position(&self, node: i32) -> u32 {
        let is_leaf = self.nodes().children_left[node as usize] == TREE_LEAF;
        node as u32 | if is_leaf { AT_LEAF } else { 0 }
    }

    /// The leaf that each row reaches. Shape `(n_samples,)`.
    pub fn apply(&self, x: &dyn Matrix, runtime: &Runtime<'_>) -> Result<Vec<i64>> {
        apply(&[self], &self.blocks(x, runtime)?, runtime)
    }

    /// The value of the leaf that each row reaches. Row-major `(n_samples, n_values)`.
    pub fn predict(&self, x: &dyn Matrix, runtime: &Runtime<'_>) -> Result<Vec<f64>> {
        // Added to minus 0, the one number that leaves every other as it is, minus 0 included.
        means(&[self], -0.0, self.n_values(), &self.blocks(x, runtime)?, runtime)
    }

    /// The nodes that each row passes, as a CSR structure: `(indptr, indices)`.
    pub fn decision_path(&self, x: &dyn Matrix, runtime: &Runtime<'_>) -> Result<(Vec<i64>, Vec<i64>)> {
        decision_path(&[self], &[0], &self.blocks(x, runtime)?, runtime)
    }

    fn blocks<'x>(&self, x: &'x dyn Matrix, runtime: &Runtime<'_>) -> Result<RowBlocks<'x>> {
        RowBlocks::new(x, self.n_features(), self.max_depth(), runtime)
    }
}

/// The leaf that each row reaches in each tree. Row-major `(n_samples, n_trees)`.
pub(crate) fn apply<W: Walk>(trees: &[&W], blocks: &RowBlocks<'_>, runtime: &Runtime<'_>) -> Result<Vec<i64>> {
    let n_trees = trees.len();
    let mut leaves = memory::zeros(RESULT, blocks.n_samples().saturating_mul(n_trees))?;
    let n_leaves: usize = trees.iter().map(|tree| tree.n_leaves()).sum();
    let parts = leaves.chunks_mut(blocks.len() * n_trees);
    if n_leaves / LEAVES_PER_DESCENT > blocks.n_samples() * n_trees {
        // Rows are few, so each finds out the ids of its leaves.
        blocks.visit(parts, runtime, |reader, rows, leaves| {
            for (at, tree) in trees.iter().enumerate() {
                for (leaves, row) in leaves.chunks_exact_mut(n_trees).zip(rows.clone()) {
                    runtime.check_in_turn(row - rows.start)?;
                    leaves[at] = tree.leaf(reader.row(row), |_| ()) as i64;
                }
            }
            Ok(())
        })?;
        return Ok(leaves);
    }
    let ids = runtime.map(trees.to_vec(), |tree| Ok(tree.leaf_ids()))?;
    blocks.visit(parts, runtime, |reader, rows, leaves| {
        let rows: Vec<usize> = rows.collect();
        visit_leaves(trees, reader, &rows, runtime, |first, at, numbers| {
            for (leaves, &number) in leaves[first * n_trees..].chunks_exact_mut(n_trees).zip(numbers) {
                leaves[at] = ids[at].as_ref().map_or(number, |ids| ids[number as usize]).into();
            }
        })
    })?;
    Ok(leaves)
}

/// The mean of the values of the leaves that each row reaches, added to `start`. Row-major
/// `(n_samples, n_values)`.
pub(crate) fn means<W: Walk>(
    trees: &[&W],
    start: f64,
    n_values: usize,
    blocks: &RowBlocks<'_>,
    runtime: &Runtime<'_>,
) -> Result<Vec<f64>> {
    let mut means = memory::zeros(RESULT, blocks.n_samples().saturating_mul(n_values))?;
    blocks.visit(means.chunks_mut(blocks.len() * n_values), runtime, |reader, rows, means| {
        block_means(trees, start, reader, rows, runtime, means)
    })?;
    Ok(means)
}

/// For each row and output, the class with the greatest mean share, the first of several. Row-major
/// `(n_samples, n_outputs)`. Each thread holds the means of a part of a block at a time.
pub(crate) fn classes<W: Walk>(
    trees: &[&W],
    (n_outputs, n_values): (usize, usize),
    blocks: &RowBlocks<'_>,
    runtime: &Runtime<'_>,
) -> Result<Vec<u32>> {
    let mut classes: Vec<u32> = memory::zeros(RESULT, blocks.n_samples().saturating_mul(n_outputs))?;
    blocks.visit(classes.chunks_mut(blocks.len() * n_outputs), runtime, |reader, rows, classes| {
        let n_at_once = (MEANS_AT_ONCE / n_values).clamp(MIN_BLOCK, rows.len().max(MIN_BLOCK));
        let mut means = memory::zeros(RESULT, rows.len().min(n_at_once) * n_values)?;
        for (first, classes) in rows.clone().step_by(n_at_once).zip(classes.chunks_mut(n_at_once * n_outputs)) {
            let rows = first..rows.end.min(first + n_at_once);
            let means = &mut means[..rows.len() * n_values];
            block_means(trees, 0.0, reader, rows, runtime, means)?;
            for (class, shares) in classes.iter_mut().zip(means.chunks_exact(n_values / n_outputs)) {
                let best = (1..shares.len()).fold(0, |best, at| if shares[at] > shares[best] { at } else { best });
                *class = best as u32;
            }
        }
        Ok(())
    })?;
    Ok(classes)
}

/// The means of the rows of a block, see [`means`].
fn block_means<W: Walk>(
    trees: &[&W],
    start: f64,
    reader: &mut Reader<'_>,
    rows: Range<usize>,
    runtime: &Runtime<'_>,
    means: &mut [f64],
) -> Result<()> {
    let n_values = means.len() / rows.len();
    means.fill(start);
    let rows: Vec<usize> = rows.collect();
    visit_leaves(trees, reader, &rows, runtime, |first, at, leaves| {
        trees[at].add_values(leaves, &mut means[first * n_values..][..leaves.len() * n_values]);
    })?;
    divide(means, trees.len() as f64);
    Ok(())
}

/// The nodes that each row passes in all trees, as a CSR structure `(indptr, indices)`. The nodes
/// of tree `t` have the numbers from `first[t]` on, which is 0 for the first tree alone.
pub(crate) fn decision_path<W: Walk>(
    trees: &[&W],
    first: &[i64],
    blocks: &RowBlocks<'_>,
    runtime: &Runtime<'_>,
) -> Result<(Vec<i64>, Vec<i64>)> {
    // At least the root of each tree, twice: in parts, and in one piece.
    let least = blocks.n_samples().saturating_mul(trees.len()).saturating_mul(2 * size_of::<i64>());
    memory::check(RESULT, least)?;
    let parts = (0..blocks.n_samples()).step_by(blocks.len()).map(|_| Vec::new());
    let parts = blocks.visit(parts, runtime, |reader, rows, nodes| {
        let mut path = Vec::new();
        for row in rows {
            runtime.check_interrupt()?;
            let row = reader.row(row);
            path.clear();
            for (tree, first) in trees.iter().zip(first) {
                tree.leaf(row, |node| path.push(first + node as i64));
            }
            memory::make_room(RESULT, nodes, path.len())?;
            nodes.extend_from_slice(&path);
        }
        Ok(())
    })?;
    let mut nodes = memory::reserve(RESULT, parts.iter().map(Vec::len).sum())?;
    for part in &parts {
        runtime.check_interrupt()?;
        nodes.extend_from_slice(part);
    }
    // Every path begins at the root of the first tree, which is node 0 and in no path again.
    let mut indptr = memory::reserve(RESULT, blocks.n_samples() + 1)?;
    for (part, first) in nodes.chunks(MIN_BLOCK).zip((0..).step_by(MIN_BLOCK)) {
        runtime.check_interrupt()?;
        indptr.extend((first..).zip(part).filter(|&(_, &node)| node == 0).map(|(at, _)| at));
    }
    indptr.push(nodes.len() as i64);
    Ok((indptr, nodes))
}

/// The name of the memory for results, in errors.
const RESULT: &str = "the result";

/// Divides all values by `divisor`.
pub(crate) fn divide(values: &mut [f64], divisor: f64) {
    for value in values {
        *value /= divisor;
    }
}
