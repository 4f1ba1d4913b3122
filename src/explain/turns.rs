//! Which way rows go at the splits of a tree.

use std::ops::Range;

use super::kernel::EXPLANATION;
use super::plan::Plan;
use crate::bitset::bits_of_bytes;
use crate::data::rows::{Reader, for_each_row};
use crate::error::Result;
use crate::memory;
use crate::runtime::Runtime;
use crate::simd::{Level, vectorized};
use crate::tree::packed::PackedTree;
use crate::tree::{SplitView, Walk};

/// Most rows of a batch: the bits of a word.
pub const MOST_ROWS: usize = 64;

/// So many rows are compared side by side; fewer one by one.
const FEW: usize = 4;
/// Values of one feature that are compared at once.
const AT_ONCE: usize = 8;

/// Which way each row of a batch goes at each split of a tree.
#[derive(Default)]
pub struct Turns {
    /// How many rows of the batch are used.
    pub n_rows: usize,
    /// By split, a bit for each row: it goes left.
    pub go_left: Vec<u64>,
    /// By feature of the tree and row, its value; a multiple of [`AT_ONCE`] values per feature.
    values: Vec<f64>,
    /// By feature of the tree, a bit for each row: its value is missing.
    missing: Vec<u64>,
}

impl Turns {
    /// Takes a batch of rows that the reader has loaded, and finds which way each goes at each split.
    pub fn take(
        &mut self,
        (plan, tree): (&Plan, &PackedTree),
        rows: Range<usize>,
        reader: &mut Reader<'_>,
        runtime: &Runtime<'_>,
    ) -> Result<()> {
        let n_rows = rows.len();
        self.n_rows = n_rows;
        let room = n_rows.next_multiple_of(AT_ONCE);
        let n_values = plan.features.len() * room;
        if self.values.len() < n_values {
            self.values = memory::zeros(EXPLANATION, n_values)?;
        }
        self.missing.clear();
        self.missing.resize(plan.features.len(), 0);
        for (number, row) in rows.enumerate() {
            for_each_row!(reader.row(row), |value| {
                let columns = self.values.chunks_exact_mut(room).zip(&mut self.missing);
                for (&feature, (column, missing)) in plan.features.iter().zip(columns) {
                    column[number] = value(feature);
                    *missing |= u64::from(column[number].is_nan()) << number;
                }
            });
        }
        self.go_left.clear();
        let level = Level::widest();
        for (number, split) in plan.splits.iter().enumerate() {
            runtime.check_in_turn(number)?;
            let feature = split.feature as usize;
            let column = &self.values[feature * room..][..room];
            let SplitView { threshold, missing_go_left, set, .. } = tree.split(number as u32);
            let rows = |goes_left: &dyn Fn(f64) -> bool| {
                column[..n_rows].iter().rev().fold(0, |bits, &value| bits << 1 | u64::from(goes_left(value)))
            };
            let missing = if missing_go_left { self.missing[feature] } else { 0 };
            let left = match set {
                Some(set) => rows(&|value| !value.is_nan() && set.goes_left(value)),
                // The call for all rows takes as long as some comparisons.
                None if n_rows < FEW => rows(&|value| value <= threshold),
                None => at_most(level, column, threshold),
            } | missing;
            self.go_left.push(left & all_rows(n_rows));
        }
        Ok(())
    }
}

vectorized! {
    /// A bit for each value, which says whether it is at most the threshold.
    fn at_most(values: &[f64], threshold: f64) -> u64 {
        let mut bits = 0;
        for group in values.as_chunks::<AT_ONCE>().0.iter().rev() {
            let mut bytes = [0; AT_ONCE];
            for (byte, &value) in bytes.iter_mut().zip(group) {
                *byte = u8::from(value <= threshold);
            }
            bits = bits << AT_ONCE | bits_of_bytes(bytes);
        }
        bits
    }
}

/// The bits of the first `n` rows.
pub fn all_rows(n: usize) -> u64 {
    u64::MAX >> (MOST_ROWS - n)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_width_compares_as_one_value_does(
            values in prop::collection::vec(prop_oneof![-4i8..4, Just(i8::MIN)], 8..=64), threshold in -4i8..4,
        ) {
            let values: Vec<f64> = values.into_iter().map(|v| if v == i8::MIN { f64::NAN } else { v.into() }).collect();
            let values = &values[..values.len() / AT_ONCE * AT_ONCE];
            let is_left = |number: usize| u64::from(values[number] <= threshold.into()) << number;
            let expected = (0..values.len()).fold(0, |bits, number| bits | is_left(number));
            for level in Level::supported() {
                prop_assert_eq!(at_most(level, values, threshold.into()), expected);
            }
        }
    }
}
