//! Model files and pickles: arrays of bytes in and out. Files are opened in Python.
#![allow(clippy::doc_markdown, reason = "the doc comments of Python functions are numpydoc")]

use numpy::{IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::array::Array1;
use super::forest::PyForest;
use super::run::run;
use super::tree::PyTree;
use crate::error::{Error, Result};
use crate::files::{self, N_TREE_SECTIONS, Outline, TREE_FORMAT, TREE_SECTIONS};
use crate::forest::{Forest, Member};

/// What `__reduce__` returns: a function of this module, and its arguments.
pub type Reduced<'py> = (Bound<'py, PyAny>, (u32, Vec<Array1<'py, u8>>));

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
    let n_bytes = sections.iter().map(|(_, bytes)| bytes.len()).sum();
    let head = run(py, n_threads, n_bytes, None, |runtime| files::frame(&sections, runtime))?;
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
    let sections = run(py, n_threads, data.len(), None, |runtime| files::sections(data, runtime))?;
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
    let outline = with_slices(format_number, &sections, |slices| Ok(Outline::read(&slices)?))?;
    let sections = sections.into_iter().map(Bound::unbind).collect();
    Ok(PyForest::stored(outline, StoredTrees { sections, n_threads }))
}

/// Make a tree from its sections: those of a forest of one tree.
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
    let forest = with_slices(format_number, &sections, |slices| read(py, slices, 1))?;
    match forest.members() {
        [member] => Ok(PyTree::of_forest(member.tree.clone())),
        members => {
            Err(PyValueError::new_err(format!("The sections must be of one tree. Got {} trees.", members.len())))
        }
    }
}

/// The sections of trees that have not been read yet.
pub struct StoredTrees {
    sections: Vec<Py<PyArray1<u8>>>,
    n_threads: usize,
}

impl StoredTrees {
    /// A second reference to the same sections.
    pub fn share(&self, py: Python<'_>) -> Self {
        let sections = self.sections.iter().map(|section| section.clone_ref(py)).collect();
        Self { sections, n_threads: self.n_threads }
    }

    pub fn read(&self, py: Python<'_>) -> PyResult<Forest> {
        let sections: Vec<_> = self.sections.iter().map(|section| section.bind(py).clone()).collect();
        with_slices(TREE_FORMAT, &sections, |slices| read(py, slices, self.n_threads))
    }
}

/// Calls `f` with the bytes of the sections.
fn with_slices<T>(
    format_number: u32,
    sections: &[Array1<'_, u8>],
    f: impl FnOnce([&[u8]; N_TREE_SECTIONS]) -> PyResult<T>,
) -> PyResult<T> {
    if format_number > TREE_FORMAT {
        let (what, got, newest) = ("The model", format_number.into(), TREE_FORMAT.into());
        return Err(Error::NewerFormat { what, got, newest }.into());
    }
    let borrowed = sections.iter().map(PyArrayMethods::try_readonly).collect::<std::result::Result<Vec<_>, _>>();
    let borrowed = borrowed.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let slices = borrowed.iter().map(PyReadonlyArray1::as_slice).collect::<std::result::Result<Vec<_>, _>>()?;
    f(slices.try_into().map_err(|_| {
        let expected = TREE_SECTIONS.join(", ");
        PyValueError::new_err(format!("The sections must be {expected}. Got {} instead.", sections.len()))
    })?)
}

fn read(py: Python<'_>, slices: [&[u8]; N_TREE_SECTIONS], n_threads: usize) -> PyResult<Forest> {
    let n_steps = slices.iter().map(|section| section.len()).sum::<usize>().saturating_mul(8);
    run(py, n_threads, n_steps, None, |runtime| files::read_forest(slices, runtime))
}

/// The sections of a forest's trees.
pub fn tree_sections<'py>(py: Python<'py>, forest: &Forest) -> PyResult<Vec<Array1<'py, u8>>> {
    let n_steps = forest.trees().map(|tree| tree.node_count().saturating_mul(32)).sum();
    let sections = run(py, 1, n_steps, None, |runtime| files::write_forest(forest, runtime))?;
    Ok(sections.map(|section| section.into_pyarray(py)).into())
}

/// What a pickle holds that calls `function` to make a forest or a tree.
pub fn reduce<'py>(py: Python<'py>, function: &str, forest: &Forest) -> PyResult<Reduced<'py>> {
    let function = py.import("spinney._spinney")?.getattr(function)?;
    Ok((function, (TREE_FORMAT, tree_sections(py, forest)?)))
}

/// A forest of one tree.
pub fn forest_of(tree: &PyTree) -> Result<Forest> {
    Forest::new(vec![Member { tree: tree.packed(), seed: 0 }])
}
