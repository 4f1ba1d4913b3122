//! The integration tests: one crate, so that the engine and the brute-force oracle are linked once.

mod common;

mod categories;
mod crossval;
mod deep;
mod files;
mod foresight;
mod forest;
mod forest_object;
mod golden;
mod lazy;
mod mixed;
mod new_criterion;
mod oracle;
mod packed;
mod properties;
mod shap;
mod shared_folds;
mod sparse_rows;
mod take;
mod tolerance;
