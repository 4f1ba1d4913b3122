//! Sweeps of the tuned constants: the time of a workload with each of some values of a constant,
//! smaller and larger ones.
//!
//! `make sweep` sweeps all of them, `make sweep SWEEP="HISTOGRAM_FROM COPY_BELOW"` these two. A
//! constant is well chosen if its row is flat around the value that the source has (marked by a
//! star). Each value runs in a process of its own, as constants are read once; values take turns, so
//! that a machine whose speed drifts treats them alike. The figures are medians in milliseconds.

mod common;

use std::env;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use common::{Csc, NEVER, Random, random_classes, random_numbers};
use ndarray::{Array2, Axis, s};
use spinney::crossval::{CrossValidation, Fold, TrainingRows};
use spinney::data::dense::Ordinals;
use spinney::data::{Dataset, Encoding, Matrix, Target};
use spinney::explain::shap_values;
use spinney::forest::{Forest, Member};
use spinney::grow::grow;
use spinney::params::{Bootstrap, CriterionKind, ForestParams, MaxFeatures, Splitter, TreeParams};
use spinney::runtime::Runtime;
use spinney::tree::Tree;
use spinney::tree::packed::PackedTree;

/// Fits per process, and processes per value.
const FITS: usize = 5;
const ROUNDS: usize = 3;

/// A constant, the values to try (the one that the source has first), and the workload that it
/// matters for.
const SWEEPS: &[(&str, &[&str], &str)] = &[
    ("KNOWN_FROM_SAMPLES", &["24", "6", "12", "48", "96"], "sparse"),
    ("KNOWN_FROM_ENTRIES", &["256", "64", "128", "512", "1024"], "sparse"),
    ("COPY_BELOW", &["0.5", "0.1", "0.25", "0.75"], "sparse"),
    ("FORGET_FROM", &["4", "1", "2", "8", "16"], "sparse"),
    ("FILTER_FROM", &["0.1", "0.03", "0.3", "0.5"], "sparse"),
    ("WEIGH_FROM", &["0.1", "0.05", "0.2", "0.4", "1.0"], "text"),
    ("POSITIONS_BELOW", &["2.0", "0.0", "1.0", "4.0", "8.0"], "text"),
    ("WARM_AHEAD", &["16", "1", "4", "64"], "text"),
    ("BEST_CONCEIVABLE_UP_TO", &["16", "2", "8", "32", "64"], "dense, sqrt"),
    ("SMALL_UP_TO", &["64", "1", "32", "96", "128"], "dense"),
    ("SMALL_OF_FEW_COLUMNS_UP_TO", &["96", "48", "64", "128", "192"], "dense, sqrt"),
    ("SMALL_OF_FEW_RANDOM_UP_TO", &["256", "64", "96", "128", "192"], "dense, random"),
    ("HISTOGRAM_FROM", &["65", "24", "48", "96", "128"], "dense"),
    ("ALL_BINS_FROM", &["1024", "256", "512", "2048", "4096"], "dense"),
    ("FEW_BINS", &["64", "16", "32", "128", "256"], "dense"),
    ("MAX_POSTPONED", &["8", "0", "3", "32"], "dense, sqrt"),
    ("POSTPONED_UP_TO", &["16384", "1024", "1000000"], "dense, sqrt"),
    ("BITS_UP_TO", &["6", "0", "2", "4", "8", "16"], "dense, few values"),
    ("BITS_UP_TO", &["6", "0", "2", "4", "8", "16"], "dense, few values, sqrt"),
    ("BITS_FROM", &["4", "2", "8", "16", "1000"], "dense, few values, sqrt"),
    ("BITS_PER_WORD", &["3.0", "1.0", "2.0", "4.0", "1000"], "dense, few values, sqrt"),
    ("RANDOM_BITS_PER_WORD", &["1.5", "0.0", "1.0", "2.0", "1000"], "dense, few values, random"),
    ("LARGE_FROM", &["32", "2", "64", "128", "256", "1024"], "dense, random"),
    ("FORGETFUL_UP_TO", &["64", "0", "16", "256"], "dense, random"),
    ("INDEX_FROM", &["1024", "64", "256", "4096", "65536"], "dense, random"),
    ("RANKS_PER_BIN", &["32", "4", "8", "128"], "dense, random"),
    ("SPARSE_FROM", &["0.4", "0.2", "0.3", "0.6", "0.8"], "dense, half zeros"),
    ("SPARSE_BYTES_FROM", &["0.8", "0.4", "0.6", "0.7", "0.9"], "dense, half zeros"),
    ("SPARSE_FROM_DISTINCT", &["17", "2", "8", "32", "64"], "dense, half zeros"),
    ("BLOCK_BYTES", &["2097152", "262144", "524288", "1048576", "4194304"], "predict"),
    ("FEW", &["16", "4", "8", "32"], "predict"),
    ("PER_CLUSTER", &["2", "0", "1", "4", "8"], "predict"),
    ("CLUSTERS_FROM", &["64", "16", "1000"], "predict, 200 rows"),
    ("SPLITS_PER_ROW", &["4", "0", "1", "16", "64"], "predict, 200 rows"),
    ("MOST_CELLS", &["8", "1", "2", "4"], "predict, categories"),
    ("MOST_COMPARED", &["8", "0", "4", "15"], "predict, many categories"),
    ("FEATURES_PER_TREE", &["4", "0"], "predict, one by one"),
    ("FEATURES_PER_TREE", &["4", "0", "16"], "predict, one by one, few trees"),
    ("TEAMS_FROM", &["16384", "0", "65536", "1000000"], "explain"),
    ("TEAMS_FROM", &["16384", "0", "1000"], "explain, few columns"),
    ("INTEGERS_UP_TO", &["4096", "256", "1024", "16384"], "encode"),
    ("CODE_BY_CODE_UP_TO", &["16", "0", "4", "8", "32", "64"], "encode"),
    ("CODED_UP_TO", &["2048", "0", "256", "512", "1024"], "encode"),
    ("ROWS_PER_CODE", &["4", "1", "2", "8", "16"], "encode"),
    ("SIDE_BY_SIDE_FROM", &["3", "2", "6", "1000"], "dense, numbers"),
    ("ASK_AHEAD_FROM", &["200000", "0", "1000000"], "dense, large, sqrt"),
    ("NEAR_BYTES", &["1048576", "131072", "262144", "524288", "2097152"], "dense, large"),
    ("NEAR_BYTES", &["1048576", "131072", "262144", "524288", "2097152"], "dense, large, copied"),
    ("SPREAD", &["16", "4", "8", "32", "64"], "dense, large"),
    ("SAVED_PER_LEVEL", &["1.0", "0.2", "0.4", "0.6", "1.5"], "dense, large"),
    ("SAVED_PER_LEVEL", &["1.0", "0.4", "0.6", "1.5", "2.5"], "dense, large, copied"),
    ("ROW_MAJOR_FROM", &["16777216", "0", "1000000000"], "dense, large"),
    ("ROW_MAJOR_FROM", &["16777216", "1000000000"], "dense, large, copied"),
    ("COMPACTED_BELOW", &["512", "0", "128", "256", "1024"], "dense, images, sqrt"),
    ("GINI_ALONE", &["4", "0", "2", "8", "16"], "ten folds, gini"),
    ("GINI_ALONE", &["4", "0", "2", "8", "16"], "one out, gini"),
    ("ENTROPY_ALONE", &["12", "0", "5", "20", "40"], "ten folds, entropy"),
    ("ENTROPY_ALONE", &["12", "0", "5", "20", "40"], "one out, entropy"),
    ("SPARSE_GINI_ALONE", &["3", "0", "1.5", "6", "12"], "ten folds, gini, sparse"),
    ("SPARSE_ENTROPY_ALONE", &["6", "0", "3", "12", "24"], "ten folds, entropy, sparse"),
    ("PARALLEL_FROM", &["200000", "20000", "60000", "600000", "2000000"], "dense, two threads"),
    ("CELL_COST", &["2.0", "0.5", "1.0", "4.0"], "dense, two threads"),
];

/// What is timed of a workload: the encoding of 20,000 rows, the growth of a tree, or the
/// prediction of a forest.
fn workload(name: &str) -> Box<dyn Fn()> {
    if name == "encode" {
        let mut random = Random::new(1);
        // Columns of 2, 4, ..., 16,384 values.
        let x = Array2::from_shape_fn((20_000, 14), |(_, column)| (random.uniform() * (2u32 << column) as f32).floor());
        return Box::new(move || {
            let runtime = Runtime::new(1, &NEVER);
            std::hint::black_box(Dataset::from_dense(x.view(), &runtime).expect("finite"));
        });
    }
    if let Some((n_rows, n_categories)) = match name {
        "predict" => Some((20_000, 0)),
        "predict, 200 rows" => Some((200, 0)),
        "predict, categories" => Some((20_000, 40)),
        "predict, many categories" => Some((20_000, 1000)),
        _ => None,
    } {
        return prediction(n_rows, n_categories);
    }
    match name {
        "predict, one by one" => return one_by_one(50),
        "predict, one by one, few trees" => return one_by_one(4),
        "explain" => return explanation(&Csc::random(4000, 4000, 0.01, 1), 16),
        "explain, few columns" => return explanation(&Csc::random(4000, 60, 0.5, 1), 8),
        "ten folds, gini" => return folds(2000, 10, CriterionKind::Gini, 1.0),
        "ten folds, entropy" => return folds(2000, 10, CriterionKind::Entropy, 1.0),
        "ten folds, gini, sparse" => return folds(2000, 10, CriterionKind::Gini, 0.05),
        "ten folds, entropy, sparse" => return folds(2000, 10, CriterionKind::Entropy, 0.05),
        "one out, gini" => return folds(200, 200, CriterionKind::Gini, 1.0),
        "one out, entropy" => return folds(200, 200, CriterionKind::Entropy, 1.0),
        _ => {}
    }
    let (data, target, params, n_threads) = growth(name);
    let params = params.check(data.n_samples(), data.n_features()).expect("valid");
    Box::new(move || {
        let runtime = Runtime::new(n_threads, &NEVER);
        std::hint::black_box(grow(&data, &target, &params, 0, &runtime).expect("a tree"));
    })
}

/// Times the first prediction of 50 trees for `n_rows` rows. The first of 30 columns has categories if
/// `n_categories` is above 0.
fn prediction(n_rows: usize, n_categories: u32) -> Box<dyn Fn()> {
    let mut categories = vec![0; 30];
    categories[0] = n_categories;
    let (x, trees) = categorical_trees(&categories, 50);
    Box::new(move || {
        let forest = packed(&trees);
        let runtime = Runtime::new(1, &NEVER);
        std::hint::black_box(forest.predict(&x.slice(s![..n_rows, ..]), &runtime).expect("predictions"));
    })
}

/// Times the predictions of `n_trees` trees on 30 columns of ten categories for 5,000 rows, one by one.
fn one_by_one(n_trees: u64) -> Box<dyn Fn()> {
    let (x, trees) = categorical_trees(&[10; 30], n_trees);
    let forest = packed(&trees);
    Box::new(move || {
        let runtime = Runtime::new(1, &NEVER);
        for row in x.outer_iter().take(5000) {
            std::hint::black_box(forest.predict(&row.insert_axis(Axis(0)), &runtime).expect("a prediction"));
        }
    })
}

/// The forest of these trees.
fn packed(trees: &[Tree]) -> Forest {
    let member = |(seed, tree)| Member { tree: Arc::new(PackedTree::new(tree, 1.0)), seed };
    Forest::new((0..).zip(trees).map(member).collect()).expect("trees of one target")
}

/// Trees on 20,000 rows of columns with these numbers of categories, 0 for numbers, and the rows.
fn categorical_trees(categories: &[u32], n_trees: u64) -> (Array2<f32>, Vec<Tree>) {
    let runtime = Runtime::new(1, &NEVER);
    let mut random = Random::new(1);
    let mut x = Array2::from_shape_fn((20_000, categories.len()), |_| random.uniform());
    for (mut column, &n_categories) in x.columns_mut().into_iter().zip(categories).filter(|&(_, &n)| n > 0) {
        column.mapv_inplace(|value| (value * n_categories as f32).floor());
    }
    let encoding = Encoding { ordinals: Ordinals::Ranks, n_categories: Some(categories) };
    let data = x.view().encode(&encoding, &runtime).expect("finite");
    let target = random_classes(20_000, 2, 2).expect("classes");
    let params = TreeParams { max_features: MaxFeatures::Sqrt, ..TreeParams::new(CriterionKind::Gini) };
    let params = params.check(20_000, categories.len()).expect("valid");
    let trees = (0..n_trees).map(|tree| grow(&data, &target, &params, tree, &runtime).expect("a tree"));
    let trees = trees.collect();
    (x, trees)
}

/// The contributions of features to the predictions of ten trees for 64 rows.
fn explanation(x: &Csc, n_classes: u32) -> Box<dyn Fn()> {
    let runtime = Runtime::new(1, &NEVER);
    let data = x.encode(&runtime).expect("finite");
    let target = random_classes(data.n_samples(), n_classes, 2).expect("classes");
    let params = TreeParams { max_features: MaxFeatures::Sqrt, ..TreeParams::new(CriterionKind::Gini) };
    let params = params.check(data.n_samples(), data.n_features()).expect("valid");
    let trees: Vec<_> = (0..10).map(|tree| grow(&data, &target, &params, tree, &runtime).expect("a tree")).collect();
    let forest = packed(&trees);
    let rows = x.to_dense().slice_move(s![..64, ..]);
    Box::new(move || {
        let runtime = Runtime::new(1, &NEVER);
        std::hint::black_box(shap_values(&forest, &rows.view(), &runtime).expect("contributions"));
    })
}

/// The predictions of `n_folds` folds of three trees for the rows that each fold holds out. The class
/// depends on a few of a hundred features. The rows are a sparse matrix if `density` is below 1.
fn folds(n_rows: usize, n_folds: usize, criterion: CriterionKind, density: f32) -> Box<dyn Fn()> {
    let csc = Csc::random(n_rows, 100, density, 1);
    let runtime = Runtime::new(1, &NEVER);
    let x = csc.to_dense();
    let data = if density < 1.0 { csc.encode(&runtime) } else { Dataset::from_dense(x.view(), &runtime) };
    let data = data.expect("finite");
    let mut random = Random::new(3);
    let is_noise = (0..n_rows).map(|_| random.uniform() < 0.1).collect::<Vec<_>>();
    let mean = x.slice(s![.., ..5]).mean().expect("rows");
    let class_of =
        |(row, noise): (usize, &bool)| u32::from((x.slice(s![row, ..5]).mean().expect("columns") > mean) != *noise);
    let classes: Vec<u32> = is_noise.iter().enumerate().map(class_of).collect();
    let target = Target::classification(&classes, &[2], None).expect("classes");
    let rows: Vec<Vec<u32>> =
        (0..n_folds).map(|fold| (fold as u32..n_rows as u32).step_by(n_folds).collect()).collect();
    Box::new(move || {
        let runtime = Runtime::new(1, &NEVER);
        let params = ForestParams { bootstrap: Bootstrap::Poisson, ..ForestParams::new(TreeParams::new(criterion), 3) };
        let all = CrossValidation { data: &data, target: &target, sample_ids: None, params: &params, is_tree: false };
        let fold = |rows| Fold {
            train: TrainingRows::AllBut(rows),
            sample_weight: None,
            bootstrap: Bootstrap::Poisson,
            test: rows,
        };
        let folds: Vec<Fold<'_>> = rows.iter().map(|rows| fold(rows)).collect();
        std::hint::black_box(all.predict(&folds, &x.view(), &runtime).expect("predictions"));
    })
}

/// The encoded rows, target and parameters of the growth of a tree, and the number of threads.
fn growth(name: &str) -> (Dataset, Target, TreeParams, usize) {
    let runtime = Runtime::new(1, &NEVER);
    let gini = TreeParams::new(CriterionKind::Gini);
    let sqrt = TreeParams { max_features: MaxFeatures::Sqrt, ..gini.clone() };
    let random = TreeParams { splitter: Splitter::Random, ..sqrt.clone() };
    let dense = |n: usize, d: usize, ordinals: Ordinals| {
        let mut random = Random::new(1);
        let x = Array2::from_shape_fn((n, d), |_| random.uniform());
        Dataset::from_dense_with(x.view(), ordinals, &runtime).expect("finite")
    };
    // Columns of a hundred values.
    let bytes = |n: usize, d: usize| {
        let mut random = Random::new(1);
        let x = Array2::from_shape_fn((n, d), |_| (random.uniform() * 100.0).floor());
        Dataset::from_dense(x.view(), &runtime).expect("finite")
    };
    // Pixels of up to 256 values; three quarters of the pixels are zero.
    let images = |n: usize, d: usize| {
        let mut random = Random::new(1);
        let x = Array2::from_shape_fn((n, d), |_| (random.uniform() * 1024.0 - 768.0).max(0.0).floor());
        Dataset::from_dense(x.view(), &runtime).expect("finite")
    };
    // Columns of 2, 4, ..., 16 values.
    let few_values = |n: usize, d: usize| {
        let mut random = Random::new(1);
        let x = Array2::from_shape_fn((n, d), |(_, column)| (random.uniform() * (2u32 << (column % 4)) as f32).floor());
        Dataset::from_dense(x.view(), &runtime).expect("finite")
    };
    let classes = |n: usize| random_classes(n, 2, 2).expect("classes");
    match name {
        "dense, few values" => (few_values(20_000, 60), classes(20_000), gini, 1),
        "dense, few values, random" => (few_values(50_000, 60), classes(50_000), random, 1),
        "dense, few values, sqrt" => (few_values(50_000, 60), classes(50_000), sqrt, 1),
        "sparse" => (Csc::random(10_000, 1000, 0.01, 1).encode(&runtime).expect("finite"), classes(10_000), gini, 1),
        "text" => {
            let data = Csc::random(10_000, 50_000, 0.002, 1).encode(&runtime).expect("finite");
            (data, random_classes(10_000, 20, 2).expect("classes"), sqrt, 1)
        }
        "dense" => (dense(20_000, 30, Ordinals::Ranks), classes(20_000), gini, 1),
        "dense, sqrt" => (dense(50_000, 30, Ordinals::Ranks), classes(50_000), sqrt, 1),
        "dense, random" => (dense(100_000, 30, Ordinals::Ranks), classes(100_000), random, 1),
        "dense, half zeros" => {
            let x = Csc::random(20_000, 50, 0.5, 1).to_dense();
            (Dataset::from_dense(x.view(), &runtime).expect("finite"), classes(20_000), gini, 1)
        }
        "dense, large" => {
            let target = random_numbers(200_000, 2).expect("finite");
            (dense(200_000, 30, Ordinals::Ranks), target, TreeParams::new(CriterionKind::SquaredError), 1)
        }
        "dense, numbers" => {
            let max_features = MaxFeatures::Absolute(5);
            let params = TreeParams { max_features, ..TreeParams::new(CriterionKind::SquaredError) };
            (dense(20_000, 10, Ordinals::Ranks), random_numbers(20_000, 2).expect("finite"), params, 1)
        }
        "dense, large, sqrt" => {
            // With this many columns no node is walked on a copy of its rows.
            (bytes(200_000, 256), classes(200_000), sqrt, 1)
        }
        "dense, large, copied" => (bytes(400_000, 54), classes(400_000), sqrt, 1),
        "dense, images, sqrt" => (images(8_000, 784), random_classes(8_000, 10, 2).expect("classes"), sqrt, 1),
        "dense, two threads" => (dense(100_000, 30, Ordinals::Ranks), classes(100_000), gini, 2),
        other => panic!("no workload {other}"),
    }
}

/// The median of some times, in milliseconds.
fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Times a workload in this process and prints the median.
fn run(name: &str) {
    let work = workload(name);
    let times = (0..FITS).map(|_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64() * 1e3
    });
    println!("{}", median(times.collect()));
}

/// The time of a workload in a process of its own, with a value in the place of a constant.
fn timed(constant: &str, value: &str, name: &str) -> f64 {
    let myself = env::current_exe().expect("a path");
    let output = Command::new(myself).args(["--run", name]).env(format!("SPINNEY_{constant}"), value).output();
    let output = output.expect("a process");
    assert!(output.status.success(), "{constant}={value}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().parse().expect("milliseconds")
}

fn main() {
    let arguments: Vec<String> = env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if let [flag, name] = &arguments[..]
        && flag == "--run"
    {
        return run(name);
    }
    for &(constant, values, name) in SWEEPS {
        if !arguments.is_empty() && !arguments.iter().any(|argument| argument == constant) {
            continue;
        }
        let mut times: Vec<Vec<f64>> = values.iter().map(|_| Vec::new()).collect();
        for _ in 0..ROUNDS {
            for (times, value) in times.iter_mut().zip(values) {
                times.push(timed(constant, value, name));
            }
        }
        let cells = times.into_iter().zip(values).enumerate().map(|(at, (times, value))| {
            let star = if at == 0 { "*" } else { "" };
            format!("{value}{star} {:.1}", median(times))
        });
        println!("{constant:22} {name:20} {}", cells.collect::<Vec<_>>().join("   "));
    }
}
