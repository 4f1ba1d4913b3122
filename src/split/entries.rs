//! The entries of a column in a node, and how entries are sorted by rank. Few entries are sorted by
//! comparison. More entries are sorted by an LSD radix sort over those bits in which their ranks
//! differ, in O(entries).

/// One entry of a column in a node: the rank of the value in the high 32 bits, the row in the low
/// 32 bits. Entries are therefore ordered by rank, then by row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry(u64);

impl Entry {
    /// Packs the rank of a value and the row that has the value.
    #[inline]
    pub fn new(rank: u32, sample: u32) -> Self {
        Self(u64::from(rank) << 32 | u64::from(sample))
    }

    /// Makes an entry from a rank of any width.
    #[inline]
    pub(crate) fn widened(rank: impl Into<u32>, sample: u32) -> Self {
        Self::new(rank.into(), sample)
    }

    /// The rank of the entry's value in the column.
    #[inline]
    pub fn rank(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The row of the entry, as an id in the data set.
    #[inline]
    pub fn sample(self) -> u32 {
        self.0 as u32
    }
}

/// The rows of some entries.
pub(crate) fn samples_of(entries: &[Entry]) -> impl Iterator<Item = u32> + Clone {
    entries.iter().map(|entry| entry.sample())
}

/// Whether a column varies in a node of `n_samples` rows, given the column's entries in the
/// node.
pub(crate) fn entries_vary(entries: &[Entry], n_samples: usize) -> bool {
    let first = entries.first().map(|entry| entry.rank());
    first.is_some_and(|first| entries.len() < n_samples || entries.iter().any(|entry| entry.rank() != first))
}

/// From this many entries on, entries are sorted by radix (bench `scan`).
const RADIX_FROM: usize = 96;
/// A radix digit has at most this many bits, so that its counters stay in the first-level cache.
const MAX_DIGIT_BITS: u32 = 11;

/// Buffers of one worker. `entries` holds what is to be sorted; the other buffers are assumed
/// dirty.
#[derive(Debug, Default)]
pub(crate) struct SortScratch {
    pub entries: Vec<Entry>,
    sorted: Vec<Entry>,
    counts: Vec<u32>,
}

impl SortScratch {
    /// Sorts `entries` by rank. Entries of equal rank end in the order of their rows if they were
    /// in that order before. O(entries).
    pub fn sort(&mut self) {
        let Self { entries, sorted, counts } = self;
        if entries.len() < RADIX_FROM {
            entries.sort_unstable();
            return;
        }
        let ranks = || entries.iter().map(|entry| entry.rank());
        let (Some(lowest), Some(highest)) = (ranks().min(), ranks().max()) else { return };
        let bits = u32::BITS - (highest - lowest).leading_zeros();
        if bits == 0 {
            return;
        }
        let digit_bits = bits.div_ceil(bits.div_ceil(MAX_DIGIT_BITS));
        sorted.clear();
        sorted.extend_from_slice(entries);
        for shift in (0..bits).step_by(digit_bits as usize) {
            let digit = |entry: Entry| ((entry.rank() - lowest) >> shift) as usize & ((1 << digit_bits) - 1);
            counts.clear();
            counts.resize(1 << digit_bits, 0);
            for &entry in entries.iter() {
                counts[digit(entry)] += 1;
            }
            let mut start = 0;
            for count in counts.iter_mut() {
                start += std::mem::replace(count, start);
            }
            for &entry in entries.iter() {
                let slot = &mut counts[digit(entry)];
                sorted[*slot as usize] = entry;
                *slot += 1;
            }
            std::mem::swap(entries, sorted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn radix_agrees_with_sort(ranks in prop::collection::vec(any::<u32>(), 1..400), bits in 0u32..=32, base: u32) {
            let narrow = |rank: u32| rank.checked_shr(32 - bits).unwrap_or(0);
            let base = base.min(u32::MAX - narrow(u32::MAX));
            let entries: Vec<Entry> =
                ranks.iter().enumerate().map(|(i, r)| Entry::new(base + narrow(*r), i as u32)).collect();
            let mut expected = entries.clone();
            expected.sort_unstable();
            let mut scratch = SortScratch { entries, ..SortScratch::default() };
            scratch.sort();
            prop_assert_eq!(scratch.entries, expected);
        }
    }
}
