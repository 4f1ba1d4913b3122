//! The rows of a matrix in blocks, which are the unit of parallel work of a prediction.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::clusters::{self, MAX_ROWS, Pages};
use crate::data::Matrix;
use crate::data::rows::{Reader, Rows};
use crate::error::{Error, Result};
use crate::runtime::Runtime;
use crate::tuning::tuned;

/// Rows per block: many, so that a tree is worth being brought into the cache. All threads have the
/// same number of blocks. Clusters want the longest lists of rows there can be, so a thread has one
/// block if `block_bytes` allows (`benches/notes/prediction.md`). Otherwise each of several threads has
/// [`BLOCKS_PER_THREAD`], so that a thread that is slowed down leaves blocks to the others.
pub const MIN_BLOCK: usize = 256;
const MAX_BLOCK: usize = 4096;
const BLOCKS_PER_THREAD: usize = 2;
tuned! {
    /// The most bytes of a block of rows that are divided among clusters: long lists of rows are
    /// worth more than rows in the second-level cache (bench `sweep`).
    fn block_bytes() -> usize = 1 << 21;
}

/// The rows of a matrix, in blocks.
pub(crate) struct RowBlocks<'x> {
    rows: &'x dyn Rows,
    /// The rows of all blocks.
    all: Range<usize>,
    len: usize,
    n_reads: usize,
}

impl<'x> RowBlocks<'x> {
    /// The rows of `x`, which must have the features of the training data. About `n_reads` cells of each row
    /// will be read.
    pub fn new(x: &'x dyn Matrix, n_features: usize, n_reads: usize, runtime: &Runtime<'_>) -> Result<Self> {
        Self::of_rows(x, 0..x.shape().0, n_features, n_reads, runtime)
    }

    /// As [`new`](Self::new), of these rows alone.
    pub fn of_rows(
        x: &'x dyn Matrix,
        all: Range<usize>,
        n_features: usize,
        n_reads: usize,
        runtime: &Runtime<'_>,
    ) -> Result<Self> {
        let rows = x.rows()?;
        let n_rows = check_features(x.shape(), n_features)?;
        if all.start > all.end || all.end > n_rows {
            let expected = format!("rows of the {n_rows} of X");
            return Err(Error::ShapeMismatch { what: "rows", expected, got: format!("{all:?}") });
        }
        let n_samples = all.len();
        let n_threads = runtime.n_threads();
        let (most, per_thread) = if clusters::is_possible(n_features) {
            ((block_bytes() / Pages::row_bytes(n_features)).min(MAX_ROWS), 1)
        } else {
            (MAX_BLOCK, if n_threads > 1 { BLOCKS_PER_THREAD } else { 1 })
        };
        let n_blocks = n_threads * n_samples.div_ceil(n_threads * most).max(per_thread);
        let len = n_samples.div_ceil(n_blocks).clamp(MIN_BLOCK, most);
        Ok(Self { rows, all, len: Reader::block_len(rows, len), n_reads })
    }

    /// Number of rows in all blocks.
    pub fn n_samples(&self) -> usize {
        self.all.len()
    }

    /// Rows of each block but the last, which may have fewer.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Calls `visit` for each block with its rows and its part of the results; returns the parts.
    pub fn visit<P: Send>(
        &self,
        parts: impl Iterator<Item = P>,
        runtime: &Runtime<'_>,
        visit: impl Fn(&mut Reader<'_>, Range<usize>, &mut P) -> Result<()> + Sync,
    ) -> Result<Vec<P>> {
        let idle = Mutex::new(Vec::new());
        let lock = || idle.lock().unwrap_or_else(PoisonError::into_inner);
        let visit = |(start, mut part): (usize, P)| {
            runtime.check_interrupt()?;
            let reader = lock().pop();
            let mut reader = match reader {
                Some(reader) => reader,
                None => Reader::new(self.rows, self.len, self.n_reads)?,
            };
            let rows = start..(start + self.len).min(self.all.end);
            reader.load(rows.clone());
            visit(&mut reader, rows, &mut part)?;
            lock().push(reader);
            Ok(part)
        };
        runtime.map(self.all.clone().step_by(self.len).zip(parts).collect(), visit)
    }
}

/// The number of rows of a matrix of this shape, if it has the features of the training data.
pub(crate) fn check_features((n_samples, n_features): (usize, usize), expected: usize) -> Result<usize> {
    if n_features == expected {
        return Ok(n_samples);
    }
    Err(Error::ShapeMismatch {
        what: "X",
        expected: format!("{expected} features, as in training"),
        got: format!("{n_features} features"),
    })
}
