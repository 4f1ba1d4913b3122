//! Columns with open bins, which wait until all columns of the node are counted.

use super::{BinnedColumn, CountedColumn, HistogramScratch};
use crate::criterion::Criterion;
use crate::criterion::packed::Packed;
use crate::split::best::Best;
use crate::split::dense::cells::Cells;
use crate::split::node::NodeSearch;
use crate::tuning::tuned;

tuned! {
    /// The most columns of a node that wait (bench `sweep`).
    fn max_postponed() -> usize = 8;
    /// In a node of more rows no column waits: it would not be in cache any more (bench `sweep`).
    fn postponed_up_to() -> usize = 1 << 14;
}

/// Columns whose open bins are searched when all columns of the node have been counted: by then the
/// best candidate is so good that half of these bins can be closed.
pub(crate) struct Postponed<C: Criterion> {
    columns: Vec<PostponedColumn<C>>,
    /// How many of them are to be searched. The others are buffers.
    n: usize,
    /// How many of them were searched last.
    n_searched: usize,
}

struct PostponedColumn<C: Criterion> {
    feature: u32,
    position: Option<u32>,
    histogram: Box<C::Packed>,
    column: BinnedColumn,
}

impl<C: Criterion> Postponed<C> {
    pub fn new() -> Self {
        Self { columns: Vec::new(), n: 0, n_searched: 0 }
    }

    /// Takes a column, and gives buffers in its place. Returns false if there are too many columns.
    pub(super) fn take(
        &mut self,
        at: NodeSearch<'_, C>,
        feature: u32,
        position: Option<u32>,
        histogram: &mut Box<C::Packed>,
        column: &mut BinnedColumn,
    ) -> bool {
        if self.n == max_postponed() || at.node.samples.len() > postponed_up_to() {
            return false;
        }
        if self.n == self.columns.len() {
            let Some(histogram) = C::Packed::new(at.search.criterion).map(Box::new) else { return false };
            self.columns.push(PostponedColumn { feature, position, histogram, column: BinnedColumn::new() });
        }
        let taken = &mut self.columns[self.n];
        (taken.feature, taken.position) = (feature, position);
        std::mem::swap(&mut taken.histogram, histogram);
        std::mem::swap(&mut taken.column, column);
        self.n += 1;
        true
    }

    /// Offers the cuts within the bins of all columns that are still open.
    pub fn search(
        &mut self,
        at: NodeSearch<'_, C>,
        scratch: &mut HistogramScratch,
        scan: &mut C::Scan,
        best: &mut Best<C>,
    ) {
        self.n_searched = std::mem::take(&mut self.n);
        for taken in &mut self.columns[..self.n_searched] {
            let PostponedColumn { feature, position, histogram, column } = taken;
            best.set_position(*position);
            let HistogramScratch { candidates, open, .. } = &mut *scratch;
            CountedColumn { at, feature: *feature, missing: None, histogram, column, candidates, open }
                .search_open(scan, best);
        }
    }

    /// Puts the cells of a column, with the ranks of all rows of the node, in the place of `cells`. Returns
    /// false if the column is not among the columns that were searched last.
    pub fn give_cells(&mut self, feature: u32, cells: &mut Cells) -> bool {
        let searched = &mut self.columns[..self.n_searched];
        let taken = searched.iter_mut().find(|taken| taken.feature == feature);
        taken.map(|taken| std::mem::swap(&mut taken.column.cells, cells)).is_some()
    }
}
