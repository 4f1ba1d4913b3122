//! Query rows of a lazy forest: one feature of many rows at a time.
//!
//! A tree that exists is walked row by row ([`rows`](super::rows)); a tree that is never stored meets its
//! queries node by node, and asks for the node's feature in all of them. A query is a trait object, so that
//! the drivers are compiled once for all types of matrices: one virtual call per node.
//!
//! A dense matrix is read in place. The rows of a sparse one are copied, sorted and merged once,
//! O(nnz log nnz); a value is then found by binary search, O(log nnz of the row).

use ndarray::ArrayView2;

use super::element::Element;
use super::sparse::Entries;
use crate::error::Result;
use crate::num::SortKey;
use crate::runtime::Runtime;

/// A matrix of query rows.
pub trait Query: Sync {
    /// The shape: `(n_samples, n_features)`.
    fn shape(&self) -> (usize, usize);
    /// The value of a feature in a row.
    fn value(&self, row: u32, feature: u32) -> f64;
    /// Sets `values` to the values of a feature in these rows, in their order.
    fn gather(&self, feature: u32, rows: &[u32], values: &mut Vec<f64>);
}

impl<T: Element> Query for ArrayView2<'_, T> {
    fn shape(&self) -> (usize, usize) {
        self.dim()
    }

    #[inline]
    fn value(&self, row: u32, feature: u32) -> f64 {
        self[[row as usize, feature as usize]].value().widen()
    }

    fn gather(&self, feature: u32, rows: &[u32], values: &mut Vec<f64>) {
        let column = self.column(feature as usize);
        values.clear();
        values.extend(rows.iter().map(|&row| column[row as usize].value().widen()));
    }
}

/// Some rows of a query, as a query: its row `i` is row `rows[i]` there.
#[derive(Clone, Copy)]
pub struct SomeRows<'a> {
    query: &'a dyn Query,
    rows: &'a [u32],
}

impl<'a> SomeRows<'a> {
    /// Makes the query of these rows of `query`.
    pub fn new(query: &'a dyn Query, rows: &'a [u32]) -> Self {
        Self { query, rows }
    }
}

impl Query for SomeRows<'_> {
    fn shape(&self) -> (usize, usize) {
        (self.rows.len(), self.query.shape().1)
    }

    #[inline]
    fn value(&self, row: u32, feature: u32) -> f64 {
        self.query.value(self.rows[row as usize], feature)
    }

    fn gather(&self, feature: u32, rows: &[u32], values: &mut Vec<f64>) {
        let rows: Vec<u32> = rows.iter().map(|&row| self.rows[row as usize]).collect();
        self.query.gather(feature, &rows, values);
    }
}

/// The rows of a sparse matrix, by ascending feature, each once.
#[derive(Debug)]
pub(super) struct SparseQuery {
    n_features: usize,
    indptr: Vec<usize>,
    features: Vec<u32>,
    values: Vec<f64>,
}

impl SparseQuery {
    /// The rows of a CSR matrix. Entries stored more than once are merged in their order, as when a
    /// grown tree reads them.
    pub(super) fn new(x: &dyn Entries, runtime: &Runtime<'_>) -> Result<Self> {
        let (n_samples, n_features) = x.shape();
        let mut query =
            Self { n_features, indptr: Vec::with_capacity(n_samples + 1), features: Vec::new(), values: Vec::new() };
        query.indptr.push(0);
        let mut row: Vec<(u32, f64)> = Vec::new();
        for sample in 0..n_samples {
            runtime.check_interrupt()?;
            row.clear();
            x.copy_row(sample, &mut row);
            if !row.is_sorted_by(|a, b| a.0 < b.0) {
                // Stable: duplicates stay in order.
                row.sort_by_key(|&(feature, _)| feature);
            }
            for cells in row.chunk_by(|a, b| a.0 == b.0) {
                query.features.push(cells[0].0);
                query.values.push(cells[1..].iter().fold(cells[0].1, |sum, &(_, value)| x.merge(sum, value)));
            }
            query.indptr.push(query.features.len());
        }
        Ok(query)
    }
}

impl Query for SparseQuery {
    fn shape(&self) -> (usize, usize) {
        (self.indptr.len() - 1, self.n_features)
    }

    #[inline]
    fn value(&self, row: u32, feature: u32) -> f64 {
        let row = self.indptr[row as usize]..self.indptr[row as usize + 1];
        match self.features[row.clone()].binary_search(&feature) {
            Ok(at) => self.values[row.start + at],
            Err(_) => 0.0,
        }
    }

    fn gather(&self, feature: u32, rows: &[u32], values: &mut Vec<f64>) {
        values.clear();
        values.extend(rows.iter().map(|&row| self.value(row, feature)));
    }
}
