//! A sparse column as the search of a node sees it.

use crate::data::SparseColumns;

use crate::split::entries::Entry;
use crate::split::node::NodeColumn;

/// The column of a feature in a node with the rows `samples`. All rows without an entry are zero in
/// the column.
pub(crate) fn node_column<'e>(
    columns: &SparseColumns,
    samples: &[u32],
    feature: u32,
    entries: &'e [Entry],
) -> NodeColumn<'e> {
    NodeColumn { feature, entries, n_common: samples.len() - entries.len(), common_rank: columns.zero_rank(feature) }
}
