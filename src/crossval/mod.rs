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
//! tree, [`ask_shared`] answers for all folds of a group, and [`ask_folds`] for the folds that are
//! in no group. Values are added in the order of the trees. The folds that are in no group are
//! taken in portions, so that the memory beside data and results is bounded. They take, per row of
//! a fold: 4 to 8 bytes for weights, twice, and once more per thread; 8 for Poisson counts or draws
//! by weight; per output 4 (classes) or 16 (numbers), twice where the fold has classes or a fixed
//! point of its own. A group takes 8 bytes per row, whatever the number of its folds.

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

/// The largest number of rows and categories of a portion, summed over its folds.
const ROWS_AT_ONCE: usize = 1 << 25;
/// Trees per thread in a wave: `TREES_PER_THREAD`, or fewer, so that trees times test rows do not
/// exceed `MANY_TEST_ROWS`, but at least one.
const TREES_PER_THREAD: usize = 8;
const MANY_TEST_ROWS: usize = 1 << 20;

/// The data and the parameters that the forests of all folds have in common.
#[derive(Debug, Clone, Copy)]
pub struct CrossValidation<'a> {
    /// The columns of all rows.
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

/// A fold: the rows that its forest is grown on, and the rows that its forest predicts for.
#[derive(Debug, Clone, Copy)]
pub struct Fold<'a> {
    /// Numbers of the training rows, ascending.
    pub train: &'a [u32],
    /// Weight of each training row, if the rows are weighted.
    pub sample_weight: Option<&'a [f64]>,
    /// How the training rows of each tree are drawn.
    pub bootstrap: Bootstrap,
    /// The test rows, which are numbers of rows of the query.
    pub test: &'a [u32],
}

impl CrossValidation<'_> {
    /// For each fold, the mean over its trees of the values for the fold's test rows, row-major
    /// `(n_test, n_values)`. `n_values` depends on the classes that the fold has. Each tree of each
    /// fold counts as one item of work.
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
            // Each tree is the work of one thread, unless there are fewer trees than threads.
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

    /// The means of the trees' values for the test rows of each fold of a group, whose trees
    /// descend together.
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
                // A fold has no rows in this sample and draws again, on its own; or the sample has
                // an uncommonly large weight.
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

    /// The means over the trees of the values for each fold's test rows. `ask` answers for one
    /// tree, and `add_tree` adds the answer to the sums, in the order of the trees.
    fn mean<T: Send>(
        &self,
        folds: &[&Fold<'_>],
        n_values: &[usize],
        ask: impl Fn(u64) -> Result<T> + Sync,
        add_tree: impl Fn(&mut [Vec<f64>], &T),
        runtime: &Runtime<'_>,
    ) -> Result<Vec<Vec<f64>>> {
        // The first summand. The values of a single tree must be returned unchanged, and -0.0 + x
        // has the bits of x for each x, -0.0 included. The sums of a forest begin with 0.0, as in
        // its own predictions.
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

    /// Asks tree number `number` of each fold, each fold alone.
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

/// The answer of one tree of the folds of a group.
enum Answer {
    /// The leaf of each query row, in the tree of the fold that is asked about the row.
    Shared(Reached),
    /// For each fold, the leaves of the fold's test rows.
    Alone(Vec<Reached>),
}

/// The parameters, data and target that a fold's forest is grown on.
struct Learner<'a> {
    fold: &'a Fold<'a>,
    params: ValidForestParams,
    /// The columns of all rows; the first rows of categories are counted among the training rows.
    data: Dataset,
    /// The target of the training rows alone, from which samples are drawn.
    target: Target,
    /// `target` spread over all rows of the data: rows that are not trained on weigh 0.
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

    /// The bags of the fold's trees, drawn from the training rows alone.
    fn bags(&self, sample_ids: Option<&[u64]>) -> Result<Bags<'_>> {
        if self.params.bootstrap != Bootstrap::Poisson {
            return Bags::new(&self.target, &self.params, None);
        }
        let name = |&row: &u32| sample_ids.map_or(row.into(), |ids| ids[row as usize]);
        let ids: Vec<u64> = self.fold.train.iter().map(name).collect();
        Bags::new(&self.target, &self.params, Some(&ids))
    }

    /// The target that tree number `number` is grown on, spread over all rows of the data.
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

/// Adds to `sums` the values of the leaf that each row of an answer reaches.
fn add(sums: &mut [f64], reached: &Reached, n_values: usize) {
    add_leaves(sums, reached, n_values, 0..reached.leaves.len() as u32);
}

/// Adds to `sums` the values of the leaf that each of `rows` reaches.
fn add_leaves(sums: &mut [f64], reached: &Reached, n_values: usize, rows: impl Iterator<Item = u32>) {
    for (sums, row) in sums.chunks_exact_mut(n_values).zip(rows) {
        let leaf = reached.leaves[row as usize] as usize;
        let values = &reached.values[leaf * n_values..][..n_values];
        sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
    }
}
