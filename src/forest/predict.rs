//! Prediction with a forest: the mean of its trees.

use super::{Forest, RowSampler};
use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::memory;
use crate::runtime::Runtime;
use crate::tree::Walk;
use crate::tree::packed::PackedTree;
use crate::tree::predict::{RowBlocks, apply, classes, decision_path, divide, means, visit_leaves};

/// Trees whose draws are held at once, a bit per row and tree.
const TREES_AT_ONCE: usize = 64;

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

    /// For each row and output, the class with the greatest [mean](Self::predict), the first of
    /// several. Row-major `(n_samples, n_outputs)`. The means of few rows are held at a time.
    pub fn predict_classes(&self, x: &dyn Matrix, runtime: &Runtime<'_>) -> Result<Vec<u32>> {
        let shape = (self.n_outputs(), self.n_values());
        classes(&self.packed(), shape, &self.blocks(x, runtime)?, runtime)
    }

    /// The leaf that each row reaches in each tree. Row-major `(n_samples, n_trees)`.
    pub fn apply(&self, x: &dyn Matrix, runtime: &Runtime<'_>) -> Result<Vec<i64>> {
        apply(&self.packed(), &self.blocks(x, runtime)?, runtime)
    }

    /// The prediction of each tree for each row. Row-major `(n_samples, n_trees, n_values)`.
    pub fn predict_trees(&self, x: &dyn Matrix, runtime: &Runtime<'_>) -> Result<Vec<f64>> {
        let (blocks, trees) = (self.blocks(x, runtime)?, self.packed());
        let per_row = self.n_values() * trees.len();
        let mut values: Vec<f64> = memory::zeros("the result", blocks.n_samples().saturating_mul(per_row))?;
        blocks.visit(values.chunks_mut(blocks.len() * per_row), runtime, |reader, rows, values| {
            let rows: Vec<usize> = rows.collect();
            let n_values = self.n_values();
            visit_leaves(&trees, reader, &rows, runtime, |first, at, leaves| {
                for (leaf, of_row) in leaves.chunks(1).zip(values[first * per_row..].chunks_exact_mut(per_row)) {
                    trees[at].add_values(leaf, &mut of_row[at * n_values..][..n_values]);
                }
            })
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
        let mut prediction = self.sum_oob(x, sampler, runtime)?;
        for (sum, &count) in prediction.values.chunks_exact_mut(self.n_values()).zip(&prediction.n_trees) {
            divide(sum, f64::from(count.max(1)));
        }
        Ok(prediction)
    }

    /// As [`predict_oob`](Self::predict_oob), with sums in the place of means.
    pub fn sum_oob(&self, x: &dyn Matrix, sampler: &RowSampler, runtime: &Runtime<'_>) -> Result<OobPrediction> {
        let blocks = self.blocks(x, runtime)?;
        let n_samples = blocks.n_samples();
        if n_samples != sampler.n_samples() {
            return Err(Error::ShapeMismatch {
                what: "X",
                expected: format!("{} rows, as many as were drawn from", sampler.n_samples()),
                got: format!("{n_samples} rows"),
            });
        }
        let n_values = self.n_values();
        let mut values = memory::zeros("the result", n_samples.saturating_mul(n_values))?;
        let mut n_trees: Vec<u32> = memory::zeros("the result", n_samples)?;
        for members in self.members.chunks(TREES_AT_ONCE) {
            let unseen = runtime.map(members.iter().collect(), |member| sampler.unseen(member.seed, runtime))?;
            let parts = values.chunks_mut(blocks.len() * n_values).zip(n_trees.chunks_mut(blocks.len()));
            blocks.visit(parts, runtime, |reader, rows, (sums, counts)| {
                for (member, unseen) in members.iter().zip(&unseen) {
                    let Some(unseen) = unseen else { continue };
                    let new: Vec<usize> = rows.clone().filter(|&row| unseen.contains(row as u32)).collect();
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

    fn packed(&self) -> Vec<&PackedTree> {
        self.trees().collect()
    }

    fn blocks<'x>(&self, x: &'x dyn Matrix, runtime: &Runtime<'_>) -> Result<RowBlocks<'x>> {
        RowBlocks::new(x, self.n_features(), self.trees().map(PackedTree::max_depth).sum(), runtime)
    }
}
