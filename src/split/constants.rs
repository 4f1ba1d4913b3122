//! Features by which a node is not split. A feature that does not vary in a node does not vary in the
//! node's descendants either, so its column is not read again there. A feature that may not interact with
//! those above a node may not interact with them below it either; it counts as one that does not vary.

use crate::bitset::Bitset;
use std::sync::Arc;

/// The features that are known not to vary in a node, or may not split it.
#[derive(Debug, Clone)]
pub struct ConstantFeatures {
    set: Bitset,
    /// The groups of features that have all features above the node; none without interaction constraints.
    groups: Arc<[u32]>,
    /// How many entries the columns of these features store. Only used for sparse data.
    nnz: usize,
}

impl ConstantFeatures {
    /// None of `n_features` features is known to be constant.
    pub fn none(n_features: usize) -> Self {
        Self { set: Bitset::new(n_features), groups: Arc::default(), nnz: 0 }
    }

    /// Adds the features that may not interact, at the root: those that are in none of the groups.
    pub(crate) fn at_root(self, of_all: &[Vec<u32>], n_features: usize) -> Self {
        let groups = (0..of_all.len() as u32).collect();
        self.within(groups, of_all, n_features, &|_| 0)
    }

    /// These features and those that may not interact with `feature`, for the children of a node that is
    /// split by it. `of_all` are the groups of features that may be on one path.
    pub(crate) fn below(
        self: Arc<Self>,
        feature: u32,
        of_all: &[Vec<u32>],
        n_features: usize,
        column_nnz: &dyn Fn(u32) -> usize,
    ) -> Arc<Self> {
        let has = |&group: &u32| of_all[group as usize].binary_search(&feature).is_ok();
        let groups: Arc<[u32]> = self.groups.iter().copied().filter(has).collect();
        if groups.len() == self.groups.len() {
            return self;
        }
        Arc::new(Arc::unwrap_or_clone(self).within(groups, of_all, n_features, column_nnz))
    }

    /// Adds the features that are in none of these groups.
    fn within(
        self,
        groups: Arc<[u32]>,
        of_all: &[Vec<u32>],
        n_features: usize,
        column_nnz: &dyn Fn(u32) -> usize,
    ) -> Self {
        let mut allowed = Bitset::new(n_features);
        groups.iter().for_each(|&group| allowed.insert_all(&of_all[group as usize]));
        let others: Vec<u32> = (0..n_features as u32).filter(|&feature| !allowed.contains(feature)).collect();
        let extended = self.with(&others, column_nnz).map_or(self, Arc::unwrap_or_clone);
        Self { groups, ..extended }
    }

    /// Whether the same features may split all nodes below, but for those that will not vary.
    pub fn is_settled(&self) -> bool {
        self.groups.len() <= 1
    }

    /// These features.
    pub(crate) fn set(&self) -> &Bitset {
        &self.set
    }

    pub(crate) fn contains(&self, feature: u32) -> bool {
        self.set.contains(feature)
    }

    pub(crate) fn nnz(&self) -> usize {
        self.nnz
    }

    /// Adds `features`; `None` if there are none. `column_nnz` tells how many entries a column
    /// stores.
    pub(crate) fn with(&self, features: &[u32], column_nnz: &dyn Fn(u32) -> usize) -> Option<Arc<Self>> {
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
