//! The class `Forest`: the trees of a forest, and prediction with all of them.
#![allow(clippy::doc_markdown, reason = "the doc comments of Python functions are numpydoc")]

use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use numpy::{IntoPyArray, PyArray3, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::{PyIndexError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use super::array::{Array1, Array2, csr_matrix, run_with_matrix, table, with_matrix};
use super::run::{catch, run};
use super::sections::{Reduced, StoredTrees, TreeState, reduce, tree_sections, tree_state, with_slices};
use super::task::{Draws, Grown, Task};
use super::tree::{PATH, PyTree};
use crate::data::Matrix;
use crate::error::Result;
use crate::explain::{KeptPlans, thresholds_around};
use crate::files::{Outline, tree_format};
use crate::forest::{Forest, Member, Nearest, OobPrediction, RowSampler, grow_forest};
use crate::memory;
use crate::runtime::Runtime;

/// The trees of a forest, and their seeds.
#[pyclass(name = "Forest", module = "spinney._spinney", frozen)]
pub struct PyForest(OnceLock<Trees>);

/// Set once: by the constructor, or by `__setstate__`.
struct Trees {
    /// Read from `stored` when it is first needed, unless it was grown.
    forest: OnceLock<Forest>,
    outline: Outline,
    stored: Mutex<Option<StoredTrees>>,
    plans: KeptPlans,
}

impl PyForest {
    pub fn new(forest: Forest) -> Self {
        let outline = Outline::of(&forest);
        Self(Trees { forest: forest.into(), outline, stored: Mutex::default(), plans: KeptPlans::default() }.into())
    }

    /// A forest whose trees are read from sections when they are first needed, on `n_threads` threads.
    pub fn of_sections((format_number, sections): TreeState<'_>, n_threads: usize) -> PyResult<Self> {
        let outline = with_slices(format_number, &sections, |slices| Ok(Outline::read(&slices)?))?;
        let trees = StoredTrees::new(sections, n_threads);
        let stored = Mutex::new(Some(trees));
        Ok(Self(Trees { forest: OnceLock::new(), outline, stored, plans: KeptPlans::default() }.into()))
    }

    fn trees(&self) -> PyResult<&Trees> {
        self.0.get().ok_or_else(|| PyRuntimeError::new_err("the forest waits for its state"))
    }

    fn outline(&self) -> PyResult<&Outline> {
        Ok(&self.trees()?.outline)
    }

    pub(super) fn forest(&self, py: Python<'_>) -> PyResult<&Forest> {
        let trees = self.trees()?;
        let stored = || trees.stored.lock().unwrap_or_else(PoisonError::into_inner);
        let shared = stored().as_ref().map(|trees| trees.share(py));
        if let Some(shared) = shared
            && trees.forest.get().is_none()
        {
            let forest = shared.read(py)?;
            trees.forest.get_or_init(|| forest);
            // The bytes are not needed any more.
            let read = stored().take();
            drop(read);
        }
        trees.forest.get().ok_or_else(|| PyRuntimeError::new_err("a forest has trees"))
    }

    /// The trees, and what explanations keep of them.
    pub(super) fn forest_and_plans(&self, py: Python<'_>) -> PyResult<(&Forest, &KeptPlans)> {
        Ok((self.forest(py)?, &self.trees()?.plans))
    }

    /// Runs a method of the forest on a matrix.
    pub(super) fn run<T: Send>(
        &self,
        x: &Bound<'_, PyAny>,
        n_threads: usize,
        method: impl FnOnce(&Forest, &dyn Matrix, &Runtime<'_>) -> Result<T> + Send,
    ) -> PyResult<T> {
        let forest = self.forest(x.py())?;
        run_with_matrix(x, n_threads, None, |x, runtime| method(forest, x, runtime))
    }
}

#[pymethods]
impl PyForest {
    /// Without arguments the forest waits for `__setstate__`.
    #[new]
    #[pyo3(signature = (trees = None, seeds = Vec::new()))]
    #[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
    fn from_trees(trees: Option<Vec<Bound<'_, PyTree>>>, seeds: Vec<u64>) -> PyResult<Self> {
        let Some(trees) = trees else { return Ok(Self(OnceLock::new())) };
        if trees.len() != seeds.len() {
            let message = format!("seeds must have one value per tree. Got {} for {} trees.", seeds.len(), trees.len());
            return Err(PyValueError::new_err(message));
        }
        let member = |(tree, seed): (&Bound<'_, PyTree>, u64)| Ok(Member { tree: tree.get().packed()?, seed });
        let members = trees.iter().zip(seeds).map(member).collect::<PyResult<_>>()?;
        catch(|| Ok(Self::new(Forest::new(members)?)))
    }

    /// A pickle carries the sections of a file.
    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        reduce(this.py(), "read_forest", this.get().forest(this.py())?)
    }

    /// What skops stores, which does not know `__reduce__`: the arguments of `read_forest`.
    fn __getstate__<'py>(&self, py: Python<'py>) -> PyResult<TreeState<'py>> {
        tree_state(py, self.forest(py)?)
    }

    fn __setstate__(&self, state: TreeState<'_>) -> PyResult<()> {
        let Self(read) = Self::of_sections(state, 1)?;
        let trees = read.into_inner().ok_or_else(|| PyRuntimeError::new_err("a state has trees"))?;
        self.0.set(trees).map_err(|_| PyValueError::new_err("The forest has its trees: it cannot change."))
    }

    /// The object cannot change.
    fn __deepcopy__(this: Bound<'_, Self>, _memo: Bound<'_, PyAny>) -> Py<Self> {
        this.unbind()
    }

    /// The number of the format of `sections`.
    #[getter]
    fn sections_format(&self, py: Python<'_>) -> PyResult<u32> {
        Ok(tree_format(self.forest(py)?))
    }

    /// The trees as the sections `TREE_SECTIONS` of a file.
    fn sections<'py>(&self, py: Python<'py>) -> PyResult<Vec<Array1<'py, u8>>> {
        tree_sections(py, self.forest(py)?)
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.outline()?.trees.len())
    }

    /// Tree number `index`: a view, nothing is copied.
    fn tree(&self, py: Python<'_>, index: usize) -> PyResult<PyTree> {
        let forest = self.forest(py)?;
        let member = forest.members().get(index).ok_or_else(|| {
            PyIndexError::new_err(format!("the forest has {} trees. Got index {index}.", forest.len()))
        })?;
        Ok(PyTree::of_forest(Arc::clone(&member.tree)))
    }

    /// The seed of each tree: the `random_state` of a tree estimator that grows it from the rows it
    /// was grown on.
    #[getter]
    fn seeds(&self) -> PyResult<Vec<u64>> {
        Ok(self.outline()?.trees.iter().map(|&(seed, _)| seed).collect())
    }

    /// Number of features of the training data.
    #[getter]
    fn n_features(&self) -> PyResult<usize> {
        Ok(self.outline()?.shape.n_features)
    }

    /// Number of outputs.
    #[getter]
    fn n_outputs(&self) -> PyResult<usize> {
        Ok(self.outline()?.shape.n_classes.len())
    }

    /// Number of classes of each output, 1 for regression.
    #[getter]
    fn n_classes(&self) -> PyResult<Vec<u32>> {
        Ok(self.outline()?.shape.n_classes.clone())
    }

    /// Number of categories of each feature, 0 of a numeric one; empty if all are numeric.
    #[getter]
    fn n_categories(&self) -> PyResult<Vec<u32>> {
        Ok(self.outline()?.shape.n_categories.to_vec())
    }

    /// Number of nodes of each tree. Shape (n_trees,), int64.
    #[getter]
    fn node_counts<'py>(&self, py: Python<'py>) -> PyResult<Array1<'py, i64>> {
        Ok(self.outline()?.node_counts().collect::<Vec<_>>().into_pyarray(py))
    }

    /// This forest with the trees of another behind its own; nothing is copied.
    fn extended(&self, other: &Bound<'_, Self>) -> PyResult<Self> {
        let py = other.py();
        let (own, others) = (self.forest(py)?, other.get().forest(py)?);
        catch(|| Ok(Self::new(own.extended(others)?)))
    }

    /// This forest without what predictions have made, and keep for the next ones.
    fn afresh(&self, py: Python<'_>) -> PyResult<Self> {
        let forest = self.forest(py)?;
        catch(|| Ok(Self::new(forest.afresh()?)))
    }

    /// Every `step`-th of the trees from number `start` to `stop`, as a forest; nothing is copied.
    fn part(&self, py: Python<'_>, start: usize, stop: usize, step: usize) -> PyResult<Self> {
        let forest = self.forest(py)?;
        catch(|| Ok(Self::new(forest.part(start..stop, step)?)))
    }

    /// Mean over the trees of their normalised importances, normalised. Shape (n_features,),
    /// float64.
    fn compute_feature_importances<'py>(&self, py: Python<'py>) -> PyResult<Array1<'py, f64>> {
        let forest = self.forest(py)?;
        let importances = run(py, 1, None, |runtime| forest.compute_feature_importances(runtime))?;
        Ok(importances.into_pyarray(py))
    }

    /// The normalised importances of each tree. Shape (n_trees, n_features), float64.
    #[pyo3(signature = (n_threads = 1))]
    fn tree_importances<'py>(&self, py: Python<'py>, n_threads: usize) -> PyResult<Array2<'py, f64>> {
        let forest = self.forest(py)?;
        let importances = run(py, n_threads, None, |runtime| forest.tree_importances(runtime))?;
        importances.into_pyarray(py).reshape([forest.len(), forest.n_features()])
    }

    /// The mean of the values of the leaves that each row reaches: (n_samples, n_outputs *
    /// max_n_classes).
    #[pyo3(signature = (x, n_threads = 1))]
    fn predict<'py>(&self, x: &Bound<'py, PyAny>, n_threads: usize) -> PyResult<Array2<'py, f64>> {
        table(x.py(), self.run(x, n_threads, Forest::predict)?, self.forest(x.py())?.n_values())
    }

    /// The class of each output with the largest mean, the first of several: (n_samples, n_outputs)
    /// uint32. The means of few rows are held at a time.
    #[pyo3(signature = (x, n_threads = 1))]
    fn predict_classes<'py>(&self, x: &Bound<'py, PyAny>, n_threads: usize) -> PyResult<Array2<'py, u32>> {
        table(x.py(), self.run(x, n_threads, Forest::predict_classes)?, self.forest(x.py())?.n_outputs())
    }

    /// As `predict`, over the trees that have not seen a row; and the number of such trees, (n_samples,)
    /// uint32. The rows of `x` are the rows from which the trees were drawn.
    #[pyo3(signature = (x, draws, n_threads = 1))]
    #[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
    fn predict_oob<'py>(
        &self,
        x: &Bound<'py, PyAny>,
        draws: Draws<'py>,
        n_threads: usize,
    ) -> PyResult<(Array2<'py, f64>, Array1<'py, u32>)> {
        let sampler = draws.sampler(x.py())?;
        let predict = |forest: &Forest, x: &dyn Matrix, runtime: &Runtime<'_>| forest.predict_oob(x, &sampler, runtime);
        let OobPrediction { values, n_trees } = self.run(x, n_threads, predict)?;
        Ok((table(x.py(), values, self.forest(x.py())?.n_values())?, n_trees.into_pyarray(x.py())))
    }

    /// As `predict_oob`, where `counted`, uint8 of shape (n_samples, n_bytes), says which trees count for a
    /// row: eight trees in a byte, the first in the lowest bit.
    #[pyo3(signature = (x, counted, n_threads = 1))]
    #[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
    fn predict_counted<'py>(
        &self,
        x: &Bound<'py, PyAny>,
        counted: PyReadonlyArray2<'py, u8>,
        n_threads: usize,
    ) -> PyResult<(Array2<'py, f64>, Array1<'py, u32>)> {
        let counted = counted.as_slice()?;
        let predict =
            |forest: &Forest, x: &dyn Matrix, runtime: &Runtime<'_>| forest.predict_counted(x, counted, runtime);
        let OobPrediction { values, n_trees } = self.run(x, n_threads, predict)?;
        Ok((table(x.py(), values, self.forest(x.py())?.n_values())?, n_trees.into_pyarray(x.py())))
    }

    /// As `predict_oob`, with sums in the place of means.
    #[pyo3(signature = (x, draws, n_threads = 1))]
    #[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
    fn sum_oob<'py>(
        &self,
        x: &Bound<'py, PyAny>,
        draws: Draws<'py>,
        n_threads: usize,
    ) -> PyResult<(Array2<'py, f64>, Array1<'py, u32>)> {
        let sampler = draws.sampler(x.py())?;
        let sum = |forest: &Forest, x: &dyn Matrix, runtime: &Runtime<'_>| forest.sum_oob(x, &sampler, runtime);
        let OobPrediction { values, n_trees } = self.run(x, n_threads, sum)?;
        Ok((table(x.py(), values, self.forest(x.py())?.n_values())?, n_trees.into_pyarray(x.py())))
    }

    /// The leaf that each row reaches in each tree. Shape (n_samples, n_trees), int64. `rows` are the first
    /// of some rows and their end; None means all.
    #[pyo3(signature = (x, n_threads = 1, rows = None))]
    fn apply<'py>(
        &self,
        x: &Bound<'py, PyAny>,
        n_threads: usize,
        rows: Option<(usize, usize)>,
    ) -> PyResult<Array2<'py, i64>> {
        let apply =
            |forest: &Forest, x: &dyn Matrix, runtime: &Runtime<'_>| forest.apply_rows(x, range_of(rows, x), runtime);
        table(x.py(), self.run(x, n_threads, apply)?, self.outline()?.trees.len())
    }

    /// For each row the rows of `others` that share most leaves with it, and the shares of the trees in which
    /// they do. Shape (n_samples, k), int64 and float64; -1 and 0 where fewer share a leaf.
    #[pyo3(signature = (x, others, k, n_threads = 1))]
    fn nearest<'py>(
        &self,
        x: &Bound<'py, PyAny>,
        others: &Bound<'py, PyAny>,
        k: usize,
        n_threads: usize,
    ) -> PyResult<(Array2<'py, i64>, Array2<'py, f64>)> {
        let forest = self.forest(x.py())?;
        let Nearest { indices, shares } = with_matrix(others, |others| {
            run_with_matrix(x, n_threads, None, |x, runtime| forest.nearest(x, others, k, runtime))
        })?;
        Ok((table(x.py(), indices, k)?, table(x.py(), shares, k)?))
    }

    /// The mean of what the trees of each bag predict for each row. Shape (n_samples, n_bags, n_values),
    /// float64. `rows` are the first of some rows and their end; None means all. A bag is `bag_size` trees,
    /// one after the other.
    #[pyo3(signature = (x, n_threads = 1, rows = None, bag_size = 1))]
    fn predict_trees<'py>(
        &self,
        x: &Bound<'py, PyAny>,
        n_threads: usize,
        rows: Option<(usize, usize)>,
        bag_size: usize,
    ) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let (n_bags, n_values) = {
            let forest = self.forest(x.py())?;
            (forest.len().checked_div(bag_size), forest.n_values())
        };
        let n_bags = n_bags.ok_or_else(|| PyValueError::new_err("bag_size must be at least 1"))?;
        let predict = |forest: &Forest, x: &dyn Matrix, runtime: &Runtime<'_>| {
            forest.predict_bags(x, range_of(rows, x), bag_size, runtime)
        };
        let values = self.run(x, n_threads, predict)?;
        let n_rows = values.len().checked_div(n_bags * n_values).unwrap_or(0);
        values.into_pyarray(x.py()).reshape([n_rows, n_bags, n_values])
    }

    /// For each feature the largest threshold below a value, and the smallest of the others; infinite where
    /// there is none, as for missing values. Shape (2, n_features), float64.
    #[pyo3(signature = (values, n_threads = 1))]
    #[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
    fn find_thresholds<'py>(
        &self,
        py: Python<'py>,
        values: PyReadonlyArray1<'py, f64>,
        n_threads: usize,
    ) -> PyResult<Array2<'py, f64>> {
        let (forest, values) = (self.forest(py)?, values.as_slice()?);
        if values.len() != forest.n_features() {
            return Err(PyValueError::new_err("values must have one number per feature"));
        }
        let around = run(py, n_threads, None, |runtime| thresholds_around(forest, values, runtime))?;
        table(py, around, values.len())
    }

    /// The nodes that each row passes: a CSR matrix of ones of shape (n_samples, nodes of all
    /// trees), and where the nodes of each tree begin, (n_trees + 1,) int64.
    #[pyo3(signature = (x, n_threads = 1))]
    fn decision_path<'py>(
        &self,
        x: &Bound<'py, PyAny>,
        n_threads: usize,
    ) -> PyResult<(Bound<'py, PyAny>, Array1<'py, i64>)> {
        let (indptr, indices) = self.run(x, n_threads, Forest::decision_path)?;
        let n_nodes_ptr = self.forest(x.py())?.n_nodes_ptr();
        let n_nodes = n_nodes_ptr[n_nodes_ptr.len() - 1] as usize;
        let ones = memory::filled(PATH, 1i64, indices.len())?;
        let path = csr_matrix(x.py(), ones, indices, indptr, n_nodes)?;
        Ok((path, n_nodes_ptr.into_pyarray(x.py())))
    }
}

/// Grow trees of a forest.
///
/// Parameters
/// ----------
/// x : ndarray of shape (n_samples, n_features), or CSC/CSR matrix
/// task : spinney._fit.task.Task
///
/// Returns
/// -------
/// forest : Forest
/// max_features : int
///     The number of features that each node draws.
/// with_missing : int64 ndarray
///     The features that have missing values in `x`, ascending.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
pub fn fit_forest<'py>(x: &Bound<'py, PyAny>, task: Task<'py>) -> PyResult<Grown<'py, PyForest>> {
    let plan = task.plan(x)?;
    let sample_ids = task.sample_ids()?;
    task.grow(x, plan, |data, plan, runtime| {
        Ok(PyForest::new(grow_forest(data, &plan.target, &plan.valid, sample_ids, runtime)?))
    })
}

/// Draw the rows of trees.
///
/// Parameters
/// ----------
/// draws : Draws
/// seeds : list of int
///     The seeds of the trees.
/// n_threads : int
///
/// Returns
/// -------
/// counts : list of ndarray of shape (n_samples,), uint32
///     How often each row is drawn, for every tree.
#[pyfunction]
#[pyo3(signature = (draws, seeds, n_threads = 1))]
#[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
pub fn draw_rows<'py>(
    py: Python<'py>,
    draws: Draws<'_>,
    seeds: Vec<u64>,
    n_threads: usize,
) -> PyResult<Vec<Array1<'py, u32>>> {
    let sampler = draws.sampler(py)?;
    let counts = |seed: u64, runtime: &Runtime<'_>| -> Result<Vec<u32>> {
        sampler.counts(seed, runtime)?.map_or_else(|| memory::filled("draws", 1, sampler.n_samples()), Ok)
    };
    let draw = |runtime: &Runtime<'_>| runtime.map(seeds, |seed| counts(seed, runtime));
    let counts = run(py, n_threads, None, draw)?;
    Ok(counts.into_iter().map(|counts| counts.into_pyarray(py)).collect())
}

/// The rows that trees have not seen.
///
/// Parameters
/// ----------
/// draws : Draws
/// seeds : list of int
///     The seeds of the trees.
/// n_threads : int
///
/// Returns
/// -------
/// bits : ndarray of shape (n_samples, n_bytes), uint8
///     A bit for each tree, 1 where it has not seen a row: eight trees in a byte, the lowest bit first.
#[pyfunction]
#[pyo3(signature = (draws, seeds, n_threads = 1))]
#[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
pub fn mark_unseen<'py>(
    py: Python<'py>,
    draws: Draws<'_>,
    seeds: Vec<u64>,
    n_threads: usize,
) -> PyResult<Array2<'py, u8>> {
    let sampler = draws.sampler(py)?;
    let bits = run(py, n_threads, None, |runtime| sampler.unseen_bits(&seeds, runtime))?;
    bits.into_pyarray(py).reshape([sampler.n_samples(), seeds.len().div_ceil(8)])
}

/// The rows that the sampler draws for some trees.
///
/// Parameters
/// ----------
/// draws : Draws
/// seeds : list of int
///     The seeds of the trees.
/// n_threads : int
/// only_filling : bool
///     Of honest trees, the rows that fill the leaves.
///
/// Returns
/// -------
/// rows : list of ndarray of uint32
///     For every tree the rows, ascending, each as often as it is drawn.
#[pyfunction]
#[pyo3(signature = (draws, seeds, n_threads = 1, only_filling = false))]
#[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
pub fn list_drawn_rows<'py>(
    py: Python<'py>,
    draws: Draws<'_>,
    seeds: Vec<u64>,
    n_threads: usize,
    only_filling: bool,
) -> PyResult<Vec<Array1<'py, u32>>> {
    let sampler = draws.sampler(py)?;
    let list = if only_filling { RowSampler::filling_rows } else { RowSampler::drawn };
    let draw = |runtime: &Runtime<'_>| runtime.map(seeds, |seed| list(&sampler, seed, runtime));
    Ok(run(py, n_threads, None, draw)?.into_iter().map(|rows| rows.into_pyarray(py)).collect())
}

/// The range of some rows of a matrix.
fn range_of(rows: Option<(usize, usize)>, x: &dyn Matrix) -> Range<usize> {
    rows.map_or(0..x.shape().0, |(start, end)| start..end)
}
