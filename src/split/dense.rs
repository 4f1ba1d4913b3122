//! Dense columns: gather the node's ranks that differ from the column's most frequent one, sort them, scan.
//!
//! Sorting is by rank: a comparison sort for small nodes, an LSD radix sort over the bits in which the node's ranks
//! differ for larger ones. O(W) per column.

use super::best::Candidate;
use super::features::{Fill, search_columns};
use super::{Found, Node, NodeColumn, Scratch, Search};
use crate::criterion::Criterion;
use crate::data::DenseColumns;
use crate::data::dense::Ranks;
use crate::data::sparse::Rank;
use crate::error::Result;
use crate::intersect::Entry;
use crate::params::Splitter;
use crate::rng::Permutation;
use crate::samples::SampleSet;

/// Gather, sort and scan one cell, in nanoseconds (bench `fit`).
const CELL_COST: f64 = 6.5;
/// Nodes from this size on are sorted by radix (bench `scan`).
const RADIX_FROM: usize = 96;
/// Most bits of a radix digit: its counters stay in the first-level cache.
const MAX_DIGIT_BITS: u32 = 11;

/// Buffers of one worker.
#[derive(Debug, Default)]
pub struct FillScratch {
    entries: Vec<Entry>,
    sorted: Vec<Entry>,
    counts: Vec<u32>,
}

struct DenseFill<'a> {
    columns: &'a DenseColumns,
    samples: &'a [u32],
    sorted: bool,
}

impl Fill for DenseFill<'_> {
    type Scratch = FillScratch;

    fn fill<'s>(&self, feature: u32, scratch: &'s mut FillScratch) -> NodeColumn<'s> {
        let column = self.columns.column(feature);
        let (samples, common) = (self.samples, column.common_rank);
        let FillScratch { entries, .. } = scratch;
        match &column.ranks {
            Ranks::U8(ranks) => gather(ranks, samples, common, entries),
            Ranks::U16(ranks) => gather(ranks, samples, common, entries),
            Ranks::U32(ranks) => gather(ranks, samples, common, entries),
        }
        if self.sorted {
            sort_by_rank(scratch);
        }
        let n_common = samples.len() - scratch.entries.len();
        NodeColumn { feature, entries: &scratch.entries, n_common, common_rank: common }
    }

    /// The columns of a dense matrix are long: they are read ahead by the machine.
    fn warm(&self, _feature: u32) {}

    fn column_nnz(&self, _feature: u32) -> usize {
        self.samples.len()
    }
}

/// The best split of a node over dense columns.
pub(super) fn best_split<C: Criterion>(
    search: &Search<'_, C>,
    node: &Node<'_, C>,
    columns: &DenseColumns,
    order: &Permutation,
    drawn: Option<&[u32]>,
    scratch: &mut Scratch<C>,
) -> Result<Found<C>> {
    let fill = DenseFill { columns, samples: node.samples.ids(), sorted: search.params.splitter == Splitter::Best };
    let work = (node.samples.len() * search.n_drawn()) as f64 * CELL_COST;
    search_columns(search, node, order, drawn, &fill, work, &mut scratch.scan, &mut scratch.dense)
}

/// Partitions a node; returns the number of rows that go left. O(W).
pub(super) fn partition(columns: &DenseColumns, samples: &mut SampleSet<'_>, split: &Candidate) -> usize {
    fn by<R: Rank>(ranks: &[R], samples: &mut SampleSet<'_>, last_left: u32) -> usize {
        samples.partition(|sample| ranks[sample as usize].widen() <= last_left)
    }
    match &columns.column(split.feature).ranks {
        Ranks::U8(ranks) => by(ranks, samples, split.last_left),
        Ranks::U16(ranks) => by(ranks, samples, split.last_left),
        Ranks::U32(ranks) => by(ranks, samples, split.last_left),
    }
}

/// The node's entries that do not have the common rank, in the order of its rows. Without branches on ranks.
fn gather<R: Rank>(ranks: &[R], samples: &[u32], common: u32, entries: &mut Vec<Entry>) {
    entries.resize(samples.len(), Entry::new(0, 0));
    let mut n = 0;
    for &sample in samples {
        let rank = ranks[sample as usize].widen();
        entries[n] = Entry::new(rank, sample);
        n += usize::from(rank != common);
    }
    entries.truncate(n);
}

fn sort_by_rank(scratch: &mut FillScratch) {
    let FillScratch { entries, sorted, counts } = scratch;
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
            let mut scratch = FillScratch { entries, ..FillScratch::default() };
            sort_by_rank(&mut scratch);
            prop_assert_eq!(scratch.entries, expected);
        }
    }
}
