//! Explanations of what forests predict.
#![allow(clippy::doc_markdown, reason = "the doc comments of Python functions are numpydoc")]

use numpy::{IntoPyArray, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyList};

use super::array::{Array1, Array2, run_with_matrix, table};
use super::forest::PyForest;
use super::run::run;
use super::task::Draws;
use crate::error::Result;
use crate::explain::{
    CsrMatrix, Loss, OobChanges, Permutations, ShapValues, Training, expected_value, impurity_importances, oob_changes,
    partial_dependence, permutation_importances, shap_interactions, shap_values, sparse_shap_values,
};
use crate::memory;
use crate::runtime::Runtime;

/// Explain what a forest predicts if nothing is known of a sample.
///
/// Parameters
/// ----------
/// forest : Forest
/// n_threads : int
///
/// Returns
/// -------
/// expected : ndarray of shape (n_values,), float64
///     The mean over the trees of the means of their leaves by training weight.
#[pyfunction]
#[pyo3(signature = (forest, n_threads = 1))]
pub fn forest_expected_value<'py>(forest: &Bound<'py, PyForest>, n_threads: usize) -> PyResult<Array1<'py, f64>> {
    let py = forest.py();
    let (trees, plans) = forest.get().forest_and_plans(py)?;
    let expected = run(py, n_threads, None, |runtime| expected_value(plans.explained(trees, runtime)?, runtime))?;
    Ok(expected.into_pyarray(py))
}

/// Predict where only some features are known: partial dependence by recursion.
///
/// Parameters
/// ----------
/// forest : Forest
/// features : ndarray of uint32
///     Which features are known.
/// points : ndarray of shape (n_features_known, n_points), float64
///     Their values.
/// n_threads : int
///
/// Returns
/// -------
/// means : ndarray of shape (n_points, n_values), float64
#[pyfunction]
#[pyo3(signature = (forest, features, points, n_threads = 1))]
#[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
pub fn forest_partial_dependence<'py>(
    forest: &Bound<'py, PyForest>,
    features: PyReadonlyArray1<'py, u32>,
    points: PyReadonlyArray2<'py, f64>,
    n_threads: usize,
) -> PyResult<Array2<'py, f64>> {
    let py = forest.py();
    let trees = forest.get().forest(py)?;
    let (features, values) = (features.as_slice()?, points.as_slice()?);
    let n_known = points.as_array().nrows();
    if n_known != features.len() || n_known == 0 || features.iter().any(|&f| f as usize >= trees.n_features()) {
        return Err(PyValueError::new_err("features must be features of the forest, with one row of points for each."));
    }
    let means = run(py, n_threads, None, |runtime| partial_dependence(trees, features, values, runtime))?;
    table(py, means, trees.n_values())
}

/// Explain predictions by the contributions of the features: path-dependent SHAP values.
///
/// Parameters
/// ----------
/// forest : Forest
/// x : ndarray of shape (n_samples, n_features), or CSR matrix
/// sparse_output : bool
/// n_threads : int
/// watcher : callable or None
///     Called with the number of trees that are finished.
///
/// Returns
/// -------
/// values : ndarray of shape (n_samples, n_features, n_values), or list of CSR matrices
///     float64. A matrix of shape (n_samples, n_features) per value, without zeros, if
///     `sparse_output`.
#[pyfunction]
#[pyo3(signature = (forest, x, sparse_output = false, n_threads = 1, watcher = None))]
pub fn forest_shap_values<'py>(
    forest: &Bound<'py, PyForest>,
    x: &Bound<'py, PyAny>,
    sparse_output: bool,
    n_threads: usize,
    watcher: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = forest.py();
    let (trees, plans) = forest.get().forest_and_plans(py)?;
    let shape = [n_rows(x)?, trees.n_features(), trees.n_values()];
    if !sparse_output {
        let shap = run_with_matrix(x, n_threads, watcher, |x, runtime| {
            shap_values(plans.explained(trees, runtime)?, x, runtime)
        })?;
        let all = run(py, 1, None, |runtime| all_features(shap, shape, runtime))?;
        return Ok(all.into_pyarray(py).reshape(shape)?.into_any());
    }
    let matrices = run_with_matrix(x, n_threads, watcher, |x, runtime| {
        sparse_shap_values(plans.explained(trees, runtime)?, x, runtime)
    })?;
    let matrices = matrices.into_iter().map(|matrix| to_scipy(py, matrix, [shape[0], shape[1]]));
    Ok(PyList::new(py, matrices.collect::<PyResult<Vec<_>>>()?)?.into_any())
}

/// Explain predictions by the contributions of pairs of features: path-dependent SHAP interaction
/// values.
///
/// Parameters
/// ----------
/// forest : Forest
/// x : ndarray of shape (n_samples, n_features), or CSR matrix
/// n_threads : int
/// watcher : callable or None
///     Called with the number of trees that are finished.
///
/// Returns
/// -------
/// values : ndarray of shape (n_samples, n_features, n_features, n_values), float64
#[pyfunction]
#[pyo3(signature = (forest, x, n_threads = 1, watcher = None))]
pub fn forest_shap_interactions<'py>(
    forest: &Bound<'py, PyForest>,
    x: &Bound<'py, PyAny>,
    n_threads: usize,
    watcher: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = forest.py();
    let (trees, plans) = forest.get().forest_and_plans(py)?;
    let shap = run_with_matrix(x, n_threads, watcher, |x, runtime| {
        shap_interactions(plans.explained(trees, runtime)?, x, runtime)
    })?;
    let [n_rows, n_features, n_values] = [n_rows(x)?, trees.n_features(), trees.n_values()];
    // The contributions with one feature are a row of one value for each feature.
    let features = shap.features.clone();
    let inner = n_rows.saturating_mul(features.len());
    let all = run(py, 1, None, |runtime| {
        let values = all_features(shap, [inner, n_features, n_values], runtime)?;
        all_features(ShapValues { features, values }, [n_rows, n_features, n_features * n_values], runtime)
    })?;
    Ok(all.into_pyarray(py).reshape([n_rows, n_features, n_features, n_values])?.into_any())
}

/// The importances of features by the samples that trees have not seen.
///
/// Parameters
/// ----------
/// forest : Forest
/// x : ndarray of shape (n_samples, n_features), or CSR matrix
///     The training samples.
/// y : ndarray of shape (n_samples, n_outputs), float64
///     Numbers, or classes as numbers.
/// draws : Draws
/// permutations : tuple of (loss, groups, n_groups, n_repeats, seed) or None
///     What a prediction costs, "wrong", "brier", "squared" or "absolute"; the group of each feature,
///     uint32, where features of groups from `n_groups` on are left as they are; and the numbers of
///     groups and repeats. None asks for decreases of impurity.
/// asked : ndarray of shape (n_samples,), bool, or None
///     The samples that count, if they have not been seen. None means all.
/// n_threads : int
/// watcher : callable or None
///     Called with the number of trees that are finished.
///
/// Returns
/// -------
/// importances : ndarray of shape (n_groups, n_repeats), or (n_trees, n_features), float64
#[pyfunction]
#[pyo3(signature = (forest, x, y, draws, permutations = None, asked = None, n_threads = 1, watcher = None))]
#[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
#[allow(clippy::too_many_arguments, reason = "the boundary to Python")]
pub fn forest_oob_importances<'py>(
    forest: &Bound<'py, PyForest>,
    x: &Bound<'py, PyAny>,
    y: PyReadonlyArray2<'py, f64>,
    draws: Draws<'py>,
    permutations: Option<(String, PyReadonlyArray1<'py, u32>, usize, usize, u64)>,
    asked: Option<PyReadonlyArray1<'py, bool>>,
    n_threads: usize,
    watcher: Option<&Bound<'py, PyAny>>,
) -> PyResult<Array2<'py, f64>> {
    let py = forest.py();
    let trees = forest.get().forest(py)?;
    let (sampler, y) = (draws.sampler(py)?, y.as_slice()?);
    let asked = asked.as_ref().map(|asked| asked.as_slice()).transpose()?;
    let Some((loss, groups, n_groups, n_repeats, seed)) = permutations else {
        let importances = run_with_matrix(x, n_threads, watcher, |x, runtime| {
            impurity_importances(trees, Training { x, y, sampler: &sampler, asked }, runtime)
        })?;
        return importances.into_pyarray(py).reshape([trees.len(), trees.n_features()]);
    };
    let groups = groups.as_slice()?;
    if groups.len() != trees.n_features() {
        return Err(PyValueError::new_err("groups must have a group for each feature"));
    }
    let loss = match loss.as_str() {
        "wrong" => Loss::Wrong,
        "brier" => Loss::Brier,
        "squared" => Loss::Squared,
        "absolute" => Loss::Absolute,
        _ => return Err(PyValueError::new_err(format!("the loss must be one that there is. Got {loss:?} instead."))),
    };
    let permutations = Permutations { groups, n_groups, n_repeats, seed };
    let importances = run_with_matrix(x, n_threads, watcher, |x, runtime| {
        permutation_importances(trees, Training { x, y, sampler: &sampler, asked }, loss, permutations, runtime)
    })?;
    importances.into_pyarray(py).reshape([n_groups, n_repeats])
}

/// The sums of predictions out of bag that change if columns are permuted.
///
/// Parameters
/// ----------
/// forest : Forest
/// x : ndarray of shape (n_samples, n_features), or CSR matrix
///     The training samples.
/// draws : Draws
/// groups : ndarray of shape (n_features,), uint32
///     The group of each feature. Features of groups from `n_groups` on are left as they are.
/// n_groups : int
/// donors : ndarray of shape (n_samples,), uint32
///     The sample from which each one gets the values of a group.
/// asked : ndarray of shape (n_samples,), bool, or None
///     The samples that are listed, if they have not been seen. None means all.
/// n_threads : int
/// watcher : callable or None
///     Called with the number of trees that are finished.
///
/// Returns
/// -------
/// starts : ndarray of shape (n_groups + 1,), int64
///     Where the changes of each group begin, and the end.
/// rows : ndarray of shape (n_changes,), uint32
///     The samples whose predictions change, ascending in each group.
/// sums : ndarray of shape (n_changes, n_values), float64
///     Over the trees that have not seen the sample.
#[pyfunction]
#[pyo3(signature = (forest, x, draws, groups, n_groups, donors, asked = None, n_threads = 1, watcher = None))]
#[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
#[allow(clippy::too_many_arguments, reason = "the boundary to Python")]
#[allow(clippy::type_complexity, reason = "the boundary to Python")]
pub fn forest_oob_changes<'py>(
    forest: &Bound<'py, PyForest>,
    x: &Bound<'py, PyAny>,
    draws: Draws<'py>,
    groups: PyReadonlyArray1<'py, u32>,
    n_groups: usize,
    donors: PyReadonlyArray1<'py, u32>,
    asked: Option<PyReadonlyArray1<'py, bool>>,
    n_threads: usize,
    watcher: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Array1<'py, i64>, Array1<'py, u32>, Array2<'py, f64>)> {
    let py = forest.py();
    let trees = forest.get().forest(py)?;
    let (sampler, groups, donors) = (draws.sampler(py)?, groups.as_slice()?, donors.as_slice()?);
    let asked = asked.as_ref().map(|asked| asked.as_slice()).transpose()?;
    let n_rows = n_rows(x)?;
    if groups.len() != trees.n_features() {
        return Err(PyValueError::new_err("groups must have a group for each feature"));
    }
    if donors.len() != n_rows || donors.iter().any(|&row| row as usize >= n_rows) {
        return Err(PyValueError::new_err("donors must have a sample for each sample"));
    }
    let OobChanges { starts, rows, sums } = run_with_matrix(x, n_threads, watcher, |x, runtime| {
        oob_changes(trees, Training { x, y: &[], sampler: &sampler, asked }, (groups, n_groups), donors, runtime)
    })?;
    Ok((starts.into_pyarray(py), rows.into_pyarray(py), table(py, sums, trees.n_values())?))
}

fn n_rows(x: &Bound<'_, PyAny>) -> PyResult<usize> {
    x.getattr("shape")?.get_item(0)?.extract()
}

/// The contributions with zeros for the features that no tree uses.
fn all_features(
    shap: ShapValues,
    [n_rows, n_features, n_values]: [usize; 3],
    runtime: &Runtime<'_>,
) -> Result<Vec<f64>> {
    if shap.features.len() == n_features {
        return Ok(shap.values);
    }
    let n = n_rows.saturating_mul(n_features).saturating_mul(n_values);
    let mut all = memory::zeros("SHAP values", n)?;
    if shap.features.is_empty() {
        return Ok(all);
    }
    let rows = all.chunks_exact_mut(n_features * n_values);
    for (row, used) in rows.zip(shap.values.chunks_exact(shap.features.len() * n_values)) {
        runtime.check_interrupt()?;
        for (&feature, values) in shap.features.iter().zip(used.chunks_exact(n_values)) {
            row[feature as usize * n_values..][..n_values].copy_from_slice(values);
        }
    }
    Ok(all)
}

/// A matrix of scipy.
fn to_scipy(py: Python<'_>, matrix: CsrMatrix, shape: [usize; 2]) -> PyResult<Bound<'_, PyAny>> {
    let CsrMatrix { indptr, indices, data } = matrix;
    let scipy = py.import("scipy.sparse")?;
    let shape = [("shape", (shape[0], shape[1]))].into_py_dict(py)?;
    let (data, indices) = (data.into_pyarray(py), indices.into_pyarray(py));
    match indptr.last() {
        // scipy wants both arrays of one type.
        Some(&last) if last <= i64::from(i32::MAX) => {
            let indptr: Vec<i32> = indptr.iter().map(|&end| end as i32).collect();
            scipy.call_method("csr_matrix", ((data, indices, indptr.into_pyarray(py)),), Some(&shape))
        }
        _ => scipy.call_method("csr_matrix", ((data, indices, indptr.into_pyarray(py)),), Some(&shape)),
    }
}
