//! Isolation forests against a recursion that reads every cell.

use ndarray::{Array2, ShapeBuilder};
use proptest::collection::vec;
use proptest::prelude::*;
use spinney::criterion::mean_path_length;
use spinney::data::{EncodedMatrix, Format, Matrix};
use spinney::forest::{
    Forest, IsolationParams, grow_isolation_forest, grow_isolation_forest_of_numbers, tree_features,
};
use spinney::rng::{NodeKey, Side, seed_of_tree};
use spinney::tree::{TREE_LEAF, Tree};

use super::common::storages::storages;
use super::common::{Sparse, config, matrices, noise, runtime, with_holes};

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

/// Bags, the number of the first tree, the largest depth, the features of a tree, and the seed.
type Case = (Vec<Vec<usize>>, u64, u64, u64, u64);

fn cases(n_features: u64) -> impl Strategy<Value = Case> {
    (vec(vec(0..40usize, 1..60), 1..4), 0..3u64, 1..9u64, 1..=n_features, any::<u64>())
}

/// Compares the trees of a matrix in all storages with those of a plain recursion.
fn check(x: &Array2<f64>, (drawn, first_tree, max_depth, n_own, seed): Case) {
    let (n, m) = x.dim();
    let bags = drawn.iter().map(|rows| {
        let mut bag: Vec<u32> = rows.iter().map(|row| (row % n) as u32).collect();
        bag.sort_unstable();
        bag
    });
    let bags: Vec<Vec<u32>> = bags.collect();
    let max_features = Some(n_own).filter(|&n_own| n_own < m as u64);
    let params = IsolationParams { seed, first_tree, max_depth, max_features };
    let expected = (first_tree..).zip(&bags).map(|(tree, bag)| {
        let mut counts = vec![0; n];
        for &row in bag {
            counts[row as usize] += 1;
        }
        let rows: Vec<usize> = (0..n).filter(|&row| counts[row] > 0).collect();
        let features = tree_features(seed_of_tree(seed, tree), m, max_features.unwrap_or(m as u64));
        let mut twin = Twin { x, counts, features, max_depth, nodes: Vec::new() };
        twin.grow(&rows, NodeKey::root(seed, tree), 0);
        twin.nodes
    });
    let expected: Vec<Vec<Node>> = expected.collect();
    let bags: Vec<&[u32]> = bags.iter().map(Vec::as_slice).collect();
    let list =
        |forest: Forest| -> Vec<Vec<Node>> { forest.trees().map(|tree| nodes(&tree.unpack().unwrap())).collect() };
    for n_threads in [1, 2] {
        for (storage, data) in storages(x, seed) {
            let forest = grow_isolation_forest(&data, &bags, &params, &runtime(n_threads)).unwrap();
            assert_eq!(list(forest), expected, "{storage}");
            let encoded = EncodedMatrix::new(data);
            let forest = grow_isolation_forest_of_numbers(&encoded, &bags, &params, &runtime(n_threads)).unwrap();
            assert_eq!(list(forest), expected, "encoded {storage}");
        }
        let of = |storage: &str, matrix: &dyn Matrix| {
            let forest = grow_isolation_forest_of_numbers(matrix, &bags, &params, &runtime(n_threads)).unwrap();
            assert_eq!(list(forest), expected, "numbers of {storage}");
        };
        of("C", &x.view());
        of("F", &Array2::from_shape_fn((n, m).f(), |at| x[at]).view());
        of("-0.0", &x.mapv(|value| if value == 0.0 { -0.0 } else { value }).view());
        of("CSR", &Sparse::<f64, i32>::new(x, Format::Csr, |value| value).view());
        of("untidy CSR", &Sparse::<f64, i64>::untidy(x, Format::Csr, |value| value, seed).view());
        if x.iter().all(|&value| f64::from(value as f32) == value) {
            of("f32", &x.mapv(|value| value as f32).view());
            of("CSR of f32", &Sparse::<f32, i32>::untidy(x, Format::Csr, |value| value as f32, seed).view());
        }
    }
}

proptest! {
    #![proptest_config(config(48))]

    #[test]
    fn trees_are_those_of_a_plain_recursion(
        x in with_holes(matrices(2..=40usize, 1..=8usize)), case in cases(9),
    ) {
        check(&x, case);
    }

    #[test]
    fn trees_of_wide_matrices_are_those_of_a_plain_recursion(
        x in with_holes(matrices(2..=12usize, 60..=150usize)), sparsity in 0.0..1.0f64, case in cases(160),
    ) {
        let seed = case.4;
        let is_kept = |at: usize| noise(seed, at) >= sparsity;
        let x = Array2::from_shape_fn(x.dim(), |(i, j)| if is_kept(i * x.ncols() + j) { x[[i, j]] } else { 0.0 });
        check(&x, case);
    }
}

#[test]
fn rows_must_exist() {
    let x = Array2::<f64>::zeros((3, 1));
    let (_, data) = storages(&x, 0).swap_remove(0);
    let params = IsolationParams { seed: 0, first_tree: 0, max_depth: 2, max_features: None };
    let error = grow_isolation_forest(&data, &[&[0, 3]], &params, &runtime(1)).unwrap_err();
    assert_eq!(error.to_string(), "bags must be rows below 3. Got row 3 instead.");
    for (bag, message) in [
        (&[0, 3][..], "bags must be rows below 3. Got row 3 instead."),
        (&[], "bags must be ascending rows. Got 0 rows in this order instead."),
        (&[2, 1], "bags must be ascending rows. Got 2 rows in this order instead."),
    ] {
        let error = grow_isolation_forest_of_numbers(&x.view(), &[bag], &params, &runtime(1)).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}
