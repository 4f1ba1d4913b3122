//! A dense column as entries: the rows of a node whose rank is not the most frequent rank of the
//! column.

use crate::criterion::Forms;
use crate::criterion::packed::Packed;
use crate::data::dense::DenseColumn;
use crate::data::dense::Ranks;

use crate::data::Entry;
use crate::split::entries::SortScratch;
use crate::split::node::NodeColumn;

/// If fewer than one in this many rows of a node have the common rank, these rows become entries
/// like all others: one pass over all rows costs less than two passes, one from either end
/// (`benches/peers/absolute_error.py`).
const FEW_COMMON: usize = 8;
/// The rows of a node in the packed form of a criterion.
pub(crate) type RowsOf<C> = <<C as Forms>::Packed as Packed<C>>::Rows;

/// Fills the column of a feature in a node. Entries are in the order of their ranks if `is_sorted`,
/// else in the order of the node's rows.
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
        // No row has this rank, so every row becomes an entry.
        common_rank = u32::MAX;
        fill(common_rank);
    }
    if is_sorted {
        scratch.sort();
    }
    let entries = &scratch.entries[..];
    NodeColumn { feature, entries, n_common: samples.len() - entries.len(), common_rank }
}

/// Sets `entries` to the rows whose rank is not `common`, in the order of the node's rows, and
/// returns their number. No branch depends on a rank.
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
