//! The columns of one large node are spread over threads. This file has the buffers of the workers,
//! and the score by which each worker learns what the others have found.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::best::Best;
use super::node::NodeSearch;
use crate::criterion::Criterion;
use crate::error::Result;
use crate::num::SortKey;
use crate::tuning::tuned;

tuned! {
    /// From this much work on, in nanoseconds, the features of a node are spread over threads: some
    /// ten times the cost of waking the threads (bench `sweep`).
    pub(crate) fn parallel_from() -> f64 = 200_000.0;
}

/// Buffers that no worker uses at present. They are kept from node to node, because fresh memory
/// costs more than the search of a column.
#[derive(Debug)]
pub(crate) struct Spare<T>(Mutex<Vec<T>>);

impl<T> Default for Spare<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Spare<T> {
    /// Hands out spare buffers, or new ones if none are spare.
    pub fn lend(&self, make: impl FnOnce() -> T) -> T {
        let spare = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        spare.unwrap_or_else(make)
    }

    /// Takes buffers back, for the next call of [`lend`](Self::lend).
    pub fn take_back(&self, buffers: T) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(buffers);
    }
}

/// The scratch of scans: one for the thread that searches the node, and spare ones for threads that
/// help.
pub(crate) struct Scans<C: Criterion> {
    pub own: C::Scan,
    spare: Spare<C::Scan>,
}

impl<C: Criterion> Scans<C> {
    pub fn new(criterion: &C) -> Self {
        Self { own: criterion.scan(), spare: Spare::default() }
    }
}

/// The highest score that any worker has found so far, as a sort key, which has the order of the
/// scores; 0, which is the key of no score, if no worker has found a candidate. A worker that
/// learns of this score too late loses time, but finds the same split.
#[derive(Default)]
pub(crate) struct Lead(AtomicU64);

impl Lead {
    /// Tells the other workers the best score of this worker, and this worker the highest score of
    /// all.
    pub fn exchange<C: Criterion>(&self, at: NodeSearch<'_, C>, best: &mut Best<C>) {
        if let Some(score) = best.score() {
            self.0.fetch_max(score.key(), Ordering::Relaxed);
        }
        let key = self.0.load(Ordering::Relaxed);
        if key > 0 {
            best.follow(at.search.criterion, at.node.totals, f64::from_key(key));
        }
    }
}

/// Runs jobs over the columns of a node on all threads; each job gets the scratch of a scan. The
/// results are in the order of the jobs.
pub(crate) fn spread<C: Criterion, J: Send, P: Send>(
    at: NodeSearch<'_, C>,
    jobs: Vec<J>,
    scans: &Scans<C>,
    run: impl Fn(J, &mut C::Scan, &Lead) -> Result<P> + Sync,
) -> Result<Vec<P>> {
    let (lead, spare) = (Lead::default(), &scans.spare);
    at.search.runtime.map(jobs, |job| {
        let mut scan = spare.lend(|| at.search.criterion.scan());
        let part = run(job, &mut scan, &lead)?;
        spare.take_back(scan);
        Ok(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_made_once_per_worker() {
        let spare = Spare::default();
        let mut n_made = 0;
        for job in 0..5 {
            let mut buffers: Vec<u32> = spare.lend(|| {
                n_made += 1;
                Vec::new()
            });
            assert_eq!(buffers.len(), job);
            buffers.push(7);
            spare.take_back(buffers);
        }
        assert_eq!(n_made, 1);
    }
}
