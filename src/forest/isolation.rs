//! Isolation forests: trees that isolate rows at random, without a target (Liu, Ting, Zhou, "Isolation Forest",
//! ICDM 2008).
//!
//! A tree sees few rows, its bag. So only the rows of the bags need be encoded: the data set may have these alone.

use std::sync::Arc;

use super::{Forest, Member};
use crate::data::{Dataset, Labels, Target};
use crate::error::{Error, Result};
use crate::grow::{SpareParts, grow_packed};
use crate::params::{CriterionKind, FeatureSampling, MaxFeatures, Splitter, TreeParams};
use crate::rng::{NodeKey, seed_of_tree};
use crate::runtime::Runtime;

/// The shape of the trees of an isolation forest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IsolationParams {
    /// Seed of all random choices.
    pub seed: u64,
    /// Number of the first tree: above 0 if trees are added to those of an earlier fit.
    pub first_tree: u64,
    /// Largest depth of a leaf.
    pub max_depth: u64,
    /// How many features a tree has for its nodes, drawn at random; `None` means all.
    pub max_features: Option<u64>,
}

impl IsolationParams {
    fn tree(&self) -> TreeParams {
        TreeParams {
            splitter: Splitter::Random,
            max_depth: Some(self.max_depth),
            max_features: MaxFeatures::Absolute(1),
            max_tree_features: self.max_features,
            feature_sampling: FeatureSampling::Active,
            seed: self.seed,
            ..TreeParams::new(CriterionKind::Isolation)
        }
    }
}

/// Grows one tree for each bag: the rows of the data set that the tree sees, each as often as it counts. A node
/// draws one of the features that vary in it, and a random threshold or a random subset of the categories. The value
/// of a leaf is its depth and the mean length of the path that would isolate its rows.
///
/// A tree is a function of the seed, its number, and the rows of its bag, whatever other rows there are.
pub fn grow_isolation_forest(
    data: &Dataset,
    bags: &[&[u32]],
    params: &IsolationParams,
    runtime: &Runtime<'_>,
) -> Result<Forest> {
    let tree = params.tree().check(data.n_samples(), data.n_features())?;
    let spare = SpareParts::default();
    let everything = Target::encode(Labels::Absent { n_samples: data.n_samples() }, None, runtime)?;
    let member = |number: usize| {
        let mut counts = vec![0; data.n_samples()];
        for &row in bags[number] {
            let count = counts.get_mut(row as usize);
            *count.ok_or_else(|| illegal_row(row, data.n_samples()))? += 1;
        }
        let target = everything.reweighted(&counts)?;
        let data = data.identified(&target, None, runtime)?;
        let number = params.first_tree + number as u64;
        let tree = grow_packed(&data, &target, &tree, number, &runtime.serial(), &spare)?;
        runtime.advance();
        Ok(Member { tree: Arc::new(tree), seed: seed_of_tree(params.seed, number) })
    };
    Forest::new(runtime.map((0..bags.len()).collect(), member)?)
}

/// The features that the nodes of the tree with this seed draw from, ascending.
pub fn tree_features(seed: u64, n_features: usize, max_features: u64) -> Vec<u32> {
    let order = NodeKey::root(seed, 0).tree_feature_order(n_features);
    let n_own = max_features.min(n_features as u64) as u32;
    let mut features: Vec<u32> = (0..n_own).map(|position| order.at(position)).collect();
    features.sort_unstable();
    features
}

fn illegal_row(row: u32, n_samples: usize) -> Error {
    Error::InvalidArgument { name: "bags", got: format!("row {row}"), expected: format!("rows below {n_samples}") }
}
