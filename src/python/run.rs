//! Runs work without the interpreter lock, and stops it when the user presses Ctrl-C.
//!
//! Signals can only be handled on the thread that called us, and only with the lock. So that thread waits and looks
//! every [`POLL`], while another works. Work that is sure to be short is done on the spot.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;

use crate::error::Result;
use crate::runtime::Runtime;

/// How often signals are looked at.
const POLL: Duration = Duration::from_millis(50);
/// Steps of a few nanoseconds that may be done without looking at signals: well below a second.
const SHORT: usize = 50_000_000;

fn check_signals(py: Python<'_>) -> PyResult<()> {
    py.check_signals()
}

/// Calls `work`, which takes at most `steps` elementary steps, on `n_threads` threads without the interpreter lock.
pub fn run<T: Send>(
    py: Python<'_>,
    n_threads: usize,
    steps: usize,
    work: impl FnOnce(&Runtime<'_>) -> Result<T> + Send,
) -> PyResult<T> {
    let stop = AtomicBool::new(false);
    if steps <= SHORT {
        return Ok(py.detach(|| work(&Runtime::new(n_threads, &stop)))?);
    }
    let mut interrupt = None;
    let result = py.detach(|| {
        thread::scope(|scope| {
            let (done, finished) = channel::<()>();
            let stop = &stop;
            let worker = scope.spawn(move || {
                let result = work(&Runtime::new(n_threads, stop));
                // Hanging up is the message.
                drop(done);
                result
            });
            while finished.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
                if let Err(signal) = Python::attach(check_signals) {
                    interrupt = Some(signal);
                    stop.store(true, Ordering::Relaxed);
                    break;
                }
            }
            worker.join()
        })
    });
    match (interrupt, result) {
        (Some(signal), _) => Err(signal),
        (None, Ok(result)) => Ok(result?),
        // A bug of ours: let PyO3 show it as the exception it makes of panics.
        (None, Err(panic)) => std::panic::resume_unwind(panic),
    }
}
