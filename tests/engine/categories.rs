//! Splits by categories: rows go where the sets say, in trees as they are, packed and pruned;
//! unsound sets are refused.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use ndarray::{Array2, ArrayView1, Axis};
use proptest::prelude::*;
use spinney::data::dense::Ordinals;
use spinney::data::rows::Row;
use spinney::data::{Dataset, Target};
use spinney::error::Error;
use spinney::files::{read_forest, write_forest};
use spinney::forest::{Forest, Member};
use spinney::params::{CriterionKind, Splitter, TreeParams};
use spinney::runtime::Runtime;
use spinney::tree::Walk;
use spinney::tree::packed::PackedTree;
use spinney::tree::sets::{CategorySet, CategorySets};
use spinney::tree::{NodeArrays, TREE_LEAF, Tree};

use super::common::{
    CRITERIA, Y, config, encode, grow, grow_dense, matrices, noise, params, runtime, targets, with_holes,
};

/// What the split of a node lists, and whether all else goes left.
type Split = (HashSet<u32>, bool);

/// A tree of the same shape of which every other feature is categorical, and what its splits list.
fn categorised(tree: &Tree, n_categories: u32, seed: u64) -> (Tree, Vec<Option<Split>>) {
    let mut nodes = tree.nodes().clone();
    let counts: Arc<[u32]> = (0..tree.n_features()).map(|f| if f % 2 == 0 { n_categories } else { 0 }).collect();
    let (mut sets, mut splits) = (CategorySets::default(), Vec::new());
    for node in 0..tree.node_count() {
        if nodes.children_left[node] == TREE_LEAF || counts[nodes.feature[node] as usize] == 0 {
            splits.push(None);
            continue;
        }
        let die = |code: u32| (noise(seed ^ u64::from(code) << 32, node) * 3.0) as u8;
        let on_side = |side| (0..n_categories).filter(|&code| die(code) == side).collect::<Vec<_>>();
        let others_left = die(u32::MAX) > 0;
        nodes.threshold[node] = sets.push(CategorySet::new(&on_side(0), &on_side(1), others_left).view()) as f64;
        splits.push(Some((on_side(others_left.into()).into_iter().collect(), others_left)));
    }
    let tree = Tree::with_categories(tree.n_features(), tree.n_classes().to_vec(), nodes, counts, sets).unwrap();
    (tree, splits)
}

/// The path of a row: the definition.
fn path(nodes: &NodeArrays, splits: &[Option<Split>], row: &[f64]) -> Vec<i64> {
    let mut path = vec![0i64];
    let mut node = 0;
    while nodes.children_left[node] != TREE_LEAF {
        let value = row[nodes.feature[node] as usize];
        let goes_left = match &splits[node] {
            _ if value.is_nan() => nodes.missing_go_to_left[node] == 1,
            Some((listed, others_left)) => {
                let is_listed = listed.iter().any(|&code| f64::from(code) == value);
                is_listed != *others_left
            }
            None => value <= nodes.threshold[node],
        };
        node = if goes_left { nodes.children_left[node] } else { nodes.children_right[node] } as usize;
        path.push(node as i64);
    }
    path
}

fn cases() -> impl Strategy<Value = (Array2<f64>, Y, TreeParams, u32, u64)> {
    let criterion = prop::sample::select(&CRITERIA[..]);
    let n_categories = prop_oneof![1..5u32, 48..54u32, Just(64), 65..300u32];
    (with_holes(matrices(1..40usize, 1..5usize)), criterion, n_categories, any::<u64>()).prop_flat_map(
        |(x, criterion, n_categories, seed)| {
            let (n, m) = x.dim();
            (Just(x), targets(n, criterion), params(criterion, m), Just(n_categories), Just(seed))
        },
    )
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn rows_go_where_sets_say((x, y, params, n_categories, seed) in cases(), alpha in 0.0..1.0) {
        let (tree, splits) = categorised(&grow_dense(&x, &y, None, &params), n_categories, seed);
        // Codes of all kinds, fractions, and what cannot be a code.
        let x = Array2::from_shape_fn(x.dim(), |(row, column)| match (noise(seed, row * 7 + column) * 8.0) as u8 {
            0 => x[[row, column]] + 0.5,
            1 => x[[row, column]] * 1e12,
            2..=4 => (noise(!seed, row * 7 + column) * f64::from(n_categories + 1)).floor(),
            _ => x[[row, column]],
        });
        let packed = PackedTree::new(&tree, 1.0);
        prop_assert!(packed == PackedTree::new(&tree, 1.0));
        prop_assert_eq!(&packed.unpack().unwrap(), &tree);
        let (indptr, indices) = tree.decision_path(&x.view(), &runtime(1)).unwrap();
        let view = x.view();
        for row in 0..x.nrows() {
            let expected = path(tree.nodes(), &splits, &x.row(row).to_vec());
            prop_assert_eq!(&indices[indptr[row] as usize..indptr[row + 1] as usize], &expected[..]);
            let mut nodes = Vec::new();
            let leaf = packed.leaf(Row::Asked(&view, row as u32), |node| nodes.push(node as i64));
            prop_assert_eq!(leaf as i64, expected[expected.len() - 1]);
            prop_assert_eq!(nodes, expected);
        }
        // Alone, and with other trees; all rows, and one by one.
        for n_trees in [1, 4] {
            let trees: Vec<Tree> = (0..n_trees).map(|at| categorised(&tree, n_categories, seed ^ at).0).collect();
            let members = trees.iter().map(|tree| Member { tree: Arc::new(PackedTree::new(tree, 1.0)), seed: 0 });
            let forest = Forest::new(members.collect()).unwrap();
            let sections = write_forest(&forest, &runtime(1)).unwrap();
            prop_assert!(read_forest(sections.each_ref().map(|section| &section[..]), &runtime(1)).unwrap() == forest);
            let mut expected = vec![0.0; x.nrows() * tree.n_values()];
            for tree in &trees {
                let values = tree.predict(&x.view(), &runtime(1)).unwrap();
                expected.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
            }
            for sum in &mut expected {
                *sum /= n_trees as f64;
            }
            prop_assert_eq!(&forest.predict(&x.view(), &runtime(1)).unwrap(), &expected);
            let of_row = |row: ArrayView1<'_, f64>| forest.predict(&row.insert_axis(Axis(0)), &runtime(1)).unwrap();
            prop_assert_eq!(&x.outer_iter().flat_map(of_row).collect::<Vec<_>>(), &expected);
        }

        // What is left of a pruned tree sends rows the same way, as far as it goes.
        let path_of_alphas = tree.cost_complexity_path(&runtime(1)).unwrap();
        let at = (alpha * path_of_alphas.ccp_alphas.len() as f64) as usize;
        let pruned = tree.pruned(path_of_alphas.ccp_alphas[at], &runtime(1)).unwrap();
        let (short_indptr, short) = pruned.decision_path(&x.view(), &runtime(1)).unwrap();
        let depth_of = |tree: &Tree, path: &[i64]| -> Vec<Vec<f64>> {
            path.iter().map(|&node| tree.value(node as usize).to_vec()).collect()
        };
        for row in 0..x.nrows() {
            let full = &indices[indptr[row] as usize..indptr[row + 1] as usize];
            let short = &short[short_indptr[row] as usize..short_indptr[row + 1] as usize];
            prop_assert!(short.len() <= full.len());
            prop_assert_eq!(depth_of(&pruned, short), depth_of(&tree, &full[..short.len()]));
        }
    }
}

#[test]
fn trees_with_unsound_sets_are_refused() {
    let nodes = || NodeArrays {
        children_left: vec![1, -1, 3, -1, -1],
        children_right: vec![2, -1, 4, -1, -1],
        feature: vec![0, -2, 1, -2, -2],
        threshold: vec![0.0, -2.0, 0.5, -2.0, -2.0],
        missing_go_to_left: vec![0; 5],
        impurity: vec![0.0; 5],
        n_node_samples: vec![1; 5],
        weighted_n_node_samples: vec![1.0; 5],
        value: vec![0.0; 5],
    };
    let sets = |codes: &[&[u32]]| {
        let mut sets = CategorySets::default();
        for codes in codes {
            sets.push(CategorySet::new(codes, &[], false).view());
        }
        sets
    };
    let tree = |nodes, counts: &[u32], sets| Tree::with_categories(2, vec![1], nodes, counts.into(), sets);
    let with_threshold = |node, threshold| {
        let mut nodes = nodes();
        nodes.threshold[node] = threshold;
        nodes
    };
    assert!(tree(nodes(), &[3, 0], sets(&[&[0, 2]])).is_ok());
    assert!(tree(nodes(), &[3, 0], sets(&[&[]])).is_ok(), "all against missing values");
    assert!(tree(with_threshold(2, 1.0), &[3, 3], sets(&[&[0], &[1]])).is_ok());
    let refused = [
        ("too few sets", tree(nodes(), &[3, 0], sets(&[]))),
        ("too many sets", tree(nodes(), &[3, 0], sets(&[&[0], &[1]]))),
        ("sets without categories", tree(nodes(), &[0, 0], sets(&[&[0]]))),
        ("sets without categories", tree(nodes(), &[], sets(&[&[0]]))),
        ("too few features", tree(nodes(), &[3], sets(&[&[0]]))),
        ("too many features", tree(nodes(), &[3, 0, 0], sets(&[&[0]]))),
        ("a code too large", tree(nodes(), &[3, 0], sets(&[&[0, 3]]))),
        ("a wrong number", tree(with_threshold(0, 1.0), &[3, 0], sets(&[&[0]]))),
        ("a fraction", tree(with_threshold(0, 0.5), &[3, 0], sets(&[&[0]]))),
        ("no number", tree(with_threshold(0, f64::NAN), &[3, 0], sets(&[&[0]]))),
        ("out of order", tree(with_threshold(2, 0.0), &[3, 3], sets(&[&[0], &[1]]))),
        ("a threshold that is NaN", tree(with_threshold(2, f64::NAN), &[3, 0], sets(&[&[0]]))),
        ("the same without categories", tree(with_threshold(2, f64::NAN), &[], sets(&[]))),
    ];
    for (what, tree) in refused {
        assert!(tree.is_err(), "{what}");
    }
    // A tree without categorical features has one state.
    assert_eq!(tree(nodes(), &[0, 0], sets(&[])), tree(nodes(), &[], sets(&[])));
}

#[test]
fn data_that_cannot_be_categorical_is_refused() {
    let n = (1 << 16) + 1;
    let x = Array2::from_shape_fn((n, 2), |(row, column)| if column == 0 { row as f32 } else { (row % 3) as f32 });
    let data = |ordinals| Dataset::from_dense_with(x.view(), ordinals, &runtime(1)).unwrap();
    let refused = |ordinals, n_categories: &[u32], message: &str| {
        let error = data(ordinals).with_categories(n_categories).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    };
    refused(Ordinals::Keys, &[n as u32, 0], "ordinals must be ranks where features are categorical. Got keys");
    refused(Ordinals::Keys, &[n as u32, 3], "the categorical feature 0");
    refused(Ordinals::Ranks, &[n as u32], "n_categories must have 2 features. Got 1");
    refused(Ordinals::Ranks, &[0, 2], "X must be codes from 0 to 1. Got 2 in the categorical feature 1");
    assert!(data(Ordinals::Ranks).with_categories(&[n as u32, 3]).unwrap().is_categorical(0));
    // Only columns of many values have keys.
    let mixed = data(Ordinals::Keys).with_categories(&[0, 3]).unwrap();
    assert_eq!((mixed.is_categorical(0), mixed.is_categorical(1)), (false, true));
    let y = Y::Classes { values: (0..n as u32).map(|row| row / 7 % 2).collect(), n_classes: vec![2] };
    let params = TreeParams { splitter: Splitter::Random, max_depth: Some(6), ..TreeParams::new(CRITERIA[0]) };
    let ranked = data(Ordinals::Ranks).with_categories(&[0, 3]).unwrap();
    let [keyed, ranked] = [&mixed, &ranked].map(|data| grow(data, &y, None, &params, &runtime(1)));
    assert_eq!(keyed, ranked);
}

/// A column has as many orders as the target has classes; a raised flag is seen between two.
#[test]
fn a_raised_stop_flag_ends_the_search_of_a_column() {
    let (n, n_categories, n_classes) = (20_000, 200, 300);
    let code = |row| (noise(1, row) * f64::from(n_categories)).floor();
    let x = Array2::from_shape_fn((n, 1), |(row, _)| code(row));
    let data = encode(&x.view(), &runtime(1)).with_categories(&[n_categories]).unwrap();
    let classes: Vec<u32> = (0..n).map(|row| (noise(2, row) * f64::from(n_classes)) as u32).collect();
    let target = Target::classification(&classes, &[n_classes], None).unwrap();
    // The search of the root and nothing else.
    let params = TreeParams { max_depth: Some(1), ..TreeParams::new(CriterionKind::Gini) }.check(n, 1).unwrap();
    let begin = Instant::now();
    assert_eq!(spinney::grow::grow(&data, &target, &params, 0, &runtime(1)).unwrap().node_count(), 3);
    let whole = begin.elapsed();
    // A busy machine may be late, but not each time.
    let is_prompt = (0..5).any(|_| {
        let stop = AtomicBool::new(false);
        let begin = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(whole / 20);
                stop.store(true, Ordering::Relaxed);
            });
            let grown = spinney::grow::grow(&data, &target, &params, 0, &Runtime::new(1, &stop));
            assert_eq!(grown.unwrap_err(), Error::Interrupted);
        });
        begin.elapsed() < whole / 2
    });
    assert!(is_prompt, "the search takes {whole:?} and does not end before");
}

#[test]
fn trees_of_a_forest_agree_on_categories() {
    let nodes = NodeArrays {
        children_left: vec![-1],
        children_right: vec![-1],
        feature: vec![-2],
        threshold: vec![-2.0],
        missing_go_to_left: vec![0],
        impurity: vec![0.0],
        n_node_samples: vec![1],
        weighted_n_node_samples: vec![1.0],
        value: vec![0.0],
    };
    let member = |counts: &[u32]| {
        let tree = Tree::with_categories(2, vec![1], nodes.clone(), counts.into(), CategorySets::default()).unwrap();
        Member { tree: Arc::new(PackedTree::new(&tree, 1.0)), seed: 0 }
    };
    assert!(Forest::new(vec![member(&[3, 0]), member(&[3, 0])]).is_ok());
    assert!(Forest::new(vec![member(&[]), member(&[0, 0])]).is_ok());
    assert!(Forest::new(vec![member(&[3, 0]), member(&[4, 0])]).is_err());
    assert!(Forest::new(vec![member(&[3, 0]), member(&[])]).is_err());
}

#[test]
fn trees_without_categories_pay_nothing() {
    let x = Array2::from_shape_fn((500, 3), |(row, column)| noise(column as u64, row));
    let y = Y::Numbers { values: (0..500).map(|row| noise(9, row)).collect(), n_outputs: 1 };
    let numeric = grow_dense(&x, &y, None, &TreeParams::new(CRITERIA[2]));
    let packed = PackedTree::new(&numeric, 1.0);
    let n_splits = (numeric.node_count() - 1) / 2;
    // The values of leaves, and a few bytes of other statistics for each node.
    let least = size_of::<PackedTree>() + 20 * n_splits + 8 * (n_splits + 1);
    assert!((least..least + 4 * numeric.node_count()).contains(&packed.n_bytes()), "{}", packed.n_bytes());
    // Small sets are in the splits.
    for (n_categories, are_small) in [(50, true), (200, false)] {
        let (tree, _) = categorised(&numeric, n_categories, 1);
        let sets = if are_small { 0 } else { size_of_val(tree.category_sets().words()) };
        let more = PackedTree::new(&tree, 1.0).n_bytes() - packed.n_bytes();
        assert_eq!(more, sets + 3 * size_of::<u32>());
    }
}

#[test]
fn values_become_categories() {
    let nan = f64::NAN;
    let x = ndarray::array![[5.0, 2.5, -1.0, nan], [-0.0, nan, 3.0, nan], [5.0, -7.0, 0.0, nan], [9.0, 2.5, 3.0, nan]];
    let data = |ordinals| Dataset::from_dense_with(x.view(), ordinals, &runtime(1)).unwrap();
    let learn = |ordinals, mask: &[bool]| data(ordinals).learn_categories(mask, &runtime(1));
    let (learned, categories) = learn(Ordinals::Ranks, &[true, true, false, true]).unwrap().unwrap();
    assert_eq!(categories, [vec![0.0, 5.0, 9.0], vec![-7.0, 2.5], vec![], vec![]]);
    // A feature without any value has no categories, and stays a number.
    assert_eq!(&learned.n_categories()[..], [3, 2, 0, 0]);
    let codes: Vec<f64> = (0..3).map(|rank| learned.value(0, rank)).collect();
    assert_eq!(codes, [0.0, 1.0, 2.0]);
    assert_eq!(learned.value(2, 0), -1.0);
    // 0 would have to come before -1.
    assert!(learn(Ordinals::Ranks, &[false, false, true, false]).unwrap().is_none());
    let error = learn(Ordinals::Ranks, &[true]).unwrap_err().to_string();
    assert!(error.contains("is_categorical must have 4 features. Got 1"), "{error}");
    let many = Array2::from_shape_fn((100_000, 1), |(row, _)| row as f32);
    let keys = Dataset::from_dense_with(many.view(), Ordinals::Keys, &runtime(1)).unwrap();
    let error = keys.learn_categories(&[true], &runtime(1)).unwrap_err().to_string();
    assert!(error.contains("ordinals must be ranks"), "{error}");
}
