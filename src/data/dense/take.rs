//! Some rows of dense columns as columns of their own.
//!
//! The ranks of these rows are copied, and numbered anew without those that no row has any more.
//! That takes a few passes over integers, where encoding hashes or sorts values.

use super::column::{Encoded, Encoder, encoded};
use super::distinct::{Cells, Distinct};
use super::encode::assemble;
use super::{DenseColumns, Ordinals, Ranks};
use crate::data::Dataset;
use crate::data::floats::TableValue;
use crate::data::values::MISSING_KEY;
use crate::error::Result;
use crate::memory;
use crate::num::SortKey;
use crate::runtime::Runtime;

/// The data set of these rows. All of its features are numeric so far; the values of categorical
/// ones are the codes of the categories that these rows have. O(cells).
pub(in crate::data) fn take(
    data: &Dataset,
    columns: &DenseColumns,
    rows: &[u32],
    runtime: &Runtime<'_>,
) -> Result<Dataset> {
    memory::check("the encoded columns of X", rows.len().saturating_mul(columns.columns.len()))?;
    let features = (0..data.n_features()).collect();
    let encoded = runtime.map(features, |feature| {
        runtime.check_interrupt()?;
        if data.values.is_keyed(feature)
            && let Ranks::U32(keys) = &columns.columns[feature].ranks
        {
            return take_keys(keys, rows, runtime);
        }
        match data.values.of::<f32>(feature) {
            Some(table) => take_column(data, feature, table, columns, rows),
            None => take_column(data, feature, data.values.of::<f64>(feature).unwrap_or_default(), columns, rows),
        }
    })?;
    Ok(assemble(rows.len(), encoded))
}

fn take_column<V: TableValue>(
    data: &Dataset,
    feature: usize,
    table: &[V],
    columns: &DenseColumns,
    rows: &[u32],
) -> Result<Encoded> {
    let feature = feature as u32;
    let missing = data.missing_rank(feature);
    let is_categorical = data.is_categorical(feature);
    match &columns.column(feature).ranks {
        Ranks::U8(ranks) => take_ranks(ranks, rows, table, missing, is_categorical),
        Ranks::U16(ranks) => take_ranks(ranks, rows, table, missing, is_categorical),
        Ranks::U32(ranks) => take_ranks(ranks, rows, table, missing, is_categorical),
    }
}

fn take_ranks<R: Copy + Default + Into<u32>, V: TableValue>(
    ranks: &[R],
    rows: &[u32],
    table: &[V],
    missing: Option<u32>,
    is_categorical: bool,
) -> Result<Encoded> {
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
    /// By rank among all rows, the place of the value among those of these rows.
    places: Vec<u32>,
    /// The rank of missing values among all rows.
    missing: Option<u32>,
}

impl<R: Copy + Into<u32>> Cells for Taken<'_, R> {
    fn ranks<N: Copy>(&self, first_rank: u32, missing_rank: u32, narrow: impl Fn(u32) -> N) -> Box<[N]> {
        let mut numbers: Vec<N> = self.places.iter().map(|&place| narrow(first_rank + place)).collect();
        if let Some(missing) = self.missing {
            numbers[missing as usize] = narrow(missing_rank);
        }
        self.ranks.iter().map(|&rank| numbers[rank.into() as usize]).collect()
    }
}

/// A column of keys: there is no table of its values.
fn take_keys(keys: &[u32], rows: &[u32], runtime: &Runtime<'_>) -> Result<Encoded> {
    let value = |key: u32| if key == MISSING_KEY { f32::NAN } else { f32::from_key(key) };
    let values: Vec<f32> = rows.iter().map(|&row| value(keys[row as usize])).collect();
    Encoder::new(Ordinals::Keys).encode(&values, runtime)
}
