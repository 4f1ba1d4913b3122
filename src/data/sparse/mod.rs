//! Sparse columns: the nonzeros of a matrix are stored twice, by column in the order of their
//! values, and by row.
//!
//! For each column the (row, rank) entries ascend by value, so that filtering a column by the rows
//! of a node gives the node's entries already sorted ("Sparsified Trees", section III, sorts them
//! per node). The twin has for each row the (feature, rank) entries, ascending by feature. `view`
//! has the input matrices, `encode` the way from these to columns.
//!
//! Entries take 12 bytes per nonzero, or 16 if a column has more than 65,536 distinct values, zero
//! included. The table of values takes at most 4 bytes more per nonzero, or 8 if doubles are
//! needed. No code outside this room depends on the width of ranks: a loop over many ranks is
//! chosen by their width once per column or row, outside the loop.

mod encode;
mod ordered;
mod parts;
mod take;
mod view;

pub(super) use encode::encode;
pub(super) use parts::SparseParts;
pub(super) use take::take;
pub(super) use view::Entries;
pub use view::{Format, SparseIndex, SparseView};

use super::buffer::Buffer;
use crate::error::Result;
use crate::num::sort_by_key;
use crate::runtime::Runtime;
use encode::Half;
use view::offsets;

/// Ranks in the narrowest width that holds the ranks of all columns.
#[derive(Debug, PartialEq)]
enum RankArray {
    U16(Buffer<u16>),
    U32(Buffer<u32>),
}

impl RankArray {
    #[inline]
    fn slice(&self, range: std::ops::Range<usize>) -> RankSlice<'_> {
        match self {
            Self::U16(ranks) => RankSlice::U16(&ranks[range]),
            Self::U32(ranks) => RankSlice::U32(&ranks[range]),
        }
    }

    fn n_bytes(&self) -> usize {
        match self {
            Self::U16(ranks) => size_of_val(&ranks[..]),
            Self::U32(ranks) => size_of_val(&ranks[..]),
        }
    }
}

/// Some of the ranks of a column or a row.
#[derive(Debug, Clone, Copy)]
pub enum RankSlice<'a> {
    /// No column has more than 65,536 distinct values.
    U16(&'a [u16]),
    /// Some column has more.
    U32(&'a [u32]),
}

impl RankSlice<'_> {
    /// The rank at a position.
    #[inline]
    pub fn at(&self, position: usize) -> u32 {
        match self {
            Self::U16(ranks) => ranks[position].into(),
            Self::U32(ranks) => ranks[position],
        }
    }
}

/// Compiles an expression for either width: `$ranks` is a slice of `u16` or `u32` in it.
macro_rules! for_each_width {
    ($slice:expr, |$ranks:ident| $use:expr) => {
        match $slice {
            $crate::data::sparse::RankSlice::U16($ranks) => $use,
            $crate::data::sparse::RankSlice::U32($ranks) => $use,
        }
    };
}

pub(crate) use for_each_width;

/// The nonzeros of a data set, by column and by row.
#[derive(Debug, PartialEq)]
pub struct SparseColumns {
    indptr: Box<[usize]>,
    /// By column, in ascending order of value; ties in ascending order of row.
    samples: Buffer<u32>,
    ranks: RankArray,
    /// The rank of 0.0 in each column; stored entries never have it.
    zero_ranks: Box<[u32]>,
    row_indptr: Box<[usize]>,
    /// By row, in ascending order of feature.
    features: Buffer<u32>,
    row_ranks: RankArray,
    /// The features by falling number of entries, and the place of each among them.
    by_frequency: Box<[u32]>,
    frequency_ranks: Box<[u32]>,
}

/// One column: its nonzero entries in ascending order of value.
#[derive(Debug, Clone, Copy)]
pub struct SparseColumn<'a> {
    /// The rows of the nonzeros, in the order of `ranks`.
    pub samples: &'a [u32],
    /// The ranks of the values, ascending.
    pub ranks: RankSlice<'a>,
    /// The rank of 0.0, which all other rows have.
    pub zero_rank: u32,
}

/// One row: its nonzero entries in ascending order of feature.
#[derive(Debug, Clone, Copy)]
pub struct SparseRow<'a> {
    /// The features of the nonzeros, ascending.
    pub features: &'a [u32],
    /// The rank of each nonzero's value in its column.
    pub ranks: RankSlice<'a>,
}

impl SparseColumns {
    /// Number of stored entries.
    pub fn nnz(&self) -> usize {
        self.samples.len()
    }

    /// Number of rows; rows without entries count.
    pub fn n_samples(&self) -> usize {
        self.row_indptr.len() - 1
    }

    /// Number of columns; columns without entries count.
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
    pub fn column(&self, feature: u32) -> SparseColumn<'_> {
        let range = self.indptr[feature as usize]..self.indptr[feature as usize + 1];
        SparseColumn {
            samples: &self.samples[range.clone()],
            ranks: self.ranks.slice(range),
            zero_rank: self.zero_rank(feature),
        }
    }

    /// The row of a sample.
    #[inline]
    pub fn row(&self, sample: u32) -> SparseRow<'_> {
        let range = self.row_indptr[sample as usize]..self.row_indptr[sample as usize + 1];
        SparseRow { features: &self.features[range.clone()], ranks: self.row_ranks.slice(range) }
    }

    /// The rank of a cell, if it is stored. By binary search in its row: O(log(row length)).
    #[inline]
    pub fn stored_rank(&self, feature: u32, sample: u32) -> Option<u32> {
        let row = self.row(sample);
        row.features.binary_search(&feature).ok().map(|at| row.ranks.at(at))
    }

    /// The feature that has the most entries but `rank` others.
    #[inline]
    pub fn by_frequency(&self, rank: u32) -> u32 {
        self.by_frequency[rank as usize]
    }

    /// The place of a feature by falling number of entries: the inverse of
    /// [`by_frequency`](Self::by_frequency).
    #[inline]
    pub fn frequency_rank(&self, feature: u32) -> u32 {
        self.frequency_ranks[feature as usize]
    }

    pub(crate) fn n_bytes(&self) -> usize {
        size_of_val(&self.indptr[..])
            + size_of_val(&self.samples[..])
            + self.ranks.n_bytes()
            + size_of_val(&self.zero_ranks[..])
            + size_of_val(&self.row_indptr[..])
            + size_of_val(&self.features[..])
            + self.row_ranks.n_bytes()
            + size_of_val(&self.by_frequency[..])
            + size_of_val(&self.frequency_ranks[..])
    }

    /// Adds the by-row twin to a by-column half, whose ranks are below `end_rank`. O(nnz).
    fn with_rows(half: Half, end_rank: usize, n_samples: usize, runtime: &Runtime<'_>) -> Result<Self> {
        let Half { indptr, samples, ranks, zero_ranks } = half;
        let row_indptr = offsets(n_samples, samples.iter().map(|&sample| sample as usize))?;
        let (ranks, features, row_ranks) = if end_rank <= 1 << 16 {
            let ranks: Box<[u16]> = ranks.iter().map(|&rank| rank as u16).collect();
            let (features, row_ranks) = by_row(&indptr, &samples, &ranks, &row_indptr, runtime)?;
            (RankArray::U16(ranks.into()), features, RankArray::U16(row_ranks.into()))
        } else {
            let (features, row_ranks) = by_row(&indptr, &samples, &ranks, &row_indptr, runtime)?;
            (RankArray::U32(ranks.into()), features, RankArray::U32(row_ranks.into()))
        };
        Ok(Self::assemble(indptr, (samples.into(), ranks), zero_ranks, row_indptr, (features.into(), row_ranks)))
    }

    /// The columns, given all but the frequencies of features.
    fn assemble(
        indptr: Box<[usize]>,
        (samples, ranks): (Buffer<u32>, RankArray),
        zero_ranks: Box<[u32]>,
        row_indptr: Box<[usize]>,
        (features, row_ranks): (Buffer<u32>, RankArray),
    ) -> Self {
        let mut by_frequency: Box<[u32]> = (0..zero_ranks.len() as u32).collect();
        sort_by_key(&mut by_frequency, |f| std::cmp::Reverse(indptr[f as usize + 1] - indptr[f as usize]));
        let mut frequency_ranks = vec![0; by_frequency.len()].into_boxed_slice();
        for (rank, &feature) in by_frequency.iter().enumerate() {
            frequency_ranks[feature as usize] = rank as u32;
        }
        Self { indptr, samples, ranks, zero_ranks, row_indptr, features, row_ranks, by_frequency, frequency_ranks }
    }
}

/// The features and the ranks of the entries of all rows.
type ByRow<R> = (Box<[u32]>, Box<[R]>);

/// The features and the ranks of all entries by row, from the entries by column. O(nnz).
fn by_row<R: Copy + Default>(
    indptr: &[usize],
    samples: &[u32],
    ranks: &[R],
    row_indptr: &[usize],
    runtime: &Runtime<'_>,
) -> Result<ByRow<R>> {
    let mut cursor = row_indptr.to_vec();
    let mut features = vec![0u32; samples.len()].into_boxed_slice();
    let mut row_ranks = vec![R::default(); samples.len()].into_boxed_slice();
    for (feature, range) in indptr.windows(2).enumerate() {
        runtime.check_interrupt()?;
        for at in range[0]..range[1] {
            let slot = &mut cursor[samples[at] as usize];
            features[*slot] = feature as u32;
            row_ranks[*slot] = ranks[at];
            *slot += 1;
        }
    }
    Ok((features, row_ranks))
}
