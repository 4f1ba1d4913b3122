//! How the targets run the library.

use std::sync::atomic::AtomicBool;

use spinney::runtime::Runtime;

static STOP: AtomicBool = AtomicBool::new(false);

/// A runtime of one thread that is never interrupted.
pub fn runtime() -> Runtime<'static> {
    Runtime::new(1, &STOP)
}
