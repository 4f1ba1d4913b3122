//! Matrices from Python: any numeric dtype and memory order, CSC and CSR with either index width, without a copy.

use numpy::ndarray::ArrayView2;
use numpy::{
    Element as NumpyElement, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::data::sparse::SparseIndex;
use crate::data::values::TableValue;
use crate::data::{Element, Format, SparseView};

/// What to do with a matrix, whatever its type.
pub trait MatrixVisitor {
    /// The result.
    type Output;
    /// Does it for a dense matrix.
    fn dense<T: Element<Value: TableValue>>(self, x: ArrayView2<'_, T>) -> PyResult<Self::Output>;
    /// Does it for a sparse one.
    fn sparse<T: Element<Value: TableValue>, I: SparseIndex>(self, x: SparseView<'_, T, I>) -> PyResult<Self::Output>;
}

/// Calls `$use` with `$T` as the element type of `$array`, an untyped array; falls through for other dtypes. Bools of
/// `NumPy` are among those: their bytes may be other than 0 and 1, which Rust's may not.
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

/// Calls the visitor with `x`: a two-dimensional array, or an object with the attributes of a scipy CSC or CSR matrix.
pub fn visit_matrix<V: MatrixVisitor>(x: &Bound<'_, PyAny>, visitor: V) -> PyResult<V::Output> {
    let py = x.py();
    if let Ok(array) = x.cast::<PyUntypedArray>() {
        for_dtype!(array, PyArray2, |typed| visitor.dense(typed.try_readonly()?.as_array()));
        return Err(unsupported(array, "a 2-dimensional array"));
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
    let data = x.getattr(pyo3::intern!(py, "data"))?.cast_into::<PyUntypedArray>()?;
    let indices = x.getattr(pyo3::intern!(py, "indices"))?.cast_into::<PyUntypedArray>()?;
    let indptr = x.getattr(pyo3::intern!(py, "indptr"))?.cast_into::<PyUntypedArray>()?;
    let structure = Structure { shape, format, indices: &indices, indptr: &indptr };
    for_dtype!(data, PyArray1, |typed| structure.visit(&typed.try_readonly()?, visitor));
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
    fn visit<T: Element<Value: TableValue> + NumpyElement, V: MatrixVisitor>(
        &self,
        data: &PyReadonlyArray1<'_, T>,
        visitor: V,
    ) -> PyResult<V::Output> {
        if let (Ok(indptr), Ok(indices)) = (self.indptr.cast::<PyArray1<i32>>(), self.indices.cast()) {
            return self.visit_indexed::<T, i32, V>(data, indptr, indices, visitor);
        }
        if let (Ok(indptr), Ok(indices)) = (self.indptr.cast::<PyArray1<i64>>(), self.indices.cast()) {
            return self.visit_indexed::<T, i64, V>(data, indptr, indices, visitor);
        }
        Err(PyTypeError::new_err(format!(
            "X.indptr and X.indices must be 1-dimensional and both int32 or both int64. Got {} and {} instead.",
            self.indptr.dtype(),
            self.indices.dtype()
        )))
    }

    fn visit_indexed<T: Element<Value: TableValue> + NumpyElement, I: SparseIndex + NumpyElement, V: MatrixVisitor>(
        &self,
        data: &PyReadonlyArray1<'_, T>,
        indptr: &Bound<'_, PyArray1<I>>,
        indices: &Bound<'_, PyArray1<I>>,
        visitor: V,
    ) -> PyResult<V::Output> {
        let (indptr, indices) = (indptr.try_readonly()?, indices.try_readonly()?);
        let view = SparseView::new(self.shape, self.format, indptr.as_slice()?, indices.as_slice()?, data.as_slice()?)?;
        visitor.sparse(view)
    }
}
