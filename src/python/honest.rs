//! Forests whose leaves are filled by other rows than those that have chosen the splits.
#![allow(clippy::doc_markdown, reason = "the doc comments of Python functions are numpydoc")]

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

use super::forest::PyForest;
use super::task::{Plan, Task};
use crate::forest::honest::{FillingRows, Treated, fill_honest_leaves};
use crate::forest::refill::fill_trees;

/// Fill the leaves of a forest with the moments of treatments and outcomes of some rows.
///
/// Parameters
/// ----------
/// forest : Forest
///     Its splits are taken.
/// x : ndarray, CSR matrix or Columns
///     All rows.
/// data : tuple of ndarray
///     Treatments W and outcomes Y, float64 of shape (n_samples,), and weights s, or None if all are 1.
/// starts : ndarray of shape (n_trees + 1,), int64
///     Where the rows of each tree begin, and where the last ones end.
/// rows : ndarray, uint32
///     The rows that fill the leaves, tree by tree. Their weights are above 0.
/// n_threads : int
///
/// Returns
/// -------
/// forest : Forest
///     Leaves predict the sums of s, sW, sY, sWY and sWW over their rows, divided by the number of rows.
#[pyfunction]
#[pyo3(signature = (forest, x, data, starts, rows, n_threads = 1))]
#[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
pub fn fill_leaves<'py>(
    forest: &Bound<'py, PyForest>,
    x: &Bound<'py, PyAny>,
    data: (PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>, Option<PyReadonlyArray1<'py, f64>>),
    starts: PyReadonlyArray1<'py, i64>,
    rows: PyReadonlyArray1<'py, u32>,
    n_threads: usize,
) -> PyResult<PyForest> {
    let weights = data.2.as_ref().map(|weights| weights.as_slice()).transpose()?;
    let data = Treated { treatments: data.0.as_slice()?, outcomes: data.1.as_slice()?, weights };
    let rows = FillingRows { starts: starts.as_slice()?, rows: rows.as_slice()? };
    let filled =
        forest.get().run(x, n_threads, |forest, x, runtime| fill_honest_leaves(forest, x, &data, &rows, runtime))?;
    Ok(PyForest::new(filled))
}

/// Fill the leaves of honest trees with the rows of each tree that have not chosen its splits.
///
/// Parameters
/// ----------
/// forest : Forest
///     What `fit_forest` has grown with this task, or some of it.
/// x : ndarray, CSR matrix or Columns
///     All rows.
/// task : spinney._fit.task.Task
///     With a `honest_fraction` of its draws.
///
/// Returns
/// -------
/// forest : Forest
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
pub fn fill_forest<'py>(forest: &Bound<'py, PyForest>, x: &Bound<'py, PyAny>, task: Task<'py>) -> PyResult<PyForest> {
    let Plan { target, valid, .. } = task.plan(x)?;
    let sample_ids = task.sample_ids()?;
    let filled = forest
        .get()
        .run(x, task.n_threads(), |forest, x, runtime| fill_trees(forest, x, &target, &valid, sample_ids, runtime))?;
    Ok(PyForest::new(filled))
}
