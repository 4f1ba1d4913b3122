//! From a dense view to dense columns.
//!
//! Some columns are copied into a column-major tile (an input in C order is then read cache line by
//! cache line), and each column of the tile is encoded (`column`), tiles in parallel. Peak memory
//! beside the result: per thread, one tile (of at most 64 bytes a row) and the scratch of one column.

use std::ops::Range;

use ndarray::{ArrayView2, Axis, s};

use super::column::{EncodedColumn, Encoder};
use super::{BLOCK, DenseColumns, LINE, Ordinals};
use crate::data::element::Element;
use crate::data::encoding::Encoding;
use crate::data::floats::{Floats, TableValue};
use crate::data::values::ValueTable;
use crate::data::{Columns, Dataset, check_shape};
use crate::error::Result;
use crate::memory;
use crate::num::SortKey;
use crate::runtime::Runtime;

/// A dense matrix of any element type: the part of it that [`encode`] needs.
pub(in crate::data) trait Tiles: Sync {
    /// `(n_samples, n_features)`.
    fn shape(&self) -> (usize, usize);
    /// The most columns of a tile: their cells of a row fill a cache line, here or there.
    fn tile_width(&self) -> usize;
    /// The values of some columns, one column after the other.
    fn tile(&self, columns: Range<usize>) -> Result<Floats>;
}

impl<T: Element> Tiles for ArrayView2<'_, T> {
    fn shape(&self) -> (usize, usize) {
        self.dim()
    }

    fn tile_width(&self) -> usize {
        LINE / size_of::<T>().max(size_of::<T::Value>())
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
            let mut block = vec![[T::Value::ZERO; BLOCK]; columns.len()];
            let rows_of_tile = self.slice(s![.., columns]);
            for (start, rows) in (0..).step_by(BLOCK).zip(rows_of_tile.axis_chunks_iter(Axis(0), BLOCK)) {
                let n = rows.nrows();
                for (place, row) in rows.rows().into_iter().enumerate() {
                    // A loop over a slice takes half of the time of a loop over a view.
                    match row.to_slice() {
                        Some(cells) => spread(cells, place, &mut block),
                        None => spread(row, place, &mut block),
                    }
                }
                for (column, values) in tile.chunks_exact_mut(n_samples).zip(&block) {
                    column[start..][..n].copy_from_slice(&values[..n]);
                }
            }
        }
        Ok(T::Value::floats(tile))
    }
}

/// Writes the cells of a row to their place in the columns of a block.
#[inline]
fn spread<'a, T: Element + 'a>(cells: impl IntoIterator<Item = &'a T>, place: usize, block: &mut [[T::Value; BLOCK]]) {
    for (column, cell) in block.iter_mut().zip(cells) {
        column[place] = cell.value();
    }
}

/// Encodes a dense matrix.
pub(in crate::data) fn encode(x: &dyn Tiles, encoding: &Encoding<'_>, runtime: &Runtime<'_>) -> Result<Dataset> {
    let (n_samples, n_features) = x.shape();
    check_shape(n_samples, n_features)?;
    // A view may repeat cells, and so be far smaller than the columns.
    let least = n_samples.saturating_add(size_of::<EncodedColumn>()).saturating_mul(n_features);
    memory::check("the encoded columns of X", least)?;
    // Categories are ranks.
    let ordinals = if encoding.n_categories.is_some() { Ordinals::Ranks } else { encoding.ordinals };
    // All threads have equally many tiles.
    let n_tiles = n_features.div_ceil(x.tile_width()).next_multiple_of(runtime.n_threads());
    let width = n_features.div_ceil(n_tiles);
    let starts: Vec<usize> = (0..n_features).step_by(width).collect();
    let encoded = runtime.map(starts, |start| match x.tile(start..(start + width).min(n_features))? {
        Floats::F32(tile) => encode_tile(&tile, n_samples, ordinals, runtime),
        Floats::F64(tile) => encode_tile(&tile, n_samples, ordinals, runtime),
    })?;
    assemble(n_samples, encoded.into_iter().flatten().collect()).coded(encoding, runtime)
}

/// Makes a data set of its columns, which are all numeric so far.
pub(super) fn assemble(n_samples: usize, encoded: Vec<EncodedColumn>) -> Dataset {
    let n_features = encoded.len();
    let mut columns = Vec::with_capacity(n_features);
    let mut indptr = Vec::with_capacity(n_features + 1);
    let mut tables = Vec::with_capacity(n_features);
    let mut has_missing = Vec::with_capacity(n_features);
    let mut n_values = 0;
    indptr.push(0);
    for encoded in encoded {
        columns.push(encoded.column);
        n_values += encoded.table.len();
        indptr.push(n_values);
        tables.push(encoded.table);
        has_missing.push(encoded.has_missing);
    }
    let columns = Columns::Dense(DenseColumns::new(columns));
    let values = ValueTable::new(indptr, Floats::concat(&tables), has_missing);
    Dataset::new(n_samples, n_features, columns, values)
}

/// Encodes columns that follow one another.
fn encode_tile<V: TableValue>(
    tile: &[V],
    n_samples: usize,
    ordinals: Ordinals,
    runtime: &Runtime<'_>,
) -> Result<Vec<EncodedColumn>> {
    let mut encoder = Encoder::new(ordinals);
    let encode = |values| {
        runtime.check_interrupt()?;
        encoder.encode(values, runtime)
    };
    tile.chunks_exact(n_samples).map(encode).collect()
}
