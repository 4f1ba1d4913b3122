//! A cell of a column in a node, and the order in which a scan takes the cells.

use std::slice::Iter;

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
pub(crate) fn samples_of(entries: &[Entry]) -> impl DoubleEndedIterator<Item = u32> + Clone {
    entries.iter().map(|entry| entry.sample())
}

/// Entries that a scan takes one by one: from the last to the first if `BACKWARDS`, else from the first on.
/// The direction is known when loops are compiled, so that they do not ask for it.
pub struct Run<'e, const BACKWARDS: bool> {
    pub(crate) rest: Iter<'e, Entry>,
}

impl<'e, const BACKWARDS: bool> Run<'e, BACKWARDS> {
    /// Takes all of these entries.
    pub fn new(entries: &'e [Entry]) -> Self {
        Self { rest: entries.iter() }
    }
}

impl<const BACKWARDS: bool> Iterator for Run<'_, BACKWARDS> {
    type Item = Entry;

    #[inline]
    fn next(&mut self) -> Option<Entry> {
        if BACKWARDS { self.rest.next_back() } else { self.rest.next() }.copied()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rest.size_hint()
    }
}

impl<const BACKWARDS: bool> ExactSizeIterator for Run<'_, BACKWARDS> {}
