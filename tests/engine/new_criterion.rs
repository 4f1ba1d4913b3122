//! A criterion that is not the engine's, built as the page "How to add a criterion" of the site
//! says.
//!
//! The page shows the part between the two marks.

use std::cmp::Ordering;

use num_bigint::BigUint;
use proptest::collection::vec;
use proptest::prelude::*;
use spinney::criterion::classes::{ClassCriterion, Measure, Sides, Terms, TermsVisitor};
use spinney::criterion::small::{LANES, SmallRows};
use spinney::criterion::weights::SmallWeights;
use spinney::criterion::{Forms, Ordered, Statistics};
use spinney::data::Target;
use spinney::data::target::TargetValues;
use spinney::num::{Exact, Ratio, Wide};
use spinney::simd::Level;

// [measure]
/// `1 - sum_k p_k^3`: like Gini impurity, with the third power.
struct Cubic;

impl Measure for Cubic {
    type Sum = i128;

    fn is_squared_distance(&self) -> bool {
        false
    }

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

    fn most_score(&self, weight: f64, n_outputs: f64) -> f64 {
        weight * n_outputs
    }

    fn error_of_terms(&self, weight: f64, n_outputs: f64, n_terms: f64) -> f64 {
        weight * n_outputs * (8.0 * n_terms + 16.0) * f64::EPSILON
    }

    fn visit_terms<V: TermsVisitor>(&self, visitor: V) -> V::Output {
        visitor.visit::<Self>()
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

impl Terms for Cubic {
    fn class_terms(left: f64, right: f64) -> [f64; 2] {
        [left.powi(3), right.powi(3)]
    }

    fn score_of_terms(terms: [f64; 2], weights: [f64; 2], _n_outputs: f64) -> f64 {
        terms[0] / (weights[0] * weights[0]) + terms[1] / (weights[1] * weights[1])
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

/// The forms of small subtrees of the criterion.
type Small<'a> = <ClassCriterion<'a, SmallWeights<'a>, Cubic> as Forms>::Wide;

proptest! {
    /// Scores in vector registers are as close to those of the criterion as the measure says.
    #[test]
    fn small_subtrees_have_its_scores(rows in vec((0..4u32, 0..9u32, 1..4u32), 2..60)) {
        let (labels, weights): (Vec<u32>, Vec<u32>) = rows.iter().map(|row| (row.0, row.2)).unzip();
        let target = Target::classification(&labels, &[4], None).unwrap();
        let TargetValues::Classes(classes) = target.values() else { panic!("classes were given") };
        let criterion = ClassCriterion::new(classes, SmallWeights(Some(&weights)), Cubic);
        let mut small = Small::new(&criterion).unwrap();
        let mut samples: Vec<u32> = (0..rows.len() as u32).collect();
        prop_assert!(small.load(&criterion, &mut samples));
        let places: Vec<u8> = (0..rows.len() as u8).collect();
        small.enter(&criterion, &places, &samples);
        small.begin(&criterion, &places, &samples, 1.0);
        let node = criterion.totals(&samples);
        prop_assert_eq!(small.weight(), criterion.weight(&node));
        prop_assert_eq!(small.impurity(&criterion), criterion.impurity(&node));
        // A cut after the rank of each row.
        let ranks: Vec<u32> = samples.iter().map(|&sample| rows[sample as usize].1).collect();
        let highest = ranks.iter().copied().max().unwrap();
        let mut lasts = vec![[highest; LANES]; ranks.len().div_ceil(LANES)];
        lasts.as_flattened_mut()[..ranks.len()].copy_from_slice(&ranks);
        for level in Level::supported() {
            let mut scores = vec![[0.0; LANES]; lasts.len()];
            small.score_cuts(&criterion, level, &ranks, &lasts, &mut scores);
            for (i, (&last, &score)) in ranks.iter().zip(scores.as_flattened()).enumerate() {
                if last == highest {
                    prop_assert_eq!(score, f64::NEG_INFINITY);
                    continue;
                }
                let exact = small.scored_cut(&criterion, i, &ranks, last);
                let error = Cubic.error_of_terms(criterion.weight(&node) as f64, 1.0, 4.0);
                prop_assert!((score - exact.score).abs() <= error + criterion.tolerance(&node, score));
                prop_assert!(score <= small.most_score() + error);
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
