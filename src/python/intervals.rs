//! Bounds of prediction intervals, from Python arrays.
#![allow(clippy::doc_markdown, reason = "the doc comments of Python functions are numpydoc")]

use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use super::array::{Array2, table};
use super::run::run;
use crate::forest::intervals::{Bounds, Unseen, interval_bounds};

/// Which models have not seen each training row: the number of one, or flags of several.
#[derive(FromPyObject)]
pub enum UnseenBy<'py> {
    Model(PyReadonlyArray1<'py, u32>),
    Models(PyReadonlyArray2<'py, u8>),
}

/// Order statistics of predictions less and plus residuals.
///
/// Parameters
/// ----------
/// predictions : ndarray of shape (n_query, n_models), float64
/// unseen : ndarray of shape (n_training,), uint32, or of shape (n_training, n_models), uint8
///     The model that has not seen each training row; or 1 for the models that have not seen it, whose mean
///     is taken.
/// residuals : ndarray of shape (n_training,), float64
///     Targets less predictions.
/// ranks : list of int
///     Ranks of the upper bounds among predictions plus absolute residuals, counted from 0. Lower bounds
///     have them from above among predictions less absolute residuals.
/// shortest : bool
///     Whether bounds are the shortest interval from a prediction plus residual to another one of a rank
///     that is higher by `rank + 1`.
/// n_threads : int
///
/// Returns
/// -------
/// bounds : ndarray of shape (n_query, 2 * n_ranks), float64
///     The lower bounds, then the upper bounds.
#[pyfunction]
#[pyo3(signature = (predictions, unseen, residuals, ranks, shortest, n_threads = 1))]
#[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
pub fn bound_intervals<'py>(
    py: Python<'py>,
    predictions: PyReadonlyArray2<'py, f64>,
    unseen: UnseenBy<'py>,
    residuals: PyReadonlyArray1<'py, f64>,
    ranks: Vec<usize>,
    shortest: bool,
    n_threads: usize,
) -> PyResult<Array2<'py, f64>> {
    let [n_query, n_models] = [predictions.shape()[0], predictions.shape()[1]];
    let (predictions, residuals) = (predictions.as_slice()?, residuals.as_slice()?);
    let unseen = match &unseen {
        UnseenBy::Model(models) => Unseen::Model(models.as_slice()?),
        UnseenBy::Models(flags) => Unseen::Models(flags.as_slice()?),
    };
    let n_steps = n_query.saturating_mul(residuals.len()).saturating_mul(n_models / 8 + 4);
    let kind = if shortest { Bounds::Shortest } else { Bounds::Symmetric };
    let bounds = run(py, n_threads, n_steps, None, |runtime| {
        interval_bounds((predictions, n_models), unseen, residuals, (&ranks, kind), runtime)
    })?;
    table(py, bounds, 2 * ranks.len())
}
