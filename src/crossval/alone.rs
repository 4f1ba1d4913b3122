//! What the trees of several folds of one data set predict, each for the rows that its fold is tested on, without the trees.
//!
//! Invariant: the tree of a fold is the one that is grown on the fold's training rows alone; that others are asked in the same
//! call does not show. The folds share the encoded columns; those that differ by few rows may descend [together](ask_shared),
//! all others are asked [one by one](ask_folds), at the cost of asking each [`LazyTree`] alone.

use crate::data::query::{Query, SomeRows};
use crate::error::Result;
use crate::lazy::{LazyTree, Reached, Traversal};
use crate::runtime::Runtime;

/// A tree of a fold: what [`LazyTree`] is, and the query rows that the fold is asked about.
#[derive(Debug, Clone, Copy)]
pub struct FoldTree<'a> {
    /// The tree. All rows that have a weight in its target are among `train`.
    pub tree: LazyTree<'a>,
    /// The fold's training rows, ascending.
    pub train: &'a [u32],
    /// The rows of the query that are asked about.
    pub test: &'a [u32],
}

/// What the trees of the folds with the same number predict for their test rows (rows of `query`): one [`Reached`] per fold,
/// in the order of the folds, and within it a leaf per test row. Folds may lack classes that others have: values are as
/// many as the fold's own target has.
pub fn ask_folds(folds: &[FoldTree<'_>], query: &dyn Query, runtime: &Runtime<'_>) -> Result<Vec<Reached>> {
    let ask = |fold: &FoldTree<'_>, runtime: &Runtime<'_>| {
        let traversal = Traversal::auto(fold.tree.params, fold.train.len(), fold.test.len());
        fold.tree.ask(&SomeRows::new(query, fold.test), traversal, false, runtime)
    };
    if folds.len() < runtime.n_threads() {
        folds.iter().map(|fold| ask(fold, runtime)).collect()
    } else {
        runtime.map(folds.iter().collect(), |fold| ask(fold, &runtime.serial()))
    }
}
