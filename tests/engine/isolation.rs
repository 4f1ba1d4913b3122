//! Isolation forests against a recursion that reads every cell.

use ndarray::Array2;
use proptest::collection::vec;
use proptest::prelude::*;
use spinney::criterion::isolation::mean_path_length;
use spinney::forest::{IsolationParams, grow_isolation_forest, tree_features};
use spinney::rng::{NodeKey, Side, seed_of_tree};
use spinney::tree::{TREE_LEAF, Tree};

use super::common::storages::storages;
use super::common::{config, matrices, runtime, with_holes};

/// A node of a tree, in preorder: the feature, the threshold and the side of missing values of a split; the
/// rows, the weight, and the length of a path.
#[derive(Debug, PartialEq)]
struct Node {
    split: Option<(usize, f64, bool)>,
    n_samples: usize,
    weight: f64,
    length: f64,
}

/// A tree that grows.
struct Twin<'a> {
    x: &'a Array2<f64>,
    counts: Vec<u64>,
    features: Vec<u32>,
    max_depth: u64,
    nodes: Vec<Node>,
}

impl Twin<'_> {
    fn grow(&mut self, rows: &[usize], key: NodeKey, depth: u64) {
        let weight: u64 = rows.iter().map(|&row| self.counts[row]).sum();
        let length = depth as f64 + mean_path_length(weight);
        let split = if depth < self.max_depth && weight > 1 { self.split(rows, key) } else { None };
        self.nodes.push(Node { split, n_samples: rows.len(), weight: weight as f64, length });
        if let Some((feature, threshold, missing_left)) = split {
            let goes_left = |&&row: &&usize| {
                let value = self.x[[row, feature]];
                if value.is_nan() { missing_left } else { value <= threshold }
            };
            let (left, right): (Vec<usize>, Vec<usize>) = rows.iter().partition(goes_left);
            self.grow(&left, key.child(Side::Left), depth + 1);
            self.grow(&right, key.child(Side::Right), depth + 1);
        }
    }

    /// The split by the first feature of the node's order that varies.
    fn split(&self, rows: &[usize], key: NodeKey) -> Option<(usize, f64, bool)> {
        let order = key.feature_order(self.x.ncols());
        let mut features = self.features.clone();
        features.sort_by_key(|&feature| order.position(feature));
        features.into_iter().find_map(|feature| {
            let of_rows = || rows.iter().map(|&row| self.x[[row, feature as usize]]);
            let known = || of_rows().filter(|value| !value.is_nan());
            let (low, high) = (known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max));
            let has_missing = of_rows().any(f64::is_nan);
            let threshold = low + (high - low) * key.threshold_position(feature);
            let heavier = |left: &dyn Fn(f64) -> bool| {
                let weight = |is_left: bool| -> u64 {
                    let rows = rows.iter().filter(|&&row| left(self.x[[row, feature as usize]]) == is_left);
                    rows.map(|&row| self.counts[row]).sum()
                };
                weight(true) > weight(false)
            };
            match (low < high, has_missing) {
                (true, true) => Some((feature as usize, threshold, key.side_of_missing(feature) == Side::Left)),
                (true, false) => Some((feature as usize, threshold, heavier(&|value| value <= threshold))),
                (false, true) if low == high => Some((feature as usize, f64::INFINITY, false)),
                (false, _) => None,
            }
        })
    }
}

/// The nodes of a tree of the engine, in preorder.
fn nodes(tree: &Tree) -> Vec<Node> {
    let arrays = tree.nodes();
    let node = |id: usize| {
        let split = (arrays.children_left[id] != TREE_LEAF)
            .then(|| (arrays.feature[id] as usize, arrays.threshold[id], arrays.missing_go_to_left[id] != 0));
        Node {
            split,
            n_samples: arrays.n_node_samples[id] as usize,
            weight: arrays.weighted_n_node_samples[id],
            length: tree.value(id)[0],
        }
    };
    (0..tree.node_count()).map(node).collect()
}

proptest! {
    #![proptest_config(config(64))]

    #[test]
    fn trees_are_those_of_a_plain_recursion(
        x in with_holes(matrices(2..=40usize, 1..=8usize)),
        drawn in vec(vec(0..40usize, 1..60), 1..4),
        first_tree in 0..3u64, max_depth in 1..9u64, n_own in 1..9u64, seed: u64,
    ) {
        let (n, m) = x.dim();
        let bags: Vec<Vec<u32>> =
            drawn.iter().map(|rows| rows.iter().map(|row| (row % n) as u32).collect()).collect();
        let max_features = Some(n_own).filter(|&n_own| n_own < m as u64);
        let params = IsolationParams { seed, first_tree, max_depth, max_features };
        let expected: Vec<Vec<Node>> = (first_tree..).zip(&bags).map(|(tree, bag)| {
            let mut counts = vec![0; n];
            for &row in bag {
                counts[row as usize] += 1;
            }
            let rows: Vec<usize> = (0..n).filter(|&row| counts[row] > 0).collect();
            let features = tree_features(seed_of_tree(seed, tree), m, max_features.unwrap_or(m as u64));
            let mut twin = Twin { x: &x, counts, features, max_depth, nodes: Vec::new() };
            twin.grow(&rows, NodeKey::root(seed, tree), 0);
            twin.nodes
        }).collect();
        let bags: Vec<&[u32]> = bags.iter().map(Vec::as_slice).collect();
        for (storage, data) in storages(&x, seed) {
            for n_threads in [1, 2] {
                let forest = grow_isolation_forest(&data, &bags, &params, &runtime(n_threads)).unwrap();
                let grown: Vec<Vec<Node>> = forest.trees().map(|tree| nodes(&tree.unpack().unwrap())).collect();
                prop_assert_eq!(&grown, &expected, "{}", storage);
            }
        }
    }
}

#[test]
fn rows_must_exist() {
    let x = Array2::<f64>::zeros((3, 1));
    let (_, data) = storages(&x, 0).swap_remove(0);
    let params = IsolationParams { seed: 0, first_tree: 0, max_depth: 2, max_features: None };
    let error = grow_isolation_forest(&data, &[&[0, 3]], &params, &runtime(1)).unwrap_err();
    assert_eq!(error.to_string(), "bags must be rows below 3. Got row 3 instead.");
}
