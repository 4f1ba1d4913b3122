//! The methods of the class `Columns`: an encoded matrix, which is taken wherever a matrix is.
#![allow(clippy::doc_markdown, reason = "the doc comments of Python functions are numpydoc")]
#![allow(unsafe_code, reason = "memory that Rust and numpy share, so that files are mapped and not copied")]

use std::sync::Arc;

use ndarray::ArrayView1;
use numpy::{IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::prelude::*;

use super::array::{Array1, csr_matrix, run_with_matrix, table, with_matrix};
use super::columns::PyColumns;
use super::run::{catch, run};
use crate::data::decode::Decoded;
use crate::data::{Buffer, Columns, DATASET_FORMAT, Dataset, EncodedMatrix, Encoding, Matrix, Part};
use crate::error::Error;

#[pymethods]
impl PyColumns {
    #[new]
    #[pyo3(signature = (x, n_categories = None, n_threads = 1))]
    #[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
    fn new(x: &Bound<'_, PyAny>, n_categories: Option<Vec<u32>>, n_threads: usize) -> PyResult<Self> {
        let encoding = Encoding { n_categories: n_categories.as_deref(), ..Encoding::default() };
        with_matrix(x, |matrix| {
            let data = run(x.py(), n_threads, None, |runtime| matrix.encode(&encoding, runtime))?;
            Ok(Self(EncodedMatrix::new(data)))
        })
    }

    /// Encodes a dense matrix whose categories are numbers. Also returns by feature the float64
    /// array of its categories, ascending, whose places are the codes; None for numeric features.
    ///
    /// Returns None where codes have another order: where 0 is a category, and a number below it.
    #[staticmethod]
    #[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
    fn learn<'py>(
        x: &Bound<'py, PyAny>,
        is_categorical: Vec<bool>,
        n_threads: usize,
    ) -> PyResult<Option<(Self, Categories<'py>)>> {
        let py = x.py();
        let learned = run_with_matrix(x, n_threads, None, |matrix, runtime| {
            matrix.encode(&Encoding::default(), runtime)?.learn_categories(&is_categorical, runtime)
        })?;
        let Some((data, categories)) = learned else { return Ok(None) };
        let array = |(values, is_categorical): (Vec<f64>, &bool)| is_categorical.then(|| values.into_pyarray(py));
        Ok(Some((Self(EncodedMatrix::new(data)), categories.into_iter().zip(&is_categorical).map(array).collect())))
    }

    /// The number of rows, and of features.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        Matrix::shape(&self.0)
    }

    /// The bytes that the data set takes in memory, with all of its rows.
    #[getter]
    fn n_bytes(&self) -> usize {
        self.0.data().n_bytes()
    }

    /// Whether the matrix was sparse.
    #[getter]
    fn is_sparse(&self) -> bool {
        matches!(self.0.data().columns(), Columns::Sparse(_))
    }

    /// Of the data set with all of its rows: the number of categories of each feature, 0 of a
    /// numeric one; empty if all are numeric.
    #[getter]
    fn n_categories(&self) -> Vec<u32> {
        self.0.data().n_categories().to_vec()
    }

    /// Of the data set with all of its rows: the number of distinct values of each feature; in a sparse data
    /// set 0 counts as one of them. Shape (n_features,), int64.
    #[getter]
    fn n_distinct<'py>(&self, py: Python<'py>) -> Array1<'py, i64> {
        let data = self.0.data();
        let count = |feature| data.n_distinct(feature) as i64;
        (0..data.n_features() as u32).map(count).collect::<Vec<_>>().into_pyarray(py)
    }

    /// Of the data set with all of its rows: whether each feature has missing values. Shape
    /// (n_features,), uint8.
    #[getter]
    fn has_missing<'py>(&self, py: Python<'py>) -> Array1<'py, u8> {
        let data = self.0.data();
        let has_missing = |feature| u8::from(data.missing_rank(feature).is_some());
        (0..data.n_features() as u32).map(has_missing).collect::<Vec<_>>().into_pyarray(py)
    }

    /// These rows of the data set, in this order: uint32, which may repeat. Nothing is copied.
    #[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
    fn with_rows(&self, rows: PyReadonlyArray1<'_, u32>) -> PyResult<Self> {
        let rows = rows.as_slice()?.to_vec();
        Ok(Self(catch(|| Ok(self.0.with_rows(rows)?))?))
    }

    /// These rows, for predictions by trees that number categories in another way. `codes` has
    /// for each feature a float64 array of the value that stands for each code, None for features
    /// that keep their values.
    #[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
    fn with_codes(&self, codes: Vec<Option<PyReadonlyArray1<'_, f64>>>) -> PyResult<Self> {
        let of_feature = |codes: &Option<PyReadonlyArray1<'_, f64>>| match codes {
            Some(codes) => Ok(codes.as_slice()?.into()),
            None => Ok(Box::default()),
        };
        let codes = codes.iter().map(of_feature).collect::<PyResult<_>>()?;
        Ok(Self(catch(|| Ok(self.0.with_codes(codes)?))?))
    }

    /// By feature the codes of the categories that these rows have, ascending int64; None for
    /// numeric features.
    fn present_codes<'py>(&self, py: Python<'py>) -> PyResult<Vec<Option<Array1<'py, i64>>>> {
        let present = run(py, 1, None, |runtime| self.0.present_codes(runtime))?;
        let codes = |codes: Vec<u32>| codes.into_iter().map(i64::from).collect::<Vec<_>>().into_pyarray(py);
        Ok(present.into_iter().map(|feature| feature.map(codes)).collect())
    }

    /// The values of these rows: a float64 array in C order, or a CSR matrix of float64 if the
    /// matrix was sparse. Of a categorical feature, the codes of the categories that these rows
    /// have.
    fn decode<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let n_features = self.0.data().n_features();
        match run(py, 1, None, |runtime| self.0.own_rows(runtime)?.decode(runtime))? {
            Decoded::Dense(values) => Ok(table(py, values, n_features)?.into_any()),
            Decoded::Csr { indptr, indices, data } => csr_matrix(py, data, indices, indptr, n_features),
        }
    }

    /// The data set, with all of its rows, as named arrays of uint8: views of its memory.
    fn sections<'py>(this: &Bound<'py, Self>) -> PyResult<Vec<Section<'py>>> {
        let view = |(name, bytes): Part| -> PyResult<Section<'py>> {
            let keeper = Bound::new(this.py(), Keeper(bytes))?;
            let array = ArrayView1::from(&keeper.get().0[..]);
            // SAFETY: the keeper is frozen and keeps the bytes, which nobody writes to, and the
            // numpy array keeps the keeper. It is marked read-only before anyone else sees it.
            let view = unsafe { PyArray1::borrow_from_array(&array, keeper.clone().into_any()) };
            view.getattr("flags")?.setattr("writeable", false)?;
            Ok((name, view))
        };
        let columns = this.get();
        let parts = run(this.py(), 1, None, |runtime| columns.0.data().parts(runtime))?;
        let mut views = Vec::with_capacity(parts.len());
        for (number, part) in parts.into_iter().enumerate() {
            // Ten thousand arrays are made in some milliseconds, and there may be a million of them.
            if number.is_multiple_of(10_000) {
                this.py().check_signals()?;
            }
            views.push(view(part)?);
        }
        Ok(views)
    }

    /// These rows as a data set of their own.
    #[pyo3(signature = (n_threads = 1))]
    fn own(&self, py: Python<'_>, n_threads: usize) -> PyResult<Self> {
        let data = run(py, n_threads, None, |runtime| self.0.own_rows(runtime))?;
        Ok(Self(EncodedMatrix::new(data)))
    }
}

/// By feature the categories; `None` for numeric features.
type Categories<'py> = Vec<Option<Array1<'py, f64>>>;

/// A section of a file as Python has it.
type Section<'py> = (String, Array1<'py, u8>);

/// Keeps the bytes of a section.
#[pyclass(frozen)]
struct Keeper(Buffer<u8>);

/// Make columns of the sections of a file.
///
/// Everything is checked that the engine relies on, and ranks are not copied.
///
/// Parameters
/// ----------
/// format_number : int
///     The number of the sections' format.
/// sections : list of (str, ndarray of uint8)
///     Nobody must write to the arrays, nor to a file that they are mapped to, while the columns or
///     anything made of them live. A file that becomes shorter ends the process when it is read.
/// n_threads : int
///
/// Returns
/// -------
/// columns : Columns
#[pyfunction]
#[pyo3(signature = (format_number, sections, n_threads = 1))]
pub fn read_columns(
    py: Python<'_>,
    format_number: u32,
    sections: Vec<Section<'_>>,
    n_threads: usize,
) -> PyResult<PyColumns> {
    if format_number > DATASET_FORMAT {
        let (what, got, newest) = ("The data set", format_number.into(), DATASET_FORMAT.into());
        return Err(Error::NewerFormat { what, got, newest }.into());
    }
    let mut n_bytes = 0usize;
    let part = |(name, array): Section<'_>| -> PyResult<Part> {
        n_bytes = n_bytes.saturating_add(array.len());
        Ok((name, bytes_of(&array)?))
    };
    let parts = sections.into_iter().map(part).collect::<PyResult<Vec<_>>>()?;
    let data = run(py, n_threads, None, |runtime| Dataset::from_parts(&parts, runtime))?;
    Ok(PyColumns(EncodedMatrix::new(data)))
}

/// The bytes of an array, which nobody may write to.
fn bytes_of(array: &Array1<'_, u8>) -> PyResult<Buffer<u8>> {
    let borrowed = array.try_readonly()?;
    // SAFETY: the array keeps its memory where it is while the keeper lives. That nobody writes to it
    // is the contract of the functions of this file, which `spinney.dataset` keeps: it maps files for
    // reading, and gives no one the arrays of pickles.
    Ok(unsafe { Buffer::kept(borrowed.as_slice()?, Arc::new(array.clone().unbind())) })
}

/// Join what sections say of data sets of the same rows, whose features are to stand side by side.
///
/// Parameters
/// ----------
/// heads : list of tuple of three ndarray of uint8
///     The sections `shape`, `columns` and `values` of each.
///
/// Returns
/// -------
/// head : list of three ndarray of uint8
///     These sections of all features.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
pub fn join_heads<'py>(py: Python<'py>, heads: Vec<[Array1<'py, u8>; 3]>) -> PyResult<Vec<Array1<'py, u8>>> {
    let mut n_bytes = 0usize;
    let mut buffers = Vec::with_capacity(heads.len());
    for [shape, columns, values] in &heads {
        n_bytes = n_bytes.saturating_add(columns.len()).saturating_add(values.len());
        buffers.push([bytes_of(shape)?, bytes_of(columns)?, bytes_of(values)?]);
    }
    let joined = run(py, 1, None, |runtime| crate::data::join_heads(&buffers, runtime))?;
    Ok(joined.map(|section| section.into_pyarray(py)).into())
}
