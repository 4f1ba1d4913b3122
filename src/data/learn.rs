//! Categorical features whose categories are numbers. The table of a feature has each of them once,
//! so codes take their place there, and no cell is read again.

use std::sync::Arc;

use super::category::check_ordinals;
use super::encoding::Encoding;
use super::{Columns, Dataset};
use crate::error::{Error, Result};
use crate::runtime::Runtime;

/// Codes up to this are exact in single precision.
const MAX_CODES: usize = 1 << 24;

impl Dataset {
    /// Makes features categorical whose values are numbers so far: a value becomes a category, and
    /// its code is its place among the ascending values. Returns the data set, and by feature the
    /// values; none for the features that stay numbers. The ordinals must be
    /// [ranks](super::dense::Ordinals::Ranks).
    ///
    /// Returns nothing if a place would not be the code that the category has elsewhere: 0, where it
    /// occurs, has code 0, so no value may be below it. Nor does it for sparse columns, which hold
    /// a 0 that may not occur, or for more than 2^24 values of a feature.
    ///
    /// O(values, and cells of these features).
    pub fn learn_categories(
        mut self,
        is_categorical: &[bool],
        runtime: &Runtime<'_>,
    ) -> Result<Option<(Self, Vec<Vec<f64>>)>> {
        if is_categorical.len() != self.n_features() {
            return Err(Error::ShapeMismatch {
                what: "is_categorical",
                expected: format!("{} features", self.n_features()),
                got: format!("{}", is_categorical.len()),
            });
        }
        let read = |(feature, &is_categorical): (u32, &bool)| {
            if !is_categorical {
                return Ok(Vec::new());
            }
            check_ordinals(&self, feature)?;
            Ok(self.values.distinct(feature as usize))
        };
        let categories = (0..).zip(is_categorical).map(read).collect::<Result<Vec<_>>>()?;
        let is_dense = matches!(self.columns(), Columns::Dense(_));
        if !(is_dense && categories.iter().all(|values| are_in_order_of_codes(values))) {
            return Ok(None);
        }
        let features = (0..self.n_features()).filter(|&feature| is_categorical[feature]);
        Arc::make_mut(&mut self.values).put_codes(features);
        let n_categories: Vec<u32> = categories.iter().map(|values| values.len() as u32).collect();
        let encoding = Encoding { n_categories: Some(&n_categories), ..Encoding::default() };
        Ok(Some((self.coded(&encoding, runtime)?, categories)))
    }
}

/// Whether the code of each of these ascending values is its place.
fn are_in_order_of_codes(values: &[f64]) -> bool {
    let is_zero_first = values.first().is_none_or(|&least| least >= 0.0) || !values.contains(&0.0);
    is_zero_first && values.len() <= MAX_CODES
}
