//! The class `LazyForest`: encoded training data that is asked for what a forest would predict.
#![allow(clippy::doc_markdown, reason = "the doc comments of Python functions are numpydoc")]

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict, PyTuple};

use super::array::visit_matrix;
use super::error::of_estimator;
use super::fit::{Fit, encode_target};
use super::on_rows::{RowVisitor, visit_rows_watched};
use super::params::tree_params;
use super::rows::Draws;
use super::run::run;
use crate::data::Dataset;
use crate::data::decode::Decoded;
use crate::data::rows::Rows;
use crate::error::Result;
use crate::forest::{Explored, LazyForest};
use crate::lazy::Traversal;
use crate::params::ForestParams;
use crate::runtime::Runtime;

const TRAVERSALS: &str = "a str among {'auto', 'batched', 'single', 'eager'}";

/// Encoded training data, and all else that a forest is a function of.
///
/// Parameters
/// ----------
/// x : ndarray of shape (n_samples, n_features), or CSC/CSR matrix
/// y : ndarray of shape (n_samples, n_outputs)
///     uint32 classes if `n_classes` is given, else float64 targets; C order. It is kept: nobody must write to it.
/// n_classes : list of int or None
///     Number of classes of each output.
/// draws : Draws
///     On which rows each tree is grown; it has the weights of the rows. It is kept.
/// balanced_subsample : bool
///     Weigh the rows of each tree's sample such that its classes weigh the same.
/// estimator : str
///     What error messages about parameters call it.
/// params : dict
///     Hyperparameters of the trees under scikit-learn's names. They are kept.
/// seed : int
/// n_trees : int
/// n_categories : list of int or None
///     As for `fit_tree`.
/// n_threads : int
#[pyclass(name = "LazyForest", module = "spinney._spinney", frozen)]
pub struct PyLazyForest {
    forest: LazyForest,
    /// What it was made from, but for the data.
    arguments: Py<PyTuple>,
}

#[pymethods]
impl PyLazyForest {
    #[new]
    #[pyo3(signature = (
        x, y, n_classes, draws, balanced_subsample, estimator, params, seed, n_trees, n_categories = None, n_threads = 1
    ))]
    #[allow(clippy::too_many_arguments, clippy::needless_pass_by_value, reason = "the boundary to Python")]
    fn new(
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        y: &Bound<'_, PyAny>,
        n_classes: Option<Vec<u32>>,
        draws: &Bound<'_, PyAny>,
        balanced_subsample: bool,
        estimator: &str,
        params: &Bound<'_, PyDict>,
        seed: u64,
        n_trees: u64,
        n_categories: Option<Vec<u32>>,
        n_threads: usize,
    ) -> PyResult<Self> {
        let of_target = (y, n_classes.clone(), draws, balanced_subsample);
        let arguments = of_target.into_pyobject(py)?.add((estimator, params, seed, n_trees, n_categories.clone()))?;
        let arguments = arguments.cast_into::<PyTuple>()?.unbind();
        let draws: Draws<'_> = draws.extract()?;
        let tree = tree_params(params, estimator, n_classes.is_some(), seed)?;
        let target = encode_target(y, n_classes, draws.sample_weight.as_ref())?;
        let (n_samples, n_features): (usize, usize) = x.getattr("shape")?.extract()?;
        let bootstrap = draws.bootstrap()?;
        let valid = ForestParams { tree, first_tree: 0, n_estimators: n_trees, bootstrap, balanced_subsample }
            .check(n_samples, n_features)
            .map_err(|error| of_estimator(error, estimator, params))?;
        let sample_ids = draws.sample_ids()?;
        let (n_outputs, ordinals) = (target.n_outputs(), valid.tree().ordinals());
        // Nothing is grown.
        let keep = |data: Dataset, _: &Runtime<'_>| LazyForest::new(data, target, valid, sample_ids);
        let fit = Fit { py, n_threads, n_outputs, n_trees: 1, ordinals, n_categories, watcher: None, grow: keep };
        Ok(Self { forest: visit_matrix(x, fit)?, arguments })
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = this.py();
        let forest = &this.get().forest;
        let (n_samples, n_features) = (forest.data().n_samples(), forest.data().n_features());
        let steps = n_samples.saturating_mul(n_features);
        let x = match run(py, 1, steps, |runtime| forest.data().decode(runtime))? {
            Decoded::Dense(values) => values.into_pyarray(py).reshape([n_samples, n_features])?.into_any(),
            Decoded::Csr { indptr, indices, data } => {
                let csr = py.import("scipy.sparse")?.getattr("csr_matrix")?;
                let parts = (data.into_pyarray(py), indices.into_pyarray(py), indptr.into_pyarray(py));
                csr.call((parts,), Some(&[("shape", (n_samples, n_features))].into_py_dict(py)?))?
            }
        };
        let arguments = this.get().arguments.bind(py);
        let state = PyTuple::new(py, std::iter::once(x).chain(arguments.iter()).collect::<Vec<_>>())?;
        Ok((py.get_type::<Self>().into_any(), state))
    }

    /// Number of trees.
    fn __len__(&self) -> usize {
        self.forest.n_trees()
    }

    /// Number of rows of the training data.
    #[getter]
    fn n_samples(&self) -> usize {
        self.forest.data().n_samples()
    }

    /// Number of features of the training data.
    #[getter]
    fn n_features(&self) -> usize {
        self.forest.data().n_features()
    }

    /// Number of features that each node draws.
    #[getter]
    fn max_features(&self) -> u64 {
        self.forest.params().tree().max_features()
    }

    /// Fails unless the parameters allow for a traversal.
    fn check_traversal(&self, traversal: &str) -> PyResult<()> {
        traversal_of(traversal)?.map_or(Ok(()), |traversal| Ok(traversal.check(self.forest.params().tree())?))
    }

    /// What the forest predicts: (n_query, n_outputs * max_n_classes).
    #[pyo3(signature = (x, traversal = "auto", n_threads = 1, watcher = None))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        traversal: &str,
        n_threads: usize,
        watcher: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let explored = self.ask(py, x, traversal, false, n_threads, watcher)?;
        let n_query = explored.path_lengths.len();
        explored.values.into_pyarray(py).reshape([n_query, self.forest.n_values()])
    }

    /// The same; the nodes and rows visited, and the peak of words, as a tuple; the nodes on the paths of each row,
    /// (n_query,) int64; and the weights of training rows behind each prediction as the arrays (data, indices, indptr) of
    /// a CSR matrix, if asked for.
    #[pyo3(signature = (x, traversal = "auto", weights = false, n_threads = 1, watcher = None))]
    #[allow(clippy::type_complexity, reason = "some arrays")]
    fn explore<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        traversal: &str,
        weights: bool,
        n_threads: usize,
        watcher: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(
        Bound<'py, PyArray2<f64>>,
        (u64, u64, u64),
        Bound<'py, PyArray1<i64>>,
        Option<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>)>,
    )> {
        let explored = self.ask(py, x, traversal, weights, n_threads, watcher)?;
        let Explored { values, visits, path_lengths, weights } = explored;
        let n_query = path_lengths.len();
        let lengths: Vec<i64> = path_lengths.into_iter().map(|length| length as i64).collect();
        Ok((
            values.into_pyarray(py).reshape([n_query, self.forest.n_values()])?,
            (visits.n_nodes, visits.n_rows, visits.peak_words),
            lengths.into_pyarray(py),
            weights.map(|w| (w.data.into_pyarray(py), w.indices.into_pyarray(py), w.indptr.into_pyarray(py))),
        ))
    }
}

impl PyLazyForest {
    fn ask(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        traversal: &str,
        weights: bool,
        n_threads: usize,
        watcher: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Explored> {
        let traversal = traversal_of(traversal)?;
        visit_rows_watched(py, x, n_threads, watcher, Ask { forest: &self.forest, traversal, weights })
    }
}

/// The traversal of a name; nothing for "auto".
fn traversal_of(name: &str) -> PyResult<Option<Traversal>> {
    match name {
        "auto" => Ok(None),
        "batched" => Ok(Some(Traversal::Batched)),
        "single" => Ok(Some(Traversal::Single)),
        "eager" => Ok(Some(Traversal::Eager)),
        _ => Err(PyValueError::new_err(format!("traversal must be {TRAVERSALS}. Got {name:?} instead."))),
    }
}

/// Asks a forest about rows.
struct Ask<'a> {
    forest: &'a LazyForest,
    traversal: Option<Traversal>,
    weights: bool,
}

impl RowVisitor for Ask<'_> {
    type Output = Explored;

    fn steps(&self, n_samples: usize) -> usize {
        let data = self.forest.data();
        // A tree may be as deep as it has rows, and read all cells on every level.
        let cells = data.n_samples().saturating_mul(data.n_features()).saturating_mul(data.n_samples());
        cells.saturating_add(n_samples).saturating_mul(self.forest.n_trees())
    }

    fn visit(self, rows: &impl Rows, runtime: &Runtime<'_>) -> Result<Explored> {
        let traversal = self.traversal.unwrap_or_else(|| self.forest.auto(rows.shape().0));
        self.forest.explore(&*rows.query(), traversal, self.weights, runtime)
    }
}
