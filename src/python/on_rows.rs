//! What is computed from a model and rows of any type: one way from a Python matrix to the rows of `data::rows`.

use numpy::ndarray::ArrayView2;
use pyo3::prelude::*;

use super::array::{MatrixVisitor, visit_matrix};
use super::run::run;
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
    visit_matrix(x, OnRows { py, n_threads, visitor })
}

struct OnRows<'py, V> {
    py: Python<'py>,
    n_threads: usize,
    visitor: V,
}

impl<V: RowVisitor> OnRows<'_, V> {
    fn rows(self, n_samples: usize, rows: Result<impl Rows + Send>) -> PyResult<V::Output> {
        let Self { py, n_threads, visitor } = self;
        let rows = rows?;
        run(py, n_threads, visitor.steps(n_samples), move |runtime| visitor.visit(&rows, runtime))
    }
}

impl<V: RowVisitor> MatrixVisitor for OnRows<'_, V> {
    type Output = V::Output;

    fn dense<T: Element<Value: TableValue>>(self, x: ArrayView2<'_, T>) -> PyResult<V::Output> {
        self.rows(x.nrows(), Ok(x))
    }

    fn sparse<T: Element<Value: TableValue>, I: SparseIndex>(self, x: SparseView<'_, T, I>) -> PyResult<V::Output> {
        self.rows(x.shape().0.max(x.nnz()), SparseRows::new(x))
    }
}
