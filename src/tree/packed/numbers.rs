//! The statistics of a tree that predicts numbers, or class shares that no counts give back.
//!
//! What the leaves predict is kept as it is. All other statistics are a record of integers for each
//! node, in reverse preorder, so that children come before their parents: the number of rows, the
//! weight, the impurity, and for splits the values. Each is written as its distance from what
//! follows from the children: sums of rows and weights, the mean of values, the variance within and
//! between the children. So nothing is lost for any criterion, and with squared error a split
//! takes some three bytes.

use super::Fault;
use super::bytes::{Reader, are_integers, write_difference, write_integer, write_number};
use crate::num::nearest;
use crate::tree::records::{Record, Records};

#[derive(Debug, PartialEq)]
pub struct Numbers {
    pub weights: Weights,
    /// Whether the rows of a split are those of its children, so that they are not written.
    pub rows_add_up: bool,
    /// Whether the impurity of all leaves is 0, so that it is not written.
    pub leaves_are_pure: bool,
    /// What the leaves predict, in preorder.
    pub values: Box<[f64]>,
    pub records: Box<[u8]>,
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

/// What is known of a node that has been written or read.
struct Known<'a> {
    nodes: &'a [Record],
    values: &'a [f64],
    n_values: usize,
}

impl Known<'_> {
    fn weights(&self, [left, right]: [usize; 2]) -> [f64; 2] {
        [left, right].map(|child| self.nodes[child].weight)
    }

    /// What a split predicts in one of its values, by what its children predict.
    fn value(&self, at: usize, children: [usize; 2]) -> f64 {
        let [left, right] = children.map(|child| self.values[child * self.n_values + at]);
        let [left_weight, right_weight] = self.weights(children);
        (left * left_weight + right * right_weight) / (left_weight + right_weight)
    }

    /// The variance of a split whose values are known, by that of its children.
    fn impurity(&self, node: usize, children: [usize; 2]) -> f64 {
        let values = |node: usize| &self.values[node * self.n_values..][..self.n_values];
        let of_child = |child: usize| {
            let squares = values(child).iter().zip(values(node)).map(|(of_child, of_node)| {
                let distance = of_child - of_node;
                distance * distance
            });
            self.nodes[child].impurity + squares.sum::<f64>() / self.n_values as f64
        };
        let [left, right] = children.map(of_child);
        let [left_weight, right_weight] = self.weights(children);
        (left * left_weight + right * right_weight) / (left_weight + right_weight)
    }

    fn sum_of_rows(&self, [left, right]: [usize; 2]) -> i64 {
        self.nodes[left].n_samples.wrapping_add(self.nodes[right].n_samples)
    }
}

impl Numbers {
    /// The statistics of a tree, the weights of whose leaves are probably multiples of `unit`.
    pub fn new(tree: &Records, splits: &[u32], leaves: &[u32], unit: f64) -> Self {
        let known = Known { nodes: &tree.nodes, values: &tree.values, n_values: tree.n_values() };
        let record = |&node: &u32| &tree.nodes[node as usize];
        let weights = Weights::of(tree, unit);
        let adds_up = |split: &Record| {
            let children = split.children.map(|child| child as usize);
            split.n_samples == known.sum_of_rows(children)
        };
        let rows_add_up = splits.iter().map(record).all(adds_up);
        let leaves_are_pure = leaves.iter().map(record).all(|leaf| leaf.impurity.to_bits() == 0);
        // Some two bytes for each number of a node.
        let mut records = Vec::with_capacity(4 * tree.order.len());
        for node in tree.ids().rev() {
            let record = &tree.nodes[node];
            let Some(children) = record.children() else {
                write_integer(&mut records, record.n_samples as u64);
                match weights {
                    Weights::Rows => {}
                    Weights::Multiples(unit) => write_integer(&mut records, nearest(record.weight / unit)),
                    Weights::Any => write_number(&mut records, record.weight, 0.0),
                }
                if !leaves_are_pure {
                    write_number(&mut records, record.impurity, 0.0);
                }
                continue;
            };
            if !rows_add_up {
                write_difference(&mut records, record.n_samples, known.sum_of_rows(children));
            }
            if weights == Weights::Any {
                let sum: f64 = known.weights(children).iter().sum();
                write_number(&mut records, record.weight, sum);
            }
            for (at, &value) in tree.value(node).iter().enumerate() {
                write_number(&mut records, value, known.value(at, children));
            }
            write_number(&mut records, record.impurity, known.impurity(node, children));
        }
        let mut values = Vec::with_capacity(leaves.len() * tree.n_values());
        for &leaf in leaves {
            values.extend(tree.value(leaf as usize));
        }
        Self { weights, rows_add_up, leaves_are_pure, values: values.into(), records: records.into() }
    }

    /// Checks what comes from outside. The error says which part of it cannot be that of a tree
    /// with so many splits.
    pub fn check(&self, n_splits: usize, n_values: usize) -> Result<(), Fault> {
        if let Weights::Multiples(unit) = self.weights
            && !(unit.is_finite() && unit > 0.0)
        {
            return Err(("index", "the unit of weights".into()));
        }
        if self.values.len() != (n_splits + 1) * n_values || !self.values.iter().all(|value| value.is_finite()) {
            return Err(("leaves", "the values of leaves".into()));
        }
        let per_leaf = 1 + usize::from(self.weights != Weights::Rows) + usize::from(!self.leaves_are_pure);
        let per_split = usize::from(!self.rows_add_up) + usize::from(self.weights == Weights::Any) + n_values + 1;
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
    pub fn add_to(&self, tree: &mut Records) {
        let (n, n_values) = (tree.nodes.len(), tree.n_values());
        let Records { nodes, values, .. } = tree;
        *values = vec![0.0; n * n_values];
        // Of each node, its weight in units.
        let mut multiples = vec![0u64; if matches!(self.weights, Weights::Multiples(_)) { n } else { 0 }];
        let mut leaf = self.values.len() / n_values;
        let mut reader = Reader(&self.records);
        for node in (0..n).rev() {
            let Some(children) = nodes[node].children() else {
                leaf -= 1;
                values[node * n_values..][..n_values].copy_from_slice(&self.values[leaf * n_values..][..n_values]);
                nodes[node].n_samples = reader.integer() as i64;
                nodes[node].weight = match self.weights {
                    Weights::Rows => nodes[node].n_samples as f64,
                    Weights::Multiples(unit) => {
                        multiples[node] = reader.integer();
                        multiples[node] as f64 * unit
                    }
                    Weights::Any => reader.number(0.0),
                };
                if !self.leaves_are_pure {
                    nodes[node].impurity = reader.number(0.0);
                }
                continue;
            };
            let n_rows = Known { nodes, values, n_values }.sum_of_rows(children);
            nodes[node].n_samples = if self.rows_add_up { n_rows } else { reader.difference(n_rows) };
            nodes[node].weight = match self.weights {
                Weights::Rows => nodes[node].n_samples as f64,
                Weights::Multiples(unit) => {
                    let [left, right] = children;
                    multiples[node] = multiples[left].wrapping_add(multiples[right]);
                    multiples[node] as f64 * unit
                }
                Weights::Any => reader.number(Known { nodes, values, n_values }.weights(children).iter().sum()),
            };
            for at in 0..n_values {
                values[node * n_values + at] = reader.number(Known { nodes, values, n_values }.value(at, children));
            }
            nodes[node].impurity = reader.number(Known { nodes, values, n_values }.impurity(node, children));
        }
    }
}

impl Weights {
    fn of(tree: &Records, unit: f64) -> Self {
        let nodes = &tree.nodes;
        if tree.ids().all(|node| nodes[node].weight.to_bits() == (nodes[node].n_samples as f64).to_bits()) {
            return Self::Rows;
        }
        let mut multiples = vec![0u64; nodes.len()];
        for node in tree.ids().rev() {
            multiples[node] = match nodes[node].children() {
                Some([left, right]) => multiples[left].wrapping_add(multiples[right]),
                None => nearest(nodes[node].weight / unit),
            };
            if (multiples[node] as f64 * unit).to_bits() != nodes[node].weight.to_bits() {
                return Self::Any;
            }
        }
        Self::Multiples(unit)
    }
}
