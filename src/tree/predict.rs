//! Prediction with a grown tree: one traversal over any rows. O(depth) per row, plus its nonzeros for sparse rows.

use super::{TREE_LEAF, Tree};
use crate::data::rows::{RowReader, Rows};
use crate::error::{Error, Result};
use crate::runtime::Runtime;

/// Rows per job: also the interval at which the stop flag is read.
const BLOCK: usize = 1024;

impl Tree {
    /// The leaf that each row reaches. Shape `(n_samples,)`.
    pub fn apply<X: Rows>(&self, x: &X, runtime: &Runtime<'_>) -> Result<Vec<i64>> {
        self.map_rows(x, runtime, |reader, leaves| leaves.push(self.leaf(reader, |_| ()) as i64))
    }

    /// The value of the leaf that each row reaches. Row-major `(n_samples, n_values)`.
    pub fn predict<X: Rows>(&self, x: &X, runtime: &Runtime<'_>) -> Result<Vec<f64>> {
        self.map_rows(x, runtime, |reader, values| values.extend_from_slice(self.value(self.leaf(reader, |_| ()))))
    }

    /// The nodes that each row passes, as a CSR structure: `(indptr, indices)`.
    pub fn decision_path<X: Rows>(&self, x: &X, runtime: &Runtime<'_>) -> Result<(Vec<i64>, Vec<i64>)> {
        // Every path begins at the root, which is node 0 and in no path again.
        let nodes = self.map_rows(x, runtime, |reader, nodes| {
            self.leaf(reader, |node| nodes.push(node as i64));
        })?;
        let mut indptr = Vec::with_capacity(x.shape().0 + 1);
        indptr.extend(nodes.iter().enumerate().filter(|&(_, &node)| node == 0).map(|(at, _)| at as i64));
        indptr.push(nodes.len() as i64);
        Ok((indptr, nodes))
    }

    /// The leaf that a row reaches; `pass` is called with each node on the way.
    #[inline]
    pub(crate) fn leaf(&self, row: &impl RowReader, mut pass: impl FnMut(usize)) -> usize {
        let nodes = self.nodes();
        let mut node = 0;
        loop {
            pass(node);
            let left = nodes.children_left[node];
            if left == TREE_LEAF {
                return node;
            }
            let value = row.value(nodes.feature[node] as u32);
            node = if self.goes_left(node, value) { left } else { nodes.children_right[node] } as usize;
        }
    }

    /// The number of rows of `x`, if it has the features of the training data.
    pub(crate) fn check_shape(&self, x: &impl Rows) -> Result<usize> {
        check_features(x, self.n_features())
    }

    fn map_rows<X: Rows, T: Clone + Send>(
        &self,
        x: &X,
        runtime: &Runtime<'_>,
        visit: impl Fn(&X::Reader<'_>, &mut Vec<T>) + Sync,
    ) -> Result<Vec<T>> {
        let n_samples = self.check_shape(x)?;
        let blocks = (0..n_samples).step_by(BLOCK * BLOCKS_PER_JOB).collect();
        let parts = runtime.map(blocks, |start| {
            let mut reader = x.reader();
            let mut out = Vec::new();
            for sample in start..(start + BLOCK * BLOCKS_PER_JOB).min(n_samples) {
                if sample.is_multiple_of(BLOCK) {
                    runtime.check_interrupt()?;
                }
                reader.load(sample);
                visit(&reader, &mut out);
            }
            Ok(out)
        })?;
        Ok(parts.concat())
    }
}

/// A sparse reader allocates a row of features: jobs must be long enough to pay for it.
const BLOCKS_PER_JOB: usize = 16;

/// The number of rows of `x`, if it has the features of the training data.
pub(crate) fn check_features(x: &impl Rows, expected: usize) -> Result<usize> {
    let (n_samples, n_features) = x.shape();
    if n_features == expected {
        return Ok(n_samples);
    }
    Err(Error::ShapeMismatch {
        what: "X",
        expected: format!("{expected} features, as in training"),
        got: format!("{n_features} features"),
    })
}
