//! Rows that lie in memory go through one tree side by side: flat where none of their values is missing.

use super::batch::Batch;
use super::flat::Cell;
use super::plain_rows::PlainRows;
use super::side_by_side::{self, MOST};
use super::split_view::AT_LEAF;
use super::walk::Walk;
use crate::data::rows::CellRows;
use crate::error::Result;

/// A way of [`visit_leaves`](super::visit_leaves). Returns whether it serves the batch.
pub fn rows_in_memory<W: Walk>(
    batch: &mut Batch<'_, '_, '_, W>,
    found: &mut impl FnMut(usize, usize, &[u32]),
) -> Result<bool> {
    if !batch.are_several() {
        return Ok(false);
    }
    let Some(cells) = batch.reader.cells() else { return Ok(false) };
    let bits = batch.row_bits(batch.rows.len());
    let Batch { trees, rows, runtime, .. } = batch;
    let starts: Vec<usize> = rows.iter().map(|&row| cells.start(row)).collect();
    let bits = bits.map(|mut bits| {
        for (row, &start) in starts.iter().enumerate() {
            bits.set(row, |feature| cells.value(start, feature));
        }
        bits
    });
    let mut positions = [0; MOST];
    let plain = |starts| if bits.is_some() { None } else { PlainRows::of(&cells, starts) };
    let chunks: Vec<_> = starts.chunks(MOST).map(|starts| (starts, plain(starts))).collect();
    for (at, &tree) in trees.iter().enumerate() {
        for (first, (starts, plain)) in (0..).step_by(MOST).zip(&chunks) {
            runtime.check_interrupt()?;
            let positions = &mut positions[..starts.len()];
            // A tree is laid out only if there are rows that the layout is for.
            let is_served = match plain {
                None => false,
                Some(PlainRows::Singles(cells, starts)) => descend_flat(tree, cells, starts, positions),
                Some(PlainRows::Doubles(cells, starts)) => descend_flat(tree, cells, starts, positions),
            };
            let bit = bits.as_ref().map(|bits| move |i: usize, feature: u32| bits.bit(first + i, feature));
            match cells {
                _ if is_served => {}
                CellRows::F32(cells) => {
                    let value = |i: usize, feature: u32| cells.cells[starts[i] + feature as usize].into();
                    side_by_side::descend(positions, |_| tree, value, bit);
                }
                CellRows::F64(cells) => {
                    let value = |i: usize, feature: u32| cells.cells[starts[i] + feature as usize];
                    side_by_side::descend(positions, |_| tree, value, bit);
                }
            }
            for position in &mut *positions {
                *position &= !AT_LEAF;
            }
            found(first, at, positions);
        }
    }
    Ok(true)
}

/// Sets `leaves` to those that rows reach; returns false if the tree has no layout.
fn descend_flat<T: Cell>(tree: &impl Walk, cells: &[T], starts: &[usize], leaves: &mut [u32]) -> bool {
    let Some(flat) = tree.flat::<T>() else { return false };
    flat.descend(cells, starts, leaves);
    true
}
