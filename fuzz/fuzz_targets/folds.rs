//! The folds of a cross-validation predict what a loop of fits on their rows predicts.
#![no_main]

mod fitting;

use arbitrary::{Arbitrary, Unstructured};
use fitting::bytes::Bytes;
use fitting::cases::{Case, Reach};
use fitting::engine::common::{Sparse, is_regression, noise, runtime};
use fitting::engine::crossval::Case as Folds;
use fitting::storage::stored;
use libfuzzer_sys::fuzz_target;
use spinney::data::{Format, Matrix};
use spinney::params::{Bootstrap, ForestParams};

#[derive(Debug)]
struct Input {
    case: Case,
    folds: Folds,
}

/// The training and test rows of each fold: of a partition, of leave-one-out, or any rows.
fn folds(bytes: &mut Bytes<'_, '_>, n: usize, seed: u64) -> Vec<(Vec<u32>, Vec<u32>)> {
    let (kind, n_folds) = (bytes.below(4), 2 + bytes.below(4));
    let all = || 0..n as u32;
    let n_folds = if kind == 1 { n.min(6) } else { n_folds };
    let mut folds = Vec::new();
    for number in 0..n_folds as u32 {
        let in_test = |&row: &u32| match kind {
            1 => row == number,
            _ => (noise(seed, row as usize) * n_folds as f64) as u32 == number,
        };
        let (mut test, mut train): (Vec<u32>, Vec<u32>) = all().partition(in_test);
        if kind == 3 {
            // Any order, and training rows that are test rows, too.
            train.sort_by(|&a, &b| noise(!seed, a as usize).total_cmp(&noise(!seed, b as usize)));
            test.extend(train.iter().take(3).copied());
        }
        if !train.is_empty() {
            folds.push((train, test));
        }
    }
    folds
}

impl<'a> Arbitrary<'a> for Input {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let bytes = &mut Bytes(u);
        let mut case = Case::new(bytes, Reach::Everything);
        let n = case.x.nrows();
        // Constraints on classes are legal or not by the classes of a fold.
        if !is_regression(case.params.tree.criterion) || case.has_categories() {
            case.params.tree.monotonic_cst = None;
        }
        let folds = folds(bytes, n, case.seed);
        let ids = (case.choices[4] % 3 == 1).then(|| (0..n as u64).map(|row| row * 7 % 11).collect());
        let folds = Folds {
            x: case.x.clone(),
            n_categories: case.has_categories().then(|| case.n_categories.clone()),
            y: case.y.clone(),
            weights: case.weights.clone(),
            ids,
            params: case.params.clone(),
            folds,
        };
        Ok(Self { case, folds })
    }
}

fn bits(folds: Vec<Vec<f64>>) -> Vec<Vec<u64>> {
    folds.iter().map(|values| values.iter().map(|value| value.to_bits()).collect()).collect()
}

fuzz_target!(|input: Input| {
    let Input { case, mut folds } = input;
    let [of_data, of_query, kind, n_threads, ..] = case.choices;
    if case.target().is_none() {
        return;
    }
    let is_tree = kind % 4 == 3;
    if is_tree {
        let (bootstrap, balanced_subsample) = (Bootstrap::None, false);
        folds.params = ForestParams { n_estimators: 1, first_tree: 0, bootstrap, balanced_subsample, ..folds.params };
    }
    let expected = folds.refitted(is_tree).map(bits);
    let rows = Sparse::<f64, i64>::new(&case.x, Format::Csr, |v| v);
    let rows = rows.view();
    let sparse = rows.query(&runtime(1)).expect("a query");
    let view = case.x.view();
    let data = stored(&case, of_data);
    let n_threads = 1 + usize::from(n_threads == 1);
    let found = if of_query % 2 == 0 {
        folds.cross_validated(&data, &view, is_tree, n_threads)
    } else {
        folds.cross_validated(&data, &*sparse, is_tree, n_threads)
    };
    match (found.map(bits), expected) {
        (Ok(found), Ok(expected)) => assert_eq!(found, expected),
        (found, expected) => assert_eq!(found.is_err(), expected.is_err(), "{found:?} {expected:?}"),
    }
});
