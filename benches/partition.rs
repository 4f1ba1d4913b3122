//! Partition of a node: ns per row, by the share of rows that go left; and, for sparse columns, ns
//! to mark the entries of the column against ns to look up the rows. `MARKS_PER_LOOKUP` in
//! `split/sparse/partition.rs` is where the two cross.

mod common;

use common::{Csc, NEVER, Random};
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use spinney::bitset::Bitset;
use spinney::data::Columns;
use spinney::runtime::Runtime;
use spinney::split::samples::Samples;

const N_SAMPLES: usize = 100_000;

fn partition(c: &mut Criterion) {
    let mut group = c.benchmark_group("partition");
    group.throughput(Throughput::Elements(N_SAMPLES as u64));
    for share in [0.001, 0.5, 0.999] {
        let mut random = Random::new(1);
        let goes_left: Vec<bool> = (0..N_SAMPLES).map(|_| random.uniform() < share).collect();
        group.bench_function(BenchmarkId::new("stable", format!("left={share}")), |b| {
            b.iter_batched(
                || Samples::new((0..N_SAMPLES as u32).collect(), N_SAMPLES, true),
                |mut samples| samples.root().partition(|_, sample| goes_left[sample as usize]),
                BatchSize::LargeInput,
            );
        });
    }

    // `STAY_PER_MOVE` in `split/sparse/partition.rs` compares this with the stable partition of all
    // rows.
    let few: Vec<u32> = (0..N_SAMPLES as u32).step_by(100).collect();
    group.throughput(Throughput::Elements(few.len() as u64));
    group.bench_function("move few, per row moved", |b| {
        b.iter_batched(
            || Samples::new((0..N_SAMPLES as u32).collect(), N_SAMPLES, true),
            |mut samples| samples.root().move_few(&few, true),
            BatchSize::LargeInput,
        );
    });

    let runtime = Runtime::new(1, &NEVER);
    let data = Csc::random(N_SAMPLES, 100, 0.1, 1).encode(&runtime).expect("finite");
    let Columns::Sparse(columns) = data.columns() else { panic!("sparse columns") };
    let column = columns.column(7);
    let mut marks = Bitset::new(N_SAMPLES);
    group.throughput(Throughput::Elements(column.samples.len() as u64));
    group.bench_function("sparse/mark, per column entry", |b| {
        b.iter(|| {
            marks.insert_all(column.samples);
            let n = (0..1000).filter(|&sample| marks.contains(sample * 100)).count();
            marks.remove_all(column.samples);
            n
        });
    });
    group.throughput(Throughput::Elements(1000));
    group.bench_function("sparse/look up, per row", |b| {
        b.iter(|| (0..1000).filter(|&sample| columns.stored_rank(7, sample * 100).is_some()).count());
    });
    group.finish();
}

criterion_group!(benches, partition);
criterion_main!(benches);
