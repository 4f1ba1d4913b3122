//! Rows in single precision, as the layout of a tree for such rows wants them.

use crate::data::rows::CellRows;

/// Some rows in single precision.
pub enum Singles<'a> {
    /// The matrix is in single precision.
    InPlace(&'a [f32]),
    /// The matrix is in double precision, and single precision holds all of its values: a copy of the rows,
    /// and where the values of each row begin.
    Copied(Vec<f32>, Vec<usize>),
    /// A value is missing, or single precision does not hold it.
    No,
}

impl<'a> Singles<'a> {
    /// The rows whose values begin at `starts`.
    pub fn of(cells: &CellRows<'a>, starts: &[usize]) -> Self {
        // Without a branch for each value.
        let width = cells.width();
        match cells {
            CellRows::F32(all) => {
                let has_nan = |row: &[f32]| row.iter().fold(false, |found, value| found | value.is_nan());
                let has_nan = starts.iter().any(|&start| has_nan(&all.cells[start..start + width]));
                if has_nan { Self::No } else { Self::InPlace(all.cells) }
            }
            CellRows::F64(all) => {
                let mut copy = Vec::with_capacity(starts.len() * width);
                for &start in starts {
                    let row = &all.cells[start..start + width];
                    copy.extend(row.iter().map(|&value| value as f32));
                    if row.iter().fold(false, |lost, &value| lost | (f64::from(value as f32) != value)) {
                        return Self::No;
                    }
                }
                Self::Copied(copy, (0..starts.len()).map(|row| row * width).collect())
            }
        }
    }
}
