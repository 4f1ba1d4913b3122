//! The ranks of the rows of a node in a column, and the partition of these rows.

use crate::criterion::small::{ByRow, MAX_ROWS};
use crate::data::DenseColumns;
use crate::data::dense::{DenseColumn, Ranks};
use crate::simd::prefetch;

/// Moves rows of ranks up to `last` to the front and keeps the order on both sides. Rows have places and
/// ids. Returns how many these are.
pub(super) fn partition((places, samples): (&mut [u8], &mut [u32]), ranks: &[u32], last: u32) -> usize {
    let mut right = ([0; MAX_ROWS], [0; MAX_ROWS]);
    let (mut n_left, mut n_right) = (0, 0);
    for (at, &rank) in (0..places.len()).zip(ranks) {
        let (place, sample) = (places[at], samples[at]);
        // The row is written to both sides: n_left <= at, and the slot at n_right is not used yet.
        (places[n_left], samples[n_left]) = (place, sample);
        (right.0[n_right], right.1[n_right]) = (place, sample);
        n_left += usize::from(rank <= last);
        n_right += usize::from(rank > last);
    }
    places[n_left..].copy_from_slice(&right.0[..n_right]);
    samples[n_left..].copy_from_slice(&right.1[..n_right]);
    n_left
}

/// The lowest and the highest of some ranks, and the highest one of a value: 0 if all are missing.
pub(super) struct Extremes {
    pub lowest: u32,
    pub highest: u32,
    pub highest_value: u32,
}

/// Asks for the ranks of some rows in some columns before they are needed. Out of line, because only
/// large data sets need it: in line, it made single trees of other data 1 to 3 % slower
/// (`benches/NOTES.md`).
#[cold]
pub(super) fn ask_for(columns: &DenseColumns, features: &[u32], samples: &[u32]) {
    fn ask<R>(ranks: &[R], samples: &[u32]) {
        for &sample in samples {
            prefetch(ranks, sample as usize);
        }
    }
    for &feature in features {
        match &columns.column(feature).ranks {
            Ranks::U8(ranks) => ask(ranks, samples),
            Ranks::U16(ranks) => ask(ranks, samples),
            Ranks::U32(ranks) => ask(ranks, samples),
        }
    }
}

/// Sets `out` to the ranks of some rows, and returns their extremes. `missing` is the rank of
/// missing values, the highest one, if the column has any.
pub(super) fn gather(column: &DenseColumn, samples: &[u32], missing: Option<u32>, out: &mut ByRow<u32>) -> Extremes {
    fn gather<R: Copy + Into<u32>>(
        ranks: &[R],
        samples: &[u32],
        missing: Option<u32>,
        out: &mut ByRow<u32>,
    ) -> Extremes {
        let (mut lowest, mut highest) = (u32::MAX, 0);
        let rows = out.iter_mut().zip(samples);
        let Some(missing) = missing else {
            for (out, &sample) in rows {
                let rank = ranks[sample as usize].into();
                *out = rank;
                lowest = rank.min(lowest);
                highest = rank.max(highest);
            }
            return Extremes { lowest, highest, highest_value: highest };
        };
        let mut highest_value = 0;
        for (out, &sample) in rows {
            let rank = ranks[sample as usize].into();
            *out = rank;
            lowest = rank.min(lowest);
            highest = rank.max(highest);
            highest_value = if rank < missing { rank.max(highest_value) } else { highest_value };
        }
        Extremes { lowest, highest, highest_value }
    }
    match &column.ranks {
        Ranks::U8(ranks) => gather(ranks, samples, missing, out),
        Ranks::U16(ranks) => gather(ranks, samples, missing, out),
        Ranks::U32(ranks) => gather(ranks, samples, missing, out),
    }
}
