//! Row access for prediction: one traversal reads dense and sparse rows through [`Rows`].

use ndarray::ArrayView2;

use super::element::Element;
use super::query::{Query, SparseQuery};
use super::sparse::{Format, SparseIndex, SparseView};
use crate::error::{Error, Result};
use crate::num::SortKey;

/// A matrix whose rows can be read one at a time.
pub trait Rows: Sync {
    /// Reads one row at a time; it may keep scratch.
    type Reader<'a>: RowReader
    where
        Self: 'a;
    /// `(n_samples, n_features)`.
    fn shape(&self) -> (usize, usize);
    /// A reader, one per thread.
    fn reader(&self) -> Self::Reader<'_>;
    /// The rows as they are asked node by node.
    fn query(&self) -> Box<dyn Query + '_>;
}

/// A cursor over rows.
pub trait RowReader {
    /// Moves to a row.
    fn load(&mut self, sample: usize);
    /// The value of a feature in the loaded row.
    fn value(&self, feature: u32) -> f64;
}

impl<T: Element> Rows for ArrayView2<'_, T> {
    type Reader<'a>
        = DenseReader<'a, T>
    where
        Self: 'a;

    fn shape(&self) -> (usize, usize) {
        self.dim()
    }

    fn reader(&self) -> DenseReader<'_, T> {
        DenseReader { x: self.view(), sample: 0 }
    }

    fn query(&self) -> Box<dyn Query + '_> {
        Box::new(self.view())
    }
}

/// Reads dense rows in place.
pub struct DenseReader<'a, T> {
    x: ArrayView2<'a, T>,
    sample: usize,
}

impl<T: Element> RowReader for DenseReader<'_, T> {
    #[inline]
    fn load(&mut self, sample: usize) {
        self.sample = sample;
    }

    #[inline]
    fn value(&self, feature: u32) -> f64 {
        self.x[[self.sample, feature as usize]].value().widen()
    }
}

/// A CSR matrix as rows.
pub struct SparseRows<'a, T, I>(SparseView<'a, T, I>);

impl<'a, T: Element, I: SparseIndex> SparseRows<'a, T, I> {
    /// Only CSR has rows.
    pub fn new(x: SparseView<'a, T, I>) -> Result<Self> {
        match x.format() {
            Format::Csr => Ok(Self(x)),
            Format::Csc => Err(Error::InvalidArgument {
                name: "X",
                got: "CSC".into(),
                expected: "in CSR format for prediction".into(),
            }),
        }
    }
}

impl<T: Element, I: SparseIndex> Rows for SparseRows<'_, T, I> {
    type Reader<'a>
        = SparseReader<'a, T, I>
    where
        Self: 'a;

    fn shape(&self) -> (usize, usize) {
        self.0.shape()
    }

    fn reader(&self) -> SparseReader<'_, T, I> {
        let n_features = self.0.shape().1;
        SparseReader { x: &self.0, stamp: 0, stamps: vec![0; n_features], cells: vec![T::Value::ZERO; n_features] }
    }

    fn query(&self) -> Box<dyn Query + '_> {
        Box::new(SparseQuery::new(&self.0))
    }
}

/// Scatters a sparse row over all features; stamps tell this row's cells from leftovers, so nothing is cleared.
pub struct SparseReader<'a, T: Element, I> {
    x: &'a SparseView<'a, T, I>,
    /// The loaded row's mark; a new one for every load.
    stamp: usize,
    /// `cells[f]` belongs to the loaded row if and only if `stamps[f] == stamp`.
    stamps: Vec<usize>,
    cells: Vec<T::Value>,
}

impl<T: Element, I: SparseIndex> RowReader for SparseReader<'_, T, I> {
    fn load(&mut self, sample: usize) {
        self.stamp += 1;
        for (feature, value) in self.x.entries(sample) {
            if self.stamps[feature] == self.stamp {
                self.cells[feature] = T::merge(self.cells[feature], value);
            } else {
                self.stamps[feature] = self.stamp;
                self.cells[feature] = value;
            }
        }
    }

    #[inline]
    fn value(&self, feature: u32) -> f64 {
        let feature = feature as usize;
        if self.stamps[feature] == self.stamp { self.cells[feature].widen() } else { 0.0 }
    }
}
