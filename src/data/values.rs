//! The values behind the ranks: per feature an ascending table of its distinct values.

use std::ops::Range;

use crate::num::SortKey;

/// Ascending distinct values of every feature, stored as `f32` where that is exact for all of them.
#[derive(Debug)]
pub struct ValueTable {
    /// `values[indptr[f]..indptr[f + 1]]` belongs to feature `f`; monotone, starts at 0.
    indptr: Box<[usize]>,
    values: Values,
}

#[derive(Debug)]
enum Values {
    F32(Box<[f32]>),
    F64(Box<[f64]>),
}

/// Value types that a table can be built from.
pub trait TableValue: SortKey {
    /// The table.
    fn into_table(indptr: Vec<usize>, values: Vec<Self>) -> ValueTable;
}

impl TableValue for f32 {
    fn into_table(indptr: Vec<usize>, values: Vec<f32>) -> ValueTable {
        ValueTable { indptr: indptr.into(), values: Values::F32(values.into()) }
    }
}

impl TableValue for f64 {
    fn into_table(indptr: Vec<usize>, values: Vec<f64>) -> ValueTable {
        let values = if values.iter().all(|&v| f64::from(v as f32) == v) {
            Values::F32(values.into_iter().map(|v| v as f32).collect())
        } else {
            Values::F64(values.into())
        };
        ValueTable { indptr: indptr.into(), values }
    }
}

impl ValueTable {
    #[inline]
    pub(crate) fn value(&self, feature: usize, rank: usize) -> f64 {
        let at = self.indptr[feature] + rank;
        debug_assert!(at < self.indptr[feature + 1]);
        match &self.values {
            Values::F32(values) => f64::from(values[at]),
            Values::F64(values) => values[at],
        }
    }

    /// The first rank of `ranks` whose value is above `threshold`, or the one after them.
    pub(crate) fn rank_above(&self, feature: usize, threshold: f64, ranks: Range<usize>) -> usize {
        let start = self.indptr[feature];
        let range = start + ranks.start..start + ranks.end;
        ranks.start
            + match &self.values {
                Values::F32(values) => values[range].partition_point(|&v| f64::from(v) <= threshold),
                Values::F64(values) => values[range].partition_point(|&v| v <= threshold),
            }
    }

    pub(crate) fn n_bytes(&self) -> usize {
        let values = match &self.values {
            Values::F32(values) => size_of_val(&values[..]),
            Values::F64(values) => size_of_val(&values[..]),
        };
        values + size_of_val(&self.indptr[..])
    }
}
