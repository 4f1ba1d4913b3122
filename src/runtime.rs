//! The runtime of one call: its threads, its stop flag, and the count of finished items of work.
//!
//! With one thread, or with one item of work, no pool is made. A pool lives as long as the call, so
//! a process that forks between two calls finds no dead threads. Results are collected in the order
//! of the items, so they do not depend on the schedule.
//!
//! The thread that makes the call keeps a [`Lookout`]: while it works itself, whenever it checks the stop
//! flag, and while a pool works, between two waits.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rayon::prelude::*;

use crate::error::{Error, Result};

/// Short turns of a loop between two looks at the stop flag.
const TURNS_PER_LOOK: usize = 1024;

/// How often a lookout is kept.
const LOOKS: Duration = Duration::from_millis(50);
/// The most checks of the stop flag between two readings of the clock, which takes as long as many checks.
const MOST_CHECKS: u32 = 16;
/// If checks between two readings have taken less, twice as many are made before the next one.
const FAST: Duration = Duration::from_millis(1);

/// What the thread that makes a call does every 50 ms until the call ends, such as looking for signals. It
/// may raise the stop flag.
pub struct Lookout<'a> {
    look: &'a (dyn Fn() + Sync),
    started: Instant,
    /// Nanoseconds from the start to the last look, and to the last reading of the clock.
    looked: AtomicU64,
    read: AtomicU64,
    /// Checks between two readings of the clock, and until the next one.
    stride: AtomicU32,
    rest: AtomicU32,
    /// Whether the threads of a pool work, and the calling thread looks between two waits.
    is_spread: AtomicBool,
}

impl<'a> Lookout<'a> {
    /// The first look is 50 ms from now.
    pub fn new(look: &'a (dyn Fn() + Sync)) -> Self {
        let (started, looked, read) = (Instant::now(), AtomicU64::new(0), AtomicU64::new(0));
        let (stride, rest, is_spread) = (AtomicU32::new(1), AtomicU32::new(0), AtomicBool::new(false));
        Self { look, started, looked, read, stride, rest, is_spread }
    }

    /// Looks if it is time. Only the calling thread does.
    #[inline]
    fn check(&self) {
        match self.rest.load(Ordering::Relaxed) {
            0 => self.read_clock(),
            rest => self.rest.store(rest - 1, Ordering::Relaxed),
        }
    }

    #[cold]
    fn read_clock(&self) {
        let now = self.started.elapsed().as_nanos() as u64;
        let is_fast = now - self.read.swap(now, Ordering::Relaxed) < FAST.as_nanos() as u64;
        let stride = if is_fast { (2 * self.stride.load(Ordering::Relaxed)).min(MOST_CHECKS) } else { 1 };
        self.stride.store(stride, Ordering::Relaxed);
        self.rest.store(stride - 1, Ordering::Relaxed);
        if now - self.looked.load(Ordering::Relaxed) >= LOOKS.as_nanos() as u64 {
            self.looked.store(now, Ordering::Relaxed);
            (self.look)();
        }
    }
}

/// The threads and the stop flag of one call.
pub struct Runtime<'a> {
    n_threads: usize,
    pool: OnceLock<rayon::ThreadPool>,
    stop: &'a AtomicBool,
    done: Option<&'a AtomicUsize>,
    lookout: Option<&'a Lookout<'a>>,
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
        Self { n_threads: n_threads.max(1), pool: OnceLock::new(), stop, done: None, lookout: None }
    }

    /// Makes the thread that calls this keep a lookout while it works or waits. The runtime must be used by
    /// this thread, which spreads work by [`map`](Self::map) and [`scope`](Self::scope).
    pub fn watched(self, lookout: &'a Lookout<'a>) -> Self {
        Self { lookout: Some(lookout), ..self }
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
        Self { lookout: self.lookout, ..Self::new(1, self.stop) }
    }

    /// The lookout, if the thread that works is the one that keeps it: no pool works.
    #[inline]
    fn own_lookout(&self) -> Option<&'a Lookout<'a>> {
        self.lookout.filter(|lookout| !lookout.is_spread.load(Ordering::Relaxed))
    }

    /// Fails if the stop flag is raised. Cheap: some relaxed loads. Loops must call it at least every
    /// few milliseconds: the calling thread keeps its lookout here.
    #[inline]
    pub fn check_interrupt(&self) -> Result<()> {
        if let Some(lookout) = self.own_lookout() {
            lookout.check();
        }
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
            let mut results = Vec::with_capacity(items.len());
            for item in items {
                self.check_interrupt()?;
                results.push(f(item)?);
            }
            return Ok(results);
        }
        self.spread(items, &f)
    }

    /// [`map`](Self::map) on several threads, compiled once for each type of items and results: some
    /// functions are compiled for each criterion.
    fn spread<T: Send, R: Send>(&self, items: Vec<T>, f: &(dyn Fn(T) -> Result<R> + Sync)) -> Result<Vec<R>> {
        let slots: Vec<Slot<T, R>> = items.into_iter().map(Slot::new).collect();
        self.for_each(slots.len(), &|at| slots[at].fill(f))?;
        // Without an error every slot is full.
        Ok(slots.into_iter().filter_map(Slot::into_result).collect())
    }

    /// Calls `work` with the numbers below `n`, spread over the threads. Not generic, so that
    /// Rayon's part of [`map`](Self::map) is compiled once and not for each type of item.
    fn for_each(&self, n: usize, work: &(dyn Fn(usize) -> Result<()> + Sync)) -> Result<()> {
        self.in_pool(&mut || (0..n).into_par_iter().with_max_len(1).try_for_each(work))
    }

    /// Calls `work` in the pool, and keeps the lookout until it returns.
    fn in_pool(&self, work: &mut (dyn FnMut() -> Result<()> + Send)) -> Result<()> {
        let pool = self.pool()?;
        let Some(lookout) = self.own_lookout() else { return pool.install(work) };
        let mut result = Ok(());
        lookout.is_spread.store(true, Ordering::Relaxed);
        pool.in_place_scope(|scope| {
            let (hang_up, finished) = channel::<()>();
            let result = &mut result;
            scope.spawn(move |_| {
                *result = work();
                // Hanging up is the message.
                drop(hang_up);
            });
            while finished.recv_timeout(LOOKS) == Err(RecvTimeoutError::Timeout) {
                (lookout.look)();
            }
        });
        lookout.is_spread.store(false, Ordering::Relaxed);
        result
    }

    /// Calls `f` on one of the threads. From there [`map`](Self::map) takes a fraction of what it takes from
    /// the calling thread, which waits to be woken each time.
    pub fn inside<R: Send>(&self, f: impl FnOnce() -> Result<R> + Send) -> Result<R> {
        if self.n_threads == 1 {
            return f();
        }
        let (mut f, mut result) = (Some(f), None);
        self.in_pool(&mut || {
            result = f.take().map(|f| f()).transpose()?;
            Ok(())
        })?;
        // Without an error `f` has been called.
        result.ok_or(Error::Interrupted)
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
        self.in_pool(&mut || {
            rayon::scope(&mut *f);
            Ok(())
        })
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
    fn fill(&self, f: &(dyn Fn(T) -> Result<R> + Sync)) -> Result<()> {
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

    /// Whoever works: the calling thread, for long or for short turns, or a pool.
    #[test]
    fn the_calling_thread_keeps_a_lookout() {
        let caller = std::thread::current().id();
        for (n_threads, turn) in [(1, Duration::ZERO), (1, Duration::from_millis(20)), (3, Duration::ZERO)] {
            let (stop, n_looks) = (AtomicBool::new(false), AtomicUsize::new(0));
            let look = || {
                assert_eq!(std::thread::current().id(), caller);
                stop.store(n_looks.fetch_add(1, Ordering::Relaxed) == 2, Ordering::Relaxed);
            };
            let lookout = Lookout::new(&look);
            let runtime = Runtime::new(n_threads, &stop).watched(&lookout);
            // Made by the calling thread, and used by those of the pool.
            let serial = runtime.serial();
            let endless = |_| -> Result<()> {
                loop {
                    serial.check_interrupt()?;
                    std::thread::sleep(turn);
                }
            };
            let started = Instant::now();
            assert_eq!(runtime.map(vec![0; 8], endless).map(drop), Err(Error::Interrupted));
            assert_eq!(n_looks.load(Ordering::Relaxed), 3);
            assert!(started.elapsed() >= 3 * LOOKS);
            if n_threads > 1 {
                stop.store(false, Ordering::Relaxed);
                let in_scope = |scope: &rayon::Scope<'_>| scope.spawn(|_| std::thread::sleep(2 * LOOKS));
                runtime.scope(in_scope).unwrap();
                assert!(n_looks.load(Ordering::Relaxed) > 3);
                assert_eq!(runtime.check_interrupt(), Ok(()));
            }
        }
    }

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
