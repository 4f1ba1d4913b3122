//! Lazy forests: the predictions of a forest, computed without growing the forest.
//!
//! The unit of work is the tree, or the subtree if there are fewer trees than threads. Trees are
//! asked in waves (see `waves`), and the values of their leaves are added up in the order of the
//! trees. So the sums have the same rounding as in [`Forest::predict`](super::Forest::predict),
//! whatever the number of threads. Memory besides the data and the sums is O(training rows + query
//! rows) per tree of a wave, however many trees there are.

use std::sync::{Arc, OnceLock};

use super::grow::Bags;
use super::leaves::curves::{Curve, RankedEvents, leaf_curves};
use super::leaves::quantiles::{Interpolation, Pooling, leaf_quantiles};
use super::leaves::query::{QueryLeaves, RowsOfLeaves};
use super::leaves::rows::RowWeight;
use super::leaves::targets::TargetRanks;
use super::waves::ask_in_waves;
use crate::data::query::Query;
use crate::data::target::TargetValues;
use crate::data::{Dataset, Target};
use crate::error::{Error, Result};
use crate::lazy::{LazyTree, Reached, Traversal, Visits};
use crate::memory;
use crate::params::ValidForestParams;
use crate::runtime::Runtime;
use crate::tree::descent::blocks::check_features;
use crate::tree::predict::divide;

/// A forest that is not grown: the arguments that [`grow_forest`](super::grow_forest) would get.
#[derive(Debug, Clone)]
pub struct LazyForest {
    data: Dataset,
    target: Target,
    params: ValidForestParams,
    sample_ids: Option<Arc<[u64]>>,
    /// The order of the targets, once quantiles or curves have been asked for. Clones share it.
    ranking: Arc<OnceLock<TargetRanks>>,
}

/// The names of the memory in errors.
const RESULT: &str = "the result";
const KERNEL: &str = "the forest kernel";
const LEAVES: &str = "the leaves of rows";

/// The predictions of a forest for some query rows, and how they came about.
#[derive(Debug, Clone, PartialEq)]
pub struct Explored {
    /// The predictions, row-major `(n_query, n_values)`.
    pub values: Vec<f64>,
    /// The cost of the descents, over all trees.
    pub visits: Visits,
    /// For each query row, the number of nodes on its path from root to leaf, summed over the
    /// trees.
    pub path_lengths: Vec<u64>,
    /// The weights of the training rows in each prediction, if they were asked for.
    pub weights: Option<Kernel>,
}

/// The forest kernel, a matrix in CSR form of shape `(n_query, n_samples)`: the mean over the trees
/// of each training row's share in the leaf of a query row. Columns are ascending within a row.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Kernel {
    /// Position in `indices` at which each row begins, and at the end the length of `indices`.
    pub indptr: Vec<i64>,
    /// The number of the training row of each weight.
    pub indices: Vec<i64>,
    /// Weight of each training row in `indices`.
    pub data: Vec<f64>,
}

impl LazyForest {
    /// Makes the lazy form of the forest that [`grow_forest`](super::grow_forest) would grow of
    /// these arguments.
    pub fn new(
        data: &Dataset,
        target: Target,
        params: ValidForestParams,
        sample_ids: Option<&[u64]>,
        runtime: &Runtime<'_>,
    ) -> Result<Self> {
        crate::grow::check_lengths(data, &target)?;
        let data = data.identified(&target, None, runtime)?.into_owned();
        // Errors in the draws or the target are found here, not when a prediction is asked for.
        Bags::new(&target, &params, sample_ids)?;
        Ok(Self { data, target, params, sample_ids: sample_ids.map(Into::into), ranking: Arc::default() })
    }

    /// The encoded training data, which every prediction reads.
    pub fn data(&self) -> &Dataset {
        &self.data
    }

    /// The checked hyperparameters, with which each prediction grows what it needs.
    pub fn params(&self) -> &ValidForestParams {
        &self.params
    }

    /// Number of trees that the forest would have.
    pub fn n_trees(&self) -> usize {
        (self.params.trees.end - self.params.trees.start) as usize
    }

    /// The forest of the first `n_trees` trees, however many this one has. The data are shared.
    pub fn with_n_trees(&self, n_trees: u64) -> Result<Self> {
        Ok(Self { params: self.params.with_n_estimators(n_trees)?, ..self.clone() })
    }

    /// Values per prediction: `n_outputs * max_n_classes`.
    pub fn n_values(&self) -> usize {
        crate::tree::n_values(&self.target.n_classes())
    }

    /// The traversal that "auto" means for `n_query` rows.
    pub fn auto(&self, n_query: usize) -> Traversal {
        Traversal::auto(&self.params.tree, self.data.n_samples(), n_query)
    }

    /// The mean over the trees of the values of the leaf that each row reaches: the prediction of
    /// the grown forest, bit for bit. Row-major `(n_query, n_values)`.
    pub fn predict(&self, query: &dyn Query, traversal: Traversal, runtime: &Runtime<'_>) -> Result<Vec<f64>> {
        Ok(self.explore(query, traversal, false, runtime)?.values)
    }

    /// The predictions with the cost of the descents, and, if `weights`, with the weights of the
    /// training rows in each prediction.
    pub fn explore(
        &self,
        query: &dyn Query,
        traversal: Traversal,
        weights: bool,
        runtime: &Runtime<'_>,
    ) -> Result<Explored> {
        let n_query = self.check_query(query, traversal)?;
        let n_values = self.n_values();
        let n_cells = n_query.saturating_mul(n_values);
        // Beside the result, a tree at work has the leaf and some lists of the query rows.
        let per_row = size_of::<u64>() + 5 * size_of::<u32>();
        memory::check(
            RESULT,
            n_cells.saturating_mul(size_of::<f64>()).saturating_add(n_query.saturating_mul(per_row)),
        )?;
        let mut explored = Explored {
            values: memory::zeros(RESULT, n_cells)?,
            visits: Visits::default(),
            path_lengths: memory::zeros(RESULT, n_query)?,
            weights: None,
        };
        let mut all = Vec::new();
        self.ask_trees(query, traversal, weights, runtime, |reached| {
            explored.add(&reached, n_values);
            if weights {
                all.push(reached);
            }
        })?;
        divide(&mut explored.values, self.n_trees() as f64);
        if weights {
            explored.weights = Some(self.kernel(&all, n_query, runtime)?);
        }
        Ok(explored)
    }

    /// Quantiles of the targets of the training rows in the leaves that each row reaches, all rows alike: bit
    /// for bit the quantiles of the grown forest (`quantiles`). `(n_query, n_outputs, n_quantiles)`.
    ///
    /// Takes 12 bytes for each tree and training row in a leaf that some row reaches.
    pub fn quantiles(
        &self,
        query: &dyn Query,
        traversal: Traversal,
        wanted: (&[f64], Interpolation),
        runtime: &Runtime<'_>,
    ) -> Result<Vec<f64>> {
        let n_query = self.check_query(query, traversal)?;
        let TargetValues::Numbers(numbers) = self.target.values() else {
            let (got, expected) = ("no numbers".into(), "numbers, whose quantiles are asked for".into());
            return Err(Error::InvalidArgument { name: "y", got, expected });
        };
        let ranking = self.rank(&numbers.raw, self.target.n_outputs(), runtime)?;
        let (trees, ids) = self.reach_rows(query, n_query, traversal, runtime)?;
        let rows = ReachedRows { trees: &trees, ranks: &ranking.of_row };
        let pooling = Pooling { weighted_leaves: false, leaf_by_leaf: false };
        leaf_quantiles(&rows, ranking.targets(), QueryLeaves { ids: &ids, counts: None }, wanted, pooling, runtime)
    }

    /// Curves of the time until an event from the training rows in the leaves that each row reaches, at some
    /// times: bit for bit the curves of the grown forest (`curves`). `(n_query, at.len())`.
    ///
    /// Takes 12 bytes for each tree and training row in a leaf that some row reaches.
    pub fn curves(
        &self,
        query: &dyn Query,
        traversal: Traversal,
        (at, curve): (&[f64], Curve),
        runtime: &Runtime<'_>,
    ) -> Result<Vec<f64>> {
        let n_query = self.check_query(query, traversal)?;
        let TargetValues::Survival(survival) = self.target.values() else {
            let (got, expected) = ("no times".into(), "times and events, whose curves are asked for".into());
            return Err(Error::InvalidArgument { name: "y", got, expected });
        };
        let ranking = self.rank(&survival.times, 1, runtime)?;
        let mut events: Vec<u32> = memory::zeros(LEAVES, survival.events.len())?;
        for (&rank, &event) in ranking.of_row.iter().zip(&*survival.events) {
            events[rank as usize] = event;
        }
        let outcomes = RankedEvents { times: ranking.targets().values, events: &events };
        let (trees, ids) = self.reach_rows(query, n_query, traversal, runtime)?;
        let rows = ReachedRows { trees: &trees, ranks: &ranking.of_row };
        leaf_curves(&rows, outcomes, QueryLeaves { ids: &ids, counts: None }, at, curve, runtime)
    }

    /// The order of the targets, which is found once.
    fn rank(&self, y: &[f64], n_outputs: usize, runtime: &Runtime<'_>) -> Result<&TargetRanks> {
        if let Some(ranking) = self.ranking.get() {
            return Ok(ranking);
        }
        let ranking = TargetRanks::new(y, n_outputs, runtime)?;
        Ok(self.ranking.get_or_init(|| ranking))
    }

    /// The training rows in the leaves that the rows of a query reach, tree by tree, and the numbers of
    /// these leaves, `(n_query, n_trees)`.
    fn reach_rows(
        &self,
        query: &dyn Query,
        n_query: usize,
        traversal: Traversal,
        runtime: &Runtime<'_>,
    ) -> Result<(Vec<Reached>, Vec<i64>)> {
        let mut trees = Vec::with_capacity(self.n_trees());
        self.ask_trees(query, traversal, true, runtime, |reached| trees.push(reached))?;
        let mut ids: Vec<i64> = memory::reserve(LEAVES, n_query.saturating_mul(trees.len()))?;
        ids.extend((0..n_query).flat_map(|row| trees.iter().map(move |tree| i64::from(tree.leaves[row]))));
        Ok((trees, ids))
    }

    /// The number of rows of a query. Fails unless trees can be asked about it.
    fn check_query(&self, query: &dyn Query, traversal: Traversal) -> Result<usize> {
        let n_query = check_features(query.shape(), self.data.n_features())?;
        if n_query >= u32::MAX as usize {
            let limit = u64::from(u32::MAX) - 1;
            return Err(Error::TooLarge { what: "the number of rows of X", limit, got: n_query as u64 });
        }
        traversal.check(&self.params.tree)?;
        Ok(n_query)
    }

    /// Asks all trees, and calls `take` with the answer of each, in their order.
    fn ask_trees(
        &self,
        query: &dyn Query,
        traversal: Traversal,
        rows: bool,
        runtime: &Runtime<'_>,
        take: impl FnMut(Reached),
    ) -> Result<()> {
        let bags = Bags::new(&self.target, &self.params, self.sample_ids.as_deref())?;
        let ask = |number: u64, threads: &Runtime<'_>| {
            let bag = bags.bag(number, runtime)?;
            let data = bags.order(&self.data, None, &bag, runtime)?;
            let tree = LazyTree { data: &data, target: &bag.target, params: &self.params.tree, number };
            let reached = tree.ask(query, traversal, rows, threads)?;
            runtime.advance();
            Ok(reached)
        };
        ask_in_waves(self.params.trees.clone(), query.shape().0, runtime, ask, take)
    }

    /// The forest kernel: the mean over the trees of the training rows' shares in the leaf of each
    /// query row.
    fn kernel(&self, trees: &[Reached], n_query: usize, runtime: &Runtime<'_>) -> Result<Kernel> {
        let mut weights = Kernel { indptr: memory::reserve(KERNEL, n_query + 1)?, ..Kernel::default() };
        weights.indptr.push(0);
        let mut sums: Vec<f64> = memory::zeros(KERNEL, self.data.n_samples())?;
        let mut touched = Vec::new();
        for query_row in 0..n_query {
            runtime.check_interrupt()?;
            for tree in trees {
                let Some(rows) = &tree.rows else { continue };
                let of_leaf = rows.of(tree.leaves[query_row]);
                let total = of_leaf.clone().map(|(_, weight)| weight).sum::<u64>() as f64;
                for (row, weight) in of_leaf {
                    let sum = &mut sums[row as usize];
                    if *sum == 0.0 {
                        touched.push(row);
                    }
                    *sum += weight as f64 / total;
                }
            }
            touched.sort_unstable();
            memory::make_room(KERNEL, &mut weights.indices, touched.len())?;
            memory::make_room(KERNEL, &mut weights.data, touched.len())?;
            for row in touched.drain(..) {
                weights.indices.push(row.into());
                weights.data.push(std::mem::take(&mut sums[row as usize]) / trees.len() as f64);
            }
            weights.indptr.push(weights.indices.len() as i64);
        }
        Ok(weights)
    }
}

/// The training rows of the leaves that query rows have reached in the trees of a lazy forest. Leaves
/// are numbered as they were found.
struct ReachedRows<'a> {
    trees: &'a [Reached],
    /// The rank of each training row.
    ranks: &'a [u32],
}

impl RowsOfLeaves for ReachedRows<'_> {
    fn n_trees(&self) -> usize {
        self.trees.len()
    }

    fn visit(&self, tree: usize, leaf: i64, mut visit: impl FnMut(RowWeight)) -> Result<()> {
        let of_leaf = self.trees[tree].rows.iter().flat_map(|rows| rows.of(leaf as u32));
        of_leaf.for_each(|(row, weight)| visit((self.ranks[row as usize], weight)));
        Ok(())
    }
}

impl Explored {
    /// Adds the values and depths of the leaves of one tree.
    fn add(&mut self, reached: &Reached, n_values: usize) {
        self.visits += reached.visits;
        reached.add_values(&mut self.values, n_values, 0..);
        for (length, &leaf) in self.path_lengths.iter_mut().zip(&reached.leaves) {
            *length += reached.depths[leaf as usize] + 1;
        }
    }
}
