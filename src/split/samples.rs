//! The rows of all nodes: one permutation of row ids, in which each node is a contiguous range.
//!
//! [`Samples`] owns the permutation. A [`SampleSet`] is the range of one node, and splits into the
//! ranges of the node's children. Only this file reorders rows. ("Sparsified Trees", section II,
//! calls this array `samples`; there every search also scrambles it.)
//!
//! A stable partition keeps the ids of a node ascending, so that gathers over the node walk memory
//! forwards. Its cost is the size of the node. Where a split takes only a few rows off a node,
//! these rows are swapped to an edge of the node instead, at a cost of their number. The few rows
//! are then ascending; the other rows lose their order a little. No result depends on the order.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::Result;
use crate::runtime::Runtime;

/// All rows of a tree, grouped by node.
#[derive(Debug)]
pub struct Samples {
    ids: Vec<u32>,
    scratch: Vec<u32>,
    /// The position of each row in `ids`; empty if positions were not asked for. Nodes that have no
    /// row in common write different positions, so no position is written by two threads at a time.
    positions: Box<[AtomicU32]>,
}

impl Samples {
    /// The rows `ids`, which must be ascending and below `n_samples`. [`SampleSet::contains`] and
    /// [`SampleSet::move_few`] need `positions`.
    pub fn new(ids: Vec<u32>, n_samples: usize, positions: bool) -> Self {
        debug_assert!(ids.is_sorted_by(|a, b| a < b));
        let n_positions = if positions { n_samples } else { 0 };
        let positions = (0..n_positions).map(|_| AtomicU32::new(0)).collect();
        let mut samples = Self { ids: Vec::new(), scratch: Vec::new(), positions };
        samples.refill(ids);
        samples
    }

    /// Replaces the rows by `ids`, which must be ascending. O(new rows): the positions of rows that
    /// are no longer there are left as they are. Such a position is known to be outdated because
    /// another row is there, or none.
    pub fn refill(&mut self, ids: Vec<u32>) {
        debug_assert!(ids.is_sorted_by(|a, b| a < b));
        self.scratch.resize(ids.len(), 0);
        self.ids = ids;
        self.root().set_positions();
    }

    /// The rows in their order.
    pub fn into_ids(self) -> Vec<u32> {
        self.ids
    }

    /// The root: the node of all rows.
    pub fn root(&mut self) -> SampleSet<'_> {
        SampleSet { start: 0, ids: &mut self.ids, scratch: &mut self.scratch, positions: &self.positions }
    }
}

/// The rows of one node.
#[derive(Debug)]
pub struct SampleSet<'a> {
    /// The position of the node's first row in the permutation.
    start: usize,
    ids: &'a mut [u32],
    scratch: &'a mut [u32],
    positions: &'a [AtomicU32],
}

impl SampleSet<'_> {
    /// The number of rows of the node.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether the node has no rows.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The numbers of the node's rows in the data set.
    #[inline]
    pub fn ids(&self) -> &[u32] {
        self.ids
    }

    /// Whether a row is one of the node's rows. O(1). Needs positions.
    #[inline]
    pub fn contains(&self, sample: u32) -> bool {
        let at = (self.positions[sample as usize].load(Ordering::Relaxed) as usize).wrapping_sub(self.start);
        self.ids.get(at) == Some(&sample)
    }

    /// Moves the rows for which `goes_left` holds to the front and keeps the order of the rows on
    /// both sides. Returns how many rows go left. `goes_left` is called once for each row, with its
    /// place in the node and its id. O(rows), without branches on the predicate.
    pub fn partition(&mut self, goes_left: impl Fn(usize, u32) -> bool) -> usize {
        let n_left = partition(self.ids, self.scratch, goes_left);
        self.set_positions();
        n_left
    }

    /// [`partition`](Self::partition) by several threads, which have `n_rows` rows at a time. `goes_left` is
    /// called with the id of a row.
    pub fn partition_in_parts(
        &mut self,
        n_rows: usize,
        runtime: &Runtime<'_>,
        goes_left: impl Fn(u32) -> bool + Sync,
    ) -> Result<usize> {
        let parts = self.ids.chunks_mut(n_rows).zip(self.scratch.chunks_mut(n_rows)).collect();
        let of_parts = runtime.map(parts, |(ids, scratch)| Ok(partition(ids, scratch, |_, row| goes_left(row))))?;
        let mut n_left = 0;
        for (part, of_part) in of_parts.into_iter().enumerate() {
            // Behind the rows of earlier parts that go left are those that go right.
            let start = part * n_rows;
            self.ids[n_left..start + of_part].rotate_left(start - n_left);
            n_left += of_part;
        }
        self.set_positions();
        Ok(n_left)
    }

    /// Sets the positions of the node's rows, if positions were asked for.
    fn set_positions(&self) {
        if !self.positions.is_empty() {
            for (at, &id) in self.ids.iter().enumerate() {
                self.positions[id as usize].store((self.start + at) as u32, Ordering::Relaxed);
            }
        }
    }

    /// Moves the rows `few` to the front of the node or to the back, in the order of `few`. Every
    /// other row stays, or moves to a position that one of the few rows has left. Returns the
    /// number of rows that are now left of the cut. O(few), wherever in the node these rows are.
    pub fn move_few(&mut self, few: &[u32], to_front: bool) -> usize {
        let n_left = if to_front { few.len() } else { self.ids.len() - few.len() };
        let first = if to_front { 0 } else { n_left };
        for (to, &id) in (first..).zip(few) {
            // The slots from `first` to `to` hold rows of `few` that were moved before, so `from`
            // is none of these slots.
            let from = self.positions[id as usize].load(Ordering::Relaxed) as usize - self.start;
            self.ids.swap(from, to);
            for at in [from, to] {
                self.positions[self.ids[at] as usize].store((self.start + at) as u32, Ordering::Relaxed);
            }
        }
        n_left
    }

    /// Splits the rows into two nodes: the first `middle` rows, and the rest.
    pub fn split_at(self, middle: usize) -> (Self, Self) {
        let Self { start, ids, scratch, positions } = self;
        let (left, right) = ids.split_at_mut(middle);
        let (left_scratch, right_scratch) = scratch.split_at_mut(middle);
        (
            Self { start, ids: left, scratch: left_scratch, positions },
            Self { start: start + middle, ids: right, scratch: right_scratch, positions },
        )
    }
}

/// Moves the rows for which `goes_left` holds to the front. `scratch` is as long as `node`.
fn partition(node: &mut [u32], scratch: &mut [u32], goes_left: impl Fn(usize, u32) -> bool) -> usize {
    let (mut n_left, mut n_right) = (0, 0);
    for at in 0..node.len() {
        let sample = node[at];
        let left = goes_left(at, sample);
        // The row is written to both sides, and both writes are harmless: n_left <= at, and the
        // slot at n_right is not used yet.
        node[n_left] = sample;
        scratch[n_right] = sample;
        n_left += usize::from(left);
        n_right += usize::from(!left);
    }
    node[n_left..].copy_from_slice(&scratch[..n_right]);
    n_left
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rows_are_replaced() {
        let mut samples = Samples::new(vec![1, 4, 5, 7], 9, true);
        samples.root().move_few(&[5], true);
        samples.refill(vec![0, 5, 8]);
        let set = samples.root();
        assert_eq!(set.ids(), [0, 5, 8]);
        assert_eq!((0..9).filter(|&row| set.contains(row)).collect::<Vec<_>>(), [0, 5, 8]);
        check_positions(&samples);
    }

    fn check_positions(samples: &Samples) {
        for (at, &id) in samples.ids.iter().enumerate() {
            assert_eq!(samples.positions[id as usize].load(Ordering::Relaxed) as usize, at);
        }
    }

    proptest! {
        #[test]
        fn partition_is_the_stable_one(goes in prop::collection::vec(any::<bool>(), 1..200), start in 0usize..50) {
            let n = goes.len();
            let start = start.min(n - 1);
            let mut samples = Samples::new((0..n as u32).collect(), n, true);
            let (before, mut set) = samples.root().split_at(start);
            let n_left = set.partition(|at, s| goes[start + at] && goes[s as usize]);
            let (left, right): (Vec<u32>, Vec<u32>) = (start as u32..n as u32).partition(|&s| goes[s as usize]);
            let (a, b) = set.split_at(n_left);
            prop_assert_eq!(a.ids(), left);
            prop_assert_eq!(b.ids(), right);
            prop_assert_eq!(before.ids(), (0..start as u32).collect::<Vec<_>>());
            prop_assert!((0..n as u32).all(|s| a.contains(s) == a.ids().contains(&s)));
            prop_assert!((0..n as u32).all(|s| b.contains(s) == b.ids().contains(&s)));
            check_positions(&samples);
        }

        #[test]
        fn parts_partition_as_the_whole(goes in prop::collection::vec(any::<bool>(), 1..200), n_rows in 1usize..80) {
            let ids = || (0..goes.len() as u32).collect();
            let (mut samples, mut in_parts) = (Samples::new(ids(), goes.len(), true), Samples::new(ids(), goes.len(), true));
            let n_left = samples.root().partition(|_, row| goes[row as usize]);
            let runtime = Runtime::unstoppable();
            let found = in_parts.root().partition_in_parts(n_rows, &runtime, |row| goes[row as usize]);
            prop_assert_eq!(found, Ok(n_left));
            check_positions(&in_parts);
            prop_assert_eq!(samples.into_ids(), in_parts.into_ids());
        }

        #[test]
        fn few_go_to_an_edge(
            rounds in prop::collection::vec((prop::collection::vec(any::<bool>(), 60), any::<bool>()), 1..6),
            start in 0usize..60,
        ) {
            // Gaps between ids, and a node that does not begin at the first row.
            let mut samples = Samples::new((0..60).map(|i| 2 * i + 1).collect(), 121, true);
            let before: Vec<u32> = samples.ids[..start].to_vec();
            for (chosen, to_front) in rounds {
                let (_, mut set) = samples.root().split_at(start);
                let few: Vec<u32> = (start as u32..60).map(|i| 2 * i + 1).filter(|i| chosen[*i as usize / 2]).collect();
                let n_left = set.move_few(&few, to_front);
                let (left, right) = set.split_at(n_left);
                prop_assert_eq!(if to_front { left.ids() } else { right.ids() }, &few);
                prop_assert_eq!(left.len() + right.len(), 60 - start);
                check_positions(&samples);
                prop_assert_eq!(&samples.ids[..start], &before);
                prop_assert!((0..60).all(|i| samples.ids.contains(&(2 * i + 1))));
            }
        }
    }
}
