//! From encoded columns back to values: what a pickle of training data carries. The way back gives
//! the same columns again, as these are a function of the values alone.

use super::{Columns, Dataset, SparseColumns};
use crate::error::Result;
use crate::memory;
use crate::runtime::Runtime;

/// The name of the memory in errors.
const VALUES: &str = "the values of X";

/// The values of a data set.
#[derive(Debug, Clone, PartialEq)]
pub enum Decoded {
    /// The cells of a dense matrix, row-major `(n_samples, n_features)`.
    Dense(Vec<f64>),
    /// The arrays of a CSR matrix.
    Csr {
        /// Where the entries of each row begin, then the number of all entries.
        indptr: Vec<i64>,
        /// The feature of each entry.
        indices: Vec<i64>,
        /// The value of each nonzero, NaN if missing.
        data: Vec<f64>,
    },
}

impl Dataset {
    /// The values: zero as 0.0, a missing value as NaN. O(cells).
    pub fn decode(&self, runtime: &Runtime<'_>) -> Result<Decoded> {
        match self.columns() {
            Columns::Dense(columns) => {
                let n_features = self.n_features();
                let mut values: Vec<f64> = memory::zeros(VALUES, self.n_samples().saturating_mul(n_features))?;
                for feature in 0..n_features as u32 {
                    runtime.check_interrupt()?;
                    let column = columns.column(feature);
                    let cells = values.iter_mut().skip(feature as usize).step_by(n_features);
                    for (sample, cell) in (0..).zip(cells) {
                        *cell = self.value_or_nan(feature, column.rank(sample));
                    }
                }
                Ok(Decoded::Dense(values))
            }
            Columns::Sparse(columns) => self.decode_sparse(columns, runtime),
        }
    }

    /// The value of a rank of a feature; NaN for a missing one.
    #[inline]
    pub(super) fn value_or_nan(&self, feature: u32, rank: u32) -> f64 {
        if self.missing_rank(feature) == Some(rank) { f64::NAN } else { self.value(feature, rank) }
    }

    fn decode_sparse(&self, columns: &SparseColumns, runtime: &Runtime<'_>) -> Result<Decoded> {
        let nnz = columns.nnz();
        let mut indptr = memory::reserve(VALUES, self.n_samples() + 1)?;
        let (mut indices, mut data) = (memory::reserve(VALUES, nnz)?, memory::reserve(VALUES, nnz)?);
        indptr.push(0);
        for sample in 0..self.n_samples() {
            runtime.check_in_turn(sample)?;
            let row = columns.row(sample as u32);
            for (at, &feature) in row.features.iter().enumerate() {
                indices.push(i64::from(feature));
                data.push(self.value_or_nan(feature, row.ranks.at(at)));
            }
            indptr.push(indices.len() as i64);
        }
        Ok(Decoded::Csr { indptr, indices, data })
    }
}
