//! The engine against the brute-force grower, tree for tree.

use ndarray::{Array2, ShapeBuilder};
use proptest::collection::vec;
use proptest::prelude::*;
use spinney::data::Format;
use spinney::params::{CriterionKind, MaxFeatures, QuantileLevel, Splitter, TreeParams};
use spinney::tree::{TREE_LEAF, TREE_UNDEFINED, Tree};

use super::common::{
    Sparse, Y, config, constraints, encode, grow, is_regression, matrices, naive, params, runtime, targets, to_codes,
    with_holes,
};

#[derive(Debug, Clone, Copy)]
pub enum Storage {
    Dense,
    DenseByColumn,
    Csc,
    Csr,
    Untidy(Format, u64),
}

#[derive(Debug, Clone)]
pub struct Case {
    pub x: Array2<f64>,
    pub y: Y,
    /// Integers and the weight that 1 stands for.
    pub weights: (Vec<u64>, f64),
    pub params: TreeParams,
    /// Of each feature, 0 of a number.
    pub n_categories: Vec<u32>,
    pub storage: Storage,
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
        let data = data.with_categories(&self.n_categories).unwrap();
        let (integers, unit) = &self.weights;
        let weights: Vec<f64> = integers.iter().map(|&w| w as f64 * unit).collect();
        let weights = if integers.iter().all(|&w| w == 1) && *unit == 1.0 { None } else { Some(&weights[..]) };
        grow(&data, &self.y, weights, &self.params, &runtime)
    }

    fn naive_tree(&self) -> Vec<naive::Node> {
        naive::grow(&self.x, &self.y, &self.weights.0, &self.n_categories, &self.params)
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
        let params = (params(criterion, x.ncols()), constraints(x.ncols()));
        let categorical = (prop_oneof![1 => Just(0u8), 1 => Just(2), 1 => Just(4)], vec(0..4u8, x.ncols()));
        let least = prop_oneof![3 => Just(1u64), 1 => 2..=4u64];
        let categorical = (categorical, least);
        (Just(x), targets(n, criterion), weights(n, criterion), params, categorical, storage.clone()).prop_map(
            |(mut x, y, weights, (mut params, constraints), ((share, dice), least), storage)| {
                let is_categorical = |feature: usize| dice[feature] < share;
                let n_categories: Vec<u32> = (0..x.ncols())
                    .map(|feature| if is_categorical(feature) { to_codes(&mut x, feature) } else { 0 })
                    .collect();
                params.min_samples_category = least;
                let constraints = constraints.map(|constraints| {
                    let own = constraints.iter().zip(&n_categories);
                    own.map(|(&constraint, &n)| if n > 0 { 0 } else { constraint }).collect::<Vec<_>>()
                });
                params.monotonic_cst = constraints.filter(|_| y.has_order());
                // Beside huge weights improvements are rounding, and turns a matter of it.
                if weights.0.iter().any(|&w| w >= 1 << 32) {
                    params.max_leaf_nodes = None;
                    params.monotonic_cst = None;
                }
                Case { x, y, weights, params, n_categories, storage }
            },
        )
    })
}

/// Unit weights, integers, dyadic fractions, and zeros among them; huge integers too, unless powers
/// of them are taken.
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
        let threshold = if tree.category_set(id).is_some() { 0.0 } else { nodes.threshold[id] };
        Some((nodes.feature[id] as usize, threshold, left as usize, right as usize))
    };
    let codes_left = tree.category_set(id).map_or(vec![], |set| {
        let n_categories = tree.n_categories()[nodes.feature[id] as usize];
        (0..=n_categories).map(|code| set.goes_left(f64::from(code))).collect()
    });
    let weight = nodes.weighted_n_node_samples[id] / unit;
    assert_eq!(weight.fract(), 0.0, "sums of dyadic weights are exact");
    naive::Node {
        split,
        missing_left: nodes.missing_go_to_left[id] != 0,
        codes_left,
        n_samples: nodes.n_node_samples[id] as usize,
        weight: weight as u64,
        impurity: nodes.impurity[id],
        value: tree.value(id).to_vec(),
    }
}

fn is_close(got: f64, exact: f64, slack: f64) -> bool {
    got == exact || (got - exact).abs() <= 1e-12 * exact.abs() + slack
}

/// What rounded logarithms cost an impurity at most: the places of the engine's end at 2^-58, and a target
/// counts as often as it is large.
fn slack(case: &Case) -> f64 {
    let places = 0.5f64.powi(56);
    match (case.params.criterion, &case.y) {
        (CriterionKind::Entropy, _) => places,
        (CriterionKind::Poisson, Y::Numbers { values, .. }) => places * values.iter().copied().fold(0.0, f64::max),
        _ => 0.0,
    }
}

pub fn check(case: &Case) -> Result<(), TestCaseError> {
    let (tree, expected) = (case.tree(), case.naive_tree());
    let got: Vec<_> = (0..tree.node_count()).map(|id| node(&tree, id, case.weights.1)).collect();
    let shape = |nodes: &[naive::Node]| -> Vec<_> {
        nodes.iter().map(|n| (n.split, n.missing_left, n.codes_left.clone(), n.n_samples, n.weight)).collect()
    };
    prop_assert_eq!(shape(&got), shape(&expected));
    for (got, expected) in got.iter().zip(&expected) {
        let is_near = is_close(got.impurity, expected.impurity, slack(case));
        prop_assert!(is_near, "impurity {} for {}", got.impurity, expected.impurity);
        prop_assert_eq!(got.value.len(), expected.value.len());
        for (&got, &expected) in got.value.iter().zip(&expected.value) {
            prop_assert!(is_close(got, expected, 0.0), "value {} for {}", got, expected);
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

    /// For two classes and for one number, the order of the means has the best of all subsets. For
    /// several classes or numbers, all subsets of up to five categories are tried.
    #[test]
    fn no_subset_of_categories_is_better(
        (x, y, criterion) in (2..=24usize, 2..=8i8, any::<bool>()).prop_flat_map(|(n, levels, are_several)| {
            let criteria = vec![CriterionKind::Gini, CriterionKind::Entropy, CriterionKind::SquaredError, CriterionKind::Poisson];
            // A missing value is a category of its own.
            let levels = if are_several { levels.min(4) } else { levels };
            let level = prop_oneof![6 => (0..levels).prop_map(f64::from), 1 => Just(f64::NAN)];
            let n_outputs = 1 + usize::from(are_several);
            let noise = vec(0..=3u8, n * n_outputs);
            (vec(level, n), noise, prop::sample::select(criteria)).prop_map(move |(levels, noise, criterion)| {
                let y = if is_regression(criterion) {
                    Y::Numbers { values: noise.iter().map(|&v| f64::from(v + 1)).collect(), n_outputs }
                } else if are_several {
                    Y::Classes { values: noise[..n].iter().map(|&v| u32::from(v)).collect(), n_classes: vec![4] }
                } else {
                    Y::Classes { values: noise.iter().map(|&v| u32::from(v % 2)).collect(), n_classes: vec![2] }
                };
                (Array2::from_shape_vec((levels.len(), 1), levels).unwrap(), y, criterion)
            })
        }),
        seed: u64,
    ) {
        let n = x.nrows();
        let params = TreeParams { seed, max_depth: Some(1), ..TreeParams::new(criterion) };
        let case = Case {
            n_categories: vec![9],
            weights: (vec![1; n], 1.0),
            x,
            y,
            params,
            storage: Storage::Dense,
        };
        let tree = case.tree();
        if tree.node_count() > 1 {
            let nodes: Vec<_> = (0..tree.node_count()).map(|id| node(&tree, id, 1.0)).collect();
            let order = naive::costs_of_subsets(&case.x, &case.y, &case.weights.0, &case.params, &nodes);
            prop_assert_eq!(order, std::cmp::Ordering::Equal);
        }
    }

    /// So many features that the permutation is not a table, most of them constant in most nodes:
    /// the draw goes on.
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

/// Every row its own value, one class per parity: all cuts of a level tie in pairs, from either
/// end.
#[test]
fn ties_between_mirrored_cuts() {
    for criterion in [CriterionKind::Gini, CriterionKind::Entropy] {
        for splitter in [Splitter::Best, Splitter::Random] {
            let x = Array2::from_shape_fn((24, 3), |(row, column)| [row, 23 - row, row / 2][column] as f64 - 11.0);
            let y = Y::Classes { values: (0..24).map(|row| row % 2).collect(), n_classes: vec![2] };
            let params = TreeParams { splitter, seed: 3, ..TreeParams::new(criterion) };
            for storage in [Storage::Dense, Storage::Csc, Storage::Csr] {
                let weights = (vec![1; 24], 1.0);
                let n_categories = vec![0; 3];
                let case = Case { x: x.clone(), y: y.clone(), weights, params: params.clone(), n_categories, storage };
                check(&case).unwrap();
            }
        }
    }
}

/// The impurity is a small difference of large logarithms.
#[test]
fn targets_that_are_nearly_alike() {
    let x = Array2::from_shape_fn((39, 1), |(row, _)| (row / 4) as f64);
    let n_odd = |row: usize| f64::from(u8::from(row == 18));
    let counts = Y::Numbers { values: (0..39).map(|row| 15.0 - n_odd(row)).collect(), n_outputs: 1 };
    let classes = Y::Classes { values: (0..39).map(|row| u32::from(row == 18)).collect(), n_classes: vec![2] };
    for (criterion, y) in [(CriterionKind::Poisson, counts), (CriterionKind::Entropy, classes)] {
        for heavy in [1, 100] {
            let weights = (0..39).map(|row| if row == 18 { 1 } else { heavy }).collect();
            let params = TreeParams::new(criterion);
            let (x, y) = (x.clone(), y.clone());
            check(&Case { x, y, weights: (weights, 1.0), params, n_categories: vec![0], storage: Storage::Dense })
                .unwrap();
        }
    }
}
