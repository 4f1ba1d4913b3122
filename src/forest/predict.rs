//! Prediction with a forest: the mean of its trees.

use std::ops::Range;

use super::sampler::TREES_AT_ONCE;
use super::{Forest, Member, RowSampler};
use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::memory;
use crate::runtime::Runtime;
use crate::tree::Walk;
use crate::tree::descent::blocks::RowBlocks;
use crate::tree::descent::visit_leaves;
use crate::tree::packed::PackedTree;
use crate::tree::predict::{apply, classes, decision_path, divide, means};

/// The mean over the trees that have not seen a row.
#[derive(Debug, Clone, PartialEq)]
pub struct OobPrediction {
    /// Row-major `(n_samples, n_values)`; zeros where no tree is left.
    pub values: Vec<f64>,
    /// By row, the number of trees that have not seen it.
    pub n_trees: Vec<u32>,
}

impl Forest {
    /// The mean of the values of the leaves that each row reaches. Row-major `(n_samples,
    /// n_values)`.
    pub fn predict(&self, x: &dyn Matrix, runtime: &Runtime<'_>) -> Result<Vec<f64>> {
        means(&self.packed(), 0.0, self.n_values(), &self.blocks(x, runtime)?, runtime)
    }

    /// The sums of the values of the leaves that each row reaches in every `n_turns`-th tree, from each of
    /// the first ones on: row-major `(n_samples, n_turns)`. Trees predict one number.
    pub fn sum_in_turns(&self, x: &dyn Matrix, n_turns: usize, runtime: &Runtime<'_>) -> Result<Vec<f64>> {
        let (blocks, trees) = (self.blocks(x, runtime)?, self.packed());
        let mut sums: Vec<f64> = memory::zeros("the result", blocks.n_samples().saturating_mul(n_turns))?;
        blocks.visit(sums.chunks_mut(blocks.len() * n_turns), runtime, |reader, rows, sums| {
            let rows: Vec<usize> = rows.collect();
            visit_leaves(&trees, reader, &rows, runtime, |first, at, leaves| {
                if n_turns == 1 {
                    return trees[at].add_values(leaves, &mut sums[first..first + leaves.len()]);
                }
                for (leaf, of_row) in leaves.chunks(1).zip(sums[first * n_turns..].chunks_exact_mut(n_turns)) {
                    trees[at].add_values(leaf, &mut of_row[at % n_turns..][..1]);
                }
            })
        })?;
        Ok(sums)
    }

    /// For each row and output, the class with the greatest [mean](Self::predict), the first of
    /// several. Row-major `(n_samples, n_outputs)`. The means of few rows are held at a time.
    pub fn predict_classes(&self, x: &dyn Matrix, runtime: &Runtime<'_>) -> Result<Vec<u32>> {
        let shape = (self.n_outputs(), self.n_values());
        classes(&self.packed(), shape, &self.blocks(x, runtime)?, runtime)
    }

    /// The leaf that each row reaches in each tree. Row-major `(n_samples, n_trees)`.
    pub fn apply(&self, x: &dyn Matrix, runtime: &Runtime<'_>) -> Result<Vec<i64>> {
        self.apply_rows(x, 0..x.shape().0, runtime)
    }

    /// As [`apply`](Self::apply), for some rows.
    pub fn apply_rows(&self, x: &dyn Matrix, rows: Range<usize>, runtime: &Runtime<'_>) -> Result<Vec<i64>> {
        apply(&self.packed(), &self.blocks_of(x, rows, runtime)?, runtime)
    }

    /// The mean prediction of each bag of trees for some rows: `bag_size` trees, one after the other, are a
    /// bag. Trees that do not fill the last one are left out. Row-major `(rows.len(), n_bags, n_values)`.
    pub fn predict_bags(
        &self,
        x: &dyn Matrix,
        rows: Range<usize>,
        bag_size: usize,
        runtime: &Runtime<'_>,
    ) -> Result<Vec<f64>> {
        let (blocks, trees, n_values) = (self.blocks_of(x, rows, runtime)?, self.packed(), self.n_values());
        let n_bags = trees.len() / bag_size;
        let (trees, per_row) = (&trees[..n_bags * bag_size], n_values * n_bags);
        let mut values: Vec<f64> = memory::zeros("the result", blocks.n_samples().saturating_mul(per_row))?;
        blocks.visit(values.chunks_mut(blocks.len() * per_row), runtime, |reader, rows, values| {
            let rows: Vec<usize> = rows.collect();
            visit_leaves(trees, reader, &rows, runtime, |first, at, leaves| {
                let of_rows = values[first * per_row..].chunks_exact_mut(per_row);
                for (leaf, of_row) in leaves.chunks(1).zip(of_rows) {
                    trees[at].add_values(leaf, &mut of_row[at / bag_size * n_values..][..n_values]);
                }
            })?;
            if bag_size > 1 {
                values.iter_mut().for_each(|value| *value /= bag_size as f64);
            }
            Ok(())
        })?;
        Ok(values)
    }

    /// The nodes that each row passes in all trees, as a CSR structure `(indptr, indices)`. The
    /// nodes of tree `t` have the numbers from [`n_nodes_ptr`](Self::n_nodes_ptr)`[t]` on.
    pub fn decision_path(&self, x: &dyn Matrix, runtime: &Runtime<'_>) -> Result<(Vec<i64>, Vec<i64>)> {
        decision_path(&self.packed(), &self.n_nodes_ptr(), &self.blocks(x, runtime)?, runtime)
    }

    /// Where the nodes of each tree begin if the nodes of all trees are numbered through; then the number of
    /// all nodes.
    pub fn n_nodes_ptr(&self) -> Vec<i64> {
        let ends = self.trees().scan(0, |end, tree| {
            *end += tree.node_count() as i64;
            Some(*end)
        });
        std::iter::once(0).chain(ends).collect()
    }

    /// The mean of the values of the leaves that each training row reaches in the trees that have not seen
    /// it. The rows of `x` are the rows that `sampler` draws from.
    pub fn predict_oob(&self, x: &dyn Matrix, sampler: &RowSampler, runtime: &Runtime<'_>) -> Result<OobPrediction> {
        Ok(self.divide_sums(self.sum_oob(x, sampler, runtime)?))
    }

    /// The mean of the values of the leaves that each row reaches in the trees that count for it. `counted`
    /// has a bit for each tree, `(n_samples, n_trees.div_ceil(8))`: eight trees in a byte, the first in the
    /// lowest bit. Bit for bit what [`predict_oob`](Self::predict_oob) predicts, where the same trees count.
    pub fn predict_counted(&self, x: &dyn Matrix, counted: &[u8], runtime: &Runtime<'_>) -> Result<OobPrediction> {
        let n_bytes = self.len().div_ceil(8);
        if counted.len() != x.shape().0.saturating_mul(n_bytes) {
            let expected = format!("{n_bytes} bytes for each of {} rows", x.shape().0);
            return Err(Error::ShapeMismatch { what: "counted", expected, got: format!("{} bytes", counted.len()) });
        }
        let sums = self.sum_counted(x, runtime, |first, _| {
            Ok(move |tree: usize, row: usize| {
                let tree = first + tree;
                counted[row * n_bytes + tree / 8] >> (tree % 8) & 1 != 0
            })
        })?;
        Ok(self.divide_sums(sums))
    }

    fn divide_sums(&self, mut prediction: OobPrediction) -> OobPrediction {
        for (sum, &count) in prediction.values.chunks_exact_mut(self.n_values()).zip(&prediction.n_trees) {
            divide(sum, f64::from(count.max(1)));
        }
        prediction
    }

    /// As [`predict_oob`](Self::predict_oob), with sums in the place of means.
    pub fn sum_oob(&self, x: &dyn Matrix, sampler: &RowSampler, runtime: &Runtime<'_>) -> Result<OobPrediction> {
        let n_samples = x.shape().0;
        if n_samples != sampler.n_samples() {
            return Err(Error::ShapeMismatch {
                what: "X",
                expected: format!("{} rows, as many as were drawn from", sampler.n_samples()),
                got: format!("{n_samples} rows"),
            });
        }
        self.sum_counted(x, runtime, |_, members| {
            let unseen = runtime.map(members.iter().collect(), |member| sampler.unseen(member.seed, runtime))?;
            Ok(move |tree: usize, row: usize| unseen[tree].as_ref().is_some_and(|unseen| unseen.contains(row as u32)))
        })
    }

    /// The sums over the trees that count for a row. `select` gets some trees and the number of the first of
    /// them; what it returns says whether one of these trees counts for a row.
    fn sum_counted<C: Fn(usize, usize) -> bool + Sync>(
        &self,
        x: &dyn Matrix,
        runtime: &Runtime<'_>,
        select: impl Fn(usize, &[Member]) -> Result<C>,
    ) -> Result<OobPrediction> {
        let blocks = self.blocks(x, runtime)?;
        let (n_samples, n_values) = (blocks.n_samples(), self.n_values());
        let mut values = memory::zeros("the result", n_samples.saturating_mul(n_values))?;
        let mut n_trees: Vec<u32> = memory::zeros("the result", n_samples)?;
        for (first, members) in (0..).step_by(TREES_AT_ONCE).zip(self.members.chunks(TREES_AT_ONCE)) {
            let counts_for = select(first, members)?;
            let parts = values.chunks_mut(blocks.len() * n_values).zip(n_trees.chunks_mut(blocks.len()));
            blocks.visit(parts, runtime, |reader, rows, (sums, counts)| {
                for (tree, member) in members.iter().enumerate() {
                    let new: Vec<usize> = rows.clone().filter(|&row| counts_for(tree, row)).collect();
                    visit_leaves(&[&*member.tree], reader, &new, runtime, |first, _, leaves| {
                        for (leaf, row) in leaves.chunks(1).zip(&new[first..]) {
                            let at = row - rows.start;
                            member.tree.add_values(leaf, &mut sums[at * n_values..][..n_values]);
                            counts[at] += 1;
                        }
                    })?;
                }
                Ok(())
            })?;
        }
        Ok(OobPrediction { values, n_trees })
    }

    pub(super) fn packed(&self) -> Vec<&PackedTree> {
        self.trees().collect()
    }

    pub(super) fn blocks<'x>(&self, x: &'x dyn Matrix, runtime: &Runtime<'_>) -> Result<RowBlocks<'x>> {
        self.blocks_of(x, 0..x.shape().0, runtime)
    }

    fn blocks_of<'x>(&self, x: &'x dyn Matrix, rows: Range<usize>, runtime: &Runtime<'_>) -> Result<RowBlocks<'x>> {
        let n_reads = self.trees().map(PackedTree::max_depth).sum();
        RowBlocks::of_rows(x, rows, self.n_features(), n_reads, runtime)
    }
}
