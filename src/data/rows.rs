//! Rows for trees that exist: cells as `f64`, whatever the matrix holds.
//!
//! A traversal sees a [`Row`]. Where rows come from is decided once per call, by [`Reader::new`]:
//! cells that lie in memory as a traversal wants them are read in place; the rows of a narrow
//! matrix are copied, a block at a time; those of a wide sparse one are scattered over a single row
//! of zeros, and those of a wide dense one asked cell by cell.

use std::ops::Range;

use ndarray::{ArrayView2, ArrayViewMut2, Zip};

use super::element::Element;
use super::query::Query;
use super::sparse::{SparseIndex, SparseView};
use super::values::TableValue;
use crate::error::Result;
use crate::memory;
use crate::num::SortKey;

/// A matrix whose rows can be read.
pub trait Rows: Sync {
    /// The shape: `(n_samples, n_features)`.
    fn shape(&self) -> (usize, usize);
    /// All cells, row after row, if they lie in memory so.
    fn in_place(&self) -> Option<&[f64]>;
    /// The matrix as something that is asked for single cells, if it is dense.
    fn cells(&self) -> Option<&dyn Query>;
    /// Writes some rows to `cells`, which are zeros, one after the other.
    fn write(&self, rows: Range<usize>, cells: &mut [f64]);
    /// Makes those cells zeros again that differ from 0 after [`write`](Self::write), or does
    /// nothing if that writes all.
    fn clear(&self, rows: Range<usize>, cells: &mut [f64]);
}

impl<T: Element> Rows for ArrayView2<'_, T> {
    fn shape(&self) -> (usize, usize) {
        self.dim()
    }

    fn in_place(&self) -> Option<&[f64]> {
        T::as_f64(self.as_slice()?)
    }

    fn cells(&self) -> Option<&dyn Query> {
        Some(self)
    }

    fn write(&self, rows: Range<usize>, cells: &mut [f64]) {
        let shape = (rows.len(), self.ncols());
        if let Ok(cells) = ArrayViewMut2::from_shape(shape, cells) {
            let rows = self.slice(ndarray::s![rows, ..]);
            Zip::from(cells).and(rows).for_each(|cell, value| *cell = value.value().widen());
        }
    }

    fn clear(&self, _rows: Range<usize>, _cells: &mut [f64]) {}
}

impl<T: Element, I: SparseIndex> Rows for SparseView<'_, T, I> {
    fn shape(&self) -> (usize, usize) {
        self.shape()
    }

    fn in_place(&self) -> Option<&[f64]> {
        None
    }

    fn cells(&self) -> Option<&dyn Query> {
        None
    }

    fn write(&self, rows: Range<usize>, cells: &mut [f64]) {
        for (row, cells) in rows.zip(cells.chunks_exact_mut(self.shape().1)) {
            for (feature, value) in self.entries(row) {
                let sum = T::Value::from_wide(cells[feature]);
                cells[feature] = sum.merged(value, T::MERGE).widen();
            }
        }
    }

    fn clear(&self, rows: Range<usize>, cells: &mut [f64]) {
        for (row, cells) in rows.zip(cells.chunks_exact_mut(self.shape().1)) {
            self.entries(row).for_each(|(feature, _)| cells[feature] = 0.0);
        }
    }
}

/// A row, as a traversal reads it.
#[derive(Clone, Copy)]
pub enum Row<'a> {
    /// The values of all features of the row.
    Cells(&'a [f64]),
    /// The row of this number, cell by cell.
    Asked(&'a dyn Query, u32),
}

impl Row<'_> {
    /// The value of a feature.
    #[inline]
    pub fn value(self, feature: u32) -> f64 {
        match self {
            Self::Cells(cells) => cells[feature as usize],
            Self::Asked(query, row) => query.value(row, feature),
        }
    }
}

/// Most cells of a block of rows: a part of a second-level cache.
const BLOCK_CELLS: usize = 1 << 17;
/// Rows that a block has at least: each tree of a forest is brought into the cache once per block.
const BLOCK_ROWS: usize = 256;
/// Copying this many cells costs about what asking for one does.
const COPIES_PER_READ: usize = 4;

/// Reads rows for one thread.
pub struct Reader<'a> {
    rows: &'a dyn Rows,
    n_features: usize,
    way: Way<'a>,
    /// The cells of the loaded rows. Of sparse rows only the nonzeros are written, and set to 0
    /// again afterwards.
    cells: Vec<f64>,
    loaded: Range<usize>,
}

#[derive(Clone, Copy)]
enum Way<'a> {
    InPlace(&'a [f64]),
    /// All rows of a block are written when it is loaded.
    InBlocks,
    /// A row is written when it is read.
    OneByOne,
    Asked(&'a dyn Query),
}

impl<'a> Reader<'a> {
    /// The number of rows of a block where up to `n_rows` are wanted: fewer if then their cells
    /// fit, and are not too few.
    pub fn block_len(rows: &dyn Rows, n_rows: usize) -> usize {
        let n_fit = BLOCK_CELLS / rows.shape().1.max(1);
        if n_fit < BLOCK_ROWS { n_rows } else { n_rows.min(n_fit) }
    }

    /// A reader of blocks of up to `block_len` rows, of each of which some `n_reads` cells are
    /// read.
    pub fn new(rows: &'a dyn Rows, block_len: usize, n_reads: usize) -> Result<Self> {
        let (n_samples, n_features) = rows.shape();
        let block_len = block_len.min(n_samples);
        let fits = block_len.saturating_mul(n_features) <= BLOCK_CELLS;
        let (way, n_cells) = if let Some(cells) = rows.in_place() {
            (Way::InPlace(cells), 0)
        } else {
            match rows.cells() {
                Some(query) if !fits || n_features / COPIES_PER_READ > n_reads => (Way::Asked(query), 0),
                None if !fits => (Way::OneByOne, n_features),
                _ => (Way::InBlocks, block_len * n_features),
            }
        };
        let cells = memory::zeros("rows of X", n_cells)?;
        Ok(Self { rows, n_features, way, cells, loaded: 0..0 })
    }

    /// Moves to a block of rows.
    pub fn load(&mut self, block: Range<usize>) {
        if matches!(self.way, Way::InBlocks) {
            self.write(block);
        }
    }

    /// A row of the block.
    #[inline]
    pub fn row(&mut self, row: usize) -> Row<'_> {
        let cells = match self.way {
            Way::InPlace(cells) => &cells[row * self.n_features..],
            Way::InBlocks => &self.cells[(row - self.loaded.start) * self.n_features..],
            Way::OneByOne => {
                self.write(row..row + 1);
                &self.cells[..]
            }
            Way::Asked(query) => return Row::Asked(query, row as u32),
        };
        Row::Cells(&cells[..self.n_features])
    }

    fn write(&mut self, rows: Range<usize>) {
        let loaded = std::mem::replace(&mut self.loaded, rows.clone());
        self.rows.clear(loaded, &mut self.cells);
        let n_cells = rows.len() * self.n_features;
        self.rows.write(rows, &mut self.cells[..n_cells]);
    }
}
