//! Sample weights as integers.
//!
//! Integer multiples of a common unit. It is exact for integers, equal weights, multiples of the
//! least weight, dyadic fractions, and weights that stand to each other as small integers do, such as
//! class weights made of counts (`data::proportion`), while their total stays below
//! 2^[`WEIGHT_BITS`]; otherwise weights are rounded to multiples of the power of two that keeps it
//! there. `data::target` says what the bound is for.
//!
//! Samples of weight 0 change nothing: the unit is a function of the positive weights.

use super::proportion::proportion;
use crate::error::{Error, Result};
use crate::num::{bit_length, exponent, round_ties_even, scale_by_power_of_two};
use crate::runtime::Runtime;

/// The total of integer weights stays below about `2^WEIGHT_BITS`, divided by the number of
/// outputs.
pub const WEIGHT_BITS: u32 = 52;

/// Sample weights as integers.
#[derive(Debug, Clone)]
pub enum Weights {
    /// All weights are 1.
    Unit,
    /// 1 for the samples that take part, 0 for all others. Nodes have samples that take part alone, so
    /// criteria read these weights as [`Unit`](Self::Unit).
    Present(Box<[bool]>),
    /// Integers with `total^2 * n_outputs < 2^63`: sums of squared counts fit in a `u64`.
    Small(Box<[u32]>),
    /// Integers whose total is too large for `Small`.
    Large(Box<[u64]>),
}

impl Weights {
    /// The weights of `n_samples` samples as they are encoded in a target of `n_outputs` outputs;
    /// all 1 if not given.
    pub fn encode(weights: Option<&[f64]>, n_samples: usize, n_outputs: usize, runtime: &Runtime<'_>) -> Result<Self> {
        Ok(encode_weights(weights, n_samples, n_outputs, runtime)?.0)
    }

    /// Whether a sample takes part in training.
    pub fn is_positive(&self, sample: usize) -> bool {
        self.get(sample) > 0
    }

    /// The integer weight of a sample.
    pub fn get(&self, sample: usize) -> u64 {
        match self {
            Self::Unit => 1,
            Self::Present(takes_part) => u64::from(takes_part[sample]),
            Self::Small(weights) => u64::from(weights[sample]),
            Self::Large(weights) => weights[sample],
        }
    }

    /// Whether all samples that take part weigh 1.
    pub fn are_unit(&self) -> bool {
        matches!(self, Self::Unit | Self::Present(_))
    }

    /// Weights of 1 in the place of all weights above 0.
    pub(super) fn equal(&self, n_samples: usize, n_outputs: usize) -> Self {
        match self {
            Self::Unit => Self::Unit,
            Self::Present(takes_part) => Self::Present(takes_part.clone()),
            _ => narrowest((0..n_samples).map(|sample| self.get(sample).min(1)).collect(), n_outputs),
        }
    }

    /// The weights of some samples, in their order and of the same kind.
    pub(super) fn subset(&self, samples: &[u32]) -> Self {
        match self {
            Self::Unit => Self::Unit,
            Self::Present(takes_part) => Self::present(samples.iter().map(|&sample| takes_part[sample as usize])),
            Self::Small(weights) => Self::Small(samples.iter().map(|&sample| weights[sample as usize]).collect()),
            Self::Large(weights) => Self::Large(samples.iter().map(|&sample| weights[sample as usize]).collect()),
        }
    }

    /// 1 for each sample that takes part, 0 for the others.
    fn present(takes_part: impl Iterator<Item = bool>) -> Self {
        let takes_part: Box<[bool]> = takes_part.collect();
        if takes_part.iter().all(|&takes_part| takes_part) { Self::Unit } else { Self::Present(takes_part) }
    }

    /// The weights of a larger set of `n_samples` samples: `rows` are the numbers of these samples
    /// there, and all other samples weigh 0.
    pub(super) fn spread(&self, rows: &[u32], n_samples: usize) -> Self {
        fn scatter<T: Copy + Default>(values: impl Iterator<Item = T>, rows: &[u32], n_samples: usize) -> Box<[T]> {
            let mut all = vec![T::default(); n_samples].into_boxed_slice();
            rows.iter().zip(values).for_each(|(&row, value)| all[row as usize] = value);
            all
        }
        match self {
            Self::Unit if rows.len() == n_samples => Self::Unit,
            Self::Unit => Self::Present(scatter(std::iter::repeat_n(true, rows.len()), rows, n_samples)),
            Self::Present(takes_part) => Self::Present(scatter(takes_part.iter().copied(), rows, n_samples)),
            Self::Small(weights) => Self::Small(scatter(weights.iter().copied(), rows, n_samples)),
            Self::Large(weights) => Self::Large(scatter(weights.iter().copied(), rows, n_samples)),
        }
    }

    /// The samples with a weight above 0, ascending.
    pub(super) fn positive_samples(&self, n_samples: usize) -> Vec<u32> {
        match self {
            Self::Unit => (0..n_samples as u32).collect(),
            Self::Present(takes_part) => rows_where(takes_part.iter().copied()),
            Self::Small(weights) => rows_where(weights.iter().map(|&weight| weight > 0)),
            Self::Large(weights) => rows_where(weights.iter().map(|&weight| weight > 0)),
        }
    }

    /// The largest integer weight. O(samples).
    pub fn max(&self) -> u64 {
        match self {
            Self::Unit | Self::Present(_) => 1,
            Self::Small(weights) => weights.iter().copied().max().unwrap_or(0).into(),
            Self::Large(weights) => weights.iter().copied().max().unwrap_or(0),
        }
    }

    /// The sum of the integer weights of `n_samples` samples.
    pub(crate) fn total(&self, n_samples: usize) -> u64 {
        match self {
            Self::Unit => n_samples as u64,
            Self::Present(takes_part) => takes_part.iter().filter(|&&takes_part| takes_part).count() as u64,
            Self::Small(weights) => weights.iter().map(|&w| u64::from(w)).sum(),
            Self::Large(weights) => weights.iter().sum(),
        }
    }
}

/// The rows for which a condition holds. Without branches on it: in bootstrap samples they are
/// mispredicted.
fn rows_where(holds: impl ExactSizeIterator<Item = bool>) -> Vec<u32> {
    let mut rows = vec![0; holds.len()];
    let mut n = 0;
    for (row, holds) in (0..).zip(holds) {
        rows[n] = row;
        n += usize::from(holds);
    }
    rows.truncate(n);
    rows
}

/// The weights as integers, and the weight that the integer 1 stands for.
pub(super) fn encode_weights(
    weights: Option<&[f64]>,
    n_samples: usize,
    n_outputs: usize,
    runtime: &Runtime<'_>,
) -> Result<(Weights, f64)> {
    runtime.check_interrupt()?;
    let Some(weights) = weights else {
        let are_small = fits_small(n_samples as u64, n_outputs);
        return Ok((if are_small { Weights::Unit } else { Weights::Large(vec![1; n_samples].into()) }, 1.0));
    };
    check_weights(weights, n_samples)?;
    let positive = || weights.iter().copied().filter(|&w| w > 0.0);
    let (least, largest) = positive().fold((f64::INFINITY, 0f64), |(least, largest), w| (least.min(w), largest.max(w)));
    if !(largest * positive().count() as f64).is_finite() {
        return Err(Error::InvalidArgument {
            name: "sample_weight",
            got: format!("a largest weight of {largest:e}"),
            expected: "small enough for a finite total".into(),
        });
    }
    if weights.iter().all(|&w| w == 0.0 || w == 1.0) && fits_small(n_samples as u64, n_outputs) {
        return Ok((Weights::present(weights.iter().map(|&w| w == 1.0)), 1.0));
    }
    for unit in [1.0, least] {
        runtime.check_interrupt()?;
        if let Some(integers) = multiples(weights, unit)
            && fits_small(integers.iter().sum(), n_outputs)
        {
            return Ok((narrowest(integers, n_outputs), unit));
        }
    }
    runtime.check_interrupt()?;
    let bits = total_bits(n_outputs);
    // The largest power of two that divides all weights.
    let exact = positive().map(lowest_bit).min().unwrap_or(0);
    let finest = total_exponent(positive(), largest) + 1 - bits as i32;
    if exact < finest
        && let Some(proportion) = proportion(weights, 1 << bits)
    {
        return Ok((narrowest(proportion.integers, n_outputs), proportion.unit));
    }
    // If only a coarser unit fits, weights are rounded.
    let unit = exact.max(finest);
    let round = |w: f64| round_ties_even(scale_by_power_of_two(w, -unit)) as u64;
    // A positive weight takes part, however small.
    let integers = weights.iter().map(|&w| if w > 0.0 { round(w).max(1) } else { 0 }).collect();
    Ok((narrowest(integers, n_outputs), scale_by_power_of_two(1.0, unit)))
}

/// The exponent of the total of positive weights; `largest` is the largest of them. The weights are added up
/// as integers, so neither their order nor weights of 0 change the total.
fn total_exponent(positive: impl Iterator<Item = f64>, largest: f64) -> i32 {
    const BITS: i32 = 62;
    let scale = BITS - exponent(largest);
    let total: u128 = positive.map(|w| u128::from(scale_by_power_of_two(w, scale) as u64)).sum();
    total.ilog2() as i32 - scale
}

/// The weights times `counts`. Fails if nothing is left, or more than the bound on the total
/// allows.
pub(super) fn reweighted(weights: &Weights, counts: &[u32], n_samples: usize, n_outputs: usize) -> Result<Weights> {
    check_length("counts", counts.len(), n_samples)?;
    let product = |(sample, &count): (usize, &u32)| u128::from(weights.get(sample)) * u128::from(count);
    let total: u128 = counts.iter().enumerate().map(product).sum();
    if total == 0 {
        return Err(Error::InvalidArgument {
            name: "counts",
            got: "only zeros where weights are positive".into(),
            expected: "positive for at least one sample of positive weight".into(),
        });
    }
    // Rounding may have brought the weights as they are slightly above the bound.
    let limit = weights.total(n_samples).max((1 << total_bits(n_outputs)) - 1);
    if total > u128::from(limit) {
        let got = u64::try_from(total).unwrap_or(u64::MAX);
        return Err(Error::TooLarge { what: "the total of integer weights times counts", limit, got });
    }
    Ok(narrowest(counts.iter().enumerate().map(|item| product(item) as u64).collect(), n_outputs))
}

/// The total of integer weights stays below two to this.
fn total_bits(n_outputs: usize) -> u32 {
    WEIGHT_BITS - bit_length((n_outputs as u64).saturating_sub(1))
}

/// The weights as multiples of `unit`, if they are exact multiples below 2^31.
fn multiples(weights: &[f64], unit: f64) -> Option<Vec<u64>> {
    let multiple = |&w: &f64| {
        let factor = round_ties_even(w / unit);
        (factor < 2f64.powi(31) && factor * unit == w).then_some(factor as u64)
    };
    weights.iter().map(multiple).collect()
}

fn check_length(what: &'static str, n_values: usize, n_samples: usize) -> Result<()> {
    if n_values == n_samples {
        return Ok(());
    }
    let (expected, got) = (format!("{n_samples} values, one per sample"), format!("{n_values} values"));
    Err(Error::ShapeMismatch { what, expected, got })
}

fn check_weights(weights: &[f64], n_samples: usize) -> Result<()> {
    check_length("sample_weight", weights.len(), n_samples)?;
    let illegal =
        |got, expected: &str| Err(Error::InvalidArgument { name: "sample_weight", got, expected: expected.into() });
    if let Some((at, bad)) = weights.iter().enumerate().find(|(_, w)| !w.is_finite() || **w < 0.0) {
        return illegal(format!("{bad} at position {at}"), "finite and non-negative");
    }
    if weights.iter().all(|&w| w == 0.0) {
        return illegal("only zeros".into(), "positive for at least one sample");
    }
    Ok(())
}

fn narrowest(weights: Vec<u64>, n_outputs: usize) -> Weights {
    if weights.iter().all(|&w| w <= 1) && fits_small(weights.len() as u64, n_outputs) {
        return Weights::present(weights.into_iter().map(|w| w == 1));
    }
    match weights.iter().try_fold(0u64, |total, &w| total.checked_add(w)) {
        Some(total) if fits_small(total, n_outputs) => Weights::Small(weights.into_iter().map(|w| w as u32).collect()),
        _ => Weights::Large(weights.into()),
    }
}

/// Whether sums of squared counts fit in 63 bits and a weight in 32.
fn fits_small(total: u64, n_outputs: usize) -> bool {
    let total = u128::from(total);
    total < 1 << 32 && total * total * (n_outputs as u128) < 1 << 63
}

/// The exponent of the lowest set bit of a positive value.
fn lowest_bit(value: f64) -> i32 {
    let mantissa = value.to_bits() & ((1 << 52) - 1);
    let exponent = exponent(value);
    if mantissa == 0 { exponent } else { (exponent - 52 + mantissa.trailing_zeros() as i32).max(-1074) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Target;

    #[test]
    fn fractional_weights_are_scaled_and_integers_kept() {
        let target = Target::regression(&[1.0, 2.0, 3.0], 1, Some(&[2.0, 0.0, 1.0])).unwrap();
        assert!(matches!(target.weights(), Weights::Small(w) if **w == [2, 0, 1]));
        assert_eq!(target.weighted_samples(), [0, 2]);
        let target = Target::regression(&[1.0, 2.0], 1, Some(&[0.5, 0.3])).unwrap();
        assert!(matches!(target.weights(), Weights::Small(w) if **w == [5, 3]));
        let target = Target::regression(&[1.0, 2.0], 1, Some(&[0.5, 0.1f64.sqrt()])).unwrap();
        let Weights::Large(weights) = target.weights() else { panic!("fractions need scaling") };
        assert!(weights.iter().sum::<u64>() < 1 << WEIGHT_BITS);
        assert!((weights[1] as f64 * target.weight_unit() - 0.1f64.sqrt()).abs() < 1e-15);
        let dyadic = Target::regression(&[1.0, 2.0], 1, Some(&[0.5, 0.75])).unwrap();
        assert!(matches!(dyadic.weights(), Weights::Small(w) if **w == [2, 3]));
        assert_eq!(dyadic.weight_unit(), 0.25);
        let multiples = Target::regression(&[1.0, 2.0], 1, Some(&[0.1, 0.2])).unwrap();
        assert!(matches!(multiples.weights(), Weights::Small(w) if **w == [1, 2]));
        for equal in [1.0, 0.1, 3e-320, 1e300] {
            let target = Target::regression(&[1.0, 2.0], 1, Some(&[equal, equal])).unwrap();
            assert!(matches!(target.weights(), Weights::Unit), "{equal}");
            assert_eq!(target.weight_unit(), equal);
        }
    }

    #[test]
    fn several_outputs_leave_room_for_their_sums() {
        for (n_outputs, n_bits) in [(1, 52), (2, 51), (3, 50), (4, 50), (5, 49), (8, 49), (9, 48)] {
            let fractions = [0.5, 0.1f64.sqrt()];
            let (weights, _) = encode_weights(Some(&fractions), 2, n_outputs, &Runtime::unstoppable()).unwrap();
            let total = weights.get(0) + weights.get(1);
            assert!(total < 1 << n_bits && total >= 1 << (n_bits - 2), "{n_outputs}: {total}");
            let error = reweighted(&weights, &[8, 8], 2, n_outputs).unwrap_err();
            assert!(matches!(error, Error::TooLarge { limit, .. } if limit < 1 << n_bits), "{error}");
        }
    }

    #[test]
    fn rows_of_weight_0_do_not_show() {
        let runtime = Runtime::unstoppable();
        for weights in [vec![0.1, 0.2, 0.3, 0.7], vec![0.5, 0.3], vec![1.0, 3.0], vec![1.7, 1e-9, 1e9], vec![0.1]] {
            let (alone, unit) = encode_weights(Some(&weights), weights.len(), 1, &runtime).unwrap();
            let mut more = vec![0.0; 900];
            more.extend_from_slice(&weights);
            let (beside, unit_beside) = encode_weights(Some(&more), more.len(), 1, &runtime).unwrap();
            assert_eq!(unit, unit_beside, "{weights:?}");
            assert!((0..weights.len()).all(|i| alone.get(i) == beside.get(900 + i)), "{weights:?}");
        }
    }

    #[test]
    fn bad_weights_are_refused() {
        let too_large = vec![1e308, 1e308];
        for bad in
            [vec![1.0, f64::NAN], vec![1.0, -1.0], vec![f64::INFINITY, 1.0], vec![0.0, 0.0], vec![1.0], too_large]
        {
            let error = Target::regression(&[1.0, 2.0], 1, Some(&bad)).unwrap_err();
            assert!(error.to_string().contains("sample_weight"), "{error}");
        }
    }
}
