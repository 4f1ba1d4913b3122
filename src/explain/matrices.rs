//! SHAP values as sparse matrices, one for each value.

use crate::error::Result;
use crate::memory;
use crate::runtime::Runtime;

/// What memory for results is asked for.
pub(super) const RESULT: &str = "SHAP values";

/// A matrix by its rows.
#[derive(Debug, Clone, PartialEq)]
pub struct CsrMatrix {
    /// Where rows begin, and the end.
    pub indptr: Vec<i64>,
    /// The feature of each entry.
    pub indices: Vec<i32>,
    /// The values, which are not 0.
    pub data: Vec<f64>,
}

/// Entries of a row of a matrix.
type Entries<'a> = (&'a mut [i32], &'a mut [f64]);

/// A matrix of shape `(n_samples, n_features)` for each of `n_values` values, without zeros, of the
/// values of some features, of shape `(n_samples, features.len(), n_values)`. All are made in two
/// passes over the rows, which are spread over the threads.
pub fn matrices(
    features: &[u32],
    values: &[f64],
    n_samples: usize,
    n_values: usize,
    runtime: &Runtime<'_>,
) -> Result<Vec<CsrMatrix>> {
    let rows: Vec<&[f64]> = values.chunks((features.len() * n_values).max(1)).collect();
    let counts: Vec<Vec<usize>> = runtime.map(rows.clone(), |row: &[f64]| {
        runtime.check_interrupt()?;
        let mut counts = vec![0; n_values];
        for of_feature in row.chunks_exact(n_values) {
            counts.iter_mut().zip(of_feature).for_each(|(count, &value)| *count += usize::from(value != 0.0));
        }
        Ok(counts)
    })?;
    let mut matrices = Vec::with_capacity(n_values);
    for value in 0..n_values {
        let mut indptr: Vec<i64> = memory::zeros(RESULT, n_samples + 1)?;
        let mut end = 0;
        for (stop, counts) in indptr[1..].iter_mut().zip(&counts) {
            end += counts[value];
            *stop = end as i64;
        }
        matrices.push(CsrMatrix { indptr, indices: memory::zeros(RESULT, end)?, data: memory::zeros(RESULT, end)? });
    }
    let mut parts: Vec<(&[f64], Vec<Entries<'_>>)> = rows.into_iter().map(|row| (row, Vec::new())).collect();
    for (value, matrix) in matrices.iter_mut().enumerate() {
        let (mut indices, mut data) = (&mut matrix.indices[..], &mut matrix.data[..]);
        for ((_, entries), counts) in parts.iter_mut().zip(&counts) {
            let (own_indices, own_data);
            (own_indices, indices) = indices.split_at_mut(counts[value]);
            (own_data, data) = data.split_at_mut(counts[value]);
            entries.push((own_indices, own_data));
        }
    }
    runtime.map(parts, |(row, mut entries)| {
        runtime.check_interrupt()?;
        // By value, where its next entry is to be.
        let mut next = vec![0; n_values];
        for (&feature, of_feature) in features.iter().zip(row.chunks_exact(n_values)) {
            for (((indices, data), at), &value) in entries.iter_mut().zip(&mut next).zip(of_feature) {
                if value != 0.0 {
                    (indices[*at], data[*at]) = (feature as i32, value);
                    *at += 1;
                }
            }
        }
        Ok(())
    })?;
    Ok(matrices)
}
