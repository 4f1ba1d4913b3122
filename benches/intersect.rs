//! The three kernels of `split/sparse/intersect.rs` over density x node size, and the constants of
//! its cost rule.
//!
//! `by_bitmap` reads the column: ns per column entry is `BITMAP_COST`. `by_search` looks the
//! feature up in each row of the node by binary search: ns per row and halving is `SEARCH_COST`.
//! `gather` reads the node's rows: ns per entry of these rows is `GATHER_COST`, or `FILTER_COST` if
//! the filter drops nearly all entries. The switch points are where the times of two kernels cross.

mod common;

use common::{Csc, NEVER};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use spinney::bitset::Bitset;
use spinney::data::Columns;
use spinney::runtime::Runtime;
use spinney::split::sparse::intersect::{Gather, ValueOrdered, by_bitmap, by_search};

const N_SAMPLES: usize = 20_000;
const N_FEATURES: usize = 1000;

fn intersect(c: &mut Criterion) {
    let runtime = Runtime::new(1, &NEVER);
    let mut group = c.benchmark_group("intersect");
    for density in [1e-3, 1e-2, 1e-1] {
        let data = Csc::random(N_SAMPLES, N_FEATURES, density, 1).encode(&runtime).expect("finite");
        let Columns::Sparse(columns) = data.columns() else { panic!("sparse columns") };
        for step in [1, 8, 64, 512] {
            let samples: Vec<u32> = (0..N_SAMPLES as u32).step_by(step).collect();
            let mut members = Bitset::new(N_SAMPLES);
            members.insert_all(&samples);
            let regime = format!("density={density}/node=1/{step}");
            let mut out = Vec::new();

            group.throughput(Throughput::Elements(columns.nnz() as u64));
            group.bench_function(BenchmarkId::new("bitmap, per column entry", &regime), |b| {
                b.iter(|| {
                    (0..N_FEATURES as u32)
                        .map(|f| by_bitmap(ValueOrdered::Stored(columns.column(f)), &members, &mut out).len())
                        .sum::<usize>()
                });
            });

            group.throughput(Throughput::Elements((samples.len() * 10) as u64));
            group.bench_function(BenchmarkId::new("search, per row and column", &regime), |b| {
                b.iter(|| (0..10).map(|f| by_search(columns, f * 97, &samples, &mut out).len()).sum::<usize>());
            });

            let nnz: usize = samples.iter().map(|&sample| columns.row_nnz(sample)).sum();
            group.throughput(Throughput::Elements(nnz as u64));
            let mut gather = Gather::new(N_FEATURES);
            group.bench_function(BenchmarkId::new("gather and sort, per node entry", &regime), |b| {
                b.iter(|| {
                    let mut n = 0;
                    gather.for_each(columns, &samples, |_, entries| {
                        entries.sort_unstable();
                        n += entries.len();
                    });
                    n
                });
            });
            let mut few = Bitset::new(N_FEATURES);
            few.insert_all(&[1, 500]);
            group.bench_function(BenchmarkId::new("gather of 2 features, per node entry", &regime), |b| {
                b.iter(|| {
                    let mut n = 0;
                    gather.for_each_of(columns, &samples, &few, |_, entries| n += entries.len());
                    n
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, intersect);
criterion_main!(benches);
