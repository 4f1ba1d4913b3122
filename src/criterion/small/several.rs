//! Rows of several numbers, one of each output, in lanes: the squares of the excesses are added up over
//! outputs. With one output there is no more than its [`Components`].

use super::format::{Cells, Components, InTwoDoubles, add_up, sum_below};
use super::kernel::Lanes;
use super::{BY_RANK, ByColumn, ByRow, COLUMNS, goes_left, higher, highest_of};
use crate::simd::{Level, vectorized};

/// The weights of a node's rows, and their excesses of each output.
pub struct Squares {
    /// The weights, and the excesses of the first output.
    pub first: Components<InTwoDoubles>,
    /// The excesses of the other outputs.
    pub others: Vec<ByRow<f64>>,
}

/// Adds up the rows that go left in each lane, and scores the cuts.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
fn scores_of<const BY: usize, const N: usize>(
    n_rows: usize,
    rank: impl Fn(usize, usize) -> u32,
    cells: &Cells<InTwoDoubles>,
    others: &[ByRow<f64>],
    lasts: &[u32; N],
    [node, least, most]: [f64; 3],
) -> [f64; N] {
    let [left, first] = add_up::<InTwoDoubles, BY, N>(n_rows, &rank, cells, lasts);
    let mut squares = first.map(|excess| excess * excess);
    for excesses in others {
        let mut sums = [0.0; N];
        for (row, &excess) in excesses.iter().enumerate().take(n_rows) {
            // See `is_end`: no row weighs nothing.
            if cells[0][row] == 0.0 {
                break;
            }
            for lane in 0..N {
                // -0 changes no sum: a choice of 0 cannot be made an addition under a mask.
                sums[lane] += if goes_left::<BY>(rank(row, lane), lasts[lane]) { excess } else { -0.0 };
            }
        }
        for lane in 0..N {
            squares[lane] += sums[lane] * sums[lane];
        }
    }
    let mut scores = [0.0; N];
    for lane in 0..N {
        let score = squares[lane] / (left[lane] * (node - left[lane]));
        scores[lane] = if least <= left[lane] && left[lane] <= most { score } else { f64::NEG_INFINITY };
    }
    scores
}

vectorized! {
    fn score_cuts<const BY: usize, const N: usize>(
        ranks: &[u32],
        cells: &Cells<InTwoDoubles>,
        others: &[ByRow<f64>],
        lasts: &[u32],
        whole: [f64; 3],
        scores: &mut [f64],
    ) -> f64 {
        let mut highest = [f64::NEG_INFINITY; N];
        for (lasts, scores) in lasts.as_chunks::<N>().0.iter().zip(scores.as_chunks_mut::<N>().0) {
            let rank = |row: usize, _| ranks[row];
            *scores = scores_of::<BY, N>(ranks.len(), rank, cells, others, lasts, whole);
            highest = higher(highest, scores);
        }
        highest_of(highest)
    }
}

vectorized! {
    fn score_columns(
        ranks: &[ByColumn<u32>],
        cells: &Cells<InTwoDoubles>,
        others: &[ByRow<f64>],
        whole: [f64; 3],
        scores: &mut [ByColumn<f64>],
    ) -> ByColumn<f64> {
        let mut highest = [f64::NEG_INFINITY; COLUMNS];
        for (lasts, scores) in ranks.iter().zip(scores) {
            let rank = |row: usize, lane: usize| ranks[row][lane];
            *scores = scores_of::<BY_RANK, COLUMNS>(ranks.len(), rank, cells, others, lasts, whole);
            highest = higher(highest, scores);
        }
        highest
    }
}

impl Lanes for Squares {
    fn new() -> Self {
        Self { first: Components::new(), others: Vec::new() }
    }

    fn begin(&mut self, weight: u64, least: f64) {
        self.first.begin(weight, least);
    }

    #[inline]
    fn score_cuts<const BY: usize, const N: usize>(
        &mut self,
        level: Level,
        ranks: &[u32],
        lasts: &[u32],
        scores: &mut [f64],
    ) -> f64 {
        let Self { first, others } = self;
        if others.is_empty() {
            return first.score_cuts::<BY, N>(level, ranks, lasts, scores);
        }
        score_cuts::<BY, N>(level, ranks, &first.cells, others, lasts, first.whole, scores)
    }

    #[inline]
    fn score_again<const N: usize>(&mut self, level: Level, ranks: &[u32], lasts: &[u32], scores: &mut [f64]) -> f64 {
        if self.others.is_empty() {
            return self.first.score_again::<N>(level, ranks, lasts, scores);
        }
        self.score_cuts::<BY_RANK, N>(level, ranks, lasts, scores)
    }

    #[inline]
    fn score_columns(
        &mut self,
        level: Level,
        ranks: &[ByColumn<u32>],
        scores: &mut [ByColumn<f64>],
    ) -> Option<ByColumn<f64>> {
        let Self { first, others } = self;
        if others.is_empty() {
            return first.score_columns(level, ranks, scores);
        }
        Some(score_columns(level, ranks, &first.cells, others, first.whole, scores))
    }

    #[inline]
    fn score_below(&self, level: Level, ranks: &[u32], end: u32) -> f64 {
        let Self { first, others } = self;
        if others.is_empty() {
            return first.score_below(level, ranks, end);
        }
        let [weights, excesses] = &first.cells;
        let sum = |cells| sum_below(level, ranks, cells, end);
        let squares: f64 = others.iter().chain([excesses]).map(|cells| sum(cells).powi(2)).sum();
        let (left, [node, least, most]) = (sum(weights), first.whole);
        if least <= left && left <= most { squares / (left * (node - left)) } else { f64::NEG_INFINITY }
    }
}
