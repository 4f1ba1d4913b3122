//! Hyperparameters and their legal ranges. [`TreeParams`] and [`ForestParams`] hold them as the user writes
//! them, [`ValidTreeParams`] and [`ValidForestParams`] as the engine reads them. `check` is the only way from
//! the user's form to the engine's, and the only place that knows the legal ranges.

mod forest;
mod quantile;
mod tree;
mod tuning;

pub use forest::{
    Bootstrap, CategoryOrder, FEW_CATEGORIES, ForestParams, GivenRows, Groups, Honesty, MANY_CATEGORIES,
    MAX_ESTIMATORS, Strata, Subforests, ValidForestParams,
};
pub use quantile::QuantileLevel;
pub use tree::{Count, CriterionKind, FeatureSampling, MaxFeatures, Splitter, TreeParams, ValidTreeParams};

pub use tuning::{Strategy, Tier};

use crate::error::{Error, Result};

/// The legal values of each parameter, in the words of the error messages.
pub mod legal {
    /// Legal values of `max_depth`.
    pub const MAX_DEPTH: &str = "an int in the range [1, inf) or None";
    /// Legal values of `min_samples_leaf`.
    pub const MIN_SAMPLES_LEAF: &str = "an int in the range [1, inf) or a float in the range (0.0, 1.0)";
    /// Legal values of `min_samples_split`.
    pub const MIN_SAMPLES_SPLIT: &str = "an int in the range [2, inf) or a float in the range (0.0, 1.0]";
    /// Legal values of the least share of a node's samples in a child.
    pub const ALPHA: &str = "a float in the range [0.0, 0.5)";
    /// Legal values of `min_weight_fraction_leaf`.
    pub const MIN_WEIGHT_FRACTION_LEAF: &str = "a float in the range [0.0, 0.5]";
    /// Legal values of `min_impurity_decrease`.
    pub const MIN_IMPURITY_DECREASE: &str = "a finite float in the range [0.0, inf)";
    /// Legal values of `min_impurity_decrease` for criteria without an impurity.
    pub const NO_DECREASE: &str = "0 for the criteria 'logrank', 'logrank_fast' and 'het'";
    /// Legal values of `min_events_leaf`.
    pub const MIN_EVENTS_LEAF: &str = "an int in the range [0, inf) or None";
    /// Legal values of `max_leaf_nodes`.
    pub const MAX_LEAF_NODES: &str = "an int in the range [2, inf) or None";
    /// Legal values of `ccp_alpha`.
    pub const CCP_ALPHA: &str = "a float in the range [0.0, inf)";
    /// Legal values of `quantile`.
    pub const QUANTILE: &str = "a float in the range (0.0, 1.0)";
    /// Legal values of `max_features`.
    pub const MAX_FEATURES: &str =
        "an int in the range [1, inf), a float in the range (0.0, 1.0], a str among {'sqrt', 'log2'} or None";
    /// Legal values of `feature_sampling`.
    pub const FEATURE_SAMPLING: &str = "a str among {'all', 'active'}";
    /// Legal values of `min_samples_category`.
    pub const MIN_SAMPLES_CATEGORY: &str = "an int in the range [1, inf)";
    /// Legal values of `category_order`.
    pub const CATEGORY_ORDER: &str = "a str among {'auto', 'node', 'tree'}";
    /// Legal values of `monotonic_cst`.
    pub const MONOTONIC_CST: &str = "an array of -1, 0 or 1, one per feature, or None";
    /// Legal values of `monotonic_cst` for criteria without an impurity.
    pub const NO_CONSTRAINTS: &str = "None for the criteria 'logrank', 'logrank_fast' and 'het'";
    /// Legal values of `interaction_cst`.
    pub const INTERACTION_CST: &str = "lists of numbers of features, or None";
    /// Legal values of `n_estimators`.
    pub const N_ESTIMATORS: &str = "an int in the range [1, inf)";
    /// Legal values of `honest_fraction`.
    pub const HONEST_FRACTION: &str = "a float in the range (0.0, 1.0)";
    /// Legal values of `max_samples`, which is a number of draws once it is resolved.
    pub const MAX_SAMPLES: &str = "such that each tree draws between 1 and 4294967295 samples";
}

/// Returns the value of a parameter. Fails unless `holds`.
fn require<T: std::fmt::Debug>(holds: bool, name: &'static str, got: T, expected: &'static str) -> Result<T> {
    if holds { Ok(got) } else { Err(Error::InvalidParameter { name, got: format!("{got:?}"), expected }) }
}
