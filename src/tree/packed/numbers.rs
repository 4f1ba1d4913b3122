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
use crate::tree::leaves::LeafValues;
use crate::tree::{NodeArrays, TREE_LEAF, Tree};

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
    /// Not at all: they are the numbers of rows.
    Rows,
    /// Those of leaves as multiples of a unit, those of splits not at all: they are sums.
    Multiples(f64),
    /// As numbers.
    Any,
}

/// What is known of a node that has been written or read.
struct Known<'a> {
    nodes: &'a NodeArrays,
    n_values: usize,
}

impl Known<'_> {
    fn weights(&self, [left, right]: [usize; 2]) -> [f64; 2] {
        [left, right].map(|child| self.nodes.weighted_n_node_samples[child])
    }

    /// What a split predicts in one of its values, by what its children predict.
    fn value(&self, at: usize, children: [usize; 2]) -> f64 {
        let [left, right] = children.map(|child| self.nodes.value[child * self.n_values + at]);
        let [left_weight, right_weight] = self.weights(children);
        (left * left_weight + right * right_weight) / (left_weight + right_weight)
    }

    /// The variance of a split whose values are known, by that of its children.
    fn impurity(&self, node: usize, children: [usize; 2]) -> f64 {
        let value = |node: usize, at: usize| self.nodes.value[node * self.n_values + at];
        let of_child = |child: usize| {
            let squares = (0..self.n_values).map(|at| {
                let distance = value(child, at) - value(node, at);
                distance * distance
            });
            self.nodes.impurity[child] + squares.sum::<f64>() / self.n_values as f64
        };
        let [left, right] = children.map(of_child);
        let [left_weight, right_weight] = self.weights(children);
        (left * left_weight + right * right_weight) / (left_weight + right_weight)
    }
}

impl Numbers {
    /// The statistics of a tree, the weights of whose leaves are probably multiples of `unit`.
    pub fn new(tree: &Tree, unit: f64) -> Self {
        let nodes = tree.nodes();
        let known = Known { nodes, n_values: tree.n_values() };
        let leaves = || (0..tree.node_count()).filter(|&node| children(nodes, node).is_none());
        let splits = || (0..tree.node_count()).filter_map(|node| Some((node, children(nodes, node)?)));
        let weights = Weights::of(nodes, unit);
        let sum_of_rows =
            |[left, right]: [usize; 2]| nodes.n_node_samples[left].wrapping_add(nodes.n_node_samples[right]);
        let rows_add_up = splits().all(|(node, children)| nodes.n_node_samples[node] == sum_of_rows(children));
        let leaves_are_pure = leaves().all(|node| nodes.impurity[node].to_bits() == 0);
        // Some two bytes for each number of a node.
        let mut records = Vec::with_capacity(4 * tree.node_count());
        for node in (0..tree.node_count()).rev() {
            let Some(children) = children(nodes, node) else {
                write_integer(&mut records, nodes.n_node_samples[node] as u64);
                let weight = nodes.weighted_n_node_samples[node];
                match weights {
                    Weights::Rows => {}
                    Weights::Multiples(unit) => write_integer(&mut records, (weight / unit).round() as u64),
                    Weights::Any => write_number(&mut records, weight, 0.0),
                }
                if !leaves_are_pure {
                    write_number(&mut records, nodes.impurity[node], 0.0);
                }
                continue;
            };
            if !rows_add_up {
                write_difference(&mut records, nodes.n_node_samples[node], sum_of_rows(children));
            }
            if weights == Weights::Any {
                let sum: f64 = known.weights(children).iter().sum();
                write_number(&mut records, nodes.weighted_n_node_samples[node], sum);
            }
            for (at, &value) in tree.value(node).iter().enumerate() {
                write_number(&mut records, value, known.value(at, children));
            }
            write_number(&mut records, nodes.impurity[node], known.impurity(node, children));
        }
        let values = leaves().flat_map(|leaf| tree.value(leaf)).copied().collect();
        Self { weights, rows_add_up, leaves_are_pure, values, records: records.into() }
    }

    /// Checks what comes from outside. The error says which part of it cannot be that of a tree with
    /// so many splits.
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

    pub fn leaf_values(&self) -> LeafValues {
        LeafValues::Dense(self.values.clone())
    }

    /// The statistics of all nodes, added to the links of a tree.
    pub fn add_to(&self, nodes: &mut NodeArrays, n_values: usize) {
        let n = nodes.children_left.len();
        nodes.impurity = vec![0.0; n];
        nodes.n_node_samples = vec![0; n];
        nodes.weighted_n_node_samples = vec![0.0; n];
        nodes.value = vec![0.0; n * n_values];
        // Of each node, its weight in units.
        let mut multiples = vec![0u64; if matches!(self.weights, Weights::Multiples(_)) { n } else { 0 }];
        let mut leaf = self.values.len() / n_values;
        let mut reader = Reader(&self.records);
        for node in (0..n).rev() {
            let Some(children) = children(nodes, node) else {
                leaf -= 1;
                let values = &self.values[leaf * n_values..][..n_values];
                nodes.value[node * n_values..][..n_values].copy_from_slice(values);
                nodes.n_node_samples[node] = reader.integer() as i64;
                nodes.weighted_n_node_samples[node] = match self.weights {
                    Weights::Rows => nodes.n_node_samples[node] as f64,
                    Weights::Multiples(unit) => {
                        multiples[node] = reader.integer();
                        multiples[node] as f64 * unit
                    }
                    Weights::Any => reader.number(0.0),
                };
                if !self.leaves_are_pure {
                    nodes.impurity[node] = reader.number(0.0);
                }
                continue;
            };
            let [left, right] = children;
            let n_rows = nodes.n_node_samples[left].wrapping_add(nodes.n_node_samples[right]);
            nodes.n_node_samples[node] = if self.rows_add_up { n_rows } else { reader.difference(n_rows) };
            nodes.weighted_n_node_samples[node] = match self.weights {
                Weights::Rows => nodes.n_node_samples[node] as f64,
                Weights::Multiples(unit) => {
                    multiples[node] = multiples[left].wrapping_add(multiples[right]);
                    multiples[node] as f64 * unit
                }
                Weights::Any => reader.number(Known { nodes, n_values }.weights(children).iter().sum()),
            };
            for at in 0..n_values {
                nodes.value[node * n_values + at] = reader.number(Known { nodes, n_values }.value(at, children));
            }
            nodes.impurity[node] = reader.number(Known { nodes, n_values }.impurity(node, children));
        }
    }
}

impl Weights {
    fn of(nodes: &NodeArrays, unit: f64) -> Self {
        let weights = &nodes.weighted_n_node_samples;
        if weights.iter().zip(&nodes.n_node_samples).all(|(&weight, &n)| weight.to_bits() == (n as f64).to_bits()) {
            return Self::Rows;
        }
        let mut multiples = vec![0u64; weights.len()];
        for node in (0..weights.len()).rev() {
            multiples[node] = match children(nodes, node) {
                Some([left, right]) => multiples[left].wrapping_add(multiples[right]),
                None => (weights[node] / unit).round() as u64,
            };
            if (multiples[node] as f64 * unit).to_bits() != weights[node].to_bits() {
                return Self::Any;
            }
        }
        Self::Multiples(unit)
    }
}

#[inline]
fn children(nodes: &NodeArrays, node: usize) -> Option<[usize; 2]> {
    let left = nodes.children_left[node];
    (left != TREE_LEAF).then(|| [left as usize, nodes.children_right[node] as usize])
}
