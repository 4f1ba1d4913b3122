//! The best candidate so far, under the total order of candidates.

use std::cmp::Ordering;

use crate::criterion::Criterion;
use crate::rng::Permutation;
use crate::split::bar::Bar;
use crate::split::candidate::Candidate;
use crate::split::node::{Node, Search};

/// The candidate that is the best so far.
struct Holder<P> {
    candidate: Candidate,
    score: f64,
    proof: P,
    /// The position at which the node draws the feature; `None` until a tie asks for the position.
    position: Option<u32>,
}

/// The best candidate so far of one node.
pub(crate) struct Best<C: Criterion> {
    holder: Option<Holder<C::Proof>>,
    /// A candidate with a lower score cannot win. A candidate that ties with the best one is not
    /// below the floor.
    floor: f64,
    /// How much a column must be able to gain to be read. Only searches of sparse data have a bar.
    bar: Option<Bar<C>>,
    /// The best conceivable split of the node, which no candidate exceeds; `None` if it was not
    /// computed.
    conceivable: Option<C::Proof>,
    /// Whether features are offered in the order in which the node draws them. Then the feature
    /// that was offered first wins a tie.
    in_order: bool,
    /// A column whose entries weigh less in the node cannot win.
    least_weight: f64,
    /// The largest weight of a sample; only used with a bar.
    max_weight: f64,
    /// The position at which the node draws the feature whose cuts are offered, if that is known.
    position: Option<u32>,
}

impl<C: Criterion> Best<C> {
    /// No candidate yet, and no bar: every column may win, however few its entries are.
    pub fn new() -> Self {
        Self {
            holder: None,
            floor: f64::NEG_INFINITY,
            bar: None,
            conceivable: None,
            in_order: false,
            least_weight: 0.0,
            max_weight: 0.0,
            position: None,
        }
    }

    /// No candidate yet, with a bar. `drift` is the drift of the node's bounds, or 0 without
    /// bounds.
    pub fn with_bar(search: &Search<'_, C>, node: &Node<'_, C>, drift: f64) -> Self {
        let bar = Some(Bar::new(search.criterion, node.totals, drift));
        Self { bar, max_weight: search.max_weight as f64, ..Self::new() }
    }

    /// Says that features will be offered in the order in which the node draws them.
    #[must_use]
    pub fn in_order(self) -> Self {
        Self { in_order: true, ..self }
    }

    /// No candidate yet. No feature can have a better cut than `best_conceivable`, if given.
    /// `in_order` says that features will be offered in the order in which the node draws them.
    pub fn below(best_conceivable: Option<C::Proof>, in_order: bool) -> Self {
        Self { conceivable: best_conceivable, in_order, ..Self::new() }
    }

    /// The bar, which tells which columns may win; `None` in searches of dense data.
    pub fn bar(&self) -> Option<&Bar<C>> {
        self.bar.as_ref()
    }

    /// Whether a column may win if none of its cuts gains more than `bound`.
    pub fn admits(&self, bound: f64) -> bool {
        self.bar.as_ref().is_none_or(|bar| bar.admits(bound))
    }

    /// Whether the best candidate so far is as good as the best conceivable split, so that no other
    /// candidate has a higher score.
    pub fn is_final(&self, criterion: &C, node: &C::Totals) -> bool {
        match (&self.holder, &self.conceivable) {
            (Some(holder), Some(proof)) => criterion.compare(node, &holder.proof, proof) == Ordering::Equal,
            _ => false,
        }
    }

    /// Whether a sparse column may win that has at most this many entries in the node.
    #[inline]
    pub fn may_win_with(&self, n_entries: usize) -> bool {
        self.may_win_weighing(n_entries as f64 * self.max_weight)
    }

    /// Whether a sparse column may win whose entries weigh at most this much in the node.
    #[inline]
    pub fn may_win_weighing(&self, weight: f64) -> bool {
        weight >= self.least_weight
    }

    /// Says at which position the node draws the feature whose cuts are offered next; `None` if
    /// that is not known.
    #[inline]
    pub fn set_position(&mut self, position: Option<u32>) {
        self.position = position;
    }

    /// The position that was [set](Self::set_position) last.
    pub fn position(&self) -> Option<u32> {
        self.position
    }

    /// Raises the floor, the bar, and with it the least weight of a column to the level of a
    /// candidate with this score, which another worker may have found.
    pub fn follow(&mut self, criterion: &C, node: &C::Totals, score: f64) {
        let floor = score - criterion.tolerance(node, score);
        if floor > self.floor {
            self.floor = floor;
            if criterion.is_squared_distance()
                && let Some(bar) = &mut self.bar
            {
                bar.raise(criterion, node, score);
                self.least_weight = bar.least_weight() * (1.0 - 4.0 * f64::EPSILON);
            }
        }
    }

    pub fn candidate(self) -> Option<Candidate> {
        self.holder.map(|holder| holder.candidate)
    }

    /// The score of the best candidate; `None` if none was offered.
    pub fn score(&self) -> Option<f64> {
        self.holder.as_ref().map(|holder| holder.score)
    }

    /// The feature of the best candidate; `None` if none was offered.
    pub fn feature(&self) -> Option<u32> {
        self.holder.as_ref().map(|holder| holder.candidate.feature)
    }

    /// Whether a candidate with this score may win: the cheap test before [`offer`](Self::offer).
    #[inline]
    pub fn may_win(&self, score: f64) -> bool {
        score >= self.floor
    }

    /// The floor: a candidate with a lower score cannot win.
    #[inline]
    pub fn floor(&self) -> f64 {
        self.floor
    }

    /// Takes `candidate` if it is better than the best candidate so far. `scan` and `pushed` must
    /// be in the state of the candidate's cut, as the exact proof is made from them.
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
        self.consider(criterion, node, order, Holder { candidate, score, proof, position: self.position });
    }

    /// Takes the best candidate of another worker if it is better than the best candidate of this
    /// one.
    pub fn merge(&mut self, criterion: &C, node: &C::Totals, order: &Permutation, other: Self) {
        if let Some(holder) = other.holder {
            self.consider(criterion, node, order, holder);
        }
    }

    /// Takes the new holder if it is better: by score, or, where the scores lie within their
    /// tolerance, by exact proof, or, where the proofs are equal, by the tie rule.
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

/// The tie rule: whether `new` comes before `old` in the order of candidates, their exact scores
/// being equal.
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
