//! The runtime of one call: its threads, its stop flag, and the count of finished items of work.
//!
//! With one thread, or with one item of work, no pool is made. A pool lives as long as the call, so
//! a process that forks between two calls finds no dead threads. Results are collected in the order
//! of the items, so they do not depend on the schedule.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use rayon::prelude::*;

use crate::error::{Error, Result};

/// Short turns of a loop between two looks at the stop flag.
const TURNS_PER_LOOK: usize = 1024;

/// The threads and the stop flag of one call.
#[derive(Debug)]
pub struct Runtime<'a> {
    n_threads: usize,
    pool: OnceLock<rayon::ThreadPool>,
    stop: &'a AtomicBool,
    done: Option<&'a AtomicUsize>,
}

impl Runtime<'static> {
    /// One thread without a stop flag: for work that is sure to be short.
    pub(crate) fn unstoppable() -> Self {
        static NEVER: AtomicBool = AtomicBool::new(false);
        Self::new(1, &NEVER)
    }
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

    /// Does what [`check_interrupt`](Self::check_interrupt) does, in one of many turns of a loop
    /// whose turns are short.
    #[inline]
    pub fn check_in_turn(&self, turn: usize) -> Result<()> {
        if turn.is_multiple_of(TURNS_PER_LOOK) { self.check_interrupt() } else { Ok(()) }
    }

    /// Calls `f` for each item, spread over the threads, and returns the results in the order of
    /// the items. Items should be worth a task each: a thread without work takes over any item that
    /// has not begun. After an error no further item begins.
    pub fn map<T: Send, R: Send>(&self, items: Vec<T>, f: impl Fn(T) -> Result<R> + Sync) -> Result<Vec<R>> {
        if self.n_threads == 1 || items.len() <= 1 {
            return items.into_iter().map(f).collect();
        }
        let slots: Vec<Slot<T, R>> = items.into_iter().map(Slot::new).collect();
        self.for_each(slots.len(), &|at| slots[at].fill(&f))?;
        // Without an error every slot is full.
        Ok(slots.into_iter().filter_map(Slot::into_result).collect())
    }

    /// Calls `work` with the numbers below `n`, spread over the threads. Not generic, so that
    /// Rayon's part of [`map`](Self::map) is compiled once and not for each type of item.
    fn for_each(&self, n: usize, work: &(dyn Fn(usize) -> Result<()> + Sync)) -> Result<()> {
        self.pool()?.install(|| (0..n).into_par_iter().with_max_len(1).try_for_each(work))
    }

    /// Calls `f` on one of the threads, with a scope in which tasks for all threads can be spawned; returns
    /// when the tasks are done.
    pub fn scope<'s>(&self, f: impl FnOnce(&rayon::Scope<'s>) + Send) -> Result<()> {
        let mut f = Some(f);
        self.in_scope(&mut |scope| {
            if let Some(f) = f.take() {
                f(scope);
            }
        })
    }

    /// [`scope`](Self::scope), compiled once.
    fn in_scope<'s>(&self, f: &mut (dyn FnMut(&rayon::Scope<'s>) + Send)) -> Result<()> {
        self.pool()?.scope(f);
        Ok(())
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

/// Calls `work`; a panic in it becomes an [`Error::Panicked`], made an error of the caller's type. What
/// `work` may have left half changed must be behind a lock or a `OnceLock`, or not be used any more.
///
/// That holds in this crate: the pool of threads belongs to the call, results are dropped, locks are taken
/// although they are poisoned, and a value that is made once is then not made yet.
pub fn catch<T, E: From<Error>>(work: impl FnOnce() -> std::result::Result<T, E>) -> std::result::Result<T, E> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(panicked(&*panic).into()))
}

/// The error that a panic becomes.
pub fn panicked(panic: &(dyn Any + Send)) -> Error {
    let formatted = panic.downcast_ref::<String>().map(String::as_str);
    let message = formatted.or_else(|| panic.downcast_ref().copied()).unwrap_or("no message");
    Error::Panicked { message: message.into() }
}

/// An item of [`Runtime::map`], then its result.
struct Slot<T, R>(Mutex<(Option<T>, Option<R>)>);

impl<T, R> Slot<T, R> {
    fn new(item: T) -> Self {
        Self(Mutex::new((Some(item), None)))
    }

    /// Replaces the item with its result.
    fn fill(&self, f: impl FnOnce(T) -> Result<R>) -> Result<()> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let item = lock().0.take();
        if let Some(item) = item {
            let result = f(item)?;
            lock().1 = Some(result);
        }
        Ok(())
    }

    fn into_result(self) -> Option<R> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(work: impl FnOnce() -> Result<()>) -> String {
        match catch(work) {
            Err(Error::Panicked { message }) => message,
            other => panic!("{other:?} is no panic"),
        }
    }

    #[test]
    fn panics_say_what_they_say() {
        assert_eq!(message(|| panic!("plain")), "plain");
        assert_eq!(message(|| panic!("of {}", 2)), "of 2");
        assert_eq!(message(|| std::panic::panic_any(3)), "no message");
        assert_eq!(catch(|| Err::<(), Error>(Error::Interrupted)), Err(Error::Interrupted));
        assert_eq!(catch(|| Ok::<_, Error>(7)), Ok(7));
    }

    /// On other threads, too, which work on afterwards.
    #[test]
    fn a_pool_outlives_a_panic() {
        for n_threads in [1, 3] {
            let stop = AtomicBool::new(false);
            let runtime = Runtime::new(n_threads, &stop);
            let square = |item: u32| if item == 40 { panic!("item {item}") } else { Ok(item * item) };
            assert_eq!(message(|| runtime.map((0..100).collect(), square).map(drop)), "item 40");
            let in_scope = |scope: &rayon::Scope<'_>| scope.spawn(|_| panic!("in a scope"));
            assert_eq!(message(|| runtime.scope(in_scope)), "in a scope");
            assert_eq!(runtime.map((0..4).collect(), square), Ok(vec![0, 1, 4, 9]));
        }
    }
}
