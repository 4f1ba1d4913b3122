//! What is asked of leaves: which ones query rows reach, and which training rows lie in them.

use super::rows::{LeafRows, RowWeight};
use crate::error::{Error, Result};

/// Lists of the training rows in the leaves of trees.
pub trait RowsOfLeaves: Sync {
    /// Number of trees.
    fn n_trees(&self) -> usize;
    /// Calls `visit` with the rows of a leaf. Fails unless the node is a leaf of the tree.
    fn visit(&self, tree: usize, leaf: i64, visit: impl FnMut(RowWeight)) -> Result<()>;
}

impl RowsOfLeaves for LeafRows<'_> {
    fn n_trees(&self) -> usize {
        LeafRows::n_trees(self)
    }

    #[inline]
    fn visit(&self, tree: usize, leaf: i64, visit: impl FnMut(RowWeight)) -> Result<()> {
        LeafRows::visit(self, tree, leaf, visit)
    }
}

/// The leaves that query rows reach, and which of the trees count for each.
#[derive(Debug, Clone, Copy)]
pub struct QueryLeaves<'a> {
    /// Ids of nodes, row-major `(n_query, n_trees)`.
    pub ids: &'a [i64],
    /// In the shape of `ids`, 0 where a tree does not count. `None` if all count.
    pub counts: Option<&'a [u8]>,
}

impl QueryLeaves<'_> {
    /// Number of rows. Fails unless there is a leaf for each of them and each tree.
    pub fn n_rows(&self, n_trees: usize) -> Result<usize> {
        let n_query = self.ids.len() / n_trees.max(1);
        if n_query * n_trees != self.ids.len() || self.counts.is_some_and(|counts| counts.len() != self.ids.len()) {
            let (got, expected) = (format!("{} leaves", self.ids.len()), format!("a leaf for each of {n_trees} trees"));
            return Err(Error::ShapeMismatch { what: "leaves", expected, got });
        }
        Ok(n_query)
    }

    /// The trees that count for a row, each with the leaf that the row reaches.
    pub fn leaves(&self, row: usize, n_trees: usize) -> impl Iterator<Item = (usize, i64)> + '_ {
        let own = row * n_trees..(row + 1) * n_trees;
        let counts = self.counts.map(|counts| &counts[own.clone()]);
        let leaves = self.ids[own].iter().copied().enumerate();
        leaves.filter(move |&(tree, _)| counts.is_none_or(|counts| counts[tree] != 0))
    }
}
