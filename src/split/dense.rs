//! Dense columns, in two tiers by the size of the node: its ranks that differ from the column's most frequent one are
//! gathered, sorted and scanned; or, in large nodes, all are counted in bins (see `histogram`).
//!
//! Sorting is by rank: a comparison sort for small nodes, an LSD radix sort over the bits in which the node's ranks
//! differ for larger ones. O(W) per column.

use super::best::{Candidate, Cut};
use super::cells::Cells;
use super::features::{ColumnSearch, search_columns};
use super::histogram::{self, HistogramScratch};
use super::dense_random::{self, RandomScratch};
use super::pair;
use super::small::{self, SmallScratch};
use super::{Best, Found, NodeColumn, NodeSearch, Outcome, Scratch};
use crate::criterion::Criterion;
use crate::criterion::histogram::Histogram;
use crate::data::DenseColumns;
use crate::data::dense::Ranks;
use crate::data::sparse::Rank;
use crate::error::Result;
use crate::intersect::Entry;
use crate::params::{Splitter, Tier};
use crate::samples::SampleSet;

/// Gather, sort and scan one cell, in nanoseconds (bench `fit`).
const CELL_COST: f64 = 6.5;
/// Nodes from this size on have their columns counted in bins (bench `fit`).
const HISTOGRAM_FROM: usize = 96;
/// Nodes from this size on are sorted by radix (bench `scan`).
const RADIX_FROM: usize = 96;
/// Most bits of a radix digit: its counters stay in the first-level cache.
const MAX_DIGIT_BITS: u32 = 11;

/// Scratch of one worker, assumed dirty.
pub(super) struct DenseScratch<C: Criterion> {
    rows: RowsOf<C>,
    columns: ColumnScratch<C>,
    small: SmallScratch,
    random: RandomScratch,
}

pub(super) type RowsOf<C> = <<C as Criterion>::Histogram as Histogram<C>>::Rows;

impl<C: Criterion> DenseScratch<C> {
    pub fn new(criterion: &C) -> Self {
        Self {
            rows: RowsOf::<C>::default(),
            columns: ColumnScratch::new(criterion),
            small: SmallScratch::default(),
            random: RandomScratch::default(),
        }
    }
}

/// Buffers for columns.
pub(super) struct ColumnScratch<C: Criterion> {
    sort: SortScratch,
    bins: HistogramScratch,
    histogram: Option<C::Histogram>,
}

impl<C: Criterion> ColumnScratch<C> {
    fn new(criterion: &C) -> Self {
        let (sort, bins) = (SortScratch::default(), HistogramScratch::default());
        Self { sort, bins, histogram: Histogram::new(criterion) }
    }
}

#[derive(Debug, Default)]
struct SortScratch {
    entries: Vec<Entry>,
    sorted: Vec<Entry>,
    counts: Vec<u32>,
}

/// The search of the columns of one node.
struct DenseSearch<'a, C: Criterion> {
    criterion: &'a C,
    columns: &'a DenseColumns,
    samples: &'a [u32],
    /// The node's rows, if it is one for histograms.
    rows: Option<&'a RowsOf<C>>,
}

impl<C: Criterion> ColumnSearch<C> for DenseSearch<'_, C> {
    type Scratch = ColumnScratch<C>;

    fn scratch(&self) -> ColumnScratch<C> {
        ColumnScratch::new(self.criterion)
    }

    fn search(
        &self,
        at: NodeSearch<'_, C>,
        feature: u32,
        scan: &mut C::Scan,
        scratch: &mut ColumnScratch<C>,
        best: &mut Best<C>,
    ) -> Outcome {
        let column = self.columns.column(feature);
        if let (Some(rows), Some(histogram)) = (self.rows, &mut scratch.histogram) {
            return histogram::best_cut(at, feature, column, rows, histogram, &mut scratch.bins, scan, best);
        }
        let common = column.common_rank;
        let entries = &mut scratch.sort.entries;
        match &column.ranks {
            Ranks::U8(ranks) => gather(ranks, self.samples, common, entries),
            Ranks::U16(ranks) => gather(ranks, self.samples, common, entries),
            Ranks::U32(ranks) => gather(ranks, self.samples, common, entries),
        }
        if at.search.params.splitter == Splitter::Best {
            sort_by_rank(&mut scratch.sort);
        }
        let entries = &scratch.sort.entries[..];
        let n_common = self.samples.len() - entries.len();
        let column = NodeColumn { feature, entries, n_common, common_rank: common };
        at.search.evaluate(at.node, at.order, column, scan, best)
    }

    fn best(&self, _at: NodeSearch<'_, C>) -> Best<C> {
        Best::new()
    }

    /// The columns of a dense matrix are long: they are read ahead by the machine.
    fn warm(&self, _feature: u32) {}

    fn column_nnz(&self, _feature: u32) -> usize {
        self.samples.len()
    }
}

/// The best split of a node over dense columns.
pub(super) fn best_split<C: Criterion>(
    at: NodeSearch<'_, C>,
    columns: &DenseColumns,
    drawn: Option<&[u32]>,
    scratch: &mut Scratch<C>,
) -> Result<Found<C>> {
    let NodeSearch { search, node, .. } = at;
    let samples = node.samples.ids();
    let work = (samples.len() * search.n_drawn()) as f64 * CELL_COST;
    let DenseScratch { rows, columns: buffers, small, random } = &mut scratch.dense;
    let tier = search.params.force_tier.unwrap_or(match samples.len() {
        ..HISTOGRAM_FROM => Tier::Network,
        _ => Tier::Histogram,
    });
    if samples.len() == 2 && search.all_legal() && search.params.force_tier.is_none() {
        let best = pair::best_split(at, columns, drawn);
        return Ok(Found { best, constants: node.constants.clone(), known: None });
    }
    let is_best = search.params.splitter == Splitter::Best;
    if tier == Tier::Network
        && is_best
        && samples.len() <= small::MAX_ROWS
        && columns.max_distinct() <= small::MAX_RANKS
    {
        let histogram = buffers.histogram.as_mut();
        return small::best_split(at, columns, drawn, rows, histogram, &mut scratch.scan, small);
    }
    if let (false, Some(histogram), None | Some(Tier::Histogram)) =
        (is_best, &buffers.histogram, search.params.force_tier)
    {
        return dense_random::best_split(at, columns, drawn, rows, histogram, &mut scratch.scan, random);
    }
    let rows = match &buffers.histogram {
        Some(histogram) if tier == Tier::Histogram && is_best => {
            histogram.load(search.criterion, node.totals, samples, rows);
            Some(&*rows)
        }
        _ => None,
    };
    let one_by_one = DenseSearch { criterion: search.criterion, columns, samples, rows };
    let mut found = search_columns(at, drawn, &one_by_one, work, &mut scratch.scan, buffers)?;
    if let Some(best) = found.best.as_mut().filter(|best| best.is_loose) {
        let cells = &mut buffers.bins.cells;
        tighten(columns, samples, best, cells);
    }
    Ok(found)
}

/// Looks up the ranks of the node beside the cut. O(W).
fn tighten(columns: &DenseColumns, samples: &[u32], split: &mut Candidate, cells: &mut Cells) {
    cells.load_ranks(columns.column(split.feature), samples);
    let (mut last_left, mut first_right) = (0, u32::MAX);
    for &rank in &cells.ranks {
        if rank <= split.last_left {
            last_left = last_left.max(rank);
        } else {
            first_right = first_right.min(rank);
        }
    }
    *split = Candidate { last_left, cut: Cut::Before(first_right), is_loose: false, ..*split };
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

fn sort_by_rank(scratch: &mut SortScratch) {
    let SortScratch { entries, sorted, counts } = scratch;
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
            let mut scratch = SortScratch { entries, ..SortScratch::default() };
            sort_by_rank(&mut scratch);
            prop_assert_eq!(scratch.entries, expected);
        }
    }
}
