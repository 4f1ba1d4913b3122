//! Kinds of sample weights as types. The engine is compiled for small weights where that makes it
//! faster, and once for weights of any kind.

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Mul, Sub};

use super::bins::{BinCount, BinPair, WidePair};
use crate::data::target::Weights;
use crate::num::{Exact, Wide};

/// Integer weights of samples, and the integer types that suffice for sums of them.
pub trait SampleWeights: Copy + Sync {
    /// An integer that holds sums of products of two weights.
    type Moment: Moment;
    /// Whether the product of two sums of weights fits in 63 bits.
    const ARE_SMALL: bool;
    /// A bin of two classes.
    type Pair: BinPair;
    /// The count of one of several classes in a bin.
    type Count: BinCount;
    /// The integer weight of a sample.
    fn weight(&self, sample: u32) -> u64;
    /// Whether all samples that take part are known to weigh 1.
    fn are_unit(&self) -> bool {
        false
    }
}

/// Weights of 32 bits, see [`Weights::Small`]; `None` if all samples that take part weigh 1. Loops over
/// samples are compiled for both.
#[derive(Debug, Clone, Copy)]
pub struct SmallWeights<'a>(pub Option<&'a [u32]>);

impl<'a> SmallWeights<'a> {
    /// These weights, if they are small.
    pub fn of(weights: &'a Weights) -> Option<Self> {
        match weights {
            Weights::Unit | Weights::Present(_) => Some(Self(None)),
            Weights::Small(small) => Some(Self(Some(small))),
            Weights::Large(_) => None,
        }
    }
}

impl SampleWeights for SmallWeights<'_> {
    type Moment = i64;
    const ARE_SMALL: bool = true;
    type Pair = u64;
    type Count = u32;

    #[inline]
    fn weight(&self, sample: u32) -> u64 {
        match self.0 {
            None => 1,
            Some(weights) => u64::from(weights[sample as usize]),
        }
    }

    #[inline]
    fn are_unit(&self) -> bool {
        self.0.is_none()
    }
}

/// Weights of any kind, which is looked at for each sample: for criteria that gain too little from
/// engines of their own.
impl SampleWeights for &Weights {
    type Moment = i128;
    const ARE_SMALL: bool = false;
    type Pair = WidePair;
    type Count = u64;

    #[inline]
    fn weight(&self, sample: u32) -> u64 {
        self.get(sample as usize)
    }
}

/// A sum of weights times other weights or times fixed-point targets. Weights are below 2^52.
pub trait Moment:
    Copy
    + Debug
    + Default
    + Ord
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + From<i64>
    + Into<i128>
    + 'static
{
    /// The weight and the number of some rows.
    type Sizes: Sizes;
    /// The sum, or nothing; the mask has all bits or none.
    fn masked(self, mask: u64) -> Self;
    /// An integer wide enough for a sum of weights times a sum of weighted squares, shifted left by
    /// 128 bits.
    type Exact: Exact;
    /// `self + sum`; the caller knows that the result fits.
    fn plus_sum(self, sum: i128) -> Self;
    /// The nearest double, after at most two roundings.
    fn to_f64(self) -> f64;
    /// The quotient by `weight`, rounded down, and the remainder.
    fn divided(self, weight: u64) -> (i64, u64);

    /// Like [`to_f64`](Self::to_f64), for a sum that is not negative.
    #[inline]
    fn unsigned_to_f64(self) -> f64 {
        self.to_f64()
    }

    /// `weight * value`.
    #[inline]
    fn product(weight: u64, value: i64) -> Self {
        Self::from(weight as i64) * Self::from(value)
    }

    /// `self + weight * value`.
    #[inline]
    fn plus_product(self, weight: u64, value: i64) -> Self {
        self + Self::product(weight, value)
    }

    /// `self - weight * value`.
    #[inline]
    fn minus_product(self, weight: u64, value: i64) -> Self {
        self - Self::product(weight, value)
    }

    /// The sum as the widest type.
    #[inline]
    fn to_i128(self) -> i128 {
        self.into()
    }
}

/// The weight and the number of some rows.
pub trait Sizes: Copy + Default + AddAssign + Send + Sync + 'static {
    /// The weight of one row, and the number 1.
    fn of_row(weight: u64) -> Self;
    /// The weight of the rows together.
    fn weight(self) -> u64;
    /// Whether there are several rows.
    fn are_several(self) -> bool;
    /// The sizes, or nothing; the mask has all bits or none.
    fn masked(self, mask: u64) -> Self;
}

/// The weight in the low half, the number in the high half.
#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
impl Sizes for u64 {
    #[inline(always)]
    fn of_row(weight: u64) -> Self {
        1 << 32 | weight
    }
    #[inline(always)]
    fn weight(self) -> u64 {
        self & 0xFFFF_FFFF
    }
    #[inline(always)]
    fn are_several(self) -> bool {
        self >= 2 << 32
    }
    #[inline(always)]
    fn masked(self, mask: u64) -> Self {
        self & mask
    }
}

/// The weight and the number of some rows, for weights of more than 32 bits.
#[derive(Debug, Clone, Copy, Default)]
pub struct WideSizes(u64, u64);

#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
impl AddAssign for WideSizes {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        *self = Self(self.0 + other.0, self.1 + other.1);
    }
}

#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
impl Sizes for WideSizes {
    #[inline(always)]
    fn of_row(weight: u64) -> Self {
        Self(weight, 1)
    }
    #[inline(always)]
    fn weight(self) -> u64 {
        self.0
    }
    #[inline(always)]
    fn are_several(self) -> bool {
        self.1 >= 2
    }
    #[inline(always)]
    fn masked(self, mask: u64) -> Self {
        Self(self.0 & mask, self.1 & mask)
    }
}

#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
impl Moment for i64 {
    type Sizes = u64;
    #[inline(always)]
    fn masked(self, mask: u64) -> Self {
        self & mask as i64
    }
    type Exact = Wide<4>;

    #[inline]
    fn plus_sum(self, sum: i128) -> Self {
        self + sum as Self
    }

    #[inline]
    fn to_f64(self) -> f64 {
        self as f64
    }

    #[inline]
    fn divided(self, weight: u64) -> (i64, u64) {
        // Weights are below 2^63.
        (self.div_euclid(weight as i64), self.rem_euclid(weight as i64) as u64)
    }
}

#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
impl Moment for i128 {
    type Sizes = WideSizes;
    #[inline(always)]
    fn masked(self, mask: u64) -> Self {
        self & Self::from(mask as i64)
    }
    type Exact = Wide;

    #[inline]
    fn plus_sum(self, sum: i128) -> Self {
        self + sum
    }

    #[inline]
    fn to_f64(self) -> f64 {
        let magnitude = self.abs().unsigned_to_f64();
        if self < 0 { -magnitude } else { magnitude }
    }

    #[inline]
    fn unsigned_to_f64(self) -> f64 {
        (self >> 64) as u64 as f64 * 18_446_744_073_709_551_616.0 + self as u64 as f64
    }

    #[inline]
    fn divided(self, weight: u64) -> (i64, u64) {
        let mean = self.div_euclid(i128::from(weight));
        (mean as i64, (self - mean * i128::from(weight)) as u64)
    }
}
