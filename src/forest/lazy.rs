//! Lazy forests: what a forest predicts, without the forest.
//!
//! Trees are the unit of work, or subtrees where trees are fewer than threads, in waves of a few per thread; when a wave is done, its leaves are added to the sums in the
//! order of the trees, so that they have the one rounding of [`Forest::predict`](super::Forest::predict) whatever the
//! threads. Memory beside data and sums: O(training rows + query rows) per tree of a wave, however many trees there are.

use super::grow::Bags;
use crate::data::query::Query;
use crate::data::{Dataset, Target};
use crate::error::{Error, Result};
use crate::lazy::{LazyTree, Reached, Traversal, Visits};
use crate::params::ValidForestParams;
use crate::runtime::Runtime;
use crate::tree::predict::divide;

/// Trees per thread in a wave, and the query rows from which they are fewer.
const TREES_PER_THREAD: usize = 8;
const MANY_QUERY_ROWS: usize = 1 << 20;

/// All that a forest is a function of.
#[derive(Debug)]
pub struct LazyForest {
    data: Dataset,
    target: Target,
    params: ValidForestParams,
    sample_ids: Option<Box<[u64]>>,
}

/// What query rows find in a forest.
#[derive(Debug, Clone, PartialEq)]
pub struct Explored {
    /// What the forest predicts: row-major `(n_query, n_values)`.
    pub values: Vec<f64>,
    /// What it took.
    pub visits: Visits,
    /// Of each query row, the nodes on its paths, over all trees.
    pub path_lengths: Vec<u64>,
    /// The weights of training rows behind each prediction, if asked for.
    pub weights: Option<Kernel>,
}

/// The forest kernel: a matrix in CSR form, `(n_query, n_samples)`; columns ascending.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Kernel {
    /// Where rows begin, and the end.
    pub indptr: Vec<i64>,
    /// Training rows.
    pub indices: Vec<i64>,
    /// Their weights.
    pub data: Vec<f64>,
}

impl LazyForest {
    /// Of a forest that [`grow_forest`](super::grow_forest) would grow of these.
    pub fn new(data: Dataset, target: Target, params: ValidForestParams, sample_ids: Option<&[u64]>) -> Result<Self> {
        crate::grow::check_lengths(&data, &target)?;
        // What can be wrong with the draws or the target is known now, not when something is asked.
        Bags::new(&target, &params, sample_ids)?;
        Ok(Self { data, target, params, sample_ids: sample_ids.map(Into::into) })
    }

    /// The training data.
    pub fn data(&self) -> &Dataset {
        &self.data
    }

    /// Hyperparameters.
    pub fn params(&self) -> &ValidForestParams {
        &self.params
    }

    /// Number of trees.
    pub fn n_trees(&self) -> usize {
        (self.params.trees.end - self.params.trees.start) as usize
    }

    /// Values per prediction.
    pub fn n_values(&self) -> usize {
        crate::tree::n_values(&self.target.n_classes())
    }

    /// The traversal that "auto" means for so many query rows.
    pub fn auto(&self, n_query: usize) -> Traversal {
        Traversal::auto(&self.params.tree, self.data.n_samples(), n_query)
    }

    /// The mean of the values of the leaves that each row reaches: what the forest predicts, bit for bit.
    pub fn predict(&self, query: &dyn Query, traversal: Traversal, runtime: &Runtime<'_>) -> Result<Vec<f64>> {
        Ok(self.explore(query, traversal, false, runtime)?.values)
    }

    /// The same, with what it took and, if asked for, the training rows behind it.
    pub fn explore(
        &self,
        query: &dyn Query,
        traversal: Traversal,
        weights: bool,
        runtime: &Runtime<'_>,
    ) -> Result<Explored> {
        let (n_query, n_features) = query.shape();
        if n_features != self.data.n_features() {
            return Err(Error::ShapeMismatch {
                what: "X",
                expected: format!("{} features, as in training", self.data.n_features()),
                got: format!("{n_features} features"),
            });
        }
        if n_query >= u32::MAX as usize {
            let limit = u64::from(u32::MAX) - 1;
            return Err(Error::TooLarge { what: "the number of rows of X", limit, got: n_query as u64 });
        }
        traversal.check(&self.params.tree)?;
        let bags = Bags::new(&self.target, &self.params, self.sample_ids.as_deref())?;
        let ask = |number: u64| {
            let (_, target) = bags.bag(number, runtime)?;
            let tree = LazyTree { data: &self.data, target: &target, params: &self.params.tree, number };
            // Trees are one thread's work each, unless they are fewer than the threads.
            let serial = runtime.serial();
            let threads = if self.n_trees() < runtime.n_threads() { runtime } else { &serial };
            let reached = tree.ask(query, traversal, weights, threads)?;
            runtime.advance();
            Ok(reached)
        };
        let n_values = self.n_values();
        let mut explored = Explored {
            values: vec![0.0; n_query * n_values],
            visits: Visits::default(),
            path_lengths: vec![0; n_query],
            weights: None,
        };
        let mut all = Vec::new();
        let per_thread = (MANY_QUERY_ROWS / n_query.max(1)).clamp(1, TREES_PER_THREAD);
        let numbers: Vec<u64> = self.params.trees.clone().collect();
        for wave in numbers.chunks(per_thread * runtime.n_threads()) {
            for reached in runtime.map(wave.to_vec(), ask)? {
                explored.add(&reached, n_values);
                if weights {
                    all.push(reached);
                }
            }
        }
        divide(&mut explored.values, numbers.len() as f64);
        if weights {
            explored.weights = Some(self.kernel(&all, n_query, runtime)?);
        }
        Ok(explored)
    }

    /// The mean over the trees of the shares of training rows in the leaf of each query row.
    fn kernel(&self, trees: &[Reached], n_query: usize, runtime: &Runtime<'_>) -> Result<Kernel> {
        let mut weights = Kernel { indptr: vec![0], ..Kernel::default() };
        let mut sums = vec![0.0; self.data.n_samples()];
        let mut touched = Vec::new();
        for query_row in 0..n_query {
            runtime.check_interrupt()?;
            for tree in trees {
                for (row, share) in tree.rows.iter().flat_map(|rows| rows.of(tree.leaves[query_row])) {
                    let sum = &mut sums[row as usize];
                    if *sum == 0.0 {
                        touched.push(row);
                    }
                    *sum += share;
                }
            }
            touched.sort_unstable();
            for row in touched.drain(..) {
                weights.indices.push(row.into());
                weights.data.push(std::mem::take(&mut sums[row as usize]) / trees.len() as f64);
            }
            weights.indptr.push(weights.indices.len() as i64);
        }
        Ok(weights)
    }
}

impl Explored {
    /// Adds the leaves of a tree.
    fn add(&mut self, reached: &Reached, n_values: usize) {
        self.visits += reached.visits;
        let sums = self.values.chunks_exact_mut(n_values).zip(&mut self.path_lengths);
        for ((sum, length), &leaf) in sums.zip(&reached.leaves) {
            let leaf = leaf as usize;
            *length += reached.depths[leaf] + 1;
            for (sum, value) in sum.iter_mut().zip(&reached.values[leaf * n_values..][..n_values]) {
                *sum += value;
            }
        }
    }
}
