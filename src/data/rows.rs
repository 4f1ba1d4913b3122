//! Rows for trees that exist, whatever the matrix holds.
//!
//! A traversal sees a [`Row`]. Where its cells come from is decided once per call, in
//! [`Reader::new`]. Floats in C order are read where they lie. The rows of other narrow matrices
//! are copied, a block at a time. A row of a wide sparse matrix is scattered over scratch, and a
//! wide dense matrix is asked cell by cell: to copy all of a row would cost more than to read a
//! part.

use std::ops::Range;

use ndarray::{ArrayView2, ArrayViewMut2, Zip, s};

use super::element::Element;
use super::floats::{FloatSlice, TableValue};
use super::query::Query;
use super::row_group::{RowEntries, RowGroup};
use super::sparse::{SparseIndex, SparseView};
use crate::error::Result;
use crate::memory;
use crate::num::SortKey;

/// A matrix whose rows can be read.
pub trait Rows: Sync {
    /// `(n_samples, n_features)`.
    fn shape(&self) -> (usize, usize);
    /// How rows can be read that are not copied.
    fn access(&self) -> Access<'_>;
    /// Copies some rows to `cells`, one after the other.
    fn copy(&self, rows: Range<usize>, cells: &mut [f64]);
}

/// How the rows of a matrix can be read that are not copied.
pub enum Access<'a> {
    /// In place: all cells, row after row.
    InPlace(FloatSlice<'a>),
    /// Cell by cell.
    Asked(&'a dyn Query),
    /// Entry by entry.
    Entries(&'a dyn RowEntries),
}

impl<T: Element> Rows for ArrayView2<'_, T> {
    fn shape(&self) -> (usize, usize) {
        self.dim()
    }

    fn access(&self) -> Access<'_> {
        match self.as_slice().and_then(T::floats) {
            Some(cells) => Access::InPlace(cells),
            None => Access::Asked(self),
        }
    }

    fn copy(&self, rows: Range<usize>, cells: &mut [f64]) {
        if let Ok(cells) = ArrayViewMut2::from_shape((rows.len(), self.ncols()), cells) {
            Zip::from(cells).and(self.slice(s![rows, ..])).for_each(|cell, value| *cell = value.value().widen());
        }
    }
}

impl<T: Element, I: SparseIndex> Rows for SparseView<'_, T, I> {
    fn shape(&self) -> (usize, usize) {
        self.shape()
    }

    fn access(&self) -> Access<'_> {
        Access::Entries(self)
    }

    fn copy(&self, rows: Range<usize>, cells: &mut [f64]) {
        cells.fill(0.0);
        for (row, cells) in rows.zip(cells.chunks_exact_mut(self.shape().1)) {
            for (feature, value) in self.entries(row) {
                let sum = T::Value::from_wide(cells[feature]);
                cells[feature] = sum.merged(value, T::MERGE).widen();
            }
        }
    }
}

impl<T: Element, I: SparseIndex> RowEntries for SparseView<'_, T, I> {
    fn n_entries(&self, row: usize) -> usize {
        self.entries_apart(row).0.len()
    }

    fn copy_row(&self, row: usize, entries: &mut Vec<(u32, f64)>) {
        entries.extend(self.entries(row).map(|(feature, value)| (feature as u32, value.widen())));
    }

    fn copy_row_apart(&self, row: usize, features: &mut Vec<u32>, values: &mut Vec<f64>) {
        let (own_features, own_values) = self.entries_apart(row);
        features.extend(own_features.map(|feature| feature as u32));
        values.extend(own_values.map(SortKey::widen));
    }

    fn merge(&self, sum: f64, value: f64) -> f64 {
        T::Value::from_wide(sum).merged(T::Value::from_wide(value), T::MERGE).widen()
    }
}

/// A row of a sparse matrix with a place for each feature.
///
/// Most cells that a traversal asks for are not stored, and the bits that say so are in the cache.
/// Of the cells only stored ones are read, so that others need not be cleared.
#[derive(Default)]
pub struct Scattered {
    /// By feature, a bit: whether the row stores an entry.
    stored: Vec<u64>,
    /// By feature, the value of the cell if it is stored, else anything.
    cells: Vec<f64>,
    /// The number of the row, and its entries as they are stored.
    row: Option<usize>,
    entries: Vec<(u32, f64)>,
}

impl Scattered {
    fn new(n_features: usize) -> Result<Self> {
        let (stored, cells) = (memory::zeros(ROWS, n_features.div_ceil(64))?, memory::zeros(ROWS, n_features)?);
        Ok(Self { stored, cells, row: None, entries: Vec::new() })
    }

    /// Replaces the entries by the entries of a row.
    fn move_to(&mut self, row: usize, rows: &dyn RowEntries) {
        if self.row.replace(row) == Some(row) {
            return;
        }
        for (feature, _) in self.entries.drain(..) {
            self.stored[feature as usize / 64] = 0;
        }
        rows.copy_row(row, &mut self.entries);
        for &(feature, value) in &self.entries {
            let (word, bit) = (&mut self.stored[feature as usize / 64], 1 << (feature % 64));
            let cell = &mut self.cells[feature as usize];
            *cell = if *word & bit == 0 { value } else { rows.merge(*cell, value) };
            *word |= bit;
        }
    }

    #[inline]
    pub(crate) fn value(&self, feature: u32) -> f64 {
        let is_stored = self.stored[feature as usize / 64] >> (feature % 64) & 1 != 0;
        if is_stored { self.cells[feature as usize] } else { 0.0 }
    }
}

/// A row, as a traversal reads it.
#[derive(Clone, Copy)]
pub enum Row<'a> {
    /// All cells of the row, by feature.
    Cells(FloatSlice<'a>),
    /// The scattered entries of a row of a sparse matrix.
    Scattered(&'a Scattered),
    /// The row of this number, cell by cell.
    Asked(&'a dyn Query, u32),
}

/// Rows that lie in memory one after the other.
#[derive(Clone, Copy)]
pub enum CellRows<'a> {
    /// Of single precision.
    F32(RowMajor<'a, f32>),
    /// Of double precision.
    F64(RowMajor<'a, f64>),
}

/// The cells of some rows.
#[derive(Clone, Copy)]
pub struct RowMajor<'a, T> {
    /// All values, row after row.
    pub cells: &'a [T],
    /// The row that comes first.
    first: usize,
    width: usize,
}

impl CellRows<'_> {
    /// Where the values of a row begin.
    pub fn start(&self, row: usize) -> usize {
        match self {
            Self::F32(cells) => (row - cells.first) * cells.width,
            Self::F64(cells) => (row - cells.first) * cells.width,
        }
    }

    /// The value of a feature in the row whose values begin at `start`.
    #[inline]
    pub fn value(&self, start: usize, feature: u32) -> f64 {
        match self {
            Self::F32(cells) => cells.cells[start + feature as usize].into(),
            Self::F64(cells) => cells.cells[start + feature as usize],
        }
    }

    /// The number of values of a row.
    pub fn width(&self) -> usize {
        match self {
            Self::F32(cells) => cells.width,
            Self::F64(cells) => cells.width,
        }
    }
}

/// Compiles an expression for every kind of row: `$value` is a function from a feature of `$row` to
/// its value in it. So a loop need not tell rows apart in each turn.
macro_rules! for_each_row {
    ($row:expr, |$value:ident| $use:expr) => {
        match $row {
            $crate::data::rows::Row::Cells($crate::data::FloatSlice::F64(cells)) => {
                let $value = |feature: u32| cells[feature as usize];
                $use
            }
            $crate::data::rows::Row::Cells($crate::data::FloatSlice::F32(cells)) => {
                let $value = |feature: u32| f64::from(cells[feature as usize]);
                $use
            }
            $crate::data::rows::Row::Scattered(row) => {
                let $value = |feature: u32| row.value(feature);
                $use
            }
            $crate::data::rows::Row::Asked(query, row) => {
                let $value = |feature: u32| query.value(row, feature);
                $use
            }
        }
    };
}

pub(crate) use for_each_row;

/// The name of the memory for rows, in errors.
const ROWS: &str = "rows of X";
/// Most cells of a block of rows that is copied: some of a second-level cache.
const BLOCK_CELLS: usize = 1 << 18;
/// Rows of more cells are not copied: single cells are asked for.
const NARROW: usize = 1 << 8;
/// Copying this many cells costs about what asking for one does.
const COPIES_PER_READ: usize = 4;

/// Reads rows for one thread.
pub struct Reader<'a> {
    rows: &'a dyn Rows,
    n_features: usize,
    way: Way<'a>,
    /// The number of the block's first row.
    start: usize,
    /// Rows of a wide sparse matrix, once they are read in groups.
    group: Option<RowGroup>,
}

enum Way<'a> {
    InPlace(FloatSlice<'a>),
    /// The rows of the block, one after the other.
    Copied(Vec<f64>),
    /// With the row that was read last.
    Scattered(&'a dyn RowEntries, Scattered),
    Asked(&'a dyn Query),
}

impl<'a> Reader<'a> {
    /// The number of rows of a block where up to `n_rows` are wanted.
    pub fn block_len(rows: &dyn Rows, n_rows: usize) -> usize {
        match rows.access() {
            Access::Asked(_) | Access::Entries(_) if is_narrow(rows) => n_rows.min(BLOCK_CELLS / rows.shape().1.max(1)),
            _ => n_rows,
        }
    }

    /// A reader of blocks of up to `block_len` rows. About `n_reads` cells of each row will be read.
    pub fn new(rows: &'a dyn Rows, block_len: usize, n_reads: usize) -> Result<Self> {
        let (n_samples, n_features) = rows.shape();
        let way = match rows.access() {
            Access::InPlace(cells) => Way::InPlace(cells),
            Access::Asked(query) if !is_narrow(rows) || n_features / COPIES_PER_READ > n_reads => Way::Asked(query),
            Access::Entries(entries) if !is_narrow(rows) => Way::Scattered(entries, Scattered::new(n_features)?),
            Access::Asked(_) | Access::Entries(_) => {
                Way::Copied(memory::zeros(ROWS, block_len.min(n_samples) * n_features)?)
            }
        };
        Ok(Self { rows, n_features, way, start: 0, group: None })
    }

    /// Moves to a block of rows.
    pub fn load(&mut self, block: Range<usize>) {
        self.start = block.start;
        if let Way::Copied(cells) = &mut self.way {
            let n_cells = block.len() * self.n_features;
            self.rows.copy(block, &mut cells[..n_cells]);
        }
    }

    /// The number of rows of the matrix.
    pub fn n_samples(&self) -> usize {
        self.rows.shape().0
    }

    /// The share of the rows of the matrix that come before a row.
    pub fn share_before(&self, row: usize) -> f64 {
        row as f64 / self.n_samples() as f64
    }

    /// Whether rows can be read in [groups](Self::group): the rows of a wide sparse matrix can.
    pub fn has_groups(&self) -> bool {
        matches!(self.way, Way::Scattered(..))
    }

    /// Some rows of a wide sparse matrix, at most `row_group::GROUP`; nothing if
    /// [there are no groups](Self::has_groups).
    pub fn group(&mut self, rows: &[usize]) -> Result<Option<&RowGroup>> {
        let Way::Scattered(entries, _) = &self.way else { return Ok(None) };
        let group = match self.group.take() {
            Some(group) => group,
            None => RowGroup::new(self.n_features)?,
        };
        let group = self.group.insert(group);
        group.fill(*entries, rows);
        Ok(Some(group))
    }

    /// The cells of the block, if they lie in memory row after row.
    pub fn cells(&self) -> Option<CellRows<'_>> {
        let width = self.n_features;
        Some(match &self.way {
            Way::InPlace(FloatSlice::F32(cells)) => CellRows::F32(RowMajor { cells, first: 0, width }),
            Way::InPlace(FloatSlice::F64(cells)) => CellRows::F64(RowMajor { cells, first: 0, width }),
            Way::Copied(cells) => CellRows::F64(RowMajor { cells, first: self.start, width }),
            Way::Scattered(..) | Way::Asked(_) => return None,
        })
    }

    /// A row of the block, by its number in the matrix.
    #[inline]
    pub fn row(&mut self, row: usize) -> Row<'_> {
        let cells = |row: usize| row * self.n_features..(row + 1) * self.n_features;
        match &mut self.way {
            Way::InPlace(FloatSlice::F64(all)) => Row::Cells(FloatSlice::F64(&all[cells(row)])),
            Way::InPlace(FloatSlice::F32(all)) => Row::Cells(FloatSlice::F32(&all[cells(row)])),
            Way::Copied(block) => Row::Cells(FloatSlice::F64(&block[cells(row - self.start)])),
            Way::Scattered(entries, scattered) => {
                scattered.move_to(row, *entries);
                Row::Scattered(scattered)
            }
            Way::Asked(query) => Row::Asked(*query, row as u32),
        }
    }
}

/// Whether a block of rows can be copied.
fn is_narrow(rows: &dyn Rows) -> bool {
    rows.shape().1 <= NARROW
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, ShapeBuilder};

    use super::*;
    use crate::data::{Format, Matrix};

    /// A reader gives what the matrix has, block after block, and by the expected way.
    fn check(matrix: &dyn Matrix, expected: &Array2<f64>, n_reads: usize, way: &str) {
        let rows = matrix.rows().unwrap();
        let block_len = Reader::block_len(rows, expected.nrows() / 2 + 1);
        let mut reader = Reader::new(rows, block_len, n_reads).unwrap();
        let name = match reader.way {
            Way::InPlace(_) => "in place",
            Way::Copied(_) => "copied",
            Way::Scattered(..) => "scattered",
            Way::Asked(_) => "asked",
        };
        assert_eq!(name, way);
        for start in (0..expected.nrows()).step_by(block_len).chain([0]) {
            let block = start..(start + block_len).min(expected.nrows());
            reader.load(block.clone());
            for row in block.clone().rev().chain(block) {
                let found = reader.row(row);
                for (feature, &value) in expected.row(row).iter().enumerate() {
                    let found = for_each_row!(found, |value| value(feature as u32));
                    assert_eq!(found, value, "{row} {feature}");
                }
            }
        }
    }

    fn matrix(shape: (usize, usize)) -> Array2<f64> {
        Array2::from_shape_fn(shape, |(i, j)| if (7 * i + j) % 3 == 0 { ((i * j) % 100) as f64 } else { 0.0 })
    }

    #[test]
    fn dense_rows_are_read_in_four_ways() {
        let x = matrix((600, 5));
        let (narrow, mut by_column) = (x.mapv(|v| v as u8), Array2::zeros(x.dim().f()));
        by_column.assign(&x);
        check(&x.view(), &x, 0, "in place");
        check(&x.mapv(|v| v as f32).view(), &x, 0, "in place");
        check(&by_column.view(), &x, 100, "copied");
        check(&narrow.view(), &x, 100, "copied");
        let backwards = s![..;-1, ..];
        check(&narrow.slice(backwards), &x.slice(backwards).to_owned(), 100, "copied");
        check(&narrow.view(), &x, 0, "asked");
        let wide = matrix((600, 1000));
        check(&wide.mapv(|v| v as i16).view(), &wide, 100_000, "asked");
    }

    #[test]
    fn sparse_rows_are_read_in_two_ways() {
        for (shape, way) in [((600, 5), "copied"), ((600, 1000), "scattered"), ((3, 1000), "scattered")] {
            let x = matrix(shape);
            let (mut indptr, mut indices, mut data) = (vec![0], Vec::new(), Vec::new());
            for row in x.rows() {
                // Each value in two parts, with parts of other features between them.
                for part in [f64::floor, f64::fract] {
                    for (feature, &value) in row.iter().enumerate().filter(|(_, value)| **value > 0.0) {
                        indices.push(feature as i32);
                        data.push(10.0 * part(value / 10.0));
                    }
                }
                indptr.push(indices.len() as i32);
            }
            let view = SparseView::new(shape, Format::Csr, &indptr, &indices, &data).unwrap();
            check(&view, &x.mapv(|v| 10.0 * (v / 10.0).floor() + 10.0 * (v / 10.0).fract()), 0, way);
            // A bool is true or not, however often it is stored.
            let truth = vec![true; data.len()];
            let view = SparseView::new(shape, Format::Csr, &indptr, &indices, &truth).unwrap();
            check(&view, &x.mapv(|value| f64::from(u8::from(value > 0.0))), 0, way);
        }
    }
}
