//! Encoding a matrix and growing a tree, end to end: the shapes of Table I of "Sparsified Trees",
//! the criteria, and trees whose nodes draw features, as in forests. Prints which share of a node's
//! columns is read in spite of the bounds. Then encoding alone, and the sort that it uses.

mod common;

use std::convert::Infallible;

use common::{Csc, NEVER, Random, random_classes, random_numbers};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use spinney::data::Dataset;
use spinney::grow::{grow, grow_counted};
use spinney::num::RadixSort;
use spinney::params::{CriterionKind, MaxFeatures, Splitter, TreeParams};
use spinney::runtime::Runtime;

fn fit(c: &mut Criterion) {
    let runtime = Runtime::new(1, &NEVER);
    let mut group = c.benchmark_group("fit");
    group.sample_size(10);
    for (n, d, density) in [(10_000, 1000, 0.01), (10_000, 1000, 0.1), (100_000, 100, 0.01)] {
        let x = Csc::random(n, d, density, 1);
        let dense = x.to_dense();
        let target = random_classes(n, 2, 2).expect("classes");
        let params = TreeParams::new(CriterionKind::Gini).check(n, d).expect("defaults");
        for (storage, data) in [("sparse", x.encode(&runtime)), ("dense", Dataset::from_dense(dense.view(), &runtime))]
        {
            let data = data.expect("finite");
            let (_, effort) = grow_counted(&data, &target, &params, 0, &runtime).expect("a tree");
            if effort.n_columns > 0 {
                let share = 100.0 * effort.n_read as f64 / effort.n_columns as f64;
                println!("{n}x{d}/density={density}: {share:.1} % of the columns of a node are read");
            }
            let id = BenchmarkId::new(storage, format!("{n}x{d}/density={density}"));
            group.bench_function(id, |b| {
                b.iter(|| grow(&data, &target, &params, 0, &runtime).expect("a tree"));
            });
        }
    }

    let (n, d) = (10_000, 1000);
    let data = Csc::random(n, d, 0.01, 1).encode(&runtime).expect("finite");
    for (name, kind, splitter) in [
        ("entropy", CriterionKind::Entropy, Splitter::Best),
        ("squared_error", CriterionKind::SquaredError, Splitter::Best),
        ("poisson", CriterionKind::Poisson, Splitter::Best),
        ("gini-random", CriterionKind::Gini, Splitter::Random),
    ] {
        let target = match kind {
            CriterionKind::Gini | CriterionKind::Entropy => random_classes(n, 2, 2).expect("classes"),
            _ => random_numbers(n, 2).expect("finite"),
        };
        let params = TreeParams { splitter, ..TreeParams::new(kind) }.check(n, d).expect("defaults");
        group.bench_function(BenchmarkId::new(name, "10000x1000/density=0.01"), |b| {
            b.iter(|| grow(&data, &target, &params, 0, &runtime).expect("a tree"));
        });
    }

    // Short rows over many features: most features that a node draws have no entry in the node.
    let (n, d) = (10_000, 50_000);
    let data = Csc::random(n, d, 0.002, 1).encode(&runtime).expect("finite");
    let target = random_classes(n, 20, 2).expect("classes");
    for (name, splitter) in [("sqrt", Splitter::Best), ("sqrt-random", Splitter::Random)] {
        let params = TreeParams { splitter, max_features: MaxFeatures::Sqrt, ..TreeParams::new(CriterionKind::Gini) };
        let params = params.check(n, d).expect("valid");
        group.bench_function(BenchmarkId::new(name, "10000x50000/density=0.002"), |b| {
            b.iter(|| grow(&data, &target, &params, 0, &runtime).expect("a tree"));
        });
    }
    group.finish();
}

fn encode(c: &mut Criterion) {
    let runtime = Runtime::new(1, &NEVER);
    let mut group = c.benchmark_group("encode");
    group.sample_size(10);
    let x = Csc::random(20_000, 200, 0.1, 1);
    let dense = x.to_dense();
    let wide = dense.mapv(f64::from);
    group.bench_function("sparse/20000x200/density=0.1", |b| b.iter(|| x.encode(&runtime).expect("finite")));
    group.bench_function("dense/f32/C", |b| {
        b.iter(|| Dataset::from_dense(dense.view(), &runtime).expect("finite"));
    });
    group.bench_function("dense/f32/F", |b| {
        let columns = dense.t().as_standard_layout().into_owned();
        b.iter(|| Dataset::from_dense(columns.t(), &runtime).expect("finite"));
    });
    group.bench_function("dense/f64/C", |b| b.iter(|| Dataset::from_dense(wide.view(), &runtime).expect("finite")));
    group.finish();
}

/// Keys of 8, 14 or 30 bits, each with a row, sorted by `RadixSort` and by comparison: the costs in
/// `num/radix.rs` come from here.
fn sort(c: &mut Criterion) {
    let mut group = c.benchmark_group("sort");
    for n in [128, 512, 2048, 20_000] {
        group.throughput(Throughput::Elements(n));
        for bits in [8, 14, 30] {
            let mut random = Random::new(1);
            let items: Vec<u64> = (0..n).map(|row| random.next() >> (u64::BITS - bits) << u32::BITS | row).collect();
            let mut sorted = items.clone();
            group.bench_function(BenchmarkId::new(format!("{bits} bits"), n), |bench| {
                let mut radix = RadixSort::default();
                bench.iter(|| {
                    sorted.clone_from(&items);
                    radix.sort(&mut sorted, |item| item >> u32::BITS, || Ok::<(), Infallible>(()))
                });
            });
            group.bench_function(BenchmarkId::new(format!("{bits} bits, by comparison"), n), |bench| {
                bench.iter(|| {
                    sorted.clone_from(&items);
                    sorted.sort_unstable();
                });
            });
        }
    }
}

criterion_group!(benches, fit, encode, sort);
criterion_main!(benches);
