//! The bar of a node: what a column must be able to gain to be worth reading.

use crate::criterion::Criterion;

/// Above the rounding of a few dozen operations on doubles, far below what would change what is read.
pub(crate) const SLACK: f64 = 1e-9;
/// Bounds the cancellation in `start + slope * drift`, relative to the products.
pub(crate) const DRIFT_SLACK: f64 = 1e-12;

/// What tells which columns may win in a node.
pub(crate) struct Bar<C: Criterion> {
    ceiling: C::Ceiling,
    pub(crate) weight: f64,
    /// The least gain that can win.
    pub(crate) gain: f64,
    pub(crate) drift: f64,
}

impl<C: Criterion> Bar<C> {
    /// The bar of a node whose best candidate so far has this score.
    pub fn new(criterion: &C, node: &C::Totals, drift: f64) -> Self {
        let weight = criterion.weight(node) as f64;
        Self { ceiling: criterion.ceiling(node), weight, gain: f64::NEG_INFINITY, drift: drift * (1.0 + DRIFT_SLACK) }
    }

    /// Raises the bar to the gain of a candidate.
    pub fn raise(&mut self, criterion: &C, node: &C::Totals, score: f64) {
        let gain = criterion.gain(node, score - criterion.tolerance(node, score));
        self.gain = gain - gain.abs() * SLACK;
    }

    /// Whether a column that gains this at most can win.
    #[inline]
    pub fn admits(&self, bound: f64) -> bool {
        bound >= self.gain
    }

    /// What the nonzeros of this summary can gain.
    #[inline]
    pub fn cap(&self, summary: &C::Summary) -> f64 {
        C::most_gain(&self.ceiling, summary)
    }

    /// The least weight of nonzeros that can win.
    pub fn least_weight(&self) -> f64 {
        let radius = C::radius(&self.ceiling) * (1.0 + SLACK);
        if self.gain > 0.0 { self.gain * self.weight / (radius * self.weight + self.gain) } else { 0.0 }
    }
}
