//! Hyperparameters of one tree: as written, their check, and as the engine reads them.

use std::ops::Deref;
use std::sync::Arc;

use super::tuning::{Strategy, Tier};
use super::{QuantileLevel, legal, require};
use crate::data::dense::Ordinals;
use crate::error::{Error, Result};
use crate::simd::Level;

/// How the threshold of a feature is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Splitter {
    /// The threshold with the best score.
    #[default]
    Best,
    /// A threshold drawn uniformly between the feature's extremes in the node (extremely randomised
    /// trees).
    Random,
}

/// The quantity that a split minimises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CriterionKind {
    /// Gini impurity (classification).
    Gini,
    /// Shannon entropy in bits (classification). `log_loss` is another name for it in Python.
    Entropy,
    /// Variance around the mean (regression).
    SquaredError,
    /// Half Poisson deviance (regression on counts or rates, none below 0).
    Poisson,
    /// Mean absolute distance from the median (regression).
    AbsoluteError,
    /// Pinball loss about the quantile of this level (regression). With the level 1/2 the loss is
    /// half the absolute error.
    Quantile(QuantileLevel),
    /// The log-rank statistic, with its exact variance (times until events).
    LogRank {
        /// Least number of events in a child, as a weight.
        min_events: u64,
    },
    /// The log-rank statistic, with a variance from expected events (times until events).
    LogRankFast {
        /// Least number of events in a child, as a weight.
        min_events: u64,
    },
    /// How much effects of a treatment differ (outcomes, treatments, perhaps instruments, and a number by
    /// which categories are put in order).
    Effects,
    /// None: trees isolate rows, without a target.
    Isolation,
}

impl CriterionKind {
    /// The name of the criterion in Python.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gini => "gini",
            Self::Entropy => "entropy",
            Self::SquaredError => "squared_error",
            Self::Poisson => "poisson",
            Self::AbsoluteError => "absolute_error",
            Self::Quantile(_) => "quantile",
            Self::LogRank { .. } => "logrank",
            Self::LogRankFast { .. } => "logrank_fast",
            Self::Effects => "het",
            Self::Isolation => "isolation",
        }
    }

    /// Whether nodes have an impurity, which splits lower, and a prediction that constraints can limit.
    pub fn has_impurity(self) -> bool {
        !matches!(self, Self::LogRank { .. } | Self::LogRankFast { .. } | Self::Effects)
    }
}

/// A number of samples, or a share of the training samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Count {
    /// A number of samples.
    Absolute(u64),
    /// A share of the samples. The number of samples is rounded up.
    Fraction(f64),
}

/// How many features a node draws.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum MaxFeatures {
    /// All features.
    #[default]
    All,
    /// `max(1, floor(sqrt(n_features)))`.
    Sqrt,
    /// `max(1, floor(log2(n_features)))`.
    Log2,
    /// A number of features. A number above the number of features means all.
    Absolute(u64),
    /// `max(1, floor(share * n_features))`.
    Fraction(f64),
}

/// The features from which a node draws `max_features` features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FeatureSampling {
    /// All features. Features that are constant in the node count as drawn; if all drawn features
    /// are constant, the draw goes on until one is not.
    #[default]
    All,
    /// The features that are not constant in the node; all of these if there are fewer than
    /// `max_features`.
    Active,
}

/// Hyperparameters of one tree, with scikit-learn's names, meanings and defaults.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeParams {
    /// The quantity that a split minimises.
    pub criterion: CriterionKind,
    /// How the threshold of a feature is chosen.
    pub splitter: Splitter,
    /// Largest depth of a leaf; `None`: no limit.
    pub max_depth: Option<u64>,
    /// Nodes with fewer samples than this are leaves.
    pub min_samples_split: Count,
    /// Least number of samples in a child.
    pub min_samples_leaf: Count,
    /// Least number of samples in a child, as a share of those of its parent; rounded up.
    pub min_share_leaf: f64,
    /// Least weight in a child, as a share of the total weight.
    pub min_weight_fraction_leaf: f64,
    /// How many features a node draws.
    pub max_features: MaxFeatures,
    /// How many features the nodes of a tree draw from, chosen at random for each tree; `None`
    /// means all. Only with [`FeatureSampling::Active`].
    pub max_tree_features: Option<u64>,
    /// The features from which a node draws. scikit-learn has no such parameter.
    pub feature_sampling: FeatureSampling,
    /// Categories with fewer samples than this in a node are not told apart in the node.
    pub min_samples_category: u64,
    /// Least decrease of impurity by a split, weighted by the node's share of the total weight.
    pub min_impurity_decrease: f64,
    /// The largest number of leaves. The tree is then grown best first: the node that gains most is
    /// split next. `None`: no limit, and depth-first growth.
    pub max_leaf_nodes: Option<u64>,
    /// The price per leaf at which the grown tree is pruned; 0: the tree is not pruned.
    pub ccp_alpha: f64,
    /// For each feature, 1 if predictions must not fall where the feature grows, -1 if they must
    /// not rise, or 0 for no constraint.
    pub monotonic_cst: Option<Vec<i8>>,
    /// Groups of features: all features on a path from the root are in one of them. A feature that may not
    /// split a node counts as constant there. `None`: no constraint.
    pub interaction_cst: Option<Arc<[Vec<u32>]>>,
    /// Seed of all random choices.
    pub seed: u64,
    /// Forces how sparse columns are searched, in place of the cost rule's choice. For tests and
    /// benches: the result does not depend on it.
    pub force_strategy: Option<Strategy>,
    /// Forces how dense columns are searched. For tests and benches: the result does not depend on
    /// it.
    pub force_tier: Option<Tier>,
    /// Forces the width of the vector registers, in place of the widest. For tests and benches: the
    /// result does not depend on it.
    pub force_level: Option<Level>,
    /// Forces that all subtrees of dense data are grown on copies of their rows (`true`), or none
    /// (`false`), in place of the rule's choice. For tests and benches: the result does not depend
    /// on it.
    pub force_copies: Option<bool>,
}

impl TreeParams {
    /// scikit-learn's default parameters, with this criterion.
    pub fn new(criterion: CriterionKind) -> Self {
        Self {
            criterion,
            splitter: Splitter::Best,
            max_depth: None,
            min_samples_split: Count::Absolute(2),
            min_samples_leaf: Count::Absolute(1),
            min_share_leaf: 0.0,
            min_weight_fraction_leaf: 0.0,
            max_features: MaxFeatures::All,
            max_tree_features: None,
            feature_sampling: FeatureSampling::All,
            min_samples_category: 1,
            min_impurity_decrease: 0.0,
            max_leaf_nodes: None,
            ccp_alpha: 0.0,
            monotonic_cst: None,
            interaction_cst: None,
            seed: 0,
            force_strategy: None,
            force_tier: None,
            force_level: None,
            force_copies: None,
        }
    }

    /// Checks every range and resolves shares against the shape of the data.
    pub fn check(&self, n_samples: usize, n_features: usize) -> Result<ValidTreeParams> {
        if let Some(depth) = self.max_depth {
            require(depth >= 1, "max_depth", depth, legal::MAX_DEPTH)?;
        }
        let min_samples_leaf = match self.min_samples_leaf {
            Count::Absolute(n) => require(n >= 1, "min_samples_leaf", n, legal::MIN_SAMPLES_LEAF)?,
            Count::Fraction(f) => {
                let share = require(f > 0.0 && f < 1.0, "min_samples_leaf", f, legal::MIN_SAMPLES_LEAF)?;
                (share * n_samples as f64).ceil() as u64
            }
        };
        let min_samples_split = match self.min_samples_split {
            Count::Absolute(n) => require(n >= 2, "min_samples_split", n, legal::MIN_SAMPLES_SPLIT)?,
            Count::Fraction(f) => {
                let share = require(f > 0.0 && f <= 1.0, "min_samples_split", f, legal::MIN_SAMPLES_SPLIT)?;
                ((share * n_samples as f64).ceil() as u64).max(2)
            }
        };
        let share = self.min_share_leaf;
        require((0.0..0.5).contains(&share), "alpha", share, legal::ALPHA)?;
        let share = self.min_weight_fraction_leaf;
        require((0.0..=0.5).contains(&share), "min_weight_fraction_leaf", share, legal::MIN_WEIGHT_FRACTION_LEAF)?;
        if let Some(n) = self.max_tree_features {
            let is_legal = n >= 1 && self.feature_sampling == FeatureSampling::Active;
            require(is_legal, "max_tree_features", n, "an int in the range [1, inf), with active features")?;
        }
        let least = self.min_samples_category;
        require(least >= 1, "min_samples_category", least, legal::MIN_SAMPLES_CATEGORY)?;
        let least = self.min_impurity_decrease;
        require(least >= 0.0 && least.is_finite(), "min_impurity_decrease", least, legal::MIN_IMPURITY_DECREASE)?;
        // Log-rank statistics are no decrease of an impurity.
        require(least == 0.0 || self.criterion.has_impurity(), "min_impurity_decrease", least, legal::NO_DECREASE)?;
        if let Some(n) = self.max_leaf_nodes {
            require(n >= 2, "max_leaf_nodes", n, legal::MAX_LEAF_NODES)?;
        }
        let alpha = self.ccp_alpha;
        require(alpha >= 0.0 && alpha.is_finite(), "ccp_alpha", alpha, legal::CCP_ALPHA)?;
        if let Some(constraints) = &self.monotonic_cst {
            if constraints.len() != n_features {
                return Err(Error::ShapeMismatch {
                    what: "monotonic_cst",
                    expected: format!("{n_features} values, one per feature of X"),
                    got: format!("{} values", constraints.len()),
                });
            }
            let is_legal = |constraint: &i8| (-1..=1).contains(constraint);
            require(constraints.iter().all(is_legal), "monotonic_cst", constraints, legal::MONOTONIC_CST)?;
        }
        // Constraints that are all 0 are dropped, so that no node checks them.
        let monotonic_cst = self.monotonic_cst.clone().filter(|constraints| constraints.iter().any(|&c| c != 0));
        require(
            monotonic_cst.is_none() || self.criterion.has_impurity(),
            "monotonic_cst",
            &self.monotonic_cst,
            legal::NO_CONSTRAINTS,
        )?;
        let interaction_cst = self.interaction_cst.as_deref().map(|groups| sorted(groups, n_features)).transpose()?;
        let max_features = match self.max_features {
            MaxFeatures::All => n_features as u64,
            MaxFeatures::Sqrt => ((n_features as f64).sqrt() as u64).max(1),
            MaxFeatures::Log2 => ((n_features as f64).log2() as u64).max(1),
            MaxFeatures::Absolute(n) => require(n >= 1, "max_features", n, legal::MAX_FEATURES)?,
            MaxFeatures::Fraction(f) => {
                let share = require(f > 0.0 && f <= 1.0, "max_features", f, legal::MAX_FEATURES)?;
                ((share * n_features as f64) as u64).max(1)
            }
        };
        Ok(ValidTreeParams {
            max_depth: self.max_depth.unwrap_or(u64::MAX),
            min_samples_split: min_samples_split.max(min_samples_leaf.saturating_mul(2)),
            min_samples_leaf,
            max_features,
            others: TreeParams { monotonic_cst, interaction_cst, ..self.clone() },
        })
    }
}

/// Groups of features, each ascending. Fails if there are not so many features.
fn sorted(groups: &[Vec<u32>], n_features: usize) -> Result<Arc<[Vec<u32>]>> {
    for group in groups {
        let is_legal = group.iter().all(|&feature| (feature as usize) < n_features);
        require(is_legal, "interaction_cst", group, legal::INTERACTION_CST)?;
    }
    let sorted = |group: &Vec<u32>| {
        let mut group = group.clone();
        group.sort_unstable();
        group
    };
    Ok(groups.iter().map(sorted).collect())
}

/// Hyperparameters that have been checked and resolved against the shape of the data. Parameters that need
/// not be resolved are read as fields of the [`TreeParams`] in which they were given; there `monotonic_cst`
/// is `None` if no feature is constrained, and each group of `interaction_cst` ascends.
#[derive(Debug, Clone)]
pub struct ValidTreeParams {
    pub(crate) max_depth: u64,
    pub(crate) min_samples_split: u64,
    pub(crate) min_samples_leaf: u64,
    pub(crate) max_features: u64,
    others: TreeParams,
}

impl Deref for ValidTreeParams {
    type Target = TreeParams;

    #[inline]
    fn deref(&self) -> &TreeParams {
        &self.others
    }
}

impl ValidTreeParams {
    /// Whether the stop rules and the number of drawn features of two sets of parameters are the
    /// same. Both must come from the same [`TreeParams`], checked against data of different shapes.
    pub(crate) fn splits_like(&self, other: &Self) -> bool {
        (self.max_depth, self.min_samples_split, self.min_samples_leaf, self.max_features)
            == (other.max_depth, other.min_samples_split, other.min_samples_leaf, other.max_features)
    }

    /// These hyperparameters with another seed.
    pub(crate) fn with_seed(&self, seed: u64) -> Self {
        Self { others: TreeParams { seed, ..self.others.clone() }, ..self.clone() }
    }

    /// The least number of samples in a child of a node.
    #[inline]
    pub(crate) fn least_rows(&self, n_samples: usize) -> u64 {
        if self.min_share_leaf > 0.0 {
            self.min_samples_leaf.max((self.min_share_leaf * n_samples as f64).ceil() as u64)
        } else {
            self.min_samples_leaf
        }
    }

    /// The number of features that a node draws. It may exceed the number of features of the data,
    /// as in scikit-learn.
    pub fn max_features(&self) -> u64 {
        self.max_features
    }

    /// The monotonic constraint of a feature: 1, -1, or 0 for none.
    pub(crate) fn constraint(&self, feature: u32) -> i8 {
        self.monotonic_cst.as_ref().map_or(0, |constraints| constraints[feature as usize])
    }

    /// The kind of ordinals with which these trees are grown fastest, see
    /// [`Dataset::from_dense_with`](crate::data::Dataset::from_dense_with).
    pub fn ordinals(&self) -> Ordinals {
        match self.splitter {
            Splitter::Best => Ordinals::Ranks,
            Splitter::Random => Ordinals::Keys,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_resolve_as_in_scikit_learn() {
        let params = TreeParams {
            min_samples_leaf: Count::Fraction(0.011),
            min_samples_split: Count::Fraction(0.001),
            max_features: MaxFeatures::Fraction(0.19),
            ..TreeParams::new(CriterionKind::Gini)
        };
        let valid = params.check(1000, 10).unwrap();
        assert_eq!(valid.min_samples_leaf, 11);
        assert_eq!(valid.min_samples_split, 22);
        assert_eq!(valid.max_features, 1);
        let log2 = TreeParams { max_features: MaxFeatures::Log2, ..params.clone() };
        assert_eq!(log2.check(1000, 10).unwrap().max_features, 3);
    }

    #[test]
    fn illegal_values_are_named() {
        let params = TreeParams { max_depth: Some(0), ..TreeParams::new(CriterionKind::Gini) };
        let message = params.check(10, 10).unwrap_err().to_string();
        assert_eq!(message, "The 'max_depth' parameter must be an int in the range [1, inf) or None. Got 0 instead.");
        let params = TreeParams { min_impurity_decrease: f64::NAN, ..TreeParams::new(CriterionKind::Gini) };
        assert!(params.check(10, 10).is_err());
        let params = TreeParams { min_samples_category: 0, ..TreeParams::new(CriterionKind::Gini) };
        assert!(params.check(10, 10).unwrap_err().to_string().contains("'min_samples_category'"));
        let params = TreeParams { max_leaf_nodes: Some(1), ..TreeParams::new(CriterionKind::Gini) };
        assert!(params.check(10, 10).unwrap_err().to_string().contains("'max_leaf_nodes'"));
        for ccp_alpha in [-0.1, f64::NAN, f64::INFINITY] {
            let params = TreeParams { ccp_alpha, ..TreeParams::new(CriterionKind::Gini) };
            assert!(params.check(10, 10).unwrap_err().to_string().contains("'ccp_alpha'"));
        }
    }
}
