//! Halves of the rows of a tree that has no rows out of bag: one half puts categories in order
//! (`orders`), the other one says whether the order is of use.
//!
//! The tree is grown on both halves. An order by half of its rows still follows chance less than one
//! by the rows of a node, and an order of noise is found out by the rows of the other half. The
//! figures are in `benches/papers/categories.txt`.
//!
//! A half must depend neither on the number of a row nor on its weight: a row of weight k must do what
//! k copies of it do. So rows are known by their contents, and equal rows count as one row that weighs
//! as much as all of them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::orders::{TreeRows, features_with_more};
use crate::data::target::TargetValues;
use crate::data::{Dataset, Target};
use crate::error::Result;
use crate::rng::{NodeKey, combine};
use crate::runtime::Runtime;

/// How many features are compared, besides those whose categories are put in order. Rows that agree
/// in all of these and in their targets count as equal.
const MOST_FEATURES: u32 = 64;

/// What all trees on the same rows know of these rows.
pub(super) struct KnownRows {
    /// For each row a number that equal rows have in common; 0 for rows of weight 0.
    contents: Vec<u64>,
    /// The weight of each row together with all later ones that are equal to it; 0 for the latter.
    weights: Vec<u64>,
}

impl KnownRows {
    /// Reads the rows. `numbers` has the number in the data set of each row of the target, if that
    /// is not its own number; `most` is the largest number of categories that are not put in order.
    /// O(rows) for each feature that is compared.
    pub fn new(
        data: &Dataset,
        numbers: Option<&[u32]>,
        target: &Target,
        most: usize,
        runtime: &Runtime<'_>,
    ) -> Result<Self> {
        let rows = TreeRows { numbers, target, counts: &[], weights: None };
        let n = target.n_samples();
        let mut contents = vec![0; n];
        let mut add = |row: usize, number: u64| contents[row] = combine(contents[row], number);
        let n_outputs = target.n_outputs();
        match target.values() {
            TargetValues::Numbers(numbers) => {
                (0..n * n_outputs).for_each(|at| add(at / n_outputs, bits_of(numbers.raw[at])));
            }
            TargetValues::Classes(classes) => {
                let mut order = FirstCome::new(classes.first[n_outputs] as usize);
                for (at, &slot) in classes.slots.iter().enumerate().filter(|&(at, _)| rows.weight(at / n_outputs) > 0) {
                    add(at / n_outputs, order.number(slot));
                }
            }
        }
        let n_compared = MOST_FEATURES.min(data.n_features() as u32);
        for feature in (0..n_compared).chain(features_with_more(data, most).filter(|&feature| feature >= n_compared)) {
            runtime.check_interrupt()?;
            let mut order = FirstCome::new(if data.is_categorical(feature) { data.n_ranks(feature) } else { 0 });
            let missing = data.missing_rank(feature);
            rows.visit_ranks(data, feature, 0..n as u32, |row, rank| {
                if rows.weight(row) == 0 {
                    return;
                }
                let number = match (data.is_categorical(feature), missing == Some(rank)) {
                    (true, _) => order.number(rank),
                    (false, true) => u64::MAX,
                    (false, false) => bits_of(data.value(feature, rank)),
                };
                add(row, number);
            });
        }
        let mut firsts = HashMap::new();
        let mut weights = vec![0; n];
        for (row, content) in contents.iter_mut().enumerate() {
            let weight = rows.weight(row);
            match firsts.entry(*content) {
                _ if weight == 0 => *content = 0,
                Entry::Occupied(first) => weights[*first.get()] += weight,
                Entry::Vacant(place) => {
                    place.insert(row);
                    weights[row] = weight;
                }
            }
        }
        Ok(Self { contents, weights })
    }

    /// See [`TreeRows::weights`].
    pub fn weights(&self) -> &[u64] {
        &self.weights
    }

    /// For each row of the tree with this seed, 0 if it is in the half by which categories are put in
    /// order, else 1.
    pub fn halves(&self, seed: u64) -> Vec<u32> {
        let key = NodeKey::root(seed, 0);
        self.contents.iter().map(|&content| u32::from(key.is_in_second_half(content))).collect()
    }
}

/// The bits of a number, the same for both zeros.
fn bits_of(number: f64) -> u64 {
    (number + 0.0).to_bits()
}

/// Numbers ranks in the order in which they first come: codes do not show.
struct FirstCome {
    numbers: Vec<u32>,
    n: u32,
}

impl FirstCome {
    fn new(n_ranks: usize) -> Self {
        Self { numbers: vec![u32::MAX; n_ranks], n: 0 }
    }

    fn number(&mut self, rank: u32) -> u64 {
        let number = &mut self.numbers[rank as usize];
        if *number == u32::MAX {
            *number = self.n;
            self.n += 1;
        }
        u64::from(*number)
    }
}
