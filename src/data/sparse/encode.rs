//! From a sparse view to sparse columns.
//!
//! Entries are brought into columns, then each column sums its duplicates, drops its zeros, is
//! sorted by value and ranked; at last the by-row twin is made. O(nnz) and the sorts; columns in
//! parallel. Holds at most the result, or one by-column copy with 4-byte ranks and values beside
//! it.

use super::SparseColumns;
use super::view::{Entries, Raw};
use crate::data::encoding::{Encoding, Ordinals};
use crate::data::floats::{Floats, Merge, TableValue};
use crate::data::ranking::{number_cells, push_cell, sort_cells, split_at_zero};
use crate::data::values::{MISSING_KEY, ValueTable};
use crate::data::{Columns, Dataset, check_shape};
use crate::error::Result;
use crate::memory;
use crate::num::{RadixSort, SortKey};
use crate::runtime::Runtime;

/// The by-column half of [`SparseColumns`], while it is built.
pub(super) struct Half {
    pub indptr: Box<[usize]>,
    pub samples: Box<[u32]>,
    pub ranks: Box<[u32]>,
    pub zero_ranks: Box<[u32]>,
}

/// Encodes a sparse matrix.
pub(in crate::data) fn encode(x: &dyn Entries, encoding: &Encoding<'_>, runtime: &Runtime<'_>) -> Result<Dataset> {
    let (n_samples, n_features) = x.shape();
    check_shape(n_samples, n_features)?;
    check_memory(x)?;
    let Raw { indptr, samples, values, merge } = x.by_column(runtime)?;
    // Categories are ranks.
    let ordinals = if encoding.n_categories.is_some() { Ordinals::Ranks } else { encoding.ordinals };
    let (half, values, end_rank) = match values {
        Floats::F32(values) => rank_columns(&indptr, samples, values, merge, ordinals, runtime)?,
        Floats::F64(values) => rank_columns(&indptr, samples, values, merge, Ordinals::Ranks, runtime)?,
    };
    let columns = Columns::Sparse(SparseColumns::with_rows(half, end_rank, n_samples, runtime)?);
    Dataset::new(n_samples, n_features, columns, values).coded(encoding, runtime)
}

/// Fails if there is not the memory that the tables of a matrix of this shape take. A matrix of few
/// entries may have any shape.
fn check_memory(x: &dyn Entries) -> Result<()> {
    let ((n_samples, n_features), nnz) = (x.shape(), x.nnz());
    // Columns as they come and as they are ranked; the offsets, zeros and tables of values of the
    // result.
    let while_ranked = n_features.saturating_mul(size_of::<Encoded>() + 8 + 8 + 8 + 4 + 4);
    // Offsets, zeros, tables of values and frequencies of columns, and two offsets of rows.
    let with_rows = n_features.saturating_mul(8 + 4 + 8 + 4 + 8).saturating_add(n_samples.saturating_mul(16));
    let least = while_ranked.max(with_rows).saturating_add(nnz.saturating_mul(12));
    memory::check("the encoded columns of X", least)
}

/// Some columns: their shares of the arrays.
struct ColumnsPart<'a, V> {
    indptr: &'a [usize],
    samples: &'a mut [u32],
    values: &'a mut [V],
    ranks: &'a mut [u32],
    encoded: &'a mut [Encoded],
}

/// The result of encoding a column, whose entries are now at the front of its share of the arrays.
#[derive(Clone, Copy, Default)]
struct Encoded {
    nnz: u32,
    n_distinct: u32,
    /// The position of 0 among the distinct values.
    zero_place: u32,
    has_missing: bool,
}

impl Encoded {
    /// The rank of the least value.
    fn first_rank(self) -> u32 {
        u32::from(self.has_missing)
    }

    fn n_ranks(self) -> u32 {
        self.n_distinct + 1 + 2 * u32::from(self.has_missing)
    }

    fn zero_rank(self) -> u32 {
        self.first_rank() + self.zero_place
    }

    /// The key of the value of a rank. `distinct` has the nonzero values of the column, all of them
    /// exact in single precision.
    fn key<V: TableValue>(self, rank: u32, distinct: &[V]) -> u32 {
        if self.has_missing && rank == self.n_ranks() - 1 {
            return MISSING_KEY;
        }
        let place = rank - self.first_rank() - u32::from(rank > self.zero_rank());
        (distinct[place as usize].widen() as f32).key()
    }
}

/// From values to ranks, or, if `ordinals` asks for them, to keys where many values are distinct.
/// Also returns a number above all ranks.
fn rank_columns<V: TableValue>(
    indptr: &[usize],
    mut samples: Vec<u32>,
    mut values: Vec<V>,
    merge: Merge,
    ordinals: Ordinals,
    runtime: &Runtime<'_>,
) -> Result<(Half, ValueTable, usize)> {
    let n_features = indptr.len() - 1;
    let mut ranks = memory::zeros("ranks", samples.len())?;
    let mut encoded = memory::filled("columns", Encoded::default(), n_features)?;
    let mut rest =
        ColumnsPart { indptr, samples: &mut samples, values: &mut values, ranks: &mut ranks, encoded: &mut encoded };
    let size = n_features.div_ceil(PARTS_PER_THREAD * runtime.n_threads());
    let parts = (0..n_features).step_by(size).map(|start| rest.take(size.min(n_features - start))).collect();
    runtime.map(parts, |part| part.rank(merge, runtime))?;
    let (nnz, n_distinct) =
        encoded.iter().fold((0, 0), |(nnz, n), column| (nnz + column.nnz as usize, n + column.n_distinct as usize));
    let are_keys = ordinals == Ordinals::Keys && n_distinct * ENTRIES_PER_KEY > nnz;
    compact(indptr, samples, ranks, &values, &encoded, are_keys)
}

/// Keys stand for values if there are fewer entries than this many times the distinct values of all
/// columns: the tables of values of counts are in the cache, so that keys would only take memory.
const ENTRIES_PER_KEY: usize = 4;

/// Parts of the columns per thread: several, so that parts of unequal cost even out.
pub(super) const PARTS_PER_THREAD: usize = 8;

/// Buffers of one part.
struct PartScratch<V: SortKey> {
    /// Entries of a column that are not in the order of their rows.
    entries: Vec<(u32, V)>,
    cells: Vec<V::Cell>,
    radix: RadixSort<V::Cell>,
}

impl<'a, V: TableValue> ColumnsPart<'a, V> {
    /// Splits the first columns off this part.
    fn take(&mut self, n_columns: usize) -> ColumnsPart<'a, V> {
        let (indptr, rest) = (&self.indptr[..=n_columns], &self.indptr[n_columns..]);
        self.indptr = rest;
        let n = indptr[n_columns] - indptr[0];
        ColumnsPart {
            indptr,
            samples: self.samples.split_off_mut(..n).unwrap_or_default(),
            values: self.values.split_off_mut(..n).unwrap_or_default(),
            ranks: self.ranks.split_off_mut(..n).unwrap_or_default(),
            encoded: self.encoded.split_off_mut(..n_columns).unwrap_or_default(),
        }
    }

    fn rank(mut self, merge: Merge, runtime: &Runtime<'_>) -> Result<()> {
        let mut scratch = PartScratch { entries: Vec::new(), cells: Vec::new(), radix: RadixSort::default() };
        while !self.encoded.is_empty() {
            runtime.check_interrupt()?;
            self.take(1).rank_column(merge, &mut scratch, runtime)?;
        }
        Ok(())
    }

    /// Merges duplicates of the only column, drops its zeros, sorts it by value. Then the fronts of
    /// `samples` and `ranks` hold the entries, and the front of `values` holds the distinct nonzero
    /// values. Missing values come last.
    fn rank_column(self, merge: Merge, scratch: &mut PartScratch<V>, runtime: &Runtime<'_>) -> Result<()> {
        let Self { samples, values, ranks, encoded: column, .. } = self;
        let PartScratch { entries, cells, radix } = scratch;
        cells.clear();
        let mut missing = Vec::new();
        let mut take = |sample, value: V| push_cell(value, sample, cells, &mut missing);
        if samples.is_sorted_by(|a, b| a < b) {
            samples.iter().zip(&*values).for_each(|(&sample, &value)| take(sample, value));
        } else {
            entries.clear();
            entries.extend(samples.iter().copied().zip(values.iter().copied()));
            // Stable: duplicates are merged in the order in which they are stored.
            entries.sort_by_key(|entry| entry.0);
            for run in entries.chunk_by(|a, b| a.0 == b.0) {
                take(run[0].0, run[1..].iter().fold(run[0].1, |sum, entry| sum.merged(entry.1, merge)));
            }
        }
        sort_cells::<V>(cells, radix, runtime)?;
        let (negative, positive) = split_at_zero::<V>(cells);
        let nnz = cells.len() + missing.len();
        let mut encoded = Encoded { nnz: nnz as u32, has_missing: !missing.is_empty(), ..Encoded::default() };
        let first_rank = encoded.first_rank();
        let mut at = 0;
        let mut put = |place: u32, rank, cell| {
            values[place as usize] = V::from_key(V::key_of(cell));
            samples[at] = V::row_of(cell);
            ranks[at] = rank;
            at += 1;
        };
        encoded.zero_place = number_cells::<V>(negative, 0, |place, cell| put(place, first_rank + place, cell));
        encoded.n_distinct = number_cells::<V>(positive, encoded.zero_place, |place, cell| {
            put(place, first_rank + place + 1, cell);
        });
        samples[at..nnz].copy_from_slice(&missing);
        ranks[at..nnz].fill(encoded.n_ranks() - 1);
        column[0] = encoded;
        Ok(())
    }
}

/// Moves the fronts of all columns together, in place, and inserts the zero into each value table.
/// With keys in the place of ranks, all tables are empty. Also returns a number above all ranks.
fn compact<V: TableValue>(
    raw_indptr: &[usize],
    mut samples: Vec<u32>,
    mut ranks: Vec<u32>,
    values: &[V],
    encoded: &[Encoded],
    are_keys: bool,
) -> Result<(Half, ValueTable, usize)> {
    let n_values = if are_keys { 0 } else { encoded.iter().map(|column| column.n_ranks() as usize).sum() };
    let mut table = memory::reserve("tables of values", n_values)?;
    let mut table_indptr = memory::reserve("tables of values", encoded.len() + 1)?;
    let mut indptr = memory::reserve("columns", encoded.len() + 1)?;
    table_indptr.push(0);
    indptr.push(0);
    let (mut end, mut largest) = (0, 0);
    for (&column, &start) in encoded.iter().zip(raw_indptr) {
        let nnz = column.nnz as usize;
        samples.copy_within(start..start + nnz, end);
        ranks.copy_within(start..start + nnz, end);
        let distinct = &values[start..start + column.n_distinct as usize];
        if are_keys {
            ranks[end..end + nnz].iter_mut().for_each(|rank| *rank = column.key(*rank, distinct));
        }
        end += nnz;
        indptr.push(end);
        if are_keys {
            table_indptr.push(0);
            continue;
        }
        let (negative, positive) = distinct.split_at(column.zero_place as usize);
        let padding = |value| column.has_missing.then_some(value);
        table.extend(padding(V::NEG_INFINITY));
        table.extend_from_slice(negative);
        table.push(V::ZERO);
        table.extend_from_slice(positive);
        table.extend(padding(V::INFINITY));
        table_indptr.push(table.len());
        largest = largest.max(column.n_ranks());
    }
    samples.truncate(end);
    ranks.truncate(end);
    let half = Half {
        indptr: indptr.into(),
        samples: samples.into(),
        ranks: ranks.into(),
        zero_ranks: encoded.iter().map(|column| if are_keys { 0f32.key() } else { column.zero_rank() }).collect(),
    };
    let has_missing = encoded.iter().map(|column| column.has_missing).collect();
    let end_rank = if are_keys { usize::MAX } else { largest as usize };
    Ok((half, ValueTable::new(table_indptr, V::floats(table), has_missing), end_rank))
}
