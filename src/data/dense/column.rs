//! From the values of one column to ranks, in one of three ways:
//!
//! * A column of few distinct values is coded by a hash table (`dictionary`), and only the distinct
//!   values are sorted. O(n).
//! * All others are sorted by radix, without their zeros. O(n) per digit that varies.
//! * Where sort keys may stand for ranks ([`Ordinals::Keys`]), a column of many values is not
//!   sorted at all. O(n).

use super::dictionary::Dictionary;
use super::distinct::{Distinct, DistinctCells};
use super::{DenseColumn, MAX_NARROW, Ordinals, Ranks};
use crate::data::floats::{Floats, TableValue};
use crate::data::ranking::{number_cells, push_cell, sort_cells, split_at_zero};
use crate::data::values::{MISSING_KEY, padded};
use crate::error::Result;
use crate::num::{RadixSort, SortKey};
use crate::runtime::Runtime;
use crate::tuning::tuned;

tuned! {
    /// Columns with more than this share of rows of one value, and at least this many values, are
    /// sparse (bench `sweep`).
    fn sparse_from() -> f64 = 0.4;
    fn sparse_from_distinct() -> usize = 17;
    /// The share for columns whose ranks are bytes (bench `sweep`). Histograms have a bin for each of
    /// their values, and nothing is left to sort.
    fn sparse_bytes_from() -> f64 = 0.8;
}

/// A column, and what is said of it elsewhere.
pub(super) struct EncodedColumn {
    pub column: DenseColumn,
    /// Its values by rank; empty if ranks are keys.
    pub table: Floats,
    pub has_missing: bool,
}

/// Encodes one column after the other.
pub(super) struct Encoder<V: SortKey> {
    ordinals: Ordinals,
    dictionary: Dictionary<V>,
    /// The cells that are neither zero nor missing.
    cells: Vec<V::Cell>,
    radix: RadixSort<V::Cell>,
}

impl<V: TableValue> Encoder<V> {
    pub fn new(ordinals: Ordinals) -> Self {
        Self { ordinals, dictionary: Dictionary::default(), cells: Vec::new(), radix: RadixSort::default() }
    }

    /// Encodes a column, given its value in each row.
    pub fn encode(&mut self, values: &[V], runtime: &Runtime<'_>) -> Result<EncodedColumn> {
        if let Some(distinct) = self.dictionary.code(values) {
            return Ok(encoded(distinct, &self.dictionary));
        }
        if self.ordinals == Ordinals::Keys
            && let Some(encoded) = keyed(values)
        {
            return Ok(encoded);
        }
        let Self { cells, radix, .. } = self;
        cells.clear();
        let mut missing = Vec::new();
        for (row, &value) in values.iter().enumerate() {
            push_cell(value, row as u32, cells, &mut missing);
        }
        sort_cells::<V>(cells, radix, runtime)?;
        let (negative, positive) = split_at_zero::<V>(cells);
        let n_zeros = values.len() - cells.len() - missing.len();
        let zero_place = number_cells::<V>(negative, 0, |_, _| ());
        let sorted = Sorted::<V> { negative, positive, n_zeros, zero_place, missing: &missing };
        Ok(encoded(sorted.distinct(), &sorted))
    }
}

/// A column whose distinct values are known.
pub(super) fn encoded<V: TableValue>(distinct: Distinct<V>, cells: &impl DistinctCells) -> EncodedColumn {
    let Distinct { values, counts, n_missing } = distinct;
    let has_missing = n_missing > 0;
    let n_samples = counts.iter().sum::<u32>() as usize + n_missing;
    let n_distinct = values.len();
    let first_rank = u32::from(has_missing);
    let table = if has_missing { padded(values) } else { values };
    let (n_ranks, missing_rank) = (table.len() as u32, table.len() as u32 - 1);
    let mut most = (n_missing as u32, missing_rank);
    for (rank, n) in (first_rank..).zip(counts) {
        if n > most.0 {
            most = (n, rank);
        }
    }
    let (n_common, common_rank) = most;
    let share = if table.len() <= 0x100 { sparse_bytes_from() } else { sparse_from() };
    let is_sparse = n_distinct >= sparse_from_distinct() && f64::from(n_common) > share * n_samples as f64;
    let ranks = match table.len() {
        0..=0x100 => Ranks::U8(cells.ranks(first_rank, missing_rank, |rank| rank as u8).into()),
        0x101..=MAX_NARROW => Ranks::U16(cells.ranks(first_rank, missing_rank, |rank| rank as u16).into()),
        _ => Ranks::U32(cells.ranks(first_rank, missing_rank, |rank| rank).into()),
    };
    EncodedColumn {
        column: DenseColumn { ranks, common_rank, n_ranks, is_sparse },
        table: V::floats(table),
        has_missing,
    }
}

/// A column with the sort keys of its values for ranks; `None` if not all values are `f32`.
fn keyed<V: TableValue>(values: &[V]) -> Option<EncodedColumn> {
    let key = |value: V| if value.widen().is_nan() { Some(MISSING_KEY) } else { Some(value.narrow()?.key()) };
    let keys: Box<[u32]> = values.iter().map(|&value| key(value)).collect::<Option<_>>()?;
    let has_missing = keys.contains(&MISSING_KEY);
    let common_rank = majority(&keys)?;
    let n_common = keys.iter().filter(|&&key| key == common_rank).count();
    let is_sparse = n_common as f64 > sparse_from() * keys.len() as f64;
    let column = DenseColumn { ranks: Ranks::U32(keys.into()), common_rank, n_ranks: u32::MAX, is_sparse };
    Some(EncodedColumn { column, table: V::floats(Vec::new()), has_missing })
}

/// The key that more than half of all rows have, or any key if there is no such key (Boyer and
/// Moore, "MJRTY: a fast majority vote algorithm", 1991). `None` if there are no rows.
fn majority(keys: &[u32]) -> Option<u32> {
    let (mut candidate, mut lead) = (*keys.first()?, 0);
    for &key in keys {
        if lead == 0 {
            candidate = key;
        }
        lead += if key == candidate { 1 } else { -1 };
    }
    Some(candidate)
}

/// A column whose values have been sorted.
struct Sorted<'a, V: SortKey> {
    /// The cells of negative values, in the order of the values.
    negative: &'a [V::Cell],
    /// The cells of positive values, in the order of the values.
    positive: &'a [V::Cell],
    n_zeros: usize,
    /// The place among the distinct values that zero has or would have.
    zero_place: u32,
    /// The rows of missing values.
    missing: &'a [u32],
}

impl<V: SortKey> Sorted<'_, V> {
    /// Calls `visit` with each cell and the place of its value among the distinct values. Returns
    /// the number of distinct values.
    fn for_each_cell(&self, mut visit: impl FnMut(u32, V::Cell)) -> u32 {
        number_cells::<V>(self.negative, 0, &mut visit);
        number_cells::<V>(self.positive, self.zero_place + u32::from(self.n_zeros > 0), visit)
    }

    fn distinct(&self) -> Distinct<V> {
        let most = self.negative.len() + self.positive.len() + 1;
        let (mut values, mut counts) = (vec![V::ZERO; most], vec![0; most]);
        let n_distinct = self.for_each_cell(|place, cell| {
            values[place as usize] = V::from_key(V::key_of(cell));
            counts[place as usize] += 1;
        });
        if self.n_zeros > 0 {
            counts[self.zero_place as usize] = self.n_zeros as u32;
        }
        values.truncate(n_distinct as usize);
        counts.truncate(n_distinct as usize);
        Distinct { values, counts, n_missing: self.missing.len() }
    }
}

impl<V: SortKey> DistinctCells for Sorted<'_, V> {
    fn ranks<R: Copy>(&self, first_rank: u32, missing_rank: u32, narrow: impl Fn(u32) -> R) -> Box<[R]> {
        let n_samples = self.negative.len() + self.positive.len() + self.n_zeros + self.missing.len();
        let mut ranks = vec![narrow(first_rank + self.zero_place); n_samples];
        self.for_each_cell(|place, cell| ranks[V::row_of(cell) as usize] = narrow(first_rank + place));
        for &row in self.missing {
            ranks[row as usize] = narrow(missing_rank);
        }
        ranks.into()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use proptest::prelude::*;

    use super::*;

    /// The rank of each value by its definition, the table, and a most frequent rank's count.
    fn oracle(values: &[f64]) -> (Vec<u32>, Vec<f64>, usize) {
        let has_missing = values.iter().any(|value| value.is_nan());
        let mut table: Vec<f64> = values.iter().filter(|value| !value.is_nan()).map(|value| value + 0.0).collect();
        table.sort_unstable_by(f64::total_cmp);
        table.dedup();
        if has_missing {
            table = padded(table);
        }
        let rank = |value: f64| match table.iter().position(|&other| other == value) {
            Some(rank) if !value.is_nan() => rank as u32,
            _ => table.len() as u32 - 1,
        };
        let ranks: Vec<u32> = values.iter().map(|&value| rank(value)).collect();
        let most = ranks.iter().map(|rank| ranks.iter().filter(|other| *other == rank).count()).max();
        (ranks, table, most.unwrap())
    }

    fn rows_of(column: &DenseColumn, n: usize) -> Vec<u32> {
        (0..n as u32).map(|row| column.rank(row)).collect()
    }

    proptest! {
        #[test]
        fn all_ways_give_the_same_ranks(
            numbers in prop::collection::vec(-40..40i32, 1..900),
            step in prop::sample::select(vec![0.0, 0.25, 0.1, 1e-3]),
            missing in prop::option::of(0..40i32),
        ) {
            // The last row's index makes all values distinct where `step` is small.
            let value = |(row, &number): (usize, &i32)| {
                if Some(number) == missing { f64::NAN } else { f64::from(number) * 0.5 + row as f64 * step }
            };
            let values: Vec<f64> = numbers.iter().enumerate().map(value).collect();
            let stop = AtomicBool::new(false);
            let runtime = Runtime::new(1, &stop);
            let (ranks, table, n_common) = oracle(&values);
            let EncodedColumn { column, table: found, has_missing } =
                Encoder::new(Ordinals::Ranks).encode(&values, &runtime).unwrap();
            prop_assert_eq!(&rows_of(&column, values.len()), &ranks);
            prop_assert_eq!(f64::of(&found), &table[..]);
            prop_assert_eq!(has_missing, missing.is_some_and(|missing| numbers.contains(&missing)));
            prop_assert_eq!(ranks.iter().filter(|&&rank| rank == column.common_rank).count(), n_common);

            let singles: Vec<f32> = values.iter().map(|&value| value as f32).collect();
            let wide: Vec<f64> = singles.iter().map(|&value| value.into()).collect();
            let (ranks, table, _) = oracle(&wide);
            let EncodedColumn { column, table: found, .. } = Encoder::new(Ordinals::Keys).encode(&singles, &runtime).unwrap();
            let keys = rows_of(&column, values.len());
            if found.len() > 0 {
                prop_assert_eq!(keys, ranks);
                let found: Vec<f64> = f32::of(&found).iter().map(|&value| value.into()).collect();
                prop_assert_eq!(found, table);
            } else {
                for (&key, &value) in keys.iter().zip(&singles) {
                    let is_its_key = if value.is_nan() { key == MISSING_KEY } else { f32::from_key(key) == value };
                    prop_assert!(is_its_key);
                }
                let n = |rank: u32| keys.iter().filter(|&&key| key == rank).count();
                prop_assert!(keys.iter().all(|&key| 2 * n(key) <= keys.len() || key == column.common_rank));
            }
        }
    }
}
