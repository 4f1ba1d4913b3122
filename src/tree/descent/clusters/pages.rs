//! Rows in single precision, each on cache lines of its own.

use super::codings::{Coding, Codings};
use crate::data::rows::CellRows;
use crate::error::Result;
use crate::memory;
use crate::simd::{Level, vectorized};
use crate::tree::sets::entry;

/// Values of a cache line.
pub const PAGE: usize = 16;

/// A cache line of the values of a row.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub struct Page([f32; PAGE]);

/// Some rows. All have equally many pages, which begin with the values of the row.
#[derive(Debug, Default)]
pub struct Pages {
    /// The pages of all rows, and maybe more.
    cells: Vec<Page>,
    per_row: usize,
    n_rows: usize,
    has_missing: bool,
    /// By how much each value was rounded, as bits, see [`places_below`].
    lows: Vec<Page>,
    /// Whether any value was rounded.
    has_lows: bool,
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

    /// Copies the rows whose values begin at `starts`, rounded up, or in the codings of categories.
    pub fn copy(&mut self, cells: &CellRows<'_>, starts: &[usize], codings: &Codings) -> Result<()> {
        let width = cells.width();
        self.per_row = Self::pages_of(codings.n_cells());
        self.n_rows = starts.len();
        let n_pages = self.per_row * starts.len();
        if self.cells.len() < n_pages {
            self.cells = memory::filled("rows of X", Page([0.0; PAGE]), n_pages)?;
        }
        let level = Level::widest();
        let pages = &mut self.cells[..n_pages];
        let found = match cells {
            CellRows::F32(all) => copy_rows(level, pages, self.per_row, all.cells, starts, width),
            CellRows::F64(all) => round_rows(level, pages, self.per_row, all.cells, starts, width),
        };
        // Missing categories have an entry of their own.
        let is_number = |coding: &Coding| *coding == Coding::Value;
        let misses_number = |&start: &usize| {
            let mut numbers = (0..).zip(codings.of()).filter(|(_, coding)| is_number(coding));
            numbers.any(|(feature, _)| cells.value(start, feature).is_nan())
        };
        self.has_missing =
            found & IS_MISSING != 0 && (codings.of().iter().all(is_number) || starts.iter().any(misses_number));
        self.has_lows = false;
        if let (CellRows::F64(all), true) = (cells, found & WAS_ROUNDED != 0) {
            if self.lows.len() < n_pages {
                self.lows = memory::filled("rows of X", Page([0.0; PAGE]), n_pages)?;
            }
            self.has_lows = true;
            note_lows(level, &mut self.lows[..n_pages], self.per_row, all.cells, starts, width);
        }
        self.entries.clear();
        for (feature, &coding) in codings.of().iter().enumerate() {
            let entries =
                |n_categories| starts.iter().map(move |&start| entry(cells.value(start, feature as u32), n_categories));
            match coding {
                Coding::Value => {}
                Coding::Bits { n_categories, more, n_more } => {
                    let bits = |at: usize, entry: u32| {
                        if entry / u32::BITS == at as u32 { 1u32 << (entry % u32::BITS) } else { 0 }
                    };
                    for (row, entry) in entries(n_categories).enumerate() {
                        self.set(row, feature, bits(0, entry));
                        (0..n_more).for_each(|at| self.set(row, more + at, bits(at + 1, entry)));
                    }
                }
                Coding::Entry { n_categories, .. } => {
                    let entries: Vec<u32> = entries(n_categories).collect();
                    entries.iter().enumerate().for_each(|(row, &entry)| self.set(row, feature, entry));
                    self.entries.push(entries);
                }
            }
        }
        Ok(())
    }

    /// The entry of a row for a feature of many categories, by its place among these.
    #[inline]
    pub fn entry(&self, row: usize, place: usize) -> u32 {
        self.entries[place][row]
    }

    #[inline]
    fn set(&mut self, row: usize, cell: usize, bits: u32) {
        self.cells[row * self.per_row + cell / PAGE].0[cell % PAGE] = f32::from_bits(bits);
    }

    /// The number of pages of a row.
    pub fn per_row(&self) -> usize {
        self.per_row
    }

    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Whether any number is missing.
    pub fn has_missing(&self) -> bool {
        self.has_missing
    }

    /// By how much the values of all rows were rounded, page by page, or nothing if none was.
    pub fn lows(&self) -> &[Page] {
        if self.has_lows { &self.lows } else { &[] }
    }

    /// The pages of all rows, and maybe more.
    pub fn pages(&self) -> &[Page] {
        &self.cells
    }
}

vectorized! {
    /// Copies rows to pages. Returns [`IS_MISSING`] if a value is missing.
    fn copy_rows(pages: &mut [Page], per_row: usize, cells: &[f32], starts: &[usize], width: usize) -> u32 {
        let rows = pages.chunks_exact_mut(per_row).zip(starts);
        rows.fold(0, |found, (row, &start)| {
            found | fill(row, &cells[start..start + width], |value| (value, u32::from(value.is_nan())))
        })
    }
}

vectorized! {
    /// Copies rows to pages, rounded up. Returns [`IS_MISSING`] and [`WAS_ROUNDED`] where they hold
    /// of a value.
    fn round_rows(pages: &mut [Page], per_row: usize, cells: &[f64], starts: &[usize], width: usize) -> u32 {
        let rows = pages.chunks_exact_mut(per_row).zip(starts);
        rows.fold(0, |found, (row, &start)| found | fill(row, &cells[start..start + width], rounded_up))
    }
}

vectorized! {
    /// Writes to pages by how much the values of rows were rounded.
    fn note_lows(pages: &mut [Page], per_row: usize, cells: &[f64], starts: &[usize], width: usize) {
        for (row, &start) in pages.chunks_exact_mut(per_row).zip(starts) {
            fill(row, &cells[start..start + width], |value| (low(value), 0));
        }
    }
}

/// Flags of a value that is copied to a page.
const IS_MISSING: u32 = 1;
const WAS_ROUNDED: u32 = 2;

/// Writes values to the pages of a row. Returns the flags of all of them together.
#[inline]
fn fill<T: Copy>(row: &mut [Page], values: &[T], convert: impl Fn(T) -> (f32, u32)) -> u32 {
    let mut found = 0;
    for (page, values) in row.iter_mut().zip(values.chunks(PAGE)) {
        for (cell, &value) in page.0.iter_mut().zip(values) {
            let (value, of_value) = convert(value);
            *cell = value;
            found |= of_value;
        }
    }
    found
}

/// The least number in single precision that is not below a value, and what holds of the value.
#[inline]
fn rounded_up(value: f64) -> (f32, u32) {
    let nearest = value as f32;
    let widened = f64::from(nearest);
    // The next number above one below zero has lower bits.
    let bits = nearest.to_bits() as i32;
    let step = i32::from(widened < value) * (bits >> 31 | 1);
    // Missing values differ from themselves.
    let (is_missing, differs) = (u32::from(value.is_nan()), u32::from(widened != value));
    let found = (IS_MISSING * is_missing) | (WAS_ROUNDED * (differs - is_missing));
    (f32::from_bits((bits + step) as u32), found)
}

/// Places of double precision between two numbers of single precision.
const PLACES: u32 = 1 << 29;

/// How far `number` is below `upper`, the least number of single precision that is not below it: in places of
/// double precision. [`PLACES`] of them lie between `upper` and the next lower number of single precision.
/// `None` where these two are no normal numbers.
pub fn places_below(number: f64, upper: f32) -> Option<u32> {
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
    // The bits of double precision that single precision lacks count the places above the number nearer to
    // zero.
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
            let (rounded, found) = rounded_up(value);
            assert!(f64::from(rounded) >= value && f64::from(rounded.next_down()) < value, "{value}");
            assert_eq!(found, if f64::from(rounded) == value { 0 } else { WAS_ROUNDED });
        }
        assert!(rounded_up(f64::NAN).0.is_nan() && rounded_up(f64::NAN).1 == IS_MISSING);
        assert_eq!(rounded_up(f64::NEG_INFINITY), (f32::NEG_INFINITY, 0));
    }
}
