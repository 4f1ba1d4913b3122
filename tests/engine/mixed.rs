//! Data of numbers and categories, with missing values among both: what must not show in a tree.
//! Beside what `properties` has of numbers: the codes of categories, and where rows without a known
//! category go.

use ndarray::{Array2, Axis, concatenate, s};
use proptest::collection::vec;
use proptest::prelude::*;
use spinney::data::{Columns, Dataset, Format, Matrix};
use spinney::forest::{LazyForest, grow_forest};
use spinney::lazy::Traversal;
use spinney::params::{Bootstrap, Count, CriterionKind, ForestParams, MaxFeatures, Splitter, Tier, TreeParams};
use spinney::simd::Level;
use spinney::tree::{TREE_LEAF, Tree};

use super::common::storages::{FORMATS, KERNELS, TIERS, storages};
use super::common::{
    CRITERIA, Sparse, Y, config, constraints, encode, grow, is_regression, matrices, noise, params, runtime, targets,
    to_codes, with_holes,
};

#[derive(Debug, Clone)]
struct Case {
    x: Array2<f64>,
    y: Y,
    /// Of each feature, 0 of a number.
    n_categories: Vec<u32>,
    params: TreeParams,
}

impl Case {
    /// Makes codes of these columns, and takes constraints off them.
    fn new(mut x: Array2<f64>, y: Y, categorical: &[bool], params: TreeParams) -> Self {
        let codes = |feature| if categorical[feature] { to_codes(&mut x, feature) } else { 0 };
        let n_categories: Vec<u32> = (0..categorical.len()).map(codes).collect();
        let monotonic_cst = params.monotonic_cst.filter(|_| y.has_order()).map(|constraints| {
            constraints
                .iter()
                .zip(categorical)
                .map(|(&sign, &is_categorical)| if is_categorical { 0 } else { sign })
                .collect()
        });
        Self { x, y, n_categories, params: TreeParams { monotonic_cst, ..params } }
    }

    fn categorised(&self, data: Dataset) -> Dataset {
        data.with_categories(&self.n_categories).unwrap()
    }

    fn dense(&self) -> Dataset {
        self.categorised(encode(&self.x.view(), &runtime(1)))
    }

    fn tree(&self, weights: Option<&[f64]>) -> Tree {
        grow(&self.dense(), &self.y, weights, &self.params, &runtime(1))
    }

    /// Without the rules on numbers of rows, which see copies.
    fn without_counts(mut self) -> Self {
        let (min_samples_split, min_samples_leaf) = (Count::Absolute(2), Count::Absolute(1));
        self.params = TreeParams {
            min_samples_split,
            min_samples_leaf,
            min_samples_category: 1,
            min_share_leaf: 0.0,
            ..self.params
        };
        self
    }
}

/// Small data, at least one of whose columns is categorical.
fn cases(n_samples: std::ops::Range<usize>) -> impl Strategy<Value = Case> {
    (with_holes(matrices(n_samples, 1..=6usize)), prop::sample::select(&CRITERIA[..])).prop_flat_map(
        |(x, criterion)| {
            let (n, m) = x.dim();
            let categorical = (vec(any::<bool>(), m), 0..m);
            let least = prop_oneof![2 => Just(1u64), 1 => 2..=4u64];
            (Just(x), targets(n, criterion), categorical, (params(criterion, m), constraints(m), least)).prop_map(
                |(x, y, (mut categorical, one), (params, monotonic_cst, min_samples_category))| {
                    categorical[one] = true;
                    Case::new(x, y, &categorical, TreeParams { min_samples_category, monotonic_cst, ..params })
                },
            )
        },
    )
}

/// Up to a thousand categories beside numbers of as many values; some are close to the target, some
/// have no values at all in most rows.
fn wide_cases() -> impl Strategy<Value = (Case, Option<Vec<f64>>)> {
    let shapes = (300..1500usize, 2..=5usize, prop::sample::select(&CRITERIA[..]), any::<u64>());
    shapes.prop_flat_map(|(n, m, criterion, seed)| {
        let column = (
            prop::sample::select(vec![2.0, 12.0, 70.0, 1e3]),
            prop_oneof![2 => Just(0.0), 1 => Just(0.1), 1 => Just(0.9)],
        );
        let weights = prop_oneof![2 => Just(None), 1 => vec((1..4u8).prop_map(f64::from), n).prop_map(Some)];
        let target = (2..=6u32, prop::sample::select(vec![0.1, 0.7, 1.0]));
        let rules = (params(criterion, m), constraints(m), prop_oneof![3 => Just(1u64), 1 => Just(20)]);
        (vec(column, m), weights, target, rules, vec(any::<bool>(), m)).prop_map(
            move |(
                columns,
                weights,
                (n_classes, share),
                (params, monotonic_cst, min_samples_category),
                mut categorical,
            )| {
                categorical[0] = true;
                let signal: Vec<f64> = (0..n).map(|row| noise(seed, row)).collect();
                let x = Array2::from_shape_fn((n, m), |(row, column)| {
                    let (own_seed, (n_levels, holes)) = (seed ^ column as u64 ^ 0xF00, columns[column]);
                    if noise(!own_seed, row) < holes {
                        return f64::NAN;
                    }
                    let level = ((share * noise(own_seed, row) + (1.0 - share) * signal[row]) * n_levels).floor();
                    // Codes in an order that says nothing; a third of them is what sparse columns
                    // do not store.
                    if categorical[column] { (level * 7.0 % n_levels - n_levels / 3.0).max(0.0).floor() } else { level }
                });
                let y = if is_regression(criterion) {
                    let value = |row: usize| (signal[row] * 40.0).round() / 8.0 + (row % 3) as f64;
                    Y::Numbers { values: (0..n).map(value).collect(), n_outputs: 1 }
                } else {
                    let class =
                        |row: usize| ((signal[row] * 9.0) as u32 + u32::from(row.is_multiple_of(5))) % n_classes;
                    Y::Classes { values: (0..n).map(class).collect(), n_classes: vec![n_classes] }
                };
                let params = TreeParams { min_samples_category, monotonic_cst, ..params };
                (Case::new(x, y, &categorical, params), weights)
            },
        )
    })
}

/// Every way to search these columns.
fn searches(data: &Dataset, params: &TreeParams) -> Vec<TreeParams> {
    let with = |force_strategy, force_tier, force_level| TreeParams {
        force_strategy,
        force_tier,
        force_level,
        ..params.clone()
    };
    if matches!(data.columns(), Columns::Dense(_)) {
        TIERS
            .into_iter()
            .flat_map(|tier| Level::supported().map(move |level| (tier, level)))
            .map(|(tier, level)| with(None, tier, Some(level)))
            .collect()
    } else {
        KERNELS.into_iter().map(|kernel| with(kernel, None, None)).collect()
    }
}

/// Dense and sparse rows reach the same leaves, and the training rows those where growing has left
/// them.
fn check_rows(case: &Case, tree: &Tree) -> Result<(), TestCaseError> {
    let sparse = Sparse::<f64, i32>::new(&case.x, Format::Csr, |v| v);
    let leaves = tree.apply(&case.x.view(), &runtime(1)).unwrap();
    prop_assert_eq!(&tree.apply(&sparse.view(), &runtime(1)).unwrap(), &leaves);
    let nodes = tree.nodes();
    for node in (0..tree.node_count()).filter(|&node| nodes.children_left[node] == TREE_LEAF) {
        let n = leaves.iter().filter(|&&leaf| leaf == node as i64).count();
        prop_assert_eq!(n as i64, nodes.n_node_samples[node]);
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(150))]

    #[test]
    fn storage_and_searches_do_not_show(case in cases(1..60), seed: u64) {
        let expected = case.tree(None);
        check_rows(&case, &expected)?;
        for (name, data) in storages(&case.x, seed) {
            if name.ends_with("keys") && case.n_categories.iter().any(|&n| n > 0) {
                continue; // Categories are ranks.
            }
            let data = case.categorised(data);
            for params in searches(&data, &case.params) {
                let tree = grow(&data, &case.y, None, &params, &runtime(1));
                let TreeParams { force_strategy, force_tier, force_level, .. } = params;
                prop_assert_eq!(&tree, &expected, "{} {:?} {:?} {:?}", name, force_strategy, force_tier, force_level);
            }
        }
    }

    /// Which code a category has says nothing. Predictions do not tell two such trees apart, nor do
    /// the nodes.
    #[test]
    fn codes_do_not_show(case in cases(1..60), shuffle: u64) {
        let mut other = case.clone();
        for (feature, &n) in case.n_categories.iter().enumerate().filter(|&(_, &n)| n > 0) {
            let mut codes: Vec<u32> = (0..n).collect();
            codes.sort_by(|&a, &b| noise(shuffle, feature << 20 | a as usize).total_cmp(&noise(shuffle, feature << 20 | b as usize)));
            other.x.column_mut(feature).mapv_inplace(|code| if code.is_nan() { code } else { codes[code as usize].into() });
        }
        let (before, after) = (case.tree(None), other.tree(None));
        prop_assert_eq!(before.apply(&case.x.view(), &runtime(1)).unwrap(), after.apply(&other.x.view(), &runtime(1)).unwrap());
        let shape = |tree: &Tree| {
            let nodes = tree.nodes();
            (nodes.feature.clone(), nodes.missing_go_to_left.clone(), nodes.value.clone(), nodes.impurity.clone())
        };
        prop_assert_eq!(shape(&before), shape(&after));
    }

    /// The copies come last, as the rows in which categories first occur are what tells ties apart.
    #[test]
    fn a_weight_is_a_number_of_copies(case in cases(1..40), mut copies in vec(1..=3usize, 40)) {
        let case = case.without_counts();
        let n = case.x.nrows();
        copies.truncate(n);
        copies[0] = 1;
        let weights: Vec<f64> = copies.iter().map(|&k| k as f64).collect();
        let rows: Vec<usize> = (0..n).chain((0..n).flat_map(|row| vec![row; copies[row] - 1])).collect();
        let copied = Case { x: case.x.select(Axis(0), &rows), y: case.y.select(&rows), ..case.clone() };
        let trees = [case.tree(Some(&weights)), copied.tree(None)];
        let [weighted, copied] = trees.each_ref().map(|tree| {
            let mut nodes = tree.nodes().clone();
            nodes.n_node_samples.clear();
            (nodes, tree.category_sets())
        });
        prop_assert_eq!(weighted, copied);
    }

    /// Not even if nothing else has its categories.
    #[test]
    fn a_last_row_of_weight_0_does_not_show(case in cases(1..40), outlier in 0..1000u32) {
        let case = case.without_counts();
        let n = case.x.nrows();
        let without = case.tree(Some(&vec![1.0; n]));
        let rows: Vec<usize> = (0..n).chain([0]).collect();
        let (mut x, mut y) = (case.x.select(Axis(0), &rows), case.y.select(&rows));
        for (cell, &n) in x.row_mut(n).iter_mut().zip(&case.n_categories) {
            *cell = if n > 0 { f64::from(n - 1) } else { -1000.0 };
        }
        if let Y::Numbers { values, n_outputs } = &mut y {
            values[n * *n_outputs..].fill(outlier.into());
        }
        let weights: Vec<f64> = (0..=n).map(|row| f64::from(u8::from(row < n))).collect();
        let with = Case { x, y, ..case.clone() }.tree(Some(&weights));
        prop_assert_eq!(with, without);
    }
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn searches_copies_and_threads_do_not_show((case, weights) in wide_cases(), seed: u64) {
        let weights = weights.as_deref();
        let force_tier = Some(Tier::Sort);
        let expected = grow(&case.dense(), &case.y, weights, &TreeParams { force_tier, ..case.params.clone() }, &runtime(1));
        check_rows(&case, &expected)?;
        let sparse = case.categorised(Sparse::<f64, i32>::untidy(&case.x, Format::Csc, |v| v, seed).dataset(&runtime(1)));
        for data in [case.dense(), sparse] {
            for params in searches(&data, &case.params) {
                let tree = grow(&data, &case.y, weights, &params, &runtime(1));
                let TreeParams { force_strategy, force_tier, force_level, .. } = params;
                prop_assert!(tree == expected, "{:?} {:?} {:?}", force_strategy, force_tier, force_level);
            }
            for n_threads in [2, 5] {
                prop_assert!(grow(&data, &case.y, weights, &case.params, &runtime(n_threads)) == expected, "{}", n_threads);
            }
        }
        let max_depth = Some(case.params.max_depth.unwrap_or(30));
        let [with, without] = [true, false].map(|copies| {
            let params = TreeParams { force_copies: Some(copies), max_depth, ..case.params.clone() };
            grow(&case.dense(), &case.y, weights, &params, &runtime(1))
        });
        prop_assert!(with == without);
    }
}

proptest! {
    #![proptest_config(config(300))]

    /// Where a node has two of several classes, units of equal shares are often beside each other in an order, and
    /// limits of leaves may forbid all cuts but one among them.
    #[test]
    fn cuts_among_equal_shares_are_tried_where_others_are_forbidden(
        (x, classes, weights) in (8..40usize).prop_flat_map(|n| (
            vec((0..12u8).prop_map(f64::from), 2 * n),
            vec(0..2u32, n),
            prop_oneof![Just(None), vec((1..3u8).prop_map(f64::from), n).prop_map(Some)],
        )),
        least in 2..6u64,
        share in prop_oneof![Just(0.0), 0.1..0.4],
    ) {
        let n = classes.len();
        let x = Array2::from_shape_vec((n, 2), x).unwrap();
        let y = Y::Classes { values: classes, n_classes: vec![3] };
        let params = TreeParams {
            min_samples_leaf: Count::Absolute(if share > 0.0 { 1 } else { least }),
            min_weight_fraction_leaf: share,
            ..TreeParams::new(CriterionKind::Gini)
        };
        let case = Case::new(x, y, &[true, true], params);
        let data = case.dense();
        let expected = searches(&data, &case.params).into_iter().map(|params| {
            (params.force_tier, grow(&data, &case.y, weights.as_deref(), &params, &runtime(1)))
        });
        let trees: Vec<_> = expected.collect();
        let (_, sorted) = trees.iter().find(|(tier, _)| *tier == Some(Tier::Sort)).unwrap();
        for (tier, tree) in &trees {
            prop_assert!(tree == sorted, "{:?}", tier);
        }
    }
}

/// Large enough for the columns of a node to be spread over threads.
#[test]
fn threads_do_not_show() {
    let (n, m) = (20_000, 9);
    // By column: numbers, few categories, many categories.
    let n_levels = |column| [200.0, 6.0, 400.0][column % 3];
    let x = Array2::from_shape_fn((n, m), |(row, column)| {
        let at = row * m + column;
        match noise(2, at) {
            die if die < 0.05 => f64::NAN,
            die if die < 0.5 => 0.0,
            _ => (noise(1, at) * n_levels(column)).floor(),
        }
    });
    let signal = |row: usize| {
        let code = if x[[row, 2]].is_nan() { 3.0 } else { x[[row, 2]] * 7.0 % 5.0 };
        code + f64::from(x[[row, 1]] == 2.0) + 2.0 * noise(3, row)
    };
    let categorical: Vec<bool> = (0..m).map(|column| column % 3 > 0).collect();
    for criterion in CRITERIA {
        let y = if is_regression(criterion) {
            Y::Numbers { values: (0..n).map(signal).collect(), n_outputs: 1 }
        } else {
            Y::Classes { values: (0..n).map(|row| signal(row) as u32 / 2).collect(), n_classes: vec![4] }
        };
        let all = TreeParams { max_depth: Some(6), ..TreeParams::new(criterion) };
        let random = TreeParams { splitter: Splitter::Random, ..all.clone() };
        let few = TreeParams { max_features: MaxFeatures::Sqrt, seed: 5, ..all.clone() };
        for params in [all, random, few] {
            let case = Case::new(x.clone(), y.clone(), &categorical, params);
            let expected = case.tree(None);
            assert!(expected.node_count() > 40 && expected.category_sets().len() > 10, "{}", expected.node_count());
            let rows = Sparse::<f32, i32>::new(&case.x, Format::Csr, |v| v as f32);
            for data in [case.dense(), case.categorised(rows.dataset(&runtime(2)))] {
                for n_threads in [1, 2, 7] {
                    let tree = grow(&data, &case.y, None, &case.params, &runtime(n_threads));
                    assert!(tree == expected, "{criterion:?} {n_threads} {:?}", case.params);
                }
            }
        }
    }
}

/// A forest, and rows to be predicted: those of the training, and others with categories and values
/// that it has not seen.
fn forest_cases() -> impl Strategy<Value = (Case, Array2<f64>, ForestParams)> {
    let bootstraps = prop_oneof![
        Just(Bootstrap::None),
        (1..80u64).prop_map(|n_draws| Bootstrap::WithReplacement { n_draws }),
        Just(Bootstrap::Poisson),
    ];
    let query = |m| (0..30usize).prop_flat_map(move |n| with_holes(matrices(Just(n), Just(m))));
    let forest = (bootstraps, 1..5u64, prop::option::of(any::<bool>()));
    (cases(2..60), forest).prop_flat_map(move |(case, forest)| {
        let m = case.x.ncols();
        (Just(case), query(m), Just(forest)).prop_map(|(mut case, query, (bootstrap, n_estimators, force_copies))| {
            // Lazy trees need no other; and a total of 0 has no Poisson deviance.
            let whole = TreeParams { max_leaf_nodes: None, ccp_alpha: 0.0, force_copies, ..case.params };
            if let (CriterionKind::Poisson, Y::Numbers { values, .. }) = (whole.criterion, &mut case.y) {
                for value in values {
                    *value += 1.0;
                }
            }
            case.params = whole.clone();
            let query = concatenate![Axis(0), case.x, query];
            (case, query, ForestParams { bootstrap, ..ForestParams::new(whole, n_estimators) })
        })
    })
}

proptest! {
    #![proptest_config(config(150))]

    #[test]
    fn lazy_is_eager((case, query, params) in forest_cases(), seed: u64) {
        let bits = |values: Vec<f64>| values.into_iter().map(f64::to_bits).collect::<Vec<_>>();
        let valid = || params.check(case.x.nrows(), case.x.ncols()).unwrap();
        let forest = grow_forest(&case.dense(), &case.y.target(None), &valid(), None, &runtime(1)).unwrap();
        let expected = bits(forest.predict(&query.view(), &runtime(1)).unwrap());
        let stored = Sparse::<f64, i64>::untidy(&query, Format::Csr, |v| v, !seed);
        let rows = stored.view();
        let stored = rows.query(&runtime(1)).unwrap();
        let sparse = Sparse::<f64, i32>::untidy(&case.x, FORMATS[seed as usize % 2], |v| v, seed).dataset(&runtime(1));
        for data in [case.dense(), case.categorised(sparse)] {
            let lazy = LazyForest::new(&data, case.y.target(None), valid(), None, &runtime(1)).unwrap();
            for traversal in [Traversal::Batched, Traversal::Single, Traversal::Eager] {
                for n_threads in [1, 3] {
                    let got = lazy.predict(&query.view(), traversal, &runtime(n_threads)).unwrap();
                    prop_assert_eq!(&bits(got), &expected, "{:?} {}", traversal, n_threads);
                }
                prop_assert_eq!(&bits(lazy.predict(&*stored, traversal, &runtime(1)).unwrap()), &expected, "{:?}", traversal);
            }
            // Other nodes are made for a few rows alone.
            let few = query.slice(s![..1 + seed as usize % 3 % query.nrows(), ..]);
            let got = bits(lazy.predict(&few, Traversal::Batched, &runtime(1)).unwrap());
            prop_assert_eq!(&got[..], &expected[..got.len()]);
        }
    }
}
