//! The event times of a node: the hazard up to each, and the terms of the variance of the log-rank
//! statistic.

use super::order::{Moment, TimeOrder};
use crate::num::round_ties_even;

/// Fractional bits of a cumulative hazard. It is at most the harmonic number of the total weight, below
/// 2^6, so that it fits in 62 bits.
pub(super) const HAZARD_BITS: i32 = 56;
/// An event, in the unit of cumulative hazards.
pub(super) const ONE: i128 = 1 << HAZARD_BITS;

/// A node's event times, by place from 1 on. The samples before the first event time have the place 0,
/// all others the place of the last event time up to theirs: samples of one place are alike but for
/// their events.
#[derive(Default)]
pub struct Line {
    /// The cumulative hazard up to each place (Nelson-Aalen), in units of 2^-[`HAZARD_BITS`].
    pub(super) hazards: Vec<i64>,
    /// The sum of [`variance_term`] up to each place.
    pub(super) variances: Vec<f64>,
    /// The weight of the samples of each place.
    pub(super) weights: Vec<u64>,
    /// The weight of the node, and of its samples with events.
    pub(super) weight: u64,
    pub(super) events: u64,
    /// The weighted sum of the cumulative hazards of the samples.
    pub(super) expected: i128,
}

impl Line {
    /// Loads the node of this weight whose samples have these ranks, and calls `visit` with the rank and
    /// the place of each sample. `unit` is the unit of weights. O(samples).
    pub(super) fn load(
        &mut self,
        order: &TimeOrder,
        ranks: &[u32],
        weight: u64,
        unit: f64,
        mut visit: impl FnMut(u32, u32),
    ) {
        let Self { hazards, variances, weights, .. } = self;
        hazards.clear();
        hazards.push(0);
        variances.clear();
        variances.push(0.0);
        weights.clear();
        weights.push(0);
        let (mut place, mut hazard, mut variance) = (0, 0.0, 0.0);
        (self.weight, self.events, self.expected) = (weight, 0, 0);
        for moment in order.moments(ranks, weight) {
            if moment.events > 0 {
                place += 1;
                hazard += moment.hazard();
                variance += variance_term(&moment, unit);
                hazards.push(to_fixed(hazard, HAZARD_BITS) as i64);
                variances.push(variance);
                weights.push(0);
                self.events += moment.events;
            }
            weights[place] += moment.weight;
            self.expected += i128::from(moment.weight) * i128::from(hazards[place]);
            moment.ranks.iter().for_each(|&rank| visit(rank, place as u32));
        }
    }
}

impl Moment<'_> {
    /// By how much the cumulative hazard grows at this time.
    pub fn hazard(&self) -> f64 {
        self.events as f64 / self.at_risk as f64
    }
}

/// The weight `d` of events at a time over the square of the weight `Y` at risk, times
/// `(Y - d) / (Y - 1)`, the correction for drawing without replacement. There a weight of 1 is one
/// sample: a weight of k is as k samples. The correction is never above 1, as if all weights were
/// counts: it is 1 where less than one sample has an event, and 0 where all at risk have one. So the
/// term is finite for fractional weights too. In integer weights, all but the correction.
pub(super) fn variance_term(moment: &Moment<'_>, unit: f64) -> f64 {
    let (events, at_risk) = (moment.events as f64, moment.at_risk as f64);
    let correction = if moment.events == moment.at_risk {
        0.0
    } else if events * unit <= 1.0 {
        1.0
    } else {
        (moment.at_risk - moment.events) as f64 * unit / (at_risk * unit - 1.0)
    };
    events / at_risk / at_risk * correction
}

/// The nearest multiple of `2^-bits`, as an integer. `bits` must be below 1000.
pub(super) fn to_fixed(value: f64, bits: i32) -> i128 {
    round_ties_even(value * f64::powi(2.0, bits)) as i128
}
