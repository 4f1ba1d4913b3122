//! Forests: many trees over one data set.
//!
//! [`grow_forest`] grows the trees, [`RowSampler`] says on which rows, and [`Forest`] holds them
//! and predicts their mean. How the trees are stored is hidden in this module. [`LazyForest`]
//! predicts without growing the trees; [`CrossValidation`](crate::crossval::CrossValidation) does
//! so for the folds of one data set.

mod copies;
mod correlation;
pub(crate) mod grow;
mod halves;
pub mod honest;
mod idle;
mod importance;
mod isolation;
mod lazy;
pub mod leaves;
mod neighbours;
mod orders;
mod predict;
pub mod refill;
mod sampler;
mod urn;
pub(crate) mod waves;

use std::ops::Range;
use std::sync::Arc;

pub(crate) use grow::grow_tree_of;
pub use grow::{grow_forest, grow_tree};
pub(crate) use halves::{Equals, KnownRows};
pub use isolation::{IsolationParams, grow_isolation_forest, grow_isolation_forest_of_numbers, tree_features};
pub use lazy::{Explored, Kernel, LazyForest};
pub use neighbours::Nearest;
pub use predict::OobPrediction;
pub(crate) use sampler::check_sample_ids;
pub use sampler::{Part, RowSampler};
pub use urn::Urn;

use crate::error::{Error, Result};
use crate::tree::packed::PackedTree;

/// A forest: at least one tree, all with the same features and outputs. Immutable.
#[derive(Debug, Clone, PartialEq)]
pub struct Forest {
    members: Vec<Member>,
}

/// A tree of a forest, with its seed.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// The tree in its packed form, which estimators of single trees share.
    pub tree: Arc<PackedTree>,
    /// The seed under which this tree is tree number 0 (`rng::seed_of_tree`). The draws of the tree's rows
    /// follow from it.
    pub seed: u64,
}

impl Forest {
    /// Makes a forest. Fails unless the trees agree on features, classes and categories.
    pub fn new(members: Vec<Member>) -> Result<Self> {
        let shape = |member: &Member| (member.tree.n_features(), member.tree.n_classes().to_vec());
        let illegal = |got: &str, expected: &str| {
            let (got, expected) = (got.into(), expected.into());
            Err(Error::InvalidArgument { name: "the forest's trees", got, expected })
        };
        let Some(first) = members.first().map(shape) else { return illegal("none", "at least one") };
        if members.iter().any(|member| member.tree.n_categories() != members[0].tree.n_categories()) {
            let got = "trees with different categorical features or categories";
            return illegal(got, "alike in their categorical features");
        }
        if let Some(other) = members.iter().map(shape).find(|other| *other != first) {
            let got = format!("trees of (features, classes) {first:?} and {other:?}");
            return illegal(&got, "alike in their numbers of features and of classes of each output");
        }
        Ok(Self { members })
    }

    /// This forest with the trees of `other` behind its own. Both forests share the trees.
    pub fn extended(&self, other: &Self) -> Result<Self> {
        Self::new(self.members.iter().chain(&other.members).cloned().collect())
    }

    /// This forest without what predictions have made, and keep for the next ones. O(nodes).
    pub fn afresh(&self) -> Result<Self> {
        let afresh = |member: &Member| Member { tree: Arc::new(PackedTree::clone(&member.tree)), ..*member };
        Self::new(self.members.iter().map(afresh).collect())
    }

    /// Every `step`-th of the trees of a range, from its first on. Both forests share the trees.
    pub fn part(&self, trees: Range<usize>, step: usize) -> Result<Self> {
        let members = self.members.get(trees).unwrap_or_default();
        Self::new(members.iter().step_by(step.max(1)).cloned().collect())
    }

    /// Number of trees, at least 1.
    #[allow(clippy::len_without_is_empty, reason = "a forest is never empty")]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// The trees with their seeds, in the order of their numbers.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The trees, in the order of their numbers.
    pub fn trees(&self) -> impl Iterator<Item = &PackedTree> {
        self.members.iter().map(|member| &*member.tree)
    }

    /// Number of features of the training data.
    pub fn n_features(&self) -> usize {
        self.first().n_features()
    }

    /// Number of outputs (targets) that the forest predicts.
    pub fn n_outputs(&self) -> usize {
        self.first().n_classes().len()
    }

    /// Values of a prediction: outputs times the largest number of classes of an output.
    pub fn n_values(&self) -> usize {
        self.first().n_values()
    }

    fn first(&self) -> &PackedTree {
        &self.members[0].tree
    }
}
