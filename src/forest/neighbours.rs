//! The rows that share most leaves with each row of a matrix. They are asked for in blocks, so that no
//! matrix of proximities is made.

use super::Forest;
use super::idle::Idle;
use super::leaves::proximities::{ByLeaf, Counter, Leaves, ROWS_PER_TASK, WHAT};
use super::refill::LEAVES_AT_ONCE;
use super::sampler::TREES_AT_ONCE;
use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::memory;
use crate::runtime::Runtime;
use crate::tree::predict::apply;

/// The rows that share most leaves with each row.
#[derive(Debug, Clone, PartialEq)]
pub struct Nearest {
    /// Row-major `(n_rows, k)`: the other rows, those that share most first, of equal ones the first row. -1
    /// where fewer share a leaf.
    pub indices: Vec<i64>,
    /// In the shape of `indices`, the shares of the trees in which they share the leaf; 0 where there are
    /// none.
    pub shares: Vec<f64>,
}

impl Forest {
    /// For each row of `x` the `k` rows of `others` that share most leaves with it. O(pairs of rows in a
    /// leaf) time. Memory beside the result: four bytes per tree and row of `others`, and blocks.
    pub fn nearest(&self, x: &dyn Matrix, others: &dyn Matrix, k: usize, runtime: &Runtime<'_>) -> Result<Nearest> {
        let (n_rows, n_others) = (x.shape().0, others.shape().0);
        if i32::try_from(n_others).is_err() {
            let (expected, got) = ("fewer than 2^31 rows".into(), format!("{n_others} rows"));
            return Err(Error::ShapeMismatch { what: "Y", expected, got });
        }
        let by_leaf = self.list_by_leaf(others, n_others, runtime)?;
        let n_cells = n_rows.saturating_mul(k);
        let mut nearest =
            Nearest { indices: memory::filled(WHAT, -1, n_cells)?, shares: memory::zeros(WHAT, n_cells)? };
        let idle = Idle::new();
        let new_counter = || Counter::new(n_others);
        let per_block = (LEAVES_AT_ONCE / self.len()).max(ROWS_PER_TASK);
        for first in (0..n_rows).step_by(per_block) {
            let block = first..n_rows.min(first + per_block);
            let ids = self.apply_rows(x, block.clone(), runtime)?;
            let rows = Leaves { ids: &ids, unseen: None, n_trees: self.len() };
            let cells = block.start * k..block.end * k;
            let (indices, shares) = (&mut nearest.indices[cells.clone()], &mut nearest.shares[cells]);
            let chunks = indices.chunks_mut(ROWS_PER_TASK * k).zip(shares.chunks_mut(ROWS_PER_TASK * k));
            runtime.map((0..).step_by(ROWS_PER_TASK).zip(chunks).collect(), |(first, (indices, shares))| {
                idle.with(new_counter, |counter| {
                    let cells = indices.chunks_mut(k).zip(shares.chunks_mut(k));
                    for (row, (indices, shares)) in (first..).zip(cells) {
                        runtime.check_interrupt()?;
                        counter.count(rows, row, &by_leaf);
                        counter.take_most(k, |place, other, count| {
                            indices[place] = other.into();
                            shares[place] = f64::from(count) / rows.n_trees as f64;
                        });
                        counter.clear();
                    }
                    Ok(())
                })
            })?;
        }
        Ok(nearest)
    }

    /// The rows of a matrix by leaf, tree by tree.
    fn list_by_leaf(&self, x: &dyn Matrix, n_rows: usize, runtime: &Runtime<'_>) -> Result<Vec<ByLeaf>> {
        let blocks = self.blocks(x, runtime)?;
        let mut all = memory::reserve(WHAT, self.len())?;
        for trees in self.packed().chunks(TREES_AT_ONCE) {
            let ids = apply(trees, &blocks, runtime)?;
            let leaves = Leaves { ids: &ids, unseen: None, n_trees: trees.len() };
            all.extend(runtime.map((0..trees.len()).collect(), |tree| {
                runtime.check_interrupt()?;
                ByLeaf::new(leaves, n_rows, tree)
            })?);
        }
        Ok(all)
    }
}
