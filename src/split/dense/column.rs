//! A dense column as entries: the node's ranks that differ from the column's most frequent one.

use crate::criterion::Criterion;
use crate::criterion::Statistics;
use crate::criterion::packed::Packed;
use crate::data::DenseColumns;
use crate::data::dense::DenseColumn;
use crate::data::dense::Ranks;
use crate::error::Result;

use crate::split::best::Best;
use crate::split::entries::{Entry, SortScratch};
use crate::split::node::{NodeColumn, NodeSearch, Outcome};

/// Rows of the common rank that are this many times fewer than the node's are entries like others: one pass over all costs less
/// than two, from either end (`benches/peers/absolute_error.py`).
const FEW_COMMON: usize = 8;
/// The rows of a node in the packed form of a criterion.
pub(crate) type RowsOf<C> = <<C as Statistics>::Packed as Packed<C>>::Rows;

/// The column of a feature in a node, sorted or not.
pub(crate) fn fill_column<'s>(
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

/// Offers cuts of categorical columns. Returns the number of those that vary.
pub(crate) fn search_categorical<C: Criterion>(
    at: NodeSearch<'_, C>,
    columns: &DenseColumns,
    features: &[u32],
    scan: &mut C::Scan,
    best: &mut Best<C>,
) -> Result<usize> {
    let mut scratch = SortScratch::default();
    let mut n_varying = 0;
    for &feature in features {
        at.search.runtime.check_interrupt()?;
        let samples = at.node.samples.ids();
        let column = fill_column(feature, columns.column(feature), samples, false, &mut scratch);
        n_varying += usize::from(at.evaluate(column, scan, best) != Outcome::Constant);
    }
    Ok(n_varying)
}
