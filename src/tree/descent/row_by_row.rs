//! A row that is hard to come by, or almost alone, goes through several trees side by side.

use super::batch::Batch;
use super::side_by_side::{self, MOST};
use super::split_view::AT_LEAF;
use super::walk::Walk;
use crate::data::rows::for_each_row;
use crate::error::Result;

/// The way of [`visit_leaves`](super::visit_leaves) that serves every batch.
pub fn row_by_row<W: Walk>(
    batch: &mut Batch<'_, '_, '_, W>,
    found: &mut impl FnMut(usize, usize, &[u32]),
) -> Result<()> {
    let mut bits = batch.row_bits(1);
    let Batch { trees, reader, rows, runtime } = batch;
    let mut positions = [0; MOST];
    for (i, &row) in rows.iter().enumerate() {
        runtime.check_in_turn(i)?;
        let row = reader.row(row);
        if let Some(bits) = &mut bits {
            for_each_row!(row, |value| bits.set(0, value));
        }
        let bit = bits.as_ref().map(|bits| |_: usize, feature: u32| bits.bit(0, feature));
        for (first, trees) in (0..).step_by(MOST).zip(trees.chunks(MOST)) {
            let positions = &mut positions[..trees.len()];
            for_each_row!(row, |value| {
                side_by_side::descend(positions, |i| trees[i], |_, feature| value(feature), bit);
            });
            for (at, &leaf) in (first..).zip(&*positions) {
                found(i, at, &[leaf & !AT_LEAF]);
            }
        }
    }
    Ok(())
}
