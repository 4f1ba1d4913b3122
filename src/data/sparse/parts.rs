//! Sparse columns as named arrays of bytes, and back.

use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use super::{RankArray, SparseColumns};
use crate::data::buffer::Buffer;
use crate::data::parts::{Described, Part, damaged};
use crate::error::Result;
use crate::runtime::Runtime;

/// Rows whose entries are checked at a time.
const ROWS_AT_A_TIME: usize = 1 << 12;

/// The arrays from which sparse columns are read.
pub(in crate::data) struct SparseParts<'a, F: ?Sized> {
    pub n_samples: usize,
    pub columns: &'a [Described],
    /// Finds an array by its name.
    pub find: &'a F,
}

impl<F: ?Sized> SparseParts<'_, F> {
    /// The names of the arrays.
    pub const NAMES: [&'static str; 5] = ["samples", "ranks", "row_ends", "features", "row_ranks"];
}

impl RankArray {
    fn bytes(&self) -> Buffer<u8> {
        match self {
            Self::U16(ranks) => ranks.bytes(),
            Self::U32(ranks) => ranks.bytes(),
        }
    }

    fn read(name: &str, bytes: &Buffer<u8>, width: u8, nnz: usize) -> Result<Self> {
        let ranks = match width {
            2 => bytes.numbers().filter(|ranks| ranks.len() == nnz).map(Self::U16),
            4 => bytes.numbers().filter(|ranks| ranks.len() == nnz).map(Self::U32),
            _ => return Err(damaged("columns", "ranks have an impossible width")),
        };
        ranks.ok_or_else(|| damaged(name, "its length is not the number of entries"))
    }
}

impl SparseColumns {
    /// Bytes of a rank, equal for all columns.
    pub(in crate::data) fn rank_width(&self) -> u8 {
        if matches!(self.ranks, RankArray::U16(_)) { 2 } else { 4 }
    }

    pub(in crate::data) fn parts(&self) -> [Part; 5] {
        let ends: Vec<u8> = self.row_indptr[1..].iter().flat_map(|&end| (end as u64).to_le_bytes()).collect();
        let [samples, ranks, row_ends, features, row_ranks] = SparseParts::<()>::NAMES.map(String::from);
        [
            (samples, self.samples.bytes()),
            (ranks, self.ranks.bytes()),
            (row_ends, ends.into()),
            (features, self.features.bytes()),
            (row_ranks, self.row_ranks.bytes()),
        ]
    }

    /// Columns from arrays that may come from anywhere. Both halves must have the same entries: the
    /// sums of their hashes are compared, whose keys nobody knows beforehand. So each half is read
    /// from its begin to its end; to look entries of one up in the other would read pages of a
    /// file that does not fit in memory over and over. O(nnz).
    pub(in crate::data) fn from_parts<'b>(
        parts: &SparseParts<'_, impl Fn(&str) -> Result<&'b Buffer<u8>>>,
        runtime: &Runtime<'_>,
    ) -> Result<Self> {
        let length = |name| move || damaged(name, "its length is wrong");
        let ends = |name, ends: &[u64], nnz: usize| {
            let mut indptr = vec![0usize];
            for &end in ends {
                let end = usize::try_from(end).unwrap_or(usize::MAX);
                if end < indptr[indptr.len() - 1] || end > nnz {
                    return Err(damaged(name, "where entries end is out of range"));
                }
                indptr.push(end);
            }
            if indptr[indptr.len() - 1] == nnz { Ok(indptr) } else { Err(damaged(name, "entries are left over")) }
        };
        let samples = (parts.find)("samples")?.numbers::<u32>().ok_or_else(length("samples"))?;
        let nnz = samples.len();
        let column_ends: Vec<u64> = parts.columns.iter().map(|column| column.entries_end).collect();
        let indptr = ends("columns", &column_ends, nnz)?;
        let row_ends = (parts.find)("row_ends")?.numbers::<u64>().filter(|ends| ends.len() == parts.n_samples);
        let row_indptr = ends("row_ends", &row_ends.ok_or_else(length("row_ends"))?, nnz)?;
        let features = (parts.find)("features")?.numbers::<u32>().filter(|features| features.len() == nnz);
        let features = features.ok_or_else(length("features"))?;
        let longest = parts.columns.iter().map(|column| column.n_ranks).max().unwrap_or(0);
        let width = if longest <= 1 << 16 { 2 } else { 4 };
        let ranks = RankArray::read("ranks", (parts.find)("ranks")?, width, nnz)?;
        let row_ranks = RankArray::read("row_ranks", (parts.find)("row_ranks")?, width, nnz)?;
        let (all, all_of_rows) = (ranks.slice(0..nnz), row_ranks.slice(0..nnz));
        let hashes = RandomState::new();
        let hash = |sample: u32, feature: u32, rank: u32| hashes.hash_one((sample, feature, rank));
        let sum_of_column = |feature: usize| {
            runtime.check_interrupt()?;
            let column = &parts.columns[feature];
            if column.width != width {
                return Err(damaged("columns", "ranks have an impossible width"));
            }
            let least = u32::from(column.has_missing);
            let (mut before, mut sum) = (None, 0u64);
            for at in indptr[feature]..indptr[feature + 1] {
                let (rank, sample) = (all.at(at), samples[at]);
                if rank < least || rank >= column.n_ranks || rank == column.rank || before >= Some((rank, sample)) {
                    return Err(damaged("ranks", "a rank is out of range or out of order"));
                }
                before = Some((rank, sample));
                sum = sum.wrapping_add(hash(sample, feature as u32, rank));
            }
            Ok(sum)
        };
        let sum_of_rows = |rows: Range<usize>| {
            runtime.check_interrupt()?;
            let mut sum = 0u64;
            for row in rows {
                let range = row_indptr[row]..row_indptr[row + 1];
                if !features[range.clone()].is_sorted_by(|feature, next| feature < next) {
                    return Err(damaged("features", "the features of a row are out of order"));
                }
                for at in range {
                    sum = sum.wrapping_add(hash(row as u32, features[at], all_of_rows.at(at)));
                }
            }
            Ok(sum)
        };
        let blocks = (0..parts.n_samples).step_by(ROWS_AT_A_TIME);
        let blocks = blocks.map(|start| start..parts.n_samples.min(start + ROWS_AT_A_TIME)).collect();
        let by_column = runtime.map((0..parts.columns.len()).collect(), sum_of_column)?;
        let by_row = runtime.map(blocks, sum_of_rows)?;
        let add = |sums: Vec<u64>| sums.into_iter().fold(0, u64::wrapping_add);
        if add(by_column) != add(by_row) {
            return Err(damaged("features", "the entries of rows and columns differ"));
        }
        let zero_ranks = parts.columns.iter().map(|column| column.rank).collect();
        Ok(Self::assemble(indptr.into(), (samples, ranks), zero_ranks, row_indptr.into(), (features, row_ranks)))
    }
}
