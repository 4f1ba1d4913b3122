//! Dense columns with sort keys in the place of ranks, for random thresholds.

use super::column::{Encoded, Encoder};
use super::dictionary::most_codes;
use super::encode::assemble;
use super::{DenseColumns, Ordinals, Ranks};
use crate::data::Dataset;
use crate::data::floats::TableValue;
use crate::error::Result;
use crate::runtime::Runtime;

/// Returns the data set that the same matrix gives where it is encoded with
/// [keys](Ordinals::Keys). Columns of few values are shared, all others are made anew. O(cells).
pub(in crate::data) fn with_keys(data: &Dataset, columns: &DenseColumns, runtime: &Runtime<'_>) -> Result<Dataset> {
    let features = (0..data.n_features() as u32).collect();
    let encoded = runtime.map(features, |feature| match data.values.of::<f32>(feature as usize) {
        Some(table) => key_column(data, columns, feature, table, runtime),
        None => {
            key_column(data, columns, feature, data.values.of::<f64>(feature as usize).unwrap_or_default(), runtime)
        }
    })?;
    Ok(assemble(data.n_samples(), encoded))
}

fn key_column<V: TableValue>(
    data: &Dataset,
    columns: &DenseColumns,
    feature: u32,
    table: &[V],
    runtime: &Runtime<'_>,
) -> Result<Encoded> {
    runtime.check_interrupt()?;
    let missing = data.missing_rank(feature);
    let n_distinct = table.len() - 2 * usize::from(missing.is_some() && !table.is_empty());
    let column = columns.column(feature);
    if n_distinct <= most_codes(data.n_samples()) || table.iter().any(|&value| value.narrow().is_none()) {
        let (column, table) = (column.clone(), V::floats(table.to_vec()));
        return Ok(Encoded { column, table, has_missing: missing.is_some() });
    }
    let value = |rank: u32| if missing == Some(rank) { V::from_wide(f64::NAN) } else { table[rank as usize] };
    let values: Vec<V> = match &column.ranks {
        Ranks::U8(ranks) => ranks.iter().map(|&rank| value(rank.into())).collect(),
        Ranks::U16(ranks) => ranks.iter().map(|&rank| value(rank.into())).collect(),
        Ranks::U32(ranks) => ranks.iter().map(|&rank| value(rank)).collect(),
    };
    Encoder::new(Ordinals::Keys).encode(&values, runtime)
}
