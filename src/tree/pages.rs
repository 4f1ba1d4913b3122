//! Rows in single precision, each on cache lines of its own.

use super::category_bits::{Answers, FEW, bit, entry};
use crate::data::rows::CellRows;
use crate::error::Result;
use crate::memory;

/// Values of a cache line.
pub(super) const PAGE: usize = 16;

/// A cache line of the values of a row.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Page([f32; PAGE]);

/// Some rows, each as many pages, which begin with its values.
#[derive(Debug, Default)]
pub(super) struct Pages {
    /// The pages of all rows, and maybe more.
    cells: Vec<Page>,
    per_row: usize,
    n_rows: usize,
    is_exact: bool,
    /// By how much each value was rounded, as bits, see [`places_below`]. Nothing if none was.
    lows: Vec<Page>,
    /// For each feature of many categories, the entries of all rows.
    entries: Vec<Vec<u32>>,
}

impl Pages {
    /// The number of pages of a row with `n_cells` cells: 1, 2, 4 or 8.
    pub fn pages_of(n_cells: usize) -> usize {
        n_cells.div_ceil(PAGE).max(1).next_power_of_two()
    }

    /// The bytes of a row with `n_cells` cells.
    pub fn row_bytes(n_cells: usize) -> usize {
        Self::pages_of(n_cells) * size_of::<Page>()
    }

    /// Copies the rows of which the values begin at `starts`, rounded up. Features of few categories become bits
    /// (`category_bits`). A row has room for `n_cells` cells.
    pub fn copy(&mut self, cells: &CellRows<'_>, starts: &[usize], n_cells: usize, n_categories: &[u32]) -> Result<()> {
        let width = cells.width();
        self.per_row = Self::pages_of(n_cells);
        self.n_rows = starts.len();
        let n_pages = self.per_row * starts.len();
        if self.cells.len() < n_pages {
            self.cells = memory::filled("rows of X", Page([0.0; PAGE]), n_pages)?;
        }
        self.is_exact = true;
        for (row, &start) in self.cells.chunks_exact_mut(self.per_row).zip(starts) {
            self.is_exact &= match cells {
                CellRows::F32(all) => fill(row, &all.cells[start..start + width], |value| (value, !value.is_nan())),
                CellRows::F64(all) => fill(row, &all.cells[start..start + width], rounded_up),
            };
        }
        self.lows.clear();
        if let (CellRows::F64(all), false) = (cells, self.is_exact) {
            self.lows = memory::filled("rows of X", Page([0.0; PAGE]), n_pages)?;
            for (row, &start) in self.lows.chunks_exact_mut(self.per_row).zip(starts) {
                fill(row, &all.cells[start..start + width], |value| (low(value), true));
            }
        }
        self.entries.clear();
        for (feature, &n_categories) in (0..).zip(n_categories).filter(|&(_, &n)| n > 0) {
            let values = starts.iter().map(|&start| cells.value(start, feature));
            if n_categories <= FEW {
                values.enumerate().for_each(|(row, value)| self.set(row, feature as usize, bit(value, n_categories)));
            } else {
                self.entries.push(values.map(|value| entry(value, n_categories)).collect());
            }
        }
        Ok(())
    }

    /// Sets the cells from number `first` on to the answers of a tree.
    pub fn answer(&mut self, first: usize, answers: &[Answers]) {
        let entries = std::mem::take(&mut self.entries);
        for (cell, answers) in (first..).zip(answers) {
            for (row, &entry) in entries[answers.place].iter().enumerate() {
                self.set(row, cell, answers.cell(entry));
            }
        }
        self.entries = entries;
    }

    /// The entry of a row for a feature of many categories, by its place among these.
    #[inline]
    pub fn entry(&self, row: usize, place: usize) -> u32 {
        self.entries[place][row]
    }

    #[inline]
    fn set(&mut self, row: usize, cell: usize, value: f32) {
        self.cells[row * self.per_row + cell / PAGE].0[cell % PAGE] = value;
    }

    /// The number of pages of a row.
    pub fn per_row(&self) -> usize {
        self.per_row
    }

    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Whether no value is missing and none was rounded.
    pub fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// By how much the values of all rows were rounded, page by page, or nothing if none was.
    pub fn lows(&self) -> &[Page] {
        &self.lows
    }

    /// The pages of all rows, and maybe more.
    pub fn pages(&self) -> &[Page] {
        &self.cells
    }
}

/// Writes values to the pages of a row. Returns whether all of them are exact.
#[inline]
fn fill<T: Copy>(row: &mut [Page], values: &[T], convert: impl Fn(T) -> (f32, bool)) -> bool {
    let mut all_exact = true;
    for (page, values) in row.iter_mut().zip(values.chunks(PAGE)) {
        for (cell, &value) in page.0.iter_mut().zip(values) {
            let (value, is_exact) = convert(value);
            *cell = value;
            all_exact &= is_exact;
        }
    }
    all_exact
}

/// The least number in single precision that is not below a value, and whether it is equal to it.
#[inline]
fn rounded_up(value: f64) -> (f32, bool) {
    let nearest = value as f32;
    let widened = f64::from(nearest);
    (if widened < value { nearest.next_up() } else { nearest }, widened == value)
}

/// Places of double precision between two numbers of single precision.
const PLACES: u32 = 1 << 29;

/// How far a number is below one in single precision, of which the next one below is not above it: in places of
/// double precision, of which [`PLACES`] lie between the two. Nothing where these are no normal numbers.
pub(super) fn places_below(number: f64, upper: f32) -> Option<u32> {
    let lower = upper.next_down();
    if !(upper.is_normal() && lower.is_normal()) {
        return None;
    }
    let (upper, lower) = (f64::from(upper), f64::from(lower));
    let place = (upper - lower) / f64::from(PLACES);
    // All of this is exact.
    Some(((upper - number) / place) as u32)
}

/// [`places_below`] of a value that is rounded up, as bits. Another number where that is nothing.
#[inline]
fn low(value: f64) -> f32 {
    // The bits of double precision that single precision lacks count the places above the number nearer to zero.
    let beyond = value.to_bits() as u32 & (PLACES - 1);
    f32::from_bits(if value.is_sign_negative() { beyond } else { (PLACES - beyond) & (PLACES - 1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_tell_numbers_apart() {
        for value in [0.1, -0.1, 5.23, 16_777_217.0, -16_777_217.0, 1.0 + f64::EPSILON, 1.0 - f64::EPSILON / 2.0] {
            let upper = rounded_up(value).0;
            let places = places_below(value, upper).unwrap();
            assert_eq!(places_below(value.next_up(), upper), Some(places - 1), "{value}");
            assert!(places < PLACES && places == low(value).to_bits(), "{value}");
        }
        assert_eq!(places_below(f64::from(1f32.next_down()), 1.0), Some(1 << 29));
        for upper in [0.0, f32::INFINITY, -f32::MAX, 1e-40, f32::MIN_POSITIVE, f32::NAN] {
            assert_eq!(places_below(0.0, upper), None);
        }
    }

    #[test]
    fn values_are_rounded_up() {
        for value in [0.1, -0.1, 1e300, -1e300, 1e-300, -1e-300, 16_777_217.0, 1.0, -0.0, f64::INFINITY] {
            let (rounded, is_exact) = rounded_up(value);
            assert!(f64::from(rounded) >= value && f64::from(rounded.next_down()) < value, "{value}");
            assert_eq!(is_exact, f64::from(rounded) == value);
        }
        assert!(rounded_up(f64::NAN).0.is_nan() && !rounded_up(f64::NAN).1);
        assert_eq!(rounded_up(f64::NEG_INFINITY), (f32::NEG_INFINITY, true));
    }
}
