//! Proximities for Python: how often samples share leaves.
#![allow(clippy::doc_markdown, reason = "the doc comments of Python functions are numpydoc")]

use numpy::{IntoPyArray, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use super::array::Array1;
use super::run::run;
use crate::error::Error;
use crate::forest::leaves::proximities::{Leaves, Proximities, proximities};

/// Count the trees in which samples share a leaf, as shares of the trees that count for both.
///
/// Parameters
/// ----------
/// leaves : ndarray of shape (n_samples, n_trees), int64
///     The leaves that samples reach, in C order.
/// others : ndarray of shape (n_others, n_trees), int64, or None
///     The leaves that other samples reach; None compares the samples with each other.
/// unseen : ndarray of shape (n_samples, n_trees), uint8, or None
///     0 where a tree has seen a sample and does not count; None if all count. Without `others`.
/// n_threads : int
///
/// Returns
/// -------
/// indptr : ndarray of shape (n_samples + 1,), int64
///     With the other arrays, a CSR matrix without zeros.
/// indices : ndarray of shape (nnz,), int32
///     Ascending in each row.
/// shares : ndarray of shape (nnz,), float64
#[pyfunction]
#[pyo3(signature = (leaves, others = None, unseen = None, n_threads = 1))]
#[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
#[allow(clippy::type_complexity, reason = "the boundary to Python")]
pub fn share_leaves<'py>(
    py: Python<'py>,
    leaves: PyReadonlyArray2<'py, i64>,
    others: Option<PyReadonlyArray2<'py, i64>>,
    unseen: Option<PyReadonlyArray2<'py, u8>>,
    n_threads: usize,
) -> PyResult<(Array1<'py, i64>, Array1<'py, i32>, Array1<'py, f64>)> {
    let n_trees = leaves.shape()[1];
    let unseen = unseen.as_ref().map(|unseen| unseen.as_slice()).transpose()?;
    let rows = Leaves { ids: leaves.as_slice()?, unseen, n_trees };
    let others = match &others {
        None => rows,
        Some(_) if unseen.is_some() => {
            let expected = "None together with others".into();
            return Err(Error::InvalidArgument { name: "unseen", got: "an array".into(), expected }.into());
        }
        Some(others) => Leaves { ids: others.as_slice()?, unseen: None, n_trees: others.shape()[1] },
    };
    let found = run(py, n_threads, None, |runtime| proximities(rows, others, runtime))?;
    let Proximities { indptr, indices, shares } = found;
    Ok((indptr.into_pyarray(py), indices.into_pyarray(py), shares.into_pyarray(py)))
}
