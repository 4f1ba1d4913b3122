//! Columns that are counted together because no row has a rare value in two of them.

use super::bins::{BinnedColumn, MAX_BINS};
use crate::data::DenseColumns;
use crate::error::Result;
use crate::runtime::Runtime;

/// Columns of two bins, of which one is rare in each, and no row is in two rare bins: columns of one-hot
/// codes, above all. They are counted in the time of one column.
pub struct Bundle {
    /// The features, at most 255, each with its rare bin.
    pub features: Vec<(u32, usize)>,
    /// By row, the place of the feature whose rare bin it is in, counted from 1; 0 for none.
    pub places: Vec<u8>,
}

/// A column that fits into none of this many bundles begins a new one (`benches/peers/boosting.py`).
const BUNDLES_TRIED: usize = 4;

/// Finds the bundles of dense columns. O(cells of columns of two bins).
pub fn find(
    binned: &[BinnedColumn],
    columns: &DenseColumns,
    n_samples: usize,
    runtime: &Runtime<'_>,
) -> Result<Vec<Bundle>> {
    // With the number of rows in rare bins.
    let mut bundles: Vec<(Bundle, usize)> = Vec::new();
    for (feature, column) in binned.iter().enumerate().filter(|(_, column)| column.n_bins == 2) {
        runtime.check_interrupt()?;
        let bins = column.of_rows(columns.column(feature as u32));
        let n_ones = bins.iter().map(|&bin| usize::from(bin)).sum::<usize>();
        let rare = usize::from(2 * n_ones <= n_samples);
        let n_rare = if rare == 1 { n_ones } else { n_samples - n_ones };
        let fits = |(bundle, n_taken): &&mut (Bundle, usize)| {
            bundle.features.len() < MAX_BINS - 1
                && *n_taken + n_rare <= n_samples
                && bins.iter().zip(&bundle.places).all(|(&bin, &place)| usize::from(bin) != rare || place == 0)
        };
        let found = bundles.iter_mut().rev().take(BUNDLES_TRIED).find(fits);
        let (bundle, n_taken) = if let Some(found) = found {
            found
        } else {
            bundles.push((Bundle { features: Vec::new(), places: vec![0; n_samples] }, 0));
            let last = bundles.len() - 1;
            &mut bundles[last]
        };
        bundle.features.push((feature as u32, rare));
        *n_taken += n_rare;
        let place = bundle.features.len() as u8;
        for (taken, _) in bundle.places.iter_mut().zip(bins).filter(|&(_, &bin)| usize::from(bin) == rare) {
            *taken = place;
        }
    }
    Ok(bundles.into_iter().map(|(bundle, _)| bundle).filter(|bundle| bundle.features.len() > 1).collect())
}
