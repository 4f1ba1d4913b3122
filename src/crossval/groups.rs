//! Which folds of a cross-validation descend together, as a group.
//!
//! The forests of a group must be functions of one target, and each fold leaves out rows of it that no other
//! fold of the group leaves out. The folds of one round of a k-fold, stratified or grouped split, and of
//! leave-one-out, do so. The samples of the trees must not depend on which fold draws them: all rows, or
//! Poisson counts by the names of the rows. And everything that decides on splits must be equal in numbers
//! for all folds: the classes, the weights, which must be 1, and the parameters that are resolved for the
//! fold's number of rows.

use super::costs::together_per_alone;
use super::together::NOBODY;
use super::trial::{Trial, Way};
use super::{CrossValidation, Fold};
use crate::data::Target;
use crate::data::target::{TargetValues, Weights};
use crate::error::Result;
use crate::params::{Bootstrap, ValidForestParams};
use crate::runtime::Runtime;
use crate::split::folds::shares;

/// Folds that descend together. The members are numbered by their positions in `folds`.
pub(crate) struct FoldGroup {
    /// The number of each member among all folds of the cross-validation.
    pub folds: Vec<usize>,
    /// For each row of the data, the member that does not train on it, or [`NOBODY`].
    pub owners: Vec<u32>,
    /// For each row of the query, the member that is asked about it, or [`NOBODY`].
    pub askers: Vec<u32>,
    pub params: ValidForestParams,
    /// Which way trees are asked, if not all of them together.
    pub trial: Option<Trial>,
}

/// Where the estimates of two ways differ by less than this factor, the ways are timed: the measured ratio
/// may be the other way round (`benches/peers/crossval.py`).
const UNSURE: f64 = 4.0;
/// Forests of fewer trees are asked by the estimate alone.
const TRIAL_FROM: u64 = 4;

/// Returns the groups of folds that descend together, at least for a trial, and the numbers of all other
/// folds. O(folds * rows).
pub(crate) fn of(
    all: &CrossValidation<'_>,
    folds: &[Fold<'_>],
    n_query: usize,
    runtime: &Runtime<'_>,
) -> Result<(Vec<FoldGroup>, Vec<usize>)> {
    if !matches!(all.target.weights(), Weights::Unit) {
        return Ok((Vec::new(), (0..folds.len()).collect()));
    }
    let (mut groups, mut others) = (Vec::new(), Vec::new());
    // A tree of a group is walked by one thread. Folds that are asked one by one can use all
    // threads that are not taken by other trees.
    let n_threads = (runtime.n_threads() / all.params.n_estimators.max(1) as usize).max(1);
    let mut close = |group: Option<FoldGroup>, others: &mut Vec<usize>| {
        let Some(group) = group else { return };
        let n_held_out = group.owners.iter().filter(|&&owner| owner != NOBODY).count();
        let n_folds = group.folds.len();
        let ratio = together_per_alone(all.data, group.params.tree(), n_folds, n_held_out, n_threads);
        let likely = if ratio < 1.0 { Way::Together } else { Way::Alone };
        // Asking folds of one row alone, as in leave-one-out, would cost more than a trial can save.
        let is_unsure = ratio.max(ratio.recip()) < UNSURE
            && n_held_out > n_folds
            && all.params.n_estimators >= TRIAL_FROM
            && n_folds <= all.n_folds_at_once();
        if is_unsure {
            groups.push(FoldGroup { trial: Some(Trial::new(all.params.first_tree, likely)), ..group });
        } else if likely == Way::Together {
            groups.push(group);
        } else {
            others.extend(group.folds);
        }
    };
    let counts = class_counts(all.target);
    let mut open: Option<FoldGroup> = None;
    for (number, fold) in folds.iter().enumerate() {
        runtime.check_interrupt()?;
        let left_out = fold.train.list_left_out(all.data.n_samples());
        let can_share = |params: &ValidForestParams| {
            matches!(fold.bootstrap, Bootstrap::None | Bootstrap::Poisson)
                && !params.balanced_subsample
                && fold.sample_weight.is_none()
                && !orders_by_tree(all, params)
                && shares(all.data, all.target, params.tree())
                && has_all_classes(all.target, &counts, &left_out)
        };
        let Some(params) = all.params_of(fold).ok().filter(can_share) else {
            others.push(number);
            continue;
        };
        // Folds come round by round, so a fold either joins the open group, or closes it and begins
        // a new one.
        let mut group = match open.take() {
            Some(group) if group.admits(&left_out, fold.test, &params) => group,
            full => {
                close(full, &mut others);
                let (owners, askers) = (vec![NOBODY; all.data.n_samples()], vec![NOBODY; n_query]);
                FoldGroup { folds: Vec::new(), owners, askers, params, trial: None }
            }
        };
        group.admit(number, &left_out, fold.test);
        open = Some(group);
    }
    close(open, &mut others);
    others.sort_unstable();
    Ok((groups, others))
}

/// Whether categories are ordered once per tree: each fold orders them by its own rows.
fn orders_by_tree(all: &CrossValidation<'_>, params: &ValidForestParams) -> bool {
    params.most_ordered_by_node().is_some_and(|most| all.data.features_with_more(most).next().is_some())
}

impl FoldGroup {
    /// Whether a fold can join the group. `left_out` are the rows that the fold does not train on.
    fn admits(&self, left_out: &[u32], test: &[u32], params: &ValidForestParams) -> bool {
        let is_free = |rows: &[u32], of: &[u32]| rows.iter().all(|&row| of[row as usize] == NOBODY);
        is_free(left_out, &self.owners)
            && is_free(test, &self.askers)
            && self.params.bootstrap == params.bootstrap
            && self.params.tree().splits_like(params.tree())
    }

    fn admit(&mut self, number: usize, left_out: &[u32], test: &[u32]) {
        let member = self.folds.len() as u32;
        self.folds.push(number);
        for (rows, of) in [(left_out, &mut self.owners), (test, &mut self.askers)] {
            for &row in rows {
                of[row as usize] = member;
            }
        }
    }
}

/// Number of rows of each class, numbered over all outputs; empty if the target is numbers.
fn class_counts(target: &Target) -> Vec<usize> {
    let TargetValues::Classes(classes) = target.values() else { return Vec::new() };
    let mut counts = vec![0; classes.first.last().map_or(0, |&n| n as usize)];
    classes.slots.iter().for_each(|&slot| counts[slot as usize] += 1);
    counts
}

/// Whether each class of a target of one output has a row that is not left out; false if the target
/// is numbers.
fn has_all_classes(target: &Target, counts: &[usize], left_out: &[u32]) -> bool {
    let TargetValues::Classes(classes) = target.values() else { return false };
    let mut rest = counts.to_vec();
    for &row in left_out {
        rest[classes.slots[row as usize] as usize] -= 1;
    }
    rest.iter().all(|&count| count > 0)
}
