//! Bounds of what splits can gain in squared error. Samples are points, one coordinate per output,
//! and the bounds measure how far they are from a point that stays fixed, the center.

use std::cmp::Ordering;

use super::SquaredError;
use crate::criterion::bounded::{Bounded, Ceiling, Summary};
use crate::criterion::statistics::Statistics;
use crate::criterion::weights::SampleWeights;
use crate::data::target::Numbers;

/// The range of the fixed-point targets of an output, extended to include 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    low: f64,
    high: f64,
    /// The mean of the targets without weights, rounded. Summaries measure distances from it. Both are
    /// integers, so that targets near it keep their distances where doubles would round both alike.
    center: i64,
}

impl Span {
    /// The range of the targets of an output.
    pub fn of(numbers: &Numbers, output: usize) -> Self {
        let values = || numbers.fixed.iter().skip(output).step_by(numbers.scale.len()).map(|&q| q as f64);
        let (low, high) = values().fold((0f64, 0f64), |(low, high), q| (low.min(q), high.max(q)));
        Self { low, high, center: (values().sum::<f64>() / (values().len() as f64)) as i64 }
    }
}

impl<W: SampleWeights> SquaredError<'_, W> {
    /// The squared distance between a sample and a point, over all outputs in the finest scale.
    /// `from` gives the distance in one output, from the fixed-point target and the output's span.
    #[inline]
    fn distance_from(&self, sample: u32, from: impl Fn(i64, &Span) -> f64) -> f64 {
        let values = self.values(sample).iter().zip(&self.spans).zip(&self.factors);
        values.map(|((&q, span), factor)| (from(q, span) * factor).powi(2)).sum()
    }

    /// The weighted squared distance between a sample and the center.
    #[inline]
    fn spread(&self, sample: u32) -> f64 {
        self.weights.weight(sample) as f64 * self.distance_from(sample, |q, span| (q - span.center) as f64)
    }
}

impl<W: SampleWeights> Bounded for SquaredError<'_, W> {
    /// An upper bound of the sum of the weighted squared distances from the center.
    type Spread = f64;
    /// The distance between the node's mean and the center.
    type Mean = f64;

    fn is_squared_distance(&self) -> bool {
        true
    }

    /// The best cut of the samples in the order of their targets, for few samples of one output:
    /// the best partition of points on a line is into intervals (Fisher, "On grouping for maximum
    /// homogeneity", 1958).
    fn best_conceivable(&self, node: &Self::Totals, samples: &[u32], scan: &mut Self::Scan) -> Option<Self::Proof> {
        const MOST: usize = 8;
        let n = samples.len();
        if self.n_outputs > 1 || n > MOST {
            return None;
        }
        let mut order = [(0, 0); MOST];
        let order = &mut order[..n];
        for (slot, &sample) in order.iter_mut().zip(samples) {
            *slot = (self.numbers.fixed[sample as usize], sample);
        }
        order.sort_unstable();
        let mut pushed = self.begin(node, scan);
        let mut best: Option<(f64, Self::Pushed)> = None;
        for &(_, sample) in &order[..n - 1] {
            self.push(node, scan, &mut pushed, sample);
            let score = self.score(node, scan, pushed);
            let wins = best.is_none_or(|(highest, old)| {
                let tolerance = self.tolerance(node, highest.max(score));
                let proof = |pushed| (pushed, Box::default());
                if (score - highest).abs() > tolerance {
                    score > highest
                } else {
                    self.compare(node, &proof(pushed), &proof(old)) == Ordering::Greater
                }
            });
            if wins {
                best = Some((score, pushed));
            }
        }
        best.map(|(_, pushed)| (pushed, Box::default()))
    }

    fn gain(&self, node: &Self::Totals, score: f64) -> f64 {
        score * node.weight as f64
    }

    fn summary(&self, samples: impl Iterator<Item = u32> + Clone, _scan: &mut Self::Scan) -> Summary<f64> {
        let mut summary = Summary::default();
        for sample in samples {
            summary.weight += self.weights.weight(sample);
            summary.spread = (summary.spread + self.spread(sample)) * (1.0 + 4.0 * f64::EPSILON);
        }
        summary
    }

    #[inline]
    fn exclude(&self, summary: &mut Summary<f64>, sample: u32) {
        summary.weight -= self.weights.weight(sample);
        let spread = summary.spread * (1.0 + 4.0 * f64::EPSILON) - self.spread(sample) * (1.0 - 4.0 * f64::EPSILON);
        summary.spread = spread.max(0.0);
    }

    fn farthest_distance(&self, sample: u32) -> f64 {
        let distance = self.distance_from(sample, |q, span| (q as f64 - span.low).max(span.high - q as f64));
        self.weights.weight(sample) as f64 * distance
    }

    fn distance(&self, node: &Self::Totals, _ceiling: &Ceiling<f64>, sample: u32) -> f64 {
        let outputs = self.values(sample).iter().zip(&node.outputs).zip(&self.factors);
        outputs.map(|((&q, output), factor)| (((q - output.mean) as f64 - output.fraction) * factor).powi(2)).sum()
    }

    /// The radius covers the targets of all samples, in the node or not.
    fn ceiling(&self, node: &Self::Totals) -> Ceiling<f64> {
        let (mut shift, mut radius) = (0.0, 0.0);
        for ((output, span), factor) in node.outputs.iter().zip(&self.spans).zip(&self.factors) {
            let mean = output.mean as f64 + output.fraction;
            shift += (((output.mean - span.center) as f64 + output.fraction) * factor).powi(2);
            radius += ((mean - span.low).max(span.high - mean) * factor).powi(2);
        }
        Ceiling { weight: node.weight as f64, radius, mean: shift.sqrt() }
    }

    /// By Cauchy and Schwarz, the gain of a subset is at most `W / (W - w)` times the sum of the
    /// weighted squared distances of all the summary's samples from the node's mean. The triangle
    /// inequality bounds that sum by the one from the center.
    #[inline]
    fn most_gain(ceiling: &Ceiling<f64>, summary: &Summary<f64>) -> f64 {
        let (n, m) = (ceiling.weight, summary.weight as f64);
        let spread = (summary.spread.sqrt() + m.sqrt() * ceiling.mean).powi(2);
        if m < n { spread * n / (n - m) } else { f64::INFINITY }
    }
}
