//! What is computed from a model and rows of any type: one way from a Python matrix to the rows of `data::rows`.

use numpy::ndarray::ArrayView2;
use pyo3::prelude::*;

use super::array::{MatrixVisitor, visit_matrix};
use super::run::run_watched;
use crate::data::rows::{Rows, SparseRows};
use crate::data::sparse::SparseIndex;
use crate::data::values::TableValue;
use crate::data::{Element, SparseView};
use crate::error::Result;
use crate::runtime::Runtime;

/// A computation over rows.
pub trait RowVisitor: Send {
    type Output: Send;
    /// Elementary steps at most, for `n_samples` rows, or nonzeros if there are more.
    fn steps(&self, n_samples: usize) -> usize;
    fn visit(self, rows: &impl Rows, runtime: &Runtime<'_>) -> Result<Self::Output>;
}

/// Calls the visitor with the rows of a matrix, on `n_threads` threads.
pub fn visit_rows<V: RowVisitor>(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    n_threads: usize,
    visitor: V,
) -> PyResult<V::Output> {
    visit_rows_watched(py, x, n_threads, None, visitor)
}

/// The same, and calls `watcher` with the number of finished items of work whenever it has grown.
pub fn visit_rows_watched<V: RowVisitor>(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    n_threads: usize,
    watcher: Option<&Bound<'_, PyAny>>,
    visitor: V,
) -> PyResult<V::Output> {
    visit_matrix(x, OnRows { py, n_threads, watcher, visitor })
}

struct OnRows<'a, 'py, V> {
    py: Python<'py>,
    n_threads: usize,
    watcher: Option<&'a Bound<'py, PyAny>>,
    visitor: V,
}

impl<V: RowVisitor> OnRows<'_, '_, V> {
    fn rows(self, n_samples: usize, rows: Result<impl Rows + Send>) -> PyResult<V::Output> {
        let Self { py, n_threads, watcher, visitor } = self;
        let rows = rows?;
        let steps = visitor.steps(n_samples);
        run_watched(py, n_threads, steps, watcher, move |runtime| visitor.visit(&rows, runtime))
    }
}

impl<V: RowVisitor> MatrixVisitor for OnRows<'_, '_, V> {
    type Output = V::Output;

    fn dense<T: Element<Value: TableValue>>(self, x: ArrayView2<'_, T>) -> PyResult<V::Output> {
        self.rows(x.nrows(), Ok(x))
    }

    fn sparse<T: Element<Value: TableValue>, I: SparseIndex>(self, x: SparseView<'_, T, I>) -> PyResult<V::Output> {
        self.rows(x.shape().0.max(x.nnz()), SparseRows::new(x))
    }
}
