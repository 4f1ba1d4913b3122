//! The door: a matrix from outside, of whatever element type, storage and index width.
//!
//! Nothing behind it is compiled per type of input: the encoders, with their threads, and the
//! readers of rows see trait objects. Only loops that copy cells know the element type.

use ndarray::ArrayView2;

use super::Dataset;
use super::dense;
use super::element::Element;
use super::encoding::Encoding;
use super::query::{Query, SparseQuery};
use super::rows::Rows;
use super::sparse::{self, SparseIndex, SparseView};
use crate::error::Result;
use crate::runtime::Runtime;

/// A matrix: an array view of any element type, or a CSC or CSR matrix.
pub trait Matrix: Sync {
    /// The shape: `(n_samples, n_features)`.
    fn shape(&self) -> (usize, usize);
    /// Number of stored cells: all cells of a dense matrix.
    fn n_stored(&self) -> usize;
    /// Encodes the columns as ranks and tables of values.
    fn encode(&self, encoding: &Encoding<'_>, runtime: &Runtime<'_>) -> Result<Dataset>;
    /// The rows, for trees that exist. Fails for a CSC matrix.
    fn rows(&self) -> Result<&dyn Rows>;
    /// The rows, for trees that are not kept: one feature of many rows at a time. Fails for a CSC
    /// matrix.
    fn query(&self, runtime: &Runtime<'_>) -> Result<Box<dyn Query + '_>>;
}

impl<T: Element> Matrix for ArrayView2<'_, T> {
    fn shape(&self) -> (usize, usize) {
        self.dim()
    }

    fn n_stored(&self) -> usize {
        self.len()
    }

    fn encode(&self, encoding: &Encoding<'_>, runtime: &Runtime<'_>) -> Result<Dataset> {
        dense::encode::encode(self, encoding, runtime)
    }

    fn rows(&self) -> Result<&dyn Rows> {
        Ok(self)
    }

    fn query(&self, _runtime: &Runtime<'_>) -> Result<Box<dyn Query + '_>> {
        Ok(Box::new(self.view()))
    }
}

impl<T: Element, I: SparseIndex> Matrix for SparseView<'_, T, I> {
    fn shape(&self) -> (usize, usize) {
        self.shape()
    }

    fn n_stored(&self) -> usize {
        self.nnz()
    }

    fn encode(&self, encoding: &Encoding<'_>, runtime: &Runtime<'_>) -> Result<Dataset> {
        sparse::encode(self, encoding, runtime)
    }

    fn rows(&self) -> Result<&dyn Rows> {
        self.check_csr()?;
        Ok(self)
    }

    fn query(&self, runtime: &Runtime<'_>) -> Result<Box<dyn Query + '_>> {
        self.check_csr()?;
        Ok(Box::new(SparseQuery::new(self, runtime)?))
    }
}
