//! Contributions add up to predictions, also of boosted trees, and importances are numbers.
#![no_main]

mod fitting;

use fitting::boosting::Boosting;
use fitting::cases::Case;
use fitting::engine::common::{Sparse, Y};
use fitting::storage::{plain, stored};
use fitting::threads::{one, two};
use libfuzzer_sys::fuzz_target;
use spinney::data::{Format, Target};
use spinney::explain::{
    Loss, Permutations, SideBySide, Training, expected_value, impurity_importances, permutation_importances,
    shap_interactions, shap_values, shap_values_by, sparse_shap_values,
};
use spinney::forest::{Forest, RowSampler};

/// Relative to the largest value of a leaf.
const TOLERANCE: f64 = 1e-9;

fn check_contributions(case: &Case, forest: &Forest) {
    let (query, n_values) = (case.query.view(), forest.n_values());
    let predicted = forest.predict(&query, &one()).expect("means");
    let base = expected_value(forest, &one()).expect("means");
    let found = shap_values(forest, &query, &one()).expect("contributions");
    let n_used = found.features.len();
    let leaves = forest.trees().map(|tree| tree.unpack().expect("a tree").nodes().value.clone());
    let scale = leaves.flatten().fold(f64::MIN_POSITIVE, |scale, value| scale.max(value.abs()));
    let is_close = |a: f64, b: f64| (a - b).abs() <= TOLERANCE * scale;
    for (row, predicted) in predicted.chunks(n_values).enumerate() {
        let own = &found.values[row * n_used * n_values..][..n_used * n_values];
        for value in 0..n_values {
            let sum: f64 = base[value] + own.iter().skip(value).step_by(n_values).sum::<f64>();
            assert!(is_close(sum, predicted[value]), "row {row}, value {value}: {sum} for {}", predicted[value]);
        }
    }
    // Storage, threads, and what is visited side by side.
    let sparse = Sparse::<f64, i32>::new(&case.query, Format::Csr, |v| v);
    assert_eq!(shap_values(forest, &sparse.view(), two()).expect("contributions"), found);
    for side in [SideBySide::Points, SideBySide::Rows] {
        let by = shap_values_by(forest, &query, Some(side), &one()).expect("contributions");
        assert_eq!(by.features, found.features);
        assert!(by.values.iter().zip(&found.values).all(|(&a, &b)| is_close(a, b)), "{side:?}");
    }
    sparse_shap_values(forest, &query, two()).expect("contributions");
    // The rows of the matrix of pairs add up to the contributions.
    let pairs = shap_interactions(forest, &query, &one()).expect("contributions of pairs");
    assert_eq!(pairs.features, found.features);
    for (own, expected) in pairs.values.chunks((n_used * n_values).max(1)).zip(found.values.chunks(n_values)) {
        for value in 0..n_values {
            let sum: f64 = own.iter().skip(value).step_by(n_values).sum();
            assert!(is_close(sum, expected[value]), "pairs: {sum} for {}", expected[value]);
        }
    }
}

fn check_importances(case: &Case, target: &Target, forest: &Forest) {
    let n = case.x.nrows();
    let view = case.x.view();
    let Ok(sampler) = RowSampler::new(target.weights(), n, &case.params.bootstrap, None) else { return };
    let (numbers, losses): (Vec<f64>, _) = match &case.y {
        Y::Classes { values, .. } => (values.iter().map(|&class| class.into()).collect(), [Loss::Wrong, Loss::Brier]),
        Y::Numbers { values, .. } => (values.clone(), [Loss::Squared, Loss::Absolute]),
    };
    let training = Training { x: &view, y: &numbers, sampler: &sampler, asked: None };
    let groups: Vec<u32> = (0..case.x.ncols() as u32).collect();
    let permutations = Permutations { groups: &groups, n_groups: groups.len(), n_repeats: 2, seed: case.seed };
    for loss in losses {
        let [a, b] = [&one(), two()].map(|runtime| {
            permutation_importances(forest, training, loss, permutations, runtime).expect("importances")
        });
        assert!(a.iter().zip(&b).all(|(a, b)| a.to_bits() == b.to_bits()));
        // There are none if each tree has seen all rows.
        let are_there = !a.iter().all(|value| value.is_nan());
        assert!(!are_there || a.iter().all(|value| value.is_finite()), "{loss:?} {a:?}");
    }
    let [a, b] = [&one(), two()].map(|runtime| impurity_importances(forest, training, runtime).expect("importances"));
    assert!(a.iter().zip(&b).all(|(a, b)| a.to_bits() == b.to_bits()));
}

fuzz_target!(|case: Case| {
    if let Some(boosting) = Boosting::of(&case).filter(|boosting| !boosting.may_overflow())
        && let Ok((forest, _)) = boosting.grow(&case, &plain(&case), &one())
    {
        check_contributions(&case, &forest);
    }
    let Some(target) = case.target() else { return };
    let Ok(forest) = case.forest(&target, &stored(&case, case.choices[0]), &one()) else { return };
    check_contributions(&case, &forest);
    check_importances(&case, &target, &forest);
});
