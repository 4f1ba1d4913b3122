//! Columns side by side, one per lane of a vector register: how a lane is loaded, and the loops
//! over all lanes.
//!
//! Each element of the arrays here belongs to one row of the node, and has a number for each of `N`
//! columns.

use crate::criterion::packed::lanes::{Keys, LANES, Scores};
use crate::data::dense::{DenseColumn, Ranks};
use crate::simd::vectorized;

/// Sets one lane of `out`: for each row of the node to `number(rank, place)`, where `place` is the
/// position of the row in the node.
pub(crate) fn load_lane<const N: usize>(
    column: &DenseColumn,
    samples: &[u32],
    out: &mut [[u32; N]],
    lane: usize,
    number: impl Fn(u32, usize) -> u32,
) {
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "one loop for each width of ranks")]
    fn load<R: Copy + Into<u32>, const N: usize>(
        ranks: &[R],
        samples: &[u32],
        out: &mut [[u32; N]],
        lane: usize,
        number: impl Fn(u32, usize) -> u32,
    ) {
        for (place, (row, &sample)) in out.iter_mut().zip(samples).enumerate() {
            row[lane] = number(ranks[sample as usize].into(), place);
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

vectorized! {
    /// The highest score of each lane.
    pub(crate) fn highest_scores(scores: &[Scores]) -> Scores {
        let mut highest = [f64::NEG_INFINITY; LANES];
        for scores in scores {
            for lane in 0..LANES {
                highest[lane] = if scores[lane] > highest[lane] { scores[lane] } else { highest[lane] };
            }
        }
        highest
    }
}

vectorized! {
    /// Sorts each lane by Batcher's odd-even merge sort (see `network`). All lanes go through the
    /// same comparisons.
    pub(crate) fn sort_lanes(keys: &mut [Keys]) {
        let n = keys.len();
        let mut merged = 1;
        while merged < n {
            let mut step = merged;
            while step > 0 {
                for first in (step % merged..n - step.min(n)).step_by(2 * step) {
                    for low in first..(first + step).min(n - step) {
                        // Both keys must lie in one block of `2 * merged` keys, whose two halves
                        // are being merged.
                        if low / (2 * merged) == (low + step) / (2 * merged) {
                            let high = low + step;
                            let (a, b) = (keys[low], keys[high]);
                            for lane in 0..LANES {
                                keys[low][lane] = a[lane].min(b[lane]);
                                keys[high][lane] = a[lane].max(b[lane]);
                            }
                        }
                    }
                }
                step /= 2;
            }
            merged *= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::criterion::packed::lanes::MAX_PLACES;
    use crate::simd::Level;

    #[test]
    fn networks_sort_zeros_and_ones() {
        // A network that sorts all sequences of zeros and ones sorts all sequences (Knuth, "The Art
        // of Computer Programming", volume 3, section 5.3.4, theorem Z).
        for n in 1..=16 {
            for first in (0..1u32 << n).step_by(LANES) {
                let mut keys: Vec<Keys> =
                    (0..n).map(|i| std::array::from_fn(|lane| (first + lane as u32) >> i & 1)).collect();
                sort_lanes(Level::widest(), &mut keys);
                assert!((0..LANES).all(|lane| keys.is_sorted_by_key(|row| row[lane])), "n={n}");
            }
        }
    }

    proptest! {
        #[test]
        fn networks_sort(keys in prop::collection::vec(any::<Keys>(), 1..=MAX_PLACES)) {
            for level in Level::supported() {
                let mut sorted = keys.clone();
                sort_lanes(level, &mut sorted);
                for lane in 0..LANES {
                    let mut expected: Vec<u32> = keys.iter().map(|row| row[lane]).collect();
                    expected.sort_unstable();
                    prop_assert!(sorted.iter().map(|row| row[lane]).eq(expected));
                }
            }
        }
    }
}
