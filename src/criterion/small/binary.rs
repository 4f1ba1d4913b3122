//! Gini impurity of two classes in small subtrees; see `criterion::binary` for the formulas.

use super::{
    BY_RANK, BY_UNIT, ByRow, LANES, MAX_ROWS, MAX_WEIGHT, SmallCut, SmallRows, goes_left, higher, highest_of, is_end,
};
use crate::criterion::Statistics;
use crate::criterion::binary::{BinaryGini, BinaryTotals};
use crate::criterion::weights::SampleWeights;
use crate::simd::{Level, vectorized};

/// The low bits of a packed sum, which hold a weight of at most [`MAX_WEIGHT`]. The bits above them
/// hold an excess `D`, at most `MAX_WEIGHT^2 / 4` from 0.
const WEIGHT_BITS: u32 = 10;
const WEIGHT_MASK: i32 = (1 << WEIGHT_BITS) - 1;

/// The rows of a small subtree.
pub struct SmallBinary {
    /// By place: the weight of the row, and the same if it is of the second class, else 0.
    weights: ByRow<u16>,
    seconds: ByRow<u16>,
    /// The node's weight, and that of the second class.
    node: BinaryTotals,
    /// The rows of the node, each with its weight and its part of the excess, packed.
    packed: ByRow<i32>,
    /// The packed sums of the cuts that were scored last.
    sums: [[i32; LANES]; MAX_ROWS / LANES],
    /// The packed sums of units of categories.
    units: ByRow<i32>,
}

impl SmallBinary {
    fn unpack(&self, sum: i32) -> SmallCut {
        let (weight, excess) = ((sum & WEIGHT_MASK) as u64, u64::from((sum >> WEIGHT_BITS).unsigned_abs()));
        let (numerator, denominator) = (excess * excess, weight * (self.node.weight - weight));
        let score = numerator as f64 / denominator as f64;
        SmallCut { score, numerator: numerator.into(), denominator, weight }
    }
}

impl<W: SampleWeights> SmallRows<BinaryGini<'_, W>> for SmallBinary {
    fn new(_criterion: &BinaryGini<'_, W>) -> Option<Self> {
        W::ARE_SMALL.then_some(Self {
            weights: [0; MAX_ROWS],
            seconds: [0; MAX_ROWS],
            node: BinaryTotals::default(),
            packed: [0; MAX_ROWS],
            sums: [[0; LANES]; MAX_ROWS / LANES],
            units: [0; MAX_ROWS],
        })
    }

    fn load(&mut self, criterion: &BinaryGini<'_, W>, samples: &[u32]) -> bool {
        let mut total = 0;
        for ((weight, second), &sample) in self.weights.iter_mut().zip(&mut self.seconds).zip(samples) {
            let w = criterion.weights.weight(sample);
            total += w;
            *weight = w as u16;
            *second = w as u16 * criterion.classes[sample as usize] as u16;
        }
        total <= MAX_WEIGHT
    }

    fn enter(&mut self, places: &[u8]) {
        let (mut weight, mut second) = (0, 0);
        for &place in places {
            weight += self.weights[usize::from(place)];
            second += self.seconds[usize::from(place)];
        }
        self.node = BinaryTotals { weight: weight.into(), second: second.into() };
    }

    fn weight(&self) -> u64 {
        self.node.weight
    }

    fn is_pure(&self) -> bool {
        self.node.second == 0 || self.node.second == self.node.weight
    }

    fn impurity(&self, criterion: &BinaryGini<'_, W>) -> f64 {
        criterion.impurity(&self.node)
    }

    fn write_value(&self, criterion: &BinaryGini<'_, W>, samples: &[u32], value: &mut [f64]) {
        criterion.write_value(&self.node, samples, value);
    }

    fn begin(&mut self, places: &[u8], _samples: &mut [u32]) {
        let (weight, second) = (self.node.weight as i32, self.node.second as i32);
        for (packed, &place) in self.packed.iter_mut().zip(places) {
            let (w, s) = (self.weights[usize::from(place)], self.seconds[usize::from(place)]);
            let (w, s) = (i32::from(w), i32::from(s));
            *packed = (s * weight - w * second) * (1 << WEIGHT_BITS) + w;
        }
    }

    /// The classes cannot be parted better than completely.
    fn most_score(&self) -> f64 {
        (self.node.second * (self.node.weight - self.node.second)) as f64
    }

    fn score_cuts(&mut self, level: Level, ranks: &[u32], lasts: &[[u32; LANES]], scores: &mut [[f64; LANES]]) -> f64 {
        score_cuts::<BY_RANK>(level, ranks, &self.packed, lasts, self.node.weight as i32, &mut self.sums, scores)
    }

    fn score_subsets(&mut self, level: Level, units: &[u32], lefts: &[u32; LANES], scores: &mut [f64; LANES]) -> f64 {
        let Self { packed, node, sums, .. } = self;
        let (lefts, scores) = (std::slice::from_ref(lefts), std::slice::from_mut(scores));
        score_cuts::<BY_UNIT>(level, units, packed, lefts, node.weight as i32, sums, scores)
    }

    fn have_equal_means(&self) -> bool {
        self.sums[0].iter().all(|sum| sum >> WEIGHT_BITS == 0)
    }

    fn is_lower(&self, i: usize) -> bool {
        self.sums.as_flattened()[i] >> WEIGHT_BITS < 0
    }

    fn score_with(
        &mut self,
        level: Level,
        ranks: &[u32],
        missing: u32,
        lasts: &[[u32; LANES]],
        scores: &mut [[f64; LANES]],
    ) -> f64 {
        let Self { node, packed, sums, .. } = self;
        score_moved(level, ranks, missing, packed, node.weight as i32, &mut sums[..lasts.len()], scores)
    }

    fn cut(&self, i: usize) -> SmallCut {
        self.unpack(self.sums.as_flattened()[i])
    }

    fn cut_below(&self, ranks: &[u32], end: u32) -> SmallCut {
        self.unpack(sum_where(ranks, &self.packed, |rank| rank < end))
    }

    fn cuts_with_missing(&self, ranks: &[u32], end: u32, missing: u32) -> [SmallCut; 3] {
        // One pass: with two, extra trees on missing values take 1.05 of the time (`benches/NOTES.md`).
        let (mut below, mut absent) = (0, 0);
        for (&rank, &row) in ranks.iter().zip(&self.packed) {
            below += row & -i32::from(rank < end);
            absent += row & -i32::from(rank == missing);
        }
        // The excesses of all rows add up to 0.
        [below, self.node.weight as i32 - absent, below + absent].map(|sum| self.unpack(sum))
    }

    fn add_units(&mut self, units: &[u8], n_units: usize) {
        self.units[..n_units].fill(0);
        for (&unit, row) in units.iter().zip(&self.packed) {
            self.units[usize::from(unit)] += row;
        }
    }

    /// The mean excess of some rows grows with their share of the second class.
    fn sort_units(&mut self, i: usize, units: &mut [u8]) -> Option<u32> {
        let mean = |unit: u8| {
            let sum = self.units[usize::from(unit)];
            (sum >> WEIGHT_BITS, sum & WEIGHT_MASK)
        };
        if i > 0 {
            return None;
        }
        units.sort_unstable_by(|&a, &b| {
            let ((excess, weight), (other_excess, other_weight)) = (mean(a), mean(b));
            // The excess of a part of the node is below 2^18, and weights are below 2^10.
            (excess * other_weight).cmp(&(other_excess * weight)).then(a.cmp(&b))
        });
        Some(0)
    }
}

vectorized! {
    fn score_cuts<const BY: usize>(
        ranks: &[u32],
        rows: &[i32],
        lasts: &[[u32; LANES]],
        node_weight: i32,
        sums: &mut [[i32; LANES]],
        scores: &mut [[f64; LANES]],
    ) -> f64 {
        let mut highest = [f64::NEG_INFINITY; LANES];
        for ((lasts, sums), scores) in lasts.iter().zip(sums).zip(scores) {
            let mut sum = [0; LANES];
            for (&rank, &row) in ranks.iter().zip(rows) {
                if is_end(row) {
                    break;
                }
                for lane in 0..LANES {
                    sum[lane] += if goes_left::<BY>(rank, lasts[lane]) { row } else { 0 };
                }
            }
            *sums = sum;
            *scores = score(sum, node_weight);
            highest = higher(highest, scores);
        }
        highest_of(highest)
    }
}

vectorized! {
    fn score_moved(
        ranks: &[u32],
        missing: u32,
        rows: &[i32],
        node_weight: i32,
        sums: &mut [[i32; LANES]],
        scores: &mut [[f64; LANES]],
    ) -> f64 {
        let moved = sum_where(ranks, rows, |rank| rank == missing);
        let mut highest = [f64::NEG_INFINITY; LANES];
        for (sums, scores) in sums.iter_mut().zip(scores) {
            for sum in sums.iter_mut() {
                *sum += moved;
            }
            *scores = score(*sums, node_weight);
            highest = higher(highest, scores);
        }
        highest_of(highest)
    }
}

/// The packed sum of rows of certain ranks.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
fn sum_where(ranks: &[u32], rows: &[i32], is_summed: impl Fn(u32) -> bool) -> i32 {
    // Without branches on ranks, which would be mispredicted.
    ranks.iter().zip(rows).map(|(&rank, &row)| row & -i32::from(is_summed(rank))).sum()
}

/// The scores of cuts, given the packed sums on their left.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
fn score(sum: [i32; LANES], node_weight: i32) -> [f64; LANES] {
    let mut scores = [0.0; LANES];
    for lane in 0..LANES {
        let (weight, excess) = (sum[lane] & WEIGHT_MASK, sum[lane] >> WEIGHT_BITS);
        let excess = f64::from(excess);
        let score = excess * excess / f64::from(weight * (node_weight - weight));
        scores[lane] = if weight < node_weight { score } else { f64::NEG_INFINITY };
    }
    scores
}
