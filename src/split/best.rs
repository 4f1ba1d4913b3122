//! The best candidate so far, under the total order of candidates.

use std::cmp::Ordering;

use crate::criterion::Criterion;
use crate::rng::Permutation;
use crate::split::bar::Bar;
use crate::split::candidate::Candidate;
use crate::split::node::{Node, Search};

struct Holder<P> {
    candidate: Candidate,
    score: f64,
    proof: P,
    /// The position at which the feature is drawn, once a tie has asked for it.
    position: Option<u32>,
}

/// The best candidate so far of one node.
pub(crate) struct Best<C: Criterion> {
    holder: Option<Holder<C::Proof>>,
    /// Scores below cannot win; ties are within.
    floor: f64,
    /// What columns must gain, where that is asked.
    bar: Option<Bar<C>>,
    /// No candidate can better this one.
    summit: Option<C::Proof>,
    /// Whether features come in the order of the draw, so that the earlier wins a tie.
    in_order: bool,
    /// Columns with fewer entries cannot win.
    least_entries: f64,
    max_weight: f64,
}

impl<C: Criterion> Best<C> {
    /// None yet; no column will be said to be too sparse to win.
    pub fn new() -> Self {
        Self {
            holder: None,
            floor: f64::NEG_INFINITY,
            bar: None,
            summit: None,
            in_order: false,
            least_entries: 0.0,
            max_weight: 0.0,
        }
    }

    /// None yet. `drift` is that of the node's bounds, if it has any.
    pub fn with_bar(search: &Search<'_, C>, node: &Node<'_, C>, drift: f64) -> Self {
        let bar = Some(Bar::new(search.criterion, node.totals, drift));
        Self { bar, max_weight: search.max_weight as f64, ..Self::new() }
    }

    /// None yet; no feature can have a better cut than `summit`. `in_order` says that features will be offered in the order of
    /// the draw.
    pub fn below(summit: Option<C::Proof>, in_order: bool) -> Self {
        Self { summit, in_order, ..Self::new() }
    }

    /// What tells which columns may win, if asked for.
    pub fn bar(&self) -> Option<&Bar<C>> {
        self.bar.as_ref()
    }

    /// Whether a column that gains this at most may win.
    pub fn admits(&self, bound: f64) -> bool {
        self.bar.as_ref().is_none_or(|bar| bar.admits(bound))
    }

    /// Whether the best candidate cannot be bettered.
    pub fn is_final(&self, criterion: &C, node: &C::Totals) -> bool {
        match (&self.holder, &self.summit) {
            (Some(holder), Some(summit)) => criterion.compare(node, &holder.proof, summit) == Ordering::Equal,
            _ => false,
        }
    }

    /// Whether a sparse column may win that has this many entries in the node, or at most as many.
    #[inline]
    pub fn may_win_with(&self, n_entries: usize) -> bool {
        n_entries as f64 >= self.least_entries
    }

    /// Raises floor and bar to those of another worker, whose best candidate has this score.
    pub fn follow(&mut self, criterion: &C, node: &C::Totals, score: f64) {
        let floor = score - criterion.tolerance(node, score);
        if floor > self.floor {
            self.floor = floor;
            self.raise(criterion, node, score);
        }
    }

    fn raise(&mut self, criterion: &C, node: &C::Totals, score: f64) {
        if C::IS_SQUARED_DISTANCE
            && let Some(bar) = &mut self.bar
        {
            bar.raise(criterion, node, score);
            self.least_entries = bar.least_weight() / self.max_weight * (1.0 - f64::EPSILON);
        }
    }

    pub fn candidate(self) -> Option<Candidate> {
        self.holder.map(|holder| holder.candidate)
    }

    /// The score of the best candidate.
    pub fn score(&self) -> Option<f64> {
        self.holder.as_ref().map(|holder| holder.score)
    }

    /// The feature of the best candidate.
    pub fn feature(&self) -> Option<u32> {
        self.holder.as_ref().map(|holder| holder.candidate.feature)
    }

    /// Whether a candidate with this score may win: the cheap test before [`offer`](Self::offer).
    #[inline]
    pub fn may_win(&self, score: f64) -> bool {
        score >= self.floor
    }

    /// Scores below cannot win.
    #[inline]
    pub fn floor(&self) -> f64 {
        self.floor
    }

    /// Takes the candidate of the scan's present state if it is better.
    #[cold]
    pub fn offer(
        &mut self,
        criterion: &C,
        node: &C::Totals,
        order: &Permutation,
        (scan, pushed): (&C::Scan, C::Pushed),
        score: f64,
        candidate: Candidate,
    ) {
        let proof = criterion.proof(scan, pushed);
        self.consider(criterion, node, order, Holder { candidate, score, proof, position: None });
    }

    /// Takes the other's candidate if it is better.
    pub fn merge(&mut self, criterion: &C, node: &C::Totals, order: &Permutation, other: Self) {
        if let Some(holder) = other.holder {
            self.consider(criterion, node, order, holder);
        }
    }

    /// Takes the new holder if it is better.
    fn consider(&mut self, criterion: &C, node: &C::Totals, order: &Permutation, mut new: Holder<C::Proof>) {
        let wins = match &mut self.holder {
            None => true,
            Some(old) => {
                let tolerance = criterion.tolerance(node, new.score.max(old.score));
                if (new.score - old.score).abs() > tolerance {
                    new.score > old.score
                } else {
                    match criterion.compare(node, &new.proof, &old.proof) {
                        Ordering::Greater => true,
                        Ordering::Less => false,
                        Ordering::Equal => precedes(order, self.in_order, &mut new, old),
                    }
                }
            }
        };
        if wins {
            self.follow(criterion, node, new.score);
            self.holder = Some(new);
        }
    }
}

/// The tie rule.
fn precedes<P>(order: &Permutation, in_order: bool, new: &mut Holder<P>, old: &mut Holder<P>) -> bool {
    if new.candidate.feature == old.candidate.feature {
        let place = |candidate: &Candidate| (candidate.missing_go_left(), candidate.order, candidate.last_left);
        return place(&new.candidate) < place(&old.candidate);
    }
    if in_order {
        return false;
    }
    let position = |holder: &mut Holder<P>| -> u32 {
        *holder.position.get_or_insert_with(|| order.position(holder.candidate.feature))
    };
    position(new) < position(old)
}
