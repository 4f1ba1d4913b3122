//! Feature importances from a grown tree.

use super::predict::divide;
use super::{TREE_LEAF, Tree};
use crate::error::Result;
use crate::memory;

impl Tree {
    /// The mean decrease of impurity per feature (Breiman et al., "Classification and Regression
    /// Trees", 1984): the sum of the decreases of all splits on the feature, each weighted by the
    /// share of the node in the total weight. With `normalize` the importances sum to 1, unless all
    /// are 0. Shape `(n_features,)`. O(nodes).
    pub fn compute_feature_importances(&self, normalize: bool) -> Result<Vec<f64>> {
        let nodes = self.nodes();
        let mut importances = memory::zeros("feature importances", self.n_features())?;
        let weight = self.scaled_weights();
        let weighted = |node: usize| weight(node) * nodes.impurity[node];
        for node in 0..self.node_count() {
            let left = nodes.children_left[node];
            if left != TREE_LEAF {
                let children = weighted(left as usize) + weighted(nodes.children_right[node] as usize);
                let decrease = weighted(node) - children;
                // Only rounding makes a decrease negative.
                if decrease > 0.0 {
                    importances[nodes.feature[node] as usize] += decrease;
                }
            }
        }
        divide(&mut importances, weight(0));
        let total: f64 = importances.iter().sum();
        if normalize && total > 0.0 {
            divide(&mut importances, total);
        }
        Ok(importances)
    }
}
