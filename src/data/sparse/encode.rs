//! From a sparse view to sparse columns.
//!
//! Entries are brought into columns, then each column sums its duplicates, drops its zeros, is sorted by value and
//! ranked; at last the by-row twin is made. O(nnz) and the sorts; columns in parallel. Holds at most the result, or one
//! by-column copy with 4-byte ranks and values beside it.

use super::SparseColumns;
use super::view::{Format, SparseIndex, SparseView};
use crate::data::element::Element;
use crate::data::ranking::{Pair, distinct_values, number_runs, sort_pairs};
use crate::data::values::{TableValue, ValueTable, padded};
use crate::data::{Columns, Dataset, check_shape};
use crate::error::Result;
use crate::num::SortKey;
use crate::runtime::Runtime;

/// The by-column half of [`SparseColumns`], while it is built.
pub(super) struct Half {
    pub indptr: Box<[usize]>,
    pub samples: Box<[u32]>,
    pub ranks: Box<[u32]>,
    pub zero_ranks: Box<[u32]>,
}

impl Dataset {
    /// Encodes a compressed sparse matrix. Absent entries are 0.0; NaN is missing.
    pub fn from_sparse<T: Element, I: SparseIndex>(x: &SparseView<'_, T, I>, runtime: &Runtime<'_>) -> Result<Self>
    where
        T::Value: TableValue,
    {
        let (n_samples, n_features) = x.shape();
        check_shape(n_samples, n_features)?;
        let mut raw = by_column(x, runtime)?;
        let mut ranks = vec![0u32; raw.samples.len()];
        let encoded = {
            let mut jobs = Vec::with_capacity(n_features);
            let (mut samples, mut values, mut ranks) = (&mut raw.samples[..], &mut raw.values[..], &mut ranks[..]);
            for range in raw.indptr.windows(2) {
                let n = range[1] - range[0];
                jobs.push(Job {
                    samples: samples.split_off_mut(..n).unwrap_or_default(),
                    values: values.split_off_mut(..n).unwrap_or_default(),
                    ranks: ranks.split_off_mut(..n).unwrap_or_default(),
                });
            }
            let mut tasks = Vec::new();
            let size = n_features.div_ceil(8 * runtime.n_threads());
            while !jobs.is_empty() {
                tasks.push(jobs.split_off(jobs.len().saturating_sub(size)));
            }
            tasks.reverse();
            let encode = |tasks: Vec<Job<'_, T::Value>>| {
                let mut scratch = (Vec::new(), Vec::new(), Vec::new());
                let columns = tasks.into_iter().map(|job| {
                    runtime.check_interrupt()?;
                    Ok(encode_column::<T>(job, &mut scratch))
                });
                columns.collect::<Result<Vec<_>>>()
            };
            runtime.map(tasks, encode)?.into_iter().flatten().collect::<Vec<_>>()
        };
        let (half, values, n_distinct) = compact(raw, ranks, &encoded);
        let columns = Columns::Sparse(SparseColumns::with_rows(half, n_distinct, n_samples, runtime)?);
        Ok(Self::new(n_samples, n_features, columns, values))
    }
}

/// Stored entries by column, in stored order: zeros, duplicates and all.
struct Raw<V> {
    indptr: Box<[usize]>,
    samples: Vec<u32>,
    values: Vec<V>,
}

/// Offsets of `n` groups from the group of each member: a monotone array of length `n + 1`.
pub(super) fn offsets(n: usize, members: impl Iterator<Item = usize>) -> Box<[usize]> {
    let mut offsets = vec![0usize; n + 1].into_boxed_slice();
    for group in members {
        offsets[group + 1] += 1;
    }
    cumulate(&mut offsets);
    offsets
}

/// Replaces each size with the sum of all up to it.
fn cumulate(sizes: &mut [usize]) {
    let mut end = 0;
    for size in sizes {
        end += *size;
        *size = end;
    }
}

fn by_column<T: Element, I: SparseIndex>(x: &SparseView<'_, T, I>, runtime: &Runtime<'_>) -> Result<Raw<T::Value>> {
    let nnz = x.nnz();
    Ok(match x.format {
        Format::Csc => {
            let mut raw = Raw {
                indptr: (0..=x.n_features).map(|f| x.indptr[f].index().unwrap_or_default()).collect(),
                samples: Vec::with_capacity(nnz),
                values: Vec::with_capacity(nnz),
            };
            for feature in 0..x.n_features {
                runtime.check_interrupt()?;
                for (sample, value) in x.entries(feature) {
                    raw.samples.push(sample as u32);
                    raw.values.push(value);
                }
            }
            raw
        }
        Format::Csr => {
            let indices = x.indices[..nnz].iter().map(|index| index.index().unwrap_or_default());
            let indptr = offsets(x.n_features, indices);
            let mut cursor = indptr.clone();
            let (mut samples, mut values) = (vec![0u32; nnz], vec![T::Value::ZERO; nnz]);
            for sample in 0..x.n_samples {
                runtime.check_interrupt()?;
                for (feature, value) in x.entries(sample) {
                    let slot = &mut cursor[feature];
                    samples[*slot] = sample as u32;
                    values[*slot] = value;
                    *slot += 1;
                }
            }
            Raw { indptr, samples, values }
        }
    })
}

/// One column's share of the arrays.
struct Job<'a, V> {
    samples: &'a mut [u32],
    values: &'a mut [V],
    ranks: &'a mut [u32],
}

/// What is left of a column: the front of its share of the arrays.
struct Encoded {
    nnz: usize,
    n_distinct: usize,
    /// Among the distinct values.
    zero_place: u32,
    has_missing: bool,
}

impl Encoded {
    /// The rank of the least value.
    fn first_rank(&self) -> u32 {
        u32::from(self.has_missing)
    }

    fn n_ranks(&self) -> usize {
        self.n_distinct + 1 + 2 * usize::from(self.has_missing)
    }
}

type Scratch<V> = (Vec<(u32, V)>, Vec<Pair<V>>, Vec<Pair<V>>);

/// Sums duplicates, drops zeros, sorts by value. Then the fronts of `samples` and `ranks` hold the entries, and the
/// front of `values` holds the distinct nonzero values. Missing values come last.
fn encode_column<T: Element>(job: Job<'_, T::Value>, (cells, pairs, scratch): &mut Scratch<T::Value>) -> Encoded {
    let Job { samples, values, ranks } = job;
    cells.clear();
    cells.extend(samples.iter().copied().zip(values.iter().copied()));
    if !cells.is_sorted_by(|a, b| a.0 < b.0) {
        // Stable: duplicates are summed in the order in which they are stored.
        cells.sort_by_key(|cell| cell.0);
    }
    pairs.clear();
    let mut missing = Vec::new();
    for run in cells.chunk_by(|a, b| a.0 == b.0) {
        let value = run[1..].iter().fold(run[0].1, |sum, cell| T::merge(sum, cell.1));
        let wide = value.widen();
        if wide.is_nan() {
            missing.push(run[0].0);
        } else if wide != 0.0 {
            pairs.push((value.key(), run[0].0));
        }
    }
    sort_pairs::<T::Value>(pairs, scratch);
    let (distinct, zero_place) = distinct_values::<T::Value>(pairs, false);
    values[..distinct.len()].copy_from_slice(&distinct);
    let nnz = pairs.len() + missing.len();
    let encoded = Encoded { nnz, n_distinct: distinct.len(), zero_place, has_missing: !missing.is_empty() };
    let first_rank = encoded.first_rank();
    let mut at = 0;
    number_runs::<T::Value>(pairs, first_rank, Some(first_rank + zero_place), |rank, run| {
        for &(_, sample) in run {
            samples[at] = sample;
            ranks[at] = rank;
            at += 1;
        }
    });
    samples[at..nnz].copy_from_slice(&missing);
    ranks[at..nnz].fill(encoded.n_ranks() as u32 - 1);
    encoded
}

/// Moves the fronts of all columns together, in place, and inserts the zero into each value table. Also returns the
/// length of the longest table.
fn compact<V: TableValue>(raw: Raw<V>, mut ranks: Vec<u32>, encoded: &[Encoded]) -> (Half, ValueTable, usize) {
    let Raw { indptr: raw_indptr, mut samples, values } = raw;
    let n_values = encoded.iter().map(Encoded::n_ranks).sum();
    let mut table = Vec::with_capacity(n_values);
    let mut table_indptr = Vec::with_capacity(encoded.len() + 1);
    let mut indptr = Vec::with_capacity(encoded.len() + 1);
    table_indptr.push(0);
    indptr.push(0);
    let (mut end, mut largest) = (0, 0);
    for (column, &start) in encoded.iter().zip(&raw_indptr) {
        samples.copy_within(start..start + column.nnz, end);
        ranks.copy_within(start..start + column.nnz, end);
        end += column.nnz;
        indptr.push(end);
        let (negative, positive) = values[start..start + column.n_distinct].split_at(column.zero_place as usize);
        let distinct = [negative, &[V::ZERO], positive].concat();
        table.extend(if column.has_missing { padded(distinct) } else { distinct });
        table_indptr.push(table.len());
        largest = largest.max(column.n_ranks());
    }
    samples.truncate(end);
    ranks.truncate(end);
    let half = Half {
        indptr: indptr.into(),
        samples: samples.into(),
        ranks: ranks.into(),
        zero_ranks: encoded.iter().map(|column| column.first_rank() + column.zero_place).collect(),
    };
    let has_missing = encoded.iter().map(|column| column.has_missing).collect();
    (half, V::into_table(table_indptr, table, has_missing), largest)
}

#[cfg(test)]
mod tests {
    use super::cumulate;

    /// Offsets do not wrap where 32 bits would, signed or not; a matrix of that size is too large for a test.
    #[test]
    fn offsets_pass_32_bits() {
        let mut sizes = [0, 1 << 31, 1 << 31, 5];
        cumulate(&mut sizes);
        assert_eq!(sizes, [0, 1 << 31, 1 << 32, (1 << 32) + 5]);
    }
}
