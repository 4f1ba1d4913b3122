//! Which features are categorical, and what tells their categories apart.
//!
//! A categorical column holds codes, integers from 0 on. They are ranked as numbers are, but
//! neither their order nor their values mean anything. Where categories have to be told apart for no
//! other reason, as in ties, each has an identity: the number of the row in which it first occurs, or,
//! once there is a target, a number that follows from what its rows hold (`identity`).

use std::sync::Arc;

use super::{Columns, Dataset};
use crate::error::{Error, Result};
use crate::runtime::Runtime;

/// The identity of a category that does not occur.
pub(super) const NOWHERE: u32 = u32::MAX;
/// Rows that are looked at before it is asked whether all categories have occurred.
const BLOCK: usize = 1024;

/// By feature and rank, the identity of a category; nothing for features that are numbers, and no
/// features at all if none is categorical.
#[derive(Debug, Default)]
#[allow(clippy::struct_field_names, reason = "a number of categories")]
pub(super) struct Categories {
    /// For each feature, the number of its categories; 0 for a numeric feature.
    pub n_categories: Arc<[u32]>,
    pub(super) identities: Box<[Option<Arc<[u32]>>]>,
    /// For each feature whose categories have places in an order, the rank of each place; empty if
    /// there is no such feature.
    pub(super) by_place: Box<[Option<Arc<[u32]>>]>,
}

impl Categories {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.identities.is_empty()
    }

    #[inline]
    pub fn identities(&self, feature: u32) -> Option<&[u32]> {
        self.identities.get(feature as usize)?.as_deref()
    }

    pub fn n_bytes(&self) -> usize {
        let identities = self.identities.iter().flatten().map(|rows| size_of_val(&rows[..])).sum::<usize>();
        identities + size_of_val(&self.identities[..]) + size_of_val(&self.n_categories[..])
    }

    /// Makes the categories of a data set; `n_categories[f]` is the number of codes of feature `f`,
    /// or 0 if the feature is numeric. O(cells of categorical columns).
    pub fn of(data: &Dataset, n_categories: &[u32], runtime: &Runtime<'_>) -> Result<Self> {
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
                runtime.check_interrupt()?;
                check_codes(data, feature, n)?;
                Ok(first_rows(data, feature))
            })
        };
        let identities = (0..).zip(n_categories).map(|pair| of_feature(pair).transpose());
        Ok(Self {
            n_categories: n_categories.into(),
            identities: identities.collect::<Result<_>>()?,
            by_place: Box::default(),
        })
    }

    /// Number of categories, of all features, that occur or might.
    pub fn len(&self) -> usize {
        self.identities.iter().flatten().map(|first| first.len()).sum()
    }
}

/// Fails if the values of a feature have no ranks.
pub(super) fn check_ordinals(data: &Dataset, feature: u32) -> Result<()> {
    if !data.values.is_keyed(feature as usize) {
        return Ok(());
    }
    Err(Error::InvalidArgument {
        name: "ordinals",
        got: format!("keys, which stand for the values of the categorical feature {feature}"),
        expected: "ranks where features are categorical".into(),
    })
}

fn check_codes(data: &Dataset, feature: u32, n_categories: u32) -> Result<()> {
    check_ordinals(data, feature)?;
    let values = data.n_ranks(feature) as u32;
    let missing = data.missing_rank(feature);
    // Where there are missing values, the first and the last rank are none of a code.
    let codes = if missing.is_some() { 1..values - 1 } else { 0..values };
    for code in codes.map(|rank| data.value(feature, rank)) {
        // The value that a sparse column does not store may not occur.
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

/// For each rank of a feature, the first row that has the rank.
fn first_rows(data: &Dataset, feature: u32) -> Arc<[u32]> {
    let mut first_rows = vec![NOWHERE; data.n_ranks(feature)];
    match data.columns() {
        Columns::Dense(columns) => {
            // Where there are missing values, no value has rank 0.
            let n_ranks = first_rows.len() - usize::from(data.missing_rank(feature).is_some());
            let (column, mut rows) = (columns.column(feature), 0..data.n_samples() as u32);
            let mut n_seen = 0;
            while n_seen < n_ranks && !rows.is_empty() {
                column.visit_ranks(rows.by_ref().take(BLOCK), |row, rank| {
                    let first = &mut first_rows[rank as usize];
                    n_seen += usize::from(*first == NOWHERE);
                    *first = row.min(*first);
                });
            }
        }
        Columns::Sparse(columns) => {
            let column = columns.column(feature);
            let mut see = |rank: u32, sample: u32| {
                let first = &mut first_rows[rank as usize];
                *first = sample.min(*first);
            };
            for (at, &sample) in column.samples.iter().enumerate() {
                see(column.ranks.at(at), sample);
            }
            let mut stored = column.samples.to_vec();
            stored.sort_unstable();
            let is_stored = |&(row, &sample): &(u32, &u32)| row == sample;
            let first_absent = (0..).zip(&stored).take_while(is_stored).count() as u32;
            see(column.zero_rank, first_absent);
        }
    }
    first_rows.into()
}
