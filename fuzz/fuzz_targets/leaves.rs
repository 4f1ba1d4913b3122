//! The training rows of leaves: quantiles, curves and counts equal what the lazy forest and plain sums give,
//! and lists that nobody has made are refused or can be asked.
#![no_main]

mod fitting;

use fitting::cases::Case;
use fitting::engine::common::Y;
use fitting::storage::stored;
use fitting::threads::{one, two};
use libfuzzer_sys::fuzz_target;
use spinney::data::Target;
use spinney::forest::leaves::counts::count_in_leaves;
use spinney::forest::leaves::curves::{Curve, RankedEvents, leaf_curves};
use spinney::forest::leaves::quantiles::{Interpolation, Pooling, leaf_quantiles};
use spinney::forest::leaves::query::{QueryLeaves, RowsOfLeaves};
use spinney::forest::leaves::rows::{Counts, LeafLimit, LeafLists, LeafRows, list_leaf_rows};
use spinney::forest::leaves::targets::{RankedTargets, TargetRanks};
use spinney::forest::{Forest, LazyForest, RowSampler};
use spinney::lazy::Traversal;
use spinney::params::Bootstrap;

const QUANTILES: ([f64; 4], Interpolation) = ([0.0, 0.3, 0.5, 1.0], Interpolation::Linear);
const POOLED: Pooling = Pooling { weighted_leaves: false, leaf_by_leaf: false };

/// What can be compared: no number has the sign of a zero.
fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| (value + 0.0).to_bits()).collect()
}

/// What a model keeps of the rows of its leaves.
struct Kept {
    lists: LeafLists,
    weights: Option<Vec<u64>>,
    n_samples: usize,
}

impl Kept {
    fn new(case: &Case, target: &Target, forest: &Forest, order: &[u32], limit: Option<LeafLimit>) -> Self {
        let n_samples = case.x.nrows();
        let sampler = RowSampler::new(target.weights(), n_samples, &case.params.bootstrap, None).expect("drawn before");
        let ids = forest.apply(&case.x.view(), &one()).expect("leaves");
        let n_nodes: Vec<i64> = forest.trees().map(|tree| tree.unpack().expect("a tree").node_count() as i64).collect();
        let seeds: Vec<u64> = forest.members().iter().map(|member| member.seed).collect();
        let trees = (&n_nodes[..], &seeds[..]);
        let lists = list_leaf_rows(&ids, trees, (&sampler, target.weights()), order, limit, two()).expect("lists");
        let is_drawn_by_weight = matches!(case.params.bootstrap, Bootstrap::WithReplacement { .. });
        let by_rank = || order.iter().map(|&row| target.weights().get(row as usize)).collect();
        Self { lists, weights: (!is_drawn_by_weight).then(by_rank), n_samples }
    }

    fn rows(&self) -> spinney::error::Result<LeafRows<'_>> {
        let LeafLists { n_rows, n_nodes, rows, counts, firsts, leaves } = &self.lists;
        let (rows, marks) = ((&rows[..], Counts::U32(counts)), (&firsts[..], &leaves[..]));
        LeafRows::new((n_rows, n_nodes), rows, marks, self.weights.as_deref(), self.n_samples)
    }

    /// Changes a number.
    fn damage(&mut self, [what, at, value]: [u8; 3]) {
        let LeafLists { n_rows, n_nodes, rows, counts, firsts, leaves } = &mut self.lists;
        let (at, value) = (usize::from(at), u64::from(value));
        fn change<T>(list: &mut [T], at: usize, change: impl Fn(&mut T)) {
            let n = list.len();
            if n > 0 {
                change(&mut list[at % n]);
            }
        }
        match what % 7 {
            0 => change(n_rows, at, |n| *n += value as i64 - 100),
            1 => change(n_nodes, at, |n| *n += value as i64 - 100),
            2 => change(rows, at, |row| *row = value as u32),
            3 => change(counts, at, |count| *count = (value as u32) << 24),
            4 => change(firsts, at, |word| *word ^= 1 << (value % 64)),
            5 => change(leaves, at, |word| *word ^= 1 << (value % 64)),
            _ => rows.truncate(at),
        }
    }
}

/// The rows of each query row are counted one by one.
fn check_counts(rows: &LeafRows<'_>, order: &[u32], query: QueryLeaves<'_>) {
    let n_trees = RowsOfLeaves::n_trees(rows);
    let ask = |most| count_in_leaves(rows, (order, order.len()), query, most, two()).expect("counts");
    let (all, some) = (ask(usize::MAX), ask(3));
    for row in 0..query.n_rows(n_trees).expect("leaves of all trees") {
        let mut expected = vec![0u64; order.len()];
        for (tree, leaf) in query.leaves(row, n_trees) {
            let add = |(rank, count): (u32, u64)| expected[order[rank as usize] as usize] += count;
            rows.visit(tree, leaf, add).expect("a leaf");
        }
        let found = all.indptr[row] as usize..all.indptr[row + 1] as usize;
        let pairs = all.rows[found.clone()].iter().zip(&all.counts[found]);
        assert!(pairs.clone().all(|(&other, &count)| expected[other as usize] == count));
        assert_eq!(pairs.clone().map(|(_, count)| count).sum::<u64>(), expected.iter().sum());
        assert!(pairs.clone().is_sorted_by_key(|(other, count)| (std::cmp::Reverse(*count), *other)));
        let first = some.indptr[row] as usize..some.indptr[row + 1] as usize;
        assert!(some.rows[first].iter().eq(pairs.map(|(other, _)| other).take(3)));
    }
}

fuzz_target!(|case: Case| {
    let case = case.or_times();
    let Some(target) = case.target() else { return };
    let Y::Numbers { values, n_outputs } = &case.y else { return };
    let data = stored(&case, case.choices[0]);
    let Ok(forest) = case.forest(&target, &data, &one()) else { return };
    let ranking = TargetRanks::new(values, *n_outputs, two()).expect("ranks");
    let mut order = vec![0; case.x.nrows()];
    (0..).zip(&ranking.of_row).for_each(|(row, &rank)| order[rank as usize] = row);
    let events: Option<Vec<u32>> =
        case.events.as_ref().map(|events| order.iter().map(|&row| events[row as usize]).collect());
    let targets: RankedTargets<'_> = ranking.targets();
    let ids = forest.apply(&case.query.view(), &one()).expect("leaves");
    let query = QueryLeaves { ids: &ids, counts: None };
    let [_, at, damage @ .., limit] = case.choices;
    let limit = (limit % 5 == 1).then(|| LeafLimit(1 + u64::from(limit / 5)));

    let mut kept = Kept::new(&case, &target, &forest, &order, limit);
    let rows = kept.rows().expect("what was listed");
    check_counts(&rows, &order, query);
    let at = [f64::from(at) / 16.0, f64::from(at) * 4.0];
    let curves = events.as_ref().map(|events| {
        let outcomes = RankedEvents { times: targets.values, events };
        leaf_curves(&rows, outcomes, query, &at, Curve::Survival, two()).expect("curves")
    });
    let wanted = (&QUANTILES.0[..], QUANTILES.1);
    let quantiles = leaf_quantiles(&rows, targets, query, wanted, POOLED, two()).expect("quantiles");
    if limit.is_none() && !case.needs_whole_trees() {
        let valid = case.params.check(case.x.nrows(), case.x.ncols()).expect("it was grown");
        let lazy = LazyForest::new(&data, target.clone(), valid, None, &one()).expect("it was grown");
        let view = case.query.view();
        if let Some(curves) = curves {
            let found = lazy.curves(&view, Traversal::Batched, (&at, Curve::Survival), &one()).expect("curves");
            assert_eq!(bits(&found), bits(&curves));
        } else {
            let found = lazy.quantiles(&view, Traversal::Batched, wanted, &one()).expect("quantiles");
            assert_eq!(bits(&found), bits(&quantiles));
        }
    }

    let [what, place, value, ..] = damage;
    kept.damage([what, place, value]);
    if let Ok(rows) = kept.rows() {
        let _ = leaf_quantiles(&rows, targets, query, wanted, POOLED, &one());
        let _ = count_in_leaves(&rows, (&order, order.len()), query, 3, &one());
    }
});
