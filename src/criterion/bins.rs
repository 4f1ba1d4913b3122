//! The contents of a bin of a histogram of classes, in integers as wide as the weights need.

use std::iter::Sum;
use std::ops::AddAssign;

/// The weight of some rows, and the weight of the second class among them.
pub trait BinPair: Copy + Default + PartialEq + AddAssign + Send + Sync + 'static {
    /// Packs both weights; as a `u64` each must be below 2^32.
    fn pack(weight: u64, second: u64) -> Self;
    /// The weight of the rows, and the weight of the second class among them.
    fn unpack(self) -> [u64; 2];
    /// The pair, or nothing; the mask has all bits or none.
    fn masked(self, mask: u64) -> Self;
}

#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
impl BinPair for u64 {
    #[inline(always)]
    fn pack(weight: u64, second: u64) -> Self {
        weight | second << 32
    }
    #[inline(always)]
    fn unpack(self) -> [u64; 2] {
        [self & 0xFFFF_FFFF, self >> 32]
    }
    #[inline(always)]
    fn masked(self, mask: u64) -> Self {
        self & mask
    }
}

/// A pair of weights of more than 32 bits.
#[derive(Clone, Copy, Default, PartialEq)]
pub struct WidePair(u64, u64);

#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
impl AddAssign for WidePair {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        *self = Self(self.0 + other.0, self.1 + other.1);
    }
}

#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
impl BinPair for WidePair {
    #[inline(always)]
    fn pack(weight: u64, second: u64) -> Self {
        Self(weight, second)
    }
    #[inline(always)]
    fn unpack(self) -> [u64; 2] {
        [self.0, self.1]
    }
    #[inline(always)]
    fn masked(self, mask: u64) -> Self {
        Self(self.0 & mask, self.1 & mask)
    }
}

/// The weight of the rows of a class in a bin.
pub trait BinCount: Copy + Default + AddAssign + Sum + Into<u64> + Send + Sync + 'static {
    /// The count of a row of this weight.
    fn of(weight: u64) -> Self;
    /// The count, or nothing; the mask has all bits or none.
    fn masked(self, mask: u64) -> Self;
    /// The count in floating point, which is exact.
    fn to_f64(self) -> f64;
}

#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
impl BinCount for u32 {
    #[inline(always)]
    fn of(weight: u64) -> Self {
        weight as Self
    }
    #[inline(always)]
    fn masked(self, mask: u64) -> Self {
        self & mask as Self
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self.into()
    }
}

/// For weights of more than 32 bits.
#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
impl BinCount for u64 {
    #[inline(always)]
    fn of(weight: u64) -> Self {
        weight
    }
    #[inline(always)]
    fn masked(self, mask: u64) -> Self {
        self & mask
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self as i64 as f64
    }
}
