//! The order of targets: once of all samples, then of the samples of each node.
//!
//! A sample's rank is its place among all in the order of the targets as given; no two share one. A node's order is the
//! ascending list of its samples' ranks: sorted for the smaller child of a split, what remains of the parent's for the larger.
//! A row is in a smaller child at most log2(n) times, and large children are sorted through a bitmap.

use crate::bitset::Bitset;
use crate::data::ranking::sort_pairs;
use crate::data::target::Numbers;
use crate::error::Result;
use crate::num::SortKey;
use crate::runtime::Runtime;

/// A bitmap of all ranks is read if it has at most this many words per sample of the node.
const WORDS_PER_SAMPLE: usize = 4;

/// The order of one output's targets.
pub(super) struct Ranking {
    rank_of: Box<[u32]>,
    sample_of: Box<[u32]>,
    /// Fixed-point targets, by rank.
    pub values: Box<[i64]>,
    /// By rank; empty if all are 1.
    pub weights: Box<[u64]>,
}

impl Ranking {
    /// The order of output number `output`; `weight` gives that of a sample. O(n).
    pub fn new(
        numbers: &Numbers,
        output: usize,
        are_unit: bool,
        weight: impl Fn(u32) -> u64,
        runtime: &Runtime<'_>,
    ) -> Result<Self> {
        let n_outputs = numbers.peak.len();
        let of_output = || numbers.raw.iter().skip(output).step_by(n_outputs);
        let mut keys: Vec<(u64, u32)> = of_output().zip(0..).map(|(y, sample)| (y.key(), sample)).collect();
        sort_pairs::<f64>(&mut keys, &mut Vec::new(), runtime)?;
        let sample_of: Box<[u32]> = keys.into_iter().map(|(_, sample)| sample).collect();
        let mut rank_of = vec![0; sample_of.len()];
        for (rank, &sample) in (0..).zip(&sample_of) {
            rank_of[sample as usize] = rank;
        }
        let fixed = |&sample: &u32| numbers.fixed[sample as usize * n_outputs + output];
        let values = sample_of.iter().map(fixed).collect();
        let weights = if are_unit { Box::default() } else { sample_of.iter().map(|&sample| weight(sample)).collect() };
        Ok(Self { rank_of: rank_of.into(), sample_of, values, weights })
    }

    /// The sample of a rank.
    pub fn sample(&self, rank: u32) -> u32 {
        self.sample_of[rank as usize]
    }

    /// The ranks of some samples, ascending. O(W log W), or O(W) if they are many.
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

/// An ascending list without some of its members, which are ascending too. O(W).
pub(super) fn difference(all: &[u32], some: &[u32]) -> Box<[u32]> {
    let mut rest = vec![0; all.len() - some.len()];
    let (mut n, mut n_some) = (0, 0);
    for &rank in all {
        if some.get(n_some) == Some(&rank) {
            n_some += 1;
        } else {
            rest[n] = rank;
            n += 1;
        }
    }
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
