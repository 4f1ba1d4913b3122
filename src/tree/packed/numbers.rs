//! The statistics of a tree that predicts numbers, or class shares that no counts give back.
//!
//! What the leaves predict is kept as it is. All other statistics are a record of integers for each
//! node, in reverse preorder, so that children come before their parents: the number of rows, the
//! weight, the impurity, and for splits the values. Each is written as its distance from what
//! follows from the children: sums of rows and weights, the mean of values, the variance within and
//! between the children. So nothing is lost for any criterion, and with squared error a split
//! takes some three bytes.

use super::bytes::{ByteReader, are_integers, write_difference, write_integer, write_number};
use super::pack::{TakeNodes, pack};
use super::{Fault, PackedSplit};
use crate::memory;
use crate::num::nearest;
use crate::tree::VALUES;
use crate::tree::records::{Record, Records};

#[derive(Debug, Clone, PartialEq)]
pub struct Numbers {
    pub form: Form,
    /// What the leaves predict, in preorder.
    pub values: Box<[f64]>,
    pub records: Box<[u8]>,
}

/// Which statistics of a node are written, and how.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Form {
    pub weights: Weights,
    /// Whether the rows of a split are those of its children, so that they are not written.
    pub rows_add_up: bool,
    /// Whether the impurity of all leaves is 0, so that it is not written.
    pub leaves_are_pure: bool,
}

/// How the weights of nodes are written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Weights {
    /// Weights are not written: they are the numbers of rows.
    Rows,
    /// The weights of leaves as multiples of a unit. The weights of splits are not written: they are
    /// sums of these.
    Multiples(f64),
    /// As numbers.
    Any,
}

/// The fields of nodes that have been written or read before.
struct Known<'a> {
    nodes: &'a [Record],
    values: &'a [f64],
    n_values: usize,
}

impl Known<'_> {
    fn values(&self, node: usize) -> &[f64] {
        &self.values[node * self.n_values..][..self.n_values]
    }

    fn weights(&self, [left, right]: [usize; 2]) -> [f64; 2] {
        [left, right].map(|child| self.nodes[child].weight)
    }

    /// What a split predicts in one of its values, by what its children predict.
    fn value(&self, at: usize, children: [usize; 2]) -> f64 {
        self.mean(children.map(|child| self.values[child * self.n_values + at]), children)
    }

    /// The variance of a split whose values are known, by that of its children.
    fn impurity(&self, node: usize, children: [usize; 2]) -> f64 {
        let of_child = |child: usize| {
            let squares = self.values(child).iter().zip(self.values(node)).map(|(of_child, of_node)| {
                let distance = of_child - of_node;
                distance * distance
            });
            self.nodes[child].impurity + squares.sum::<f64>() / self.n_values as f64
        };
        self.mean(children.map(of_child), children)
    }

    /// The mean of two numbers, by the weights of the children to which they belong.
    fn mean(&self, [left, right]: [f64; 2], children: [usize; 2]) -> f64 {
        let [left_weight, right_weight] = self.weights(children);
        (left * left_weight + right * right_weight) / (left_weight + right_weight)
    }

    fn sum_of_weights(&self, children: [usize; 2]) -> f64 {
        let [left, right] = self.weights(children);
        left + right
    }

    fn sum_of_rows(&self, [left, right]: [usize; 2]) -> i64 {
        self.nodes[left].n_samples.wrapping_add(self.nodes[right].n_samples)
    }
}

/// The numbers of the nodes that have been taken.
struct NumberPacking<'a> {
    known: Known<'a>,
    form: Form,
    /// The weights of the children whose parents are to come, as multiples of the unit.
    multiples: Vec<u64>,
    /// How many of the values of leaves belong to leaves that are to come.
    n_before: usize,
    values: Box<[f64]>,
    records: Vec<u8>,
}

impl<'a> NumberPacking<'a> {
    fn new(tree: &'a Records, form: Form) -> Self {
        let n_values = tree.n_values();
        let n_before = (tree.order.len() / 2 + 1) * n_values;
        Self {
            known: Known { nodes: &tree.nodes, values: &tree.values, n_values },
            form,
            multiples: Vec::new(),
            n_before,
            values: vec![0.0; n_before].into(),
            // Some two bytes for each number of a node.
            records: Vec::with_capacity(4 * tree.order.len()),
        }
    }

    /// Notes the weight of a node as a multiple of the unit. Fails if it is none.
    fn add_multiple(&mut self, node: &Record, multiple: u64, unit: f64) -> Result<(), Form> {
        self.multiples.push(multiple);
        if (multiple as f64 * unit).to_bits() == node.weight.to_bits() {
            Ok(())
        } else {
            Err(Form { weights: Weights::Any, ..self.form })
        }
    }
}

impl TakeNodes for NumberPacking<'_> {
    /// A form that asks for less.
    type Misfit = Form;

    fn take_leaf(&mut self, leaf: usize) -> Result<(), Form> {
        let record = &self.known.nodes[leaf];
        write_integer(&mut self.records, record.n_samples as u64);
        match self.form.weights {
            Weights::Rows => {}
            Weights::Multiples(unit) => {
                let multiple = nearest(record.weight / unit);
                self.add_multiple(record, multiple, unit)?;
                write_integer(&mut self.records, multiple);
            }
            Weights::Any => write_number(&mut self.records, record.weight, 0.0),
        }
        if !self.form.leaves_are_pure {
            write_number(&mut self.records, record.impurity, 0.0);
        }
        let values = self.known.values(leaf);
        self.n_before -= values.len();
        self.values[self.n_before..][..values.len()].copy_from_slice(values);
        Ok(())
    }

    fn take_split(&mut self, split: usize, children: [usize; 2]) -> Result<(), Form> {
        let Self { known, form, records, .. } = self;
        let record = &known.nodes[split];
        let n_rows = known.sum_of_rows(children);
        if !form.rows_add_up {
            write_difference(records, record.n_samples, n_rows);
        } else if record.n_samples != n_rows {
            return Err(Form { rows_add_up: false, ..*form });
        }
        if form.weights == Weights::Any {
            write_number(records, record.weight, known.sum_of_weights(children));
        }
        for (at, &value) in known.values(split).iter().enumerate() {
            write_number(records, value, known.value(at, children));
        }
        write_number(records, record.impurity, known.impurity(split, children));
        if let Weights::Multiples(unit) = form.weights {
            let [left, right] = [self.multiples.pop(), self.multiples.pop()].map(Option::unwrap_or_default);
            self.add_multiple(record, left.wrapping_add(right), unit)?;
        }
        Ok(())
    }
}

impl Form {
    /// The form of a tree, the weights of whose leaves are probably multiples of `unit`.
    fn of(tree: &Records, unit: f64) -> Self {
        let (mut are_rows, mut leaves_are_pure) = (true, true);
        for record in tree.ids().map(|node| &tree.nodes[node]) {
            are_rows &= record.weight.to_bits() == (record.n_samples as f64).to_bits();
            leaves_are_pure &= record.children().is_some() | (record.impurity.to_bits() == 0);
        }
        let weights = if are_rows { Weights::Rows } else { Weights::Multiples(unit) };
        Self { weights, rows_add_up: true, leaves_are_pure }
    }
}

impl Numbers {
    /// The splits of a tree, and its statistics. The weights of the leaves are probably multiples of `unit`.
    pub fn pack(tree: &Records, unit: f64) -> (Box<[PackedSplit]>, Self) {
        let mut form = Form::of(tree, unit);
        loop {
            let mut packing = NumberPacking::new(tree, form);
            match pack(tree, &mut packing) {
                Ok(splits) => {
                    let NumberPacking { values, records, .. } = packing;
                    return (splits, Self { form, values, records: records.into() });
                }
                // At most twice: there are two things that may not be as expected.
                Err(other) => form = other,
            }
        }
    }

    /// Checks what comes from outside. The error says which part of it cannot be that of a tree
    /// with `n_splits` splits.
    pub fn check(&self, n_splits: usize, n_values: usize) -> Result<(), Fault> {
        let Form { weights, rows_add_up, leaves_are_pure } = self.form;
        if let Weights::Multiples(unit) = weights
            && !(unit.is_finite() && unit > 0.0)
        {
            return Err(("index", "the unit of weights".into()));
        }
        if self.values.len() != (n_splits + 1) * n_values || !self.values.iter().all(|value| value.is_finite()) {
            return Err(("leaves", "the values of leaves".into()));
        }
        let per_leaf = 1 + usize::from(weights != Weights::Rows) + usize::from(!leaves_are_pure);
        let per_split = usize::from(!rows_add_up) + usize::from(weights == Weights::Any) + n_values + 1;
        if !are_integers(&self.records, (n_splits + 1) * per_leaf + n_splits * per_split) {
            return Err(("statistics", "the records of nodes".into()));
        }
        Ok(())
    }

    /// Adds what leaves predict to `sums`, one after the other.
    #[inline]
    pub fn add_values(&self, leaves: &[u32], sums: &mut [f64]) {
        let n_values = sums.len() / leaves.len().max(1);
        if n_values == 1 {
            leaves.iter().zip(sums).for_each(|(&leaf, sum)| *sum += self.values[leaf as usize]);
            return;
        }
        for (&leaf, sums) in leaves.iter().zip(sums.chunks_exact_mut(n_values)) {
            let values = &self.values[leaf as usize * n_values..][..n_values];
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
    }

    /// Adds the statistics of all nodes to a tree that has nothing but its links, in preorder.
    pub fn add_to(&self, tree: &mut Records) -> crate::error::Result<()> {
        let Form { weights, rows_add_up, leaves_are_pure } = self.form;
        let (n, n_values) = (tree.nodes.len(), tree.n_values());
        let Records { nodes, values, .. } = tree;
        *values = memory::zeros(VALUES, n.saturating_mul(n_values))?;
        // Of each node, its weight in units.
        let mut multiples = vec![0u64; if matches!(weights, Weights::Multiples(_)) { n } else { 0 }];
        let mut leaf = self.values.len() / n_values;
        let mut reader = ByteReader(&self.records);
        for node in (0..n).rev() {
            let Some(children) = nodes[node].children() else {
                leaf -= 1;
                values[node * n_values..][..n_values].copy_from_slice(&self.values[leaf * n_values..][..n_values]);
                nodes[node].n_samples = reader.integer() as i64;
                nodes[node].weight = match weights {
                    Weights::Rows => nodes[node].n_samples as f64,
                    Weights::Multiples(unit) => {
                        multiples[node] = reader.integer();
                        multiples[node] as f64 * unit
                    }
                    Weights::Any => reader.number(0.0),
                };
                if !leaves_are_pure {
                    nodes[node].impurity = reader.number(0.0);
                }
                continue;
            };
            let n_rows = Known { nodes, values, n_values }.sum_of_rows(children);
            nodes[node].n_samples = if rows_add_up { n_rows } else { reader.difference(n_rows) };
            nodes[node].weight = match weights {
                Weights::Rows => nodes[node].n_samples as f64,
                Weights::Multiples(unit) => {
                    let [left, right] = children;
                    multiples[node] = multiples[left].wrapping_add(multiples[right]);
                    multiples[node] as f64 * unit
                }
                Weights::Any => reader.number(Known { nodes, values, n_values }.sum_of_weights(children)),
            };
            for at in 0..n_values {
                values[node * n_values + at] = reader.number(Known { nodes, values, n_values }.value(at, children));
            }
            nodes[node].impurity = reader.number(Known { nodes, values, n_values }.impurity(node, children));
        }
        Ok(())
    }
}
