//! The predictions of the trees of several folds of one data set, one tree per fold, each for the
//! fold's test rows, without growing the trees.
//!
//! Invariant: the tree of a fold is the tree grown on the fold's training rows alone, whatever
//! other folds are asked in the same call. All folds share the encoded columns. Folds whose
//! training rows differ in few rows may descend [together](ask_shared). All others are asked [one
//! by one](ask_folds), each at the cost of asking its [`LazyTree`] alone.

use crate::data::query::{Query, SomeRows};
use crate::error::Result;
use crate::lazy::{LazyTree, Reached, Traversal};
use crate::runtime::Runtime;

/// The tree of a fold, with the fold's training rows and test rows.
#[derive(Debug, Clone, Copy)]
pub struct FoldTree<'a> {
    /// The tree. All rows with a weight above 0 in its target must be among `train`.
    pub tree: LazyTree<'a>,
    /// The fold's training rows, ascending.
    pub train: &'a [u32],
    /// The fold's test rows, which are rows of the query.
    pub test: &'a [u32],
}

/// Finds the leaf of each test row of each fold in the fold's tree. Returns one [`Reached`] per
/// fold, in the order of the folds, whose row `i` is the fold's test row `i`. A fold may lack
/// classes that others have: its leaves have as many values as the fold's own target asks for.
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
