//! How many entries each column has in a node that draws features, handed from parent to child.
//!
//! Most columns that a node draws are empty in it, and of the others most have too few entries to win: their counts say
//! so without a look at them. Counts are kept small-to-large: the smaller child is added up and subtracted from its
//! parent, which becomes the larger child. O(entries) for each time that a row is in a smaller child, at most log2(n).

use crate::bitset::Bitset;
use crate::data::SparseColumns;

/// What a node that draws features takes over or hands on.
#[derive(Debug)]
pub struct ColumnCounts {
    /// Entries in the node, by feature; none once that is not worth its upkeep.
    counts: Option<Box<[u32]>>,
    /// The rows of the node are among the known members, see `SearchScratch`: the node and its ancestors are larger
    /// children, up to the root.
    pub holds_members: bool,
}

impl ColumnCounts {
    /// Of a root, whose rows are `members`. O(features), and the entries of rows that are not.
    pub fn of_root(columns: &SparseColumns, members: &Bitset) -> Self {
        let mut counts: Box<[u32]> = (0..columns.n_features() as u32).map(|f| columns.column_nnz(f) as u32).collect();
        for absent in (0..columns.n_samples() as u32).filter(|&sample| !members.contains(sample)) {
            for &feature in columns.row(absent).features {
                counts[feature as usize] -= 1;
            }
        }
        Self { counts: Some(counts), holds_members: true }
    }

    /// The counts, if they are kept.
    pub fn counts(&self) -> Option<&[u32]> {
        self.counts.as_deref()
    }

    /// The rows `samples` leave, which become the smaller child. Says which of the children are to have counts; returns
    /// those of the smaller one. O(entries of the rows), and O(features) for new counts.
    pub fn leave(
        &mut self,
        columns: &SparseColumns,
        samples: &[u32],
        for_small: bool,
        for_large: bool,
    ) -> Option<Self> {
        let mut large = self.counts.take().filter(|_| for_large);
        let mut small = for_small.then(|| vec![0; columns.n_features()].into_boxed_slice());
        for &sample in samples.iter().filter(|_| for_small || for_large) {
            let features = columns.row(sample).features;
            if let Some(counts) = &mut large {
                for &feature in features {
                    counts[feature as usize] -= 1;
                }
            }
            if let Some(counts) = &mut small {
                for &feature in features {
                    counts[feature as usize] += 1;
                }
            }
        }
        self.counts = large;
        small.map(|counts| Self { counts: Some(counts), holds_members: false })
    }
}
