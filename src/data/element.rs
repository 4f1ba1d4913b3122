//! The element types that input arrays may have, and the value type each becomes.

use crate::num::SortKey;

/// An element type of an input array.
pub trait Element: Copy + Send + Sync {
    /// The narrowest of `f32` and `f64` that holds every value of the type (64-bit integers beyond 2^53 round to the
    /// nearest double).
    type Value: SortKey;
    /// The value.
    fn value(self) -> Self::Value;
    /// The sum of two entries stored for the same cell of a sparse matrix. Unlike the matrix's dense form, a sum beyond
    /// the range of a narrow integer type does not wrap.
    fn merge(a: Self::Value, b: Self::Value) -> Self::Value;
}

macro_rules! element {
    ($value:ty: $($element:ty),*) => {
        $(impl Element for $element {
            type Value = $value;

            #[inline]
            fn value(self) -> $value {
                self as $value
            }

            #[inline]
            fn merge(a: $value, b: $value) -> $value {
                a + b
            }
        })*
    };
}

element!(f32: u8, i8, u16, i16, f32);
element!(f64: u32, i32, u64, i64, f64);

impl Element for bool {
    type Value = f32;

    #[inline]
    fn value(self) -> f32 {
        f32::from(u8::from(self))
    }

    /// True and true is true.
    #[inline]
    fn merge(a: f32, b: f32) -> f32 {
        a.max(b)
    }
}
