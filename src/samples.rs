//! The rows of the nodes: one permutation of row ids, in which a node is a contiguous range.
//!
//! Invariant: the ids of every node are in ascending order, because the root's are and partitions are stable. So
//! gathers over a node walk memory forwards. This is the only place that reorders rows ("Sparsified Trees", section II:
//! the array `samples`; there it is also scrambled by every search).

use std::ops::Range;

/// Row ids grouped by node.
#[derive(Debug)]
pub struct SampleSet {
    samples: Vec<u32>,
    scratch: Vec<u32>,
}

impl SampleSet {
    /// The root: `samples` must be ascending.
    pub fn new(samples: Vec<u32>) -> Self {
        debug_assert!(samples.is_sorted_by(|a, b| a < b));
        Self { scratch: vec![0; samples.len()], samples }
    }

    /// Number of rows of the root.
    pub fn len(&self) -> usize {
        self.samples.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// The rows of a node.
    #[inline]
    pub fn node(&self, range: Range<usize>) -> &[u32] {
        &self.samples[range]
    }

    /// Moves the rows of a node for which `goes_left` holds to its front, keeping both sides in order. Returns the
    /// first position of the right child. O(rows of the node), without branches on the predicate.
    pub fn partition(&mut self, range: Range<usize>, goes_left: impl Fn(u32) -> bool) -> usize {
        let node = &mut self.samples[range.clone()];
        let scratch = &mut self.scratch[..node.len()];
        let (mut n_left, mut n_right) = (0, 0);
        for at in 0..node.len() {
            let sample = node[at];
            let left = goes_left(sample);
            // Both writes are harmless: n_left <= at, and the slot at n_right is not used yet.
            node[n_left] = sample;
            scratch[n_right] = sample;
            n_left += usize::from(left);
            n_right += usize::from(!left);
        }
        node[n_left..].copy_from_slice(&scratch[..n_right]);
        range.start + n_left
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn partition_is_the_stable_one(goes in prop::collection::vec(any::<bool>(), 1..200), start in 0usize..50) {
            let n = goes.len() as u32;
            let start = start.min(goes.len());
            let mut set = SampleSet::new((0..n).collect());
            let middle = set.partition(start..n as usize, |s| goes[s as usize]);
            let (left, right): (Vec<u32>, Vec<u32>) = (start as u32..n).partition(|&s| goes[s as usize]);
            prop_assert_eq!(set.node(start..middle), left);
            prop_assert_eq!(set.node(middle..n as usize), right);
            prop_assert_eq!(set.node(0..start), (0..start as u32).collect::<Vec<_>>());
        }
    }
}
