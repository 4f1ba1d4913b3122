//! Rows as a few numbers that add up, the *components*, and the loops that add them up in lanes. The loops
//! know no criterion. They leave the sums on the left of each cut in memory, one list per component, and hand
//! them to the format, which scores them.

use std::ops::AddAssign;

use super::kernel::Lanes;
use super::{BY_RANK, ByColumn, ByRow, COLUMNS, MAX_ROWS, goes_left, higher, highest_of};
use crate::simd::{Level, vectorized};

/// An integer in a lane.
pub trait LaneInteger: Copy + Default + PartialEq + AddAssign + Send + Sync + 'static {
    /// The number that changes no sum. For doubles it is -0: with 0 the compiler cannot make the choice an
    /// addition under a mask.
    const NOTHING: Self;
}

impl LaneInteger for i32 {
    const NOTHING: Self = 0;
}

/// Sums of weights are exact; sums of excesses have a bound of their error.
impl LaneInteger for f64 {
    const NOTHING: Self = -0.0;
}

/// The components of a row, and the scores of their sums. The first component is above 0.
pub trait SumFormat: Sync + 'static {
    /// The number type of a component.
    type Lane: LaneInteger;
    /// A list with an item for each component.
    type Parts<T: Send>: AsRef<[T]> + AsMut<[T]> + Send;
    /// The numbers of the node that scores need.
    type Whole: Copy + Default + Send;

    /// Calls `make` for each component.
    fn parts<T: Send>(make: impl FnMut() -> T) -> Self::Parts<T>;

    /// A node of this weight, whose children must weigh at least `least`, which is above 0.
    fn whole(weight: u64, least: f64) -> Self::Whole;

    /// The scores of cuts, given the sums on their left: minus infinity if a child weighs too little.
    fn scores<const N: usize>(whole: Self::Whole, lefts: &Self::Parts<[Self::Lane; N]>) -> [f64; N];
}

/// A weight of ten bits and an excess in one integer of 32 bits.
pub struct InOneInteger;

/// The low bits of a packed number.
const WEIGHT_BITS: u32 = 10;
const WEIGHT_MASK: i32 = (1 << WEIGHT_BITS) - 1;
/// An excess is below 2 to the power of this on both sides of 0.
pub const EXCESS_BITS: u32 = 31 - WEIGHT_BITS;

/// Packs a weight and an excess: the weight in the low bits.
pub fn packed(weight: i32, excess: i32) -> i32 {
    excess * (1 << WEIGHT_BITS) + weight
}

/// The weight and the excess that [`packed`] has packed.
pub fn unpacked(packed: i32) -> (i32, i32) {
    (packed & WEIGHT_MASK, packed >> WEIGHT_BITS)
}

#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
impl SumFormat for InOneInteger {
    type Lane = i32;
    type Parts<T: Send> = [T; 1];
    /// The weight, and the least and the most weight of a child.
    type Whole = [i32; 3];

    #[inline(always)]
    fn parts<T: Send>(mut make: impl FnMut() -> T) -> [T; 1] {
        [make()]
    }

    fn whole(weight: u64, least: f64) -> [i32; 3] {
        let least = least.ceil() as i32;
        [weight as i32, least, weight as i32 - least]
    }

    #[inline(always)]
    fn scores<const N: usize>([node, least, most]: [i32; 3], [sums]: &[[i32; N]; 1]) -> [f64; N] {
        let mut scores = [0.0; N];
        for lane in 0..N {
            let (weight, excess) = (sums[lane] & WEIGHT_MASK, f64::from(sums[lane] >> WEIGHT_BITS));
            let score = excess * excess / f64::from(weight * (node - weight));
            scores[lane] = if least <= weight && weight <= most { score } else { f64::NEG_INFINITY };
        }
        scores
    }
}

/// A weight and an excess, each a double.
pub struct InTwoDoubles;

#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
impl SumFormat for InTwoDoubles {
    type Lane = f64;
    type Parts<T: Send> = [T; 2];
    type Whole = [f64; 3];

    #[inline(always)]
    fn parts<T: Send>(mut make: impl FnMut() -> T) -> [T; 2] {
        [make(), make()]
    }

    fn whole(weight: u64, least: f64) -> [f64; 3] {
        [weight as f64, least, weight as f64 - least]
    }

    #[inline(always)]
    fn scores<const N: usize>([node, least, most]: [f64; 3], [weights, excesses]: &[[f64; N]; 2]) -> [f64; N] {
        let mut scores = [0.0; N];
        for lane in 0..N {
            let (weight, excess) = (weights[lane], excesses[lane]);
            let score = excess * excess / (weight * (node - weight));
            scores[lane] = if least <= weight && weight <= most { score } else { f64::NEG_INFINITY };
        }
        scores
    }
}

/// Numbers of rows, component by component.
pub type Cells<F> = <F as SumFormat>::Parts<ByRow<<F as SumFormat>::Lane>>;

/// Adds up the rows that go left in each lane.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
pub fn add_up<F: SumFormat, const BY: usize, const N: usize>(
    n_rows: usize,
    rank: impl Fn(usize, usize) -> u32,
    cells: &Cells<F>,
    lasts: &[u32; N],
) -> F::Parts<[F::Lane; N]> {
    let mut sums = F::parts(|| [F::Lane::default(); N]);
    for row in 0..n_rows.min(MAX_ROWS) {
        // See `is_end`: no row has this.
        if cells.as_ref()[0][row] == F::Lane::default() {
            break;
        }
        for (sum, cells) in sums.as_mut().iter_mut().zip(cells.as_ref()) {
            let cell = cells[row];
            for lane in 0..N {
                sum[lane] += if goes_left::<BY>(rank(row, lane), lasts[lane]) { cell } else { F::Lane::NOTHING };
            }
        }
    }
    sums
}

vectorized! {
    /// Adds up and scores `N` cuts at a time.
    fn score_cuts<F: SumFormat, const BY: usize, const N: usize>(
        ranks: &[u32],
        cells: &Cells<F>,
        lasts: &[u32],
        whole: F::Whole,
        lefts: &mut Cells<F>,
        scores: &mut [f64],
    ) -> f64 {
        let mut highest = [f64::NEG_INFINITY; N];
        let chunks = lasts.as_chunks::<N>().0.iter().zip(scores.as_chunks_mut::<N>().0).enumerate();
        for (chunk, (lasts, scores)) in chunks.take(MAX_ROWS / N) {
            let sums = add_up::<F, BY, N>(ranks.len(), |row, _| ranks[row], cells, lasts);
            for (lefts, sum) in lefts.as_mut().iter_mut().zip(sums.as_ref()) {
                lefts.as_chunks_mut().0[chunk] = *sum;
            }
            *scores = F::scores(whole, &sums);
            highest = higher(highest, scores);
        }
        highest_of(highest)
    }
}

vectorized! {
    /// As `score_cuts`, for columns side by side.
    fn score_columns<F: SumFormat>(
        ranks: &[ByColumn<u32>],
        cells: &Cells<F>,
        whole: F::Whole,
        scores: &mut [ByColumn<f64>],
    ) -> ByColumn<f64> {
        let mut highest = [f64::NEG_INFINITY; COLUMNS];
        for (lasts, scores) in ranks.iter().zip(scores) {
            let rank = |row: usize, lane: usize| ranks[row][lane];
            *scores = F::scores(whole, &add_up::<F, BY_RANK, COLUMNS>(ranks.len(), rank, cells, lasts));
            highest = higher(highest, scores);
        }
        highest
    }
}

vectorized! {
    /// The sum of the numbers of rows of a rank below `end`.
    pub fn sum_below<L: LaneInteger>(ranks: &[u32], cells: &ByRow<L>, end: u32) -> L {
        // Rows are added up in turn in all lanes, as additions to one number would wait for each other.
        let mut sums = [L::default(); COLUMNS];
        let (ranks, rest) = ranks.as_chunks::<COLUMNS>();
        let (cells, rest_cells) = cells.split_at(ranks.len() * COLUMNS);
        for (ranks, cells) in ranks.iter().zip(cells.as_chunks::<COLUMNS>().0) {
            for lane in 0..COLUMNS {
                sums[lane] += if ranks[lane] < end { cells[lane] } else { L::NOTHING };
            }
        }
        for (lane, (&rank, &cell)) in rest.iter().zip(rest_cells).enumerate() {
            sums[lane] += if rank < end { cell } else { L::NOTHING };
        }
        let mut sum = L::default();
        for part in sums {
            sum += part;
        }
        sum
    }
}

vectorized! {
    /// Scores the cuts that were scored last again, with the rows of rank 0 on the left of all.
    fn score_moved<F: SumFormat, const N: usize>(
        ranks: &[u32],
        cells: &Cells<F>,
        whole: F::Whole,
        lefts: &mut Cells<F>,
        scores: &mut [f64],
    ) -> f64 {
        let mut moved = F::parts(F::Lane::default);
        for (moved, cells) in moved.as_mut().iter_mut().zip(cells.as_ref()) {
            for (&rank, &cell) in ranks.iter().zip(cells) {
                *moved += if rank == 0 { cell } else { F::Lane::NOTHING };
            }
        }
        let mut highest = [f64::NEG_INFINITY; N];
        for (chunk, scores) in scores.as_chunks_mut::<N>().0.iter_mut().enumerate().take(MAX_ROWS / N) {
            let mut sums = F::parts(|| [F::Lane::default(); N]);
            let parts = sums.as_mut().iter_mut().zip(lefts.as_mut()).zip(moved.as_ref());
            for ((sum, lefts), &moved) in parts {
                let lefts = &mut lefts.as_chunks_mut::<N>().0[chunk];
                for left in lefts.iter_mut() {
                    *left += moved;
                }
                *sum = *lefts;
            }
            *scores = F::scores(whole, &sums);
            highest = higher(highest, scores);
        }
        highest_of(highest)
    }
}

/// The components of the node's rows, and their sums on the left of the cuts that were scored last.
pub struct Components<F: SumFormat> {
    /// Component by component.
    pub cells: Cells<F>,
    /// Component by component.
    pub lefts: Cells<F>,
    /// What scores need of the node.
    pub whole: F::Whole,
}

impl<F: SumFormat> Lanes for Components<F> {
    fn new() -> Self {
        let cells = || F::parts(|| [F::Lane::default(); MAX_ROWS]);
        Self { cells: cells(), lefts: cells(), whole: F::Whole::default() }
    }

    fn begin(&mut self, weight: u64, least: f64) {
        self.whole = F::whole(weight, least);
    }

    #[inline]
    fn score_cuts<const BY: usize, const N: usize>(
        &mut self,
        level: Level,
        ranks: &[u32],
        lasts: &[u32],
        scores: &mut [f64],
    ) -> f64 {
        let Self { cells, lefts, whole } = self;
        score_cuts::<F, BY, N>(level, ranks, cells, lasts, *whole, lefts, scores)
    }

    #[inline]
    fn score_again<const N: usize>(&mut self, level: Level, ranks: &[u32], _lasts: &[u32], scores: &mut [f64]) -> f64 {
        let Self { cells, lefts, whole } = self;
        score_moved::<F, N>(level, ranks, cells, *whole, lefts, scores)
    }

    #[inline]
    fn score_columns(
        &mut self,
        level: Level,
        ranks: &[ByColumn<u32>],
        scores: &mut [ByColumn<f64>],
    ) -> Option<ByColumn<f64>> {
        Some(score_columns::<F>(level, ranks, &self.cells, self.whole, scores))
    }

    #[inline]
    fn score_below(&self, level: Level, ranks: &[u32], end: u32) -> f64 {
        let mut lefts = F::parts(|| [F::Lane::default(); 1]);
        for (left, cells) in lefts.as_mut().iter_mut().zip(self.cells.as_ref()) {
            left[0] = sum_below(level, ranks, cells, end);
        }
        F::scores(self.whole, &lefts)[0]
    }
}
