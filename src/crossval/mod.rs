//! Cross-validation: what the trees of several folds predict, together.

mod shared;

pub use shared::{NOBODY, SharedFolds, ask_shared};
