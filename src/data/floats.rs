//! The two types of values that every element type becomes one of: `f32` and `f64`.

use crate::memory::Zero;
use crate::num::SortKey;

/// Values of one of the two types that columns may have.
#[derive(Debug, Clone)]
pub enum Floats {
    /// For inputs whose values all are exact in `f32`.
    F32(Vec<f32>),
    /// For all other inputs.
    F64(Vec<f64>),
}

impl Floats {
    /// Joins the parts, one after the other.
    pub(super) fn concat(parts: &[Self]) -> Self {
        if parts.iter().all(|part| matches!(part, Self::F32(_))) {
            return Self::F32(parts.iter().map(f32::of).collect::<Vec<_>>().concat());
        }
        let mut values = Vec::with_capacity(parts.iter().map(Self::len).sum());
        for part in parts {
            match part {
                Self::F32(part) => values.extend(part.iter().map(|&value| f64::from(value))),
                Self::F64(part) => values.extend_from_slice(part),
            }
        }
        Self::F64(values)
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::F64(values) => values.len(),
        }
    }
}

/// Floats in memory, of one of the two types.
#[derive(Debug, Clone, Copy)]
pub enum FloatSlice<'a> {
    /// In single precision.
    F32(&'a [f32]),
    /// In double precision.
    F64(&'a [f64]),
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

/// The value types: `f32` and `f64`.
pub trait TableValue: SortKey + Zero {
    /// A value that came from this type, from [`widen`](SortKey::widen).
    fn from_wide(value: f64) -> Self;
    /// Two entries for the same cell as one.
    fn merged(self, other: Self, merge: Merge) -> Self;
    /// Values of this type.
    fn floats(values: Vec<Self>) -> Floats;
    /// The values, if they have this type; else nothing.
    fn of(floats: &Floats) -> &[Self];
    /// Values of this type in memory.
    fn slice(values: &[Self]) -> FloatSlice<'_>;
}

macro_rules! table_value {
    ($float:ty, $floats:ident) => {
        impl TableValue for $float {
            #[inline]
            fn from_wide(value: f64) -> $float {
                value as $float
            }

            #[inline]
            fn merged(self, other: $float, merge: Merge) -> $float {
                match merge {
                    Merge::Sum => self + other,
                    Merge::Any => self.max(other),
                }
            }

            fn floats(values: Vec<$float>) -> Floats {
                Floats::$floats(values)
            }

            fn of(floats: &Floats) -> &[$float] {
                if let Floats::$floats(values) = floats { values } else { &[] }
            }

            fn slice(values: &[$float]) -> FloatSlice<'_> {
                FloatSlice::$floats(values)
            }
        }
    };
}

table_value!(f32, F32);
table_value!(f64, F64);
