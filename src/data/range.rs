//! The range of the targets of one output: what the scale of its fixed point is chosen by.

use crate::error::Result;
use crate::num::{RadixSort, SortKey, exponent, scale_by_power_of_two};
use crate::runtime::Runtime;

/// The middle half of the distinct targets must span this many units (as a power of two), or finer
/// units are taken.
const RESOLUTION_BITS: i32 = 20;
/// Two targets that differ by less than their size divided by two to this may become one integer: the
/// difference of their squares, by which variances are computed in doubles, is lost to rounding too.
const SIZE_BITS: i32 = 25;

/// The values that one output takes.
pub(super) struct Range {
    pub center: f64,
    /// The largest absolute value.
    pub peak: f64,
    /// The largest distance of a value from the centre.
    extent: f64,
    /// Width of the middle half of the distinct values.
    spread: f64,
    /// The least difference of two values that is not small for their size ([`SIZE_BITS`]).
    least_gap: f64,
}

impl Range {
    /// `values` must not be empty. The result depends on the set of values, not on how often each occurs.
    pub fn of(values: Vec<f64>, runtime: &Runtime<'_>) -> Result<Self> {
        let values = sorted_distinct(values, runtime)?;
        let (low, high) = (values[0], values[values.len() - 1]);
        // A centre costs exactness (y - c is rounded), so it must earn more than two bits.
        let is_far = low.abs().max(high.abs()) > 8.0 * (high / 2.0 - low / 2.0);
        let center = if is_far { low / 2.0 + high / 2.0 } else { 0.0 };
        let (first, last) = (values.len() / 4, values.len() - 1 - values.len() / 4);
        let gap = |pair: &[f64]| {
            let gap = pair[1] - pair[0];
            let is_small = gap < pair[0].abs().max(pair[1].abs()) * 2f64.powi(-SIZE_BITS);
            if is_small { f64::INFINITY } else { gap }
        };
        Ok(Self {
            center,
            peak: low.abs().max(high.abs()),
            extent: (high - center).abs().max((low - center).abs()),
            spread: (values[last.max(first)] / 2.0 - values[first] / 2.0) * 2.0,
            least_gap: values.windows(2).map(gap).fold(f64::INFINITY, f64::min),
        })
    }

    /// The power of two that makes the extent an integer of `bits` bits with its sign; none for a
    /// constant.
    pub fn scale(&self, bits: u32) -> Option<i32> {
        // |y - c| < 2^(exponent + 1), and rounding may reach the bound but not pass it.
        (self.extent > 0.0).then(|| bits as i32 - 2 - exponent(self.extent))
    }

    /// Whether fixed-point targets of `bits` bits tell enough of the values apart.
    pub fn is_resolved(&self, bits: u32) -> bool {
        self.is_spread(bits) && self.is_at_least(self.least_gap, 0, bits)
    }

    /// Whether the middle half of the distinct values spans many units of fixed-point targets of `bits` bits.
    pub fn is_spread(&self, bits: u32) -> bool {
        self.spread == 0.0 || self.is_at_least(self.spread, RESOLUTION_BITS, bits)
    }

    /// Whether a width is at least `2^exponent` units of fixed-point targets of `bits` bits.
    fn is_at_least(&self, width: f64, exponent: i32, bits: u32) -> bool {
        self.scale(bits).is_none_or(|scale| scale_by_power_of_two(width, scale) >= 2f64.powi(exponent))
    }
}

/// The distinct values, ascending; of the two zeros, the positive one. O(n).
fn sorted_distinct(values: Vec<f64>, runtime: &Runtime<'_>) -> Result<Vec<f64>> {
    let mut keys: Vec<u64> = values.into_iter().map(f64::key).collect();
    RadixSort::default().sort(&mut keys, |key| key, || runtime.check_interrupt())?;
    keys.dedup();
    Ok(keys.into_iter().map(f64::from_key).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::data::{Labels, Target};
    use crate::error::Error;

    /// Enough values that a sort takes longer than a test waits before it is stopped.
    fn values() -> Vec<f64> {
        let scrambled = |i: u64| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 41) as f64 - 4e6;
        (0..10_000_000).map(|i| if i % 5 == 0 { -0.0 } else { scrambled(i) }).collect()
    }

    /// Calls `work` and stops it soon after it has begun.
    fn interrupted<T: Send>(work: impl FnOnce(&Runtime<'_>) -> Result<T> + Send) -> Result<T> {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let work = scope.spawn(|| work(&Runtime::new(1, &stop)));
            thread::sleep(Duration::from_millis(5));
            stop.store(true, Ordering::Relaxed);
            work.join().unwrap()
        })
    }

    #[test]
    fn sorting_can_be_interrupted() {
        let values = values();
        let labels = Labels::Numbers { y: &values, n_outputs: 1 };
        assert_eq!(interrupted(|runtime| sorted_distinct(values.clone(), runtime)), Err(Error::Interrupted));
        assert_eq!(interrupted(|runtime| Target::encode(labels, None, runtime)).err(), Some(Error::Interrupted));
    }
}
