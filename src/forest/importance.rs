//! Feature importances from a forest.

use super::Forest;
use super::predict::divide;
use crate::error::Result;

impl Forest {
    /// Mean of the trees' normalised importances, normalised; trees of one node are left out, as in scikit-learn. Zeros if
    /// there are no others. Shape `(n_features,)`. O(nodes).
    pub fn compute_feature_importances(&self) -> Result<Vec<f64>> {
        let mut importances = vec![0.0; self.n_features()];
        let mut n_trees = 0.0;
        for tree in self.trees().filter(|tree| tree.node_count() > 1) {
            n_trees += 1.0;
            for (sum, importance) in importances.iter_mut().zip(tree.unpack()?.compute_feature_importances(true)) {
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
}
