//! Trees whose leaves are filled by other rows than those that have chosen the splits.

use super::sets::CategorySets;
use super::{NodeArrays, TREE_LEAF, TREE_UNDEFINED, Tree, VALUES, n_values};
use crate::error::Result;
use crate::memory;
use crate::runtime::Runtime;

/// What other rows say of a node.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Filling {
    /// Number of rows.
    pub n_rows: i64,
    /// Sum of their weights.
    pub weight: f64,
    pub impurity: f64,
}

impl Tree {
    /// The tree with what other rows say of its nodes: `filling` returns it, and adds to `value` what the
    /// node predicts. Leaves predict classes, or a number for each output that has one. A node that has no
    /// rows is left out, and its sibling takes the place of their parent. The root has rows. O(nodes).
    pub fn refilled(
        &self,
        n_classes: Vec<u32>,
        n_rows: &dyn Fn(usize) -> i64,
        filling: &dyn Fn(usize, &mut Vec<f64>) -> Filling,
        runtime: &Runtime<'_>,
    ) -> Result<Self> {
        let old = self.nodes();
        // The node that stands in the place of each node: itself, unless it has a child without rows.
        let mut stands_for: Vec<u32> = memory::zeros(VALUES, self.node_count())?;
        let mut n_kept = 0;
        for node in (0..self.node_count()).rev() {
            runtime.check_in_turn(node)?;
            let children = [old.children_left[node], old.children_right[node]];
            let empty = |child: i32| child != TREE_LEAF && n_rows(child as usize) == 0;
            stands_for[node] = match children.map(empty) {
                [true, _] => stands_for[children[1] as usize],
                [_, true] => stands_for[children[0] as usize],
                _ => node as u32,
            };
            n_kept += usize::from(stands_for[node] as usize == node && n_rows(node) > 0);
        }
        let mut nodes = NodeArrays::with_room(n_kept, n_kept.saturating_mul(n_values(&n_classes)))?;
        let mut sets = CategorySets::default();
        // Nodes in preorder; with a right child its new parent.
        let mut pending = vec![(stands_for[0] as usize, None::<usize>)];
        while let Some((node, parent)) = pending.pop() {
            let id = nodes.feature.len();
            runtime.check_in_turn(id)?;
            if let Some(parent) = parent {
                nodes.children_right[parent] = id as i32;
            }
            let is_leaf = old.children_left[node] == TREE_LEAF;
            nodes.children_left.push(if is_leaf { TREE_LEAF } else { id as i32 + 1 });
            nodes.children_right.push(TREE_LEAF);
            nodes.feature.push(if is_leaf { TREE_UNDEFINED } else { old.feature[node] });
            nodes.threshold.push(match self.category_set(node) {
                Some(set) => sets.push(set) as f64,
                None => old.threshold[node],
            });
            nodes.missing_go_to_left.push(old.missing_go_to_left[node]);
            let Filling { n_rows, weight, impurity } = filling(node, &mut nodes.value);
            nodes.impurity.push(impurity);
            nodes.n_node_samples.push(n_rows);
            nodes.weighted_n_node_samples.push(weight);
            if !is_leaf {
                let place = |child: i32| stands_for[child as usize] as usize;
                pending.push((place(old.children_right[node]), Some(id)));
                pending.push((place(old.children_left[node]), None));
            }
        }
        Self::with_categories(self.n_features, n_classes, nodes, self.n_categories.clone(), sets)
    }
}
