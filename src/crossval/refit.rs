//! The trees of a fold, grown on the encoded columns of all rows.

use super::alone::Learner;
use super::{CrossValidation, Fold};
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::forest::grow::grow_member;
use crate::forest::{Forest, check_sample_ids};
use crate::grow::{check_lengths, grow};
use crate::runtime::Runtime;
use crate::tree::Tree;

/// What was grown on the training rows of a fold: bit for bit what grows on these rows as a data
/// set of their own.
#[derive(Debug, Clone, PartialEq)]
pub struct Refit<T> {
    /// The tree, or the forest.
    pub grown: T,
    /// Number of features that each node draws.
    pub max_features: u64,
    /// The features that have missing values in training rows, ascending.
    pub with_missing: Vec<u32>,
}

impl CrossValidation<'_> {
    /// Grows the only tree of the fold's estimator. Its test rows do not matter. Fails if features
    /// are categorical: a fold numbers the categories of its own training rows.
    pub fn grow_tree(&self, fold: &Fold<'_>, runtime: &Runtime<'_>) -> Result<Refit<Tree>> {
        self.refit(fold, runtime, |learner| {
            let bags = learner.bags(self.sample_ids)?;
            let target = learner.bag(&bags, 0, runtime)?;
            grow(learner.data(), &target, learner.params().tree(), 0, runtime)
        })
    }

    /// Grows the forest of a fold, as [`grow_tree`](Self::grow_tree) grows a tree. Each tree counts
    /// as one item of work.
    pub fn grow_forest(&self, fold: &Fold<'_>, runtime: &Runtime<'_>) -> Result<Refit<Forest>> {
        self.refit(fold, runtime, |learner| {
            let bags = learner.bags(self.sample_ids)?;
            let member = |number| {
                let (seed, target) = learner.bag_with_seed(&bags, number, runtime)?;
                grow_member(learner.data(), &target, learner.params().tree(), (number, seed), runtime)
            };
            Forest::new(runtime.map(learner.params().trees.clone().collect(), member)?)
        })
    }

    fn refit<T>(
        &self,
        fold: &Fold<'_>,
        runtime: &Runtime<'_>,
        grow: impl FnOnce(&Learner<'_>) -> Result<T>,
    ) -> Result<Refit<T>> {
        check_lengths(self.data, self.target)?;
        check_sample_ids(self.sample_ids, self.data.n_samples())?;
        fold.train.check(self.data.n_samples())?;
        if self.data.has_categories() {
            let (got, expected) = ("categorical features".into(), "numeric in all features".into());
            return Err(Error::InvalidArgument { name: "X", got, expected });
        }
        let learner = Learner::new(self, fold, runtime)?;
        let with_missing = features_with_missing(self.data, learner.train(), runtime)?;
        Ok(Refit { grown: grow(&learner)?, max_features: learner.params().tree().max_features(), with_missing })
    }
}

/// The features that have a missing value in one of these rows, ascending.
fn features_with_missing(data: &Dataset, rows: &[u32], runtime: &Runtime<'_>) -> Result<Vec<u32>> {
    let mut found = Vec::new();
    for feature in 0..data.n_features() as u32 {
        let Some(missing) = data.missing_rank(feature) else { continue };
        runtime.check_interrupt()?;
        if rows.iter().any(|&row| data.rank(feature, row) == missing) {
            found.push(feature);
        }
    }
    Ok(found)
}
