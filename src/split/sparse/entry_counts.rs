//! How many entries each column has in a node that draws features, handed from parent to child.
//!
//! Most columns that a node draws have no entry in the node, and most of the others have too few
//! entries to win. The counts tell this without a look at the columns. The counts of the smaller
//! child are added up from its rows, and subtracted from the counts of the parent, which so become
//! the counts of the larger child. A row is in a smaller child at most log2(n) times, so all counts
//! together cost O(entries * log n).

use crate::bitset::Bitset;
use crate::data::SparseColumns;

/// The numbers of entries of all columns in one node.
#[derive(Debug)]
pub struct EntryCounts {
    /// How many entries each feature has in the node; `None` once the counts cost more to keep than
    /// they save.
    pub(crate) counts: Option<Box<[u32]>>,
    /// The rows of the node. They are kept for the root, for its larger child, for the larger child
    /// of that one, and so on; all other nodes have `None`.
    pub(crate) members: Option<Bitset>,
}

impl EntryCounts {
    /// The counts of a root with these rows. O(features + rows), and the entries of the rows that
    /// are not in the root.
    pub fn of_root(columns: &SparseColumns, members: Bitset) -> Self {
        let mut counts: Box<[u32]> = (0..columns.n_features() as u32).map(|f| columns.column_nnz(f) as u32).collect();
        for absent in (0..columns.n_samples() as u32).filter(|&sample| !members.contains(sample)) {
            for &feature in columns.row(absent).features {
                counts[feature as usize] -= 1;
            }
        }
        Self { counts: Some(counts), members: Some(members) }
    }

    /// Turns the counts of a node into those of its children: first of the smaller child, whose
    /// rows are `small`, then of the larger one. `for_small` and `for_large` say which child is to
    /// have counts. A larger child without counts is still given the rows, if they are kept.
    /// O(entries of the smaller child), and O(features) for new counts.
    pub fn divide(
        self,
        columns: &SparseColumns,
        small: &[u32],
        for_small: bool,
        for_large: bool,
    ) -> (Option<Self>, Option<Self>) {
        let Self { counts, mut members } = self;
        if let Some(members) = &mut members {
            members.remove_all(small);
        }
        let mut of_large = counts.filter(|_| for_large);
        let mut of_small = for_small.then(|| vec![0; columns.n_features()].into_boxed_slice());
        for &sample in small.iter().filter(|_| for_small || for_large) {
            let features = columns.row(sample).features;
            if let Some(counts) = &mut of_large {
                for &feature in features {
                    counts[feature as usize] -= 1;
                }
            }
            if let Some(counts) = &mut of_small {
                for &feature in features {
                    counts[feature as usize] += 1;
                }
            }
        }
        let small = of_small.map(|counts| Self { counts: Some(counts), members: None });
        let is_kept = members.is_some() || for_large;
        (small, is_kept.then_some(Self { counts: of_large, members }))
    }
}
