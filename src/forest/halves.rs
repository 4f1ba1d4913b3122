//! Halves of the rows of a tree that has no rows out of bag: one half puts categories in order
//! (`orders`), the other one says whether the order is of use.
//!
//! The tree is grown on both halves. An order by half of its rows still follows chance less than one
//! by the rows of a node, and an order of noise is found out by the rows of the other half. The
//! figures are in `benches/papers/categories.txt`.
//!
//! A row of weight k must do what k copies of it do. So rows are known by their contents: of all rows
//! that are equal, a random number is in the second half, as if a coin were tossed for each. A row
//! whose weight is k counts as k rows if all weights are whole numbers, and otherwise as one.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use super::copies::are_counts;
use crate::data::contents::{MOST_FEATURES, RowsOf};
use crate::data::{Dataset, Target};
use crate::error::Result;
use crate::rng::NodeKey;
use crate::runtime::Runtime;

/// Facts about rows that all trees on these rows share.
pub(crate) struct KnownRows {
    contents: Arc<Contents>,
    /// For each row, all later ones that are equal to it and the row itself; none for the later ones.
    equals: Vec<Equals>,
}

/// What rows hold.
struct Contents {
    /// For each row a number that equal rows have in common.
    of_rows: Vec<u64>,
    /// For each row, the number of the rows that are equal to it.
    groups: Vec<u32>,
    n_groups: u32,
}

/// Some rows that are equal.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Equals {
    pub n_rows: u32,
    pub weight: f64,
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
        let rows = target.weighted_samples();
        let read = read_contents(&RowsOf { data, numbers, target, rows: &rows }, most, runtime)?;
        let (mut of_rows, mut groups) = (vec![0; target.n_samples()], vec![0; target.n_samples()]);
        let mut of_contents = HashMap::with_capacity_and_hasher(rows.len(), BuildHasherDefault::<IsHash>::default());
        for (&row, contents) in rows.iter().zip(read) {
            let next = of_contents.len() as u32;
            groups[row as usize] = *of_contents.entry(contents).or_insert(next);
            of_rows[row as usize] = contents;
        }
        let contents = Contents { of_rows, groups, n_groups: of_contents.len() as u32 };
        Ok(Self::weighted(Arc::new(contents), target))
    }

    /// The same rows with the weights of another target. Rows that weighed nothing weigh nothing there.
    /// O(rows).
    pub fn reweighted(&self, target: &Target) -> Self {
        Self::weighted(Arc::clone(&self.contents), target)
    }

    fn weighted(contents: Arc<Contents>, target: &Target) -> Self {
        let rows = target.weighted_samples();
        let are_counts = are_counts(target, &rows);
        let weight = |row: usize| target.weights().get(row) as f64 * target.weight_unit();
        let mut firsts = vec![None; contents.n_groups as usize];
        let mut equals = vec![Equals::default(); target.n_samples()];
        for row in rows.into_iter().map(|row| row as usize) {
            let first = *firsts[contents.groups[row] as usize].get_or_insert(row);
            let of_group = &mut equals[first];
            of_group.n_rows = of_group.n_rows.saturating_add(if are_counts { weight(row) as u32 } else { 1 });
            of_group.weight += weight(row);
        }
        Self { contents, equals }
    }

    /// The rows that are equal to this one and come later, together with it; none if one that is
    /// equal comes before.
    pub fn of(&self, row: usize) -> Equals {
        self.equals[row]
    }

    /// For each row, how many of the rows [that equal it](Self::of) are in the second half of the tree
    /// with this seed.
    pub fn in_second_half(&self, seed: u64) -> Vec<u32> {
        let key = NodeKey::root(seed, 0);
        let rows = self.contents.of_rows.iter().zip(&self.equals);
        rows.map(|(&contents, equals)| key.in_second_half(contents, equals.n_rows)).collect()
    }
}

/// The contents of some rows, as in [`KnownRows`]. Features with more than `most` categories are always
/// compared.
fn read_contents(rows: &RowsOf<'_>, most: usize, runtime: &Runtime<'_>) -> Result<Vec<u64>> {
    let data = rows.data;
    let mut contents = rows.targets();
    let n_compared = MOST_FEATURES.min(data.n_features() as u32);
    let features = (0..n_compared).chain(data.features_with_more(most).filter(|&feature| feature >= n_compared));
    let identity =
        |feature, rank: u32| data.identities(feature).map_or(0, |identities| identities[rank as usize].into());
    rows.add_features(&mut contents, features, identity, runtime)?;
    Ok(contents)
}

/// A hasher of numbers that are hashes already.
#[derive(Default)]
struct IsHash(u64);

impl Hasher for IsHash {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, &byte| hash.rotate_left(8) ^ u64::from(byte));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}
