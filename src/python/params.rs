//! Hyperparameters from Python: from a dict of scikit-learn's names and values to [`TreeParams`]. Types are checked
//! here, ranges in `TreeParams::check`; both speak with the same words.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::error::of_estimator;
use crate::error::Error;
use crate::params::{Count, CriterionKind, FeatureSampling, MaxFeatures, QuantileLevel, Splitter, TreeParams, legal};

/// The parameters of the tree estimator called `estimator`.
pub fn tree_params(
    params: &Bound<'_, PyDict>,
    estimator: &str,
    classification: bool,
    seed: u64,
) -> PyResult<TreeParams> {
    let get = |name: &'static str| -> PyResult<Parameter<'_, '_>> {
        Ok(Parameter { name, value: params.as_any().get_item(name)?, estimator, params })
    };
    let criterion = if classification {
        get("criterion")?.choice(
            &[("gini", CriterionKind::Gini), ("entropy", CriterionKind::Entropy), ("log_loss", CriterionKind::Entropy)],
            "a str among {'gini', 'entropy', 'log_loss'}",
        )?
    } else {
        // Checked whether or not the criterion asks for it; an estimator without it has the default.
        let level = if params.contains("quantile")? {
            let quantile = get("quantile")?;
            let level = QuantileLevel::new(quantile.real(legal::QUANTILE)?);
            level.map_err(|_| quantile.illegal(legal::QUANTILE))?
        } else {
            QuantileLevel::HALF
        };
        get("criterion")?.choice(
            &[
                ("squared_error", CriterionKind::SquaredError),
                ("absolute_error", CriterionKind::AbsoluteError),
                ("quantile", CriterionKind::Quantile(level)),
                ("poisson", CriterionKind::Poisson),
            ],
            "a str among {'squared_error', 'friedman_mse', 'absolute_error', 'poisson', 'quantile'}",
        )?
    };
    Ok(TreeParams {
        criterion,
        splitter: get("splitter")?
            .choice(&[("best", Splitter::Best), ("random", Splitter::Random)], "a str among {'best', 'random'}")?,
        max_depth: get("max_depth")?.optional(|p| p.integer(legal::MAX_DEPTH))?,
        min_samples_split: get("min_samples_split")?.count(legal::MIN_SAMPLES_SPLIT)?,
        min_samples_leaf: get("min_samples_leaf")?.count(legal::MIN_SAMPLES_LEAF)?,
        min_weight_fraction_leaf: get("min_weight_fraction_leaf")?.real(legal::MIN_WEIGHT_FRACTION_LEAF)?,
        max_features: get("max_features")?.max_features()?,
        feature_sampling: get("feature_sampling")?
            .choice(&[("all", FeatureSampling::All), ("active", FeatureSampling::Active)], legal::FEATURE_SAMPLING)?,
        min_samples_category: get("min_samples_category")?.integer(legal::MIN_SAMPLES_CATEGORY)?,
        min_impurity_decrease: get("min_impurity_decrease")?.real(legal::MIN_IMPURITY_DECREASE)?,
        max_leaf_nodes: get("max_leaf_nodes")?.optional(|p| p.integer(legal::MAX_LEAF_NODES))?,
        ccp_alpha: get("ccp_alpha")?.real(legal::CCP_ALPHA)?,
        monotonic_cst: get("monotonic_cst")?.optional(Parameter::constraints)?,
        seed,
        force_strategy: None,
        force_tier: None,
        force_level: None,
        force_copies: None,
    })
}

/// A named value of unknown type.
struct Parameter<'a, 'py> {
    name: &'static str,
    value: Bound<'py, PyAny>,
    estimator: &'a str,
    params: &'a Bound<'py, PyDict>,
}

impl Parameter<'_, '_> {
    fn illegal(&self, expected: &'static str) -> PyErr {
        let error = Error::InvalidParameter { name: self.name, got: String::new(), expected };
        of_estimator(error, self.estimator, self.params)
    }

    fn optional<T>(&self, read: impl FnOnce(&Self) -> PyResult<T>) -> PyResult<Option<T>> {
        if self.value.is_none() { Ok(None) } else { read(self).map(Some) }
    }

    fn choice<T: Copy>(&self, choices: &[(&str, T)], expected: &'static str) -> PyResult<T> {
        let name: String = self.value.extract().map_err(|_| self.illegal(expected))?;
        choices.iter().find(|choice| choice.0 == name).map(|choice| choice.1).ok_or_else(|| self.illegal(expected))
    }

    /// An integer, by `__index__`: floats are not.
    fn integer(&self, expected: &'static str) -> PyResult<u64> {
        self.value.extract().map_err(|_| self.illegal(expected))
    }

    fn real(&self, expected: &'static str) -> PyResult<f64> {
        self.value.extract().map_err(|_| self.illegal(expected))
    }

    /// Integers, as a list.
    fn constraints(&self) -> PyResult<Vec<i8>> {
        self.value.extract().map_err(|_| self.illegal(legal::MONOTONIC_CST))
    }

    /// Whether the value is an integer of any sign and size.
    fn is_integer(&self) -> bool {
        self.value.hasattr("__index__").unwrap_or(false)
    }

    fn count(&self, expected: &'static str) -> PyResult<Count> {
        if self.is_integer() {
            self.integer(expected).map(Count::Absolute)
        } else {
            self.real(expected).map(Count::Fraction)
        }
    }

    fn max_features(&self) -> PyResult<MaxFeatures> {
        if self.value.is_none() {
            return Ok(MaxFeatures::All);
        }
        if let Ok(name) = self.value.extract::<String>() {
            return match name.as_str() {
                "sqrt" => Ok(MaxFeatures::Sqrt),
                "log2" => Ok(MaxFeatures::Log2),
                _ => Err(self.illegal(legal::MAX_FEATURES)),
            };
        }
        if self.is_integer() {
            self.integer(legal::MAX_FEATURES).map(MaxFeatures::Absolute)
        } else {
            self.real(legal::MAX_FEATURES).map(MaxFeatures::Fraction)
        }
    }
}
