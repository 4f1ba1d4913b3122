//! A criterion that is not the engine's, built as the page "How to add a criterion" of the site
//! says.
//!
//! The page shows the part between the two marks.

use std::cmp::Ordering;

use num_bigint::BigUint;
use proptest::collection::vec;
use proptest::prelude::*;
use spinney::criterion::classes::{ClassCriterion, Measure, Sides};
use spinney::criterion::weights::SmallWeights;
use spinney::criterion::{Ordered, Statistics};
use spinney::data::Target;
use spinney::data::target::TargetValues;
use spinney::num::{Exact, Ratio, Wide};

// [measure]
/// `1 - sum_k p_k^3`: like Gini impurity, with the third power.
struct Cubic;

impl Measure for Cubic {
    type Sum = i128;
    const IS_SQUARED_DISTANCE: bool = false;

    fn growth(&self, count: u64, weight: u64) -> i128 {
        let cube = |n: u64| i128::from(n).pow(3);
        cube(count + weight) - cube(count)
    }

    fn impurity(&self, sum: i128, weight: u64, n_outputs: usize) -> f64 {
        n_outputs as f64 - sum as f64 / (weight as f64).powi(3)
    }

    fn score_of_none(&self, sum: i128, weight: u64, _n_outputs: usize) -> f64 {
        sum as f64 / (weight as f64).powi(2)
    }

    fn cost(&self, sum: i128, weight: u64, n_outputs: usize) -> f64 {
        self.impurity(sum, weight, n_outputs) * weight as f64
    }

    fn score(&self, split: &Sides<i128>) -> f64 {
        let [first, second] = [0, 1].map(|side| {
            let weight = split.weights[side] as f64;
            split.sums[side] as f64 / (weight * weight)
        });
        first + second
    }

    fn class_terms(left: f64, right: f64) -> [f64; 2] {
        [left.powi(3), right.powi(3)]
    }

    fn score_of_terms(terms: [f64; 2], weights: [f64; 2], _n_outputs: f64) -> f64 {
        terms[0] / (weights[0] * weights[0]) + terms[1] / (weights[1] * weights[1])
    }

    fn most_score(weight: f64, n_outputs: f64) -> f64 {
        weight * n_outputs
    }

    fn error_of_terms(weight: f64, n_outputs: f64, n_terms: f64) -> f64 {
        weight * n_outputs * (8.0 * n_terms + 16.0) * f64::EPSILON
    }

    fn compare(&self, a: &Sides<i128>, b: &Sides<i128>) -> Ordering {
        let exact = |split: &Sides<i128>| {
            let [w0, w1] = split.weights.map(|weight| u128::from(weight).pow(2));
            let [s0, s1] = split.sums.map(|sum| Wide::from(sum as u128));
            let numerator = s0.times(&Wide::from(w1)).plus(&s1.times(&Wide::from(w0)));
            Ratio { numerator, denominator: w0 * w1 }
        };
        exact(a).compare(&exact(b))
    }
}
// [end]

/// `sum_k c_k^3 / w^2` of a side, as a fraction.
fn fraction(labels: &[u32]) -> (BigUint, BigUint) {
    let count = |class| labels.iter().filter(|&&label| label == class).count() as u64;
    let cubes = (0..3).map(|class| BigUint::from(count(class)).pow(3)).sum();
    (cubes, BigUint::from(labels.len()).pow(2))
}

/// The score of a cut, as a fraction.
fn score(left: &[u32], right: &[u32]) -> (BigUint, BigUint) {
    let ((a, b), (c, d)) = (fraction(left), fraction(right));
    (&a * &d + &c * &b, b * d)
}

proptest! {
    #[test]
    fn the_order_of_cuts_is_exact(labels in vec(0..3u32, 2..24)) {
        let target = Target::classification(&labels, &[3], None).unwrap();
        let TargetValues::Classes(classes) = target.values() else { panic!("classes were given") };
        let criterion = ClassCriterion::new(classes, SmallWeights(None), Cubic);
        let all: Vec<u32> = (0..labels.len() as u32).collect();
        let node = criterion.totals(&all);
        let mut scan = criterion.scan();
        let mut pushed = criterion.begin(&node, &mut scan);
        let mut cuts = Vec::new();
        for (at, &sample) in all.iter().enumerate().take(labels.len() - 1) {
            criterion.push(&node, &mut scan, &mut pushed, sample);
            let (left, right) = labels.split_at(at + 1);
            cuts.push((criterion.score(&node, &scan, pushed), criterion.proof(&scan, pushed), score(left, right)));
        }
        for (score_a, proof_a, (a, b)) in &cuts {
            for (score_b, proof_b, (c, d)) in &cuts {
                let expected = (a * d).cmp(&(c * b));
                prop_assert_eq!(criterion.compare(&node, proof_a, proof_b), expected);
                // What rounds a score is within the tolerance on which all tiers rely.
                if score_a - score_b > criterion.tolerance(&node, *score_a) {
                    prop_assert_eq!(expected, Ordering::Greater);
                }
            }
        }
    }
}

#[test]
fn impurity_is_that_of_the_shares() {
    let target = Target::classification(&[0, 0, 1, 2], &[3], None).unwrap();
    let TargetValues::Classes(classes) = target.values() else { panic!("classes were given") };
    let criterion = ClassCriterion::new(classes, SmallWeights(None), Cubic);
    let node = criterion.totals(&[0, 1, 2, 3]);
    let expected = 1.0 - (0.125 + 2.0 * 0.25f64.powi(3));
    assert_eq!(criterion.impurity(&node), expected);
    assert!(!criterion.is_pure(&node));
    assert!(criterion.is_pure(&criterion.totals(&[0, 1])));
    // Three classes: an order of categories for each.
    assert_eq!(criterion.n_orders(), 3);
}
