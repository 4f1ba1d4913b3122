//! The trees of a forest as arrays of bytes, the sections of model files and of pickles.

use numpy::{IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::array::Array1;
use super::run::{catch, run};
use crate::error::Error;
use crate::files::{self, N_TREE_SECTIONS, TREE_FORMAT, TREE_SECTIONS};
use crate::forest::Forest;

/// What `__reduce__` returns: a function of this module, and its arguments.
pub type Reduced<'py> = (Bound<'py, PyAny>, TreeState<'py>);

/// The format and the sections of trees.
pub type TreeState<'py> = (u32, Vec<Array1<'py, u8>>);

/// The sections of trees that have not been read yet.
pub struct StoredTrees {
    sections: Vec<Py<PyArray1<u8>>>,
    n_threads: usize,
}

impl StoredTrees {
    /// Keeps the sections. Trees will be read on `n_threads` threads.
    pub fn new(sections: Vec<Array1<'_, u8>>, n_threads: usize) -> Self {
        Self { sections: sections.into_iter().map(Bound::unbind).collect(), n_threads }
    }

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
pub fn with_slices<T>(
    format_number: u32,
    sections: &[Array1<'_, u8>],
    f: impl FnOnce([&[u8]; N_TREE_SECTIONS]) -> PyResult<T>,
) -> PyResult<T> {
    if format_number > TREE_FORMAT {
        let (what, got, newest) = ("The model", format_number.into(), TREE_FORMAT.into());
        return Err(Error::NewerFormat { what, got, newest }.into());
    }
    let borrowed = sections.iter().map(PyArrayMethods::try_readonly).collect::<Result<Vec<_>, _>>();
    let borrowed = borrowed.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let slices = borrowed.iter().map(PyReadonlyArray1::as_slice).collect::<Result<Vec<_>, _>>()?;
    let slices = slices.try_into().map_err(|_| {
        let expected = TREE_SECTIONS.join(", ");
        PyValueError::new_err(format!("The sections must be {expected}. Got {} instead.", sections.len()))
    })?;
    catch(|| f(slices))
}

/// Reads the trees of a forest.
pub fn read(py: Python<'_>, slices: [&[u8]; N_TREE_SECTIONS], n_threads: usize) -> PyResult<Forest> {
    run(py, n_threads, None, |runtime| files::read_forest(slices, runtime))
}

/// The sections of a forest's trees.
pub fn tree_sections<'py>(py: Python<'py>, forest: &Forest) -> PyResult<Vec<Array1<'py, u8>>> {
    let sections = run(py, 1, None, |runtime| files::write_forest(forest, runtime))?;
    Ok(sections.map(|section| section.into_pyarray(py)).into())
}

/// What a pickle holds that calls `function` to make a forest or a tree.
pub fn reduce<'py>(py: Python<'py>, function: &str, forest: &Forest) -> PyResult<Reduced<'py>> {
    let function = py.import("spinney._spinney")?.getattr(function)?;
    Ok((function, tree_state(py, forest)?))
}

/// The trees of a forest as what `read_forest` and `read_tree` take.
pub fn tree_state<'py>(py: Python<'py>, forest: &Forest) -> PyResult<TreeState<'py>> {
    Ok((files::tree_format(forest), tree_sections(py, forest)?))
}
