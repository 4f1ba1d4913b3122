//! Isolation forests: trees of encoded data in any storage, and, where all features are numbers, the trees
//! grown from the cells as they are, are one and the same, on one thread or two.
#![no_main]

mod fitting;

use fitting::cases::Case;
use fitting::engine::common::{Sparse, noise};
use fitting::storage::{plain, stored};
use fitting::threads::{one, two};
use libfuzzer_sys::fuzz_target;
use spinney::data::Format;
use spinney::forest::{IsolationParams, grow_isolation_forest, grow_isolation_forest_of_numbers};

/// The rows of some trees, ascending, each as often as it counts.
fn bags(case: &Case, n_trees: usize, n_draws: usize) -> Vec<Vec<u32>> {
    let n = case.x.nrows();
    let draw = |tree: usize, draw: usize| (noise(case.seed ^ 0xba65, tree * n_draws + draw) * n as f64) as u32;
    let bag = |tree| {
        let mut rows: Vec<u32> = (0..n_draws).map(|at| draw(tree, at)).collect();
        rows.sort_unstable();
        rows
    };
    (0..n_trees).map(bag).collect()
}

fuzz_target!(|case: Case| {
    let [storage, other, n_trees, n_draws, max_depth, max_features, first_tree, ..] = case.choices;
    let params = IsolationParams {
        seed: case.seed,
        first_tree: u64::from(first_tree % 3),
        max_depth: 1 + u64::from(max_depth % 10),
        max_features: (max_features % 2 == 1).then_some(u64::from(max_features / 2 % 6) + 1),
    };
    let bags = bags(&case, 1 + usize::from(n_trees % 4), 1 + usize::from(n_draws));
    let bags: Vec<&[u32]> = bags.iter().map(Vec::as_slice).collect();
    let expected = grow_isolation_forest(&plain(&case), &bags, &params, &one());
    for choice in [storage, other] {
        let grown = grow_isolation_forest(&stored(&case, choice), &bags, &params, two());
        assert!(grown == expected, "{choice}: {grown:?} {expected:?}");
    }
    if !case.has_categories() {
        let sparse = Sparse::<f64, i64>::new(&case.x, Format::Csr, |v| v);
        let of_cells = grow_isolation_forest_of_numbers(&case.x.view(), &bags, &params, two());
        assert!(of_cells == expected, "{of_cells:?} {expected:?}");
        let of_entries = grow_isolation_forest_of_numbers(&sparse.view(), &bags, &params, &one());
        assert!(of_entries == expected, "{of_entries:?} {expected:?}");
    }
    if let Ok(forest) = &expected {
        let lengths = forest.predict(&case.query.view(), &one()).expect("lengths");
        let sparse = Sparse::<f64, i32>::new(&case.query, Format::Csr, |v| v);
        assert_eq!(forest.predict(&sparse.view(), two()).expect("lengths"), lengths);
        assert!(lengths.iter().all(|&length| length.is_finite() && length >= 0.0), "{lengths:?}");
    }
});
