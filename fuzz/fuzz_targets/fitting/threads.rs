//! Runtimes that are never interrupted, whose threads live as long as the program: to start two for
//! each input takes longer than most inputs.

use std::sync::LazyLock;

use spinney::runtime::Runtime;

use super::engine::common::runtime;

/// One thread.
pub fn one() -> Runtime<'static> {
    runtime(1)
}

static TWO: LazyLock<Runtime<'static>> = LazyLock::new(|| runtime(2));

/// Two threads.
pub fn two() -> &'static Runtime<'static> {
    &TWO
}
