//! Which rows are in the node that is searched: one bit per row.
//!
//! Nodes are visited so that the next one is often a child of the last, or a child's child. Then only the rows that
//! the last one had more are removed: a long chain of one-sided splits costs what it peels off, not what is left.

use std::ops::Range;

use crate::bitset::Bitset;
use crate::samples::SampleSet;

/// The rows of one node.
#[derive(Debug, Default)]
pub(super) struct Members {
    bits: Bitset,
    /// The node, as a range of the sample set. Partitions move rows within it, never out of it.
    range: Range<usize>,
}

impl Members {
    pub fn new(n_samples: usize) -> Self {
        Self { bits: Bitset::new(n_samples), range: 0..0 }
    }

    /// The rows of the node at `range`. O(rows that differ) if it lies within the last one, else O(rows of both).
    pub fn of(&mut self, samples: &SampleSet, range: &Range<usize>) -> &Bitset {
        let last = std::mem::replace(&mut self.range, range.clone());
        if last.start <= range.start && range.end <= last.end {
            self.bits.remove_all(samples.node(last.start..range.start));
            self.bits.remove_all(samples.node(range.end..last.end));
        } else {
            self.bits.remove_all(samples.node(last));
            self.bits.insert_all(samples.node(range.clone()));
        }
        &self.bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bits_follow_the_node(ranges in prop::collection::vec((0usize..=50, 0usize..=50), 1..20)) {
            let samples = SampleSet::new((0..50).map(|i| 3 * i).collect());
            let mut members = Members::new(150);
            for (a, b) in ranges {
                let range = a.min(b)..a.max(b);
                let bits = members.of(&samples, &range);
                for i in 0..150u32 {
                    prop_assert_eq!(bits.contains(i), samples.node(range.clone()).contains(&i));
                }
            }
        }
    }
}
