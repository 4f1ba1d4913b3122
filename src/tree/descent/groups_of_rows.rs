//! Rows of a wide sparse matrix go through one tree side by side, one for each bit of a word, along the
//! [ways of zero](super::zero_ways).

use super::batch::Batch;
use super::walk::Walk;
use super::zero_ways::GroupDescent;
use crate::data::row_group::GROUP;
use crate::error::Result;

/// A way of [`visit_leaves`](super::visit_leaves). Returns whether it serves the batch.
pub fn groups_of_rows<W: Walk>(
    batch: &mut Batch<'_, '_, '_, W>,
    found: &mut impl FnMut(usize, usize, &[u32]),
) -> Result<bool> {
    if !batch.are_several() || !batch.reader.has_groups() {
        return Ok(false);
    }
    let Some(all_ways) = batch.forms(Walk::ways) else { return Ok(false) };
    let Batch { trees, reader, rows, runtime } = batch;
    let (mut descent, mut leaves) = (GroupDescent::new(), [0; GROUP]);
    for (first, rows) in (0..).step_by(GROUP).zip(rows.chunks(GROUP)) {
        runtime.check_interrupt()?;
        let Some(group) = reader.group(rows)? else { return Ok(false) };
        let leaves = &mut leaves[..rows.len()];
        for (at, (tree, ways)) in trees.iter().zip(&all_ways).enumerate() {
            let leaves_zero = |at: u32, value: f64| tree.step(at, |_| value) != tree.step(at, |_| 0.0);
            descent.run(ways, group, &leaves_zero, leaves);
            found(first, at, leaves);
        }
    }
    Ok(true)
}
