//! The order of samples by their targets: once for all samples, then for the samples of each node.
//!
//! The rank of a sample is its place among all samples in the order of the targets as given; no two
//! samples have one rank. The order of a node is the ascending list of its samples' ranks. For the
//! smaller child of a split the list is sorted; for the larger child it is the list of the parent
//! without the ranks of the smaller child. So a row is sorted only when it is in a smaller child,
//! at most log2(N) times for N samples in all. Smaller children that are large are sorted through a
//! bitmap.

use crate::bitset::Bitset;
use crate::data::ranking::sort_cells;
use crate::data::target::Numbers;
use crate::error::Result;
use crate::num::{RadixSort, SortKey};
use crate::runtime::Runtime;

/// Ranks are sorted through a bitmap of all ranks if the bitmap has at most this many words per
/// sample of the node.
const WORDS_PER_SAMPLE: usize = 4;

/// All samples in the order of their targets for one output.
pub(super) struct Ranking {
    rank_of: Box<[u32]>,
    sample_of: Box<[u32]>,
    /// The fixed-point target of each rank.
    pub values: Box<[i64]>,
    /// The weight of each rank; empty if all weights are 1.
    pub weights: Box<[u64]>,
}

impl Ranking {
    /// The order for the output of this number; `weight` maps a sample to its weight. O(N)
    /// for N samples in all.
    pub fn new(
        numbers: &Numbers,
        output: usize,
        are_unit: bool,
        weight: impl Fn(u32) -> u64,
        runtime: &Runtime<'_>,
    ) -> Result<Self> {
        let n_outputs = numbers.peak.len();
        let of_output = || numbers.raw.iter().skip(output).step_by(n_outputs);
        let mut cells: Vec<_> = of_output().zip(0..).map(|(y, sample)| y.cell(sample)).collect();
        sort_cells::<f64>(&mut cells, &mut RadixSort::default(), runtime)?;
        let sample_of: Box<[u32]> = cells.into_iter().map(f64::row_of).collect();
        let mut rank_of = vec![0; sample_of.len()];
        for (rank, &sample) in (0..).zip(&sample_of) {
            rank_of[sample as usize] = rank;
        }
        let fixed = |&sample: &u32| numbers.fixed[sample as usize * n_outputs + output];
        let values = sample_of.iter().map(fixed).collect();
        let weights = if are_unit { Box::default() } else { sample_of.iter().map(|&sample| weight(sample)).collect() };
        Ok(Self { rank_of: rank_of.into(), sample_of, values, weights })
    }

    /// The sample that has this rank.
    pub fn sample(&self, rank: u32) -> u32 {
        self.sample_of[rank as usize]
    }

    /// The ranks of these samples, ascending. O(n log n), or O(n) if they are many.
    pub fn order(&self, samples: &[u32]) -> Box<[u32]> {
        let ranks = samples.iter().map(|&sample| self.rank_of[sample as usize]);
        if self.rank_of.len() <= WORDS_PER_SAMPLE * 64 * samples.len() {
            let mut members = Bitset::new(self.rank_of.len());
            ranks.for_each(|rank| members.insert(rank));
            let mut order = Vec::with_capacity(samples.len());
            order.extend(members.iter());
            return order.into();
        }
        let mut order: Box<[u32]> = ranks.collect();
        order.sort_unstable();
        order
    }
}

/// The members of the ascending list `all` that are not in `some`, which is ascending and a part of
/// `all`. O(length of `all`).
pub(super) fn difference(all: &[u32], some: &[u32]) -> Box<[u32]> {
    let mut rest = Vec::with_capacity(all.len() - some.len());
    let mut some = some.iter().peekable();
    rest.extend(all.iter().filter(|&rank| some.next_if_eq(&rank).is_none()));
    rest.into()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::data::Target;
    use crate::data::target::TargetValues;
    use crate::error::Error;

    #[test]
    fn samples_are_ordered_by_target_then_number() {
        let y: Vec<f64> = (0..1000).map(|i| f64::from(i * 7919 % 10) - 4.5).collect();
        let target = Target::regression(&y, 1, None).unwrap();
        let TargetValues::Numbers(numbers) = target.values() else { panic!("numbers") };
        let ranking = Ranking::new(numbers, 0, true, |_| 1, &Runtime::unstoppable()).unwrap();
        let mut expected: Vec<u32> = (0..1000).collect();
        expected.sort_by(|&a, &b| y[a as usize].total_cmp(&y[b as usize]));
        assert!(ranking.sample_of[..] == expected[..]);
        let stopped = AtomicBool::new(true);
        let interrupted = Ranking::new(numbers, 0, true, |_| 1, &Runtime::new(1, &stopped));
        assert_eq!(interrupted.err(), Some(Error::Interrupted));
    }
}
