//! Runs work without the interpreter lock, and stops it when the user presses Ctrl-C.
//!
//! Signals can only be handled on the thread that has called this module, and only with the lock.
//! So another thread works, while the calling thread waits and looks for signals every [`POLL`].
//! Each time it also tells the watcher, if there is one, how many items are finished. Work that is
//! sure to be short is done on the calling thread.
//!
//! A panic of the engine is a bug of ours. `PyO3` would raise it as `PanicException`, which is no
//! `Exception` and so ends programs that catch all errors. Here it becomes a `RuntimeError`; what
//! computes outside of [`run`] does so in [`catch`].

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::error::Result;
use crate::runtime::{self, Runtime, panicked};

/// How often signals are looked at.
const POLL: Duration = Duration::from_millis(50);
/// Steps of a few nanoseconds that may be done without looking at signals: well below a second.
const SHORT: usize = 50_000_000;

/// Somebody who wants to know how far the work is.
struct Watch<'a> {
    watcher: Option<Py<PyAny>>,
    done: &'a AtomicUsize,
    seen: usize,
}

impl Watch<'_> {
    fn look(&mut self, py: Python<'_>) -> PyResult<()> {
        let done = self.done.load(Ordering::Relaxed);
        if let Some(watcher) = self.watcher.as_ref().filter(|_| done > self.seen) {
            self.seen = done;
            watcher.call1(py, (done,))?;
        }
        Ok(())
    }
}

/// Calls `work`; a panic in it becomes an exception, see [`runtime::catch`].
pub fn catch<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    runtime::catch(work)
}

/// Calls `work`, which takes at most `n_steps` elementary steps, on `n_threads` threads without the
/// interpreter lock. Whenever the number of finished items of work has grown, `watcher` is called
/// with it.
pub fn run<T: Send>(
    py: Python<'_>,
    n_threads: usize,
    n_steps: usize,
    watcher: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Runtime<'_>) -> Result<T> + Send,
) -> PyResult<T> {
    let (mut work, mut result) = (Some(work), None);
    run_watched(py, n_threads, n_steps, watcher, &mut |runtime| {
        result = work.take().map(|work| work(runtime)).transpose()?;
        Ok(())
    })?;
    result.ok_or_else(|| PyRuntimeError::new_err("work is done once"))
}

/// [`run`], compiled once.
fn run_watched(
    py: Python<'_>,
    n_threads: usize,
    n_steps: usize,
    watcher: Option<&Bound<'_, PyAny>>,
    work: &mut (dyn FnMut(&Runtime<'_>) -> Result<()> + Send),
) -> PyResult<()> {
    let (stop, done) = (AtomicBool::new(false), AtomicUsize::new(0));
    let mut watch = Watch { watcher: watcher.map(|watcher| watcher.clone().unbind()), done: &done, seen: 0 };
    if n_steps <= SHORT {
        py.detach(|| runtime::catch(|| work(&Runtime::new(n_threads, &stop).counting(&done))))?;
        return watch.look(py);
    }
    let mut interrupt = None;
    let result = py.detach(|| {
        thread::scope(|scope| {
            let (hang_up, finished) = channel::<()>();
            let (stop, done) = (&stop, &done);
            let worker = thread::Builder::new().spawn_scoped(scope, move || {
                let result = runtime::catch(|| work(&Runtime::new(n_threads, stop).counting(done)));
                // Hanging up is the message.
                drop(hang_up);
                result
            });
            let worker = worker.map_err(|error| {
                PyRuntimeError::new_err(format!("The system cannot start a thread that does the work: {error}"))
            })?;
            while finished.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
                if let Err(signal) = Python::attach(|py| py.check_signals().and_then(|()| watch.look(py))) {
                    interrupt = Some(signal);
                    stop.store(true, Ordering::Relaxed);
                    break;
                }
            }
            let result = worker.join().unwrap_or_else(|panic| Err(panicked(&*panic)));
            Ok(result?)
        })
    });
    match interrupt {
        Some(signal) => Err(signal),
        None => result.and_then(|()| watch.look(py)),
    }
}

/// Panics on one of some threads, as if the engine had a bug. Not in published wheels, which have no debug
/// assertions.
#[cfg(debug_assertions)]
#[pyfunction]
#[pyo3(signature = (n_threads, n_steps))]
#[allow(clippy::panic, reason = "what tests want to see")]
pub fn _panic(py: Python<'_>, n_threads: usize, n_steps: usize) -> PyResult<()> {
    run(py, n_threads, n_steps, None, |runtime| {
        let work = |item: u32| if item == 40 { panic!("panicked on purpose") } else { Ok(()) };
        runtime.map((0..100).collect(), work).map(drop)
    })
}
