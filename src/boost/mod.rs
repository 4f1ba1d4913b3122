//! Gradient boosting: trees that are grown one after the other, each on the negative gradient of a loss
//! (J. Friedman, "Greedy function approximation: a gradient boosting machine", Annals of Statistics 29,
//! 2001; "Stochastic gradient boosting", Computational Statistics & Data Analysis 38, 2002).
//!
//! A raw prediction is a start plus the learning rate times the sum of leaves. The data are encoded once
//! for all rounds; a round gives the trees new targets, which share weights and fixed point.

mod bins;
mod bundles;
mod by_rows;
mod cox;
mod dropout;
mod exact;
#[cfg(test)]
mod examples;
mod fixed;
mod gradients;
mod growth;
mod histogram;
mod leaves;
mod loss;
mod newton;
mod objective;
mod orders;
mod search;
mod slopes;

use std::borrow::Cow;
use std::sync::Arc;

pub use cox::RiskSets;
pub use loss::Loss;
pub use objective::{Objective, Predicted};

use crate::data::target::Weights;
use crate::data::{Columns, Dataset, Target};
use crate::error::{Error, Result};
use crate::forest::{KnownRows, Member, grow_tree_of};
use crate::params::{ValidForestParams, ValidTreeParams};
use crate::runtime::Runtime;
use crate::tree::packed::PackedTree;
use crate::tree::{TREE_LEAF, Tree};
use bins::Bins;
use growth::Grown;
use leaves::RowsByNode;
use loss::LeafRows;
use newton::{Derivatives, Regularization};
use objective::Curvatures;
use orders::{Halves, Orders};

/// Fewer cells than this are one thread's work: to start others takes longer than a round
/// (`benches/peers/boosting.py`).
const SPREAD_FROM_CELLS: usize = 1 << 17;

/// The state of boosting between two rounds.
pub struct Rounds {
    data: Dataset,
    /// The weights; its numbers are new in each round.
    target: Target,
    params: ValidForestParams,
    /// If trees of these data can be grown on bins.
    bins: Option<Bins>,
    /// The rows, if each tree orders categories by half of them.
    known: Option<Arc<KnownRows>>,
    /// The features of these categories, if trees are grown by second derivatives.
    halves: Option<Halves>,
    settings: Settings,
    /// The target of each row, or the number of its class.
    y: Vec<f64>,
    /// The weights of the rows as numbers; `None` if all are 1.
    weights: Option<Vec<f64>>,
    /// What raw predictions begin with, the sums of the leaves, and raw predictions: row-major
    /// `(n_samples, n_raw)`.
    start: Vec<f64>,
    sums: Vec<f64>,
    raw: Vec<f64>,
    /// Negative gradients at the raw predictions, by tree, if losses have asked for them.
    pulls: Option<Vec<Vec<f64>>>,
    /// The residual from which on Huber's loss is absolute.
    delta: f64,
    members: Vec<Member>,
}

/// What boosting lowers, and how.
pub struct Settings {
    /// What is lowered.
    pub objective: Objective,
    /// What leaves are multiplied by.
    pub learning_rate: f64,
    /// If splits and leaves use second derivatives: what is added to the sums of these.
    pub l2: Option<f64>,
    /// The most bins of a column, if cuts within bins are left out.
    pub max_bins: Option<usize>,
    /// The chance of each earlier round to be dropped while a round is grown.
    pub dropout_rate: f64,
}

/// The rows that the trees of a round are grown on.
struct Bag {
    /// Has their weights.
    target: Target,
    /// As [`Rounds::known`].
    known: Option<Arc<KnownRows>>,
}

/// What the rounds of one call need besides the state.
pub struct Draw<'a> {
    /// A seed for each tree of the round.
    pub seeds: &'a [u64],
    /// Whether the trees are grown on a row; all if not given.
    pub in_bag: Option<&'a [bool]>,
    /// Whether losses are asked for. They take a logarithm a row for some losses.
    pub has_losses: bool,
}

/// Mean losses: of the rows out of bag before the round, then of the rows in bag and of those out of
/// bag after it. NaN where there are no such rows, and where they are not asked for.
pub type RoundLosses = [f64; 3];

impl Settings {
    /// Whether trees are grown by first and second derivatives, which also serves groups of features.
    fn needs_newton(&self, params: &ValidTreeParams) -> bool {
        self.l2.is_some() || params.interaction_cst.is_some() || self.max_bins.is_some()
    }
}

impl Rounds {
    /// Begins with raw predictions, `start` plus the learning rate times `sums` of leaves, both row-major
    /// `(n_samples, n_raw)`. `target` has the weights. `members` are the trees of earlier rounds, which
    /// dropout needs.
    pub fn new(
        (data, target): (Dataset, Target),
        params: ValidForestParams,
        settings: Settings,
        y: Vec<f64>,
        (start, sums): (Vec<f64>, Vec<f64>),
        members: Vec<Member>,
        runtime: &Runtime<'_>,
    ) -> Result<Self> {
        let n = data.n_samples();
        let n_raw = n * settings.objective.n_raw();
        if y.len() != n || start.len() != n_raw || sums.len() != n_raw || target.n_samples() != n {
            return Err(Error::ShapeMismatch {
                what: "the raw predictions",
                expected: format!("{n} rows of {} numbers", settings.objective.n_raw()),
                got: format!("{} and {} numbers", start.len(), sums.len()),
            });
        }
        let weights = match target.weights() {
            Weights::Unit => None,
            weights => Some((0..n).map(|row| weights.get(row) as f64).collect()),
        };
        let is_newton = settings.needs_newton(params.tree());
        let data = data.identified(&target, None, runtime)?.into_owned();
        // Of sparse data, `grow` is quicker unless nodes are split best first (`benches/peers/boosting.py`).
        let pays = matches!(data.columns(), Columns::Dense(_)) || params.tree().max_leaf_nodes.is_some();
        let needs_bins = is_newton || (pays && exact::may_serve(&data, params.tree()));
        let min_leaf = params.tree().min_samples_leaf;
        let bins =
            if needs_bins { Bins::of((&data, target.weights()), settings.max_bins, min_leaf, runtime)? } else { None };
        if is_newton && bins.is_none() {
            let (got, expected) =
                ("values for random thresholds".into(), "ranks, which second derivatives need".into());
            return Err(Error::InvalidArgument { name: "the encoding of the data", got, expected });
        }
        let most = params.most_ordered_by_node().filter(|&most| data.features_with_more(most).next().is_some());
        let known = match most {
            Some(most) => Some(Arc::new(KnownRows::new(&data, None, &target, most, runtime)?)),
            None => None,
        };
        let halves = match (&bins, most) {
            (Some(bins), Some(most)) if is_newton => Some(Halves::of(&data, bins, most)),
            _ => None,
        };
        let raw = vec![0.0; n_raw];
        // As in scikit-learn, losses before the first round know no residuals.
        let delta = 0.5;
        let pulls = None;
        let mut rounds = Self {
            data,
            target,
            params,
            bins,
            known,
            halves,
            settings,
            y,
            weights,
            start,
            sums,
            raw,
            pulls,
            delta,
            members,
        };
        rounds.predict_raw(runtime)?;
        Ok(rounds)
    }

    /// The trees that have been grown since this was called last, or all trees if some of them are dropped
    /// and rescaled: round by round, with those of each raw prediction in turn.
    pub fn take_members(&mut self) -> Vec<Member> {
        if self.settings.dropout_rate > 0.0 { self.members.clone() } else { std::mem::take(&mut self.members) }
    }

    /// Grows the trees of one round.
    pub fn advance(&mut self, draw: &Draw<'_>, runtime: &Runtime<'_>) -> Result<RoundLosses> {
        let n_cells = self.data.n_samples().saturating_mul(self.data.n_features());
        if n_cells < SPREAD_FROM_CELLS {
            return self.grow_round(draw, &runtime.serial());
        }
        runtime.inside(|| self.grow_round(draw, runtime))
    }

    fn grow_round(&mut self, draw: &Draw<'_>, runtime: &Runtime<'_>) -> Result<RoundLosses> {
        let n_raw = self.settings.objective.n_raw();
        if draw.seeds.len() != n_raw || draw.in_bag.is_some_and(|in_bag| in_bag.len() != self.y.len()) {
            let (what, got) = ("the draws of a round", format!("{} seeds", draw.seeds.len()));
            return Err(Error::ShapeMismatch { what, expected: format!("{n_raw} seeds and a bool per row"), got });
        }
        let out_of_bag = draw.in_bag.filter(|_| draw.has_losses);
        let mean_loss_out_of_bag =
            |rounds: &Self| out_of_bag.map_or(f64::NAN, |in_bag| rounds.mean_loss(|row| !in_bag[row]));
        self.prepare_losses(draw, runtime)?;
        let before = mean_loss_out_of_bag(self);
        let dropped = self.drop_rounds(draw.seeds[0], runtime)?;
        if let Objective::Rows(Loss::Huber { level }) = self.settings.objective {
            let rows = self.target.weighted_samples();
            let all = LeafRows { rows: &rows, ..self.leaf_rows(&[]) };
            self.delta = all.quantile(level, |row| (self.y[row] - self.raw[row]).abs());
        }
        let bag = match draw.in_bag {
            None => Bag { target: self.target.clone(), known: self.known.clone() },
            Some(in_bag) => {
                let counts: Vec<u32> = in_bag.iter().map(|&is_in| u32::from(is_in)).collect();
                let target = self.target.reweighted(&counts)?;
                let known = self.known.as_ref().map(|known| Arc::new(known.reweighted(&target)));
                Bag { target, known }
            }
        };
        let pulls = match self.pulls.take() {
            Some(pulls) => pulls,
            None => self.settings.objective.pulls(self.predicted(), runtime)?,
        };
        for (tree, (pulls, &seed)) in pulls.iter().zip(draw.seeds).enumerate() {
            self.grow(tree, pulls, &bag, (seed, dropped.share()), runtime)?;
        }
        self.put_back(&dropped)?;
        self.predict_raw(runtime)?;
        self.prepare_losses(draw, runtime)?;
        let is_in = |row: usize| draw.in_bag.is_none_or(|in_bag| in_bag[row]);
        let after = if draw.has_losses { self.mean_loss(is_in) } else { f64::NAN };
        Ok([before, after, mean_loss_out_of_bag(self)])
    }

    /// Grows the tree of one raw prediction, and adds its leaves, times `share`, to the sums.
    fn grow(
        &mut self,
        tree: usize,
        pulls: &[f64],
        bag: &Bag,
        (seed, share): (u64, f64),
        runtime: &Runtime<'_>,
    ) -> Result<()> {
        let params = self.params.with_seed(seed);
        let Grown { tree: grown, rows, leaf_numbers } = self.grow_structure(tree, pulls, bag, &params, runtime)?;
        let knows_values = self.settings.l2.is_some() && self.settings.objective.has_curvature();
        let has_all_rows = rows.len() == self.y.len();
        let by_node = if has_all_rows {
            RowsByNode::of_grown(rows, &grown, !knows_values)
        } else {
            RowsByNode::new(&self.data, &grown, runtime)?
        };
        let leaf_value = |node: usize| {
            if knows_values {
                return grown.nodes().value[node];
            }
            let of_node = by_node.of(node);
            let rows = match bag.target.weights() {
                Weights::Unit => Cow::Borrowed(of_node),
                weights => of_node.iter().copied().filter(|&row| weights.is_positive(row as usize)).collect(),
            };
            self.settings.objective.leaf_value(&LeafRows { rows: &rows, ..self.leaf_rows(pulls) }, tree, self.delta)
        };
        let mut values = leaf_values(&grown, &params, leaf_value);
        for value in &mut values {
            *value *= share;
        }
        let n_raw = self.settings.objective.n_raw();
        let leaves = leaves_of(&grown).map(|node| (by_node.of(node), values[node]));
        if has_all_rows {
            let leaves = leaves.filter_map(|(rows, value)| Some((*rows.first()?, value)));
            let of_number = values_by_number(leaves, &leaf_numbers);
            by_rows::for_each_part(&mut self.sums, n_raw, runtime, |first, sums| {
                let rows = sums.chunks_exact_mut(n_raw).zip(&leaf_numbers[first..]);
                rows.for_each(|(sums, &number)| sums[tree] += of_number[number as usize]);
            })?;
        } else {
            for (rows, value) in leaves {
                for &row in rows {
                    self.sums[row as usize * n_raw + tree] += value;
                }
            }
        }
        let packed = PackedTree::new(&grown.with_numbers(values, 1)?, self.target.weight_unit());
        self.members.push(Member { tree: Arc::new(packed), seed });
        Ok(())
    }

    /// Grows a tree whose leaves may not have their values yet.
    fn grow_structure(
        &self,
        tree: usize,
        pulls: &[f64],
        bag: &Bag,
        params: &ValidForestParams,
        runtime: &Runtime<'_>,
    ) -> Result<Grown> {
        let settings = &self.settings;
        let by_columns = |target: &Target| {
            let tree = grow_tree_of(&self.data, target, bag.known.clone(), params, runtime)?;
            Ok(Grown::without_rows(tree))
        };
        let Some(bins) = &self.bins else {
            return by_columns(&bag.target.refilled(pulls)?);
        };
        if !settings.needs_newton(params.tree()) {
            let target = bag.target.refilled(pulls)?;
            let grown = exact::grow(&self.data, bins, &target, params.tree(), runtime)?;
            return grown.map_or_else(|| by_columns(&target), Ok);
        }
        let curvatures = match settings.l2 {
            Some(_) => settings.objective.curvatures(self.predicted(), tree, pulls, runtime)?,
            None => Curvatures::Same(1.0),
        };
        let derivatives = Derivatives { pulls, curvatures: &curvatures };
        let (l2, reads_bins) = (settings.l2.unwrap_or(0.0), settings.max_bins.is_none());
        let seed = params.tree().seed;
        let orders = match (&self.halves, &bag.known) {
            (Some(halves), Some(known)) => {
                halves.orders((&self.data, bins, known), &derivatives, (l2, seed), runtime)?
            }
            _ => Orders::new(),
        };
        let regularization = Regularization { l2, reads_bins, orders: &orders };
        newton::grow((&self.data, bins), (&bag.target, &derivatives), params.tree(), regularization, runtime)
    }

    fn leaf_rows<'a>(&'a self, pulls: &'a [f64]) -> LeafRows<'a> {
        LeafRows { rows: &[], y: &self.y, raw: &self.raw, pulls, weights: self.weights.as_deref() }
    }

    fn predict_raw(&mut self, runtime: &Runtime<'_>) -> Result<()> {
        self.pulls = None;
        let Self { raw, start, sums, settings, .. } = self;
        by_rows::for_each_part(raw, settings.objective.n_raw(), runtime, |first, raw| {
            let first = first * settings.objective.n_raw();
            for ((raw, start), sum) in raw.iter_mut().zip(&start[first..]).zip(&sums[first..]) {
                *raw = start + settings.learning_rate * sum;
            }
        })
    }

    /// Computes the negative gradients of the next round now, if losses are asked for and follow from them.
    fn prepare_losses(&mut self, draw: &Draw<'_>, runtime: &Runtime<'_>) -> Result<()> {
        if draw.has_losses && self.pulls.is_none() && self.settings.objective.has_loss_by_pulls() {
            self.pulls = Some(self.settings.objective.pulls(self.predicted(), runtime)?);
        }
        Ok(())
    }

    fn predicted(&self) -> Predicted<'_> {
        Predicted { y: &self.y, raw: &self.raw, weights: self.weights.as_deref(), delta: self.delta }
    }

    /// The residual from which on Huber's loss is absolute.
    pub fn delta(&self) -> f64 {
        self.delta
    }

    /// The weighted mean of the loss of some rows.
    fn mean_loss(&self, counts: impl Fn(usize) -> bool) -> f64 {
        self.settings.objective.mean_loss(self.predicted(), self.pulls.as_deref(), counts)
    }
}

/// Chooses `n_in_bag` of some rows, given a number in [0, 1) for each, as scikit-learn does (selection
/// sampling: Knuth, "The Art of Computer Programming", volume 2, section 3.4.2).
pub fn choose_rows(uniform: &[f64], n_in_bag: usize) -> Vec<bool> {
    let mut n_chosen = 0;
    let choose = |(row, &number): (usize, &f64)| {
        let is_chosen = number * ((uniform.len() - row) as f64) < n_in_bag.saturating_sub(n_chosen) as f64;
        n_chosen += usize::from(is_chosen);
        is_chosen
    };
    uniform.iter().enumerate().map(choose).collect()
}

fn leaves_of(tree: &Tree) -> impl Iterator<Item = usize> + '_ {
    (0..tree.node_count()).filter(|&node| tree.nodes().children_left[node] == TREE_LEAF)
}

/// The values of leaves by their numbers, given a row of each leaf and its value, and the number of each row.
fn values_by_number(leaves: impl Iterator<Item = (u32, f64)>, leaf_numbers: &[u32]) -> Vec<f64> {
    let mut values = Vec::new();
    for (row, value) in leaves {
        let number = leaf_numbers[row as usize] as usize;
        if number >= values.len() {
            values.resize(number + 1, 0.0);
        }
        values[number] = value;
    }
    values
}

/// The values of all nodes: those of leaves by `value`, within what monotonic constraints leave to them;
/// those of splits stay means of the gradient.
///
/// Where a split has a constraint, the mean of what its children would add parts what their leaves may
/// add, so that no leaf on the one side is below one on the other.
fn leaf_values(tree: &Tree, params: &ValidForestParams, value: impl Fn(usize) -> f64) -> Vec<f64> {
    let nodes = tree.nodes();
    let mut values = nodes.value.clone();
    if params.tree().monotonic_cst.is_none() {
        leaves_of(tree).for_each(|node| values[node] = value(node));
        return values;
    }
    let mut bounds = vec![(f64::NEG_INFINITY, f64::INFINITY); tree.node_count()];
    for node in 0..tree.node_count() {
        let (least, most) = bounds[node];
        if nodes.children_left[node] == TREE_LEAF {
            values[node] = value(node).clamp(least, most);
            continue;
        }
        let [left, right] = [nodes.children_left[node], nodes.children_right[node]].map(|child| child as usize);
        let constraint = params.tree().constraint(nodes.feature[node] as u32);
        if constraint == 0 {
            (bounds[left], bounds[right]) = ((least, most), (least, most));
            continue;
        }
        let middle = (value(left) / 2.0 + value(right) / 2.0).clamp(least, most);
        let (lower, upper) = if constraint > 0 { (left, right) } else { (right, left) };
        (bounds[lower], bounds[upper]) = ((least, middle), (middle, most));
    }
    values
}
