//! Model files: arrays of bytes in and out. Files are opened in Python.
#![allow(clippy::doc_markdown, reason = "the doc comments of Python functions are numpydoc")]

use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;

use super::array::Array1;
use super::forest::PyForest;
use super::run::run;
use super::tree::PyTree;
use crate::files;

type Bytes<'py> = PyReadonlyArray1<'py, u8>;

/// Compute what a model file begins with.
///
/// Parameters
/// ----------
/// sections : list of (str, ndarray of uint8)
///     Names and bytes of the sections.
/// n_threads : int
///
/// Returns
/// -------
/// head : ndarray of uint8
///     Is followed by the sections, each padded with zeros to a multiple of 64 bytes, except the
///     last one.
#[pyfunction]
#[pyo3(signature = (sections, n_threads = 1))]
#[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
pub fn frame_model<'py>(
    py: Python<'py>,
    sections: Vec<(String, Bytes<'py>)>,
    n_threads: usize,
) -> PyResult<Array1<'py, u8>> {
    let sections: Vec<(&str, &[u8])> =
        sections.iter().map(|(name, bytes)| Ok((&name[..], bytes.as_slice()?))).collect::<PyResult<_>>()?;
    let head = run(py, n_threads, None, |runtime| files::frame(&sections, runtime))?;
    Ok(head.into_pyarray(py))
}

/// Find the sections of a model file, and compare all of its bytes with its checksums.
///
/// Parameters
/// ----------
/// data : ndarray of uint8
///     The file.
/// n_threads : int
///
/// Returns
/// -------
/// sections : list of (str, int, int)
///     Name, first byte and end of each section.
#[pyfunction]
#[pyo3(signature = (data, n_threads = 1))]
#[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
pub fn split_model(py: Python<'_>, data: Bytes<'_>, n_threads: usize) -> PyResult<Vec<(String, usize, usize)>> {
    let data = data.as_slice()?;
    let sections = run(py, n_threads, None, |runtime| files::sections(data, runtime))?;
    Ok(sections.into_iter().map(|section| (section.name, section.bytes.start, section.bytes.end)).collect())
}

/// Make the trees of a forest from their sections.
///
/// The trees are read when they are first needed, and checked then; before, only the lengths are
/// compared.
///
/// Parameters
/// ----------
/// format_number : int
///     The number of the sections' format.
/// sections : list of ndarray of uint8
///     They are kept until the trees are read.
/// n_threads : int
///     Threads that read the trees.
///
/// Returns
/// -------
/// forest : Forest
#[pyfunction]
#[pyo3(signature = (format_number, sections, n_threads = 1))]
pub fn read_forest(format_number: u32, sections: Vec<Array1<'_, u8>>, n_threads: usize) -> PyResult<PyForest> {
    PyForest::of_sections((format_number, sections), n_threads)
}

/// Make a tree from the sections of a forest of one tree.
///
/// Parameters
/// ----------
/// format_number : int
///     The number of the sections' format.
/// sections : list of ndarray of uint8
///
/// Returns
/// -------
/// tree : Tree
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
pub fn read_tree(py: Python<'_>, format_number: u32, sections: Vec<Array1<'_, u8>>) -> PyResult<PyTree> {
    PyTree::of_sections(py, &(format_number, sections))
}
