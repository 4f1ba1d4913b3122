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
//! ([`Rule::splits_carry_gain`]). A cut without an event while both sides are at risk has no statistic,
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
use std::sync::Arc;

use smallvec::smallvec;

use super::rule::{Pass, Proof, Pushed, Rule, pushed_in_order};
use super::sample_order::SampleOrder;
use super::{NodeLists, NodeWeights};
use crate::criterion::statistics::QUOTIENT_SLACK;
use crate::criterion::weights::Moment as Integer;
use crate::data::survival::Survival;
use crate::data::{Entry, Target};
use crate::num::{Exact, Wide, bit_length};

use line::{Line, ONE, variance_term};
use order::TimeOrder;
use variance::NARROW_BITS;
pub use variance::{Expected, Pairs, Variance};

/// The log-rank statistic; `V` is the form of its variance.
pub struct LogRank<'a, V> {
    survival: &'a Survival,
    unit: f64,
    /// The least weight of events on either side, in integer units.
    min_events: u64,
    order: TimeOrder,
    variance: PhantomData<fn() -> V>,
}

/// A loaded node, and the state of a scan of a column.
struct LogRankPass<'a, V> {
    criterion: Arc<LogRank<'a, V>>,
    weights: NodeWeights<'a>,
    /// The identity of the loaded node; 0 before the first.
    node: u64,
    line: Line,
    /// Twice the place of each sample of the node, and 1 more if it has an event; anything for others.
    places: Vec<u32>,
    variance: V,
}

/// What is added up over the pushed samples, in [`Pushed::sums`]: the weighted sum of cumulative hazards,
/// which is the expected weight of events, and all that [`Variance::push`] has returned.
const EXPECTED: usize = 0;
const VARIANCE: usize = 1;

/// Whether the sums of all nodes of a target fit in 64 bits.
pub(in crate::criterion) fn is_narrow(target: &Target) -> bool {
    let weight = (0..target.n_samples()).map(|sample| target.weights().get(sample)).sum();
    bit_length(weight) <= NARROW_BITS
}

impl<'a, V: Variance> LogRank<'a, V> {
    /// The criterion over a survival target. Either side of a cut must have events of the weight
    /// `min_events`.
    pub(in crate::criterion) fn new(target: &'a Target, survival: &'a Survival, min_events: u64) -> Self {
        let unit = target.weight_unit();
        // The slack is above the rounding of the quotient.
        let least = min_events as f64 / unit * (1.0 - 4.0 * f64::EPSILON);
        Self {
            survival,
            unit,
            min_events: least.ceil() as u64,
            order: TimeOrder::new(survival, NodeWeights::new(target.weights())),
            variance: PhantomData,
        }
    }

    /// The weight of the events of the samples with these ranks.
    fn events(&self, ranks: &[u32]) -> u64 {
        let of_events = ranks.iter().filter(|&&rank| self.order.has_event(rank));
        of_events.map(|&rank| self.order.weight(rank)).sum()
    }
}

/// One order, by time, and one order of categories: by the mean martingale residual. Its hazard is the hazard
/// of all encoded samples, not of the node's: an order of categories needs numbers that a sample has in every
/// node.
impl<'a, V: Variance + 'a> Rule<'a> for LogRank<'a, V> {
    fn order(&self, number: usize) -> Option<&SampleOrder> {
        (number == 0).then_some(&self.order.order)
    }

    fn forbids_cuts(&self) -> bool {
        true
    }

    fn splits_carry_gain(&self) -> bool {
        true
    }

    /// Whether there are no events, or too few; or the first event time is the last time, and all who
    /// are at risk then have an event. O(samples).
    fn is_pure(&self, node: &NodeLists) -> bool {
        let ranks = node.only_list();
        let Some(first) = ranks.iter().position(|&rank| self.order.has_event(rank)) else { return true };
        let (first, last) = (ranks[first], ranks[ranks.len() - 1]);
        self.order.time(first) == self.order.time(last) && self.order.has_event(last)
            || self.min_events > 0 && self.events(ranks) < self.min_events.saturating_mul(2)
    }

    /// 0. What the splits below a node gain is added when the tree is whole.
    fn impurity(&self, _node: &NodeLists) -> f64 {
        0.0
    }

    /// 0. See [`impurity`](Self::impurity).
    fn cost(&self, _node: &NodeLists) -> f64 {
        0.0
    }

    /// The log-rank statistic, in the weights as given. O(samples).
    fn gain_of_split(&self, node: &NodeLists, left: &NodeLists) -> f64 {
        let mut of_left = self.order.moments(left.only_list(), left.weight).peekable();
        let mut at_risk = left.weight;
        let (mut excess, mut variance, mut expected) = (0.0, 0.0, [0.0; 2]);
        for moment in self.order.moments(node.only_list(), node.weight) {
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

    fn n_means(&self) -> usize {
        1
    }

    /// The risk: the expected number of events of a sample that lives by the hazards of the node, which is
    /// the sum of the node's cumulative hazard over the event times of the whole target (Ishwaran, Kogalur,
    /// Blackstone, Lauer, "Random survival forests", Annals of Applied Statistics 2, 2008). O(samples).
    fn mean(&self, node: &NodeLists, _output: usize) -> f64 {
        let moments = self.order.moments(node.only_list(), node.weight);
        let n_later = |time: u32| f64::from(self.survival.n_event_times_from[time as usize]);
        moments.map(|moment| moment.hazard() * n_later(moment.time)).sum()
    }

    fn numbers(&self) -> &'a [i64] {
        &self.survival.residuals
    }

    /// A proof is the magnitude of the numerator, and two integers whose product is the variance.
    fn compare(&self, a: &Proof, b: &Proof) -> Ordering {
        let product = |numerator: u128, factors: &[u128]| -> Wide {
            let numerator = Wide::from(numerator);
            factors.iter().fold(numerator.times(&numerator), |product, &factor| product.times(&Wide::from(factor)))
        };
        product(a[0], &b[1..]).cmp(&product(b[0], &a[1..]))
    }

    fn pass(self: Arc<Self>, weights: NodeWeights<'a>) -> Box<dyn Pass + 'a> {
        let places = vec![0; self.order.order.samples().len()];
        Box::new(LogRankPass {
            criterion: self,
            weights,
            node: 0,
            line: Line::default(),
            places,
            variance: V::default(),
        })
    }
}

impl<V: Variance> LogRankPass<'_, V> {
    /// The events of the pushed side above expectation, less the events of the other side above expectation.
    #[inline]
    fn numerator(&self, pushed: Pushed) -> i128 {
        let excess = |events: u64, expected: i128| i128::from(events) * ONE - expected;
        2 * excess(pushed.count, pushed.sums[EXPECTED]) - excess(self.line.events, self.line.expected)
    }

    /// Two integers whose product is the divisor, but for a factor of the node.
    #[inline]
    fn factors(&self, pushed: Pushed) -> [u128; 2] {
        V::factors(&self.line, pushed.sums[EXPECTED], pushed.sums[VARIANCE])
    }

    /// Whether a cut has events enough on either side, and the square of its numerator and its variance
    /// as doubles.
    #[inline]
    fn square_and_variance(&self, pushed: Pushed) -> (bool, f64, f64) {
        let numerator = self.numerator(pushed).to_f64();
        let [a, b] = self.factors(pushed).map(|factor| (factor as i128).unsigned_to_f64());
        let least = self.criterion.min_events;
        let has_events = pushed.count >= least && self.line.events - pushed.count >= least;
        (has_events, numerator * numerator, a * b)
    }
}

impl<V: Variance> Pass for LogRankPass<'_, V> {
    /// O(samples) for the first column of a node, then O(number of samples that the last pass pushed),
    /// up to a logarithm.
    fn begin(&mut self, node: &NodeLists) {
        if self.node == node.id {
            self.variance.clear();
            return;
        }
        let Self { criterion, line, places, variance, .. } = self;
        let LogRank { order, unit, .. } = &**criterion;
        line.load(order, node.only_list(), node.weight, *unit, |rank, place| {
            places[order.order.sample(rank) as usize] = 2 * place + u32::from(order.has_event(rank));
        });
        variance.load(line);
        self.node = node.id;
    }

    fn foresee(&mut self, node: &NodeLists, entries: [&[Entry]; 3], floor: f64) -> f64 {
        if !(0.0 < floor && floor < f64::INFINITY) {
            return f64::INFINITY;
        }
        let Self { line, places, variance, weights, .. } = self;
        let entries = pushed_in_order(entries).map(|sample| (places[sample as usize], weights.of(sample)));
        variance.most_score(line, entries, (node.only_list().len(), floor))
    }

    /// O(1), or O(log samples) for the exact variance.
    #[inline]
    fn push(&mut self, pushed: &mut Pushed, sample: u32) {
        let (weight, place) = (self.weights.of(sample), self.places[sample as usize]);
        pushed.weight += weight;
        pushed.count += weight * u64::from(place & 1);
        let place = place >> 1;
        pushed.sums[EXPECTED] += i128::from(weight) * i128::from(self.line.hazards[place as usize]);
        pushed.sums[VARIANCE] += self.variance.push(place, weight);
    }

    /// The squared numerator over the variance.
    #[inline]
    fn score(&self, pushed: Pushed) -> f64 {
        let (has_events, square, variance) = self.square_and_variance(pushed);
        if has_events && variance > 0.0 { square / variance } else { f64::NAN }
    }

    #[inline]
    fn may_score(&self, pushed: Pushed, least: f64) -> bool {
        let (has_events, square, variance) = self.square_and_variance(pushed);
        has_events && variance > 0.0 && square >= least * variance * QUOTIENT_SLACK
    }

    fn proof(&self, pushed: Pushed) -> Proof {
        let [first, second] = self.factors(pushed);
        smallvec![self.numerator(pushed).unsigned_abs(), first, second]
    }

    /// Not known: parameters with monotonic constraints are refused.
    fn side_means(&self, _node: &NodeLists, _pushed: Pushed, _output: usize) -> [f64; 2] {
        [f64::NAN; 2]
    }
}
