//! A sort of items by keys of up to 64 bits: by comparison, or by radix, in time linear in their
//! number, whichever takes less time.

/// A digit has at most this many bits, so that its counters stay in the first-level cache.
const MAX_DIGIT_BITS: u32 = 11;
/// Fewer items than this are sorted by comparison, whatever their keys.
const COMPARED_BELOW: usize = 64;
/// Items between two calls of `check`: some milliseconds of work.
const ITEMS_PER_CHECK: usize = 1 << 20;

// Costs in nanoseconds, from the group `sort` of the bench `fit`. Only their ratios matter, and only
// for speed.
/// The cost per item and per doubling of the number of items, by comparison.
const COMPARE_COST: f64 = 0.45;
/// The cost per item of the range of the keys.
const RANGE_COST: f64 = 0.6;
/// The cost per item and digit.
const DIGIT_COST: f64 = 0.9;
/// The cost per counter of a digit.
const COUNTER_COST: f64 = 0.4;

/// Buffers of a sort, assumed dirty.
#[derive(Debug)]
pub struct RadixSort<T> {
    sorted: Vec<T>,
    counts: Vec<u32>,
}

impl<T> Default for RadixSort<T> {
    fn default() -> Self {
        Self { sorted: Vec::new(), counts: Vec::new() }
    }
}

/// How keys are cut into digits. The lowest key is subtracted from all.
#[derive(Debug, Clone, Copy)]
struct Digits {
    lowest: u64,
    /// The number of digits, and the bits of a digit.
    count: u32,
    bits: u32,
}

impl Digits {
    fn of(keys: impl Iterator<Item = u64>) -> Self {
        let (lowest, highest) = keys.fold((u64::MAX, 0), |(lowest, highest), key| (key.min(lowest), key.max(highest)));
        let bits = u64::BITS - highest.saturating_sub(lowest).leading_zeros();
        let count = bits.div_ceil(MAX_DIGIT_BITS);
        Self { lowest, count, bits: bits.div_ceil(count.max(1)) }
    }

    /// Whether a sort of `n` items takes less time by these digits than by comparison.
    fn pay(self, n: usize) -> bool {
        let (n, count) = (n as f64, f64::from(self.count));
        let by_digits = RANGE_COST * n + count * (DIGIT_COST * n + COUNTER_COST * (1u32 << self.bits) as f64);
        by_digits < COMPARE_COST * n * n.log2()
    }

    /// The digit of a key at this place, the least significant one being at 0.
    #[inline]
    fn digit(self, key: u64, place: u32) -> usize {
        ((key - self.lowest) >> (place * self.bits)) as usize & ((1 << self.bits) - 1)
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
        if items.len() < COMPARED_BELOW {
            items.sort_unstable();
            return Ok(());
        }
        let digits = Digits::of(items.iter().map(|&item| key(item)));
        if !digits.pay(items.len()) {
            items.sort_unstable();
            return Ok(());
        }
        self.sort_by_digits(digits, items, key, check)
    }

    fn sort_by_digits<E>(
        &mut self,
        digits: Digits,
        items: &mut Vec<T>,
        key: impl Fn(T) -> u64,
        mut check: impl FnMut() -> Result<(), E>,
    ) -> Result<(), E> {
        let Self { sorted, counts } = self;
        counts.clear();
        counts.resize((digits.count as usize) << digits.bits, 0);
        sorted.resize(items.len(), items[0]);
        // Slices, as the loops below would read the address of a vector anew for each item.
        let (mut from, mut to, counts) = (&mut items[..], &mut sorted[..], &mut counts[..]);
        for items in from.chunks(ITEMS_PER_CHECK) {
            check()?;
            for &item in items {
                for place in 0..digits.count {
                    counts[((place as usize) << digits.bits) + digits.digit(key(item), place)] += 1;
                }
            }
        }
        let mut are_swapped = false;
        for (place, counts) in (0..).zip(counts.chunks_exact_mut(1 << digits.bits)) {
            if counts[digits.digit(key(from[0]), place)] as usize == from.len() {
                continue;
            }
            let mut start = 0;
            for count in counts.iter_mut() {
                start += std::mem::replace(count, start);
            }
            for items in from.chunks(ITEMS_PER_CHECK) {
                check()?;
                for &item in items {
                    let slot = &mut counts[digits.digit(key(item), place)];
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
            keys in prop::collection::vec(any::<u64>(), 1..2500),
            bits in 0u32..=64,
            base: u64,
            zeros in 0u32..64,
        ) {
            // Keys of up to `bits` bits above a base; their lowest bits are 0.
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
            let digits = Digits::of(sorted.iter().map(|item| item.0));
            radix.sort_by_digits(digits, &mut sorted, |item| item.0, || Ok::<(), Infallible>(())).unwrap();
            prop_assert_eq!(&sorted, &expected);
        }
    }

    #[test]
    fn an_error_ends_the_sort() {
        let mut items: Vec<u64> = (0..5000).rev().collect();
        assert_eq!(RadixSort::default().sort(&mut items, |item| item, || Err("stop")), Err("stop"));
    }
}
