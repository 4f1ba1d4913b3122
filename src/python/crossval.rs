//! What the folds of a cross-validation predict, from Python arrays.
#![allow(clippy::doc_markdown, reason = "the doc comments of Python functions are numpydoc")]

use numpy::{IntoPyArray, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;

use super::array::Array2;
use super::forest::PyForest;
use super::run::run;
use super::task::{Draws, Grown, Plan, Task};
use super::tree::PyTree;
use crate::crossval::{CrossValidation, Fold, Refit, TrainingRows};
use crate::data::Dataset;
use crate::error::Result;
use crate::runtime::Runtime;

/// Predict the test rows of folds, each by a forest of its training rows.
///
/// Parameters
/// ----------
/// x : ndarray of shape (n_samples, n_features), or CSR matrix
///     All rows.
/// task : spinney._task.Task
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
    let n_draws = folds.iter().fold(0usize, |n, fold| n.saturating_add(fold.3.n_steps()));
    // Drawing many times from few rows takes longer than growing on them.
    let n_trees = (task.n_trees as usize).saturating_mul(n_draws / plan.target.n_samples() + slices.len() + 1);
    let values = task.fit(x, plan, n_trees, |plan, x, data, runtime| {
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

/// The encoded rows of a cross-validation, on which the trees of single folds are grown.
///
/// Parameters
/// ----------
/// x : ndarray of shape (n_samples, n_features), or CSC/CSR matrix
///     All rows. No feature is categorical.
/// task : spinney._task.Task
///     For all rows, without draws: each fold has its own.
/// sample_ids : uint64 ndarray of shape (n_samples,) or None
///     The names of all rows in Poisson samples; None means their numbers.
#[pyclass(name = "EncodedRows", module = "spinney._spinney", frozen)]
pub struct PyEncodedRows {
    data: Dataset,
    plan: Plan,
    sample_ids: Option<Vec<u64>>,
    n_threads: usize,
}

impl PyEncodedRows {
    /// Grows something on the training rows of a fold.
    fn grow<'py, T: Send>(
        &self,
        py: Python<'py>,
        fold: &Fold<'_>,
        watcher: Option<&Bound<'py, PyAny>>,
        is_tree: bool,
        grow: impl FnOnce(&CrossValidation<'_>, &Fold<'_>, &Runtime<'_>) -> Result<Refit<T>> + Send,
    ) -> PyResult<Grown<'py, T>> {
        let Plan { target, params, .. } = &self.plan;
        let all = CrossValidation { data: &self.data, target, sample_ids: self.sample_ids.as_deref(), params, is_tree };
        let n_cells = self.data.n_samples().saturating_mul(self.data.n_features() + 1);
        // A tree may be as deep as it has rows, and read all cells on every level.
        let n_levels = self.data.n_samples().saturating_mul(params.n_estimators as usize);
        let n_steps = n_cells.saturating_mul(n_levels).saturating_mul(target.n_outputs());
        let work = |runtime: &Runtime<'_>| grow(&all, fold, runtime);
        let Refit { grown, max_features, with_missing } = run(py, self.n_threads, n_steps, watcher, work)?;
        let with_missing: Vec<i64> = with_missing.into_iter().map(i64::from).collect();
        Ok((grown, max_features, with_missing.into_pyarray(py)))
    }
}

#[pymethods]
impl PyEncodedRows {
    #[new]
    #[pyo3(signature = (x, task, sample_ids))]
    #[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
    fn new(x: &Bound<'_, PyAny>, task: Task<'_>, sample_ids: Option<PyReadonlyArray1<'_, u64>>) -> PyResult<Self> {
        let plan = task.plan(x)?;
        let sample_ids = sample_ids.map(|ids| ids.as_slice().map(<[u64]>::to_vec)).transpose()?;
        let (plan, data) = task.fit(x, plan, 1, |plan, _, data, _| Ok((plan, data)))?;
        Ok(Self { data, plan, sample_ids, n_threads: task.n_threads() })
    }

    /// The tree of a fold, which is given as to `predict_folds`; the number of features that each
    /// node draws; and the features with missing values in training rows, ascending int64.
    #[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
    fn grow_tree<'py>(&self, py: Python<'py>, fold: PyFold<'py>) -> PyResult<Grown<'py, PyTree>> {
        let refit = |all: &CrossValidation<'_>, fold: &Fold<'_>, runtime: &Runtime<'_>| all.grow_tree(fold, runtime);
        let (tree, max_features, with_missing) = self.grow(py, &read_fold(&fold)?, None, true, refit)?;
        Ok((PyTree::new(tree, self.plan.target.weight_unit()), max_features, with_missing))
    }

    /// The forest of a fold, and else what `grow_tree` returns. `watcher` is called with the number
    /// of trees that are done.
    #[pyo3(signature = (fold, watcher = None))]
    #[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
    fn grow_forest<'py>(
        &self,
        py: Python<'py>,
        fold: PyFold<'py>,
        watcher: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Grown<'py, PyForest>> {
        let refit = |all: &CrossValidation<'_>, fold: &Fold<'_>, runtime: &Runtime<'_>| all.grow_forest(fold, runtime);
        let (forest, max_features, with_missing) = self.grow(py, &read_fold(&fold)?, watcher.as_ref(), false, refit)?;
        Ok((PyForest::new(forest), max_features, with_missing))
    }
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
