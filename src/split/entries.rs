//! What is asked of the entries of a column in a node: whether they vary, and their order by rank.

use std::convert::Infallible;

use crate::data::Entry;
use crate::num::RadixSort;

/// Whether a column varies in a node of `n_samples` rows, given the column's entries in the
/// node.
pub(crate) fn entries_vary(entries: &[Entry], n_samples: usize) -> bool {
    let first = entries.first().map(|entry| entry.rank());
    first.is_some_and(|first| entries.len() < n_samples || entries.iter().any(|entry| entry.rank() != first))
}

/// Buffers of one worker. `entries` holds the entries to be sorted.
#[derive(Debug, Default)]
pub(crate) struct SortScratch {
    pub entries: Vec<Entry>,
    radix: RadixSort<Entry>,
}

impl SortScratch {
    /// Sorts `entries` by rank. Entries of equal rank must be in the order of their rows. O(entries).
    pub fn sort(&mut self) {
        let Self { entries, radix } = self;
        let Ok(()) = radix.sort(entries, |entry| entry.rank().into(), || Ok::<(), Infallible>(()));
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
