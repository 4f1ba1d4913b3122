//! Cross-validation: the predictions of the forests of several folds of one data set, each for the
//! fold's test rows.
//!
//! The forest of a fold is, bit for bit, the forest grown on the fold's training rows as a data set
//! of their own. All folds share the encoded columns of all rows. The folds of a group (`groups`)
//! share their descents too: a tree's sample is drawn from all rows, and each fold leaves its own
//! rows out. Folds that are in no group share nothing that depends on the training rows: for each
//! such fold, parameters are resolved, targets and weights encoded, and samples drawn for the
//! training rows alone. Only the results are spread over all rows of the data, where the rows that
//! the fold does not train on weigh 0 and so take no part in a tree.
//!
//! Trees are the unit of work, in waves as in [lazy forests](crate::forest::LazyForest). For each
//! tree, [`ask_shared`] answers for all folds of a group, and `alone` for the folds that are in no
//! group, or in a group that is faster so (`trial`). Values are added in the order of the trees. The
//! folds that are in no group are taken in portions, so that the memory beside data and results is
//! bounded. They take, per row of a fold: 4 to 8 bytes for weights, twice, and once more per thread; 8 for
//! Poisson counts or draws by weight; per output 4 (classes) or 16 (numbers), twice where the fold has
//! classes or a fixed point of its own. A group takes 8 bytes per row, whatever the number of its folds,
//! unless its folds are asked alone.

mod alone;
mod costs;
mod groups;
mod predict;
mod together;
mod trial;
mod union;

pub use together::{NOBODY, SharedFolds, ask_shared};

use std::borrow::Cow;

use crate::data::query::Query;
use crate::data::{Dataset, Target};
use crate::error::{Error, Result};
use crate::params::{Bootstrap, ForestParams, ValidForestParams};
use crate::tree::descent::blocks::check_features;

/// The data and the parameters that the forests of all folds have in common.
#[derive(Debug, Clone, Copy)]
pub struct CrossValidation<'a> {
    /// The encoded columns of all rows; each fold has some of the rows.
    pub data: &'a Dataset,
    /// The targets of all rows. Weights in it change no prediction, as each fold has weights of its
    /// own; but unless all weights are 1, no folds descend together.
    pub target: &'a Target,
    /// The names of all rows in Poisson samples; without names, the name of a row is its number in
    /// `data`.
    pub sample_ids: Option<&'a [u64]>,
    /// Hyperparameters as the user writes them: shares of rows are shares of a fold's training
    /// rows. Each fold has a `bootstrap` of its own, which counts instead of the one here.
    pub params: &'a ForestParams,
    /// Whether the estimator is a single tree rather than a forest of one tree. The values of a
    /// single tree are not added to a sum.
    pub is_tree: bool,
}

/// The training rows of a fold. The folds of leave-one-out have almost all rows each, so their
/// memory would grow with the square of the number of rows if these were listed.
#[derive(Debug, Clone, Copy)]
pub enum TrainingRows<'a> {
    /// These rows, which are distinct, in this order.
    Listed(&'a [u32]),
    /// All rows of the data but these, which ascend.
    AllBut(&'a [u32]),
}

impl<'a> TrainingRows<'a> {
    /// How many of `n_samples` rows these are.
    fn count(self, n_samples: usize) -> usize {
        match self {
            Self::Listed(rows) => rows.len(),
            Self::AllBut(rows) => n_samples - rows.len(),
        }
    }

    /// The numbers of the training rows, of `n_samples` rows.
    fn list(self, n_samples: usize) -> Cow<'a, [u32]> {
        match self {
            Self::Listed(rows) => Cow::Borrowed(rows),
            Self::AllBut(rows) => Cow::Owned(others(rows, n_samples)),
        }
    }

    /// The numbers of the other rows, of `n_samples` rows, ascending.
    fn list_left_out(self, n_samples: usize) -> Cow<'a, [u32]> {
        match self {
            Self::Listed(rows) if rows.is_sorted() => Cow::Owned(others(rows, n_samples)),
            Self::Listed(rows) => Cow::Owned(others(&sorted(rows), n_samples)),
            Self::AllBut(rows) => Cow::Borrowed(rows),
        }
    }

    /// Fails unless these are rows below `n_samples`, distinct, and at least one.
    fn check(self, n_samples: usize) -> Result<()> {
        let (Self::Listed(rows) | Self::AllBut(rows)) = self;
        let illegal = |got: String, expected: String| Err(Error::InvalidArgument { name: "train", got, expected });
        if let Some(row) = rows.iter().find(|&&row| row as usize >= n_samples) {
            return illegal(format!("row {row}"), format!("rows below {n_samples}"));
        }
        let ascend = |rows: &[u32]| rows.is_sorted_by(|a, b| a < b);
        let is_legal = match self {
            Self::AllBut(rows) => ascend(rows) && rows.len() < n_samples,
            Self::Listed(rows) => !rows.is_empty() && (ascend(rows) || ascend(&sorted(rows))),
        };
        if is_legal {
            Ok(())
        } else {
            illegal(format!("{} rows that are not", rows.len()), "distinct and at least one".into())
        }
    }
}

fn sorted(rows: &[u32]) -> Vec<u32> {
    let mut rows = rows.to_vec();
    rows.sort_unstable();
    rows
}

/// The rows below `n_samples` that are not in `rows`, which ascends. O(`n_samples`).
fn others(rows: &[u32], n_samples: usize) -> Vec<u32> {
    let mut others = Vec::with_capacity(n_samples - rows.len());
    let mut next = 0;
    for &row in rows {
        others.extend(next..row);
        next = row + 1;
    }
    others.extend(next..n_samples as u32);
    others
}

/// A fold: the rows that its forest is grown on, and the rows that its forest predicts for.
#[derive(Debug, Clone)]
pub struct Fold<'a> {
    /// The rows on which the forest of the fold is grown.
    pub train: TrainingRows<'a>,
    /// Weight of each training row, if the rows are weighted.
    pub sample_weight: Option<&'a [f64]>,
    /// How the training rows of each tree are drawn.
    pub bootstrap: Bootstrap,
    /// The test rows, which are numbers of rows of the query.
    pub test: &'a [u32],
}

impl CrossValidation<'_> {
    /// The parameters of the forest of a fold, checked and resolved for the fold's training rows.
    fn params_of(&self, fold: &Fold<'_>) -> Result<ValidForestParams> {
        let params = ForestParams { bootstrap: fold.bootstrap.clone(), ..self.params.clone() };
        params.check(fold.train.count(self.data.n_samples()), self.data.n_features())
    }

    /// Fails unless the rows of a fold are rows of the data and of the query.
    fn check(&self, fold: &Fold<'_>, query: &dyn Query) -> Result<()> {
        let n_query = check_features(query.shape(), self.data.n_features())?;
        fold.train.check(self.data.n_samples())?;
        if let Some(row) = fold.test.iter().find(|&&row| row as usize >= n_query) {
            let (got, expected) = (format!("row {row}"), format!("rows below {n_query}"));
            return Err(Error::InvalidArgument { name: "test", got, expected });
        }
        Ok(())
    }
}
