//! Growing a tree from Python arrays.
#![allow(clippy::doc_markdown, reason = "the doc comments of Python functions are numpydoc")]

use numpy::ndarray::ArrayView2;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::array::{MatrixVisitor, visit_matrix};
use super::error::of_estimator;
use super::params::tree_params;
use super::run::run_watched;
use super::tree::PyTree;
use crate::data::dense::Ordinals;
use crate::data::sparse::SparseIndex;
use crate::data::values::TableValue;
use crate::data::{Dataset, Element, SparseView, Target};
use crate::error::Result;
use crate::grow::grow;
use crate::runtime::Runtime;

/// Grow one tree.
///
/// Parameters
/// ----------
/// x : ndarray of shape (n_samples, n_features), or CSC/CSR matrix
/// y : ndarray of shape (n_samples, n_outputs)
///     uint32 classes if `n_classes` is given, else float64 targets; C order.
/// n_classes : list of int or None
///     Number of classes of each output.
/// sample_weight : float64 ndarray of shape (n_samples,) or None
/// estimator : str
///     What error messages about parameters call it.
/// params : dict
///     Hyperparameters under scikit-learn's names.
/// seed : int
/// n_threads : int
/// n_categories : list of int or None
///     Of each feature the number of its categories, 0 if it is numeric; None if all are. Values of a categorical feature are
///     0 to that number less one, or NaN.
///
/// Returns
/// -------
/// tree : Tree
/// max_features : int
///     The number of features that each node draws.
/// with_missing : int64 ndarray
///     The features that have missing values in `x`, ascending.
#[pyfunction]
#[pyo3(signature = (x, y, n_classes, sample_weight, estimator, params, seed, n_threads, n_categories = None))]
#[allow(clippy::too_many_arguments, clippy::needless_pass_by_value, reason = "the boundary to Python")]
pub fn fit_tree<'py>(
    py: Python<'py>,
    x: &Bound<'_, PyAny>,
    y: &Bound<'_, PyAny>,
    n_classes: Option<Vec<u32>>,
    sample_weight: Option<PyReadonlyArray1<'_, f64>>,
    estimator: &str,
    params: &Bound<'_, PyDict>,
    seed: u64,
    n_threads: usize,
    n_categories: Option<Vec<u32>>,
) -> PyResult<(PyTree, u64, Bound<'py, PyArray1<i64>>)> {
    let checked = tree_params(params, estimator, n_classes.is_some(), seed)?;
    let target = encode_target(y, n_classes, sample_weight.as_ref())?;
    let (n_samples, n_features) = x.getattr("shape")?.extract()?;
    let valid = checked.check(n_samples, n_features).map_err(|error| of_estimator(error, estimator, params))?;
    let grow = |data: Dataset, runtime: &Runtime<'_>| {
        Ok((grow(&data, &target, &valid, 0, runtime)?, features_with_missing(&data)))
    };
    let fit = Fit {
        py,
        n_threads,
        n_outputs: target.n_outputs(),
        n_trees: 1,
        ordinals: valid.ordinals(),
        n_categories,
        watcher: None,
        grow,
    };
    let (tree, with_missing) = visit_matrix(x, fit)?;
    Ok((PyTree::new(tree), valid.max_features(), with_missing.into_pyarray(py)))
}

/// The features that have missing values.
pub fn features_with_missing(data: &Dataset) -> Vec<i64> {
    if !data.has_missing() {
        return Vec::new();
    }
    (0..data.n_features() as u32).filter(|&f| data.missing_rank(f).is_some()).map(i64::from).collect()
}

/// The target and weights of a fit, as [`fit_tree`] describes them.
pub fn encode_target(
    y: &Bound<'_, PyAny>,
    n_classes: Option<Vec<u32>>,
    sample_weight: Option<&PyReadonlyArray1<'_, f64>>,
) -> PyResult<Target> {
    let weights = sample_weight.map(|weights| weights.as_slice()).transpose()?;
    let target = if let Some(n_classes) = n_classes {
        let classes: PyReadonlyArray2<'_, u32> = y.extract()?;
        Target::classification(classes.as_slice()?, &n_classes, weights)?
    } else {
        let numbers: PyReadonlyArray2<'_, f64> = y.extract()?;
        Target::regression(numbers.as_slice()?, numbers.shape()[1], weights)?
    };
    Ok(target)
}

/// Check the structure of a CSC or CSR matrix, so that it can be converted safely.
///
/// Parameters
/// ----------
/// x : object with the attributes format, shape, data, indices and indptr
///     `data` is not read.
#[pyfunction]
pub fn check_sparse(x: &Bound<'_, PyAny>) -> PyResult<()> {
    visit_matrix(x, Check)
}

struct Check;

impl MatrixVisitor for Check {
    type Output = ();

    fn dense<T: Element<Value: TableValue>>(self, _x: ArrayView2<'_, T>) -> PyResult<()> {
        Ok(())
    }

    fn sparse<T: Element<Value: TableValue>, I: SparseIndex>(self, _x: SparseView<'_, T, I>) -> PyResult<()> {
        Ok(())
    }
}

/// Encodes a matrix and grows what is wanted from it.
pub struct Fit<'a, 'py, G> {
    pub py: Python<'py>,
    pub n_threads: usize,
    pub n_outputs: usize,
    pub n_trees: usize,
    pub ordinals: Ordinals,
    /// Of each feature, 0 of a numeric one; nothing if all are numeric.
    pub n_categories: Option<Vec<u32>>,
    /// Is called with the number of grown trees.
    pub watcher: Option<&'a Bound<'py, PyAny>>,
    pub grow: G,
}

impl<T: Send, G: FnOnce(Dataset, &Runtime<'_>) -> Result<T> + Send> Fit<'_, '_, G> {
    fn fit(
        self,
        n_samples: usize,
        n_cells: usize,
        encode: impl FnOnce(&Runtime<'_>) -> Result<Dataset> + Send,
    ) -> PyResult<T> {
        let Self { py, n_threads, n_outputs, n_trees, n_categories, watcher, grow, .. } = self;
        // A tree may be as deep as it has rows, and read all cells on every level.
        let steps = n_cells.saturating_mul(n_samples).saturating_mul(n_outputs).saturating_mul(n_trees);
        run_watched(py, n_threads, steps, watcher, |runtime| {
            grow(categories(encode(runtime)?, n_categories.as_deref())?, runtime)
        })
    }
}

/// Tells a data set which of its features are categorical.
pub fn categories(data: Dataset, n_categories: Option<&[u32]>) -> Result<Dataset> {
    match n_categories {
        Some(n_categories) => data.with_categories(n_categories),
        None => Ok(data),
    }
}

impl<R: Send, G: FnOnce(Dataset, &Runtime<'_>) -> Result<R> + Send> MatrixVisitor for Fit<'_, '_, G> {
    type Output = R;

    fn dense<T: Element<Value: TableValue>>(self, x: ArrayView2<'_, T>) -> PyResult<R> {
        // Categories are ranks.
        let ordinals = if self.n_categories.is_some() { Ordinals::Ranks } else { self.ordinals };
        self.fit(x.nrows(), x.len(), |runtime| Dataset::from_dense_with(x, ordinals, runtime))
    }

    fn sparse<T: Element<Value: TableValue>, I: SparseIndex>(self, x: SparseView<'_, T, I>) -> PyResult<R> {
        let (n_samples, n_features) = x.shape();
        self.fit(n_samples, x.nnz() + n_features, |runtime| Dataset::from_sparse(&x, runtime))
    }
}
