//! The class `LazyForest`: encoded training data that is asked for what a forest would predict.
#![allow(clippy::doc_markdown, reason = "the doc comments of Python functions are numpydoc")]

use numpy::{IntoPyArray, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::IntoPyDict;

use super::array::{Array1, Array2, csr_matrix, run_with_matrix, table};
use super::leaf_rows::interpolation_of;
use super::run::run;
use super::survival::NamedCurve;
use super::task::{Plan, Task};
use crate::data::decode::Decoded;
use crate::data::query::Query;
use crate::data::{Dataset, Matrix};
use crate::error::Result;
use crate::forest::{Explored, LazyForest};
use crate::lazy::Traversal;
use crate::runtime::Runtime;

const TRAVERSALS: &str = "a str among {'auto', 'batched', 'single', 'eager'}";

/// Encoded training data, and all else that a forest is a function of.
///
/// Parameters
/// ----------
/// x : ndarray of shape (n_samples, n_features), or CSC/CSR matrix
/// task : spinney._fit.task.Task
///     It is kept: nobody must write to its arrays.
#[pyclass(name = "LazyForest", module = "spinney._spinney", frozen)]
pub struct PyLazyForest {
    forest: LazyForest,
    /// What it was made from, but for the data.
    task: Py<PyAny>,
}

#[pymethods]
impl PyLazyForest {
    #[new]
    fn new(x: &Bound<'_, PyAny>, task: Bound<'_, PyAny>) -> PyResult<Self> {
        let of_forest: Task<'_> = task.extract()?;
        let plan = of_forest.plan(x)?;
        let sample_ids = of_forest.sample_ids()?;
        // Nothing is grown.
        let keep = |plan: Plan, _: &dyn Matrix, data: Dataset, runtime: &Runtime<'_>| {
            LazyForest::new(&data, plan.target, plan.valid, sample_ids, runtime)
        };
        Ok(Self { forest: of_forest.fit(x, plan, keep)?, task: task.unbind() })
    }

    #[allow(clippy::type_complexity, reason = "a class and its arguments")]
    fn __reduce__<'py>(
        this: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyAny>, Bound<'py, PyAny>))> {
        let py = this.py();
        let forest = &this.get().forest;
        let n_features = forest.data().n_features();
        let x = match run(py, 1, None, |runtime| forest.data().decode(runtime))? {
            Decoded::Dense(values) => table(py, values, n_features)?.into_any(),
            Decoded::Csr { indptr, indices, data } => csr_matrix(py, data, indices, indptr, n_features)?,
        };
        // Threads and who watches them are no part of a forest.
        let without = [("n_threads", Some(1)), ("watcher", None)].into_py_dict(py)?;
        let task = this.get().task.bind(py).call_method("_replace", (), Some(&without))?;
        Ok((py.get_type::<Self>().into_any(), (x, task)))
    }

    /// Number of trees.
    fn __len__(&self) -> usize {
        self.forest.n_trees()
    }

    /// The lazy forest of the first `n_trees` trees, however many this one has. The data are shared.
    fn with_n_trees(&self, py: Python<'_>, n_trees: u64) -> PyResult<Self> {
        let task = [("n_trees", n_trees)].into_py_dict(py)?;
        let task = self.task.bind(py).call_method("_replace", (), Some(&task))?.unbind();
        Ok(Self { forest: self.forest.with_n_trees(n_trees)?, task })
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
        x: &Bound<'py, PyAny>,
        traversal: &str,
        n_threads: usize,
        watcher: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Array2<'py, f64>> {
        let explored = self.ask(x, traversal, false, n_threads, watcher)?;
        table(x.py(), explored.values, self.forest.n_values())
    }

    /// Quantiles of the targets of the training rows in the leaves that rows reach, linear or otherwise
    /// (`interpolation`) between targets: (n_query * n_outputs, n_quantiles).
    #[pyo3(signature = (x, quantiles, interpolation = "linear", traversal = "auto", n_threads = 1, watcher = None))]
    #[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
    fn quantiles<'py>(
        &self,
        x: &Bound<'py, PyAny>,
        quantiles: PyReadonlyArray1<'py, f64>,
        interpolation: &str,
        traversal: &str,
        n_threads: usize,
        watcher: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Array2<'py, f64>> {
        let wanted = (quantiles.as_slice()?, interpolation_of(interpolation)?);
        let found = self.run(x, traversal, n_threads, watcher, |forest, query, traversal, runtime| {
            forest.quantiles(query, traversal, wanted, runtime)
        })?;
        table(x.py(), found, quantiles.len())
    }

    /// Curves of the time until an event, at some times: (n_query, n_times). `curve` is "hazard",
    /// "survival" or the number of a cause, whose incidence is meant.
    #[pyo3(signature = (x, at, curve, traversal = "auto", n_threads = 1, watcher = None))]
    #[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
    fn curves<'py>(
        &self,
        x: &Bound<'py, PyAny>,
        at: PyReadonlyArray1<'py, f64>,
        curve: NamedCurve,
        traversal: &str,
        n_threads: usize,
        watcher: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Array2<'py, f64>> {
        let wanted = (at.as_slice()?, curve.read()?);
        let found = self.run(x, traversal, n_threads, watcher, |forest, query, traversal, runtime| {
            forest.curves(query, traversal, wanted, runtime)
        })?;
        table(x.py(), found, at.len())
    }

    /// The values that `predict` returns; the nodes and rows visited, and the peak of words, as a
    /// tuple; the nodes on the paths of each row, (n_query,) int64; and the weights of training
    /// rows behind each prediction as the arrays (data, indices, indptr) of a CSR matrix, if asked
    /// for.
    #[pyo3(signature = (x, traversal = "auto", weights = false, n_threads = 1, watcher = None))]
    #[allow(clippy::type_complexity, reason = "some arrays")]
    fn explore<'py>(
        &self,
        x: &Bound<'py, PyAny>,
        traversal: &str,
        weights: bool,
        n_threads: usize,
        watcher: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(
        Array2<'py, f64>,
        (u64, u64, u64),
        Array1<'py, i64>,
        Option<(Array1<'py, f64>, Array1<'py, i64>, Array1<'py, i64>)>,
    )> {
        let py = x.py();
        let explored = self.ask(x, traversal, weights, n_threads, watcher)?;
        let Explored { values, visits, path_lengths, weights } = explored;
        let lengths: Vec<i64> = path_lengths.into_iter().map(|length| length as i64).collect();
        Ok((
            table(py, values, self.forest.n_values())?,
            (visits.n_nodes, visits.n_rows, visits.peak_words),
            lengths.into_pyarray(py),
            weights.map(|w| (w.data.into_pyarray(py), w.indices.into_pyarray(py), w.indptr.into_pyarray(py))),
        ))
    }
}

impl PyLazyForest {
    fn ask(
        &self,
        x: &Bound<'_, PyAny>,
        traversal: &str,
        weights: bool,
        n_threads: usize,
        watcher: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Explored> {
        self.run(x, traversal, n_threads, watcher, |forest, query, traversal, runtime| {
            forest.explore(query, traversal, weights, runtime)
        })
    }

    /// Calls `ask` with the forest and a query, on threads.
    fn run<T: Send>(
        &self,
        x: &Bound<'_, PyAny>,
        traversal: &str,
        n_threads: usize,
        watcher: Option<&Bound<'_, PyAny>>,
        ask: impl FnOnce(&LazyForest, &dyn Query, Traversal, &Runtime<'_>) -> Result<T> + Send,
    ) -> PyResult<T> {
        let traversal = traversal_of(traversal)?;
        let forest = &self.forest;
        run_with_matrix(x, n_threads, watcher, |x, runtime| {
            let query = x.query(runtime)?;
            ask(forest, &*query, traversal.unwrap_or_else(|| forest.auto(x.shape().0)), runtime)
        })
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
