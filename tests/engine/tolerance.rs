//! The one claim on which every tier rests: `Criterion::tolerance` bounds the rounding of
//! `Criterion::score`.
//!
//! For two random splits of a node, the exact order of their proofs must not be contradicted by
//! scores that differ by more than the tolerance.

use std::cmp::Ordering;

use proptest::collection::vec;
use proptest::prelude::*;
use spinney::criterion::{Criterion, Visitor, visit};
use spinney::error::Result;
use spinney::params::CriterionKind;

use super::common::{QUANTILE, Y, runtime};

/// Compares the splits of all samples that two sides make.
struct Compare<'a> {
    sides: [&'a [u32]; 2],
    n_samples: u32,
}

impl Visitor for Compare<'_> {
    /// The excess of the score of the lesser split, the tolerance, and the exact order.
    type Output = (f64, f64, Ordering);

    fn visit<C: Criterion>(self, criterion: &C) -> Result<Self::Output> {
        let all: Vec<u32> = (0..self.n_samples).collect();
        let node = criterion.totals(&all);
        let [a, b] = self.sides.map(|side| {
            let mut scan = criterion.scan();
            let mut pushed = criterion.begin(&node, &mut scan);
            for &sample in side {
                criterion.push(&node, &mut scan, &mut pushed, sample);
            }
            (criterion.score(&node, &scan, pushed), criterion.proof(&scan, pushed))
        });
        let order = criterion.compare(&node, &a.1, &b.1);
        let (lesser, greater) = if order == Ordering::Less { (a.0, b.0) } else { (b.0, a.0) };
        Ok((lesser - greater, criterion.tolerance(&node, lesser.max(greater)), order))
    }
}

fn weights(n: usize) -> impl Strategy<Value = Vec<f64>> {
    prop_oneof![
        Just(vec![1.0; n]),
        vec((1..100u32).prop_map(f64::from), n),
        vec(1e-3..1.0f64, n),
        vec(prop::sample::select(vec![1e-12, 0.3, 1.0, 1e9]), n),
    ]
}

fn numbers(n: usize, n_outputs: usize) -> impl Strategy<Value = Vec<f64>> {
    // Close values, long tails, and outputs whose scales lie far apart.
    let value = prop_oneof![
        -1.0..1.0f64,
        (-60..60i32, -1.0..1.0f64).prop_map(|(e, v)| v * 2f64.powi(e)),
        (0..3u8).prop_map(|i| 1e6 + f64::from(i) * 1e-6),
    ];
    (vec(value, n * n_outputs), vec(-100..100i32, n_outputs)).prop_map(move |(values, exponents)| {
        values.iter().enumerate().map(|(at, v)| v * 2f64.powi(exponents[at % n_outputs])).collect()
    })
}

/// A proper, non-empty subset of `0..n`.
fn side(n: usize) -> impl Strategy<Value = Vec<u32>> {
    vec(any::<bool>(), n).prop_map(|flags| {
        let side: Vec<u32> = (0..flags.len() as u32).filter(|&i| flags[i as usize]).collect();
        if side.is_empty() || side.len() == flags.len() { vec![0] } else { side }
    })
}

fn check(kind: CriterionKind, y: &Y, weights: &[f64], sides: [&[u32]; 2]) -> std::result::Result<(), TestCaseError> {
    let target = y.target(Some(weights));
    let compare = Compare { sides, n_samples: weights.len() as u32 };
    let (excess, tolerance, order) = visit(kind, &target, compare, &runtime(1)).unwrap();
    // Forbidden cuts are never compared.
    prop_assume!(kind != CriterionKind::Poisson || !excess.is_nan());
    match order {
        Ordering::Equal => prop_assert!(excess.abs() <= tolerance, "{kind:?}: {excess} {tolerance}"),
        Ordering::Less | Ordering::Greater => prop_assert!(excess <= tolerance, "{kind:?}: {excess} {tolerance}"),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn of_squared_and_absolute_error(
        (y, weights, n_outputs, a, b) in (2..40usize, 1..=3usize)
            .prop_flat_map(|(n, k)| (numbers(n, k), weights(n), Just(k), side(n), side(n))),
    ) {
        let y = Y::Numbers { values: y, n_outputs };
        for kind in [CriterionKind::SquaredError, CriterionKind::AbsoluteError, QUANTILE] {
            check(kind, &y, &weights, [&a, &b])?;
        }
    }

    #[test]
    fn of_poisson(
        (y, weights, n_outputs, a, b) in (2..40usize, 1..=3usize)
            .prop_flat_map(|(n, k)| (numbers(n, k), weights(n), Just(k), side(n), side(n))),
        zeros in vec(0..4u8, 120),
    ) {
        let counts = y.iter().zip(&zeros).map(|(v, &zero)| if zero == 0 { 0.0 } else { v.abs() });
        check(CriterionKind::Poisson, &Y::Numbers { values: counts.collect(), n_outputs }, &weights, [&a, &b])?;
    }

    #[test]
    fn of_class_criteria(
        // Small nodes: that is where different counts tie.
        (values, weights, n_classes, a, b) in (2..14usize, prop_oneof![Just(vec![2u32]), Just(vec![4]), Just(vec![3, 2])])
            .prop_flat_map(|(n, n_classes)| {
                let widest = *n_classes.iter().min().unwrap();
                (vec(0..widest, n * n_classes.len()), weights(n), Just(n_classes), side(n), side(n))
            }),
    ) {
        let y = Y::Classes { values, n_classes };
        for kind in [CriterionKind::Gini, CriterionKind::Entropy] {
            check(kind, &y, &weights, [&a, &b])?;
        }
    }
}
