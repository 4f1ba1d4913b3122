//! The means of the trees' values for the test rows of all folds.

use std::sync::OnceLock;

use super::alone::{Learner, ask_folds};
use super::groups::{self, FoldGroup};
use super::together::{SharedFolds, ask_shared};
use super::trial::Way;
use super::{CrossValidation, Fold};
use crate::data::query::Query;
use crate::error::Result;
use crate::forest::check_sample_ids;
use crate::forest::grow::Bags;
use crate::forest::waves::ask_in_waves;
use crate::grow::check_lengths;
use crate::lazy::Reached;
use crate::memory;
use crate::runtime::Runtime;
use crate::tree::predict::divide;

/// The largest number of rows and categories of a portion, summed over its folds.
const ROWS_AT_ONCE: usize = 1 << 25;

/// The answer of one tree of some folds.
enum Answer {
    /// The leaf of each query row, in the tree of the fold that is asked about the row.
    Shared(Reached),
    /// For each fold, the leaves of the fold's test rows.
    Alone(Vec<Reached>),
}

impl CrossValidation<'_> {
    /// For each fold, the mean over its trees of the values for the fold's test rows, row-major
    /// `(n_test, n_values)`. `n_values` depends on the classes that the fold has. Each tree of each
    /// fold counts as one item of work.
    pub fn predict(&self, folds: &[Fold<'_>], query: &dyn Query, runtime: &Runtime<'_>) -> Result<Vec<Vec<f64>>> {
        check_lengths(self.data, self.target)?;
        let n_samples = self.data.n_samples();
        check_sample_ids(self.sample_ids, n_samples)?;
        for fold in folds {
            self.check(fold, query)?;
        }
        let mut values = vec![Vec::new(); folds.len()];
        let (groups, others) = groups::of(self, folds, query.shape().0, runtime)?;
        let pick = |numbers: &[usize]| -> Vec<&Fold<'_>> { numbers.iter().map(|&fold| &folds[fold]).collect() };
        for group in groups {
            let found = self.predict_group(&group, &pick(&group.folds), query, runtime)?;
            group.folds.iter().zip(found).for_each(|(&fold, found)| values[fold] = found);
        }
        for portion in others.chunks(self.n_folds_at_once()) {
            let found = self.predict_portion(&pick(portion), query, runtime)?;
            portion.iter().zip(found).for_each(|(&fold, found)| values[fold] = found);
        }
        Ok(values)
    }

    /// How many folds can descend alone at once, by the memory that they take.
    pub(super) fn n_folds_at_once(&self) -> usize {
        (ROWS_AT_ONCE / (self.data.n_samples() + self.data.n_own_numbers())).max(1)
    }

    /// The means of the trees' values for the test rows of some folds, whose trees descend one by
    /// one.
    fn predict_portion(&self, folds: &[&Fold<'_>], query: &dyn Query, runtime: &Runtime<'_>) -> Result<Vec<Vec<f64>>> {
        let learners = self.learners(folds, runtime)?;
        let bags = self.bags(&learners)?;
        let ask =
            |number: u64, threads: &Runtime<'_>| Ok(Answer::Alone(ask_each(&learners, &bags, number, query, threads)?));
        let n_values: Vec<usize> = learners.iter().map(Learner::n_values).collect();
        self.mean(folds, &n_values, ask, runtime)
    }

    /// The folds with all that they share with no other fold.
    fn learners<'f>(&self, folds: &[&'f Fold<'_>], runtime: &Runtime<'_>) -> Result<Vec<Learner<'f>>> {
        runtime.map(folds.to_vec(), |fold| Learner::new(self, fold, runtime))
    }

    fn bags<'l>(&self, learners: &'l [Learner<'_>]) -> Result<Vec<Bags<'l>>> {
        learners.iter().map(|learner| learner.bags(self.sample_ids)).collect()
    }

    /// The means of the trees' values for the test rows of the folds of a group, whose trees
    /// descend together, unless a trial says that they are faster alone.
    fn predict_group(
        &self,
        group: &FoldGroup,
        folds: &[&Fold<'_>],
        query: &dyn Query,
        runtime: &Runtime<'_>,
    ) -> Result<Vec<Vec<f64>>> {
        let bags = Bags::new(self.target, &group.params, self.sample_ids)?;
        let shared = SharedFolds { n_folds: folds.len(), owners: &group.owners, askers: &group.askers };
        let (learners, bags_of_each) = (OnceLock::new(), OnceLock::new());
        let ask_alone = |number: u64, threads: &Runtime<'_>| {
            let learners = get_or_make(&learners, || self.learners(folds, threads))?;
            let bags = get_or_make(&bags_of_each, || self.bags(learners))?;
            Ok(Answer::Alone(ask_each(learners, bags, number, query, threads)?))
        };
        let ask_together = |number: u64| {
            let serial = runtime.serial();
            let target = bags.bag(number, runtime)?.target;
            if let Some(reached) = ask_shared(self.data, &target, group.params.tree(), number, shared, query, &serial)?
            {
                return Ok(Answer::Shared(reached));
            }
            // A fold has no rows in this sample and draws again, on its own; or the sample has an
            // uncommonly large weight.
            let ask_fold = |fold: &&Fold<'_>| {
                let learner = Learner::new(self, fold, &serial)?;
                let bags = learner.bags(self.sample_ids)?;
                learner.ask(&learner.bag(&bags, number, &serial)?, number, query, &serial)
            };
            Ok(Answer::Alone(folds.iter().map(ask_fold).collect::<Result<_>>()?))
        };
        let ask = |number: u64, threads: &Runtime<'_>| {
            let Some(trial) = &group.trial else { return ask_together(number) };
            let way = trial.way(number);
            trial.timed(way, || match way {
                Way::Together => ask_together(number),
                Way::Alone => ask_alone(number, threads),
            })
        };
        let n_values = crate::tree::n_values(&self.target.n_classes());
        self.mean(folds, &vec![n_values; folds.len()], ask, runtime)
    }

    /// The means over the trees of the values for each fold's test rows. `ask` answers for one
    /// tree, and the answers are added up in the order of the trees.
    fn mean(
        &self,
        folds: &[&Fold<'_>],
        n_values: &[usize],
        ask: impl Fn(u64, &Runtime<'_>) -> Result<Answer> + Sync,
        runtime: &Runtime<'_>,
    ) -> Result<Vec<Vec<f64>>> {
        // The first summand. The values of a single tree must be returned unchanged, and -0.0 + x
        // has the bits of x for each x, -0.0 included. The sums of a forest begin with 0.0, as in
        // its own predictions.
        let nothing = if self.is_tree { -0.0 } else { 0.0 };
        let zeros = |(fold, n_values): (&&Fold<'_>, &usize)| {
            memory::filled("the result", nothing, fold.test.len().saturating_mul(*n_values))
        };
        let mut values: Vec<Vec<f64>> = folds.iter().zip(n_values).map(zeros).collect::<Result<_>>()?;
        let ask = |number: u64, threads: &Runtime<'_>| {
            let answer = ask(number, threads)?;
            for _ in folds {
                runtime.advance();
            }
            Ok(answer)
        };
        let add = |answer: Answer| {
            for (at, (sums, fold)) in values.iter_mut().zip(folds).enumerate() {
                match &answer {
                    Answer::Shared(reached) => reached.add_values(sums, n_values[at], fold.test.iter().copied()),
                    Answer::Alone(reached) => reached[at].add_values(sums, n_values[at], 0..),
                }
            }
        };
        let numbers = self.params.first_tree..self.params.first_tree + self.params.n_estimators;
        let n_test = folds.iter().map(|fold| fold.test.len()).sum();
        ask_in_waves(numbers, n_test, runtime, ask, add)?;
        for sums in &mut values {
            divide(sums, self.params.n_estimators as f64);
        }
        Ok(values)
    }
}

/// Asks tree number `number` of each fold about the fold's test rows.
fn ask_each(
    learners: &[Learner<'_>],
    bags: &[Bags<'_>],
    number: u64,
    query: &dyn Query,
    threads: &Runtime<'_>,
) -> Result<Vec<Reached>> {
    let pairs = learners.iter().zip(bags).collect();
    let bags = threads.map(pairs, |(learner, bags)| learner.bag(bags, number, threads))?;
    ask_folds(learners.iter().zip(&bags).collect(), number, query, threads)
}

/// The value in the cell. An empty cell gets one from `make`: two threads may both make one, and the first is
/// kept.
fn get_or_make<T>(cell: &OnceLock<T>, make: impl FnOnce() -> Result<T>) -> Result<&T> {
    if let Some(value) = cell.get() {
        return Ok(value);
    }
    let made = make()?;
    Ok(cell.get_or_init(|| made))
}
