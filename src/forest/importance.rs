//! Feature importances from a forest.

use super::Forest;
use crate::error::Result;
use crate::memory;
use crate::runtime::Runtime;
use crate::tree::packed::PackedTree;
use crate::tree::predict::divide;

impl Forest {
    /// The mean of the trees' normalised importances, normalised again to sum to 1. Trees of one
    /// node are left out, as in scikit-learn; if there are no other trees, all importances are 0.
    /// Shape `(n_features,)`. O(nodes).
    pub fn compute_feature_importances(&self, runtime: &Runtime<'_>) -> Result<Vec<f64>> {
        let mut importances = memory::zeros("feature importances", self.n_features())?;
        let mut n_trees = 0.0;
        for tree in self.trees().filter(|tree| tree.node_count() > 1) {
            runtime.check_interrupt()?;
            n_trees += 1.0;
            for (sum, importance) in importances.iter_mut().zip(of_tree(tree)?) {
                *sum += importance;
            }
        }
        if n_trees > 0.0 {
            divide(&mut importances, n_trees);
        }
        let total: f64 = importances.iter().sum();
        if total > 0.0 {
            divide(&mut importances, total);
        }
        Ok(importances)
    }

    /// The normalised importances of each tree; zeros for a tree of one node. Row-major `(n_trees,
    /// n_features)`. Threads share the trees; a tree is unpacked only while it is read.
    pub fn tree_importances(&self, runtime: &Runtime<'_>) -> Result<Vec<f64>> {
        let n_features = self.n_features();
        let mut importances = memory::zeros("feature importances", n_features.saturating_mul(self.len()))?;
        let rows = self.trees().zip(importances.chunks_exact_mut(n_features.max(1))).collect();
        runtime.map(rows, |(tree, row): (&PackedTree, &mut [f64])| {
            runtime.check_interrupt()?;
            row.copy_from_slice(&of_tree(tree)?);
            Ok(())
        })?;
        Ok(importances)
    }
}

/// The normalised importances from one tree.
fn of_tree(tree: &PackedTree) -> Result<Vec<f64>> {
    tree.unpack()?.compute_feature_importances(true)
}
