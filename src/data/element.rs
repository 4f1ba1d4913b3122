//! The element types that input arrays may have, and the value type each becomes.

use super::values::TableValue;

/// An element type of an input array.
pub trait Element: Copy + Send + Sync {
    /// The narrowest of `f32` and `f64` that holds every value of the type (64-bit integers beyond
    /// 2^53 round to the nearest double).
    type Value: TableValue;
    /// What entries stored for the same cell of a sparse matrix mean.
    const MERGE: Merge;
    /// Converts the element to its value type.
    fn value(self) -> Self::Value;
    /// The elements as they are, if they are `f64`.
    fn as_f64(_elements: &[Self]) -> Option<&[f64]> {
        None
    }
}

/// The value of a cell of a sparse matrix that is stored more than once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merge {
    /// The sum of its entries, in the order in which they are stored. Unlike in the matrix's dense
    /// form, a sum beyond the range of a narrow integer type does not wrap.
    Sum,
    /// Whether any of its entries is true.
    Any,
}

macro_rules! element {
    ($value:ty: $($element:ty),*) => {
        $(impl Element for $element {
            type Value = $value;
            const MERGE: Merge = Merge::Sum;

            #[inline]
            fn value(self) -> $value {
                self as $value
            }
        })*
    };
}

element!(f32: u8, i8, u16, i16, f32);
element!(f64: u32, i32, u64, i64);

impl Element for f64 {
    type Value = f64;
    const MERGE: Merge = Merge::Sum;

    #[inline]
    fn value(self) -> f64 {
        self
    }

    fn as_f64(elements: &[f64]) -> Option<&[f64]> {
        Some(elements)
    }
}

impl Element for bool {
    type Value = f32;
    const MERGE: Merge = Merge::Any;

    #[inline]
    fn value(self) -> f32 {
        f32::from(u8::from(self))
    }
}
