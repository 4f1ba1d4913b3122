//! A sparse column as the search sees it in a node.

use crate::data::SparseColumns;

use crate::split::entries::Entry;
use crate::split::node::NodeColumn;

/// The column of a feature that has these entries in a node of these rows.
pub(crate) fn node_column<'e>(
    columns: &SparseColumns,
    samples: &[u32],
    feature: u32,
    entries: &'e [Entry],
) -> NodeColumn<'e> {
    NodeColumn { feature, entries, n_common: samples.len() - entries.len(), common_rank: columns.zero_rank(feature) }
}
