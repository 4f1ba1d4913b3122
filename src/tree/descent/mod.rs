//! How rows go down trees: to the leaves that they reach.
//!
//! There are four ways ([`batch::Way`]), and a batch of rows goes the first one that serves it. Many rows that
//! lie in memory are divided among [clusters] of splits, or go through one tree [side by side](side_by_side),
//! or [flat] where single precision holds them. Sparse rows follow the [ways of zero](zero_ways). All others
//! go one by one, each through several trees.

pub(super) mod batch;
pub(crate) mod blocks;
pub(super) mod clusters;
pub(super) mod flat;
mod groups_of_rows;
mod row_bits;
mod row_by_row;
mod rows_in_memory;
mod side_by_side;
mod singles;
pub(super) mod split_view;
mod through_clusters;
pub(super) mod walk;
pub(super) mod zero_ways;

use crate::data::rows::Reader;
use crate::error::Result;
use crate::runtime::Runtime;
use batch::{Batch, Way};
use groups_of_rows::GroupsOfRows;
use row_by_row::RowByRow;
use rows_in_memory::RowsInMemory;
use through_clusters::ThroughClusters;
use walk::Walk;

/// Calls `found(first, tree, leaves)` with the numbers of the leaves that some rows of a block reach in a
/// tree. `first` is the place of the first of these rows in `rows`, and `tree` the place of the tree in
/// `trees`. For each row, the trees come in their order.
pub(crate) fn visit_leaves<W: Walk>(
    trees: &[&W],
    reader: &mut Reader<'_>,
    rows: &[usize],
    runtime: &Runtime<'_>,
    found: impl FnMut(usize, usize, &[u32]),
) -> Result<()> {
    let mut batch = Batch { trees, reader, rows, runtime };
    if let Some(way) = ThroughClusters::serving(&batch) {
        way.run(&mut batch, found)
    } else if let Some(way) = RowsInMemory::serving(&batch) {
        way.run(&mut batch, found)
    } else if let Some(way) = GroupsOfRows::serving(&batch) {
        way.run(&mut batch, found)
    } else {
        RowByRow.run(&mut batch, found)
    }
}
