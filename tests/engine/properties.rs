//! What must not show in a tree: storage, kernels, threads, the order of rows, the scale of
//! weights. And what must hold for any tree: stop rules, consistent prediction, no panic on extreme
//! numbers or hostile arrays.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use ndarray::{Array2, ArrayView1, Axis, array, concatenate, s};
use proptest::collection::vec;
use proptest::prelude::*;
use spinney::bitset::Bitset;
use spinney::data::Entry;
use spinney::data::dense::Ordinals;
use spinney::data::sparse::{RankSlice, SparseIndex};
use spinney::data::target::{SCALE_SPREAD, WEIGHT_BITS};
use spinney::data::{Columns, Dataset, Format, SparseColumns, SparseView, Target};
use spinney::error::Error;
use spinney::params::{Count, CriterionKind, FeatureSampling, MaxFeatures, Splitter, Tier, TreeParams};
use spinney::runtime::Runtime;
use spinney::simd::Level;
use spinney::split::sparse::intersect::{Gather, ValueOrdered, by_bitmap, by_search};
use spinney::tree::{NodeArrays, TREE_LEAF, TREE_UNDEFINED, Tree};

use super::common::storages::{FORMATS, KERNELS, TIERS, storages};
use super::common::{
    CRITERIA, QUANTILE, Sparse, Y, all_combinations, config, constraints, encode, grow, grow_dense, is_regression,
    matrices, naive, noise, params, runtime, targets, try_encode, with_holes,
};

// ---- Storage
// --------------------------------------------------------------------------------------------------------

fn check_storages(x: &Array2<f64>, y: &Y, params: &TreeParams, seed: u64) -> Result<(), TestCaseError> {
    let expected = grow_dense(x, y, None, params);
    for (name, data) in storages(x, seed) {
        let is_dense = matches!(data.columns(), Columns::Dense(_));
        let kernels = if is_dense { &KERNELS[..1] } else { &KERNELS };
        let tiers = if is_dense { &TIERS } else { &TIERS[..1] };
        for (&force_strategy, &force_tier) in kernels.iter().flat_map(|k| tiers.iter().map(move |t| (k, t))) {
            let params = TreeParams { force_strategy, force_tier, ..params.clone() };
            let tree = grow(&data, y, None, &params, &runtime(1));
            prop_assert_eq!(&tree, &expected, "{} {:?} {:?}", name, force_strategy, force_tier);
        }
    }
    Ok(())
}

/// A matrix, a target for it, and parameters.
fn cases(n_samples: std::ops::Range<usize>) -> impl Strategy<Value = (Array2<f64>, Y, TreeParams)> {
    (with_holes(matrices(n_samples, 1..=6usize)), prop::sample::select(&CRITERIA[..]))
        .prop_flat_map(|(x, criterion)| {
            let y = targets(x.nrows(), criterion);
            let (params, constraints) = (params(criterion, x.ncols()), constraints(x.ncols()));
            (Just(x), y, params, constraints)
        })
        .prop_map(|(x, y, params, constraints)| {
            let monotonic_cst = constraints.filter(|_| y.has_order());
            (x, y, TreeParams { monotonic_cst, ..params })
        })
}

/// Any finite double, an infinity, or a small integer.
fn any_value() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => any::<f64>().prop_map(|v| if v.is_nan() { 0.5 } else { v }),
        2 => any::<f32>().prop_map(|v| f64::from(if v.is_nan() { 0.5 } else { v })),
        2 => (-2..=2i8).prop_map(f64::from),
        1 => prop::sample::select(vec![f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN, 5e-324, -5e-324]),
    ]
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn storage_and_kernels_do_not_show((x, y, params) in cases(1..60), seed: u64) {
        check_storages(&x, &y, &params, seed)?;
    }

    /// Thresholds between any two values separate them: in the tree, and for rows that arrive
    /// later.
    #[test]
    fn storage_does_not_show_for_any_values(
        (values, classes) in (2..30usize).prop_flat_map(|n| (vec(any_value(), 2 * n), vec(0..3u32, n))),
        splitter in prop::sample::select(vec![Splitter::Best, Splitter::Random]),
        seed: u64,
    ) {
        let x = Array2::from_shape_vec((classes.len(), 2), values).unwrap();
        let y = Y::Classes { values: classes, n_classes: vec![3] };
        let params = TreeParams { splitter, seed, ..TreeParams::new(CriterionKind::Gini) };
        let expected = grow_dense(&x, &y, None, &params);
        for format in FORMATS {
            let data = Sparse::<f64, i32>::new(&x, format, |v| v).dataset(&runtime(1));
            prop_assert_eq!(&grow(&data, &y, None, &params, &runtime(1)), &expected);
        }
        check_prediction(&x, &expected)?;
    }
}

proptest! {
    #![proptest_config(config(200))]

    /// Whatever varies is drawn if that is everything; otherwise no constant takes its place.
    #[test]
    fn active_features_are_all_features_if_all_are_drawn((x, y, params) in cases(1..40)) {
        let all = TreeParams { max_features: MaxFeatures::All, feature_sampling: FeatureSampling::All, ..params };
        let active = TreeParams { feature_sampling: FeatureSampling::Active, ..all.clone() };
        prop_assert_eq!(grow_dense(&x, &y, None, &active), grow_dense(&x, &y, None, &all));
        // As many as vary anywhere are as good as all.
        let varies = |column: &ArrayView1<'_, f64>| column.iter().any(|&v| v != column[0]);
        let n_varying = x.columns().into_iter().filter(varies).count().max(1) as u64;
        let enough = TreeParams { max_features: MaxFeatures::Absolute(n_varying), ..active };
        prop_assert_eq!(grow_dense(&x, &y, None, &enough), grow_dense(&x, &y, None, &all));
    }
}

// ---- Larger cases
// ---------------------------------------------------------------------------------------------------

/// Integers below 100, of which a share of `density` is not 0; a third of the columns has few
/// distinct values.
fn large_matrix(n: usize, m: usize, density: f64) -> Array2<f64> {
    Array2::from_shape_fn((n, m), |(row, column)| {
        let at = row * m + column;
        let n_levels = if column % 3 == 0 { 4.0 } else { 200.0 };
        let value = (noise(1, at) * n_levels - n_levels / 2.0).floor();
        if noise(2, at) < density { value } else { 0.0 }
    })
}

/// Three classes or a number that depend on the first columns, with noise.
fn large_target(x: &Array2<f64>, criterion: CriterionKind) -> Y {
    let signal = |row: usize| x[[row, 0]] + x[[row, 1]] / 40.0 + x[[row, 2]] / 60.0 + 2.0 * noise(3, row);
    let rows = 0..x.nrows();
    if criterion == CriterionKind::Poisson {
        Y::Numbers { values: rows.map(|row| (signal(row) + 1.5).max(0.0)).collect(), n_outputs: 1 }
    } else if is_regression(criterion) {
        Y::Numbers { values: rows.map(signal).collect(), n_outputs: 1 }
    } else {
        let class = |row| if signal(row) < 0.0 { 0 } else { 1 + u32::from(signal(row) > 1.5) };
        Y::Classes { values: rows.map(class).collect(), n_classes: vec![3] }
    }
}

/// Few features, of those that vary.
fn active(criterion: CriterionKind) -> TreeParams {
    let (max_features, feature_sampling) = (MaxFeatures::Sqrt, FeatureSampling::Active);
    TreeParams { max_features, feature_sampling, seed: 5, ..TreeParams::new(criterion) }
}

/// Every kernel on each data set and for each kind of parameters; by default on one of the four
/// storages, which changes from one to the next, so that on each data set, and for each kind of
/// parameters, it meets all four.
#[test]
fn storage_and_kernels_do_not_show_in_large_data() {
    let mut number = 0;
    for (criterion, density) in [
        (CriterionKind::Gini, 0.01),
        (CriterionKind::Gini, 0.3),
        (CriterionKind::Entropy, 0.1),
        (CriterionKind::SquaredError, 0.02),
        (CriterionKind::SquaredError, 1.0),
        (CriterionKind::Poisson, 0.1),
        (CriterionKind::AbsoluteError, 0.02),
        (CriterionKind::AbsoluteError, 1.0),
        (QUANTILE, 0.1),
    ] {
        let x = large_matrix(2000, 40, density);
        let y = large_target(&x, criterion);
        for params in [
            TreeParams::new(criterion),
            TreeParams { max_features: MaxFeatures::Sqrt, seed: 5, ..TreeParams::new(criterion) },
            active(criterion),
            TreeParams { splitter: Splitter::Random, seed: 6, ..TreeParams::new(criterion) },
            TreeParams { max_leaf_nodes: Some(90), ..TreeParams::new(criterion) },
        ] {
            let dense = grow_dense(&x, &y, None, &params);
            assert!(dense.node_count() > 100, "{}", dense.node_count());
            let tidy = FORMATS.map(|format| Sparse::<f64, i32>::new(&x, format, |v| v).dataset(&runtime(1)));
            let untidy =
                FORMATS.map(|format| Sparse::<f32, i64>::untidy(&x, format, |v| v as f32, 9).dataset(&runtime(1)));
            for (storage, data) in tidy.iter().chain(&untidy).enumerate() {
                for (kernel, &force_strategy) in KERNELS.iter().enumerate() {
                    if (number + kernel) % 4 == storage || all_combinations() {
                        let params = TreeParams { force_strategy, ..params.clone() };
                        let tree = grow(data, &y, None, &params, &runtime(1));
                        assert!(tree == dense, "{criterion:?} {density} {storage} {force_strategy:?}");
                    }
                }
            }
            number += 1;
        }
    }
}

/// Dense columns of few values are searched as bits, several words a row; sparse ones are not.
#[test]
fn columns_of_few_values_are_as_good_as_sparse_ones() {
    let x = Array2::from_shape_fn((700, 60), |(row, column)| {
        (noise(1, row * 60 + column) * (2 + column % 6) as f64).floor()
    });
    let weights: Vec<f64> = (0..x.nrows()).map(|row| (noise(4, row) * 4.0).ceil()).collect();
    let sparse = Sparse::<f64, i32>::new(&x, Format::Csc, |v| v).dataset(&runtime(1));
    for criterion in CRITERIA {
        let y = large_target(&x, criterion);
        for (splitter, max_features, least, weights) in [
            (Splitter::Best, MaxFeatures::All, 1, None),
            (Splitter::Best, MaxFeatures::Sqrt, 1, Some(&weights[..])),
            (Splitter::Best, MaxFeatures::Sqrt, 7, None),
            (Splitter::Random, MaxFeatures::All, 1, Some(&weights[..])),
            (Splitter::Random, MaxFeatures::Absolute(20), 7, None),
        ] {
            let min_samples_leaf = Count::Absolute(least);
            let params = TreeParams { splitter, min_samples_leaf, max_features, ..TreeParams::new(criterion) };
            let expected = grow(&sparse, &y, weights, &params, &runtime(1));
            assert!(expected.node_count() > 20);
            for level in Level::supported() {
                let params = TreeParams { force_level: Some(level), ..params.clone() };
                assert!(grow_dense(&x, &y, weights, &params) == expected, "{params:?}");
            }
        }
    }
}

/// Columns of more values than a histogram has bins, some of them close to the target, many of them
/// tied, some with missing values. Weights may be so heavy that sums of small nodes leave narrow integers.
fn wide_cases() -> impl Strategy<Value = (Array2<f64>, Y, Option<Vec<f64>>, TreeParams)> {
    let shapes = (300..1500usize, 1..=5usize, prop::sample::select(&CRITERIA[..]), any::<u64>());
    shapes.prop_flat_map(|(n, m, criterion, seed)| {
        let n_levels = vec(prop::sample::select(vec![2.0, 30.0, 300.0, 1e3, 1e6]), m);
        let weights = prop_oneof![
            2 => Just(None),
            2 => vec((0..4u8).prop_map(f64::from), n).prop_map(Some),
            1 => vec((0..900u16).prop_map(f64::from), n).prop_map(Some),
            1 => vec(0.1..2.0, n).prop_map(Some),
            1 => vec(prop::sample::select(vec![1e300, 1.0, 1e-300]), n).prop_map(Some),
        ];
        let holes = vec(prop::sample::select(vec![0.0, 0.0, 0.1, 0.6]), m);
        let target = (2..=6u32, prop::sample::select(vec![0.0, 0.1, 0.7, 1.0]));
        (n_levels, holes, weights, target, params(criterion, m), constraints(m)).prop_map(
            move |(n_levels, holes, weights, (n_classes, share), params, constraints)| {
                let weights = weights.map(|mut weights| {
                    weights[0] = 1.0;
                    weights
                });
                let signal: Vec<f64> = (0..n).map(|row| noise(seed, row)).collect();
                let x = Array2::from_shape_fn((n, m), |(row, column)| {
                    if noise(seed ^ column as u64 ^ 0xBA5, row) < holes[column] {
                        return f64::NAN;
                    }
                    let own = noise(seed ^ column as u64 ^ 0xF00, row);
                    ((share * own + (1.0 - share) * signal[row]) * n_levels[column]).floor()
                });
                let y = if is_regression(criterion) {
                    let value = |row: usize| (signal[row] * 40.0).round() / 8.0 + (row % 3) as f64;
                    Y::Numbers { values: (0..n).map(value).collect(), n_outputs: 1 }
                } else {
                    let class =
                        |row: usize| if row.is_multiple_of(5) { row as u32 / 5 } else { (signal[row] * 9.0) as u32 } % n_classes;
                    Y::Classes { values: (0..n).map(class).collect(), n_classes: vec![n_classes] }
                };
                let monotonic_cst = constraints.filter(|_| y.has_order());
                (x, y, weights, TreeParams { monotonic_cst, ..params })
            },
        )
    })
}

proptest! {
    #![proptest_config(config(100))]

    #[test]
    fn tiers_and_vector_widths_do_not_show((x, y, weights, params) in wide_cases()) {
        let weights = weights.as_deref();
        let expected = grow_dense(&x, &y, weights, &TreeParams { force_tier: Some(Tier::Sort), ..params.clone() });
        for force_tier in TIERS {
            for level in Level::supported() {
                let params = TreeParams { force_tier, force_level: Some(level), ..params.clone() };
                let tree = grow_dense(&x, &y, weights, &params);
                prop_assert!(tree == expected, "{:?} {:?}", force_tier, level);
            }
        }
        let keyed = Dataset::from_dense_with(x.view(), Ordinals::Keys, &runtime(1)).unwrap();
        prop_assert!(grow(&keyed, &y, weights, &params, &runtime(1)) == expected);
        let params = TreeParams { force_copies: Some(true), max_depth: Some(params.max_depth.unwrap_or(30)), ..params };
        let without = grow_dense(&x, &y, weights, &TreeParams { force_copies: Some(false), ..params.clone() });
        prop_assert!(grow_dense(&x, &y, weights, &params) == without);
        let data = encode(&x.view(), &runtime(2));
        prop_assert!(grow(&data, &y, weights, &params, &runtime(2)) == without);
    }
}

/// The mean of both zeros does not depend on which of them comes first.
#[test]
fn the_sign_of_a_zero_does_not_show() {
    let x = Array2::from_shape_fn((4, 1), |(row, _)| (row / 2) as f64);
    for values in [[-0.0, 0.0, 1.0, 2.0], [0.0, -0.0, 1.0, 2.0], [-0.0, -0.0, 1.0, 2.0]] {
        let y = Y::Numbers { values: values.to_vec(), n_outputs: 1 };
        let tree = grow_dense(&x, &y, None, &TreeParams::new(CriterionKind::SquaredError));
        let predicted = tree.predict(&x.view(), &runtime(1)).unwrap();
        assert_eq!(
            predicted.iter().map(|value| value.to_bits()).collect::<Vec<_>>(),
            [0.0f64, 0.0, 1.5, 1.5].map(f64::to_bits)
        );
    }
}

/// One, two and four bytes per dense rank; two and four per sparse one.
#[test]
fn the_width_of_ranks_does_not_show() {
    for (n, n_distinct) in [(3000, 250), (3000, 2900), (70_000, 69_990)] {
        let x = Array2::from_shape_fn((n, 2), |(row, column)| {
            // A bijection of the levels; the zero is inside.
            let level = (row * 7919 + column * 31) % n_distinct;
            level as f64 - 100.0
        });
        let y = large_target(&concatenate![Axis(1), x, x], CriterionKind::SquaredError);
        let params = TreeParams { max_depth: Some(6), ..TreeParams::new(CriterionKind::SquaredError) };
        let expected = grow_dense(&x, &y, None, &params);
        assert!(expected.n_leaves() > 32);
        for format in FORMATS {
            let data = Sparse::<f64, i32>::new(&x, format, |v| v).dataset(&runtime(1));
            let Columns::Sparse(columns) = data.columns() else { panic!("a sparse matrix has sparse columns") };
            assert_eq!(matches!(columns.column(0).ranks, RankSlice::U16(_)), n_distinct < 1 << 16);
            assert!(grow(&data, &y, None, &params, &runtime(1)) == expected, "{n_distinct} {format:?}");
        }
    }
}

/// Keys instead of ranks, where there are more than 65,536 values and all are `f32`; in large nodes
/// and in small ones.
#[test]
fn ordinals_do_not_show() {
    let n = 70_000;
    for is_narrow in [true, false] {
        let x = Array2::from_shape_fn((n, 3), |(row, column)| {
            let level = ((row * 7919 + column * 31) % (n - 10)) as f64 - 100.0;
            if is_narrow { level / 8.0 } else { level / 10.0 }
        });
        let narrow = x.mapv(|value| value as f32);
        let all = TreeParams { max_depth: Some(6), ..TreeParams::new(CriterionKind::SquaredError) };
        let few: Vec<f64> = (0..n).map(|row| f64::from(u8::from(row % 140 == 0))).collect();
        for (weights, params) in [(None, all.clone()), (Some(&few[..]), TreeParams { max_depth: None, ..all })] {
            for splitter in [Splitter::Best, Splitter::Random] {
                let params = TreeParams { splitter, ..params.clone() };
                let y = large_target(&x, CriterionKind::SquaredError);
                let expected = grow_dense(&x, &y, weights, &params);
                assert!(expected.n_leaves() > 32);
                let runtime = runtime(1);
                let wide = Dataset::from_dense_with(x.view(), Ordinals::Keys, &runtime).unwrap();
                for force_tier in TIERS {
                    let params = TreeParams { force_tier, ..params.clone() };
                    assert!(grow(&wide, &y, weights, &params, &runtime) == expected, "{splitter:?} {force_tier:?}");
                }
                if is_narrow {
                    let data = Dataset::from_dense_with(narrow.view(), Ordinals::Keys, &runtime).unwrap();
                    // No tables.
                    assert!(data.n_bytes() < x.len() * 4 + 100);
                    assert!(grow(&data, &y, weights, &params, &runtime) == expected, "{splitter:?}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(config(200))]

    /// Where one constrained feature moves and all others stay.
    #[test]
    fn predictions_are_monotonic((x, y, params) in cases(2..60), signs in vec(-1..=1i8, 6), moved: prop::sample::Index) {
        prop_assume!(y.has_order());
        let (n, m) = x.dim();
        let params = TreeParams { monotonic_cst: Some(signs[..m].to_vec()), ..params };
        let tree = grow_dense(&x, &y, None, &params);
        let (moved, last) = (moved.index(m), tree.n_values() - 1);
        // Missing values have no order.
        let mut levels: Vec<f64> = x.column(moved).iter().copied().filter(|v| !v.is_nan()).collect();
        levels.sort_by(f64::total_cmp);
        for row in 0..n {
            let mut rows = x.select(Axis(0), &vec![row; levels.len()]);
            rows.column_mut(moved).assign(&ArrayView1::from(&levels));
            let values = tree.predict(&rows.view(), &runtime(1)).unwrap();
            // Of two classes the second counts; of numbers, all.
            let from = if tree.n_classes() == [2] { last } else { 0 };
            for pair in values.chunks(last + 1).collect::<Vec<_>>().windows(2) {
                for (before, after) in pair[0].iter().zip(pair[1]).skip(from) {
                    prop_assert!((after - before) * f64::from(signs[moved]) >= 0.0, "{} {}", before, after);
                }
            }
        }
    }
}

#[test]
fn threads_do_not_show() {
    let x = large_matrix(20_000, 24, 0.4);
    let rows = Sparse::<f32, i32>::new(&x, Format::Csr, |v| v as f32);
    for criterion in CRITERIA {
        let y = large_target(&x, criterion);
        let random = TreeParams { splitter: Splitter::Random, ..TreeParams::new(criterion) };
        let best_first = TreeParams { max_leaf_nodes: Some(120), ..TreeParams::new(criterion) };
        for params in [TreeParams::new(criterion), random, active(criterion), best_first] {
            let params = TreeParams { max_depth: Some(8), ..params };
            let results = [1, 2, 7].map(|n_threads| {
                let runtime = runtime(n_threads);
                let dense = grow(&encode(&x.view(), &runtime), &y, None, &params, &runtime);
                let sparse = grow(&rows.dataset(&runtime), &y, None, &params, &runtime);
                let leaves = dense.apply(&x.view(), &runtime).unwrap();
                let sparse_leaves = dense.apply(&rows.view(), &runtime).unwrap();
                assert!(leaves == sparse_leaves);
                let values = dense.predict(&x.view(), &runtime).unwrap();
                (dense, sparse, leaves, values, dense_path(&x, &runtime, &params, &y))
            });
            assert!(results[0].0 == results[0].1 && results[0].0.node_count() > 200);
            assert!(results[1] == results[0] && results[2] == results[0], "{params:?}");
        }
    }
}

/// The path of every row through a small tree.
fn dense_path(x: &Array2<f64>, runtime: &Runtime<'_>, params: &TreeParams, y: &Y) -> (Vec<i64>, Vec<i64>) {
    let params = TreeParams { max_depth: Some(2), ..params.clone() };
    let tree = grow_dense(x, y, None, &params);
    tree.decision_path(&x.view(), runtime).unwrap()
}

// ---- Kernels
// --------------------------------------------------------------------------------------------------------

/// The entries of a feature in the node and the rank of 0.0, by definition: a rank is a place among
/// the column's values.
fn naive_entries(x: &Array2<f64>, feature: usize, samples: &[u32]) -> (Vec<Entry>, u32) {
    let mut values: Vec<f64> = x.column(feature).iter().copied().chain([0.0]).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let rank = |value: f64| values.iter().position(|&v| v == value).unwrap() as u32;
    let cells = samples.iter().map(|&sample| (sample, x[[sample as usize, feature]]));
    let nonzeros = cells.filter(|cell| cell.1 != 0.0);
    let mut entries: Vec<Entry> = nonzeros.map(|(sample, value)| Entry::new(rank(value), sample)).collect();
    entries.sort_unstable();
    (entries, rank(0.0))
}

fn check_kernels(
    columns: &SparseColumns,
    x: &Array2<f64>,
    samples: &[u32],
    filter: &[u32],
) -> Result<(), TestCaseError> {
    let n_features = x.ncols();
    let expected: Vec<_> = (0..n_features).map(|feature| naive_entries(x, feature, samples)).collect();
    let mut members = Bitset::new(x.nrows());
    members.insert_all(samples);
    let (mut by_bit, mut by_row) = (Vec::new(), Vec::new());
    for (feature, (expected, zero_rank)) in expected.iter().enumerate() {
        let column = columns.column(feature as u32);
        prop_assert_eq!(column.zero_rank, *zero_rank);
        prop_assert_eq!(by_bitmap(ValueOrdered::Stored(column), &members, &mut by_bit), &expected[..]);
        prop_assert_eq!(by_search(columns, feature as u32, samples, &mut by_row), &expected[..]);
    }
    let mut filter_set = Bitset::new(n_features);
    filter_set.insert_all(filter);
    let mut gather = Gather::new(n_features);
    // With a filter, without one, and again: the scratch is clean between two uses.
    for filter_set in [Some(&filter_set), None, Some(&filter_set)] {
        let mut gathered = vec![Vec::new(); n_features];
        let visit = |feature: u32, entries: &mut [Entry]| {
            assert!(entries.is_sorted_by_key(|entry| entry.sample()));
            entries.sort_unstable();
            assert!(gathered[feature as usize].is_empty() && !entries.is_empty());
            gathered[feature as usize] = entries.to_vec();
        };
        match filter_set {
            Some(filter) => gather.for_each_of(columns, samples, filter, visit),
            None => gather.for_each(columns, samples, visit),
        }
        for (feature, gathered) in gathered.iter().enumerate() {
            let kept = filter_set.is_none_or(|set| set.contains(feature as u32));
            prop_assert_eq!(&gathered[..], if kept { &expected[feature].0[..] } else { &[][..] });
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn kernels_extract_the_same_entries(
        x in matrices(1..150usize, 1..=8usize),
        node: u64,
        share in 0.0..=1.0f64,
        filter in prop::sample::subsequence((0..8u32).collect::<Vec<_>>(), 0..8),
        seed: u64,
    ) {
        let samples: Vec<u32> = (0..x.nrows() as u32).filter(|&row| noise(node, row as usize) < share).collect();
        let filter: Vec<u32> = filter.into_iter().filter(|&feature| (feature as usize) < x.ncols()).collect();
        for format in FORMATS {
            match Sparse::<f64, i32>::untidy(&x, format, |v| v, seed).dataset(&runtime(1)).columns() {
                Columns::Sparse(columns) => check_kernels(columns, &x, &samples, &filter)?,
                Columns::Dense(_) => prop_assert!(false, "a sparse matrix has sparse columns"),
            }
        }
    }
}

// ---- Weights and rows
// -----------------------------------------------------------------------------------------------

/// The arrays of a tree without the counts of rows and, on demand, without the weights.
fn without_counts(tree: &Tree, keep_weights: bool) -> NodeArrays {
    let mut nodes = tree.nodes().clone();
    nodes.n_node_samples.clear();
    if !keep_weights {
        nodes.weighted_n_node_samples.clear();
    }
    nodes
}

proptest! {
    #![proptest_config(config(200))]

    /// One weight is 1: a common divisor is taken out of weights first, which moves the last bit of
    /// an impurity.
    #[test]
    fn a_weight_is_a_number_of_copies((x, y, params) in cases(1..40), mut copies in vec(0..=3usize, 40)) {
        copies.truncate(x.nrows());
        copies[0] = 1;
        // Rules on numbers of rows do see copies.
        let (min_samples_split, min_samples_leaf) = (Count::Absolute(2), Count::Absolute(1));
        let params = TreeParams { min_samples_split, min_samples_leaf, min_share_leaf: 0.0, ..params };
        let weights: Vec<f64> = copies.iter().map(|&k| k as f64).collect();
        let rows: Vec<usize> = (0..x.nrows()).flat_map(|row| vec![row; copies[row]]).collect();
        let weighted = grow_dense(&x, &y, Some(&weights), &params);
        let copied = grow_dense(&x.select(Axis(0), &rows), &y.select(&rows), None, &params);
        prop_assert_eq!(without_counts(&weighted, true), without_counts(&copied, true));
    }

    /// Not even if its target is far from all others.
    #[test]
    fn a_row_of_weight_0_does_not_show((x, y, params) in cases(1..40), weights in vec(1..=3u8, 40), outlier: f64) {
        prop_assume!(outlier.is_finite());
        let n = x.nrows();
        let params = TreeParams { min_samples_split: Count::Absolute(2), min_samples_leaf: Count::Absolute(1), ..params };
        let mut weights: Vec<f64> = weights[..n].iter().map(|&w| f64::from(w)).collect();
        let without = grow_dense(&x, &y, Some(&weights), &params);
        weights.push(0.0);
        let rows: Vec<usize> = (0..n).chain([0]).collect();
        let (mut x, mut y) = (x.select(Axis(0), &rows), y.select(&rows));
        x.row_mut(n).fill(-1000.0);
        if let Y::Numbers { values, n_outputs } = &mut y {
            values[n * *n_outputs..].fill(outlier);
        }
        prop_assert_eq!(grow_dense(&x, &y, Some(&weights), &params), without);
    }

    #[test]
    fn the_scale_of_weights_does_not_show((x, y, params) in cases(1..40), weights in vec(1..=5u8, 40), scale in -40..40i32) {
        let n = x.nrows();
        let unit = grow_dense(&x, &y, None, &params);
        for weight in [0.5, 0.1, 3.0] {
            let equal = grow_dense(&x, &y, Some(&vec![weight; n]), &params);
            prop_assert_eq!(without_counts(&equal, false), without_counts(&unit, false));
            prop_assert_eq!(&equal.nodes().n_node_samples, &unit.nodes().n_node_samples);
            let weighted = &equal.nodes().weighted_n_node_samples;
            for (weighted, &n) in weighted.iter().zip(&unit.nodes().n_node_samples) {
                prop_assert_eq!(*weighted, n as f64 * weight);
            }
        }
        let power = 2f64.powi(scale);
        let integers: Vec<f64> = weights[..n].iter().map(|&w| f64::from(w)).collect();
        let scaled: Vec<f64> = integers.iter().map(|w| w * power).collect();
        let (integer, scaled) = (grow_dense(&x, &y, Some(&integers), &params), grow_dense(&x, &y, Some(&scaled), &params));
        prop_assert_eq!(without_counts(&scaled, false), without_counts(&integer, false));
    }

    #[test]
    fn the_order_of_rows_does_not_show((x, y, params) in cases(2..60), shuffle: u64, weighted: bool) {
        let mut order: Vec<usize> = (0..x.nrows()).collect();
        order.sort_by(|&a, &b| noise(shuffle, a).total_cmp(&noise(shuffle, b)));
        // Targets and weights that fixed point must round.
        let y = match y {
            Y::Numbers { values, n_outputs } => {
                Y::Numbers { values: values.iter().enumerate().map(|(i, v)| v / 3.0 + noise(!shuffle, i)).collect(), n_outputs }
            }
            classes @ Y::Classes { .. } => classes,
        };
        let weights: Vec<f64> = (0..x.nrows()).map(|row| noise(shuffle, 1000 + row / 2)).collect();
        let shuffled: Vec<f64> = order.iter().map(|&row| weights[row]).collect();
        let [weights, shuffled] = [&weights, &shuffled].map(|weights| weighted.then_some(&weights[..]));
        let before = grow_dense(&x, &y, weights, &params);
        let after = grow_dense(&x.select(Axis(0), &order), &y.select(&order), shuffled, &params);
        prop_assert_eq!(before, after);
    }

    /// Bounds on which the exact arithmetic relies, and the tree at the ends of the range of
    /// doubles.
    #[test]
    fn extreme_numbers_do_not_overflow(
        (y, weights, n_outputs) in (2..24usize, 1..=3usize).prop_flat_map(|(n, n_outputs)| {
            let extreme = prop_oneof![
                prop::sample::select(vec![
                    0.0, 1.0, -1.0, 0.1, 1e300, -1e300, 1e-300, -1e-300, f64::MAX, f64::MIN, f64::MIN_POSITIVE, 5e-324,
                    1e16, 1e16 + 2.0,
                ]),
                -1.0..1.0f64,
            ];
            let weight = prop_oneof![
                prop::sample::select(vec![0.0, 1.0, 0.1, 1e-300, 5e-324, 1e-10, 1e10, 1e300, 1e306]),
                0.0..1.0f64,
            ];
            // Outputs of very different scale: each draws its own range.
            let column = prop_oneof![vec(extreme, n), (-1020..1020i32).prop_flat_map(move |e| vec((-1.0..1.0f64).prop_map(move |v| v * 2f64.powi(e)), n))];
            (vec(column, n_outputs), prop_oneof![Just(vec![1.0; n]), vec(weight, n)], Just(n_outputs))
        }),
        columns in vec(0..30u8, 48),
    ) {
        let n = weights.len();
        prop_assume!(weights.iter().any(|&w| w > 0.0));
        let x = Array2::from_shape_fn((n, 2), |(row, column)| f64::from(columns[2 * row + column]));
        let values: Vec<f64> = (0..n * n_outputs).map(|at| y[at % n_outputs][at / n_outputs]).collect();
        let y = Y::Numbers { values: values.clone(), n_outputs };
        let target = y.target(Some(&weights));
        let total: u128 = (0..n).map(|sample| u128::from(target.weights().get(sample))).sum();
        prop_assert!(total <= (1 << WEIGHT_BITS) + n as u128);

        let params = TreeParams::new(CriterionKind::SquaredError);
        let tree = grow_dense(&x, &y, Some(&weights), &params);
        let sparse = Sparse::<f64, i32>::new(&x, Format::Csc, |v| v).dataset(&runtime(1));
        prop_assert_eq!(&tree, &grow(&sparse, &y, Some(&weights), &params, &runtime(1)));
        let largest = |values: &mut dyn Iterator<Item = &f64>| values.fold(0f64, |largest, v| largest.max(v.abs()));
        let largest_of_all = largest(&mut values.iter());
        for (at, value) in tree.nodes().value.iter().enumerate() {
            let column = || values.iter().skip(at % n_outputs).step_by(n_outputs);
            let (low, high) = (column().copied().fold(f64::MAX, f64::min), column().copied().fold(f64::MIN, f64::max));
            // Fixed point: 44 bits, and the scales of two outputs are at most SCALE_SPREAD bits
            // apart.
            let unit = largest(&mut column()).max(largest_of_all * 2f64.powi(-SCALE_SPREAD)) * 2f64.powi(-43);
            prop_assert!(low - unit <= *value && *value <= high + unit, "{} outside of {}..{}", value, low, high);
        }
        prop_assert!(tree.nodes().impurity.iter().all(|&impurity| impurity >= 0.0));

        let classes = Y::Classes { values: values.iter().map(|&v| u32::from(v > 0.0)).collect(), n_classes: vec![2; n_outputs] };
        for criterion in [CriterionKind::Gini, CriterionKind::Entropy] {
            let tree = grow_dense(&x, &classes, Some(&weights), &TreeParams::new(criterion));
            prop_assert!(tree.nodes().value.iter().all(|share| (0.0..=1.0).contains(share)));
            prop_assert!(tree.nodes().impurity.iter().all(|impurity| (0.0..=1.0).contains(impurity)));
        }
    }
}

// ---- Trees
// ----------------------------------------------------------------------------------------------------------

/// Dense and sparse rows reach the same leaves, by the paths that the thresholds say.
fn check_prediction(x: &Array2<f64>, tree: &Tree) -> Result<(), TestCaseError> {
    let runtime = runtime(1);
    let sparse = Sparse::<f64, i32>::new(x, Format::Csr, |v| v);
    let sparse = sparse.view();
    let dense = x.view();
    let leaves = tree.apply(&dense, &runtime).unwrap();
    let values = tree.predict(&dense, &runtime).unwrap();
    let (indptr, indices) = tree.decision_path(&dense, &runtime).unwrap();
    prop_assert_eq!(&tree.apply(&sparse, &runtime).unwrap(), &leaves);
    prop_assert_eq!(&tree.predict(&sparse, &runtime).unwrap(), &values);
    prop_assert_eq!(&tree.decision_path(&sparse, &runtime).unwrap(), &(indptr.clone(), indices.clone()));

    let nodes = tree.nodes();
    prop_assert_eq!((indptr.len(), indptr[0], indptr[x.nrows()]), (x.nrows() + 1, 0, indices.len() as i64));
    for (row, range) in indptr.windows(2).enumerate() {
        let path = &indices[range[0] as usize..range[1] as usize];
        prop_assert_eq!((path[0], path[path.len() - 1]), (0, leaves[row]));
        for pair in path.windows(2) {
            let node = pair[0] as usize;
            let value = x[[row, nodes.feature[node] as usize]];
            let goes_left =
                if value.is_nan() { nodes.missing_go_to_left[node] == 1 } else { value <= nodes.threshold[node] };
            let child = if goes_left { nodes.children_left[node] } else { nodes.children_right[node] };
            prop_assert_eq!(pair[1], i64::from(child));
        }
        let leaf = leaves[row] as usize;
        prop_assert_eq!((nodes.children_left[leaf], nodes.children_right[leaf]), (TREE_LEAF, TREE_LEAF));
        prop_assert_eq!(&values[row * tree.n_values()..][..tree.n_values()], tree.value(leaf));
    }
    // The training rows are where growing has left them.
    let mut counts = vec![0i64; tree.node_count()];
    for &node in &indices {
        counts[node as usize] += 1;
    }
    prop_assert_eq!(&counts, &nodes.n_node_samples);
    Ok(())
}

/// A count of rows as `TreeParams` says it.
fn resolve(count: Count, n: usize) -> i64 {
    match count {
        Count::Absolute(count) => count as i64,
        Count::Fraction(share) => (share * n as f64).ceil() as i64,
    }
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn predictions_follow_the_tree((x, y, params) in cases(1..60)) {
        check_prediction(&x, &grow_dense(&x, &y, None, &params))?;
    }

    #[test]
    fn stop_rules_are_kept((x, y, params) in cases(10..200), weights in vec(1..=9u8, 200)) {
        let n = x.nrows();
        let weights: Vec<f64> = weights[..n].iter().map(|&w| f64::from(w)).collect();
        let tree = grow_dense(&x, &y, Some(&weights), &params);
        let nodes = tree.nodes();
        prop_assert!(params.max_depth.is_none_or(|max_depth| tree.max_depth() as u64 <= max_depth));
        prop_assert_eq!(tree.n_leaves() * 2 - 1, tree.node_count());
        let min_weight = params.min_weight_fraction_leaf * nodes.weighted_n_node_samples[0];
        for node in 0..tree.node_count() {
            if nodes.children_left[node] == TREE_LEAF {
                continue;
            }
            prop_assert!(nodes.impurity[node] > 0.0);
            prop_assert!(nodes.n_node_samples[node] >= resolve(params.min_samples_split, n));
            let children = [nodes.children_left[node] as usize, nodes.children_right[node] as usize];
            for child in children {
                prop_assert!(nodes.n_node_samples[child] >= resolve(params.min_samples_leaf, n));
                let least = params.min_share_leaf * nodes.n_node_samples[node] as f64;
                prop_assert!(nodes.n_node_samples[child] >= least.ceil() as i64);
                prop_assert!(nodes.weighted_n_node_samples[child] >= min_weight);
            }
            let sum = |array: &[i64]| children.iter().map(|&child| array[child]).sum::<i64>();
            prop_assert_eq!(sum(&nodes.n_node_samples), nodes.n_node_samples[node]);
            let part = |node: usize| nodes.weighted_n_node_samples[node] * nodes.impurity[node];
            let decrease = (part(node) - part(children[0]) - part(children[1])) / nodes.weighted_n_node_samples[0];
            prop_assert!(decrease >= params.min_impurity_decrease - 1e-9, "{}", decrease);
        }
        let importances = tree.compute_feature_importances(true).unwrap();
        let total: f64 = importances.iter().sum();
        prop_assert!(importances.iter().all(|&i| i >= 0.0) && (total == 0.0 || (total - 1.0).abs() < 1e-9));
    }
}

// ---- Leaves: as many as are wanted, and worth their price
// -----------------------------------------------------------

/// The paths of the leaves; left is false.
fn leaf_paths(tree: &Tree) -> BTreeSet<Vec<bool>> {
    let nodes = tree.nodes();
    let (mut leaves, mut stack) = (BTreeSet::new(), vec![(0, Vec::new())]);
    while let Some((node, path)) = stack.pop() {
        if nodes.children_left[node] == TREE_LEAF {
            leaves.insert(path);
            continue;
        }
        for (child, is_right) in [(nodes.children_left[node], false), (nodes.children_right[node], true)] {
            stack.push((child as usize, [&path[..], &[is_right]].concat()));
        }
    }
    leaves
}

/// A tree as the brute-force grower has it; only what pruning sees.
fn naive_nodes(tree: &Tree) -> Vec<naive::Node> {
    let nodes = tree.nodes();
    let node = |id: usize| naive::Node {
        missing_left: nodes.missing_go_to_left[id] != 0,
        codes_left: vec![],
        split: (nodes.children_left[id] != TREE_LEAF)
            .then(|| (0, 0.0, nodes.children_left[id] as usize, nodes.children_right[id] as usize)),
        n_samples: nodes.n_node_samples[id] as usize,
        weight: nodes.weighted_n_node_samples[id] as u64,
        impurity: nodes.impurity[id],
        value: tree.value(id).to_vec(),
    };
    (0..tree.node_count()).map(node).collect()
}

proptest! {
    #![proptest_config(config(150))]

    #[test]
    fn leaves_come_one_by_one((x, y, params) in cases(2..80)) {
        let grow = |max_leaf_nodes| {
            grow_dense(&x, &y, None, &TreeParams { max_leaf_nodes, ccp_alpha: 0.0, ..params.clone() })
        };
        let full = grow(None);
        prop_assert_eq!(&grow(Some(full.n_leaves().max(2) as u64)), &full);
        prop_assert_eq!(&grow(Some(u64::MAX)), &full);
        let mut smaller = leaf_paths(&grow(Some(2)));
        for n_leaves in 3..full.n_leaves() {
            let tree = grow(Some(n_leaves as u64));
            prop_assert_eq!(tree.n_leaves(), n_leaves);
            // One leaf is split: it goes, two come.
            let leaves = leaf_paths(&tree);
            prop_assert_eq!(smaller.difference(&leaves).count(), 1);
            prop_assert_eq!(leaves.difference(&smaller).count(), 2);
            smaller = leaves;
        }
    }

    /// Against the definition: the weakest link of all is cut, again and again.
    #[test]
    fn weakest_links_are_cut((x, y, params) in cases(2..80)) {
        let full = grow_dense(&x, &y, None, &TreeParams { ccp_alpha: 0.0, ..params.clone() });
        prop_assume!(full.nodes().impurity[0].is_finite());
        let path = full.cost_complexity_path(&runtime(1)).unwrap();
        prop_assert!(path.ccp_alphas.is_sorted() && path.ccp_alphas[0] == 0.0);
        prop_assert_eq!(path.impurities.len(), path.ccp_alphas.len());
        let room = 1e-9 * (1.0 + full.nodes().impurity[0]);
        let mut naive = naive_nodes(&full);
        let mut alpha = 0.0;
        while let Some((price, link)) = naive::weakest_link(&naive) {
            prop_assert!(path.ccp_alphas.iter().any(|alpha| (alpha - price).abs() <= room), "{} {:?}", price, path);
            if price > alpha + 2.0 * room {
                // Between two prices there is one best subtree.
                let between = f64::midpoint(alpha, price);
                let pruned = full.pruned(between, &runtime(1)).unwrap();
                let shape = |nodes: &[naive::Node]| -> Vec<_> { nodes.iter().map(|node| (node.split, node.n_samples)).collect() };
                prop_assert_eq!(shape(&naive_nodes(&pruned)), shape(&naive));
                let last = path.ccp_alphas.iter().rposition(|&alpha| alpha <= between).unwrap();
                let leaves = pruned.nodes().children_left.iter().enumerate().filter(|(_, left)| **left == TREE_LEAF);
                let share = |leaf: usize| pruned.nodes().weighted_n_node_samples[leaf] / x.nrows() as f64;
                let cost: f64 = leaves.map(|(leaf, _)| share(leaf) * pruned.nodes().impurity[leaf]).sum();
                prop_assert!((cost - path.impurities[last]).abs() <= room);
                let params = TreeParams { ccp_alpha: between, ..params.clone() };
                prop_assert_eq!(grow_dense(&x, &y, None, &params), pruned);
            }
            alpha = alpha.max(price);
            naive = naive::collapse(&naive, link);
        }
        let root = full.pruned(alpha + room, &runtime(1)).unwrap();
        prop_assert_eq!(root.node_count(), 1);
        prop_assert_eq!(root.value(0), full.value(0));
    }
}

#[test]
fn a_raised_stop_flag_ends_the_call() {
    let x = large_matrix(50, 4, 0.5);
    let target = large_target(&x, CriterionKind::Gini).target(None);
    let tree = grow_dense(&x, &large_target(&x, CriterionKind::Gini), None, &TreeParams::new(CriterionKind::Gini));
    let data = encode(&x.view(), &runtime(1));
    let stop = AtomicBool::new(true);
    for n_threads in [1, 2] {
        let runtime = Runtime::new(n_threads, &stop);
        let params = TreeParams::new(CriterionKind::Gini).check(50, 4).unwrap();
        let sparse = Sparse::<f64, i32>::new(&x, Format::Csr, |v| v);
        assert_eq!(try_encode(&x.view(), &runtime).unwrap_err(), Error::Interrupted);
        assert_eq!(Dataset::from_sparse(&sparse.view(), &runtime).unwrap_err(), Error::Interrupted);
        let grown = spinney::grow::grow(&data, &target, &params, 0, &runtime);
        assert_eq!(grown.unwrap_err(), Error::Interrupted);
        assert_eq!(tree.predict(&x.view(), &runtime).unwrap_err(), Error::Interrupted);
    }
}

#[test]
fn shapes_and_tasks_that_do_not_fit_are_refused() {
    let runtime = runtime(1);
    let x = large_matrix(10, 3, 0.5);
    let data = encode(&x.view(), &runtime);
    let y = large_target(&x, CriterionKind::Gini);
    let params = TreeParams::new(CriterionKind::Gini);
    let valid = params.check(10, 3).unwrap();
    let short = y.select(&[0, 1, 2]).target(None);
    assert!(spinney::grow::grow(&data, &short, &valid, 0, &runtime).is_err());
    let other = TreeParams::new(CriterionKind::SquaredError).check(10, 3).unwrap();
    assert!(spinney::grow::grow(&data, &y.target(None), &other, 0, &runtime).is_err());
    let tree = grow(&data, &y, None, &params, &runtime);
    assert!(tree.predict(&x.slice(s![.., ..2]), &runtime).is_err());
    let csc = Sparse::<f64, i32>::new(&x, Format::Csc, |v| v);
    assert!(tree.predict(&csc.view(), &runtime).is_err());
    for shape in [(0, 3), (3, 0), (0, 0)] {
        assert!(try_encode(&Array2::<f64>::zeros(shape).view(), &runtime).is_err());
    }
    assert!(Target::classification(&[0, 2], &[2], None).is_err());
    assert!(Target::regression(&[0.0, f64::INFINITY], 1, None).is_err());
    assert!(Target::regression(&[0.0, 1.0, 2.0], 2, None).is_err());
}

/// Cells that are stored twice add up to what is missing, or one of them is.
#[test]
fn duplicates_may_add_up_to_nan() {
    let runtime = runtime(1);
    let dense = Dataset::from_dense(array![[0.0], [f64::NAN]].view(), &runtime).unwrap();
    for parts in [[f64::INFINITY, f64::NEG_INFINITY], [1.0, f64::NAN]] {
        let stored = SparseView::new((2, 1), Format::Csc, &[0i32, 2], &[1, 1], &parts).unwrap();
        let sparse = Dataset::from_sparse(&stored, &runtime).unwrap();
        let y = Y::Classes { values: vec![0, 1], n_classes: vec![2] };
        let params = TreeParams::new(CriterionKind::Gini);
        let [dense, sparse] = [&dense, &sparse].map(|data| grow(data, &y, None, &params, &runtime));
        assert_eq!(dense, sparse);
        assert_eq!(dense.nodes().threshold[0], f64::INFINITY);
    }
}

/// Arrays of a tree from its children; nodes with a left child split on feature 0.
fn arrays(children_left: Vec<i32>, children_right: Vec<i32>) -> NodeArrays {
    let n = children_left.len();
    let feature = children_left.iter().map(|&left| if left == TREE_LEAF { TREE_UNDEFINED } else { 0 }).collect();
    NodeArrays {
        children_left,
        children_right,
        feature,
        threshold: vec![0.5; n],
        missing_go_to_left: vec![0; n],
        impurity: vec![0.0; n],
        n_node_samples: vec![1; n],
        weighted_n_node_samples: vec![1.0; n],
        value: vec![0.0; n],
    }
}

/// The id after the subtree of `node` if it is numbered in preorder, left child first: the
/// definition, by recursion.
fn end_of_subtree(left: &[i32], right: &[i32], node: usize) -> Option<usize> {
    if *left.get(node)? == TREE_LEAF && *right.get(node)? == TREE_LEAF {
        return Some(node + 1);
    }
    let is = |child: i32, expected: usize| usize::try_from(child) == Ok(expected);
    if !is(left[node], node + 1) {
        return None;
    }
    let middle = end_of_subtree(left, right, node + 1)?;
    if is(right[node], middle) { end_of_subtree(left, right, middle) } else { None }
}

fn is_preorder(left: &[i32], right: &[i32]) -> bool {
    end_of_subtree(left, right, 0) == Some(left.len())
}

proptest! {
    #![proptest_config(config(3000))]

    /// Random children, and small changes of the children of a sound tree.
    #[test]
    fn trees_are_in_preorder_or_refused(
        splits in vec(any::<bool>(), 0..6),
        changes in vec((0..9usize, any::<bool>(), -3..12i32), 0..3),
        swap in (0..9usize, 0..9usize),
        n_extra in 0..2usize,
    ) {
        // A sound tree: open children wait on a stack until they are split, or all are leaves.
        let (mut left, mut right, mut pending) = (Vec::new(), Vec::new(), vec![None]);
        let mut splits = splits.into_iter();
        while let Some(parent) = pending.pop() {
            let node = left.len();
            left.push(TREE_LEAF);
            right.push(TREE_LEAF);
            if let Some(parent) = parent {
                let slot: &mut i32 = &mut right[parent];
                *slot = node as i32;
            }
            let mut node = node;
            while splits.next().unwrap_or(false) {
                pending.push(Some(node));
                left[node] = node as i32 + 1;
                node += 1;
                left.push(TREE_LEAF);
                right.push(TREE_LEAF);
            }
        }
        prop_assert!(is_preorder(&left, &right));
        for _ in 0..n_extra {
            left.push(TREE_LEAF);
            right.push(TREE_LEAF);
        }
        let n = left.len();
        for (node, is_left, child) in changes {
            let children = if is_left { &mut left } else { &mut right };
            children[node % n] = child;
        }
        right.swap(swap.0 % n, swap.1 % n);
        let tree = Tree::new(1, vec![1], arrays(left.clone(), right.clone()));
        prop_assert_eq!(tree.is_ok(), is_preorder(&left, &right), "{:?} {:?}", left, right);
    }
}

type Spoil = fn(&mut NodeArrays);

#[test]
fn inconsistent_trees_are_refused() {
    let sound = || arrays(vec![1, -1, -1], vec![2, -1, -1]);
    assert!(Tree::new(1, vec![1], sound()).is_ok());
    assert!(Tree::new(1, vec![1], NodeArrays::default()).is_err(), "no nodes");
    assert!(Tree::new(1, vec![], sound()).is_err(), "no outputs");
    assert!(Tree::new(1, vec![0], sound()).is_err(), "no classes");
    assert!(Tree::new(1, vec![2], sound()).is_err(), "too few values");
    assert!(Tree::new(1, vec![1, 1], sound()).is_err(), "too few values");
    let spoil: [(&str, Spoil); 13] = [
        ("children_right", |nodes| nodes.children_right.truncate(2)),
        ("feature", |nodes| nodes.feature.push(0)),
        ("threshold", |nodes| nodes.threshold.truncate(2)),
        ("missing_go_to_left", |nodes| nodes.missing_go_to_left.clear()),
        ("impurity", |nodes| nodes.impurity.truncate(1)),
        ("n_node_samples", |nodes| nodes.n_node_samples.push(1)),
        ("weighted_n_node_samples", |nodes| nodes.weighted_n_node_samples.truncate(2)),
        ("value", |nodes| nodes.value.truncate(2)),
        ("feature out of range", |nodes| nodes.feature[0] = 1),
        ("negative feature", |nodes| nodes.feature[0] = -1),
        ("a cycle", |nodes| nodes.children_right[0] = 0),
        ("children out of order", |nodes| (nodes.children_left[0], nodes.children_right[0]) = (2, 1)),
        ("one child", |nodes| nodes.children_right[0] = TREE_LEAF),
    ];
    for (what, spoil) in spoil {
        let mut nodes = sound();
        spoil(&mut nodes);
        assert!(Tree::new(1, vec![1], nodes).is_err(), "{what}");
    }
    // Every node has one parent before it, but the right subtrees are in the wrong order.
    assert!(Tree::new(1, vec![1], arrays(vec![1, 2, 3, -1, -1, -1, -1], vec![4, 5, 6, -1, -1, -1, -1])).is_err());
}

// ---- Hostile sparse structure
// ---------------------------------------------------------------------------------------

/// Whether the arrays are a sound compressed matrix: the definition.
fn is_sound(n_major: usize, n_minor: usize, indptr: &[i64], indices: &[i64], n_data: usize) -> bool {
    indptr.len() == n_major + 1
        && indices.len() == n_data
        && indptr[0] == 0
        && indptr.is_sorted()
        && indptr[n_major] <= n_data as i64
        && indices[..indptr[n_major] as usize].iter().all(|&index| 0 <= index && index < n_minor as i64)
}

/// What becomes of hostile arrays: refused, or the matrix that they say.
fn check_view<I: SparseIndex>(
    (n_major, n_minor): (usize, usize),
    convert: impl Fn(i64) -> I,
    indptr: &[i64],
    indices: &[i64],
    data: &[f32],
) -> Result<(), TestCaseError> {
    let sound = is_sound(n_major, n_minor, indptr, indices, data.len());
    let narrow = |array: &[i64]| -> Vec<I> { array.iter().map(|&v| convert(v)).collect() };
    let (narrow_indptr, narrow_indices) = (narrow(indptr), narrow(indices));
    for format in FORMATS {
        let shape = if format == Format::Csr { (n_major, n_minor) } else { (n_minor, n_major) };
        let view = SparseView::new(shape, format, &narrow_indptr, &narrow_indices, data);
        prop_assert_eq!(view.is_ok(), sound);
        let Ok(view) = view else { continue };
        let encoded = Dataset::from_sparse(&view, &runtime(1));
        if n_major == 0 || n_minor == 0 {
            prop_assert!(encoded.is_err());
            continue;
        }
        let mut dense = Array2::<f64>::zeros(shape);
        for major in 0..n_major {
            for at in indptr[major]..indptr[major + 1] {
                let minor = indices[at as usize] as usize;
                let cell = if format == Format::Csr { [major, minor] } else { [minor, major] };
                dense[cell] += f64::from(data[at as usize]);
            }
        }
        let y = Y::Numbers { values: (0..shape.0).map(|row| noise(4, row)).collect(), n_outputs: 1 };
        let params = TreeParams::new(CriterionKind::SquaredError);
        let expected = grow_dense(&dense, &y, None, &params);
        prop_assert_eq!(&grow(&encoded.unwrap(), &y, None, &params, &runtime(1)), &expected);
        if format == Format::Csr {
            let leaves = expected.apply(&view, &runtime(1)).unwrap();
            prop_assert_eq!(leaves, expected.apply(&dense.view(), &runtime(1)).unwrap());
        }
    }
    Ok(())
}

fn hostile(usual: std::ops::Range<i64>, least: i64, most: i64) -> impl Strategy<Value = i64> {
    let extremes = vec![least, least + 1, -1, most, most - 1, 1 << 20];
    prop_oneof![60 => usual, 1 => prop::sample::select(extremes)]
}

proptest! {
    #![proptest_config(config(1500))]

    #[test]
    fn hostile_sparse_arrays_are_refused(
        (n_major, n_minor) in (0..4usize, 0..4usize),
        mut indptr in vec(hostile(0..6, i64::from(i32::MIN), i64::from(i32::MAX)), 0..6),
        indices in vec(hostile(0..4, i64::from(i32::MIN), i64::from(i32::MAX)), 0..6),
        data in vec((-2..=2i8).prop_map(f32::from), 0..6),
        sorted in 0..10u8,
        fits in 0..10u8,
    ) {
        // Mostly plausible, or nothing would get beyond the first check.
        if sorted > 0 {
            indptr.sort_unstable();
            indptr.resize(n_major + 1, 5);
            indptr[0] = 0;
        }
        let n = indices.len().min(data.len());
        let (indices, data) = if fits > 0 { (&indices[..n], &data[..n]) } else { (&indices[..], &data[..]) };
        if sorted > 1 {
            for pointer in &mut indptr {
                *pointer = (*pointer).min(data.len() as i64);
            }
        }
        check_view((n_major, n_minor), |v| v as i32, &indptr, indices, data)?;
        check_view((n_major, n_minor), |v| v, &indptr, indices, data)?;
        let far = |array: &[i64]| -> Vec<i64> { array.iter().map(|&v| v.saturating_mul(1 << 40)).collect() };
        check_view((n_major, n_minor), |v| v, &far(&indptr), &far(indices), data)?;
    }
}

#[test]
fn sparse_shapes_at_the_ends_of_their_range() {
    let (indptr, none, no_data) = ([0i64], [0i64; 0], [0f64; 0]);
    for format in FORMATS {
        let view = SparseView::new((0, 0), format, &indptr, &none, &no_data).unwrap();
        assert_eq!((view.shape(), view.nnz()), ((0, 0), 0));
        assert!(Dataset::from_sparse(&view, &runtime(1)).is_err());
        for shape in [(usize::MAX, usize::MAX), (usize::MAX, 3), (3, usize::MAX)] {
            assert!(SparseView::new(shape, format, &indptr, &none, &no_data).is_err());
        }
    }
    // More rows than ids: refused before anything is allocated.
    let view = SparseView::new((1 << 40, 1), Format::Csc, &[0i64, 1], &[(1 << 40) - 1], &[1.0]).unwrap();
    assert!(matches!(Dataset::from_sparse(&view, &runtime(1)), Err(Error::TooLarge { .. })));
}

/// Logarithms are rounded. So among rows of one class, whose weights say next to nothing beside those of others, the
/// best cut may be one that would be no better than its neighbours in exact arithmetic.
#[test]
fn bins_of_one_class_may_hold_the_best_cut_by_entropy() {
    let n = 600;
    for seed in 0..30u64 {
        let x = Array2::from_shape_fn((n, 3), |(row, column)| {
            (noise(seed ^ (column as u64 + 1) << 8, row) * 900.0).floor()
        });
        let classes = (0..n).map(|row| u32::from(noise(seed ^ 0xC1A5, row) < 0.5)).collect();
        let y = Y::Classes { values: classes, n_classes: vec![2] };
        let weights: Vec<f64> = (0..n).map(|row| [1e300, 1.0, 1e-300][(noise(!seed, row) * 3.0) as usize]).collect();
        let with = |force_tier| {
            grow_dense(&x, &y, Some(&weights), &TreeParams { force_tier, ..TreeParams::new(CriterionKind::Entropy) })
        };
        let sorted = with(Some(Tier::Sort));
        for force_tier in TIERS {
            assert!(with(force_tier) == sorted, "{force_tier:?} {seed}");
        }
    }
}

proptest! {
    #![proptest_config(config(400))]

    /// Bounds of sparse columns hold where most of a node's weight, or of its range, is that of a few samples: what tells
    /// the others apart is then below the rounding of a share, or of a target.
    #[test]
    fn bounds_of_sparse_columns_hold_beside_huge_weights_and_targets(
        seed in any::<u64>(),
        n in 8..40usize,
        kind in 0..4usize,
    ) {
        let levels = [5, 5, 5, 9, 15];
        let mut x = Array2::from_shape_fn((n, levels.len()), |(row, column)| {
            let level = noise(seed ^ (column as u64 + 1), row) * 2.0 * f64::from(levels[column]);
            if level < f64::from(levels[column]) { level.floor() } else { f64::NAN }
        });
        x.column_mut(3).mapv_inplace(|level| level * 7.0 - 20.0);
        let n_categories = [5, 5, 5, 0, 15];
        let weights: Vec<f64> = (0..n).map(|row| [1e300, 1.0, 1e-300, 0.0][(noise(!seed, row) * 4.0) as usize]).collect();
        let draw = |at: usize, n: u32| (noise(seed ^ 0xC1A5, at) * f64::from(n)) as u32;
        let (y, criterion) = match kind {
            0 | 1 => {
                let classes = kind as u32 + 2;
                (Y::Classes { values: (0..n).map(|row| draw(row, classes)).collect(), n_classes: vec![classes] }, CriterionKind::Gini)
            }
            _ => {
                let values = (0..n).map(|row| [0.0, 1e15, -1e15][draw(row, 5).saturating_sub(2) as usize] + f64::from(draw(n + row, 4)));
                (Y::Numbers { values: values.collect(), n_outputs: 1 }, CriterionKind::SquaredError)
            }
        };
        let weights = (kind != 2).then_some(&weights[..]);
        prop_assume!(weights.is_none_or(|weights| weights.iter().any(|&weight| weight > 0.0)));
        let params = TreeParams { seed, ..TreeParams::new(criterion) };
        let runtime = runtime(1);
        let dense = encode(&x.view(), &runtime).with_categories(&n_categories).unwrap();
        let expected = grow(&dense, &y, weights, &TreeParams { force_tier: Some(Tier::Sort), ..params.clone() }, &runtime);
        let sparse = Sparse::<f64, i32>::new(&x, Format::Csr, |v| v).dataset(&runtime).with_categories(&n_categories).unwrap();
        for force_strategy in KERNELS {
            let found = grow(&sparse, &y, weights, &TreeParams { force_strategy, ..params.clone() }, &runtime);
            prop_assert!(found == expected, "{:?}", force_strategy);
        }
    }
}
