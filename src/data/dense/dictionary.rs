//! Columns of few distinct values: the cells are coded, and only the distinct values are sorted.
//! Most columns of ordinary tables are of this kind. Integers of a small range are coded without a
//! look-up (`integers`); all other values are looked up in a hash table.

use super::distinct::{Distinct, DistinctCells};
use super::integers::{self, Integers, N_BYTES, count};
use crate::data::floats::TableValue;
use crate::num::SortKey;
use crate::tuning::tuned;

tuned! {
    /// The most distinct values of a column that is coded, at most half of the slots (bench
    /// `sweep`).
    fn coded_up_to() -> usize = 2048;
    /// A column that is coded has at least this many rows per distinct value (bench `sweep`). With
    /// fewer rows, a sort takes no longer.
    fn rows_per_code() -> usize = 4;
}
/// The slots and the values in single precision take 24 kB, which fit in the first level of the
/// cache.
const SLOT_BITS: u32 = 12;
/// The code of missing values.
const MISSING: u16 = u16::MAX;

/// The codes of the cells of one column. A code is how far an integer is above the lowest one, or the
/// number of a value in the order of first occurrence.
pub(super) struct Dictionary<V: SortKey> {
    /// By hash: one more than the code of a value, 0 if the slot is free.
    slots: Vec<u16>,
    /// By code: the value's key.
    keys: Vec<V::Key>,
    /// By row: the code of the cell, or [`MISSING`].
    codes: Vec<u16>,
    /// By code: the place among the ascending values, if the code occurs.
    places: Vec<u32>,
}

impl<V: SortKey> Default for Dictionary<V> {
    fn default() -> Self {
        Self { slots: vec![0; 1 << SLOT_BITS], keys: Vec::new(), codes: Vec::new(), places: Vec::new() }
    }
}

impl<V: TableValue> Dictionary<V> {
    /// Codes a column and returns its distinct values; `None` if there are too many. O(rows).
    pub fn code(&mut self, column: &[V]) -> Option<Distinct<V>> {
        self.code_integers(column).or_else(|| self.code_by_hash(column))
    }

    /// Codes a column of integers of a small range; `None` for any other.
    fn code_integers(&mut self, column: &[V]) -> Option<Distinct<V>> {
        let Self { codes, places, .. } = self;
        let Integers { lowest, n_codes } = integers::code(column, codes)?;
        let counts = count(codes, n_codes);
        let present = || counts.iter().zip(0..).filter(|&(&count, _)| count > 0);
        if n_codes > N_BYTES && present().count() > most_codes(column.len()) {
            return None;
        }
        places.clear();
        for (place, (_, code)) in (0..).zip(present()) {
            places.resize(code, 0);
            places.push(place);
        }
        Some(Distinct {
            values: present().map(|(_, code)| V::from_wide(lowest + code as f64)).collect(),
            counts: present().map(|(&count, _)| count).collect(),
            n_missing: 0,
        })
    }

    /// Codes a column by hashes of its values; `None` if there are too many distinct ones.
    fn code_by_hash(&mut self, column: &[V]) -> Option<Distinct<V>> {
        let Self { slots, keys, codes, places } = self;
        let most = most_codes(column.len());
        slots.fill(0);
        keys.clear();
        codes.resize(column.len(), 0);
        for (&value, row_code) in column.iter().zip(&mut codes[..]) {
            if value.widen().is_nan() {
                *row_code = MISSING;
                continue;
            }
            let key = value.key();
            let mut slot = V::hash(key, SLOT_BITS);
            let code = loop {
                match usize::from(slots[slot]) {
                    0 if keys.len() == most => return None,
                    0 => {
                        keys.push(key);
                        slots[slot] = keys.len() as u16;
                        break keys.len() - 1;
                    }
                    next if keys[next - 1] == key => break next - 1,
                    _ => slot = (slot + 1) % (1 << SLOT_BITS),
                }
            };
            *row_code = code as u16;
        }
        let counts = count(codes, keys.len());
        let mut order: Vec<(V::Key, u16)> = keys.iter().copied().zip(0..).collect();
        order.sort_unstable();
        places.resize(order.len(), 0);
        for (place, &(_, code)) in (0..).zip(&order) {
            places[usize::from(code)] = place;
        }
        Some(Distinct {
            values: order.iter().map(|&(key, _)| V::from_key(key)).collect(),
            counts: order.iter().map(|&(_, code)| counts[usize::from(code)]).collect(),
            n_missing: codes.iter().filter(|&&code| code == MISSING).count(),
        })
    }
}

/// The most distinct values of a column of `n_rows` rows that is coded.
pub(super) fn most_codes(n_rows: usize) -> usize {
    coded_up_to().min(1 << (SLOT_BITS - 1)).min(n_rows / rows_per_code())
}

impl<V: SortKey> DistinctCells for Dictionary<V> {
    fn ranks<R: Copy>(&self, first_rank: u32, missing_rank: u32, narrow: impl Fn(u32) -> R) -> Box<[R]> {
        // Integers are often categories or small counts. If all values between the lowest and the highest one
        // occur, codes are the ranks, too. Ranks begin at 0 if no value is missing.
        let are_places = self.places.iter().zip(0..).all(|(&place, code)| place == code);
        if are_places && first_rank == 0 {
            return self.codes.iter().map(|&code| narrow(code.into())).collect();
        }
        let ranks: Vec<R> = self.places.iter().map(|&place| narrow(first_rank + place)).collect();
        let missing = narrow(missing_rank);
        self.codes.iter().map(|&code| ranks.get(usize::from(code)).copied().unwrap_or(missing)).collect()
    }
}
