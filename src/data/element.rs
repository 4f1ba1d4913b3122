//! The element types that input arrays may have, and the value type each becomes.

use super::floats::{FloatSlice, Merge, TableValue};

/// An element type of an input array.
pub trait Element: Copy + Send + Sync {
    /// The narrowest of `f32` and `f64` that holds every value of the type (64-bit integers beyond
    /// 2^53 round to the nearest double).
    type Value: TableValue;
    /// How several entries that are stored for one cell of a sparse matrix become its value.
    const MERGE: Merge = Merge::Sum;
    /// Converts the element to its value type.
    fn value(self) -> Self::Value;
    /// The elements as they are, if they are floats.
    fn floats(_elements: &[Self]) -> Option<FloatSlice<'_>> {
        None
    }
}

macro_rules! element {
    ($value:ty: $($element:ty $(, whose floats are $width:ident)?);*) => {
        $(impl Element for $element {
            type Value = $value;

            #[inline]
            fn value(self) -> $value {
                self as $value
            }

            $(fn floats(elements: &[$element]) -> Option<FloatSlice<'_>> {
                Some(FloatSlice::$width(elements))
            })?
        })*
    };
}

element!(f32: u8; i8; u16; i16; f32, whose floats are F32);
element!(f64: u32; i32; u64; i64; f64, whose floats are F64);

impl Element for bool {
    type Value = f32;
    const MERGE: Merge = Merge::Any;

    #[inline]
    fn value(self) -> f32 {
        f32::from(u8::from(self))
    }
}
