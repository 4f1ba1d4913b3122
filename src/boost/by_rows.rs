//! Work on all rows of the data, spread over threads.

use std::ops::Range;

use crate::error::Result;
use crate::runtime::Runtime;

/// Fewer rows are one thread's work, some tens of microseconds (`benches/peers/hist_boosting.py`).
const LEAST_ROWS: usize = 1 << 14;
/// The most rows between two looks at the stop flag.
const MOST_ROWS: usize = 1 << 17;

/// How many rows one item of work has.
pub fn rows_per_part(n_rows: usize, runtime: &Runtime<'_>) -> usize {
    n_rows.div_ceil(runtime.n_threads()).clamp(LEAST_ROWS, MOST_ROWS)
}

/// Calls `work` with the number of a first row and the numbers of some rows from there on, until all rows
/// had their turn. `numbers` has `width` numbers for each row.
pub fn for_each_part<T: Send>(
    numbers: &mut [T],
    width: usize,
    runtime: &Runtime<'_>,
    work: impl Fn(usize, &mut [T]) + Sync,
) -> Result<()> {
    let size = rows_per_part(numbers.len() / width, runtime);
    let parts: Vec<_> = numbers.chunks_mut(size * width).enumerate().collect();
    runtime.map(parts, |(part, numbers)| {
        work(part * size, numbers);
        Ok(())
    })?;
    Ok(())
}

/// Calls `work` with ranges of rows, all together those below `n_rows`.
pub fn map_parts<R: Send>(
    n_rows: usize,
    runtime: &Runtime<'_>,
    work: impl Fn(Range<usize>) -> R + Sync,
) -> Result<Vec<R>> {
    let size = rows_per_part(n_rows, runtime);
    let parts = (0..n_rows).step_by(size).map(|first| first..n_rows.min(first + size)).collect();
    runtime.map(parts, |rows| Ok(work(rows)))
}
