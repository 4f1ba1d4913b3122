//! Data, targets, weights and parameters from bytes: what the targets that fit begin with.

use std::sync::Arc;

use arbitrary::{Arbitrary, Unstructured};
use ndarray::{Array2, Axis};
use spinney::data::{Dataset, Target};
use spinney::error::Result;
use spinney::forest::{Forest, grow_forest};
use spinney::params::{
    Bootstrap, CategoryOrder, Count, CriterionKind, FeatureSampling, ForestParams, GivenRows, MaxFeatures,
    QuantileLevel, Splitter, TreeParams,
};
use spinney::rng::seed_of_tree;
use spinney::runtime::Runtime;

use super::bytes::Bytes;
use super::engine::common::{CRITERIA, Y, is_regression, noise};

/// Numbers that arithmetic likes to fail on.
const EXTREMES: [f64; 16] = [
    0.0,
    -0.0,
    1.0,
    1.000_000_000_000_000_2,
    -1.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::MAX,
    f64::MIN,
    5e-324,
    -5e-324,
    f64::MIN_POSITIVE,
    1.401_298_464_324_817e-45,
    3.402_823_669_209_385e38,
    9_007_199_254_740_992.0,
    9_007_199_254_740_994.0,
];

/// How far a case goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Whatever is legal.
    Everything,
    /// What the brute-force grower computes exactly: integers, and few rows.
    Integers,
}

#[derive(Debug, Clone)]
pub struct Case {
    pub x: Array2<f64>,
    /// Of each feature, 0 of a number.
    pub n_categories: Vec<u32>,
    pub y: Y,
    /// If the numbers are times: the events then, 0 for a censored one.
    pub events: Option<Vec<u32>>,
    pub weights: Option<Vec<f64>>,
    pub params: ForestParams,
    pub query: Array2<f64>,
    /// For what a target chooses itself.
    pub choices: [u8; 8],
    pub seed: u64,
}

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        Ok(Self::new(&mut Bytes(u), Reach::Everything))
    }
}

impl Case {
    pub fn new(bytes: &mut Bytes<'_, '_>, reach: Reach) -> Self {
        let choices = std::array::from_fn(|_| bytes.byte());
        let seed = u64::from(bytes.byte());
        let criterion = criterion(bytes);
        let mut params = forest_params(bytes, criterion);
        let is_large = reach == Reach::Everything && bytes.rarely(8);
        let n = if is_large { 60 + bytes.below(200) } else { 1 + bytes.below(40) };
        let m = 1 + bytes.below(6);
        let columns: Vec<Column> = (0..m).map(|_| Column::new(bytes, reach)).collect();
        let mut values = Values::new(bytes, n);
        let y = target(&mut values, bytes, criterion, reach, n);
        let weights = weights(&mut values, bytes, criterion, reach, n);
        let x =
            Array2::from_shape_fn((n, m), |(row, column)| columns[column].cell(values.byte(bytes, row * m + column)));
        let n_categories: Vec<u32> = columns.iter().map(|column| column.n_categories(n)).collect();
        let constraints: Vec<i8> = (0..m).map(|_| bytes.one_of(&[0, 0, 1, -1])).collect();
        if bytes.rarely(3) && y.has_order() {
            let own = |(&sign, &n): (&i8, &u32)| if n > 0 { 0 } else { sign };
            params.tree.monotonic_cst = Some(constraints.iter().zip(&n_categories).map(own).collect());
        }
        let query = query(bytes, &x, &columns, seed);
        if bytes.rarely(4) {
            let group = |bits: u8| (0..m as u32).filter(|feature| bits >> feature & 1 == 1).collect();
            params.tree.interaction_cst = Some([bytes.byte(), bytes.byte(), bytes.byte()].map(group).into());
        }
        Self { x, n_categories, y, events: None, weights, params, query, choices, seed }
    }

    /// The case, or, by a byte, the same one with times of events in the place of numbers.
    pub fn or_times(mut self) -> Self {
        let choice = usize::from(self.choices[7]);
        if choice % 4 != 3 {
            return self;
        }
        let Y::Numbers { values, n_outputs: 1 } = &mut self.y else { return self };
        values.iter_mut().for_each(|value| *value = value.abs());
        let min_events = [0, 0, 1, 3][choice / 4 % 4];
        let kinds = [CriterionKind::LogRank { min_events }, CriterionKind::LogRankFast { min_events }];
        self.params.tree.criterion = kinds[choice / 16 % 2];
        self.params.tree.monotonic_cst = None;
        let n_causes = if choice >= 128 { 2 } else { 1 };
        let event = |row: usize| if noise(!self.seed, row) < 0.4 { 0 } else { 1 + (row as u32 % n_causes) };
        self.events = Some((0..self.x.nrows()).map(event).collect());
        self
    }

    /// The case, or, by a byte, the same one with rows that are listed for each tree.
    pub fn or_given_rows(mut self) -> Self {
        let choice = usize::from(self.choices[5]);
        if choice % 8 != 7 {
            return self;
        }
        let ForestParams { first_tree, n_estimators, .. } = self.params;
        let tree_seeds = (first_tree..first_tree + n_estimators).map(|tree| seed_of_tree(self.params.tree.seed, tree));
        let (mut starts, mut rows) = (vec![0], Vec::new());
        for tree in 0..n_estimators as usize {
            let draw = |at| (noise(self.seed ^ 0x61e5, tree * 256 + at) * self.x.nrows() as f64) as u32;
            let mut own: Vec<u32> = (0..1 + choice / 8 * 2).map(draw).collect();
            own.sort_unstable();
            rows.extend(own);
            starts.push(rows.len());
        }
        let given = GivenRows { tree_seeds: tree_seeds.collect(), starts: starts.into(), rows: rows.into() };
        self.params.bootstrap = Bootstrap::Given(Arc::new(given));
        self
    }

    pub fn has_categories(&self) -> bool {
        self.n_categories.iter().any(|&n| n > 0)
    }

    /// The target as integers; none if its weights or its numbers are refused.
    pub fn target(&self) -> Option<Target> {
        let weights = self.weights.as_deref();
        let target = match (&self.y, &self.events) {
            (Y::Classes { values, n_classes }, _) => Target::classification(values, n_classes, weights),
            (Y::Numbers { values, n_outputs }, None) => Target::regression(values, *n_outputs, weights),
            (Y::Numbers { values, .. }, Some(events)) => Target::survival(values, events, weights),
        };
        target.ok()
    }

    /// The forest of the case, grown on a data set of its rows.
    pub fn forest(&self, target: &Target, data: &Dataset, runtime: &Runtime<'_>) -> Result<Forest> {
        grow_forest(data, target, &self.params.check(self.x.nrows(), self.x.ncols())?, None, runtime)
    }

    /// The same case with its rows in another order, and rows of weight 0 among them if the
    /// parameters do not count rows.
    pub fn rearranged(&self) -> Self {
        let n = self.x.nrows();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| noise(self.seed ^ 0x5eed, a).total_cmp(&noise(self.seed ^ 0x5eed, b)));
        let mut weights: Vec<f64> = order.iter().map(|&row| self.weights.as_ref().map_or(1.0, |w| w[row])).collect();
        let TreeParams { min_samples_split, min_samples_leaf, .. } = &self.params.tree;
        if [min_samples_split, min_samples_leaf].iter().all(|count| matches!(count, Count::Absolute(_))) {
            for added in 0..n.div_ceil(4) {
                let at = added * 5 % (order.len() + 1);
                order.insert(at, added * 3 % n);
                weights.insert(at, 0.0);
            }
        }
        let x = self.x.select(Axis(0), &order);
        let events = self.events.as_ref().map(|events| order.iter().map(|&row| events[row]).collect());
        Self { x, y: self.y.select(&order), events, weights: Some(weights), ..self.clone() }
    }

    /// Whether trees are changed after they are grown, or grown best first.
    pub fn needs_whole_trees(&self) -> bool {
        self.params.tree.max_leaf_nodes.is_some() || self.params.tree.ccp_alpha > 0.0
    }
}

fn criterion(bytes: &mut Bytes<'_, '_>) -> CriterionKind {
    let kind = bytes.one_of(&CRITERIA);
    match kind {
        CriterionKind::Quantile(own) => {
            let level = bytes.one_of(&[0.3, 0.5, 0.1, 0.9, 0.25, 1.0 / 3.0, 0.618]);
            CriterionKind::Quantile(QuantileLevel::new(level).unwrap_or(own))
        }
        kind => kind,
    }
}

fn forest_params(bytes: &mut Bytes<'_, '_>, criterion: CriterionKind) -> ForestParams {
    let scale = match criterion {
        CriterionKind::SquaredError => 20.0,
        CriterionKind::AbsoluteError | CriterionKind::Quantile(_) => 3.0,
        CriterionKind::Effects => unreachable!("cases have no treatments"),
        CriterionKind::Isolation => unreachable!("cases have targets"),
        CriterionKind::LogRank { .. } | CriterionKind::LogRankFast { .. } => unreachable!("cases have no times"),
        CriterionKind::Gini | CriterionKind::Entropy | CriterionKind::Poisson => 0.3,
    };
    let count = |bytes: &mut Bytes<'_, '_>, least: u64| match bytes.below(6) {
        0..4 => Count::Absolute(least),
        4 => Count::Absolute(least + bytes.below(9) as u64),
        _ => Count::Fraction(bytes.share() / 2.0),
    };
    let max_features = match bytes.below(8) {
        0..4 => MaxFeatures::All,
        4 => MaxFeatures::Sqrt,
        5 => MaxFeatures::Log2,
        6 => MaxFeatures::Absolute(1 + bytes.below(7) as u64),
        _ => MaxFeatures::Fraction(bytes.share()),
    };
    let tree = TreeParams {
        splitter: bytes.one_of(&[Splitter::Best, Splitter::Best, Splitter::Random]),
        max_depth: if bytes.rarely(4) { Some(1 + bytes.below(5) as u64) } else { None },
        min_samples_split: count(bytes, 2),
        min_samples_leaf: count(bytes, 1),
        min_weight_fraction_leaf: if bytes.rarely(6) { bytes.below(9) as f64 / 16.0 } else { 0.0 },
        max_features,
        feature_sampling: bytes.one_of(&[FeatureSampling::All, FeatureSampling::Active]),
        min_samples_category: bytes.one_of(&[1, 1, 1, 2, 4]),
        min_impurity_decrease: if bytes.rarely(6) { bytes.share() * scale } else { 0.0 },
        max_leaf_nodes: if bytes.rarely(5) { Some(2 + bytes.below(12) as u64) } else { None },
        ccp_alpha: if bytes.rarely(6) { bytes.share() * scale / 4.0 } else { 0.0 },
        seed: u64::from(bytes.byte()),
        ..TreeParams::new(criterion)
    };
    let bootstrap = match bytes.below(5) {
        0 | 1 => Bootstrap::None,
        2 => Bootstrap::WithReplacement { n_draws: 1 + bytes.below(80) as u64 },
        3 => Bootstrap::WithoutReplacement { n_draws: [None, Some(1), Some(2), Some(7)][bytes.below(4)] },
        _ => Bootstrap::Poisson,
    };
    ForestParams {
        first_tree: bytes.one_of(&[0, 0, 0, 5]),
        bootstrap,
        balanced_subsample: bytes.rarely(3),
        category_order: bytes.one_of(&[CategoryOrder::Auto, CategoryOrder::Node, CategoryOrder::Tree]),
        ..ForestParams::new(tree, 1 + bytes.below(4) as u64)
    }
}

/// What the cells of a column are.
#[derive(Debug, Clone, Copy)]
struct Column {
    kind: usize,
    /// 0: none is missing. 1: few are. 2: half of them.
    holes: usize,
}

const N_KINDS: usize = 12;
/// Kinds of integers come first, then categories.
const N_INTEGERS: usize = 6;

impl Column {
    fn new(bytes: &mut Bytes<'_, '_>, reach: Reach) -> Self {
        let n_kinds = if reach == Reach::Integers { N_INTEGERS } else { N_KINDS };
        Self { kind: bytes.below(n_kinds), holes: bytes.one_of(&[0, 0, 1, 2]) }
    }

    fn cell(self, byte: u8) -> f64 {
        if self.holes == 1 && byte % 8 == 7 || self.holes == 2 && byte % 2 == 1 {
            return f64::NAN;
        }
        // The bit that makes holes says nothing else.
        let byte = byte >> 1;
        let number = f64::from(byte);
        match self.kind {
            0 => f64::from(byte % 4),
            1 => {
                if byte < 64 {
                    0.0
                } else {
                    f64::from(byte % 16) - 6.0
                }
            }
            2 => number - 40.0,
            3 => f64::from(byte % 3),
            4 => f64::from(byte % 14),
            5 => f64::from(byte % 40),
            6 => number / 8.0 - 5.0,
            7 => number * 0.1,
            8 => EXTREMES[usize::from(byte) % EXTREMES.len()],
            // Neighbours, which single precision does not tell apart.
            9 => f64::from_bits(4.8f64.to_bits() + u64::from(byte % 7)),
            10 => 1.0,
            _ => f64::NAN,
        }
    }

    fn n_categories(self, n: usize) -> u32 {
        match self.kind {
            3 => 5,
            4 => 15,
            5 => 40,
            // A column without any value may be of categories.
            11 if n % 2 == 1 => 1,
            _ => 0,
        }
    }
}

/// The bytes of cells: read from the input, or computed from a seed, always so for more than 40 rows.
struct Values {
    seed: Option<u64>,
}

impl Values {
    fn new(bytes: &mut Bytes<'_, '_>, n: usize) -> Self {
        let seed = u64::from(bytes.byte());
        Self { seed: if n > 40 || seed % 2 == 1 { Some(seed) } else { None } }
    }

    fn byte(&mut self, bytes: &mut Bytes<'_, '_>, at: usize) -> u8 {
        match self.seed {
            Some(seed) => (noise(seed, at) * 256.0) as u8,
            None => bytes.byte(),
        }
    }
}

fn target(values: &mut Values, bytes: &mut Bytes<'_, '_>, criterion: CriterionKind, reach: Reach, n: usize) -> Y {
    let n_outputs = bytes.one_of(&[1, 1, 1, 2, 3]);
    let kind = if reach == Reach::Integers { bytes.below(2) } else { bytes.below(7) };
    let mut cell = |bytes: &mut Bytes<'_, '_>, at: usize| values.byte(bytes, at + (1 << 20));
    if !is_regression(criterion) {
        let n_classes: Vec<u32> = (0..n_outputs).map(|_| 1 + bytes.below(6) as u32).collect();
        let class = |at: usize| u32::from(cell(bytes, at)) % n_classes[at % n_outputs];
        return Y::Classes { values: (0..n * n_outputs).map(class).collect(), n_classes };
    }
    let number = |at: usize| {
        let byte = cell(bytes, at);
        let number = f64::from(byte);
        let value = match kind {
            0 => f64::from(byte % 9) - 4.0,
            1 if criterion == CriterionKind::Poisson => number % 20.0,
            1 => number - 100.0,
            2 => number * 0.1 - 7.0,
            // Some far out.
            3 => {
                if byte % 8 == 7 {
                    number * 1e13 / 3.0
                } else {
                    number * 0.3
                }
            }
            4 => [0.0, -0.0, 1e150, -1e150, 1e-300, 5e-324, 1.0][usize::from(byte) % 7],
            5 => 1e9 + number * 1e-7,
            _ => 3.0,
        };
        if criterion == CriterionKind::Poisson { value.abs() } else { value }
    };
    Y::Numbers { values: (0..n * n_outputs).map(number).collect(), n_outputs }
}

fn weights(
    values: &mut Values,
    bytes: &mut Bytes<'_, '_>,
    criterion: CriterionKind,
    reach: Reach,
    n: usize,
) -> Option<Vec<f64>> {
    // Entropies are made of powers of weights, and powers of huge weights are not exact in the brute-force
    // grower.
    let is_power = matches!(criterion, CriterionKind::Entropy | CriterionKind::Poisson);
    let kind = match reach {
        Reach::Integers => bytes.below(if is_power { 5 } else { 6 }),
        Reach::Everything => bytes.below(12),
    };
    let unit = bytes.one_of(&[1.0, 0.125, 32.0]);
    if kind < 2 {
        return None;
    }
    let weight = |at: usize| {
        let byte = values.byte(bytes, at + (1 << 21));
        let number = f64::from(byte);
        match kind {
            2 => f64::from(byte % 4 + 1) * unit,
            3 => f64::from(byte % 3) * unit,
            4 => f64::from(byte % 14) * unit,
            5 => ((byte % 2) as f64 * 4_294_967_296.0 + f64::from(byte % 6)) * unit,
            6 => 0.1 + number / 100.0,
            7 => {
                if byte < 128 {
                    0.0
                } else {
                    number / 7.0
                }
            }
            8 => [1e300, 1.0, 0.0, 1e-300][usize::from(byte) % 4],
            9 => [5e-324, 1e-320, 0.0][usize::from(byte) % 3],
            10 => 0.1249 + f64::from(byte % 2) * 1e-16,
            _ => 1e-9 + number * number,
        }
    };
    let mut weights: Vec<f64> = (0..n).map(weight).collect();
    if weights.iter().all(|&weight| weight == 0.0) {
        weights[0] = unit;
    }
    Some(weights)
}

/// Rows of the training with some cells replaced, with categories among them that no row has.
fn query(bytes: &mut Bytes<'_, '_>, x: &Array2<f64>, columns: &[Column], seed: u64) -> Array2<f64> {
    let n = bytes.one_of(&[3, 1, 0, 9, 20, 70]);
    Array2::from_shape_fn((n, x.ncols()), |(row, column)| {
        let at = row * x.ncols() + column;
        if noise(seed, at) < 0.3 {
            let value = columns[column].cell((noise(!seed, at) * 256.0) as u8);
            if columns[column].n_categories(x.nrows()) == 0 { value + 0.25 } else { value }
        } else {
            x[[(row * 7 + 3) % x.nrows(), column]]
        }
    })
}
