//! Borrowed CSC and CSR matrices with a proven structure.
//!
//! [`SparseView::new`] is the only way to one. Indices may be unsorted, entries may be zero, cells
//! may be stored more than once (they are summed).

use crate::data::element::Element;
use crate::data::floats::{Floats, Merge, TableValue};
use crate::data::row_group::RowEntries;
use crate::error::{Error, Result};
use crate::memory;
use crate::runtime::Runtime;

/// Orientation of a compressed sparse matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Compressed sparse columns: the entries of each column follow each other.
    Csc,
    /// Compressed sparse rows: the entries of each row follow each other.
    Csr,
}

impl Format {
    fn name(self) -> &'static str {
        match self {
            Self::Csc => "CSC",
            Self::Csr => "CSR",
        }
    }
}

/// An integer type of index arrays.
pub trait SparseIndex: Copy + Send + Sync + std::fmt::Display + TryInto<usize> {
    /// The index, unless it is negative or too large.
    #[inline]
    fn index(self) -> Option<usize> {
        self.try_into().ok()
    }
}

impl SparseIndex for i32 {}
impl SparseIndex for i64 {}

/// A borrowed compressed sparse matrix of shape `(n_samples, n_features)` with a sound structure.
#[derive(Debug)]
pub struct SparseView<'a, T, I> {
    n_samples: usize,
    n_features: usize,
    format: Format,
    indptr: &'a [I],
    indices: &'a [I],
    data: &'a [T],
}

impl<'a, T: Element, I: SparseIndex> SparseView<'a, T, I> {
    /// Checks that `indptr` has one entry more than the matrix has columns (rows for CSR), starts
    /// at 0, never falls and ends within `indices` and `data`, and that every index is in range.
    /// O(nnz).
    pub fn new(
        (n_samples, n_features): (usize, usize),
        format: Format,
        indptr: &'a [I],
        indices: &'a [I],
        data: &'a [T],
    ) -> Result<Self> {
        check_structure((n_samples, n_features), format, indptr, indices, data.len())?;
        Ok(Self { n_samples, n_features, format, indptr, indices, data })
    }

    /// The shape: `(n_samples, n_features)`.
    pub fn shape(&self) -> (usize, usize) {
        (self.n_samples, self.n_features)
    }

    /// Whether entries are stored by column or by row.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Number of stored entries.
    pub fn nnz(&self) -> usize {
        self.indptr[self.indptr.len() - 1].index().unwrap_or_default()
    }

    /// The stored (minor index, value) entries of one column (CSC) or row (CSR), in stored order.
    #[inline]
    pub fn entries(&self, major: usize) -> impl Iterator<Item = (usize, T::Value)> {
        let (indices, values) = self.entries_apart(major);
        indices.zip(values)
    }

    /// The entries of a row or column, as a list of indices and a list of values.
    #[inline]
    pub fn entries_apart(
        &self,
        major: usize,
    ) -> (impl ExactSizeIterator<Item = usize>, impl ExactSizeIterator<Item = T::Value>) {
        let range = self.indptr[major].index().unwrap_or_default()..self.indptr[major + 1].index().unwrap_or_default();
        let indices = self.indices[range.clone()].iter().map(|index| index.index().unwrap_or_default());
        (indices, self.data[range].iter().map(|&value| value.value()))
    }

    /// Fails unless the matrix is CSR: only then it has rows.
    pub(in crate::data) fn check_csr(&self) -> Result<()> {
        match self.format {
            Format::Csr => Ok(()),
            Format::Csc => Err(Error::InvalidArgument {
                name: "X",
                got: "CSC".into(),
                expected: "in CSR format for prediction".into(),
            }),
        }
    }
}

/// Checks what [`SparseView::new`] promises. Once per index type.
fn check_structure<I: SparseIndex>(
    (n_samples, n_features): (usize, usize),
    format: Format,
    indptr: &[I],
    indices: &[I],
    n_data: usize,
) -> Result<()> {
    let invalid = |reason: String| Err(Error::InvalidSparse { format: format.name(), reason });
    let (n_major, n_minor, minor) = match format {
        Format::Csc => (n_features, n_samples, "row"),
        Format::Csr => (n_samples, n_features, "column"),
    };
    if indptr.len().checked_sub(1) != Some(n_major) {
        return invalid(format!("indptr must have {} entries, got {}", n_major.saturating_add(1), indptr.len()));
    }
    if indices.len() != n_data {
        let lengths = format!("{} and {n_data}", indices.len());
        return invalid(format!("indices and data must have the same length, got {lengths}"));
    }
    let mut previous = 0;
    for (position, &pointer) in indptr.iter().enumerate() {
        match pointer.index() {
            Some(pointer) if (position > 0 || pointer == 0) && (previous..=n_data).contains(&pointer) => {
                previous = pointer;
            }
            _ => {
                return invalid(format!(
                    "indptr must start at 0, never fall and end at most at {n_data} (the length of data), got {pointer} \
                     at position {position} after {previous}"
                ));
            }
        }
    }
    if let Some(&index) = indices[..previous].iter().find(|index| index.index().is_none_or(|i| i >= n_minor)) {
        return invalid(format!("{minor} indices must be in the range [0, {n_minor}), got {index}"));
    }
    Ok(())
}

/// Stored entries by column, in stored order: zeros, duplicates and all.
pub(in crate::data) struct Raw {
    pub indptr: Box<[usize]>,
    pub samples: Vec<u32>,
    pub values: Floats,
    /// How several entries for one cell become its value.
    pub merge: Merge,
}

/// A sparse matrix of any element type and index width, from which the encoding copies entries.
pub(in crate::data) trait Entries: RowEntries {
    /// The shape: `(n_samples, n_features)`.
    fn shape(&self) -> (usize, usize);
    /// Number of stored entries.
    fn nnz(&self) -> usize;
    /// All entries by column; the entries of a column in stored order.
    fn by_column(&self, runtime: &Runtime<'_>) -> Result<Raw>;
}

impl<T: Element, I: SparseIndex> Entries for SparseView<'_, T, I> {
    fn shape(&self) -> (usize, usize) {
        self.shape()
    }

    fn nnz(&self) -> usize {
        self.nnz()
    }

    fn by_column(&self, runtime: &Runtime<'_>) -> Result<Raw> {
        let nnz = self.nnz();
        let (indptr, samples, values) = match self.format {
            Format::Csc => {
                let (mut samples, mut values) = (memory::reserve(ENTRIES, nnz)?, memory::reserve(ENTRIES, nnz)?);
                for feature in 0..self.n_features {
                    runtime.check_in_turn(feature)?;
                    for (sample, value) in self.entries(feature) {
                        samples.push(sample as u32);
                        values.push(value);
                    }
                }
                (widen_indptr(self.indptr)?, samples, values)
            }
            Format::Csr => {
                let mut indptr = count(self.n_features, &self.indices[..nnz])?;
                let (mut samples, mut values) = (memory::zeros(ENTRIES, nnz)?, memory::zeros(ENTRIES, nnz)?);
                for sample in 0..self.n_samples {
                    runtime.check_in_turn(sample)?;
                    for (feature, value) in self.entries(sample) {
                        let at = indptr[feature];
                        samples[at] = sample as u32;
                        values[at] = value;
                        indptr[feature] = at + 1;
                    }
                }
                // Each column begins where the one before it has ended.
                indptr.copy_within(..self.n_features, 1);
                indptr[0] = 0;
                (indptr, samples, values)
            }
        };
        Ok(Raw { indptr, samples, values: T::Value::floats(values), merge: T::MERGE })
    }
}

/// The name of the memory for copies of the input, in errors.
const ENTRIES: &str = "the entries of X by column";

fn widen_indptr<I: SparseIndex>(indptr: &[I]) -> Result<Box<[usize]>> {
    let mut wide = memory::reserve(ENTRIES, indptr.len())?;
    wide.extend(indptr.iter().map(|pointer| pointer.index().unwrap_or_default()));
    Ok(wide.into())
}

/// Where each of `n` columns begins, given the column of each entry; then the number of entries.
fn count<I: SparseIndex>(n: usize, columns: &[I]) -> Result<Box<[usize]>> {
    offsets(n, columns.iter().map(|column| column.index().unwrap_or_default()))
}

/// Offsets of `n` groups from the group of each member: a monotone array of length `n + 1`.
pub(super) fn offsets(n: usize, members: impl Iterator<Item = usize>) -> Result<Box<[usize]>> {
    let mut offsets = memory::zeros("offsets of X", n + 1)?;
    for group in members {
        offsets[group + 1] += 1;
    }
    cumulate(&mut offsets);
    Ok(offsets.into())
}

/// Replaces each size with the sum of all up to it.
fn cumulate(sizes: &mut [usize]) {
    let mut end = 0;
    for size in sizes {
        end += *size;
        *size = end;
    }
}

#[cfg(test)]
mod tests {
    use super::cumulate;

    /// Offsets do not wrap where 32 bits would, signed or not; a matrix of that size is too large
    /// for a test.
    #[test]
    fn offsets_pass_32_bits() {
        let mut sizes = [0, 1 << 31, 1 << 31, 5];
        cumulate(&mut sizes);
        assert_eq!(sizes, [0, 1 << 31, 1 << 32, (1 << 32) + 5]);
    }
}
