//! The Python module `spinney._spinney`: a thin face over the crate. The only room that sees `PyO3` and `numpy`.
//!
//! Argument checking here is for what the Python layer cannot know (contents of arrays, ranges of parameters); the
//! estimator conventions live in `python/spinney`.

mod array;
mod crossval;
mod error;
mod fit;
mod fit_forest;
mod forest;
mod lazy;
mod on_rows;
mod params;
mod rows;
mod run;
mod tree;

use pyo3::prelude::*;

/// Compiled part of spinney. Use the estimators in `spinney` instead.
#[pymodule]
mod _spinney {
    #[pymodule_export]
    use super::crossval::predict_folds;
    #[pymodule_export]
    use super::fit::{check_sparse, fit_tree};
    #[pymodule_export]
    use super::fit_forest::fit_forest;
    #[pymodule_export]
    use super::forest::PyForest;
    #[pymodule_export]
    use super::lazy::PyLazyForest;
    #[pymodule_export]
    use super::rows::draw_rows;
    #[pymodule_export]
    use super::tree::PyTree;

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
