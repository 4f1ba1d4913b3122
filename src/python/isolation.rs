//! Isolation forests: their growth from Python matrices.
#![allow(clippy::doc_markdown, reason = "the doc comments of Python functions are numpydoc")]

use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;

use super::array::{Array1, with_matrix};
use super::forest::PyForest;
use super::run::run;
use crate::criterion;
use crate::data::Encoding;
use crate::data::dense::Ordinals;
use crate::forest::{IsolationParams, grow_isolation_forest, grow_isolation_forest_of_numbers, tree_features};
use crate::rng::seed_of_tree;

/// Grows one isolation tree for each bag.
///
/// Parameters
/// ----------
/// x : ndarray, CompressedMatrix in CSR form, or Columns
///     With categories all rows are encoded, otherwise only rows of the bags are read.
/// bags : list of ndarray of uint32
///     For each tree its rows, ascending, each as often as it counts.
/// shape : tuple of int
///     The seed, the number of the first tree, the largest depth of a leaf, and the number of features of a
///     tree, or None for all.
/// n_categories : list of int or None
///     Number of categories of each feature, 0 for a numeric one; None if all are numeric.
/// n_threads : int
/// watcher : callable or None
///     Is called with the number of trees that are done.
///
/// Returns
/// -------
/// forest : Forest
///     It predicts the mean length of paths.
#[pyfunction]
#[pyo3(signature = (x, bags, shape, n_categories = None, n_threads = 1, watcher = None))]
#[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
pub fn fit_isolation_forest(
    x: &Bound<'_, PyAny>,
    bags: Vec<PyReadonlyArray1<'_, u32>>,
    shape: (u64, u64, u64, Option<u64>),
    n_categories: Option<Vec<u32>>,
    n_threads: usize,
    watcher: Option<Bound<'_, PyAny>>,
) -> PyResult<PyForest> {
    let (seed, first_tree, max_depth, max_features) = shape;
    let params = IsolationParams { seed, first_tree, max_depth, max_features };
    let bags = bags.iter().map(|rows| rows.as_slice()).collect::<Result<Vec<_>, _>>()?;
    let encoding = Encoding { ordinals: Ordinals::Keys, n_categories: n_categories.as_deref() };
    let forest = with_matrix(x, |matrix| {
        run(x.py(), n_threads, watcher.as_ref(), |runtime| {
            if n_categories.is_none() {
                return grow_isolation_forest_of_numbers(matrix, &bags, &params, runtime);
            }
            let data = matrix.encode(&encoding, runtime)?;
            grow_isolation_forest(&data, &bags, &params, runtime)
        })
    })?;
    Ok(PyForest::new(forest))
}

/// The seeds of the trees of a forest with the numbers from `first_tree` on.
#[pyfunction]
pub fn list_tree_seeds(seed: u64, first_tree: u64, n_trees: u64) -> Vec<u64> {
    (first_tree..first_tree.saturating_add(n_trees)).map(|tree| seed_of_tree(seed, tree)).collect()
}

/// The mean length of the path that isolates one of `n_samples` samples.
#[pyfunction]
pub fn mean_path_length(n_samples: u64) -> f64 {
    criterion::mean_path_length(n_samples)
}

/// The features from which the nodes of some trees draw one.
///
/// Parameters
/// ----------
/// seeds : list of int
///     The seeds of the trees.
/// n_features : int
/// max_features : int
///     The number of features of a tree.
///
/// Returns
/// -------
/// features : list of ndarray of uint32
///     For every tree its features, ascending.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
pub fn list_tree_features(
    py: Python<'_>,
    seeds: Vec<u64>,
    n_features: usize,
    max_features: u64,
) -> Vec<Array1<'_, u32>> {
    let features = seeds.into_iter().map(|seed| tree_features(seed, n_features, max_features));
    features.map(|features| features.into_pyarray(py)).collect()
}
