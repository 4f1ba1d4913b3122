//! Growing a forest from Python arrays.
#![allow(clippy::doc_markdown, reason = "the doc comments of Python functions are numpydoc")]

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::array::visit_matrix;
use super::error::of_estimator;
use super::fit::{Fit, encode_target};
use super::params::tree_params;
use super::tree::PyTree;
use crate::data::Dataset;
use crate::forest::grow_forest;
use crate::params::{Bootstrap, ForestParams};
use crate::runtime::Runtime;

/// Grow the trees of a forest.
///
/// Parameters
/// ----------
/// x : ndarray of shape (n_samples, n_features), or CSC/CSR matrix
/// y : ndarray of shape (n_samples, n_outputs)
///     uint32 classes if `n_classes` is given, else float64 targets; C order.
/// n_classes : list of int or None
///     Number of classes of each output.
/// sample_weight : float64 ndarray of shape (n_samples,) or None
///     With a bootstrap, rows are drawn in proportion to it.
/// estimator : str
///     What error messages about parameters call it.
/// params : dict
///     Hyperparameters of the trees under scikit-learn's names.
/// n_estimators : int
/// bootstrap : bool
///     Grow each tree on rows drawn with replacement.
/// max_samples_draws : int or None
///     The number of draws of a bootstrap; None means `n_samples`.
/// seed : int
/// n_threads : int
///
/// Returns
/// -------
/// trees : list of Tree
#[pyfunction]
#[pyo3(signature = (
    x, y, n_classes, sample_weight, estimator, params, n_estimators, bootstrap, max_samples_draws, seed, n_threads
))]
#[allow(clippy::too_many_arguments, clippy::needless_pass_by_value, reason = "the boundary to Python")]
pub fn fit_forest(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    y: &Bound<'_, PyAny>,
    n_classes: Option<Vec<u32>>,
    sample_weight: Option<PyReadonlyArray1<'_, f64>>,
    estimator: &str,
    params: &Bound<'_, PyDict>,
    n_estimators: u64,
    bootstrap: bool,
    max_samples_draws: Option<u64>,
    seed: u64,
    n_threads: usize,
) -> PyResult<Vec<PyTree>> {
    let tree = tree_params(params, estimator, n_classes.is_some(), seed)?;
    let target = encode_target(y, n_classes, sample_weight.as_ref())?;
    let (n_samples, n_features): (usize, usize) = x.getattr("shape")?.extract()?;
    // An empty matrix is refused when it is encoded.
    let n_rows = n_samples.max(1);
    let n_draws = max_samples_draws.unwrap_or(n_rows as u64);
    let bootstrap = if bootstrap { Bootstrap::WithReplacement { n_draws } } else { Bootstrap::None };
    let valid = ForestParams { tree, n_estimators, bootstrap }.check(n_samples, n_features);
    let valid = valid.map_err(|error| of_estimator(error, estimator, params))?;
    let grow = |data: &Dataset, runtime: &Runtime<'_>| grow_forest(data, &target, &valid, runtime);
    // Drawing many times from few rows takes longer than growing on them.
    let n_trees = (n_estimators as usize).saturating_mul(n_draws as usize / n_rows + 1);
    let trees = visit_matrix(
        x,
        Fit { py, n_threads, n_outputs: target.n_outputs(), n_trees, ordinals: valid.tree.ordinals(), grow },
    )?;
    Ok(trees.into_iter().map(PyTree::new).collect())
}
