//! Trees and forests: neither storage nor search nor threads show, nor the order of rows nor rows of
//! weight 0, and rows are where growing has left them.
#![no_main]

mod fitting;

use fitting::cases::Case;
use fitting::engine::common::Sparse;
use fitting::engine::common::storages::{KERNELS, TIERS};
use fitting::storage::{plain, stored};
use fitting::threads::{one, two};
use libfuzzer_sys::fuzz_target;
use spinney::data::{Columns, Dataset, Format, Target};
use spinney::error::Result;
use spinney::forest::{Forest, RowSampler};
use spinney::grow::grow;
use spinney::params::{Tier, TreeParams};
use spinney::runtime::Runtime;
use spinney::simd::Level;
use spinney::tree::{TREE_LEAF, Tree};

/// The parameters with a way to search the columns, by a byte.
fn forced(params: &TreeParams, data: &Dataset, choice: u8) -> TreeParams {
    let choice = usize::from(choice);
    let levels: Vec<Level> = Level::supported().collect();
    let (force_strategy, force_tier) = match data.columns() {
        Columns::Dense(_) => (None, TIERS[choice % TIERS.len()]),
        Columns::Sparse(_) => (KERNELS[choice % KERNELS.len()], None),
    };
    let force_copies = [None, Some(false), Some(true)][choice / 7 % 3];
    let force_level = Some(levels[choice / 21 % levels.len()]);
    TreeParams { force_strategy, force_tier, force_copies, force_level, ..params.clone() }
}

fn tree_of(case: &Case, target: &Target, data: &Dataset, params: &TreeParams, runtime: &Runtime<'_>) -> Result<Tree> {
    grow(data, target, &params.check(case.x.nrows(), case.x.ncols())?, case.seed, runtime)
}

/// The tree of the rows in another order, among rows of weight 0, is the same.
fn check_rearranged(case: &Case, expected: &Result<Tree>, params: &TreeParams) {
    let case = case.rearranged();
    let target = case.target().expect("the target of the same rows");
    assert_eq!(&tree_of(&case, &target, &plain(&case), params, &one()), expected);
}

/// Rows in any storage reach the same leaves, and training rows reach the leaves that the fit put them in.
fn check_rows(case: &Case, target: &Target, tree: &Tree) {
    let view = case.x.view();
    let leaves = tree.apply(&view, &one()).expect("leaves");
    let sparse = Sparse::<f64, i32>::new(&case.x, Format::Csr, |v| v);
    assert_eq!(tree.apply(&sparse.view(), &one()).expect("leaves"), leaves);
    let nodes = tree.nodes();
    let mut counts = vec![0; tree.node_count()];
    for (row, &leaf) in leaves.iter().enumerate() {
        assert_eq!(nodes.children_left[leaf as usize], TREE_LEAF);
        counts[leaf as usize] += i64::from(target.weights().is_positive(row));
    }
    for node in (0..tree.node_count()).filter(|&node| nodes.children_left[node] == TREE_LEAF) {
        assert_eq!(counts[node], nodes.n_node_samples[node], "node {node}");
    }
    let values = tree.predict(&view, &one()).expect("values");
    for (values, &leaf) in values.chunks(tree.n_values()).zip(&leaves) {
        assert_eq!(values, tree.value(leaf as usize));
        assert!(values.iter().all(|value| value.is_finite()));
    }
    let importances = tree.compute_feature_importances(true).expect("importances");
    let total: f64 = importances.iter().sum();
    assert!(total == 0.0 || (total - 1.0).abs() < 1e-9, "{importances:?}");
}

fn check_forest(case: &Case, target: &Target, forest: &Forest) {
    let (view, query) = (case.x.view(), case.query.view());
    let mut means = vec![0.0; case.query.nrows() * forest.n_values()];
    for tree in forest.trees() {
        let values = tree.unpack().expect("a tree").predict(&query, &one()).expect("values");
        means.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
    }
    means.iter_mut().for_each(|sum| *sum /= forest.len() as f64);
    assert_eq!(forest.predict(&query, &one()).expect("means"), means);
    let sparse = Sparse::<f64, i64>::new(&case.query, Format::Csr, |v| v);
    assert_eq!(forest.predict(&sparse.view(), two()).expect("means"), means);
    let importances = forest.compute_feature_importances(&one()).expect("importances");
    assert!(importances.iter().all(|value| value.is_finite()), "{importances:?}");
    let n = case.x.nrows();
    let sampler = RowSampler::new(target.weights(), n, &case.params.bootstrap, None).expect("draws that were drawn");
    let oob = forest.predict_oob(&view, &sampler, two()).expect("values");
    assert!(oob.values.iter().all(|value| value.is_finite()));
}

fuzz_target!(|case: Case| {
    let case = case.or_times().or_given_rows();
    let Some(target) = case.target() else { return };
    let data = plain(&case);
    let [storage, search, other_storage, other_search, of_forest, ..] = case.choices;
    let sorted = TreeParams { force_tier: Some(Tier::Sort), ..case.params.tree.clone() };
    let expected = tree_of(&case, &target, &data, &sorted, &one());
    let data = [storage, other_storage].map(|choice| stored(&case, choice));
    for (data, search) in data.iter().zip([search, other_search]) {
        let params = forced(&case.params.tree, data, search);
        assert_eq!(tree_of(&case, &target, data, &params, &one()), expected, "{params:?}");
    }
    assert_eq!(tree_of(&case, &target, &data[0], &case.params.tree, two()), expected);
    if let Ok(tree) = &expected {
        check_rows(&case, &target, tree);
    }
    // Categories whose rows are alike are told apart by the first of them.
    if !case.has_categories() {
        check_rearranged(&case, &expected, &sorted);
    }
    let expected = case.forest(&target, &data[0], &one());
    let data = stored(&case, of_forest);
    let other = case.forest(&target, &data, two());
    assert!(other == expected, "{other:?} {expected:?}");
    if let Ok(forest) = &expected {
        check_forest(&case, &target, forest);
    }
});
