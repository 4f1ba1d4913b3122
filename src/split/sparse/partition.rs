//! The partition of the rows of a node by a cut of a sparse column.

use crate::criterion::Criterion;
use crate::data::SparseColumns;
use crate::data::sparse::SparseColumn;
use crate::rng::Side;
use std::ops::Range;

use crate::split::candidate::Candidate;
use crate::split::samples::SampleSet;
use crate::split::sparse::heritage::Heritage;
use crate::split::sparse::intersect::ValueOrdered;
use crate::split::sparse::scratch::SearchScratch;

/// If the column has more entries to mark than this many times the rows of the node, each row of
/// the node is looked up instead (bench `partition`).
const MARKS_PER_LOOKUP: usize = 8;
/// If the node has more rows than this many times the rows of one side, the rows of that side are
/// moved one by one (bench `partition`).
const STAY_PER_MOVE: usize = 8;

/// Partitions the rows of a node and returns how many rows go left.
///
/// The side of the cut without the zeros is a front or a back of the column in value order. If the
/// heritage of the node has the column, and few rows of the node are on this side, these rows are
/// moved to an edge, in O(entries of this side). Otherwise the rows of these entries are marked,
/// and each of the W rows of the node is tested, in O(W + marks); or each row of the node is looked
/// up in the by-row twin, in O(W log(row length)).
pub(crate) fn partition<C: Criterion>(
    columns: &SparseColumns,
    samples: &mut SampleSet<'_>,
    split: &Candidate,
    missing_rank: Option<u32>,
    heritage: Option<&Heritage<C>>,
    scratch: &mut SearchScratch,
) -> usize {
    let SearchScratch { members: marked, lane_map, few, .. } = scratch;
    let column = columns.column(split.feature);
    let zeros_left = column.zero_rank <= split.last_left;
    // No value has the rank `u32::MAX`, which says that the column has no missing values.
    let missing_rank = missing_rank.unwrap_or(u32::MAX);
    let sides = CutSides { split, missing_rank, zeros_left };
    let own = match heritage {
        Some(Heritage::Columns(known)) => {
            known.column_of(columns, lane_map, split.feature).map(|own| (own, known.members()))
        }
        Some(Heritage::Counts(counts)) => counts.members().map(|members| (ValueOrdered::Stored(column), members)),
        None => None,
    };
    let marks = match own {
        Some((own, members)) => {
            few.clear();
            match own {
                ValueOrdered::Stored(column) => few.extend(sides.marks(&column).into_iter().flatten()),
                ValueOrdered::Copied { entries, .. } => {
                    let ranges = sides.without_zeros(entries.len(), |at| entries[at].rank());
                    few.extend(ranges.into_iter().flat_map(|range| &entries[range]).map(|entry| entry.sample()));
                }
            }
            few.retain(|&sample| members.contains(sample));
            if few.len() * STAY_PER_MOVE < samples.len() {
                few.sort_unstable();
                return samples.move_few(few, !zeros_left);
            }
            [&few[..], &[]]
        }
        None => sides.marks(&column),
    };
    if marks.iter().map(|marks| marks.len()).sum::<usize>() / MARKS_PER_LOOKUP > samples.len() {
        return samples.partition(|sample| {
            let rank = columns.stored_rank(split.feature, sample);
            split.goes_left(rank.unwrap_or(column.zero_rank), missing_rank)
        });
    }
    for marks in marks {
        marked.insert_all(marks);
    }
    let n_left = samples.partition(|sample| marked.contains(sample) != zeros_left);
    for marks in marks {
        marked.remove_all(marks);
    }
    n_left
}

/// A cut, which tells which entries of a column are on which side.
struct CutSides<'a> {
    split: &'a Candidate,
    /// The rank of missing values, above all ranks of values.
    missing_rank: u32,
    /// Whether the rows without an entry go left.
    zeros_left: bool,
}

impl CutSides<'_> {
    /// The entries on the side without the zeros, as two ranges: one of values, and one of missing
    /// values. The column has `n_entries` entries in ascending order of rank, and `rank` gives the
    /// rank of an entry.
    fn without_zeros(&self, n_entries: usize, rank: impl Fn(usize) -> u32) -> [Range<usize>; 2] {
        let before = |end: u32| partition_point(n_entries, |at| rank(at) < end);
        let n_values = before(self.missing_rank);
        let middle = before(self.split.last_left + 1);
        let missing_left = self.split.missing == Some(Side::Left);
        let missing = if missing_left == self.zeros_left { n_entries..n_entries } else { n_values..n_entries };
        [if self.zeros_left { middle..n_values } else { 0..middle }, missing]
    }

    /// The rows of the entries on the side without the zeros: two slices of a stored column.
    fn marks<'c>(&self, column: &SparseColumn<'c>) -> [&'c [u32]; 2] {
        let ranges = self.without_zeros(column.samples.len(), |at| column.ranks.at(at));
        ranges.map(|range| &column.samples[range])
    }
}

/// The first number in `0..n` for which `precedes` does not hold, or `n` if there is none.
/// `precedes` must hold for all numbers before the result and for none after.
fn partition_point(n: usize, precedes: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = low.midpoint(high);
        if precedes(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
