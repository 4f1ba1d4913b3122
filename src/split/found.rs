//! The result of the search of a node.

use std::sync::Arc;

use super::candidate::Candidate;
use super::constants::ConstantFeatures;
use super::sparse::heritage::Heritage;
use crate::criterion::Criterion;

/// The result of the search of a node.
pub struct Found<C: Criterion> {
    /// The best split; `None` if no cut is legal.
    pub best: Option<Candidate>,
    /// All features known not to vary in the node, and so not in its children; `None` if the search
    /// has found no new ones.
    pub constants: Option<Arc<ConstantFeatures>>,
    /// The heritage that the node can hand on to its children, not yet divided among them.
    pub heritage: Option<Heritage<C>>,
}
