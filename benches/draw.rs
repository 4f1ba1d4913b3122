//! Draws of the first sqrt(n) features of a node: ns per draw, in a block and one by one, and ns
//! per construction of a permutation. `BLOCK` in `rng/permutation.rs`, and `PASS_COST` and
//! `PLACE_COST` in `split/draw.rs`, come from here.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion as Bench, Throughput, criterion_group, criterion_main};
use spinney::rng::NodeKey;
use spinney::simd::Level;

fn draw(c: &mut Bench) {
    let mut group = c.benchmark_group("draw");
    let key = NodeKey::root(0, 0);
    for n in [1000usize, 56_436, 1_000_000] {
        let k = n.isqrt() as u32;
        group.throughput(Throughput::Elements(1));
        group.bench_function(BenchmarkId::new("construction", n), |bench| {
            bench.iter(|| black_box(key).feature_order(black_box(n)));
        });
        group.throughput(Throughput::Elements(u64::from(k)));
        group.bench_function(BenchmarkId::new("first", n), |bench| {
            let order = key.feature_order(n);
            let mut drawn = Vec::new();
            bench.iter(|| {
                black_box(&order).first(Level::widest(), black_box(k), &mut drawn);
                black_box(drawn.last().copied())
            });
        });
        group.bench_function(BenchmarkId::new("at", n), |bench| {
            let order = key.feature_order(n);
            bench.iter(|| (0..k).fold(0, |all, position| all ^ black_box(&order).at(position)));
        });
        group.bench_function(BenchmarkId::new("positions", n), |bench| {
            let order = key.feature_order(n);
            let features: Vec<u32> = (0..n as u32).step_by(n / k as usize).take(k as usize).collect();
            let mut positions = vec![0; features.len()];
            bench.iter(|| {
                black_box(&order).positions(Level::widest(), black_box(&features), &mut positions);
                black_box(positions.last().copied())
            });
        });
        group.bench_function(BenchmarkId::new("construction and first", n), |bench| {
            let mut drawn = Vec::new();
            bench.iter(|| {
                black_box(key).feature_order(black_box(n)).first(Level::widest(), black_box(k), &mut drawn);
                black_box(drawn.last().copied())
            });
        });
    }
    group.finish();
}

criterion_group!(benches, draw);
criterion_main!(benches);
