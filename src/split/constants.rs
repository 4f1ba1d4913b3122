//! Features that do not vary in a node. What does not vary in a node does not vary in its descendants, so their columns
//! are not read again.

use crate::bitset::Bitset;
use std::sync::Arc;

/// Features known not to vary in a node.
#[derive(Debug, Clone)]
pub struct ConstantFeatures {
    set: Bitset,
    /// Entries that their columns store.
    nnz: usize,
}

impl ConstantFeatures {
    /// Nothing is known of `n_features` features.
    pub fn none(n_features: usize) -> Self {
        Self { set: Bitset::new(n_features), nnz: 0 }
    }

    pub(crate) fn contains(&self, feature: u32) -> bool {
        self.set.contains(feature)
    }

    pub(crate) fn nnz(&self) -> usize {
        self.nnz
    }

    /// With these features too, if there are any.
    pub(crate) fn with(&self, features: &[u32], column_nnz: impl Fn(u32) -> usize) -> Option<Arc<Self>> {
        if features.is_empty() {
            return None;
        }
        let mut extended = self.clone();
        extended.set.insert_all(features);
        extended.nnz += features.iter().map(|&feature| column_nnz(feature)).sum::<usize>();
        Some(Arc::new(extended))
    }
}
