//! The columns of one large node spread over threads: the buffers of the workers, and what they tell each other.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::best::Best;
use super::node::NodeSearch;
use crate::criterion::Criterion;
use crate::error::Result;
use crate::num::SortKey;
use crate::tuning::tuned;

tuned! {
    /// Work, in nanoseconds, from which the features of a node are spread over threads: some ten times what it costs to wake
    /// the threads (bench `sweep`).
    pub(crate) fn parallel_from() -> f64 = 200_000.0;
}

/// Buffers that no worker uses. They are kept from node to node, as fresh memory costs more than the search of a column.
#[derive(Debug)]
pub(crate) struct Spare<T>(Mutex<Vec<T>>);

impl<T> Default for Spare<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Spare<T> {
    /// Takes buffers out, or makes them.
    pub fn lend(&self, make: impl FnOnce() -> T) -> T {
        let spare = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        spare.unwrap_or_else(make)
    }

    /// Takes buffers back.
    pub fn take_back(&self, buffers: T) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(buffers);
    }
}

/// The scratch of scans: that of the thread which searches the node, and that of threads which help.
pub(crate) struct Scans<C: Criterion> {
    pub own: C::Scan,
    spare: Spare<C::Scan>,
}

impl<C: Criterion> Scans<C> {
    pub fn new(criterion: &C) -> Self {
        Self { own: criterion.scan(), spare: Spare::default() }
    }
}

/// The highest score that any worker has found. Whether a worker hears of it in time costs time and nothing else.
#[derive(Default)]
pub(crate) struct Lead(AtomicU64);

impl Lead {
    fn score(&self) -> Option<f64> {
        let key = self.0.load(Ordering::Relaxed);
        (key > 0).then(|| f64::from_key(key))
    }

    /// Keys have the order of scores, and 0 is the key of none.
    fn raise(&self, score: f64) {
        self.0.fetch_max(score.key(), Ordering::Relaxed);
    }

    /// Tells a worker what others have found, and others what this worker has found.
    pub fn exchange<C: Criterion>(&self, at: NodeSearch<'_, C>, best: &mut Best<C>) {
        if let Some(score) = best.score() {
            self.raise(score);
        }
        if let Some(score) = self.score() {
            best.follow(at.search.criterion, at.node.totals, score);
        }
    }
}

/// Runs jobs over the columns of a node on all threads, each with the scratch of a scan. Parts are in the order of the jobs.
pub(crate) fn spread<C: Criterion, J: Send, P: Send>(
    at: NodeSearch<'_, C>,
    jobs: Vec<J>,
    scans: &Scans<C>,
    run: impl Fn(J, &mut C::Scan, &Lead) -> Result<P> + Sync,
) -> Result<Vec<P>>
where
    C::Scan: Send,
{
    let (lead, spare) = (Lead::default(), &scans.spare);
    at.search.runtime.map(jobs, |job| {
        let mut scan = spare.lend(|| at.search.criterion.scan());
        let part = run(job, &mut scan, &lead)?;
        spare.take_back(scan);
        Ok(part)
    })
}
