//! What a split minimises, in exact integers.
//!
//! A criterion knows targets and weights, never how features are stored. Its statistics of a set of samples
//! are integers that add up in any order. So a scan may push samples from either end, and the statistics of
//! one child are the node's minus the other child's. Candidates are compared by an `f64` score, and by an
//! exact proof where two scores lie within their rounding error. Hence the order of candidates is the
//! mathematical order, whichever tier found them.
//!
//! To add a criterion: write one file with an implementation of [`Statistics`], [`Ordered`] and
//! [`Bounded`] (or of [`classes::Measure`] if the criterion is a function of class counts), name its
//! [`Forms`], add a name to `params::CriterionKind`, and add a line to `visit_classes`,
//! `visit_numbers` or `visit_times` of the registry. A criterion whose scans load their nodes is a `Rule`
//! and a `Pass` of `loaded`, and shares the engine that is compiled for all of these.

pub mod binary;
mod bins;
pub mod bounded;
pub mod classes;
pub mod component;
pub mod entropy;
mod forms;
pub mod gini;
mod gini_or_entropy;
mod loaded;
pub mod ordered;
pub mod packed;
pub mod poisson;
mod registry;
pub mod small;
pub mod squared_error;
mod statistics;
pub mod sums;
pub mod weights;

pub use bounded::Bounded;
pub use forms::{Criterion, Forms, WeightForms};
pub use loaded::isolation::mean_path_length;
pub use ordered::Ordered;
pub use registry::{Visitor, resolve, visit, visit_classes};
pub use statistics::Statistics;
