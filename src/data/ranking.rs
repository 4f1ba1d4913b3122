//! From the nonzero values of a column to ranks: sort cells, each the key of a value and its row in
//! one integer, and number the distinct values. Zero has its place between the negatives and the
//! positives and is never among the cells.

use crate::error::Result;
use crate::num::{RadixSort, SortKey};
use crate::runtime::Runtime;

/// Adds the cell of a value to `cells`, or, if the value is missing, its row to `missing`. Zeros are
/// left out.
#[inline]
pub fn push_cell<V: SortKey>(value: V, row: u32, cells: &mut Vec<V::Cell>, missing: &mut Vec<u32>) {
    let wide = value.widen();
    if wide.is_nan() {
        missing.push(row);
    } else if wide != 0.0 {
        cells.push(value.cell(row));
    }
}

/// Sorts cells that are in the order of their rows by their keys.
pub fn sort_cells<V: SortKey>(
    cells: &mut Vec<V::Cell>,
    radix: &mut RadixSort<V::Cell>,
    runtime: &Runtime<'_>,
) -> Result<()> {
    radix.sort(cells, |cell| V::key_of(cell).into(), || runtime.check_interrupt())
}

/// Splits sorted `cells` into the cells of negative values and the cells of positive values.
pub fn split_at_zero<V: SortKey>(cells: &[V::Cell]) -> (&[V::Cell], &[V::Cell]) {
    cells.split_at(cells.partition_point(|&cell| V::key_of(cell) < V::ZERO.key()))
}

/// Calls `visit(number, cell)` for each of the sorted `cells`. Cells of one key have one number, and
/// the next key has the next number, from `first` on. Returns the number after the last one.
#[inline]
pub fn number_cells<V: SortKey>(cells: &[V::Cell], first: u32, mut visit: impl FnMut(u32, V::Cell)) -> u32 {
    let Some(&cell) = cells.first() else { return first };
    let (mut number, mut previous) = (first, V::key_of(cell));
    for &cell in cells {
        let key = V::key_of(cell);
        number += u32::from(key != previous);
        previous = key;
        visit(number, cell);
    }
    number + 1
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use proptest::prelude::*;

    use super::*;

    /// The number that each row's key has, and the number of distinct keys, if zeros are left out.
    fn oracle(values: &[f64]) -> (Vec<usize>, usize) {
        let mut distinct: Vec<f64> = values.to_vec();
        distinct.sort_unstable_by(f64::total_cmp);
        distinct.dedup();
        let number = |value: &f64| distinct.iter().position(|other| other == value).unwrap();
        (values.iter().map(number).collect(), distinct.len())
    }

    fn numbers<V: SortKey>(values: &[V]) -> (Vec<usize>, usize) {
        let mut cells: Vec<V::Cell> = values.iter().zip(0..).map(|(value, row)| value.cell(row)).collect();
        let stop = AtomicBool::new(false);
        sort_cells::<V>(&mut cells, &mut RadixSort::default(), &Runtime::new(1, &stop)).unwrap();
        let (negative, positive) = split_at_zero::<V>(&cells);
        assert!(negative.iter().all(|&cell| V::from_key(V::key_of(cell)).widen() < 0.0));
        let mut rows = Vec::new();
        let mut visit = |number: u32, cell| rows.push((V::row_of(cell), number as usize));
        let n_negative = number_cells::<V>(negative, 0, &mut visit);
        let n = number_cells::<V>(positive, n_negative, &mut visit);
        rows.sort_unstable();
        (rows.into_iter().map(|(_, number)| number).collect(), n as usize)
    }

    proptest! {
        #[test]
        fn cells_are_numbered_in_the_order_of_values(
            values in prop::collection::vec(-1e3f64..1e3, 0..1500),
            is_coarse: bool,
        ) {
            let value = |value: f64| if is_coarse { value.round() } else { value };
            let values: Vec<f64> = values.into_iter().map(value).filter(|&value| value != 0.0).collect();
            prop_assert_eq!(numbers(&values), oracle(&values));
            let singles: Vec<f32> = values.iter().map(|&value| value as f32).collect();
            let wide: Vec<f64> = singles.iter().map(|&value| value.into()).collect();
            prop_assert_eq!(numbers(&singles), oracle(&wide));
        }
    }
}
