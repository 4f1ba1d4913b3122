//! Importances of features by the rows that trees have not seen.
//!
//! If a column is permuted among the rows that a tree has not seen, a row can change its leaf only if it
//! meets the column on its path, and it is sent on from the first split on the column. So the cost follows
//! the depth of the trees, not the number of columns. All columns are permuted alike, by one permutation per
//! tree and repeat.
//!
//! Scores of trees are means over rows, and are added up here. Scores of the forest are any
//! function of its predictions out of bag, which `oob_scores` has for permuted columns.

use std::cell::Cell;

use crate::data::Matrix;
use crate::data::rows::{Reader, Row, Rows, for_each_row};
use crate::error::{Error, Result};
use crate::forest::{Forest, Member, RowSampler};
use crate::memory;
use crate::rng::NodeKey;
use crate::runtime::Runtime;
use crate::tree::descent::blocks::check_features;
use crate::tree::{TREE_LEAF, Tree};

/// The loss of a prediction, as a mean over outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// 1 if the class of the largest share is wrong.
    Wrong,
    /// The sum over the classes of squared differences of shares.
    Brier,
    /// The squared difference of numbers.
    Squared,
    /// The absolute difference of numbers.
    Absolute,
}

/// The rows that were drawn from, and their targets.
#[derive(Clone, Copy)]
pub struct Training<'a> {
    /// The training rows; their numbers are the sampler's.
    pub x: &'a dyn Matrix,
    /// Classes as numbers, or numbers. Row-major `(n_samples, n_outputs)`.
    pub y: &'a [f64],
    /// The sampler that has drawn the rows of the trees.
    pub sampler: &'a RowSampler,
    /// By row, whether it is asked for; `None` asks for all. Others are taken for seen.
    pub asked: Option<&'a [bool]>,
}

/// How columns are permuted.
#[derive(Clone, Copy)]
pub struct Permutations<'a> {
    /// The group of each feature; the columns of a group are permuted together. Features of groups
    /// from `n_groups` on are left as they are.
    pub groups: &'a [u32],
    /// Number of groups that are permuted.
    pub n_groups: usize,
    /// How often the columns of a group are permuted.
    pub n_repeats: usize,
    /// The seed, with which each tree and repeat has its own permutation.
    pub seed: u64,
}

/// By how much the mean loss of a tree grows if the columns of a group are permuted among the rows
/// that it has not seen; the mean over the trees that have such rows, NaN if there are none.
/// Row-major `(n_groups, n_repeats)`. The runtime counts trees.
pub fn permutation_importances(
    forest: &Forest,
    training: Training<'_>,
    loss: Loss,
    permutations: Permutations<'_>,
    runtime: &Runtime<'_>,
) -> Result<Vec<f64>> {
    let rows = check(forest, &training)?;
    let len = permutations.n_groups.saturating_mul(permutations.n_repeats);
    let mut sums: Vec<f64> = memory::zeros(RESULT, len)?;
    let mut n_trees = 0;
    let members: Vec<(usize, &Member)> = forest.members().iter().enumerate().collect();
    for members in members.chunks(4 * runtime.n_threads()) {
        let of_trees = runtime.map(members.to_vec(), |(number, member)| {
            let unseen = unseen(&training, member, runtime)?;
            let importances = if unseen.is_empty() {
                None
            } else {
                let tree = Unseen { tree: &member.tree.unpack()?, rows: &unseen, training: &training };
                Some(tree.permuted(rows, loss, &permutations, number as u64, runtime)?)
            };
            runtime.advance();
            Ok(importances)
        })?;
        for importances in of_trees.into_iter().flatten() {
            n_trees += 1;
            sums.iter_mut().zip(importances).for_each(|(sum, importance)| *sum += importance);
        }
    }
    let n_trees = f64::from(n_trees);
    Ok(sums.into_iter().map(|sum| sum / n_trees).collect())
}

/// The decrease of impurity by the splits on each feature, by the rows that each tree has not seen.
/// At a split, it is the sum over these rows of the products of two differences: of the predictions
/// of the child and of the split, and of the row's target and the mean target of such rows at the
/// split. The sums are divided by the number of rows. Row-major `(n_trees, n_features)`; NaN for a
/// tree that has seen all rows. The runtime counts trees.
///
/// Li et al. ("A debiased MDI feature importance measure for random forests", 2019) take the target
/// as it is. Then a split on noise that sends other shares of these rows to its children than of the
/// rows that it was chosen by multiplies the difference by the mean target, so that noise seems to do
/// harm. Less their mean, the targets say nothing where the feature says nothing.
pub fn impurity_importances(forest: &Forest, training: Training<'_>, runtime: &Runtime<'_>) -> Result<Vec<f64>> {
    let rows = check(forest, &training)?;
    let n_features = forest.n_features();
    let mut importances = memory::zeros(RESULT, n_features.saturating_mul(forest.len()))?;
    let parts = forest.members().iter().zip(importances.chunks_mut(n_features.max(1))).collect();
    runtime.map(parts, |(member, importances): (&Member, &mut [f64])| {
        let unseen = unseen(&training, member, runtime)?;
        if unseen.is_empty() {
            importances.fill(f64::NAN);
        } else {
            let tree = Unseen { tree: &member.tree.unpack()?, rows: &unseen, training: &training };
            tree.add_decreases(rows, importances, runtime)?;
        }
        runtime.advance();
        Ok(())
    })?;
    Ok(importances)
}

/// The name of the memory for results, in errors.
pub(super) const RESULT: &str = "importances";

fn check<'x>(forest: &Forest, training: &Training<'x>) -> Result<&'x dyn Rows> {
    let rows = check_rows(forest, training)?;
    let expected = rows.shape().0 * forest.n_outputs();
    if training.y.len() != expected {
        let got = format!("{} targets", training.y.len());
        return Err(Error::ShapeMismatch { what: "y", expected: format!("{expected} targets"), got });
    }
    Ok(rows)
}

pub(super) fn check_rows<'x>(forest: &Forest, training: &Training<'x>) -> Result<&'x dyn Rows> {
    let n_samples = check_features(training.x.shape(), forest.n_features())?;
    let expected = training.sampler.n_samples();
    if n_samples != expected {
        return Err(Error::ShapeMismatch {
            what: "X",
            expected: format!("{expected} rows, as many as were drawn from"),
            got: format!("{n_samples} rows"),
        });
    }
    if let Some(asked) = training.asked
        && asked.len() != n_samples
    {
        let (expected, got) = (format!("{n_samples} rows"), format!("{} rows", asked.len()));
        return Err(Error::ShapeMismatch { what: "asked", expected, got });
    }
    training.x.rows()
}

/// The rows that a tree has not seen, of those that are asked for.
pub(super) fn unseen(training: &Training<'_>, member: &Member, runtime: &Runtime<'_>) -> Result<Vec<u32>> {
    runtime.check_interrupt()?;
    let unseen = training.sampler.unseen(member.seed, runtime)?;
    let is_asked = |&row: &u32| training.asked.is_none_or(|asked| asked[row as usize]);
    Ok(unseen.map_or_else(Vec::new, |rows| rows.iter().filter(is_asked).collect()))
}

/// A row that reaches another leaf if it takes some of its values from another row.
pub(super) struct Change {
    pub row: u32,
    /// The leaf that it reaches with its own values.
    pub leaf: usize,
    pub group: usize,
    pub repeat: usize,
    pub reached: usize,
}

/// A tree and the rows that it has not seen.
pub(super) struct Unseen<'a> {
    pub tree: &'a Tree,
    pub rows: &'a [u32],
    pub training: &'a Training<'a>,
}

impl Unseen<'_> {
    /// The mean growth of the loss. Row-major `(n_groups, n_repeats)`.
    fn permuted(
        &self,
        rows: &dyn Rows,
        loss: Loss,
        permutations: &Permutations<'_>,
        number: u64,
        runtime: &Runtime<'_>,
    ) -> Result<Vec<f64>> {
        let &Permutations { groups, n_groups, n_repeats, seed } = permutations;
        let mut growth: Vec<f64> = memory::zeros(RESULT, n_groups * n_repeats)?;
        let donors: Vec<Vec<u32>> = (0..n_repeats as u64)
            .map(|repeat| shuffled(self.rows, NodeKey::root(seed, number * n_repeats as u64 + repeat)))
            .collect();
        let loss_of = |row: u32, leaf: usize| loss.of(self.tree, leaf, self.target(row));
        let before = Cell::new(0.0);
        self.reroute(
            rows,
            (groups, n_groups),
            &donors,
            runtime,
            |row, leaf| before.set(loss_of(row, leaf)),
            |change| {
                growth[change.group * n_repeats + change.repeat] += loss_of(change.row, change.reached) - before.get();
            },
        )?;
        let n_rows = self.rows.len() as f64;
        for growth in &mut growth {
            *growth /= n_rows;
        }
        Ok(growth)
    }

    /// Calls `own_leaf` for each row with the leaf that it reaches, and then `changed` whenever it
    /// reaches another one with the values of another row for the features of a group. `donors` has
    /// these rows, by repeat and then in the order of `rows`.
    pub(super) fn reroute(
        &self,
        rows: &dyn Rows,
        (groups, n_groups): (&[u32], usize),
        donors: &[Vec<u32>],
        runtime: &Runtime<'_>,
        mut own_leaf: impl FnMut(u32, usize),
        mut changed: impl FnMut(Change),
    ) -> Result<()> {
        let (mut own, mut other) = (self.reader(rows)?, self.reader(rows)?);
        let group_of = |feature: u32| groups[feature as usize] as usize;
        let mut sizes: Vec<u32> = memory::zeros(RESULT, n_groups)?;
        for &group in groups.iter().filter(|&&group| (group as usize) < n_groups) {
            sizes[group as usize] += 1;
        }
        let is_alone: Vec<bool> = sizes.iter().map(|&size| size == 1).collect();
        // The row, counted from 1, that has met a group last.
        let mut met: Vec<u32> = memory::zeros(RESULT, n_groups)?;
        let mut firsts = Vec::new();
        for (turn, &row) in self.rows.iter().enumerate() {
            runtime.check_interrupt()?;
            let cells = own.row(row as usize);
            firsts.clear();
            let leaf = descend(
                self.tree,
                0,
                |feature| value(cells, feature),
                |node| {
                    let group = group_of(self.tree.nodes().feature[node] as u32);
                    if group < n_groups && met[group] != turn as u32 + 1 {
                        met[group] = turn as u32 + 1;
                        firsts.push((group, node));
                    }
                },
            );
            own_leaf(row, leaf);
            for (repeat, donors) in donors.iter().enumerate() {
                if donors[turn] == row {
                    continue;
                }
                let given = other.row(donors[turn] as usize);
                for &(group, node) in &firsts {
                    let feature = self.tree.nodes().feature[node] as u32;
                    let is_same = || {
                        let (old, new) = (value(cells, feature), value(given, feature));
                        old == new || old.is_nan() && new.is_nan()
                    };
                    if is_alone[group] && is_same() {
                        continue;
                    }
                    let is_given = |feature: u32| group_of(feature) == group;
                    let cell = |feature: u32| value(if is_given(feature) { given } else { cells }, feature);
                    let reached = descend(self.tree, node, cell, |_| ());
                    if reached != leaf {
                        changed(Change { row, leaf, group, repeat, reached });
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds the mean decreases of impurity. O(rows * depth + nodes * values).
    fn add_decreases(&self, rows: &dyn Rows, decreases: &mut [f64], runtime: &Runtime<'_>) -> Result<()> {
        let mut reader = self.reader(rows)?;
        let nodes = self.tree.nodes();
        let root = self.tree.value(0);
        let (n_classes, width, n_values) = (self.tree.n_classes(), self.tree.max_n_classes(), root.len());
        // By node: its rows, and the sums of their targets, less what the root predicts.
        let mut n_rows: Vec<u32> = memory::zeros(RESULT, self.tree.node_count())?;
        let mut sums: Vec<f64> = memory::zeros(RESULT, self.tree.node_count() * n_values)?;
        for &row in self.rows {
            runtime.check_interrupt()?;
            let cells = reader.row(row as usize);
            let leaf = descend(self.tree, 0, |feature| value(cells, feature), |_| ());
            n_rows[leaf] += 1;
            let sums = sums[leaf * n_values..][..n_values].chunks_exact_mut(width);
            for ((sums, root), (&y, &n)) in
                sums.zip(root.chunks_exact(width)).zip(self.target(row).iter().zip(n_classes))
            {
                for (class, (sum, root)) in sums.iter_mut().zip(root).enumerate() {
                    let y = if n == 1 { y } else { f64::from(u8::from(y == class as f64)) };
                    *sum += y - root;
                }
            }
        }
        // In preorder, children come after their parents.
        for node in (0..self.tree.node_count()).rev() {
            if nodes.children_left[node] == TREE_LEAF {
                continue;
            }
            let children = [nodes.children_left[node] as usize, nodes.children_right[node] as usize];
            n_rows[node] = children.iter().map(|&child| n_rows[child]).sum();
            if n_rows[node] == 0 {
                continue;
            }
            let mut decrease = 0.0;
            for (at, here) in self.tree.value(node).iter().enumerate() {
                let sum: f64 = children.iter().map(|&child| sums[child * n_values + at]).sum();
                sums[node * n_values + at] = sum;
                let mean = sum / f64::from(n_rows[node]);
                for &child in &children {
                    let added = self.tree.value(child)[at] - here;
                    decrease += added * (sums[child * n_values + at] - mean * f64::from(n_rows[child]));
                }
            }
            decreases[nodes.feature[node] as usize] += decrease;
        }
        let n_terms = (self.rows.len() * n_classes.len()) as f64;
        for decrease in decreases {
            *decrease /= n_terms;
        }
        Ok(())
    }

    fn reader<'x>(&self, rows: &'x dyn Rows) -> Result<Reader<'x>> {
        let n_rows = rows.shape().0;
        let mut reader = Reader::new(rows, n_rows, self.tree.max_depth())?;
        reader.load(0..n_rows);
        Ok(reader)
    }

    fn target(&self, row: u32) -> &[f64] {
        let n_outputs = self.tree.n_outputs();
        &self.training.y[row as usize * n_outputs..][..n_outputs]
    }
}

/// The rows in a random order, as the key draws it (Fisher and Yates).
fn shuffled(rows: &[u32], key: NodeKey) -> Vec<u32> {
    let draws = key.subsample();
    let mut rows = rows.to_vec();
    for i in 0..rows.len() {
        let chosen = i + draws.below((rows.len() - i) as u64, i as u64) as usize;
        rows.swap(i, chosen);
    }
    rows
}

fn value(row: Row<'_>, feature: u32) -> f64 {
    for_each_row!(row, |value| value(feature))
}

/// The leaf that a row reaches from a node. `pass` is called with each split.
#[inline]
fn descend(tree: &Tree, from: usize, value: impl Fn(u32) -> f64, mut pass: impl FnMut(usize)) -> usize {
    let nodes = tree.nodes();
    let mut node = from;
    while nodes.children_left[node] != TREE_LEAF {
        let goes_left = tree.goes_left(node, value(nodes.feature[node] as u32));
        pass(node);
        node = if goes_left { nodes.children_left[node] } else { nodes.children_right[node] } as usize;
    }
    node
}

impl Loss {
    /// The loss of a leaf's prediction.
    fn of(self, tree: &Tree, leaf: usize, y: &[f64]) -> f64 {
        let width = tree.max_n_classes();
        let of_output = |((values, &y), &n_classes): ((&[f64], &f64), &u32)| -> f64 {
            let shares = &values[..n_classes as usize];
            let class = y as usize;
            match self {
                Self::Wrong => {
                    // Of equal shares, the first one.
                    let largest = shares.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    let chosen = shares.iter().position(|&share| share == largest);
                    f64::from(u8::from(chosen != Some(class)))
                }
                Self::Brier => {
                    let of_class = |(c, share): (usize, &f64)| (share - f64::from(u8::from(c == class))).powi(2);
                    shares.iter().enumerate().map(of_class).sum()
                }
                Self::Squared => (values[0] - y).powi(2),
                Self::Absolute => (values[0] - y).abs(),
            }
        };
        let losses = tree.value(leaf).chunks_exact(width).zip(y).zip(tree.n_classes()).map(of_output);
        losses.sum::<f64>() / tree.n_outputs() as f64
    }
}
