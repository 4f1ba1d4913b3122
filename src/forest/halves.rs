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

use crate::data::target::{Classes, Numbers, TargetValues};
use crate::data::{Dataset, Target};
use crate::error::Result;
use crate::rng::{NodeKey, combine, combine_all, hashed};
use crate::runtime::Runtime;
use crate::simd::Level;

/// How many features are compared, besides those whose categories are put in order. Rows that agree
/// in all of these and in their targets count as equal.
const MOST_FEATURES: u32 = 64;
/// Whole weights are numbers of rows if there are at most so many rows for each row.
const MOST_COPIES: f64 = (1u64 << 20) as f64;

/// What all trees on the same rows know of these rows.
pub(super) struct KnownRows {
    /// For each row a number that equal rows have in common.
    contents: Vec<u64>,
    /// For each row, all later ones that are equal to it and the row itself; none for the later ones.
    equals: Vec<Equals>,
}

/// Some rows that are equal.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Equals {
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
        let n_samples = target.n_samples();
        let rows: Vec<usize> = (0..n_samples).filter(|&row| target.weights().is_positive(row)).collect();
        let of_rows = read_contents(data, numbers, target, &rows, most, runtime)?;
        let mut contents = vec![0; n_samples];
        rows.iter().zip(of_rows).for_each(|(&row, of_row)| contents[row] = of_row);
        let weight = |row: usize| target.weights().get(row) as f64 * target.weight_unit();
        let is_whole = |&row: &usize| weight(row).fract() == 0.0;
        let are_counts = rows.iter().all(is_whole)
            && rows.iter().map(|&row| weight(row)).sum::<f64>() <= MOST_COPIES * rows.len() as f64;
        let mut firsts = HashMap::with_capacity_and_hasher(rows.len(), BuildHasherDefault::<IsHash>::default());
        let mut equals = vec![Equals::default(); n_samples];
        for &row in &rows {
            let of_contents: &mut Equals = &mut equals[*firsts.entry(contents[row]).or_insert(row)];
            of_contents.n_rows = of_contents.n_rows.saturating_add(if are_counts { weight(row) as u32 } else { 1 });
            of_contents.weight += weight(row);
        }
        Ok(Self { contents, equals })
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
        let rows = self.contents.iter().zip(&self.equals);
        rows.map(|(&contents, equals)| key.in_second_half(contents, equals.n_rows)).collect()
    }
}

/// The contents of some rows, as in [`KnownRows`]; the other arguments are those of [`KnownRows::new`].
fn read_contents(
    data: &Dataset,
    numbers: Option<&[u32]>,
    target: &Target,
    rows: &[usize],
    most: usize,
    runtime: &Runtime<'_>,
) -> Result<Vec<u64>> {
    let n_outputs = target.n_outputs();
    let mut contents = vec![0; rows.len()];
    let of_rows = contents.iter_mut().zip(rows.iter().map(|&row| row * n_outputs));
    match target.values() {
        TargetValues::Numbers(Numbers { raw, .. }) => of_rows.for_each(|(contents, start)| {
            *contents = raw[start..][..n_outputs].iter().fold(*contents, |contents, &y| combine(contents, bits_of(y)));
        }),
        TargetValues::Classes(Classes { slots, first }) => {
            let mut order = FirstCome::new(first[n_outputs] as usize);
            of_rows.for_each(|(contents, start)| {
                let slots = slots[start..][..n_outputs].iter();
                *contents = slots.fold(*contents, |contents, &slot| combine(contents, order.number(slot)));
            });
        }
    }
    // What a feature adds to the contents of all of them.
    let mut hashes = Vec::with_capacity(rows.len());
    let level = Level::widest();
    let n_compared = MOST_FEATURES.min(data.n_features() as u32);
    for feature in (0..n_compared).chain(data.features_with_more(most).filter(|&feature| feature >= n_compared)) {
        runtime.check_interrupt()?;
        hashes.clear();
        let row_numbers = rows.iter().map(|&row| row as u32);
        if data.is_categorical(feature) {
            let mut order = FirstCome::new(data.n_ranks(feature));
            let by_number: Vec<u64> = (0..data.n_ranks(feature) as u64).map(hashed).collect();
            data.visit_ranks_of(feature, numbers, row_numbers, |_, rank| {
                hashes.push(by_number[order.number(rank) as usize]);
            });
        } else {
            let missing = data.missing_rank(feature);
            let hash = |rank| hashed(if missing == Some(rank) { u64::MAX } else { bits_of(data.value(feature, rank)) });
            data.visit_ranks_of(feature, numbers, row_numbers, |_, rank| hashes.push(hash(rank)));
        }
        combine_all(level, &mut contents, &hashes);
    }
    Ok(contents)
}

/// A hasher of numbers that are hashes already.
#[derive(Default)]
struct IsHash(u64);

impl Hasher for IsHash {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _bytes: &[u8]) {
        unreachable!("only numbers are hashed");
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

/// The bits of a number, the same for both zeros.
fn bits_of(number: f64) -> u64 {
    (number + 0.0).to_bits()
}

/// Numbers ranks in the order in which they first come: codes do not show.
pub(super) struct FirstCome {
    /// The number of each rank; `u32::MAX` for ranks that have not come yet.
    pub numbers: Vec<u32>,
    n: u32,
}

impl FirstCome {
    pub fn new(n_ranks: usize) -> Self {
        Self { numbers: vec![u32::MAX; n_ranks], n: 0 }
    }

    /// The number of a rank, which comes now.
    pub fn number(&mut self, rank: u32) -> u64 {
        let number = &mut self.numbers[rank as usize];
        if *number == u32::MAX {
            *number = self.n;
            self.n += 1;
        }
        u64::from(*number)
    }
}
