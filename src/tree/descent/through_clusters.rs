//! Many rows that lie in memory are divided among [clusters](super::clusters) of splits.

use super::batch::{Batch, Way};
use super::clusters::{self, Clusters, Codings, MAX_ROWS, Pages, RowDescent};
use super::split_view::AT_LEAF;
use super::walk::Walk;
use crate::error::Result;
use crate::tuning::tuned;

tuned! {
    /// Batches of at least this many rows go through clusters (bench `sweep`).
    fn clusters_from() -> usize = 64;
}

/// The clusters of all trees.
pub struct ThroughClusters<'t>(Vec<&'t Clusters>);

impl<'t, W: Walk> Way<'t, W> for ThroughClusters<'t> {
    fn serving(batch: &Batch<'_, 't, '_, W>) -> Option<Self> {
        if !batch.are_several() || batch.rows.len() < clusters_from() {
            return None;
        }
        let width = batch.reader.cells()?.width();
        if clusters::is_possible(width) { batch.forms(Walk::clusters).map(Self) } else { None }
    }

    fn run(self, batch: &mut Batch<'_, 't, '_, W>, mut found: impl FnMut(usize, usize, &[u32])) -> Result<()> {
        let Batch { trees, reader, rows, runtime } = batch;
        let Some(cells) = reader.cells() else { unreachable!("rows lie in memory") };
        let codings = Codings::new(cells.width(), trees.first().map_or(&[][..], |tree| tree.n_categories()));
        for (first, rows) in (0..).step_by(MAX_ROWS).zip(rows.chunks(MAX_ROWS)) {
            let starts: Vec<usize> = rows.iter().map(|&row| cells.start(row)).collect();
            let (mut pages, mut descent) = (Pages::default(), RowDescent::default());
            pages.copy(&cells, &starts, &codings)?;
            for (at, (tree, clusters)) in trees.iter().zip(&self.0).enumerate() {
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
        Ok(())
    }
}
