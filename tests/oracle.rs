//! The engine against the brute-force grower, tree for tree.

mod common;

use ndarray::{Array2, ShapeBuilder};
use proptest::collection::vec;
use proptest::prelude::*;
use spinney::data::Format;
use spinney::params::{CriterionKind, MaxFeatures, QuantileLevel, Splitter, TreeParams};
use spinney::tree::{TREE_LEAF, TREE_UNDEFINED, Tree};

use common::{Sparse, Y, config, constraints, encode, grow, matrices, naive, params, runtime, targets, with_holes};

#[derive(Debug, Clone, Copy)]
enum Storage {
    Dense,
    DenseByColumn,
    Csc,
    Csr,
    Untidy(Format, u64),
}

#[derive(Debug, Clone)]
struct Case {
    x: Array2<f64>,
    y: Y,
    /// Integers and the weight that 1 stands for.
    weights: (Vec<u64>, f64),
    params: TreeParams,
    storage: Storage,
}

impl Case {
    fn tree(&self) -> Tree {
        let runtime = runtime(1);
        let data = match self.storage {
            Storage::Dense => encode(&self.x.view(), &runtime),
            Storage::DenseByColumn => {
                let mut by_column = Array2::zeros(self.x.dim().f());
                by_column.assign(&self.x.mapv(|v| v as f32));
                encode(&by_column.view(), &runtime)
            }
            Storage::Csc => Sparse::<f64, i32>::new(&self.x, Format::Csc, |v| v).dataset(&runtime),
            Storage::Csr => Sparse::<f32, i64>::new(&self.x, Format::Csr, |v| v as f32).dataset(&runtime),
            Storage::Untidy(format, seed) => Sparse::<f64, i32>::untidy(&self.x, format, |v| v, seed).dataset(&runtime),
        };
        let (integers, unit) = &self.weights;
        let weights: Vec<f64> = integers.iter().map(|&w| w as f64 * unit).collect();
        let weights = if integers.iter().all(|&w| w == 1) && *unit == 1.0 { None } else { Some(&weights[..]) };
        grow(&data, &self.y, weights, &self.params, &runtime)
    }

    fn naive_tree(&self) -> Vec<naive::Node> {
        naive::grow(&self.x, &self.y, &self.weights.0, &self.params)
    }
}

fn sizes() -> impl Strategy<Value = usize> {
    prop_oneof![1 => 1..=8usize, 3 => 12..=40usize]
}

fn cases(
    criterion: CriterionKind,
    n_samples: impl Strategy<Value = usize>,
    n_features: impl Strategy<Value = usize>,
) -> impl Strategy<Value = Case> {
    let storage = prop_oneof![
        Just(Storage::Dense),
        Just(Storage::DenseByColumn),
        Just(Storage::Csc),
        Just(Storage::Csr),
        any::<u64>().prop_map(|seed| Storage::Untidy(Format::Csc, seed)),
        any::<u64>().prop_map(|seed| Storage::Untidy(Format::Csr, seed)),
    ];
    with_holes(matrices(n_samples, n_features)).prop_flat_map(move |x| {
        let n = x.nrows();
        let params = (params(criterion), constraints(x.ncols()));
        (Just(x), targets(n, criterion), weights(n, criterion), params, storage.clone()).prop_map(
            |(x, y, weights, (mut params, constraints), storage)| {
                params.monotonic_cst = constraints.filter(|_| y.has_order());
                // Beside huge weights improvements are rounding, and turns a matter of it.
                if weights.0.iter().any(|&w| w >= 1 << 32) {
                    params.max_leaf_nodes = None;
                    params.monotonic_cst = None;
                }
                Case { x, y, weights, params, storage }
            },
        )
    })
}

/// Unit weights, integers, dyadic fractions, and zeros among them; huge integers too, unless powers of them are taken.
fn weights(n: usize, criterion: CriterionKind) -> impl Strategy<Value = (Vec<u64>, f64)> {
    let huge = u32::from(!matches!(criterion, CriterionKind::Entropy | CriterionKind::Poisson));
    let integers = prop_oneof![
        3 => vec(Just(1), n),
        3 => vec(1..=4u64, n),
        3 => vec(0..=2u64, n),
        3 => vec(0..=13u64, n),
        huge => vec((0..=1u64, 0..=5u64).prop_map(|(high, low)| (high << 32) + low), n),
    ];
    (integers, prop_oneof![Just(1.0), Just(0.125), Just(32.0)]).prop_map(|(mut integers, unit)| {
        if integers.iter().all(|&w| w == 0) {
            integers[0] = 1;
        }
        (integers, unit)
    })
}

/// The node of the engine's tree in the brute-force grower's form.
fn node(tree: &Tree, id: usize, unit: f64) -> naive::Node {
    let nodes = tree.nodes();
    let (left, right) = (nodes.children_left[id], nodes.children_right[id]);
    let split = if left == TREE_LEAF {
        assert_eq!((right, nodes.feature[id]), (TREE_LEAF, TREE_UNDEFINED));
        None
    } else {
        Some((nodes.feature[id] as usize, nodes.threshold[id], left as usize, right as usize))
    };
    let weight = nodes.weighted_n_node_samples[id] / unit;
    assert_eq!(weight.fract(), 0.0, "sums of dyadic weights are exact");
    naive::Node {
        split,
        missing_left: nodes.missing_go_to_left[id] != 0,
        n_samples: nodes.n_node_samples[id] as usize,
        weight: weight as u64,
        impurity: nodes.impurity[id],
        value: tree.value(id).to_vec(),
    }
}

fn is_close(got: f64, exact: f64) -> bool {
    got == exact || (got - exact).abs() <= 1e-12 * exact.abs()
}

fn check(case: &Case) -> Result<(), TestCaseError> {
    let (tree, expected) = (case.tree(), case.naive_tree());
    let got: Vec<_> = (0..tree.node_count()).map(|id| node(&tree, id, case.weights.1)).collect();
    let shape = |nodes: &[naive::Node]| -> Vec<_> {
        nodes.iter().map(|n| (n.split, n.missing_left, n.n_samples, n.weight)).collect()
    };
    prop_assert_eq!(shape(&got), shape(&expected));
    for (got, expected) in got.iter().zip(&expected) {
        prop_assert!(is_close(got.impurity, expected.impurity), "impurity {} for {}", got.impurity, expected.impurity);
        prop_assert_eq!(got.value.len(), expected.value.len());
        for (&got, &expected) in got.value.iter().zip(&expected.value) {
            prop_assert!(is_close(got, expected), "value {} for {}", got, expected);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(4000))]

    #[test]
    fn gini(case in cases(CriterionKind::Gini, sizes(), 1..=6usize)) {
        check(&case)?;
    }

    #[test]
    fn entropy(case in cases(CriterionKind::Entropy, sizes(), 1..=6usize)) {
        check(&case)?;
    }

    #[test]
    fn squared_error(case in cases(CriterionKind::SquaredError, sizes(), 1..=6usize)) {
        check(&case)?;
    }

    #[test]
    fn poisson(case in cases(CriterionKind::Poisson, sizes(), 1..=6usize)) {
        check(&case)?;
    }

    #[test]
    fn absolute_error(case in cases(CriterionKind::AbsoluteError, sizes(), 1..=6usize)) {
        check(&case)?;
    }

    #[test]
    fn quantile(case in quantiles().prop_flat_map(|kind| cases(kind, sizes(), 1..=6usize))) {
        check(&case)?;
    }
}

/// Levels that shares of small weights meet, and others.
fn quantiles() -> impl Strategy<Value = CriterionKind> {
    let level = prop_oneof![
        prop::sample::select(vec![0.5, 0.1, 0.9, 0.25, 1.0 / 3.0]),
        (1..999u32).prop_map(|k| f64::from(k) / 999.0)
    ];
    level.prop_map(|level| CriterionKind::Quantile(QuantileLevel::new(level).unwrap()))
}

proptest! {
    #![proptest_config(config(500))]

    /// So many features that the permutation is not a table, most of them constant in most nodes: the draw goes on.
    #[test]
    fn few_of_many_features(
        mut case in cases(CriterionKind::Gini, 2..=16usize, 65..=120usize),
        drawn in 1..=20u64,
        threshold in -12..=12i32,
    ) {
        case.x.mapv_inplace(|v| if v > f64::from(threshold) { v } else { 0.0 });
        case.params.max_features = MaxFeatures::Absolute(drawn);
        check(&case)?;
    }
}

/// Every row its own value, one class per parity: all cuts of a level tie in pairs, from either end.
#[test]
fn ties_between_mirrored_cuts() {
    for criterion in [CriterionKind::Gini, CriterionKind::Entropy] {
        for splitter in [Splitter::Best, Splitter::Random] {
            let x = Array2::from_shape_fn((24, 3), |(row, column)| [row, 23 - row, row / 2][column] as f64 - 11.0);
            let y = Y::Classes { values: (0..24).map(|row| row % 2).collect(), n_classes: vec![2] };
            let params = TreeParams { splitter, seed: 3, ..TreeParams::new(criterion) };
            for storage in [Storage::Dense, Storage::Csc, Storage::Csr] {
                let weights = (vec![1; 24], 1.0);
                let case = Case { x: x.clone(), y: y.clone(), weights, params: params.clone(), storage };
                check(&case).unwrap();
            }
        }
    }
}
