//! On which rows the trees of a forest are grown, as Python says it.
#![allow(clippy::doc_markdown, reason = "the doc comments of Python functions are numpydoc")]

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::run::run;
use crate::data::target::Weights;
use crate::error::Result;
use crate::forest::RowSampler;
use crate::params::Bootstrap;
use crate::runtime::Runtime;

/// The fields of `spinney._draws.Draws`.
#[derive(FromPyObject)]
#[allow(clippy::struct_field_names, reason = "names of the Python class")]
pub struct Draws<'py> {
    /// One of [`SCHEMES`].
    pub scheme: String,
    pub n_samples: usize,
    pub n_outputs: usize,
    /// None: as many as there are rows.
    pub n_draws: Option<u64>,
    pub sample_weight: Option<PyReadonlyArray1<'py, f64>>,
    pub sample_ids: Option<PyReadonlyArray1<'py, u64>>,
}

const SCHEMES: [&str; 4] = ["all", "with replacement", "without replacement", "poisson"];

impl Draws<'_> {
    pub fn bootstrap(&self) -> PyResult<Bootstrap> {
        let n_draws = self.n_draws;
        match SCHEMES.iter().position(|scheme| *scheme == self.scheme) {
            Some(0) => Ok(Bootstrap::None),
            // An empty matrix is refused when it is encoded.
            Some(1) => Ok(Bootstrap::WithReplacement { n_draws: n_draws.unwrap_or(self.n_samples.max(1) as u64) }),
            Some(2) => Ok(Bootstrap::WithoutReplacement { n_draws }),
            Some(3) => Ok(Bootstrap::Poisson),
            _ => {
                Err(PyValueError::new_err(format!("scheme must be one of {SCHEMES:?}. Got {:?} instead.", self.scheme)))
            }
        }
    }

    pub fn sample_ids(&self) -> PyResult<Option<&[u64]>> {
        Ok(self.sample_ids.as_ref().map(|ids| ids.as_slice()).transpose()?)
    }

    /// Steps that the draws of one tree take at most.
    pub fn n_steps(&self) -> usize {
        self.n_samples.saturating_add(self.n_draws.map_or(0, |n| n as usize))
    }

    /// What draws the rows.
    pub fn sampler(&self) -> PyResult<RowSampler> {
        let weights = self.sample_weight.as_ref().map(|weights| weights.as_slice()).transpose()?;
        let weights = Weights::encode(weights, self.n_samples, self.n_outputs)?;
        Ok(RowSampler::new(&weights, self.n_samples, self.bootstrap()?, self.sample_ids()?)?)
    }
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
) -> PyResult<Vec<Bound<'py, PyArray1<u32>>>> {
    let sampler = draws.sampler()?;
    let steps = draws.n_steps().saturating_mul(seeds.len()).saturating_mul(4);
    let counts = |seed: u64, runtime: &Runtime<'_>| -> Result<Vec<u32>> {
        Ok(sampler.counts(seed, runtime)?.unwrap_or_else(|| vec![1; sampler.n_samples()]))
    };
    let counts = run(py, n_threads, steps, |runtime| runtime.map(seeds, |seed| counts(seed, runtime)))?;
    Ok(counts.into_iter().map(|counts| counts.into_pyarray(py)).collect())
}
