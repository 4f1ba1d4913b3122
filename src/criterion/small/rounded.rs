//! Excesses of a coarser unit, in which the columns of a node are searched for the cuts that may be
//! the best ones. The exact excesses of these cuts, which need 64 bits, are added up afterwards.
//!
//! A score is the square of `D / sqrt(w (W - w))`, `D` being the excess on the left. A rounded `D`
//! is off by at most half of the number of rows, and `w (W - w)` is at least `W - 1`.

use super::MARGIN;
use super::packed::{EXCESS_BITS, PackedRows};

/// The rows of a node.
pub(super) struct Rounded {
    pub rows: PackedRows,
    /// Whether the rows are those of the node. Nodes that are cut at random do not need them.
    is_current: bool,
    /// How far the root of a score may be from that of the rounded score.
    error: f64,
    /// One over the unit of the roots of rounded scores.
    per_unit: f64,
}

impl Rounded {
    pub fn new() -> Self {
        Self { rows: PackedRows::new(), is_current: false, error: 0.0, per_unit: 1.0 }
    }

    /// Begins another node, whose rows are [loaded](Self::load) when they are needed.
    pub fn begin(&mut self) {
        self.is_current = false;
    }

    /// Takes the node of this weight, whose rows have these weights and excesses, unless that has
    /// been done. `unit` is that of excesses.
    #[inline]
    pub fn load(&mut self, weight: i32, weights: &[i32], excesses: &[i64], unit: f64) {
        if !self.is_current {
            self.set(weight, weights, excesses, unit);
            self.is_current = true;
        }
    }

    fn set(&mut self, weight: i32, weights: &[i32], excesses: &[i64], unit: f64) {
        // As the excesses add up to 0, no sum of some of them is farther from 0. It is given one
        // bit less than there are, since the errors of up to 256 rows may add up to 128.
        let most = excesses.iter().map(|excess| excess.unsigned_abs()).sum::<u64>() / 2;
        let shift = (u64::BITS - most.leading_zeros()).saturating_sub(EXCESS_BITS - 1);
        let half = (1 << shift) >> 1;
        let rounded = excesses.iter().map(|excess| ((excess + half) >> shift) as i32);
        self.rows.set(weight, weights.iter().copied().zip(rounded));
        let is_exact = shift == 0;
        let error = if is_exact { 0.0 } else { excesses.len() as f64 / 2.0 };
        self.error = error * (1.0 + MARGIN) / f64::from(weight - 1).sqrt();
        self.per_unit = 1.0 / (unit * (1u64 << shift) as f64);
    }

    /// See [`SmallRows::least_close`].
    pub fn least_close(&self, highest: f64) -> f64 {
        least_square(highest.sqrt() * (1.0 - MARGIN) - 2.0 * self.error)
    }

    /// See [`SmallRows::least_to_win`].
    pub fn least_to_win(&self, score: f64) -> f64 {
        least_square(score.sqrt() * (self.per_unit * (1.0 - MARGIN)) - self.error)
    }
}

/// The square of the least root that a score may have, or 0 if it may have any.
fn least_square(root: f64) -> f64 {
    let root = root.max(0.0);
    root * root * (1.0 - MARGIN)
}
