//! The target and the sample weights, as integers.
//!
//! Class counts, sums and sums of squares are exact in integers, so the results do not depend on the order in
//! which samples are added, subtracted or merged. All rounding happens here, once:
//!
//! * **Weights** become integer multiples of a common unit, with a total below 2^[`WEIGHT_BITS`]
//!   (`data::weights`).
//! * **Regression targets** become multiples of a power of two, chosen per output, around a centre: integers
//!   below 2^[`COARSE_BITS`], or 2^[`FINE_BITS`] where most values would be squeezed into few of these
//!   integers (outliers, long tails), or where two values that differ by much of their size would become one
//!   (`data::range`). Integers and dyadic fractions of moderate size are exact.
//!
//! * **Times** until an event become ranks (`data::survival`), and nothing is rounded.
//!
//! These bounds keep the exact comparisons of `num::Wide` and the `i128` sums of the criteria from
//! overflow. The bounds do not depend on the number of samples, so that a weight of k and k copies
//! give the same integers.

use std::sync::Arc;

use super::range::Range;
use super::survival::{self, Survival};
pub use super::weights::{WEIGHT_BITS, Weights};
use super::weights::{encode_weights, reweighted};
use crate::error::{Error, Result};
use crate::num::{bit_length, exponent, round_ties_even, scale_by_power_of_two};
use crate::runtime::Runtime;

/// Fixed-point targets have this many bits with their sign: room for 2^19 samples of weight 1 in an
/// `i64` sum.
pub const COARSE_BITS: u32 = 44;
/// Fixed-point targets of wide range have this many bits with their sign; their sums are `i128`.
pub const FINE_BITS: u32 = 61;
/// The scales of two outputs differ by at most `2^SCALE_SPREAD`: an output whose range is more than
/// 10^27 times smaller than another's loses digits.
pub const SCALE_SPREAD: i32 = 90;

/// The values to be predicted for all samples, with the weights of the samples. A clone or a
/// reweighted target shares the values.
#[derive(Debug, Clone)]
pub struct Target {
    n_samples: usize,
    n_outputs: usize,
    weights: Weights,
    weight_unit: f64,
    values: TargetValues,
}

/// The values of a target, in the form of its task.
#[derive(Debug, Clone)]
pub enum TargetValues {
    /// Classification: a class for each sample and output.
    Classes(Classes),
    /// Regression: a number for each sample and output.
    Numbers(Numbers),
    /// Survival analysis: a time for each sample, and whether an event came then.
    Survival(Survival),
    /// Nothing is to be predicted, as in an isolation forest.
    Absent,
}

/// The classes of all samples, as slots of counts.
#[derive(Debug, Clone)]
pub struct Classes {
    /// Row-major `(n_samples, n_outputs)`. The class of output `o` is stored as `first[o] + class`,
    /// its slot in a flat array of counts.
    pub slots: Arc<[u32]>,
    /// The first slot of each output, then the number of slots.
    pub first: Arc<[u32]>,
}

/// The regression targets of all samples in fixed point: `y = center[o] + q * 2^-scale[o]`.
#[derive(Debug, Clone)]
pub struct Numbers {
    /// The fixed-point targets `q`, row-major `(n_samples, n_outputs)`.
    pub fixed: Arc<[i64]>,
    /// The targets as given, in the same shape.
    pub raw: Arc<[f64]>,
    /// For each output, the centre, which is subtracted before scaling.
    pub center: Box<[f64]>,
    /// For each output, the largest magnitude of a target as given.
    pub peak: Box<[f64]>,
    /// For each output, the exponent of the power of two by which the difference is multiplied.
    pub scale: Box<[i32]>,
    /// Bits of a fixed-point target with its sign: [`COARSE_BITS`] or [`FINE_BITS`], or fewer where sums are
    /// [narrow](Target::with_narrow_sums).
    pub bits: u32,
    /// Whether every sum of weights times fixed-point targets fits in an `i64`.
    pub sums_fit_i64: bool,
}

/// Added to fixed-point targets where they must not be negative.
pub const ABOVE_ZERO: u64 = 1 << 62;

/// A fixed-point target, with [`ABOVE_ZERO`] added.
#[inline]
pub fn above_zero(fixed: i64) -> u64 {
    (fixed + ABOVE_ZERO as i64) as u64
}

/// The values to be predicted, as given: row-major `(n_samples, n_outputs)`.
#[derive(Debug, Clone, Copy)]
pub enum Labels<'a> {
    /// Classes, of output `o` below `n_classes[o]`.
    Classes {
        /// The class of each sample and output.
        classes: &'a [u32],
        /// The number of classes of each output.
        n_classes: &'a [u32],
    },
    /// Numbers, which must all be finite.
    Numbers {
        /// The number of each sample and output.
        y: &'a [f64],
        /// The number of outputs: the length of a row of `y`.
        n_outputs: usize,
    },
    /// Times until an event or until censoring.
    Survival {
        /// The time of each sample: finite and not below 0.
        times: &'a [f64],
        /// The event of each sample: 0 if the time is censored, else the number of the cause.
        events: &'a [u32],
        /// The cause of the events that are predicted, above 0; `None` for events of any cause.
        cause: Option<u32>,
    },
    /// Nothing is to be predicted.
    Absent {
        /// Number of samples.
        n_samples: usize,
    },
}

impl Target {
    /// A classification target: `classes` is row-major `(n_samples, n_outputs)`, values of output
    /// `o` are below `n_classes[o]`.
    pub fn classification(classes: &[u32], n_classes: &[u32], sample_weight: Option<&[f64]>) -> Result<Self> {
        Self::encode(Labels::Classes { classes, n_classes }, sample_weight, &Runtime::unstoppable())
    }

    /// A regression target: `y` is row-major `(n_samples, n_outputs)` and finite.
    pub fn regression(y: &[f64], n_outputs: usize, sample_weight: Option<&[f64]>) -> Result<Self> {
        Self::encode(Labels::Numbers { y, n_outputs }, sample_weight, &Runtime::unstoppable())
    }

    /// A survival target: for each sample a time, finite and not below 0, and an event, 0 if the time is
    /// censored. One sample of positive weight at least must have an event.
    pub fn survival(times: &[f64], events: &[u32], sample_weight: Option<&[f64]>) -> Result<Self> {
        Self::encode(Labels::Survival { times, events, cause: None }, sample_weight, &Runtime::unstoppable())
    }

    /// A target of labels and weights, all 1 if there are none.
    pub fn encode(labels: Labels<'_>, sample_weight: Option<&[f64]>, runtime: &Runtime<'_>) -> Result<Self> {
        match labels {
            Labels::Classes { classes, n_classes } => Self::of_classes(classes, n_classes, sample_weight, runtime),
            Labels::Numbers { y, n_outputs } => Self::of_numbers(y, n_outputs, sample_weight, runtime),
            Labels::Survival { times, events, cause } => Self::of_times((times, events), cause, sample_weight, runtime),
            Labels::Absent { n_samples } => {
                let (weights, weight_unit) = encode_weights(sample_weight, n_samples, 1, runtime)?;
                Ok(Self { n_samples, n_outputs: 1, weights, weight_unit, values: TargetValues::Absent })
            }
        }
    }

    fn of_classes(
        classes: &[u32],
        n_classes: &[u32],
        sample_weight: Option<&[f64]>,
        runtime: &Runtime<'_>,
    ) -> Result<Self> {
        let n_outputs = n_classes.len();
        let n_samples = n_samples(classes.len(), n_outputs)?;
        let mut first = vec![0u32];
        for &n in n_classes {
            let end = first[first.len() - 1].checked_add(n);
            first.push(end.ok_or(Error::TooLarge {
                what: "the number of classes of all outputs",
                limit: u64::from(u32::MAX),
                got: n_classes.iter().map(|&n| u64::from(n)).sum(),
            })?);
        }
        let mut slots = Vec::with_capacity(classes.len());
        for row in classes.chunks_exact(n_outputs) {
            for (output, &class) in row.iter().enumerate() {
                if class >= n_classes[output] {
                    return Err(Error::InvalidArgument {
                        name: "y",
                        got: format!("class {class}"),
                        expected: format!("encoded as classes below {}", n_classes[output]),
                    });
                }
                slots.push(first[output] + class);
            }
        }
        let (weights, weight_unit) = encode_weights(sample_weight, n_samples, n_outputs, runtime)?;
        let values = TargetValues::Classes(Classes { slots: slots.into(), first: first.into() });
        Ok(Self { n_samples, n_outputs, weights, weight_unit, values })
    }

    fn of_numbers(y: &[f64], n_outputs: usize, sample_weight: Option<&[f64]>, runtime: &Runtime<'_>) -> Result<Self> {
        let n_samples = n_samples(y.len(), n_outputs)?;
        if let Some(bad) = y.iter().find(|value| !value.is_finite()) {
            return Err(Error::InvalidArgument { name: "y", got: bad.to_string(), expected: "finite".into() });
        }
        let (weights, weight_unit) = encode_weights(sample_weight, n_samples, n_outputs, runtime)?;
        let numbers = Numbers::encode(y, n_outputs, &weights, FINE_BITS, runtime)?;
        Ok(Self { n_samples, n_outputs, weights, weight_unit, values: TargetValues::Numbers(numbers) })
    }

    fn of_times(
        (times, events): (&[f64], &[u32]),
        cause: Option<u32>,
        sample_weight: Option<&[f64]>,
        runtime: &Runtime<'_>,
    ) -> Result<Self> {
        let n_samples = n_samples(times.len(), 1)?;
        if n_samples > survival::MAX_SAMPLES {
            let (limit, got) = (survival::MAX_SAMPLES as u64, n_samples as u64);
            return Err(Error::TooLarge { what: "the number of times", limit, got });
        }
        if events.len() != n_samples {
            return Err(Error::ShapeMismatch {
                what: "y",
                expected: format!("{n_samples} events, one for each time"),
                got: format!("{} events", events.len()),
            });
        }
        let (weights, weight_unit) = encode_weights(sample_weight, n_samples, 1, runtime)?;
        let values = TargetValues::Survival(Survival::encode((times, events), cause, &weights, runtime)?);
        Ok(Self { n_samples, n_outputs: 1, weights, weight_unit, values })
    }

    /// Returns a target with the same values, and with the weights multiplied by `counts`, one per sample. At
    /// least one weight must stay above 0. Shares the values: O(samples) time, and memory for the weights
    /// alone.
    ///
    /// Regression targets keep this target's fixed point, so that all trees of a forest use one. A target
    /// that is made anew with weights of 0 may get another fixed point, where targets are not exact in
    /// either. Likewise survival targets keep this target's residuals and event times.
    pub fn reweighted(&self, counts: &[u32]) -> Result<Self> {
        let weights = reweighted(&self.weights, counts, self.n_samples, self.n_outputs)?;
        Ok(self.with_weights(weights, self.weight_unit))
    }

    /// Returns a target with the same values and other weights; at least one weight is above 0. Shares the
    /// values. As [`reweighted`](Self::reweighted) it keeps the fixed point, and rows whose weight was 0 must
    /// have 0 again.
    pub fn with_sample_weight(&self, sample_weight: &[f64], runtime: &Runtime<'_>) -> Result<Self> {
        let (weights, unit) = encode_weights(Some(sample_weight), self.n_samples, self.n_outputs, runtime)?;
        debug_assert!((0..self.n_samples).all(|i| self.weights.is_positive(i) || !weights.is_positive(i)));
        Ok(self.with_weights(weights, unit))
    }

    /// Returns a target of the same samples and weights with other numbers, for one output. Its fixed point
    /// follows from the largest magnitude and the mean magnitude, so that nothing is sorted: boosting has new
    /// numbers in each round. Fails unless they are finite where weights are above 0. O(samples).
    pub fn refilled(&self, y: &[f64]) -> Result<Self> {
        let values = TargetValues::Numbers(Numbers::around_zero(y, &self.weights)?);
        Ok(Self { n_samples: y.len(), n_outputs: 1, weights: self.weights.clone(), values, ..*self })
    }

    /// Returns the target with numbers of so few bits that sums of them, each with its weight, fit in an
    /// `i64`. The middle half of the numbers still spans many units; where it would not, the target stays
    /// as it is.
    pub fn with_narrow_sums(mut self, runtime: &Runtime<'_>) -> Result<Self> {
        let bits = (i64::BITS - 1).saturating_sub(bit_length(self.weights.total(self.n_samples)));
        if let TargetValues::Numbers(numbers) = &self.values
            && bits < numbers.bits
        {
            let numbers = Numbers::encode(&numbers.raw, self.n_outputs, &self.weights, bits, runtime)?;
            self.values = TargetValues::Numbers(numbers);
        }
        Ok(self)
    }

    /// Returns a target with the same values, and with weights of 1 in the place of all weights
    /// above 0. Shares the values.
    pub fn equally_weighted(&self) -> Self {
        self.with_weights(self.weights.equal(self.n_samples, self.n_outputs), 1.0)
    }

    /// Makes the target of some samples alone, in this order, with their weights, as if there were
    /// no other samples. Classes that do not occur among these samples are left out; the other
    /// classes keep their order.
    pub fn alone(&self, samples: &[u32], sample_weight: Option<&[f64]>, runtime: &Runtime<'_>) -> Result<Self> {
        let n_outputs = self.n_outputs;
        match &self.values {
            TargetValues::Classes(classes) => {
                let (weights, weight_unit) = encode_weights(sample_weight, samples.len(), n_outputs, runtime)?;
                let values = TargetValues::Classes(classes.alone(samples, n_outputs));
                Ok(Self { n_samples: samples.len(), n_outputs, weights, weight_unit, values })
            }
            TargetValues::Numbers(numbers) => {
                Self::of_numbers(&gather(&numbers.raw, samples, n_outputs), n_outputs, sample_weight, runtime)
            }
            TargetValues::Survival(survival) => {
                let (times, events) = survival.list(samples);
                Self::of_times((&times, &events), survival.cause, sample_weight, runtime)
            }
            TargetValues::Absent => {
                let (weights, weight_unit) = encode_weights(sample_weight, samples.len(), n_outputs, runtime)?;
                Ok(Self { n_samples: samples.len(), n_outputs, weights, weight_unit, values: TargetValues::Absent })
            }
        }
    }

    /// Makes the target of a larger set of samples: sample `i` of this target is sample `rows[i]` of the
    /// larger set, and all others have weight 0. Fixed point and kinds of integers stay as in this target.
    ///
    /// `whole` is a target of the larger set that has the same values for the same samples. If the
    /// integers for these values are the same too, the values of `whole` are shared, whatever they
    /// are for the other samples. If not, the other samples have the value 0.
    pub fn spread(&self, rows: &[u32], whole: &Self) -> Self {
        let (n_outputs, n_samples) = (self.n_outputs, whole.n_samples);
        debug_assert_eq!(rows.len(), self.n_samples);
        let values = match (&self.values, &whole.values) {
            (TargetValues::Numbers(own), TargetValues::Numbers(all)) => {
                let (fixed, raw) = if own.is_in_units_of(all) {
                    (Arc::clone(&all.fixed), Arc::clone(&all.raw))
                } else {
                    let n_values = n_samples * n_outputs;
                    let fixed = scatter(&own.fixed, rows, n_outputs, vec![0; n_values]);
                    (fixed, scatter(&own.raw, rows, n_outputs, vec![0.0; n_values]))
                };
                TargetValues::Numbers(Numbers { fixed, raw, ..own.clone() })
            }
            (TargetValues::Classes(own), TargetValues::Classes(all)) if own.first != all.first => {
                // Samples of weight 0 may have any class.
                let slots = scatter(&own.slots, rows, n_outputs, own.first[..n_outputs].repeat(n_samples));
                TargetValues::Classes(Classes { slots, first: Arc::clone(&own.first) })
            }
            (TargetValues::Survival(own), _) => TargetValues::Survival(own.spread(rows, n_samples)),
            (_, all) => all.clone(),
        };
        let weights = self.weights.spread(rows, n_samples);
        Self { n_samples, n_outputs, weights, weight_unit: self.weight_unit, values }
    }

    /// Makes the target of some samples, in this order. Fixed point and kinds of integers stay as in this
    /// target.
    pub(crate) fn subset(&self, samples: &[u32]) -> Self {
        let n_outputs = self.n_outputs;
        let values = match &self.values {
            TargetValues::Classes(classes) => {
                let first = Arc::clone(&classes.first);
                TargetValues::Classes(Classes { slots: gather(&classes.slots, samples, n_outputs), first })
            }
            TargetValues::Numbers(numbers) => TargetValues::Numbers(Numbers {
                fixed: gather(&numbers.fixed, samples, n_outputs),
                raw: gather(&numbers.raw, samples, n_outputs),
                ..numbers.clone()
            }),
            TargetValues::Survival(survival) => TargetValues::Survival(survival.subset(samples)),
            TargetValues::Absent => TargetValues::Absent,
        };
        let weights = self.weights.subset(samples);
        Self { n_samples: samples.len(), n_outputs, weights, weight_unit: self.weight_unit, values }
    }

    /// Returns a target with the same values and these weights. Rows whose weight was 0 must keep
    /// it: the fixed point was not chosen for their values.
    fn with_weights(&self, weights: Weights, weight_unit: f64) -> Self {
        let mut values = self.values.clone();
        if let TargetValues::Numbers(numbers) = &mut values {
            numbers.sums_fit_i64 = sums_fit_i64(numbers.bits, &weights, self.n_samples);
        }
        Self { n_samples: self.n_samples, n_outputs: self.n_outputs, weights, weight_unit, values }
    }

    /// Number of samples, with or without a weight.
    pub fn n_samples(&self) -> usize {
        self.n_samples
    }

    /// Number of values to predict for each sample: the columns of `y`.
    pub fn n_outputs(&self) -> usize {
        self.n_outputs
    }

    /// The weights as integers; multiply by [`weight_unit`](Self::weight_unit) for the weights as
    /// given.
    pub fn weights(&self) -> &Weights {
        &self.weights
    }

    /// The weight that an integer weight of 1 stands for, see [`weights`](Self::weights).
    pub fn weight_unit(&self) -> f64 {
        self.weight_unit
    }

    /// The values of the target, in the form of its task.
    pub fn values(&self) -> &TargetValues {
        &self.values
    }

    /// Number of classes of each output; 1 for all targets but classes.
    pub fn n_classes(&self) -> Vec<u32> {
        match &self.values {
            TargetValues::Classes(classes) => classes.first.windows(2).map(|pair| pair[1] - pair[0]).collect(),
            TargetValues::Numbers(_) | TargetValues::Survival(_) | TargetValues::Absent => vec![1; self.n_outputs],
        }
    }

    /// The rows with a weight above 0, which take part in training, ascending.
    pub fn weighted_samples(&self) -> Vec<u32> {
        self.weights.positive_samples(self.n_samples)
    }
}

/// The values of some samples, in their order.
fn gather<T: Copy>(values: &[T], samples: &[u32], n_outputs: usize) -> Arc<[T]> {
    samples.iter().flat_map(|&sample| &values[sample as usize * n_outputs..][..n_outputs]).copied().collect()
}

/// The inverse of `gather`: gives these values to some of all samples.
fn scatter<T: Copy>(values: &[T], samples: &[u32], n_outputs: usize, mut all: Vec<T>) -> Arc<[T]> {
    for (&sample, values) in samples.iter().zip(values.chunks_exact(n_outputs)) {
        all[sample as usize * n_outputs..][..n_outputs].copy_from_slice(values);
    }
    all.into()
}

impl Classes {
    /// The classes of some samples, in the order of `samples`. Classes that do not occur among
    /// these samples are left out, and the others are numbered anew.
    fn alone(&self, samples: &[u32], n_outputs: usize) -> Self {
        let mut slots = gather(&self.slots, samples, n_outputs);
        let mut occurs = vec![false; self.first[n_outputs] as usize];
        slots.iter().for_each(|&slot| occurs[slot as usize] = true);
        if occurs.iter().all(|&occurs| occurs) {
            return Self { slots, first: Arc::clone(&self.first) };
        }
        // For each slot, the number of slots before it that occur; then the number of all that
        // occur.
        let count = |n: &mut u32, &occurs: &bool| {
            *n += u32::from(occurs);
            Some(*n)
        };
        let before: Vec<u32> = std::iter::once(0).chain(occurs.iter().scan(0, count)).collect();
        for slot in Arc::make_mut(&mut slots) {
            *slot = before[*slot as usize];
        }
        Self { slots, first: self.first.iter().map(|&first| before[first as usize]).collect() }
    }
}

/// Where the mean magnitude of numbers is below the largest one divided by two to this, coarse units would
/// tell too few of them apart.
const LONG_TAIL_BITS: i32 = 12;

impl Numbers {
    /// Encodes the numbers of one output around 0.
    fn around_zero(y: &[f64], weights: &Weights) -> Result<Self> {
        let (mut peak, mut total, mut n) = (0.0f64, 0.0, 0usize);
        for (sample, &value) in y.iter().enumerate() {
            if weights.is_positive(sample) {
                if !value.is_finite() {
                    let (got, expected) = (value.to_string(), "finite".into());
                    return Err(Error::InvalidArgument { name: "the gradient of the loss", got, expected });
                }
                peak = peak.max(value.abs());
                total += value.abs();
                n += 1;
            }
        }
        let has_long_tail = total / (n.max(1) as f64) < scale_by_power_of_two(peak, -LONG_TAIL_BITS);
        let bits = if has_long_tail { FINE_BITS } else { COARSE_BITS };
        let scale = if peak > 0.0 { bits as i32 - 2 - exponent(peak) } else { 0 };
        let fixed = |(sample, &value): (usize, &f64)| {
            let value = if weights.is_positive(sample) { value } else { 0.0 };
            round_ties_even(scale_by_power_of_two(value, scale)) as i64
        };
        Ok(Self {
            fixed: y.iter().enumerate().map(fixed).collect(),
            raw: y.iter().map(|&value| value + 0.0).collect(),
            center: [0.0].into(),
            peak: [peak].into(),
            scale: [scale].into(),
            bits,
            sums_fit_i64: sums_fit_i64(bits, weights, y.len()),
        })
    }

    /// Whether equal targets are equal integers in `self` and `other`.
    fn is_in_units_of(&self, other: &Self) -> bool {
        let bits = |centers: &[f64]| centers.iter().map(|center| center.to_bits()).collect::<Vec<_>>();
        self.bits == other.bits && self.scale == other.scale && bits(&self.center) == bits(&other.center)
    }

    /// Encodes targets, in `bits` if that is less than [`COARSE_BITS`] and the middle half of the targets
    /// spans many units. Rows of weight 0 must not change the result: they do not count for the range, and
    /// their value is 0.
    fn encode(y: &[f64], n_outputs: usize, weights: &Weights, bits: u32, runtime: &Runtime<'_>) -> Result<Self> {
        let range = |output: usize| {
            let column = y.iter().skip(output).step_by(n_outputs).enumerate();
            let column = column.filter(|&(sample, _)| weights.is_positive(sample)).map(|(_, &value)| value);
            Range::of(column.collect(), runtime)
        };
        let ranges = (0..n_outputs).map(range).collect::<Result<Vec<_>>>()?;
        let bits = match bits {
            0..COARSE_BITS if ranges.iter().all(|range| range.is_spread(bits)) => bits,
            _ if ranges.iter().all(|range| range.is_resolved(COARSE_BITS)) => COARSE_BITS,
            _ => FINE_BITS,
        };
        let scales = || ranges.iter().map(|range| range.scale(bits));
        let coarsest = scales().flatten().min().unwrap_or(0);
        // Constant outputs have no scale of their own and take the coarsest.
        let limited = |scale: Option<i32>| scale.map_or(coarsest, |scale| scale.min(coarsest + SCALE_SPREAD));
        let scale: Box<[i32]> = scales().map(limited).collect();
        let fixed = y.iter().enumerate().map(|(at, &value)| {
            let (sample, output) = (at / n_outputs, at % n_outputs);
            if !weights.is_positive(sample) {
                return 0;
            }
            round_ties_even(scale_by_power_of_two(value - ranges[output].center, scale[output])) as i64
        });
        runtime.check_interrupt()?;
        Ok(Self {
            fixed: fixed.collect(),
            // Both zeros are one number: a mean of them must not depend on which comes first.
            raw: y.iter().map(|&value| value + 0.0).collect(),
            center: ranges.iter().map(|range| range.center).collect(),
            peak: ranges.iter().map(|range| range.peak).collect(),
            scale,
            bits,
            sums_fit_i64: sums_fit_i64(bits, weights, y.len() / n_outputs),
        })
    }
}

fn sums_fit_i64(bits: u32, weights: &Weights, n_samples: usize) -> bool {
    bits - 1 + bit_length(weights.total(n_samples)) <= i64::BITS - 2
}

fn n_samples(n_values: usize, n_outputs: usize) -> Result<usize> {
    if n_outputs == 0 || n_values == 0 || !n_values.is_multiple_of(n_outputs) {
        return Err(Error::ShapeMismatch {
            what: "y",
            expected: "at least one sample, and one value per sample and output".into(),
            got: format!("{n_values} values for {n_outputs} outputs"),
        });
    }
    Ok(n_values / n_outputs)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    fn numbers(target: &Target) -> &Numbers {
        match target.values() {
            TargetValues::Numbers(numbers) => numbers,
            _ => panic!("a regression target has numbers"),
        }
    }

    #[test]
    fn integers_and_dyadic_fractions_are_exact() {
        let y = [0.25, -3.0, 17.5, 1000.0];
        let target = Target::regression(&y, 1, None).unwrap();
        let n = numbers(&target);
        for (q, y) in n.fixed.iter().zip(y) {
            assert_eq!(scale_by_power_of_two(*q as f64, -n.scale[0]) + n.center[0], y);
        }
    }

    #[test]
    fn sums_of_fixed_point_values_fit() {
        for y in
            [vec![1e300, -1e300, 3.0], vec![1e-320, 0.0, 5e-324], vec![f64::MAX, f64::MIN, 0.0], vec![1e9, 1e9 + 1.0]]
        {
            let target = Target::regression(&y, 1, None).unwrap();
            let sum: i128 = numbers(&target).fixed.iter().map(|&q| i128::from(q.abs())).sum();
            assert!(sum < 1 << 62 && sum > 1 << 41, "{y:?}: {sum}");
        }
    }

    #[test]
    fn narrow_sums_are_of_fewer_bits() {
        let runtime = Runtime::unstoppable();
        let y: Vec<f64> = (0..1000).map(|i| f64::from(i % 50).sqrt()).collect();
        let weights = vec![0.3; 1000];
        let target = Target::regression(&y, 1, Some(&weights)).unwrap().with_narrow_sums(&runtime).unwrap();
        assert_eq!(numbers(&target).bits, COARSE_BITS, "equal weights are 1");
        let weights: Vec<f64> = (0..1000).map(|i| f64::from((1 << 20) + i)).collect();
        let wide = Target::regression(&y, 1, Some(&weights)).unwrap();
        assert!(!numbers(&wide).sums_fit_i64);
        let narrow = wide.clone().with_narrow_sums(&runtime).unwrap();
        let Numbers { bits, sums_fit_i64, scale, fixed, .. } = numbers(&narrow);
        assert!(*bits == 33 && *sums_fit_i64);
        for (&fixed, y) in fixed.iter().zip(&y) {
            assert!((fixed as f64 * 2f64.powi(-scale[0]) - y).abs() <= 2f64.powi(-scale[0] - 1));
        }
        // The middle half would be a few units.
        let y: Vec<f64> = y.iter().enumerate().map(|(i, y)| if i == 0 { 1e6 } else { *y }).collect();
        let wide = Target::regression(&y, 1, Some(&weights)).unwrap();
        let bits = numbers(&wide).bits;
        assert_eq!(numbers(&wide.with_narrow_sums(&runtime).unwrap()).bits, bits);
    }

    #[test]
    fn targets_of_wide_range_are_fine() {
        let mut y: Vec<f64> = (0..1000).map(|i| (f64::from(i) * 9.0).sin()).collect();
        assert!(numbers(&Target::regression(&y, 1, None).unwrap()).sums_fit_i64);
        y[7] = 1e12;
        let target = Target::regression(&y, 1, None).unwrap();
        let Numbers { fixed, sums_fit_i64, .. } = numbers(&target);
        assert!(!sums_fit_i64);
        let mut distinct = fixed.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        assert!(distinct.len() > 900);
    }

    #[test]
    fn small_targets_beside_large_ones_stay_apart() {
        let y: Vec<f64> = [0.0, 60.0].into_iter().chain((1..9).map(|i| f64::from(i) * 1e14)).collect();
        for y in [y.clone(), y.iter().map(|y| -y).collect(), y.iter().map(|y| y * 1e-20).collect()] {
            let target = Target::regression(&y, 1, None).unwrap();
            let mut fixed = numbers(&target).fixed.to_vec();
            fixed.sort_unstable();
            fixed.dedup();
            assert_eq!(fixed.len(), y.len(), "{y:?}");
        }
    }

    #[test]
    fn a_raised_stop_flag_ends_reweighting() {
        let target = Target::regression(&[1.0, 2.0], 1, None).unwrap();
        let stop = AtomicBool::new(true);
        let result = target.with_sample_weight(&[0.3, 0.7], &Runtime::new(1, &stop));
        assert_eq!(result.err(), Some(Error::Interrupted));
    }

    #[test]
    fn scales_of_outputs_stay_together() {
        for y in [[1e-300, 5.0, 2e-300, 5.0], [1e-300, 1e300, 2e-300, -1e300], [7.0, 0.0, 7.0, 0.0]] {
            let target = Target::regression(&y, 2, None).unwrap();
            let scale = &numbers(&target).scale;
            assert!((scale[0] - scale[1]).abs() <= SCALE_SPREAD, "{y:?}: {scale:?}");
        }
    }
}
