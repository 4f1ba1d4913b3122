//! The class `Columns`, without its methods (`dataset`): matrices are read by a match on it.
#![allow(clippy::doc_markdown, reason = "the doc comments of Python functions are numpydoc")]

use pyo3::prelude::*;

use crate::data::EncodedMatrix;

/// An encoded matrix, or some rows of one.
///
/// Parameters
/// ----------
/// x : ndarray of shape (n_samples, n_features), or CSC/CSR matrix
/// n_categories : list of int or None
///     By feature the number of its categories, 0 for a numeric one; None if all are numeric.
/// n_threads : int
#[pyclass(name = "Columns", module = "spinney._spinney", frozen)]
pub struct PyColumns(pub EncodedMatrix);
