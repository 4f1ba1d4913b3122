//! The runtime of one call: its threads, its stop flag, and the count of finished items of work.
//!
//! With one thread, or with one item of work, no pool is made. A pool lives as long as the call, so
//! a process that forks between two calls finds no dead threads. Results are collected in the order
//! of the items, so they do not depend on the schedule.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rayon::prelude::*;

use crate::error::{Error, Result};

/// The threads and the stop flag of one call.
#[derive(Debug)]
pub struct Runtime<'a> {
    n_threads: usize,
    pool: OnceLock<rayon::ThreadPool>,
    stop: &'a AtomicBool,
    done: Option<&'a AtomicUsize>,
}

impl<'a> Runtime<'a> {
    /// A runtime of `n_threads` threads. Calls on it end with [`Error::Interrupted`] soon after
    /// `stop` becomes true.
    pub fn new(n_threads: usize, stop: &'a AtomicBool) -> Self {
        Self { n_threads: n_threads.max(1), pool: OnceLock::new(), stop, done: None }
    }

    /// Makes the runtime count finished items of work in `done`, where another thread may watch
    /// them.
    pub fn counting(self, done: &'a AtomicUsize) -> Self {
        Self { done: Some(done), ..self }
    }

    /// Counts one more finished item of work.
    pub fn advance(&self) {
        if let Some(done) = self.done {
            done.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Number of threads that work is spread over, at least 1.
    pub fn n_threads(&self) -> usize {
        self.n_threads
    }

    /// A runtime of one thread with the stop flag of this one, for work inside an item of
    /// [`map`](Self::map). It counts no items.
    pub fn serial(&self) -> Self {
        Self::new(1, self.stop)
    }

    /// Fails if the stop flag is raised. Cheap: one relaxed load.
    #[inline]
    pub fn check_interrupt(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Calls `f` for each item, spread over the threads, and returns the results in the order of
    /// the items. Items should be worth a task each: a thread without work takes over any item that
    /// has not begun.
    pub fn map<T: Send, R: Send>(&self, items: Vec<T>, f: impl Fn(T) -> Result<R> + Sync) -> Result<Vec<R>> {
        if self.n_threads == 1 || items.len() <= 1 {
            return items.into_iter().map(f).collect();
        }
        self.pool()?.install(|| items.into_par_iter().with_max_len(1).map(&f).collect())
    }

    /// Calls `f` on one of the threads, with a scope in which `f` can spawn tasks for all threads.
    /// Returns when all of these tasks are done.
    pub fn scope<'s, R: Send>(&self, f: impl FnOnce(&rayon::Scope<'s>) -> R + Send) -> Result<R> {
        Ok(self.pool()?.scope(f))
    }

    /// The pool of threads, started when it is first needed.
    fn pool(&self) -> Result<&rayon::ThreadPool> {
        if let Some(pool) = self.pool.get() {
            return Ok(pool);
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.n_threads).build();
        let pool = pool.map_err(|error| Error::InvalidArgument {
            name: "n_jobs",
            got: format!("{}, which failed: {error}", self.n_threads),
            expected: "a number of threads that the system can start".into(),
        })?;
        Ok(self.pool.get_or_init(|| pool))
    }
}
