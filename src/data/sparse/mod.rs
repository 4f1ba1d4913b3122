//! Sparse columns: the nonzeros of a matrix twice, by column in the order of their values and by row.
//!
//! Per column the (row, rank) entries in ascending value order, so that filtering a column by the rows of a node yields
//! the node's entries already sorted ("Sparsified Trees", section III, sorts them per node); and the twin, per row the
//! (feature, rank) entries in ascending feature order. `view` has the input, `encode` the way from one to the other.
//!
//! Entries take `2 * (4 + size_of::<R>())` bytes per nonzero, 12 or 16; the value table at most 4 (8 when doubles are
//! needed) more.

mod encode;
mod view;

pub(super) use encode::encode;
pub(super) use view::Entries;
pub use view::{Format, SparseIndex, SparseView};

use crate::error::Result;
use crate::runtime::Runtime;
use encode::{Half, offsets};

/// An integer type of ranks.
pub trait Rank: Copy + Send + Sync + std::fmt::Debug + 'static {
    /// Drops high bits, which the encoder has checked to be 0.
    fn narrow(rank: u32) -> Self;
    /// The rank.
    fn widen(self) -> u32;
}

macro_rules! rank {
    ($($int:ty),*) => {
        $(impl Rank for $int {
            #[inline]
            fn narrow(rank: u32) -> $int {
                rank as $int
            }

            #[inline]
            fn widen(self) -> u32 {
                self as u32
            }
        })*
    };
}

rank!(u8, u16, u32);

/// The nonzeros of a data set, by column and by row.
#[derive(Debug)]
pub struct SparseColumns<R> {
    indptr: Box<[usize]>,
    /// By column, in ascending order of value; ties in ascending order of row.
    samples: Box<[u32]>,
    ranks: Box<[R]>,
    /// The rank of 0.0 in each column; stored entries never have it.
    zero_ranks: Box<[u32]>,
    row_indptr: Box<[usize]>,
    /// By row, in ascending order of feature.
    features: Box<[u32]>,
    row_ranks: Box<[R]>,
    /// The features by falling number of entries, and the place of each among them.
    by_frequency: Box<[u32]>,
    frequency_ranks: Box<[u32]>,
}

/// One column: its nonzero entries in ascending order of value.
#[derive(Debug, Clone, Copy)]
pub struct SparseColumn<'a, R> {
    /// The rows.
    pub samples: &'a [u32],
    /// The ranks of their values, ascending.
    pub ranks: &'a [R],
    /// The rank of all other rows.
    pub zero_rank: u32,
}

/// One row: its nonzero entries in ascending order of feature.
#[derive(Debug, Clone, Copy)]
pub struct SparseRow<'a, R> {
    /// The features.
    pub features: &'a [u32],
    /// The ranks of their values.
    pub ranks: &'a [R],
}

impl<R: Rank> SparseColumns<R> {
    /// Number of stored entries.
    pub fn nnz(&self) -> usize {
        self.samples.len()
    }

    /// Number of rows.
    pub fn n_samples(&self) -> usize {
        self.row_indptr.len() - 1
    }

    /// Number of columns.
    pub fn n_features(&self) -> usize {
        self.zero_ranks.len()
    }

    /// Number of stored entries of a column.
    #[inline]
    pub fn column_nnz(&self, feature: u32) -> usize {
        self.indptr[feature as usize + 1] - self.indptr[feature as usize]
    }

    /// Number of stored entries of a row.
    #[inline]
    pub fn row_nnz(&self, sample: u32) -> usize {
        self.row_indptr[sample as usize + 1] - self.row_indptr[sample as usize]
    }

    /// The rank of 0.0 in a column.
    #[inline]
    pub fn zero_rank(&self, feature: u32) -> u32 {
        self.zero_ranks[feature as usize]
    }

    /// The column of a feature.
    #[inline]
    pub fn column(&self, feature: u32) -> SparseColumn<'_, R> {
        let range = self.indptr[feature as usize]..self.indptr[feature as usize + 1];
        SparseColumn {
            samples: &self.samples[range.clone()],
            ranks: &self.ranks[range],
            zero_rank: self.zero_rank(feature),
        }
    }

    /// The row of a sample.
    #[inline]
    pub fn row(&self, sample: u32) -> SparseRow<'_, R> {
        let range = self.row_indptr[sample as usize]..self.row_indptr[sample as usize + 1];
        SparseRow { features: &self.features[range.clone()], ranks: &self.row_ranks[range] }
    }

    /// The rank of a cell, if it is stored. By binary search in its row: O(log(row length)).
    #[inline]
    pub fn stored_rank(&self, feature: u32, sample: u32) -> Option<u32> {
        let row = self.row(sample);
        row.features.binary_search(&feature).ok().map(|at| row.ranks[at].widen())
    }

    /// The feature that has the most entries but `rank` others.
    #[inline]
    pub fn by_frequency(&self, rank: u32) -> u32 {
        self.by_frequency[rank as usize]
    }

    /// The inverse of [`by_frequency`](Self::by_frequency).
    #[inline]
    pub fn frequency_rank(&self, feature: u32) -> u32 {
        self.frequency_ranks[feature as usize]
    }

    pub(crate) fn n_bytes(&self) -> usize {
        size_of_val(&self.indptr[..])
            + size_of_val(&self.samples[..])
            + size_of_val(&self.ranks[..])
            + size_of_val(&self.zero_ranks[..])
            + size_of_val(&self.row_indptr[..])
            + size_of_val(&self.features[..])
            + size_of_val(&self.row_ranks[..])
            + size_of_val(&self.by_frequency[..])
            + size_of_val(&self.frequency_ranks[..])
    }

    /// Adds the by-row twin to a by-column half. O(nnz).
    fn with_rows(half: Half<R>, n_samples: usize, runtime: &Runtime<'_>) -> Result<Self> {
        let Half { indptr, samples, ranks, zero_ranks } = half;
        let row_indptr = offsets(n_samples, samples.iter().map(|&sample| sample as usize))?;
        let mut cursor = row_indptr.clone();
        let mut features = vec![0u32; samples.len()].into_boxed_slice();
        let mut row_ranks = vec![R::narrow(0); samples.len()].into_boxed_slice();
        for (feature, range) in indptr.windows(2).enumerate() {
            runtime.check_interrupt()?;
            for at in range[0]..range[1] {
                let slot = &mut cursor[samples[at] as usize];
                features[*slot] = feature as u32;
                row_ranks[*slot] = ranks[at];
                *slot += 1;
            }
        }
        let mut by_frequency: Box<[u32]> = (0..zero_ranks.len() as u32).collect();
        by_frequency.sort_by_key(|&f| std::cmp::Reverse(indptr[f as usize + 1] - indptr[f as usize]));
        let mut frequency_ranks = vec![0; by_frequency.len()].into_boxed_slice();
        for (rank, &feature) in by_frequency.iter().enumerate() {
            frequency_ranks[feature as usize] = rank as u32;
        }
        Ok(Self { indptr, samples, ranks, zero_ranks, row_indptr, features, row_ranks, by_frequency, frequency_ranks })
    }
}
