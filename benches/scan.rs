//! The search of one node: fill and scan, ns per cell (dense) or per nonzero (sparse), for each
//! criterion and regime. `CELL_COST` in `split/dense/mod.rs` and `SCAN_COST` in
//! `split/sparse/mod.rs` come from here.

mod common;

use common::{Csc, NEVER, Random, random_classes, random_numbers};
use criterion::{BenchmarkId, Criterion as Bench, Throughput, criterion_group, criterion_main};
use ndarray::Array2;
use spinney::criterion::{Criterion, Visitor, visit};
use spinney::data::{Dataset, Target};
use spinney::error::Result;
use spinney::params::{CriterionKind, Splitter, TreeParams, ValidTreeParams};
use spinney::rng::NodeKey;
use spinney::runtime::Runtime;
use spinney::split::samples::Samples;
use spinney::split::{ConstantFeatures, Node, Scratch, Search};

/// Times the search of a node that has every `step`-th row.
struct SearchBench<'a, 'b> {
    bench: &'a mut criterion::Bencher<'b>,
    data: &'a Dataset,
    target: &'a Target,
    params: &'a ValidTreeParams,
    runtime: &'a Runtime<'a>,
    step: usize,
}

impl Visitor for SearchBench<'_, '_> {
    type Output = ();

    fn visit<C: Criterion>(self, criterion: &C) -> Result<()> {
        let Self { bench, data, target, params, runtime, step } = self;
        let ids = (0..data.n_samples() as u32).step_by(step).collect();
        let mut samples = Samples::new(ids, data.n_samples(), false);
        let samples = samples.root();
        let totals = criterion.totals(samples.ids());
        let total_weight = criterion.weight(&totals);
        let search = Search::new(data, target, criterion, params, total_weight, runtime)?;
        let node = Node {
            samples: &samples,
            n_entries: search.data.n_entries(samples.ids()),
            totals: &totals,
            key: NodeKey::root(0, 0),
            constants: &ConstantFeatures::none(data.n_features()),
            limits: None,
        };
        let mut scratch = Scratch::new(&search).unwrap();
        bench.iter(|| search.best_split(&node, None, &mut scratch).expect("a search").0.best);
        Ok(())
    }
}

fn target(kind: CriterionKind, n_classes: u32, n_samples: usize) -> Target {
    match kind {
        CriterionKind::Gini | CriterionKind::Entropy => random_classes(n_samples, n_classes, 2).expect("classes"),
        _ => random_numbers(n_samples, 2).expect("finite"),
    }
}

const CASES: [(&str, CriterionKind, u32, Splitter); 6] = [
    ("gini/2 classes", CriterionKind::Gini, 2, Splitter::Best),
    ("gini/20 classes", CriterionKind::Gini, 20, Splitter::Best),
    ("entropy/2 classes", CriterionKind::Entropy, 2, Splitter::Best),
    ("squared_error", CriterionKind::SquaredError, 1, Splitter::Best),
    ("poisson", CriterionKind::Poisson, 1, Splitter::Best),
    ("gini/2 classes/random", CriterionKind::Gini, 2, Splitter::Random),
];

fn scan(c: &mut Bench) {
    let runtime = Runtime::new(1, &NEVER);
    let mut group = c.benchmark_group("scan");
    group.sample_size(20);
    let (n, d) = (20_000, 50);
    let mut random = Random::new(1);
    let continuous = Array2::from_shape_fn((n, d), |_| random.uniform());
    let dense = Dataset::from_dense(continuous.view(), &runtime).expect("finite");
    let coarse = Dataset::from_dense(continuous.mapv(|v| (v * 16.0).floor()).view(), &runtime).expect("finite");
    let sparse_input = Csc::random(n, 1000, 0.01, 3);
    let sparse = sparse_input.encode(&runtime).expect("finite");

    for (name, kind, n_classes, splitter) in CASES {
        let target = target(kind, n_classes, n);
        for (storage, data, steps) in [
            ("dense, continuous", &dense, &[1usize, 128, 1024][..]),
            ("dense, 16 values", &coarse, &[1, 128]),
            ("sparse, density 0.01", &sparse, &[1, 128]),
        ] {
            let params = TreeParams { splitter, ..TreeParams::new(kind) };
            let params = params.check(n, data.n_features()).expect("defaults");
            for &step in steps {
                let n_rows = n.div_ceil(step);
                let cells = if data.n_features() == d { n_rows * d } else { sparse_input.data.len() / step };
                group.throughput(Throughput::Elements(cells as u64));
                group.bench_function(BenchmarkId::new(name, format!("{storage}, {n_rows} rows")), |bench| {
                    let visitor =
                        SearchBench { bench, data, target: &target, params: &params, runtime: &runtime, step };
                    visit(kind, &target, visitor, &runtime).expect("a bench");
                });
            }
        }
    }
    group.finish();
}

criterion_group!(benches, scan);
criterion_main!(benches);
