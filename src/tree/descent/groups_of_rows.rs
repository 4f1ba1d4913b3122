//! Rows of a wide sparse matrix go through one tree side by side, one for each bit of a word, along the
//! [ways of zero](super::zero_ways).

use super::batch::{Batch, Way};
use super::walk::Walk;
use super::zero_ways::{GroupDescent, Ways};
use crate::data::row_group::GROUP;
use crate::error::Result;

/// The ways of zero of all trees.
pub struct GroupsOfRows<'t>(Vec<&'t Ways>);

impl<'t, W: Walk> Way<'t, W> for GroupsOfRows<'t> {
    fn serving(batch: &Batch<'_, 't, '_, W>) -> Option<Self> {
        if batch.are_several() && batch.reader.has_groups() { batch.forms(Walk::ways).map(Self) } else { None }
    }

    fn run(self, batch: &mut Batch<'_, 't, '_, W>, mut found: impl FnMut(usize, usize, &[u32])) -> Result<()> {
        let Batch { trees, reader, rows, runtime } = batch;
        let (mut descent, mut leaves) = (GroupDescent::new(), [0; GROUP]);
        for (first, rows) in (0..).step_by(GROUP).zip(rows.chunks(GROUP)) {
            runtime.check_interrupt()?;
            let Some(group) = reader.group(rows)? else { unreachable!("the reader has groups") };
            let leaves = &mut leaves[..rows.len()];
            for (at, (tree, ways)) in trees.iter().zip(&self.0).enumerate() {
                let leaves_zero = |at: u32, value: f64| tree.step(at, |_| value) != tree.step(at, |_| 0.0);
                descent.run(ways, group, &leaves_zero, leaves);
                found(first, at, leaves);
            }
        }
        Ok(())
    }
}
