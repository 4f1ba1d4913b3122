//! What the folds of a cross-validation predict, from Python arrays.
#![allow(clippy::doc_markdown, reason = "the doc comments of Python functions are numpydoc")]

use numpy::ndarray::ArrayView2;
use numpy::{IntoPyArray, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::array::{MatrixVisitor, visit_matrix};
use super::error::of_estimator;
use super::fit::{categories, encode_target};
use super::params::tree_params;
use super::rows::Draws;
use super::run::run_watched;
use crate::crossval::{CrossValidation, Fold};
use crate::data::dense::Ordinals;
use crate::data::rows::{Rows, SparseRows};
use crate::data::sparse::SparseIndex;
use crate::data::values::TableValue;
use crate::data::{Dataset, Element, SparseView, Target};
use crate::error::Result;
use crate::params::{Bootstrap, ForestParams};
use crate::runtime::Runtime;

/// Predict the test rows of folds, each by a forest of its training rows.
///
/// Parameters
/// ----------
/// x : ndarray of shape (n_samples, n_features), or CSR matrix
///     All rows.
/// y : ndarray of shape (n_samples, n_outputs)
///     uint32 classes if `n_classes` is given, else float64 targets; C order.
/// n_classes : list of int or None
///     Number of classes of each output.
/// folds : list of tuple of (ndarray, ndarray, Draws)
///     Of each fold the training rows, uint32 and ascending; the test rows, uint32; and on which of the training rows each
///     tree is grown, with their weights, but without their names.
/// sample_ids : uint64 ndarray of shape (n_samples,) or None
///     The names of all rows in Poisson samples; None means their numbers.
/// balanced_subsample : bool
///     Weigh the rows of each tree's sample such that its classes weigh the same.
/// estimator : str
///     What error messages about parameters call it.
/// params : dict
///     Hyperparameters of the trees under scikit-learn's names.
/// seed : int
/// n_trees : int
/// is_tree : bool
///     The estimator is a single tree, not a forest.
/// n_threads : int
/// watcher : callable or None
///     Is called now and then with the number of trees that are done, of all folds.
/// n_categories : list of int or None
///     As for `fit_tree`.
///
/// Returns
/// -------
/// values : list of float64 ndarray of shape (n_test, n_outputs * max_n_classes)
///     For each fold the means over its trees. Classes that do not occur in its training rows are left out.
#[pyfunction]
#[pyo3(signature = (
    x, y, n_classes, folds, sample_ids, balanced_subsample, estimator, params, seed, n_trees, is_tree, n_threads, watcher = None,
    n_categories = None
))]
#[allow(clippy::too_many_arguments, clippy::needless_pass_by_value, reason = "the boundary to Python")]
pub fn predict_folds<'py>(
    py: Python<'py>,
    x: &Bound<'_, PyAny>,
    y: &Bound<'_, PyAny>,
    n_classes: Option<Vec<u32>>,
    folds: Vec<(PyReadonlyArray1<'_, u32>, PyReadonlyArray1<'_, u32>, Draws<'_>)>,
    sample_ids: Option<PyReadonlyArray1<'_, u64>>,
    balanced_subsample: bool,
    estimator: &str,
    params: &Bound<'_, PyDict>,
    seed: u64,
    n_trees: u64,
    is_tree: bool,
    n_threads: usize,
    watcher: Option<&Bound<'_, PyAny>>,
    n_categories: Option<Vec<u32>>,
) -> PyResult<Vec<Bound<'py, PyArray2<f64>>>> {
    let tree = tree_params(params, estimator, n_classes.is_some(), seed)?;
    let target = encode_target(y, n_classes, None)?;
    let (n_samples, n_features): (usize, usize) = x.getattr("shape")?.extract()?;
    let bootstrap = Bootstrap::None;
    let params_of_folds = ForestParams { tree, first_tree: 0, n_estimators: n_trees, bootstrap, balanced_subsample };
    let valid = params_of_folds.check(n_samples, n_features).map_err(|error| of_estimator(error, estimator, params))?;
    let mut slices = Vec::with_capacity(folds.len());
    for (train, test, draws) in &folds {
        slices.push(fold(train, test, draws)?);
    }
    let n_draws = folds.iter().fold(0usize, |n, fold| n.saturating_add(fold.2.n_steps()));
    let cross_fit = CrossFit {
        py,
        n_threads,
        target: &target,
        params: &params_of_folds,
        is_tree,
        folds: &slices,
        sample_ids: sample_ids.as_ref().map(|ids| ids.as_slice()).transpose()?,
        ordinals: valid.tree().ordinals(),
        n_categories,
        // Drawing many times from few rows takes longer than growing on them.
        n_trees: (n_trees as usize).saturating_mul(n_draws / n_samples.max(1) + slices.len() + 1),
        watcher,
    };
    let values = visit_matrix(x, cross_fit)?;
    let shaped = |(values, fold): (Vec<f64>, &Fold<'_>)| {
        let n_test = fold.test.len();
        let n_values = values.len() / n_test.max(1);
        values.into_pyarray(py).reshape([n_test, n_values])
    };
    values.into_iter().zip(&slices).map(shaped).collect()
}

/// A fold as the engine sees it.
fn fold<'a>(
    train: &'a PyReadonlyArray1<'_, u32>,
    test: &'a PyReadonlyArray1<'_, u32>,
    draws: &'a Draws<'_>,
) -> PyResult<Fold<'a>> {
    Ok(Fold {
        train: train.as_slice()?,
        sample_weight: draws.sample_weight.as_ref().map(|weights| weights.as_slice()).transpose()?,
        bootstrap: draws.bootstrap()?,
        test: test.as_slice()?,
    })
}

/// Encodes a matrix, and asks the folds about its rows.
struct CrossFit<'a, 'py> {
    py: Python<'py>,
    n_threads: usize,
    target: &'a Target,
    params: &'a ForestParams,
    is_tree: bool,
    folds: &'a [Fold<'a>],
    sample_ids: Option<&'a [u64]>,
    ordinals: Ordinals,
    n_categories: Option<Vec<u32>>,
    n_trees: usize,
    watcher: Option<&'a Bound<'py, PyAny>>,
}

impl CrossFit<'_, '_> {
    fn predict<R: Rows>(
        self,
        n_samples: usize,
        n_cells: usize,
        read: impl FnOnce(&Runtime<'_>) -> Result<(Dataset, R)> + Send,
    ) -> PyResult<Vec<Vec<f64>>> {
        let Self { py, n_threads, target, params, is_tree, folds, sample_ids, n_categories, n_trees, watcher, .. } =
            self;
        // A tree may be as deep as it has rows, and read all cells on every level.
        let steps = n_cells.saturating_mul(n_samples).saturating_mul(target.n_outputs()).saturating_mul(n_trees);
        run_watched(py, n_threads, steps, watcher, |runtime| {
            let (data, rows) = read(runtime)?;
            let data = &categories(data, n_categories.as_deref())?;
            CrossValidation { data, target, sample_ids, params, is_tree }.predict(folds, &*rows.query(), runtime)
        })
    }
}

impl MatrixVisitor for CrossFit<'_, '_> {
    type Output = Vec<Vec<f64>>;

    fn dense<T: Element<Value: TableValue>>(self, x: ArrayView2<'_, T>) -> PyResult<Self::Output> {
        // Categories are ranks.
        let ordinals = if self.n_categories.is_some() { Ordinals::Ranks } else { self.ordinals };
        self.predict(x.nrows(), x.len(), |runtime| Ok((Dataset::from_dense_with(x, ordinals, runtime)?, x)))
    }

    fn sparse<T: Element<Value: TableValue>, I: SparseIndex>(self, x: SparseView<'_, T, I>) -> PyResult<Self::Output> {
        let (n_samples, n_features) = x.shape();
        let n_cells = x.nnz() + n_features;
        self.predict(n_samples, n_cells, |runtime| Ok((Dataset::from_sparse(&x, runtime)?, SparseRows::new(x)?)))
    }
}
