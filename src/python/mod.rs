//! The Python module `spinney._spinney`: a thin face over the crate. The only room that sees `PyO3`
//! and `numpy`.
//!
//! Argument checking here is for what the Python layer cannot know (contents of arrays, ranges of
//! parameters); the estimator conventions live in `python/spinney`.

mod array;
mod boost;
mod columns;
mod crossval;
mod dataset;
mod error;
mod explain;
mod files;
mod forest;
mod honest;
mod intervals;
mod isolation;
mod lazy;
mod leaf_rows;
mod neighbours;
mod run;
mod sections;
mod survival;
mod task;
mod tree;

use pyo3::prelude::*;

/// Compiled part of spinney. Use the estimators in `spinney` instead.
#[pymodule]
mod _spinney {
    #[pymodule_export]
    use super::array::check_sparse;
    #[pymodule_export]
    use super::boost::{PyRounds, mean_loss_of, sum_rounds};
    #[pymodule_export]
    use super::columns::PyColumns;
    #[pymodule_export]
    use super::crossval::predict_folds;
    #[pymodule_export]
    use super::dataset::{join_heads, read_columns};
    #[pymodule_export]
    use super::explain::{
        forest_expected_value, forest_oob_changes, forest_oob_importances, forest_partial_dependence,
        forest_shap_interactions, forest_shap_values,
    };
    #[pymodule_export]
    use super::files::{frame_model, read_forest, read_tree, split_model};
    #[pymodule_export]
    use super::forest::{PyForest, draw_rows, fit_forest, list_drawn_rows, mark_unseen};
    #[pymodule_export]
    use super::honest::{fill_forest, fill_leaves};
    #[pymodule_export]
    use super::intervals::bound_intervals;
    #[pymodule_export]
    use super::isolation::{fit_isolation_forest, list_tree_features, list_tree_seeds, mean_path_length};
    #[pymodule_export]
    use super::lazy::PyLazyForest;
    #[pymodule_export]
    use super::leaf_rows::{count_rows_in_leaves, list_rows_of_leaves, predict_leaf_quantiles, rank_in_leaves};
    #[pymodule_export]
    use super::neighbours::share_leaves;
    #[pymodule_export]
    use super::survival::{count_concordance, predict_leaf_curves};
    #[pymodule_export]
    use super::task::check_params;
    #[pymodule_export]
    use super::tree::{PyTree, fit_tree};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // Not in `__all__`, as it is for tests alone.
        #[cfg(debug_assertions)]
        module.setattr("_panic", wrap_pyfunction!(super::run::_panic, module)?)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
