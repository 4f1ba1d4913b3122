//! The best threshold of a column: one pass over its entries, inwards from both ends.
//!
//! The rows with the column's common value are one run in the middle. Pushing the entries below it from the left, and
//! then those above it from the right, visits every cut without ever touching the run: a score does not care which side
//! was pushed. O(entries).

use super::best::{Best, Candidate, Cut};
use super::{Node, NodeColumn, Search};
use crate::criterion::Criterion;
use crate::intersect::Entry;
use crate::rng::{Permutation, Side};

/// Offers every cut of a column with sorted entries. Returns the highest score of a legal cut, minus infinity if none
/// is legal; nothing if the column does not vary.
pub(super) fn best_cut<C: Criterion>(
    search: &Search<'_, C>,
    node: &Node<'_, C>,
    order: &Permutation,
    column: NodeColumn<'_>,
    scan: &mut C::Scan,
    best: &mut Best<C>,
) -> Option<f64> {
    debug_assert!(column.entries.is_sorted());
    debug_assert_eq!(column.entries.len() + column.n_common, node.samples.len());
    let entries = column.entries;
    let (first, last) = (entries.first()?, entries.last()?);
    let mut highest = f64::NEG_INFINITY;
    if column.n_common == 0 {
        if first.rank() == last.rank() {
            return None;
        }
        let pass = Pass { search, node, order, feature: column.feature, side: Side::Left };
        highest = pass.run(entries.iter(), None, scan, best);
    } else {
        let common = column.common_rank;
        let (low, high) = entries.split_at(entries.partition_point(|entry| entry.rank() < common));
        let pass = |side| Pass { search, node, order, feature: column.feature, side };
        if !low.is_empty() {
            highest = pass(Side::Left).run(low.iter(), Some(common), scan, best);
        }
        if !high.is_empty() {
            highest = highest.max(pass(Side::Right).run(high.iter().rev(), Some(common), scan, best));
        }
    }
    Some(highest)
}

/// A pass over one end of a column.
struct Pass<'a, C: Criterion> {
    search: &'a Search<'a, C>,
    node: &'a Node<'a, C>,
    order: &'a Permutation,
    feature: u32,
    /// The end at which the pass begins.
    side: Side,
}

impl<C: Criterion> Pass<'_, C> {
    /// Pushes `entries` and offers the cut after each run of equal ranks; the last run is followed by `end`, or is
    /// never pushed. Returns the highest score.
    fn run<'e>(
        &self,
        mut entries: impl Iterator<Item = &'e Entry>,
        end: Option<u32>,
        scan: &mut C::Scan,
        best: &mut Best<C>,
    ) -> f64 {
        let (criterion, node) = (self.search.criterion, self.node);
        let mut pushed = criterion.begin(node.totals, scan);
        let mut highest = f64::NEG_INFINITY;
        let mut n_pushed = 0;
        let Some(mut entry) = entries.next() else { return highest };
        loop {
            criterion.push(node.totals, scan, &mut pushed, entry.sample());
            n_pushed += 1;
            let next_entry = entries.next();
            let Some(next) = next_entry.map(|next| next.rank()).or(end) else { return highest };
            if next != entry.rank() && self.search.is_legal(node, n_pushed, C::pushed_weight(&pushed)) {
                let score = criterion.score(node.totals, scan, pushed);
                // One test for the two below: both are rare.
                if score > highest || best.may_win(score) {
                    highest = highest.max(score);
                    if best.may_win(score) {
                        let candidate = self.candidate(entry.rank(), next, n_pushed);
                        best.offer(criterion, node.totals, self.order, (scan, pushed), score, candidate);
                    }
                }
            }
            match next_entry {
                Some(next) => entry = next,
                None => return highest,
            }
        }
    }

    /// The cut between the pushed rank and the next.
    fn candidate(&self, pushed: u32, next: u32, n_pushed: usize) -> Candidate {
        let (last_left, first_right, n_left) = match self.side {
            Side::Left => (pushed, next, n_pushed),
            Side::Right => (next, pushed, self.node.samples.len() - n_pushed),
        };
        Candidate { feature: self.feature, last_left, cut: Cut::Before(first_right), n_left }
    }
}
