//! Trees as deep as they have rows: nothing recurses, so nothing overflows.

use ndarray::{Array2, s};
use spinney::data::Format;
use spinney::params::{CriterionKind, TreeParams};
use spinney::tree::{NodeArrays, TREE_LEAF, TREE_UNDEFINED, Tree};

use super::common::{Sparse, Y, encode, grow, runtime};

/// Alternating classes on one sorted feature: the best cut peels one row off, every time.
fn alternating(n: usize) -> (Array2<f64>, Y) {
    let x = Array2::from_shape_fn((n, 1), |(row, _)| row as f64 - 10.0);
    (x, Y::Classes { values: (0..n as u32).map(|row| row % 2).collect(), n_classes: vec![2] })
}

fn check_grown_chain(tree: &Tree, x: &Array2<f64>) {
    let n = x.nrows();
    let runtime = runtime(1);
    assert_eq!((tree.max_depth(), tree.n_leaves(), tree.node_count()), (n - 1, n, 2 * n - 1));
    // Every row has a leaf of its own, in the order of preorder.
    let leaves = tree.apply(&x.view(), &runtime).unwrap();
    assert!(leaves.is_sorted_by(|a, b| a < b));
    let values = tree.predict(&x.view(), &runtime).unwrap();
    assert!(values.chunks_exact(2).enumerate().all(|(row, value)| value[row % 2] == 1.0));
    let sparse = Sparse::<f64, i32>::new(x, Format::Csr, |v| v);
    assert!(tree.apply(&sparse.view(), &runtime).unwrap() == leaves);
    // The first cut takes the first row off, the second the second, and so on.
    let few = x.slice(s![n - 3.., ..]);
    let (indptr, indices) = tree.decision_path(&few, &runtime).unwrap();
    assert_eq!(indptr, [0, n as i64 - 1, 2 * n as i64 - 1, 3 * n as i64 - 1]);
    assert_eq!(indices[indices.len() - 1], leaves[n - 1]);
    let importance = tree.compute_feature_importances(false).unwrap()[0];
    assert!((importance - tree.nodes().impurity[0]).abs() < 1e-9);
}

#[test]
fn a_grown_chain() {
    let (x, y) = alternating(16_000);
    let runtime = runtime(1);
    let params = TreeParams::new(CriterionKind::Gini);
    let dense = grow(&encode(&x.view(), &runtime), &y, None, &params, &runtime);
    check_grown_chain(&dense, &x);
    let sparse = Sparse::<f64, i32>::new(&x, Format::Csc, |v| v).dataset(&runtime);
    assert!(grow(&sparse, &y, None, &params, &runtime) == dense);
}

/// Which child of each split of a chain is the next split.
#[derive(Clone, Copy)]
enum Lean {
    Left,
    Right,
}

/// A chain of `depth` splits at the thresholds 0, 1, 2, ... from the root to a lean to the right,
/// or the reverse.
fn chain(depth: usize, lean: Lean) -> Tree {
    let n = 2 * depth + 1;
    let mut nodes = NodeArrays {
        children_left: vec![TREE_LEAF; n],
        children_right: vec![TREE_LEAF; n],
        feature: vec![TREE_UNDEFINED; n],
        threshold: vec![f64::from(TREE_UNDEFINED); n],
        missing_go_to_left: vec![0; n],
        impurity: vec![0.0; n],
        n_node_samples: vec![1; n],
        weighted_n_node_samples: vec![1.0; n],
        value: (0..n).map(|node| node as f64).collect(),
    };
    for level in 0..depth {
        let (node, right, threshold) = match lean {
            Lean::Left => (level, 2 * depth - level, depth - 1 - level),
            Lean::Right => (2 * level, 2 * level + 2, level),
        };
        nodes.children_left[node] = node as i32 + 1;
        nodes.children_right[node] = right as i32;
        nodes.feature[node] = 0;
        nodes.threshold[node] = threshold as f64;
        nodes.n_node_samples[node] = (depth + 1 - level) as i64;
        nodes.weighted_n_node_samples[node] = (depth + 1 - level) as f64;
        // All that the leaves lack: then every split decreases `weight * impurity` by 1.
        nodes.impurity[node] = (depth - level) as f64 / (depth + 1 - level) as f64;
    }
    Tree::new(1, vec![1], nodes).unwrap()
}

#[test]
fn a_chain_of_a_hundred_thousand_levels() {
    const DEPTH: usize = 100_000;
    let runtime = runtime(1);
    // The ends of the chain and a row in the middle.
    let x = Array2::from_shape_vec((3, 1), vec![-1.0, 0.5, DEPTH as f64]).unwrap();
    let depth = DEPTH as i64;
    let leaves = [(Lean::Left, [depth, depth + 1, 2 * depth]), (Lean::Right, [1, 3, 2 * depth])];
    let path_lengths = [(Lean::Left, [depth + 1, depth + 1, 2]), (Lean::Right, [2, 3, depth + 1])];
    for ((lean, leaves), (_, lengths)) in leaves.into_iter().zip(path_lengths) {
        let tree = chain(DEPTH, lean);
        assert_eq!((tree.max_depth(), tree.n_leaves(), tree.node_count()), (DEPTH, DEPTH + 1, 2 * DEPTH + 1));
        assert_eq!(tree.apply(&x.view(), &runtime).unwrap(), leaves);
        assert_eq!(tree.predict(&x.view(), &runtime).unwrap(), leaves.map(|leaf| leaf as f64));
        let (indptr, indices) = tree.decision_path(&x.view(), &runtime).unwrap();
        assert_eq!([indptr[1] - indptr[0], indptr[2] - indptr[1], indptr[3] - indptr[2]], lengths);
        assert_eq!([1, 2, 3].map(|row| indices[indptr[row] as usize - 1]), leaves);
        let importances = tree.compute_feature_importances(false).unwrap();
        assert!((importances[0] - DEPTH as f64 / (DEPTH + 1) as f64).abs() < 1e-6);
        assert!(tree.clone() == tree);
    }
}
