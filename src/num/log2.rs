//! Base-2 logarithms of integers in fixed point, from integer arithmetic alone: the same bits on
//! every platform.
//!
//! A logarithm is an unsigned number with [`FRACTION_BITS`] fractional bits. For an argument up to
//! [`EXACT_UP_TO`] it is *defined* as the sum of the logarithms of the argument's prime factors.
//! Then `log2(6) == log2(2) + log2(3)` holds without rounding, and by unique factorisation two sums
//! of `c * log2(c)` that are equal in mathematics are equal in fixed point: entropies tie exactly
//! when they should. Logarithms of larger arguments come from a table of 256 reciprocals and a
//! series, and are within two units of the last place.

use std::f64::consts::LOG2_E;
use std::sync::LazyLock;

/// Fractional bits of a logarithm. Arguments must be below 2^63, so that logarithms fit the 6
/// integer bits that are left.
pub const FRACTION_BITS: u32 = 58;

/// The unit of the last place of a logarithm.
pub const ULP: f64 = 1.0 / (1u64 << FRACTION_BITS) as f64;

/// Arguments up to this one have logarithms that are additive over the prime factors. The table of
/// these logarithms takes 512 KiB.
pub const EXACT_UP_TO: u64 = 65_536;

/// Fractional bits while a series is summed.
const WORK_BITS: u32 = 62;
const ONE: i64 = 1 << WORK_BITS;

/// `log2` by repeated squaring, one bit per step. It is slow: it builds the tables and is the
/// oracle of the series in the tests. `mantissa` is in [1, 2) with 63 fractional bits; the result
/// has [`WORK_BITS`] fractional bits.
fn by_squaring(mantissa: u64) -> u64 {
    let mut m = u128::from(mantissa);
    let mut log = 0;
    for _ in 0..WORK_BITS {
        m = (m * m) >> 63;
        log <<= 1;
        if m >> 64 != 0 {
            m >>= 1;
            log |= 1;
        }
    }
    log
}

/// A bucket: all mantissas with the same 8 leading fractional bits.
struct Bucket {
    /// The reciprocal of the bucket's middle, with [`WORK_BITS`] fractional bits.
    reciprocal: i64,
    /// `-log2(reciprocal)`, with [`WORK_BITS`] fractional bits.
    log: i64,
}

/// `1 / (k ln 2)` for k = 1..=7, with one fractional bit less than [`WORK_BITS`]: the first is
/// above 1.
static SERIES: LazyLock<[i64; 7]> = LazyLock::new(|| {
    // 1/ln 2 = log2(e), 125 fractional bits: 0x1.71547652b82fe1777d0ffda0d23a7d1...
    const LOG2_E: u128 = 0x2E2A_8ECA_5705_FC2E_EFA1_FFB4_1A47_4FA2;
    std::array::from_fn(|i| ((LOG2_E / (i as u128 + 1)) >> (125 - 61)) as i64)
});

static BUCKETS: LazyLock<[Bucket; 256]> = LazyLock::new(|| {
    std::array::from_fn(|i| {
        // The middle of bucket i is (512 + 2i + 1) / 512.
        let middle = 513 + 2 * i as u128;
        let reciprocal = ((512u128 << WORK_BITS) / middle) as i64;
        // The reciprocal is in (1/2, 1), so its log2 is the log2 of twice the reciprocal, minus 1.
        let log = by_squaring((reciprocal as u64) << 2);
        Bucket { reciprocal, log: ONE - log as i64 }
    })
});

static SMALL: LazyLock<Vec<u64>> = LazyLock::new(|| {
    let n = EXACT_UP_TO as usize;
    let mut logs = vec![0u64; n + 1];
    let mut smallest_factor = vec![0usize; n + 1];
    for c in 2..=n {
        if smallest_factor[c] == 0 {
            for multiple in (c..=n).step_by(c) {
                if smallest_factor[multiple] == 0 {
                    smallest_factor[multiple] = c;
                }
            }
            logs[c] = by_series(c as u64);
        } else {
            logs[c] = logs[smallest_factor[c]] + logs[c / smallest_factor[c]];
        }
    }
    logs
});

/// The bits of a double that hold its mantissa.
const MANTISSA: u64 = (1 << 52) - 1;

/// `2 / (k ln 2)` for the odd k from 1 on: `log2((1 + t) / (1 - t))` is the sum of these times `t^k`.
const fn odd_series<const N: usize>() -> [f64; N] {
    let mut series = [0.0; N];
    let mut i = 0;
    while i < N {
        series[i] = 2.0 * LOG2_E / (2 * i + 1) as f64;
        i += 1;
    }
    series
}

/// [`rough_log2`] is off by less than this.
pub const ROUGH_ERROR: f64 = 1e-7;

/// A quick estimate of the logarithm of the quotient of two normal positive numbers. It takes one
/// division.
#[inline]
pub fn rough_log2(numerator: f64, denominator: f64) -> f64 {
    // log2(a / b) = sum over odd k of 2 / (k ln 2) t^k with t = (a - b) / (a + b). For mantissas in
    // [1, 2), |t| < 1/3, and the terms from k = 15 on add up to less than 2e-8.
    const SERIES: [f64; 7] = odd_series();
    let (a, b) = (numerator.to_bits(), denominator.to_bits());
    let exponent = (a >> 52) as i32 - (b >> 52) as i32;
    let mantissa = |bits: u64| f64::from_bits(bits & MANTISSA | 1023 << 52);
    let (a, b) = (mantissa(a), mantissa(b));
    let t = (a - b) / (a + b);
    let square = t * t;
    f64::from(exponent) + t * SERIES.iter().rev().fold(0.0, |sum, &coefficient| sum * square + coefficient)
}

/// The logarithm of a normal positive number in floating point, without branches and tables, for
/// loops in vector registers. It is off by less than 2^-51, and by 2^-52 of itself.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
pub fn near_log2(value: f64) -> f64 {
    const ROOT_OF_HALF: u64 = std::f64::consts::FRAC_1_SQRT_2.to_bits();
    // A double of this exponent has the unit 1, so its low bits are an integer.
    const INTEGERS: u64 = (1023 + 52) << 52;
    // log2(m) = sum over odd k of 2 / (k ln 2) t^k with t = (m - 1) / (m + 1). For m from the root of
    // 1/2 to the root of 2, |t| < 0.1716, and the terms from k = 21 on add up to less than 2^-55.
    const SERIES: [f64; 10] = odd_series();
    let shifted = value.to_bits().wrapping_add(1f64.to_bits() - ROOT_OF_HALF);
    let exponent = f64::from_bits((shifted >> 52) | INTEGERS) - ((1u64 << 52) + 1023) as f64;
    let m = f64::from_bits((shifted & MANTISSA) + ROOT_OF_HALF);
    let t = (m - 1.0) / (m + 1.0);
    let square = t * t;
    let mut sum = SERIES[9];
    let mut i = 9;
    while i > 0 {
        i -= 1;
        sum = sum * square + SERIES[i];
    }
    exponent + t * sum
}

/// `x log2 x` in single precision, and 0 for 0, without branches and tables. `x` is a normal number of 2^100
/// at most. It is off by less than `x (log2 x + 2) 2^-21`.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
pub fn single_x_log2_x(x: f32) -> f32 {
    const ROOT_OF_HALF: u32 = std::f32::consts::FRAC_1_SQRT_2.to_bits();
    const BITS_OF_MANTISSA: u32 = 23;
    // The series of `near_log2`: from k = 9 on the terms add up to less than 2^-24.
    const SERIES: [f64; 4] = odd_series();
    let shifted = x.to_bits().wrapping_add(1f32.to_bits() - ROOT_OF_HALF);
    let exponent = (shifted >> BITS_OF_MANTISSA) as i32 - 127;
    let m = f32::from_bits((shifted & ((1 << BITS_OF_MANTISSA) - 1)) + ROOT_OF_HALF);
    let t = (m - 1.0) / (m + 1.0);
    let square = t * t;
    let mut sum = SERIES[3] as f32;
    let mut i = 3;
    while i > 0 {
        i -= 1;
        sum = sum * square + SERIES[i] as f32;
    }
    x * (exponent as f32 + t * sum)
}

/// `x log2 x` by [`near_log2`], and 0 for 0: the logarithm of 0 comes out as some number.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
pub fn near_x_log2_x(x: f64) -> f64 {
    x * near_log2(x)
}

fn by_series(value: u64) -> u64 {
    debug_assert!(0 < value && value < 1 << 63);
    let shift = value.leading_zeros();
    let mantissa = value << shift;
    let bucket = &BUCKETS[(mantissa >> 55) as usize & 0xFF];
    // r = mantissa * reciprocal - 1, |r| < 2^-9; the product has 63 + 62 fractional bits.
    let product = (u128::from(mantissa) * bucket.reciprocal as u128) >> 63;
    let r = product as i64 - ONE;
    // log2(1 + r) = (r - r^2/2 + r^3/3 - ...) / ln 2, by Horner's rule. The eighth term is below
    // 2^-74.
    let mut sum = 0i64;
    for (i, &coefficient) in SERIES.iter().enumerate().rev() {
        let signed = if i % 2 == 0 { coefficient } else { -coefficient };
        sum = signed + multiply(sum, r);
    }
    let log = bucket.log + 2 * multiply(sum, r);
    let integer = u64::from(63 - shift) << FRACTION_BITS;
    let fraction = (log.max(0) + (1 << (WORK_BITS - FRACTION_BITS - 1))) >> (WORK_BITS - FRACTION_BITS);
    integer + fraction as u64
}

#[inline]
fn multiply(a: i64, b: i64) -> i64 {
    ((i128::from(a) * i128::from(b)) >> WORK_BITS) as i64
}

/// Computes logarithms, by look-up where the table reaches. Make it once, outside of loops.
#[derive(Debug, Clone, Copy)]
pub struct Log2 {
    small: &'static [u64],
}

impl Log2 {
    /// Takes the table, which the first call builds.
    pub(crate) fn new() -> Self {
        Self { small: &SMALL }
    }

    /// `log2(value)` with [`FRACTION_BITS`] fractional bits; 0 for the arguments 0 and 1.
    #[inline]
    pub fn log2(self, value: u64) -> u64 {
        match self.small.get(value as usize) {
            Some(&log) => log,
            None => self.log2_of_large(value),
        }
    }

    /// The logarithm of a value beyond the table. Powers of two are split off first, so that
    /// proportional counts have proportional costs.
    fn log2_of_large(self, value: u64) -> u64 {
        let power = value.trailing_zeros();
        let odd = value >> power;
        let log = self.small.get(odd as usize).copied().unwrap_or_else(|| by_series(odd));
        log + (u64::from(power) << FRACTION_BITS)
    }

    /// `log2(value)` of any value above 0, within four units of the last place.
    #[inline]
    pub fn log2_wide(self, value: u128) -> i128 {
        match u64::try_from(value) {
            Ok(value) if value < 1 << 63 => i128::from(self.log2(value)),
            _ => self.log2_of_huge(value),
        }
    }

    /// The logarithm of a value of 2^63 or more. Powers of two are split off as in `log2_of_large`,
    /// and only the first 63 bits of the odd factor count.
    fn log2_of_huge(self, value: u128) -> i128 {
        let power = value.trailing_zeros();
        let odd = value >> power;
        let beyond = (u128::BITS - odd.leading_zeros()).saturating_sub(63);
        i128::from(self.log2((odd >> beyond) as u64)) + (i128::from(power + beyond) << FRACTION_BITS)
    }

    /// `value * log2(value)` with [`FRACTION_BITS`] fractional bits.
    #[inline]
    pub fn x_log2_x(self, value: u64) -> i128 {
        i128::from(value) * i128::from(self.log2(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn powers_of_two_are_exact() {
        let log = Log2::new();
        for exponent in 0..63u64 {
            assert_eq!(log.log2(1 << exponent), exponent << FRACTION_BITS);
        }
    }

    #[test]
    fn small_logarithms_are_additive() {
        let log = Log2::new();
        for a in 1..=256 {
            for b in 1..=256 {
                assert_eq!(log.log2(a * b), log.log2(a) + log.log2(b));
            }
        }
    }

    proptest! {
        #[test]
        fn the_series_agrees_with_squaring(value in 1u64..1 << 63) {
            let shift = value.leading_zeros();
            let fraction = by_squaring(value << shift) >> (WORK_BITS - FRACTION_BITS);
            let slow = (u64::from(63 - shift) << FRACTION_BITS) + fraction;
            prop_assert!(slow.abs_diff(by_series(value)) <= 2, "{} {}", slow, by_series(value));
        }

        #[test]
        fn the_estimate_is_close(a in 1.0..2f64, b in 1.0..2f64, up in -400..400i32, down in -400..400i32) {
            let (a, b) = (a * 2f64.powi(up), b * 2f64.powi(down));
            prop_assert!((rough_log2(a, b) - (a / b).log2()).abs() < ROUGH_ERROR, "{} {}", a, b);
        }

        #[test]
        fn floating_logarithms_are_near(numerator in 1u64..1 << 53, denominator in 1u64..1 << 53, is_close: bool) {
            let denominator = if is_close { numerator + denominator % 5 } else { denominator };
            let log = Log2::new();
            let exact = (log.log2(numerator) as i64 - log.log2(denominator) as i64) as f64 * ULP;
            let near = near_log2(numerator as f64) - near_log2(denominator as f64);
            let error = |log: f64| 2f64.powi(-51) + log.abs() * 2f64.powi(-52);
            let errors = error(log.log2(numerator) as f64 * ULP) + error(log.log2(denominator) as f64 * ULP);
            prop_assert!((near - exact).abs() <= errors, "{} {}", near, exact);
            let quotient = near_log2(numerator as f64 / denominator as f64);
            prop_assert!((quotient - exact).abs() <= error(exact) + 2f64.powi(-52), "{} {}", quotient, exact);
        }

        #[test]
        fn single_terms_are_near(x in 0u64..1 << 53) {
            let near = f64::from(single_x_log2_x(x as f32));
            let exact = x as f64 * (x.max(1) as f64).log2();
            let error = x as f64 * ((x.max(1) as f64).log2() + 2.0) * 2f64.powi(-21);
            prop_assert!((near - exact).abs() <= error, "{} {}", near, exact);
        }

        #[test]
        fn powers_of_two_add_up(value in 1u64..1 << 40, power in 0u32..20) {
            let log = Log2::new();
            let sum = log.log2(value) + (u64::from(power) << FRACTION_BITS);
            prop_assert_eq!(log.log2(value << power), sum);
        }

        #[test]
        fn wide_logarithms_go_on(value in 1u64..1 << 63, power in 0u32..64, low: u64) {
            let log = Log2::new();
            let exact = i128::from(log.log2(value)) + (i128::from(power) << FRACTION_BITS);
            // The last bits are beyond the precision of the logarithms.
            prop_assert!((log.log2_wide(u128::from(value) << power) - exact).abs() <= 4);
            let wide = u128::from(value | 1 << 62) << 64 | u128::from(low);
            prop_assert!((log.log2_wide(wide) - (64 << FRACTION_BITS) - i128::from(log.log2(value | 1 << 62))).abs() <= 6);
        }

        #[test]
        fn logarithms_agree_with_libm(value in 1u64..1 << 63) {
            let ours = Log2::new().log2(value) as f64 / 2f64.powi(FRACTION_BITS as i32);
            prop_assert!((ours - (value as f64).log2()).abs() < 1e-13);
        }
    }
}
