//! Minimal cost-complexity pruning (Breiman, Friedman, Olshen, Stone, "Classification and
//! Regression Trees", 1984, chapter 3). A leaf costs its impurity times its share of the weight,
//! plus a price `alpha`. For a given price, pruning finds the cheapest subtree with the root of the
//! whole tree; of equally cheap ones the smallest.
//!
//! As the price rises, inner nodes become leaves one by one. An inner node with the price at which
//! it becomes a leaf is a *link*; the link with the lowest price is the weakest. The least cost of
//! the subtree below a node is a concave function of the price, made of straight pieces: the sum of
//! the functions of the two children, up to the price from which the node is cheaper as a leaf. So
//! nodes are handled children first. The links of a node's subtree are the links of both children,
//! and the node's own link at the price where the costs cross. Links below the node at that price
//! or a higher one are dropped: the node *hides* them, because it becomes a leaf no later than they
//! do. The links that remain at the root, in the order of their prices, are the steps of the
//! pruning. The links are kept in leftist heaps (Crane, "Linear lists and priority queues as
//! balanced binary trees", 1972). Each link enters a heap once and leaves it at most once: O(nodes
//! log nodes), also for a tree that is a chain.
//!
//! Ties: a node hides descendants of the same price. Other links of one price stay separate steps,
//! the lower id first. Both are scikit-learn's rules.

use super::records::{Records, preorder};
use super::sets::CategorySets;
use super::{TREE_LEAF, Tree};
use crate::error::Result;
use crate::num::sort_by;
use crate::runtime::Runtime;

/// Marks an empty heap, or that there is no link.
const NONE: usize = usize::MAX;

/// The subtrees from the whole tree to its root, as the price per leaf rises.
#[derive(Debug, Clone, PartialEq)]
pub struct CostComplexityPath {
    /// The lowest price at which each subtree is the cheapest: 0 for the whole tree, then
    /// ascending.
    pub ccp_alphas: Vec<f64>,
    /// For each subtree, the sum over its leaves of impurity times share of the weight.
    pub impurities: Vec<f64>,
}

impl Tree {
    /// All subtrees that are the cheapest at some price, from the whole tree to its root alone.
    /// O(nodes log nodes).
    pub fn cost_complexity_path(&self, runtime: &Runtime<'_>) -> Result<CostComplexityPath> {
        let links = TreeLinks::of(self, runtime)?;
        let nodes = self.nodes();
        let leaves = (0..self.node_count()).filter(|&node| nodes.children_left[node] == TREE_LEAF);
        let mut impurity: f64 = leaves.map(|leaf| links.costs[leaf]).sum();
        let mut path = CostComplexityPath { ccp_alphas: vec![0.0], impurities: vec![impurity] };
        for node in links.in_turn() {
            // The last subtree is the root alone, whose cost is known without rounding of a sum.
            impurity = if node == 0 { links.costs[0] } else { impurity + links.rises[node] };
            path.ccp_alphas.push(links.alphas[node]);
            path.impurities.push(impurity);
        }
        Ok(path)
    }

    /// The cheapest subtree at a price of `ccp_alpha` per leaf; of equally cheap ones the smallest.
    /// O(nodes log nodes).
    pub fn pruned(&self, ccp_alpha: f64, runtime: &Runtime<'_>) -> Result<Self> {
        let links = TreeLinks::of(self, runtime)?;
        let mut becomes_leaf = vec![false; self.node_count()];
        for node in links.in_turn().into_iter().take_while(|&node| links.alphas[node] <= ccp_alpha) {
            becomes_leaf[node] = true;
        }
        self.cut_at(&becomes_leaf)
    }

    /// A copy of the tree without the descendants of the nodes for which `becomes_leaf` holds.
    fn cut_at(&self, becomes_leaf: &[bool]) -> Result<Self> {
        let mut records = Records::of(self);
        for (record, _) in records.nodes.iter_mut().zip(becomes_leaf).filter(|(_, is_leaf)| **is_leaf) {
            record.make_leaf();
        }
        (records.order, records.max_depth) = preorder(&records.nodes);
        // Sets are numbered anew, because the sets of removed nodes are gone.
        records.sets = CategorySets::default();
        for node in records.order.iter().map(|&node| node as usize).filter(|&node| !becomes_leaf[node]) {
            if let Some(set) = self.category_set(node) {
                records.nodes[node].threshold = records.sets.push(set) as f64;
            }
        }
        records.into_tree()
    }
}

/// The links of a tree, in heaps with the highest price on top. All arrays are indexed by node id;
/// a link is the id of its inner node.
struct TreeLinks {
    /// Cost of each node as a leaf: its impurity times its share of the weight.
    costs: Vec<f64>,
    /// Price at which each inner node becomes a leaf, unless an ancestor hides it.
    alphas: Vec<f64>,
    /// By how much the subtree below a link costs more once the link's node is a leaf (`rises`),
    /// and how many leaves the subtree then has less (`leaves`).
    rises: Vec<f64>,
    leaves: Vec<f64>,
    /// The two child heaps of each link (`left`, `right`), and the link's rank in the leftist heap:
    /// the distance to the nearest place without a child.
    left: Vec<usize>,
    right: Vec<usize>,
    ranks: Vec<u32>,
    /// Heap of the links of the whole tree, which is the id of its topmost link.
    top: usize,
}

impl TreeLinks {
    fn of(tree: &Tree, runtime: &Runtime<'_>) -> Result<Self> {
        let nodes = tree.nodes();
        let n = tree.node_count();
        let weight = tree.scaled_weights();
        let cost = |node: usize| weight(node) * nodes.impurity[node] / weight(0);
        let mut links = Self {
            costs: (0..n).map(cost).collect(),
            alphas: vec![0.0; n],
            rises: vec![0.0; n],
            leaves: vec![0.0; n],
            left: vec![NONE; n],
            right: vec![NONE; n],
            ranks: vec![1; n],
            top: NONE,
        };
        // The heap of a child's subtree: the child itself if it is an inner node, else NONE. The
        // link of an inner node always tops the heap of its subtree, because it hides links of
        // higher prices.
        let head = |child: i32| {
            let child = child as usize;
            if nodes.children_left[child] == TREE_LEAF { NONE } else { child }
        };
        // Children have higher ids than their parents, so reverse order handles children first.
        for node in (0..n).rev().filter(|&node| nodes.children_left[node] != TREE_LEAF) {
            runtime.check_interrupt()?;
            let (left, right) = (nodes.children_left[node], nodes.children_right[node]);
            let below = links.merge(head(left), head(right));
            links.add(node, below, links.costs[left as usize] + links.costs[right as usize]);
            links.top = node;
        }
        Ok(links)
    }

    /// Makes a node the top of the heap `below` of its descendants' links, and drops the links that
    /// the node hides. The node's children, as leaves, cost `cost` together.
    fn add(&mut self, node: usize, mut below: usize, mut cost: f64) {
        let mut n_leaves = 2.0;
        loop {
            let alpha = (self.costs[node] - cost) / (n_leaves - 1.0);
            // Rounding may make the price negative, and infinite costs make it NaN.
            let alpha = if alpha.is_nan() { f64::INFINITY } else { alpha.max(0.0) };
            if below == NONE || self.alphas[below] < alpha {
                self.alphas[node] = alpha;
                break;
            }
            cost -= self.rises[below];
            n_leaves += self.leaves[below];
            below = self.merge(self.left[below], self.right[below]);
        }
        self.rises[node] = self.costs[node] - cost;
        self.leaves[node] = n_leaves - 1.0;
        self.left[node] = below;
    }

    /// Merges two heaps. The recursion is logarithmically deep, because it follows right children,
    /// whose ranks fall at each step.
    fn merge(&mut self, a: usize, b: usize) -> usize {
        if a == NONE || b == NONE {
            return a.min(b);
        }
        let (top, other) = if self.alphas[a] >= self.alphas[b] { (a, b) } else { (b, a) };
        let mut low = self.merge(self.right[top], other);
        if self.rank(self.left[top]) < self.rank(low) {
            std::mem::swap(&mut self.left[top], &mut low);
        }
        self.right[top] = low;
        self.ranks[top] = self.rank(low) + 1;
        top
    }

    fn rank(&self, heap: usize) -> u32 {
        self.ranks.get(heap).copied().unwrap_or(0)
    }

    /// The links of the whole tree, ordered by price and then by id.
    fn in_turn(&self) -> Vec<usize> {
        let (mut links, mut stack) = (Vec::new(), vec![self.top]);
        while let Some(link) = stack.pop() {
            if link != NONE {
                links.push(link);
                stack.extend([self.left[link], self.right[link]]);
            }
        }
        sort_by(&mut links, |a, b| self.alphas[a].total_cmp(&self.alphas[b]).then(a.cmp(&b)));
        links
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::error::Error;
    use crate::tree::{NodeArrays, TREE_UNDEFINED};

    /// Makes a tree from arrays in preorder. In these tests all leaves have impurity 0.
    fn tree(children_left: Vec<i32>, children_right: Vec<i32>, weights: Vec<f64>, impurity: Vec<f64>) -> Tree {
        let n = weights.len();
        let is_leaf = |node: usize| children_left[node] == TREE_LEAF;
        let nodes = NodeArrays {
            feature: (0..n).map(|node| if is_leaf(node) { TREE_UNDEFINED } else { node as i32 }).collect(),
            threshold: (0..n).map(|node| if is_leaf(node) { -2.0 } else { 0.5 }).collect(),
            missing_go_to_left: vec![0; n],
            n_node_samples: weights.iter().map(|&weight| weight as i64).collect(),
            weighted_n_node_samples: weights,
            value: (0..n).map(|node| node as f64).collect(),
            children_left,
            children_right,
            impurity,
        };
        Tree::new(n, vec![1], nodes).unwrap()
    }

    /// Root 0 with the inner nodes 1 (leaves 2, 3) and 4 (leaves 5, 6); 8 rows.
    fn two_levels(impurity: [f64; 3]) -> Tree {
        let [root, left, right] = impurity;
        tree(
            vec![1, 2, -1, -1, 5, -1, -1],
            vec![4, 3, -1, -1, 6, -1, -1],
            vec![8.0, 4.0, 2.0, 2.0, 4.0, 2.0, 2.0],
            vec![root, left, 0.0, 0.0, right, 0.0, 0.0],
        )
    }

    fn prune(tree: &Tree, ccp_alpha: f64) -> Tree {
        tree.pruned(ccp_alpha, &Runtime::unstoppable()).unwrap()
    }

    #[test]
    fn links_come_in_turn() {
        // Costs: root 1, node 1: 4/8 * 0.5 = 0.25, node 4: 4/8 * 0.25 = 0.125. Turning node 1 or 4
        // into a leaf saves one leaf, so the prices are 0.125 (node 4) and 0.25 (node 1). Then the
        // root costs 1 - 0.375 = 0.625 more for one leaf less.
        let tree = two_levels([1.0, 0.5, 0.25]);
        let path = tree.cost_complexity_path(&Runtime::unstoppable()).unwrap();
        assert_eq!(path.ccp_alphas, [0.0, 0.125, 0.25, 0.625]);
        assert_eq!(path.impurities, [0.0, 0.125, 0.375, 1.0]);
        assert_eq!(prune(&tree, 0.12), tree);
        let pruned = prune(&tree, 0.125);
        assert_eq!(pruned.nodes().children_left, [1, 2, -1, -1, -1]);
        assert_eq!(pruned.nodes().children_right, [4, 3, -1, -1, -1]);
        assert_eq!(pruned.nodes().feature, [0, 1, -2, -2, -2]);
        assert_eq!(pruned.nodes().value, [0.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!((pruned.max_depth(), pruned.n_leaves()), (2, 3));
        assert_eq!(prune(&tree, 0.3).n_leaves(), 2);
        assert_eq!(prune(&tree, 1.0).node_count(), 1);
    }

    #[test]
    fn equal_links_stay_apart_and_a_node_hides_those_below() {
        // Both inner nodes have the price 0.125, the root has (0.5 - 0.25) / 1 = 0.25.
        let apart = two_levels([0.5, 0.25, 0.25]).cost_complexity_path(&Runtime::unstoppable()).unwrap();
        assert_eq!(apart.ccp_alphas, [0.0, 0.125, 0.125, 0.25]);
        assert_eq!(apart.impurities, [0.0, 0.125, 0.25, 0.5]);
        // After both inner nodes the root would have (0.75 - 0.5) / 1 = 0.25, the price of each of
        // them. So the root hides both, and becomes a leaf at 0.75 / 3.
        let hidden = two_levels([0.75, 0.5, 0.5]).cost_complexity_path(&Runtime::unstoppable()).unwrap();
        assert_eq!(hidden.ccp_alphas, [0.0, 0.25]);
        assert_eq!(hidden.impurities, [0.0, 0.75]);
    }

    #[test]
    fn a_chain_of_splits_is_no_harder() {
        // Every inner node has a leaf on its left, and hides all links below it.
        let n = 200_001;
        let inner = |node: usize| node.is_multiple_of(2) && node + 1 < n;
        let children_left = (0..n).map(|node| if inner(node) { node as i32 + 1 } else { TREE_LEAF }).collect();
        let children_right = (0..n).map(|node| if inner(node) { node as i32 + 2 } else { TREE_LEAF }).collect();
        let weights: Vec<f64> =
            (0..n).map(|node| if node.is_multiple_of(2) { (n - node) as f64 } else { 1.0 }).collect();
        let impurity = (0..n).map(|node| if inner(node) { 1.0 } else { 0.0 }).collect();
        let tree = tree(children_left, children_right, weights, impurity);
        let path = tree.cost_complexity_path(&Runtime::unstoppable()).unwrap();
        assert!(path.ccp_alphas.is_sorted() && path.impurities.is_sorted());
        assert_eq!(*path.impurities.last().unwrap(), 1.0);
    }

    #[test]
    fn a_raised_stop_flag_ends_pruning() {
        let (tree, stop) = (two_levels([1.0, 0.5, 0.25]), AtomicBool::new(true));
        let runtime = Runtime::new(1, &stop);
        assert_eq!(tree.cost_complexity_path(&runtime), Err(Error::Interrupted));
        assert_eq!(tree.pruned(0.125, &runtime), Err(Error::Interrupted));
    }
}
