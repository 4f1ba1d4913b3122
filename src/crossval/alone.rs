//! The folds whose trees descend one by one, each at the cost of asking its [`LazyTree`] alone.
//!
//! The tree of a fold is the tree grown on the fold's training rows alone, whatever other folds are
//! asked in the same call. All folds share the encoded columns.

use std::borrow::Cow;

use super::{CrossValidation, Fold};
use crate::data::query::{Query, SomeRows};
use crate::data::{Dataset, Target};
use crate::error::Result;
use crate::forest::grow::Bags;
use crate::lazy::{LazyTree, Reached, Traversal};
use crate::params::{Bootstrap, ValidForestParams};
use crate::runtime::Runtime;

/// The parameters, data and target that a fold's forest is grown on.
pub(super) struct Learner<'a> {
    fold: &'a Fold<'a>,
    /// The numbers of the training rows.
    train: Cow<'a, [u32]>,
    params: ValidForestParams,
    /// The columns of all rows; categories have the identities that follow from the training rows.
    data: Dataset,
    /// The target of the training rows alone, from which samples are drawn.
    target: Target,
    /// `target` spread over all rows of the data: rows that are not trained on weigh 0.
    spread: Target,
}

impl<'a> Learner<'a> {
    pub fn new(all: &CrossValidation<'_>, fold: &'a Fold<'a>, runtime: &Runtime<'_>) -> Result<Self> {
        runtime.check_interrupt()?;
        let params = all.params_of(fold)?;
        let train = fold.train.list(all.data.n_samples());
        let target = all.target.alone(&train, fold.sample_weight, runtime)?;
        let spread = target.spread(&train, all.target);
        let data = all.data.identified(&target, Some(&train), runtime)?.into_owned();
        Ok(Self { fold, train, params, data, target, spread })
    }

    /// The bags of the fold's trees, drawn from the training rows alone.
    pub fn bags(&self, sample_ids: Option<&[u64]>) -> Result<Bags<'_>> {
        if self.params.bootstrap != Bootstrap::Poisson {
            return Bags::new(&self.target, &self.params, None);
        }
        let name = |&row: &u32| sample_ids.map_or(row.into(), |ids| ids[row as usize]);
        let ids: Vec<u64> = self.train.iter().map(name).collect();
        Bags::new(&self.target, &self.params, Some(&ids))
    }

    /// The bag of tree number `number`: the data, and the target spread over all rows of the data.
    pub fn bag(&self, bags: &Bags<'_>, number: u64, runtime: &Runtime<'_>) -> Result<(Cow<'_, Dataset>, Target)> {
        let bag = bags.bag(number, runtime)?;
        let data = bags.order(&self.data, Some(&self.train), &bag, runtime)?;
        Ok((data, bag.target.spread(&self.train, &self.spread)))
    }

    /// Values per prediction. A fold may lack classes that others have: it has the number of values that its
    /// own target asks for.
    pub fn n_values(&self) -> usize {
        crate::tree::n_values(&self.target.n_classes())
    }

    /// Finds the leaf of each test row in tree number `number`, which is grown on this data and
    /// target.
    pub fn ask(
        &self,
        (data, target): &(Cow<'_, Dataset>, Target),
        number: u64,
        query: &dyn Query,
        runtime: &Runtime<'_>,
    ) -> Result<Reached> {
        let test = self.fold.test;
        let tree = LazyTree { data, target, params: self.params.tree(), number };
        let traversal = Traversal::auto(tree.params, self.train.len(), test.len());
        tree.ask(&SomeRows::new(query, test), traversal, false, runtime)
    }
}

/// Finds the leaf of each test row of each fold in the fold's tree number `number`, which is grown
/// on the data and the target beside the fold. Returns one [`Reached`] per fold, in the order of
/// the folds, whose row `i` is the fold's test row `i`.
pub(super) fn ask_folds(
    folds: Vec<(&Learner<'_>, &(Cow<'_, Dataset>, Target))>,
    number: u64,
    query: &dyn Query,
    runtime: &Runtime<'_>,
) -> Result<Vec<Reached>> {
    if folds.len() < runtime.n_threads() {
        folds.into_iter().map(|(fold, bag)| fold.ask(bag, number, query, runtime)).collect()
    } else {
        runtime.map(folds, |(fold, bag)| fold.ask(bag, number, query, &runtime.serial()))
    }
}
