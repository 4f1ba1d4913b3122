//! Hyperparameters: [`TreeParams`] and [`ForestParams`] as the user writes them, [`ValidTreeParams`] and
//! [`ValidForestParams`] as the engine reads them. Their `check` is the only way from one to the other, and the only
//! place that knows the legal ranges.

mod forest;
mod quantile;
mod tree;
mod tuning;

pub use forest::{Bootstrap, ForestParams, MAX_ESTIMATORS, ValidForestParams};
pub use quantile::QuantileLevel;
pub use tree::{Count, CriterionKind, FeatureSampling, MaxFeatures, Splitter, TreeParams, ValidTreeParams};

pub use tuning::{Strategy, Tier};

use crate::error::{Error, Result};

/// The legal values of each parameter, as error messages say them.
pub mod legal {
    /// Of `max_depth`.
    pub const MAX_DEPTH: &str = "an int in the range [1, inf) or None";
    /// Of `min_samples_leaf`.
    pub const MIN_SAMPLES_LEAF: &str = "an int in the range [1, inf) or a float in the range (0.0, 1.0)";
    /// Of `min_samples_split`.
    pub const MIN_SAMPLES_SPLIT: &str = "an int in the range [2, inf) or a float in the range (0.0, 1.0]";
    /// Of `min_weight_fraction_leaf`.
    pub const MIN_WEIGHT_FRACTION_LEAF: &str = "a float in the range [0.0, 0.5]";
    /// Of `min_impurity_decrease`.
    pub const MIN_IMPURITY_DECREASE: &str = "a finite float in the range [0.0, inf)";
    /// Of `max_leaf_nodes`.
    pub const MAX_LEAF_NODES: &str = "an int in the range [2, inf) or None";
    /// Of `ccp_alpha`.
    pub const CCP_ALPHA: &str = "a float in the range [0.0, inf)";
    /// Of `quantile`.
    pub const QUANTILE: &str = "a float in the range (0.0, 1.0)";
    /// Of `max_features`.
    pub const MAX_FEATURES: &str =
        "an int in the range [1, inf), a float in the range (0.0, 1.0], a str among {'sqrt', 'log2'} or None";
    /// Of `feature_sampling`.
    pub const FEATURE_SAMPLING: &str = "a str among {'all', 'active'}";
    /// Of `min_samples_category`.
    pub const MIN_SAMPLES_CATEGORY: &str = "an int in the range [1, inf)";
    /// Of `monotonic_cst`.
    pub const MONOTONIC_CST: &str = "an array of -1, 0 or 1, one per feature, or None";
    /// Of `n_estimators`.
    pub const N_ESTIMATORS: &str = "an int in the range [1, inf)";
    /// Of `max_samples`, as resolved to a number of draws.
    pub const MAX_SAMPLES: &str = "such that each tree draws between 1 and 4294967295 samples";
}

fn require(holds: bool, name: &'static str, got: impl std::fmt::Debug, expected: &'static str) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::InvalidParameter { name, got: format!("{got:?}"), expected }) }
}
