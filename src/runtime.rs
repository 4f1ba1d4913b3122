//! What a call runs on: its threads and its stop flag.
//!
//! One thread means no pool at all. A pool lives as long as the call, so a process that forks between two calls finds
//! no dead threads. Results are collected in the order of the items: no schedule can show.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use crate::error::{Error, Result};

/// The threads and the stop flag of one call.
#[derive(Debug)]
pub struct Runtime<'a> {
    pool: Option<rayon::ThreadPool>,
    stop: &'a AtomicBool,
}

impl<'a> Runtime<'a> {
    /// A runtime of `n_threads` threads that ends with [`Error::Interrupted`] soon after `stop` becomes true.
    pub fn new(n_threads: usize, stop: &'a AtomicBool) -> Result<Self> {
        let pool = if n_threads > 1 {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build();
            Some(pool.map_err(|error| Error::InvalidArgument {
                name: "n_jobs",
                got: format!("{n_threads}, which failed: {error}"),
                expected: "a number of threads that the system can start".into(),
            })?)
        } else {
            None
        };
        Ok(Self { pool, stop })
    }

    /// Number of threads.
    pub fn n_threads(&self) -> usize {
        self.pool.as_ref().map_or(1, rayon::ThreadPool::current_num_threads)
    }

    /// Fails if the caller wants the call to end. Cheap: one relaxed load.
    #[inline]
    pub fn check_interrupt(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// `items.map(f)`, in order, spread over the threads.
    pub fn map<T: Send, R: Send>(&self, items: Vec<T>, f: impl Fn(T) -> Result<R> + Sync) -> Result<Vec<R>> {
        match &self.pool {
            Some(pool) => pool.install(|| items.into_par_iter().map(&f).collect()),
            None => items.into_iter().map(f).collect(),
        }
    }
}
