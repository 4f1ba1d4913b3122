//! The training rows of leaves, and quantiles of their targets.
#![allow(clippy::doc_markdown, reason = "the doc comments of Python functions are numpydoc")]

use numpy::{IntoPyArray, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::array::{Array1, Array2, table};
use super::run::run;
use super::task::Draws;
use crate::data::target::Weights;
use crate::error::Result;
use crate::forest::leaves::counts::{LeafCounts, count_in_leaves};
use crate::forest::leaves::quantiles::{Interpolation, Pooling, RankKind, leaf_quantiles, leaf_ranks};
use crate::forest::leaves::query::QueryLeaves;
use crate::forest::leaves::rows::{Counts, LeafLimit, LeafLists, LeafRows, list_leaf_rows};
use crate::forest::leaves::targets::RankedTargets;
use crate::runtime::Runtime;

/// The fields of `spinney._fit.leaf_rows.LeafRows`.
#[derive(FromPyObject)]
pub struct StoredLeafRows<'py> {
    n_rows: PyReadonlyArray1<'py, i64>,
    n_nodes: PyReadonlyArray1<'py, i64>,
    rows: PyReadonlyArray1<'py, u32>,
    counts: Option<StoredCounts<'py>>,
    firsts: PyReadonlyArray1<'py, u64>,
    leaves: PyReadonlyArray1<'py, u64>,
    weights: Option<PyReadonlyArray1<'py, u64>>,
    values: PyReadonlyArray2<'py, f64>,
    ranks: PyReadonlyArray2<'py, u32>,
    order: PyReadonlyArray1<'py, u32>,
}

#[derive(FromPyObject)]
enum StoredCounts<'py> {
    U8(PyReadonlyArray1<'py, u8>),
    U32(PyReadonlyArray1<'py, u32>),
}

impl StoredLeafRows<'_> {
    /// The targets by rank.
    fn targets(&self) -> PyResult<RankedTargets<'_>> {
        Ok(RankedTargets {
            values: self.values.as_slice()?,
            ranks: self.ranks.as_slice()?,
            n_samples: self.values.shape()[1],
        })
    }

    fn counts(&self) -> PyResult<Counts<'_>> {
        Ok(match &self.counts {
            None => Counts::Once,
            Some(StoredCounts::U8(counts)) => Counts::U8(counts.as_slice()?),
            Some(StoredCounts::U32(counts)) => Counts::U32(counts.as_slice()?),
        })
    }

    /// Calls `ask` with the rows, on threads.
    pub fn ask<T: Send>(
        &self,
        py: Python<'_>,
        n_threads: usize,
        ask: impl FnOnce(&LeafRows<'_>, RankedTargets<'_>, &Runtime<'_>) -> Result<T> + Send,
    ) -> PyResult<T> {
        let (targets, counts) = (self.targets()?, self.counts()?);
        let numbers = (self.n_rows.as_slice()?, self.n_nodes.as_slice()?);
        let (rows, bits) = (self.rows.as_slice()?, (self.firsts.as_slice()?, self.leaves.as_slice()?));
        let weights = self.weights.as_ref().map(|weights| weights.as_slice()).transpose()?;
        run(py, n_threads, None, |runtime| {
            let rows = LeafRows::new(numbers, (rows, counts), bits, weights, targets.n_samples)?;
            ask(&rows, targets, runtime)
        })
    }
}

/// The numbers of rows and of nodes of trees, rows, their counts, and two lists of bits; weights by rank.
type Lists<'py> = (
    Array1<'py, i64>,
    Array1<'py, i64>,
    Array1<'py, u32>,
    Array1<'py, u32>,
    Array1<'py, u64>,
    Array1<'py, u64>,
    Option<Array1<'py, u64>>,
);

/// List the training rows in each leaf of a forest.
///
/// Parameters
/// ----------
/// leaves : ndarray of shape (n_samples, n_trees), int64
///     The leaf that each training row reaches in each tree.
/// trees : tuple
///     For each tree the number of its nodes (ndarray of int64), and its seed (ndarray of uint64).
/// draws : Draws
///     How rows are drawn, and their weights.
/// order : ndarray of shape (n_samples,), uint32
///     The rows in the order of their targets.
/// limit : int or None
///     The most rows of a leaf that are kept, drawn at random.
/// n_threads : int
///
/// Returns
/// -------
/// lists : tuple of ndarray
///     See `spinney._fit.leaf_rows.LeafRows`: the fields from `n_rows` to `weights`.
#[pyfunction]
#[pyo3(signature = (leaves, trees, draws, order, limit = None, n_threads = 1))]
#[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
pub fn list_rows_of_leaves<'py>(
    py: Python<'py>,
    leaves: PyReadonlyArray2<'py, i64>,
    trees: (PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, u64>),
    draws: Draws<'py>,
    order: PyReadonlyArray1<'py, u32>,
    limit: Option<u64>,
    n_threads: usize,
) -> PyResult<Lists<'py>> {
    let (sampler, weights) = (draws.sampler(py)?, draws.weights(py)?);
    let (leaf_ids, order) = (leaves.as_slice()?, order.as_slice()?);
    let trees = (trees.0.as_slice()?, trees.1.as_slice()?);
    let limit = limit.map(LeafLimit);
    let lists = run(py, n_threads, None, |runtime| {
        list_leaf_rows(leaf_ids, trees, (&sampler, &weights), order, limit, runtime)
    })?;
    let own_weights = if draws.draws_by_weight()? || matches!(weights, Weights::Unit) {
        None
    } else {
        Some(order.iter().map(|&row| weights.get(row as usize)).collect::<Vec<u64>>())
    };
    let LeafLists { n_rows, n_nodes, rows, counts, firsts, leaves } = lists;
    Ok((
        n_rows.into_pyarray(py),
        n_nodes.into_pyarray(py),
        rows.into_pyarray(py),
        counts.into_pyarray(py),
        firsts.into_pyarray(py),
        leaves.into_pyarray(py),
        own_weights.map(|weights| weights.into_pyarray(py)),
    ))
}

/// Count the training rows in leaves.
///
/// Parameters
/// ----------
/// leaf_rows : LeafRows
///     With `weights`, counts are multiplied by them.
/// leaves : ndarray of shape (n_query, n_trees), int64
/// counts : ndarray of shape (n_query, n_trees), uint8, or None
///     See `predict_leaf_quantiles`.
/// most : int or None
///     The most training rows that are kept for a query row: the ones most often in its leaves.
/// n_threads : int
///
/// Returns
/// -------
/// indptr : ndarray of shape (n_query + 1,), int64
///     Where query rows begin in the other arrays, and the end.
/// rows : ndarray of shape (n,), uint32
///     Training rows, the most frequent one first, and of equally frequent ones the first.
/// counts : ndarray of shape (n,), uint64
///     How often they lie in the leaves.
#[pyfunction]
#[pyo3(signature = (leaf_rows, leaves, counts, most = None, n_threads = 1))]
#[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
#[allow(clippy::type_complexity, reason = "the boundary to Python")]
pub fn count_rows_in_leaves<'py>(
    py: Python<'py>,
    leaf_rows: StoredLeafRows<'py>,
    leaves: PyReadonlyArray2<'py, i64>,
    counts: Option<PyReadonlyArray2<'py, u8>>,
    most: Option<usize>,
    n_threads: usize,
) -> PyResult<(Array1<'py, i64>, Array1<'py, u32>, Array1<'py, u64>)> {
    let (ids, order) = (leaves.as_slice()?, leaf_rows.order.as_slice()?);
    let counts = counts.as_ref().map(|counts| counts.as_slice()).transpose()?;
    let LeafCounts { indptr, rows, counts } = leaf_rows.ask(py, n_threads, |rows, targets, runtime| {
        let query = QueryLeaves { ids, counts };
        count_in_leaves(rows, (order, targets.n_samples), query, most.unwrap_or(usize::MAX), runtime)
    })?;
    Ok((indptr.into_pyarray(py), rows.into_pyarray(py), counts.into_pyarray(py)))
}

/// Quantiles of the targets of the training rows in leaves.
///
/// Parameters
/// ----------
/// leaf_rows : LeafRows
/// leaves : ndarray of shape (n_query, n_trees), int64
///     The leaves that rows reach.
/// counts : ndarray of shape (n_query, n_trees), uint8, or None
///     0 where a tree does not count; None if all count.
/// quantiles : ndarray of float64
///     In [0, 1].
/// how : tuple
///     The name of the interpolation, whether leaves weigh the same, and whether they are asked one by one.
/// n_threads : int
///
/// Returns
/// -------
/// quantiles : ndarray of shape (n_query * n_outputs, n_quantiles), float64
///     NaN where no tree counts.
#[pyfunction]
#[pyo3(signature = (leaf_rows, leaves, counts, quantiles, how, n_threads = 1))]
#[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
pub fn predict_leaf_quantiles<'py>(
    py: Python<'py>,
    leaf_rows: StoredLeafRows<'py>,
    leaves: PyReadonlyArray2<'py, i64>,
    counts: Option<PyReadonlyArray2<'py, u8>>,
    quantiles: PyReadonlyArray1<'py, f64>,
    how: (String, bool, bool),
    n_threads: usize,
) -> PyResult<Array2<'py, f64>> {
    let interpolation = interpolation_of(&how.0)?;
    let pooling = Pooling { weighted_leaves: how.1, leaf_by_leaf: how.2 };
    let (ids, quantiles) = (leaves.as_slice()?, quantiles.as_slice()?);
    let counts = counts.as_ref().map(|counts| counts.as_slice()).transpose()?;
    let found = leaf_rows.ask(py, n_threads, |rows, targets, runtime| {
        let query = QueryLeaves { ids, counts };
        leaf_quantiles(rows, targets, query, (quantiles, interpolation), pooling, runtime)
    })?;
    table(py, found, quantiles.len())
}

/// The ranks of targets among the targets of the training rows in leaves.
///
/// Parameters
/// ----------
/// leaf_rows : LeafRows
/// leaves : ndarray of shape (n_query, n_trees), int64
/// counts : ndarray of shape (n_query, n_trees), uint8, or None
///     See `predict_leaf_quantiles`.
/// y : ndarray of shape (n_query, n_outputs), float64
/// how : tuple
///     "rank", "weak", "strict" or "mean", whether leaves weigh the same, and whether they are asked
///     one by one.
/// n_threads : int
///
/// Returns
/// -------
/// ranks : ndarray of shape (n_query, n_outputs), float64
///     Shares of the training rows, NaN where no tree counts.
#[pyfunction]
#[pyo3(signature = (leaf_rows, leaves, counts, y, how, n_threads = 1))]
#[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
pub fn rank_in_leaves<'py>(
    py: Python<'py>,
    leaf_rows: StoredLeafRows<'py>,
    leaves: PyReadonlyArray2<'py, i64>,
    counts: Option<PyReadonlyArray2<'py, u8>>,
    y: PyReadonlyArray2<'py, f64>,
    how: (String, bool, bool),
    n_threads: usize,
) -> PyResult<Array2<'py, f64>> {
    let kind = match how.0.as_str() {
        "rank" => RankKind::Rank,
        "weak" => RankKind::Weak,
        "strict" => RankKind::Strict,
        "mean" => RankKind::Mean,
        other => return Err(PyValueError::new_err(format!("no kind of ranks {other:?}"))),
    };
    let pooling = Pooling { weighted_leaves: how.1, leaf_by_leaf: how.2 };
    let (ids, targets_of_query) = (leaves.as_slice()?, y.as_slice()?);
    let counts = counts.as_ref().map(|counts| counts.as_slice()).transpose()?;
    let found = leaf_rows.ask(py, n_threads, |rows, targets, runtime| {
        let query = QueryLeaves { ids, counts };
        leaf_ranks(rows, targets, query, (targets_of_query, kind), pooling, runtime)
    })?;
    table(py, found, y.shape()[1])
}

/// The interpolation of a name.
pub fn interpolation_of(name: &str) -> PyResult<Interpolation> {
    match name {
        "linear" => Ok(Interpolation::Linear),
        "lower" => Ok(Interpolation::Lower),
        "higher" => Ok(Interpolation::Higher),
        "midpoint" => Ok(Interpolation::Midpoint),
        "nearest" => Ok(Interpolation::Nearest),
        other => Err(PyValueError::new_err(format!("no interpolation {other:?}"))),
    }
}
