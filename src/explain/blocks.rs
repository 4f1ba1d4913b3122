//! Results of rows that were worked on together, as the rows of a matrix.

use crate::error::Result;
use crate::memory;
use crate::runtime::Runtime;

/// The name of the memory for results, in errors.
const RESULT: &str = "SHAP values";

/// How many rows are worked on together.
#[derive(Debug, Clone, Copy)]
pub struct BlockShape {
    /// Rows of a block; the last block may have fewer.
    pub n_rows: usize,
    /// Rows that every block has room for.
    pub room: usize,
}

/// Contributions to the predictions for some rows, as sums over trees.
pub struct Blocks {
    /// In blocks: by feature (or pair of features), value and row.
    pub cells: Vec<f64>,
    pub shape: BlockShape,
    pub n_samples: usize,
    /// Cells of a row: features (or pairs of features) times values.
    pub row_len: usize,
    /// The number of values that a feature contributes to.
    pub n_kept: usize,
    /// Whether the one value is the share of the second of two classes, whose opposite comes first.
    pub has_complement: bool,
    /// The factor by which the sums are still to be multiplied.
    pub scale: f64,
}

/// A matrix by its rows.
#[derive(Debug, Clone, PartialEq)]
pub struct CsrMatrix {
    /// Where the entries of each row begin, then the number of all entries.
    pub indptr: Vec<i64>,
    /// The feature of each entry.
    pub indices: Vec<i32>,
    /// The value of each entry, which is not 0.
    pub data: Vec<f64>,
}

/// Entries of some rows of a matrix.
type Entries<'a> = (&'a mut [i32], &'a mut [f64]);

/// A block, the numbers of entries by value and row, and where the entries of each value are to be.
type Part<'a> = (&'a [f64], &'a [usize], Vec<Entries<'a>>);

impl Blocks {
    /// Room for the contributions of all rows, which are 0 so far.
    pub fn zeros(
        (n_samples, row_len): (usize, usize),
        shape: BlockShape,
        n_kept: usize,
        (has_complement, scale): (bool, f64),
    ) -> Result<Self> {
        let n = n_samples.div_ceil(shape.n_rows).saturating_mul(shape.room).saturating_mul(row_len);
        Ok(Self { cells: memory::zeros(RESULT, n)?, shape, n_samples, row_len, n_kept, has_complement, scale })
    }

    /// Cells of a block, used or not.
    pub fn block_len(&self) -> usize {
        self.shape.room * self.row_len
    }

    /// Row-major `(n_samples, row_len)`, where each value follows its opposite if it
    /// [has one](Self::has_complement).
    pub fn into_rows(self, runtime: &Runtime<'_>) -> Result<Vec<f64>> {
        if self.row_len == 0 {
            return Ok(Vec::new());
        }
        let BlockShape { n_rows, room } = self.shape;
        let (block_len, n_values) = (self.block_len(), if self.has_complement { 2 } else { 1 });
        let Self { mut cells, n_samples, row_len, has_complement, scale, .. } = self;
        if has_complement || room != n_rows {
            let row_len = n_values * row_len;
            let mut rows = memory::zeros(RESULT, n_samples.saturating_mul(row_len))?;
            let parts = rows.chunks_mut(n_rows * row_len).zip(cells.chunks(block_len));
            runtime.map(parts.collect(), |(rows, block): (&mut [f64], &[f64])| {
                runtime.check_interrupt()?;
                for (row, cells) in rows.chunks_exact_mut(row_len).enumerate() {
                    for (values, sum) in cells.chunks_exact_mut(n_values).zip(block[row..].iter().step_by(room)) {
                        values.fill(sum * scale);
                        if has_complement {
                            values[0] = -values[0];
                        }
                    }
                }
                Ok(())
            })?;
            return Ok(rows);
        }
        runtime.map(cells.chunks_mut(block_len).collect(), |block: &mut [f64]| {
            runtime.check_interrupt()?;
            let mut sums = memory::reserve(RESULT, block.len())?;
            sums.extend_from_slice(block);
            for (row, cells) in block.chunks_exact_mut(row_len).enumerate() {
                for (cell, sum) in cells.iter_mut().zip(sums[row..].iter().step_by(room)) {
                    *cell = sum * scale;
                }
            }
            Ok(())
        })?;
        cells.truncate(n_samples * row_len);
        Ok(cells)
    }

    /// A matrix for each value, with the numbers of its features, without zeros. All are made in
    /// two passes over the blocks, which are spread over the threads.
    pub fn into_matrices(self, features: &[u32], runtime: &Runtime<'_>) -> Result<Vec<CsrMatrix>> {
        let Self { cells, shape: BlockShape { n_rows, room }, n_samples, row_len, n_kept, has_complement, scale } =
            self;
        let blocks: Vec<&[f64]> = cells.chunks((room * row_len).max(1)).collect();
        let counts = runtime.map(blocks.clone(), |block: &[f64]| {
            runtime.check_interrupt()?;
            let mut counts = vec![0; n_kept * room];
            for of_feature in block.chunks_exact(n_kept * room) {
                counts.iter_mut().zip(of_feature).for_each(|(count, sum)| *count += usize::from(sum * scale != 0.0));
            }
            Ok(counts)
        })?;
        let mut matrices = Vec::with_capacity(n_kept + 1);
        for value in 0..n_kept {
            let mut indptr: Vec<i64> = memory::zeros(RESULT, n_samples + 1)?;
            let counts = counts.iter().flat_map(|counts| &counts[value * room..][..n_rows]);
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
                let n = counts[value * room..][..room].iter().sum();
                let (own_indices, own_data);
                (own_indices, indices) = indices.split_at_mut(n);
                (own_data, data) = data.split_at_mut(n);
                entries.push((own_indices, own_data));
            }
        }
        runtime.map(parts, |(block, counts, mut entries)| {
            runtime.check_interrupt()?;
            // By value and row, where its next entry is to be.
            let mut next = counts.to_vec();
            for of_value in next.chunks_exact_mut(room) {
                let mut end = 0;
                for at in of_value {
                    (*at, end) = (end, end + *at);
                }
            }
            for (&feature, of_feature) in features.iter().zip(block.chunks_exact(n_kept * room)) {
                let of_values = entries.iter_mut().zip(next.chunks_exact_mut(room)).zip(of_feature.chunks_exact(room));
                for (((indices, data), next), sums) in of_values {
                    for (at, sum) in next.iter_mut().zip(sums) {
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
