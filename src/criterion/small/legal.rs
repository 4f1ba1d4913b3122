//! Which cuts are legal: those that leave enough rows and enough weight on both sides.

use super::{BY_RANK, BY_UNIT, FEW_ROWS, LANES, SmallCut, goes_left, higher, highest_of};
use crate::simd::{Level, vectorized};

/// What a child must have at least, beside a row.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits {
    /// The rows of a child.
    pub min_rows: u64,
    /// Its weight.
    pub min_weight: f64,
}

/// The least and the most rows on the left of a legal cut.
pub type Counts = [i32; 2];

/// The limits, as they are in the node that is searched.
#[derive(Debug, Clone, Copy)]
pub struct Legal {
    limits: Limits,
    /// The least weight of a child, above 0.
    pub least_weight: f64,
    /// The same, where weights are narrow integers.
    pub least_integer: i32,
    /// How many rows the left must have. `None` if rows need not be counted, as weights tell.
    pub counts: Option<Counts>,
    weight: u64,
}

impl Legal {
    /// The limits of all nodes. There are none at first.
    pub fn new() -> Self {
        Self { limits: Limits::default(), least_weight: 1.0, least_integer: 1, counts: None, weight: 0 }
    }

    /// Sets the limits of all nodes.
    pub fn limit(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Begins the search of a node of so many rows and this weight.
    pub fn begin(&mut self, n_rows: usize, weight: u64) {
        let Limits { min_rows, min_weight } = self.limits;
        *self = Self { limits: self.limits, least_weight: min_weight.max(1.0), least_integer: 1, counts: None, weight };
        if min_rows > 1 && n_rows as u64 == weight {
            // All rows weigh 1.
            self.least_weight = self.least_weight.max(min_rows as f64);
        } else if min_rows > 1 {
            let least = min_rows.min(n_rows as u64) as i32;
            self.counts = Some([least, n_rows as i32 - least]);
        }
        if self.least_weight > 1.0 {
            self.least_integer = self.least_weight.ceil().min(f64::from(i32::MAX)) as i32;
        }
    }

    /// The cut, whose score becomes minus infinity if it is not legal. O(rows) if rows are counted.
    #[inline]
    pub fn if_legal(&self, cut: SmallCut, ranks: &[u32], is_left: impl Fn(u32) -> bool) -> SmallCut {
        if self.limits.min_rows <= 1 && self.limits.min_weight <= 0.0 {
            return cut;
        }
        let is_light = (cut.weight.min(self.weight - cut.weight) as f64) < self.least_weight;
        let is_short = self.counts.is_some_and(|[least, most]| {
            let n_left = ranks.iter().map(|&rank| i32::from(is_left(rank))).sum();
            !(least..=most).contains(&n_left)
        });
        if is_light || is_short { SmallCut { score: f64::NEG_INFINITY, ..cut } } else { cut }
    }

    /// Removes the scores of cuts by rank that have too few rows on a side, if rows are counted. `highest`
    /// is the highest of all scores. Returns the highest of the others. O(rows * cuts).
    pub fn remove(
        &self,
        level: Level,
        ranks: &[u32],
        lasts: &[[u32; LANES]],
        scores: &mut [[f64; LANES]],
        highest: f64,
    ) -> f64 {
        let Some(counts) = self.counts else { return highest };
        let (lasts, scores) = (lasts.as_flattened(), scores.as_flattened_mut());
        if ranks.len() > FEW_ROWS {
            return remove::<BY_RANK, LANES>(level, ranks, lasts, counts, scores);
        }
        // A node of few rows has no other cuts than those after the ranks of its rows.
        let (scores, others) = scores.split_at_mut(FEW_ROWS);
        others.fill(f64::NEG_INFINITY);
        remove::<BY_RANK, FEW_ROWS>(level, ranks, &lasts[..FEW_ROWS], counts, scores)
    }

    /// The same for subsets of units of categories.
    pub fn remove_subsets(
        &self,
        level: Level,
        units: &[u32],
        lefts: &[u32; LANES],
        scores: &mut [f64; LANES],
        highest: f64,
    ) -> f64 {
        let Some(counts) = self.counts else { return highest };
        remove::<BY_UNIT, LANES>(level, units, lefts, counts, scores)
    }
}

/// Scores without those of cuts that have too few rows on a side.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
pub fn only_legal<const N: usize>(mut scores: [f64; N], n_left: &[i32; N], [least, most]: Counts) -> [f64; N] {
    for lane in 0..N {
        let is_legal = least <= n_left[lane] && n_left[lane] <= most;
        scores[lane] = if is_legal { scores[lane] } else { f64::NEG_INFINITY };
    }
    scores
}

vectorized! {
    /// See [`Legal::remove`].
    pub fn remove<const BY: usize, const N: usize>(ranks: &[u32], lasts: &[u32], counts: Counts, scores: &mut [f64]) -> f64 {
        let mut highest = [f64::NEG_INFINITY; N];
        for (lasts, scores) in lasts.as_chunks::<N>().0.iter().zip(scores.as_chunks_mut::<N>().0) {
            let mut n_left = [0; N];
            for &rank in ranks {
                // No row has this rank, which is that of no value: see `is_end`.
                if rank == u32::MAX {
                    break;
                }
                for lane in 0..N {
                    n_left[lane] += i32::from(goes_left::<BY>(rank, lasts[lane]));
                }
            }
            *scores = only_legal(*scores, &n_left, counts);
            highest = higher(highest, scores);
        }
        highest_of(highest)
    }
}
