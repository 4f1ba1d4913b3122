//! Forms of a tree that are made when they are first needed. They follow from the tree, so any two are equal.

use std::sync::OnceLock;

use crate::tuning::tuned;

tuned! {
    /// A batch is worth making a form of trees that have at most this many splits per row of the batch.
    /// Clusters of a split take some 60 ns to make; to a row they save some 25 ns (bench `sweep`).
    fn splits_per_row() -> usize = 4;
}

/// A form of a tree; nothing where the tree has none.
#[derive(Debug)]
pub struct Made<T>(OnceLock<Option<T>>);

impl<T> Made<T> {
    pub fn get_or_make(&self, make: impl FnOnce() -> Option<T>) -> Option<&T> {
        self.0.get_or_init(make).as_ref()
    }

    /// The form of a tree with `n_splits` splits, for a batch of `n_rows` rows; nothing if it is
    /// still to be made and the batch is too small for that.
    pub fn for_batch(&self, n_splits: usize, n_rows: usize, make: impl FnOnce() -> Option<T>) -> Option<&T> {
        if n_splits > n_rows.saturating_mul(splits_per_row()) { self.get() } else { self.get_or_make(make) }
    }

    /// The form, if it has been made.
    pub fn get(&self) -> Option<&T> {
        self.0.get()?.as_ref()
    }
}

impl<T> Default for Made<T> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

impl<T> Clone for Made<T> {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl<T> PartialEq for Made<T> {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}
