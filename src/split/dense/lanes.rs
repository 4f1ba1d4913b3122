//! Columns side by side, one per lane of a vector register: how a lane is loaded, and the loops
//! over all lanes.
//!
//! Each element of the arrays here belongs to one row of the node, and has a number for each of `N`
//! columns.

use crate::data::dense::{DenseColumn, Ranks};
use crate::simd::vectorized;

/// Sets one lane of `out`: for each row of the node to `number(rank)`.
pub(crate) fn load_lane<const N: usize>(
    column: &DenseColumn,
    samples: &[u32],
    out: &mut [[u32; N]],
    lane: usize,
    number: impl Fn(u32) -> u32,
) {
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "one loop for each width of ranks")]
    fn load<R: Copy + Into<u32>, const N: usize>(
        ranks: &[R],
        samples: &[u32],
        out: &mut [[u32; N]],
        lane: usize,
        number: impl Fn(u32) -> u32,
    ) {
        for (row, &sample) in out.iter_mut().zip(samples) {
            row[lane] = number(ranks[sample as usize].into());
        }
    }
    match &column.ranks {
        Ranks::U8(ranks) => load(ranks, samples, out, lane, number),
        Ranks::U16(ranks) => load(ranks, samples, out, lane, number),
        Ranks::U32(ranks) => load(ranks, samples, out, lane, number),
    }
}

vectorized! {
    /// For each column, the lowest and the highest rank.
    pub(crate) fn extremes<const N: usize>(ranks: &[[u32; N]]) -> ([u32; N], [u32; N]) {
        let (mut lowest, mut highest) = ([u32::MAX; N], [0; N]);
        for ranks in ranks {
            for lane in 0..N {
                lowest[lane] = lowest[lane].min(ranks[lane]);
                highest[lane] = highest[lane].max(ranks[lane]);
            }
        }
        (lowest, highest)
    }
}

vectorized! {
    /// For each column, the lowest and the highest rank of values. `missing` has the rank of
    /// missing values of each column, which is above all ranks of values. In a column without
    /// values the lowest rank is the rank of missing values, and the highest is 0.
    pub(crate) fn extremes_below<const N: usize>(ranks: &[[u32; N]], missing: &[u32; N]) -> ([u32; N], [u32; N]) {
        let (mut lowest, mut highest) = ([u32::MAX; N], [0; N]);
        for ranks in ranks {
            for lane in 0..N {
                lowest[lane] = lowest[lane].min(ranks[lane]);
                highest[lane] = highest[lane].max(if ranks[lane] == missing[lane] { 0 } else { ranks[lane] });
            }
        }
        (lowest, highest)
    }
}

vectorized! {
    /// Changes the rank of missing values to 0, below all ranks of values.
    pub(crate) fn rotate<const N: usize>(ranks: &mut [[u32; N]], missing: &[u32; N]) {
        for ranks in ranks {
            for lane in 0..N {
                ranks[lane] = if ranks[lane] == missing[lane] { 0 } else { ranks[lane] };
            }
        }
    }
}

vectorized! {
    /// For each column, the number of rows whose rank is below the end of the column.
    pub(crate) fn n_below<const N: usize>(ranks: &[[u32; N]], ends: &[u32; N]) -> [u32; N] {
        let mut n = [0; N];
        for ranks in ranks {
            for lane in 0..N {
                n[lane] += u32::from(ranks[lane] < ends[lane]);
            }
        }
        n
    }
}
