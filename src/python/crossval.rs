//! The predictions of the folds of a cross-validation, from Python arrays.
#![allow(clippy::doc_markdown, reason = "the doc comments of Python functions are numpydoc")]

use numpy::{IntoPyArray, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;

use super::array::Array2;
use super::task::{Draws, Task};
use crate::crossval::{CrossValidation, Fold, TrainingRows};

/// Predict the test rows of folds, each by a forest of its training rows.
///
/// Parameters
/// ----------
/// x : ndarray of shape (n_samples, n_features), or CSR matrix
///     All rows.
/// task : spinney._fit.task.Task
///     For all rows, without draws: each fold has its own.
/// folds : list of tuple of (ndarray, bool, ndarray, Draws)
///     For each fold: its training rows, uint32, or, if the bool is True, all rows that are not
///     training rows, ascending; the test rows, uint32; and on which of the training rows each tree
///     is grown, with their weights, but without their names.
/// sample_ids : uint64 ndarray of shape (n_samples,) or None
///     The names of all rows in Poisson samples; None means their numbers.
/// is_tree : bool
///     The estimator is a single tree, not a forest.
///
/// Returns
/// -------
/// values : list of float64 ndarray of shape (n_test, n_outputs * max_n_classes)
///     For each fold the means over its trees. Classes that do not occur in its training rows are
///     left out.
#[pyfunction]
#[pyo3(signature = (x, task, folds, sample_ids, is_tree))]
#[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
pub fn predict_folds<'py>(
    x: &Bound<'py, PyAny>,
    task: Task<'py>,
    folds: Vec<PyFold<'_>>,
    sample_ids: Option<PyReadonlyArray1<'_, u64>>,
    is_tree: bool,
) -> PyResult<Vec<Array2<'py, f64>>> {
    let plan = task.plan(x)?;
    let slices = folds.iter().map(read_fold).collect::<PyResult<Vec<_>>>()?;
    let sample_ids = sample_ids.as_ref().map(|ids| ids.as_slice()).transpose()?;
    let values = task.fit(x, plan, |plan, x, data, runtime| {
        let query = x.query(runtime)?;
        let (data, target, params) = (&data, &plan.target, &plan.params);
        CrossValidation { data, target, sample_ids, params, is_tree }.predict(&slices, &*query, runtime)
    })?;
    let shaped = |(values, fold): (Vec<f64>, &Fold<'_>)| {
        let n_test = fold.test.len();
        let n_values = values.len() / n_test.max(1);
        values.into_pyarray(x.py()).reshape([n_test, n_values])
    };
    values.into_iter().zip(&slices).map(shaped).collect()
}

/// A fold as Python describes it.
type PyFold<'py> = (PyReadonlyArray1<'py, u32>, bool, PyReadonlyArray1<'py, u32>, Draws<'py>);

/// A fold as the engine sees it.
fn read_fold<'a>((rows, are_left_out, test, draws): &'a PyFold<'_>) -> PyResult<Fold<'a>> {
    let rows = rows.as_slice()?;
    Ok(Fold {
        train: if *are_left_out { TrainingRows::AllBut(rows) } else { TrainingRows::Listed(rows) },
        sample_weight: draws.sample_weight()?,
        bootstrap: draws.bootstrap()?,
        test: test.as_slice()?,
    })
}
