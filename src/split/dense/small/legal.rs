//! Which cuts are legal: those that leave enough rows and enough weight on both sides. No criterion counts
//! rows.

use crate::criterion::small::{BY_RANK, BY_UNIT, ByColumn, COLUMNS, FEW_ROWS, LANES, goes_left, higher, highest_of};
use crate::simd::{Level, vectorized};

/// The least and the most rows on the left of a legal cut.
type Counts = [i32; 2];

/// What children must have, in the node that is searched.
#[derive(Debug, Clone, Copy)]
pub(super) struct Legal {
    /// The least weight of a child, in all nodes.
    min_weight: f64,
    /// The weight of the node.
    weight: u64,
    /// The least weight of a child, above 0. Scores have its mask already.
    pub least_weight: f64,
    /// How many rows the left must have. `None` if rows need not be counted, as weights tell.
    counts: Option<Counts>,
}

impl Legal {
    /// The limits of all nodes.
    pub fn new(min_weight: f64) -> Self {
        Self { min_weight, weight: 0, least_weight: 1.0, counts: None }
    }

    /// Begins the search of a node of `n_rows` rows and this weight, whose children have at least `min_rows`
    /// rows.
    pub fn begin(&mut self, min_rows: u64, n_rows: usize, weight: u64) {
        (self.weight, self.least_weight, self.counts) = (weight, self.min_weight.max(1.0), None);
        if min_rows > 1 && n_rows as u64 == weight {
            // All rows weigh 1.
            self.least_weight = self.least_weight.max(min_rows as f64);
        } else if min_rows > 1 {
            let least = min_rows.min(n_rows as u64) as i32;
            self.counts = Some([least, n_rows as i32 - least]);
        }
    }

    /// Whether a cut is legal that sends rows of at most the rank `last_left` left, which weigh `left`.
    /// O(rows) if rows are counted.
    #[inline]
    pub fn allows(&self, left: u64, ranks: &[u32], last_left: u32) -> bool {
        left.min(self.weight - left) as f64 >= self.least_weight
            && self.counts.is_none_or(|[least, most]| {
                let n_left = ranks.iter().map(|&rank| i32::from(rank <= last_left)).sum();
                (least..=most).contains(&n_left)
            })
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

    /// Removes the scores of cuts that have too few rows on a side, in columns searched side by side.
    pub fn remove_in_columns(
        &self,
        level: Level,
        ranks: &[ByColumn<u32>],
        scores: &mut [ByColumn<f64>],
        highest: ByColumn<f64>,
    ) -> ByColumn<f64> {
        self.counts.map_or(highest, |counts| remove_in_columns(level, ranks, counts, scores))
    }

    /// Removes the scores of subsets of units of categories that have too few rows on a side.
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

/// No row has this rank. Ranks are below the number of rows, and keys of numbers are below that of infinity,
/// 2^32 - 2^23. The key of missing numbers is the next one.
const NO_RANK: u32 = u32::MAX - 1;

/// Counts the rows that go left in each lane, and removes scores of cuts that have too few rows on a side.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
fn remove_lanes<const BY: usize, const N: usize>(
    n_rows: usize,
    rank: impl Fn(usize, usize) -> u32,
    lasts: &[u32; N],
    [least, most]: Counts,
    scores: &mut [f64; N],
) {
    let mut n_left = [0; N];
    for row in 0..n_rows {
        // See `is_end`.
        if rank(row, 0) == NO_RANK {
            break;
        }
        for lane in 0..N {
            n_left[lane] += i32::from(goes_left::<BY>(rank(row, lane), lasts[lane]));
        }
    }
    for lane in 0..N {
        let is_legal = least <= n_left[lane] && n_left[lane] <= most;
        scores[lane] = if is_legal { scores[lane] } else { f64::NEG_INFINITY };
    }
}

vectorized! {
    /// See [`Legal::remove`].
    fn remove<const BY: usize, const N: usize>(ranks: &[u32], lasts: &[u32], counts: Counts, scores: &mut [f64]) -> f64 {
        let mut highest = [f64::NEG_INFINITY; N];
        for (lasts, scores) in lasts.as_chunks::<N>().0.iter().zip(scores.as_chunks_mut::<N>().0) {
            remove_lanes::<BY, N>(ranks.len(), |row, _| ranks[row], lasts, counts, scores);
            highest = higher(highest, scores);
        }
        highest_of(highest)
    }
}

vectorized! {
    /// See [`Legal::remove_in_columns`].
    fn remove_in_columns(ranks: &[ByColumn<u32>], counts: Counts, scores: &mut [ByColumn<f64>]) -> ByColumn<f64> {
        let mut highest = [f64::NEG_INFINITY; COLUMNS];
        for (lasts, scores) in ranks.iter().zip(scores) {
            remove_lanes::<BY_RANK, COLUMNS>(ranks.len(), |row, lane| ranks[row][lane], lasts, counts, scores);
            highest = higher(highest, scores);
        }
        highest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_missing_keys_are_counted() {
        let mut legal = Legal::new(0.0);
        // Few rows, and more than that.
        for n in [4, 12] {
            let mut ranks = vec![u32::MAX; n];
            (ranks[1], ranks[2]) = (3, 1);
            legal.begin(2, n, 40);
            let mut lasts = [[u32::MAX; LANES]];
            lasts[0][..n].copy_from_slice(&ranks);
            for level in Level::supported() {
                let mut scores = [[1.0; LANES]];
                assert_eq!(legal.remove(level, &ranks, &lasts, &mut scores, 1.0), 1.0);
                // The cut after the rank 3 leaves two rows on the left, that after 1 one, all others none on
                // the right.
                let are_left: Vec<bool> = scores[0][..n].iter().map(|&score| score == 1.0).collect();
                assert_eq!(are_left, (0..n).map(|row| row == 1).collect::<Vec<_>>());
            }
            assert!(legal.allows(7, &ranks, 3) && !legal.allows(7, &ranks, 1));
        }
    }
}
