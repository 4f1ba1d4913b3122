//! Sparse columns: the nonzeros of a matrix twice, by column in the order of their values and by row.
//!
//! * [`SparseView`]: a borrowed CSC or CSR matrix whose structure has been proven (`new` is the only way to one).
//!   Indices may be unsorted, entries may be zero, cells may be stored more than once (they are summed).
//! * [`SparseColumns`]: per column the (row, rank) entries in ascending value order, so that filtering a column by the
//!   rows of a node yields the node's entries already sorted ("Sparsified Trees", section III, sorts them per node);
//!   and its twin, per row the (feature, rank) entries in ascending feature order.
//!
//! Entries take `2 * (4 + size_of::<R>())` bytes per nonzero, 12 or 16; the value table at most 4 (8 when doubles are
//! needed) more. Encoding holds at most the result, or one by-column copy with 4-byte ranks and values beside it.

use super::element::Element;
use super::ranking::{Pair, distinct_values, number_runs, sort_pairs};
use super::values::TableValue;
use super::{Columns, Dataset, check_shape, nan_found};
use crate::error::{Error, Result};
use crate::num::SortKey;
use crate::runtime::Runtime;

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
    n_samples: usize,
    n_features: usize,
    format: Format,
    indptr: &'a [I],
    indices: &'a [I],
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

    pub(crate) fn n_bytes(&self) -> usize {
        size_of_val(&self.indptr[..])
            + size_of_val(&self.samples[..])
            + size_of_val(&self.ranks[..])
            + size_of_val(&self.zero_ranks[..])
            + size_of_val(&self.row_indptr[..])
            + size_of_val(&self.features[..])
            + size_of_val(&self.row_ranks[..])
    }

    /// Adds the by-row twin to a by-column half. O(nnz).
    fn with_rows(half: Half<R>, n_samples: usize, runtime: &Runtime<'_>) -> Result<Self> {
        let Half { indptr, samples, ranks, zero_ranks } = half;
        let row_indptr = offsets(n_samples, samples.iter().map(|&sample| sample as usize));
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
        Ok(Self { indptr, samples, ranks, zero_ranks, row_indptr, features, row_ranks })
    }
}

/// The by-column half of [`SparseColumns`], while it is built.
struct Half<R> {
    indptr: Box<[usize]>,
    samples: Box<[u32]>,
    ranks: Box<[R]>,
    zero_ranks: Box<[u32]>,
}

impl Half<u32> {
    fn narrow<R: Rank>(self) -> Half<R> {
        let Self { indptr, samples, ranks, zero_ranks } = self;
        Half { indptr, samples, ranks: ranks.iter().map(|&rank| R::narrow(rank)).collect(), zero_ranks }
    }
}

impl Dataset {
    /// Encodes a compressed sparse matrix. Absent entries are 0.0; NaN is refused.
    pub fn from_sparse<T: Element, I: SparseIndex>(x: &SparseView<'_, T, I>, runtime: &Runtime<'_>) -> Result<Self>
    where
        T::Value: TableValue,
    {
        let (n_samples, n_features) = x.shape();
        check_shape(n_samples, n_features)?;
        let mut raw = by_column(x, runtime)?;
        let mut ranks = vec![0u32; raw.samples.len()];
        let encoded = {
            let mut jobs = Vec::with_capacity(n_features);
            let (mut samples, mut values, mut ranks) = (&mut raw.samples[..], &mut raw.values[..], &mut ranks[..]);
            for range in raw.indptr.windows(2) {
                let n = range[1] - range[0];
                jobs.push(Job {
                    samples: samples.split_off_mut(..n).unwrap_or_default(),
                    values: values.split_off_mut(..n).unwrap_or_default(),
                    ranks: ranks.split_off_mut(..n).unwrap_or_default(),
                });
            }
            let mut tasks = Vec::new();
            let size = n_features.div_ceil(8 * runtime.n_threads());
            while !jobs.is_empty() {
                tasks.push(jobs.split_off(jobs.len().saturating_sub(size)));
            }
            tasks.reverse();
            let encode = |tasks: Vec<Job<'_, T::Value>>| {
                let mut scratch = (Vec::new(), Vec::new(), Vec::new());
                let columns = tasks.into_iter().map(|job| {
                    runtime.check_interrupt()?;
                    encode_column::<T>(job, &mut scratch)
                });
                columns.collect::<Result<Vec<_>>>()
            };
            runtime.map(tasks, encode)?.into_iter().flatten().collect::<Vec<_>>()
        };
        let (half, values, n_distinct) = compact(raw, ranks, &encoded);
        let columns = if n_distinct <= 1 << 16 {
            Columns::SparseU16(SparseColumns::with_rows(half.narrow(), n_samples, runtime)?)
        } else {
            Columns::SparseU32(SparseColumns::with_rows(half, n_samples, runtime)?)
        };
        Ok(Self::new(n_samples, n_features, columns, values))
    }
}

/// Stored entries by column, in stored order: zeros, duplicates and all.
struct Raw<V> {
    indptr: Box<[usize]>,
    samples: Vec<u32>,
    values: Vec<V>,
}

/// Offsets of `n` groups from the group of each member: a monotone array of length `n + 1`.
fn offsets(n: usize, members: impl Iterator<Item = usize>) -> Box<[usize]> {
    let mut offsets = vec![0usize; n + 1].into_boxed_slice();
    for group in members {
        offsets[group + 1] += 1;
    }
    for group in 0..n {
        offsets[group + 1] += offsets[group];
    }
    offsets
}

fn by_column<T: Element, I: SparseIndex>(x: &SparseView<'_, T, I>, runtime: &Runtime<'_>) -> Result<Raw<T::Value>> {
    let nnz = x.nnz();
    Ok(match x.format {
        Format::Csc => {
            let mut raw = Raw {
                indptr: (0..=x.n_features).map(|f| x.indptr[f].index().unwrap_or_default()).collect(),
                samples: Vec::with_capacity(nnz),
                values: Vec::with_capacity(nnz),
            };
            for feature in 0..x.n_features {
                runtime.check_interrupt()?;
                for (sample, value) in x.entries(feature) {
                    raw.samples.push(sample as u32);
                    raw.values.push(value);
                }
            }
            raw
        }
        Format::Csr => {
            let indices = x.indices[..nnz].iter().map(|index| index.index().unwrap_or_default());
            let indptr = offsets(x.n_features, indices);
            let mut cursor = indptr.clone();
            let (mut samples, mut values) = (vec![0u32; nnz], vec![T::Value::ZERO; nnz]);
            for sample in 0..x.n_samples {
                runtime.check_interrupt()?;
                for (feature, value) in x.entries(sample) {
                    let slot = &mut cursor[feature];
                    samples[*slot] = sample as u32;
                    values[*slot] = value;
                    *slot += 1;
                }
            }
            Raw { indptr, samples, values }
        }
    })
}

/// One column's share of the arrays.
struct Job<'a, V> {
    samples: &'a mut [u32],
    values: &'a mut [V],
    ranks: &'a mut [u32],
}

/// What is left of a column: the front of its share of the arrays.
struct Encoded {
    nnz: usize,
    n_distinct: usize,
    zero_rank: u32,
}

type Scratch<V> = (Vec<(u32, V)>, Vec<Pair<V>>, Vec<Pair<V>>);

/// Sums duplicates, drops zeros, sorts by value. Then the fronts of `samples` and `ranks` hold the entries, and the
/// front of `values` holds the distinct nonzero values.
fn encode_column<T: Element>(
    job: Job<'_, T::Value>,
    (cells, pairs, scratch): &mut Scratch<T::Value>,
) -> Result<Encoded> {
    let Job { samples, values, ranks } = job;
    cells.clear();
    cells.extend(samples.iter().copied().zip(values.iter().copied()));
    if !cells.is_sorted_by(|a, b| a.0 < b.0) {
        // Stable: duplicates are summed in the order in which they are stored.
        cells.sort_by_key(|cell| cell.0);
    }
    pairs.clear();
    for run in cells.chunk_by(|a, b| a.0 == b.0) {
        let value = run[1..].iter().fold(run[0].1, |sum, cell| T::merge(sum, cell.1));
        let wide = value.widen();
        if wide.is_nan() {
            return Err(nan_found());
        }
        if wide != 0.0 {
            pairs.push((value.key(), run[0].0));
        }
    }
    sort_pairs::<T::Value>(pairs, scratch);
    let (distinct, zero_rank) = distinct_values::<T::Value>(pairs, false);
    values[..distinct.len()].copy_from_slice(&distinct);
    let mut at = 0;
    number_runs::<T::Value>(pairs, Some(zero_rank), |rank, run| {
        for &(_, sample) in run {
            samples[at] = sample;
            ranks[at] = rank;
            at += 1;
        }
    });
    Ok(Encoded { nnz: pairs.len(), n_distinct: distinct.len(), zero_rank })
}

/// Moves the fronts of all columns together, in place, and inserts the zero into each value table. Also returns the
/// largest number of values in a table.
fn compact<V: TableValue>(
    raw: Raw<V>,
    mut ranks: Vec<u32>,
    encoded: &[Encoded],
) -> (Half<u32>, super::ValueTable, usize) {
    let Raw { indptr: raw_indptr, mut samples, values } = raw;
    let n_values = encoded.iter().map(|column| column.n_distinct + 1).sum();
    let mut table = Vec::with_capacity(n_values);
    let mut table_indptr = Vec::with_capacity(encoded.len() + 1);
    let mut indptr = Vec::with_capacity(encoded.len() + 1);
    table_indptr.push(0);
    indptr.push(0);
    let (mut end, mut largest) = (0, 0);
    for (column, &start) in encoded.iter().zip(&raw_indptr) {
        samples.copy_within(start..start + column.nnz, end);
        ranks.copy_within(start..start + column.nnz, end);
        end += column.nnz;
        indptr.push(end);
        let (negative, positive) = values[start..start + column.n_distinct].split_at(column.zero_rank as usize);
        table.extend_from_slice(negative);
        table.push(V::ZERO);
        table.extend_from_slice(positive);
        table_indptr.push(table.len());
        largest = largest.max(column.n_distinct + 1);
    }
    samples.truncate(end);
    ranks.truncate(end);
    let half = Half {
        indptr: indptr.into(),
        samples: samples.into(),
        ranks: ranks.into(),
        zero_ranks: encoded.iter().map(|column| column.zero_rank).collect(),
    };
    (half, V::into_table(table_indptr, table), largest)
}
