//! A sort of items by keys of up to 64 bits: few items by comparison, many by radix, in time linear
//! in their number.

use crate::tuning::tuned;

tuned! {
    /// From this many items per digit on, a sort by radix takes less time than one by comparison
    /// (bench `sweep`).
    fn radix_from() -> usize = 300;
}

/// The bits of a digit. The counters of the three digits of 32 bits fit in the first-level cache.
const DIGIT_BITS: u32 = 11;
const N_COUNTS: usize = 1 << DIGIT_BITS;
/// Items between two calls of `check`: some milliseconds of work.
const ITEMS_PER_CHECK: usize = 1 << 20;

/// Buffers of a sort, assumed dirty.
#[derive(Debug)]
pub struct RadixSort<T> {
    sorted: Vec<T>,
    counts: Vec<[u32; N_COUNTS]>,
}

impl<T> Default for RadixSort<T> {
    fn default() -> Self {
        Self { sorted: Vec::new(), counts: Vec::new() }
    }
}

impl<T: Copy + Ord> RadixSort<T> {
    /// Sorts fewer than 2^32 items, given keys that ascend as the items do. Items of equal keys must
    /// already be in order. O(items) per digit in which keys differ, or O(items log(items)) if they
    /// are few. `check` is called at the start and every few milliseconds; its error ends the sort,
    /// and the items are then in any order.
    pub fn sort<E>(
        &mut self,
        items: &mut Vec<T>,
        key: impl Fn(T) -> u64,
        mut check: impl FnMut() -> Result<(), E>,
    ) -> Result<(), E> {
        check()?;
        let Some(&first) = items.first() else { return Ok(()) };
        let varying = items.iter().fold(0, |varying, &item| varying | (key(item) ^ key(first)));
        let n_digits = (u64::BITS - varying.leading_zeros()).div_ceil(DIGIT_BITS);
        if items.len() < radix_from() * n_digits as usize {
            items.sort_unstable();
            return Ok(());
        }
        match n_digits {
            0 => Ok(()),
            1 => self.sort_digits::<1, E>(items, key, check),
            2 => self.sort_digits::<2, E>(items, key, check),
            3 => self.sort_digits::<3, E>(items, key, check),
            4 => self.sort_digits::<4, E>(items, key, check),
            5 => self.sort_digits::<5, E>(items, key, check),
            _ => self.sort_digits::<6, E>(items, key, check),
        }
    }

    /// Sorts by the lowest digits of the keys, the least significant one first.
    fn sort_digits<const N_DIGITS: usize, E>(
        &mut self,
        items: &mut Vec<T>,
        key: impl Fn(T) -> u64,
        mut check: impl FnMut() -> Result<(), E>,
    ) -> Result<(), E> {
        let digit = |key: u64, at: usize| (key >> (at as u32 * DIGIT_BITS)) as usize % N_COUNTS;
        let Self { sorted, counts } = self;
        counts.clear();
        counts.resize(N_DIGITS, [0; N_COUNTS]);
        for items in items.chunks(ITEMS_PER_CHECK) {
            check()?;
            for key in items.iter().map(|&item| key(item)) {
                for (at, counts) in counts.iter_mut().enumerate().take(N_DIGITS) {
                    counts[digit(key, at)] += 1;
                }
            }
        }
        sorted.clear();
        sorted.extend_from_slice(items);
        // Slices, as the loop below would read the address of a vector anew for each item.
        let (mut from, mut to) = (&mut items[..], &mut sorted[..]);
        let mut are_swapped = false;
        for (at, counts) in counts.iter_mut().enumerate() {
            if counts[digit(key(from[0]), at)] as usize == from.len() {
                continue;
            }
            let mut start = 0;
            for count in counts.iter_mut() {
                start += std::mem::replace(count, start);
            }
            for items in from.chunks(ITEMS_PER_CHECK) {
                check()?;
                for &item in items {
                    let slot = &mut counts[digit(key(item), at)];
                    to[*slot as usize] = item;
                    *slot += 1;
                }
            }
            std::mem::swap(&mut from, &mut to);
            are_swapped = !are_swapped;
        }
        if are_swapped {
            std::mem::swap(items, sorted);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn both_ways_agree_with_a_stable_sort(
            keys in prop::collection::vec(any::<u64>(), 0..2500),
            bits in 0u32..=64,
            base: u64,
            zeros in 0u32..64,
        ) {
            // Keys of up to `bits` bits, the lowest of which are 0, above a base.
            let mask = 1u64.checked_shl(bits).map_or(u64::MAX, |power| power - 1);
            let base = base.min(u64::MAX - mask);
            let items: Vec<(u64, usize)> =
                keys.iter().map(|key| (base + (key & mask)) >> zeros << zeros).zip(0..).collect();
            let mut expected = items.clone();
            expected.sort_by_key(|item| item.0);
            let mut radix = RadixSort::default();
            let mut sorted = items.clone();
            radix.sort(&mut sorted, |item| item.0, || Ok::<(), Infallible>(())).unwrap();
            prop_assert_eq!(&sorted, &expected);
            let mut sorted = items;
            if !sorted.is_empty() {
                radix.sort_digits::<6, _>(&mut sorted, |item| item.0, || Ok::<(), Infallible>(())).unwrap();
            }
            prop_assert_eq!(&sorted, &expected);
        }
    }

    #[test]
    fn an_error_ends_the_sort() {
        let mut items: Vec<u64> = (0..5000).rev().collect();
        assert_eq!(RadixSort::default().sort(&mut items, |item| item, || Err("stop")), Err("stop"));
    }
}
