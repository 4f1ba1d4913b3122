//! Bounds of prediction intervals, from Python arrays.
#![allow(clippy::doc_markdown, reason = "the doc comments of Python functions are numpydoc")]

use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use super::array::{Array2, table};
use super::run::run;
use crate::conformal::{Bounds, Residuals, Unseen, interval_bounds};

/// Which models have not seen each training row: the number of one, or bits of several.
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
/// unseen : ndarray of shape (n_training,), uint32, or of shape (n_training, n_bytes), uint8
///     The model that has not seen each training row; or a bit for each model, 1 for the models that have not
///     seen it, whose mean is taken: eight models in a byte, the first in the lowest bit.
/// residuals : ndarray of shape (n_training,), float64
///     Targets less predictions.
/// copies : ndarray of shape (n_training,), float64, or None
///     How many rows each training row counts as. None if each counts once.
/// masses : list of float
///     How many of the predictions plus absolute residuals there are up to the upper bounds; and how many of
///     the predictions less absolute residuals down to the lower bounds.
/// shortest : bool
///     Whether bounds are the shortest interval from a prediction plus residual to another one, up to which
///     there are so many of them.
/// n_threads : int
///
/// Returns
/// -------
/// bounds : ndarray of shape (n_query, 2 * n_masses), float64
///     The lower bounds, then the upper bounds.
#[pyfunction]
#[pyo3(signature = (predictions, unseen, residuals, copies, masses, shortest, n_threads = 1))]
#[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
#[allow(clippy::too_many_arguments, reason = "they are named in Python")]
pub fn bound_intervals<'py>(
    py: Python<'py>,
    predictions: PyReadonlyArray2<'py, f64>,
    unseen: UnseenBy<'py>,
    residuals: PyReadonlyArray1<'py, f64>,
    copies: Option<PyReadonlyArray1<'py, f64>>,
    masses: Vec<f64>,
    shortest: bool,
    n_threads: usize,
) -> PyResult<Array2<'py, f64>> {
    let n_models = predictions.shape()[1];
    let copies = copies.as_ref().map(|copies| copies.as_slice()).transpose()?;
    let (predictions, residuals) = (predictions.as_slice()?, Residuals { values: residuals.as_slice()?, copies });
    let unseen = match &unseen {
        UnseenBy::Model(models) => Unseen::Model(models.as_slice()?),
        UnseenBy::Models(flags) => Unseen::Models(flags.as_slice()?),
    };
    let kind = if shortest { Bounds::Shortest } else { Bounds::Symmetric };
    let bounds = run(py, n_threads, None, |runtime| {
        interval_bounds((predictions, n_models), unseen, residuals, (&masses, kind), runtime)
    })?;
    table(py, bounds, 2 * masses.len())
}
