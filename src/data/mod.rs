//! The data of a fit, encoded once and then immutable: [`Dataset`] (ranks and cut values) and
//! [`Target`].
//!
//! Every column becomes dense integer ranks and a table of the values behind them. Dtype, index
//! width, memory order and value range end here: the engine compares ranks and reads values only to
//! make a threshold.

mod buffer;
mod category;
pub(crate) mod contents;
pub mod decode;
pub mod dense;
mod element;
mod encoded;
mod encoding;
pub(crate) mod entry;
mod floats;
mod identity;
mod learn;
mod matrix;
mod ordered;
mod parts;
mod proportion;
pub mod query;
mod range;
pub(crate) mod ranking;
pub(crate) mod row_group;
pub mod rows;
pub mod sparse;
pub mod survival;
pub mod target;
pub mod values;
mod weights;

pub use buffer::Buffer;
pub use dense::DenseColumns;
pub use element::Element;
pub use encoded::EncodedMatrix;
pub use encoding::Encoding;
pub use entry::{Entry, Run};
pub use floats::{FloatSlice, Floats, Merge};
pub use matrix::Matrix;
pub(crate) use ordered::Places;
pub use parts::{DATASET_FORMAT, Part, join_heads};
pub use sparse::{Format, SparseColumns, SparseView};
pub use target::{Labels, Target};
pub use values::ValueTable;

use std::ops::Range;
use std::sync::Arc;

use ndarray::ArrayView2;

use crate::error::{Error, Result};
use crate::num::sort_by_key;
use crate::runtime::Runtime;
use category::Categories;
use sparse::SparseIndex;

/// Row ids are `u32`.
pub const MAX_SAMPLES: usize = u32::MAX as usize;
/// Feature ids are `u32`, and `i32` in the arrays of a tree.
pub const MAX_FEATURES: usize = i32::MAX as usize;

/// The columns of a data set, encoded. Immutable; shared by all trees, folds and threads. A clone shares the
/// memory.
#[derive(Debug, Clone)]
pub struct Dataset {
    n_samples: usize,
    n_features: usize,
    columns: Arc<Columns>,
    values: Arc<ValueTable>,
    categories: Arc<Categories>,
}

/// The columns of a data set, in one of two storages.
#[derive(Debug, PartialEq)]
pub enum Columns {
    /// One rank per cell: 1, 2 or 4 bytes.
    Dense(DenseColumns),
    /// One rank per nonzero, by column and by row: 2 or 4 bytes.
    Sparse(SparseColumns),
}

impl Dataset {
    pub(crate) fn new(n_samples: usize, n_features: usize, columns: Columns, values: ValueTable) -> Self {
        Self { n_samples, n_features, columns: Arc::new(columns), values: Arc::new(values), categories: Arc::default() }
    }

    /// Encodes a dense matrix of shape `(n_samples, n_features)`, of any strides. NaN is missing.
    #[allow(clippy::needless_pass_by_value, reason = "a view, passed as views are")]
    pub fn from_dense<T: Element>(x: ArrayView2<'_, T>, runtime: &Runtime<'_>) -> Result<Self> {
        x.encode(&Encoding::default(), runtime)
    }

    /// As [`from_dense`](Self::from_dense), with the ordinals that suit the trees to be grown: keys for
    /// random thresholds. Trees do not depend on it.
    #[allow(clippy::needless_pass_by_value, reason = "a view, passed as views are")]
    pub fn from_dense_with<T: Element>(
        x: ArrayView2<'_, T>,
        ordinals: dense::Ordinals,
        runtime: &Runtime<'_>,
    ) -> Result<Self> {
        x.encode(&Encoding { ordinals, n_categories: None }, runtime)
    }

    /// Encodes a compressed sparse matrix. Absent entries are 0.0; NaN is missing.
    pub fn from_sparse<T: Element, I: SparseIndex>(x: &SparseView<'_, T, I>, runtime: &Runtime<'_>) -> Result<Self> {
        x.encode(&Encoding::default(), runtime)
    }

    /// As [`from_sparse`](Self::from_sparse), with the ordinals that suit the trees to be grown.
    pub fn from_sparse_with<T: Element, I: SparseIndex>(
        x: &SparseView<'_, T, I>,
        ordinals: dense::Ordinals,
        runtime: &Runtime<'_>,
    ) -> Result<Self> {
        x.encode(&Encoding { ordinals, n_categories: None }, runtime)
    }

    /// Returns this data set with categorical features: features with more than 0 categories are
    /// categorical, and hold codes below that number, or missing values. Their ordinals must be
    /// [ranks](dense::Ordinals::Ranks). O(cells of such features).
    pub fn with_categories(self, n_categories: &[u32]) -> Result<Self> {
        let encoding = Encoding { n_categories: Some(n_categories), ..Encoding::default() };
        self.coded(&encoding, &Runtime::unstoppable())
    }

    /// Returns this data set with the categories that the encoding asks for.
    fn coded(mut self, encoding: &Encoding<'_>, runtime: &Runtime<'_>) -> Result<Self> {
        if let Some(n_categories) = encoding.n_categories {
            self.categories = Arc::new(Categories::of(&self, n_categories, runtime)?);
        }
        Ok(self)
    }

    /// Whether any feature is categorical.
    #[inline]
    pub fn has_categories(&self) -> bool {
        !self.categories.is_empty()
    }

    /// Whether all features are numbers, none of them missing.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        !self.has_missing() && !self.has_categories()
    }

    /// Whether a feature is categorical, and its categories have no places in an order (`ordered`):
    /// then the search takes it for a number.
    #[inline]
    pub fn is_categorical(&self, feature: u32) -> bool {
        self.identities(feature).is_some()
    }

    /// The categorical features that have more than `most` categories.
    pub(crate) fn features_with_more(&self, most: usize) -> impl Iterator<Item = u32> + '_ {
        let n_features = if self.has_categories() { self.n_features() as u32 } else { 0 };
        (0..n_features).filter(move |&feature| self.is_categorical(feature) && self.n_ranks(feature) > most)
    }

    /// Whether a feature is categorical for the finished tree.
    pub(crate) fn has_codes(&self, feature: u32) -> bool {
        self.n_categories().get(feature as usize).is_some_and(|&n| n > 0)
    }

    /// The number of categories of each feature, 0 of a numeric one; empty if all are numeric.
    pub fn n_categories(&self) -> &Arc<[u32]> {
        &self.categories.n_categories
    }

    /// By rank, the identity of each category of a categorical feature: a number that no other one has.
    #[inline]
    pub(crate) fn identities(&self, feature: u32) -> Option<&[u32]> {
        self.categories.identities(feature)
    }

    /// The ranks of a categorical feature that occur, in the order of the identities of their categories.
    pub(crate) fn ranks_by_identity(&self, feature: u32) -> Vec<u32> {
        let identities = self.identities(feature).unwrap_or_default();
        let occurs = |rank: &u32| identities[*rank as usize] != category::NOWHERE;
        let mut ranks: Vec<u32> = (0..identities.len() as u32).filter(occurs).collect();
        sort_by_key(&mut ranks, |rank| identities[rank as usize]);
        ranks
    }

    /// The number of distinct values of a feature, and of a sparse one 0 among them; 0 if ranks are
    /// keys.
    pub fn n_distinct(&self, feature: u32) -> usize {
        self.n_ranks(feature).saturating_sub(2 * usize::from(self.missing_rank(feature).is_some()))
    }

    /// Number of ranks of a feature, if they are not keys.
    pub(crate) fn n_ranks(&self, feature: u32) -> usize {
        self.values.n_ranks(feature as usize)
    }

    /// Some rows of a dense data set, in this order, as a data set of their own: near to each other in
    /// memory. Ranks and values stay as in the whole data set. Nothing for a sparse one. O(cells).
    pub(crate) fn subset(&self, samples: &[u32], runtime: &Runtime<'_>) -> Option<Self> {
        let Columns::Dense(columns) = self.columns() else { return None };
        let columns = Arc::new(Columns::Dense(columns.subset(samples, runtime)));
        Some(Self { n_samples: samples.len(), columns, ..self.clone() })
    }

    /// Makes the data set that encoding these rows of the matrix gives, in this order; rows may
    /// occur more than once. Categories that none of them has are left out, and the codes of the
    /// others numbered anew, in the same order. Columns of ranks stay such, and columns of keys
    /// become ranks where there are few values. O(cells of these rows), or O(nnz of all rows) if
    /// sparse.
    pub fn take(&self, rows: &[u32], runtime: &Runtime<'_>) -> Result<Self> {
        check_shape(rows.len(), self.n_features)?;
        self.check_rows(rows)?;
        let taken = match self.columns() {
            Columns::Dense(columns) => dense::take::take(self, columns, Some(rows), dense::Ordinals::Ranks, runtime)?,
            Columns::Sparse(columns) => sparse::take(self, columns, rows, runtime)?,
        };
        if !self.has_categories() {
            return Ok(taken);
        }
        let count = |feature| if self.is_categorical(feature) { taken.n_codes(feature) } else { 0 };
        let n_categories: Vec<u32> = (0..self.n_features as u32).map(count).collect();
        taken.coded(&Encoding { n_categories: Some(&n_categories), ..Encoding::default() }, runtime)
    }

    /// The number of values of a feature whose values are the codes of its categories: 0, 1 and so
    /// on. If the feature is missing in all rows, a sparse table has a zero that no row has.
    fn n_codes(&self, feature: u32) -> u32 {
        let is_all_missing =
            matches!(self.columns(), Columns::Sparse(columns) if columns.column_nnz(feature) == self.n_samples);
        if is_all_missing { 0 } else { self.n_distinct(feature) as u32 }
    }

    fn check_rows(&self, rows: &[u32]) -> Result<()> {
        let illegal = |row: u32| Error::InvalidArgument {
            name: "rows",
            got: format!("row {row}"),
            expected: format!("rows below {}", self.n_samples),
        };
        rows.iter().find(|&&row| row as usize >= self.n_samples).map_or(Ok(()), |&row| Err(illegal(row)))
    }

    /// Makes the data set of these rows, or of all, as [`take`](Self::take) does, and gives it
    /// [keys](dense::Ordinals::Keys) where encoding the matrix may. Features must be numeric, and sparse
    /// ones get no keys. O(cells).
    pub(crate) fn take_keys(&self, rows: Option<&[u32]>, runtime: &Runtime<'_>) -> Result<Self> {
        if let Columns::Dense(columns) = self.columns() {
            check_shape(rows.map_or(self.n_samples, <[u32]>::len), self.n_features)?;
            self.check_rows(rows.unwrap_or_default())?;
            return dense::take::take(self, columns, rows, dense::Ordinals::Keys, runtime);
        }
        rows.map_or_else(|| Ok(self.clone()), |rows| self.take(rows, runtime))
    }

    /// How many numbers [`identified`](Self::identified) does not share: one for each category.
    pub(crate) fn n_own_numbers(&self) -> usize {
        self.categories.len()
    }

    /// Number of rows; their numbers are below it.
    pub fn n_samples(&self) -> usize {
        self.n_samples
    }

    /// Number of columns, categorical ones included.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// The encoded columns, in the order of the features.
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// The value of a rank of a feature; infinite for a missing one.
    pub fn value(&self, feature: u32, rank: u32) -> f64 {
        self.values.value(feature as usize, rank as usize)
    }

    /// The rank of a feature in a row. O(1), or O(log(row length)) if sparse.
    pub(crate) fn rank(&self, feature: u32, sample: u32) -> u32 {
        match self.columns() {
            Columns::Dense(columns) => columns.column(feature).rank(sample),
            Columns::Sparse(columns) => {
                columns.stored_rank(feature, sample).unwrap_or_else(|| columns.zero_rank(feature))
            }
        }
    }

    /// Calls `visit` with each of some rows and its rank of a feature. Faster than a call of
    /// [`rank`](Self::rank) for each row.
    #[inline]
    pub(crate) fn visit_ranks(&self, feature: u32, rows: impl Iterator<Item = u32>, mut visit: impl FnMut(u32, u32)) {
        match self.columns() {
            Columns::Dense(columns) => columns.column(feature).visit_ranks(rows, visit),
            Columns::Sparse(_) => rows.for_each(|row| visit(row, self.rank(feature, row))),
        }
    }

    /// As [`visit_ranks`](Self::visit_ranks), for rows whose numbers in this data set are listed in
    /// `numbers`; `None` if each row is its own number.
    pub(crate) fn visit_ranks_of(
        &self,
        feature: u32,
        numbers: Option<&[u32]>,
        rows: impl Iterator<Item = u32>,
        mut visit: impl FnMut(usize, u32),
    ) {
        match numbers {
            None => self.visit_ranks(feature, rows, |row, rank| visit(row as usize, rank)),
            Some(numbers) => {
                rows.for_each(|row| visit(row as usize, self.rank(feature, numbers[row as usize])));
            }
        }
    }

    /// How many entries these rows store: cells of dense data, nonzeros of sparse data. O(rows).
    pub fn n_entries(&self, samples: &[u32]) -> usize {
        match self.columns() {
            Columns::Dense(_) => samples.len() * self.n_features(),
            Columns::Sparse(columns) => samples.iter().map(|&sample| columns.row_nnz(sample)).sum(),
        }
    }

    /// Entries that the column of a feature stores: cells, or nonzeros.
    pub(crate) fn column_entries(&self, feature: u32) -> usize {
        match self.columns() {
            Columns::Dense(_) => self.n_samples,
            Columns::Sparse(columns) => columns.column_nnz(feature),
        }
    }

    /// Whether any value is missing.
    #[inline]
    pub fn has_missing(&self) -> bool {
        self.values.has_missing()
    }

    /// The rank of missing values, if the feature has any: above all others. Then no value has rank
    /// 0. None if its categories have places in an order, where a missing value is one of them.
    #[inline]
    pub fn missing_rank(&self, feature: u32) -> Option<u32> {
        let rank = self.values.missing_rank(feature as usize)?;
        self.categories.ranks_by_place(feature).is_none().then_some(rank)
    }

    /// The first of these ranks of `feature` whose value is above `threshold`, or the one after
    /// them.
    pub(crate) fn rank_above(&self, feature: u32, threshold: f64, ranks: Range<u32>) -> u32 {
        let ranks = ranks.start as usize..ranks.end as usize;
        self.values.rank_above(feature as usize, threshold, ranks) as u32
    }

    /// A rank of `feature` and a threshold that divide some ranks and their values alike: ranks up to the
    /// returned rank have values up to the threshold. `extremes` are the lowest and the highest of the
    /// ranks. `threshold` chooses the threshold between the values of these two, and not below the lower
    /// one. O(ranks).
    #[inline]
    pub(crate) fn cut_between(
        &self,
        feature: u32,
        extremes: Range<u32>,
        ranks: &[u32],
        threshold: impl FnOnce(f64, f64) -> f64,
    ) -> (u32, f64) {
        self.values.cut_between(feature as usize, extremes, ranks, threshold)
    }

    /// Ranks of a feature that the first one above `threshold` is among, or is the one after: few,
    /// at the cost of one look-up.
    pub(crate) fn ranks_around(&self, feature: u32, threshold: f64) -> Range<u32> {
        let ranks = self.values.ranks_around(feature as usize, threshold);
        ranks.start as u32..ranks.end as u32
    }

    /// Bytes held: ranks, indices, value tables and what tells categories apart.
    pub fn n_bytes(&self) -> usize {
        let columns = match self.columns() {
            Columns::Dense(dense) => dense.n_bytes(),
            Columns::Sparse(sparse) => sparse.n_bytes(),
        };
        columns + self.values.n_bytes() + self.categories.n_bytes()
    }
}

fn check_shape(n_samples: usize, n_features: usize) -> Result<()> {
    for (what, got, limit) in
        [("the number of rows of X", n_samples, MAX_SAMPLES), ("the number of columns of X", n_features, MAX_FEATURES)]
    {
        if got == 0 {
            return Err(Error::ShapeMismatch {
                what: "X",
                expected: "at least one row and one column".into(),
                got: format!("shape ({n_samples}, {n_features})"),
            });
        }
        if got > limit {
            return Err(Error::TooLarge { what, limit: limit as u64, got: got as u64 });
        }
    }
    Ok(())
}
