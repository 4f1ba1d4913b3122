//! A row of a node as an integer: its class in the low bits, its weight above.

use super::MAX_CLASSES;

const SLOT_BITS: u32 = 8;
const _: () = assert!(MAX_CLASSES <= 1 << SLOT_BITS);

/// A row of this weight and class.
#[inline]
pub fn packed_row(weight: u64, slot: u32) -> u64 {
    weight << SLOT_BITS | u64::from(slot)
}

/// The slot of a packed row's class.
#[inline]
pub fn slot_of(row: u64) -> usize {
    (row & ((1 << SLOT_BITS) - 1)) as usize
}

/// The weight in a packed row.
#[inline]
pub fn weight_of(row: u64) -> u64 {
    row >> SLOT_BITS
}
