//! The search of a node that has bounds of its columns: columns are read in the order of falling
//! bounds, until no other column can win.

use crate::criterion::Criterion;
use crate::data::Entry;
use crate::data::SparseColumns;
use crate::error::Result;
use crate::params::Splitter;
use crate::split::best::Best;
use crate::split::node::{NodeColumn, NodeSearch, Outcome};
use crate::split::sparse::heritage::KnownColumns;
use crate::split::sparse::intersect::{ValueOrdered, by_bitmap};
use crate::split::sparse::scratch::{Effort, SearchScratch};
use crate::split::spread::{Scans, parallel_from, spread};

/// The cost of reading and scanning one entry of a column, in nanoseconds (benches `intersect`,
/// `scan`).
const ENTRY_COST: f64 = 2.5;
/// How many jobs there are per thread. The most promising columns are spread over all jobs.
const JOBS_PER_THREAD: usize = 4;

/// The search of one node.
struct BoundSearch<'a, C: Criterion> {
    at: NodeSearch<'a, C>,
    data: &'a SparseColumns,
    /// The columns of the node and their bounds.
    known: &'a KnownColumns<C>,
}

/// The findings of one worker.
struct Findings<C: Criterion> {
    best: Best<C>,
    /// The slots of the columns that were read, and what each has given.
    read: Vec<(u32, Outcome)>,
}

impl<C: Criterion> BoundSearch<'_, C> {
    fn nothing_found(&self) -> Findings<C> {
        Findings { best: Best::with_bar(self.at.search, self.at.node, self.known.bounds.drift()), read: Vec::new() }
    }

    /// Reads the column of a slot and offers its cuts.
    fn read(&self, slot: u32, scan: &mut C::Scan, entries: &mut Vec<Entry>, findings: &mut Findings<C>) {
        let column = self.known.column(self.data, slot);
        let common_rank = column.zero_rank();
        let entries = match column {
            ValueOrdered::Copied { entries, .. } if self.known.bounds.is_whole(slot) => entries,
            column => by_bitmap(column, &self.known.members, entries),
        };
        let feature = self.known.feature(self.data, slot);
        let column = NodeColumn::new(feature, entries, self.at.node.samples.len(), common_rank);
        let outcome = self.at.evaluate(column, scan, &mut findings.best);
        findings.read.push((slot, outcome));
    }

    /// Reads columns, given by bound and slot, until a column cannot win. The columns must be in
    /// the order of falling bounds. `exchange` is called before each column, to raise the bar to
    /// what other workers have found.
    fn read_all(
        &self,
        slots: impl Iterator<Item = (f64, u32)>,
        scan: &mut C::Scan,
        entries: &mut Vec<Entry>,
        findings: &mut Findings<C>,
        exchange: impl Fn(&mut Best<C>),
    ) -> Result<()> {
        for (bound, slot) in slots {
            exchange(&mut findings.best);
            if !findings.best.admits(bound) {
                break;
            }
            self.at.search.runtime.check_interrupt()?;
            self.read(slot, scan, entries, findings);
        }
        Ok(())
    }

    /// Does what [`read_all`](Self::read_all) does, on all threads if there is much work. `slots`
    /// are in the order of falling bounds.
    fn read_spread(
        &self,
        slots: &[(f64, u32)],
        scans: &mut Scans<C>,
        entries: &mut Vec<Entry>,
        findings: &mut Findings<C>,
    ) -> Result<()> {
        let n_threads = self.at.search.runtime.n_threads();
        let length = |slot| self.known.bounds.weight(slot).min(self.at.node.samples.len() as u64);
        let work = || slots.iter().map(|&(_, slot)| length(slot) as f64 * ENTRY_COST).sum::<f64>();
        if n_threads == 1 || slots.len() < n_threads || work() < parallel_from() {
            return self.read_all(slots.iter().copied(), &mut scans.own, entries, findings, |_| ());
        }
        let n_jobs = (n_threads * JOBS_PER_THREAD).min(slots.len());
        let so_far = findings.best.score();
        let parts = spread(self.at, (0..n_jobs).collect(), scans, |job, scan, lead| {
            let mut part = self.nothing_found();
            if let Some(score) = so_far {
                part.best.follow(self.at.search.criterion, self.at.node.totals, score);
            }
            let slots = slots.iter().skip(job).step_by(n_jobs).copied();
            self.read_all(slots, scan, &mut Vec::new(), &mut part, |best| lead.exchange(self.at, best))?;
            Ok(part)
        })?;
        for part in parts {
            findings.best.merge(self.at.search.criterion, self.at.node.totals, self.at.order, part.best);
            findings.read.extend(part.read);
        }
        Ok(())
    }
}

/// Finds the best split of a node that draws all features, over the columns `known`. Updates the
/// bounds of the columns that were read. The leader is read first, so that the bar is high at once.
pub(crate) fn best_split<C: Criterion>(
    at: NodeSearch<'_, C>,
    data: &SparseColumns,
    known: &mut KnownColumns<C>,
    scans: &mut Scans<C>,
    scratch: &mut SearchScratch,
) -> Result<Best<C>> {
    let NodeSearch { search, node, .. } = at;
    let reader = BoundSearch { at, data, known };
    let SearchScratch { entries, candidates, effort, .. } = scratch;
    candidates.clear();
    let mut findings = reader.nothing_found();
    if let Some(leader) = known.leader {
        reader.read(leader, &mut scans.own, entries, &mut findings);
    }
    if let Some(bar) = findings.best.bar() {
        known.bounds.candidates(bar, |slot, bound| {
            if Some(slot) != known.leader {
                candidates.push((bound, slot));
            }
        });
    }
    sort_by_bound(candidates);
    reader.read_spread(candidates, scans, entries, &mut findings)?;
    let Findings { best, read, .. } = findings;
    *effort += Effort { n_columns: known.bounds.n_columns() as u64, n_read: read.len() as u64 };
    if search.params.splitter == Splitter::Best {
        let (criterion, totals) = (search.criterion, node.totals);
        let weight = criterion.weight(totals) as f64;
        let winner = best.feature();
        let mut lead = f64::NEG_INFINITY;
        known.leader = None;
        for (slot, outcome) in read {
            let gain = match outcome {
                Outcome::Hopeless => continue,
                Outcome::Highest(score) if score > f64::NEG_INFINITY => {
                    criterion.gain(totals, score + criterion.tolerance(totals, score))
                }
                // A column that does not vary in a node, or has no legal cut there, gains nothing
                // in the node's descendants either.
                Outcome::Highest(_) | Outcome::Constant => 0.0,
            };
            known.bounds.remember(slot, gain, weight);
            if gain > lead && Some(known.feature(data, slot)) != winner {
                lead = gain;
                known.leader = Some(slot);
            }
        }
    }
    Ok(best)
}

/// Sorts columns by their bounds, the highest first. Compiled once, not for each criterion.
fn sort_by_bound(candidates: &mut [(f64, u32)]) {
    candidates.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
}
