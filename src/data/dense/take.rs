//! Some rows of dense columns as columns of their own, with ranks or with sort keys.
//!
//! Ranks of these rows are copied, and numbered anew without the ranks that no row has any more. That takes a
//! few passes over integers, where encoding hashes or sorts values. Keys are made of the values, which are
//! looked up.

use super::column::{EncodedColumn, Encoder, encoded};
use super::dictionary::most_codes;
use super::distinct::{Distinct, DistinctCells};
use super::encode::assemble;
use super::{DenseColumns, Ordinals, Ranks};
use crate::data::Dataset;
use crate::data::floats::TableValue;
use crate::data::values::MISSING_KEY;
use crate::error::Result;
use crate::memory;
use crate::num::SortKey;
use crate::runtime::Runtime;

/// The data set of these rows, or of all. All of its features are numeric so far; the values of categorical
/// features are the codes of the categories that these rows have. [`Ordinals::Keys`] gives keys to numeric
/// columns of many values, if all values of the column are `f32`. Columns that need not change are shared.
/// O(cells).
pub(in crate::data) fn take(
    data: &Dataset,
    columns: &DenseColumns,
    rows: Option<&[u32]>,
    ordinals: Ordinals,
    runtime: &Runtime<'_>,
) -> Result<Dataset> {
    let n_rows = rows.map_or(data.n_samples(), <[u32]>::len);
    memory::check("the encoded columns of X", n_rows.saturating_mul(columns.columns.len()))?;
    let wanted = WantedRows { data, columns, rows, ordinals, runtime };
    let encoded = runtime.map((0..data.n_features()).collect(), |feature| {
        runtime.check_interrupt()?;
        match &columns.columns[feature].ranks {
            Ranks::U8(ranks) => wanted.column(feature, ranks),
            Ranks::U16(ranks) => wanted.column(feature, ranks),
            Ranks::U32(ranks) => wanted.column(feature, ranks),
        }
    })?;
    Ok(assemble(n_rows, encoded))
}

/// A request for some rows of a data set.
struct WantedRows<'a> {
    data: &'a Dataset,
    columns: &'a DenseColumns,
    /// The rows in their new order; nothing for all.
    rows: Option<&'a [u32]>,
    ordinals: Ordinals,
    runtime: &'a Runtime<'a>,
}

impl WantedRows<'_> {
    fn column<R: Copy + Default + Into<u32>>(&self, feature: usize, ranks: &[R]) -> Result<EncodedColumn> {
        let values = &self.data.values;
        if values.is_keyed(feature) {
            let value = |key: u32| if key == MISSING_KEY { f32::NAN } else { f32::from_key(key) };
            return match self.rows {
                Some(_) => self.encode_keys(ranks, value),
                None => Ok(self.shared::<f32>(feature, &[])),
            };
        }
        match values.of::<f32>(feature) {
            Some(table) => self.ranked(feature, ranks, table),
            None => self.ranked(feature, ranks, values.of::<f64>(feature).unwrap_or_default()),
        }
    }

    /// A column that has ranks so far.
    fn ranked<R: Copy + Default + Into<u32>, V: TableValue>(
        &self,
        feature: usize,
        ranks: &[R],
        table: &[V],
    ) -> Result<EncodedColumn> {
        let missing = self.data.missing_rank(feature as u32);
        let is_categorical = self.data.is_categorical(feature as u32);
        let n_distinct = table.len() - 2 * usize::from(missing.is_some() && !table.is_empty());
        let n_rows = self.rows.map_or(ranks.len(), <[u32]>::len);
        if self.ordinals == Ordinals::Keys
            && !is_categorical
            && n_distinct > most_codes(n_rows)
            && table.iter().all(|&value| value.narrow().is_some())
        {
            return self.encode_keys(ranks, |rank| match missing {
                Some(missing) if missing == rank => V::from_wide(f64::NAN),
                _ => table[rank as usize],
            });
        }
        match self.rows {
            Some(rows) => take_ranks(ranks, rows, table, missing, is_categorical),
            None => Ok(self.shared(feature, table)),
        }
    }

    /// Encodes the values of the rows with keys.
    fn encode_keys<R: Copy + Into<u32>, V: TableValue>(
        &self,
        ranks: &[R],
        value: impl Fn(u32) -> V,
    ) -> Result<EncodedColumn> {
        let n_rows = self.rows.map_or(ranks.len(), <[u32]>::len);
        let mut values = memory::reserve("columns of X", n_rows)?;
        match self.rows {
            Some(rows) => values.extend(rows.iter().map(|&row| value(ranks[row as usize].into()))),
            None => values.extend(ranks.iter().map(|&rank| value(rank.into()))),
        }
        Encoder::new(Ordinals::Keys).encode(&values, self.runtime)
    }

    /// A column as it is.
    fn shared<V: TableValue>(&self, feature: usize, table: &[V]) -> EncodedColumn {
        let has_missing = self.data.missing_rank(feature as u32).is_some();
        EncodedColumn { column: self.columns.columns[feature].clone(), table: V::floats(table.to_vec()), has_missing }
    }
}

fn take_ranks<R: Copy + Default + Into<u32>, V: TableValue>(
    ranks: &[R],
    rows: &[u32],
    table: &[V],
    missing: Option<u32>,
    is_categorical: bool,
) -> Result<EncodedColumn> {
    let mut taken = memory::filled("ranks", R::default(), rows.len())?;
    super::gather::<R, R>(ranks, rows, &mut taken);
    let mut counts = memory::zeros::<u32>("ranks", table.len())?;
    for &rank in &taken {
        counts[rank.into() as usize] += 1;
    }
    let n_missing = missing.map_or(0, |missing| std::mem::take(&mut counts[missing as usize]));
    let mut distinct = Distinct { values: Vec::new(), counts: Vec::new(), n_missing: n_missing as usize };
    let mut places = memory::zeros("ranks", table.len())?;
    for (rank, &count) in counts.iter().enumerate().filter(|&(_, &count)| count > 0) {
        let place = distinct.values.len();
        places[rank] = place as u32;
        distinct.values.push(if is_categorical { V::from_wide(place as f64) } else { table[rank] });
        distinct.counts.push(count);
    }
    Ok(encoded(distinct, &Taken { ranks: &taken, places, missing }))
}

/// The cells of some rows, with the ranks that they had among all rows.
struct Taken<'a, R> {
    ranks: &'a [R],
    /// By rank among all rows, the place of the value among the values of these rows.
    places: Vec<u32>,
    /// The rank of missing values among all rows.
    missing: Option<u32>,
}

impl<R: Copy + Into<u32>> DistinctCells for Taken<'_, R> {
    fn ranks<N: Copy>(&self, first_rank: u32, missing_rank: u32, narrow: impl Fn(u32) -> N) -> Box<[N]> {
        let mut numbers: Vec<N> = self.places.iter().map(|&place| narrow(first_rank + place)).collect();
        if let Some(missing) = self.missing {
            numbers[missing as usize] = narrow(missing_rank);
        }
        self.ranks.iter().map(|&rank| numbers[rank.into() as usize]).collect()
    }
}
