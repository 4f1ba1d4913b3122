//! The ranks of large dense columns once more, row by row.
//!
//! A copy of some rows reads all of their cells. In columns that exceed every cache, each of these
//! cells is a cache miss. Row by row, all cells of a row are in one or a few cache lines, so that a
//! row is one miss or a few. `benches/notes/dense-search.md` says what that saves.

use super::{BLOCK, DenseColumn, LINE, Ranks};
use crate::error::Result;
use crate::memory;
use crate::runtime::Runtime;
use crate::simd::prefetch;

/// The ranks of some columns, row by row.
#[derive(Debug)]
pub(super) struct RowMajor {
    /// The number of bytes of a row.
    stride: usize,
    /// By column, the place of its rank among the bytes of a row.
    offsets: Box<[usize]>,
    bytes: Vec<u8>,
}

impl RowMajor {
    /// The ranks of columns. `None` if memory is [short](memory::is_to_spare), or if the memory of a column
    /// is not [ours](crate::data::buffer::Buffer::is_ours): a file may be larger than memory. O(cells).
    pub fn of(columns: &[DenseColumn], runtime: &Runtime<'_>) -> Result<Option<Self>> {
        let Some(first) = columns.first() else { return Ok(None) };
        if !columns.iter().all(|column| column.ranks.is_ours()) {
            return Ok(None);
        }
        let mut stride = 0;
        let offset = |column: &DenseColumn| {
            stride += column.ranks.width();
            stride - column.ranks.width()
        };
        let offsets: Box<[usize]> = columns.iter().map(offset).collect();
        let n_bytes = first.ranks.len().saturating_mul(stride);
        if !memory::is_to_spare(n_bytes) {
            return Ok(None);
        }
        let Ok(mut bytes) = memory::zeros("the rows of X", n_bytes) else { return Ok(None) };
        for (block, start) in bytes.chunks_mut(BLOCK * stride).zip((0..).step_by(BLOCK)) {
            runtime.check_interrupt()?;
            for (column, &offset) in columns.iter().zip(&offsets) {
                match &column.ranks {
                    Ranks::U8(ranks) => spread(&ranks[start..], block, stride, offset, |rank| [rank]),
                    Ranks::U16(ranks) => spread(&ranks[start..], block, stride, offset, u16::to_ne_bytes),
                    Ranks::U32(ranks) => spread(&ranks[start..], block, stride, offset, u32::to_ne_bytes),
                }
            }
        }
        Ok(Some(Self { stride, offsets, bytes }))
    }

    /// The ranks of some rows, in this order: column by column, in the widths of `columns`, which must be the
    /// columns that these rows were made [of](Self::of). O(cells of these rows).
    pub fn take(&self, columns: &[DenseColumn], rows: &[u32]) -> Vec<Ranks> {
        let room = |column: &DenseColumn| match &column.ranks {
            Ranks::U8(_) => Taken::U8(Vec::with_capacity(rows.len())),
            Ranks::U16(_) => Taken::U16(Vec::with_capacity(rows.len())),
            Ranks::U32(_) => Taken::U32(Vec::with_capacity(rows.len())),
        };
        let mut taken: Vec<Taken> = columns.iter().map(room).collect();
        let mut blocks = rows.chunks(BLOCK);
        let mut next = self.starts(blocks.next().unwrap_or_default());
        for block in rows.chunks(BLOCK) {
            let starts = &next[..block.len()];
            for (taken, &offset) in taken.iter_mut().zip(&self.offsets) {
                let bytes = &self.bytes[offset..];
                match taken {
                    Taken::U8(ranks) => ranks.extend(starts.iter().map(|&start| bytes[start])),
                    Taken::U16(ranks) => ranks.extend(numbers(bytes, starts).map(u16::from_ne_bytes)),
                    Taken::U32(ranks) => ranks.extend(numbers(bytes, starts).map(u32::from_ne_bytes)),
                }
            }
            next = self.starts(blocks.next().unwrap_or_default());
        }
        taken.into_iter().map(Taken::into_ranks).collect()
    }

    /// Where the bytes of some rows start. Asks for these bytes before they are needed.
    fn starts(&self, rows: &[u32]) -> [usize; BLOCK] {
        let mut starts = [0; BLOCK];
        for (start, &row) in starts.iter_mut().zip(rows) {
            *start = row as usize * self.stride;
            (*start..*start + self.stride).step_by(LINE).for_each(|at| prefetch(&self.bytes, at));
            // A row that does not begin with a line may end on one more.
            prefetch(&self.bytes, *start + self.stride - 1);
        }
        starts
    }
}

/// The ranks of a column that is being copied.
enum Taken {
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
}

impl Taken {
    fn into_ranks(self) -> Ranks {
        match self {
            Self::U8(ranks) => Ranks::U8(ranks.into()),
            Self::U16(ranks) => Ranks::U16(ranks.into()),
            Self::U32(ranks) => Ranks::U32(ranks.into()),
        }
    }
}

/// Writes the ranks of a column into the rows of a block, `offset` bytes behind the start of each.
fn spread<R: Copy, const N: usize>(
    ranks: &[R],
    block: &mut [u8],
    stride: usize,
    offset: usize,
    bytes: impl Fn(R) -> [u8; N],
) {
    for (row, &rank) in block.chunks_exact_mut(stride).zip(ranks) {
        row[offset..offset + N].copy_from_slice(&bytes(rank));
    }
}

/// The bytes of the numbers that start at these places.
fn numbers<const N: usize>(bytes: &[u8], starts: &[usize]) -> impl Iterator<Item = [u8; N]> {
    starts.iter().map(|&start| {
        let mut number = [0; N];
        number.copy_from_slice(&bytes[start..start + N]);
        number
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use super::super::{BitColumns, DenseColumns};
    use super::*;
    use crate::data::buffer::Buffer;

    #[test]
    #[allow(unsafe_code, reason = "memory that is not ours")]
    fn columns_of_others_are_not_stored_again() {
        static BYTES: [u8; 64] = [7; 64];
        let column =
            |ranks: Buffer<u8>| DenseColumn { ranks: Ranks::U8(ranks), common_rank: 0, n_ranks: 256, is_sparse: false };
        // SAFETY: the bytes are static.
        let kept = unsafe { Buffer::kept(&BYTES, Arc::new(())) };
        let shared = kept.part(1..64).numbers::<u8>().unwrap().bytes();
        let ours = column(vec![7; 63].into());
        let runtime = &Runtime::unstoppable();
        assert!(RowMajor::of(std::slice::from_ref(&ours), runtime).unwrap().is_some());
        assert!(RowMajor::of(&[ours, column(shared)], runtime).unwrap().is_none());
    }

    #[test]
    fn a_raised_stop_flag_ends_the_copy() {
        let stop = AtomicBool::new(true);
        let runtime = Runtime::new(1, &stop);
        let ranks: Vec<u8> = (0..100).map(|row| row % 3).collect();
        let column = DenseColumn { ranks: Ranks::U8(ranks.into()), common_rank: 0, n_ranks: 3, is_sparse: false };
        let columns = vec![column; 4];
        assert!(RowMajor::of(&columns, &runtime).is_err());
        assert!(BitColumns::of(&columns, &runtime).is_err());
        // Another call makes what this one has done without.
        let columns = DenseColumns::new(columns);
        assert!(columns.bits(&runtime).is_none());
        assert!(columns.bits(&Runtime::unstoppable()).is_some());
    }

    proptest! {
        #[test]
        fn rows_are_those_of_the_columns(
            widths in proptest::collection::vec(0usize..3, 1..40),
            n_rows in 1usize..200,
            seed: u32,
        ) {
            let number = |i: usize| (i as u32).wrapping_add(seed).wrapping_mul(0x9E37_79B9);
            let column = |(feature, &width): (usize, &usize)| {
                let numbers = (0..n_rows).map(|row| number(feature * n_rows + row));
                let ranks = match width {
                    0 => Ranks::U8(numbers.map(|number| (number >> 24) as u8).collect::<Vec<_>>().into()),
                    1 => Ranks::U16(numbers.map(|number| (number >> 16) as u16).collect::<Vec<_>>().into()),
                    _ => Ranks::U32(numbers.collect::<Vec<_>>().into()),
                };
                DenseColumn { ranks, common_rank: 0, n_ranks: u32::MAX, is_sparse: false }
            };
            let columns = DenseColumns::new(widths.iter().enumerate().map(column).collect());
            let rows: Vec<u32> = (0..n_rows as u32).filter(|&row| number(row as usize) >> 31 == 0).collect();
            let taken = RowMajor::of(&columns.columns, &Runtime::unstoppable()).unwrap().unwrap().take(&columns.columns, &rows);
            let gathered: Vec<Ranks> = columns.subset(&rows, &Runtime::unstoppable()).columns.into_iter().map(|column| column.ranks).collect();
            prop_assert_eq!(taken, gathered);
        }
    }
}
