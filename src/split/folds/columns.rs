//! The columns of a node, filled and sorted once for all folds.

use crate::bitset::Bitset;
use crate::data::Entry;
use crate::data::{Columns, Dataset};
use crate::error::Result;
use crate::params::Strategy;
use crate::runtime::Runtime;
use crate::split::dense::column::fill_column;
use crate::split::entries::SortScratch;
use crate::split::node::NodeColumn;
use crate::split::sparse::intersect::{Gather, NodeCosts, ValueOrdered, by_bitmap, by_search};

/// Buffers of one worker. Each use assumes that they are dirty, except the sets `members` and
/// `marks`, which are empty between uses.
#[derive(Default)]
pub struct FoldScratch {
    sort: SortScratch,
    gather: Gather,
    members: Bitset,
    pub(crate) marks: Bitset,
    entries: Vec<Entry>,
}

impl FoldScratch {
    /// Makes scratch for the nodes of a data set.
    pub fn new(data: &Dataset) -> Self {
        match data.columns() {
            Columns::Dense(_) => Self::default(),
            Columns::Sparse(_) => Self {
                gather: Gather::new(data.n_features()),
                members: Bitset::new(data.n_samples()),
                marks: Bitset::new(data.n_samples()),
                ..Self::default()
            },
        }
    }
}

/// Calls `visit` with the sorted column of each feature in a node, whether the column varies or
/// not. `are_all` says that `features` has all features that may vary in the node. Then `visit` may
/// see the columns in another order and see columns of other features too, and sparse columns
/// without entries may be left out.
pub(crate) fn fill_columns(
    (data, runtime): (&Dataset, &Runtime<'_>),
    samples: &[u32],
    (features, are_all): (&[u32], bool),
    scratch: &mut FoldScratch,
    visit: &mut dyn FnMut(NodeColumn<'_>),
) -> Result<()> {
    let FoldScratch { sort, gather, members, entries, .. } = scratch;
    let columns = match data.columns() {
        Columns::Sparse(columns) => columns,
        Columns::Dense(columns) => {
            for &feature in features {
                runtime.check_interrupt()?;
                visit(fill_column(feature, columns.column(feature), samples, true, sort));
            }
            return Ok(());
        }
    };
    let n_entries = data.n_entries(samples);
    let costs = NodeCosts::new(samples.len(), n_entries);
    let one_by_one: f64 = features.iter().map(|&feature| costs.column_cost(columns.column_nnz(feature))).sum();
    let one_by_one = one_by_one + costs.columns_visited_cost(features.len());
    if are_all && costs.gather_cost(None) < one_by_one {
        gather.for_each(columns, samples, |feature, entries| {
            entries.sort_unstable();
            visit(NodeColumn::new(feature, entries, samples.len(), columns.zero_rank(feature)));
        });
        return runtime.check_interrupt();
    }
    members.insert_all(samples);
    let result = features.iter().try_for_each(|&feature| {
        runtime.check_interrupt()?;
        let found = match costs.strategy_for_column(columns.column_nnz(feature)) {
            Strategy::Search => by_search(columns, feature, samples, entries),
            _ => by_bitmap(ValueOrdered::Stored(columns.column(feature)), members, entries),
        };
        visit(NodeColumn::new(feature, found, samples.len(), columns.zero_rank(feature)));
        Ok(())
    });
    members.remove_all(samples);
    result
}
