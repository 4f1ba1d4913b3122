//! The entries of the rows of a bag, among the zeros that are not stored.
//!
//! Where many cells have entries, this takes no more memory than [linked](super::linked) entries, and a
//! feature of a node is read as in dense data.

use super::cells::{Cells, FeatureDraw, Varying, first_varying};
use super::linked::{BYTES_PER_ENTRY, Linked, WHAT, copy_row};
use crate::data::row_group::RowEntries;
use crate::error::Result;
use crate::memory;
use crate::runtime::Runtime;

/// The cells of a sparse matrix: each bag in the form that takes less memory.
pub(super) struct SparseCells<'a> {
    matrix: &'a dyn RowEntries,
    n_features: usize,
    linked: Linked<'a>,
    filled: Filled,
    is_filled: bool,
}

impl<'a> SparseCells<'a> {
    /// Fails if there is no memory for the number of features.
    pub fn new(matrix: &'a dyn RowEntries, n_features: usize) -> Result<Self> {
        let linked = Linked::new(matrix, n_features)?;
        Ok(Self { matrix, n_features, linked, filled: Filled::default(), is_filled: false })
    }
}

impl Cells for SparseCells<'_> {
    fn load(&mut self, rows: &[u32], runtime: &Runtime<'_>) -> Result<()> {
        let n_entries: usize = rows.iter().map(|&row| self.matrix.n_entries(row as usize)).sum();
        let n_bytes = rows.len().saturating_mul(self.n_features).saturating_mul(size_of::<f64>());
        self.is_filled = n_bytes <= n_entries.saturating_mul(BYTES_PER_ENTRY);
        if self.is_filled {
            return self.filled.load(self.matrix, self.n_features, rows, runtime);
        }
        self.linked.load(rows, runtime)
    }

    fn find(&mut self, places: &[u32], draw: &FeatureDraw, values: &mut Vec<f64>) -> Option<Varying> {
        if self.is_filled { self.filled.find(places, draw, values) } else { self.linked.find(places, draw, values) }
    }
}

/// All cells of the rows of a bag.
#[derive(Default)]
struct Filled {
    n_rows: usize,
    /// By feature and row of the bag.
    cells: Vec<f64>,
    /// The entries of one row.
    features: Vec<u32>,
    values: Vec<f64>,
}

impl Filled {
    fn load(&mut self, matrix: &dyn RowEntries, n_features: usize, rows: &[u32], runtime: &Runtime<'_>) -> Result<()> {
        self.n_rows = rows.len();
        self.cells.clear();
        memory::make_room(WHAT, &mut self.cells, rows.len() * n_features)?;
        self.cells.resize(rows.len() * n_features, 0.0);
        for (place, &row) in rows.iter().enumerate() {
            runtime.check_in_turn(place)?;
            self.features.clear();
            self.values.clear();
            copy_row(matrix, row, &mut self.features, &mut self.values);
            for (&feature, &value) in self.features.iter().zip(&self.values) {
                self.cells[feature as usize * rows.len() + place] = value;
            }
        }
        Ok(())
    }

    fn find(&self, places: &[u32], draw: &FeatureDraw, values: &mut Vec<f64>) -> Option<Varying> {
        first_varying(draw, values, |feature, values| {
            let of_feature = &self.cells[feature as usize * self.n_rows..][..self.n_rows];
            values.clear();
            values.extend(places.iter().map(|&place| of_feature[place as usize]));
        })
    }
}
