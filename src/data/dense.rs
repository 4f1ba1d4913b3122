//! Dense columns: one rank per cell, in the narrowest width that holds the column's distinct
//! values.
//!
//! Encoding copies a block of columns into a column-major tile (an input in C order is then read
//! cache line by cache line), sorts each column's nonzeros by radix and numbers the distinct
//! values. O(n) per column and varying digit; columns in parallel. Peak memory beside the result:
//! per thread, one tile (`TILE` columns of values) and two arrays of (key, row) pairs.

use std::ops::Range;

use ndarray::ArrayView2;

use super::element::Element;
use super::encoding::Encoding;
pub use super::encoding::Ordinals;
use super::floats::{Floats, TableValue};
use super::ranking::{Pair, distinct_values, number_runs, sort_pairs};
use super::values::{MISSING_KEY, ValueTable, padded};
use super::{Columns, Dataset, check_shape};
use crate::error::Result;
use crate::memory;
use crate::num::SortKey;
use crate::runtime::Runtime;
use crate::tuning::tuned;

/// Columns copied at a time: a cache line of `f64`.
const TILE: usize = 8;
/// Most distinct values of a column of `u16`.
const MAX_NARROW: usize = 1 << 16;

/// The ranks of one column, one per row.
#[derive(Debug)]
pub enum Ranks {
    /// For columns of up to 256 distinct values.
    U8(Box<[u8]>),
    /// For columns of up to 65,536 distinct values.
    U16(Box<[u16]>),
    /// For columns of more distinct values, and for sort keys.
    U32(Box<[u32]>),
}

/// The columns of a dense data set.
#[derive(Debug)]
pub struct DenseColumns {
    columns: Vec<DenseColumn>,
    end_rank: usize,
    is_sparse: bool,
}

/// One column of a dense data set.
#[derive(Debug)]
pub struct DenseColumn {
    /// The rank of each row's value.
    pub ranks: Ranks,
    /// The most frequent rank.
    pub common_rank: u32,
    /// All ranks are below this number, unless they are [keys](Ordinals::Keys).
    pub n_ranks: u32,
    /// Whether it is faster to sort the rows that do not have the most frequent value than to count
    /// all rows in bins (bench `sweep`, constants `SPARSE_FROM` and `SPARSE_FROM_DISTINCT`).
    pub is_sparse: bool,
}

tuned! {
    /// Columns with more than this share of rows of one value, and more than this many values, are
    /// sparse.
    fn sparse_from() -> f64 = 0.4;
    fn sparse_from_distinct() -> usize = 17;
}

impl DenseColumn {
    /// The rank of a row's value.
    #[inline]
    pub fn rank(&self, sample: u32) -> u32 {
        match &self.ranks {
            Ranks::U8(ranks) => ranks[sample as usize].into(),
            Ranks::U16(ranks) => ranks[sample as usize].into(),
            Ranks::U32(ranks) => ranks[sample as usize],
        }
    }
}

/// Sets `out[i]` to the rank of the row `samples[i]`. O(rows).
pub fn gather<R: Copy + Into<T>, T>(ranks: &[R], samples: &[u32], out: &mut [T]) {
    // Eight rows a turn, so that the speed of the loop does not depend on where the linker puts it.
    let (turns, rest) = samples.as_chunks::<8>();
    let (out_turns, out_rest) = out[..samples.len()].as_chunks_mut::<8>();
    for (out, samples) in out_turns.iter_mut().zip(turns) {
        for (out, &sample) in out.iter_mut().zip(samples) {
            *out = ranks[sample as usize].into();
        }
    }
    for (out, &sample) in out_rest.iter_mut().zip(rest) {
        *out = ranks[sample as usize].into();
    }
}

impl DenseColumns {
    /// The column of a feature.
    pub fn column(&self, feature: u32) -> &DenseColumn {
        &self.columns[feature as usize]
    }

    /// The columns of some rows.
    pub(super) fn subset(&self, samples: &[u32]) -> Self {
        fn part<R: Copy + Default>(ranks: &[R], samples: &[u32]) -> Box<[R]> {
            let mut part = vec![R::default(); samples.len()];
            gather(ranks, samples, &mut part);
            part.into()
        }
        let column_part = |column: &DenseColumn| DenseColumn {
            ranks: match &column.ranks {
                Ranks::U8(ranks) => Ranks::U8(part(ranks, samples)),
                Ranks::U16(ranks) => Ranks::U16(part(ranks, samples)),
                Ranks::U32(ranks) => Ranks::U32(part(ranks, samples)),
            },
            ..*column
        };
        Self { columns: self.columns.iter().map(column_part).collect(), ..*self }
    }

    /// All ranks are below.
    pub fn end_rank(&self) -> usize {
        self.end_rank
    }

    /// Whether most columns are [sparse](DenseColumn::is_sparse).
    pub fn is_sparse(&self) -> bool {
        self.is_sparse
    }

    pub(crate) fn n_bytes(&self) -> usize {
        let bytes = |column: &DenseColumn| match &column.ranks {
            Ranks::U8(ranks) => ranks.len(),
            Ranks::U16(ranks) => 2 * ranks.len(),
            Ranks::U32(ranks) => 4 * ranks.len(),
        };
        self.columns.iter().map(bytes).sum()
    }
}

/// A dense matrix of any element type: the part of it that [`encode`] needs.
pub(super) trait Tiles: Sync {
    /// The shape: `(n_samples, n_features)`.
    fn shape(&self) -> (usize, usize);
    /// The values of some columns, one column after the other.
    fn tile(&self, columns: Range<usize>) -> Result<Floats>;
}

impl<T: Element> Tiles for ArrayView2<'_, T> {
    fn shape(&self) -> (usize, usize) {
        self.dim()
    }

    fn tile(&self, columns: Range<usize>) -> Result<Floats> {
        let n_samples = self.nrows();
        let n_cells = columns.len() * n_samples;
        let mut tile = memory::reserve("columns of X", n_cells)?;
        if self.strides()[0].unsigned_abs() <= self.strides()[1].unsigned_abs() {
            for feature in columns {
                tile.extend(self.column(feature).iter().map(|cell| cell.value()));
            }
        } else {
            tile.resize(n_cells, T::Value::ZERO);
            for (sample, row) in self.rows().into_iter().enumerate() {
                for (offset, feature) in columns.clone().enumerate() {
                    tile[offset * n_samples + sample] = row[feature].value();
                }
            }
        }
        Ok(T::Value::floats(tile))
    }
}

/// Encodes a dense matrix.
pub(super) fn encode(x: &dyn Tiles, encoding: &Encoding<'_>, runtime: &Runtime<'_>) -> Result<Dataset> {
    let (n_samples, n_features) = x.shape();
    check_shape(n_samples, n_features)?;
    // A view may repeat cells, and so be far smaller than the columns.
    let least = n_samples.saturating_add(size_of::<Encoded>()).saturating_mul(n_features);
    memory::check("the encoded columns of X", least)?;
    // Categories are ranks.
    let ordinals = if encoding.n_categories.is_some() { Ordinals::Ranks } else { encoding.ordinals };
    let blocks: Vec<usize> = (0..n_features).step_by(TILE).collect();
    let encoded = runtime.map(blocks, |start| match x.tile(start..(start + TILE).min(n_features))? {
        Floats::F32(tile) => encode_tile(&tile, n_samples, ordinals, runtime),
        Floats::F64(tile) => encode_tile(&tile, n_samples, ordinals, runtime),
    })?;
    let mut columns = Vec::with_capacity(n_features);
    let mut indptr = Vec::with_capacity(n_features + 1);
    let mut tables = Vec::with_capacity(n_features);
    let mut has_missing = Vec::with_capacity(n_features);
    let mut n_values = 0;
    indptr.push(0);
    for encoded in encoded.into_iter().flatten() {
        columns.push(encoded.column);
        n_values += encoded.table.len();
        indptr.push(n_values);
        tables.push(encoded.table);
        has_missing.push(encoded.has_missing);
    }
    let is_keyed = indptr.windows(2).any(|range| range[0] == range[1]);
    let n_ranks = columns.iter().map(|column| column.n_ranks as usize).max().unwrap_or(0);
    let end_rank = if is_keyed { usize::MAX } else { n_ranks };
    let is_sparse = 2 * columns.iter().filter(|column| column.is_sparse).count() > n_features;
    let columns = Columns::Dense(DenseColumns { columns, end_rank, is_sparse });
    let values = ValueTable::new(indptr, Floats::concat(&tables), has_missing);
    Dataset::new(n_samples, n_features, columns, values).coded(encoding, runtime)
}

/// Encodes columns that follow one another.
fn encode_tile<V: TableValue>(
    tile: &[V],
    n_samples: usize,
    ordinals: Ordinals,
    runtime: &Runtime<'_>,
) -> Result<Vec<Encoded>> {
    let (mut pairs, mut scratch) = (Vec::new(), Vec::new());
    let encode = |values| {
        runtime.check_interrupt()?;
        encode_column::<V>(values, ordinals, &mut pairs, &mut scratch, runtime)
    };
    tile.chunks_exact(n_samples).map(encode).collect()
}

/// A column, and what is said of it elsewhere.
struct Encoded {
    column: DenseColumn,
    /// Its values by rank; empty if ranks are keys.
    table: Floats,
    has_missing: bool,
}

fn encode_column<V: TableValue>(
    values: &[V],
    ordinals: Ordinals,
    pairs: &mut Vec<Pair<V>>,
    scratch: &mut Vec<Pair<V>>,
    runtime: &Runtime<'_>,
) -> Result<Encoded> {
    pairs.clear();
    let mut missing = Vec::new();
    for (row, &value) in values.iter().enumerate() {
        let wide = value.widen();
        if wide.is_nan() {
            missing.push(row as u32);
        } else if wide != 0.0 {
            pairs.push((value.key(), row as u32));
        }
    }
    sort_pairs::<V>(pairs, scratch, runtime)?;
    let has_missing = !missing.is_empty();
    let n_zeros = values.len() - pairs.len() - missing.len();
    let (distinct, zero_place) = distinct_values::<V>(pairs, n_zeros > 0);
    let is_common_from = sparse_from() * values.len() as f64;
    let n_distinct = distinct.len();
    let table = if has_missing { padded(distinct) } else { distinct };
    let zero_rank = zero_place + u32::from(has_missing);
    let cells = Cells::<V> { pairs, n_zeros, zero_rank, missing: &missing, missing_rank: table.len() as u32 - 1 };
    let (n_common, common_rank) = cells.most_frequent();
    let is_sparse = n_distinct >= sparse_from_distinct() && n_common as f64 > is_common_from;
    let n_ranks = table.len() as u32;
    let column = |ranks, common_rank| DenseColumn { ranks, common_rank, n_ranks, is_sparse };
    if table.len() > MAX_NARROW && ordinals == Ordinals::Keys {
        let key = |value: V| if value.widen().is_nan() { Some(MISSING_KEY) } else { Some(value.narrow()?.key()) };
        let keys: Option<Box<[u32]>> = values.iter().map(|&value| key(value)).collect();
        let is_missing_common = has_missing && common_rank == cells.missing_rank;
        let common = if is_missing_common { Some(MISSING_KEY) } else { key(table[common_rank as usize]) };
        if let (Some(keys), Some(common)) = (keys, common) {
            let (column, table) = (column(Ranks::U32(keys), common), V::floats(Vec::new()));
            return Ok(Encoded { column, table, has_missing });
        }
    }
    let ranks = match table.len() {
        0..=0x100 => Ranks::U8(cells.ranks(|rank| rank as u8)),
        0x101..=MAX_NARROW => Ranks::U16(cells.ranks(|rank| rank as u16)),
        _ => Ranks::U32(cells.ranks(|rank| rank)),
    };
    Ok(Encoded { column: column(ranks, common_rank), table: V::floats(table), has_missing })
}

/// The cells of a column.
struct Cells<'a, V: SortKey> {
    /// Those that are neither zero nor missing, in the order of their values.
    pairs: &'a [Pair<V>],
    n_zeros: usize,
    /// The rank that zeros have or would have.
    zero_rank: u32,
    /// The rows of missing values.
    missing: &'a [u32],
    /// The rank of missing values, if there are any.
    missing_rank: u32,
}

impl<V: SortKey> Cells<'_, V> {
    /// Calls `visit` with each value's rank and pairs.
    fn for_each_value(&self, visit: impl FnMut(u32, &[Pair<V>])) {
        let first_rank = u32::from(!self.missing.is_empty());
        number_runs::<V>(self.pairs, first_rank, (self.n_zeros > 0).then_some(self.zero_rank), visit);
    }

    /// A most frequent rank, after the number of its rows.
    fn most_frequent(&self) -> (usize, u32) {
        let mut most = (self.n_zeros, self.zero_rank);
        let mut consider = |n, rank| {
            if n > most.0 {
                most = (n, rank);
            }
        };
        self.for_each_value(|rank, run| consider(run.len(), rank));
        consider(self.missing.len(), self.missing_rank);
        most
    }

    /// The rank of each row.
    fn ranks<R: Copy>(&self, narrow: impl Fn(u32) -> R) -> Box<[R]> {
        let n_samples = self.pairs.len() + self.n_zeros + self.missing.len();
        let mut ranks = vec![narrow(self.zero_rank); n_samples];
        self.for_each_value(|rank, run| {
            for &(_, row) in run {
                ranks[row as usize] = narrow(rank);
            }
        });
        for &row in self.missing {
            ranks[row as usize] = narrow(self.missing_rank);
        }
        ranks.into()
    }
}
