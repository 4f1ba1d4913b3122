//! Scratch of the searches of sparse columns, and how much these searches have read.

use crate::bitset::Bitset;
use crate::data::Entry;
use crate::error::Result;
use crate::memory;
use crate::split::sparse::heritage::SlotMap;
use crate::split::sparse::intersect::Gather;
use crate::split::sparse::positions::Positions;

/// How much the searches with bounds have read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Effort {
    /// How many columns the nodes had in their heritages, added up over the nodes.
    pub n_columns: u64,
    /// How many of these columns were read.
    pub n_read: u64,
}

impl std::ops::AddAssign for Effort {
    fn add_assign(&mut self, other: Self) {
        self.n_columns += other.n_columns;
        self.n_read += other.n_read;
    }
}

/// The entries of the column on which the node of the last search is split, from this search to the
/// partition of the node's rows.
#[derive(Debug, Default)]
pub(crate) struct Winner {
    /// Whether the last search has left the entries here.
    is_kept: bool,
    entries: Vec<Entry>,
}

impl Winner {
    /// Keeps the entries of a column that is the best so far.
    pub fn keep(&mut self, entries: &[Entry]) {
        self.is_kept = true;
        self.entries.clear();
        self.entries.extend_from_slice(entries);
    }

    /// Marks the kept entries as not belonging to the node at hand.
    pub fn forget(&mut self) {
        self.is_kept = false;
    }

    /// The entries of the column on which the node is split, if its search has left them here.
    pub fn take(&mut self) -> Option<&[Entry]> {
        std::mem::take(&mut self.is_kept).then_some(&self.entries)
    }
}

/// Scratch of one worker; dirty unless a field says otherwise. The default, of size 0, is for dense
/// data.
#[derive(Debug, Default)]
pub struct SearchScratch {
    /// The rows of one node; empty between two uses.
    pub(crate) members: Bitset,
    /// The features that a node draws; empty between two uses.
    pub(crate) drawn: Bitset,
    pub(crate) gather: Gather,
    pub(crate) positions: Positions,
    pub(crate) entries: Vec<Entry>,
    pub(crate) winner: Winner,
    pub(crate) slot_map: SlotMap,
    /// The bound and the slot of each column that may win.
    pub(crate) candidates: Vec<(f64, u32)>,
    /// The rows of the node on the side of a cut without the zeros.
    pub(crate) few: Vec<u32>,
    pub(crate) effort: Effort,
}

impl SearchScratch {
    /// Scratch for sparse data of this shape. Fails if there is not the memory for it.
    pub(crate) fn new(n_samples: usize, n_features: usize) -> Result<Self> {
        // Two numbers of four bytes and one bit for each feature, one bit for each row.
        let n_bytes = n_features.saturating_mul(8).saturating_add((n_features + n_samples) / 8);
        memory::check("the scratch of a thread", n_bytes)?;
        Ok(Self {
            members: Bitset::new(n_samples),
            drawn: Bitset::new(n_features),
            gather: Gather::new(n_features),
            slot_map: SlotMap::new(n_features),
            ..Self::default()
        })
    }
}
