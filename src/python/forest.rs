//! The class `Forest`: the trees of a forest, and prediction with all of them.
#![allow(clippy::doc_markdown, reason = "the doc comments of Python functions are numpydoc")]

use std::sync::Arc;

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;

use super::on_rows::{RowVisitor, visit_rows};
use super::rows::Draws;
use super::tree::{PyTree, indicator};
use crate::data::rows::Rows;
use crate::error::Result;
use crate::forest::{Forest, Member, OobPrediction, RowSampler};
use crate::runtime::Runtime;

/// The trees of a forest, and their seeds.
#[pyclass(name = "Forest", module = "spinney._spinney", frozen)]
pub struct PyForest {
    forest: Forest,
}

impl PyForest {
    pub fn new(forest: Forest) -> Self {
        Self { forest }
    }
}

#[pymethods]
impl PyForest {
    #[new]
    #[allow(clippy::needless_pass_by_value, reason = "the state that pickles carry")]
    fn from_trees(trees: Vec<Bound<'_, PyTree>>, seeds: Vec<u64>) -> PyResult<Self> {
        if trees.len() != seeds.len() {
            let message = format!("seeds must have one value per tree. Got {} for {} trees.", seeds.len(), trees.len());
            return Err(PyValueError::new_err(message));
        }
        let member = |(tree, seed): (&Bound<'_, PyTree>, u64)| Member { tree: tree.get().packed(), seed };
        Ok(Self::new(Forest::new(trees.iter().zip(seeds).map(member).collect())?))
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let py = this.py();
        let members = this.get().forest.members();
        let trees: Vec<PyTree> = members.iter().map(|member| PyTree::of_forest(Arc::clone(&member.tree))).collect();
        let state = (trees, this.get().seeds()).into_pyobject(py)?;
        Ok((py.get_type::<Self>().into_any(), state.into_any()))
    }

    fn __len__(&self) -> usize {
        self.forest.len()
    }

    /// Tree number `index`: a view, nothing is copied.
    fn tree(&self, index: usize) -> PyResult<PyTree> {
        let member = self.forest.members().get(index).ok_or_else(|| {
            PyIndexError::new_err(format!("the forest has {} trees. Got index {index}.", self.forest.len()))
        })?;
        Ok(PyTree::of_forest(Arc::clone(&member.tree)))
    }

    /// The seed of each tree: the `random_state` of a tree estimator that grows it from the rows it was grown on.
    #[getter]
    fn seeds(&self) -> Vec<u64> {
        self.forest.members().iter().map(|member| member.seed).collect()
    }

    /// Number of features of the training data.
    #[getter]
    fn n_features(&self) -> usize {
        self.forest.n_features()
    }

    /// Number of outputs.
    #[getter]
    fn n_outputs(&self) -> usize {
        self.forest.n_outputs()
    }

    /// Number of nodes of each tree. Shape (n_trees,), int64.
    #[getter]
    fn node_counts<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.forest.trees().map(|tree| tree.node_count() as i64).collect::<Vec<_>>().into_pyarray(py)
    }

    /// This forest with the trees of another behind its own; nothing is copied.
    fn extended(&self, other: &Bound<'_, Self>) -> PyResult<Self> {
        Ok(Self::new(self.forest.extended(&other.get().forest)?))
    }

    /// Mean over the trees of their normalised importances, normalised. Shape (n_features,), float64.
    fn compute_feature_importances<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(self.forest.compute_feature_importances()?.into_pyarray(py))
    }

    /// The mean of the values of the leaves that each row reaches: (n_samples, n_outputs * max_n_classes).
    #[pyo3(signature = (x, n_threads = 1))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        n_threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let means = visit_rows(py, x, n_threads, Predict(&self.forest))?.into_pyarray(py);
        means.reshape([x.getattr("shape")?.extract::<(usize, usize)>()?.0, self.forest.n_values()])
    }

    /// As `predict`, over the trees that have not seen a row; and the number of such trees, (n_samples,) uint32. The rows
    /// are those that were drawn from.
    #[pyo3(signature = (x, draws, n_threads = 1))]
    #[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
    #[allow(clippy::type_complexity, reason = "two arrays")]
    fn predict_oob<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        draws: Draws<'py>,
        n_threads: usize,
    ) -> PyResult<(Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<u32>>)> {
        let visit = PredictOob { forest: &self.forest, sampler: &draws.sampler()?, n_steps: draws.n_steps() };
        let OobPrediction { values, n_trees } = visit_rows(py, x, n_threads, visit)?;
        let shape = [n_trees.len(), self.forest.n_values()];
        Ok((values.into_pyarray(py).reshape(shape)?, n_trees.into_pyarray(py)))
    }

    /// The leaf that each row reaches in each tree. Shape (n_samples, n_trees), int64.
    #[pyo3(signature = (x, n_threads = 1))]
    fn apply<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        n_threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let leaves = visit_rows(py, x, n_threads, Apply(&self.forest))?.into_pyarray(py);
        leaves.reshape([x.getattr("shape")?.extract::<(usize, usize)>()?.0, self.forest.len()])
    }

    /// The nodes that each row passes: a CSR matrix of ones of shape (n_samples, nodes of all trees), and where the nodes
    /// of each tree begin, (n_trees + 1,) int64.
    #[pyo3(signature = (x, n_threads = 1))]
    fn decision_path<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        n_threads: usize,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyArray1<i64>>)> {
        let (indptr, indices) = visit_rows(py, x, n_threads, DecisionPath(&self.forest))?;
        let n_nodes_ptr = self.forest.n_nodes_ptr();
        let n_nodes = n_nodes_ptr[n_nodes_ptr.len() - 1] as usize;
        Ok((indicator(py, indptr, indices, n_nodes)?, n_nodes_ptr.into_pyarray(py)))
    }
}

/// Steps of traversals, and of `n_more` others per tree.
fn steps(forest: &Forest, n_samples: usize, n_more: usize) -> usize {
    let depth: usize = forest.trees().map(|tree| tree.max_depth() + 1).sum();
    let per_tree = n_samples.saturating_add(n_more).saturating_mul(4);
    let steps = n_samples.saturating_mul(depth + forest.n_features() / 64);
    steps.saturating_add(per_tree.saturating_mul(forest.len()))
}

/// Makes a row visitor that applies a method of a forest.
macro_rules! forest_visitor {
    ($name:ident, $method:ident, $output:ty) => {
        struct $name<'a>(&'a Forest);

        impl RowVisitor for $name<'_> {
            type Output = $output;

            fn steps(&self, n_samples: usize) -> usize {
                steps(self.0, n_samples, 0)
            }

            fn visit(self, rows: &impl Rows, runtime: &Runtime<'_>) -> Result<$output> {
                self.0.$method(rows, runtime)
            }
        }
    };
}

forest_visitor!(Predict, predict, Vec<f64>);
forest_visitor!(Apply, apply, Vec<i64>);
forest_visitor!(DecisionPath, decision_path, (Vec<i64>, Vec<i64>));

struct PredictOob<'a> {
    forest: &'a Forest,
    sampler: &'a RowSampler,
    /// Of the draws of one tree.
    n_steps: usize,
}

impl RowVisitor for PredictOob<'_> {
    type Output = OobPrediction;

    fn steps(&self, n_samples: usize) -> usize {
        steps(self.forest, n_samples, self.n_steps)
    }

    fn visit(self, rows: &impl Rows, runtime: &Runtime<'_>) -> Result<OobPrediction> {
        self.forest.predict_oob(rows, self.sampler, runtime)
    }
}
