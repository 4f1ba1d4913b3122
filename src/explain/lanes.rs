//! Arithmetic of eight doubles side by side, in a vector register.

use super::quadrature::LANES;

/// A vector register of doubles.
pub type Lanes = [f64; LANES];

pub const ZERO: Lanes = [0.0; LANES];

#[inline(always)]
#[allow(clippy::inline_always, reason = "compiled for each width of registers")]
pub fn times(a: &Lanes, b: &Lanes) -> Lanes {
    std::array::from_fn(|lane| a[lane] * b[lane])
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "compiled for each width of registers")]
pub fn plus(a: &Lanes, b: &Lanes) -> Lanes {
    std::array::from_fn(|lane| a[lane] + b[lane])
}
