//! Matrices from Python: any numeric dtype and memory order, CSC and CSR with either index width,
//! without a copy.
//!
//! Code that works with a matrix sees a [`Matrix`] and is compiled once, whatever the types.

use numpy::{
    Element as NumpyElement, IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::IntoPyDict;

use super::columns::PyColumns;
use super::run::{catch, run};
use crate::data::sparse::SparseIndex;
use crate::data::{Element, Format, Matrix, SparseView};
use crate::error::Result;
use crate::runtime::Runtime;

/// A one-dimensional array of `NumPy`.
pub type Array1<'py, T> = Bound<'py, PyArray1<T>>;
/// A two-dimensional array of `NumPy`.
pub type Array2<'py, T> = Bound<'py, PyArray2<T>>;

/// A row-major array of rows of `n_columns` values each.
pub fn table<T: NumpyElement>(py: Python<'_>, values: Vec<T>, n_columns: usize) -> PyResult<Array2<'_, T>> {
    let n_rows = values.len() / n_columns;
    values.into_pyarray(py).reshape([n_rows, n_columns])
}

/// A scipy CSR matrix.
pub fn csr_matrix<T: NumpyElement>(
    py: Python<'_>,
    data: Vec<T>,
    indices: Vec<i64>,
    indptr: Vec<i64>,
    n_columns: usize,
) -> PyResult<Bound<'_, PyAny>> {
    let shape = [("shape", (indptr.len() - 1, n_columns))].into_py_dict(py)?;
    let parts = (data.into_pyarray(py), indices.into_pyarray(py), indptr.into_pyarray(py));
    py.import("scipy.sparse")?.call_method("csr_matrix", (parts,), Some(&shape))
}

/// A function that works with a matrix.
type Use<'a> = &'a mut dyn FnMut(&dyn Matrix) -> PyResult<()>;

/// Calls `work` with `x`: a two-dimensional array, or an object with the attributes of a scipy CSC
/// or CSR matrix.
pub fn with_matrix<T>(x: &Bound<'_, PyAny>, work: impl FnOnce(&dyn Matrix) -> PyResult<T>) -> PyResult<T> {
    let (mut work, mut result) = (Some(work), None);
    catch(|| {
        visit(x, &mut |matrix| {
            result = work.take().map(|work| work(matrix)).transpose()?;
            Ok(())
        })
    })?;
    result.ok_or_else(|| PyRuntimeError::new_err("a matrix is visited once"))
}

/// Calls `work` with `x` on `n_threads` threads, without the interpreter lock. `watcher` is called with the
/// number of finished items of work whenever it has grown.
pub fn run_with_matrix<T: Send>(
    x: &Bound<'_, PyAny>,
    n_threads: usize,
    watcher: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&dyn Matrix, &Runtime<'_>) -> Result<T> + Send,
) -> PyResult<T> {
    with_matrix(x, |matrix| run(x.py(), n_threads, watcher, |runtime| work(matrix, runtime)))
}

/// Check the structure of a CSC or CSR matrix, so that it can be converted safely.
///
/// Parameters
/// ----------
/// x : object with the attributes format, shape, data, indices and indptr
///     `data` is not read.
#[pyfunction]
pub fn check_sparse(x: &Bound<'_, PyAny>) -> PyResult<()> {
    with_matrix(x, |_| Ok(()))
}

/// Calls `$use` with `$T` as the element type of `$array`, an untyped array; falls through for other dtypes.
/// Bools of `NumPy` fall through: their bytes may be other than 0 and 1, which Rust's may not.
macro_rules! for_dtype {
    ($array:expr, $kind:ident, |$typed:ident| $use:expr) => {
        for_dtype!(@ $array, $kind, |$typed| $use,
            f64, f32, i64, i32, i16, i8, u64, u32, u16, u8)
    };
    (@ $array:expr, $kind:ident, |$typed:ident| $use:expr, $($T:ty),*) => {
        $(if let Ok($typed) = $array.cast::<$kind<$T>>() {
            return $use;
        })*
    };
}

/// [`with_matrix`], compiled once.
fn visit(x: &Bound<'_, PyAny>, work: Use<'_>) -> PyResult<()> {
    if let Ok(array) = x.cast::<PyUntypedArray>() {
        for_dtype!(array, PyArray2, |typed| {
            let borrowed = typed.try_readonly()?;
            if !borrowed.is_aligned() {
                return Err(PyValueError::new_err(
                    "X must be aligned in memory. np.require(X, requirements=\"A\") is.",
                ));
            }
            work(&borrowed.as_array())
        });
        return Err(unsupported(array, "a 2-dimensional array"));
    }
    if let Ok(columns) = x.cast::<PyColumns>() {
        return work(&columns.get().0);
    }
    let format = match x.getattr("format").and_then(|format| format.extract::<String>()).as_deref() {
        Ok("csc") => Format::Csc,
        Ok("csr") => Format::Csr,
        _ => {
            let got = x.get_type().name()?;
            let message = format!("X must be a 2-dimensional array, or a CSC or CSR matrix. Got {got} instead.");
            return Err(PyTypeError::new_err(message));
        }
    };
    let shape: (usize, usize) = x.getattr("shape")?.extract()?;
    let part = |name: &str| -> PyResult<_> { Ok(x.getattr(name)?.cast_into::<PyUntypedArray>()?) };
    let (data, indices, indptr) = (part("data")?, part("indices")?, part("indptr")?);
    let structure = Structure { shape, format, indices: &indices, indptr: &indptr };
    for_dtype!(data, PyArray1, |typed| structure.visit(&typed.try_readonly()?, work));
    Err(unsupported(&data, "sparse with 1-dimensional indices and data, the latter"))
}

fn unsupported(array: &Bound<'_, PyUntypedArray>, expected: &str) -> PyErr {
    PyTypeError::new_err(format!(
        "X must be {expected} of 8 to 64-bit integers, float32 or float64 in native byte order. Got {} \
         dimension(s) of {} instead.",
        array.ndim(),
        array.dtype()
    ))
}

struct Structure<'a, 'py> {
    shape: (usize, usize),
    format: Format,
    indices: &'a Bound<'py, PyUntypedArray>,
    indptr: &'a Bound<'py, PyUntypedArray>,
}

impl Structure<'_, '_> {
    fn visit<T: Element + NumpyElement>(&self, data: &PyReadonlyArray1<'_, T>, work: Use<'_>) -> PyResult<()> {
        if self.visit_indexed::<T, i32>(data, work)? || self.visit_indexed::<T, i64>(data, work)? {
            return Ok(());
        }
        Err(PyTypeError::new_err(format!(
            "X.indptr and X.indices must be 1-dimensional and both int32 or both int64. Got {} and {} instead.",
            self.indptr.dtype(),
            self.indices.dtype()
        )))
    }

    /// Whether the indices are of type `I`: then `work` has been called.
    fn visit_indexed<T: Element + NumpyElement, I: SparseIndex + NumpyElement>(
        &self,
        data: &PyReadonlyArray1<'_, T>,
        work: Use<'_>,
    ) -> PyResult<bool> {
        let (Ok(indptr), Ok(indices)) = (self.indptr.cast::<PyArray1<I>>(), self.indices.cast::<PyArray1<I>>()) else {
            return Ok(false);
        };
        let (indptr, indices) = (indptr.try_readonly()?, indices.try_readonly()?);
        work(&SparseView::new(self.shape, self.format, indptr.as_slice()?, indices.as_slice()?, data.as_slice()?)?)?;
        Ok(true)
    }
}
