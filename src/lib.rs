//! Exact decision trees, fast, on sparse and dense data.
//!
//! A matrix is encoded once into a [`Dataset`](data::Dataset) of ranks, targets and weights become
//! integers in a [`Target`](data::Target), and [`grow`](grow::grow) makes a [`Tree`](tree::Tree).
//! ARCHITECTURE.md has the map of the modules and the promises they keep.
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//!
//! use ndarray::array;
//! use spinney::data::{Dataset, Target};
//! use spinney::grow::grow;
//! use spinney::params::{CriterionKind, TreeParams};
//! use spinney::runtime::Runtime;
//!
//! # fn main() -> spinney::error::Result<()> {
//! let x = array![[0.0, 1.0], [0.0, 2.0], [3.0, 1.0], [4.0, 2.0]];
//! let stop = AtomicBool::new(false);
//! let runtime = Runtime::new(1, &stop);
//!
//! let data = Dataset::from_dense(x.view(), &runtime)?;
//! let target = Target::classification(&[0, 0, 1, 1], &[2], None)?;
//! let params = TreeParams::new(CriterionKind::Gini).check(4, 2)?;
//! let tree = grow(&data, &target, &params, 0, &runtime)?;
//!
//! assert_eq!(tree.nodes().feature[0], 0);
//! assert_eq!(tree.nodes().threshold[0], 1.5);
//! assert_eq!(tree.predict(&x.view(), &runtime)?, [1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0]);
//! # Ok(())
//! # }
//! ```

pub mod bitset;
pub mod criterion;
pub mod crossval;
pub mod data;
pub mod error;
pub mod explain;
pub mod files;
pub mod forest;
pub mod grow;
pub mod lazy;
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
