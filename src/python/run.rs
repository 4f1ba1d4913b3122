//! Runs work without the interpreter lock, and stops it when the user presses Ctrl-C.
//!
//! Signals can only be handled on the thread that has called this module, and only with the lock. So this
//! thread looks for them every 50 ms, wherever the work checks its stop flag ([`Lookout`]). Each time it also
//! tells the watcher, if there is one, how many items are finished.
//!
//! A panic of the engine is a bug of ours. `PyO3` would raise it as `PanicException`, which is no
//! `Exception` and so ends programs that catch all errors. Here it becomes a `RuntimeError`; what
//! computes outside of [`run`] does so in [`catch`].

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::error::Result;
use crate::runtime::{self, Lookout, Runtime};

/// Somebody who wants to know how far the work is.
struct Watch<'a> {
    watcher: Option<Py<PyAny>>,
    done: &'a AtomicUsize,
    seen: AtomicUsize,
}

impl Watch<'_> {
    fn look(&self, py: Python<'_>) -> PyResult<()> {
        let done = self.done.load(Ordering::Relaxed);
        if let Some(watcher) = &self.watcher
            && done > self.seen.swap(done, Ordering::Relaxed)
        {
            watcher.call1(py, (done,))?;
        }
        Ok(())
    }
}

/// Calls `work`; a panic in it becomes an exception, see [`runtime::catch`].
pub fn catch<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    runtime::catch(work)
}

/// Calls `work` on `n_threads` threads without the interpreter lock. Whenever the number of finished items of
/// work has grown, `watcher` is called with it.
pub fn run<T: Send>(
    py: Python<'_>,
    n_threads: usize,
    watcher: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Runtime<'_>) -> Result<T> + Send,
) -> PyResult<T> {
    let (mut work, mut result) = (Some(work), None);
    run_watched(py, n_threads, watcher, &mut |runtime| {
        result = work.take().map(|work| work(runtime)).transpose()?;
        Ok(())
    })?;
    result.ok_or_else(|| PyRuntimeError::new_err("work is done once"))
}

/// [`run`], compiled once.
fn run_watched(
    py: Python<'_>,
    n_threads: usize,
    watcher: Option<&Bound<'_, PyAny>>,
    work: &mut (dyn FnMut(&Runtime<'_>) -> Result<()> + Send),
) -> PyResult<()> {
    let (stop, done) = (AtomicBool::new(false), AtomicUsize::new(0));
    let watcher = watcher.map(|watcher| watcher.clone().unbind());
    let watch = Watch { watcher, done: &done, seen: AtomicUsize::new(0) };
    let raised: Mutex<Option<PyErr>> = Mutex::default();
    let lock = || raised.lock().unwrap_or_else(PoisonError::into_inner);
    let hears = OnceLock::new();
    let look = || {
        if stop.load(Ordering::Relaxed) || hears.get() == Some(&false) {
            return;
        }
        let looked: PyResult<()> = Python::attach(|py| {
            py.check_signals()?;
            watch.look(py)?;
            if hears.get().is_none() {
                let is_heard = watch.watcher.is_some() || is_main_thread(py)?;
                hears.get_or_init(|| is_heard);
            }
            Ok(())
        });
        if let Err(error) = looked {
            *lock() = Some(error);
            stop.store(true, Ordering::Relaxed);
        }
    };
    let lookout = Lookout::new(&look);
    let result =
        py.detach(|| runtime::catch(|| work(&Runtime::new(n_threads, &stop).counting(&done).watched(&lookout))));
    if let Some(error) = lock().take() {
        return Err(error);
    }
    result?;
    watch.look(py)
}

/// Whether this thread is the one that handles signals. Others need not wait for the interpreter lock. Fails
/// if a signal comes meanwhile.
fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import("threading")?;
    Ok(threading.call_method0("current_thread")?.is(&threading.call_method0("main_thread")?))
}

/// Panics on one of some threads, as if the engine had a bug. Not in published wheels, which have no debug
/// assertions.
#[cfg(debug_assertions)]
#[pyfunction]
#[allow(clippy::panic, reason = "what tests want to see")]
pub fn _panic(py: Python<'_>, n_threads: usize) -> PyResult<()> {
    run(py, n_threads, None, |runtime| {
        let work = |item: u32| if item == 40 { panic!("panicked on purpose") } else { Ok(()) };
        runtime.map((0..100).collect(), work).map(drop)
    })
}
