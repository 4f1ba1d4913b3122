//! The partition of the rows of a node by a cut of a sparse column.

use std::ops::Range;

use crate::bitset::Bitset;
use crate::criterion::Criterion;
use crate::data::SparseColumns;
use crate::data::entry::{Entry, samples_of};
use crate::split::candidate::Candidate;
use crate::split::samples::SampleSet;
use crate::split::sparse::heritage::{Heritage, SlotMap};
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
/// search of the node has left the entries of the column, or the heritage of the node has
/// the column, and few rows of the node are on this side, these rows are moved to an edge, in
/// O(entries of this side). Otherwise the rows of these entries are marked, and each of the W rows
/// of the node is tested, in O(W + marks); or each row of the node is looked up in the by-row twin,
/// in O(W log(row length)).
pub(crate) fn partition<C: Criterion>(
    columns: &SparseColumns,
    samples: &mut SampleSet<'_>,
    split: &Candidate,
    missing_rank: Option<u32>,
    heritage: Option<&Heritage<C>>,
    scratch: &mut SearchScratch,
) -> usize {
    let SearchScratch { members: marked, winner, slot_map, few, .. } = scratch;
    let column = columns.column(split.feature);
    let zeros_left = column.zero_rank <= split.last_left;
    few.clear();
    let are_few_known = if let Some(entries) = winner.take() {
        let is_without_zeros = |entry: &&Entry| split.goes_left(entry.rank(), missing_rank) != zeros_left;
        few.extend(entries.iter().filter(is_without_zeros).map(|entry| entry.sample()));
        true
    } else if let Some((own, members)) = inherited(columns, split.feature, heritage, slot_map) {
        for range in without_zeros(own, split, missing_rank) {
            match own {
                ValueOrdered::Stored(column) => few.extend(&column.samples[range]),
                ValueOrdered::Copied { entries, .. } => few.extend(samples_of(&entries[range])),
            }
        }
        few.retain(|&sample| members.contains(sample));
        true
    } else {
        false
    };
    if are_few_known && few.len() * STAY_PER_MOVE < samples.len() {
        few.sort_unstable();
        return samples.move_few(few, !zeros_left);
    }
    let marks = if are_few_known {
        [&few[..], &[]]
    } else {
        without_zeros(ValueOrdered::Stored(column), split, missing_rank).map(|range| &column.samples[range])
    };
    if marks.iter().map(|marks| marks.len()).sum::<usize>() / MARKS_PER_LOOKUP > samples.len() {
        return samples.partition(|_, sample| {
            let rank = columns.stored_rank(split.feature, sample);
            split.goes_left(rank.unwrap_or(column.zero_rank), missing_rank)
        });
    }
    for marks in marks {
        marked.insert_all(marks);
    }
    let n_left = samples.partition(|_, sample| marked.contains(sample) != zeros_left);
    for marks in marks {
        marked.remove_all(marks);
    }
    n_left
}

/// The column of a feature and the rows of the node, if the heritage of the node has both.
fn inherited<'a, C: Criterion>(
    columns: &'a SparseColumns,
    feature: u32,
    heritage: Option<&'a Heritage<C>>,
    slot_map: &mut SlotMap,
) -> Option<(ValueOrdered<'a>, &'a Bitset)> {
    match heritage? {
        Heritage::Columns(known) => Some((known.column_of(columns, slot_map, feature)?, &known.members)),
        Heritage::Weights(weights) => Some((ValueOrdered::Stored(columns.column(feature)), weights.members.as_ref()?)),
    }
}

/// The entries of a column on the side of a cut without the zeros, as two ranges: one of values,
/// and one of missing values, which have the rank `missing_rank`.
fn without_zeros(column: ValueOrdered<'_>, split: &Candidate, missing_rank: Option<u32>) -> [Range<usize>; 2] {
    let zeros_left = column.zero_rank() <= split.last_left;
    let (middle, end) = (column.n_below(split.last_left + 1), column.len());
    let n_values = missing_rank.map_or(end, |rank| column.n_below(rank));
    let missing = if split.missing_go_left() == zeros_left { end..end } else { n_values..end };
    [if zeros_left { middle..n_values } else { 0..middle }, missing]
}
