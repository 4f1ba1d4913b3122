//! The order of samples by time, and what the samples of a node say at each of their times.

use crate::criterion::loaded::NodeWeights;
use crate::criterion::loaded::sample_order::SampleOrder;
use crate::data::survival::Survival;
use crate::num::sort_by_key;

/// All samples in the order of their times, events before censorings. Everything is listed by rank, the
/// place in this order.
pub(super) struct TimeOrder {
    pub order: SampleOrder,
    times: Box<[u32]>,
    has_event: Box<[bool]>,
    /// Empty if all weights are 1.
    weights: Box<[u64]>,
}

/// Samples of one time, of a set of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment<'a> {
    /// The rank of the time among all times.
    pub time: u32,
    /// The weight of the samples of this time or a later one.
    pub at_risk: u64,
    /// The weight of the samples of this time; `events` is the part with an event.
    pub weight: u64,
    pub events: u64,
    /// The ranks of the samples of this time.
    pub ranks: &'a [u32],
}

impl TimeOrder {
    /// The order of all samples. O(N log N) for N samples, or O(N) if they are many beside the distinct
    /// times.
    pub fn new(survival: &Survival, weights: NodeWeights<'_>) -> Self {
        let order = SampleOrder::new(sorted(survival));
        let listed = || order.samples().iter();
        let times = listed().map(|&sample| survival.ranks[sample as usize]).collect();
        let has_event = listed().map(|&sample| survival.has_event(sample as usize)).collect();
        Self { times, has_event, weights: weights.by_rank(&order), order }
    }

    /// The rank of a time, given the rank of a sample.
    #[inline]
    pub fn time(&self, rank: u32) -> u32 {
        self.times[rank as usize]
    }

    /// Whether the sample of this rank has an event.
    #[inline]
    pub fn has_event(&self, rank: u32) -> bool {
        self.has_event[rank as usize]
    }

    /// The weight of the sample of this rank.
    #[inline]
    pub fn weight(&self, rank: u32) -> u64 {
        self.weights.get(rank as usize).copied().unwrap_or(1)
    }

    /// The times of the samples with these ranks, ascending; `weight` is their weight. O(samples).
    pub fn moments<'a>(&'a self, ranks: &'a [u32], weight: u64) -> impl Iterator<Item = Moment<'a>> {
        let mut rest = weight;
        ranks.chunk_by(|&one, &other| self.time(one) == self.time(other)).map(move |ranks| {
            let (mut weight, mut events) = (0, 0);
            for &rank in ranks {
                weight += self.weight(rank);
                events += if self.has_event(rank) { self.weight(rank) } else { 0 };
            }
            let at_risk = rest;
            rest -= weight;
            Moment { time: self.time(ranks[0]), at_risk, weight, events, ranks }
        })
    }
}

/// All samples by time, events first; of equal samples the lower number first.
fn sorted(survival: &Survival) -> Box<[u32]> {
    let key = |sample: usize| 2 * survival.ranks[sample] as usize + usize::from(!survival.has_event(sample));
    let (n, n_keys) = (survival.ranks.len(), 2 * survival.distinct.len());
    if n_keys > 4 * n {
        let mut samples: Box<[u32]> = (0..n as u32).collect();
        sort_by_key(&mut samples, |sample| key(sample as usize));
        return samples;
    }
    // Sorts by counting: `starts` has the place of the next sample of each key.
    let mut starts = vec![0u32; n_keys + 1];
    (0..n).for_each(|sample| starts[key(sample) + 1] += 1);
    (0..n_keys).for_each(|at| starts[at + 1] += starts[at]);
    let mut samples = vec![0; n].into_boxed_slice();
    for sample in 0..n {
        let place = &mut starts[key(sample)];
        samples[*place as usize] = sample as u32;
        *place += 1;
    }
    samples
}
