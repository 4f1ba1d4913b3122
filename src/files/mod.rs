//! Model files: a container of named sections, and the sections that hold the trees of a forest.
//!
//! Both are functions from bytes to bytes; who calls them reads and writes the file. What comes
//! from a file may be damaged or forged: everything is checked, nothing is trusted, and nothing is
//! allocated that is not in proportion to the bytes that are there. `docs/model-files.md` describes
//! the format.

mod container;
mod trees;

pub use container::{ALIGNMENT, Section, frame, sections};
pub use trees::{N_TREE_SECTIONS, Outline, TREE_FORMAT, TREE_SECTIONS, read_forest, tree_format, write_forest};
