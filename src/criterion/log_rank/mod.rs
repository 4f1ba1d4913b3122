//! The log-rank statistic of a split: how different the times until an event are on its two sides
//! (Mantel, "Evaluation of survival data and two new rank order statistics", Cancer Chemotherapy
//! Reports 50, 1966; Segal, "Regression trees for censored data", Biometrics 44, 1988, for trees).
//!
//! With the node's cumulative hazard up to the time `t_i` of a sample (Nelson-Aalen), `H(t_i)`, the events of
//! a side above expectation are the weighted sum over its samples of `d_i - H(t_i)`, where `d_i` is 1 for an
//! event (`LeBlanc` and Crowley, "Step-function covariate effects in the proportional-hazards model",
//! Canadian Journal of Statistics 23, 1995). The hazards are rounded to fixed point once per node, so the sum
//! is an integer. The numerator of a cut is the sum of one side less the sum of the other side; which side is
//! pushed changes its sign alone. The statistic is its square, over four times its variance; `variance` has
//! the two forms of the variance.
//!
//! Hazards belong to a node, so the statistics of a node are its samples in the order of their times
//! (`order`), and a scan loads a node once (`line`). In large nodes, columns are given up if a bound
//! shows that none of their cuts can win (`bound`). All roundings are functions of the weights at each
//! time of the node alone: neither the order of samples nor a weight of k in the place of k samples
//! shows.
//!
//! Statistics do not subtract, as impurities do: the split carries its own gain
//! ([`Statistics::SPLITS_CARRY_GAIN`]). A cut without an event while both sides are at risk has no statistic,
//! and is forbidden.
//!
//! Bits: a weight is below 2^52 and a hazard below 2^62, so numerators are below 2^116 and variances
//! below 2^126, or a product of two numbers below 2^116. Two squared numerators times variances fit in
//! 640 bits.

mod bound;
mod line;
mod order;
mod variance;

use std::cmp::Ordering;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering as Memory};

use super::bounded::Bounded;
use super::ordered::Ordered;
use super::sample_order::difference;
use super::statistics::{QUOTIENT_SLACK, Statistics};
use super::weights::Moment as Integer;
use crate::data::Target;
use crate::data::survival::Survival;
use crate::data::target::{Weights, above_zero};
use crate::num::{Exact, Wide, bit_length};

use line::{Line, ONE, variance_term};
use order::TimeOrder;
use variance::NARROW_BITS;
pub use variance::{Expected, Pairs, Variance};

/// The log-rank statistic; `V` is the form of its variance.
pub struct LogRank<'a, V> {
    survival: &'a Survival,
    weights: &'a Weights,
    are_unit: bool,
    unit: f64,
    /// The least weight of events on either side, in integer units.
    min_events: u64,
    order: TimeOrder,
    /// The identity of the next node, see [`LogRankTotals`].
    id: AtomicU64,
    variance: PhantomData<fn() -> V>,
}

/// The samples of a node, in the order of their times.
pub struct LogRankTotals {
    /// Tells the node from all others, so that a scan knows whose samples it has loaded; never 0.
    id: u64,
    weight: u64,
    ranks: Box<[u32]>,
}

/// A loaded node, and the state of a pass over it.
#[derive(Default)]
pub struct LogRankScan<V> {
    /// The identity of the loaded node; 0 before the first.
    node: u64,
    line: Line,
    /// Twice the place of each sample of the node, and 1 more if it has an event; anything for others.
    places: Vec<u32>,
    variance: V,
}

/// Sums over the pushed samples.
#[derive(Debug, Clone, Copy)]
pub struct LogRankPushed {
    weight: u64,
    /// The weight of the pushed events.
    events: u64,
    /// The weighted sum of cumulative hazards: the expected weight of events.
    expected: i128,
    /// The sum of all that [`Variance::push`] has returned.
    variance: i128,
}

/// The magnitude of the numerator, and two integers whose product is the variance.
pub struct LogRankProof {
    numerator: u128,
    factors: [u128; 2],
}

/// Whether the sums of all nodes of a target fit in 64 bits.
pub(super) fn is_narrow(target: &Target) -> bool {
    let weight = (0..target.n_samples()).map(|sample| target.weights().get(sample)).sum();
    bit_length(weight) <= NARROW_BITS
}

impl<'a, V: Variance> LogRank<'a, V> {
    /// The criterion over a survival target. Either side of a cut must have events of the weight
    /// `min_events`.
    pub(super) fn new(target: &'a Target, survival: &'a Survival, min_events: u64) -> Self {
        let weights = target.weights();
        let are_unit = matches!(weights, Weights::Unit);
        let unit = target.weight_unit();
        // The slack is above the rounding of the quotient.
        let least = min_events as f64 / unit * (1.0 - 4.0 * f64::EPSILON);
        Self {
            survival,
            weights,
            are_unit,
            unit,
            min_events: least.ceil() as u64,
            order: TimeOrder::new(survival, are_unit, |sample| weights.get(sample as usize)),
            id: AtomicU64::new(1),
            variance: PhantomData,
        }
    }

    fn totals_of(&self, weight: u64, ranks: Box<[u32]>) -> LogRankTotals {
        LogRankTotals { id: self.id.fetch_add(1, Memory::Relaxed), weight, ranks }
    }

    /// The weight of the events of the samples with these ranks.
    fn events(&self, ranks: &[u32]) -> u64 {
        let of_events = ranks.iter().filter(|&&rank| self.order.has_event(rank));
        of_events.map(|&rank| self.order.weight(rank)).sum()
    }

    /// The expected number of events of a sample that lives by the hazards of the node: the sum of the
    /// node's cumulative hazard over the event times of the whole target (Ishwaran, Kogalur, Blackstone,
    /// Lauer, "Random survival forests", Annals of Applied Statistics 2, 2008). O(samples).
    fn risk(&self, totals: &LogRankTotals) -> f64 {
        let moments = self.order.moments(&totals.ranks, totals.weight);
        let n_later = |time: u32| f64::from(self.survival.n_event_times_from[time as usize]);
        moments.map(|moment| moment.hazard() * n_later(moment.time)).sum()
    }

    /// The events of the pushed side above expectation, less the events of the other side above expectation.
    #[inline]
    fn numerator(scan: &LogRankScan<V>, pushed: LogRankPushed) -> i128 {
        let excess = |events: u64, expected: i128| i128::from(events) * ONE - expected;
        2 * excess(pushed.events, pushed.expected) - excess(scan.line.events, scan.line.expected)
    }

    /// Whether a cut has events enough on either side, and the square of its numerator and its variance
    /// as doubles.
    #[inline]
    fn square_and_variance(&self, scan: &LogRankScan<V>, pushed: LogRankPushed) -> (bool, f64, f64) {
        let numerator = Self::numerator(scan, pushed).to_f64();
        let [a, b] = V::factors(&scan.line, pushed).map(|factor| (factor as i128).unsigned_to_f64());
        let has_events = pushed.events >= self.min_events && scan.line.events - pushed.events >= self.min_events;
        (has_events, numerator * numerator, a * b)
    }
}

impl<V: Variance> Statistics for LogRank<'_, V> {
    type Totals = LogRankTotals;
    type Scan = LogRankScan<V>;
    type Pushed = LogRankPushed;
    type Proof = LogRankProof;
    const FORBIDS_CUTS: bool = true;
    const SPLITS_CARRY_GAIN: bool = true;

    fn totals(&self, samples: &[u32]) -> LogRankTotals {
        let weight = samples.iter().map(|&sample| self.sample_weight(sample)).sum();
        self.totals_of(weight, self.order.order.ranks(samples))
    }

    fn minus(&self, node: &LogRankTotals, child: &LogRankTotals) -> LogRankTotals {
        self.totals_of(node.weight - child.weight, difference(&node.ranks, &child.ranks))
    }

    #[inline]
    fn sample_weight(&self, sample: u32) -> u64 {
        if self.are_unit { 1 } else { self.weights.get(sample as usize) }
    }

    fn weight(&self, totals: &LogRankTotals) -> u64 {
        totals.weight
    }

    /// Whether there are no events, or too few; or the first event time is the last time, and all who
    /// are at risk then have an event. O(samples).
    fn is_pure(&self, totals: &LogRankTotals) -> bool {
        let ranks = &totals.ranks;
        let Some(first) = ranks.iter().position(|&rank| self.order.has_event(rank)) else { return true };
        let (first, last) = (ranks[first], ranks[ranks.len() - 1]);
        self.order.time(first) == self.order.time(last) && self.order.has_event(last)
            || self.min_events > 0 && self.events(ranks) < self.min_events.saturating_mul(2)
    }

    /// 0. What the splits below a node gain is added when the tree is whole.
    fn impurity(&self, _totals: &LogRankTotals) -> f64 {
        0.0
    }

    /// 0. See [`impurity`](Self::impurity).
    fn cost(&self, _totals: &LogRankTotals) -> f64 {
        0.0
    }

    /// The log-rank statistic, in the weights as given. O(samples).
    fn gain_of_split(&self, node: &LogRankTotals, left: &LogRankTotals) -> f64 {
        let mut of_left = self.order.moments(&left.ranks, left.weight).peekable();
        let mut at_risk = left.weight;
        let (mut excess, mut variance, mut expected) = (0.0, 0.0, [0.0; 2]);
        for moment in self.order.moments(&node.ranks, node.weight) {
            let own = of_left.next_if(|own| own.time == moment.time);
            if moment.events > 0 {
                let sides = [at_risk, moment.at_risk - at_risk].map(|weight| weight as f64);
                let hazard = moment.hazard();
                excess += own.map_or(0.0, |own| own.events as f64) - sides[0] * hazard;
                variance += variance_term(&moment, self.unit) * sides[0] * sides[1];
                expected.iter_mut().zip(sides).for_each(|(expected, at_risk)| *expected += at_risk * hazard);
            }
            at_risk -= own.map_or(0, |own| own.weight);
        }
        V::statistic(excess, variance, expected) * self.unit
    }

    fn write_value(&self, totals: &LogRankTotals, _samples: &[u32], value: &mut [f64]) {
        value[0] = self.risk(totals);
    }

    fn n_means(&self) -> usize {
        1
    }

    /// The risk. Parameters with monotonic constraints are refused, so that nobody compares it.
    fn mean(&self, totals: &LogRankTotals, _output: usize) -> f64 {
        self.risk(totals)
    }

    /// Not known: parameters with monotonic constraints are refused.
    fn side_means(&self, _: &LogRankTotals, _: &Self::Scan, _: LogRankPushed, _output: usize) -> [f64; 2] {
        [f64::NAN; 2]
    }

    fn scan(&self) -> LogRankScan<V> {
        LogRankScan { places: vec![0; self.order.order.samples().len()], ..LogRankScan::default() }
    }

    /// O(samples) for the first column of a node, then O(number of samples that the last pass pushed),
    /// up to a logarithm.
    fn begin(&self, node: &LogRankTotals, scan: &mut LogRankScan<V>) -> LogRankPushed {
        if scan.node == node.id {
            scan.variance.clear();
        } else {
            let LogRankScan { line, places, variance, .. } = scan;
            line.load(&self.order, &node.ranks, node.weight, self.unit, |rank, place| {
                places[self.order.order.sample(rank) as usize] = 2 * place + u32::from(self.order.has_event(rank));
            });
            variance.load(line);
            scan.node = node.id;
        }
        LogRankPushed { weight: 0, events: 0, expected: 0, variance: 0 }
    }

    fn foresee(
        &self,
        node: &LogRankTotals,
        scan: &mut LogRankScan<V>,
        samples: impl Iterator<Item = u32> + Clone,
        floor: f64,
    ) -> f64 {
        if !(0.0 < floor && floor < f64::INFINITY) {
            return f64::INFINITY;
        }
        let LogRankScan { line, places, variance, .. } = scan;
        let entries = samples.map(|sample| (places[sample as usize], self.sample_weight(sample)));
        variance.most_score(line, entries, (node.ranks.len(), floor))
    }

    /// O(1), or O(log samples) for the exact variance.
    #[inline]
    fn push(&self, _node: &LogRankTotals, scan: &mut LogRankScan<V>, pushed: &mut LogRankPushed, sample: u32) {
        let (weight, place) = (self.sample_weight(sample), scan.places[sample as usize]);
        pushed.weight += weight;
        pushed.events += weight * u64::from(place & 1);
        let place = place >> 1;
        pushed.expected += i128::from(weight) * i128::from(scan.line.hazards[place as usize]);
        pushed.variance += scan.variance.push(place, weight);
    }

    #[inline]
    fn pushed_weight(pushed: &LogRankPushed) -> u64 {
        pushed.weight
    }

    /// The squared numerator over the variance.
    #[inline]
    fn score(&self, _node: &LogRankTotals, scan: &LogRankScan<V>, pushed: LogRankPushed) -> f64 {
        let (has_events, square, variance) = self.square_and_variance(scan, pushed);
        if has_events && variance > 0.0 { square / variance } else { f64::NAN }
    }

    #[inline]
    fn may_score(&self, _node: &LogRankTotals, scan: &LogRankScan<V>, pushed: LogRankPushed, least: f64) -> bool {
        let (has_events, square, variance) = self.square_and_variance(scan, pushed);
        has_events && variance > 0.0 && square >= least * variance * QUOTIENT_SLACK
    }

    fn proof(&self, scan: &LogRankScan<V>, pushed: LogRankPushed) -> LogRankProof {
        let numerator = Self::numerator(scan, pushed).unsigned_abs();
        LogRankProof { numerator, factors: V::factors(&scan.line, pushed) }
    }

    fn compare(&self, _node: &LogRankTotals, a: &LogRankProof, b: &LogRankProof) -> Ordering {
        let product = |numerator: u128, factors: [u128; 2]| -> Wide {
            let [first, second] = factors.map(Wide::from);
            let numerator = Wide::from(numerator);
            numerator.times(&numerator).times(&first).times(&second)
        };
        product(a.numerator, b.factors).cmp(&product(b.numerator, a.factors))
    }
}

/// One order, by the mean martingale residual. Its hazard is the hazard of all encoded samples, not of the
/// node's: an order of categories needs numbers that a sample has in every node. The best cut of the order
/// need not be the best subset.
impl<V: Variance> Ordered for LogRank<'_, V> {
    fn order(&self, _order: usize) -> impl Fn(u32) -> u64 {
        |sample| above_zero(self.survival.residuals[sample as usize])
    }
}

/// No bound of what a column can gain is known, so all columns are read.
impl<V: Variance> Bounded for LogRank<'_, V> {
    type Spread = ();
    type Mean = ();
}
