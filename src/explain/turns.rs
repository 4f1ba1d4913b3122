//! Which way rows go at the splits of a tree.

use super::plan::Plan;
use crate::data::rows::{Row, for_each_row};

/// Most rows of a batch: the bits of a word.
pub const MOST_ROWS: usize = 64;

/// Which way each row of a batch goes at each split of a tree.
#[derive(Default)]
pub struct Turns {
    /// Rows of the batch.
    pub n_rows: usize,
    /// By split, a bit for each row: it goes left.
    pub go_left: Vec<u64>,
}

impl Turns {
    /// Begins with a batch of rows.
    pub fn begin(&mut self, plan: &Plan, n_rows: usize) {
        self.n_rows = n_rows;
        self.go_left.clear();
        self.go_left.resize(plan.splits.len(), 0);
    }

    /// Asks which way a row of the batch goes at each split.
    pub fn ask(&mut self, plan: &Plan, number: usize, row: Row<'_>) {
        for_each_row!(row, |value| {
            for (bits, split) in self.go_left.iter_mut().zip(&plan.splits) {
                let node = split.node as usize;
                let goes_left = plan.tree.goes_left(node, value(plan.tree.nodes().feature[node] as u32));
                *bits |= u64::from(goes_left) << number;
            }
        });
    }
}

/// The bits of the first `n` rows.
pub fn all_rows(n: usize) -> u64 {
    u64::MAX >> (MOST_ROWS - n)
}
