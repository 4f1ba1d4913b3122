//! The trees of a forest that is not grown are asked in waves of a few trees per thread.
//!
//! When a wave is done, its answers are added up in the order of the trees. So sums have the same rounding
//! whatever the number of threads, and only the answers of one wave are held at once, however many trees
//! there are.

use std::ops::Range;

use crate::error::Result;
use crate::runtime::Runtime;

/// Trees per thread in a wave: `TREES_PER_THREAD`, or fewer, so that trees times query rows do not
/// exceed `MANY_QUERY_ROWS`, but at least one.
const TREES_PER_THREAD: usize = 8;
const MANY_QUERY_ROWS: usize = 1 << 20;

/// Asks the trees `numbers` about `n_query` rows, and passes the answers to `add` in the order of
/// the trees. `ask` gets the number of a tree and the threads that the tree may use: one, unless
/// there are fewer trees than threads.
pub(crate) fn ask_in_waves<T: Send>(
    numbers: Range<u64>,
    n_query: usize,
    runtime: &Runtime<'_>,
    ask: impl Fn(u64, &Runtime<'_>) -> Result<T> + Sync,
    mut add: impl FnMut(T),
) -> Result<()> {
    let numbers: Vec<u64> = numbers.collect();
    let serial = runtime.serial();
    let threads = if numbers.len() < runtime.n_threads() { runtime } else { &serial };
    let per_thread = (MANY_QUERY_ROWS / n_query.max(1)).clamp(1, TREES_PER_THREAD);
    for wave in numbers.chunks(per_thread * runtime.n_threads()) {
        runtime.map(wave.to_vec(), |number| ask(number, threads))?.into_iter().for_each(&mut add);
    }
    Ok(())
}
