//! Packed trees: nothing is lost, rows reach the same leaves, and class shares take little room.

use ndarray::Array2;
use proptest::collection::vec;
use proptest::prelude::*;
use spinney::data::rows::Row;
use spinney::params::{CriterionKind, TreeParams};
use spinney::tree::packed::PackedTree;
use spinney::tree::{Tree, Walk};

use crate::common::{CRITERIA, Y, config, encode, grow, matrices, noise, params, runtime, targets};

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
        assert_eq!(leaf.id as i64, expected);
        assert_eq!(path, indices[indptr[row] as usize..indptr[row + 1] as usize]);
        let mut value = vec![0.0; tree.n_values()];
        packed.add_value(leaf, &mut value);
        assert_eq!(value, tree.value(leaf.id));
    }
    packed
}

fn cases() -> impl Strategy<Value = (Array2<f64>, Y, Option<Vec<f64>>, TreeParams)> {
    let criterion = prop::sample::select(&CRITERIA[..]);
    (matrices(1..60usize, 1..6usize), criterion).prop_flat_map(|(x, criterion)| {
        let n = x.nrows();
        let weights = prop_oneof![
            1 => Just(None),
            1 => vec((1..4u8).prop_map(f64::from), n).prop_map(Some),
            1 => vec((1..9u8).prop_map(|w| f64::from(w) / 8.0), n).prop_map(Some),
            1 => vec(0.1..2.0, n).prop_map(Some),
        ];
        (Just(x), targets(n, criterion), weights, params(criterion))
    })
}

proptest! {
    #![proptest_config(config(300))]

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
fn shares_take_little_room() {
    let n = 3000;
    let x = Array2::from_shape_fn((n, 4), |(row, column)| noise(column as u64, row));
    let class = |row: usize| ((x[[row, 0]] + noise(9, row)) * 3.5) as u32;
    let y = Y::Classes { values: (0..n).map(class).collect(), n_classes: vec![7] };
    let tree = grow(&encode(&x.view(), &runtime(1)), &y, None, &TreeParams::new(CriterionKind::Gini), &runtime(1));
    assert!(tree.node_count() > 1000);
    // A node of the arrays takes 52 bytes and 8 per class.
    let n_bytes = check(&tree, 1.0, &x).n_bytes();
    assert!(n_bytes < 20 * tree.node_count(), "{n_bytes} bytes for {} nodes", tree.node_count());
}
