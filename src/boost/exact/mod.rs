//! The engine of boosting for dense columns of numbers: trees of squared error over bins that stay the same
//! for all rounds. It grows the trees that [`grow`](crate::grow::grow) grows, bit for bit.
//!
//! The histogram of the smaller child of a node is counted, and that of the larger child is the difference
//! to the node's. Cuts between bins are scored from the histogram alone; cuts within a bin are bounded by
//! sums of squares, so that few bins are read.

mod bins;
mod histogram;
mod search;

use std::cmp::Ordering;
use std::collections::BinaryHeap;

pub use bins::Bins;

use crate::criterion::Statistics;
use crate::criterion::squared_error::SumTotals;
use crate::criterion::weights::SmallWeights;
use crate::data::target::{Numbers, TargetValues, Weights};
use crate::data::{Columns, Dataset, DenseColumns, Target};
use crate::error::Result;
use crate::grow::best_first::improvement;
use crate::grow::expand::{NodeSize, Split, gains_too_little, must_stop};
use crate::grow::facts::Facts;
use crate::grow::part::Part;
use crate::params::ValidTreeParams;
use crate::rng::{NodeKey, Side};
use crate::runtime::Runtime;
use crate::split::samples::{SampleSet, Samples};
use crate::split::{Candidate, Search};
use crate::tree::Tree;
use histogram::{Bin, Gradients, Histogram};
use search::{Criterion, NO_NODE, Scratch, SearchedNode, Searcher};

/// The most leaves, and the largest depth, of trees that are grown on bins. Deeper trees have many nodes of
/// few rows, for which histograms of all columns are a waste (`benches/peers/boosting.py`).
const MOST_LEAVES: u64 = 1024;
const MOST_DEPTH: u64 = 10;

/// The most bytes that the histograms of waiting nodes may take.
const MOST_BYTES: u64 = 1 << 28;
/// The columns of a node of fewer cells are one thread's work: about 50 us (`benches/peers/boosting.py`).
const THREADS_FROM_CELLS: usize = 1 << 15;

/// Whether trees of these hyperparameters are small enough.
pub fn are_worth_bins(params: &ValidTreeParams) -> bool {
    params.max_depth <= MOST_DEPTH || params.max_leaf_nodes.is_some_and(|most| most <= MOST_LEAVES)
}

/// Whether the trees of a target and of these hyperparameters can be grown on bins: all rows of the bag weigh
/// 1, sums fit in 64 bits, and nodes draw all features.
fn is_served(target: &Target, numbers: &Numbers, params: &ValidTreeParams, n_features: usize) -> bool {
    matches!(target.weights(), Weights::Unit | Weights::Present(_))
        && numbers.sums_fit_i64
        && params.max_features >= n_features as u64
        && params.max_tree_features.is_none()
        && params.monotonic_cst.is_none()
}

/// Grows a tree as [`grow`](crate::grow::grow) grows tree number 0; nothing if bins do not serve for it.
pub fn grow(
    data: &Dataset,
    bins: &Bins,
    target: &Target,
    params: &ValidTreeParams,
    runtime: &Runtime<'_>,
) -> Result<Option<Tree>> {
    let (Columns::Dense(columns), TargetValues::Numbers(numbers)) = (data.columns(), target.values()) else {
        return Ok(None);
    };
    let n_waiting = params.max_leaf_nodes.unwrap_or(params.max_depth);
    let n_bytes = n_waiting.saturating_mul((bins.n_in_all * size_of::<Bin>()) as u64);
    if !is_served(target, numbers, params, data.n_features()) || n_bytes > MOST_BYTES {
        return Ok(None);
    }
    let criterion = Criterion::new(numbers, SmallWeights(None));
    let mut samples = Samples::new(target.weighted_samples(), data.n_samples(), false);
    let root = samples.root();
    let totals = criterion.totals(root.ids());
    let search = Search::new(data, target, &criterion, params, criterion.weight(&totals), runtime)?;
    let gradients = Gradients::new(&numbers.fixed, root.ids());
    let mut members = vec![NO_NODE; data.n_samples()];
    root.ids().iter().for_each(|&row| members[row as usize] = 0);
    let mut growth = Growth {
        search: &search,
        bins,
        columns,
        gradients: &gradients,
        members,
        n_numbers: 1,
        scratches: (0..runtime.n_threads()).map(|_| Scratch::default()).collect(),
        gathered: Vec::new(),
        part: Part::new(1),
    };
    let key = NodeKey::root(params.seed, 0);
    let root = Node { samples: root, totals, depth: 0, key, number: 0, histogram: None };
    growth.run(root)?;
    let tree = growth.part.finish(data, target.n_classes()).into_tree()?;
    Ok(Some(if params.ccp_alpha > 0.0 { tree.pruned(params.ccp_alpha, runtime)? } else { tree }))
}

/// The least number of rows of a child, each of which weighs 1.
fn least_rows(min_samples_leaf: u64, min_weight_leaf: f64) -> u32 {
    let least = min_samples_leaf.max(min_weight_leaf.ceil() as u64).max(1);
    u32::try_from(least).unwrap_or(u32::MAX)
}

/// A node that has been reached.
struct Node<'s> {
    samples: SampleSet<'s>,
    totals: SumTotals<i64>,
    depth: u64,
    key: NodeKey,
    /// By which `members` knows its rows; [`NO_NODE`] for none.
    number: u16,
    histogram: Option<Histogram>,
}

/// A node that can be split, with its split and its children.
struct Fork<'s> {
    /// Of waiting nodes, the one with the highest is next.
    priority: f64,
    id: usize,
    split: Split,
    children: [Node<'s>; 2],
    /// The histogram of the node.
    histogram: Histogram,
}

struct Growth<'a, 'c> {
    search: &'a Search<'a, Criterion<'c>>,
    bins: &'a Bins,
    columns: &'a DenseColumns,
    gradients: &'a Gradients<'a>,
    members: Vec<u16>,
    n_numbers: u16,
    /// One for each thread.
    scratches: Vec<Scratch>,
    gathered: Vec<Bin>,
    part: Part,
}

impl Growth<'_, '_> {
    /// Grows the tree: all of it, or, if the number of leaves is limited, the best splits first, as
    /// `grow::best_first` does.
    fn run(&mut self, root: Node<'_>) -> Result<()> {
        let most = self.search.params.max_leaf_nodes.unwrap_or(u64::MAX);
        let mut waiting = BinaryHeap::new();
        let id = self.record(&root, None)?;
        waiting.extend(self.expand(id, root)?);
        let mut n_leaves = 1;
        while n_leaves < most
            && let Some(Fork { id: parent, split, children, histogram, .. }) = waiting.pop()
        {
            self.part.keep(parent, split);
            n_leaves += 1;
            let children = self.inherit(children, histogram, n_leaves < most)?;
            for (place, child) in children.into_iter().enumerate() {
                let id = self.record(&child, Some((parent, place)))?;
                if n_leaves < most {
                    waiting.extend(self.expand(id, child)?);
                }
            }
        }
        Ok(())
    }

    fn record(&mut self, node: &Node<'_>, parent: Option<(usize, usize)>) -> Result<usize> {
        let Node { samples, depth, totals, .. } = node;
        let criterion = self.search.criterion;
        let facts = Facts { criterion, samples: samples.ids(), depth: *depth, totals, limits: None };
        self.part.add(self.search.target.weight_unit(), &facts, parent)
    }

    fn must_stop(&self, node: &Node<'_>) -> bool {
        let criterion = self.search.criterion;
        let weight = criterion.weight(&node.totals);
        must_stop(self.search, node.depth, node.samples.len(), weight, || criterion.is_pure(&node.totals))
    }

    /// Gives children their histograms, if they may be split.
    fn inherit<'s>(
        &mut self,
        mut children: [Node<'s>; 2],
        histogram: Histogram,
        may_split: bool,
    ) -> Result<[Node<'s>; 2]> {
        let small = usize::from(children[0].samples.len() > children[1].samples.len());
        let wanted = children.each_ref().map(|child| may_split && !self.must_stop(child));
        if !wanted[0] && !wanted[1] {
            return Ok(children);
        }
        let counted = self.count(children[small].samples.ids())?;
        if wanted[1 - small] {
            let mut rest = histogram;
            histogram::subtract(&mut rest, &counted);
            children[1 - small].histogram = Some(rest);
        }
        children[small].histogram = wanted[small].then_some(counted);
        // The larger child keeps the number of its parent.
        let number = self.n_numbers;
        if number < NO_NODE {
            self.n_numbers += 1;
            children[small].samples.ids().iter().for_each(|&row| self.members[row as usize] = number);
        }
        children[small].number = number;
        Ok(children)
    }

    /// The number of threads for the work of a node.
    fn n_threads(&self, n_samples: usize) -> usize {
        let n_cells = n_samples.saturating_mul(self.bins.columns.len());
        if n_cells < THREADS_FROM_CELLS { 1 } else { self.scratches.len() }
    }

    fn count(&mut self, samples: &[u32]) -> Result<Histogram> {
        let threads = (self.n_threads(samples.len()), self.search.runtime);
        histogram::count(self.bins, self.columns, self.gradients, samples, &mut self.gathered, threads)
    }

    /// Finds the split of a node, and partitions its rows. `None` if the node is a leaf.
    fn expand<'s>(&mut self, id: usize, mut node: Node<'s>) -> Result<Option<Fork<'s>>> {
        let search = self.search;
        search.runtime.check_interrupt()?;
        if self.must_stop(&node) {
            return Ok(None);
        }
        let histogram = match node.histogram.take() {
            Some(histogram) => histogram,
            None => self.count(node.samples.ids())?,
        };
        let n_threads = self.n_threads(node.samples.len());
        let searcher = Searcher {
            bins: self.bins,
            columns: self.columns,
            gradients: self.gradients,
            criterion: search.criterion,
            min_leaf: least_rows(search.params.min_samples_leaf, search.min_weight_leaf),
            members: &self.members,
        };
        let searched = SearchedNode {
            samples: node.samples.ids(),
            totals: &node.totals,
            histogram: &histogram,
            order: node.key.feature_order(search.data.n_features()),
            number: node.number,
        };
        let found = searcher.best_cut(&searched, &mut self.scratches[..n_threads], search.runtime)?;
        let Some(cut) = found else { return Ok(None) };
        Ok(self.divide(id, node, cut, histogram))
    }

    /// Splits a node, unless that gains too little.
    fn divide<'s>(&self, id: usize, node: Node<'s>, mut cut: Candidate, histogram: Histogram) -> Option<Fork<'s>> {
        let (search, criterion) = (self.search, self.search.criterion);
        let Node { mut samples, totals, depth, key, number, .. } = node;
        let n_left = self.partition(&mut samples, &mut cut, &histogram);
        let (left_ids, right_ids) = samples.ids().split_at(n_left);
        let left_is_small = n_left <= right_ids.len();
        let small = criterion.totals(if left_is_small { left_ids } else { right_ids });
        let large = criterion.minus(&totals, &small);
        let size = |totals| NodeSize::of(criterion, totals);
        if search.params.min_impurity_decrease > 0.0
            && gains_too_little(search, size(&totals), size(&small), size(&large))
        {
            return None;
        }
        let priority = match search.params.max_leaf_nodes {
            Some(_) => improvement(criterion.cost(&totals), criterion.cost(&small) + criterion.cost(&large)),
            // All nodes have their turn. The deepest come first, so that few wait with their histograms.
            None => depth as f64,
        };
        let heavier = if n_left > right_ids.len() { Side::Left } else { Side::Right };
        let split = Split::of(search.data, cut.feature, (left_ids, right_ids), heavier, None, || cut.threshold_rule());
        let (left, right) = samples.split_at(n_left);
        let (of_left, of_right) = if left_is_small { (small, large) } else { (large, small) };
        let child = |side, samples, totals| Node {
            samples,
            totals,
            depth: depth + 1,
            key: key.child(side),
            number,
            histogram: None,
        };
        let children = [child(Side::Left, left, of_left), child(Side::Right, right, of_right)];
        Some(Fork { priority, id, split, children, histogram })
    }

    /// Moves the rows that go left to the front, and gives a cut between two bins the ranks beside it that
    /// the node has. Returns how many rows go left.
    fn partition(&self, samples: &mut SampleSet<'_>, cut: &mut Candidate, histogram: &[Bin]) -> usize {
        let of_feature = self.columns.column(cut.feature);
        let column = &self.bins.columns[cut.feature as usize];
        if !cut.is_loose {
            let last = cut.last_left;
            return samples.partition(|_, row| of_feature.rank(row) <= last);
        }
        let bins = column.of_rows(of_feature);
        let counts = &histogram[column.first..][..column.n_bins];
        let bin_of = |rank: u32| match &column.coarse {
            Some(coarse) => coarse.first_ranks.partition_point(|&first| first <= rank) - 1,
            None => rank as usize,
        };
        let last = bin_of(cut.last_left);
        let n_left = samples.partition(|_, row| usize::from(bins[row as usize]) <= last);
        let below = (0..=last).rev().find(|&bin| counts[bin].n > 0).unwrap_or(last);
        let above = (last + 1..column.n_bins).find(|&bin| counts[bin].n > 0).unwrap_or(last + 1);
        let (mut last_left, mut first_right) = (below as u32, above as u32);
        if column.coarse.is_some() {
            let (left, right) = samples.ids().split_at(n_left);
            let ranks = |rows: &[u32], bin: usize| {
                let rows = rows.iter().filter(move |&&row| usize::from(bins[row as usize]) == bin);
                rows.map(|&row| of_feature.rank(row)).fold((u32::MAX, 0), |(a, b), rank| (a.min(rank), b.max(rank)))
            };
            last_left = ranks(left, below).1;
            first_right = ranks(right, above).0;
        }
        *cut = Candidate::between(cut.feature, last_left, first_right, n_left);
        n_left
    }
}

impl Ord for Fork<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.priority.total_cmp(&other.priority).then(other.id.cmp(&self.id))
    }
}

impl PartialOrd for Fork<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Fork<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Fork<'_> {}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use ndarray::Array2;
    use proptest::prelude::*;

    use super::*;
    use crate::params::{CriterionKind, TreeParams};

    /// Numbers that look random.
    fn noise(seed: u64, at: usize) -> f64 {
        let mixed = (seed ^ at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (mixed >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Columns of two, some or very many distinct values; those of two are codes of one number.
    fn matrix(n: usize, n_features: usize, seed: u64) -> Array2<f64> {
        Array2::from_shape_fn((n, n_features), |(row, column)| {
            let value = noise(seed, row * n_features + column);
            match column % 4 {
                0 => value,
                1 => (value * 9.0).floor(),
                2 => f64::from(u8::from((noise(seed, row) * 8.0) as usize == column)),
                _ => (value * value * 700.0).floor(),
            }
        })
    }

    #[test]
    fn threads_do_not_show() {
        let (n, n_features) = (12_000, 5);
        let data = Dataset::from_dense(matrix(n, n_features, 7).view(), &Runtime::unstoppable()).unwrap();
        let y: Vec<f64> = (0..n).map(|row| data.value(0, data.rank(0, row as u32)) + noise(3, row)).collect();
        let target = Target::regression(&y, 1, None).unwrap().refilled(&y).unwrap();
        let params = TreeParams {
            max_leaf_nodes: Some(20),
            min_samples_leaf: crate::params::Count::Absolute(1),
            ..TreeParams::new(CriterionKind::SquaredError)
        };
        let params = params.check(n, n_features).unwrap();
        let stop = AtomicBool::new(false);
        let [one, three] = [1, 3].map(|n_threads| {
            let runtime = Runtime::new(n_threads, &stop);
            let bins = Bins::of(&data, &runtime).unwrap().unwrap();
            grow(&data, &bins, &target, &params, &runtime).unwrap()
        });
        assert_eq!(one, three);
        assert_eq!(one, Some(crate::grow::grow(&data, &target, &params, 0, &Runtime::unstoppable()).unwrap()));
    }

    proptest! {
        #[test]
        fn trees_on_bins_are_those_of_the_wide_engine(
            n in 2usize..1500,
            n_features in 1usize..9,
            seed: u64,
            gradients in 0u32..4,
            min_samples_leaf in 1u64..30,
            max_depth in 1u64..8,
            max_leaf_nodes in prop::option::of(2u64..40),
            share in 0.3f64..1.4,
            decrease in prop::option::of(0.0f64..0.05),
        ) {
            let runtime = Runtime::unstoppable();
            let data = Dataset::from_dense(matrix(n, n_features, seed).view(), &runtime).unwrap();
            let signal = |row: usize| data.value(0, data.rank(0, row as u32)) - 0.5;
            let y: Vec<f64> = (0..n).map(|row| {
                let value = noise(!seed, row) - 0.5;
                match gradients {
                    0 => value,
                    1 => value.signum(),
                    2 => signal(row).signum() + 0.1 * value,
                    // A few rows far from the others.
                    _ => if row % 97 == 3 { value * 1e9 } else { value },
                }
            }).collect();
            let counts: Vec<u32> = (0..n).map(|row| u32::from(row == 0 || noise(seed, !row) < share)).collect();
            let target = Target::regression(&y, 1, None).unwrap().reweighted(&counts).unwrap().refilled(&y).unwrap();
            let params = TreeParams {
                min_samples_leaf: crate::params::Count::Absolute(min_samples_leaf),
                max_depth: Some(max_depth),
                max_leaf_nodes,
                min_impurity_decrease: decrease.unwrap_or(0.0),
                seed,
                ..TreeParams::new(CriterionKind::SquaredError)
            };
            let params = params.check(n, n_features).unwrap();
            let bins = Bins::of(&data, &runtime).unwrap().unwrap();
            if let Some(found) = grow(&data, &bins, &target, &params, &runtime).unwrap() {
                prop_assert_eq!(found, crate::grow::grow(&data, &target, &params, 0, &runtime).unwrap());
            } else {
                // Sums of wide gradients do not fit.
                prop_assert_eq!(gradients, 3);
            }
        }
    }
}
