//! Rows without missing values, as the layouts of a tree want them.

use std::borrow::Cow;

use crate::data::rows::CellRows;

/// Some rows without missing values, and where the values of each begin.
pub enum PlainRows<'a> {
    /// Single precision holds all values. A copy, if the matrix is in double precision.
    Singles(Cow<'a, [f32]>, Cow<'a, [usize]>),
    /// The matrix is in double precision, and single precision does not hold its values.
    Doubles(&'a [f64], &'a [usize]),
}

impl<'a> PlainRows<'a> {
    /// The rows whose values begin at `starts`; nothing if a value is missing.
    pub fn of(cells: &CellRows<'a>, starts: &'a [usize]) -> Option<Self> {
        // Without a branch for each value.
        let width = cells.width();
        match cells {
            CellRows::F32(all) => {
                let has_nan = |row: &[f32]| row.iter().fold(false, |found, value| found | value.is_nan());
                let has_nan = starts.iter().any(|&start| has_nan(&all.cells[start..start + width]));
                (!has_nan).then_some(Self::Singles(all.cells.into(), starts.into()))
            }
            CellRows::F64(all) => {
                let mut copy = Vec::with_capacity(starts.len() * width);
                let mut is_lost = false;
                for &start in starts {
                    let row = &all.cells[start..start + width];
                    if row.iter().fold(false, |found, value| found | value.is_nan()) {
                        return None;
                    }
                    if !is_lost {
                        copy.extend(row.iter().map(|&value| value as f32));
                        is_lost = row.iter().fold(false, |lost, &value| lost | (f64::from(value as f32) != value));
                    }
                }
                if is_lost {
                    return Some(Self::Doubles(all.cells, starts));
                }
                let starts = (0..starts.len()).map(|row| row * width).collect();
                Some(Self::Singles(copy.into(), Cow::Owned(starts)))
            }
        }
    }
}
