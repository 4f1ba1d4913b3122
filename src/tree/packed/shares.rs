//! The statistics of a tree of class shares, as the class counts of its leaves.
//!
//! A leaf is a record of integers: the number of its rows; for each output the number of classes,
//! and each class with its weight; and its impurity, unless there is one class in each output. The
//! shares, weights and counts of all splits are sums and quotients of these. An impurity is written
//! as its distance from the one that follows from the counts.

use super::Fault;
use super::bytes::{Reader, are_integers, write_integer, write_number};
use crate::num::log2::{Log2, ULP};
use crate::tree::leaves::{LeafShares, LeafValues};
use crate::tree::{NodeArrays, TREE_LEAF, Tree, n_values};

/// The largest weight of a tree, in units: logarithms are for less than twice as much.
const MAX_WEIGHT: u64 = 1 << 62;

#[derive(Debug, PartialEq)]
pub struct Shares {
    /// What a weight of 1 in the records stands for.
    pub unit: f64,
    pub formula: Formula,
    /// The records of the leaves, in preorder.
    pub records: Box<[u8]>,
    /// The impurities of the splits, in preorder.
    pub impurities: Box<[u8]>,
}

/// By which formula impurities are guessed from counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Formula {
    Gini,
    Entropy,
}

impl Formula {
    /// The impurity of the class counts of one or more outputs, each padded to `width`. Each has the
    /// same weight, which is not 0 and at most [`MAX_WEIGHT`].
    fn impurity(self, counts: &[u64], width: usize) -> f64 {
        let weight: u64 = counts[..width].iter().sum();
        let of_output = |counts: &[u64]| match self {
            Self::Gini if u32::try_from(weight).is_ok() => {
                let squares: u64 = counts.iter().map(|&count| count * count).sum();
                (weight * weight - squares) as f64 / (weight * weight) as f64
            }
            Self::Gini => {
                let square = |count: u64| u128::from(count) * u128::from(count);
                let squares: u128 = counts.iter().map(|&count| square(count)).sum();
                (square(weight) - squares) as f64 / square(weight) as f64
            }
            Self::Entropy => {
                let log2 = Log2::new();
                let cost = log2.x_log2_x(weight) - counts.iter().map(|&count| log2.x_log2_x(count)).sum::<i128>();
                cost as f64 / weight as f64 * ULP
            }
        };
        counts.chunks_exact(width).map(of_output).sum::<f64>() / (counts.len() / width) as f64
    }
}

impl Shares {
    /// The shares of a tree whose leaves have weights that are multiples of `unit`. Nothing if the
    /// statistics of the tree do not come back bit for bit.
    pub fn new(tree: &Tree, unit: f64) -> Option<Self> {
        let nodes = tree.nodes();
        let (n_values, width) = (tree.n_values(), tree.max_n_classes());
        let is_leaf = |node: usize| nodes.children_left[node] == TREE_LEAF;
        let mut counts = vec![0; tree.node_count() * n_values];
        for node in (0..tree.node_count()).filter(|&node| is_leaf(node)) {
            let total = (nodes.weighted_n_node_samples[node] / unit).round();
            if !(1.0..=MAX_WEIGHT as f64).contains(&total) {
                return None;
            }
            for (count, &share) in counts[node * n_values..].iter_mut().zip(tree.value(node)) {
                *count = (share * total).round() as u64;
            }
        }
        add_up(nodes, &mut counts, n_values);
        if !give_back(nodes, &counts, n_values, width, unit) {
            return None;
        }
        let counts = |node: usize| &counts[node * n_values..][..n_values];
        let distance = |formula: Formula| {
            let guess = formula.impurity(counts(0), width);
            guess.to_bits().abs_diff(nodes.impurity[0].to_bits())
        };
        // Logarithms need a table, which takes a while to build.
        let is_entropy = distance(Formula::Gini) > 64 && distance(Formula::Entropy) < distance(Formula::Gini);
        let formula = if is_entropy { Formula::Entropy } else { Formula::Gini };
        let (mut records, mut impurities) = (Vec::new(), Vec::new());
        for node in 0..tree.node_count() {
            let guess = || formula.impurity(counts(node), width);
            if !is_leaf(node) {
                write_number(&mut impurities, nodes.impurity[node], guess());
                continue;
            }
            write_integer(&mut records, nodes.n_node_samples[node] as u64);
            let mut is_pure = true;
            for counts in counts(node).chunks_exact(width) {
                let classes = || counts.iter().enumerate().filter(|&(_, &count)| count > 0);
                let n_classes = classes().count();
                is_pure &= n_classes == 1;
                write_integer(&mut records, n_classes as u64);
                for (class, &count) in classes() {
                    write_integer(&mut records, class as u64);
                    write_integer(&mut records, count);
                }
            }
            if !is_pure {
                write_number(&mut records, nodes.impurity[node], guess());
            } else if nodes.impurity[node] != 0.0 {
                return None;
            }
        }
        Some(Self { unit, formula, records: records.into(), impurities: impurities.into() })
    }

    /// Checks bytes from outside. The error says which of them cannot be those of a tree with so
    /// many splits.
    pub fn check(&self, n_splits: usize, n_classes: &[u32]) -> Result<(), Fault> {
        if !(self.unit.is_finite() && self.unit > 0.0) {
            return Err(("index", "the unit of weights".into()));
        }
        if !are_integers(&self.impurities, n_splits) {
            return Err(("statistics", "the impurities of splits".into()));
        }
        let mut reader = Reader(&self.records);
        let mut totals = [0u64; 2];
        for _ in 0..=n_splits {
            let leaf = read_leaf(&mut reader, n_classes).ok_or_else(|| ("leaves", "a record of a leaf".into()))?;
            totals = [0, 1].map(|at| totals[at].saturating_add(leaf[at]));
        }
        let ends = reader.0.is_empty() && self.records.last().is_some_and(|&last| last < 0x80);
        if ends && totals.into_iter().all(|total| total <= MAX_WEIGHT) {
            Ok(())
        } else {
            Err(("leaves", "the records of leaves".into()))
        }
    }

    /// What the leaves predict: class shares of `n_outputs` outputs, each padded to `width`.
    pub fn leaf_values(&self, n_outputs: usize, width: usize) -> LeafValues {
        let (mut leaves, mut leaf) = (LeafShares::default(), Vec::new());
        let mut reader = Reader(&self.records);
        while !reader.0.is_empty() {
            reader.integer();
            leaf.clear();
            let mut is_pure = true;
            for first in (0..n_outputs).map(|output| output * width) {
                let (mut total, begin) = (0, leaf.len());
                let n_classes = read_classes(&mut reader, |class, weight| {
                    total += weight;
                    leaf.push(((first + class) as u32, weight as f64));
                });
                is_pure &= n_classes == 1;
                leaf[begin..].iter_mut().for_each(|(_, share)| *share /= total as f64);
            }
            if !is_pure {
                reader.integer();
            }
            leaves.push(&leaf);
        }
        LeafValues::Shares(leaves)
    }

    /// The statistics of all nodes, and nothing else, of a tree with these links.
    pub fn of_all_nodes(&self, links: &NodeArrays, n_classes: &[u32]) -> NodeArrays {
        let NodeArrays { children_left, children_right, .. } = links;
        let n = children_left.len();
        let n_values = n_values(n_classes);
        let width = n_values / n_classes.len();
        let mut counts = vec![0u64; n * n_values];
        let (impurity, n_node_samples) = (vec![0.0; n], vec![0; n]);
        let mut nodes = NodeArrays { impurity, n_node_samples, ..NodeArrays::default() };
        let mut leaves = Reader(&self.records);
        for node in (0..n).filter(|&node| children_left[node] == TREE_LEAF) {
            nodes.n_node_samples[node] = leaves.integer() as i64;
            let mut is_pure = true;
            let counts = &mut counts[node * n_values..][..n_values];
            for counts in counts.chunks_exact_mut(width) {
                is_pure &= read_classes(&mut leaves, |class, weight| counts[class] = weight) == 1;
            }
            if !is_pure {
                nodes.impurity[node] = leaves.number(self.formula.impurity(counts, width));
            }
        }
        add_up(links, &mut counts, n_values);
        // Children come after their parents.
        for node in (0..n).rev().filter(|&node| children_left[node] != TREE_LEAF) {
            let [left, right] = [children_left[node], children_right[node]].map(|child| child as usize);
            nodes.n_node_samples[node] = nodes.n_node_samples[left] + nodes.n_node_samples[right];
        }
        let mut impurities = Reader(&self.impurities);
        for node in (0..n).filter(|&node| children_left[node] != TREE_LEAF) {
            let counts = &counts[node * n_values..][..n_values];
            nodes.impurity[node] = impurities.number(self.formula.impurity(counts, width));
        }
        let totals = counts.chunks_exact(n_values).map(|counts| counts[..width].iter().sum::<u64>());
        nodes.weighted_n_node_samples = totals.clone().map(|total| total as f64 * self.unit).collect();
        nodes.value = Vec::with_capacity(counts.len());
        for (counts, total) in counts.chunks_exact(n_values).zip(totals) {
            nodes.value.extend(counts.iter().map(|&count| count as f64 / total as f64));
        }
        nodes
    }
}

/// Whether rows, weights and values of all nodes follow from their class counts in units.
fn give_back(nodes: &NodeArrays, counts: &[u64], n_values: usize, width: usize, unit: f64) -> bool {
    let total = |counts: &[u64]| counts.iter().fold(0u64, |total, &count| total.saturating_add(count));
    counts.chunks_exact(n_values).enumerate().all(|(node, counts)| {
        let weight = total(&counts[..width]);
        let value = &nodes.value[node * n_values..][..n_values];
        let rows = match nodes.children_left[node] {
            TREE_LEAF => nodes.n_node_samples[node],
            left => {
                let right = nodes.children_right[node] as usize;
                nodes.n_node_samples[left as usize].wrapping_add(nodes.n_node_samples[right])
            }
        };
        (1..=MAX_WEIGHT).contains(&weight)
            && nodes.n_node_samples[node] == rows
            && rows >= 0
            && nodes.weighted_n_node_samples[node] == weight as f64 * unit
            && counts.chunks_exact(width).all(|counts| total(counts) == weight)
            && counts.iter().zip(value).all(|(&count, &value)| value == count as f64 / weight as f64)
    })
}

/// Sets the counts of splits to the sums of those of their children.
fn add_up(links: &NodeArrays, counts: &mut [u64], n_values: usize) {
    let NodeArrays { children_left, children_right, .. } = links;
    // Children come after their parents.
    for node in (0..children_left.len()).rev().filter(|&node| children_left[node] != TREE_LEAF) {
        for child in [children_left[node], children_right[node]].map(|child| child as usize) {
            let (own, others) = counts.split_at_mut((node + 1) * n_values);
            let child = &others[(child - node - 1) * n_values..][..n_values];
            let own = own[node * n_values..].iter_mut();
            own.zip(child).for_each(|(own, count)| *own = own.saturating_add(*count));
        }
    }
}

/// Visits the classes of an output with their weights; returns their number.
#[inline]
fn read_classes(reader: &mut Reader<'_>, mut visit: impl FnMut(usize, u64)) -> u64 {
    let n = reader.integer();
    for _ in 0..n {
        let class = reader.integer() as usize;
        visit(class, reader.integer());
    }
    n
}

/// Reads the record of a leaf from outside. Returns its rows and its weight, or nothing if a class
/// is none of its output, or the outputs do not have the same weight.
#[inline]
fn read_leaf(reader: &mut Reader<'_>, n_classes: &[u32]) -> Option<[u64; 2]> {
    // Most leaves are of one class and a few rows, which are four bytes.
    if let (&[rows, 1, class, weight], &[n_classes]) = (reader.0.first_chunk()?, n_classes)
        && (rows | class | weight) < 0x80
        && u32::from(class) < n_classes
        && weight > 0
    {
        reader.0 = &reader.0[4..];
        return Some([rows.into(), weight.into()]);
    }
    read_any_leaf(reader, n_classes)
}

fn read_any_leaf(reader: &mut Reader<'_>, n_classes: &[u32]) -> Option<[u64; 2]> {
    let n_rows = reader.integer();
    let mut is_pure = true;
    let mut weight_before = None;
    for &n_classes in n_classes {
        let n = reader.integer();
        if n == 0 || n > u64::from(n_classes) {
            return None;
        }
        is_pure &= n == 1;
        let (mut least, mut total) = (0, 0u64);
        for _ in 0..n {
            let (class, weight) = (reader.integer(), reader.integer());
            if class < least || class >= u64::from(n_classes) || weight == 0 {
                return None;
            }
            least = class + 1;
            total = total.saturating_add(weight);
        }
        if weight_before.is_some_and(|before| before != total) {
            return None;
        }
        weight_before = Some(total);
    }
    if !is_pure {
        reader.integer();
    }
    Some([n_rows, weight_before?])
}
