//! Hyperparameters of a forest.

use std::ops::Range;

use super::{TreeParams, ValidTreeParams, legal, require};
use crate::error::{Error, Result};

/// Most trees of a forest: more would not fit in memory, and the list of their numbers is made first.
pub const MAX_ESTIMATORS: u64 = 1 << 24;

/// On which rows each tree of a forest is grown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Bootstrap {
    /// All of them, with their weights.
    #[default]
    None,
    /// A sample drawn with replacement, in proportion to the weights. A row weighs as often as it was drawn, whatever
    /// its weight was.
    WithReplacement {
        /// The number of draws, at least 1. Counts of draws are `u32`.
        n_draws: u64,
    },
    /// A sample drawn without replacement among the rows with a weight above 0, which they keep.
    WithoutReplacement {
        /// The number of rows, at least 1 and at most as many as there are; `None`: as many as there are.
        n_draws: Option<u64>,
    },
    /// The weight of each row times a Poisson count that is its own (`rng::PoissonCounts`).
    Poisson,
}

impl Bootstrap {
    /// Checks the number of draws.
    pub fn check(self) -> Result<()> {
        match self {
            Self::WithReplacement { n_draws } | Self::WithoutReplacement { n_draws: Some(n_draws) } => {
                require((1..=u64::from(u32::MAX)).contains(&n_draws), "max_samples", n_draws, legal::MAX_SAMPLES)
            }
            Self::None | Self::WithoutReplacement { n_draws: None } | Self::Poisson => Ok(()),
        }
    }
}

/// Hyperparameters of a forest.
#[derive(Debug, Clone, PartialEq)]
pub struct ForestParams {
    /// Of each tree. Its seed is the forest's.
    pub tree: TreeParams,
    /// Number of the first tree: not 0 if a forest has some trees and gets more.
    pub first_tree: u64,
    /// Number of trees.
    pub n_estimators: u64,
    /// On which rows each is grown.
    pub bootstrap: Bootstrap,
    /// Weigh the rows of each tree's sample such that its classes weigh the same. No meaning for numbers.
    pub balanced_subsample: bool,
}

impl ForestParams {
    /// `n_estimators` trees on all rows.
    pub fn new(tree: TreeParams, n_estimators: u64) -> Self {
        Self { tree, first_tree: 0, n_estimators, bootstrap: Bootstrap::None, balanced_subsample: false }
    }

    /// Checks every range and resolves shares against the shape of the data.
    pub fn check(&self, n_samples: usize, n_features: usize) -> Result<ValidForestParams> {
        let tree = self.tree.check(n_samples, n_features)?;
        let n_estimators = self.n_estimators;
        require(n_estimators >= 1, "n_estimators", n_estimators, legal::N_ESTIMATORS)?;
        let last = self.first_tree.saturating_add(n_estimators);
        if last > MAX_ESTIMATORS {
            return Err(Error::TooLarge { what: "n_estimators", limit: MAX_ESTIMATORS, got: last });
        }
        self.bootstrap.check()?;
        let Self { first_tree, bootstrap, balanced_subsample, .. } = *self;
        Ok(ValidForestParams { tree, trees: first_tree..last, bootstrap, balanced_subsample })
    }
}

/// Hyperparameters of a forest that have been checked and resolved against the shape of the data.
#[derive(Debug, Clone)]
pub struct ValidForestParams {
    pub(crate) tree: ValidTreeParams,
    pub(crate) trees: Range<u64>,
    pub(crate) bootstrap: Bootstrap,
    pub(crate) balanced_subsample: bool,
}

impl ValidForestParams {
    /// Of each tree.
    pub fn tree(&self) -> &ValidTreeParams {
        &self.tree
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::CriterionKind;

    #[test]
    fn illegal_values_are_named() {
        let tree = TreeParams::new(CriterionKind::Gini);
        let legal = ForestParams { bootstrap: Bootstrap::WithReplacement { n_draws: 1 }, ..ForestParams::new(tree, 1) };
        legal.check(10, 10).unwrap();
        let message = |params: ForestParams| params.check(10, 10).unwrap_err().to_string();
        let none = message(ForestParams { n_estimators: 0, ..legal.clone() });
        assert_eq!(none, "The 'n_estimators' parameter must be an int in the range [1, inf). Got 0 instead.");
        let many = message(ForestParams { n_estimators: u64::MAX, ..legal.clone() });
        assert!(many.contains("n_estimators is limited to 16777216"), "{many}");
        let more = message(ForestParams { first_tree: MAX_ESTIMATORS, ..legal.clone() });
        assert!(more.contains("n_estimators is limited to 16777216. Got 16777217"), "{more}");
        for n_draws in [0, 1 << 32] {
            for bootstrap in
                [Bootstrap::WithReplacement { n_draws }, Bootstrap::WithoutReplacement { n_draws: Some(n_draws) }]
            {
                assert!(message(ForestParams { bootstrap, ..legal.clone() }).contains("'max_samples'"));
            }
        }
        let tree = TreeParams { max_depth: Some(0), ..legal.tree.clone() };
        assert!(message(ForestParams { tree, ..legal }).contains("'max_depth'"));
    }
}
