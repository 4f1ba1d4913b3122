//! Folds that descend together predict, bit for bit, what the tree of each fold predicts.

use ndarray::{Array2, Axis};
use proptest::collection::vec;
use proptest::prelude::*;
use spinney::crossval::{NOBODY, SharedFolds, ask_shared};
use spinney::data::{Dataset, Format, Target};
use spinney::lazy::{LazyTree, Reached, Traversal};
use spinney::params::{CriterionKind, MaxFeatures, TreeParams};

use super::common::{Sparse, config, encode, matrices, noise, runtime, with_holes};

#[derive(Debug, Clone)]
struct Case {
    x: Array2<f64>,
    classes: Vec<u32>,
    n_classes: u32,
    counts: Vec<u32>,
    owners: Vec<u32>,
    n_folds: usize,
    params: TreeParams,
}

fn cases(with_missing: bool) -> impl Strategy<Value = Case> {
    let x = matrices(4..70usize, 1..8usize);
    let x = if with_missing { with_holes(x).boxed() } else { x.boxed() };
    (x, 2..5u32, 2..9usize).prop_flat_map(|(x, n_classes, n_folds)| {
        let (n, m) = x.dim();
        let n_folds = if n_folds == 8 { n } else { n_folds };
        let classes = vec(0..n_classes, n);
        let counts = prop_oneof![Just(vec![1; n]), vec(0..4u32, n)];
        let owners = vec((0..n_folds as u32 + 1).prop_map(move |o| if o as usize == n_folds { NOBODY } else { o }), n);
        let owners = if n_folds == n { Just((0..n as u32).collect()).boxed() } else { owners.boxed() };
        let draws = prop_oneof![Just(MaxFeatures::All), (1..=m as u64).prop_map(MaxFeatures::Absolute)];
        let limits = (prop_oneof![Just(None), (1..6u64).prop_map(Some)], 2..6u64, any::<u64>(), any::<bool>());
        (classes, counts, owners, draws, limits).prop_map(
            move |(classes, counts, owners, max_features, (max_depth, min_split, seed, is_gini))| {
                // A part of the classes follows the data, so that splits agree.
                let classes = classes
                    .iter()
                    .enumerate()
                    .map(|(row, &class)| if row % 3 > 0 { u32::from(x[[row, 0]] > 0.0) } else { class })
                    .collect();
                let params = TreeParams {
                    max_features,
                    max_depth,
                    min_samples_split: spinney::params::Count::Absolute(min_split),
                    seed,
                    ..TreeParams::new(if is_gini { CriterionKind::Gini } else { CriterionKind::Entropy })
                };
                Case { x: x.clone(), classes, n_classes, counts, owners, n_folds, params }
            },
        )
    })
}

fn value(reached: &Reached, row: usize) -> Vec<u64> {
    let width = reached.values.len() / reached.depths.len();
    let leaf = reached.leaves[row] as usize;
    reached.values[leaf * width..][..width].iter().map(|value| value.to_bits()).collect()
}

/// Compares with the trees of the folds; returns whether there was anything to share.
fn check(case: &Case, data: &Dataset) -> bool {
    let Case { x, classes, n_classes, counts, owners, n_folds, params } = case;
    let whole = Target::classification(classes, &[*n_classes], None).unwrap();
    if counts.iter().all(|&count| count == 0) {
        return false;
    }
    let target = whole.reweighted(counts).unwrap();
    let valid = params.check(x.nrows(), x.ncols()).unwrap();
    // Each row is asked of the fold that holds it out, or of some fold.
    let askers: Vec<u32> =
        owners.iter().enumerate().map(|(row, &o)| if o == NOBODY { (row % n_folds) as u32 } else { o }).collect();
    let folds = SharedFolds { n_folds: *n_folds, owners, askers: &askers };
    let query = x.view();
    let Some(together) = ask_shared(data, &target, &valid, 3, folds, &query, &runtime(1)).unwrap() else {
        return false;
    };
    for fold in 0..*n_folds {
        let asked: Vec<usize> = (0..x.nrows()).filter(|&row| askers[row] as usize == fold).collect();
        if asked.is_empty() {
            continue;
        }
        let own: Vec<u32> =
            counts.iter().zip(owners).map(|(&count, &o)| if o as usize == fold { 0 } else { count }).collect();
        let target = whole.reweighted(&own).unwrap();
        let tree = LazyTree { data, target: &target, params: &valid, number: 3 };
        let queries = x.select(Axis(0), &asked);
        let alone = tree.ask(&queries.view(), Traversal::Eager, false, &runtime(1)).unwrap();
        for (at, &row) in asked.iter().enumerate() {
            assert_eq!(value(&together, row), value(&alone, at), "fold {fold}, row {row}");
            let depths = (together.depths[together.leaves[row] as usize], alone.depths[alone.leaves[at] as usize]);
            assert_eq!(depths.0, depths.1);
        }
    }
    true
}

proptest! {
    #![proptest_config(config(600))]

    #[test]
    fn together_is_alone(case in cases(false), seed in any::<u64>()) {
        check(&case, &encode(&case.x.view(), &runtime(1)));
        check(&case, &Sparse::<f64, i32>::untidy(&case.x, Format::Csc, |v| v, seed).dataset(&runtime(1)));
    }

    #[test]
    fn missing_values_too(case in cases(true), seed in any::<u64>()) {
        check(&case, &encode(&case.x.view(), &runtime(1)));
        check(&case, &Sparse::<f64, i32>::untidy(&case.x, Format::Csc, |v| v, seed).dataset(&runtime(1)));
    }
}

#[test]
fn large_folds_agree() {
    let (n, m) = (3000, 12);
    let x = Array2::from_shape_fn((n, m), |(row, column)| {
        let at = row * m + column;
        if column % 2 == 0 && noise(1, at) < 0.7 { 0.0 } else { (noise(2, at) * 900.0).floor() }
    });
    let classes: Vec<u32> = (0..n).map(|row| u32::from(x[[row, 1]] + 300.0 * noise(3, row) > 500.0)).collect();
    for (n_folds, max_features) in [(10, MaxFeatures::All), (5, MaxFeatures::Sqrt), (n, MaxFeatures::All)] {
        let owners = (0..n).map(|row| (row * 7 % n % n_folds) as u32).collect();
        let counts = (0..n).map(|row| (3.0 * noise(4, row)) as u32).collect();
        let params = TreeParams { max_features, max_depth: Some(8), ..TreeParams::new(CriterionKind::Entropy) };
        let case = Case { x: x.clone(), classes: classes.clone(), n_classes: 2, counts, owners, n_folds, params };
        if n_folds < n {
            assert!(check(&case, &encode(&x.view(), &runtime(1))));
            assert!(check(&case, &Sparse::<f64, i32>::new(&x, Format::Csc, |v| v).dataset(&runtime(1))));
        }
    }
}

#[test]
fn folds_of_other_rows_are_refused() {
    let x = Array2::<f64>::eye(4);
    let data = encode(&x.view(), &runtime(1));
    let target = Target::classification(&[0, 1, 0, 1], &[2], None).unwrap();
    let params = TreeParams::new(CriterionKind::Entropy).check(4, 4).unwrap();
    let ask = |owners: &[u32], askers: &[u32]| {
        let folds = SharedFolds { n_folds: 2, owners, askers };
        ask_shared(&data, &target, &params, 0, folds, &x.view(), &runtime(1)).map_err(|error| error.to_string())
    };
    assert!(ask(&[0, 1, NOBODY, 0], &[0, 1, 0, NOBODY]).is_ok_and(|reached| reached.is_some()));
    assert_eq!(ask(&[0, 1], &[0; 4]).unwrap_err(), "owners must have 4 values, one per row. Got 2 values instead.");
    assert_eq!(ask(&[0; 4], &[0; 5]).unwrap_err(), "askers must have 4 values, one per row. Got 5 values instead.");
    assert_eq!(ask(&[0, 2, 0, 0], &[0; 4]).unwrap_err(), "owners must be below 2. Got fold 2 instead.");
}
