//! The statistics, scores of cuts and values that every criterion computes from the samples of a node.

use std::cmp::Ordering;

use crate::data::{Entry, Run};

/// Statistics, scores and values of nodes, which every criterion has.
///
/// A scan tries the cuts of one column in one node: it pushes samples, one at a time, from one side
/// of the cut to the other, and asks for scores in between.
pub trait Statistics: Sync {
    /// The exact statistics of a set of samples, usually of a node.
    type Totals: Send + Sync;
    /// Buffers of a scan over a node's samples, reused from scan to scan.
    type Scan: Send;
    /// The running statistics of a scan: of the pushed samples, or of the pushed samples and the rest. Small,
    /// so that loops keep them in registers.
    type Pushed: Copy + Send;
    /// The integers from which [`compare`](Self::compare) computes the exact score of a candidate.
    /// Only candidates whose scores are too close to tell apart in `f64` need it.
    type Proof: Send;

    /// Whether [`score`](Self::score) forbids some cuts, by scoring them NaN.
    #[inline]
    fn forbids_cuts(&self) -> bool {
        false
    }
    /// Whether there is something to predict. If not, all cuts are equally good, and what a node predicts is
    /// the length of a path, to which the depth of the node is added.
    #[inline]
    fn has_target(&self) -> bool {
        true
    }
    /// Whether impurities do not say what a split gains, so that [`gain_of_split`](Self::gain_of_split)
    /// does. The impurity of a node is then 0 until the tree is whole, and what the splits from the node
    /// down gain after that, per weight.
    #[inline]
    fn splits_carry_gain(&self) -> bool {
        false
    }

    /// The statistics of `samples`. O(number of samples), up to a logarithm.
    fn totals(&self, samples: &[u32]) -> Self::Totals;
    /// The statistics of a node without the samples of one of its children.
    fn minus(&self, node: &Self::Totals, child: &Self::Totals) -> Self::Totals;
    /// The weight of a sample as an integer multiple of the target's unit of weight.
    fn sample_weight(&self, sample: u32) -> u64;
    /// The total weight, as an integer multiple of the target's unit of weight.
    fn weight(&self, totals: &Self::Totals) -> u64;
    /// Whether no split can improve the node.
    fn is_pure(&self, totals: &Self::Totals) -> bool;
    /// The impurity in the unit that users see, averaged over outputs: Gini impurity, entropy in
    /// bits, half Poisson deviance, or the unit of the target, squared for squared error.
    fn impurity(&self, totals: &Self::Totals) -> f64;
    /// The [`impurity`](Self::impurity) of a node that other samples fill than those that have chosen the
    /// splits. It may be one that splits forbid. The default is for criteria that forbid no nodes.
    #[inline]
    fn impurity_of_filled(&self, totals: &Self::Totals) -> f64 {
        self.impurity(totals)
    }
    /// The cost of a node: its weight times its impurity, summed over outputs. The unit may be any,
    /// if it is the same for all nodes.
    fn cost(&self, totals: &Self::Totals) -> f64;
    /// The gain of a split of a node, if [`splits_carry_gain`](Self::splits_carry_gain): in the weight and
    /// the unit that users see, so that gains of different nodes can be compared. `left` are the statistics
    /// of the left child. The default is for criteria whose impurities say it.
    fn gain_of_split(&self, _node: &Self::Totals, _left: &Self::Totals) -> f64 {
        0.0
    }
    /// The number of values per node: outputs, times the largest number of classes of an output.
    /// The default is for numbers.
    fn n_values(&self) -> usize {
        self.n_means()
    }
    /// Writes the prediction of a node with these samples: per output the class shares, padded with
    /// 0, or one number.
    fn write_value(&self, totals: &Self::Totals, samples: &[u32], value: &mut [f64]);

    /// How many predictions can be ordered, so that monotonic constraints may apply to them: one
    /// per output for numbers, one for two classes of one output, otherwise none.
    fn n_means(&self) -> usize;
    /// A prediction that can be ordered: the mean (or quantile) of an output, or the share of the
    /// second class. Not refined as [`write_value`](Self::write_value) may refine it.
    fn mean(&self, totals: &Self::Totals, output: usize) -> f64;
    /// The [`mean`](Self::mean) of the pushed samples and the mean of the rest.
    fn side_means(&self, node: &Self::Totals, scan: &Self::Scan, pushed: Self::Pushed, output: usize) -> [f64; 2];

    /// Makes the buffers of a scan. Call [`begin`](Self::begin) before each use.
    fn scan(&self) -> Self::Scan;
    /// Begins a scan of a column: no sample is pushed yet.
    fn begin(&self, node: &Self::Totals, scan: &mut Self::Scan) -> Self::Pushed;
    /// Announces, right after [`begin`](Self::begin), which samples will be pushed and in which order: those
    /// of `first`, and then of `rest`. A criterion whose statistics do not add up can then compute the losses
    /// of all cuts at once.
    ///
    /// Returns an upper bound of the scores of all these cuts. If the bound is below `floor`, the
    /// cuts may not have been prepared: the caller must give the column up.
    #[inline]
    fn foresee<const BACKWARDS: bool>(
        &self,
        _node: &Self::Totals,
        _scan: &mut Self::Scan,
        _first: &[Entry],
        _rest: &Run<'_, BACKWARDS>,
        _floor: f64,
    ) -> f64 {
        f64::INFINITY
    }
    /// Moves a sample of the node to the pushed side. O(1) per output.
    fn push(&self, node: &Self::Totals, scan: &mut Self::Scan, pushed: &mut Self::Pushed, sample: u32);
    /// Moves samples of the node to the pushed side, one after the other.
    #[inline]
    fn push_all(
        &self,
        node: &Self::Totals,
        scan: &mut Self::Scan,
        pushed: &mut Self::Pushed,
        samples: impl Iterator<Item = u32>,
    ) {
        samples.for_each(|sample| self.push(node, scan, pushed, sample));
    }
    /// Pushes entries until the cut before the next entry may score at least `least`. Returns that next
    /// entry, which is not pushed, or `None` after the last entry. `last` is the entry that was pushed
    /// last. Out of line, so that the loop keeps its state in registers.
    #[inline(never)]
    fn advance<const BACKWARDS: bool>(
        &self,
        node: &Self::Totals,
        scan: &mut Self::Scan,
        pushed: &mut Self::Pushed,
        last: &mut Entry,
        entries: &mut Run<'_, BACKWARDS>,
        least: f64,
    ) -> Option<Entry> {
        let may_score = |scan: &Self::Scan, pushed| self.may_score(node, scan, pushed, least);
        advance(scan, pushed, last, entries, may_score, |scan, pushed, sample| self.push(node, scan, pushed, sample))
    }
    /// The weight of the pushed samples, in the unit of [`weight`](Self::weight).
    fn pushed_weight(pushed: &Self::Pushed) -> u64;
    /// A score of the split between the pushed samples and the rest: the more the impurity falls,
    /// the higher the score. Both sides must have a weight above 0. Scores of different nodes
    /// cannot be compared. NaN if the cut is forbidden.
    fn score(&self, node: &Self::Totals, scan: &Self::Scan, pushed: Self::Pushed) -> f64;
    /// Whether [`score`](Self::score) may be at least `least`, which may be minus infinity. Never
    /// false if the score is that high; may be true if the score is lower. Cheaper than a score
    /// where the criterion can test without a division.
    #[inline]
    fn may_score(&self, node: &Self::Totals, scan: &Self::Scan, pushed: Self::Pushed, least: f64) -> bool {
        self.score(node, scan, pushed) >= least
    }
    /// An upper bound of the difference that rounding may cause between two scores of a node; `score` is the
    /// higher one. The default is for scores that come from exact integers by some eight roundings at most.
    #[inline]
    fn tolerance(&self, _node: &Self::Totals, score: f64) -> f64 {
        few_roundings(score)
    }
    /// The integers that decide the exact score. Cheap to make.
    fn proof(&self, scan: &Self::Scan, pushed: Self::Pushed) -> Self::Proof;
    /// The exact order of two candidates of one node, given their proofs; the greater one is the
    /// better split.
    fn compare(&self, node: &Self::Totals, a: &Self::Proof, b: &Self::Proof) -> Ordering;
}

/// The loop of [`Statistics::advance`], whatever the criterion.
#[inline(always)]
#[allow(clippy::inline_always, reason = "the body of functions that are out of line")]
pub(super) fn advance<S: ?Sized, P: Copy, const BACKWARDS: bool>(
    scan: &mut S,
    pushed: &mut P,
    last: &mut Entry,
    entries: &mut Run<'_, BACKWARDS>,
    may_score: impl Fn(&S, P) -> bool,
    push: impl Fn(&mut S, &mut P, u32),
) -> Option<Entry> {
    let (mut running, mut previous) = (*pushed, *last);
    let found = entries.find(|&next| {
        if next.rank() != previous.rank() && may_score(scan, running) {
            return true;
        }
        push(scan, &mut running, next.sample());
        previous = next;
        false
    });
    (*pushed, *last) = (running, previous);
    found
}

/// An upper bound of what some eight roundings change in a score that comes from exact integers.
#[inline]
pub(super) fn few_roundings(score: f64) -> f64 {
    score.abs() * (16.0 * f64::EPSILON)
}

/// Factor that lowers the right side where `s / w >= least` is tested as `s >= least * w`. The
/// rounding of either form is far below the difference, so the test is never wrongly false.
pub(super) const QUOTIENT_SLACK: f64 = 1.0 - 32.0 * f64::EPSILON;
