//! A dense column as sorted entries: the node's ranks that differ from the column's most frequent one, for the scan.
//!
//! Sorting is by rank: a comparison sort for small nodes, an LSD radix sort over the bits in which the node's ranks
//! differ for larger ones. O(W).

use crate::data::dense::{DenseColumn, Ranks};
use crate::split::NodeColumn;
use crate::split::sparse::intersect::Entry;

/// Nodes from this size on are sorted by radix (bench `scan`).
const RADIX_FROM: usize = 96;
/// Rows of the common rank that are this many times fewer than the node's are entries like others: one pass over all costs less
/// than two, from either end (`benches/peers/absolute_error.py`).
const FEW_COMMON: usize = 8;
/// Most bits of a radix digit: its counters stay in the first-level cache.
const MAX_DIGIT_BITS: u32 = 11;

/// Buffers of one worker, assumed dirty.
#[derive(Debug, Default)]
pub(crate) struct SortScratch {
    pub entries: Vec<Entry>,
    sorted: Vec<Entry>,
    counts: Vec<u32>,
}

/// The column of a feature in a node, sorted or not.
pub(crate) fn node_column<'s>(
    feature: u32,
    column: &DenseColumn,
    samples: &[u32],
    is_sorted: bool,
    scratch: &'s mut SortScratch,
) -> NodeColumn<'s> {
    let mut fill = |common| match &column.ranks {
        Ranks::U8(ranks) => gather(ranks, samples, common, &mut scratch.entries),
        Ranks::U16(ranks) => gather(ranks, samples, common, &mut scratch.entries),
        Ranks::U32(ranks) => gather(ranks, samples, common, &mut scratch.entries),
    };
    let mut common_rank = column.common_rank;
    let n_common = samples.len() - fill(common_rank);
    if is_sorted && 0 < n_common && n_common * FEW_COMMON < samples.len() {
        // There are not so many ranks.
        common_rank = u32::MAX;
        fill(common_rank);
    }
    if is_sorted {
        scratch.sort();
    }
    let entries = &scratch.entries[..];
    NodeColumn { feature, entries, n_common: samples.len() - entries.len(), common_rank }
}

/// The node's entries that do not have the common rank, in the order of its rows; returns their number. Without branches on ranks.
fn gather<R: Copy + Into<u32>>(ranks: &[R], samples: &[u32], common: u32, entries: &mut Vec<Entry>) -> usize {
    entries.resize(samples.len(), Entry::new(0, 0));
    let mut n = 0;
    for &sample in samples {
        let rank = ranks[sample as usize].into();
        entries[n] = Entry::new(rank, sample);
        n += usize::from(rank != common);
    }
    entries.truncate(n);
    n
}

impl SortScratch {
    /// Sorts the entries by rank. O(entries).
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
