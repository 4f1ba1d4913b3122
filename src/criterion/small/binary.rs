//! Gini impurity of two classes in small subtrees; see `criterion::binary` for the formulas.

use super::packed::{PackedRows, unpacked};
use super::{ByRow, ExactScore, LANES, MAX_ROWS, MAX_WEIGHT, SmallCut, SmallRows};
use crate::criterion::Statistics;
use crate::criterion::binary::{BinaryGini, BinaryTotals};
use crate::criterion::weights::SampleWeights;
use crate::simd::Level;

/// The rows of a small subtree.
pub struct SmallBinary {
    /// By place: the weight of the row, and the same if it is of the second class, else 0.
    weights: ByRow<u16>,
    seconds: ByRow<u16>,
    /// The node's weight, and that of the second class.
    node: BinaryTotals,
    /// The rows of the node. The excess of some is at most `MAX_WEIGHT^2 / 4` from 0.
    packed: PackedRows,
    /// The packed sums of units of categories.
    units: ByRow<i32>,
}

impl SmallBinary {
    /// The cut with this packed sum on its left.
    #[inline]
    fn unpack(&self, sum: i32) -> SmallCut {
        let ExactScore { numerator, denominator } = self.exact_of(sum);
        let score = numerator as u64 as f64 / f64::from(denominator);
        SmallCut { score, weight: unpacked(sum).0 as u32 }
    }

    /// Its exact score, whose numerator has 36 bits.
    #[inline]
    fn exact_of(&self, sum: i32) -> ExactScore {
        let (weight, excess) = unpacked(sum);
        let (weight, excess) = (weight as u32, u64::from(excess.unsigned_abs()));
        let numerator = u128::from(excess * excess);
        ExactScore { numerator, denominator: weight * (self.node.weight as u32 - weight) }
    }
}

impl<W: SampleWeights> SmallRows<BinaryGini<'_, W>> for SmallBinary {
    fn new(_criterion: &BinaryGini<'_, W>) -> Option<Self> {
        W::ARE_SMALL.then_some(Self {
            weights: [0; MAX_ROWS],
            seconds: [0; MAX_ROWS],
            node: BinaryTotals::default(),
            packed: PackedRows::new(),
            units: [0; MAX_ROWS],
        })
    }

    fn load(&mut self, criterion: &BinaryGini<'_, W>, samples: &mut [u32]) -> bool {
        let mut total = 0;
        for ((weight, second), &sample) in self.weights.iter_mut().zip(&mut self.seconds).zip(&*samples) {
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

    fn row_weight(&self, place: u8) -> u32 {
        self.weights[usize::from(place)].into()
    }

    fn write_row_value(&self, _criterion: &BinaryGini<'_, W>, place: u8, _sample: u32, value: &mut [f64]) {
        value.fill(0.0);
        value[usize::from(self.seconds[usize::from(place)] > 0)] = 1.0;
    }

    fn begin(&mut self, places: &[u8]) {
        let (weight, second) = (self.node.weight as i32, self.node.second as i32);
        let Self { weights, seconds, packed, .. } = self;
        let rows = places.iter().map(|&place| {
            let (w, s) = (i32::from(weights[usize::from(place)]), i32::from(seconds[usize::from(place)]));
            (w, s * weight - w * second)
        });
        packed.set(weight, rows);
    }

    /// The classes cannot be parted better than completely.
    fn most_score(&self) -> f64 {
        (self.node.second * (self.node.weight - self.node.second)) as f64
    }

    fn score_cuts(&mut self, level: Level, ranks: &[u32], lasts: &[[u32; LANES]], scores: &mut [[f64; LANES]]) -> f64 {
        self.packed.score_cuts(level, ranks, lasts, scores)
    }

    /// Let `W` be the weight of the node. Scores are at most `W^2 / 4`, and quotients whose denominators are
    /// at most that. So different ones differ by at least the inverse of its square: for this weight,
    /// relatively by 2^-48.
    fn are_scores_exact(&self) -> bool {
        self.node.weight <= 512
    }

    fn score_subsets(&mut self, level: Level, units: &[u32], lefts: &[u32; LANES], scores: &mut [f64; LANES]) -> f64 {
        self.packed.score_subsets(level, units, lefts, scores)
    }

    fn have_equal_means(&self) -> bool {
        (0..LANES).all(|i| unpacked(self.packed.sum(i)).1 == 0)
    }

    fn is_lower(&self, i: usize) -> bool {
        unpacked(self.packed.sum(i)).1 < 0
    }

    fn score_again(
        &mut self,
        level: Level,
        ranks: &[u32],
        _lasts: &[[u32; LANES]],
        scores: &mut [[f64; LANES]],
    ) -> f64 {
        self.packed.score_again(level, ranks, scores)
    }

    fn cut(&self, i: usize) -> SmallCut {
        self.unpack(self.packed.sum(i))
    }

    fn exact(&self, i: usize) -> ExactScore {
        self.exact_of(self.packed.sum(i))
    }

    fn cut_below(&self, ranks: &[u32], end: u32) -> SmallCut {
        self.unpack(self.packed.sum_where(ranks, |rank| rank < end))
    }

    fn exact_below(&self, ranks: &[u32], end: u32) -> ExactScore {
        self.exact_of(self.packed.sum_where(ranks, |rank| rank < end))
    }

    fn cuts_with_missing(&self, ranks: &[u32], end: u32, missing: u32) -> [SmallCut; 3] {
        // One pass: with two, extra trees on missing values take 1.05 of the time (`benches/NOTES.md`).
        let (mut below, mut absent) = (0, 0);
        for (&rank, &row) in ranks.iter().zip(self.packed.rows()) {
            below += row & -i32::from(rank < end);
            absent += row & -i32::from(rank == missing);
        }
        // The excesses of all rows add up to 0.
        [below, self.node.weight as i32 - absent, below + absent].map(|sum| self.unpack(sum))
    }

    fn add_units(&mut self, units: &[u8], n_units: usize) {
        self.units[..n_units].fill(0);
        for (&unit, row) in units.iter().zip(self.packed.rows()) {
            self.units[usize::from(unit)] += row;
        }
    }

    /// The mean excess of some rows grows with their share of the second class.
    fn sort_units(&mut self, i: usize, units: &mut [u8]) -> bool {
        let mean = |unit: u8| unpacked(self.units[usize::from(unit)]);
        if i > 0 {
            return false;
        }
        units.sort_unstable_by(|&a, &b| {
            let ((weight, excess), (other_weight, other_excess)) = (mean(a), mean(b));
            // The excess of a part of the node is below 2^18, and weights are below 2^10.
            (excess * other_weight).cmp(&(other_excess * weight)).then(a.cmp(&b))
        });
        true
    }
}
