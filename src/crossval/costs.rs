//! Estimates of what it costs folds to descend together, or each alone.

use crate::data::{Columns, Dataset};
use crate::params::{CriterionKind, ValidTreeParams};
use crate::tuning::tuned;

/// The sizes on which the cost of a node depends. The node is shared by several folds; all folds that hold
/// nothing out count as one.
#[derive(Debug, Clone, Copy)]
#[allow(clippy::struct_field_names, reason = "numbers, of different things")]
pub(super) struct Size {
    pub n_rows: usize,
    pub n_folds: usize,
    /// Number of folds that hold out one row at most.
    pub n_singles: usize,
    /// Sum over the folds of the rows that each fold has (does not hold out).
    pub n_fold_rows: usize,
}

impl Size {
    /// The sizes of the union of this node with the node `other`, which has `n_more` rows that this
    /// node has not. In the union each fold holds out the rows that it does not have. So the folds
    /// of `other` no longer count as single. The folds of this node hold out `n_more` rows more,
    /// which is counted among the rows held out, but a fold that was single still counts as single.
    pub fn with(self, other: Self, n_more: usize) -> Self {
        Self {
            n_rows: self.n_rows + n_more,
            n_folds: self.n_folds + other.n_folds,
            n_singles: self.n_singles,
            n_fold_rows: self.n_fold_rows + other.n_fold_rows,
        }
    }
}

/// The costs of a node per row: for the union of the folds (`union`), for each fold (`fold`), for
/// each fold that holds the row out (`held_out`), and for each fold that is searched alone
/// (`alone`). Only the ratios matter, and only for speed. So the first three keep their values, and `alone`,
/// which changes with every gain in speed of the search of one tree, is swept.
pub(super) struct Costs {
    union: f64,
    fold: f64,
    held_out: f64,
    alone: f64,
}

/// A fold that holds out one row at most costs this many times less than another fold, because most
/// of such folds are scored together.
const SINGLES_PER_FOLD: f64 = 8.0;

tuned! {
    /// The cost per row of a fold that is searched alone, by Gini impurity or by entropy.
    fn gini_alone() -> f64 = 4.0;
    fn entropy_alone() -> f64 = 12.0;
    fn sparse_gini_alone() -> f64 = 3.0;
    fn sparse_entropy_alone() -> f64 = 6.0;
}

impl Costs {
    /// The costs for a data set and a criterion. Dense columns are sorted for a union, but not for a fold
    /// alone. Sparse columns are sorted already, and most of them have few values in a node.
    pub fn new(data: &Dataset, params: &ValidTreeParams) -> Self {
        let is_gini = params.criterion == CriterionKind::Gini;
        match data.columns() {
            Columns::Dense(_) => {
                let alone = if is_gini { gini_alone() } else { entropy_alone() };
                Self { union: 30.0, fold: 5.0, held_out: 10.0, alone }
            }
            Columns::Sparse(_) => {
                let alone = if is_gini { sparse_gini_alone() } else { sparse_entropy_alone() };
                Self { union: 8.0, fold: 2.0, held_out: 15.0, alone }
            }
        }
    }

    /// The cost of a node that is searched for all folds together.
    pub fn of(&self, size: Size) -> f64 {
        let Size { n_rows, n_folds, n_singles, n_fold_rows } = size;
        let folds = (n_folds - n_singles) as f64 + n_singles as f64 / SINGLES_PER_FOLD;
        let n_held_out = n_folds * n_rows - n_fold_rows;
        n_rows as f64 * (self.union + folds * self.fold) + n_held_out as f64 * self.held_out
    }

    /// The cost of a node that is searched for each fold alone.
    fn of_folds(&self, size: Size) -> f64 {
        size.n_fold_rows as f64 * self.alone
    }

    pub fn of_best(&self, size: Size) -> f64 {
        self.of(size).min(self.of_folds(size))
    }

    pub fn pays(&self, size: Size) -> bool {
        self.of(size) < self.of_folds(size)
    }
}

/// The cost for `n_folds` folds, which hold out `n_held_out` rows in total, to descend together on one
/// thread, divided by the cost to descend alone on `n_threads` threads.
pub fn together_per_alone(
    data: &Dataset,
    params: &ValidTreeParams,
    n_folds: usize,
    n_held_out: usize,
    n_threads: usize,
) -> f64 {
    let n_rows = data.n_samples();
    let n_singles = if n_held_out <= n_folds { n_folds } else { 0 };
    let size = Size { n_rows, n_folds, n_singles, n_fold_rows: n_folds * n_rows - n_held_out };
    let costs = Costs::new(data, params);
    costs.of(size) / costs.of_folds(size) * n_threads.min(n_folds) as f64
}
