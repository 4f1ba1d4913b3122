//! How rows go down trees: to the leaves that they reach.
//!
//! There are four ways, and a [batch](batch::Batch) of rows goes the first one that serves it. Many rows
//! that lie in memory are divided among [clusters] of splits, or go through one tree
//! [side by side](side_by_side), [flat] where none of their values is missing. Sparse rows follow the
//! [ways of zero](zero_ways). All others go one by one, each through several trees.

pub(super) mod batch;
pub(crate) mod blocks;
pub(super) mod clusters;
pub(super) mod flat;
mod groups_of_rows;
mod plain_rows;
mod row_bits;
mod row_by_row;
mod rows_in_memory;
mod side_by_side;
pub(super) mod split_view;
mod through_clusters;
pub(super) mod walk;
pub(super) mod zero_ways;

use crate::data::rows::Reader;
use crate::error::Result;
use crate::runtime::Runtime;
use batch::Batch;
use groups_of_rows::groups_of_rows;
use row_by_row::row_by_row;
use rows_in_memory::rows_in_memory;
use through_clusters::through_clusters;
use walk::Walk;

/// Calls `found(first, tree, leaves)` with the numbers of the leaves that some rows of a block reach in a
/// tree. `first` is the place of the first of these rows in `rows`, and `tree` the place of the tree in
/// `trees`. For each row, the trees come in their order. O(rows * trees * depth).
pub(crate) fn visit_leaves<W: Walk>(
    trees: &[&W],
    reader: &mut Reader<'_>,
    rows: &[usize],
    runtime: &Runtime<'_>,
    mut found: impl FnMut(usize, usize, &[u32]),
) -> Result<()> {
    let (batch, found) = (&mut Batch { trees, reader, rows, runtime }, &mut found);
    if through_clusters(batch, found)? || rows_in_memory(batch, found)? || groups_of_rows(batch, found)? {
        return Ok(());
    }
    row_by_row(batch, found)
}
