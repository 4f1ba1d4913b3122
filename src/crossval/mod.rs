//! Cross-validation: what the trees of several folds predict, together.

mod shared;

pub use shared::{SharedFolds, ask_shared};
