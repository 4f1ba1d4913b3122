//! What the integration tests share: data in every storage, random cases, the brute-force grower.

pub mod naive;
pub mod storages;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use ndarray::{Array2, ArrayView2};
use proptest::collection::vec;
use proptest::prelude::*;
use spinney::criterion::Statistics;
use spinney::data::dense::Ordinals;
use spinney::data::sparse::SparseIndex;
use spinney::data::values::TableValue;
use spinney::data::{Dataset, Element, Entry, Format, Run, SparseView, Target};
use spinney::error::Result;
use spinney::grow;
use spinney::params::{Count, CriterionKind, FeatureSampling, MaxFeatures, QuantileLevel, Splitter, TreeParams};
use spinney::rng::NodeKey;
use spinney::runtime::Runtime;
use spinney::tree::Tree;

/// A quantile that is not the median.
pub const QUANTILE: CriterionKind = match QuantileLevel::fraction(3, 10) {
    Some(level) => CriterionKind::Quantile(level),
    None => panic!("a fraction below 1"),
};

pub const CRITERIA: [CriterionKind; 6] = [
    CriterionKind::Gini,
    CriterionKind::Entropy,
    CriterionKind::SquaredError,
    CriterionKind::Poisson,
    CriterionKind::AbsoluteError,
    QUANTILE,
];

/// Whether the targets of a criterion are numbers.
pub fn is_regression(criterion: CriterionKind) -> bool {
    !matches!(criterion, CriterionKind::Gini | CriterionKind::Entropy)
}

/// So many cases, and as many times more as `PROPTEST_CASES` is larger than proptest's own 256;
/// nothing is written next to the sources.
pub fn config(cases: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig { cases: (cases * default.cases).div_ceil(256), failure_persistence: None, ..default }
}

/// Whether to try all combinations of what does not depend on chance, as `make test-all` does; else
/// a sample of them.
pub fn all_combinations() -> bool {
    ProptestConfig::default().cases > 256
}

/// Announces the samples of a pass to a criterion, most of them as a run that is pushed from its end.
pub fn foresee<C: Statistics>(criterion: &C, node: &C::Totals, scan: &mut C::Scan, pass: &[u32], floor: f64) -> f64 {
    let mut entries: Vec<Entry> = (0..).zip(pass).map(|(rank, &sample)| Entry::new(rank, sample)).collect();
    let (first, rest) = entries.split_at_mut(pass.len() / 4);
    rest.reverse();
    criterion.foresee(node, scan, first, &Run::<true>::new(rest), floor)
}

/// A runtime that is never interrupted.
pub fn runtime(n_threads: usize) -> Runtime<'static> {
    static STOP: AtomicBool = AtomicBool::new(false);
    Runtime::new(n_threads, &STOP)
}

/// What a call returns whose stop flag is raised while it is at work.
pub fn interrupted<R>(n_threads: usize, call: impl FnOnce(&Runtime<'_>) -> Result<R>) -> Result<R> {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(30));
            stop.store(true, Ordering::Relaxed);
        });
        call(&Runtime::new(n_threads, &stop))
    })
}

/// A number in [0, 1) that depends on `seed` and `at` alone.
pub fn noise(seed: u64, at: usize) -> f64 {
    NodeKey::root(seed, at as u64).threshold_position(0)
}

/// What is to be predicted, before encoding.
#[derive(Debug, Clone)]
pub enum Y {
    /// Row-major `(n_samples, n_outputs)`.
    Classes { values: Vec<u32>, n_classes: Vec<u32> },
    /// Row-major `(n_samples, n_outputs)`.
    Numbers { values: Vec<f64>, n_outputs: usize },
}

impl Y {
    pub fn n_outputs(&self) -> usize {
        match self {
            Self::Classes { n_classes, .. } => n_classes.len(),
            Self::Numbers { n_outputs, .. } => *n_outputs,
        }
    }

    /// Whether predictions have an order: numbers, or two classes of one output.
    pub fn has_order(&self) -> bool {
        match self {
            Self::Classes { n_classes, .. } => n_classes[..] == [2],
            Self::Numbers { .. } => true,
        }
    }

    /// The rows of `order`, which may repeat and leave out.
    pub fn select(&self, order: &[usize]) -> Self {
        fn pick<T: Copy>(values: &[T], n_outputs: usize, order: &[usize]) -> Vec<T> {
            order.iter().flat_map(|row| &values[row * n_outputs..][..n_outputs]).copied().collect()
        }
        let n_outputs = self.n_outputs();
        match self {
            Self::Classes { values, n_classes } => {
                Self::Classes { values: pick(values, n_outputs, order), n_classes: n_classes.clone() }
            }
            Self::Numbers { values, .. } => Self::Numbers { values: pick(values, n_outputs, order), n_outputs },
        }
    }

    pub fn target(&self, weights: Option<&[f64]>) -> Target {
        match self {
            Self::Classes { values, n_classes } => Target::classification(values, n_classes, weights),
            Self::Numbers { values, n_outputs } => Target::regression(values, *n_outputs, weights),
        }
        .unwrap()
    }
}

/// Checks the parameters and grows a tree.
pub fn grow(data: &Dataset, y: &Y, weights: Option<&[f64]>, params: &TreeParams, runtime: &Runtime<'_>) -> Tree {
    let valid = params.check(data.n_samples(), data.n_features()).unwrap();
    grow::grow(data, &y.target(weights), &valid, 0, runtime).unwrap()
}

/// The data set of a dense matrix.
pub fn encode<T: Element<Value: TableValue>>(x: &ArrayView2<'_, T>, runtime: &Runtime<'_>) -> Dataset {
    try_encode(x, runtime).unwrap()
}

/// The data set of a dense matrix that may be refused.
pub fn try_encode<T: Element<Value: TableValue>>(x: &ArrayView2<'_, T>, runtime: &Runtime<'_>) -> Result<Dataset> {
    Dataset::from_dense(*x, runtime)
}

/// As [`grow`], on one thread and from a dense matrix.
pub fn grow_dense(x: &Array2<f64>, y: &Y, weights: Option<&[f64]>, params: &TreeParams) -> Tree {
    let runtime = runtime(1);
    grow(&encode(&x.view(), &runtime), y, weights, params, &runtime)
}

/// An owned compressed sparse matrix.
#[derive(Debug)]
pub struct Sparse<T, I> {
    shape: (usize, usize),
    format: Format,
    indptr: Vec<I>,
    indices: Vec<I>,
    data: Vec<T>,
}

impl<T: Element, I: SparseIndex + TryFrom<usize, Error: std::fmt::Debug>> Sparse<T, I> {
    /// The nonzero cells, in order.
    pub fn new(x: &Array2<f64>, format: Format, element: impl Fn(f64) -> T) -> Self {
        Self::build(x, format, element, |_, v| if v == 0.0 { vec![] } else { vec![v] }, |_| 0.0)
    }

    /// The same matrix with explicit zeros, cells stored twice or more, and indices in disorder.
    pub fn untidy(x: &Array2<f64>, format: Format, element: impl Fn(f64) -> T, seed: u64) -> Self {
        let cell = |at, value: f64| match (noise(seed, at) * 6.0) as u32 {
            0 if value.fract() == 0.0 => vec![value - 1.0, 1.0],
            1 if value.fract() == 0.0 => vec![1.0, value + 1.0, -2.0],
            0 | 1 => vec![value / 2.0, value / 2.0],
            2 => vec![value],
            3 => vec![0.0, value],
            _ if value == 0.0 => vec![],
            _ => vec![value],
        };
        Self::build(x, format, element, cell, |entry| noise(!seed, entry))
    }

    /// `cell(position, value)` lists what is stored for a cell; the entries of a row or column are
    /// sorted by `key`.
    fn build(
        x: &Array2<f64>,
        format: Format,
        element: impl Fn(f64) -> T,
        cell: impl Fn(usize, f64) -> Vec<f64>,
        key: impl Fn(usize) -> f64,
    ) -> Self {
        let index = |i: usize| I::try_from(i).unwrap();
        let (mut indptr, mut indices, mut data) = (vec![index(0)], Vec::new(), Vec::new());
        let lanes = if format == Format::Csc { x.columns() } else { x.rows() };
        let mut at = 0;
        for lane in lanes {
            let mut entries = Vec::new();
            for (minor, &value) in lane.iter().enumerate() {
                entries.extend(cell(at, value).into_iter().map(|part| (minor, part)));
                at += 1;
            }
            let mut order: Vec<usize> = (0..entries.len()).collect();
            order.sort_by(|&a, &b| key(data.len() + a).total_cmp(&key(data.len() + b)));
            indices.extend(order.iter().map(|&entry| index(entries[entry].0)));
            data.extend(order.iter().map(|&entry| element(entries[entry].1)));
            indptr.push(index(data.len()));
        }
        Self { shape: x.dim(), format, indptr, indices, data }
    }

    pub fn view(&self) -> SparseView<'_, T, I> {
        SparseView::new(self.shape, self.format, &self.indptr, &self.indices, &self.data).unwrap()
    }

    pub fn dataset(&self, runtime: &Runtime<'_>) -> Dataset
    where
        T::Value: TableValue,
    {
        Dataset::from_sparse(&self.view(), runtime).unwrap()
    }

    pub fn dataset_of_keys(&self, runtime: &Runtime<'_>) -> Dataset
    where
        T::Value: TableValue,
    {
        Dataset::from_sparse_with(&self.view(), Ordinals::Keys, runtime).unwrap()
    }
}

/// A matrix of small integers: columns with few distinct values, where ties live, and with many;
/// with zeros, negative values, and constant columns.
pub fn matrices(
    n_samples: impl Strategy<Value = usize>,
    n_features: impl Strategy<Value = usize>,
) -> impl Strategy<Value = Array2<f64>> {
    (n_samples, n_features).prop_flat_map(|(n, m)| {
        vec(columns(n), m).prop_map(move |columns| Array2::from_shape_fn((n, m), |(row, column)| columns[column][row]))
    })
}

/// Some of the matrices with missing values in some columns: none, few, or most of their cells.
pub fn with_holes(matrices: impl Strategy<Value = Array2<f64>>) -> impl Strategy<Value = Array2<f64>> {
    let sixths = prop_oneof![1 => Just(0u8), 1 => Just(1), 1 => Just(4)];
    let holes = move |x: &Array2<f64>| (vec(sixths.clone(), x.ncols()), vec(0..6u8, x.len()), 0..3u8);
    matrices.prop_flat_map(move |x| (Just(x.clone()), holes(&x))).prop_map(|(mut x, (sixths, dice, whether))| {
        let n_columns = x.ncols();
        for (at, cell) in x.iter_mut().enumerate().filter(|_| whether > 0) {
            if dice[at] < sixths[at % n_columns] {
                *cell = f64::NAN;
            }
        }
        x
    })
}

/// Makes codes of a column, and returns their number; some of the codes do not occur.
pub fn to_codes(x: &mut Array2<f64>, feature: usize) -> u32 {
    x.column_mut(feature).mapv_inplace(|value| if value < 0.0 { 40.0 - value } else { value });
    let largest = x.column(feature).iter().copied().fold(0.0, f64::max);
    largest as u32 + 2
}

fn columns(n: usize) -> impl Strategy<Value = Vec<f64>> {
    let n_levels = prop_oneof![1 => Just(1i16), 3 => Just(2), 3 => 3..=4i16, 2 => Just(40)];
    (n_levels, 0..=4u8, 0..=3i16).prop_flat_map(move |(n_levels, zeros, thirds)| {
        let cell = (0..4u8, 0..n_levels);
        let value =
            move |(quarter, level)| if quarter < zeros { 0.0 } else { f64::from(level - thirds * n_levels / 3) };
        vec(cell.prop_map(value), n)
    })
}

/// A target of one to three outputs for the criterion: up to five classes, or integers, the later
/// outputs larger; none below 0 where that is not allowed.
pub fn targets(n: usize, criterion: CriterionKind) -> BoxedStrategy<Y> {
    let n_outputs = prop_oneof![3 => Just(1usize), 1 => 2..=3usize];
    if criterion == CriterionKind::Poisson {
        let counts = (n_outputs, 1..=3u32).prop_flat_map(move |(n_outputs, step)| {
            let count = prop_oneof![Just(0), 0..=5u32];
            vec(count, n * n_outputs).prop_map(move |values| {
                let value = |(at, value): (usize, u32)| f64::from(value * step.pow((at % n_outputs) as u32));
                Y::Numbers { values: values.into_iter().enumerate().map(value).collect(), n_outputs }
            })
        });
        return counts.boxed();
    }
    if is_regression(criterion) {
        let numbers = (n_outputs, prop_oneof![Just(1i32), Just(1000)]).prop_flat_map(move |(n_outputs, step)| {
            vec(-4..=4i32, n * n_outputs).prop_map(move |values| {
                let value = |(at, value): (usize, i32)| f64::from(value * step.pow((at % n_outputs) as u32) + step - 1);
                Y::Numbers { values: values.into_iter().enumerate().map(value).collect(), n_outputs }
            })
        });
        return numbers.boxed();
    }
    let classes = n_outputs.prop_flat_map(|n_outputs| vec(2..=5u32, n_outputs)).prop_flat_map(move |n_classes| {
        vec(any::<u32>(), n * n_classes.len()).prop_map(move |noise| {
            let n_classes = n_classes.clone();
            let class = |(at, noise): (usize, u32)| noise % n_classes[at % n_classes.len()];
            Y::Classes { values: noise.into_iter().enumerate().map(class).collect(), n_classes: n_classes.clone() }
        })
    });
    classes.boxed()
}

/// Monotonic constraints, if any.
pub fn constraints(n_features: usize) -> impl Strategy<Value = Option<Vec<i8>>> {
    prop_oneof![2 => Just(None), 1 => vec(-1..=1i8, n_features).prop_map(Some)]
}

/// Groups of features that may interact; some features may be in none of them.
fn interactions(n_features: usize) -> impl Strategy<Value = Option<Arc<[Vec<u32>]>>> {
    let group = vec(0..n_features as u32, 1..=n_features);
    prop_oneof![3 => Just(None), 1 => vec(group, 1..=4).prop_map(|groups| Some(groups.into()))]
}

/// Parameters over all their ranges but for monotonic constraints; shares of the weight are multiples of
/// 1/16, so that rounding cannot decide.
pub fn params(criterion: CriterionKind, n_features: usize) -> impl Strategy<Value = TreeParams> {
    let impurity_scale = match criterion {
        CriterionKind::SquaredError => 20.0,
        CriterionKind::AbsoluteError | CriterionKind::Quantile(_) => 3.0,
        CriterionKind::Gini | CriterionKind::Entropy | CriterionKind::Poisson => 0.3,
        CriterionKind::LogRank { .. }
        | CriterionKind::LogRankFast { .. }
        | CriterionKind::Effects
        | CriterionKind::Isolation => {
            panic!("has no class or number")
        }
    };
    let count = |least: u64, most: u64| {
        let count = prop_oneof![(least..=most).prop_map(Count::Absolute), (0.01..0.4).prop_map(Count::Fraction)];
        prop_oneof![5 => Just(Count::Absolute(least)), 1 => count]
    };
    let sampling = prop::sample::select(vec![FeatureSampling::All, FeatureSampling::Active]);
    let max_features = prop_oneof![
        3 => Just(MaxFeatures::All),
        1 => Just(MaxFeatures::Sqrt),
        1 => Just(MaxFeatures::Log2),
        1 => (1..=7u64).prop_map(MaxFeatures::Absolute),
        1 => (0.1..1.0).prop_map(MaxFeatures::Fraction),
    ];
    (
        prop_oneof![2 => Just(Splitter::Best), 1 => Just(Splitter::Random)],
        prop_oneof![5 => Just(None), 1 => (1..5u64).prop_map(Some)],
        count(2, 12),
        (count(1, 6), prop_oneof![6 => Just(0.0), 1 => 0.01..0.45]),
        prop_oneof![6 => Just(0.0), 1 => (1..=8u8).prop_map(|k| f64::from(k) / 16.0)],
        (max_features, sampling),
        prop_oneof![6 => Just(0.0), 1 => (0.01..1.0).prop_map(move |share| share * impurity_scale)],
        prop_oneof![5 => Just(None), 2 => (2..14u64).prop_map(Some)],
        prop_oneof![6 => Just(0.0), 1 => (0.01..1.0).prop_map(move |share| share * impurity_scale / 4.0)],
        (any::<u64>(), interactions(n_features)),
    )
        .prop_map(
            move |(splitter, max_depth, split, leaf, weight_leaf, features, decrease, leaves, ccp_alpha, last)| {
                let (seed, interaction_cst) = last;
                TreeParams {
                    splitter,
                    max_depth,
                    min_samples_split: split,
                    min_samples_leaf: leaf.0,
                    min_share_leaf: leaf.1,
                    min_weight_fraction_leaf: weight_leaf,
                    max_features: features.0,
                    feature_sampling: features.1,
                    min_impurity_decrease: decrease,
                    max_leaf_nodes: leaves,
                    ccp_alpha,
                    interaction_cst,
                    seed,
                    ..TreeParams::new(criterion)
                }
            },
        )
}
