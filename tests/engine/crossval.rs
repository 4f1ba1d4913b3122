//! Cross-validation: what the folds predict is, bit for bit, what forests predict that are grown on
//! each fold alone.

use ndarray::{Array2, Axis};
use proptest::collection::vec;
use proptest::prelude::*;
use spinney::crossval::{CrossValidation, Fold, TrainingRows};
use spinney::data::dense::Ordinals;
use spinney::data::query::{Query, SomeRows};
use spinney::data::target::{TargetValues, Weights};
use spinney::data::{Dataset, Format, Matrix, Target};
use spinney::error::{Error, Result};
use spinney::forest::{grow_forest, grow_tree};
use spinney::params::{Bootstrap, Count, CriterionKind, ForestParams, MaxFeatures, TreeParams};

use super::common::{
    CRITERIA, Sparse, Y, config, constraints, encode, interrupted, is_regression, matrices, noise, params, runtime,
    targets, with_holes,
};

/// Codes of categorical columns are below this.
const N_CATEGORIES: u32 = 64;

#[derive(Debug, Clone)]
pub struct Case {
    pub x: Array2<f64>,
    /// Of each column; none if all are numeric.
    pub n_categories: Option<Vec<u32>>,
    pub y: Y,
    pub weights: Option<Vec<f64>>,
    pub ids: Option<Vec<u64>>,
    pub params: ForestParams,
    /// Training rows and test rows.
    pub folds: Vec<(Vec<u32>, Vec<u32>)>,
}

/// What goes with the training rows of a fold.
struct Own {
    weights: Option<Vec<f64>>,
    ids: Vec<u64>,
}

fn pick<T: Copy>(values: &[T], rows: &[u32]) -> Vec<T> {
    rows.iter().map(|&row| values[row as usize]).collect()
}

impl Case {
    pub fn categorised(&self, data: Dataset) -> Dataset {
        match &self.n_categories {
            Some(n_categories) => data.with_categories(n_categories).unwrap(),
            None => data,
        }
    }

    fn rows(&self, rows: &[u32]) -> Array2<f64> {
        self.x.select(Axis(0), &rows.iter().map(|&row| row as usize).collect::<Vec<_>>())
    }

    fn bootstrap(&self, n_train: usize) -> Bootstrap {
        match self.params.bootstrap.clone() {
            Bootstrap::WithReplacement { n_draws } => {
                Bootstrap::WithReplacement { n_draws: n_draws.min(2 * n_train as u64) }
            }
            other => other,
        }
    }

    /// Weights and names of the rows of each fold.
    fn of_rows(&self) -> Vec<Own> {
        let of_fold = |(train, _): &(Vec<u32>, Vec<u32>)| {
            let names = train.iter().map(|&row| u64::from(row)).collect();
            let ids = self.ids.as_ref().map_or(names, |ids| pick(ids, train));
            Own { weights: self.weights.as_ref().map(|weights| pick(weights, train)), ids }
        };
        self.folds.iter().map(of_fold).collect()
    }

    pub fn cross_validated(
        &self,
        data: &Dataset,
        query: &dyn Query,
        is_tree: bool,
        n_threads: usize,
    ) -> Result<Vec<Vec<f64>>> {
        let target = self.y.target(None);
        let sample_ids = self.ids.as_deref();
        let all = CrossValidation { data, target: &target, sample_ids, params: &self.params, is_tree };
        let of_rows = self.of_rows();
        let others = |train: &Vec<u32>| (0..self.x.nrows() as u32).filter(|row| !train.contains(row)).collect();
        let left_out: Vec<Vec<u32>> = self.folds.iter().map(|(train, _)| others(train)).collect();
        let mut folds = Vec::new();
        for ((train, test), Own { weights, .. }) in self.folds.iter().zip(&of_rows) {
            let (sample_weight, bootstrap) = (weights.as_deref(), self.bootstrap(train.len()));
            // In one of the two forms, if the rows ascend.
            let rows = if train.is_sorted() && train.len() % 2 == 0 { &left_out[folds.len()] } else { train };
            let train = if std::ptr::eq(rows, train) { TrainingRows::Listed(rows) } else { TrainingRows::AllBut(rows) };
            folds.push(Fold { train, sample_weight, bootstrap, test });
        }
        all.predict(&folds, query, &runtime(n_threads))
    }

    /// The definition: each fold as a data set of its own. Classes that it lacks are none of its
    /// classes.
    pub fn refitted(&self, is_tree: bool) -> Result<Vec<Vec<f64>>> {
        let mut all = Vec::new();
        for ((train, test), Own { weights, ids }) in self.folds.iter().zip(self.of_rows()) {
            let data = self.categorised(encode(&self.rows(train).view(), &runtime(1)));
            let y = self.y.select(&train.iter().map(|&row| row as usize).collect::<Vec<_>>());
            let target = compact(&y, weights.as_deref())?;
            let bootstrap = self.bootstrap(train.len());
            let valid = ForestParams { bootstrap, ..self.params.clone() }.check(train.len(), self.x.ncols())?;
            let query = self.rows(test);
            let values = if is_tree {
                grow_tree(&data, &target, &valid, &runtime(1))?.predict(&query.view(), &runtime(1))?
            } else {
                grow_forest(&data, &target, &valid, Some(&ids), &runtime(1))?.predict(&query.view(), &runtime(1))?
            };
            all.push(values);
        }
        Ok(all)
    }

    fn expected(&self) -> Result<Vec<Vec<u64>>> {
        Ok(self.refitted(false)?.iter().map(|values| bits(values)).collect())
    }
}

/// The target with the classes that occur.
fn compact(y: &Y, weights: Option<&[f64]>) -> Result<Target> {
    match y {
        Y::Numbers { values, n_outputs } => Target::regression(values, *n_outputs, weights),
        Y::Classes { values, n_classes } => {
            let n_outputs = n_classes.len();
            let occurs = |output: usize, class: &u32| values.iter().skip(output).step_by(n_outputs).any(|c| c == class);
            let present: Vec<Vec<u32>> = (0..n_outputs)
                .map(|output| (0..n_classes[output]).filter(|class| occurs(output, class)).collect())
                .collect();
            let code =
                |(at, class): (usize, &u32)| present[at % n_outputs].iter().position(|c| c == class).unwrap() as u32;
            let codes: Vec<u32> = values.iter().enumerate().map(code).collect();
            let numbers: Vec<u32> = present.iter().map(|classes| classes.len() as u32).collect();
            Target::classification(&codes, &numbers, weights)
        }
    }
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// Numbers that are not exact in fixed point, or with some far out: what the rows of a fold have to
/// say about it shows.
fn rougher(y: Y, roughness: u8, seed: u64) -> Y {
    match y {
        Y::Numbers { values, n_outputs } if roughness > 0 => {
            let rough = |(at, value): (usize, f64)| match (noise(seed, at) * 8.0) as u8 {
                0 if roughness == 2 => value * 1e13 / 3.0,
                1 if value == 0.0 && roughness == 1 => -0.0,
                _ => value * 0.1 + value.abs() * noise(!seed, at),
            };
            Y::Numbers { values: values.into_iter().enumerate().map(rough).collect(), n_outputs }
        }
        y => y,
    }
}

fn folds(n: usize) -> impl Strategy<Value = Vec<(Vec<u32>, Vec<u32>)>> {
    let all = move || 0..n as u32;
    let but_one = (1..=n).prop_map(move |n_folds| {
        (0..n_folds as u32).map(|out| (all().filter(|&row| row != out).collect(), vec![out])).collect()
    });
    let parts = (2..6u32, any::<u64>()).prop_map(move |(n_parts, seed)| {
        let part = move |row: u32| (noise(seed, row as usize) * f64::from(n_parts)) as u32;
        let fold = |number| all().partition(|&row| part(row) != number);
        (0..n_parts).map(fold).collect::<Vec<(Vec<u32>, Vec<u32>)>>()
    });
    // Any rows may be tested, several times and those of training too. Training rows may have any
    // order.
    let random =
        vec((vec(any::<bool>(), n), vec(0..n as u32, 0..20usize), any::<u64>()), 1..4).prop_map(move |folds| {
            let rows = |(is_in, test, seed): (Vec<bool>, Vec<u32>, u64)| {
                let mut train: Vec<u32> = all().filter(|&row| is_in[row as usize]).collect();
                if seed.is_multiple_of(2) {
                    train.sort_by(|&a, &b| noise(seed, a as usize).total_cmp(&noise(seed, b as usize)));
                }
                (train, test)
            };
            folds.into_iter().map(rows).collect()
        });
    prop_oneof![1 => but_one, 2 => parts, 2 => random]
        .prop_map(|folds: Vec<(Vec<u32>, Vec<u32>)>| folds.into_iter().filter(|(train, _)| !train.is_empty()).collect())
}

fn cases() -> impl Strategy<Value = Case> {
    let bootstraps = prop_oneof![
        2 => Just(Bootstrap::None),
        2 => (1..80u64).prop_map(|n_draws| Bootstrap::WithReplacement { n_draws }),
        1 => prop::option::of(Just(1)).prop_map(|n_draws| Bootstrap::WithoutReplacement { n_draws }),
        2 => Just(Bootstrap::Poisson),
    ];
    let x = with_holes(matrices(2..40usize, 1..7usize));
    (prop::sample::select(CRITERIA.to_vec()), x).prop_flat_map(move |(criterion, x)| {
        let (n, m) = x.dim();
        let weights = prop_oneof![
            2 => Just(None),
            1 => vec((1..=6u8).prop_map(|w| f64::from(w) / 2.0), n).prop_map(Some),
            1 => vec((0..=3u8).prop_map(f64::from), n).prop_map(Some),
            1 => any::<u64>().prop_map(move |seed| Some((0..n).map(|row| noise(seed, row) + 1e-9).collect())),
        ];
        let forest =
            (bootstraps.clone(), 1..6u64, any::<bool>(), prop::option::of(any::<bool>()), 0..3u8, any::<u64>());
        let rows = (weights, prop::option::of(vec(0..9u64, n)), prop::option::of(vec(any::<bool>(), m)));
        (targets(n, criterion), rows, params(criterion, m), constraints(m), forest, folds(n)).prop_map(
            move |(y, (weights, ids, categorical), tree, monotonic_cst, forest, folds)| {
                let (bootstrap, n_estimators, balanced, force_copies, roughness, seed) = forest;
                let monotonic_cst = monotonic_cst.filter(|_| is_regression(criterion) && categorical.is_none());
                let mut x = x.clone();
                let n_categories = categorical.map(|categorical| {
                    for (column, _) in categorical.iter().enumerate().filter(|pair| *pair.1) {
                        x.column_mut(column).mapv_inplace(f64::abs);
                    }
                    categorical.iter().map(|&is| if is { N_CATEGORIES } else { 0 }).collect()
                });
                // A total of 0 has no Poisson deviance.
                let y = match rougher(y, roughness, seed) {
                    Y::Numbers { values, n_outputs } if criterion == CriterionKind::Poisson => {
                        Y::Numbers { values: values.iter().map(|value| value + 1.0).collect(), n_outputs }
                    }
                    y => y,
                };
                let tree = TreeParams { monotonic_cst, force_copies, ..tree };
                let params =
                    ForestParams { bootstrap, balanced_subsample: balanced, ..ForestParams::new(tree, n_estimators) };
                Case { x, n_categories, y, weights, ids, params, folds }
            },
        )
    })
}

/// Cases whose folds descend together: class counts, rows that weigh the same, and draws that do
/// not depend on the fold. Rounds of folds, of which each leaves out rows that the others of its
/// round do not.
fn groups() -> impl Strategy<Value = Case> {
    let x = prop_oneof![matrices(6..50usize, 1..6usize).boxed(), with_holes(matrices(6..50usize, 1..6usize)).boxed()];
    (x, 2..4u32).prop_flat_map(|(x, n_classes)| {
        let (n, m) = x.dim();
        let bootstrap = prop_oneof![Just(Bootstrap::None), Just(Bootstrap::Poisson)];
        let max_features = prop_oneof![Just(MaxFeatures::All), (1..=m as u64).prop_map(MaxFeatures::Absolute)];
        let rounds = vec((2..7u32, any::<u64>()), 1..3);
        let limits = (prop::option::of(1..6u64), 2..5u64, any::<u64>());
        (any::<u64>(), bootstrap, max_features, rounds, limits, prop::option::of(vec(0..99u64, n)), 1..7u64).prop_map(
            move |(noisy, bootstrap, max_features, rounds, (max_depth, min_samples_split, seed), ids, n_estimators)| {
                let class = |row: usize| {
                    let drawn = (noise(noisy, row) * f64::from(n_classes)) as u32;
                    if row.is_multiple_of(4) { drawn } else { u32::from(x[[row, 0]] > 0.0) }
                };
                let y = Y::Classes { values: (0..n).map(class).collect(), n_classes: vec![n_classes] };
                let mut folds = Vec::new();
                for (n_parts, seed) in rounds {
                    let n_parts = if n_parts == 6 { n as u32 } else { n_parts };
                    let drawn = |row: u32| (noise(seed, row as usize) * f64::from(n_parts)) as u32;
                    let part = |row: u32| if n_parts as usize == n { row } else { drawn(row) };
                    let fold = |number| (0..n as u32).partition(|&row| part(row) != number);
                    let fold = |number| -> (Vec<u32>, Vec<u32>) { fold(number) };
                    folds.extend((0..n_parts).map(fold).filter(|(train, _)| !train.is_empty()));
                }
                let min_samples_split = Count::Absolute(min_samples_split);
                let criterion = if noisy.is_multiple_of(3) { CriterionKind::Gini } else { CriterionKind::Entropy };
                let plain = TreeParams::new(criterion);
                let tree = TreeParams { max_depth, min_samples_split, max_features, seed, ..plain };
                let params = ForestParams { bootstrap, ..ForestParams::new(tree, n_estimators) };
                Case { x: x.clone(), n_categories: None, y, weights: None, ids, params, folds }
            },
        )
    })
}

/// What the folds predict from either storage of data and query, on several threads, is what refits
/// do.
fn check_refits(case: &Case, seed: u64) -> std::result::Result<(), TestCaseError> {
    let expected = case.expected();
    let dense = case.categorised(encode(&case.x.view(), &runtime(1)));
    let sparse = Sparse::<f64, i32>::untidy(&case.x, Format::Csc, |v| v, seed).dataset(&runtime(1));
    let sparse = case.categorised(sparse);
    let rows = Sparse::<f64, i64>::untidy(&case.x, Format::Csr, |v| v, !seed);
    let rows = rows.view();
    let sparse_query = rows.query(&runtime(1)).unwrap();
    let view = case.x.view();
    let queries: [&dyn Query; 2] = [&view, &*sparse_query];
    for (data, query, n_threads) in
        [(&dense, queries[0], 1), (&dense, queries[1], 3), (&sparse, queries[1], 1), (&sparse, queries[0], 2)]
    {
        let found = case.cross_validated(data, query, false, n_threads);
        let found = found.map(|folds| folds.iter().map(|values| bits(values)).collect::<Vec<_>>());
        prop_assert_eq!(found.is_err(), expected.is_err(), "{:?} {:?}", &found, &expected);
        if let (Ok(found), Ok(expected)) = (&found, &expected) {
            prop_assert_eq!(found, expected);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn folds_that_descend_together_are_refits(case in groups(), seed in any::<u64>()) {
        check_refits(&case, seed)?;
    }

    #[test]
    fn folds_are_refits(case in cases(), seed in any::<u64>()) {
        check_refits(&case, seed)?;
    }

    #[test]
    fn folds_of_a_tree_are_refits(case in cases()) {
        let params = ForestParams { n_estimators: 1, bootstrap: Bootstrap::None, balanced_subsample: false, ..case.params.clone() };
        let case = Case { params, ..case };
        let (Ok(expected), ordinals) = (case.refitted(true), Ordinals::Keys) else { return Ok(()) };
        let mut found = vec![case.categorised(encode(&case.x.view(), &runtime(1)))];
        if case.n_categories.is_none() {
            found.push(Dataset::from_dense_with(case.x.view(), ordinals, &runtime(1)).unwrap());
        }
        for data in found {
            let found = case.cross_validated(&data, &case.x.view(), true, 2).unwrap();
            for (found, expected) in found.iter().zip(&expected) {
                // Of a tree, zeros keep their signs.
                prop_assert_eq!(bits(found), bits(expected));
            }
        }
    }

    #[test]
    fn a_spread_target_is_the_one_of_its_rows(case in cases()) {
        let whole = case.y.target(None);
        for ((train, _), Own { weights, .. }) in case.folds.iter().zip(case.of_rows()) {
            let y = case.y.select(&train.iter().map(|&row| row as usize).collect::<Vec<_>>());
            let Ok(alone) = whole.alone(train, weights.as_deref(), &runtime(1)) else {
                prop_assert!(weights.is_some_and(|weights| weights.iter().all(|&weight| weight == 0.0)));
                continue;
            };
            let refit = compact(&y, weights.as_deref()).unwrap();
            let spread = alone.spread(train, &whole);
            prop_assert_eq!(spread.n_samples(), case.x.nrows());
            prop_assert_eq!(spread.n_classes(), refit.n_classes());
            let mut weighted: Vec<u32> = alone.weighted_samples().iter().map(|&at| train[at as usize]).collect();
            weighted.sort_unstable();
            prop_assert_eq!(spread.weighted_samples(), weighted);
            for target in [&alone, &spread] {
                prop_assert_eq!(target.weight_unit().to_bits(), refit.weight_unit().to_bits());
                prop_assert_eq!(target.weights().max(), refit.weights().max());
                prop_assert_eq!(matches!(target.weights(), Weights::Large(_)), matches!(refit.weights(), Weights::Large(_)));
            }
            let n_outputs = case.y.n_outputs();
            for (at, &row) in train.iter().enumerate() {
                prop_assert_eq!(spread.weights().get(row as usize), refit.weights().get(at));
                if !refit.weights().is_positive(at) {
                    continue;
                }
                let (own, wide) = (at * n_outputs..(at + 1) * n_outputs, row as usize * n_outputs..(row as usize + 1) * n_outputs);
                match (refit.values(), spread.values()) {
                    (TargetValues::Classes(a), TargetValues::Classes(b)) => prop_assert_eq!(&a.slots[own], &b.slots[wide]),
                    (TargetValues::Numbers(a), TargetValues::Numbers(b)) => {
                        prop_assert_eq!(&a.fixed[own.clone()], &b.fixed[wide.clone()]);
                        prop_assert_eq!(bits(&a.raw[own]), bits(&b.raw[wide]));
                        prop_assert_eq!((&a.center, &a.peak, &a.scale), (&b.center, &b.peak, &b.scale));
                        prop_assert_eq!((a.bits, a.sums_fit_i64), (b.bits, b.sums_fit_i64));
                    }
                    _ => prop_assert!(false, "another task"),
                }
            }
        }
    }

    #[test]
    fn rows_of_a_query_are_a_query(x in matrices(1..20usize, 1..5usize), rows in vec(any::<prop::sample::Index>(), 0..20usize)) {
        let rows: Vec<u32> = rows.iter().map(|index| index.index(x.nrows()) as u32).collect();
        let view = x.view();
        let some = SomeRows::new(&view, &rows);
        prop_assert_eq!(some.shape(), (rows.len(), x.ncols()));
        let backwards: Vec<u32> = (0..rows.len() as u32).rev().collect();
        for feature in 0..x.ncols() as u32 {
            let mut values = vec![7.0];
            some.gather(feature, &backwards, &mut values);
            let expected: Vec<f64> = rows.iter().rev().map(|&row| x[[row as usize, feature as usize]]).collect();
            prop_assert_eq!(values, expected);
            for (at, &row) in rows.iter().enumerate() {
                prop_assert_eq!(some.value(at as u32, feature), x[[row as usize, feature as usize]]);
            }
        }
    }
}

/// So many trees that a call which does not look at the flag would take minutes. The folds of
/// classes descend together, those of numbers are asked one by one.
#[test]
fn a_raised_stop_flag_ends_cross_validation() {
    let n = 1000;
    let x = Array2::from_shape_fn((n, 5), |(row, column)| noise(column as u64, row));
    let numbers = Y::Numbers { values: (0..n).map(|row| noise(9, row)).collect(), n_outputs: 1 };
    let classes = Y::Classes { values: (0..n).map(|row| u32::from(noise(9, row) > 0.5)).collect(), n_classes: vec![2] };
    let rows = || 0..n as u32;
    let folds = (0..4).map(|part| rows().partition(|row| row % 4 != part)).collect::<Vec<_>>();
    let data = encode(&x.view(), &runtime(1));
    for (criterion, y) in [(CriterionKind::SquaredError, numbers), (CriterionKind::Entropy, classes)] {
        let tree = TreeParams { max_features: MaxFeatures::Sqrt, ..TreeParams::new(criterion) };
        let params = ForestParams { bootstrap: Bootstrap::Poisson, ..ForestParams::new(tree, 100_000) };
        let target = y.target(None);
        let all = CrossValidation { data: &data, target: &target, sample_ids: None, params: &params, is_tree: false };
        let folds = folds.iter().map(|(train, test): &(Vec<u32>, Vec<u32>)| Fold {
            train: TrainingRows::Listed(train),
            sample_weight: None,
            bootstrap: Bootstrap::Poisson,
            test,
        });
        let folds: Vec<Fold<'_>> = folds.collect();
        for n_threads in [1, 2] {
            let predicted = interrupted(n_threads, |runtime| all.predict(&folds, &x.view(), runtime));
            assert_eq!(predicted.unwrap_err(), Error::Interrupted, "{criterion:?}");
        }
    }
}

#[test]
fn rows_that_are_none_are_refused() {
    let x = Array2::from_shape_fn((4, 2), |(row, column)| (row + column) as f64);
    let data = encode(&x.view(), &runtime(1));
    let target = Target::classification(&[0, 1, 0, 1], &[2], None).unwrap();
    let params = ForestParams::new(TreeParams::new(CriterionKind::Gini), 2);
    let all = CrossValidation { data: &data, target: &target, sample_ids: None, params: &params, is_tree: false };
    let rows = TrainingRows::Listed(&[0, 1]);
    let legal = Fold { train: rows, sample_weight: None, bootstrap: Bootstrap::None, test: &[3] };
    let view = x.view();
    let predict = |fold: Fold<'_>| all.predict(&[legal.clone(), fold], &view, &runtime(1));
    assert_eq!(predict(legal.clone()).unwrap()[1], [0.0, 1.0]);
    assert!(all.predict(&[], &view, &runtime(1)).unwrap().is_empty());
    assert_eq!(predict(Fold { train: TrainingRows::AllBut(&[2, 3]), ..legal.clone() }).unwrap()[1], [0.0, 1.0]);
    let listed = [&[][..], &[1, 1], &[1, 0, 1], &[0, 4]].map(TrainingRows::Listed);
    let left_out = [&[0, 1, 2, 3][..], &[1, 0], &[1, 1], &[0, 4]].map(TrainingRows::AllBut);
    for train in listed.into_iter().chain(left_out) {
        let error = predict(Fold { train, ..legal.clone() }).unwrap_err().to_string();
        assert!(error.starts_with("train must be"), "{error}");
    }
    let error = predict(Fold { test: &[4], ..legal.clone() }).unwrap_err().to_string();
    assert!(error.starts_with("test must be rows below 4"), "{error}");
    let error = predict(Fold { sample_weight: Some(&[0.0, 0.0]), ..legal.clone() }).unwrap_err().to_string();
    assert!(error.starts_with("sample_weight must be"), "{error}");
    let misnamed = CrossValidation { sample_ids: Some(&[0]), ..all };
    let error = misnamed.predict(std::slice::from_ref(&legal), &view, &runtime(1)).unwrap_err().to_string();
    assert!(error.starts_with("sample_ids must have"), "{error}");
    let error =
        all.predict(std::slice::from_ref(&legal), &x.slice(ndarray::s![.., ..1]), &runtime(1)).unwrap_err().to_string();
    assert!(error.starts_with("X must have 2 features"), "{error}");
}
