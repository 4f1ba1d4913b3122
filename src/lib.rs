//! Exact decision trees, fast, on sparse and dense data.
//!
//! A matrix is encoded once into a [`Dataset`](data::Dataset) of ranks, targets and weights become
//! integers in a [`Target`](data::Target), and [`grow`](grow::grow) makes a [`Tree`](tree::Tree).
//! ARCHITECTURE.md has the map of the modules and the promises they keep.
//!
//! ```
#![doc = include_str!("../tests/engine/first_tree.rs")]
//! ```

pub mod bitset;
pub mod boost;
pub mod conformal;
pub mod criterion;
pub mod crossval;
pub mod data;
pub mod error;
pub mod explain;
pub mod files;
pub mod forest;
pub mod grow;
pub mod lazy;
pub mod marks;
pub(crate) mod memory;
pub mod num;
pub mod params;
#[cfg(feature = "python")]
mod python;
pub mod rng;
pub mod runtime;
pub mod simd;
pub mod split;
pub mod tree;
mod tuning;

// The tests of the engine as a whole use the public names alone, as another crate would. They are a
// module of this one because the engine would be compiled twice for the tests otherwise.
#[cfg(test)]
#[path = "../tests/engine/main.rs"]
mod engine;
#[cfg(test)]
extern crate self as spinney;
