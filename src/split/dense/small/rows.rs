//! The rows of a node: their ranks in a column, and their partition.

use std::ops::Range;

use crate::criterion::small::{ByRow, MAX_ROWS};
use crate::data::DenseColumns;
use crate::data::dense::{DenseColumn, Ranks};
use crate::simd::prefetch;

/// Some rows of a small subtree: their places and their ids.
pub(super) struct RowList {
    places: ByRow<u8>,
    samples: ByRow<u32>,
}

impl RowList {
    /// No rows.
    pub(super) fn new() -> Self {
        Self { places: [0; MAX_ROWS], samples: [0; MAX_ROWS] }
    }

    /// Takes the rows of a subtree. Returns their ids, whose order may be changed: places follow from it.
    pub(super) fn load(&mut self, samples: &[u32]) -> &mut [u32] {
        self.places = std::array::from_fn(|place| place as u8);
        let ids = &mut self.samples[..samples.len()];
        ids.copy_from_slice(samples);
        ids
    }

    /// The places of the rows of a node.
    pub(super) fn places(&self, node: Range<usize>) -> &[u8] {
        &self.places[node]
    }

    /// The ids of these rows.
    pub(super) fn samples(&self, node: Range<usize>) -> &[u32] {
        &self.samples[node]
    }

    /// Swaps two rows.
    pub(super) fn swap(&mut self, a: usize, b: usize) {
        self.places.swap(a, b);
        self.samples.swap(a, b);
    }

    /// Copies the rows of a node to `out`, those of ranks up to `last` first. The order is kept on both
    /// sides. Returns how many rows these are.
    pub(super) fn partition(&self, node: Range<usize>, ranks: &[u32], last: u32, out: &mut Self) -> usize {
        let ranks = &ranks[..node.len()];
        // If it is known how many rows go left, each row goes to its place at once.
        let n_left = ranks.iter().map(|&rank| u32::from(rank <= last)).sum::<u32>() as usize;
        let rows = self.places[node.clone()].iter().zip(&self.samples[node.clone()]);
        let (places, samples) = (&mut out.places[node.clone()], &mut out.samples[node]);
        let (mut left, mut right) = (0, n_left);
        for ((&place, &sample), &rank) in rows.zip(ranks) {
            let is_left = rank <= last;
            let to = if is_left { left } else { right };
            (places[to], samples[to]) = (place, sample);
            left += usize::from(is_left);
            right += usize::from(!is_left);
        }
        n_left
    }
}

/// Whether two cuts part the same rows in the same way, or with sides exchanged. Each cut has the ranks of
/// the rows, and the last rank on the left.
pub(super) fn part_alike((ranks, last): (&[u32], u32), (others, other_last): (&[u32], u32)) -> bool {
    let rows = ranks.iter().zip(others);
    let n_alike = rows.map(|(&rank, &other)| u32::from((rank <= last) == (other <= other_last))).sum::<u32>() as usize;
    n_alike == 0 || n_alike == ranks.len()
}

/// The lowest and the highest of some ranks, and the highest one of a value: 0 if all are missing.
pub(super) struct Extremes {
    pub lowest: u32,
    pub highest: u32,
    pub highest_value: u32,
}

/// Asks for the ranks of some rows in some columns before they are needed. Out of line, because only
/// large data sets need it: in line, it made single trees of other data 1 to 3 % slower
/// (`benches/notes/dense-search.md`).
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
