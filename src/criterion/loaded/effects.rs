//! How much the effects of a treatment differ on the two sides of a cut (Athey, Tibshirani, Wager,
//! "Generalized random forests", Annals of Statistics 47, 2019, section 2.3).
//!
//! A sample has an outcome `y`, a treatment `w`, an instrument `z` (the treatment itself, unless it is given)
//! and a weight `s`. The effect in a node is the slope
//!
//! > `theta = sum of s (z - Z) (y - Y) / sum of s (z - Z) (w - W)`
//!
//! where capitals are the weighted means of the node. By how much a sample would change it is, but for a
//! factor of the node,
//!
//! > `label = (z - Z) (y - Y - theta (w - W))`.
//!
//! The labels of a node add up to 0. A cut is the better the more it lowers the squared error of the labels,
//! which is a regression tree's rule, with targets that each node makes anew.
//!
//! Roundings: values are taken with 37 bits, so that the sums of a node and of its products are exact
//! integers. Its labels are computed from these by `f64`, and rounded to 51 bits of the largest. So a label
//! is a function of which samples, with which weights, are in the node, and of nothing else; and the order
//! of candidates is exact for these labels. Sums of labels are below 2^102, and the exact order needs 364
//! bits.

use std::cmp::Ordering;
use std::sync::Arc;

use smallvec::smallvec;

use super::rule::{Pass, Proof, Pushed, Rule};
use super::sample_order::SampleOrder;
use super::{NodeLists, NodeWeights};
use crate::criterion::small::{Components, InTwoDoubles, Precision, set_pairs};
use crate::criterion::statistics::QUOTIENT_SLACK;
use crate::criterion::weights::Moment;
use crate::data::Target;
use crate::data::target::Numbers;
use crate::num::{Exact, Wide, exponent, scale_by_power_of_two};

/// Bits of a value with its sign.
const VALUE_BITS: u32 = 37;
/// The largest label of a node is below two to this.
const LABEL_BITS: i32 = 50;
/// What is smaller than this, relative to what it is the difference of, is rounding.
const TINY: f64 = 1e-11;
/// The columns of the target.
const OUTCOME: usize = 0;
const TREATMENT: usize = 1;

/// The criterion over a target of three or four numbers: outcomes, treatments, perhaps instruments, and a
/// last one by which, too, categories are put in order.
pub struct Effects<'a> {
    numbers: &'a Numbers,
    weights: NodeWeights<'a>,
    /// What turns a square of labels over squared weights of treatments into the unit that users see.
    unit: f64,
    /// Of each sample: outcome, treatment and instrument.
    values: Box<[[i64; 3]]>,
    /// All samples, as they are numbered.
    order: SampleOrder,
}

/// What labels of a node are computed from.
#[derive(Clone, Copy)]
pub struct Labels {
    /// The means of outcomes, treatments and instruments: the nearest integers, and what is missing.
    origins: [i64; 3],
    rests: [f64; 3],
    effect: f64,
    /// The denominator of the effect, over the weight.
    spread: f64,
    /// Labels are multiplied by two to this.
    scale: i32,
    /// The sum of the labels: what rounding leaves of 0.
    sum: i128,
}

impl<'a> Effects<'a> {
    pub(in crate::criterion) fn new(target: &'a Target, numbers: &'a Numbers) -> Self {
        let n_outputs = numbers.scale.len();
        let instrument = if n_outputs > 3 { 2 } else { TREATMENT };
        let shift = numbers.bits.saturating_sub(VALUE_BITS);
        let half = (1_i64 << shift) >> 1;
        let value = |row: &[i64], output: usize| (row[output] + half) >> shift;
        let rows = numbers.fixed.chunks_exact(n_outputs);
        let values = rows.map(|row| [OUTCOME, TREATMENT, instrument].map(|output| value(row, output))).collect();
        let per_treatment = numbers.scale[TREATMENT] - numbers.scale[OUTCOME];
        let unit = scale_by_power_of_two(target.weight_unit(), 2 * per_treatment);
        let samples = (0..target.n_samples() as u32).collect();
        let weights = NodeWeights::new(target.weights());
        Self { numbers, weights, unit, values, order: SampleOrder::new(samples) }
    }

    /// What the labels of a node are computed from. `None` if no cut tells effects apart: the instrument says
    /// nothing of the treatment, or the effect explains all outcomes. O(samples) for the first time.
    fn labels<'n>(&self, node: &'n NodeLists) -> Option<&'n Labels> {
        let found = || self.find_labels(node.only_list(), node.weight);
        node.lists[0].sum.labels.get_or_init(found).as_ref()
    }

    fn find_labels(&self, samples: &[u32], weight: u64) -> Option<Labels> {
        let rows = || samples.iter().map(|&sample| (i128::from(self.weights.of(sample)), self.values[sample as usize]));
        let total = weight as f64;
        let mut sums = [0_i128; 3];
        for (s, row) in rows() {
            sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += s * i128::from(value));
        }
        let origins = sums.map(|sum| (sum.to_f64() / total).round() as i64);
        let (mut lows, mut squares, mut products) = ([0_i128; 3], [0_i128; 3], [0_i128; 2]);
        for (s, row) in rows() {
            let [y, w, z] = [0, 1, 2].map(|column| i128::from(row[column] - origins[column]));
            for (column, value) in [y, w, z].into_iter().enumerate() {
                lows[column] += s * value;
                squares[column] += s * value * value;
            }
            products[OUTCOME] += s * z * y;
            products[TREATMENT] += s * z * w;
        }
        let rests = lows.map(|sum| sum.to_f64() / total);
        let central = |sum: i128, a: usize, b: usize| sum.to_f64() / total - rests[a] * rests[b];
        let [of_outcome, spread] = [OUTCOME, TREATMENT].map(|column| central(products[column], 2, column));
        let [outcomes, treatments, instruments] = [0, 1, 2].map(|column| central(squares[column], column, column));
        if spread.abs() <= TINY * (treatments * instruments).max(0.0).sqrt() {
            return None;
        }
        let effect = of_outcome / spread;
        let mut labels = Labels { origins, rests, effect, spread, scale: 0, sum: 0 };
        let most = samples.iter().map(|&sample| self.label(&labels, sample).abs()).fold(0.0, f64::max);
        labels.scale = LABEL_BITS - 1 - exponent(most);
        let noise = TINY * (instruments * (outcomes + effect * effect * treatments)).sqrt();
        if most > noise {
            labels.sum = self.sum(&labels, samples);
            return Some(labels);
        }
        None
    }

    /// The label of a sample, before it is scaled.
    #[inline]
    fn label(&self, labels: &Labels, sample: u32) -> f64 {
        let Labels { origins, rests, effect, .. } = labels;
        let row = self.values[sample as usize];
        let [y, w, z] = [0, 1, 2].map(|column| (row[column] - origins[column]) as f64 - rests[column]);
        z * (y - effect * w)
    }

    /// The label of a sample as an integer.
    #[inline]
    fn rounded(&self, labels: &Labels, sample: u32) -> i64 {
        scale_by_power_of_two(self.label(labels, sample), labels.scale).round() as i64
    }

    /// The sum of the labels of some samples, each with its weight.
    fn sum(&self, labels: &Labels, samples: &[u32]) -> i128 {
        let label = |&sample: &u32| i128::from(self.weights.of(sample)) * i128::from(self.rounded(labels, sample));
        samples.iter().map(label).sum()
    }
}

impl<'a> Rule<'a> for Effects<'a> {
    fn order(&self, number: usize) -> Option<&SampleOrder> {
        (number == 0).then_some(&self.order)
    }

    fn splits_carry_gain(&self) -> bool {
        true
    }

    /// O(samples).
    fn is_pure(&self, node: &NodeLists) -> bool {
        self.labels(node).is_none()
    }

    /// 0. What the splits below a node gain is added when the tree is whole.
    fn impurity(&self, _node: &NodeLists) -> f64 {
        0.0
    }

    /// 0. See [`impurity`](Self::impurity).
    fn cost(&self, _node: &NodeLists) -> f64 {
        0.0
    }

    /// By how much the squared error of effects falls, if a label is what its sample changes the effect by.
    /// O(samples).
    fn gain_of_split(&self, node: &NodeLists, left: &NodeLists) -> f64 {
        let Some(labels) = self.labels(node) else { return 0.0 };
        let sum = self.sum(labels, left.only_list()).to_f64();
        let sum = scale_by_power_of_two(sum, -labels.scale) / labels.spread;
        let [inside, outside] = [left.weight, node.weight - left.weight].map(|weight| weight as f64);
        (sum * sum / inside + sum * sum / outside) * self.unit
    }

    fn n_means(&self) -> usize {
        self.numbers.scale.len()
    }

    /// O(samples).
    fn mean(&self, node: &NodeLists, output: usize) -> f64 {
        let (numbers, n_outputs) = (self.numbers, self.n_means());
        let fixed = |&sample: &u32| i128::from(numbers.fixed[sample as usize * n_outputs + output]);
        let sum: i128 = node.only_list().iter().map(|s| i128::from(self.weights.of(*s)) * fixed(s)).sum();
        let mean = sum.to_f64() / node.weight as f64;
        numbers.center[output] + scale_by_power_of_two(mean, -numbers.scale[output])
    }

    fn numbers(&self) -> &'a [i64] {
        &self.numbers.fixed
    }

    /// A proof has the magnitudes of the sums of labels, each with its weight: of the pushed samples, and of
    /// the rest.
    fn compare(&self, a: &Proof, b: &Proof) -> Ordering {
        let wide = |proof: &Proof, at: usize| Wide::<10>::from(proof[at]);
        let of_side = |proof, sum, weight| wide(proof, sum).times(&wide(proof, sum)).times(&wide(proof, weight));
        let numerator = |proof| of_side(proof, 0, 3).plus(&of_side(proof, 2, 1));
        let denominator = |proof| wide(proof, 1).times(&wide(proof, 3));
        numerator(a).times(&denominator(b)).cmp(&numerator(b).times(&denominator(a)))
    }

    fn has_squares(&self) -> bool {
        true
    }

    /// The excess of a sample is its label less the mean of all, each with its weight. If `D` is the excess
    /// of a side, of weight `w`, `W` the weight of the node, and `S` the sum of its labels, the score is
    /// `W D^2 / (w (W - w)) + S^2 / W`.
    fn set_lanes(
        &self,
        node: &NodeLists,
        samples: &[u32],
        weights: &[u64],
        lanes: &mut Components<InTwoDoubles>,
    ) -> Precision {
        let weight = node.weight as f64;
        let labels = self.labels(node);
        let mean = labels.map_or(0.0, |labels| labels.sum.to_f64() / weight);
        let excess = |sample, w| labels.map_or(0.0, |labels| w * (self.rounded(labels, sample) as f64 - mean));
        let error = set_pairs(samples, weights, (weight, 1.0), excess, &mut lanes.cells);
        Precision::Squares { error: error + mean.abs(), per_unit: 1.0 / weight.sqrt(), absolute: 0.0 }
    }

    fn pass(self: Arc<Self>, weights: NodeWeights<'a>) -> Box<dyn Pass + 'a> {
        Box::new(EffectsPass { criterion: self, weights, node: 0, labels: Vec::new(), weight: 0, sum: 0 })
    }
}

/// A loaded node.
struct EffectsPass<'a> {
    criterion: Arc<Effects<'a>>,
    weights: NodeWeights<'a>,
    /// The identity of the loaded node; 0 before the first.
    node: u64,
    /// The label of each sample of the node; anything for others. Empty before the first node.
    labels: Vec<i64>,
    /// The weight of the node, and the sum of its labels: what rounding leaves of 0.
    weight: u64,
    sum: i128,
}

impl EffectsPass<'_> {
    /// Sum of labels and weight, of the pushed samples and of the rest.
    #[inline]
    fn sides(&self, pushed: Pushed) -> [(i128, u64); 2] {
        [(pushed.sums[0], pushed.weight), (self.sum - pushed.sums[0], self.weight - pushed.weight)]
    }
}

impl Pass for EffectsPass<'_> {
    /// O(samples) for the first column of a node.
    fn begin(&mut self, node: &NodeLists) {
        if self.node == node.id {
            return;
        }
        self.labels.resize(self.criterion.values.len(), 0);
        let found = self.criterion.labels(node);
        for &sample in node.only_list() {
            self.labels[sample as usize] = found.map_or(0, |labels| self.criterion.rounded(labels, sample));
        }
        (self.node, self.weight, self.sum) = (node.id, node.weight, found.map_or(0, |labels| labels.sum));
    }

    /// O(samples that are pushed), but for the first of a node.
    fn push_few(&mut self, node: &NodeLists, samples: &[u32]) -> Pushed {
        let found = self.criterion.labels(node);
        (self.weight, self.sum) = (node.weight, found.map_or(0, |labels| labels.sum));
        let weight = samples.iter().map(|&sample| self.weights.of(sample)).sum();
        let sum = found.map_or(0, |labels| self.criterion.sum(labels, samples));
        Pushed { weight, sums: [sum, 0], ..Pushed::default() }
    }

    #[inline]
    fn push(&mut self, pushed: &mut Pushed, sample: u32) {
        let weight = self.weights.of(sample);
        pushed.weight += weight;
        pushed.sums[0] += i128::from(weight) * i128::from(self.labels[sample as usize]);
    }

    #[inline]
    fn score(&self, pushed: Pushed) -> f64 {
        let [inside, outside] = self.sides(pushed).map(|(sum, weight)| (sum.to_f64(), weight as f64));
        inside.0 * inside.0 / inside.1 + outside.0 * outside.0 / outside.1
    }

    #[inline]
    fn may_score(&self, pushed: Pushed, least: f64) -> bool {
        let [inside, outside] = self.sides(pushed).map(|(sum, weight)| (sum.to_f64(), weight as f64));
        let numerator = inside.0 * inside.0 * outside.1 + outside.0 * outside.0 * inside.1;
        least <= 0.0 || numerator >= least * (inside.1 * outside.1) * QUOTIENT_SLACK
    }

    fn proof(&self, pushed: Pushed) -> Proof {
        let [inside, outside] = self.sides(pushed);
        smallvec![inside.0.unsigned_abs(), u128::from(inside.1), outside.0.unsigned_abs(), u128::from(outside.1)]
    }

    /// Not known: parameters with monotonic constraints are refused.
    fn side_means(&self, _node: &NodeLists, _pushed: Pushed, _output: usize) -> [f64; 2] {
        [f64::NAN; 2]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Labels as Given;
    use crate::data::target::TargetValues;
    use crate::runtime::Runtime;

    fn with_effects<T>(rows: &[[f64; 3]], weights: &[f64], ask: impl FnOnce(&Effects<'_>) -> T) -> T {
        let given = Given::Numbers { y: rows.as_flattened(), n_outputs: 3 };
        let target = Target::encode(given, Some(weights), &Runtime::unstoppable()).expect("numbers");
        let TargetValues::Numbers(numbers) = target.values() else { panic!("numbers") };
        ask(&Effects::new(&target, numbers))
    }

    #[test]
    fn labels_are_what_samples_change_the_effect_by() {
        // The effect is the slope of a weighted regression.
        let rows = [[1.0, 0.0, 0.0], [2.0, 1.0, 0.0], [4.0, 3.0, 0.0], [3.0, 2.0, 0.0], [3.0, 4.0, 0.0]];
        let weights = [1.0, 2.0, 1.0, 3.0, 1.0];
        with_effects(&rows, &weights, |effects| {
            let samples: Vec<u32> = (0..5).collect();
            let labels = effects.find_labels(&samples, 8).expect("effects differ");
            let mean = |column: usize| rows.iter().zip(weights).map(|(row, s)| s * row[column]).sum::<f64>() / 8.0;
            let (y, w) = (mean(OUTCOME), mean(TREATMENT));
            let sum = |term: &dyn Fn(&[f64; 3]) -> f64| rows.iter().zip(weights).map(|(row, s)| s * term(row)).sum();
            let (of_outcome, spread): (f64, f64) =
                (sum(&|row| (row[1] - w) * (row[0] - y)), sum(&|row| (row[1] - w) * (row[1] - w)));
            let expected = |row: &[f64; 3]| (row[1] - w) * (row[0] - y - of_outcome / spread * (row[1] - w));
            let unit = effects.label(&labels, 2) / expected(&rows[2]);
            for (&sample, row) in samples.iter().zip(&rows) {
                assert!((effects.label(&labels, sample) / unit - expected(row)).abs() < 1e-8, "{sample}");
            }
            let total: i64 = samples.iter().map(|&s| weights[s as usize] as i64 * effects.rounded(&labels, s)).sum();
            assert!(total.abs() < 1 << 20, "{total} of 2^{LABEL_BITS}");
        });
    }

    #[test]
    fn nodes_without_effects_are_pure() {
        let rows = [[1.0, 2.0, 0.0], [5.0, 2.0, 0.0], [4.0, 3.0, 0.0]];
        with_effects(&rows, &[1.0; 3], |effects| {
            // Treatments are equal.
            assert!(effects.find_labels(&[0, 1], 2).is_none());
            // The effect explains both outcomes.
            assert!(effects.find_labels(&[0, 2], 2).is_none());
            assert!(effects.find_labels(&[0, 1, 2], 3).is_some());
        });
    }
}
