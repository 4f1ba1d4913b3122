//! Lazy forests predict what the grown forest predicts, by every traversal.
#![no_main]

mod fitting;

use fitting::cases::Case;
use fitting::engine::common::{Sparse, is_regression};
use fitting::storage::stored;
use fitting::threads::{one, two};
use libfuzzer_sys::fuzz_target;
use spinney::data::{Format, Matrix};
use spinney::forest::LazyForest;
use spinney::lazy::Traversal;
use spinney::params::CriterionKind;

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// The weights of the training rows in predictions: shares, whose means of targets are predicted.
fn check_weights(case: &Case, lazy: &LazyForest, traversal: Traversal, expected: &[u64]) {
    let explored = lazy.explore(&case.query.view(), traversal, true, &one()).expect("weights");
    assert_eq!(bits(&explored.values), expected);
    let weights = explored.weights.expect("asked for");
    assert_eq!(weights.indptr.len(), case.query.nrows() + 1);
    for ends in weights.indptr.windows(2) {
        let shares = &weights.data[ends[0] as usize..ends[1] as usize];
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{shares:?}");
        assert!(shares.iter().all(|&share| share >= 0.0), "{shares:?}");
    }
}

fuzz_target!(|case: Case| {
    let case = case.or_times().or_given_rows();
    let Some(target) = case.target() else { return };
    let [of_forest, of_lazy, few, ..] = case.choices;
    let grown = case.forest(&target, &stored(&case, of_forest), &one());
    let Ok(valid) = case.params.check(case.x.nrows(), case.x.ncols()) else { return };
    let lazy = match LazyForest::new(&stored(&case, of_lazy), target.clone(), valid, None, &one()) {
        Ok(lazy) => lazy,
        Err(error) => return assert_eq!(grown.unwrap_err(), error),
    };
    let view = case.query.view();
    let forest = match grown {
        Ok(forest) => forest,
        // What cannot be grown can be asked by no traversal that meets the tree.
        Err(error) => return assert_eq!(lazy.predict(&view, Traversal::Eager, &one()).unwrap_err(), error),
    };
    let expected = bits(&forest.predict(&view, &one()).expect("means"));
    assert_eq!(bits(&lazy.predict(&view, Traversal::Eager, two()).expect("means")), expected);
    if case.needs_whole_trees() {
        for traversal in [Traversal::Batched, Traversal::Single] {
            assert!(lazy.predict(&view, traversal, &one()).is_err());
        }
        return;
    }
    let rows = Sparse::<f64, i64>::new(&case.query, Format::Csr, |v| v);
    let rows = rows.view();
    let sparse = rows.query(&one()).expect("a query");
    for traversal in [Traversal::Batched, Traversal::Single] {
        assert_eq!(bits(&lazy.predict(&view, traversal, &one()).expect("means")), expected, "{traversal:?}");
        assert_eq!(bits(&lazy.predict(&*sparse, traversal, two()).expect("means")), expected, "{traversal:?}");
    }
    if case.query.nrows() > 0 {
        // Other nodes are made for a few rows alone.
        let n = 1 + usize::from(few) % case.query.nrows();
        let some = case.query.slice(ndarray::s![..n, ..]);
        let values = bits(&lazy.predict(&some, Traversal::Batched, &one()).expect("means"));
        assert_eq!(values[..], expected[..values.len()]);
    }
    let criterion = case.params.tree.criterion;
    let predicts_means = !matches!(criterion, CriterionKind::AbsoluteError | CriterionKind::Quantile(_));
    if case.params.tree.monotonic_cst.is_none() && case.events.is_none() && (predicts_means || is_regression(criterion))
    {
        for traversal in [Traversal::Batched, Traversal::Single] {
            check_weights(&case, &lazy, traversal, &expected);
        }
    }
});
