//! Which features are categorical, and what tells their categories apart.
//!
//! A categorical column holds codes, integers from 0 on. They are ranked as numbers are, but neither their order nor their
//! values mean anything: where categories have to be told apart for no other reason, the row counts in which each occurs first.

use std::sync::Arc;

use super::{Columns, Dataset, SparseColumns};
use crate::data::sparse::Rank;
use crate::error::{Error, Result};

/// By feature and rank, the first row of a category; nothing for features that are numbers, and no features at all if
/// none is categorical.
#[derive(Debug, Default)]
pub(super) struct Categories {
    /// By feature, 0 of a number.
    pub n_categories: Arc<[u32]>,
    first_rows: Box<[Option<Box<[u32]>>]>,
}

impl Categories {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first_rows.is_empty()
    }

    #[inline]
    pub fn first_rows(&self, feature: u32) -> Option<&[u32]> {
        self.first_rows.get(feature as usize)?.as_deref()
    }

    pub fn n_bytes(&self) -> usize {
        let first_rows = self.first_rows.iter().flatten().map(|rows| size_of_val(&rows[..])).sum::<usize>();
        first_rows + size_of_val(&self.first_rows[..]) + size_of_val(&self.n_categories[..])
    }

    /// Those of a data set; `n_categories[f]` says how many codes feature `f` has, 0 that it is numeric. O(cells of
    /// categorical columns).
    pub fn of(data: &Dataset, n_categories: &[u32]) -> Result<Self> {
        if n_categories.len() != data.n_features() {
            return Err(Error::ShapeMismatch {
                what: "n_categories",
                expected: format!("{} features", data.n_features()),
                got: format!("{}", n_categories.len()),
            });
        }
        if n_categories.iter().all(|&n| n == 0) {
            return Ok(Self::default());
        }
        let of_feature = |(feature, &n): (u32, &u32)| {
            (n > 0).then(|| {
                check_codes(data, feature, n)?;
                Ok(first_rows(data, feature))
            })
        };
        let first_rows = (0..).zip(n_categories).map(|pair| of_feature(pair).transpose());
        Ok(Self { n_categories: n_categories.into(), first_rows: first_rows.collect::<Result<_>>()? })
    }
}

fn check_codes(data: &Dataset, feature: u32, n_categories: u32) -> Result<()> {
    if data.values.is_keyed(feature as usize) {
        return Err(Error::InvalidArgument {
            name: "ordinals",
            got: format!("keys, which stand for the values of the categorical feature {feature}"),
            expected: "ranks where features are categorical".into(),
        });
    }
    let values = data.n_ranks(feature) as u32;
    let missing = data.missing_rank(feature);
    // Where there are missing values, the first and the last rank are none of a code.
    let codes = if missing.is_some() { 1..values - 1 } else { 0..values };
    for code in codes.map(|rank| data.value(feature, rank)) {
        // What a sparse column does not store may not occur.
        let is_code = code.fract() == 0.0 && (0.0..f64::from(n_categories)).contains(&code);
        if !is_code {
            return Err(Error::InvalidArgument {
                name: "X",
                got: format!("{code} in the categorical feature {feature}"),
                expected: format!("codes from 0 to {}", n_categories - 1),
            });
        }
    }
    Ok(())
}

fn first_rows(data: &Dataset, feature: u32) -> Box<[u32]> {
    fn sparse<R: Rank>(columns: &SparseColumns<R>, feature: u32, mut see: impl FnMut(u32, u32)) {
        let column = columns.column(feature);
        for (&sample, rank) in column.samples.iter().zip(column.ranks) {
            see(rank.widen(), sample);
        }
        let mut stored = column.samples.to_vec();
        stored.sort_unstable();
        // The first row that stores nothing.
        let first =
            (0..).zip(&stored).find(|&(row, &sample)| row != sample).map_or(stored.len() as u32, |(row, _)| row);
        see(column.zero_rank, first);
    }
    let mut first_rows = vec![u32::MAX; data.n_ranks(feature)];
    let mut see = |rank: u32, sample: u32| {
        let first = &mut first_rows[rank as usize];
        *first = sample.min(*first);
    };
    match data.columns() {
        Columns::Dense(columns) => {
            let column = columns.column(feature);
            (0..data.n_samples() as u32).for_each(|sample| see(column.rank(sample), sample));
        }
        Columns::SparseU16(columns) => sparse(columns, feature, see),
        Columns::SparseU32(columns) => sparse(columns, feature, see),
    }
    first_rows.into()
}
