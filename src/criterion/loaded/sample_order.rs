//! An order of all samples, and the samples of each node in that order: what criteria keep whose
//! statistics do not add up.
//!
//! The rank of a sample is its place among all samples; no two samples have one rank. The order of a
//! node is the ascending list of its samples' ranks. For the smaller child of a split the list is
//! sorted; for the larger child it is the list of the parent without the ranks of the smaller child.
//! So a row is sorted only when it is in a smaller child, at most log2(N) times for N samples in all.
//! Smaller children that are large are sorted through a bitmap.

use crate::bitset::Bitset;

/// Ranks are sorted through a bitmap of all ranks if the bitmap has at most this many words per
/// sample of the node.
const WORDS_PER_SAMPLE: usize = 4;

/// All samples in an order.
pub struct SampleOrder {
    rank_of: Box<[u32]>,
    sample_of: Box<[u32]>,
}

impl SampleOrder {
    /// The order in which `sample_of` lists all samples, each once. O(N) for N samples.
    pub fn new(sample_of: Box<[u32]>) -> Self {
        let mut rank_of = vec![0; sample_of.len()];
        for (rank, &sample) in (0..).zip(&sample_of) {
            rank_of[sample as usize] = rank;
        }
        Self { rank_of: rank_of.into(), sample_of }
    }

    /// The samples, in their order.
    pub fn samples(&self) -> &[u32] {
        &self.sample_of
    }

    /// The sample of a rank.
    #[inline]
    pub fn sample(&self, rank: u32) -> u32 {
        self.sample_of[rank as usize]
    }

    /// The ranks of these samples, ascending. O(n log n), or O(n) if they are many.
    pub fn ranks(&self, samples: &[u32]) -> Box<[u32]> {
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
