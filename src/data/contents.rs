//! Contents of rows, as one number a row: rows of equal targets and features have equal numbers.
//!
//! Neither the order of rows nor the codes of categories show: a category is known by its identity
//! (`identity`).

use super::Dataset;
use super::survival::Survival;
use super::target::{Classes, Numbers, Target, TargetValues};
use crate::error::Result;
use crate::rng::{combine, combine_all, hashed};
use crate::runtime::Runtime;
use crate::simd::Level;

/// The number of first features that are compared. Rows that agree in all of these and in their targets count
/// as equal, unless more features are named.
pub(crate) const MOST_FEATURES: u32 = 64;

/// Some rows of a target, and where they are in a data set.
#[derive(Clone, Copy)]
pub(crate) struct RowsOf<'a> {
    pub data: &'a Dataset,
    /// The number in the data set of each row of the target; `None` if that is its own number.
    pub numbers: Option<&'a [u32]>,
    pub target: &'a Target,
    /// Rows of the target, by their numbers in it.
    pub rows: &'a [u32],
}

impl RowsOf<'_> {
    /// The contents of each row's target, as one number. O(rows).
    pub fn targets(&self) -> Vec<u64> {
        let n_outputs = self.target.n_outputs();
        let of_row = |&row: &u32| row as usize * n_outputs..(row as usize + 1) * n_outputs;
        let ranges = self.rows.iter().map(of_row);
        match self.target.values() {
            TargetValues::Numbers(Numbers { raw, .. }) => {
                ranges.map(|range| raw[range].iter().fold(0, |contents, &y| combine(contents, bits_of(y)))).collect()
            }
            TargetValues::Classes(Classes { slots, .. }) => {
                ranges.map(|range| slots[range].iter().fold(0, |held, &slot| combine(held, slot.into()))).collect()
            }
            TargetValues::Survival(Survival { times, events, .. }) => {
                let of_row = |&row: &u32| (times[row as usize], events[row as usize]);
                self.rows.iter().map(of_row).map(|(time, event)| combine(bits_of(time), event.into())).collect()
            }
            TargetValues::Absent => vec![0; self.rows.len()],
        }
    }

    /// Adds to `contents`, one for each row, what the row holds of some features. `identity` is what a
    /// category of a feature is known by, given its rank. O(rows) for each feature.
    pub fn add_features(
        &self,
        contents: &mut [u64],
        features: impl Iterator<Item = u32>,
        identity: impl Fn(u32, u32) -> u64,
        runtime: &Runtime<'_>,
    ) -> Result<()> {
        let (data, level) = (self.data, Level::widest());
        // The numbers that a feature adds to the contents of all rows.
        let mut hashes = Vec::with_capacity(self.rows.len());
        for feature in features {
            runtime.check_interrupt()?;
            hashes.clear();
            if data.is_categorical(feature) {
                let by_rank: Vec<u64> =
                    (0..data.n_ranks(feature) as u32).map(|rank| hashed(identity(feature, rank))).collect();
                self.visit_ranks(feature, |rank| hashes.push(by_rank[rank as usize]));
            } else {
                let missing = data.missing_rank(feature);
                let number = |rank| if missing == Some(rank) { u64::MAX } else { bits_of(data.value(feature, rank)) };
                self.visit_ranks(feature, |rank| hashes.push(hashed(number(rank))));
            }
            combine_all(level, contents, &hashes);
        }
        Ok(())
    }

    /// Calls `visit` with the rank of each row, in their order.
    pub fn visit_ranks(&self, feature: u32, mut visit: impl FnMut(u32)) {
        self.data.visit_ranks_of(feature, self.numbers, self.rows.iter().copied(), |_, rank| visit(rank));
    }
}

/// The bits of a number, the same for both zeros.
fn bits_of(number: f64) -> u64 {
    (number + 0.0).to_bits()
}
