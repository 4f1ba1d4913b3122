//! Lazy forests: what they predict is, bit for bit, what the grown forest predicts.

use ndarray::{Array2, Axis, s};
use proptest::collection::vec;
use proptest::prelude::*;
use spinney::data::decode::Decoded;
use spinney::data::{Dataset, Format, Matrix, SparseView, Target};
use spinney::error::Error;
use spinney::forest::{LazyForest, grow_forest};
use spinney::lazy::Traversal;
use spinney::params::{Bootstrap, CriterionKind, ForestParams, MaxFeatures, Splitter, TreeParams};
use spinney::tree::packed::PackedTree;

use super::common::{
    CRITERIA, Sparse, Y, config, constraints, encode, interrupted, matrices, noise, params, runtime, targets,
};

#[derive(Debug, Clone)]
struct Case {
    x: Array2<f64>,
    y: Y,
    weights: Option<Vec<f64>>,
    query: Array2<f64>,
    params: ForestParams,
}

impl Case {
    fn target(&self) -> Target {
        self.y.target(self.weights.as_deref())
    }

    fn lazy(&self, data: &Dataset) -> LazyForest {
        let valid = self.params.check(data.n_samples(), data.n_features()).unwrap();
        LazyForest::new(data, self.target(), valid, None, &runtime(1)).unwrap()
    }

    fn needs_whole_trees(&self) -> bool {
        self.params.tree.max_leaf_nodes.is_some() || self.params.tree.ccp_alpha > 0.0
    }
}

fn cases() -> impl Strategy<Value = Case> {
    let bootstraps = prop_oneof![
        Just(Bootstrap::None),
        (1..80u64).prop_map(|n_draws| Bootstrap::WithReplacement { n_draws }),
        Just(Bootstrap::WithoutReplacement { n_draws: Some(2) }),
        Just(Bootstrap::Poisson),
    ];
    (prop::sample::select(CRITERIA.to_vec()), matrices(2..60usize, 1..8usize)).prop_flat_map(move |(criterion, x)| {
        let (n, m) = x.dim();
        let weights = prop_oneof![Just(None), vec((1..=6u8).prop_map(|w| f64::from(w) / 2.0), n).prop_map(Some)];
        let forest = (bootstraps.clone(), 1..6u64, any::<bool>(), prop::option::of(any::<bool>()));
        let query = (0..40usize).prop_flat_map(move |n_query| matrices(Just(n_query), Just(m)));
        (targets(n, criterion), weights, query, params(criterion, m), constraints(m), forest).prop_map(
            move |(y, weights, query, tree, monotonic_cst, (bootstrap, n_estimators, balanced, force_copies))| {
                let monotonic_cst = monotonic_cst.filter(|_| y.has_order());
                // A total of 0 has no Poisson deviance.
                let y = match y {
                    Y::Numbers { values, n_outputs } if criterion == CriterionKind::Poisson => {
                        Y::Numbers { values: values.iter().map(|value| value + 1.0).collect(), n_outputs }
                    }
                    y => y,
                };
                let tree = TreeParams { monotonic_cst, force_copies, ..tree };
                let params =
                    ForestParams { bootstrap, balanced_subsample: balanced, ..ForestParams::new(tree, n_estimators) };
                Case { x: x.clone(), y, weights, query, params }
            },
        )
    })
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn lazy_is_eager(case in cases(), seed in any::<u64>()) {
        let dense = encode(&case.x.view(), &runtime(1));
        let valid = case.params.check(case.x.nrows(), case.x.ncols()).unwrap();
        let forest = grow_forest(&dense, &case.target(), &valid, None, &runtime(1)).unwrap();
        let expected = bits(&forest.predict(&case.query.view(), &runtime(1)).unwrap());
        let n_nodes: usize = forest.trees().map(PackedTree::node_count).sum();

        let sparse = Sparse::<f64, i32>::untidy(&case.x, Format::Csc, |v| v, seed).dataset(&runtime(1));
        let query = Sparse::<f64, i64>::untidy(&case.query, Format::Csr, |v| v, !seed);
        let rows = query.view();
        let query = rows.query(&runtime(1)).unwrap();
        for lazy in [case.lazy(&dense), case.lazy(&sparse)] {
            let eager = lazy.explore(&case.query.view(), Traversal::Eager, false, &runtime(2)).unwrap();
            prop_assert_eq!(&bits(&eager.values), &expected);
            prop_assert_eq!(eager.visits.n_nodes, n_nodes as u64);
            if case.needs_whole_trees() {
                prop_assert_eq!(lazy.auto(1), Traversal::Eager);
                for traversal in [Traversal::Batched, Traversal::Single] {
                    let error = lazy.predict(&case.query.view(), traversal, &runtime(1)).unwrap_err().to_string();
                    prop_assert!(error.contains("max_leaf_nodes") || error.contains("ccp_alpha"), "{}", error);
                }
                continue;
            }
            let batched = lazy.explore(&case.query.view(), Traversal::Batched, false, &runtime(1)).unwrap();
            prop_assert_eq!(&bits(&batched.values), &expected);
            let again = lazy.explore(&*query, Traversal::Batched, false, &runtime(3)).unwrap();
            prop_assert_eq!(&again, &batched);
            let single = lazy.explore(&*query, Traversal::Single, false, &runtime(2)).unwrap();
            prop_assert_eq!(&bits(&single.values), &expected);
            let batches: Vec<f64> = case
                .query
                .axis_chunks_iter(Axis(0), 1 + seed as usize % 7)
                .flat_map(|batch| lazy.predict(&batch, Traversal::Batched, &runtime(1)).unwrap())
                .collect();
            prop_assert_eq!(&bits(&batches), &expected);

            prop_assert_eq!(&batched.path_lengths, &single.path_lengths);
            prop_assert_eq!(single.visits.n_nodes, single.path_lengths.iter().sum::<u64>());
            let (few, all, many) = (batched.visits, eager.visits, single.visits);
            prop_assert!(few.n_nodes <= all.n_nodes && few.n_nodes <= many.n_nodes);
            prop_assert!(few.n_rows <= all.n_rows && few.n_rows <= many.n_rows);
            prop_assert!(few.peak_words >= many.peak_words);
            prop_assert!(few.peak_words < all.peak_words);
        }
    }

    #[test]
    fn counts_are_those_of_the_grown_trees(case in cases()) {
        prop_assume!(!case.needs_whole_trees());
        let data = encode(&case.x.view(), &runtime(1));
        let valid = case.params.check(case.x.nrows(), case.x.ncols()).unwrap();
        let forest = grow_forest(&data, &case.target(), &valid, None, &runtime(1)).unwrap();
        let (indptr, indices) = forest.decision_path(&case.query.view(), &runtime(1)).unwrap();
        let found = case.lazy(&data).explore(&case.query.view(), Traversal::Batched, false, &runtime(1)).unwrap();
        let lengths: Vec<u64> = indptr.windows(2).map(|ends| (ends[1] - ends[0]) as u64).collect();
        prop_assert_eq!(&found.path_lengths, &lengths);
        let mut nodes = indices;
        nodes.sort_unstable();
        nodes.dedup();
        prop_assert_eq!(found.visits.n_nodes, nodes.len() as u64);
        let sizes: Vec<i64> = forest.trees().flat_map(|tree| tree.unpack().unwrap().nodes().n_node_samples.clone()).collect();
        prop_assert_eq!(found.visits.n_rows, nodes.iter().map(|&node| sizes[node as usize] as u64).sum::<u64>());
    }

    #[test]
    fn weights_explain_predictions(case in cases()) {
        prop_assume!(!case.needs_whole_trees());
        let case = Case { params: ForestParams {
            tree: TreeParams { monotonic_cst: None, ..case.params.tree.clone() }, ..case.params.clone()
        }, ..case };
        let lazy = case.lazy(&encode(&case.x.view(), &runtime(1)));
        let plain = lazy.explore(&case.query.view(), Traversal::Batched, false, &runtime(1)).unwrap();
        let criterion = case.params.tree.criterion;
        let predicts_means = !matches!(criterion, CriterionKind::AbsoluteError | CriterionKind::Quantile(_));
        for traversal in [Traversal::Batched, Traversal::Single] {
            let found = lazy.explore(&case.query.view(), traversal, true, &runtime(2)).unwrap();
            prop_assert_eq!(bits(&found.values), bits(&plain.values));
            let weights = found.weights.unwrap();
            prop_assert_eq!(weights.indptr.len(), case.query.nrows() + 1);
            for row in 0..case.query.nrows() {
                let range = weights.indptr[row] as usize..weights.indptr[row + 1] as usize;
                let (columns, shares) = (&weights.indices[range.clone()], &weights.data[range]);
                prop_assert!(columns.is_sorted_by(|a, b| a < b));
                prop_assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
                prop_assert!(shares.iter().all(|&share| share > 0.0));
                if let Y::Numbers { values, n_outputs } = &case.y {
                    for output in 0..*n_outputs {
                        let y = |column: &i64| values[*column as usize * n_outputs + output];
                        let got = found.values[row * n_outputs + output];
                        if predicts_means {
                            let mean: f64 = columns.iter().zip(shares).map(|(column, share)| share * y(column)).sum();
                            prop_assert!((mean - got).abs() <= 1e-6 * (1.0 + got.abs()), "{} {}", mean, got);
                        } else {
                            let (low, high) = columns.iter().map(y).fold((f64::MAX, f64::MIN), |(low, high), y| {
                                (low.min(y), high.max(y))
                            });
                            let slack = 1e-9 * (1.0 + got.abs());
                            prop_assert!(low - slack <= got && got <= high + slack, "{} {} {}", low, got, high);
                        }
                    }
                }
            }
        }
        prop_assert!(lazy.explore(&case.query.view(), Traversal::Eager, true, &runtime(1)).is_err());
    }

    #[test]
    fn decoded_data_are_the_same(x in matrices(1..30usize, 1..6usize)) {
        let dense = encode(&x.view(), &runtime(1));
        let decoded = dense.decode(&runtime(1)).unwrap();
        let expected: Vec<f64> = x.iter().map(|&value| value + 0.0).collect();
        prop_assert_eq!(decoded, Decoded::Dense(expected));
        let sparse = Sparse::<f64, i32>::new(&x, Format::Csc, |v| v).dataset(&runtime(1));
        let Decoded::Csr { indptr, indices, data } = sparse.decode(&runtime(1)).unwrap() else {
            return Err(TestCaseError::fail("a sparse data set is decoded as one"));
        };
        let view = SparseView::new(x.dim(), Format::Csr, &indptr, &indices, &data).unwrap();
        let again = Dataset::from_sparse(&view, &runtime(1)).unwrap();
        prop_assert_eq!(again.decode(&runtime(1)).unwrap(), Decoded::Csr { indptr: indptr.clone(), indices: indices.clone(), data: data.clone() });
        let cells = Array2::from_shape_fn(x.dim(), |(row, column)| {
            let range = indptr[row] as usize..indptr[row + 1] as usize;
            indices[range.clone()].iter().position(|&i| i as usize == column).map_or(0.0, |at| data[range.start + at])
        });
        prop_assert_eq!(cells, x);
    }
}

/// Large enough for copies of subtrees, known columns and all kinds of searches.
#[test]
fn large_data_agree_too() {
    let (n, m) = (12_000, 30);
    let x = Array2::from_shape_fn((n, m), |(row, column)| {
        let at = row * m + column;
        if noise(1, at) < 0.7 { 0.0 } else { (noise(2, at) * if column % 3 == 0 { 9.0 } else { 5000.0 }).floor() }
    });
    let classes = (0..n).map(|row| u32::from(x[[row, 0]] + x[[row, 1]] / 900.0 + 4.0 * noise(3, row) > 4.0)).collect();
    let y = Y::Classes { values: classes, n_classes: vec![2] };
    let query = x.slice(s![..150, ..]).mapv(|value| value + 0.25);
    let sparse = || Sparse::<f64, i32>::new(&x, Format::Csc, |v| v).dataset(&runtime(1));
    for (criterion, splitter, max_features) in [
        (CriterionKind::Entropy, Splitter::Best, MaxFeatures::All),
        (CriterionKind::Gini, Splitter::Best, MaxFeatures::Sqrt),
        (CriterionKind::Gini, Splitter::Random, MaxFeatures::Sqrt),
    ] {
        let tree = TreeParams { splitter, max_features, seed: 5, ..TreeParams::new(criterion) };
        let params = ForestParams { bootstrap: Bootstrap::Poisson, ..ForestParams::new(tree, 2) };
        let case = Case { x: x.clone(), y: y.clone(), weights: None, query: query.clone(), params };
        let valid = case.params.check(n, m).unwrap();
        let data = encode(&x.view(), &runtime(1));
        let forest = grow_forest(&data, &case.target(), &valid, None, &runtime(1)).unwrap();
        for lazy in [case.lazy(&data), case.lazy(&sparse())] {
            for n_query in [1, 7, 150] {
                let query = query.slice(s![..n_query, ..]);
                let expected = bits(&forest.predict(&query, &runtime(1)).unwrap());
                let batched = lazy.explore(&query, Traversal::Batched, false, &runtime(2)).unwrap();
                assert_eq!(bits(&batched.values), expected);
                // More threads than trees: subtrees are tasks.
                assert_eq!(lazy.explore(&query, Traversal::Batched, false, &runtime(4)).unwrap(), batched);
                assert_eq!(bits(&lazy.predict(&query, Traversal::Eager, &runtime(4)).unwrap()), expected);
                let explained = [1, 4].map(|n| lazy.explore(&query, Traversal::Batched, true, &runtime(n)).unwrap());
                assert_eq!(bits(&explained[1].values), expected);
                assert!(explained[0] == explained[1], "the kernel does not depend on threads");
                if n_query < 150 {
                    let single = [1, 4].map(|n| lazy.explore(&query, Traversal::Single, false, &runtime(n)).unwrap());
                    assert_eq!(bits(&single[0].values), expected);
                    assert_eq!(single[0], single[1]);
                }
            }
        }
    }
}

#[test]
fn auto_is_eager_where_nothing_can_be_saved() {
    let params = TreeParams::new(CriterionKind::Gini).check(100, 3).unwrap();
    assert_eq!(Traversal::auto(&params, 100, 1), Traversal::Batched);
    assert_eq!(Traversal::auto(&params, 100, 100), Traversal::Batched);
    assert_eq!(Traversal::auto(&params, 100, 199), Traversal::Batched);
    assert_eq!(Traversal::auto(&params, 100, 200), Traversal::Eager);
}

/// So many trees that a call which does not look at the flag would take minutes.
#[test]
fn a_raised_stop_flag_ends_every_traversal() {
    let x = Array2::from_shape_fn((2000, 5), |(row, column)| noise(column as u64, row));
    let y = Y::Numbers { values: (0..2000).map(|row| noise(9, row)).collect(), n_outputs: 1 };
    let params = ForestParams::new(TreeParams::new(CriterionKind::SquaredError), 100_000);
    let case = Case { x: x.clone(), y, weights: None, query: x.clone(), params };
    let sparse = Sparse::<f64, i32>::new(&x, Format::Csc, |v| v).dataset(&runtime(1));
    for lazy in [case.lazy(&encode(&x.view(), &runtime(1))), case.lazy(&sparse)] {
        for n_threads in [1, 2] {
            for (traversal, weights) in [
                (Traversal::Batched, false),
                (Traversal::Batched, true),
                (Traversal::Single, false),
                (Traversal::Single, true),
                (Traversal::Eager, false),
            ] {
                let explored = interrupted(n_threads, |runtime| lazy.explore(&x.view(), traversal, weights, runtime));
                assert_eq!(explored.unwrap_err(), Error::Interrupted, "{traversal:?}");
            }
        }
    }
}

#[test]
fn illegal_queries_are_refused() {
    let x = Array2::<f64>::eye(4);
    let y = Y::Classes { values: vec![0, 1, 0, 1], n_classes: vec![2] };
    let params = ForestParams::new(TreeParams::new(CriterionKind::Gini), 2);
    let case = Case { x: x.clone(), y, weights: None, query: x.clone(), params };
    let lazy = case.lazy(&encode(&x.view(), &runtime(1)));
    let narrow = x.slice(s![.., ..2]);
    let error = lazy.predict(&narrow, Traversal::Batched, &runtime(1)).unwrap_err().to_string();
    assert_eq!(error, "X must have 4 features, as in training. Got 2 features instead.");
}
