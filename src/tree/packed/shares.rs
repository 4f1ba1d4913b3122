//! The statistics of a tree of class shares, as the class counts of its leaves.
//!
//! A leaf is a record of integers: the number of its rows; for each output the number of classes,
//! and each class with its weight; and its impurity, unless there is one class in each output. The
//! shares, weights and counts of all splits are sums and quotients of these. An impurity is written
//! as its distance from the one that follows from the counts.

use super::bytes::{Backwards, ByteReader, are_integers};
use super::pack::{TakeNodes, pack};
use super::{Fault, PackedSplit};
use crate::memory;
use crate::num::log2::{Log2, ULP};
use crate::num::nearest;
use crate::tree::VALUES;
use crate::tree::leaves::{LeafShares, LeafSharesBuilder};
use crate::tree::records::{Record, Records};

/// The largest weight of a tree, in units: logarithms are for less than twice as much.
const MAX_WEIGHT: u64 = 1 << 62;

#[derive(Debug, Clone, PartialEq)]
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
    /// The formula that comes closest to the impurity of the root, given its class counts.
    fn by_root(counts: &[u64], width: usize, impurity: f64) -> Self {
        let distance = |formula: Self| formula.impurity(counts, width).to_bits().abs_diff(impurity.to_bits());
        // Logarithms need a table, which takes a while to build.
        let is_entropy = distance(Self::Gini) > 64 && distance(Self::Entropy) < distance(Self::Gini);
        if is_entropy { Self::Entropy } else { Self::Gini }
    }

    /// The impurity of the class counts of one or more outputs, each padded to `width`. Each has
    /// the same weight, which is not 0 and at most [`MAX_WEIGHT`].
    fn impurity(self, counts: &[u64], width: usize) -> f64 {
        let weight: u64 = counts[..width].iter().sum();
        let of_output = |counts: &[u64]| match self {
            Self::Gini => gini(counts, weight),
            Self::Entropy => entropy(counts, weight),
        };
        counts.chunks(width).map(of_output).sum::<f64>() / (counts.len() / width) as f64
    }
}

fn gini(counts: &[u64], weight: u64) -> f64 {
    if weight >= 1 << 31 {
        return gini_of_many(counts, weight);
    }
    // Signed integers of 64 bits become numbers in one step.
    let squares: i64 = counts.iter().map(|&count| count as i64 * count as i64).sum();
    let square = (weight * weight) as i64;
    (square - squares) as f64 / square as f64
}

/// Out of line: in line, its numbers of 128 bits would be made for all weights.
#[cold]
#[inline(never)]
fn gini_of_many(counts: &[u64], weight: u64) -> f64 {
    let square = |count: u64| u128::from(count) * u128::from(count);
    let squares: u128 = counts.iter().map(|&count| square(count)).sum();
    (square(weight) - squares) as f64 / square(weight) as f64
}

fn entropy(counts: &[u64], weight: u64) -> f64 {
    let log2 = Log2::new();
    let cost = log2.x_log2_x(weight) - counts.iter().map(|&count| log2.x_log2_x(count)).sum::<i128>();
    cost as f64 / weight as f64 * ULP
}

/// The class counts of the nodes that have been taken.
struct SharePacking<'a> {
    tree: &'a Records,
    n_values: usize,
    width: usize,
    unit: f64,
    formula: Formula,
    /// The counts of the nodes whose parents are to come, `n_values` each.
    counts: Vec<u64>,
    records: Backwards,
    impurities: Backwards,
}

impl<'a> SharePacking<'a> {
    fn new(tree: &'a Records, unit: f64) -> Option<Self> {
        let n_values = tree.n_values();
        let width = n_values / tree.n_classes.len();
        let mut counts = Vec::new();
        let root = tree.nodes.first()?;
        add_counts(&mut counts, root, &tree.values[..n_values], unit)?;
        // The weights of classes that are no multiples of the unit may be rounded to other sums in each
        // output.
        let mut weights = counts.chunks(width).map(|counts| counts.iter().sum::<u64>());
        let weight = weights.next()?;
        if weights.any(|other| other != weight) {
            return None;
        }
        let formula = Formula::by_root(&counts, width, root.impurity);
        counts.clear();
        let n_splits = tree.order.len() / 2;
        let records = Backwards::with_capacity(4 * (n_splits + 1));
        let impurities = Backwards::with_capacity(n_splits);
        Some(Self { tree, n_values, width, unit, formula, counts, records, impurities })
    }

    fn value(&self, node: usize) -> &'a [f64] {
        &self.tree.values[node * self.n_values..][..self.n_values]
    }

    /// The counts of the node that was taken last.
    fn last_counts(&self) -> &[u64] {
        &self.counts[self.counts.len() - self.n_values..]
    }

    /// The class of all rows of a node of one output, if they are of one class.
    fn only_class(&self, value: &[f64]) -> Option<usize> {
        let (mut class, mut n_ones, mut n_zeros) = (0, 0, 0);
        for (i, &share) in value.iter().enumerate() {
            class += if share == 1.0 { i } else { 0 };
            n_ones += usize::from(share == 1.0);
            n_zeros += usize::from(share == 0.0);
        }
        (n_ones == 1 && n_zeros + 1 == value.len() && value.len() == self.width).then_some(class)
    }

    /// Takes a leaf of one output and one class, as most leaves are.
    fn take_pure_leaf(&mut self, leaf: &Record, class: usize) -> Result<(), Unfit> {
        let weight = nearest(leaf.weight / self.unit);
        if !(1..=MAX_WEIGHT).contains(&weight) || weight as f64 * self.unit != leaf.weight {
            return Err(Unfit);
        }
        self.counts.resize(self.counts.len() + self.width, 0);
        let first = self.counts.len() - self.width;
        self.counts[first + class] = weight;
        self.records.add_integers([weight, class as u64, 1, leaf.n_samples as u64]);
        Ok(())
    }

    /// Fails unless the weight and the values of a node follow from its class counts in units, which are the
    /// last ones. Returns that weight.
    fn give_back(&self, node: usize) -> Result<u64, Unfit> {
        let counts = self.last_counts();
        let total = |counts: &[u64]| counts.iter().fold(0u64, |total, &count| total.saturating_add(count));
        let weight = total(&counts[..self.width]);
        // Counted without branches on counts, which would be mispredicted.
        let shares = counts.iter().map(|&count| count as i64 as f64 / weight as i64 as f64);
        let n_others = || shares.zip(self.value(node)).filter(|(share, value)| share != *value).count();
        let are_given = (1..=MAX_WEIGHT).contains(&weight)
            && self.tree.nodes[node].weight == weight as f64 * self.unit
            && counts[self.width..].chunks(self.width).all(|counts| total(counts) == weight)
            && n_others() == 0;
        if are_given { Ok(weight) } else { Err(Unfit) }
    }
}

/// No class counts give the statistics of a tree back.
struct Unfit;

impl TakeNodes for SharePacking<'_> {
    type Misfit = Unfit;

    fn take_leaf(&mut self, leaf: usize) -> Result<(), Unfit> {
        let record = &self.tree.nodes[leaf];
        let value = self.value(leaf);
        if let Some(class) = self.only_class(value)
            && record.impurity == 0.0
        {
            return self.take_pure_leaf(record, class);
        }
        add_counts(&mut self.counts, record, value, self.unit).ok_or(Unfit)?;
        let weight = self.give_back(leaf)?;
        let Self { width, formula, counts, records, .. } = self;
        let counts = &counts[counts.len() - value.len()..];
        if counts.iter().any(|&count| count != 0 && count != weight) {
            records.add_number(record.impurity, formula.impurity(counts, *width));
        } else if record.impurity != 0.0 {
            return Err(Unfit);
        }
        for counts in counts.chunks(*width).rev() {
            let mut n_classes = 0;
            for (class, &count) in counts.iter().enumerate().rev().filter(|&(_, &count)| count > 0) {
                records.add_integer(count);
                records.add_integer(class as u64);
                n_classes += 1;
            }
            records.add_integer(n_classes);
        }
        records.add_integer(record.n_samples as u64);
        Ok(())
    }

    fn take_split(&mut self, split: usize, children: [usize; 2]) -> Result<(), Unfit> {
        let nodes = &self.tree.nodes;
        let record = &nodes[split];
        let [left, right] = children.map(|child| nodes[child].n_samples);
        if record.n_samples != left.wrapping_add(right) || record.n_samples < 0 {
            return Err(Unfit);
        }
        add_up(&mut self.counts, self.n_values);
        self.give_back(split)?;
        let guess = self.formula.impurity(self.last_counts(), self.width);
        self.impurities.add_number(record.impurity, guess);
        Ok(())
    }
}

impl Shares {
    /// The splits of a tree whose leaves have weights that are multiples of `unit`, and its shares. Nothing
    /// if the statistics of the tree do not come back bit for bit.
    pub fn pack(tree: &Records, unit: f64) -> Option<(Box<[PackedSplit]>, Self)> {
        let mut packing = SharePacking::new(tree, unit)?;
        let splits = pack(tree, &mut packing).ok()?;
        let SharePacking { formula, records, impurities, .. } = packing;
        Some((splits, Self { unit, formula, records: records.into_bytes(), impurities: impurities.into_bytes() }))
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
        let mut reader = ByteReader(&self.records);
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

    /// What the `n_leaves` leaves predict: class shares of `n_outputs` outputs, each padded to
    /// `width`.
    pub fn leaf_shares(&self, n_leaves: usize, n_outputs: usize, width: usize) -> LeafShares {
        let (mut leaves, mut leaf) = (LeafSharesBuilder::new(n_leaves), Vec::new());
        let mut reader = ByteReader(&self.records);
        while !reader.0.is_empty() {
            if n_outputs == 1
                && let Some([_, class, _]) = read_short_leaf(&mut reader)
            {
                leaves.push_pure(class.into());
                continue;
            }
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
        leaves.finish()
    }

    /// Adds the statistics of all nodes to a tree that has nothing but its links, in preorder.
    pub fn add_to(&self, tree: &mut Records) -> crate::error::Result<()> {
        let n_values = tree.n_values();
        let width = n_values / tree.n_classes.len();
        let nodes = &mut tree.nodes;
        let mut counts: Vec<u64> = memory::zeros(VALUES, nodes.len().saturating_mul(n_values))?;
        let mut leaves = ByteReader(&self.records);
        for (node, counts) in nodes.iter_mut().zip(counts.chunks_exact_mut(n_values)) {
            if node.children().is_some() {
                continue;
            }
            node.n_samples = leaves.integer() as i64;
            let mut is_pure = true;
            for counts in counts.chunks_exact_mut(width) {
                is_pure &= read_classes(&mut leaves, |class, weight| counts[class] = weight) == 1;
            }
            if !is_pure {
                node.impurity = leaves.number(self.formula.impurity(counts, width));
            }
        }
        // Children come after their parents.
        for node in (0..nodes.len()).rev() {
            let Some(children) = nodes[node].children() else { continue };
            for child in children {
                nodes[node].n_samples += nodes[child].n_samples;
                let (own, others) = counts.split_at_mut((node + 1) * n_values);
                let own = own[node * n_values..].iter_mut();
                let child = &others[(child - node - 1) * n_values..];
                own.zip(child).for_each(|(own, count)| *own = own.saturating_add(*count));
            }
        }
        let mut impurities = ByteReader(&self.impurities);
        tree.values = memory::reserve(VALUES, counts.len())?;
        for (node, counts) in nodes.iter_mut().zip(counts.chunks_exact(n_values)) {
            if node.children().is_some() {
                node.impurity = impurities.number(self.formula.impurity(counts, width));
            }
            let total = counts[..width].iter().sum::<u64>() as f64;
            node.weight = total * self.unit;
            tree.values.extend(counts.iter().map(|&count| count as f64 / total));
        }
        Ok(())
    }
}

/// Appends the class counts of a leaf, in units. Fails if its weight is none that counts can have.
fn add_counts(counts: &mut Vec<u64>, leaf: &Record, value: &[f64], unit: f64) -> Option<()> {
    let total = nearest(leaf.weight / unit);
    if !(1..=MAX_WEIGHT).contains(&total) {
        return None;
    }
    // Most leaves are of one class.
    counts.extend(value.iter().map(|&share| match share {
        0.0 => 0,
        1.0 => total,
        _ => nearest(share * total as f64),
    }));
    Some(())
}

/// Puts the sum of the last two counts of nodes in their place.
fn add_up(counts: &mut Vec<u64>, n_values: usize) {
    let n_left = counts.len() - n_values;
    let (others, left) = counts.split_at_mut(n_left);
    let right = &mut others[n_left - n_values..];
    right.iter_mut().zip(left).for_each(|(right, left)| *right = right.saturating_add(*left));
    counts.truncate(n_left);
}

/// Visits the classes of an output with their weights; returns their number.
#[inline]
fn read_classes(reader: &mut ByteReader<'_>, mut visit: impl FnMut(usize, u64)) -> u64 {
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
fn read_leaf(reader: &mut ByteReader<'_>, n_classes: &[u32]) -> Option<[u64; 2]> {
    if let &[n_classes] = n_classes
        && let Some([rows, class, weight]) = read_short_leaf(reader)
    {
        return (u32::from(class) < n_classes && weight > 0).then_some([rows.into(), weight.into()]);
    }
    read_any_leaf(reader, n_classes)
}

/// Reads the record of a leaf of one output, one class and a few rows, as most leaves are: its rows,
/// class and weight are a byte each.
#[inline]
fn read_short_leaf(reader: &mut ByteReader<'_>) -> Option<[u8; 3]> {
    let (&[rows, 1, class, weight], rest) = reader.0.split_first_chunk()? else { return None };
    if (rows | class | weight) >= 0x80 {
        return None;
    }
    reader.0 = rest;
    Some([rows, class, weight])
}

fn read_any_leaf(reader: &mut ByteReader<'_>, n_classes: &[u32]) -> Option<[u64; 2]> {
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
