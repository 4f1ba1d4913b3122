//! The bits of scores and bounds against plain arithmetic.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::data::Target;
use crate::data::target::TargetValues;

fn numbers(y: &[f64], n_outputs: usize) -> Numbers {
    match Target::regression(y, n_outputs, None).unwrap().values() {
        TargetValues::Numbers(numbers) => numbers.clone(),
        _ => panic!("a regression target has numbers"),
    }
}

fn pushed(criterion: &Poisson<'_>, node: &PoissonTotals, samples: &[u32]) -> (f64, SumProof<i128>) {
    let mut scan = criterion.scan();
    let mut pushed = criterion.begin(node, &mut scan);
    for &sample in samples {
        criterion.push(node, &mut scan, &mut pushed, sample);
    }
    (criterion.score(node, &scan, pushed), criterion.proof(&scan, pushed))
}

#[test]
fn impurity_is_half_the_mean_deviance() {
    // Mean 2: (1 ln(1/2) + 3 ln(3/2)) / 2 = (3 ln 3 - 4 ln 2) / 2.
    let numbers = numbers(&[1.0, 3.0, 0.0, 0.0], 1);
    let criterion = Poisson::new(&numbers, &Weights::Unit).unwrap();
    let exact = (3.0 * 3f64.ln() - 4.0 * 2f64.ln()) / 2.0;
    assert!((criterion.impurity(&criterion.totals(&[0, 1])) - exact).abs() < 1e-15);
    // Mean 1: 3 ln 3 + 1 ln 1 = 3 ln 3, of 4 samples.
    let all = criterion.totals(&[0, 1, 2, 3]);
    assert!((criterion.impurity(&all) - 0.75 * 3f64.ln()).abs() < 1e-15);
    assert_eq!(criterion.impurity(&criterion.totals(&[1])), 0.0);
    let none = criterion.minus(&all, &criterion.totals(&[0, 1]));
    assert_eq!(criterion.impurity(&none), f64::INFINITY);
    assert!(criterion.is_pure(&none) && !criterion.is_pure(&all));
    // The cut between {0, 0} and {1, 3} is forbidden, whichever side is pushed; the cut between
    // {1, 0} and {3, 0} is not.
    assert!(pushed(&criterion, &all, &[2, 3]).0.is_nan());
    assert!(pushed(&criterion, &all, &[0, 1]).0.is_nan());
    assert!(pushed(&criterion, &all, &[0, 2]).0 > 0.0);
}

#[test]
fn negative_targets_are_refused_unless_they_weigh_nothing() {
    let numbers = numbers(&[1.0, -3.0], 1);
    assert!(Poisson::new(&numbers, &Weights::Unit).is_err());
    assert!(Poisson::new(&numbers, &Weights::Large([1, 0].into())).is_ok());
}

#[test]
fn no_target_above_zero_becomes_zero() {
    let numbers = numbers(&[1e300, 1e-300, 5e-324, 0.0], 1);
    let criterion = Poisson::new(&numbers, &Weights::Unit).unwrap();
    assert_eq!(criterion.counts[1..], [1, 1, 0]);
    assert!(criterion.counts[0] <= 1 << COUNT_BITS && criterion.counts[0] > 1 << (COUNT_BITS - 2));
}

proptest! {
    /// The score is the fall of the deviance, and scores that differ by more than their
    /// tolerance have the order of the exact integers.
    #[test]
    fn scores_agree_with_libm_and_with_proofs(
        y in vec(prop_oneof![(0..6u8).prop_map(f64::from), 0.0..1e3, 0.0..1e-6], 2 * 6),
        weights in vec(1..=(1u64 << 48), 6),
        n_outputs in 1..=2usize,
    ) {
        let numbers = numbers(&y[..6 * n_outputs], n_outputs);
        let large = Weights::Large(weights.clone().into());
        let criterion = Poisson::new(&numbers, &large).unwrap();
        let given = y;
        let rounded = |(at, &count): (usize, &i64)| scale_by_power_of_two(count as f64, -criterion.scale[at % n_outputs]);
        let y: Vec<f64> = criterion.counts.iter().enumerate().map(rounded).collect();
        for (at, (y, given)) in y.iter().zip(&given).enumerate() {
            prop_assert!((y - given).abs() <= numbers.peak[at % n_outputs] * 2f64.powi(2 - COARSE_BITS as i32));
        }
        let all = criterion.totals(&[0, 1, 2, 3, 4, 5]);
        let unit = |score: f64| scale_by_power_of_two(score, -criterion.scale.iter().max().unwrap() - FRACTION_BITS as i32);
        let cost = |samples: &[u32]| -> f64 {
            (0..n_outputs).map(|output| {
                let of = |&i: &u32| (weights[i as usize] as f64, y[i as usize * n_outputs + output]);
                let (w, s) = samples.iter().map(of).fold((0.0, 0.0), |(w, s), (v, y)| (w + v, s + v * y));
                let term = |(w1, y1): (f64, f64)| if y1 == 0.0 { 0.0 } else { w1 * y1 * (y1 * w / s).log2() };
                samples.iter().map(of).map(term).sum::<f64>()
            }).sum()
        };
        let sum: f64 = (0..6 * n_outputs).map(|at| weights[at / n_outputs] as f64 * y[at]).sum();
        let cuts: Vec<_> = (1u32..63).map(|mask| {
            let (left, right): (Vec<u32>, Vec<u32>) = (0..6).partition(|i| mask >> i & 1 == 1);
            let (score, proof) = pushed(&criterion, &all, &left);
            (left, right, score, proof)
        }).collect();
        for (left, right, score, _) in &cuts {
            let has_none = |side: &[u32], output: usize| side.iter().all(|&i| y[i as usize * n_outputs + output] == 0.0);
            let forbidden = (0..n_outputs).any(|output| has_none(left, output) || has_none(right, output));
            prop_assert_eq!(forbidden, score.is_nan());
            let mut scan = criterion.scan();
            let mut state = criterion.begin(&all, &mut scan);
            for &sample in left {
                criterion.push(&all, &mut scan, &mut state, sample);
            }
            let may_score = |least: f64| criterion.may_score(&all, &scan, state, least);
            prop_assert_eq!(may_score(f64::NEG_INFINITY), !forbidden);
            prop_assert!(forbidden || may_score(*score));
            // Not any score is said to be possible.
            let total = sum * 2f64.powi(FRACTION_BITS as i32) * scale_by_power_of_two(1.0, *criterion.scale.iter().max().unwrap());
            prop_assert!(!may_score(score.max(0.0) + 1e-6 * total));
            if !forbidden {
                let fall = cost(&[0, 1, 2, 3, 4, 5]) - cost(left) - cost(right);
                prop_assert!((unit(*score) - fall).abs() <= 1e-11 * sum, "{} {}", unit(*score), fall);
            }
        }
        for a in cuts.iter().filter(|cut| !cut.2.is_nan()) {
            for b in cuts.iter().filter(|cut| !cut.2.is_nan()) {
                let order = criterion.compare(&all, &a.3, &b.3);
                prop_assert_eq!(order, criterion.compare(&all, &b.3, &a.3).reverse());
                if (a.2 - b.2).abs() > criterion.tolerance(&all, a.2.max(b.2)) {
                    prop_assert_eq!(order, a.2.total_cmp(&b.2));
                }
            }
        }
    }
}
