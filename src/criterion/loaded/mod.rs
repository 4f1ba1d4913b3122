//! The criteria for which a scan loads its node: medians and quantiles, the log-rank statistic, effects of
//! treatments, isolation.
//!
//! What a sample adds to a score of these criteria depends on the node: on the order of its targets, or on
//! its hazards, or its effect. A scan loads the node once, and from then on looks the samples up in what it
//! has loaded. That costs so much that a call through a table of functions does not show. So the engine is
//! compiled once for all of them: for [`Loaded`], which hands whole slices of a column to a [`Rule`]'s
//! [`Pass`]. A new rule costs no machine code but its own.
//!
//! The statistics of a node are the lists of its samples, in the orders that the rule names
//! ([`sample_order`]). O(n) for each node of n samples, and O(n log n) for the smaller of two children.

pub(super) mod effects;
pub(super) mod isolation;
pub(super) mod log_rank;
pub(super) mod quantile;
mod rule;
mod sample_order;

use std::cmp::Ordering;
use std::sync::atomic::{AtomicU64, Ordering as Memory};
use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;

use super::bounded::Bounded;
use super::ordered::Ordered;
use super::small::{Components, InTwoDoubles, Precision, Rough};
use super::statistics::Statistics;
use crate::data::target::{Weights, above_zero};
use crate::data::{Entry, Run};
use rule::{Pass, Proof, Pushed, Rule};
use sample_order::{SampleOrder, difference};

/// The number of samples that are handed to a pass at once, where a column does not list them itself.
const CHUNK: usize = 128;

/// A criterion whose scans load their nodes.
pub struct Loaded<'a> {
    rule: Arc<dyn Rule<'a> + 'a>,
    weights: NodeWeights<'a>,
    /// The identity of the next node, see [`NodeLists`].
    id: AtomicU64,
}

/// The weights of the samples, which are often all 1.
#[derive(Clone, Copy)]
pub struct NodeWeights<'a> {
    weights: &'a Weights,
    are_unit: bool,
}

impl<'a> NodeWeights<'a> {
    fn new(weights: &'a Weights) -> Self {
        Self { weights, are_unit: matches!(weights, Weights::Unit) }
    }

    #[inline]
    fn of(self, sample: u32) -> u64 {
        if self.are_unit { 1 } else { self.weights.get(sample as usize) }
    }

    /// The weight of each rank of an order; empty if all weights are 1.
    fn by_rank(self, order: &SampleOrder) -> Box<[u64]> {
        if self.are_unit { Box::default() } else { order.samples().iter().map(|&sample| self.of(sample)).collect() }
    }
}

/// The samples of a node: their weight, and a list of them for each order of the rule.
pub struct NodeLists {
    /// Tells the node from all others, so that a scan knows whose samples it has loaded; never 0.
    id: u64,
    weight: u64,
    lists: SmallVec<[NodeList; 1]>,
}

impl NodeLists {
    /// The ranks of the samples, for rules with one order.
    fn only_list(&self) -> &[u32] {
        &self.lists[0].ranks
    }
}

/// The samples of a node in one order: their ranks, ascending.
struct NodeList {
    ranks: Box<[u32]>,
    /// What the rule knows of them, see [`Rule::sum_up`].
    sum: ListSum,
}

/// A quantile of the targets of a list, and the loss about it, or the effect of a treatment. Nothing for
/// other rules.
#[derive(Default)]
pub struct ListSum {
    /// The ranks of the two samples between whose targets the quantile is half way; equal if the
    /// quantile is one target.
    quantiles: [u32; 2],
    loss: i128,
    /// What the labels of effects are computed from, once it is asked for.
    labels: OnceLock<Option<effects::Labels>>,
}

impl<'a> Loaded<'a> {
    pub(in crate::criterion) fn new(rule: impl Rule<'a> + 'a, weights: &'a Weights) -> Self {
        Self { rule: Arc::new(rule), weights: NodeWeights::new(weights), id: AtomicU64::new(1) }
    }

    fn node(&self, weight: u64, ranks: impl Fn(usize, &SampleOrder) -> Box<[u32]>) -> NodeLists {
        let list = |number| {
            let ranks = ranks(number, self.rule.order(number)?);
            Some(NodeList { sum: self.rule.sum_up(number, &ranks, weight), ranks })
        };
        let lists = (0..).map_while(list).collect();
        NodeLists { id: self.id.fetch_add(1, Memory::Relaxed), weight, lists }
    }
}

impl<'a> Statistics for Loaded<'a> {
    type Totals = NodeLists;
    type Scan = Box<dyn Pass + 'a>;
    type Pushed = Pushed;
    type Proof = Proof;

    fn forbids_cuts(&self) -> bool {
        self.rule.forbids_cuts()
    }

    fn has_target(&self) -> bool {
        self.rule.has_target()
    }

    fn splits_carry_gain(&self) -> bool {
        self.rule.splits_carry_gain()
    }

    fn totals(&self, samples: &[u32]) -> NodeLists {
        let weight = samples.iter().map(|&sample| self.weights.of(sample)).sum();
        self.node(weight, |_, order| order.ranks(samples))
    }

    fn minus(&self, node: &NodeLists, child: &NodeLists) -> NodeLists {
        let rest = |list: usize| difference(&node.lists[list].ranks, &child.lists[list].ranks);
        self.node(node.weight - child.weight, |number, _| rest(number))
    }

    #[inline]
    fn sample_weight(&self, sample: u32) -> u64 {
        self.weights.of(sample)
    }

    fn weight(&self, totals: &NodeLists) -> u64 {
        totals.weight
    }

    fn is_pure(&self, totals: &NodeLists) -> bool {
        self.rule.is_pure(totals)
    }

    fn impurity(&self, totals: &NodeLists) -> f64 {
        self.rule.impurity(totals)
    }

    fn cost(&self, totals: &NodeLists) -> f64 {
        self.rule.cost(totals)
    }

    fn gain_of_split(&self, node: &NodeLists, left: &NodeLists) -> f64 {
        self.rule.gain_of_split(node, left)
    }

    fn write_value(&self, totals: &NodeLists, _samples: &[u32], value: &mut [f64]) {
        for (output, value) in value.iter_mut().enumerate() {
            *value = self.rule.mean(totals, output);
        }
    }

    fn n_means(&self) -> usize {
        self.rule.n_means()
    }

    fn mean(&self, totals: &NodeLists, output: usize) -> f64 {
        self.rule.mean(totals, output)
    }

    fn side_means(&self, node: &NodeLists, scan: &Self::Scan, pushed: Pushed, output: usize) -> [f64; 2] {
        scan.side_means(node, pushed, output)
    }

    fn scan(&self) -> Self::Scan {
        self.rule.clone().pass(self.weights)
    }

    fn begin(&self, node: &NodeLists, scan: &mut Self::Scan) -> Pushed {
        scan.begin(node);
        Pushed::default()
    }

    fn foresee<const BACKWARDS: bool>(
        &self,
        node: &NodeLists,
        scan: &mut Self::Scan,
        first: &[Entry],
        rest: &Run<'_, BACKWARDS>,
        floor: f64,
    ) -> f64 {
        let rest = rest.rest.as_slice();
        if BACKWARDS {
            scan.foresee(node, [first, &[], rest], floor)
        } else {
            scan.foresee(node, [first, rest, &[]], floor)
        }
    }

    #[inline]
    fn push(&self, _node: &NodeLists, scan: &mut Self::Scan, pushed: &mut Pushed, sample: u32) {
        scan.push_all(pushed, &[sample]);
    }

    fn push_all(
        &self,
        _node: &NodeLists,
        scan: &mut Self::Scan,
        pushed: &mut Pushed,
        samples: impl Iterator<Item = u32>,
    ) {
        let (mut chunk, mut n) = ([0; CHUNK], 0);
        for sample in samples {
            chunk[n] = sample;
            n += 1;
            if n == CHUNK {
                scan.push_all(pushed, &chunk);
                n = 0;
            }
        }
        scan.push_all(pushed, &chunk[..n]);
    }

    fn advance<const BACKWARDS: bool>(
        &self,
        _node: &NodeLists,
        scan: &mut Self::Scan,
        pushed: &mut Pushed,
        last: &mut Entry,
        entries: &mut Run<'_, BACKWARDS>,
        least: f64,
    ) -> Option<Entry> {
        let rest = entries.rest.as_slice();
        let (mut forwards, mut backwards) = (Run::new(rest), Run::new(rest));
        let found = if BACKWARDS {
            scan.advance_backwards(pushed, last, &mut backwards, least)
        } else {
            scan.advance(pushed, last, &mut forwards, least)
        };
        entries.rest = if BACKWARDS { backwards.rest } else { forwards.rest };
        found
    }

    #[inline]
    fn pushed_weight(pushed: &Pushed) -> u64 {
        pushed.weight
    }

    fn score(&self, _node: &NodeLists, scan: &Self::Scan, pushed: Pushed) -> f64 {
        scan.score(pushed)
    }

    fn may_score(&self, _node: &NodeLists, scan: &Self::Scan, pushed: Pushed, least: f64) -> bool {
        scan.may_score(pushed, least)
    }

    fn tolerance(&self, _node: &NodeLists, score: f64) -> f64 {
        self.rule.tolerance(score)
    }

    fn proof(&self, scan: &Self::Scan, pushed: Pushed) -> Proof {
        scan.proof(pushed)
    }

    fn compare(&self, _node: &NodeLists, a: &Proof, b: &Proof) -> Ordering {
        self.rule.compare(a, b)
    }
}

/// Small subtrees of the rules whose scores are squares.
impl Rough for Loaded<'_> {
    type Lanes = Components<InTwoDoubles>;
    const SIDE_BY_SIDE: bool = true;
    const ROUGH_FIRST: bool = true;

    fn is_served(&self) -> bool {
        self.rule.has_squares()
    }

    fn set_lanes(&self, node: &NodeLists, samples: &[u32], weights: &[u64], lanes: &mut Self::Lanes) -> Precision {
        self.rule.set_lanes(node, samples, weights, lanes)
    }

    fn pushed(&self, node: &NodeLists, scan: &mut Self::Scan, samples: &[u32]) -> Pushed {
        scan.push_few(node, samples)
    }

    fn write_row_value(&self, sample: u32, value: &mut [f64]) {
        self.write_value(&self.totals(&[sample]), &[sample], value);
    }
}

/// One order of categories per output, by a mean that the rule names. The best cut of such an order need not
/// be the best subset.
impl Ordered for Loaded<'_> {
    fn order(&self, order: usize) -> impl Fn(u32) -> u64 {
        let (numbers, stride) = (self.rule.numbers(), self.rule.n_means());
        move |sample| numbers.get(sample as usize * stride + order).map_or(0, |&number| above_zero(number))
    }
}

/// No bound of what a column can gain is known, so all columns are read.
impl Bounded for Loaded<'_> {
    type Spread = ();
    type Mean = ();
}
