//! The weight and the excess of rows, packed into one integer of 32 bits, and cuts that are scored by
//! sums of them side by side.
//!
//! The excess of some rows is a sum that is 0 for the whole node. The score of a cut is the square of the
//! excess on its left over the product of the weights of both sides.

use super::{
    BY_RANK, BY_UNIT, ByColumn, ByRow, COLUMNS, FEW_ROWS, LANES, MAX_ROWS, goes_left, higher, highest_of, is_end,
};
use crate::simd::{Level, vectorized};

/// The low bits of a packed number, which hold a weight of at most [`MAX_WEIGHT`](super::MAX_WEIGHT).
const WEIGHT_BITS: u32 = 10;
const WEIGHT_MASK: i32 = (1 << WEIGHT_BITS) - 1;
/// An excess is below 2 to the power of this on both sides of 0.
pub(super) const EXCESS_BITS: u32 = 31 - WEIGHT_BITS;

/// The weight and the excess of some rows.
pub(super) fn unpacked(packed: i32) -> (i32, i32) {
    (packed & WEIGHT_MASK, packed >> WEIGHT_BITS)
}

/// The rows of a node, and the sums of the cuts that were scored last.
pub(super) struct PackedRows {
    rows: ByRow<i32>,
    sums: ByRow<i32>,
    /// The weight of the node.
    weight: i32,
}

impl PackedRows {
    pub fn new() -> Self {
        Self { rows: [0; MAX_ROWS], sums: [0; MAX_ROWS], weight: 0 }
    }

    /// Takes a node of this weight, whose rows have these weights and excesses.
    pub fn set(&mut self, weight: i32, rows: impl Iterator<Item = (i32, i32)>) {
        self.weight = weight;
        for (packed, (weight, excess)) in self.rows.iter_mut().zip(rows) {
            *packed = excess * (1 << WEIGHT_BITS) + weight;
        }
    }

    /// The rows, packed.
    pub fn rows(&self) -> &[i32] {
        &self.rows
    }

    /// The packed sum on the left of cut number `i` of those that were scored last.
    pub fn sum(&self, i: usize) -> i32 {
        self.sums[i]
    }

    /// The packed sum of rows of certain ranks.
    pub fn sum_where(&self, ranks: &[u32], is_summed: impl Fn(u32) -> bool) -> i32 {
        sum_where(ranks, &self.rows, is_summed)
    }

    /// See [`SmallRows::score_cuts`](super::SmallRows::score_cuts).
    pub fn score_cuts(
        &mut self,
        level: Level,
        ranks: &[u32],
        lasts: &[[u32; LANES]],
        scores: &mut [[f64; LANES]],
    ) -> f64 {
        let Self { rows, sums, weight } = self;
        let (lasts, scores) = (lasts.as_flattened(), scores.as_flattened_mut());
        if ranks.len() > FEW_ROWS {
            return score_cuts::<BY_RANK, LANES>(level, ranks, rows, lasts, *weight, sums, scores);
        }
        // Most nodes have few rows, whose cuts need half as many divisions.
        let (scores, others) = scores.split_at_mut(FEW_ROWS);
        others.fill(f64::NEG_INFINITY);
        score_cuts::<BY_RANK, FEW_ROWS>(level, ranks, rows, &lasts[..FEW_ROWS], *weight, sums, scores)
    }

    /// See [`SmallRows::score_subsets`](super::SmallRows::score_subsets).
    pub fn score_subsets(
        &mut self,
        level: Level,
        units: &[u32],
        lefts: &[u32; LANES],
        scores: &mut [f64; LANES],
    ) -> f64 {
        let Self { rows, sums, weight } = self;
        score_cuts::<BY_UNIT, LANES>(level, units, rows, lefts, *weight, sums, scores)
    }

    /// See [`SmallRows::score_again`](super::SmallRows::score_again).
    pub fn score_again(&mut self, level: Level, ranks: &[u32], scores: &mut [[f64; LANES]]) -> f64 {
        let Self { rows, sums, weight } = self;
        let scores = scores.as_flattened_mut();
        if ranks.len() > FEW_ROWS {
            return score_moved::<LANES>(level, ranks, rows, *weight, sums, scores);
        }
        score_moved::<FEW_ROWS>(level, ranks, rows, *weight, sums, &mut scores[..FEW_ROWS])
    }

    /// See [`SmallRows::score_columns`](super::SmallRows::score_columns).
    pub fn score_columns(&self, level: Level, ranks: &[ByColumn<u32>], scores: &mut [ByColumn<f64>]) -> ByColumn<f64> {
        score_columns(level, ranks, &self.rows, self.weight, scores)
    }
}

vectorized! {
    /// Scores `N` cuts at a time.
    fn score_cuts<const BY: usize, const N: usize>(
        ranks: &[u32],
        rows: &[i32],
        lasts: &[u32],
        node_weight: i32,
        sums: &mut [i32],
        scores: &mut [f64],
    ) -> f64 {
        let mut highest = [f64::NEG_INFINITY; N];
        let chunks = lasts.as_chunks::<N>().0.iter().zip(sums.as_chunks_mut().0).zip(scores.as_chunks_mut().0);
        for ((lasts, sums), scores) in chunks {
            let mut sum = [0; N];
            for (&rank, &row) in ranks.iter().zip(rows) {
                if is_end(row) {
                    break;
                }
                for lane in 0..N {
                    sum[lane] += if goes_left::<BY>(rank, lasts[lane]) { row } else { 0 };
                }
            }
            *sums = sum;
            *scores = score(sum, node_weight);
            highest = higher(highest, scores);
        }
        highest_of(highest)
    }
}

vectorized! {
    fn score_columns(
        ranks: &[ByColumn<u32>],
        rows: &[i32],
        node_weight: i32,
        scores: &mut [ByColumn<f64>],
    ) -> ByColumn<f64> {
        let mut highest = [f64::NEG_INFINITY; COLUMNS];
        for (lasts, scores) in ranks.iter().zip(scores) {
            let mut sum = [0; COLUMNS];
            for (ranks, &row) in ranks.iter().zip(rows) {
                if is_end(row) {
                    break;
                }
                for lane in 0..COLUMNS {
                    sum[lane] += if goes_left::<BY_RANK>(ranks[lane], lasts[lane]) { row } else { 0 };
                }
            }
            *scores = score(sum, node_weight);
            highest = higher(highest, scores);
        }
        highest
    }
}

vectorized! {
    /// Scores the cuts that were scored last again, with the rows of rank 0 on the left of all.
    fn score_moved<const N: usize>(
        ranks: &[u32],
        rows: &[i32],
        node_weight: i32,
        sums: &mut [i32],
        scores: &mut [f64],
    ) -> f64 {
        let moved = sum_where(ranks, rows, |rank| rank == 0);
        let mut highest = [f64::NEG_INFINITY; N];
        for (sums, scores) in sums.as_chunks_mut::<N>().0.iter_mut().zip(scores.as_chunks_mut().0) {
            for sum in sums.iter_mut() {
                *sum += moved;
            }
            *scores = score(*sums, node_weight);
            highest = higher(highest, scores);
        }
        highest_of(highest)
    }
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
fn sum_where(ranks: &[u32], rows: &[i32], is_summed: impl Fn(u32) -> bool) -> i32 {
    // Without branches on ranks, which would be mispredicted.
    ranks.iter().zip(rows).map(|(&rank, &row)| row & -i32::from(is_summed(rank))).sum()
}

/// The scores of cuts, given the packed sums on their left.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
fn score<const N: usize>(sum: [i32; N], node_weight: i32) -> [f64; N] {
    let mut scores = [0.0; N];
    for lane in 0..N {
        let (weight, excess) = (sum[lane] & WEIGHT_MASK, sum[lane] >> WEIGHT_BITS);
        let excess = f64::from(excess);
        let score = excess * excess / f64::from(weight * (node_weight - weight));
        scores[lane] = if weight < node_weight { score } else { f64::NEG_INFINITY };
    }
    scores
}
