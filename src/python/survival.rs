//! Curves of the time until an event, and the concordance of risks.
#![allow(clippy::doc_markdown, reason = "the doc comments of Python functions are numpydoc")]

use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::array::{Array2, table};
use super::leaf_rows::StoredLeafRows;
use super::run::run;
use crate::forest::leaves::curves::{Curve, RankedEvents, leaf_curves};
use crate::forest::leaves::query::QueryLeaves;
use crate::num::{Concordance, concordance};

/// "hazard", "survival", or the number of a cause.
#[derive(FromPyObject)]
pub enum NamedCurve {
    Cause(u32),
    Name(String),
}

impl NamedCurve {
    pub fn read(&self) -> PyResult<Curve> {
        match self {
            Self::Cause(cause) => Ok(Curve::Incidence(*cause)),
            Self::Name(name) if name == "hazard" => Ok(Curve::CumulativeHazard),
            Self::Name(name) if name == "survival" => Ok(Curve::Survival),
            Self::Name(name) => Err(PyValueError::new_err(format!("no curve {name:?}"))),
        }
    }
}

/// Curves of the time until an event from the training rows in leaves.
///
/// Parameters
/// ----------
/// leaf_rows : LeafRows
///     In the order of times.
/// leaves : ndarray of shape (n_query, n_trees), int64
///     The leaves that rows reach.
/// counts : ndarray of shape (n_query, n_trees), uint8, or None
///     0 where a tree does not count; None if all count.
/// events : ndarray of shape (n_training,), uint32
///     The events of the training rows in the order of times, 0 where censored.
/// at : ndarray of shape (n_times,), float64
///     Times.
/// curve : str or int
///     "hazard", "survival", or the number of a cause, whose incidence is meant.
/// n_threads : int
///
/// Returns
/// -------
/// curves : ndarray of shape (n_query, n_times), float64
///     NaN where no tree counts.
#[pyfunction]
#[pyo3(signature = (leaf_rows, leaves, counts, events, at, curve, n_threads = 1))]
#[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
#[allow(clippy::too_many_arguments, reason = "they are named in Python")]
pub fn predict_leaf_curves<'py>(
    py: Python<'py>,
    leaf_rows: StoredLeafRows<'py>,
    leaves: PyReadonlyArray2<'py, i64>,
    counts: Option<PyReadonlyArray2<'py, u8>>,
    events: PyReadonlyArray1<'py, u32>,
    at: PyReadonlyArray1<'py, f64>,
    curve: NamedCurve,
    n_threads: usize,
) -> PyResult<Array2<'py, f64>> {
    let curve = curve.read()?;
    let (ids, events, at) = (leaves.as_slice()?, events.as_slice()?, at.as_slice()?);
    let counts = counts.as_ref().map(|counts| counts.as_slice()).transpose()?;
    let found = leaf_rows.ask(py, n_threads, |rows, targets, runtime| {
        let outcomes = RankedEvents { times: targets.values, events };
        leaf_curves(rows, outcomes, QueryLeaves { ids, counts }, at, curve, runtime)
    })?;
    table(py, found, at.len())
}

/// Count the pairs of rows that risks order as the times of events do.
///
/// Parameters
/// ----------
/// events : ndarray of shape (n_samples,), bool
/// times, risks : ndarray of shape (n_samples,), float64
///     No NaN.
/// tolerance : float
///     Risks that differ by no more are equal.
///
/// Returns
/// -------
/// concordant, discordant, tied_risk, tied_time : int
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
pub fn count_concordance(
    py: Python<'_>,
    events: PyReadonlyArray1<'_, bool>,
    times: PyReadonlyArray1<'_, f64>,
    risks: PyReadonlyArray1<'_, f64>,
    tolerance: f64,
) -> PyResult<(u64, u64, u64, u64)> {
    let (events, times, risks) = (events.as_slice()?, times.as_slice()?, risks.as_slice()?);
    if events.len() != times.len() || times.len() != risks.len() {
        return Err(PyValueError::new_err("events, times and risks must have the same length."));
    }
    let Concordance { concordant, discordant, tied_risk, tied_time } =
        run(py, 1, None, |runtime| concordance(events, times, risks, tolerance, runtime))?;
    Ok((concordant, discordant, tied_risk, tied_time))
}
