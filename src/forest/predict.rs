//! Prediction with a forest: the mean of its trees.
//!
//! Rows are the unit of parallel work, in blocks; within a block, tree after tree is applied, so that the top of a tree
//! stays in the cache. Values are added in the order of the trees whatever the blocks, so the sum has one rounding.

use std::ops::{Range, RangeInclusive};

use super::{Forest, RowSampler};
use crate::data::rows::{RowReader, Rows};
use crate::error::{Error, Result};
use crate::runtime::Runtime;
use crate::tree::predict::check_features;

/// Rows per block: many, so that a tree is worth being brought into the cache, but some blocks for each thread.
const BLOCK: RangeInclusive<usize> = 256..=4096;
const BLOCKS_PER_THREAD: usize = 4;
/// Trees whose draws are held at once, a bit per row and tree.
const TREES_AT_ONCE: usize = 64;

/// The mean over the trees that have not seen a row.
#[derive(Debug, Clone, PartialEq)]
pub struct OobPrediction {
    /// Row-major `(n_samples, n_values)`; zeros where no tree is left.
    pub values: Vec<f64>,
    /// The number of such trees, `(n_samples,)`.
    pub n_trees: Vec<u32>,
}

impl Forest {
    /// The mean of the values of the leaves that each row reaches. Row-major `(n_samples, n_values)`.
    pub fn predict<X: Rows>(&self, x: &X, runtime: &Runtime<'_>) -> Result<Vec<f64>> {
        let n_values = self.n_values();
        let n_trees = self.len() as f64;
        self.map_blocks(x, runtime, |reader, rows| {
            let mut means = vec![0.0; rows.len() * n_values];
            for tree in self.trees() {
                runtime.check_interrupt()?;
                for (mean, row) in means.chunks_exact_mut(n_values).zip(rows.clone()) {
                    reader.load(row);
                    tree.add_value(tree.leaf(reader, |_| ()), mean);
                }
            }
            divide(&mut means, n_trees);
            Ok(means)
        })
    }

    /// The leaf that each row reaches in each tree. Row-major `(n_samples, n_trees)`.
    pub fn apply<X: Rows>(&self, x: &X, runtime: &Runtime<'_>) -> Result<Vec<i64>> {
        let n_trees = self.len();
        self.map_blocks(x, runtime, |reader, rows| {
            let mut leaves = vec![0; rows.len() * n_trees];
            for (at, tree) in self.trees().enumerate() {
                runtime.check_interrupt()?;
                for (leaves, row) in leaves.chunks_exact_mut(n_trees).zip(rows.clone()) {
                    reader.load(row);
                    leaves[at] = tree.leaf(reader, |_| ()).id as i64;
                }
            }
            Ok(leaves)
        })
    }

    /// The nodes that each row passes in all trees, as a CSR structure `(indptr, indices)`. The nodes of tree `t` have the
    /// numbers from [`n_nodes_ptr`](Self::n_nodes_ptr)`[t]` on.
    pub fn decision_path<X: Rows>(&self, x: &X, runtime: &Runtime<'_>) -> Result<(Vec<i64>, Vec<i64>)> {
        let offsets = self.n_nodes_ptr();
        let nodes = self.map_blocks(x, runtime, |reader, rows| {
            let mut nodes = Vec::new();
            for row in rows {
                runtime.check_interrupt()?;
                reader.load(row);
                for (tree, offset) in self.trees().zip(&offsets) {
                    tree.leaf(reader, |node| nodes.push(offset + node as i64));
                }
            }
            Ok(nodes)
        })?;
        // Every path begins at the root of the first tree, which is node 0 and in no path again.
        let mut indptr = Vec::with_capacity(x.shape().0 + 1);
        indptr.extend(nodes.iter().enumerate().filter(|&(_, &node)| node == 0).map(|(at, _)| at as i64));
        indptr.push(nodes.len() as i64);
        Ok((indptr, nodes))
    }

    /// Where the nodes of each tree begin if those of all trees are numbered through; then their number.
    pub fn n_nodes_ptr(&self) -> Vec<i64> {
        let ends = self.trees().scan(0, |end, tree| {
            *end += tree.node_count() as i64;
            Some(*end)
        });
        std::iter::once(0).chain(ends).collect()
    }

    /// The mean of the values of the leaves that each training row reaches in the trees that have not seen it. The rows of
    /// `x` are those that `sampler` draws from.
    pub fn predict_oob<X: Rows>(&self, x: &X, sampler: &RowSampler, runtime: &Runtime<'_>) -> Result<OobPrediction> {
        let n_samples = check_features(x, self.n_features())?;
        if n_samples != sampler.n_samples() {
            return Err(Error::ShapeMismatch {
                what: "X",
                expected: format!("{} rows, as many as were drawn from", sampler.n_samples()),
                got: format!("{n_samples} rows"),
            });
        }
        let n_values = self.n_values();
        let mut values = vec![0.0; n_samples * n_values];
        let mut n_trees = vec![0u32; n_samples];
        let block_len = block_len(n_samples, runtime);
        for members in self.members.chunks(TREES_AT_ONCE) {
            let unseen = runtime.map(members.iter().collect(), |member| sampler.unseen(member.seed, runtime))?;
            let blocks = values.chunks_mut(block_len * n_values).zip(n_trees.chunks_mut(block_len));
            runtime.map(blocks.enumerate().collect(), |(block, (sums, counts))| {
                let mut reader = x.reader();
                for (member, unseen) in members.iter().zip(&unseen) {
                    runtime.check_interrupt()?;
                    let Some(unseen) = unseen else { continue };
                    for (row, (sum, count)) in
                        (block * block_len..).zip(sums.chunks_exact_mut(n_values).zip(&mut *counts))
                    {
                        if unseen.contains(row as u32) {
                            reader.load(row);
                            member.tree.add_value(member.tree.leaf(&reader, |_| ()), sum);
                            *count += 1;
                        }
                    }
                }
                Ok(())
            })?;
        }
        for (sum, &count) in values.chunks_exact_mut(n_values).zip(&n_trees) {
            divide(sum, f64::from(count.max(1)));
        }
        Ok(OobPrediction { values, n_trees })
    }

    fn map_blocks<X: Rows, T: Clone + Send>(
        &self,
        x: &X,
        runtime: &Runtime<'_>,
        visit: impl Fn(&mut X::Reader<'_>, Range<usize>) -> Result<Vec<T>> + Sync,
    ) -> Result<Vec<T>> {
        let n_samples = check_features(x, self.n_features())?;
        let block_len = block_len(n_samples, runtime);
        let starts = (0..n_samples).step_by(block_len).collect();
        let block = |start| visit(&mut x.reader(), start..(start + block_len).min(n_samples));
        Ok(runtime.map(starts, block)?.concat())
    }
}

/// No result depends on it.
fn block_len(n_samples: usize, runtime: &Runtime<'_>) -> usize {
    n_samples.div_ceil(BLOCKS_PER_THREAD * runtime.n_threads()).clamp(*BLOCK.start(), *BLOCK.end())
}

pub(crate) fn divide(values: &mut [f64], divisor: f64) {
    for value in values {
        *value /= divisor;
    }
}
