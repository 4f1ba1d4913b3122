//! Packed trees: nothing is lost, rows reach the same leaves, and class shares take little room.

use std::sync::Arc;

use ndarray::{Array2, ArrayView2, ShapeBuilder};
use proptest::collection::vec;
use proptest::prelude::*;
use spinney::data::rows::Row;
use spinney::data::{Format, Matrix};
use spinney::forest::{Forest, Member};
use spinney::params::{CriterionKind, TreeParams};
use spinney::tree::packed::PackedTree;
use spinney::tree::{AT_LEAF, Tree, Walk};

use super::common::{CRITERIA, Sparse, Y, config, encode, grow, matrices, noise, params, runtime, targets};

/// The leaf that a row reaches, step by step.
fn position(tree: &impl Walk, x: &ArrayView2<'_, f64>, row: usize) -> u32 {
    let mut at = tree.root();
    while at & AT_LEAF == 0 {
        at = tree.step(at, |feature| x[[row, feature as usize]]);
    }
    at
}

fn check(tree: &Tree, unit: f64, x: &Array2<f64>) -> PackedTree {
    let packed = PackedTree::new(tree, unit);
    assert!(packed.unpack().unwrap() == *tree);
    assert_eq!(packed.node_count(), tree.node_count());
    assert_eq!((packed.n_features(), packed.n_classes()), (tree.n_features(), tree.n_classes()));
    let leaves = tree.apply(&x.view(), &runtime(1)).unwrap();
    let (indptr, indices) = tree.decision_path(&x.view(), &runtime(1)).unwrap();
    let view = x.view();
    for (row, &expected) in leaves.iter().enumerate() {
        let mut path = Vec::new();
        let leaf = packed.leaf(Row::Asked(&view, row as u32), |node| path.push(node as i64));
        assert_eq!(leaf as i64, expected);
        assert_eq!(path, indices[indptr[row] as usize..indptr[row + 1] as usize]);
        let mut value = vec![0.0; tree.n_values()];
        packed.add_values(&[position(&packed, &view, row) & !AT_LEAF], &mut value);
        assert_eq!(value, tree.value(leaf));
    }
    packed
}

fn cases() -> impl Strategy<Value = (Array2<f64>, Y, Option<Vec<f64>>, TreeParams)> {
    let criterion = prop::sample::select(&CRITERIA[..]);
    (matrices(1..60usize, 1..6usize), criterion).prop_flat_map(|(x, criterion)| {
        let (n, m) = x.dim();
        let weights = prop_oneof![
            1 => Just(None),
            1 => vec((1..4u8).prop_map(f64::from), n).prop_map(Some),
            1 => vec((1..9u8).prop_map(|w| f64::from(w) / 8.0), n).prop_map(Some),
            1 => vec(0.1..2.0, n).prop_map(Some),
        ];
        (Just(x), targets(n, criterion), weights, params(criterion, m))
    })
}

proptest! {
    #![proptest_config(config(300))]

    /// One row, a few, and more than go side by side; in memory as they are needed, copied, asked
    /// cell by cell, and scattered.
    #[test]
    fn rows_side_by_side_reach_their_leaves(
        (x, y, weights, params) in cases(),
        n_rows in prop::sample::select(vec![1usize, 7, 8, 300, 600]),
        n_more in prop::sample::select(vec![0usize, 300]),
        n_threads in 1..3usize,
    ) {
        // Rows of many columns are scattered, or asked.
        let x = Array2::from_shape_fn((x.nrows(), x.ncols() + n_more), |cell| x.get(cell).copied().unwrap_or(0.0));
        let trees: Vec<Tree> = (0..3)
            .map(|tree| {
                let params = TreeParams { seed: tree, ..params.clone() };
                grow(&encode(&x.view(), &runtime(1)), &y, weights.as_deref(), &params, &runtime(1))
            })
            .collect();
        let queries = Array2::from_shape_fn((n_rows, x.ncols()), |(i, j)| {
            if noise(1, i + j) < 0.1 { f64::NAN } else { x[[(i * 7 + j) % x.nrows(), j]] }
        });
        let queries = queries.mapv(|value| f64::from(value as f32));
        let mut expected = vec![0.0; n_rows * trees[0].n_values()];
        for (row, sums) in expected.chunks_exact_mut(trees[0].n_values()).enumerate() {
            for tree in &trees {
                let leaf = tree.leaf(Row::Asked(&queries.view(), row as u32), |_| ());
                sums.iter_mut().zip(tree.value(leaf)).for_each(|(sum, value)| *sum += value);
            }
            for sum in sums {
                *sum /= trees.len() as f64;
            }
        }
        let members = trees.iter().map(|tree| Member { tree: Arc::new(PackedTree::new(tree, 1.0)), seed: 0 });
        let forest = Forest::new(members.collect()).unwrap();
        let runtime = runtime(n_threads);
        let single = queries.mapv(|value| value as f32);
        let mut by_column = Array2::zeros(queries.dim().f());
        by_column.assign(&queries);
        let sparse: Sparse<f64, i32> = Sparse::new(&queries, Format::Csr, |value| value);
        let matrices: [&dyn Matrix; 4] = [&queries.view(), &single.view(), &by_column.view(), &sparse.view()];
        for matrix in matrices {
            prop_assert_eq!(&forest.predict(matrix, &runtime).unwrap(), &expected);
        }
    }

    #[test]
    fn nothing_is_lost((x, y, weights, params) in cases()) {
        let weights = weights.as_deref();
        let tree = grow(&encode(&x.view(), &runtime(1)), &y, weights, &params, &runtime(1));
        check(&tree, y.target(weights).weight_unit(), &x);
        // A wrong unit costs memory alone.
        check(&tree, 0.3, &x);
    }
}

#[test]
fn outputs_whose_weights_are_rounded_apart_are_packed() {
    let x = Array2::from_shape_fn((3, 1), |(row, _)| row as f64);
    // The root weighs 1.2. With the unit 1, each class of the first output has no weight, and the only
    // class of the second output all of it.
    let y = Y::Classes { values: vec![0, 0, 1, 0, 2, 0], n_classes: vec![3, 2] };
    let params = TreeParams::new(CriterionKind::Gini);
    let tree = grow(&encode(&x.view(), &runtime(1)), &y, Some(&[0.4; 3]), &params, &runtime(1));
    check(&tree, 1.0, &x);
}

#[test]
fn shares_take_little_room() {
    let n = 3000;
    let x = Array2::from_shape_fn((n, 4), |(row, column)| noise(column as u64, row));
    let class = |row: usize| ((x[[row, 0]] + noise(9, row)) * 3.5) as u32;
    let y = Y::Classes { values: (0..n).map(class).collect(), n_classes: vec![7] };
    let tree = grow(&encode(&x.view(), &runtime(1)), &y, None, &TreeParams::new(CriterionKind::Gini), &runtime(1));
    assert!(tree.node_count() > 1000);
    // A node of the arrays takes 52 bytes and 8 per class.
    let n_bytes = PackedTree::new(&tree, 1.0).n_bytes();
    assert!(n_bytes < 20 * tree.node_count(), "{n_bytes} bytes for {} nodes", tree.node_count());
    // Prediction makes the values of the leaves.
    let n_bytes = check(&tree, 1.0, &x).n_bytes();
    assert!(n_bytes < 22 * tree.node_count(), "{n_bytes} bytes for {} nodes", tree.node_count());
}

#[test]
fn the_form_for_batches_takes_little_room() {
    let n = 3000;
    let x = Array2::from_shape_fn((n, 10), |(row, column)| noise(column as u64, row));
    let class = |row: usize| u32::from(x[[row, 0]] + 4.0 * noise(11, row) > 2.5);
    let y = Y::Classes { values: (0..n).map(class).collect(), n_classes: vec![2] };
    let tree = grow(&encode(&x.view(), &runtime(1)), &y, None, &TreeParams::new(CriterionKind::Gini), &runtime(1));
    let tree = Arc::new(PackedTree::new(&tree, 1.0));
    assert!(tree.node_count() > 1000);
    let before = tree.n_bytes();
    let forest = Forest::new(vec![Member { tree: Arc::clone(&tree), seed: 0 }]).unwrap();
    forest.predict(&x.mapv(|value| value as f32).view(), &runtime(1)).unwrap();
    let per_node = (tree.n_bytes() - before) as f64 / tree.node_count() as f64;
    #[cfg(target_arch = "x86_64")]
    let has_clusters = is_x86_feature_detected!("avx512vbmi2");
    #[cfg(not(target_arch = "x86_64"))]
    let has_clusters = false;
    // Clusters, two bytes of them for values that were rounded, or the layout with eight bytes a node; and a byte
    // a leaf.
    let most = if has_clusters { 8.0 } else { 8.6 };
    assert!((4.0..most).contains(&per_node), "{per_node} bytes a node");
}
