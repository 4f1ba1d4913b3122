//! Gini impurity of the classes of one output in small subtrees; see `criterion::gini`.
//!
//! The classes of the subtree's rows are numbered among themselves. The rows of a node are searched
//! class by class, so that the sums of one class at all cuts stay in registers.

use smallvec::SmallVec;

use super::{ByRow, LANES, MAX_ROWS, MAX_WEIGHT, SmallCut, SmallRows};
use crate::criterion::classes::{ClassCriterion, Measure};
use crate::criterion::weights::SampleWeights;
use crate::simd::{Level, vectorized};

/// The rows of a small subtree.
pub struct SmallClasses {
    /// By place: the weight of the row, and the number of its class.
    weights: ByRow<i32>,
    classes: ByRow<u8>,
    /// The slot of each class, in the order in which the rows have them.
    slots: SmallVec<[u32; 8]>,
    /// The node's weight, and the weight of each class.
    weight: i32,
    counts: ByRow<i32>,
    /// The weights of the node's rows, class by class.
    grouped: ByRow<i32>,
    /// The groups that are not empty: the end of the group, and the weight of its class.
    groups: SmallVec<[(u8, i32); 8]>,
    /// The weights on the left of the cuts that were scored last.
    lefts: ByRow<i32>,
}

impl SmallClasses {
    fn counts(&self) -> &[i32] {
        &self.counts[..self.slots.len()]
    }
}

impl<W: SampleWeights, M: Measure> SmallRows<ClassCriterion<'_, W, M>> for SmallClasses {
    fn new(criterion: &ClassCriterion<'_, W, M>) -> Option<Self> {
        (W::ARE_SMALL && M::IS_SQUARED_DISTANCE && criterion.n_outputs == 1).then_some(Self {
            weights: [0; MAX_ROWS],
            classes: [0; MAX_ROWS],
            slots: SmallVec::new(),
            weight: 0,
            counts: [0; MAX_ROWS],
            grouped: [0; MAX_ROWS],
            groups: SmallVec::new(),
            lefts: [0; MAX_ROWS],
        })
    }

    fn load(&mut self, criterion: &ClassCriterion<'_, W, M>, samples: &[u32]) -> bool {
        self.slots.clear();
        let mut total = 0;
        for ((weight, class), &sample) in self.weights.iter_mut().zip(&mut self.classes).zip(samples) {
            let w = criterion.weights.weight(sample);
            total += w;
            *weight = w as i32;
            let slot = criterion.classes.slots[sample as usize];
            let known = self.slots.iter().position(|&other| other == slot);
            *class = known.unwrap_or(self.slots.len()) as u8;
            if known.is_none() {
                self.slots.push(slot);
            }
        }
        total <= MAX_WEIGHT
    }

    fn enter(&mut self, places: &[u8]) {
        self.counts[..self.slots.len()].fill(0);
        self.weight = 0;
        for &place in places {
            let place = usize::from(place) % MAX_ROWS;
            self.counts[usize::from(self.classes[place]) % MAX_ROWS] += self.weights[place];
            self.weight += self.weights[place];
        }
    }

    fn weight(&self) -> u64 {
        self.weight as u64
    }

    fn is_pure(&self) -> bool {
        self.counts().contains(&self.weight)
    }

    fn impurity(&self, criterion: &ClassCriterion<'_, W, M>) -> f64 {
        criterion.impurity_of(self.counts().iter().map(|&count| count as u64), self.weight as u64)
    }

    fn write_value(&self, _criterion: &ClassCriterion<'_, W, M>, _samples: &[u32], value: &mut [f64]) {
        value.fill(0.0);
        for (&slot, &count) in self.slots.iter().zip(self.counts()) {
            value[slot as usize] = f64::from(count) / f64::from(self.weight);
        }
    }

    fn begin(&mut self, places: &[u8], samples: &mut [u32]) {
        // Where the rows of each class begin.
        let mut nexts = [0u8; MAX_ROWS];
        for &place in places {
            nexts[usize::from(self.classes[usize::from(place) % MAX_ROWS]) % MAX_ROWS] += 1;
        }
        self.groups.clear();
        let mut end = 0;
        for (next, &count) in nexts.iter_mut().zip(&self.counts[..self.slots.len()]) {
            let size = *next;
            *next = end;
            end += size;
            if size > 0 {
                self.groups.push((end, count));
            }
        }
        let mut ordered = [0; MAX_ROWS];
        for (&place, &sample) in places.iter().zip(&*samples) {
            let place = usize::from(place) % MAX_ROWS;
            let next = &mut nexts[usize::from(self.classes[place]) % MAX_ROWS];
            self.grouped[usize::from(*next) % MAX_ROWS] = self.weights[place];
            ordered[usize::from(*next) % MAX_ROWS] = sample;
            *next += 1;
        }
        samples.copy_from_slice(&ordered[..samples.len()]);
    }

    /// Two classes cannot be parted better than completely.
    fn most_score(&self) -> f64 {
        if self.groups.len() == 2 { self.weight.into() } else { f64::INFINITY }
    }

    fn score_cuts(&mut self, level: Level, ranks: &[u32], _n: usize, scores: &mut [f64]) -> f64 {
        score_cuts(level, ranks, &self.grouped, &self.groups, self.weight, &mut self.lefts, scores)
    }

    fn cut(&self, i: usize, score: f64) -> SmallCut {
        SmallCut { score, weight: self.lefts[i] as u64, excess: 0 }
    }

    fn cut_below(&self, ranks: &[u32], end: u32) -> SmallCut {
        let (mut weight, mut inside, mut outside, mut start) = (0, 0, 0, 0);
        for &(group_end, count) in &self.groups {
            let rows = start..usize::from(group_end);
            start = rows.end;
            let rows = ranks[rows.clone()].iter().zip(&self.grouped[rows]);
            let left: i32 = rows.map(|(&rank, &w)| if rank < end { w } else { 0 }).sum();
            weight += left;
            inside += left * left;
            outside += (count - left) * (count - left);
        }
        SmallCut { score: score(self.weight, weight, inside, outside), weight: weight as u64, excess: 0 }
    }
}

/// The score of a cut: weights of the node and of the left, sums of squared class weights of either
/// side. All products are below 2^25.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
fn score(node: i32, left: i32, inside: i32, outside: i32) -> f64 {
    f64::from(inside * (node - left) + outside * left) / f64::from(left * (node - left))
}

vectorized! {
    fn score_cuts(
        ranks: &[u32],
        weights: &[i32],
        groups: &[(u8, i32)],
        node_weight: i32,
        lefts: &mut [i32],
        scores: &mut [f64],
    ) -> f64 {
        let mut highest = [f64::NEG_INFINITY; LANES];
        let (lanes, lefts) = (ranks.as_chunks::<LANES>().0, lefts.as_chunks_mut::<LANES>().0);
        for ((lanes, lefts), scores) in lanes.iter().zip(lefts).zip(scores.as_chunks_mut::<LANES>().0) {
            let (mut left, mut inside, mut outside) = ([0; LANES], [0; LANES], [0; LANES]);
            let mut start = 0;
            for &(end, count) in groups {
                let rows = start..usize::from(end);
                start = rows.end;
                let mut sum = [0; LANES];
                for (&rank, &weight) in ranks[rows.clone()].iter().zip(&weights[rows]) {
                    for lane in 0..LANES {
                        sum[lane] += if rank <= lanes[lane] { weight } else { 0 };
                    }
                }
                for lane in 0..LANES {
                    left[lane] += sum[lane];
                    inside[lane] += sum[lane] * sum[lane];
                    outside[lane] += (count - sum[lane]) * (count - sum[lane]);
                }
            }
            *lefts = left;
            for lane in 0..LANES {
                let score = score(node_weight, left[lane], inside[lane], outside[lane]);
                scores[lane] = if left[lane] < node_weight { score } else { f64::NEG_INFINITY };
            }
            for lane in 0..LANES {
                highest[lane] = if scores[lane] > highest[lane] { scores[lane] } else { highest[lane] };
            }
        }
        highest.into_iter().fold(f64::NEG_INFINITY, |a, b| if a > b { a } else { b })
    }
}
