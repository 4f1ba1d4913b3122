//! What a criterion says of nodes and of cuts, behind a table of functions: [`Rule`] and [`Pass`].

use std::cmp::Ordering;
use std::sync::Arc;

use smallvec::SmallVec;

use super::sample_order::SampleOrder;
use super::{ListSum, NodeLists, NodeWeights};
use crate::criterion::small::{Components, InTwoDoubles, Precision};
use crate::criterion::statistics::{advance, few_roundings};
use crate::data::entry::samples_of;
use crate::data::{Entry, Run};

/// Sums over the pushed samples.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pushed {
    pub(super) weight: u64,
    /// The number of the samples, or the weight of their events.
    pub(super) count: u64,
    /// What else the rule adds up.
    pub(super) sums: [i128; 2],
}

/// The integers from which [`Rule::compare`] computes the exact score of a candidate.
pub type Proof = SmallVec<[u128; 3]>;

/// A criterion whose scans load their nodes, without its [`Pass`].
/// [`Statistics`](crate::criterion::Statistics) says what functions of the same name return.
pub trait Rule<'a>: Send + Sync {
    /// The orders of all samples, by number from 0 on; `None` after the last one. Each node has a list for
    /// each.
    fn order(&self, number: usize) -> Option<&SampleOrder>;
    /// What the rule keeps of the samples of a node, given their ranks in an order and their weight.
    fn sum_up(&self, _order: usize, _ranks: &[u32], _weight: u64) -> ListSum {
        ListSum::default()
    }

    fn forbids_cuts(&self) -> bool {
        false
    }
    fn has_target(&self) -> bool {
        true
    }
    fn splits_carry_gain(&self) -> bool {
        false
    }
    fn is_pure(&self, node: &NodeLists) -> bool;
    fn impurity(&self, node: &NodeLists) -> f64;
    fn cost(&self, node: &NodeLists) -> f64;
    fn gain_of_split(&self, _node: &NodeLists, _left: &NodeLists) -> f64 {
        0.0
    }
    fn n_means(&self) -> usize;
    fn mean(&self, node: &NodeLists, output: usize) -> f64;
    /// The numbers by whose means categories are put in order, [`n_means`](Self::n_means) for each sample;
    /// nothing if all categories are alike.
    fn numbers(&self) -> &'a [i64];
    fn tolerance(&self, score: f64) -> f64 {
        few_roundings(score)
    }
    fn compare(&self, a: &Proof, b: &Proof) -> Ordering;

    /// Whether scores are squares of sums over the weights of sides, so that [`set_lanes`](Self::set_lanes)
    /// serves small subtrees.
    fn has_squares(&self) -> bool {
        false
    }
    /// See [`Rough::set_lanes`](crate::criterion::small::Rough::set_lanes).
    fn set_lanes(
        &self,
        _node: &NodeLists,
        _samples: &[u32],
        _weights: &[u64],
        _lanes: &mut Components<InTwoDoubles>,
    ) -> Precision {
        Precision::Exact
    }

    /// Makes the buffers of a scan.
    fn pass(self: Arc<Self>, weights: NodeWeights<'a>) -> Box<dyn Pass + 'a>;
}

/// A scan of a column over a loaded node. All loops over samples are compiled in here, for each rule.
pub trait Pass: Send {
    /// Loads the node, unless the pass before had the same, and begins: no sample is pushed.
    fn begin(&mut self, node: &NodeLists);
    /// See [`Statistics::foresee`](crate::criterion::Statistics::foresee). The samples of the last of these
    /// slices will be pushed from its end.
    fn foresee(&mut self, _node: &NodeLists, _entries: [&[Entry]; 3], _floor: f64) -> f64 {
        f64::INFINITY
    }
    /// Moves a sample to the pushed side.
    fn push(&mut self, pushed: &mut Pushed, sample: u32);
    /// The score of the cut between the pushed samples and the rest.
    fn score(&self, pushed: Pushed) -> f64;
    /// Whether the score may be at least `least`.
    fn may_score(&self, pushed: Pushed, least: f64) -> bool {
        self.score(pushed) >= least
    }
    /// The integers that decide the exact score.
    fn proof(&self, pushed: Pushed) -> Proof;
    /// The mean of the pushed samples, and the mean of the rest.
    fn side_means(&self, node: &NodeLists, pushed: Pushed, output: usize) -> [f64; 2];

    /// Begins, and pushes a few samples of the node. No more will be pushed.
    fn push_few(&mut self, node: &NodeLists, samples: &[u32]) -> Pushed {
        let mut pushed = Pushed::default();
        self.begin(node);
        self.push_all(&mut pushed, samples);
        pushed
    }
    /// Pushes samples.
    fn push_all(&mut self, pushed: &mut Pushed, samples: &[u32]) {
        for &sample in samples {
            self.push(pushed, sample);
        }
    }
    /// See [`Statistics::advance`](crate::criterion::Statistics::advance).
    fn advance(
        &mut self,
        pushed: &mut Pushed,
        last: &mut Entry,
        rest: &mut Run<'_, false>,
        least: f64,
    ) -> Option<Entry> {
        advance(self, pushed, last, rest, |pass, pushed| pass.may_score(pushed, least), Self::push)
    }
    /// Like [`advance`](Self::advance), from the last entry on.
    fn advance_backwards(
        &mut self,
        pushed: &mut Pushed,
        last: &mut Entry,
        rest: &mut Run<'_, true>,
        least: f64,
    ) -> Option<Entry> {
        advance(self, pushed, last, rest, |pass, pushed| pass.may_score(pushed, least), Self::push)
    }
}

/// The samples of entries in the order in which they are pushed, see [`Pass::foresee`].
pub(super) fn pushed_in_order([first, forwards, backwards]: [&[Entry]; 3]) -> impl Iterator<Item = u32> + Clone {
    samples_of(first).chain(samples_of(forwards)).chain(samples_of(backwards).rev())
}
