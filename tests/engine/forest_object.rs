//! The forest as an object: prediction is the mean of the trees whatever the blocks and threads,
//! rows out of bag are those that were not drawn, and every scheme of drawing is a function of
//! seeds and ids.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ndarray::Array2;
use proptest::prelude::*;
use spinney::data::target::{TargetValues, Weights};
use spinney::data::{Dataset, Format, Target};
use spinney::error::Error;
use spinney::forest::refill::fill_trees;
use spinney::forest::{Forest, Member, Part, RowSampler, grow_forest};
use spinney::grow;
use spinney::params::{
    Bootstrap, CriterionKind, ForestParams, GivenRows, Groups, Honesty, MaxFeatures, Strata, Subforests, TreeParams,
};
use spinney::runtime::Runtime;
use spinney::tree::Tree;
use spinney::tree::packed::PackedTree;

use super::common::{CRITERIA, Sparse, Y, config, encode, is_regression, noise, runtime};

const SCHEMES: [Bootstrap; 4] = [
    Bootstrap::WithReplacement { n_draws: 300 },
    Bootstrap::WithoutReplacement { n_draws: Some(150) },
    Bootstrap::Poisson,
    Bootstrap::None,
];

fn matrix(n: usize, m: usize) -> Array2<f64> {
    let cell = |at| if noise(1, at) < 0.5 { 0.0 } else { (noise(2, at) * 60.0).floor() - 20.0 };
    Array2::from_shape_fn((n, m), |(row, column)| cell(row * m + column))
}

/// Two outputs: three and two classes, or multiples of a quarter.
fn target(x: &Array2<f64>, criterion: CriterionKind) -> Y {
    let signal = |row: usize| x[[row, 0]] + x[[row, 1]] / 2.0 + (30.0 * noise(3, row)).round();
    let rows = 0..x.nrows();
    if is_regression(criterion) {
        // Counts are not negative.
        let number = |value: f64| if criterion == CriterionKind::Poisson { value.abs() } else { value };
        let numbers = |row| [signal(row), signal(row) / -4.0].map(number);
        Y::Numbers { values: rows.flat_map(numbers).collect(), n_outputs: 2 }
    } else {
        let classes = |row| [u32::from(signal(row) > 10.0) + u32::from(signal(row) > 22.0), (row % 2) as u32];
        Y::Classes { values: rows.flat_map(classes).collect(), n_classes: vec![3, 2] }
    }
}

fn weights(n: usize) -> Vec<f64> {
    (0..n).map(|row| (noise(4, row) * 7.0).floor() / 2.0).collect()
}

fn tree_params(criterion: CriterionKind) -> TreeParams {
    TreeParams { max_features: MaxFeatures::Sqrt, max_depth: Some(5), seed: 9, ..TreeParams::new(criterion) }
}

/// The trees, unpacked, and their seeds.
fn members(forest: &Forest) -> impl Iterator<Item = (Tree, u64)> {
    forest.members().iter().map(|Member { tree, seed }| (tree.unpack().unwrap(), *seed))
}

fn grow_with(data: &Dataset, target: &Target, params: &ForestParams, ids: Option<&[u64]>, n_threads: usize) -> Forest {
    let params = params.check(data.n_samples(), data.n_features()).unwrap();
    grow_forest(data, target, &params, ids, &runtime(n_threads)).unwrap()
}

#[test]
fn prediction_is_the_mean_of_the_trees() {
    // More rows than two blocks, and rows that fill none.
    let (n, m) = (700, 9);
    let x = matrix(n, m);
    let data = encode(&x.view(), &runtime(1));
    let csr = Sparse::<f64, i64>::untidy(&x, Format::Csr, |v| v, 5);
    let csr = csr.view();
    for criterion in CRITERIA {
        let target = target(&x, criterion).target(None);
        let bootstrap = Bootstrap::WithReplacement { n_draws: 100 };
        let params = ForestParams { bootstrap, ..ForestParams::new(tree_params(criterion), 7) };
        let forest = grow_with(&data, &target, &params, None, 2);
        let trees: Vec<Tree> = forest.trees().map(|tree| tree.unpack().unwrap()).collect();
        let serial = runtime(1);

        let mut sums = vec![0.0; n * forest.n_values()];
        for tree in &trees {
            let values = tree.predict(&x.view(), &serial).unwrap();
            sums.iter_mut().zip(&values).for_each(|(sum, value)| *sum += value);
        }
        let means: Vec<f64> = sums.iter().map(|sum| sum / 7.0).collect();
        let leaves: Vec<Vec<i64>> = trees.iter().map(|tree| tree.apply(&x.view(), &serial).unwrap()).collect();
        let leaves: Vec<i64> = (0..n).flat_map(|row| leaves.iter().map(move |leaves| leaves[row])).collect();
        let paths: Vec<_> = trees.iter().map(|tree| tree.decision_path(&x.view(), &serial).unwrap()).collect();
        let offsets = forest.n_nodes_ptr();
        assert_eq!(offsets.len(), 8);
        assert_eq!(offsets[7] as usize, trees.iter().map(Tree::node_count).sum::<usize>());
        let (mut indptr, mut indices) = (vec![0], vec![]);
        for row in 0..n {
            for ((rows, nodes), offset) in paths.iter().zip(&offsets) {
                indices.extend(nodes[rows[row] as usize..rows[row + 1] as usize].iter().map(|node| node + offset));
            }
            indptr.push(indices.len() as i64);
        }

        for n_threads in [1, 2, 5] {
            let runtime = runtime(n_threads);
            assert!(forest.predict(&x.view(), &runtime).unwrap() == means);
            assert!(forest.predict(&csr, &runtime).unwrap() == means);
            assert_eq!(forest.apply(&x.view(), &runtime).unwrap(), leaves);
            assert_eq!(forest.apply(&csr, &runtime).unwrap(), leaves);
            assert!(forest.decision_path(&x.view(), &runtime).unwrap() == (indptr.clone(), indices.clone()));
        }
        let narrow = matrix(3, m - 1);
        assert!(matches!(forest.predict(&narrow.view(), &serial), Err(Error::ShapeMismatch { what: "X", .. })));
    }
}

#[test]
fn rows_out_of_bag_are_those_not_drawn() {
    let (n, m) = (300, 6);
    let x = matrix(n, m);
    let data = encode(&x.view(), &runtime(1));
    for (bootstrap, weighted) in SCHEMES.into_iter().flat_map(|scheme| [(scheme.clone(), false), (scheme, true)]) {
        let target = target(&x, CriterionKind::Gini).target(weighted.then(|| weights(n)).as_deref());
        // More trees than are looked at together.
        let params =
            ForestParams { bootstrap: bootstrap.clone(), ..ForestParams::new(tree_params(CriterionKind::Gini), 70) };
        let forest = grow_with(&data, &target, &params, None, 2);
        let sampler = RowSampler::new(target.weights(), n, &bootstrap, None).unwrap();
        let n_values = forest.n_values();
        let (mut values, mut n_trees) = (vec![0.0; n * n_values], vec![0u32; n]);
        for (tree, seed) in members(&forest) {
            let Some(counts) = sampler.counts(seed, &runtime(1)).unwrap() else { continue };
            assert_eq!(tree.nodes().n_node_samples[0], counts.iter().filter(|&&count| count > 0).count() as i64);
            let predicted = tree.predict(&x.view(), &runtime(1)).unwrap();
            for row in (0..n).filter(|&row| counts[row] == 0) {
                n_trees[row] += 1;
                for at in row * n_values..(row + 1) * n_values {
                    values[at] += predicted[at];
                }
            }
        }
        for (at, value) in values.iter_mut().enumerate() {
            *value /= f64::from(n_trees[at / n_values].max(1));
        }
        assert_eq!(bootstrap == Bootstrap::None, n_trees.iter().all(|&n| n == 0));
        for n_threads in [1, 3] {
            let oob = forest.predict_oob(&x.view(), &sampler, &runtime(n_threads)).unwrap();
            assert_eq!(oob.n_trees, n_trees);
            assert!(oob.values == values);
        }
        let fewer = matrix(n - 1, m);
        assert!(matches!(forest.predict_oob(&fewer.view(), &sampler, &runtime(1)), Err(Error::ShapeMismatch { .. })));
    }
}

#[test]
fn every_tree_can_be_grown_alone() {
    let (n, m) = (120, 5);
    let x = matrix(n, m);
    let data = encode(&x.view(), &runtime(1));
    for criterion in CRITERIA {
        for bootstrap in SCHEMES.map(|scheme| match scheme {
            Bootstrap::WithoutReplacement { .. } => Bootstrap::WithoutReplacement { n_draws: Some(60) },
            other => other,
        }) {
            let target = target(&x, criterion).target(Some(&weights(n)));
            let params = ForestParams { bootstrap: bootstrap.clone(), ..ForestParams::new(tree_params(criterion), 6) };
            let forest = grow_with(&data, &target, &params, None, 2);
            let sampler = RowSampler::new(target.weights(), n, &bootstrap, None).unwrap();
            let with_replacement = matches!(params.bootstrap, Bootstrap::WithReplacement { .. });
            let base = if with_replacement { target.equally_weighted() } else { target.clone() };
            for (tree, seed) in members(&forest) {
                let alone = TreeParams { seed, ..tree_params(criterion) }.check(n, m).unwrap();
                let counts = sampler.counts(seed, &runtime(1)).unwrap().unwrap_or(vec![1; n]);
                let sample = base.reweighted(&counts).unwrap();
                assert!(tree == grow::grow(&data, &sample, &alone, 0, &runtime(1)).unwrap());
            }

            // In two steps: the same, and the first trees are shared.
            let first = grow_with(&data, &target, &ForestParams { n_estimators: 2, ..params.clone() }, None, 1);
            let more = ForestParams { first_tree: 2, n_estimators: 4, ..params.clone() };
            let extended = first.extended(&grow_with(&data, &target, &more, None, 1)).unwrap();
            assert!(extended == forest);
            assert!(Arc::ptr_eq(&extended.members()[1].tree, &first.members()[1].tree));
        }
    }
}

/// Then rows are drawn again from all that were drawn, each as often as it was.
#[test]
fn rows_of_strata_are_drawn_apart() {
    let n = 90;
    for replace in [true, false] {
        let sampler = |n_draws_again| {
            let of_row = (0..n as u32).map(|row| row % 3).collect();
            let n_draws = [Some(5), Some(20), None].into();
            let strata = Strata { of_row, n_draws, replace, n_draws_again };
            RowSampler::new(&Weights::Unit, n, &Bootstrap::Strata(Arc::new(strata)), None).unwrap()
        };
        let (once, again) = (sampler(None), sampler(Some(40)));
        let mut n_again = [0; 3];
        for seed in 0..200 {
            let [once, again] = [&once, &again].map(|sampler| sampler.counts(seed, &runtime(1)).unwrap().unwrap());
            let drawn = |stratum: usize| once.iter().skip(stratum).step_by(3).sum::<u32>();
            assert_eq!([0, 1, 2].map(drawn), [5, 20, 30]);
            assert!(replace || once.iter().all(|&count| count <= 1));
            assert_eq!(again.iter().sum::<u32>(), 40);
            assert!(once.iter().zip(&again).all(|(&once, &again)| once > 0 || again == 0));
            (0..n).for_each(|row| n_again[row % 3] += again[row]);
        }
        for (n_again, n_once) in n_again.into_iter().zip([5.0f64, 20.0, 30.0]) {
            let (expected, share) = (200.0 * 40.0 * n_once / 55.0, n_once / 55.0);
            // Six standard deviations.
            let limit = 6.0 * (expected * (1.0 - share)).sqrt();
            assert!((f64::from(n_again) - expected).abs() <= limit, "{n_again} {expected}");
        }
    }
}

#[test]
fn samples_without_replacement_are_distinct() {
    let given = weights(90);
    let n_positive = given.iter().filter(|&&weight| weight > 0.0).count() as u64;
    assert!(n_positive < 90);
    for (weights, n_rows) in [(None, 90), (Some(&given[..]), n_positive)] {
        let encoded = Weights::encode(weights, 90, 1, &runtime(1)).unwrap();
        let sampler = |n_draws| RowSampler::new(&encoded, 90, &Bootstrap::WithoutReplacement { n_draws }, None);
        for n_draws in [Some(1), Some(30), Some(n_rows), None] {
            let sampler = sampler(n_draws).unwrap();
            let mut times_drawn = [0u64; 90];
            for seed in 0..200 {
                let counts = sampler.counts(seed, &runtime(1)).unwrap().unwrap();
                assert!(counts.iter().all(|&count| count <= 1));
                assert_eq!(counts.iter().map(|&count| u64::from(count)).sum::<u64>(), n_draws.unwrap_or(n_rows));
                times_drawn.iter_mut().zip(&counts).for_each(|(n, &count)| *n += u64::from(count));
            }
            for (row, &times) in times_drawn.iter().enumerate() {
                let share = n_draws.unwrap_or(n_rows) as f64 / n_rows as f64;
                let is_row = weights.is_none_or(|weights| weights[row] > 0.0);
                let expected = if is_row { 200.0 * share } else { 0.0 };
                // Six standard deviations.
                assert!((times as f64 - expected).abs() <= 6.0 * (expected * (1.0 - share)).sqrt(), "{row}: {times}");
            }
        }
        let error = sampler(Some(n_rows + 1)).unwrap_err().to_string();
        assert!(error.contains(&format!("{} draws from {n_rows} samples", n_rows + 1)), "{error}");
    }
}

proptest! {
    #![proptest_config(config(200))]

    /// The count of a row depends on its id alone, among whatever rows it is.
    #[test]
    fn poisson_counts_belong_to_ids(
        ids in prop::collection::vec(prop_oneof![0u64..50, any::<u64>()], 8..40),
        part in prop::collection::vec(any::<bool>(), 40),
        seed: u64,
    ) {
        let counts = |ids: &[u64], weights: &Weights| {
            RowSampler::new(weights, ids.len(), &Bootstrap::Poisson, Some(ids)).unwrap()
                .counts(seed, &runtime(1)).unwrap().unwrap()
        };
        let all = counts(&ids, &Weights::Unit);
        for (i, j) in (0..ids.len()).flat_map(|i| (0..i).map(move |j| (i, j))) {
            prop_assert!(ids[i] != ids[j] || all[i] == all[j]);
        }
        let kept: Vec<usize> = (0..ids.len()).filter(|&row| part[row]).collect();
        let some: Vec<u32> = kept.iter().map(|&row| all[row]).collect();
        // Samples without a row are drawn again.
        prop_assume!(all.iter().any(|&count| count > 0) && some.iter().any(|&count| count > 0));
        let their_ids: Vec<u64> = kept.iter().map(|&row| ids[row]).collect();
        prop_assert_eq!(counts(&their_ids, &Weights::Unit), some);
        // Rows without weight are as good as absent.
        let mask: Vec<f64> = part[..ids.len()].iter().map(|&kept| f64::from(u8::from(kept))).collect();
        let masked = counts(&ids, &Weights::encode(Some(&mask), ids.len(), 1, &runtime(1)).unwrap());
        let expected: Vec<u32> = (0..ids.len()).map(|row| if part[row] { all[row] } else { 0 }).collect();
        prop_assert_eq!(masked, expected);
    }
}

#[test]
fn no_poisson_sample_is_empty() {
    let sampler = RowSampler::new(&Weights::Unit, 1, &Bootstrap::Poisson, None).unwrap();
    let counts: Vec<u32> = (0..500).map(|seed| sampler.counts(seed, &runtime(1)).unwrap().unwrap()[0]).collect();
    assert!(counts.iter().all(|&count| count > 0));
    // A Poisson count that is not 0 has mean 1 / (1 - 1 / e).
    let mean = counts.iter().sum::<u32>() as f64 / 500.0;
    assert!((mean - 1.582).abs() < 0.2, "{mean}");
}

#[test]
fn there_is_something_to_draw_from() {
    for bootstrap in SCHEMES {
        let error = RowSampler::new(&Weights::Unit, 0, &bootstrap, None).unwrap_err();
        assert!(matches!(error, Error::InvalidArgument { name: "sample_weight", .. }), "{error}");
    }
    let bootstrap = Bootstrap::WithReplacement { n_draws: 1 << 32 };
    let error = RowSampler::new(&Weights::Unit, 9, &bootstrap, None).unwrap_err();
    assert!(matches!(error, Error::InvalidParameter { name: "max_samples", .. }), "{error}");
}

#[test]
fn ids_are_one_per_row() {
    for bootstrap in SCHEMES {
        let error = RowSampler::new(&Weights::Unit, 300, &bootstrap, Some(&[1, 2])).unwrap_err();
        assert!(matches!(error, Error::ShapeMismatch { what: "sample_ids", .. }), "{error}");
    }
}

/// Each class of a sample weighs as much as the others, whatever its rows weigh: the factor of a class
/// is the weight of the sample over that of the class and the number of classes. With replacement, rows
/// weigh by their draws alone.
#[test]
fn subsamples_are_balanced() {
    let (n, m) = (200, 5);
    let x = matrix(n, m);
    let data = encode(&x.view(), &runtime(1));
    let y = target(&x, CriterionKind::Gini);
    let Y::Classes { values, n_classes } = &y else { panic!("classes") };
    let given = weights(n);
    for bootstrap in SCHEMES[..3].iter().cloned() {
        let target = y.target(Some(&given));
        let params = ForestParams {
            bootstrap: match bootstrap {
                Bootstrap::WithoutReplacement { .. } => Bootstrap::WithoutReplacement { n_draws: Some(80) },
                other => other,
            },
            balanced_subsample: true,
            ..ForestParams::new(tree_params(CriterionKind::Gini), 4)
        };
        let forest = grow_with(&data, &target, &params, None, 1);
        let sampler = RowSampler::new(target.weights(), n, &params.bootstrap, None).unwrap();
        let with_replacement = matches!(params.bootstrap, Bootstrap::WithReplacement { .. });
        for (tree, seed) in members(&forest) {
            let counts = sampler.counts(seed, &runtime(1)).unwrap().unwrap();
            let drawn = |row: usize| f64::from(counts[row]) * if with_replacement { 1.0 } else { given[row] };
            let total: f64 = (0..n).map(drawn).sum();
            let factor = |row: usize| {
                let of_output = |output: usize| {
                    let class = |row: usize| values[row * 2 + output];
                    let weight = |c| (0..n).filter(|&row| class(row) == c).map(drawn).sum::<f64>();
                    let n_drawn = (0..n_classes[output]).filter(|&c| weight(c) > 0.0).count();
                    total / (n_drawn as f64 * weight(class(row)))
                };
                of_output(0) * of_output(1)
            };
            let weight: Vec<f64> =
                (0..n).map(|row| if counts[row] == 0 { 0.0 } else { drawn(row) * factor(row) }).collect();
            let alone = TreeParams { seed, ..tree_params(CriterionKind::Gini) }.check(n, m).unwrap();
            let sample = y.target(Some(&weight));
            assert!(tree == grow::grow(&data, &sample, &alone, 0, &runtime(1)).unwrap());
        }
    }
}

#[test]
fn weights_that_fill_all_bits_are_rounded_again() {
    // Their integers have a total just below the bound, a power of two, which half of the Poisson
    // samples would exceed.
    let (n, m) = (256, 4);
    let x = matrix(n, m);
    let data = encode(&x.view(), &runtime(1));
    let mut weight = vec![0.1249_f64; n];
    // No small integers stand to each other as these weights do.
    weight[0] += 1e-6 * std::f64::consts::PI;
    for criterion in CRITERIA {
        let target = target(&x, criterion).target(Some(&weight));
        assert!(matches!(target.weights(), Weights::Large(_)));
        let params = ForestParams { bootstrap: Bootstrap::Poisson, ..ForestParams::new(tree_params(criterion), 30) };
        let forest = grow_with(&data, &target, &params, None, 1);
        let sampler = RowSampler::new(target.weights(), n, &Bootstrap::Poisson, None).unwrap();
        let mut n_large = 0;
        for (tree, seed) in members(&forest) {
            let counts = sampler.counts(seed, &runtime(1)).unwrap().unwrap();
            n_large += usize::from(target.reweighted(&counts).is_err());
            let total: f64 = counts.iter().zip(&weight).map(|(&count, weight)| f64::from(count) * weight).sum();
            assert!((tree.nodes().weighted_n_node_samples[0] / total - 1.0).abs() < 1e-12);
        }
        assert!(n_large > 0, "the case is not met");
    }
}

#[test]
fn new_weights_share_the_values() {
    let x = matrix(20, 2);
    let weight: Vec<f64> = (0..20).map(|row| f64::from(row % 3)).collect();
    let given = target(&x, CriterionKind::SquaredError).target(None);
    let other = given.with_sample_weight(&weight, &runtime(1)).unwrap();
    assert_eq!(
        (0..20).map(|row| other.weights().get(row)).collect::<Vec<_>>(),
        (0..20).map(|r| r % 3).collect::<Vec<_>>()
    );
    let (TargetValues::Numbers(one), TargetValues::Numbers(two)) = (given.values(), other.values()) else {
        panic!("numbers stay numbers")
    };
    assert!(Arc::ptr_eq(&one.fixed, &two.fixed));
    assert!(given.with_sample_weight(&[0.0; 20], &runtime(1)).is_err());
}

#[test]
fn trees_of_a_forest_are_alike() {
    let tree = |m: usize, criterion| {
        let x = matrix(30, m);
        let target = target(&x, criterion).target(None);
        let params = TreeParams::new(criterion).check(30, m).unwrap();
        let tree = grow::grow(&encode(&x.view(), &runtime(1)), &target, &params, 0, &runtime(1)).unwrap();
        Member { tree: Arc::new(PackedTree::new(&tree, 1.0)), seed: 0 }
    };
    let (gini, entropy) = (tree(4, CriterionKind::Gini), tree(4, CriterionKind::Entropy));
    assert_eq!(Forest::new(vec![gini.clone(), entropy]).unwrap().len(), 2);
    for other in
        [vec![], vec![gini.clone(), tree(5, CriterionKind::Gini)], vec![gini, tree(4, CriterionKind::SquaredError)]]
    {
        assert!(matches!(Forest::new(other), Err(Error::InvalidArgument { name: "the forest's trees", .. })));
    }
}

#[test]
fn importances_are_the_mean_of_those_of_trees_with_splits() {
    // Samples of a single row give trees of a single node.
    let x = matrix(40, 3);
    let data = encode(&x.view(), &runtime(1));
    let target = Target::classification(&[vec![0; 39], vec![1]].concat(), &[2], None).unwrap();
    let bootstrap = Bootstrap::WithReplacement { n_draws: 30 };
    let params = ForestParams { bootstrap, ..ForestParams::new(TreeParams::new(CriterionKind::Gini), 12) };
    let forest = grow_with(&data, &target, &params, None, 1);
    let trees = forest.trees().map(|tree| tree.unpack().unwrap());
    let grown: Vec<Tree> = trees.filter(|tree| tree.node_count() > 1).collect();
    assert!(!grown.is_empty() && grown.len() < 12);
    let mut mean = [0.0; 3];
    for tree in &grown {
        let importances = tree.compute_feature_importances(true).unwrap();
        mean.iter_mut().zip(importances).for_each(|(sum, value)| *sum += value / grown.len() as f64);
    }
    for (got, expected) in forest.compute_feature_importances(&runtime(1)).unwrap().iter().zip(mean) {
        assert!((got - expected).abs() < 1e-15);
    }
    let constant = Target::classification(&[0; 40], &[1], None).unwrap();
    assert_eq!(
        grow_with(&data, &constant, &params, None, 1).compute_feature_importances(&runtime(1)).unwrap(),
        [0.0; 3]
    );
}

#[test]
fn finished_trees_are_counted() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let x = matrix(50, 4);
    let data = encode(&x.view(), &runtime(1));
    let target = target(&x, CriterionKind::Gini).target(None);
    let params = ForestParams::new(TreeParams::new(CriterionKind::Gini), 13).check(50, 4).unwrap();
    for n_threads in [1, 2] {
        let (stop, done) = (AtomicBool::new(false), AtomicUsize::new(0));
        let runtime = Runtime::new(n_threads, &stop).counting(&done);
        grow_forest(&data, &target, &params, None, &runtime).unwrap();
        assert_eq!(done.load(Ordering::Relaxed), 13);
    }
}

#[test]
fn leaves_that_are_filled_with_the_rows_of_growth_stay_what_they_are() {
    let x = matrix(300, 5);
    let data = encode(&x.view(), &runtime(1));
    for criterion in CRITERIA {
        let y = target(&x, criterion);
        for (bootstrap, weights) in SCHEMES.iter().flat_map(|scheme| [(scheme, None), (scheme, Some(weights(300)))]) {
            let target = y.target(weights.as_deref());
            let params = ForestParams { bootstrap: bootstrap.clone(), ..ForestParams::new(tree_params(criterion), 5) };
            let params = params.check(300, 5).unwrap();
            let forest = grow_forest(&data, &target, &params, None, &runtime(1)).unwrap();
            let filled = fill_trees(&forest, &x.view(), &target, &params, None, &runtime(2)).unwrap();
            assert_eq!(filled, forest, "{criterion:?}, {bootstrap:?}");
        }
    }
}

#[test]
fn the_rows_of_honest_trees_are_divided() {
    let n = 300;
    let weights = weights(n);
    let target = target(&matrix(n, 2), CriterionKind::Gini).target(Some(&weights));
    let groups = Arc::new(Groups { of_row: (0..n as u32).map(|row| row / 7).collect(), n_groups: 43 });
    let halves = |groups| {
        let tree_seeds = (0..6).collect();
        Bootstrap::Subforests(Arc::new(Subforests { tree_seeds, size: 3, n_draws: None, groups }))
    };
    let by_groups =
        [true, false].map(|replace| Bootstrap::Groups { groups: Arc::clone(&groups), n_draws: 30, replace });
    let of_groups = by_groups.into_iter().chain([halves(Some(Arc::clone(&groups)))]).chain(SCHEMES);
    let schemes = of_groups.map(|scheme| (scheme, Some(Arc::clone(&groups))));
    let schemes = schemes.chain(SCHEMES.into_iter().chain([halves(None)]).map(|scheme| (scheme, None)));
    for (bootstrap, groups) in schemes {
        let honesty = Honesty { fraction: 0.3, groups: groups.clone() };
        let sampler = RowSampler::new(target.weights(), n, &bootstrap, None).unwrap();
        let sampler = sampler.divided(Some(&honesty), target.weights());
        for seed in 0..6 {
            let whole = sampler.counts(seed, &runtime(1)).unwrap();
            let [growing, filling] = [Part::Growing, Part::Filling]
                .map(|part| sampler.part_of(part, seed, whole.as_deref()).unwrap().unwrap());
            assert_eq!(Some(&filling), sampler.filling(seed, &runtime(1)).unwrap().as_ref());
            let mut sides = [vec![false; n], vec![false; n]];
            for row in 0..n {
                let count = if weights[row] > 0.0 { whole.as_ref().map_or(1, |counts| counts[row]) } else { 0 };
                assert_eq!([growing[row] + filling[row], growing[row].min(filling[row])], [count, 0]);
                let unit = if groups.is_some() { row / 7 } else { row };
                sides[0][unit] |= growing[row] > 0;
                sides[1][unit] |= filling[row] > 0;
            }
            let [n_growing, n_filling] = sides.each_ref().map(|units| units.iter().filter(|&&is_own| is_own).count());
            assert!((0..n).all(|unit| !(sides[0][unit] && sides[1][unit])), "{bootstrap:?}");
            assert_eq!(n_growing, (0.3 * (n_growing + n_filling) as f64).round() as usize);
        }
    }
}

#[test]
fn a_raised_stop_flag_ends_prediction() {
    let x = matrix(50, 4);
    let data = encode(&x.view(), &runtime(1));
    let target = target(&x, CriterionKind::Gini).target(None);
    let bootstrap = Bootstrap::Poisson;
    let params =
        ForestParams { bootstrap: bootstrap.clone(), ..ForestParams::new(TreeParams::new(CriterionKind::Gini), 3) };
    let forest = grow_with(&data, &target, &params, None, 1);
    let sampler = RowSampler::new(target.weights(), 50, &bootstrap, None).unwrap();
    let stop = AtomicBool::new(true);
    for n_threads in [1, 2] {
        let runtime = Runtime::new(n_threads, &stop);
        assert_eq!(forest.predict(&x.view(), &runtime).unwrap_err(), Error::Interrupted);
        assert_eq!(forest.apply(&x.view(), &runtime).unwrap_err(), Error::Interrupted);
        assert_eq!(forest.decision_path(&x.view(), &runtime).unwrap_err(), Error::Interrupted);
        assert_eq!(forest.predict_oob(&x.view(), &sampler, &runtime).unwrap_err(), Error::Interrupted);
        assert_eq!(sampler.counts(0, &runtime).unwrap_err(), Error::Interrupted);
    }
}

#[test]
fn given_rows_grow_the_trees_that_draws_grow() {
    let (n, m) = (200, 4);
    let x = matrix(n, m);
    let data = encode(&x.view(), &runtime(1));
    let target = target(&x, CriterionKind::Gini).target(None);
    for bootstrap in SCHEMES[..3].iter().cloned() {
        let params = ForestParams { bootstrap, ..ForestParams::new(tree_params(CriterionKind::Gini), 5) };
        let forest = grow_with(&data, &target, &params, None, 1);
        let sampler = RowSampler::new(target.weights(), n, &params.bootstrap, None).unwrap();
        let seeds: Box<[u64]> = members(&forest).map(|(_, seed)| seed).collect();
        let bags: Vec<Vec<u32>> = seeds.iter().map(|&seed| sampler.drawn(seed, &runtime(1)).unwrap()).collect();
        let ends = bags.iter().scan(0, |end, bag| {
            *end += bag.len();
            Some(*end)
        });
        let starts = std::iter::once(0).chain(ends).collect();
        let given = Arc::new(GivenRows { tree_seeds: seeds.clone(), starts, rows: bags.concat().into() });
        let bootstrap = Bootstrap::Given(Arc::clone(&given));
        let of_rows = RowSampler::new(target.weights(), n, &bootstrap, None).unwrap();
        let again = grow_with(&data, &target, &ForestParams { bootstrap, ..params }, None, 2);
        assert_eq!(again, forest);
        for (&seed, bag) in seeds.iter().zip(bags) {
            assert_eq!(of_rows.counts(seed, &runtime(1)).unwrap(), sampler.counts(seed, &runtime(1)).unwrap());
            assert_eq!(of_rows.drawn(seed, &runtime(1)).unwrap(), bag);
        }
        let unknown = of_rows.counts(1, &runtime(1)).unwrap_err().to_string();
        assert!(unknown.starts_with("samples must be given for each tree"), "{unknown}");
        given.check(n).unwrap();
        let (tree_seeds, starts) = (given.tree_seeds.clone(), given.starts.clone());
        let faults = [
            GivenRows { tree_seeds: seeds[1..].into(), starts: starts.clone(), rows: given.rows.clone() },
            GivenRows { tree_seeds: tree_seeds.clone(), starts: starts[1..].into(), rows: given.rows.clone() },
            GivenRows { tree_seeds: tree_seeds.clone(), starts: [0; 6].into(), rows: [].into() },
            GivenRows { tree_seeds, starts, rows: given.rows.iter().map(|&row| row + n as u32).collect() },
        ];
        assert!(faults.iter().all(|fault| matches!(fault.check(n), Err(Error::InvalidArgument { .. }))));
    }
}
