//! Subtrees of dense data that are grown on a copy of their rows: which, and how they begin.
//!
//! The rows of a node lie scattered over columns that may exceed every cache, and each of its cells costs a cache miss. A
//! copy brings them together, for all levels below. It is worth its cost if those read more cells than there are to copy:
//! a node reads only the columns that it draws.

use std::sync::Arc;

use super::expand::Pending;
use crate::criterion;
use crate::criterion::{Criterion, Visitor};
use crate::data::{Columns, Dataset, Target};
use crate::error::Result;
use crate::params::ValidTreeParams;
use crate::rng::NodeKey;
use crate::runtime::Runtime;
use crate::simd::Level;
use crate::split::limits::Limits;
use crate::split::samples::Samples;
use crate::split::{ConstantFeatures, Search};

/// Most cells of a copy that stays in the second-level cache: half of 1 MiB (bench `fit`).
const NEAR_CELLS: usize = 1 << 17;
/// A node with this many times fewer rows than the data is copied too: each of its cache lines then holds one of its cells.
const SPREAD: usize = 16;
/// What a level saves per cell that it reads, as a share of the cost of copying one (bench `fit`).
const SAVED_PER_LEVEL: f64 = 0.6;

/// The rule for one data set.
#[derive(Debug, Clone, Copy)]
pub struct Copies {
    max_samples: usize,
    max_near_samples: usize,
    /// Columns of the data per column that a node draws.
    n_features_per_draw: f64,
}

impl Copies {
    /// The rule, if there is anything to be copied: not if all cells are near enough.
    pub fn of(data: &Dataset, n_drawn: usize, forced: Option<bool>) -> Option<Self> {
        let (n_samples, n_features) = (data.n_samples(), data.n_features());
        let is_dense = matches!(data.columns(), Columns::Dense(_));
        if !is_dense || forced == Some(false) {
            return None;
        }
        if forced == Some(true) {
            // All but the root, again and again.
            let max_samples = n_samples.saturating_sub(1);
            return Some(Self { max_samples, max_near_samples: max_samples, n_features_per_draw: 0.0 });
        }
        let max_near_samples = NEAR_CELLS / n_features;
        (n_samples > 2 * max_near_samples).then(|| Self {
            max_samples: max_near_samples.max(n_samples / SPREAD),
            max_near_samples,
            n_features_per_draw: n_features as f64 / n_drawn as f64,
        })
    }

    /// Whether the subtree of a node with so many rows is to be grown on a copy.
    pub fn admit(&self, n_samples: usize) -> bool {
        // A subtree of n rows has some log2(n) levels or more.
        self.admit_levels(n_samples, (n_samples as f64).log2())
    }

    /// The same for a subtree of which only the nodes are visited that some of `n_query` query rows reach.
    pub fn admit_visits(&self, n_samples: usize, n_query: usize) -> bool {
        // Levels that are visited, as if whole: the first log2(m), and a path below each of their nodes, whose rows halve.
        self.admit_levels(n_samples, (n_samples as f64).log2().min((n_query as f64).log2() + 1.0))
    }

    fn admit_levels(&self, n_samples: usize, levels: f64) -> bool {
        // One that is not near will be copied again.
        let levels = if n_samples > self.max_near_samples { levels.min((SPREAD as f64).log2()) } else { levels };
        n_samples <= self.max_samples && levels * SAVED_PER_LEVEL > self.n_features_per_draw
    }
}

/// What is to be done with a subtree, for any criterion.
pub trait Subtree {
    /// What comes of it.
    type Output;
    /// Does it. `root` has all rows of the search's data; `target` is theirs.
    fn grow<C: Criterion>(self, search: Search<'_, C>, target: &Target, root: Pending<'_, C>) -> Result<Self::Output>;
}

/// Does something with the subtree of a node on `copy`, which has the node's rows in their order. The subtree is the same
/// as below the node.
pub fn on_copy<C: Criterion, S: Subtree>(
    copy: &Dataset,
    search: &Search<'_, C>,
    target: &Target,
    node: &Pending<'_, C>,
    subtree: S,
) -> Result<S::Output> {
    let &Search { params, runtime, level, total_weight, max_weight, min_weight_leaf, .. } = search;
    let target = target.subset(node.samples.ids());
    let on_copy = OnCopy {
        data: copy,
        target: &target,
        params,
        runtime,
        level,
        total_weight,
        max_weight,
        min_weight_leaf,
        depth: node.depth,
        key: node.key,
        constants: Arc::clone(&node.constants),
        limits: node.limits.clone(),
        subtree,
    };
    criterion::visit(params.criterion, &target, on_copy)
}

/// A subtree whose rows are a data set and a target of their own.
struct OnCopy<'a, S> {
    data: &'a Dataset,
    target: &'a Target,
    params: &'a ValidTreeParams,
    runtime: &'a Runtime<'a>,
    level: Level,
    /// These three are of the whole tree.
    total_weight: u64,
    max_weight: u64,
    min_weight_leaf: f64,
    depth: u64,
    key: NodeKey,
    constants: Arc<ConstantFeatures>,
    limits: Option<Limits>,
    subtree: S,
}

impl<S: Subtree> Visitor for OnCopy<'_, S> {
    type Output = S::Output;

    fn visit<C: Criterion>(self, criterion: &C) -> Result<S::Output> {
        let Self { data, target, params, runtime, level, depth, key, constants, limits, subtree, .. } = self;
        let Self { total_weight, max_weight, min_weight_leaf, .. } = self;
        let search = Search { data, criterion, params, total_weight, max_weight, min_weight_leaf, runtime, level };
        let n_samples = data.n_samples();
        let mut samples = Samples::new((0..n_samples as u32).collect(), n_samples, false);
        let root = Pending::anew(&search, samples.root(), depth, key, constants, limits);
        subtree.grow(search, target, root)
    }
}
