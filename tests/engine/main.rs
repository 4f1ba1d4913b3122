//! The integration tests. They are compiled with the unit tests, as a module of the library.

mod common;

mod categories;
mod crossval;
mod deep;
mod files;
mod foresight;
mod forest;
mod forest_object;
mod golden;
mod isolation;
mod lazy;
mod mixed;
mod new_criterion;
mod oracle;
mod packed;
mod properties;
mod shap;
mod shared_folds;
mod sparse_rows;
mod survival;
mod take;
mod tolerance;

/// The example at the head of the documentation.
mod first_tree {
    include!("first_tree.rs");

    #[test]
    fn the_example_of_the_documentation_runs() {
        main().unwrap();
    }
}
