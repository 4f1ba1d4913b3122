//! What the search of a node finds.

use std::sync::Arc;

use super::candidate::Candidate;
use super::constants::ConstantFeatures;
use super::sparse::heritage::Heritage;
use crate::criterion::Criterion;

/// The outcome of a search.
pub struct Found<C: Criterion> {
    /// The best split, if any is legal.
    pub best: Option<Candidate>,
    /// The features that are known not to vary in the node, and so in its children, where they are more than before.
    pub constants: Option<Arc<ConstantFeatures>>,
    /// What the children can take over.
    pub heritage: Option<Heritage<C>>,
}
