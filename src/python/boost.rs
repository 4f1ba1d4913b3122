//! The class `Rounds`: gradient boosting, some rounds at a time.
#![allow(clippy::doc_markdown, reason = "the doc comments of Python functions are numpydoc")]

use numpy::{IntoPyArray, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::array::{Array1, Array2, table};
use super::forest::PyForest;
use super::run::{catch, run};
use super::task::Task;
use crate::boost::{Draw, Loss, Objective, Predicted, RiskSets, Rounds, Settings, choose_rows};
use crate::forest::Forest;

/// The learning rate, `l2_regularization`, the most bins of a column, and the dropout rate.
type Way = (f64, Option<f64>, Option<usize>, f64);

/// The state of boosting between two rounds.
#[pyclass(name = "Rounds", module = "spinney._spinney")]
pub struct PyRounds {
    rounds: Rounds,
    n_threads: usize,
    max_features: u64,
    with_missing: Vec<i64>,
}

#[pymethods]
impl PyRounds {
    /// Encodes the matrix. The target of the task has numbers, or numbers of classes, and weights.
    ///
    /// `loss` is a name with a parameter: the level of "huber" and "quantile", the power of "deviance", or
    /// the number of classes of "log_loss". Targets of "cox" are times, negative (or minus zero) where they
    /// are censored. `start` and `sums`, float64 of shape (n_samples, n_raw), are
    /// what raw predictions begin with, and the sums of the leaves of earlier rounds.
    ///
    /// `way` has the learning rate; the regularization by `l2_regularization`, which asks for second
    /// derivatives; the number of bins of a column, if cuts are between bins alone; and the chance of earlier
    /// trees to be dropped. With such a chance, `trees` are those of earlier rounds.
    #[new]
    #[pyo3(signature = (x, task, loss, way, start, sums, trees = None))]
    #[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
    fn new<'py>(
        x: &Bound<'py, PyAny>,
        task: Task<'py>,
        loss: (String, f64),
        way: Way,
        start: PyReadonlyArray2<'py, f64>,
        sums: PyReadonlyArray2<'py, f64>,
        trees: Option<Bound<'py, PyForest>>,
    ) -> PyResult<Self> {
        let y = task.numbers()?;
        let objective = read_objective(&loss.0, loss.1, &y)?;
        let (learning_rate, l2, max_bins, dropout_rate) = way;
        let settings = Settings { objective, learning_rate, l2, max_bins, dropout_rate };
        let members = trees.map(|trees| Ok::<_, PyErr>(trees.get().forest(x.py())?.members().to_vec())).transpose()?;
        let members = members.unwrap_or_default();
        let raw = (start.as_slice()?.to_vec(), sums.as_slice()?.to_vec());
        let (rounds, max_features, with_missing) = task.grow(x, task.plan(x)?, |data, plan, runtime| {
            let data = (data.clone(), plan.target.clone());
            Rounds::new(data, plan.valid.clone(), settings, y, raw, members, runtime)
        })?;
        let with_missing = with_missing.readonly().as_slice()?.to_vec();
        Ok(Self { rounds, n_threads: task.n_threads(), max_features, with_missing })
    }

    /// Number of features that each node draws.
    #[getter]
    fn max_features(&self) -> u64 {
        self.max_features
    }

    /// The residual from which on Huber's loss is absolute.
    #[getter]
    fn delta(&self) -> f64 {
        self.rounds.delta()
    }

    /// The features that have missing values, ascending int64.
    #[getter]
    fn with_missing<'py>(&self, py: Python<'py>) -> Array1<'py, i64> {
        self.with_missing.clone().into_pyarray(py)
    }

    /// Grows the trees of some rounds. `seeds`, uint64 of shape (n_rounds, n_raw), has a seed for each
    /// tree. `uniform`, float64 of shape (n_rounds, n_samples), has numbers in [0, 1) that choose `n_in_bag`
    /// rows for the trees of each round; None means all. Returns mean losses, float64 of shape (n_rounds, 3):
    /// out of bag before the round, in bag and out of bag after it.
    #[pyo3(signature = (seeds, uniform = None, n_in_bag = 0, has_losses = true, watcher = None))]
    #[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
    fn advance<'py>(
        &mut self,
        py: Python<'py>,
        seeds: PyReadonlyArray2<'py, u64>,
        uniform: Option<PyReadonlyArray2<'py, f64>>,
        n_in_bag: usize,
        has_losses: bool,
        watcher: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Array2<'py, f64>> {
        let (n_rounds, n_raw) = seeds.as_array().dim();
        let seeds = seeds.as_slice()?;
        let uniform = uniform.as_ref().map(|uniform| uniform.as_slice()).transpose()?;
        let n_samples = uniform.map_or(0, |uniform| uniform.len() / n_rounds.max(1));
        let rounds = &mut self.rounds;
        let losses = run(py, self.n_threads, watcher.as_ref(), |runtime| {
            let mut losses = Vec::with_capacity(3 * n_rounds);
            for round in 0..n_rounds {
                let in_bag = uniform.map(|uniform| choose_rows(&uniform[round * n_samples..][..n_samples], n_in_bag));
                let (seeds, in_bag) = (&seeds[round * n_raw..][..n_raw], in_bag.as_deref());
                let draw = Draw { seeds, in_bag, has_losses };
                losses.extend(rounds.advance(&draw, runtime)?);
                runtime.advance();
            }
            Ok(losses)
        })?;
        table(py, losses, 3)
    }

    /// The trees that have been grown since this was called last, or, with dropout, all of them: round by
    /// round, with those of each raw prediction in turn.
    fn take_trees(&mut self) -> PyResult<PyForest> {
        let members = self.rounds.take_members();
        catch(|| Ok(PyForest::new(Forest::new(members)?)))
    }
}

fn read_objective(name: &str, parameter: f64, y: &[f64]) -> PyResult<Objective> {
    if name == "cox" { Ok(Objective::Cox(RiskSets::new(y))) } else { read_loss(name, parameter).map(Objective::Rows) }
}

fn read_loss(name: &str, parameter: f64) -> PyResult<Loss> {
    match name {
        "squared_error" => Ok(Loss::SquaredError),
        "squared" => Ok(Loss::SquaredErrorOfLogs),
        "absolute_error" => Ok(Loss::AbsoluteError),
        "huber" => Ok(Loss::Huber { level: parameter }),
        "quantile" => Ok(Loss::Quantile { level: parameter }),
        "deviance" => Ok(Loss::Deviance { power: parameter }),
        "log_loss" if parameter > 2.0 => Ok(Loss::LogLossOfClasses { n_classes: parameter as usize }),
        "log_loss" => Ok(Loss::LogLoss),
        "exponential" => Ok(Loss::Exponential),
        _ => Err(PyValueError::new_err(format!("loss must be one of ours. Got {name:?}."))),
    }
}

/// The sum over some trees of the values of the leaves that each row reaches, for each raw prediction:
/// shape (n_samples, n_raw), float64. The trees of a round come one after the other.
#[pyfunction]
#[pyo3(signature = (forest, x, n_raw, n_threads = 1))]
pub fn sum_rounds<'py>(
    forest: &Bound<'py, PyForest>,
    x: &Bound<'py, PyAny>,
    n_raw: usize,
    n_threads: usize,
) -> PyResult<Array2<'py, f64>> {
    let sums = forest.get().run(x, n_threads, |forest, x, runtime| forest.sum_in_turns(x, n_raw, runtime))?;
    table(x.py(), sums, n_raw)
}

/// The weighted mean loss of raw predictions, float64 of shape (n_samples, n_raw). `loss` is what `Rounds`
/// takes.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
pub fn mean_loss_of<'py>(
    loss: (String, f64),
    y: PyReadonlyArray1<'py, f64>,
    raw: PyReadonlyArray2<'py, f64>,
    sample_weight: Option<PyReadonlyArray1<'py, f64>>,
    delta: f64,
) -> PyResult<f64> {
    let (y, raw) = (y.as_slice()?, raw.as_slice()?);
    let weights = sample_weight.as_ref().map(|weights| weights.as_slice()).transpose()?;
    let objective = read_objective(&loss.0, loss.1, y)?;
    catch(|| Ok(objective.mean_loss(Predicted { y, raw, weights, delta }, None, |_| true)))
}
