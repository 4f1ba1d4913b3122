//! Many rows that lie in memory are divided among [clusters](super::clusters) of splits.

use super::batch::Batch;
use super::clusters::{self, Codings, MAX_ROWS, Pages, RowDescent};
use super::split_view::AT_LEAF;
use super::walk::Walk;
use crate::error::Result;
use crate::tuning::tuned;

tuned! {
    /// Batches of at least this many rows go through clusters (bench `sweep`).
    fn clusters_from() -> usize = 64;
}

/// A way of [`visit_leaves`](super::visit_leaves). Returns whether it serves the batch.
pub fn through_clusters<W: Walk>(
    batch: &mut Batch<'_, '_, '_, W>,
    found: &mut impl FnMut(usize, usize, &[u32]),
) -> Result<bool> {
    if !batch.are_several() || batch.rows.len() < clusters_from() {
        return Ok(false);
    }
    let Some(cells) = batch.reader.cells().filter(|cells| clusters::is_possible(cells.width())) else {
        return Ok(false);
    };
    let Some(all_clusters) = batch.forms(Walk::clusters) else { return Ok(false) };
    let Batch { trees, rows, runtime, .. } = batch;
    let codings = Codings::new(cells.width(), trees.first().map_or(&[][..], |tree| tree.n_categories()));
    for (first, rows) in (0..).step_by(MAX_ROWS).zip(rows.chunks(MAX_ROWS)) {
        let starts: Vec<usize> = rows.iter().map(|&row| cells.start(row)).collect();
        let (mut pages, mut descent) = (Pages::default(), RowDescent::default());
        pages.copy(&cells, &starts, &codings)?;
        for (at, (tree, clusters)) in trees.iter().zip(&all_clusters).enumerate() {
            runtime.check_interrupt()?;
            descent.run(clusters, &pages);
            descent.set_doubtful(|row| {
                let mut at = tree.root();
                while at & AT_LEAF == 0 {
                    at = tree.step(at, |feature| cells.value(starts[row], feature));
                }
                at & !AT_LEAF
            });
            found(first, at, descent.leaves());
        }
    }
    Ok(true)
}
