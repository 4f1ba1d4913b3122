//! Survival trees: log-rank statistics against the textbook in exact fractions, whole trees against the
//! best of all cuts, and all that must not show.

use ndarray::{Array2, Axis};
use num_bigint::BigInt;
use proptest::collection::vec;
use proptest::prelude::*;
use spinney::criterion::{Criterion, Visitor, visit};
use spinney::data::dense::Ordinals;
use spinney::data::{Dataset, Format, Target};
use spinney::error::Result;
use spinney::forest::{LazyForest, grow_forest};
use spinney::grow;
use spinney::lazy::Traversal;
use spinney::params::{Bootstrap, Count, CriterionKind, ForestParams, MaxFeatures, Splitter, TreeParams};
use spinney::tree::{TREE_LEAF, Tree};

use super::common::storages::{KERNELS, storages};
use super::common::{Sparse, config, encode, foresee, matrices, noise, runtime, with_holes};

const EXACT: CriterionKind = CriterionKind::LogRank { min_events: 0 };
const FAST: CriterionKind = CriterionKind::LogRankFast { min_events: 0 };

/// A row: its time, its event, and its weight.
#[derive(Debug, Clone, Copy)]
struct Row {
    time: f64,
    event: u32,
    weight: u32,
}

#[derive(Debug, Clone)]
struct Fraction(BigInt, BigInt);

impl Fraction {
    fn new(numerator: i64, denominator: i64) -> Self {
        Self(numerator.into(), denominator.into())
    }

    fn plus(self, other: &Self) -> Self {
        Self(&self.0 * &other.1 + &other.0 * &self.1, self.1 * &other.1)
    }

    fn times(&self, other: &Self) -> Self {
        Self(&self.0 * &other.0, &self.1 * &other.1)
    }

    fn over(&self, other: &Self) -> Self {
        Self(&self.0 * &other.1, &self.1 * &other.0)
    }

    fn is_zero(&self) -> bool {
        self.0 == BigInt::from(0)
    }

    fn to_f64(&self) -> f64 {
        let scaled: BigInt = &self.0 * BigInt::from(10u8).pow(24) / &self.1;
        scaled.to_string().parse::<f64>().unwrap() * 1e-24
    }
}

/// The events and the weight at risk, of all rows and of those on the left, at each event time.
fn tables(rows: &[Row], left: &[bool]) -> Vec<[i64; 4]> {
    let mut times: Vec<f64> = rows.iter().filter(|row| row.event > 0 && row.weight > 0).map(|row| row.time).collect();
    times.sort_by(f64::total_cmp);
    times.dedup();
    let weigh = |holds: &dyn Fn(usize) -> bool| {
        (0..rows.len()).filter(|&i| holds(i)).map(|i| i64::from(rows[i].weight)).sum::<i64>()
    };
    let of_time = |&time: &f64| {
        let is_event = |i: usize| rows[i].time == time && rows[i].event > 0;
        let is_at_risk = |i: usize| rows[i].time >= time;
        [weigh(&is_event), weigh(&is_at_risk), weigh(&|i| is_event(i) && left[i]), weigh(&|i| is_at_risk(i) && left[i])]
    };
    times.iter().map(of_time).collect()
}

/// The log-rank statistic by the textbook; `None` if nothing can be said.
fn statistic(kind: CriterionKind, rows: &[Row], left: &[bool]) -> Option<f64> {
    let zero = || Fraction::new(0, 1);
    let (mut excess, mut variance, mut expected) = (zero(), zero(), [zero(), zero()]);
    for [d, y, d_left, y_left] in tables(rows, left) {
        excess = excess.plus(&Fraction::new(d_left * y - y_left * d, y));
        if y > 1 {
            let of_time = Fraction::new(d * (y - d) * y_left, y * y).times(&Fraction::new(y - y_left, y - 1));
            variance = variance.plus(&of_time);
        }
        let [left, right] = expected;
        expected = [left.plus(&Fraction::new(y_left * d, y)), right.plus(&Fraction::new((y - y_left) * d, y))];
    }
    let square = excess.times(&excess);
    if kind.name() == "logrank" {
        return (!variance.is_zero()).then(|| square.over(&variance).to_f64());
    }
    let [left, right] = &expected;
    (!left.is_zero() && !right.is_zero()).then(|| square.over(left).plus(&square.over(right)).to_f64())
}

/// The expected number of events up to the last of `event_times`, by Nelson and Aalen.
fn risk(rows: &[Row], event_times: &[f64]) -> f64 {
    let of_time = |&until: &f64| {
        let before: Vec<Row> =
            rows.iter().map(|row| Row { event: row.event * u32::from(row.time <= until), ..*row }).collect();
        tables(&before, &vec![false; rows.len()]).iter().map(|table| table[0] as f64 / table[1] as f64).sum::<f64>()
    };
    event_times.iter().map(of_time).sum()
}

fn target(rows: &[Row]) -> Target {
    let times: Vec<f64> = rows.iter().map(|row| row.time).collect();
    let events: Vec<u32> = rows.iter().map(|row| row.event).collect();
    let weights: Vec<f64> = rows.iter().map(|row| row.weight.into()).collect();
    Target::survival(&times, &events, Some(&weights)).unwrap()
}

fn grow_with(data: &Dataset, target: &Target, params: &TreeParams, n_threads: usize) -> Tree {
    let valid = params.check(data.n_samples(), data.n_features()).unwrap();
    grow::grow(data, target, &valid, 0, &runtime(n_threads)).unwrap()
}

/// Rows of few times, of which one at least of weight above 0 has an event.
fn rows(n: usize, weights: impl Strategy<Value = u32>) -> impl Strategy<Value = Vec<Row>> {
    let time = prop_oneof![(0..6u8).prop_map(f64::from), (0..40u8).prop_map(|time| f64::from(time) / 8.0)];
    let row = (time, prop_oneof![1 => Just(0), 1 => 1..=2u32], weights);
    vec(row.prop_map(|(time, event, weight)| Row { time, event, weight }), n).prop_map(|mut rows| {
        (rows[0].event, rows[0].weight) = (1, rows[0].weight.max(1));
        rows
    })
}

fn kinds() -> impl Strategy<Value = CriterionKind> {
    prop::sample::select(vec![EXACT, FAST])
}

/// The orders in which samples are pushed.
struct Passes<'a>(&'a [Vec<u32>]);

impl Visitor for Passes<'_> {
    /// For each pass the score of each cut, what it would gain as a split, and its proof's order against
    /// the cut before.
    type Output = Vec<Vec<(f64, f64)>>;

    fn visit<C: Criterion>(self, criterion: &C) -> Result<Self::Output> {
        let all: Vec<u32> = (0..self.0[0].len() as u32).filter(|&sample| criterion.sample_weight(sample) > 0).collect();
        let node = criterion.totals(&all);
        let mut scan = criterion.scan();
        let of_pass = |pass: &Vec<u32>| {
            let mut pushed = criterion.begin(&node, &mut scan);
            let pass: Vec<u32> = pass.iter().copied().filter(|sample| all.contains(sample)).collect();
            let of_cut = |i: usize| {
                criterion.push(&node, &mut scan, &mut pushed, pass[i]);
                let (left, right) = pass.split_at(i + 1);
                let [left, right] = [left, right].map(|part| criterion.totals(part));
                let gain = criterion.gain_of_split(&node, &left);
                let other = criterion.gain_of_split(&node, &right);
                assert!((gain - other).abs() <= 1e-9 * (1.0 + gain));
                (criterion.score(&node, &scan, pushed), gain)
            };
            (0..pass.len()).map(of_cut).collect()
        };
        Ok(self.0.iter().map(of_pass).collect())
    }
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn statistics_are_those_of_the_textbook(
        (kind, rows, passes) in (kinds(), 2..40usize).prop_flat_map(|(kind, n)| {
            let pass = Just((0..n as u32).collect::<Vec<_>>()).prop_shuffle();
            (Just(kind), rows(n, prop_oneof![2 => Just(1u32), 1 => 0..4u32]), vec(pass, 1..3))
        }),
    ) {
        let found = visit(kind, &target(&rows), Passes(&passes), &runtime(1)).unwrap();
        for (pass, found) in passes.iter().zip(found) {
            let mut left = vec![false; rows.len()];
            let pushed = pass.iter().filter(|&&sample| rows[sample as usize].weight > 0);
            let cuts: Vec<(Option<f64>, f64, f64)> = pushed.zip(found).map(|(&sample, (score, gain))| {
                left[sample as usize] = true;
                (statistic(kind, &rows, &left), score, gain)
            }).collect();
            // Scores are statistics but for a factor, which cuts of nonzero scores tell.
            let factor = cuts.iter().filter_map(|&(expected, score, _)| (score > 0.0).then_some(expected? / score));
            let factor = factor.max_by(f64::total_cmp).unwrap_or(1.0);
            let highest = cuts.iter().filter_map(|cut| cut.0).fold(0.0, f64::max);
            for (expected, score, gain) in cuts {
                let Some(expected) = expected else {
                    prop_assert!(score.is_nan() && gain == 0.0, "{} {}", score, gain);
                    continue;
                };
                prop_assert!((gain - expected).abs() <= 1e-9 * (expected + 1e-3 * highest), "{} {}", gain, expected);
                prop_assert!(highest < 1e-12 || (score * factor - expected).abs() <= 1e-9 * (expected + highest));
            }
        }
    }
}

/// Passes over one node, each with shares of its highest score.
struct Bounds<'a>(&'a [Vec<u32>]);

impl Visitor for Bounds<'_> {
    /// Of each pass its highest score, and for several floors the bound.
    type Output = Vec<(f64, Vec<(f64, f64)>)>;

    fn visit<C: Criterion>(self, criterion: &C) -> Result<Self::Output> {
        let mut all = self.0[0].clone();
        all.sort_unstable();
        let node = criterion.totals(&all);
        let mut scan = criterion.scan();
        let of_pass = |pass: &Vec<u32>| {
            let mut pushed = criterion.begin(&node, &mut scan);
            let mut highest = 0f64;
            for &sample in pass {
                criterion.push(&node, &mut scan, &mut pushed, sample);
                highest = highest.max(criterion.score(&node, &scan, pushed));
            }
            let asked = [0.5, 1.0, 1.0 + 1e-7, 1.5, 4.0, 1e3].map(|share| {
                criterion.begin(&node, &mut scan);
                (highest * share, foresee(criterion, &node, &mut scan, pass, highest * share))
            });
            (highest, asked.to_vec())
        };
        Ok(self.0.iter().map(of_pass).collect())
    }
}

proptest! {
    #![proptest_config(config(60))]

    /// Long passes may be given up before their cuts are looked at, but only if none is as good as the
    /// floor.
    #[test]
    fn long_passes_are_bounded(
        (rows, order) in (1024..1400usize).prop_flat_map(|n| {
            let order = Just((0..n as u32).collect::<Vec<_>>()).prop_shuffle();
            (rows(n, prop_oneof![Just(1u32), 1..4u32]), order)
        }),
        steps in prop_oneof![Just(8.0), Just(1e6)],
        noise in 0.0..1.0f64,
    ) {
        let n = rows.len();
        // Finer times on top of few ones.
        let rows: Vec<Row> = (0..n).map(|i| {
            let time = rows[i].time + (f64::from(order[i]) / n as f64 * steps).floor() / steps;
            Row { time, ..rows[i] }
        }).collect();
        let mut related: Vec<u32> = (0..n as u32).collect();
        let key = |i: u32| rows[i as usize].time * (1.0 - noise) + f64::from(order[(i as usize * 7) % n]) / n as f64 * 12.0 * noise;
        related.sort_by(|&a, &b| key(a).total_cmp(&key(b)));
        let short = order[..1024.min(n - 1)].to_vec();
        let passes = [order.clone(), related, short];
        for (highest, asked) in visit(EXACT, &target(&rows), Bounds(&passes), &runtime(1)).unwrap() {
            for (floor, most) in asked {
                prop_assert!(most >= highest, "{} {} {}", floor, most, highest);
                prop_assert!(most < floor || most == f64::INFINITY);
            }
        }
    }
}

/// An order that knows nothing of the times is given up where one that knows them sets the floor.
#[test]
fn noise_is_given_up() {
    let n = 4096u32;
    let rows: Vec<Row> = (0..n).map(|i| Row { time: f64::from(i), event: u32::from(i % 3 > 0), weight: 1 }).collect();
    // Spread evenly, as the factor has no divisor in common with `n`; and the times with some noise.
    let spread: Vec<u32> = (0..n).map(|i| i * 1103 % n).collect();
    let mut related = spread.clone();
    related.sort_by_key(|&i| i + 3 * spread[i as usize]);
    let found = visit(EXACT, &target(&rows), Bounds(&[spread, related]), &runtime(1)).unwrap();
    assert!(found[0].0 < found[1].0);
    let given_up = |pass: usize| found[pass].1.iter().filter(|asked| asked.1 < asked.0).count();
    assert!(given_up(0) >= 1 && given_up(1) >= 3, "{found:?}");
}

/// A tree, checked node by node.
struct Check<'a> {
    x: &'a Array2<f64>,
    rows: &'a [Row],
    event_times: Vec<f64>,
    params: &'a TreeParams,
    tree: &'a Tree,
}

impl Check<'_> {
    /// Whether a cut leaves enough on either side, and its statistic.
    fn statistic(&self, node: &[usize], left: &[bool]) -> Option<f64> {
        let Count::Absolute(least) = self.params.min_samples_leaf else { panic!("a number") };
        let n_left = left.iter().filter(|&&is_left| is_left).count() as u64;
        let rows: Vec<Row> = node.iter().map(|&row| self.rows[row]).collect();
        let (CriterionKind::LogRank { min_events } | CriterionKind::LogRankFast { min_events }) = self.params.criterion
        else {
            panic!("a survival tree")
        };
        let events = |side: bool| {
            let of_side = rows.iter().zip(left).filter(|&(row, &is_left)| is_left == side && row.event > 0);
            of_side.map(|(row, _)| u64::from(row.weight)).sum::<u64>()
        };
        let are_enough = n_left >= least
            && node.len() as u64 - n_left >= least
            && events(true) >= min_events
            && events(false) >= min_events;
        if are_enough { statistic(self.params.criterion, &rows, left) } else { None }
    }

    /// The highest statistic of all cuts.
    fn best(&self, node: &[usize]) -> Option<f64> {
        let rows: Vec<Row> = node.iter().map(|&row| self.rows[row]).collect();
        if tables(&rows, &vec![false; rows.len()]).iter().all(|table| table[0] == table[1]) {
            // All who are at risk have the event, so that no cut tells them apart.
            return None;
        }
        let mut best: Option<f64> = None;
        for column in self.x.columns() {
            let cells: Vec<f64> = node.iter().map(|&row| column[row]).collect();
            for &threshold in cells.iter().filter(|cell| !cell.is_nan()) {
                for missing_left in [false, true] {
                    let goes_left = |&cell: &f64| if cell.is_nan() { missing_left } else { cell <= threshold };
                    let left: Vec<bool> = cells.iter().map(goes_left).collect();
                    if let Some(statistic) = self.statistic(node, &left) {
                        best = Some(best.map_or(statistic, |best| best.max(statistic)));
                    }
                }
            }
        }
        best
    }

    /// Checks the node of these rows; returns its impurity times its weight.
    fn check(&self, id: usize, node: &[usize]) -> f64 {
        let nodes = self.tree.nodes();
        let rows: Vec<Row> = node.iter().map(|&row| self.rows[row]).collect();
        let expected = risk(&rows, &self.event_times);
        assert!((self.tree.value(id)[0] - expected).abs() <= 1e-12 * (1.0 + expected));
        let weight: u32 = rows.iter().map(|row| row.weight).sum();
        assert_eq!(nodes.weighted_n_node_samples[id], f64::from(weight));
        if nodes.children_left[id] == TREE_LEAF {
            assert_eq!(nodes.impurity[id], 0.0);
            if self.params.max_leaf_nodes.is_none() {
                assert_eq!(self.best(node), None, "{node:?} is split");
            }
            return 0.0;
        }
        let column = self.x.column(nodes.feature[id] as usize);
        let goes_left = |&row: &usize| {
            if column[row].is_nan() { nodes.missing_go_to_left[id] != 0 } else { column[row] <= nodes.threshold[id] }
        };
        let left: Vec<bool> = node.iter().map(goes_left).collect();
        let own = self.statistic(node, &left).unwrap();
        let best = self.best(node).unwrap();
        assert!(own >= best - 1e-9 * (1.0 + best), "{own} {best}");
        let (of_left, of_right): (Vec<usize>, Vec<usize>) = node.iter().partition(|row| goes_left(row));
        let sum = own
            + self.check(nodes.children_left[id] as usize, &of_left)
            + self.check(nodes.children_right[id] as usize, &of_right);
        assert!((nodes.impurity[id] * f64::from(weight) - sum).abs() <= 1e-9 * (1.0 + sum));
        sum
    }
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn trees_split_best(
        (is_fast, min_events, leaf, leaves, x, rows) in
            (any::<bool>(), 0..3u64, 1..4u64, prop::option::of(2..6u64), with_holes(matrices(2..24usize, 1..4usize)))
                .prop_flat_map(|(is_fast, min_events, leaf, leaves, x)| {
                    let n = x.nrows();
                    (Just(is_fast), Just(min_events), Just(leaf), Just(leaves), Just(x), rows(n, prop_oneof![3 => Just(1u32), 1 => 0..3u32]))
                }),
    ) {
        let kind =
            if is_fast { CriterionKind::LogRankFast { min_events } } else { CriterionKind::LogRank { min_events } };
        let params =
            TreeParams { min_samples_leaf: Count::Absolute(leaf), max_leaf_nodes: leaves, ..TreeParams::new(kind) };
        let tree = grow_with(&encode(&x.view(), &runtime(1)), &target(&rows), &params, 1);
        let mut event_times: Vec<f64> =
            rows.iter().filter(|row| row.event > 0 && row.weight > 0).map(|row| row.time).collect();
        event_times.sort_by(f64::total_cmp);
        event_times.dedup();
        let node: Vec<usize> = (0..rows.len()).filter(|&row| rows[row].weight > 0).collect();
        let sum = Check { x: &x, rows: &rows, event_times, params: &params, tree: &tree }.check(0, &node);

        let importances = tree.compute_feature_importances(false).unwrap();
        let weight = tree.nodes().weighted_n_node_samples[0];
        prop_assert!((importances.iter().sum::<f64>() * weight - sum).abs() <= 1e-9 * (1.0 + sum));
    }

    #[test]
    fn weights_are_copies_and_nothing_is_nothing(
        (kind, splitter, x, rows) in
            (kinds(), prop::sample::select(vec![Splitter::Best, Splitter::Random]), matrices(2..40usize, 1..5usize))
                .prop_flat_map(|(kind, splitter, x)| {
                    let n = x.nrows();
                    (Just(kind), Just(splitter), Just(x), rows(n, 0..4u32))
                }),
        seed in any::<u64>(),
    ) {
        let params = TreeParams { splitter, seed, ..TreeParams::new(kind) };
        let weighted = grow_with(&encode(&x.view(), &runtime(1)), &target(&rows), &params, 1);
        // Backwards, so that the order of rows shows if it can.
        let copies: Vec<usize> =
            (0..rows.len()).rev().flat_map(|row| std::iter::repeat_n(row, rows[row].weight as usize)).collect();
        let copied_rows: Vec<Row> = copies.iter().map(|&row| Row { weight: 1, ..rows[row] }).collect();
        let data = encode(&x.select(Axis(0), &copies).view(), &runtime(1));
        let copied = grow_with(&data, &target(&copied_rows), &params, 1);
        let (weighted, copied) = (weighted.nodes(), copied.nodes());
        prop_assert_eq!(&weighted.feature, &copied.feature);
        prop_assert_eq!(bits(&weighted.threshold), bits(&copied.threshold));
        prop_assert_eq!(bits(&weighted.value), bits(&copied.value));
        prop_assert_eq!(bits(&weighted.impurity), bits(&copied.impurity));
        prop_assert_eq!(&weighted.missing_go_to_left, &copied.missing_go_to_left);
    }
}

/// Columns of few and of many values, with zeros.
fn matrix(n: usize, m: usize) -> Array2<f64> {
    Array2::from_shape_fn((n, m), |(row, column)| {
        let value = (noise(11 + column as u64, row) * [3.0, 9.0, 60.0][column % 3]).floor();
        if noise(77 + column as u64, row) < 0.15 * column as f64 { 0.0 } else { value - 1.0 }
    })
}

/// Times that depend on the first two columns; a third is censored.
fn outcome(x: &Array2<f64>, weights: u8) -> Target {
    let n = x.nrows();
    let time = |row: usize| {
        let scale = (x[[row, 0]] - 0.3 * x[[row, 1]] / 9.0).exp();
        -(noise(5, row) + 1e-9).ln() * scale
    };
    let times: Vec<f64> = (0..n).map(|row| (time(row) * 8.0).round() / 8.0).collect();
    let events: Vec<u32> = (0..n).map(|row| u32::from(noise(6, row) < 0.7)).collect();
    let weights: Option<Vec<f64>> = match weights {
        0 => None,
        1 => Some((0..n).map(|row| (noise(7, row) * 4.0).floor()).collect()),
        _ => Some((0..n).map(|row| noise(7, row) * 0.01).collect()),
    };
    Target::survival(&times, &events, weights.as_deref()).unwrap()
}

fn all_params(kind: CriterionKind) -> Vec<TreeParams> {
    let params = || TreeParams::new(kind);
    vec![
        params(),
        TreeParams { min_samples_leaf: Count::Absolute(3), max_features: MaxFeatures::Sqrt, seed: 3, ..params() },
        TreeParams { splitter: Splitter::Random, max_features: MaxFeatures::Absolute(3), ..params() },
        TreeParams { max_leaf_nodes: Some(20), min_weight_fraction_leaf: 0.02, ..params() },
        TreeParams { ccp_alpha: 0.01, min_samples_leaf: Count::Absolute(2), ..params() },
    ]
}

#[test]
fn neither_storage_nor_threads_nor_copies_show() {
    let x = matrix(240, 6);
    let datasets = storages(&x, 4);
    for kind in [EXACT, FAST] {
        for weights in 0..3 {
            let target = outcome(&x, weights);
            for params in all_params(kind) {
                let tree = grow_with(&datasets[0].1, &target, &params, 1);
                assert!(tree.node_count() > 10);
                for (at, (name, data)) in datasets.iter().enumerate() {
                    let forced = TreeParams {
                        force_copies: [None, Some(true), Some(false)][at % 3],
                        force_strategy: KERNELS[at % KERNELS.len()],
                        ..params.clone()
                    };
                    let n_threads = [1, 4][at % 2];
                    assert_eq!(grow_with(data, &target, &forced, n_threads), tree, "{name} {kind:?} {weights}");
                }
            }
        }
    }
}

#[test]
fn large_nodes_are_spread_over_threads() {
    let x = matrix(4000, 12);
    let data = encode(&x.view(), &runtime(1));
    let sparse = Sparse::<f64, i32>::new(&x, Format::Csc, |value| value).dataset(&runtime(4));
    for kind in [EXACT, FAST] {
        let target = outcome(&x, 0);
        let params = TreeParams { min_samples_leaf: Count::Absolute(20), ..TreeParams::new(kind) };
        let tree = grow_with(&data, &target, &params, 1);
        assert_eq!(grow_with(&data, &target, &params, 4), tree);
        assert_eq!(grow_with(&sparse, &target, &params, 4), tree);
        assert_eq!(tree.nodes().feature[0], 0);
    }
}

#[test]
fn lazy_is_eager() {
    let x = matrix(200, 5);
    let query = matrix(230, 5);
    let data = encode(&x.view(), &runtime(1));
    let sparse = Sparse::<f64, i32>::untidy(&x, Format::Csr, |value| value, 9).dataset(&runtime(1));
    for kind in [EXACT, FAST] {
        for params in all_params(kind).into_iter().take(3) {
            for bootstrap in [Bootstrap::None, Bootstrap::WithReplacement { n_draws: 200 }, Bootstrap::Poisson] {
                let params = ForestParams { bootstrap, ..ForestParams::new(params.clone(), 4) };
                let valid = params.check(200, 5).unwrap();
                let target = outcome(&x, 1);
                let forest = grow_forest(&data, &target, &valid, None, &runtime(2)).unwrap();
                let expected = bits(&forest.predict(&query.view(), &runtime(1)).unwrap());
                for data in [&data, &sparse] {
                    let lazy = LazyForest::new(data, target.clone(), valid.clone(), None, &runtime(1)).unwrap();
                    for traversal in [Traversal::Batched, Traversal::Single, Traversal::Eager] {
                        let found = lazy.predict(&query.view(), traversal, &runtime(2)).unwrap();
                        assert_eq!(bits(&found), expected);
                    }
                }
            }
        }
    }
}

/// Categories that tell the times apart are found, whichever storage they have; codes say nothing.
#[test]
fn categories_are_put_in_order() {
    let n = 400;
    let code = |row: usize| (noise(1, row) * 12.0).floor();
    let x = Array2::from_shape_fn((n, 2), |(row, column)| if column == 0 { code(row) } else { noise(2, row) });
    // The categories of even codes die early.
    let times: Vec<f64> = (0..n).map(|row| noise(3, row) * if code(row) % 2.0 == 0.0 { 1.0 } else { 3.0 }).collect();
    let events: Vec<u32> = (0..n).map(|row| u32::from(noise(4, row) < 0.8)).collect();
    let target = Target::survival(&times, &events, None).unwrap();
    for kind in [EXACT, FAST] {
        for splitter in [Splitter::Best, Splitter::Random] {
            let params = TreeParams { splitter, max_depth: Some(4), ..TreeParams::new(kind) };
            let [dense, sparse] = [
                encode(&x.view(), &runtime(1)),
                Sparse::<f64, i32>::new(&x, Format::Csc, |value| value).dataset(&runtime(1)),
            ]
            .map(|data| {
                let data = data.with_categories(&[12, 0]).unwrap();
                let data = data.identified(&target, None, &runtime(1)).unwrap();
                grow_with(&data, &target, &params, 1)
            });
            assert_eq!(dense, sparse);
            if splitter == Splitter::Best {
                assert_eq!(dense.nodes().feature[0], 0);
                let set = dense.category_set(0).unwrap();
                let goes_left = |code: u32| set.goes_left(code.into());
                assert!((1..12).all(|code| (goes_left(code) == goes_left(0)) == (code % 2 == 0)));
            }
        }
    }
}

#[test]
fn pruning_drops_weak_splits() {
    let x = matrix(300, 6);
    let data = encode(&x.view(), &runtime(1));
    let target = outcome(&x, 0);
    for kind in [EXACT, FAST] {
        let params = TreeParams { min_samples_leaf: Count::Absolute(5), ..TreeParams::new(kind) };
        let whole = grow_with(&data, &target, &params, 1);
        let path = whole.cost_complexity_path(&runtime(1)).unwrap();
        assert!(path.ccp_alphas.is_sorted() && path.impurities.is_sorted());
        assert_eq!(path.impurities[0], 0.0);
        // A price is a statistic over the weight of all rows.
        let pruned = grow_with(&data, &target, &TreeParams { ccp_alpha: 10.0 / 300.0, ..params }, 1);
        assert!(1 < pruned.node_count() && pruned.node_count() < whole.node_count());
        let importances = pruned.compute_feature_importances(true).unwrap();
        assert!(importances[0] > 0.5, "{importances:?}");
    }
}

/// The fractions of a total that is too large for 64 bits are near to those of whole weights.
#[test]
fn wide_sums_agree_with_narrow_ones() {
    let x = matrix(200, 4);
    let data = encode(&x.view(), &runtime(1));
    let times: Vec<f64> = (0..200).map(|row| (noise(5, row) * 60.0).floor()).collect();
    let events: Vec<u32> = (0..200).map(|row| u32::from(noise(6, row) < 0.6)).collect();
    for kind in [EXACT, FAST] {
        let params = TreeParams { min_samples_leaf: Count::Absolute(10), ..TreeParams::new(kind) };
        let [narrow, wide] = [1.0, 1.0 + f64::EPSILON].map(|first| {
            let weights: Vec<f64> = (0..200).map(|row| if row == 0 { first } else { 1.0 }).collect();
            let target = Target::survival(&times, &events, Some(&weights)).unwrap();
            grow_with(&data, &target, &params, 1)
        });
        assert_eq!(narrow.nodes().feature, wide.nodes().feature);
        for (one, other) in narrow.nodes().impurity.iter().zip(&wide.nodes().impurity) {
            assert!((one - other).abs() <= 1e-6 * (1.0 + one));
        }
    }
}

#[test]
fn illegal_parameters_are_named() {
    let message = |params: TreeParams| params.check(10, 2).unwrap_err().to_string();
    for kind in [EXACT, FAST] {
        let params = || TreeParams::new(kind);
        assert!(message(TreeParams { min_impurity_decrease: 0.1, ..params() }).contains("'min_impurity_decrease'"));
        assert!(message(TreeParams { monotonic_cst: Some(vec![0, 1]), ..params() }).contains("'monotonic_cst'"));
        assert!(TreeParams { monotonic_cst: Some(vec![0, 0]), ..params() }.check(10, 2).is_ok());
    }
    let x = matrix(20, 2);
    let data = Dataset::from_dense_with(x.view(), Ordinals::Ranks, &runtime(1)).unwrap();
    let grow = |kind, target: &Target| {
        let valid = TreeParams::new(kind).check(20, 2).unwrap();
        grow::grow(&data, target, &valid, 0, &runtime(1)).unwrap_err().to_string()
    };
    let times = outcome(&x, 0);
    assert!(grow(CriterionKind::Gini, &times).contains("'logrank' or 'logrank_fast'"));
    let numbers = Target::regression(&[1.0; 20], 1, None).unwrap();
    assert!(grow(EXACT, &numbers).contains("Got 'logrank' instead"));
}
