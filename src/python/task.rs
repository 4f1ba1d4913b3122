//! A task from Python, a `spinney._fit.task.Task`, read by the names of its fields.
//!
//! Types are checked here, ranges in `TreeParams::check` and its like; both speak with the same
//! words.

use std::sync::Arc;

use numpy::{IntoPyArray, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::array::{Array1, with_matrix};
use super::error::of_estimator;
use super::run::{catch, run};
use crate::data::target::Weights;
use crate::data::{Dataset, Encoding, Labels, Matrix, Target};
use crate::error::{Error, Result};
use crate::forest::RowSampler;
use crate::params::{
    Bootstrap, CategoryOrder, Count, CriterionKind, FeatureSampling, ForestParams, GivenRows, Groups, Honesty,
    MaxFeatures, QuantileLevel, Splitter, Strata, Subforests, TreeParams, ValidForestParams, legal,
};
use crate::runtime::Runtime;

/// The fields of `spinney._fit.task.Task`.
#[derive(FromPyObject)]
pub struct Task<'py> {
    y: Option<Bound<'py, PyAny>>,
    n_classes: Option<Vec<u32>>,
    /// Whether the columns of `y` are times and events.
    survival: bool,
    /// The cause of the events that are predicted; all causes if there is none.
    cause: Option<u32>,
    draws: Option<Draws<'py>>,
    params: Bound<'py, PyDict>,
    estimator: String,
    seed: u64,
    first_tree: u64,
    pub n_trees: u64,
    balanced_subsample: bool,
    n_categories: Option<Vec<u32>>,
    n_threads: usize,
    watcher: Option<Bound<'py, PyAny>>,
}

/// The parts of a task that are known before its matrix is read.
pub struct Plan {
    pub target: Target,
    pub params: ForestParams,
    /// The parameters as `params` has them, resolved for all rows.
    pub valid: ValidForestParams,
}

/// The trees, the number of features that each node draws, and the features that have missing
/// values, ascending.
pub type Grown<'py, T> = (T, u64, Array1<'py, i64>);

impl<'py> Task<'py> {
    /// Reads and checks all but the matrix; of the matrix it reads the shape alone.
    pub fn plan(&self, x: &Bound<'py, PyAny>) -> PyResult<Plan> {
        let tree = tree_params(&self.params, &self.estimator, self.kind(), self.seed)?;
        // What has no target is grown by the only criterion that needs none.
        let tree = match self.y {
            Some(_) => tree,
            None => TreeParams { criterion: CriterionKind::Isolation, ..tree },
        };
        let (n_samples, n_features) = x.getattr("shape")?.extract()?;
        let mut target = self.target(x.py(), n_samples)?;
        if self.kind() == TaskKind::Effects && tree.criterion == CriterionKind::SquaredError {
            target = run(x.py(), 1, None, |runtime| target.with_narrow_sums(runtime))?;
        }
        let bootstrap = self.draws.as_ref().map_or(Ok(Bootstrap::None), Draws::bootstrap)?;
        let params = ForestParams {
            tree,
            first_tree: self.first_tree,
            n_estimators: self.n_trees,
            bootstrap,
            honesty: self.draws.as_ref().map_or(Ok(None), Draws::honesty)?,
            balanced_subsample: self.balanced_subsample,
            category_order: category_order(&self.params, &self.estimator)?,
        };
        let valid = catch(|| {
            let valid = params.check(n_samples, n_features);
            valid.map_err(|error| of_estimator(error, &self.estimator, &self.params))
        })?;
        Ok(Plan { target, params, valid })
    }

    /// The names of the rows in Poisson samples.
    pub fn sample_ids(&self) -> PyResult<Option<&[u64]>> {
        self.draws.as_ref().map_or(Ok(None), Draws::sample_ids)
    }

    /// The number of threads that the task may take.
    pub fn n_threads(&self) -> usize {
        self.n_threads
    }

    /// The numbers of a target of one output.
    pub fn numbers(&self) -> PyResult<Vec<f64>> {
        let Some(y) = &self.y else { return Ok(Vec::new()) };
        let y: PyReadonlyArray2<'_, f64> = y.extract()?;
        Ok(y.as_slice()?.to_vec())
    }

    fn kind(&self) -> TaskKind {
        match (&self.n_classes, self.survival) {
            (Some(_), _) => TaskKind::Classification,
            (None, true) => TaskKind::Survival,
            // No other task has this parameter.
            (None, false) if self.params.contains("alpha").unwrap_or(false) => TaskKind::Effects,
            (None, false) => TaskKind::Regression,
        }
    }

    fn target(&self, py: Python<'_>, n_samples: usize) -> PyResult<Target> {
        let weights = self.draws.as_ref().map_or(Ok(None), Draws::sample_weight)?;
        let (times, events): (Vec<f64>, Vec<u32>);
        let (classes, numbers): (PyReadonlyArray2<'_, u32>, PyReadonlyArray2<'_, f64>);
        let labels = match (&self.y, &self.n_classes) {
            (Some(y), Some(n_classes)) => {
                classes = y.extract()?;
                Labels::Classes { classes: classes.as_slice()?, n_classes }
            }
            (Some(y), None) if self.survival => {
                numbers = y.extract()?;
                (times, events) = times_and_events(numbers.as_slice()?, numbers.shape()[1])?;
                Labels::Survival { times: &times, events: &events, cause: self.cause }
            }
            (Some(y), None) => {
                numbers = y.extract()?;
                Labels::Numbers { y: numbers.as_slice()?, n_outputs: numbers.shape()[1] }
            }
            (None, _) => Labels::Absent { n_samples },
        };
        run(py, 1, None, |runtime| Target::encode(labels, weights, runtime))
    }

    /// Encodes a matrix and grows something on its columns, as [`fit`](Self::fit) does.
    pub fn grow<T: Send>(
        &self,
        x: &Bound<'py, PyAny>,
        plan: Plan,
        grow: impl FnOnce(&Dataset, &Plan, &Runtime<'_>) -> Result<T> + Send,
    ) -> PyResult<Grown<'py, T>> {
        let max_features = plan.valid.tree().max_features();
        let (grown, with_missing) = self.fit(x, plan, |plan, _, data, runtime| {
            let is_missing = |&feature: &u32| data.missing_rank(feature).is_some();
            let with_missing = (0..data.n_features() as u32).filter(is_missing).map(i64::from);
            let with_missing: Vec<i64> = if data.has_missing() { with_missing.collect() } else { Vec::new() };
            Ok((grow(&data, &plan, runtime)?, with_missing))
        })?;
        Ok((grown, max_features, with_missing.into_pyarray(x.py())))
    }

    /// Encodes a matrix and does something with its columns on the threads of the task.
    pub fn fit<T: Send>(
        &self,
        x: &Bound<'py, PyAny>,
        plan: Plan,
        work: impl FnOnce(Plan, &dyn Matrix, Dataset, &Runtime<'_>) -> Result<T> + Send,
    ) -> PyResult<T> {
        let encoding = Encoding { ordinals: plan.valid.tree().ordinals(), n_categories: self.n_categories.as_deref() };
        with_matrix(x, |matrix| {
            run(x.py(), self.n_threads, self.watcher.as_ref(), |runtime| {
                let data = matrix.encode(&encoding, runtime)?;
                work(plan, matrix, data, runtime)
            })
        })
    }
}

/// The kind of the target, which decides which criteria are legal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TaskKind {
    Classification,
    Regression,
    Survival,
    /// Of treatments.
    Effects,
}

impl TaskKind {
    /// The kind of this name.
    fn read(name: &str) -> PyResult<Self> {
        match name {
            "classification" => Ok(Self::Classification),
            "regression" => Ok(Self::Regression),
            "survival" => Ok(Self::Survival),
            "effects" => Ok(Self::Effects),
            _ => {
                let expected = "'classification', 'regression', 'survival' or 'effects'";
                Err(PyValueError::new_err(format!("task must be {expected}. Got {name:?} instead.")))
            }
        }
    }
}

/// The columns of a survival target of two columns, in C order.
fn times_and_events(y: &[f64], n_columns: usize) -> PyResult<(Vec<f64>, Vec<u32>)> {
    let rows = y.chunks_exact(n_columns.max(1));
    let read = |row: &[f64]| match *row {
        [time, event] if event.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&event) => {
            Ok((time, event as u32))
        }
        [_, event] => {
            Err(PyValueError::new_err(format!("y must have events that are numbers of causes. Got {event}.")))
        }
        _ => Err(PyValueError::new_err(format!("y must have a time and an event. Got {n_columns} columns."))),
    };
    rows.map(read).collect()
}

/// The fields of `spinney._fit.draws.Draws`: on which rows trees are grown.
#[derive(FromPyObject)]
#[allow(clippy::struct_field_names, reason = "names of the Python class")]
pub struct Draws<'py> {
    /// The name of the way to draw: see [`Draws::bootstrap`].
    scheme: String,
    n_samples: usize,
    n_outputs: usize,
    /// None: the number of rows.
    n_draws: Option<u64>,
    sample_weight: Option<PyReadonlyArray1<'py, f64>>,
    sample_ids: Option<PyReadonlyArray1<'py, u64>>,
    strata: Option<DrawnStrata<'py>>,
    given: Option<TreeSamples<'py>>,
    /// The share of the rows of a tree that choose its splits; None if trees are not honest.
    honest_fraction: Option<f64>,
    /// The group of each row, if rows are drawn and divided by groups.
    groups: Option<PyReadonlyArray1<'py, u32>>,
    /// Which trees share a half of the rows, if they do.
    subforests: Option<SharedHalves<'py>>,
}

/// The fields of `spinney._fit.draws.Subforests`.
#[derive(FromPyObject)]
struct SharedHalves<'py> {
    tree_seeds: PyReadonlyArray1<'py, u64>,
    size: usize,
}

/// The fields of `spinney._fit.draws.Strata`.
#[derive(FromPyObject)]
struct DrawnStrata<'py> {
    of_row: PyReadonlyArray1<'py, u32>,
    /// None: all of a stratum.
    n_draws: Vec<Option<u64>>,
    replace: bool,
    n_draws_again: Option<u64>,
}

/// The fields of `spinney._fit.draws.TreeSamples`.
#[derive(FromPyObject)]
struct TreeSamples<'py> {
    tree_seeds: PyReadonlyArray1<'py, u64>,
    starts: PyReadonlyArray1<'py, i64>,
    rows: PyReadonlyArray1<'py, u32>,
}

impl TreeSamples<'_> {
    fn read(&self) -> PyResult<GivenRows> {
        let starts =
            self.starts.as_slice()?.iter().map(|&start| usize::try_from(start).unwrap_or(usize::MAX)).collect();
        Ok(GivenRows { tree_seeds: self.tree_seeds.as_slice()?.into(), starts, rows: self.rows.as_slice()?.into() })
    }
}

impl DrawnStrata<'_> {
    fn read(&self, n_samples: usize) -> PyResult<Strata> {
        let of_row = self.of_row.as_slice()?;
        if of_row.len() != n_samples || of_row.iter().any(|&stratum| stratum as usize >= self.n_draws.len()) {
            return Err(PyValueError::new_err("strata must have one of the strata for each row."));
        }
        let Self { replace, n_draws_again, .. } = *self;
        Ok(Strata { of_row: of_row.into(), n_draws: self.n_draws.clone().into(), replace, n_draws_again })
    }
}

impl Draws<'_> {
    pub fn bootstrap(&self) -> PyResult<Bootstrap> {
        // An empty matrix is refused when it is encoded.
        let n_draws = || self.n_draws.unwrap_or(self.n_samples.max(1) as u64);
        match (self.scheme.as_str(), &self.strata, &self.given) {
            ("all", ..) => Ok(Bootstrap::None),
            ("with replacement", ..) => Ok(Bootstrap::WithReplacement { n_draws: n_draws() }),
            ("without replacement", ..) => Ok(Bootstrap::WithoutReplacement { n_draws: self.n_draws }),
            ("distinct", ..) => Ok(Bootstrap::Distinct { n_draws: n_draws() }),
            ("poisson", ..) => Ok(Bootstrap::Poisson),
            ("strata", Some(strata), _) => Ok(Bootstrap::Strata(Arc::new(strata.read(self.n_samples)?))),
            ("given", _, Some(given)) => Ok(Bootstrap::Given(Arc::new(given.read()?))),
            ("groups with replacement" | "groups without replacement", ..) => Ok(Bootstrap::Groups {
                groups: self.groups()?.ok_or_else(|| PyValueError::new_err("groups must be given."))?,
                n_draws: n_draws(),
                replace: self.scheme == "groups with replacement",
            }),
            ("halves", ..) => {
                let SharedHalves { tree_seeds, size } =
                    self.subforests.as_ref().ok_or_else(|| PyValueError::new_err("subforests must be given."))?;
                let tree_seeds = tree_seeds.as_slice()?.into();
                let (n_draws, groups) = (self.n_draws, self.groups()?);
                Ok(Bootstrap::Subforests(Arc::new(Subforests { tree_seeds, size: *size, n_draws, groups })))
            }
            (other, ..) => Err(PyValueError::new_err(format!("scheme must be one of Draws. Got {other:?} instead."))),
        }
    }

    fn honesty(&self) -> PyResult<Option<Honesty>> {
        let honesty = |fraction| Ok(Honesty { fraction, groups: self.groups()? });
        self.honest_fraction.map(honesty).transpose()
    }

    fn groups(&self) -> PyResult<Option<Arc<Groups>>> {
        let Some(groups) = &self.groups else { return Ok(None) };
        let of_row: Box<[u32]> = groups.as_slice()?.into();
        let n_groups = of_row.iter().max().map_or(0, |&last| last.saturating_add(1));
        let groups = Groups { of_row, n_groups };
        catch(|| Ok(groups.check(self.n_samples)?))?;
        Ok(Some(Arc::new(groups)))
    }

    pub fn sample_ids(&self) -> PyResult<Option<&[u64]>> {
        Ok(self.sample_ids.as_ref().map(|ids| ids.as_slice()).transpose()?)
    }

    /// The weights of the rows.
    pub fn sample_weight(&self) -> PyResult<Option<&[f64]>> {
        Ok(self.sample_weight.as_ref().map(|weights| weights.as_slice()).transpose()?)
    }

    /// The weights of the rows as integers.
    pub fn weights(&self, py: Python<'_>) -> PyResult<Weights> {
        let Self { n_samples, n_outputs, .. } = *self;
        let weights = self.sample_weight()?;
        let encode = |runtime: &Runtime<'_>| Weights::encode(weights, n_samples, n_outputs, runtime);
        run(py, 1, None, encode)
    }

    /// Whether weights are chances of draws, and drawn rows weigh as often as they were drawn.
    pub fn draws_by_weight(&self) -> PyResult<bool> {
        Ok(self.bootstrap()?.draws_by_weight())
    }

    /// What draws the rows.
    pub fn sampler(&self, py: Python<'_>) -> PyResult<RowSampler> {
        let n_samples = self.n_samples;
        let weights = self.weights(py)?;
        let (bootstrap, honesty, ids) = (self.bootstrap()?, self.honesty()?, self.sample_ids()?);
        run(py, 1, None, |_| {
            let sampler = RowSampler::new(&weights, n_samples, &bootstrap, ids)?;
            Ok(sampler.divided(honesty.as_ref(), &weights))
        })
    }
}

/// Raises `InvalidParameterError` if a parameter of trees is illegal, whatever the data are. `task` is
/// "classification", "regression", "survival" or "effects".
#[pyfunction]
pub fn check_params(params: &Bound<'_, PyDict>, estimator: &str, task: &str) -> PyResult<()> {
    let tree = tree_params(params, estimator, TaskKind::read(task)?, 0)?;
    catch(|| tree.check(1, 1).map_err(|error| of_estimator(error, estimator, params)))?;
    category_order(params, estimator)?;
    Ok(())
}

/// The parameters of the tree estimator called `estimator`.
pub fn tree_params(params: &Bound<'_, PyDict>, estimator: &str, kind: TaskKind, seed: u64) -> PyResult<TreeParams> {
    let get = |name: &'static str| -> PyResult<Parameter<'_, '_>> {
        Ok(Parameter { name, value: params.as_any().get_item(name)?, estimator, params })
    };
    let criterion = get("criterion")?;
    let criterion = match kind {
        TaskKind::Classification => criterion.choice(
            &[("gini", CriterionKind::Gini), ("entropy", CriterionKind::Entropy), ("log_loss", CriterionKind::Entropy)],
            "a str among {'gini', 'entropy', 'log_loss'}",
        )?,
        TaskKind::Regression => {
            // Checked whether or not the criterion asks for it; an estimator without it has the
            // default.
            let level = if params.contains("quantile")? {
                let quantile = get("quantile")?;
                let level = QuantileLevel::new(quantile.read(legal::QUANTILE)?);
                level.map_err(|_| quantile.illegal(legal::QUANTILE))?
            } else {
                QuantileLevel::HALF
            };
            criterion.choice(
                &[
                    ("squared_error", CriterionKind::SquaredError),
                    ("absolute_error", CriterionKind::AbsoluteError),
                    ("quantile", CriterionKind::Quantile(level)),
                    ("poisson", CriterionKind::Poisson),
                ],
                "a str among {'squared_error', 'friedman_mse', 'absolute_error', 'poisson', 'quantile'}",
            )?
        }
        TaskKind::Survival => {
            // An estimator without it has the default.
            let min_events = if params.contains("min_events_leaf")? {
                get("min_events_leaf")?.read::<Option<u64>>(legal::MIN_EVENTS_LEAF)?.unwrap_or(0)
            } else {
                0
            };
            criterion.choice(
                &[
                    ("logrank", CriterionKind::LogRank { min_events }),
                    ("logrank_fast", CriterionKind::LogRankFast { min_events }),
                ],
                "a str among {'logrank', 'logrank_fast'}",
            )?
        }
        TaskKind::Effects => criterion.choice(
            &[("r_loss", CriterionKind::SquaredError), ("het", CriterionKind::Effects)],
            "a str among {'r_loss', 'het'}",
        )?,
    };
    let min_share_leaf = if kind == TaskKind::Effects { get("alpha")?.read(legal::ALPHA)? } else { 0.0 };
    let count = |name, expected| get(name)?.number(expected, Count::Absolute, Count::Fraction);
    Ok(TreeParams {
        splitter: get("splitter")?
            .choice(&[("best", Splitter::Best), ("random", Splitter::Random)], "a str among {'best', 'random'}")?,
        max_depth: get("max_depth")?.read(legal::MAX_DEPTH)?,
        min_samples_split: count("min_samples_split", legal::MIN_SAMPLES_SPLIT)?,
        min_samples_leaf: count("min_samples_leaf", legal::MIN_SAMPLES_LEAF)?,
        min_share_leaf,
        min_weight_fraction_leaf: get("min_weight_fraction_leaf")?.read(legal::MIN_WEIGHT_FRACTION_LEAF)?,
        max_features: get("max_features")?.max_features()?,
        feature_sampling: get("feature_sampling")?
            .choice(&[("all", FeatureSampling::All), ("active", FeatureSampling::Active)], legal::FEATURE_SAMPLING)?,
        min_samples_category: get("min_samples_category")?.read(legal::MIN_SAMPLES_CATEGORY)?,
        min_impurity_decrease: get("min_impurity_decrease")?.read(legal::MIN_IMPURITY_DECREASE)?,
        max_leaf_nodes: get("max_leaf_nodes")?.read(legal::MAX_LEAF_NODES)?,
        ccp_alpha: get("ccp_alpha")?.read(legal::CCP_ALPHA)?,
        monotonic_cst: get("monotonic_cst")?.read(legal::MONOTONIC_CST)?,
        interaction_cst: get("interaction_cst")?.read::<Option<Vec<Vec<u32>>>>(legal::INTERACTION_CST)?.map(Into::into),
        seed,
        ..TreeParams::new(criterion)
    })
}

/// The parameter that orders categories; the default for random thresholds, which do not have it.
fn category_order(params: &Bound<'_, PyDict>, estimator: &str) -> PyResult<CategoryOrder> {
    let name = "category_order";
    if !params.contains(name)? {
        return Ok(CategoryOrder::default());
    }
    let parameter = Parameter { name, value: params.as_any().get_item(name)?, estimator, params };
    parameter.choice(
        &[("auto", CategoryOrder::Auto), ("node", CategoryOrder::Node), ("tree", CategoryOrder::Tree)],
        legal::CATEGORY_ORDER,
    )
}

/// A named value of unknown type.
struct Parameter<'a, 'py> {
    name: &'static str,
    value: Bound<'py, PyAny>,
    estimator: &'a str,
    params: &'a Bound<'py, PyDict>,
}

impl<'py> Parameter<'_, 'py> {
    fn illegal(&self, expected: &'static str) -> PyErr {
        let error = Error::InvalidParameter { name: self.name, got: String::new(), expected };
        of_estimator(error, self.estimator, self.params)
    }

    /// The value as a `T`. A float is never read as an integer.
    fn read<T: FromPyObjectOwned<'py>>(&self, expected: &'static str) -> PyResult<T> {
        self.value.extract().map_err(|_| self.illegal(expected))
    }

    fn choice<T: Copy>(&self, choices: &[(&str, T)], expected: &'static str) -> PyResult<T> {
        let name: String = self.read(expected)?;
        choices.iter().find(|choice| choice.0 == name).map(|choice| choice.1).ok_or_else(|| self.illegal(expected))
    }

    fn number<T>(&self, expected: &'static str, of_int: fn(u64) -> T, of_real: fn(f64) -> T) -> PyResult<T> {
        // What has this method is an integer, of any sign and size.
        let is_int = self.value.hasattr("__index__").unwrap_or(false);
        if is_int { self.read(expected).map(of_int) } else { self.read(expected).map(of_real) }
    }

    fn max_features(&self) -> PyResult<MaxFeatures> {
        match self.value.extract::<Option<String>>().as_ref().map(Option::as_deref) {
            Ok(None) => Ok(MaxFeatures::All),
            Ok(Some("sqrt")) => Ok(MaxFeatures::Sqrt),
            Ok(Some("log2")) => Ok(MaxFeatures::Log2),
            Ok(Some(_)) => Err(self.illegal(legal::MAX_FEATURES)),
            Err(_) => self.number(legal::MAX_FEATURES, MaxFeatures::Absolute, MaxFeatures::Fraction),
        }
    }
}
