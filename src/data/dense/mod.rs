//! Dense columns: one rank per cell, in the narrowest width that holds the column's distinct
//! values.

mod bits;
mod column;
mod derived;
mod dictionary;
mod distinct;
pub(super) mod encode;
mod integers;
mod row_major;
pub(super) mod take;

use super::buffer::Buffer;
pub use super::encoding::Ordinals;
use super::ordered::Places;
use crate::runtime::Runtime;
use crate::tuning::tuned;

pub use bits::{BitColumns, Place, all_and_any};
use derived::Derived;
use row_major::RowMajor;

tuned! {
    /// Columns of at least this many bytes are stored row by row besides, once rows are copied. Smaller
    /// ones are in cache after the first copies (bench `sweep`).
    fn row_major_from() -> usize = 1 << 24;
}

/// The bytes of a cache line.
const LINE: usize = 64;
/// Rows that are copied together, from rows to columns or back: their cells stay in the first-level cache.
const BLOCK: usize = 64;
/// Most distinct values of a column of `u16`.
const MAX_NARROW: usize = 1 << 16;

/// The ranks of one column, one per row.
#[derive(Debug, Clone, PartialEq)]
pub enum Ranks {
    /// For columns of up to 256 distinct values.
    U8(Buffer<u8>),
    /// For columns of up to 65,536 distinct values.
    U16(Buffer<u16>),
    /// For columns of more distinct values, and for sort keys.
    U32(Buffer<u32>),
}

impl Ranks {
    fn len(&self) -> usize {
        match self {
            Self::U8(ranks) => ranks.len(),
            Self::U16(ranks) => ranks.len(),
            Self::U32(ranks) => ranks.len(),
        }
    }

    /// See [`Buffer::is_ours`].
    fn is_ours(&self) -> bool {
        match self {
            Self::U8(ranks) => ranks.is_ours(),
            Self::U16(ranks) => ranks.is_ours(),
            Self::U32(ranks) => ranks.is_ours(),
        }
    }

    /// The number of bytes of a rank.
    fn width(&self) -> usize {
        match self {
            Self::U8(_) => 1,
            Self::U16(_) => 2,
            Self::U32(_) => 4,
        }
    }
}

/// The columns of a dense data set.
#[derive(Debug)]
pub struct DenseColumns {
    columns: Vec<DenseColumn>,
    /// The features that have one value in all rows, in ascending order.
    constants: Vec<u32>,
    /// The ranks of all columns row by row, made when rows are first copied, if they [can be](RowMajor::of).
    /// None also for the columns of one tree, for which they are not worth the time.
    row_major: Derived<RowMajor>,
    /// The columns of few values as bits, made when a node first searches them. None as for `row_major`.
    bits: Derived<BitColumns>,
}

impl PartialEq for DenseColumns {
    /// Everything else follows from the columns.
    fn eq(&self, other: &Self) -> bool {
        self.columns == other.columns
    }
}

/// One column of a dense data set.
#[derive(Debug, Clone, PartialEq)]
pub struct DenseColumn {
    /// By row, the rank of its value.
    pub ranks: Ranks,
    /// The most frequent rank: a search of a sparse column only counts its rows.
    pub common_rank: u32,
    /// All ranks are below this number, unless they are [keys](Ordinals::Keys).
    pub n_ranks: u32,
    /// Whether it is faster to sort the rows that do not have the most frequent value than to count
    /// all rows in bins (bench `sweep`, constants `SPARSE_FROM` and `SPARSE_FROM_DISTINCT`).
    pub is_sparse: bool,
}

impl DenseColumn {
    /// The most frequent rank, the bytes of a rank, and whether the column is sparse.
    pub(super) fn outline(&self) -> (u32, u8, bool) {
        (self.common_rank, self.ranks.width() as u8, self.is_sparse)
    }

    /// Whether all rows have the same value.
    #[inline]
    pub fn is_constant(&self) -> bool {
        self.n_ranks == 1
    }

    /// The rank of a row's value.
    #[inline]
    pub fn rank(&self, sample: u32) -> u32 {
        match &self.ranks {
            Ranks::U8(ranks) => ranks[sample as usize].into(),
            Ranks::U16(ranks) => ranks[sample as usize].into(),
            Ranks::U32(ranks) => ranks[sample as usize],
        }
    }

    /// Sets `out[i]` to the rank of the row `samples[i]`. O(rows).
    pub(crate) fn gather(&self, samples: &[u32], out: &mut [u32]) {
        match &self.ranks {
            Ranks::U8(ranks) => gather(ranks, samples, out),
            Ranks::U16(ranks) => gather(ranks, samples, out),
            Ranks::U32(ranks) => gather(ranks, samples, out),
        }
    }

    /// Calls `visit` with each of some rows and its rank.
    #[inline]
    pub(crate) fn visit_ranks(&self, rows: impl Iterator<Item = u32>, mut visit: impl FnMut(u32, u32)) {
        match &self.ranks {
            Ranks::U8(ranks) => rows.for_each(|row| visit(row, ranks[row as usize].into())),
            Ranks::U16(ranks) => rows.for_each(|row| visit(row, ranks[row as usize].into())),
            Ranks::U32(ranks) => rows.for_each(|row| visit(row, ranks[row as usize])),
        }
    }
}

/// Sets `out[i]` to the rank of the row `samples[i]`. O(rows).
pub fn gather<R: Copy + Into<T>, T>(ranks: &[R], samples: &[u32], out: &mut [T]) {
    // Eight rows a turn, so that the speed of the loop does not depend on where the linker puts it.
    let (turns, rest) = samples.as_chunks::<8>();
    let (out_turns, out_rest) = out[..samples.len()].as_chunks_mut::<8>();
    for (out, samples) in out_turns.iter_mut().zip(turns) {
        for (out, &sample) in out.iter_mut().zip(samples) {
            *out = ranks[sample as usize].into();
        }
    }
    for (out, &sample) in out_rest.iter_mut().zip(rest) {
        *out = ranks[sample as usize].into();
    }
}

fn find_constants(columns: &[DenseColumn]) -> Vec<u32> {
    (0..).zip(columns).filter(|(_, column)| column.is_constant()).map(|(feature, _)| feature).collect()
}

impl DenseColumns {
    /// Columns whose row-major copy and bits are made when they are first needed.
    pub(super) fn new(columns: Vec<DenseColumn>) -> Self {
        Self { constants: find_constants(&columns), columns, row_major: Derived::new(), bits: Derived::new() }
    }

    /// The column of a feature.
    pub fn column(&self, feature: u32) -> &DenseColumn {
        &self.columns[feature as usize]
    }

    /// The features that have one value in all rows, in ascending order.
    pub fn constants(&self) -> &[u32] {
        &self.constants
    }

    /// The columns of few values as bits, if there are enough such columns.
    pub fn bits(&self, runtime: &Runtime<'_>) -> Option<&BitColumns> {
        self.bits.get(|| BitColumns::of(&self.columns, runtime))
    }

    /// The columns of the rows `samples`, in this order.
    pub(super) fn subset(&self, samples: &[u32], runtime: &Runtime<'_>) -> Self {
        fn part<R: Copy + Default>(ranks: &[R], samples: &[u32]) -> Vec<R> {
            let mut part = vec![R::default(); samples.len()];
            gather(ranks, samples, &mut part);
            part
        }
        let part_of = |ranks: &Ranks| match ranks {
            Ranks::U8(ranks) => Ranks::U8(part(ranks, samples).into()),
            Ranks::U16(ranks) => Ranks::U16(part(ranks, samples).into()),
            Ranks::U32(ranks) => Ranks::U32(part(ranks, samples).into()),
        };
        let is_large = self.n_bytes() >= row_major_from();
        let of_rows = || self.row_major.get(|| RowMajor::of(&self.columns, runtime));
        let ranks = match if is_large { of_rows() } else { None } {
            Some(rows) => rows.take(&self.columns, samples),
            None => self.columns.iter().map(|column| part_of(&column.ranks)).collect(),
        };
        let columns = self.columns.iter().zip(ranks).map(|(column, ranks)| DenseColumn { ranks, ..*column }).collect();
        let bits = self.bits.map(|bits| bits.take(samples));
        Self { columns, constants: self.constants.clone(), row_major: Derived::new(), bits }
    }

    /// These columns with the places of categories as the ranks of some, for one tree. O(cells of these
    /// columns).
    pub(super) fn with_places(&self, places: &[Places]) -> Self {
        let mut columns = self.columns.clone();
        for Places { feature, of_ranks } in places {
            let column = &mut columns[*feature as usize];
            let place = |rank: u32| of_ranks.as_ref().map_or(0, |places| places[rank as usize]);
            column.common_rank = place(column.common_rank);
            // There is a place for each rank, so places fit in the width of ranks.
            column.ranks = match &column.ranks {
                Ranks::U8(ranks) => {
                    Ranks::U8(ranks.iter().map(|&rank| place(rank.into()) as u8).collect::<Vec<_>>().into())
                }
                Ranks::U16(ranks) => {
                    Ranks::U16(ranks.iter().map(|&rank| place(rank.into()) as u16).collect::<Vec<_>>().into())
                }
                Ranks::U32(ranks) => Ranks::U32(ranks.iter().map(|&rank| place(rank)).collect::<Vec<_>>().into()),
            };
        }
        Self { columns, constants: self.constants.clone(), row_major: Derived::none(), bits: Derived::none() }
    }

    pub(crate) fn n_bytes(&self) -> usize {
        self.columns.iter().map(|column| column.ranks.len() * column.ranks.width()).sum()
    }
}
