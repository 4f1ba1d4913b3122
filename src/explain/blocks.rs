//! Results of rows that were worked on side by side, as the rows of a matrix.

use super::kernel::ROWS;
use crate::error::Result;
use crate::memory;
use crate::runtime::Runtime;

/// What memory is asked for.
const RESULT: &str = "SHAP values";

/// Contributions to the predictions for some rows, as sums over trees.
pub struct Blocks {
    /// In blocks of [`ROWS`] rows: by feature (or pair of features), value and row. The last block may
    /// have room for more rows than there are.
    pub cells: Vec<f64>,
    pub n_samples: usize,
    /// Cells of a row.
    pub row_len: usize,
    /// The values of a feature.
    pub n_kept: usize,
    /// Whether in front of the value, which is the only one, there is to be its opposite.
    pub has_complement: bool,
    /// What the sums are to be multiplied by.
    pub scale: f64,
}

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

/// Entries of some rows of a matrix.
type Entries<'a> = (&'a mut [i32], &'a mut [f64]);

/// A block, the numbers of entries by value and row, and where those of each value are to be.
type Part<'a> = (&'a [f64], &'a [[usize; ROWS]], Vec<Entries<'a>>);

impl Blocks {
    /// Row-major `(n_samples, row_len)`, where each value follows its opposite if it
    /// [has one](Self::has_complement).
    pub fn into_rows(self, runtime: &Runtime<'_>) -> Result<Vec<f64>> {
        let Self { mut cells, n_samples, row_len, has_complement, scale, .. } = self;
        let block_len = (ROWS * row_len).max(1);
        if has_complement {
            let mut rows = memory::zeros(RESULT, (2 * row_len).saturating_mul(n_samples))?;
            let parts = rows.chunks_mut(2 * block_len).zip(cells.chunks(block_len));
            runtime.map(parts.collect(), |(rows, block): (&mut [f64], &[f64])| {
                runtime.check_interrupt()?;
                for (row, cells) in rows.chunks_exact_mut(2 * row_len).enumerate() {
                    for (pair, value) in cells.chunks_exact_mut(2).zip(block[row..].iter().step_by(ROWS)) {
                        pair.copy_from_slice(&[-value * scale, value * scale]);
                    }
                }
                Ok(())
            })?;
            return Ok(rows);
        }
        runtime.map(cells.chunks_mut(block_len).collect(), |block: &mut [f64]| {
            runtime.check_interrupt()?;
            let mut before = memory::reserve(RESULT, block.len())?;
            before.extend_from_slice(block);
            for (row, cells) in block.chunks_exact_mut(row_len).enumerate() {
                for (cell, value) in cells.iter_mut().zip(before[row..].iter().step_by(ROWS)) {
                    *cell = value * scale;
                }
            }
            Ok(())
        })?;
        cells.truncate(n_samples * row_len);
        Ok(cells)
    }

    /// A matrix for each value, with the numbers of its features.
    pub fn into_matrices(self, features: &[u32], runtime: &Runtime<'_>) -> Result<Vec<CsrMatrix>> {
        let Self { cells, n_samples, row_len, n_kept, has_complement, scale } = self;
        let blocks: Vec<&[f64]> = cells.chunks((ROWS * row_len).max(1)).collect();
        let counts = runtime.map(blocks.clone(), |block: &[f64]| {
            runtime.check_interrupt()?;
            let mut counts = vec![[0usize; ROWS]; n_kept];
            for of_feature in block.chunks_exact(n_kept * ROWS) {
                for (counts, rows) in counts.iter_mut().zip(of_feature.chunks_exact(ROWS)) {
                    counts.iter_mut().zip(rows).for_each(|(count, &sum)| *count += usize::from(sum * scale != 0.0));
                }
            }
            Ok(counts)
        })?;
        let mut matrices = Vec::with_capacity(n_kept + 1);
        for value in 0..n_kept {
            let mut indptr: Vec<i64> = memory::zeros(RESULT, n_samples + 1)?;
            let counts = counts.iter().flat_map(|counts| counts[value]).take(n_samples);
            let mut end = 0;
            for (ends, count) in indptr[1..].iter_mut().zip(counts) {
                end += count;
                *ends = end as i64;
            }
            matrices.push(CsrMatrix {
                indptr,
                indices: memory::zeros(RESULT, end)?,
                data: memory::zeros(RESULT, end)?,
            });
        }
        let mut parts: Vec<Part<'_>> =
            blocks.into_iter().zip(&counts).map(|(block, counts)| (block, &counts[..], Vec::new())).collect();
        for (value, matrix) in matrices.iter_mut().enumerate() {
            let (mut indices, mut data) = (&mut matrix.indices[..], &mut matrix.data[..]);
            for (_, counts, entries) in &mut parts {
                let n = counts[value].iter().sum();
                let (own_indices, own_data);
                (own_indices, indices) = indices.split_at_mut(n);
                (own_data, data) = data.split_at_mut(n);
                entries.push((own_indices, own_data));
            }
        }
        runtime.map(parts, |(block, counts, mut entries)| {
            runtime.check_interrupt()?;
            // By value and row, where its next entry is to be.
            let mut next: Vec<[usize; ROWS]> = counts.to_vec();
            for of_value in &mut next {
                let mut end = 0;
                for at in of_value {
                    (*at, end) = (end, end + *at);
                }
            }
            for (&feature, of_feature) in features.iter().zip(block.chunks_exact(n_kept * ROWS)) {
                let of_values = entries.iter_mut().zip(&mut next).zip(of_feature.chunks_exact(ROWS));
                for (((indices, data), next), rows) in of_values {
                    for (at, sum) in next.iter_mut().zip(rows) {
                        let contribution = sum * scale;
                        if contribution != 0.0 {
                            (indices[*at], data[*at]) = (feature as i32, contribution);
                            *at += 1;
                        }
                    }
                }
            }
            Ok(())
        })?;
        if has_complement {
            let mut first = matrices.clone();
            first.iter_mut().flat_map(|matrix| &mut matrix.data).for_each(|value| *value = -*value);
            first.append(&mut matrices);
            return Ok(first);
        }
        Ok(matrices)
    }
}
