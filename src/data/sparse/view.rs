//! Borrowed CSC and CSR matrices with a proven structure.
//!
//! [`SparseView::new`] is the only way to one. Indices may be unsorted, entries may be zero, cells may be stored more than
//! once (they are summed).

use crate::data::element::Element;
use crate::error::{Error, Result};

/// Orientation of a compressed sparse matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// By column.
    Csc,
    /// By row.
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
pub trait SparseIndex: Copy + Send + Sync + std::fmt::Display {
    /// The index, unless it is negative or too large.
    fn index(self) -> Option<usize>;
}

macro_rules! sparse_index {
    ($($int:ty),*) => {
        $(impl SparseIndex for $int {
            #[inline]
            fn index(self) -> Option<usize> {
                usize::try_from(self).ok()
            }
        })*
    };
}

sparse_index!(i32, i64);

/// A borrowed compressed sparse matrix of shape `(n_samples, n_features)` with a sound structure.
#[derive(Debug)]
pub struct SparseView<'a, T, I> {
    pub(super) n_samples: usize,
    pub(super) n_features: usize,
    pub(super) format: Format,
    pub(super) indptr: &'a [I],
    pub(super) indices: &'a [I],
    data: &'a [T],
}

impl<'a, T: Element, I: SparseIndex> SparseView<'a, T, I> {
    /// Checks that `indptr` has one entry more than the matrix has columns (rows for CSR), starts at 0, never falls
    /// and ends within `indices` and `data`, and that every index is in range. O(nnz).
    pub fn new(
        (n_samples, n_features): (usize, usize),
        format: Format,
        indptr: &'a [I],
        indices: &'a [I],
        data: &'a [T],
    ) -> Result<Self> {
        let invalid = |reason: String| Err(Error::InvalidSparse { format: format.name(), reason });
        let (n_major, n_minor, minor) = match format {
            Format::Csc => (n_features, n_samples, "row"),
            Format::Csr => (n_samples, n_features, "column"),
        };
        if indptr.len().checked_sub(1) != Some(n_major) {
            return invalid(format!("indptr must have {} entries, got {}", n_major.saturating_add(1), indptr.len()));
        }
        if indices.len() != data.len() {
            return invalid(format!(
                "indices and data must have the same length, got {} and {}",
                indices.len(),
                data.len()
            ));
        }
        let mut previous = 0;
        for (position, &pointer) in indptr.iter().enumerate() {
            match pointer.index() {
                Some(pointer) if (position > 0 || pointer == 0) && (previous..=data.len()).contains(&pointer) => {
                    previous = pointer;
                }
                _ => {
                    return invalid(format!(
                        "indptr must start at 0, never fall and end at most at {} (the length of data), got {pointer} \
                         at position {position} after {previous}",
                        data.len()
                    ));
                }
            }
        }
        if let Some(&index) = indices[..previous].iter().find(|index| index.index().is_none_or(|i| i >= n_minor)) {
            return invalid(format!("{minor} indices must be in the range [0, {n_minor}), got {index}"));
        }
        Ok(Self { n_samples, n_features, format, indptr, indices, data })
    }

    /// `(n_samples, n_features)`.
    pub fn shape(&self) -> (usize, usize) {
        (self.n_samples, self.n_features)
    }

    /// Orientation.
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
        let range = self.major(major);
        let indices = self.indices[range.clone()].iter().map(|index| index.index().unwrap_or_default());
        indices.zip(self.data[range].iter().map(|&value| value.value()))
    }

    #[inline]
    fn major(&self, major: usize) -> std::ops::Range<usize> {
        self.indptr[major].index().unwrap_or_default()..self.indptr[major + 1].index().unwrap_or_default()
    }
}
