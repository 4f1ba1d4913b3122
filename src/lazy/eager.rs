//! The answer of a lazy tree by growth: the tree is grown, asked, and dropped.

use super::{LazyTree, Reached};
use crate::data::query::Query;
use crate::data::rows::Row;
use crate::error::Result;
use crate::grow::grow;
use crate::runtime::Runtime;
use crate::tree::Walk;
use crate::tree::{TREE_LEAF, Tree};

/// Words of a stored node: feature, threshold, two children.
const WORDS_PER_NODE: u64 = 4;
/// Rows between two looks at the stop flag.
const BLOCK: usize = 1024;
/// In the table of leaves: no query row has reached this node.
const UNSEEN: u32 = u32::MAX;

/// The predictions of the grown tree.
pub fn ask(lazy: &LazyTree<'_>, query: &dyn Query, runtime: &Runtime<'_>) -> Result<Reached> {
    let tree = grow(lazy.data, lazy.target, lazy.params, lazy.number, runtime)?;
    let n_query = query.shape().0;
    let mut reached = Reached::new(n_query, false)?;
    let depths = visit_all(&tree, &mut reached);
    let mut numbers = vec![UNSEEN; tree.node_count()];
    for sample in 0..n_query {
        if sample.is_multiple_of(BLOCK) {
            runtime.check_interrupt()?;
        }
        let leaf = tree.leaf(Row::Asked(query, sample as u32), |_| ());
        if numbers[leaf] == UNSEEN {
            numbers[leaf] = reached.depths.len() as u32;
            reached.depths.push(depths[leaf]);
            reached.values.extend_from_slice(tree.value(leaf));
        }
        reached.leaves[sample] = numbers[leaf];
    }
    Ok(reached)
}

/// Counts all nodes as visited; returns their depths.
fn visit_all(tree: &Tree, reached: &mut Reached) -> Vec<u64> {
    let nodes = tree.nodes();
    let mut depths = vec![0; tree.node_count()];
    let mut held = vec![0; tree.node_count()];
    for node in 0..tree.node_count() {
        let n_rows = nodes.n_node_samples[node];
        reached.visits.visit(n_rows as usize, held[node]);
        if nodes.children_left[node] != TREE_LEAF {
            let (left, right) = (nodes.children_left[node] as usize, nodes.children_right[node] as usize);
            for (child, sibling) in [(left, right), (right, left)] {
                depths[child] = depths[node] + 1;
                held[child] = held[node] + (n_rows + nodes.n_node_samples[sibling]) as u64;
            }
        }
    }
    reached.visits.peak_words += WORDS_PER_NODE * tree.node_count() as u64;
    depths
}
