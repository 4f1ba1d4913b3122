//! The brute-force grower: every feature, every midpoint, impurity from scratch in exact
//! arithmetic. Plain, not fast.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use ndarray::Array2;
use num_bigint::BigInt;
use spinney::params::{Count, CriterionKind, FeatureSampling, MaxFeatures, Splitter, TreeParams};
use spinney::rng::{NodeKey, Side};

use super::Y;

/// A node of the tree, in preorder.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Feature, threshold, left child, right child; none for a leaf.
    pub split: Option<(usize, f64, usize, usize)>,
    /// Whether missing values go left.
    pub missing_left: bool,
    /// If the feature is categorical, whether each code goes left, and at last one that does not
    /// exist. There is no threshold then.
    pub codes_left: Vec<bool>,
    pub n_samples: usize,
    /// In units of the integer weights.
    pub weight: u64,
    /// Nearest to the exact one.
    pub impurity: f64,
    /// Class shares, padded with 0, or means: nearest to the exact ones.
    pub value: Vec<f64>,
}

/// Grows the tree. Targets must be integers; weights are integers, 0 leaves a row out. Features of
/// more than 0 categories are categorical.
pub fn grow(x: &Array2<f64>, y: &Y, weights: &[u64], n_categories: &[u32], params: &TreeParams) -> Vec<Node> {
    let rows: Vec<usize> = (0..x.nrows()).filter(|&row| weights[row] > 0).collect();
    let total_weight = weights.iter().sum();
    let mut grower = Grower { x, y, weights, n_categories, params, total_weight, turns: None, nodes: Vec::new() };
    let root = NodeKey::root(params.seed, 0);
    let limits = Limits { means: vec![[f64::NEG_INFINITY, f64::INFINITY]; y.n_outputs()], above: Vec::new() };
    grower.turns = params.max_leaf_nodes.map(|max_leaf_nodes| grower.turns(&rows, root, &limits, max_leaf_nodes));
    grower.grow(&rows, &mut Vec::new(), root, &limits);
    if params.ccp_alpha > 0.0 { prune(&grower.nodes, params.ccp_alpha) } else { grower.nodes }
}

/// The impurity of the leaves below a node, weighted by their shares of the weight, and their
/// number.
fn cost_of_leaves(nodes: &[Node], node: usize) -> (f64, usize) {
    match nodes[node].split {
        None => (cost(nodes, node), 1),
        Some((_, _, left, right)) => {
            let ((left_cost, n_left), (right_cost, n_right)) =
                (cost_of_leaves(nodes, left), cost_of_leaves(nodes, right));
            (left_cost + right_cost, n_left + n_right)
        }
    }
}

fn cost(nodes: &[Node], node: usize) -> f64 {
    nodes[node].weight as f64 / nodes[0].weight as f64 * nodes[node].impurity
}

/// The node whose removal of all below costs least per leaf saved, and how much; none if only the
/// root is left.
pub fn weakest_link(nodes: &[Node]) -> Option<(f64, usize)> {
    let inner = (0..nodes.len()).filter(|&node| nodes[node].split.is_some());
    let price = |node| {
        let (leaves_cost, n_leaves) = cost_of_leaves(nodes, node);
        ((cost(nodes, node) - leaves_cost) / (n_leaves - 1) as f64, node)
    };
    inner.map(price).min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))
}

/// The tree without what is below a node.
pub fn collapse(nodes: &[Node], leaf: usize) -> Vec<Node> {
    fn copy(nodes: &[Node], leaf: usize, node: usize, out: &mut Vec<Node>) -> usize {
        let id = out.len();
        out.push(Node { split: None, missing_left: false, codes_left: vec![], ..nodes[node].clone() });
        if node != leaf
            && let Some((feature, threshold, left, right)) = nodes[node].split
        {
            let left = copy(nodes, leaf, left, out);
            let right = copy(nodes, leaf, right, out);
            out[id].split = Some((feature, threshold, left, right));
            out[id].missing_left = nodes[node].missing_left;
            out[id].codes_left.clone_from(&nodes[node].codes_left);
        }
        id
    }
    let mut out = Vec::new();
    copy(nodes, leaf, 0, &mut out);
    out
}

/// Cuts the weakest link as long as it costs no more than the price of a leaf.
fn prune(nodes: &[Node], ccp_alpha: f64) -> Vec<Node> {
    let mut nodes = nodes.to_vec();
    while let Some((price, node)) = weakest_link(&nodes)
        && price <= ccp_alpha
    {
        nodes = collapse(&nodes, node);
    }
    nodes
}

/// A node that waits for its turn to be split.
struct Waiting {
    improvement: f64,
    /// Left is false.
    path: Vec<bool>,
    left: Vec<usize>,
    right: Vec<usize>,
    key: NodeKey,
    /// Of the children.
    limits: [Limits; 2],
}

/// What the nodes above ask of a node.
#[derive(Clone)]
struct Limits {
    /// Between what predictions must lie: of numbers, or of the share of the second of two classes.
    means: Vec<[f64; 2]>,
    /// The features above the node.
    above: Vec<usize>,
}

struct Grower<'a> {
    x: &'a Array2<f64>,
    y: &'a Y,
    weights: &'a [u64],
    n_categories: &'a [u32],
    params: &'a TreeParams,
    total_weight: u64,
    /// The paths of the nodes that are split before the tree is full, if there is a limit.
    turns: Option<BTreeSet<Vec<bool>>>,
    nodes: Vec<Node>,
}

/// Where a split parts rows.
#[derive(Clone)]
struct Cut {
    feature: usize,
    /// Infinity parts missing values from all others.
    threshold: f64,
    missing_left: bool,
    /// The codes that go left, if the feature is categorical.
    codes: Option<Vec<u32>>,
}

/// What a split costs, in any unit.
enum Cost {
    Exact(Fraction),
    /// `- sum of s ln(s / w)` over these pairs of sums and weights, which are in order.
    Logs(Vec<(u64, u64)>),
}

impl Cost {
    fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Exact(one), Self::Exact(other)) => one.compare(other),
            (Self::Logs(one), Self::Logs(other)) => {
                let log = |pairs: &[(u64, u64)]| -> f64 {
                    pairs.iter().map(|&(s, w)| -(s as f64) * (s as f64 / w as f64).ln()).sum()
                };
                let (a, b) = (log(one), log(other));
                if (a - b).abs() > 1e-9 * (1.0 + a.abs()) {
                    return a.total_cmp(&b);
                }
                if one == other {
                    return Ordering::Equal;
                }
                // The powers of e.
                let power = |pairs: &[(u64, u64)]| {
                    let product = |of: fn(&(u64, u64)) -> u64| -> BigInt {
                        pairs.iter().map(|pair| BigInt::from(of(pair)).pow(pair.0 as u32)).product()
                    };
                    Fraction { numerator: product(|pair| pair.1), denominator: product(|pair| pair.0) }
                };
                power(one).compare(&power(other))
            }
            _ => panic!("the costs of two criteria"),
        }
    }
}

/// A fraction with a denominator above 0.
struct Fraction {
    numerator: BigInt,
    denominator: BigInt,
}

impl Fraction {
    fn compare(&self, other: &Self) -> Ordering {
        (&self.numerator * &other.denominator).cmp(&(&other.numerator * &self.denominator))
    }

    fn plus(&self, other: &Self) -> Self {
        Self {
            numerator: &self.numerator * &other.denominator + &other.numerator * &self.denominator,
            denominator: &self.denominator * &other.denominator,
        }
    }

    fn times(&self, other: &Self) -> Self {
        Self { numerator: &self.numerator * &other.numerator, denominator: &self.denominator * &other.denominator }
    }

    fn to_f64(&self) -> f64 {
        let double = |integer: &BigInt| i128::try_from(integer).unwrap() as f64;
        double(&self.numerator) / double(&self.denominator)
    }
}

/// The nearest number of 31 significant bits.
fn to_31_bits(value: f64) -> f64 {
    let unit = 2f64.powi(value.log2().floor() as i32 - 30);
    (value / unit).round() * unit
}

/// The cuts of an order of groups of categories.
fn cuts_of(feature: usize, units: &[Vec<f64>]) -> Vec<Cut> {
    let cut = |n: usize| {
        let left = units[..n].concat();
        Cut {
            feature,
            threshold: 0.0,
            missing_left: left.iter().any(|code| code.is_nan()),
            codes: Some(left.into_iter().filter(|code| !code.is_nan()).map(|code| code as u32).collect()),
        }
    };
    (1..units.len()).map(cut).collect()
}

/// By category, the coordinate along the first principal component of class shares; 16 powers of
/// their covariance.
fn principal_component(sums: &[&Vec<(i64, u64)>]) -> Vec<f64> {
    let n = sums[0].len();
    let weight = |unit: usize| sums[0][unit].1 as f64;
    let total: f64 = (0..n).map(weight).sum();
    let add = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, |sum, value| sum + value);
    let means: Vec<f64> = sums.iter().map(|class| add(&mut class.iter().map(|sum| sum.0 as f64)) / total).collect();
    let along = |axis: &[f64], unit: usize| -> f64 {
        let share = |class: usize| sums[class][unit].0 as f64 / weight(unit);
        let center = add(&mut axis.iter().zip(&means).map(|(part, mean)| part * mean));
        add(&mut axis.iter().enumerate().map(|(class, part)| part * share(class))) - center
    };
    let mut axis: Vec<f64> = (0..sums.len()).map(|class| 1.0 / (class as f64 + 1.0)).collect();
    for _ in 0..16 {
        let coordinates: Vec<f64> = (0..n).map(|unit| along(&axis, unit)).collect();
        let next: Vec<f64> =
            sums.iter().map(|class| add(&mut (0..n).map(|unit| class[unit].0 as f64 * coordinates[unit]))).collect();
        let largest =
            next.iter().fold(0.0f64, |largest, part| if part.abs() > largest.abs() { *part } else { largest });
        if largest == 0.0 {
            axis = next;
            break;
        }
        axis = next.into_iter().map(|part| part / largest).collect();
    }
    (0..n).map(|unit| along(&axis, unit)).collect()
}

/// The orders of up to five units whose cuts are all subsets of them, if no order by a mean has the
/// best one.
fn orders_of_few(n: usize) -> Vec<Vec<usize>> {
    if n == 5 {
        return (0..n).map(|first| [0, 1, 3, 2, 4].map(|step| (first + step) % n).to_vec()).collect();
    }
    let turned = |first| (0..n - 1).map(move |step| (first + step) % (n - 1)).chain([n - 1]).collect();
    (0..n - 1).map(turned).collect()
}

/// The least that a split into two sets of categories of one feature may cost, and what the split
/// of this tree's root costs.
pub fn costs_of_subsets(x: &Array2<f64>, y: &Y, weights: &[u64], params: &TreeParams, tree: &[Node]) -> Ordering {
    let rows: Vec<usize> = (0..x.nrows()).filter(|&row| weights[row] > 0).collect();
    let n_categories = [u32::MAX];
    let total_weight = weights.iter().sum();
    let grower =
        Grower { x, y, weights, n_categories: &n_categories, params, total_weight, turns: None, nodes: Vec::new() };
    let units = grower.units(&rows, 0);
    let cost = |is_left: &dyn Fn(usize) -> bool| {
        let (left, right): (Vec<usize>, Vec<usize>) = (0..units.len()).partition(|&unit| is_left(unit));
        let rows_of = |side: Vec<usize>| -> Vec<usize> {
            side.into_iter().flat_map(|unit| grower.rows_of(&rows, 0, &units[unit])).collect()
        };
        grower.total_cost(&rows_of(left), &rows_of(right))
    };
    let subsets = (1u32..1 << (units.len() - 1)).map(|subset| cost(&|unit| subset >> unit & 1 == 1));
    let least = subsets.reduce(|a, b| if b.compare(&a) == Ordering::Less { b } else { a }).unwrap();
    let root = &tree[0];
    let own = cost(&|unit| {
        let code = units[unit][0];
        if code.is_nan() { root.missing_left } else { root.codes_left[code as usize] }
    });
    own.compare(&least)
}

impl Grower<'_> {
    /// The paths of the nodes that are split if the one whose split lowers the impurity most, to 31
    /// bits, always comes first; of equals the one that was reached first.
    fn turns(&self, rows: &[usize], key: NodeKey, limits: &Limits, max_leaf_nodes: u64) -> BTreeSet<Vec<bool>> {
        let mut turns = BTreeSet::new();
        let mut waiting: Vec<Waiting> = self.waiting(rows, vec![], key, limits).into_iter().collect();
        while (turns.len() as u64) + 1 < max_leaf_nodes && !waiting.is_empty() {
            let highest = waiting.iter().map(|node| node.improvement).fold(f64::NEG_INFINITY, f64::max);
            let first = waiting.iter().position(|node| node.improvement == highest).unwrap();
            let Waiting { path, left, right, key, limits: [left_limits, right_limits], .. } = waiting.remove(first);
            for (rows, side, limits) in [(left, Side::Left, left_limits), (right, Side::Right, right_limits)] {
                let path = [&path[..], &[matches!(side, Side::Right)]].concat();
                waiting.extend(self.waiting(&rows, path, key.child(side), &limits));
            }
            turns.insert(path);
        }
        turns
    }

    /// A node, if it can be split.
    fn waiting(&self, rows: &[usize], path: Vec<bool>, key: NodeKey, limits: &Limits) -> Option<Waiting> {
        let cut = self.split(rows, path.len() as u64, key, limits)?;
        let (left, right) = self.sides(rows, &cut);
        let (cost, decrease) = match self.params.criterion {
            CriterionKind::Entropy | CriterionKind::Poisson => {
                let cost = |rows: &[usize]| self.weight(rows) as f64 * self.impurity(rows);
                (cost(rows), cost(rows) - (cost(&left) + cost(&right)))
            }
            // In floating point, a small decrease of a high cost would not have 31 bits.
            _ => {
                let cost = |rows: &[usize]| self.weighted_impurity(rows);
                let children = cost(&left).plus(&cost(&right));
                let minus = Fraction { numerator: BigInt::from(-1), denominator: BigInt::from(1) };
                (cost(rows).to_f64(), cost(rows).plus(&children.times(&minus)).to_f64())
            }
        };
        let improvement = if decrease > 1e-12 * cost { to_31_bits(decrease) } else { 0.0 };
        let limits = self.limits_below(cut.feature, &left, &right, limits);
        Some(Waiting { improvement, path, left, right, key, limits })
    }

    /// Grows the node of these rows and all below it; returns its id.
    fn grow(&mut self, rows: &[usize], path: &mut Vec<bool>, key: NodeKey, limits: &Limits) -> usize {
        let id = self.nodes.len();
        let mut value = self.value(rows);
        if self.params.monotonic_cst.is_some() {
            match (self.y, &mut value[..]) {
                (Y::Classes { .. }, [first, second]) => {
                    *second = second.clamp(limits.means[0][0], limits.means[0][1]);
                    *first = 1.0 - *second;
                }
                (_, value) => {
                    let limits = &limits.means;
                    value.iter_mut().zip(limits).for_each(|(mean, [low, high])| *mean = mean.clamp(*low, *high));
                }
            }
        }
        self.nodes.push(Node {
            split: None,
            missing_left: false,
            codes_left: vec![],
            n_samples: rows.len(),
            weight: self.weight(rows),
            impurity: self.impurity(rows),
            value,
        });
        let has_a_turn = self.turns.as_ref().is_none_or(|turns| turns.contains(path));
        if has_a_turn && let Some(cut) = self.split(rows, path.len() as u64, key, limits) {
            let (left, right) = self.sides(rows, &cut);
            let [left_limits, right_limits] = self.limits_below(cut.feature, &left, &right, limits);
            // With most of the weight, if there are none.
            let has_missing = rows.iter().any(|&row| self.x[[row, cut.feature]].is_nan());
            self.nodes[id].missing_left =
                if has_missing { cut.missing_left } else { self.weight(&left) > self.weight(&right) };
            if let Some(codes) = &cut.codes {
                let is_here = |code: &u32| rows.iter().any(|&row| self.x[[row, cut.feature]] == f64::from(*code));
                let others = self.weight(&left) > self.weight(&right);
                let goes_left = |code| if is_here(&code) { codes.contains(&code) } else { others };
                self.nodes[id].codes_left = (0..=self.n_categories[cut.feature]).map(goes_left).collect();
            }
            let children = [(left, Side::Left, left_limits), (right, Side::Right, right_limits)];
            let [left, right] = children.map(|(rows, side, limits)| {
                path.push(matches!(side, Side::Right));
                let child = self.grow(&rows, path, key.child(side), &limits);
                path.pop();
                child
            });
            self.nodes[id].split = Some((cut.feature, cut.threshold, left, right));
        }
        id
    }

    /// The split of a node, unless a stop rule makes it a leaf.
    fn split(&self, rows: &[usize], depth: u64, key: NodeKey, limits: &Limits) -> Option<Cut> {
        if self.params.max_depth.is_some_and(|max_depth| depth >= max_depth) {
            return None;
        }
        if rows.len() < self.count(self.params.min_samples_split) {
            return None;
        }
        if rows.iter().all(|&row| self.labels(row) == self.labels(rows[0])) {
            return None;
        }
        let cut = self.best_split(rows, key, limits)?;
        let (left, right) = self.sides(rows, &cut);
        let share = |rows: &[usize]| self.weight(rows) as f64 / self.total_weight as f64;
        let decrease = share(rows) * self.impurity(rows)
            - share(&left) * self.impurity(&left)
            - share(&right) * self.impurity(&right);
        // Only a limit is compared: without one, a split that gains nothing is a split.
        let limit = self.params.min_impurity_decrease;
        if limit > 0.0 && decrease < limit {
            return None;
        }
        Some(cut)
    }

    /// The cheapest legal split; of equals the one whose feature is drawn first, then the one with
    /// missing values on the right, then the lowest threshold.
    fn best_split(&self, rows: &[usize], key: NodeKey, limits: &Limits) -> Option<Cut> {
        let mut best: Option<(Cost, Cut)> = None;
        // In the order of the tie rule, so that only a cheaper split replaces an earlier one.
        for feature in self.drawn_features(rows, key, &limits.above) {
            if !self.may_interact(feature, &limits.above) {
                continue;
            }
            for cut in self.cuts(rows, feature, key) {
                let (left, right) = self.sides(rows, &cut);
                if !self.is_legal(&left, rows.len())
                    || !self.is_legal(&right, rows.len())
                    || self.has_no_counts(&left)
                    || self.has_no_counts(&right)
                    || !self.is_monotonic(feature, &left, &right, limits)
                {
                    continue;
                }
                let cost = self.total_cost(&left, &right);
                if best.as_ref().is_none_or(|best| cost.compare(&best.0) == Ordering::Less) {
                    best = Some((cost, cut));
                }
            }
        }
        best.map(|(_, cut)| cut)
    }

    fn constraint(&self, feature: usize) -> i8 {
        self.params.monotonic_cst.as_ref().map_or(0, |constraints| constraints[feature])
    }

    /// The predictions that have an order.
    fn means(&self, rows: &[usize]) -> Vec<f64> {
        match self.y {
            Y::Classes { .. } => vec![self.value(rows)[1]],
            Y::Numbers { .. } => self.value(rows),
        }
    }

    /// Whether all predictions of both sides are within the limits and in the order that is asked
    /// for.
    fn is_monotonic(&self, feature: usize, left: &[usize], right: &[usize], limits: &Limits) -> bool {
        self.constraint(feature) == 0
            || self.means(left).into_iter().zip(self.means(right)).zip(&limits.means).all(
                |((left, right), [low, high])| {
                    let falls = (right - left) * f64::from(self.constraint(feature)) < 0.0;
                    !falls && low.max(left) == left && low.max(right) == right && left.max(right) <= *high
                },
            )
    }

    /// What is asked of both children: the middle of theirs parts what is below.
    fn limits_below(&self, feature: usize, left: &[usize], right: &[usize], limits: &Limits) -> [Limits; 2] {
        let (mut of_left, mut of_right) = (limits.clone(), limits.clone());
        if self.constraint(feature) != 0 {
            let means = self.means(left).into_iter().zip(self.means(right));
            for ((middle, of_left), of_right) in
                means.map(|(left, right)| left / 2.0 + right / 2.0).zip(&mut of_left.means).zip(&mut of_right.means)
            {
                let (lower, upper) =
                    if self.constraint(feature) > 0 { (of_left, of_right) } else { (of_right, of_left) };
                lower[1] = lower[1].min(middle);
                upper[0] = upper[0].max(middle);
            }
        }
        for limits in [&mut of_left, &mut of_right] {
            limits.above.push(feature);
        }
        [of_left, of_right]
    }

    /// Whether a group has this feature and those above.
    fn may_interact(&self, feature: usize, above: &[usize]) -> bool {
        let has_all = |group: &Vec<u32>| [above, &[feature]].concat().iter().all(|&one| group.contains(&(one as u32)));
        self.params.interaction_cst.as_ref().is_none_or(|groups| groups.iter().any(has_all))
    }

    /// The features that the node draws, in the order of the draw: the first `max_features`,
    /// constant or not, and if those are all constant, more until one is not; or the first
    /// `max_features` that are not constant. What may not interact with those above counts as constant.
    fn drawn_features(&self, rows: &[usize], key: NodeKey, above: &[usize]) -> Vec<usize> {
        let n_features = self.x.ncols();
        let order = key.feature_order(n_features);
        let mut features: Vec<usize> = (0..n_features).collect();
        features.sort_by_key(|&feature| order.position(feature as u32));
        let is_constant = |feature: &usize| {
            let n_values = self.distinct_values(rows, *feature).len();
            n_values + usize::from(self.has_missing(rows, *feature)) == 1 || !self.may_interact(*feature, above)
        };
        let mut n_drawn = self.max_features();
        if self.params.feature_sampling == FeatureSampling::Active {
            features.retain(|feature| !is_constant(feature));
        }
        while n_drawn < features.len() && features[..n_drawn].iter().all(is_constant) {
            n_drawn += 1;
        }
        features.truncate(n_drawn);
        features
    }

    /// The cuts to try, in the order of the tie rule.
    fn cuts(&self, rows: &[usize], feature: usize, key: NodeKey) -> Vec<Cut> {
        if self.n_categories[feature] > 0 {
            return self.orders(rows, feature, key).iter().flat_map(|units| cuts_of(feature, units)).collect();
        }
        let values = self.distinct_values(rows, feature);
        let cut = |missing_left| move |threshold| Cut { feature, threshold, missing_left, codes: None };
        let thresholds = if values.is_empty() { vec![] } else { self.thresholds(&values, feature, key) };
        let mut cuts: Vec<Cut> = thresholds.iter().copied().map(cut(false)).collect();
        if self.has_missing(rows, feature) {
            cuts.extend((!values.is_empty()).then(|| cut(false)(f64::INFINITY)));
            cuts.extend(thresholds.into_iter().map(cut(true)));
        }
        cuts
    }

    /// The categories of a node, NaN among them, by the rows of the whole in which they first
    /// occur; small ones together.
    fn units(&self, rows: &[usize], feature: usize) -> Vec<Vec<f64>> {
        let bits = |row: usize| (self.x[[row, feature]] + 0.0).to_bits();
        let mut units: Vec<Vec<f64>> = Vec::new();
        let (mut seen, mut small) = (BTreeSet::new(), None);
        for first in 0..self.x.nrows() {
            let n = rows.iter().filter(|&&row| bits(row) == bits(first)).count() as u64;
            if n == 0 || !seen.insert(bits(first)) {
                continue;
            }
            let code = self.x[[first, feature]];
            if n >= self.params.min_samples_category {
                units.push(vec![code]);
            } else if let Some(small) = small {
                units[small as usize].push(code);
            } else {
                small = Some(units.len() as u32);
                units.push(vec![code]);
            }
        }
        units
    }

    /// The rows of a group of categories.
    fn rows_of(&self, rows: &[usize], feature: usize, unit: &[f64]) -> Vec<usize> {
        let is_of = |row: &&usize| {
            let value = self.x[[**row, feature]];
            unit.iter().any(|code| *code == value || code.is_nan() && value.is_nan())
        };
        rows.iter().filter(is_of).copied().collect()
    }

    /// The orders of categories to try.
    fn orders(&self, rows: &[usize], feature: usize, key: NodeKey) -> Vec<Vec<Vec<f64>>> {
        let units = self.units(rows, feature);
        if units.len() < 2 {
            return vec![];
        }
        if self.params.splitter == Splitter::Random {
            let first_row = |unit: &Vec<f64>| {
                let is_first = |row: &usize| {
                    let value = self.x[[*row, feature]];
                    value == unit[0] || value.is_nan() && unit[0].is_nan()
                };
                (0..self.x.nrows()).find(is_first).unwrap() as u32
            };
            let numbers: Vec<u64> = units.iter().map(|unit| key.category(feature as u32, first_row(unit))).collect();
            let mut is_right: Vec<bool> = numbers.iter().map(|number| number % 2 == 1).collect();
            if is_right.iter().all(|&one| one == is_right[0]) {
                let least = (0..units.len()).min_by_key(|&unit| numbers[unit]).unwrap();
                is_right[least] = !is_right[least];
            }
            let side = |right: bool| -> Vec<f64> {
                units.iter().zip(&is_right).filter(|pair| *pair.1 == right).flat_map(|pair| pair.0.clone()).collect()
            };
            return vec![vec![side(false), side(true)]];
        }
        let measures = self.measures();
        if measures.len() > 1 && units.len() <= 5 {
            let orders = orders_of_few(units.len());
            return orders.iter().map(|order| order.iter().map(|&unit| units[unit].clone()).collect()).collect();
        }
        let sums: Vec<Vec<(i64, u64)>> = measures
            .iter()
            .map(|measure| {
                let sum = |unit: &Vec<f64>| {
                    let rows = self.rows_of(rows, feature, unit);
                    (rows.iter().map(|&row| measure(row) * self.weights[row] as i64).sum(), self.weight(&rows))
                };
                units.iter().map(sum).collect()
            })
            .collect();
        let is_number = matches!(self.y, Y::Numbers { .. });
        let present: Vec<&Vec<(i64, u64)>> =
            sums.iter().filter(|sums| is_number || sums.iter().any(|sum| sum.0 > 0)).collect();
        let sorted = |compare: &dyn Fn(usize, usize) -> Ordering| {
            let mut order: Vec<usize> = (0..units.len()).collect();
            order.sort_by(|&a, &b| compare(a, b));
            order.into_iter().map(|unit| units[unit].clone()).collect::<Vec<_>>()
        };
        let mean = |(sum, weight): (i64, u64)| Fraction { numerator: sum.into(), denominator: weight.into() };
        let mut orders: Vec<_> =
            present.iter().map(|sums| sorted(&|a, b| mean(sums[a]).compare(&mean(sums[b])))).collect();
        let is_one_of_many = matches!(self.y, Y::Classes { n_classes, .. } if n_classes.len() == 1 && n_classes[0] > 2);
        if is_one_of_many && present.len() > 2 && units.len() > 2 {
            let scores = principal_component(&present);
            orders.push(sorted(&|a, b| scores[a].total_cmp(&scores[b])));
        }
        orders
    }

    /// What categories are ordered by the means of: numbers, or a class against the rest, of two
    /// only the second.
    fn measures(&self) -> Vec<Box<dyn Fn(usize) -> i64 + '_>> {
        let mut measures: Vec<Box<dyn Fn(usize) -> i64 + '_>> = Vec::new();
        for output in 0..self.y.n_outputs() {
            match self.y {
                Y::Classes { n_classes, .. } => {
                    let classes = if n_classes[output] == 2 { 1..2 } else { 0..n_classes[output] };
                    measures.extend(classes.map(|class| {
                        let is_class = move |row| i64::from(self.labels(row)[output] == i64::from(class));
                        Box::new(is_class) as Box<dyn Fn(usize) -> i64 + '_>
                    }));
                }
                Y::Numbers { .. } => measures.push(Box::new(move |row| self.labels(row)[output])),
            }
        }
        measures
    }

    /// The thresholds between values to try, ascending.
    fn thresholds(&self, values: &[f64], feature: usize, key: NodeKey) -> Vec<f64> {
        let (low, high) = (values[0], values[values.len() - 1]);
        match self.params.splitter {
            Splitter::Best => values.windows(2).map(|pair| f64::midpoint(pair[0], pair[1])).collect(),
            Splitter::Random if low == high => vec![],
            Splitter::Random => vec![low + (high - low) * key.threshold_position(feature as u32)],
        }
    }

    fn distinct_values(&self, rows: &[usize], feature: usize) -> Vec<f64> {
        let mut values: Vec<f64> = rows.iter().map(|&row| self.x[[row, feature]]).filter(|v| !v.is_nan()).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    }

    fn has_missing(&self, rows: &[usize], feature: usize) -> bool {
        rows.iter().any(|&row| self.x[[row, feature]].is_nan())
    }

    fn sides(&self, rows: &[usize], cut: &Cut) -> (Vec<usize>, Vec<usize>) {
        rows.iter().partition(|&&row| {
            let value = self.x[[row, cut.feature]];
            match &cut.codes {
                _ if value.is_nan() => cut.missing_left,
                Some(codes) => codes.contains(&(value as u32)),
                None => value <= cut.threshold,
            }
        })
    }

    fn is_legal(&self, child: &[usize], n_rows: usize) -> bool {
        let min_weight = self.params.min_weight_fraction_leaf * self.total_weight as f64;
        let least = (self.params.min_share_leaf * n_rows as f64).ceil() as usize;
        child.len() >= self.count(self.params.min_samples_leaf).max(least) && self.weight(child) as f64 >= min_weight
    }

    /// Whether all targets of an output are 0, where that is forbidden.
    fn has_no_counts(&self, child: &[usize]) -> bool {
        let is_zero = |output: usize| child.iter().all(|&row| self.labels(row)[output] == 0);
        self.params.criterion == CriterionKind::Poisson && (0..self.y.n_outputs()).any(is_zero)
    }

    /// Shares are of all rows, those of weight 0 included.
    fn count(&self, count: Count) -> usize {
        match count {
            Count::Absolute(n) => n as usize,
            Count::Fraction(share) => (share * self.x.nrows() as f64).ceil() as usize,
        }
    }

    fn max_features(&self) -> usize {
        let n = self.x.ncols();
        let drawn = match self.params.max_features {
            MaxFeatures::All => n,
            MaxFeatures::Sqrt => (n as f64).sqrt() as usize,
            MaxFeatures::Log2 => (n as f64).log2() as usize,
            MaxFeatures::Absolute(drawn) => drawn as usize,
            MaxFeatures::Fraction(share) => (share * n as f64) as usize,
        };
        drawn.clamp(1, n)
    }

    fn weight(&self, rows: &[usize]) -> u64 {
        rows.iter().map(|&row| self.weights[row]).sum()
    }

    /// The integer targets of a row, one per output.
    fn labels(&self, row: usize) -> Vec<i64> {
        let n_outputs = self.y.n_outputs();
        let range = row * n_outputs..(row + 1) * n_outputs;
        match self.y {
            Y::Classes { values, .. } => values[range].iter().map(|&class| i64::from(class)).collect(),
            Y::Numbers { values, .. } => values[range].iter().map(|&value| value as i64).collect(),
        }
    }

    /// The weight of each class of an output.
    fn class_weights(&self, rows: &[usize], output: usize) -> Vec<u64> {
        let Y::Classes { n_classes, .. } = self.y else { panic!("a regression target has no classes") };
        let mut class_weights = vec![0; n_classes[output] as usize];
        for &row in rows {
            class_weights[self.labels(row)[output] as usize] += self.weights[row];
        }
        class_weights
    }

    /// The weighted sums of an output and of its square.
    fn moments(&self, rows: &[usize], output: usize) -> (BigInt, BigInt) {
        let weighted =
            |power| rows.iter().map(|&row| self.weights[row] * BigInt::from(self.labels(row)[output]).pow(power)).sum();
        (weighted(1), weighted(2))
    }

    /// What a split into these children costs: their impurities times their weights, summed over
    /// outputs.
    fn total_cost(&self, left: &[usize], right: &[usize]) -> Cost {
        match self.params.criterion {
            CriterionKind::Entropy => Cost::Exact(self.power_of_entropy(left).times(&self.power_of_entropy(right))),
            CriterionKind::Gini
            | CriterionKind::SquaredError
            | CriterionKind::AbsoluteError
            | CriterionKind::Quantile(_) => {
                Cost::Exact(self.weighted_impurity(left).plus(&self.weighted_impurity(right)))
            }
            CriterionKind::Poisson => {
                let pair = |rows, output| (u64::try_from(self.moments(rows, output).0).unwrap(), self.weight(rows));
                let outputs = 0..self.y.n_outputs();
                let mut pairs: Vec<_> = outputs.flat_map(|output| [pair(left, output), pair(right, output)]).collect();
                pairs.sort_unstable();
                Cost::Logs(pairs)
            }
            CriterionKind::LogRank { .. }
            | CriterionKind::LogRankFast { .. }
            | CriterionKind::Effects
            | CriterionKind::Isolation => {
                panic!("no class or number is predicted")
            }
        }
    }

    /// The share of the weight below the quantile, as the simplest fraction that is the level.
    fn level(&self) -> Option<(i64, i64)> {
        let level = match self.params.criterion {
            CriterionKind::AbsoluteError => 0.5,
            CriterionKind::Quantile(level) => level.to_f64(),
            _ => return None,
        };
        let numerator = |denominator: i64| (level * denominator as f64).round() as i64;
        let mut fractions = (1..1 << 20).map(|denominator| (numerator(denominator), denominator));
        let simplest = fractions.find(|&(a, b)| a as f64 / b as f64 == level);
        assert!(simplest.is_some(), "{level} is no simple fraction");
        simplest
    }

    /// The least loss about any target of an output, times the denominator of the level.
    fn least_loss(&self, rows: &[usize], output: usize, (numerator, denominator): (i64, i64)) -> BigInt {
        let loss_about = |point: &usize| -> BigInt {
            let loss = |&row: &usize| {
                let excess = self.labels(row)[output] - self.labels(*point)[output];
                let slope = if excess > 0 { numerator } else { denominator - numerator };
                BigInt::from(self.weights[row]) * excess.abs() * slope
            };
            rows.iter().map(loss).sum()
        };
        rows.iter().map(loss_about).min().unwrap()
    }

    /// The first target at which the share of the weight is met, and the first at which it is
    /// passed, half way.
    fn quantile(&self, rows: &[usize], output: usize, (numerator, denominator): (i64, i64)) -> f64 {
        let mut targets: Vec<i64> = rows.iter().map(|&row| self.labels(row)[output]).collect();
        targets.sort_unstable();
        let share = BigInt::from(self.weight(rows)) * numerator;
        let up_to = |target: i64| {
            let below: Vec<usize> = rows.iter().copied().filter(|&row| self.labels(row)[output] <= target).collect();
            BigInt::from(self.weight(&below)) * denominator
        };
        let met = targets.iter().find(|&&target| up_to(target) >= share).unwrap();
        let passed = targets.iter().find(|&&target| up_to(target) > share).unwrap();
        f64::midpoint(*met as f64, *passed as f64)
    }

    /// Weight times impurity, summed over outputs. Gini: `W (1 - sum (c / W)^2)`. Squared error:
    /// `sum w (y - mean)^2`.
    fn weighted_impurity(&self, rows: &[usize]) -> Fraction {
        if let Some(level) = self.level() {
            let numerator = (0..self.y.n_outputs()).map(|output| self.least_loss(rows, output, level)).sum();
            // The absolute error is twice the loss about the median.
            let denominator = if self.params.criterion == CriterionKind::AbsoluteError { 1 } else { level.1 };
            return Fraction { numerator, denominator: BigInt::from(denominator) };
        }
        let weight = BigInt::from(self.weight(rows));
        let mut numerator = BigInt::ZERO;
        for output in 0..self.y.n_outputs() {
            numerator += match self.params.criterion {
                CriterionKind::Gini => {
                    let squares: BigInt =
                        self.class_weights(rows, output).into_iter().map(|c| BigInt::from(c).pow(2)).sum();
                    weight.pow(2) - squares
                }
                CriterionKind::SquaredError => {
                    let (sum, squares) = self.moments(rows, output);
                    &weight * squares - sum.pow(2)
                }
                CriterionKind::Entropy | CriterionKind::Poisson => panic!("logarithms are compared by their powers"),
                CriterionKind::AbsoluteError | CriterionKind::Quantile(_) => panic!("these have a level"),
                CriterionKind::LogRank { .. }
                | CriterionKind::LogRankFast { .. }
                | CriterionKind::Effects
                | CriterionKind::Isolation => {
                    panic!("no class or number is predicted")
                }
            };
        }
        Fraction { numerator, denominator: weight }
    }

    /// 2 to the power of weight times entropy, summed over outputs: the product of `W^W / product
    /// of c^c`.
    fn power_of_entropy(&self, rows: &[usize]) -> Fraction {
        let self_power = |count: u64| BigInt::from(count).pow(count as u32);
        let mut power = Fraction { numerator: BigInt::from(1), denominator: BigInt::from(1) };
        for output in 0..self.y.n_outputs() {
            power.numerator *= self_power(self.weight(rows));
            for count in self.class_weights(rows, output) {
                power.denominator *= self_power(count);
            }
        }
        power
    }

    /// The impurity, averaged over outputs.
    fn impurity(&self, rows: &[usize]) -> f64 {
        let (weight, n_outputs) = (self.weight(rows), self.y.n_outputs());
        match self.params.criterion {
            CriterionKind::Gini
            | CriterionKind::SquaredError
            | CriterionKind::AbsoluteError
            | CriterionKind::Quantile(_) => {
                let divisor =
                    Fraction { numerator: BigInt::from(1), denominator: BigInt::from(weight * n_outputs as u64) };
                self.weighted_impurity(rows).times(&divisor).to_f64()
            }
            CriterionKind::Entropy => {
                let bits = |count: u64| {
                    let [share, rest] = [count, weight - count].map(|count| count as f64 / weight as f64);
                    match share {
                        0.0 => 0.0,
                        // The logarithm of what is nearly 1.
                        0.5.. => share * -(-rest).ln_1p() * std::f64::consts::LOG2_E,
                        _ => share * (1.0 / share).log2(),
                    }
                };
                let entropy = |output| self.class_weights(rows, output).into_iter().map(bits).sum::<f64>();
                (0..n_outputs).map(entropy).sum::<f64>() / n_outputs as f64
            }
            CriterionKind::Poisson => {
                if self.has_no_counts(rows) {
                    return f64::INFINITY;
                }
                let deviance = |output: usize| {
                    let sum = rows.iter().map(|&row| self.weights[row] * self.labels(row)[output] as u64).sum::<u64>();
                    let term = |&row: &usize| {
                        let y = self.labels(row)[output] as i128;
                        // By how much the target differs from the mean, in means.
                        let difference = (y * i128::from(weight) - i128::from(sum)) as f64 / sum as f64;
                        self.weights[row] as f64 * unit_deviance(difference)
                    };
                    let mean = sum as f64 / weight as f64;
                    mean * rows.iter().map(term).sum::<f64>() / weight as f64
                };
                (0..n_outputs).map(deviance).sum::<f64>() / n_outputs as f64
            }
            CriterionKind::LogRank { .. }
            | CriterionKind::LogRankFast { .. }
            | CriterionKind::Effects
            | CriterionKind::Isolation => {
                panic!("no class or number is predicted")
            }
        }
    }

    fn value(&self, rows: &[usize]) -> Vec<f64> {
        let weight = self.weight(rows);
        let mut value = Vec::new();
        for output in 0..self.y.n_outputs() {
            match self.y {
                Y::Classes { n_classes, .. } => {
                    let mut shares: Vec<f64> =
                        self.class_weights(rows, output).into_iter().map(|c| c as f64 / weight as f64).collect();
                    shares.resize(n_classes.iter().copied().max().unwrap() as usize, 0.0);
                    value.extend(shares);
                }
                Y::Numbers { .. } => value.push(if let Some(level) = self.level() {
                    self.quantile(rows, output, level)
                } else {
                    let (numerator, _) = self.moments(rows, output);
                    Fraction { numerator, denominator: BigInt::from(weight) }.to_f64()
                }),
            }
        }
        value
    }
}

/// Half the Poisson deviance of a target that is 1 + `difference` times the mean, over the mean: the terms
/// `y log y - y + 1`, whose sum over samples is that of `y log y`, and which do not cancel.
fn unit_deviance(difference: f64) -> f64 {
    if difference.abs() < 0.25 {
        // The series of (1 + d) log(1 + d) - d.
        return (2..60).rev().map(|k| (-difference).powi(k) / f64::from(k * (k - 1))).sum();
    }
    let target = 1.0 + difference;
    if target == 0.0 { 1.0 } else { target * target.ln() - difference }
}
