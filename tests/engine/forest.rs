//! Forests: the schedule does not show, trees are those of `grow`, and bootstrap samples are drawn
//! fairly.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ndarray::Array2;
use proptest::prelude::*;
use spinney::data::target::{TargetValues, Weights};
use spinney::data::{Dataset, Format, Target};
use spinney::error::Error;
use spinney::forest::{Urn, grow_forest};
use spinney::grow;
use spinney::params::{Bootstrap, CriterionKind, ForestParams, MaxFeatures, Splitter, TreeParams};
use spinney::runtime::Runtime;
use spinney::tree::Tree;
use spinney::tree::packed::PackedTree;

use super::common::{CRITERIA, Sparse, Y, config, encode, is_regression, matrices, noise, runtime, targets};

/// Integers, half of them 0.
fn matrix(n: usize, m: usize) -> Array2<f64> {
    let cell = |at| if noise(1, at) < 0.5 { 0.0 } else { (noise(2, at) * 60.0).floor() - 20.0 };
    Array2::from_shape_fn((n, m), |(row, column)| cell(row * m + column))
}

/// Three classes or multiples of 1/64 that depend on the first columns, with noise.
fn target(x: &Array2<f64>, criterion: CriterionKind) -> Y {
    let signal = |row: usize| ((x[[row, 0]] + x[[row, 1]] / 2.0 + 30.0 * noise(3, row)) * 64.0).round() / 64.0;
    let rows = 0..x.nrows();
    if is_regression(criterion) {
        Y::Numbers { values: rows.map(|row| signal(row).abs()).collect(), n_outputs: 1 }
    } else {
        let class = |row| u32::from(signal(row) > 10.0) + u32::from(signal(row) > 22.0);
        Y::Classes { values: rows.map(class).collect(), n_classes: vec![3] }
    }
}

/// Weights from 0 to 3, some of them halves.
fn weights(n: usize) -> Vec<f64> {
    (0..n).map(|row| (noise(4, row) * 7.0).floor() / 2.0).collect()
}

fn forest(
    data: &Dataset,
    target: &Target,
    tree: TreeParams,
    n_estimators: u64,
    bootstrap: Bootstrap,
    n_threads: usize,
) -> Vec<Tree> {
    let params = ForestParams { bootstrap, ..ForestParams::new(tree, n_estimators) };
    let params = params.check(data.n_samples(), data.n_features()).unwrap();
    let forest = grow_forest(data, target, &params, None, &runtime(n_threads)).unwrap();
    forest.trees().map(|tree| tree.unpack().unwrap()).collect()
}

#[test]
fn neither_threads_nor_storage_nor_the_number_of_trees_show() {
    let (n, m) = (400, 12);
    let x = matrix(n, m);
    let dense = encode(&x.view(), &runtime(1));
    let csc = Sparse::<f64, i32>::new(&x, Format::Csc, |v| v).dataset(&runtime(2));
    for criterion in CRITERIA {
        let y = target(&x, criterion);
        for (splitter, bootstrap) in [
            (Splitter::Best, Bootstrap::WithReplacement { n_draws: n as u64 }),
            (Splitter::Best, Bootstrap::WithReplacement { n_draws: 50 }),
            (Splitter::Random, Bootstrap::WithReplacement { n_draws: 3 * n as u64 }),
            (Splitter::Random, Bootstrap::None),
        ] {
            for weights in [None, Some(weights(n))] {
                let target = y.target(weights.as_deref());
                let tree =
                    TreeParams { splitter, max_features: MaxFeatures::Sqrt, seed: 9, ..TreeParams::new(criterion) };
                let trees = forest(&dense, &target, tree.clone(), 11, bootstrap.clone(), 1);
                assert_eq!(trees.len(), 11);
                assert!(trees[1..].iter().all(|tree| *tree != trees[0]));
                for (data, n_estimators, n_threads) in
                    [(&dense, 11, 2), (&csc, 11, 1), (&csc, 11, 5), (&dense, 4, 3), (&csc, 1, 4)]
                {
                    let others = forest(data, &target, tree.clone(), n_estimators, bootstrap.clone(), n_threads);
                    assert!(others[..] == trees[..n_estimators as usize], "{n_estimators} trees, {n_threads} threads");
                }
            }
        }
    }
}

#[test]
fn each_tree_is_that_of_grow() {
    let (n, m) = (150, 6);
    let x = matrix(n, m);
    let data = encode(&x.view(), &runtime(1));
    for criterion in CRITERIA {
        for weights in [None, Some(weights(n))] {
            let target = target(&x, criterion).target(weights.as_deref());
            let params = TreeParams { max_features: MaxFeatures::Sqrt, seed: 5, ..TreeParams::new(criterion) };
            let valid = params.check(n, m).unwrap();
            let grow = |target: &Target, tree| grow::grow(&data, target, &valid, tree, &runtime(1)).unwrap();

            for (number, tree) in forest(&data, &target, params.clone(), 5, Bootstrap::None, 2).iter().enumerate() {
                assert!(*tree == grow(&target, number as u64));
            }
            let bootstrap = Bootstrap::WithReplacement { n_draws: 120 };
            let urn = Urn::new(&target);
            for (number, tree) in forest(&data, &target, params, 5, bootstrap, 2).iter().enumerate() {
                let counts = urn.draw(5, number as u64, 120, &runtime(1)).unwrap();
                assert!(*tree == grow(&target.equally_weighted().reweighted(&counts).unwrap(), number as u64));
                assert_eq!(tree.nodes().weighted_n_node_samples[0], 120.0, "weights are counts of draws");
                assert_eq!(tree.nodes().n_node_samples[0], counts.iter().filter(|&&count| count > 0).count() as i64);
            }
        }
    }
}

#[test]
fn trees_are_packed_as_their_arrays_are() {
    let (n, m) = (150, 6);
    let x = matrix(n, m);
    let data = encode(&x.view(), &runtime(1));
    for criterion in CRITERIA {
        for weights in [None, Some(weights(n))] {
            let target = target(&x, criterion).target(weights.as_deref());
            for ccp_alpha in [0.0, 1e-3] {
                let tree =
                    TreeParams { ccp_alpha, max_features: MaxFeatures::Sqrt, seed: 5, ..TreeParams::new(criterion) };
                let params = ForestParams { bootstrap: Bootstrap::None, ..ForestParams::new(tree.clone(), 4) };
                let forest = grow_forest(&data, &target, &params.check(n, m).unwrap(), None, &runtime(2)).unwrap();
                for (number, packed) in (0..).zip(forest.trees()) {
                    let tree =
                        grow::grow(&data, &target, &tree.clone().check(n, m).unwrap(), number, &runtime(1)).unwrap();
                    assert!(*packed == PackedTree::new(&tree, target.weight_unit()));
                }
            }
        }
    }
}

fn integers(weights: &Weights, n: usize) -> Vec<u64> {
    (0..n).map(|sample| weights.get(sample)).collect()
}

proptest! {
    #![proptest_config(config(300))]

    /// Multiplying weights by counts is having had the products as weights.
    #[test]
    fn reweighting_is_weighting(
        (x, y, criterion) in (matrices(2..40usize, 1..=4usize), prop::sample::select(&CRITERIA[..]))
            .prop_flat_map(|(x, criterion)| {
                let y = targets(x.nrows(), criterion);
                (Just(x), y, Just(criterion))
            }),
        weighted: bool,
        seed: u64,
    ) {
        let n = x.nrows();
        let draw = |stream: u64, row| (noise(seed ^ stream, row) * 4.0) as u32;
        let mut counts: Vec<u32> = (0..n).map(|row| draw(1, row)).collect();
        let mut weights: Vec<f64> = (0..n).map(|row| f64::from(draw(2, row))).collect();
        // One row has both; the other rows of the extremes may be without.
        (counts[0], weights[0]) = (2, 1.0);
        let given = y.target(weighted.then_some(&weights[..]));
        let product = |row: usize| f64::from(counts[row]) * if weighted { weights[row] } else { 1.0 };
        let products: Vec<f64> = (0..n).map(product).collect();
        let reweighted = given.reweighted(&counts).unwrap();
        let made = y.target(Some(&products));

        prop_assert_eq!(reweighted.weighted_samples(), made.weighted_samples());
        prop_assert_eq!(reweighted.weight_unit(), made.weight_unit());
        prop_assert_eq!(integers(reweighted.weights(), n), integers(made.weights(), n));
        prop_assert_eq!(
            std::mem::discriminant(reweighted.weights()),
            std::mem::discriminant(made.weights())
        );
        let params = TreeParams { seed, ..TreeParams::new(criterion) }.check(n, x.ncols()).unwrap();
        let data = encode(&x.view(), &runtime(1));
        let grow = |target: &Target| grow::grow(&data, target, &params, 3, &runtime(1)).unwrap();
        let (one, other) = (grow(&reweighted), grow(&made));
        if is_regression(criterion) {
            // The fixed point is another, exact in both: means may differ in their last bit.
            let (one, other) = (one.nodes(), other.nodes());
            prop_assert_eq!(&one.children_left, &other.children_left);
            prop_assert_eq!(&one.feature, &other.feature);
            prop_assert_eq!(&one.threshold, &other.threshold);
            prop_assert_eq!(&one.weighted_n_node_samples, &other.weighted_n_node_samples);
            for (one, other) in one.value.iter().zip(&other.value) {
                prop_assert!((one - other).abs() <= 1e-12 * other.abs(), "{one} for {other}");
            }
        } else {
            prop_assert_eq!(one, other);
        }
    }
}

#[test]
fn reweighted_targets_share_their_values() {
    let x = matrix(50, 3);
    let ones = vec![1; 50];
    for criterion in CRITERIA {
        let target = target(&x, criterion).target(Some(&weights(50)));
        for other in [target.clone(), target.reweighted(&ones).unwrap(), target.equally_weighted()] {
            match (target.values(), other.values()) {
                (TargetValues::Classes(one), TargetValues::Classes(other)) => {
                    assert!(Arc::ptr_eq(&one.slots, &other.slots));
                }
                (TargetValues::Numbers(one), TargetValues::Numbers(other)) => {
                    assert!(Arc::ptr_eq(&one.fixed, &other.fixed) && Arc::ptr_eq(&one.raw, &other.raw));
                }
                _ => panic!("the task stays"),
            }
        }
        assert_eq!(integers(target.reweighted(&ones).unwrap().weights(), 50), integers(target.weights(), 50));
    }
}

#[test]
fn sums_of_reweighted_targets_fit() {
    // A target of wide range, and then so many draws that sums leave an i64.
    let y: Vec<f64> = (0..64).map(|i| if i == 7 { 1e15 } else { f64::from(i) }).collect();
    for y in [y, (0..64).map(|i| f64::from(i) * 1e3).collect()] {
        let target = Target::regression(&y, 1, None).unwrap();
        let many = target.reweighted(&vec![1 << 26; 64]).unwrap();
        let TargetValues::Numbers(numbers) = many.values() else { panic!("numbers stay numbers") };
        assert!(!numbers.sums_fit_i64);
        let x = Array2::from_shape_fn((64, 1), |(row, _)| row as f64);
        let data = encode(&x.view(), &runtime(1));
        let params = TreeParams::new(CriterionKind::SquaredError).check(64, 1).unwrap();
        let grow = |target: &Target| grow::grow(&data, target, &params, 0, &runtime(1)).unwrap();
        assert_eq!(grow(&many).nodes().threshold, grow(&target).nodes().threshold);
    }
}

#[test]
fn illegal_counts_are_refused() {
    let target = |weights: &[f64]| Target::classification(&[0, 1, 0], &[2], Some(weights)).unwrap();
    let plain = target(&[1.0, 2.0, 0.0]);
    assert!(matches!(plain.reweighted(&[1, 1]), Err(Error::ShapeMismatch { .. })));
    assert!(matches!(plain.reweighted(&[0, 0, 0]), Err(Error::InvalidArgument { .. })));
    assert!(matches!(plain.reweighted(&[0, 0, 9]), Err(Error::InvalidArgument { .. })));
    let fine = target(&[0.3, 1.0, 1e-9]);
    assert!(fine.reweighted(&[1, 1, 1]).is_ok());
    assert!(matches!(fine.reweighted(&[u32::MAX; 3]), Err(Error::TooLarge { .. })));
}

// ---- Draws
// ----------------------------------------------------------------------------------------------------------

fn classes(n: usize, weights: Option<&[f64]>) -> Target {
    Target::classification(&vec![0; n], &[1], weights).unwrap()
}

/// The sum of squared deviations of the counts of all trees, and the degrees of freedom.
fn chi_square(urn: &Urn, shares: &[f64], n_draws: u64, n_trees: u64) -> (f64, f64) {
    let (mut total, mut df) = (0.0, 0.0);
    for tree in 0..n_trees {
        let counts = urn.draw(17, tree, n_draws, &runtime(1)).unwrap();
        assert_eq!(counts.iter().map(|&count| u64::from(count)).sum::<u64>(), n_draws);
        for (&count, &share) in counts.iter().zip(shares) {
            let expected = share * n_draws as f64;
            if share == 0.0 {
                assert_eq!(count, 0, "a row of weight 0 is never drawn");
            } else {
                total += (f64::from(count) - expected).powi(2) / expected;
                df += 1.0;
            }
        }
        df -= 1.0;
    }
    (total, df)
}

#[test]
fn rows_are_drawn_in_proportion_to_their_weights() {
    let halves = weights(300);
    let awkward: Vec<f64> = (0..300).map(|row| if row % 5 == 0 { 0.0 } else { 0.1 + noise(6, row) }).collect();
    for (weights, n) in [(None, 1), (None, 7), (None, 300), (Some(halves), 300), (Some(awkward), 300)] {
        let urn = Urn::new(&classes(n, weights.as_deref()));
        let weights = weights.unwrap_or(vec![1.0; n]);
        let total: f64 = weights.iter().sum();
        let shares: Vec<f64> = weights.iter().map(|weight| weight / total).collect();
        let (chi2, df) = chi_square(&urn, &shares, 20 * n as u64, 200);
        // Mean df, deviation sqrt(2 df): beyond six deviations, above or below, is a biased draw.
        assert!((chi2 - df).abs() <= 6.0 * (2.0 * df).sqrt(), "n={n}: chi2 {chi2} df {df}");
    }
}

/// The number of distinct rows is as in independent draws, and two trees share no more rows than
/// chance gives.
#[test]
fn draws_are_independent() {
    let n = 1000;
    let urn = Urn::new(&classes(n, None));
    let draw = |seed, tree| urn.draw(seed, tree, n as u64, &runtime(1)).unwrap();
    let (mut distinct, mut shared) = (0, 0u64);
    for tree in 0..200 {
        let (one, other) = (draw(1, tree), draw(1, tree + 1));
        distinct += one.iter().filter(|&&count| count > 0).count();
        shared += one.iter().zip(&other).map(|(&a, &b)| u64::from(a * b)).sum::<u64>();
    }
    let expected = 1.0 - (1.0 - 1.0 / n as f64).powi(n as i32);
    assert!((distinct as f64 / (200.0 * n as f64) - expected).abs() < 0.003);
    assert!((shared as f64 / (200.0 * n as f64) - 1.0).abs() < 0.02);
    assert_ne!(draw(1, 0), draw(2, 0));
}

#[test]
fn weights_draw_as_copies_do() {
    // As many balls in the same order: a row of weight k is drawn when one of k copies is.
    let weights = [2.0, 0.0, 1.0, 3.0, 1.0];
    let weighted = Urn::new(&classes(5, Some(&weights))).draw(3, 1, 1000, &runtime(1)).unwrap();
    let copied = Urn::new(&classes(7, None)).draw(3, 1, 1000, &runtime(1)).unwrap();
    assert_eq!(weighted, [copied[0] + copied[1], 0, copied[2], copied[3..6].iter().sum(), copied[6]]);
    // A common factor does not show.
    for factor in [0.5, 3.0, 0.7] {
        let scaled = weights.map(|weight| weight * factor);
        assert_eq!(Urn::new(&classes(5, Some(&scaled))).draw(3, 1, 1000, &runtime(1)).unwrap(), weighted);
    }
}

#[test]
fn a_raised_stop_flag_ends_the_call() {
    let x = matrix(50, 4);
    let data = encode(&x.view(), &runtime(1));
    let target = target(&x, CriterionKind::Gini).target(None);
    let stop = AtomicBool::new(true);
    for bootstrap in [Bootstrap::None, Bootstrap::WithReplacement { n_draws: u64::from(u32::MAX) }] {
        let params = ForestParams { bootstrap, ..ForestParams::new(TreeParams::new(CriterionKind::Gini), 1000) };
        let params = params.check(50, 4).unwrap();
        for n_threads in [1, 2] {
            let grown = grow_forest(&data, &target, &params, None, &Runtime::new(n_threads, &stop));
            assert_eq!(grown.unwrap_err(), Error::Interrupted);
        }
    }
    assert_eq!(Runtime::new(4, &stop).serial().check_interrupt(), Err(Error::Interrupted));
}
