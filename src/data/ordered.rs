//! Categories as numbers: the categories of a feature get places in an order, and from then on the
//! search takes the places for ranks of numbers.
//!
//! Each tree may have an order of its own, so only the columns of such features are made anew. A
//! sparse data set is made anew as a whole, but for what all trees share besides columns.

use std::sync::Arc;

use super::category::Categories;
use super::{Columns, Dataset};
use crate::error::Result;
use crate::runtime::Runtime;

/// The order of the categories of a feature. A missing value is one more category.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    /// The number of the categorical feature.
    pub feature: u32,
    /// The place of each rank, each below the number of ranks and given once; `None` if the
    /// categories are not told apart, so that the column does not vary.
    pub of_ranks: Option<Box<[u32]>>,
}

impl Dataset {
    /// Returns this data set with the places of categories as the ranks of these categorical
    /// features, which ascend. For the search they are then numbers without missing values, and
    /// for the finished tree they are categories. O(cells of these columns), or O(nnz) if sparse.
    pub(crate) fn with_places(&self, places: &[Places], runtime: &Runtime<'_>) -> Result<Self> {
        let columns = match self.columns() {
            Columns::Dense(columns) => Columns::Dense(columns.with_places(places)),
            Columns::Sparse(columns) => Columns::Sparse(columns.with_places(places, runtime)?),
        };
        let categories = Arc::new(self.categories.with_places(places, |feature| self.n_ranks(feature)));
        Ok(Self { columns: Arc::new(columns), categories, ..self.clone() })
    }

    /// A function that tells the code of the category of a rank, or of a place where categories have places;
    /// `None` for missing values. A numeric feature has no such function.
    pub(crate) fn codes(&self, feature: u32) -> Option<impl Fn(u32) -> Option<u32>> {
        let by_place = self.categories.ranks_by_place(feature);
        let missing = self.values.missing_rank(feature as usize);
        self.has_codes(feature).then_some(move |rank: u32| {
            let rank = by_place.map_or(rank, |ranks| ranks[rank as usize]);
            (Some(rank) != missing).then(|| self.value(feature, rank) as u32)
        })
    }
}

impl Categories {
    /// These categories, with places for the categories of some features. `n_ranks` is the number of ranks of
    /// a feature.
    fn with_places(&self, places: &[Places], n_ranks: impl Fn(u32) -> usize) -> Self {
        let mut identities = self.identities.clone();
        let mut by_place = vec![None; identities.len()];
        for Places { feature, of_ranks } in places {
            identities[*feature as usize] = None;
            let mut ranks = vec![0; n_ranks(*feature)];
            for (rank, &place) in (0..).zip(of_ranks.iter().flatten()) {
                ranks[place as usize] = rank;
            }
            by_place[*feature as usize] = Some(ranks.into());
        }
        Self { n_categories: Arc::clone(&self.n_categories), identities, by_place: by_place.into() }
    }

    /// The rank of each place of a feature whose categories have places.
    #[inline]
    pub(super) fn ranks_by_place(&self, feature: u32) -> Option<&[u32]> {
        self.by_place.get(feature as usize)?.as_deref()
    }
}
