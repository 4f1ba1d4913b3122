//! A pass that is foreseen has the scores of one that is not: losses from lists that samples are
//! removed from, or from a tree where weights are adverse, against a walk over the node; for nodes
//! of several sizes in one scratch, as in a search.

use std::cmp::Ordering;

use proptest::collection::vec;
use proptest::prelude::*;
use spinney::criterion::{Criterion, Visitor, visit};
use spinney::error::Result;
use spinney::params::{CriterionKind, QuantileLevel};

use super::common::{self, QUANTILE, Y, runtime};

/// Nodes, and of each the samples that are pushed.
struct Passes<'a>(&'a [(Vec<u32>, Vec<u32>)]);

impl Visitor for Passes<'_> {
    /// Of each cut whether proofs and scores agree.
    type Output = Vec<bool>;

    fn visit<C: Criterion>(self, criterion: &C) -> Result<Vec<bool>> {
        let (mut foreseeing, mut plain) = (criterion.scan(), criterion.scan());
        let mut agree = Vec::new();
        for (samples, pass) in self.0 {
            let node = criterion.totals(samples);
            // Twice: a pass leaves nothing behind.
            for pass in [&pass[..], &pass[..pass.len().div_ceil(2)]] {
                let mut pushed = criterion.begin(&node, &mut foreseeing);
                let most = common::foresee(criterion, &node, &mut foreseeing, pass, f64::NEG_INFINITY);
                let mut pushed_plainly = criterion.begin(&node, &mut plain);
                for (i, &sample) in pass.iter().enumerate() {
                    criterion.push(&node, &mut foreseeing, &mut pushed, sample);
                    criterion.push(&node, &mut plain, &mut pushed_plainly, sample);
                    if i + 1 == samples.len() {
                        break;
                    }
                    let one = criterion.score(&node, &foreseeing, pushed);
                    let other = criterion.score(&node, &plain, pushed_plainly);
                    let proofs = (criterion.proof(&foreseeing, pushed), criterion.proof(&plain, pushed_plainly));
                    let are_same = criterion.compare(&node, &proofs.0, &proofs.1) == Ordering::Equal;
                    agree.push(one.to_bits() == other.to_bits() && are_same && (0.0..=most).contains(&one));
                }
            }
        }
        Ok(agree)
    }
}

fn kinds() -> impl Strategy<Value = CriterionKind> {
    let level = (1..100u64).prop_map(|k| QuantileLevel::fraction(k, 100).unwrap());
    prop_oneof![Just(CriterionKind::AbsoluteError), Just(QUANTILE), level.prop_map(CriterionKind::Quantile)]
}

/// Equal, small, fractional, and so different that a quantile jumps.
fn weights(n: usize) -> impl Strategy<Value = Vec<f64>> {
    prop_oneof![
        Just(vec![1.0; n]),
        vec((1..5u32).prop_map(f64::from), n),
        vec(1e-3..1.0f64, n),
        vec(prop::sample::select(vec![1.0, 1.0, 1e6]), n),
    ]
}

proptest! {
    #![proptest_config(common::config(1500))]

    #[test]
    fn cuts_are_foreseen(
        (kind, y, n_outputs, weights, passes) in (kinds(), 2..90usize, 1..=2usize).prop_flat_map(|(kind, n, n_outputs)| {
            let value = prop_oneof![(0..6i32).prop_map(f64::from), -10.0..10.0f64];
            let order = Just((0..n as u32).collect::<Vec<_>>()).prop_shuffle();
            let pass = (order, 2..=n, 0.0..=1.0f64).prop_map(|(order, size, share)| {
                let pushed = &order[..((size as f64 * share).ceil() as usize).max(1)];
                let mut samples = order[..size].to_vec();
                samples.sort_unstable();
                (samples, pushed.to_vec())
            });
            (Just(kind), vec(value, n * n_outputs), Just(n_outputs), weights(n), vec(pass, 1..4))
        }),
    ) {
        let target = Y::Numbers { values: y, n_outputs }.target(Some(&weights));
        let agree = visit(kind, &target, Passes(&passes), &runtime(1)).unwrap();
        prop_assert!(agree.iter().all(|&agrees| agrees), "{:?}", agree);
    }
}

/// Heavy samples on either side of many light ones leave in turns, so that the median crosses the
/// light ones each time.
#[test]
fn adverse_weights() {
    let (n_heavy, n_light) = (400u32, 800u32);
    let n = 2 * n_heavy + n_light;
    let values: Vec<f64> = (0..n).map(f64::from).collect();
    let is_light = |sample: u32| (n_heavy..n_heavy + n_light).contains(&sample);
    let weights: Vec<f64> = (0..n).map(|sample| if is_light(sample) { 1.0 } else { 1e5 }).collect();
    let mut pass: Vec<u32> = (0..n_heavy).flat_map(|i| [i, n - 1 - i]).collect();
    pass.extend(n_heavy..n_heavy + n_light);
    let target = Y::Numbers { values, n_outputs: 1 }.target(Some(&weights));
    let agree = visit(CriterionKind::AbsoluteError, &target, Passes(&[((0..n).collect(), pass)]), &runtime(1)).unwrap();
    assert!(agree.len() > n as usize && agree.iter().all(|&agrees| agrees));
}

/// A node, and passes over it.
struct Bounds<'a>(&'a [Vec<u32>]);

impl Visitor for Bounds<'_> {
    /// Of each pass the highest score; and of each share of it as the floor, what is said of the
    /// cuts and the highest score again unless there is nothing to be scored.
    type Output = Vec<(f64, Vec<(f64, f64, Option<f64>)>)>;

    fn visit<C: Criterion>(self, criterion: &C) -> Result<Self::Output> {
        let mut samples: Vec<u32> = self.0[0].clone();
        samples.sort_unstable();
        let node = criterion.totals(&samples);
        let mut scan = criterion.scan();
        let mut ask = |pass: &[u32], floor: f64| {
            let mut pushed = criterion.begin(&node, &mut scan);
            let most = common::foresee(criterion, &node, &mut scan, pass, floor);
            // All of the node is no cut.
            let n_cuts = pass.len() - usize::from(pass.len() == samples.len());
            let scores = pass[..n_cuts].iter().map(|&sample| {
                criterion.push(&node, &mut scan, &mut pushed, sample);
                criterion.score(&node, &scan, pushed)
            });
            (most, (most >= floor).then(|| scores.fold(0.0, f64::max)))
        };
        let shares = [0.5, 1.0, 1.0 + 1e-9, 1.5, 4.0, 1e3];
        Ok(self
            .0
            .iter()
            .map(|pass| {
                let (most, highest) = ask(pass, f64::NEG_INFINITY);
                assert_eq!(Some(most), highest);
                let asked = shares.map(|share| {
                    let (most_then, highest_then) = ask(pass, most * share);
                    (most * share, most_then, highest_then)
                });
                (most, asked.to_vec())
            })
            .collect())
    }
}

proptest! {
    #![proptest_config(common::config(60))]

    /// Long passes may be given up before their cuts are looked at, but only if none is as good as
    /// the floor.
    #[test]
    fn long_passes_are_bounded(
        (kind, y, weights, order) in (kinds(), 512..900usize).prop_flat_map(|(kind, n)| {
            let order = Just((0..n as u32).collect::<Vec<_>>()).prop_shuffle();
            (Just(kind), vec(-10.0..10.0f64, n), weights(n), order)
        }),
        noise in 0.0..1.0f64,
    ) {
        let n = y.len();
        let mut related = order.clone();
        let key = |sample: u32| y[sample as usize] * (1.0 - noise) + f64::from(order[sample as usize]) / n as f64 * 20.0 * noise;
        related.sort_by(|&a, &b| key(a).total_cmp(&key(b)));
        let short = order[..520.min(n - 1)].to_vec();
        let target = Y::Numbers { values: y, n_outputs: 1 }.target(Some(&weights));
        // The first has all samples of the node.
        for (most, asked) in visit(kind, &target, Bounds(&[order, related, short]), &runtime(1)).unwrap() {
            for (floor, most_then, highest) in asked {
                prop_assert!(most_then >= most, "{} {} {}", floor, most_then, most);
                prop_assert!(highest.is_none_or(|highest| highest == most));
                prop_assert!(highest.is_some() || most < floor);
            }
        }
    }
}

/// An order that knows nothing of the target is given up where one that knows it sets the floor.
#[test]
fn noise_is_given_up() {
    let n = 2048u32;
    let values: Vec<f64> = (0..n).map(f64::from).collect();
    // Spread evenly, as the factor has no divisor in common with `n`.
    let noise: Vec<u32> = (0..n).map(|i| i * 1103 % n).collect();
    let target = Y::Numbers { values, n_outputs: 1 }.target(None);
    for kind in [CriterionKind::AbsoluteError, QUANTILE] {
        let passes = [noise.clone(), (0..n).collect()];
        let found = visit(kind, &target, Bounds(&passes), &runtime(1)).unwrap();
        let given_up = |pass: usize| found[pass].1.iter().filter(|asked| asked.2.is_none()).count();
        // What is asked for beyond the highest score of the signal is more than any cut can have;
        // the noise scores next to nothing.
        assert!(given_up(1) >= 1 && given_up(0) >= 1, "{kind:?}");
        assert!(found[0].0 * 20.0 < found[1].0, "{kind:?}");
    }
}
