//! Isolation forests: trees that isolate rows at random, without a target (Liu, Ting, Zhou,
//! "Isolation Forest", ICDM 2008).
//!
//! Trees of numbers are grown from the values of the few rows that each tree sees (`growth`), so that nothing
//! is encoded. Categories need the names that an encoded data set gives them: those trees are grown as other
//! trees are, by a criterion without a target (`criterion::loaded::isolation`), which gives the same trees of
//! numbers, bit for bit.

mod cells;
mod filled;
mod growth;
mod linked;

use std::sync::{Arc, Mutex, PoisonError};

use cells::{Cells, InPlace};
use filled::SparseCells;
use growth::{Grower, list_lengths};

use super::{Forest, Member};
use crate::data::rows::Access;
use crate::data::{Dataset, Labels, Matrix, Target};
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
    /// Number of the first tree: above 0 if trees are added to an earlier fit.
    pub first_tree: u64,
    /// Largest depth of a leaf; the root has depth 0.
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

/// Grows one tree for each bag: the rows of the data set that the tree sees, each as often as it
/// counts. A node draws one of the features that vary in it, and a random threshold or a random
/// subset of the categories. The value of a leaf is its depth and the mean length of the path that
/// would isolate its rows.
///
/// A tree is a function of the seed, its number, and the rows of its bag, whatever other rows there
/// are.
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

/// Grows the trees that [`grow_isolation_forest`] grows, from a matrix whose features are all numbers.
/// The rows of each bag must ascend. Fails for a CSC matrix.
///
/// For a tree of dense data, a level of nodes takes O(rows of the bag) for each feature that its nodes try.
/// If the rows are sparse, a row costs the logarithm of its number of entries, and no node takes more steps
/// than its rows have entries, times that logarithm.
pub fn grow_isolation_forest_of_numbers(
    matrix: &dyn Matrix,
    bags: &[&[u32]],
    params: &IsolationParams,
    runtime: &Runtime<'_>,
) -> Result<Forest> {
    let (n_samples, n_features) = matrix.shape();
    params.tree().check(n_samples, n_features)?;
    for bag in bags {
        if let Some(&row) = bag.iter().find(|&&row| row as usize >= n_samples) {
            return Err(illegal_row(row, n_samples));
        }
        if bag.is_empty() || !bag.is_sorted() {
            let got = format!("{} rows in this order", bag.len());
            return Err(Error::InvalidArgument { name: "bags", got, expected: "ascending rows".into() });
        }
    }
    let rows = matrix.rows()?;
    if let Access::Entries(entries) = rows.access() {
        return grow_of_cells(|| SparseCells::new(entries, n_features), n_features, bags, params, runtime);
    }
    let query = matrix.query(runtime)?;
    grow_of_cells(|| Ok(InPlace::new(&*query)), n_features, bags, params, runtime)
}

/// Grows the trees of bags whose cells each thread reads by an object of its own.
fn grow_of_cells<C: Cells + Send>(
    make_cells: impl Fn() -> Result<C> + Sync,
    n_features: usize,
    bags: &[&[u32]],
    params: &IsolationParams,
    runtime: &Runtime<'_>,
) -> Result<Forest> {
    let lengths = list_lengths(bags.iter().map(|bag| bag.len()).max().unwrap_or(0));
    let spare: Mutex<Vec<Grower<C>>> = Mutex::default();
    let lock = || spare.lock().unwrap_or_else(PoisonError::into_inner);
    let member = |at: usize| {
        let taken = lock().pop();
        let make = || Ok(Grower::new(make_cells()?, n_features, Arc::clone(&lengths)));
        let mut grower = taken.map_or_else(make, Ok)?;
        let number = params.first_tree + at as u64;
        let tree = grower.grow(bags[at], number, params, runtime)?;
        lock().push(grower);
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
