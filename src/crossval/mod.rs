//! Cross-validation: what the forests of several folds of one data set predict for the rows that they are tested on.
//!
//! A forest of a fold is, bit for bit, the one of the fold's training rows as a data set of their own. What can always be shared
//! is the encoded columns, of all rows. Folds of a group (`groups`) share their descents too: a tree's sample is
//! drawn of all rows, and each fold leaves its own out. For all others, what rows decide is not shared: parameters are
//! resolved, targets and weights encoded, and samples drawn of the training rows alone, and only then spread over the rows
//! of the whole, where all others weigh 0 and so take no part in a tree.
//!
//! Trees are the unit of work, in waves as in [lazy forests](crate::forest::LazyForest): for each tree, [`ask_shared`] answers for
//! all folds of a group, [`ask_folds`] for those that are in none, and values are added in the order of the trees. The
//! latter are taken in portions, so that the memory beside data and results is bounded. Per row of a fold: 4 to 8 bytes
//! for weights, twice, and once more per thread; 8 for Poisson counts or draws by weight; per output 4 (classes) or 16
//! (numbers), twice where the fold has classes or a fixed point of its own. A group has 8 bytes per row, whatever the
//! number of its folds.

mod alone;
mod costs;
mod groups;
mod together;
mod union;

pub use crate::split::folds::shares;
pub use alone::{FoldTree, ask_folds};
pub use costs::pays;
pub use together::{NOBODY, SharedFolds, ask_shared};

use crate::data::query::Query;
use crate::data::{Dataset, Target};
use crate::error::{Error, Result};
use crate::forest::grow::Bags;
use crate::grow::check_lengths;
use crate::lazy::{LazyTree, Reached};
use crate::params::{Bootstrap, ForestParams, ValidForestParams};
use crate::runtime::Runtime;
use crate::tree::predict::divide;
use groups::Group;

/// Rows and categories of all folds of a portion.
const ROWS_AT_ONCE: usize = 1 << 25;
/// Trees per thread in a wave, and the test rows from which they are fewer.
const TREES_PER_THREAD: usize = 8;
const MANY_TEST_ROWS: usize = 1 << 20;

/// All that the forests of folds are functions of.
#[derive(Debug, Clone, Copy)]
pub struct CrossValidation<'a> {
    /// All rows.
    pub data: &'a Dataset,
    /// The targets of all rows. Its weights do not matter.
    pub target: &'a Target,
    /// The names of all rows in Poisson samples; without them, a row's name is its number among all.
    pub sample_ids: Option<&'a [u64]>,
    /// Hyperparameters, as written: shares are of a fold's training rows. Each fold has its own `bootstrap`.
    pub params: &'a ForestParams,
    /// The estimator is a single tree rather than a forest of one: its values are not added to anything.
    pub is_tree: bool,
}

/// A fold: the rows that a forest is grown on, and those it is asked about.
#[derive(Debug, Clone, Copy)]
pub struct Fold<'a> {
    /// Training rows, ascending.
    pub train: &'a [u32],
    /// Their weights, if any.
    pub sample_weight: Option<&'a [f64]>,
    /// On which of them each tree is grown.
    pub bootstrap: Bootstrap,
    /// Rows of the query.
    pub test: &'a [u32],
}

impl CrossValidation<'_> {
    /// The means of the trees' values for the test rows of each fold, row-major `(n_test, n_values)`: as many values as the
    /// fold's own classes ask for. Each tree of each fold counts as an item of work.
    pub fn predict(&self, folds: &[Fold<'_>], query: &dyn Query, runtime: &Runtime<'_>) -> Result<Vec<Vec<f64>>> {
        check_lengths(self.data, self.target)?;
        let n_samples = self.data.n_samples();
        if let Some(ids) = self.sample_ids.filter(|ids| ids.len() != n_samples) {
            return Err(Error::ShapeMismatch {
                what: "sample_ids",
                expected: format!("{n_samples} values, one per sample"),
                got: format!("{} values", ids.len()),
            });
        }
        for fold in folds {
            self.check(fold, query)?;
        }
        let mut values = vec![Vec::new(); folds.len()];
        let (groups, others) = groups::of(self, folds, query.shape().0, runtime)?;
        for group in groups {
            for (&fold, found) in group.folds.iter().zip(self.predict_group(&group, folds, query, runtime)?) {
                values[fold] = found;
            }
        }
        let per_portion = (ROWS_AT_ONCE / (n_samples + self.data.n_own_numbers())).max(1);
        for portion in others.chunks(per_portion) {
            let folds: Vec<&Fold<'_>> = portion.iter().map(|&fold| &folds[fold]).collect();
            for (&fold, found) in portion.iter().zip(self.predict_portion(&folds, query, runtime)?) {
                values[fold] = found;
            }
        }
        Ok(values)
    }

    fn check(&self, fold: &Fold<'_>, query: &dyn Query) -> Result<()> {
        let (n_query, n_features) = query.shape();
        if n_features != self.data.n_features() {
            return Err(Error::ShapeMismatch {
                what: "X",
                expected: format!("{} features, as in training", self.data.n_features()),
                got: format!("{n_features} features"),
            });
        }
        let n_samples = self.data.n_samples();
        let illegal = |name, got, expected| Err(Error::InvalidArgument { name, got, expected });
        if fold.train.is_empty() || !fold.train.is_sorted_by(|a, b| a < b) {
            let expected = "ascending, distinct and at least one".into();
            return illegal("train", format!("{} rows that are not", fold.train.len()), expected);
        }
        for (name, rows, n_rows) in [("train", fold.train, n_samples), ("test", fold.test, n_query)] {
            if let Some(row) = rows.iter().find(|&&row| row as usize >= n_rows) {
                return illegal(name, format!("row {row}"), format!("rows below {n_rows}"));
            }
        }
        Ok(())
    }

    fn predict_portion(&self, folds: &[&Fold<'_>], query: &dyn Query, runtime: &Runtime<'_>) -> Result<Vec<Vec<f64>>> {
        let learners = runtime.map(folds.to_vec(), |fold| Learner::new(self, fold, runtime))?;
        let bags = learners.iter().map(|learner| learner.bags(self.sample_ids)).collect::<Result<Vec<_>>>()?;
        let ask = |number: u64| {
            // Trees are one thread's work each, unless they are fewer than the threads.
            let serial = runtime.serial();
            let threads = if self.params.n_estimators < runtime.n_threads() as u64 { runtime } else { &serial };
            let bag = |(learner, bags): (&Learner<'_>, &Bags<'_>)| learner.bag(bags, number, runtime);
            let targets = threads.map(learners.iter().zip(&bags).collect(), bag)?;
            let trees: Vec<FoldTree<'_>> =
                learners.iter().zip(&targets).map(|(l, target)| l.tree(target, number)).collect();
            let reached = ask_folds(&trees, query, threads)?;
            Ok(reached)
        };
        let add_tree = |values: &mut [Vec<f64>], tree: &Vec<Reached>| {
            for ((sums, reached), learner) in values.iter_mut().zip(tree).zip(&learners) {
                add(sums, reached, learner.n_values());
            }
        };
        let n_values: Vec<usize> = learners.iter().map(Learner::n_values).collect();
        self.mean(folds, &n_values, ask, add_tree, runtime)
    }

    /// The same for folds whose trees descend together.
    fn predict_group(
        &self,
        group: &Group,
        folds: &[Fold<'_>],
        query: &dyn Query,
        runtime: &Runtime<'_>,
    ) -> Result<Vec<Vec<f64>>> {
        let members: Vec<&Fold<'_>> = group.folds.iter().map(|&fold| &folds[fold]).collect();
        let bags = Bags::new(self.target, &group.params, self.sample_ids)?;
        let shared = SharedFolds { n_folds: members.len(), owners: &group.owners, askers: &group.askers };
        let n_values = crate::tree::n_values(&self.target.n_classes());
        let ask = |number: u64| {
            let (_, target) = bags.bag(number, runtime)?;
            let params = group.params.tree();
            Ok(match ask_shared(self.data, &target, params, number, shared, query, &runtime.serial())? {
                Some(reached) => Answer::Shared(reached),
                // A fold without rows in this sample draws again, on its own; or the sample is uncommonly large.
                None => Answer::Alone(self.ask_each(&members, number, query, &runtime.serial())?),
            })
        };
        let add_tree = |values: &mut [Vec<f64>], answer: &Answer| {
            for (at, (sums, fold)) in values.iter_mut().zip(&members).enumerate() {
                match answer {
                    Answer::Shared(reached) => add_leaves(sums, reached, n_values, fold.test.iter().copied()),
                    Answer::Alone(each) => add(sums, &each[at], n_values),
                }
            }
        };
        self.mean(&members, &vec![n_values; members.len()], ask, add_tree, runtime)
    }

    /// The means over the trees of what they answer for each fold, added in the order of the trees.
    fn mean<T: Send>(
        &self,
        folds: &[&Fold<'_>],
        n_values: &[usize],
        ask: impl Fn(u64) -> Result<T> + Sync,
        add_tree: impl Fn(&mut [Vec<f64>], &T),
        runtime: &Runtime<'_>,
    ) -> Result<Vec<Vec<f64>>> {
        // To nothing: of all numbers, minus 0 alone leaves the other as it is, minus 0 included.
        let nothing = if self.is_tree { -0.0 } else { 0.0 };
        let zeros = |(fold, n_values): (&&Fold<'_>, &usize)| vec![nothing; fold.test.len() * n_values];
        let mut values: Vec<Vec<f64>> = folds.iter().zip(n_values).map(zeros).collect();
        let n_test: usize = folds.iter().map(|fold| fold.test.len()).sum();
        let per_thread = (MANY_TEST_ROWS / n_test.max(1)).clamp(1, TREES_PER_THREAD);
        let numbers: Vec<u64> = (self.params.first_tree..).take(self.params.n_estimators as usize).collect();
        let ask_all = |number| {
            let answer = ask(number)?;
            for _ in folds {
                runtime.advance();
            }
            Ok(answer)
        };
        for wave in numbers.chunks(per_thread * runtime.n_threads()) {
            for answer in runtime.map(wave.to_vec(), ask_all)? {
                add_tree(&mut values, &answer);
            }
        }
        for sums in &mut values {
            divide(sums, numbers.len() as f64);
        }
        Ok(values)
    }

    /// What a tree of each fold alone predicts.
    fn ask_each(
        &self,
        folds: &[&Fold<'_>],
        number: u64,
        query: &dyn Query,
        runtime: &Runtime<'_>,
    ) -> Result<Vec<Reached>> {
        let ask = |fold: &&Fold<'_>| {
            let learner = Learner::new(self, fold, runtime)?;
            let target = learner.bag(&learner.bags(self.sample_ids)?, number, runtime)?;
            let mut reached = ask_folds(&[learner.tree(&target, number)], query, runtime)?;
            Ok(reached.remove(0))
        };
        folds.iter().map(ask).collect()
    }
}

/// What a tree of the folds of a group predicts.
enum Answer {
    /// For each query row that is asked about.
    Shared(Reached),
    /// Fold by fold, for its test rows.
    Alone(Vec<Reached>),
}

/// What a fold's forest is grown on.
struct Learner<'a> {
    fold: &'a Fold<'a>,
    params: ValidForestParams,
    /// The whole data as its trees see them.
    data: Dataset,
    /// The target of its training rows alone, of which samples are drawn.
    target: Target,
    /// The same for all rows.
    spread: Target,
}

impl<'a> Learner<'a> {
    fn new(all: &CrossValidation<'_>, fold: &'a Fold<'a>, runtime: &Runtime<'_>) -> Result<Self> {
        runtime.check_interrupt()?;
        let params = ForestParams { bootstrap: fold.bootstrap, ..all.params.clone() };
        let params = params.check(fold.train.len(), all.data.n_features())?;
        let target = all.target.alone(fold.train, fold.sample_weight, runtime)?;
        let spread = target.spread(fold.train, all.target);
        Ok(Self { fold, params, data: all.data.on_rows(fold.train), target, spread })
    }

    /// What each tree is grown on, of the training rows alone.
    fn bags(&self, sample_ids: Option<&[u64]>) -> Result<Bags<'_>> {
        if self.params.bootstrap != Bootstrap::Poisson {
            return Bags::new(&self.target, &self.params, None);
        }
        let name = |&row: &u32| sample_ids.map_or(row.into(), |ids| ids[row as usize]);
        let ids: Vec<u64> = self.fold.train.iter().map(name).collect();
        Bags::new(&self.target, &self.params, Some(&ids))
    }

    /// What a tree is grown on, spread over all rows.
    fn bag(&self, bags: &Bags<'_>, number: u64, runtime: &Runtime<'_>) -> Result<Target> {
        Ok(bags.bag(number, runtime)?.1.spread(self.fold.train, &self.spread))
    }

    fn n_values(&self) -> usize {
        crate::tree::n_values(&self.target.n_classes())
    }

    fn tree<'b>(&'b self, target: &'b Target, number: u64) -> FoldTree<'b> {
        let tree = LazyTree { data: &self.data, target, params: self.params.tree(), number };
        FoldTree { tree, train: self.fold.train, test: self.fold.test }
    }
}

/// Adds the values of the leaves that all rows of an answer reach.
fn add(sums: &mut [f64], reached: &Reached, n_values: usize) {
    add_leaves(sums, reached, n_values, 0..reached.leaves.len() as u32);
}

/// Adds the values of the leaves that some rows of an answer reach.
fn add_leaves(sums: &mut [f64], reached: &Reached, n_values: usize, rows: impl Iterator<Item = u32>) {
    for (sums, row) in sums.chunks_exact_mut(n_values).zip(rows) {
        let leaf = reached.leaves[row as usize] as usize;
        let values = &reached.values[leaf * n_values..][..n_values];
        sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
    }
}
