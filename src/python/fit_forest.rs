//! Growing a forest from Python arrays.
#![allow(clippy::doc_markdown, reason = "the doc comments of Python functions are numpydoc")]

use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::array::visit_matrix;
use super::error::of_estimator;
use super::fit::{Fit, encode_target, features_with_missing};
use super::forest::PyForest;
use super::params::tree_params;
use super::rows::Draws;
use crate::data::Dataset;
use crate::forest::grow_forest;
use crate::params::ForestParams;
use crate::runtime::Runtime;

/// Grow trees of a forest.
///
/// Parameters
/// ----------
/// x : ndarray of shape (n_samples, n_features), or CSC/CSR matrix
/// y : ndarray of shape (n_samples, n_outputs)
///     uint32 classes if `n_classes` is given, else float64 targets; C order.
/// n_classes : list of int or None
///     Number of classes of each output.
/// draws : Draws
///     On which rows each tree is grown; it has the weights of the rows.
/// balanced_subsample : bool
///     Weigh the rows of each tree's sample such that its classes weigh the same.
/// estimator : str
///     What error messages about parameters call it.
/// params : dict
///     Hyperparameters of the trees under scikit-learn's names.
/// seed : int
/// first_tree, n_trees : int
///     The numbers of the trees to be grown, which are functions of seed and number.
/// n_threads : int
/// watcher : callable or None
///     Is called with the number of grown trees now and then.
/// n_categories : list of int or None
///     As for `fit_tree`.
///
/// Returns
/// -------
/// forest : Forest
/// max_features : int
///     The number of features that each node draws.
/// with_missing : int64 ndarray
///     The features that have missing values in `x`, ascending.
#[pyfunction]
#[pyo3(signature = (
    x, y, n_classes, draws, balanced_subsample, estimator, params, seed, first_tree, n_trees, n_threads, watcher = None,
    n_categories = None
))]
#[allow(clippy::too_many_arguments, clippy::needless_pass_by_value, reason = "the boundary to Python")]
pub fn fit_forest<'py>(
    py: Python<'py>,
    x: &Bound<'_, PyAny>,
    y: &Bound<'_, PyAny>,
    n_classes: Option<Vec<u32>>,
    draws: Draws<'_>,
    balanced_subsample: bool,
    estimator: &str,
    params: &Bound<'_, PyDict>,
    seed: u64,
    first_tree: u64,
    n_trees: u64,
    n_threads: usize,
    watcher: Option<&Bound<'_, PyAny>>,
    n_categories: Option<Vec<u32>>,
) -> PyResult<(PyForest, u64, Bound<'py, PyArray1<i64>>)> {
    let tree = tree_params(params, estimator, n_classes.is_some(), seed)?;
    let target = encode_target(y, n_classes, draws.sample_weight.as_ref())?;
    let (n_samples, n_features): (usize, usize) = x.getattr("shape")?.extract()?;
    let bootstrap = draws.bootstrap()?;
    let valid = ForestParams { tree, first_tree, n_estimators: n_trees, bootstrap, balanced_subsample }
        .check(n_samples, n_features)
        .map_err(|error| of_estimator(error, estimator, params))?;
    let sample_ids = draws.sample_ids()?;
    let grow = |data: Dataset, runtime: &Runtime<'_>| {
        Ok((grow_forest(&data, &target, &valid, sample_ids, runtime)?, features_with_missing(&data)))
    };
    // Drawing many times from few rows takes longer than growing on them.
    let n_trees = (n_trees as usize).saturating_mul(draws.n_steps() / n_samples.max(1) + 1);
    let (n_outputs, ordinals) = (target.n_outputs(), valid.tree().ordinals());
    let fit = Fit { py, n_threads, n_outputs, n_trees, ordinals, n_categories, watcher, grow };
    let (forest, with_missing) = visit_matrix(x, fit)?;
    Ok((PyForest::new(forest), valid.tree().max_features(), with_missing.into_pyarray(py)))
}
