//! Some rows of sparse columns as columns of their own.
//!
//! Entries keep their order by value, so nothing is sorted by value again. O(nnz of all rows).

use super::SparseColumns;
use super::encode::{Half, PARTS_PER_THREAD};
use crate::data::floats::TableValue;
use crate::data::values::ValueTable;
use crate::data::{Columns, Dataset};
use crate::error::Result;
use crate::memory;
use crate::runtime::Runtime;

/// The data set of these rows. All of its features are numeric so far; the values of categorical
/// ones are the codes of the categories that these rows have.
pub(in crate::data) fn take(
    data: &Dataset,
    columns: &SparseColumns,
    rows: &[u32],
    runtime: &Runtime<'_>,
) -> Result<Dataset> {
    let n_features = data.n_features();
    let places = RowPlaces::new(rows, data.n_samples())?;
    let size = n_features.div_ceil(PARTS_PER_THREAD * runtime.n_threads());
    let parts: Vec<_> = (0..n_features).step_by(size).map(|start| start..(start + size).min(n_features)).collect();
    if data.values.of::<f32>(0).is_some() {
        let parts = runtime.map(parts, |part| TakenPart::<f32>::of(data, columns, part, &places, runtime))?;
        join(parts, rows.len(), n_features, runtime)
    } else {
        let parts = runtime.map(parts, |part| TakenPart::<f64>::of(data, columns, part, &places, runtime))?;
        join(parts, rows.len(), n_features, runtime)
    }
}

/// The places that each row of all has among the taken rows: none, one, or several.
struct RowPlaces {
    /// By row of all, where its places begin; and the end.
    starts: Vec<u32>,
    order: Vec<u32>,
    /// Whether rows ascend, so that places of rows in order are in order.
    ascend: bool,
}

impl RowPlaces {
    fn new(rows: &[u32], n_samples: usize) -> Result<Self> {
        let mut starts = memory::zeros::<u32>("rows", n_samples + 1)?;
        for &row in rows {
            starts[row as usize + 1] += 1;
        }
        for row in 0..n_samples {
            starts[row + 1] += starts[row];
        }
        let mut next = starts.clone();
        let mut order = memory::zeros::<u32>("rows", rows.len())?;
        for (place, &row) in (0..).zip(rows) {
            order[next[row as usize] as usize] = place;
            next[row as usize] += 1;
        }
        Ok(Self { starts, order, ascend: rows.is_sorted() })
    }

    fn of(&self, row: u32) -> &[u32] {
        &self.order[self.starts[row as usize] as usize..self.starts[row as usize + 1] as usize]
    }
}

/// The entries and the value tables of a range of columns.
#[derive(Default)]
struct TakenPart<V> {
    /// By column, where its entries end.
    ends: Vec<usize>,
    samples: Vec<u32>,
    ranks: Vec<u32>,
    zero_ranks: Vec<u32>,
    /// By column, where its table ends.
    table_ends: Vec<usize>,
    table: Vec<V>,
    has_missing: Vec<bool>,
}

impl<V: TableValue + Default> TakenPart<V> {
    fn of(
        data: &Dataset,
        columns: &SparseColumns,
        features: std::ops::Range<usize>,
        places: &RowPlaces,
        runtime: &Runtime<'_>,
    ) -> Result<Self> {
        let mut part = Self::default();
        let mut runs = Vec::new();
        for feature in features {
            runtime.check_interrupt()?;
            part.push(data, columns, feature as u32, places, &mut runs);
        }
        Ok(part)
    }

    /// Appends the taken entries of a column. `runs` is scratch.
    fn push(
        &mut self,
        data: &Dataset,
        columns: &SparseColumns,
        feature: u32,
        places: &RowPlaces,
        runs: &mut Vec<(u32, usize)>,
    ) {
        let start = self.samples.len();
        self.gather(columns, feature, places, runs);
        let has_missing = runs.pop_if(|&mut (rank, _)| data.missing_rank(feature) == Some(rank)).is_some();
        let has_zeros = self.samples.len() - start < places.order.len();
        // Keys have no table.
        let value = |rank: u32| V::from_wide(data.value(feature, rank));
        let is_categorical = data.is_categorical(feature);
        let mut values = &runs[..];
        let mut at = start;
        if is_categorical
            && !has_zeros
            && let [(_, end), rest @ ..] = values
        {
            // The first category of these rows has code 0, which is not stored.
            self.samples.drain(start..*end);
            (values, at) = (rest, *end);
        }
        let n_negative =
            if is_categorical { 0 } else { values.partition_point(|run| run.0 < columns.zero_rank(feature)) };
        let first_rank = u32::from(has_missing);
        let zero_rank = first_rank + n_negative as u32;
        self.table.extend(has_missing.then_some(V::NEG_INFINITY));
        for (place, &(rank, end)) in values.iter().enumerate() {
            if place == n_negative {
                self.table.push(V::ZERO);
            }
            self.table.push(if is_categorical { V::from_wide(place as f64 + 1.0) } else { value(rank) });
            let rank = first_rank + place as u32 + u32::from(place >= n_negative);
            self.ranks.resize(self.ranks.len() + end - at, rank);
            at = end;
        }
        if values.len() == n_negative {
            self.table.push(V::ZERO);
        }
        self.table.extend(has_missing.then_some(V::INFINITY));
        let n_ranks = self.table.len() - self.table_ends.last().unwrap_or(&0);
        self.ranks.resize(self.samples.len(), n_ranks as u32 - 1);
        self.ends.push(self.samples.len());
        self.table_ends.push(self.table.len());
        self.zero_ranks.push(zero_rank);
        self.has_missing.push(has_missing);
    }

    /// Appends the places of the taken rows of a column, by ascending rank. `runs` becomes the
    /// ranks and where their places end.
    fn gather(&mut self, columns: &SparseColumns, feature: u32, places: &RowPlaces, runs: &mut Vec<(u32, usize)>) {
        runs.clear();
        let column = columns.column(feature);
        let mut from = self.samples.len();
        for (at, &sample) in column.samples.iter().enumerate() {
            self.samples.extend_from_slice(places.of(sample));
            let (rank, end) = (column.ranks.at(at), self.samples.len());
            if end > from && (at + 1 == column.samples.len() || column.ranks.at(at + 1) != rank) {
                if !places.ascend {
                    self.samples[from..].sort_unstable();
                }
                runs.push((rank, end));
                from = end;
            }
        }
    }
}

fn join<V: TableValue>(
    parts: Vec<TakenPart<V>>,
    n_samples: usize,
    n_features: usize,
    runtime: &Runtime<'_>,
) -> Result<Dataset> {
    let nnz = parts.iter().map(|part| part.samples.len()).sum();
    let (mut samples, mut ranks) = (memory::reserve("columns", nnz)?, memory::reserve("ranks", nnz)?);
    let (mut indptr, mut table_indptr) = (vec![0], vec![0]);
    let (mut zero_ranks, mut table, mut has_missing) = (Vec::new(), Vec::new(), Vec::new());
    for part in parts {
        indptr.extend(part.ends.iter().map(|end| samples.len() + end));
        table_indptr.extend(part.table_ends.iter().map(|end| table.len() + end));
        samples.extend(part.samples);
        ranks.extend(part.ranks);
        zero_ranks.extend(part.zero_ranks);
        table.extend(part.table);
        has_missing.extend(part.has_missing);
    }
    let longest = table_indptr.windows(2).map(|range| range[1] - range[0]).max().unwrap_or(0);
    let half =
        Half { indptr: indptr.into(), samples: samples.into(), ranks: ranks.into(), zero_ranks: zero_ranks.into() };
    let columns = SparseColumns::with_rows(half, longest, n_samples, runtime)?;
    let values = ValueTable::new(table_indptr, V::floats(table), has_missing);
    Ok(Dataset::new(n_samples, n_features, Columns::Sparse(columns), values))
}
