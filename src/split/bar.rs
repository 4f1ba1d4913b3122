//! The bar of a node: how much a column must be able to gain to be worth reading.

use crate::criterion::Criterion;
use crate::criterion::bounded::{Ceiling, Summary};

/// Bounds are widened by this share. The slack is above the rounding of a few dozen operations on
/// doubles, and far too small to change which columns are read.
pub(crate) const SLACK: f64 = 1e-9;
/// The drift is widened by this share. The slack covers the cancellation in
/// `start + slope * drift`, relative to the products.
pub(crate) const DRIFT_SLACK: f64 = 1e-12;

/// Tells which columns of a node may win.
pub(crate) struct Bar<C: Criterion> {
    ceiling: Ceiling<C::Mean>,
    /// The weight of the node, in the target's integer unit.
    pub(crate) weight: f64,
    /// The least gain that can win; minus infinity while there is no candidate.
    pub(crate) gain: f64,
    /// How far the node's mean has moved since the bounds were made (see `bounds`), rounded up.
    pub(crate) drift: f64,
}

impl<C: Criterion> Bar<C> {
    /// The bar of a node without a candidate yet: every column may win.
    pub fn new(criterion: &C, node: &C::Totals, drift: f64) -> Self {
        let weight = criterion.weight(node) as f64;
        Self { ceiling: criterion.ceiling(node), weight, gain: f64::NEG_INFINITY, drift: drift * (1.0 + DRIFT_SLACK) }
    }

    /// Raises the bar to the gain of a candidate with this score.
    pub fn raise(&mut self, criterion: &C, node: &C::Totals, score: f64) {
        let gain = criterion.gain(node, score - criterion.tolerance(node, score));
        self.gain = gain - gain.abs() * SLACK;
    }

    /// Whether a column can win if none of its cuts gains more than `bound`.
    #[inline]
    pub fn admits(&self, bound: f64) -> bool {
        bound >= self.gain
    }

    /// The most that a cut can gain if one side of the cut is any subset of the nonzeros of
    /// `summary`.
    #[inline]
    pub fn most_gain(&self, summary: &Summary<C::Spread>) -> f64 {
        C::most_gain(&self.ceiling, summary)
    }

    /// The least weight that the nonzeros of a column must have for the column to win. A set of
    /// weight `w` gains at most `w W / (W - w)` times the squared radius of the node; the result
    /// solves this for `w`.
    pub fn least_weight(&self) -> f64 {
        let radius = self.ceiling.radius * (1.0 + SLACK);
        if self.gain > 0.0 { self.gain * self.weight / (radius * self.weight + self.gain) } else { 0.0 }
    }
}
