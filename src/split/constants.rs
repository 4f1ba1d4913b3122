//! Features that do not vary in a node. A feature that does not vary in a node does not vary in the
//! node's descendants either, so its column is not read again there.

use crate::bitset::Bitset;
use std::sync::Arc;

/// The features that are known not to vary in a node.
#[derive(Debug, Clone)]
pub struct ConstantFeatures {
    set: Bitset,
    /// How many entries the columns of these features store. Only used for sparse data.
    nnz: usize,
}

impl ConstantFeatures {
    /// None of `n_features` features is known to be constant.
    pub fn none(n_features: usize) -> Self {
        Self { set: Bitset::new(n_features), nnz: 0 }
    }

    pub(crate) fn contains(&self, feature: u32) -> bool {
        self.set.contains(feature)
    }

    pub(crate) fn nnz(&self) -> usize {
        self.nnz
    }

    /// Adds `features`; `None` if there are none. `column_nnz` tells how many entries a column
    /// stores.
    pub(crate) fn with(&self, features: &[u32], column_nnz: impl Fn(u32) -> usize) -> Option<Arc<Self>> {
        // Whoever reads all columns at once may list features that are known already.
        let new: Vec<u32> = features.iter().copied().filter(|&feature| !self.contains(feature)).collect();
        if new.is_empty() {
            return None;
        }
        let mut extended = self.clone();
        extended.set.insert_all(&new);
        extended.nnz += new.into_iter().map(column_nnz).sum::<usize>();
        Some(Arc::new(extended))
    }
}
