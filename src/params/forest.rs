//! Hyperparameters of a forest: as written, their check, and as the engine reads them.

use std::ops::Range;
use std::sync::Arc;

use super::{Splitter, TreeParams, ValidTreeParams, legal, require};
use crate::error::{Error, Result};

/// The largest number of trees of a forest. More trees would not fit in memory, and a list of their
/// numbers is made before any tree is grown.
pub const MAX_ESTIMATORS: u64 = 1 << 24;

/// How many rows of each stratum a tree gets, drawn evenly from the rows with a weight above 0. The weight of
/// a row is multiplied by the number of times it was drawn. Usually the strata are the classes (Chen, Liaw,
/// Breiman, "Using random forest to learn imbalanced data", 2004, section 2.1).
#[derive(Debug, PartialEq, Eq)]
pub struct Strata {
    /// The stratum of each row.
    pub of_row: Box<[u32]>,
    /// How many rows of each stratum are drawn; `None` means all of them, once.
    pub n_draws: Box<[Option<u64>]>,
    /// Whether rows are drawn with replacement.
    pub replace: bool,
    /// How many rows are then drawn with replacement from all that were drawn, each as often as it
    /// was; `None` means none.
    pub n_draws_again: Option<u64>,
}

impl Strata {
    /// Checks the numbers of draws. None may be drawn of a stratum.
    pub fn check(&self) -> Result<()> {
        let counts = self.n_draws.iter().chain([&self.n_draws_again]).flatten();
        counts.filter(|&&n| n > 0).try_for_each(|&n| check_draws(n))
    }
}

/// The rows of each tree, as a caller gives them. The weight of a row is multiplied by the number of
/// times it is listed.
#[derive(Debug, PartialEq, Eq)]
pub struct GivenRows {
    /// The seeds of the trees, all different.
    pub tree_seeds: Box<[u64]>,
    /// Where the rows of each tree begin, and where the last ones end.
    pub starts: Box<[usize]>,
    /// The rows, tree by tree. The rows of a tree ascend; a row that counts several times is repeated.
    pub rows: Box<[u32]>,
}

impl GivenRows {
    /// The rows of the tree at a place of `tree_seeds`.
    pub(crate) fn of(&self, place: usize) -> &[u32] {
        &self.rows[self.starts[place]..self.starts[place + 1]]
    }

    /// Fails unless each tree has rows of a data set of `n_samples`, and the fields fit together.
    pub fn check(&self, n_samples: usize) -> Result<()> {
        let n_trees = self.tree_seeds.len();
        let is_sound = self.starts.len() == n_trees + 1
            && self.starts[0] == 0
            && self.starts[n_trees] == self.rows.len()
            && self.starts.windows(2).all(|pair| pair[0] < pair[1] && u32::try_from(pair[1] - pair[0]).is_ok())
            && (0..n_trees).all(|tree| self.of(tree).is_sorted())
            && self.rows.iter().all(|&row| (row as usize) < n_samples);
        if is_sound {
            return Ok(());
        }
        Err(Error::InvalidArgument {
            name: "samples",
            got: format!("{} rows of {n_trees} trees", self.rows.len()),
            expected: format!("at least one row for each tree, ascending, below {n_samples}"),
        })
    }
}

/// Groups of rows that are drawn as a whole, such as the visits of a patient.
#[derive(Debug, PartialEq, Eq)]
pub struct Groups {
    /// The group of each row.
    pub of_row: Box<[u32]>,
    /// Above the number of each group.
    pub n_groups: u32,
}

impl Groups {
    /// Fails unless each of `n_samples` rows has a group, and there are no more groups than rows.
    pub fn check(&self, n_samples: usize) -> Result<()> {
        let has_legal = || self.of_row.iter().all(|&group| group < self.n_groups);
        if self.of_row.len() == n_samples && self.n_groups as usize <= n_samples && has_legal() {
            return Ok(());
        }
        Err(Error::ShapeMismatch {
            what: "groups",
            expected: format!("{n_samples} numbers of groups, one per sample"),
            got: format!("{} numbers", self.of_row.len()),
        })
    }
}

/// Trees that draw from the same half of the rows, or of the groups of rows, without replacement.
#[derive(Debug, PartialEq, Eq)]
pub struct Subforests {
    /// The seeds of the trees, all different. `size` of them, one after the other, share a half.
    pub tree_seeds: Box<[u64]>,
    /// At least 1.
    pub size: usize,
    /// How many rows or groups a tree draws, at least 1; `None` means all of the half.
    pub n_draws: Option<u64>,
    /// Groups that are drawn as a whole.
    pub groups: Option<Arc<Groups>>,
}

impl Subforests {
    /// Fails unless trees share halves and draw something.
    pub fn check(&self) -> Result<()> {
        require(self.size >= 1, "subforest_size", self.size, "an int in the range [2, inf) or None")?;
        self.n_draws.iter().try_for_each(|&n| check_draws(n))
    }
}

/// The rows on which each tree of a forest is grown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Bootstrap {
    /// All rows, with their weights.
    #[default]
    None,
    /// A sample drawn with replacement, with chances in proportion to the weights. In the tree, the
    /// weight of a row is the number of times it was drawn, whatever its weight was.
    WithReplacement {
        /// The number of draws, at least 1. Counts of draws are `u32`.
        n_draws: u64,
    },
    /// A sample drawn without replacement from the rows with a weight above 0. The rows keep their
    /// weights.
    WithoutReplacement {
        /// The number of rows, at least 1 and at most the number of rows with a weight above 0.
        /// `None` means all of these.
        n_draws: Option<u64>,
    },
    /// A sample drawn without replacement, each row with a chance in proportion to its weight among the rows
    /// that are left. In the tree, the weight of a row is 1, whatever its weight was.
    Distinct {
        /// The number of rows, at least 1 and at most the number of rows with a weight above 0.
        n_draws: u64,
    },
    /// All rows; the weight of each row is multiplied by a Poisson count that depends on the row's
    /// name (`rng::PoissonCounts`).
    Poisson,
    /// The given number of rows of each stratum.
    Strata(Arc<Strata>),
    /// Rows that are listed for each tree.
    Given(Arc<GivenRows>),
    /// Whole groups of rows, all with the same chance. The weight of a row is multiplied by the number of
    /// times its group was drawn. A group without a row of a weight above 0 is never drawn.
    Groups {
        /// The groups.
        groups: Arc<Groups>,
        /// The number of groups, at least 1.
        n_draws: u64,
        /// Whether a group may be drawn several times.
        replace: bool,
    },
    /// Rows, or groups, of a half that some trees share. Rows keep their weights.
    Subforests(Arc<Subforests>),
}

impl Bootstrap {
    /// Whether weights are chances of draws, and drawn rows weigh as often as they were drawn.
    pub(crate) fn draws_by_weight(&self) -> bool {
        matches!(self, Self::WithReplacement { .. } | Self::Distinct { .. })
    }

    /// Checks the number of draws.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::WithReplacement { n_draws }
            | Self::Distinct { n_draws }
            | Self::WithoutReplacement { n_draws: Some(n_draws) }
            | Self::Groups { n_draws, .. } => check_draws(*n_draws),
            Self::Strata(strata) => strata.check(),
            Self::Subforests(subforests) => subforests.check(),
            Self::None | Self::WithoutReplacement { n_draws: None } | Self::Poisson | Self::Given(_) => Ok(()),
        }
    }
}

/// How the rows of a tree are divided: some choose its splits, and the others fill its leaves.
#[derive(Debug, Clone, PartialEq)]
pub struct Honesty {
    /// The share of the rows that choose splits, above 0 and below 1.
    pub fraction: f64,
    /// Groups that are in one part as a whole. The share is then of the groups.
    pub groups: Option<Arc<Groups>>,
}

impl Honesty {
    /// Checks the share.
    pub fn check(&self) -> Result<()> {
        let fraction = self.fraction;
        require(fraction > 0.0 && fraction < 1.0, "honest_fraction", fraction, legal::HONEST_FRACTION).map(drop)
    }
}

/// Checks a number of draws. Counts of draws are `u32`.
fn check_draws(n_draws: u64) -> Result<()> {
    require((1..=u64::from(u32::MAX)).contains(&n_draws), "max_samples", n_draws, legal::MAX_SAMPLES).map(drop)
}

/// By which rows the categories of a feature are put in order, for splits of the best threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CategoryOrder {
    /// As `Tree` for features of more than [`FEW_CATEGORIES`], and as `Node` for others, or for all if
    /// nodes keep small categories together.
    #[default]
    Auto,
    /// Each node orders them by its own rows.
    Node,
    /// They are ordered once per tree, by the rows that are not in its sample, or by half of the rows
    /// if all are. Two categories have but one order. If the order says nothing of the other rows,
    /// the tree does without a feature of more than [`MANY_CATEGORIES`].
    Tree,
}

/// A feature has few categories if it has up to this number, missing values counted as one
/// (benches/papers/categories.py).
pub const FEW_CATEGORIES: usize = 10;
/// A feature has many categories if it has more than this number, missing values counted as one (as
/// above).
pub const MANY_CATEGORIES: usize = 32;

/// Hyperparameters of a forest.
#[derive(Debug, Clone, PartialEq)]
pub struct ForestParams {
    /// Hyperparameters of each tree; `tree.seed` is the seed of the forest.
    pub tree: TreeParams,
    /// Number of the first tree: above 0 if trees are added to an earlier fit.
    pub first_tree: u64,
    /// Number of trees to grow.
    pub n_estimators: u64,
    /// The rows on which each tree is grown.
    pub bootstrap: Bootstrap,
    /// How the rows of a tree are divided; `None`: all of them choose splits and fill leaves.
    pub honesty: Option<Honesty>,
    /// Whether the rows of each tree's sample are weighted such that all classes weigh the same.
    /// Has no meaning in regression, and none without a bootstrap.
    pub balanced_subsample: bool,
    /// By which rows categories are put in order.
    pub category_order: CategoryOrder,
}

impl ForestParams {
    /// Parameters of a forest of `n_estimators` trees, each grown on all rows.
    pub fn new(tree: TreeParams, n_estimators: u64) -> Self {
        Self {
            tree,
            first_tree: 0,
            n_estimators,
            bootstrap: Bootstrap::None,
            honesty: None,
            balanced_subsample: false,
            category_order: CategoryOrder::default(),
        }
    }

    /// Checks every range and resolves shares against the shape of the data.
    pub fn check(&self, n_samples: usize, n_features: usize) -> Result<ValidForestParams> {
        let tree = self.tree.check(n_samples, n_features)?;
        let trees = number_trees(self.first_tree, self.n_estimators)?;
        self.bootstrap.check()?;
        self.honesty.iter().try_for_each(Honesty::check)?;
        let Self { balanced_subsample, category_order, .. } = *self;
        let (bootstrap, honesty) = (self.bootstrap.clone(), self.honesty.clone());
        Ok(ValidForestParams { tree, trees, bootstrap, honesty, balanced_subsample, category_order })
    }
}

/// The numbers of the trees of a forest.
fn number_trees(first_tree: u64, n_estimators: u64) -> Result<Range<u64>> {
    require(n_estimators >= 1, "n_estimators", n_estimators, legal::N_ESTIMATORS)?;
    let last = first_tree.saturating_add(n_estimators);
    if last > MAX_ESTIMATORS {
        return Err(Error::TooLarge { what: "n_estimators", limit: MAX_ESTIMATORS, got: last });
    }
    Ok(first_tree..last)
}

/// Hyperparameters of a forest that have been checked and resolved against the shape of the data.
#[derive(Debug, Clone)]
pub struct ValidForestParams {
    pub(crate) tree: ValidTreeParams,
    pub(crate) trees: Range<u64>,
    pub(crate) bootstrap: Bootstrap,
    pub(crate) honesty: Option<Honesty>,
    pub(crate) balanced_subsample: bool,
    category_order: CategoryOrder,
}

impl ValidForestParams {
    /// The hyperparameters of a forest of another number of trees, from the same first tree on.
    pub(crate) fn with_n_estimators(&self, n_estimators: u64) -> Result<Self> {
        Ok(Self { trees: number_trees(self.trees.start, n_estimators)?, ..self.clone() })
    }

    /// The most categories that a feature may have to be ordered by the rows of each node from the
    /// outset; `None` if all features are.
    pub(crate) fn most_ordered_by_node(&self) -> Option<usize> {
        let most = match self.category_order {
            CategoryOrder::Node => return None,
            // Whoever keeps small categories together has chosen another remedy.
            CategoryOrder::Auto if self.tree.min_samples_category > 1 => return None,
            // No row is out of bag, and an order by rows that fill leaves would not be honest.
            CategoryOrder::Auto if self.honesty.is_some() && self.bootstrap == Bootstrap::None => return None,
            CategoryOrder::Auto => FEW_CATEGORIES,
            CategoryOrder::Tree => 2,
        };
        (self.tree.splitter == Splitter::Best).then_some(most)
    }

    /// Hyperparameters of each tree.
    pub fn tree(&self) -> &ValidTreeParams {
        &self.tree
    }

    /// These hyperparameters with another seed.
    pub(crate) fn with_seed(&self, seed: u64) -> Self {
        Self { tree: self.tree.with_seed(seed), ..self.clone() }
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
