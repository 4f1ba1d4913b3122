//! The cells of one column in a node: the rank and the bin of each row, in the order of the node's
//! rows.
//!
//! Bins are ranges of ranks of one width, a power of two, so that the bin of a rank takes a
//! subtraction and a shift. The bins divide the range of ranks that occur in the node, so that a
//! column is spread over all bins even where earlier splits have narrowed its range. Missing values
//! have a bin of their own, the last. In a column of up to 256 ranks, which are stored as bytes,
//! each rank between the extremes of the node is a bin, or each rank that a node of fewer rows has.

use crate::bitset::{bits_of_bytes, ones};
use crate::criterion::packed::MAX_BINS;
use crate::data::dense::{DenseColumn, Ranks, gather};
use crate::simd::{Level, vectorized};
use crate::tuning::tuned;

tuned! {
    /// In nodes of fewer rows, columns of bytes have bins for the ranks of the node alone. To mark these
    /// takes less time than to add up the classes of empty bins (bench `sweep`).
    fn compacted_below() -> usize = 512;
}

/// Up to this many bins of bytes, bins without rows are left in.
const MOST_LEFT_IN: usize = 32;

/// The cells of one column in a node.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    /// The rank of each row. `load_bins` does not set the ranks of a column of bytes, in which a bin
    /// has one rank.
    pub ranks: Vec<u32>,
    /// By row of the node, its bin.
    pub bins: Vec<u8>,
    /// The number of bins, with the bin of missing values if the node has any.
    pub n_bins: usize,
    /// The number of rows with missing values. If there are any, they are the rows of the last bin.
    pub n_missing: usize,
    /// The least rank of bin 0.
    base: u32,
    /// A bin is a range of `2^shift` ranks.
    shift: u32,
    /// The upper end of the ranks of values: the rank of missing values, or `u32::MAX` if the
    /// column has none. Not included.
    end: u32,
    /// For bins that are the ranks of a node: how far each rank is above `base`. Empty otherwise.
    ranks_of_bins: Vec<u8>,
}

impl Cells {
    /// Sets `ranks` and leaves the bins as they are. O(rows).
    pub fn load_ranks(&mut self, column: &DenseColumn, samples: &[u32]) {
        self.ranks.resize(samples.len(), 0);
        column.gather(samples, &mut self.ranks);
    }

    /// Sets ranks and bins: at most `max_bins` bins of values, and one of missing values. A column
    /// of bytes has a bin for each rank between its extremes instead. There is one bin if and only
    /// if the column is constant. O(rows).
    pub fn load_bins(
        &mut self,
        column: &DenseColumn,
        missing_rank: Option<u32>,
        samples: &[u32],
        level: Level,
        max_bins: usize,
    ) {
        debug_assert!(max_bins <= MAX_BINS);
        self.n_missing = 0;
        self.ranks_of_bins.clear();
        self.end = missing_rank.unwrap_or(u32::MAX);
        if let Ranks::U8(ranks) = &column.ranks {
            self.bins.resize(samples.len(), 0);
            gather(ranks, samples, &mut self.bins);
            let (lowest, highest) = range_of_bytes(level, &self.bins);
            (self.base, self.shift, self.n_bins) = (lowest.into(), 0, usize::from(highest - lowest) + 1);
            if missing_rank == Some(highest.into()) {
                self.n_missing = samples.len() - n_up_to(level, &self.bins, highest - 1);
            }
            if lowest > 0 {
                lower(level, &mut self.bins, lowest);
            }
            if samples.len() < compacted_below() && self.n_bins > MOST_LEFT_IN {
                self.leave_out_empty_bins();
            }
            return;
        }
        self.load_ranks(column, samples);
        self.bins.resize(samples.len(), 0);
        if let Some(missing) = missing_rank {
            let (lowest, highest, n_values) = range_below(level, &self.ranks, missing);
            self.n_missing = samples.len() - n_values;
            if n_values == 0 {
                (self.n_bins, self.shift) = (1, 0);
                return;
            }
            if self.n_missing > 0 {
                self.divide(lowest, highest, max_bins);
                if self.n_bins == MAX_BINS {
                    self.divide(lowest, highest, MAX_BINS / 2);
                }
                to_bins_below(level, &self.ranks, missing, lowest, self.shift, self.n_bins as u8, &mut self.bins);
                self.n_bins += 1;
                return;
            }
            self.divide(lowest, highest, max_bins);
        } else {
            let (lowest, highest) = range(level, &self.ranks);
            self.divide(lowest, highest, max_bins);
        }
        to_bins(level, &self.ranks, self.base, self.shift, &mut self.bins);
    }

    /// Numbers the bins of bytes anew, so that each has a row. O(rows + bins).
    fn leave_out_empty_bins(&mut self) {
        let mut has_rows = [0u8; MAX_BINS];
        self.bins.iter().for_each(|&bin| has_rows[usize::from(bin)] = 1);
        let mut number_of = [0u8; MAX_BINS];
        for (group, &bytes) in has_rows.as_chunks().0.iter().enumerate() {
            for bin in ones(bits_of_bytes(bytes)) {
                let bin = (group * bytes.len()) as u8 + bin as u8;
                number_of[usize::from(bin)] = self.ranks_of_bins.len() as u8;
                self.ranks_of_bins.push(bin);
            }
        }
        self.bins.iter_mut().for_each(|bin| *bin = number_of[usize::from(*bin)]);
        self.n_bins = self.ranks_of_bins.len();
    }

    /// Divides the ranks from `lowest` to `highest` into at most `max_bins` bins.
    fn divide(&mut self, lowest: u32, highest: u32, max_bins: usize) {
        let width = highest - lowest;
        let bits = u32::BITS - width.leading_zeros();
        self.base = lowest;
        self.shift = bits.saturating_sub(max_bins.ilog2());
        self.n_bins = (width >> self.shift) as usize + 1;
    }

    /// Whether a bin may hold several ranks.
    pub fn is_coarse(&self) -> bool {
        self.shift > 0
    }

    /// The highest rank that a bin of values may hold.
    pub fn last_rank(&self, bin: usize) -> u32 {
        if let Some(&rank) = self.ranks_of_bins.get(bin) {
            return self.base + u32::from(rank);
        }
        self.base.saturating_add((((bin as u64 + 1) << self.shift) - 1) as u32).min(self.end - 1)
    }

    /// The number of rows in bins up to this one. O(rows).
    pub fn n_up_to(&self, level: Level, bin: usize) -> usize {
        n_up_to(level, &self.bins, bin as u8)
    }
}

vectorized! {
    fn range(ranks: &[u32]) -> (u32, u32) {
        let (mut lowest, mut highest) = (u32::MAX, 0);
        for &rank in ranks {
            lowest = lowest.min(rank);
            highest = highest.max(rank);
        }
        (lowest, highest)
    }
}

vectorized! {
    /// The least and the greatest of some bytes.
    fn range_of_bytes(bins: &[u8]) -> (u8, u8) {
        bins.iter().fold((u8::MAX, 0), |(lowest, highest), &bin| (lowest.min(bin), highest.max(bin)))
    }
}

vectorized! {
    /// Subtracts a number from all bins.
    fn lower(bins: &mut [u8], by: u8) {
        for bin in bins {
            *bin -= by;
        }
    }
}

vectorized! {
    /// The least rank of all; the highest rank below `end`, or 0 if there is none; and the number
    /// of ranks below `end`. No rank is above `end`.
    fn range_below(ranks: &[u32], end: u32) -> (u32, u32, usize) {
        let (mut lowest, mut highest, mut n) = (u32::MAX, 0, 0u32);
        for &rank in ranks {
            lowest = lowest.min(rank);
            highest = highest.max(if rank == end { 0 } else { rank });
            n += u32::from(rank != end);
        }
        (lowest, highest, n as usize)
    }
}

vectorized! {
    /// The highest rank up to `last`, the least rank above `last`, and the number of rows with
    /// ranks up to `last`. There must be rows on both sides.
    pub(crate) fn beside(ranks: &[u32], last: u32) -> (u32, u32, usize) {
        // These are distances from the cut. The distance of a rank on the other side wraps around,
        // and is greater than the distance of any rank on this side. With a choice per rank
        // instead, the loop is not vectorised, and branches are mispredicted.
        let (mut below, mut above, mut n) = (u32::MAX, u32::MAX, 0u32);
        for &rank in ranks {
            below = below.min(last.wrapping_sub(rank));
            above = above.min(rank.wrapping_sub(last).wrapping_sub(1));
            n += u32::from(rank <= last);
        }
        (last.wrapping_sub(below), last.wrapping_add(1).wrapping_add(above), n as usize)
    }
}

vectorized! {
    fn to_bins(ranks: &[u32], lowest: u32, shift: u32, bins: &mut [u8]) {
        for (bin, &rank) in bins.iter_mut().zip(ranks) {
            *bin = ((rank - lowest) >> (shift & 31)) as u8;
        }
    }
}

vectorized! {
    /// Like `to_bins`, but rows of rank `end` get the bin `last`.
    fn to_bins_below(ranks: &[u32], end: u32, lowest: u32, shift: u32, last: u8, bins: &mut [u8]) {
        for (bin, &rank) in bins.iter_mut().zip(ranks) {
            *bin = if rank == end { last } else { ((rank - lowest) >> (shift & 31)) as u8 };
        }
    }
}

vectorized! {
    fn n_up_to(bins: &[u8], last: u8) -> usize {
        // Counts 255 rows at a time in bytes, so that a vector register holds many counts.
        bins.chunks(255).map(|bins| bins.iter().fold(0u8, |n, &bin| n + u8::from(bin <= last)) as usize).sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bins_of_bytes_are_ranks(
            ranks in prop::collection::vec(any::<u8>(), 1..1400),
            least: u8,
            has_missing: bool,
        ) {
            let ranks: Box<[u8]> = ranks.iter().map(|&rank| rank.max(least)).collect();
            let samples: Vec<u32> = (0..ranks.len() as u32).step_by(2).collect();
            let node: Vec<u32> = samples.iter().map(|&sample| ranks[sample as usize].into()).collect();
            let (lowest, highest) = (*node.iter().min().unwrap(), *node.iter().max().unwrap());
            let missing = has_missing.then(|| u32::from(*ranks.iter().max().unwrap()));
            let column = DenseColumn { ranks: Ranks::U8(ranks.into()), common_rank: 0, n_ranks: 256, is_sparse: false };
            for level in Level::supported() {
                let mut cells = Cells::default();
                cells.load_bins(&column, missing, &samples, level, 64);
                prop_assert!(!cells.is_coarse());
                // Bins without rows are left out where there are many.
                let n_ranks = highest - lowest + 1;
                let has_gaps = n_ranks as usize <= MOST_LEFT_IN || node.len() >= compacted_below();
                let n_distinct = (lowest..=highest).filter(|rank| node.contains(rank)).count();
                prop_assert_eq!(cells.n_bins, if has_gaps { n_ranks as usize } else { n_distinct });
                prop_assert_eq!(cells.n_missing, node.iter().filter(|&&rank| Some(rank) == missing).count());
                for (&rank, &bin) in node.iter().zip(&cells.bins) {
                    prop_assert!(Some(rank) == missing || rank == cells.last_rank(bin.into()));
                    prop_assert!(Some(rank) != missing || usize::from(bin) == cells.n_bins - 1);
                }
            }
        }

        #[test]
        fn bins_are_ranges_of_ranks(
            ranks in prop::collection::vec(0u32..=u32::MAX, 1..300),
            bits in 0u32..=32,
            max_bins in prop::sample::select(vec![2usize, 64, 256]),
            has_missing: bool,
        ) {
            let ranks: Box<[u32]> = ranks.iter().map(|&rank| rank.checked_shr(32 - bits).unwrap_or(0)).collect();
            let samples: Vec<u32> = (0..ranks.len() as u32).step_by(2).collect();
            let column = DenseColumn { ranks: Ranks::U32(ranks.clone().into()), common_rank: 0, n_ranks: 1 << 31, is_sparse: false };
            // The highest rank stands for missing values.
            let missing = if has_missing { ranks.iter().max().copied() } else { None };
            for level in Level::supported() {
                let mut cells = Cells::default();
                cells.load_bins(&column, missing, &samples, level, max_bins);
                let node: Vec<u32> = samples.iter().map(|&sample| ranks[sample as usize]).collect();
                prop_assert_eq!(&cells.ranks, &node);
                let is_missing = |rank: &u32| Some(*rank) == missing;
                prop_assert_eq!(cells.n_missing, node.iter().filter(|rank| is_missing(rank)).count());
                if cells.n_missing == node.len() {
                    prop_assert_eq!(cells.n_bins, 1);
                    continue;
                }
                prop_assert!(cells.n_bins <= MAX_BINS.min(max_bins + usize::from(cells.n_missing > 0)));
                for (rank, &bin) in node.iter().zip(&cells.bins) {
                    prop_assert!((bin as usize) < cells.n_bins);
                    prop_assert!(cells.n_missing == 0 || is_missing(rank) == (bin as usize + 1 == cells.n_bins));
                }
                if missing.is_none() {
                    let extremes = (*node.iter().min().unwrap(), *node.iter().max().unwrap());
                    prop_assert_eq!(range(level, &cells.ranks), extremes);
                }
                for bin in 0..cells.n_bins {
                    let up_to = |i: usize| cells.bins[i] as usize <= bin;
                    let is_last = bin + 1 == cells.n_bins;
                    prop_assert!((0..node.len()).all(|i| is_last || up_to(i) == (node[i] <= cells.last_rank(bin))));
                    prop_assert_eq!(cells.n_up_to(level, bin), (0..node.len()).filter(|&i| up_to(i)).count());
                    if !is_last {
                        let last = cells.last_rank(bin);
                        let below = node.iter().filter(|&&rank| rank <= last);
                        let above = node.iter().filter(|&&rank| rank > last).min().copied();
                        let expected = (below.clone().max().copied().unwrap_or(0), above.unwrap(), below.count());
                        prop_assert_eq!(beside(level, &node, last), expected);
                    }
                }
            }
        }
    }
}
