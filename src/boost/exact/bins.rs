//! Bins of values that stay the same for all nodes of all rounds.

use std::ops::Range;

use crate::data::dense::{DenseColumn, Ranks};
use crate::data::{Columns, Dataset};
use crate::error::Result;
use crate::runtime::Runtime;

/// The most bins of a column, as their numbers are bytes.
pub const MAX_BINS: usize = 256;

/// The bins of all columns of a dense data set. A histogram has them column by column.
pub struct Bins {
    pub columns: Vec<BinnedColumn>,
    /// The number of bins of all columns together.
    pub n_in_all: usize,
    /// Columns that are counted together.
    pub bundles: Vec<Bundle>,
}

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

/// The bins of one column.
pub struct BinnedColumn {
    /// The place of its first bin in a histogram.
    pub first: usize,
    pub n_bins: usize,
    /// Nothing if each bin has one rank, which is then its number.
    pub coarse: Option<Coarse>,
    /// Whether it is in a bundle.
    pub is_bundled: bool,
}

/// The bins of a column with more ranks than bins: about equally many rows each.
pub struct Coarse {
    /// By row.
    bins: Vec<u8>,
    /// The first rank of each bin, then the number of ranks.
    pub first_ranks: Vec<u32>,
    /// The rows by value, their ranks, and where the rows of each bin begin, then the number of rows.
    pub rows: Vec<u32>,
    pub ranks: Vec<u32>,
    pub first_rows: Vec<u32>,
}

impl Bins {
    /// The bins of a data set; nothing if it is sparse, or has missing values or categories. O(cells).
    pub fn of(data: &Dataset, runtime: &Runtime<'_>) -> Result<Option<Self>> {
        let Columns::Dense(columns) = data.columns() else { return Ok(None) };
        let n_features = data.n_features() as u32;
        if !data.is_plain() || (0..n_features).any(|feature| columns.column(feature).n_ranks == u32::MAX) {
            return Ok(None);
        }
        let bin = |feature: u32| Ok(BinnedColumn::of(columns.column(feature), data.n_samples()));
        let mut columns = runtime.map((0..n_features).collect(), bin)?;
        let mut n_bins = 0;
        for column in &mut columns {
            column.first = n_bins;
            n_bins += column.n_bins;
        }
        let mut bins = Self { columns, n_in_all: n_bins, bundles: Vec::new() };
        bins.bundle(data, runtime)?;
        Ok(Some(bins))
    }

    /// Finds the bundles. O(cells of columns of two bins).
    fn bundle(&mut self, data: &Dataset, runtime: &Runtime<'_>) -> Result<()> {
        let Columns::Dense(columns) = data.columns() else { return Ok(()) };
        let n_samples = data.n_samples();
        // With the number of rows in rare bins.
        let mut bundles: Vec<(Bundle, usize)> = Vec::new();
        for feature in (0..data.n_features() as u32).filter(|&feature| self.columns[feature as usize].n_bins == 2) {
            runtime.check_interrupt()?;
            let bins = self.columns[feature as usize].of_rows(columns.column(feature));
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
            bundle.features.push((feature, rare));
            *n_taken += n_rare;
            let place = bundle.features.len() as u8;
            for (taken, _) in bundle.places.iter_mut().zip(bins).filter(|&(_, &bin)| usize::from(bin) == rare) {
                *taken = place;
            }
        }
        self.bundles =
            bundles.into_iter().map(|(bundle, _)| bundle).filter(|bundle| bundle.features.len() > 1).collect();
        for &(feature, _) in self.bundles.iter().flat_map(|bundle| &bundle.features) {
            self.columns[feature as usize].is_bundled = true;
        }
        Ok(())
    }
}

impl Bins {
    /// The features in `n` parts, some of them perhaps empty, of about equally many bins.
    pub fn parts(&self, n: usize) -> Vec<Range<usize>> {
        let place = |part: usize| self.columns.partition_point(|column| column.first < part * self.n_in_all / n);
        (0..n).map(|part| place(part)..if part + 1 == n { self.columns.len() } else { place(part + 1) }).collect()
    }
}

impl BinnedColumn {
    fn of(column: &DenseColumn, n_samples: usize) -> Self {
        let n_ranks = column.n_ranks as usize;
        if matches!(column.ranks, Ranks::U8(_)) {
            return Self { first: 0, n_bins: n_ranks, coarse: None, is_bundled: false };
        }
        // Where the rows of each rank begin among the rows by value.
        let mut starts = vec![0u32; n_ranks + 1];
        column.visit_ranks(0..n_samples as u32, |_, rank| starts[rank as usize + 1] += 1);
        for rank in 0..n_ranks {
            starts[rank + 1] += starts[rank];
        }
        let share = |rank: usize| starts[rank] as usize * MAX_BINS / n_samples;
        let (mut first_ranks, mut of_rank) = (vec![0], vec![0u8; n_ranks]);
        for (rank, bin) in of_rank.iter_mut().enumerate().skip(1) {
            if share(rank) > share(first_ranks[first_ranks.len() - 1] as usize) {
                first_ranks.push(rank as u32);
            }
            *bin = (first_ranks.len() - 1) as u8;
        }
        let n_bins = first_ranks.len();
        let first_rows = first_ranks.iter().map(|&rank| starts[rank as usize]).chain([n_samples as u32]).collect();
        first_ranks.push(n_ranks as u32);
        let (mut bins, mut rows, mut ranks) = (vec![0; n_samples], vec![0; n_samples], vec![0; n_samples]);
        column.visit_ranks(0..n_samples as u32, |row, rank| {
            bins[row as usize] = of_rank[rank as usize];
            let place = &mut starts[rank as usize];
            (rows[*place as usize], ranks[*place as usize]) = (row, rank);
            *place += 1;
        });
        let coarse = Some(Coarse { bins, first_ranks, rows, ranks, first_rows });
        Self { first: 0, n_bins, coarse, is_bundled: false }
    }

    /// The bin of each row. `column` is the column that the bins are of.
    pub fn of_rows<'a>(&'a self, column: &'a DenseColumn) -> &'a [u8] {
        match (&self.coarse, &column.ranks) {
            (Some(coarse), _) => &coarse.bins,
            (None, Ranks::U8(ranks)) => ranks,
            // Columns of wider ranks have coarse bins.
            (None, _) => &[],
        }
    }

    /// The last rank of a bin.
    pub fn last_rank(&self, bin: usize) -> u32 {
        self.coarse.as_ref().map_or(bin as u32, |coarse| coarse.first_ranks[bin + 1] - 1)
    }
}
