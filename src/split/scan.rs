//! The best threshold of a column: one pass over its entries, inwards from both ends.
//!
//! In the order of values, the rows with the column's common value are one run. The entries below
//! this run are pushed from the left; then, anew, the entries above the run are pushed from the
//! right. So every cut is visited and the run is never touched, as the score of a cut does not
//! depend on which side was pushed. If the node has missing values in the column, a second pass
//! like this one has them on the left. O(entries).

use crate::criterion::Criterion;
use crate::data::entry::samples_of;
use crate::data::{Columns, Entry, Run};
use crate::rng::Side;
use crate::split::best::Best;
use crate::split::candidate::Candidate;
use crate::split::node::{NodeColumn, NodeSearch};

/// Offers every cut of a column with sorted entries. Returns the highest score of a legal cut, or
/// minus infinity if no cut is legal; `None` if the column does not vary.
pub(crate) fn best_cut<C: Criterion>(
    at: NodeSearch<'_, C>,
    column: NodeColumn<'_>,
    scan: &mut C::Scan,
    best: &mut Best<C>,
) -> Option<f64> {
    debug_assert!(column.entries.is_sorted());
    debug_assert_eq!(column.entries.len() + column.n_common, at.node.samples.len());
    let entries = column.entries;
    let (first, last) = (entries.first()?, entries.last()?);
    if column.n_common == 0 && first.rank() == last.rank() {
        return None;
    }
    let missing_rank = at.search.data.missing_rank(column.feature);
    let is_common_missing = column.n_common > 0 && missing_rank == Some(column.common_rank);
    let has_missing = is_common_missing || missing_rank == Some(last.rank());
    let mut pass =
        Pass { at, feature: column.feature, side: Side::Left, missing: has_missing.then_some(Side::Right), order: 0 };
    let mut highest = pass.run_inwards(column, &[], scan, best);
    if has_missing {
        pass.missing = Some(Side::Left);
        if is_common_missing {
            // The common rows have missing values, and go left with all rows that are not pushed. So all
            // values are pushed from the right.
            pass.side = Side::Right;
            let start = PassStart::of(at, scan);
            highest = highest.max(pass.run(Run::<true>::new(entries), start, None, scan, best));
        } else {
            let n_values = entries.partition_point(|entry| Some(entry.rank()) < missing_rank);
            let (values, missing) = entries.split_at(n_values);
            let values = NodeColumn { entries: values, ..column };
            highest = highest.max(pass.run_inwards(values, missing, scan, best));
        }
    }
    Some(highest)
}

/// A pass over the entries at one end of a column.
pub(crate) struct Pass<'a, C: Criterion> {
    pub at: NodeSearch<'a, C>,
    pub feature: u32,
    /// The end of the column at which the pass begins: the side of a cut whose rows are pushed.
    pub side: Side,
    /// The side to which the candidates send missing values; `None` if the node has none.
    pub missing: Option<Side>,
    /// The number of the order of categories; 0 for a numerical feature.
    pub order: u32,
}

/// The state of a scan at the start of a pass, with the rows that are pushed before the first cut is offered.
pub(crate) struct PassStart<'e, C: Criterion> {
    /// The statistics of the rows that are already pushed.
    pub pushed: C::Pushed,
    /// The number of rows that are already pushed. `None` if that number is not known: then all
    /// cuts must be legal, and whoever takes the winner counts its rows.
    pub n_pushed: Option<usize>,
    /// Entries that the pass still has to push before its own.
    pub first: &'e [Entry],
}

impl<C: Criterion> PassStart<'_, C> {
    /// Begins a scan: nothing is pushed.
    pub fn of(at: NodeSearch<'_, C>, scan: &mut C::Scan) -> Self {
        Self { pushed: at.search.criterion.begin(at.node.totals, scan), n_pushed: Some(0), first: &[] }
    }
}

impl<C: Criterion> Pass<'_, C> {
    /// Offers all cuts between the values of a column with sorted entries. The entries `missing`,
    /// which are not among the entries of `column`, are on the left of every cut. Returns the
    /// highest score of a legal cut, or minus infinity if no cut is legal.
    pub fn run_inwards(
        &mut self,
        column: NodeColumn<'_>,
        missing: &[Entry],
        scan: &mut C::Scan,
        best: &mut Best<C>,
    ) -> f64 {
        let NodeColumn { entries, common_rank, .. } = column;
        let (low, high, end) = if column.n_common == 0 {
            (entries, &[][..], None)
        } else {
            let (low, high) = entries.split_at(entries.partition_point(|entry| entry.rank() < common_rank));
            (low, high, Some(common_rank))
        };
        let mut highest = f64::NEG_INFINITY;
        if !low.is_empty() {
            self.side = Side::Left;
            let start = PassStart { first: missing, ..PassStart::of(self.at, scan) };
            highest = self.run(Run::<false>::new(low), start, end, scan, best);
        }
        if !high.is_empty() {
            self.side = Side::Right;
            let start = PassStart::of(self.at, scan);
            highest = highest.max(self.run(Run::<true>::new(high), start, end, scan, best));
        }
        highest
    }

    /// Pushes `entries` and offers the cut after each run of equal ranks. `end` is the rank that
    /// follows the last run; if `end` is `None`, there is no cut after the last run. Returns the
    /// highest score of a legal cut; or, if the criterion foresees that no cut can win, a score
    /// that no cut exceeds. In dense data, cuts that cannot be the best of the node are left out.
    pub fn run<const BACKWARDS: bool>(
        &self,
        mut entries: Run<'_, BACKWARDS>,
        PassStart { mut pushed, n_pushed, first }: PassStart<'_, C>,
        end: Option<u32>,
        scan: &mut C::Scan,
        best: &mut Best<C>,
    ) -> f64 {
        let NodeSearch { search, node, order } = self.at;
        let (criterion, totals) = (search.criterion, node.totals);
        let is_loose = n_pushed.is_none();
        let n_entries = n_pushed.unwrap_or(0) + first.len() + entries.len();
        // `foresee` computes the losses of cuts. Limits need the predictions of cuts too, so
        // nothing is foreseen where predictions are limited.
        if node.limits.is_none() {
            let floor = best.floor();
            let most = criterion.foresee(totals, scan, first, &entries, floor);
            if most < floor {
                return most;
            }
        }
        criterion.push_all(totals, scan, &mut pushed, samples_of(first));
        let has_bounds = matches!(search.data.columns(), Columns::Sparse(_));
        let mut highest = f64::NEG_INFINITY;
        let Some(mut last) = entries.next() else { return highest };
        criterion.push(totals, scan, &mut pushed, last.sample());
        loop {
            // A cut is only offered if it may be the best of the node, or of its column where the
            // column's bound is made from it: few are.
            let least = if has_bounds { highest.min(best.floor()) } else { best.floor() };
            let next = criterion.advance(totals, scan, &mut pushed, &mut last, &mut entries, least);
            let Some(next_rank) = next.map(Entry::rank).or(end) else { return highest };
            let n_pushed = n_entries - entries.len() - usize::from(next.is_some());
            if is_loose || search.is_legal(node, self.feature, (self.side, n_pushed), (scan, pushed)) {
                let score = criterion.score(totals, scan, pushed);
                highest = highest.max(score);
                if best.may_win(score) {
                    let candidate = Candidate { is_loose, ..self.candidate(last.rank(), next_rank, n_pushed) };
                    best.offer(criterion, totals, order, (scan, pushed), score, candidate);
                }
            }
            let Some(next) = next else { return highest };
            criterion.push(totals, scan, &mut pushed, next.sample());
            last = next;
        }
    }

    /// The candidate whose cut is between the rank that was pushed last and the rank that comes
    /// next.
    fn candidate(&self, pushed: u32, next: u32, n_pushed: usize) -> Candidate {
        let (last_left, first_right, n_left) = match self.side {
            Side::Left => (pushed, next, n_pushed),
            Side::Right => (next, pushed, self.at.node.samples.len() - n_pushed),
        };
        let between = Candidate::between(self.feature, last_left, first_right, n_left);
        Candidate { missing: self.missing, order: self.order, ..between }
    }
}
