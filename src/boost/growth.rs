//! Grows a tree on bins that stay the same for all rounds, by an [`Engine`] that knows what a split gains.
//!
//! The histogram of the smaller child of a node is counted, and that of the larger child is the difference
//! to the node's.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

use super::bins::{BinnedColumn, Bins, MAX_BINS};
use super::by_rows;
use super::histogram::{self, Cell, Histogram};
use super::orders::Order;
use super::search::{self, Scratch};
use crate::bitset::Bitset;
use crate::data::{Columns, Dataset, Target};
use crate::error::Result;
use crate::grow::expand::Split;
use crate::grow::facts::NodeFacts;
use crate::grow::part::Part;
use crate::params::ValidTreeParams;
use crate::rng::{NodeKey, Permutation, Side};
use crate::runtime::Runtime;
use crate::split::constants::ConstantFeatures;
use crate::split::samples::{SampleSet, Samples};
use crate::split::{Candidate, Cut};
use crate::tree::Tree;

/// The most bytes that the histograms of waiting nodes take; others are counted anew.
const MOST_BYTES: usize = 1 << 28;
/// The columns of a node of fewer cells are one thread's work: about 50 us (`benches/peers/boosting.py`).
const THREADS_FROM_CELLS: usize = 1 << 15;

/// What a split minimises.
pub trait Engine: Sync {
    /// What a bin has of its rows.
    type Cell: Cell;
    /// What a node has of its rows.
    type Totals: Sync;
    /// What scores need of a node.
    type AtNode: Copy + Sync;
    /// The best cut so far.
    type Best: Send;
    /// Whether impurities do not tell what a split gains.
    const KEEPS_GAINS: bool;

    /// A cell for each row of the data set.
    fn rows(&self) -> &[Self::Cell];
    fn totals(&self, samples: &[u32]) -> Self::Totals;
    /// What a node has of the rows of a cell; `None` if the cell does not tell all of it.
    fn totals_of(&self, rows: &Self::Cell) -> Option<Self::Totals>;
    fn minus(&self, node: &Self::Totals, child: &Self::Totals) -> Self::Totals;
    /// The facts that a tree keeps of a node.
    fn facts<'a>(&'a self, samples: &'a [u32], depth: u64, totals: &'a Self::Totals) -> impl NodeFacts + 'a;
    /// Whether a node is a leaf without a search.
    fn must_stop(&self, depth: u64, n_samples: usize, totals: &Self::Totals) -> bool;
    /// What a split gains; `None` if that is too little.
    fn gain(&self, node: &Self::Totals, children: [&Self::Totals; 2]) -> Option<Gain>;

    fn at_node(&self, node: &SearchedNode<'_, Self>) -> Self::AtNode
    where
        Self: Sized;
    /// The least rows on each side of a cut, at least 1.
    fn min_leaf(&self) -> u32;
    /// The score of a cut that has these rows on the left, the higher the better; minus infinity if it is
    /// illegal.
    fn score(&self, at: Self::AtNode, left: &Self::Cell) -> f64;
    /// The scores of some cuts that leave enough rows on each side. `scratch` is memory.
    fn score_all(
        &self,
        at: Self::AtNode,
        lefts: &[Self::Cell],
        _scratch: &mut [[f64; MAX_BINS]; 2],
        scores: &mut [f64; MAX_BINS],
    ) {
        for (left, score) in lefts.iter().zip(scores) {
            *score = self.score(at, left);
        }
    }
    /// Whether a cut within a bin may have a score of at least `floor`, given what is on the left before the
    /// bin.
    fn may_hold(&self, at: Self::AtNode, before: &Self::Cell, bin: &Self::Cell, floor: f64) -> bool;
    /// Whether cuts within bins are searched.
    fn reads_bins(&self) -> bool;
    /// How the categories of a feature are ordered.
    fn order_of(&self, _feature: u32) -> &Order {
        &Order::Node
    }
    /// Where nodes order categories, those of fewer rows are as one.
    fn min_samples_category(&self) -> u32 {
        1
    }
    /// The order of the means of two categories.
    fn compare_means(&self, a: &Self::Cell, b: &Self::Cell) -> Ordering;
    /// How far scores near this one may be wrong.
    fn tolerance(&self, node: &SearchedNode<'_, Self>, score: f64) -> f64
    where
        Self: Sized;

    fn no_cut(&self) -> Self::Best;
    /// A cut with a lower score cannot win.
    fn floor(&self, best: &Self::Best) -> f64;
    fn score_of(&self, best: &Self::Best) -> Option<f64>;
    fn candidate(&self, best: Self::Best) -> Option<Candidate>;
    /// Takes a cut if it is better.
    fn offer(
        &self,
        node: &SearchedNode<'_, Self>,
        left: &Self::Cell,
        score: f64,
        candidate: Candidate,
        best: &mut Self::Best,
    ) where
        Self: Sized;
    /// Takes the cut of another thread if it is better.
    fn merge(&self, node: &SearchedNode<'_, Self>, best: &mut Self::Best, other: Self::Best)
    where
        Self: Sized;
    /// Raises the floor to a cut with this score, which another thread has found.
    fn follow(&self, node: &SearchedNode<'_, Self>, best: &mut Self::Best, score: f64)
    where
        Self: Sized;
}

/// What a split gains.
pub struct Gain {
    /// Of waiting nodes, the one with the highest is next.
    pub priority: f64,
    /// What the tree keeps; 0 if impurities tell it.
    pub kept: f64,
}

/// A node, as its search sees it.
pub struct SearchedNode<'a, E: Engine> {
    pub samples: &'a [u32],
    pub totals: &'a E::Totals,
    pub histogram: &'a [E::Cell],
    /// All rows of the node together.
    pub whole: E::Cell,
    pub order: Permutation,
    /// The number of the node, and that of the node of each row.
    pub number: u32,
    pub members: &'a [u32],
}

impl<E: Engine> SearchedNode<'_, E> {
    /// Whether a row is one of the node's.
    #[inline]
    pub fn has(&self, row: u32) -> bool {
        self.members[row as usize] == self.number
    }
}

/// A node that has been reached.
struct Node<'s, E: Engine> {
    samples: SampleSet<'s>,
    totals: E::Totals,
    depth: u64,
    key: NodeKey,
    /// By which `members` knows its rows.
    number: u32,
    histogram: Option<Histogram<E::Cell>>,
    /// The features that may not interact with those above the node; `None` if all may.
    excluded: Option<Arc<ConstantFeatures>>,
}

/// A node that can be split, with its split and its children.
struct Fork<'s, E: Engine> {
    /// Of waiting nodes, the one with the highest is next.
    priority: f64,
    id: usize,
    split: Split,
    children: [Node<'s, E>; 2],
    /// The histogram of the node, unless there is no room for it.
    histogram: Option<Histogram<E::Cell>>,
}

/// A tree that grows.
pub struct Growth<'a, E: Engine> {
    engine: &'a E,
    data: &'a Dataset,
    bins: &'a Bins,
    target: &'a Target,
    params: &'a ValidTreeParams,
    runtime: &'a Runtime<'a>,
    members: Vec<u32>,
    n_numbers: u32,
    /// One for each thread.
    scratches: Vec<Scratch<E::Cell>>,
    gathered: Vec<E::Cell>,
    /// Rows of a sparse column that do not go where its zeros go.
    moved: Bitset,
    n_kept: usize,
    part: Part,
}

/// A tree with the rows that it was grown on.
#[derive(Debug, PartialEq)]
pub struct Grown {
    pub tree: Tree,
    /// Those of each node one after the other; none if they were not kept so.
    pub rows: Vec<u32>,
    /// The number of the leaf of each row. Only rows of one leaf have the same.
    pub leaf_numbers: Vec<u32>,
}

impl Grown {
    pub fn without_rows(tree: Tree) -> Self {
        Self { tree, rows: Vec::new(), leaf_numbers: Vec::new() }
    }
}

/// Grows a tree. `target` has the weights; rows of weight 0 take no part. All features on a path from the
/// root are in one group of `interaction_cst`, if there are such groups.
pub fn grow<E: Engine>(
    (data, bins): (&Dataset, &Bins),
    target: &Target,
    engine: &E,
    params: &ValidTreeParams,
    runtime: &Runtime<'_>,
) -> Result<Grown> {
    let mut samples = Samples::new(target.weighted_samples(), data.n_samples(), false);
    let root = samples.root();
    let mut members = vec![u32::MAX; data.n_samples()];
    root.ids().iter().for_each(|&row| members[row as usize] = 0);
    let mut growth = Growth {
        engine,
        data,
        bins,
        target,
        params,
        runtime,
        members,
        n_numbers: 1,
        scratches: (0..runtime.n_threads()).map(|_| Scratch::default()).collect(),
        gathered: Vec::new(),
        moved: Bitset::new(if bins.sparse.is_some() { data.n_samples() } else { 0 }),
        n_kept: 0,
        part: Part::new(1),
    };
    let totals = engine.totals(root.ids());
    let key = NodeKey::root(params.seed, 0);
    let at_root = |groups| ConstantFeatures::none(data.n_features()).at_root(groups, data.n_features());
    let excluded = params.interaction_cst.as_deref().map(|groups| Arc::new(at_root(groups)));
    let root = Node { samples: root, totals, depth: 0, key, number: 0, histogram: None, excluded };
    growth.run(root)?;
    let mut records = growth.part.finish(data, target.n_classes());
    if E::KEEPS_GAINS {
        records.fold_gains();
    }
    let tree = records.into_tree()?;
    if params.ccp_alpha > 0.0 {
        return Ok(Grown::without_rows(tree.pruned(params.ccp_alpha, runtime)?));
    }
    let leaf_numbers = growth.members;
    Ok(Grown { tree, rows: samples.into_ids(), leaf_numbers })
}

impl<E: Engine> Growth<'_, E> {
    /// Grows the tree: all of it, or, if the number of leaves is limited, the best splits first, as
    /// `grow::best_first` does.
    fn run(&mut self, root: Node<'_, E>) -> Result<()> {
        let most = self.params.max_leaf_nodes.unwrap_or(u64::MAX);
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

    fn record(&mut self, node: &Node<'_, E>, parent: Option<(usize, usize)>) -> Result<usize> {
        let facts = self.engine.facts(node.samples.ids(), node.depth, &node.totals);
        self.part.add(self.target.weight_unit(), &facts, parent)
    }

    fn must_stop(&self, node: &Node<'_, E>) -> bool {
        self.engine.must_stop(node.depth, node.samples.len(), &node.totals)
    }

    /// Gives children their numbers, and their histograms if they may be split.
    fn inherit<'s>(
        &mut self,
        mut children: [Node<'s, E>; 2],
        histogram: Option<Histogram<E::Cell>>,
        may_split: bool,
    ) -> Result<[Node<'s, E>; 2]> {
        self.n_kept -= usize::from(histogram.is_some());
        let small = usize::from(children[0].samples.len() > children[1].samples.len());
        let wanted = children.each_ref().map(|child| may_split && !self.must_stop(child));
        if let Some(mut rest) = histogram.filter(|_| wanted.contains(&true)) {
            let counted = self.count(children[small].samples.ids())?;
            if wanted[1 - small] {
                histogram::subtract(&mut rest, &counted);
                children[1 - small].histogram = Some(rest);
            }
            children[small].histogram = wanted[small].then_some(counted);
        }
        // The larger child keeps the number of its parent.
        let number = self.n_numbers;
        self.n_numbers += 1;
        children[small].samples.ids().iter().for_each(|&row| self.members[row as usize] = number);
        children[small].number = number;
        Ok(children)
    }

    /// The number of threads for the work of a node.
    fn n_threads(&self, n_samples: usize) -> usize {
        let n_cells = n_samples.saturating_mul(self.bins.n_binned());
        if n_cells < THREADS_FROM_CELLS { 1 } else { self.scratches.len() }
    }

    fn count(&mut self, samples: &[u32]) -> Result<Histogram<E::Cell>> {
        let threads = (self.n_threads(samples.len()), self.runtime);
        histogram::count((self.data, self.bins), self.engine.rows(), samples, &mut self.gathered, threads)
    }

    /// Finds the split of a node, and partitions its rows. `None` if the node is a leaf.
    fn expand<'s>(&mut self, id: usize, mut node: Node<'s, E>) -> Result<Option<Fork<'s, E>>> {
        self.runtime.check_interrupt()?;
        if self.must_stop(&node) {
            return Ok(None);
        }
        let histogram = match node.histogram.take() {
            Some(histogram) => histogram,
            None => self.count(node.samples.ids())?,
        };
        let n_threads = self.n_threads(node.samples.len());
        let order = node.key.feature_order(self.data.n_features());
        let drawn = self.draw(&order, node.excluded.as_deref());
        let searched = SearchedNode {
            samples: node.samples.ids(),
            totals: &node.totals,
            histogram: &histogram,
            whole: self.whole(node.samples.ids(), &histogram),
            order,
            number: node.number,
            members: &self.members,
        };
        let bins = (self.data, self.bins);
        let scratches = &mut self.scratches[..n_threads];
        let mut search = |features| search::best_cut(self.engine, bins, &searched, features, scratches, self.runtime);
        let mut found = None;
        match &drawn {
            None => found = search(None)?,
            // The draw goes on until a feature can be cut.
            Some(drawn) => {
                for features in drawn.chunks(self.params.max_features as usize) {
                    found = search(Some(features))?;
                    if found.is_some() {
                        break;
                    }
                }
            }
        }
        let Some(cut) = found else { return Ok(None) };
        self.divide(id, node, cut, histogram)
    }

    /// The features that may split a node, in the order of the draw; `None` for all together.
    fn draw(&self, order: &Permutation, excluded: Option<&ConstantFeatures>) -> Option<Vec<u32>> {
        let n_features = self.data.n_features() as u32;
        if u64::from(n_features) <= self.params.max_features && excluded.is_none() {
            return None;
        }
        let is_allowed = |feature: &u32| excluded.is_none_or(|excluded| !excluded.contains(*feature));
        Some((0..n_features).map(|position| order.at(position)).filter(is_allowed).collect())
    }

    /// The cell of all rows of a node.
    fn whole(&self, samples: &[u32], histogram: &[E::Cell]) -> E::Cell {
        let mut whole = E::Cell::default();
        if self.bins.sparse.is_some() {
            let rows = self.engine.rows();
            for &row in samples {
                whole.add(&rows[row as usize]);
            }
        } else {
            for cell in &histogram[..self.bins.columns[0].n_bins] {
                whole.add(cell);
            }
        }
        whole
    }

    /// Splits a node, unless that gains too little.
    fn divide<'s>(
        &mut self,
        id: usize,
        node: Node<'s, E>,
        mut cut: Candidate,
        histogram: Histogram<E::Cell>,
    ) -> Result<Option<Fork<'s, E>>> {
        let Node { mut samples, totals, depth, key, number, excluded, .. } = node;
        let known = self.cell_of_left(&cut, &histogram).and_then(|left| self.engine.totals_of(&left));
        let n_left = self.partition(&mut samples, &mut cut, (&histogram, number))?;
        let (left_ids, right_ids) = samples.ids().split_at(n_left);
        let left_is_small = known.is_some() || n_left <= right_ids.len();
        let few = known.unwrap_or_else(|| self.engine.totals(if left_is_small { left_ids } else { right_ids }));
        let rest = self.engine.minus(&totals, &few);
        let (of_left, of_right) = if left_is_small { (few, rest) } else { (rest, few) };
        let Some(Gain { priority, kept }) = self.engine.gain(&totals, [&of_left, &of_right]) else { return Ok(None) };
        // All nodes have their turn. The deepest come first, so that few wait with their histograms.
        let priority = if self.params.max_leaf_nodes.is_some() { priority } else { depth as f64 };
        let weight = |ids: &[u32], totals: &E::Totals| self.engine.facts(ids, depth, totals).weight();
        let is_left_heavier = weight(left_ids, &of_left) > weight(right_ids, &of_right);
        let heavier = if is_left_heavier { Side::Left } else { Side::Right };
        let rows = (left_ids, right_ids);
        let split = Split::of(self.data, cut.feature, rows, heavier, cut.missing, || cut.threshold_rule());
        let groups = self.params.interaction_cst.as_deref();
        let excluded = excluded.zip(groups).map(|(excluded, groups)| {
            // How many entries these columns store is not asked on bins.
            excluded.below(cut.feature, groups, self.data.n_features(), &|_| 0)
        });
        let (left, right) = samples.split_at(n_left);
        let child = |side, samples, totals| Node {
            samples,
            totals,
            depth: depth + 1,
            key: key.child(side),
            number,
            histogram: None,
            excluded: excluded.clone(),
        };
        let children = [child(Side::Left, left, of_left), child(Side::Right, right, of_right)];
        let has_room = (self.n_kept + 1) * size_of_val(&histogram[..]) <= MOST_BYTES;
        self.n_kept += usize::from(has_room);
        let histogram = has_room.then_some(histogram);
        Ok(Some(Fork { priority, id, split: split.with_gain(kept), children, histogram }))
    }

    /// The cell of the rows that a loose cut sends left, if the histogram has all rows.
    fn cell_of_left(&self, cut: &Candidate, histogram: &[E::Cell]) -> Option<E::Cell> {
        let column = &self.bins.columns[cut.feature as usize];
        if !cut.is_loose || column.zero.is_some() {
            return None;
        }
        let mut left = E::Cell::default();
        for (cell, is_left) in histogram[column.first..][..column.n_bins].iter().zip(left_bins(cut, column)) {
            if is_left {
                left.add(cell);
            }
        }
        Some(left)
    }

    /// Moves the rows that go left to the front, and gives a loose cut the ranks beside it that the node has.
    /// Returns how many rows go left.
    fn partition(
        &mut self,
        samples: &mut SampleSet<'_>,
        cut: &mut Candidate,
        (histogram, number): (&[E::Cell], u32),
    ) -> Result<usize> {
        let runtime = self.runtime;
        let n_rows = by_rows::rows_per_part(samples.len(), runtime);
        let column = &self.bins.columns[cut.feature as usize];
        let counts = &histogram[column.first..][..column.n_bins];
        let missing_rank = if column.has_missing { self.data.missing_rank(cut.feature) } else { None };
        if !cut.is_loose {
            let goes_left = |rank: u32| cut.goes_left(rank, missing_rank);
            return match self.data.columns() {
                Columns::Dense(columns) => {
                    let of_feature = columns.column(cut.feature);
                    samples.partition_in_parts(n_rows, runtime, |row| goes_left(of_feature.rank(row)))
                }
                Columns::Sparse(_) => Ok(self.partition_sparse(samples, cut.feature, goes_left)),
            };
        }
        let is_left = left_bins(cut, column);
        let n_left = match self.data.columns() {
            Columns::Dense(columns) => {
                let bins = column.of_rows(columns.column(cut.feature));
                samples.partition_in_parts(n_rows, runtime, |row| is_left[usize::from(bins[row as usize])])?
            }
            Columns::Sparse(_) => self.partition_sparse(samples, cut.feature, |rank| is_left[column.bin(rank)]),
        };
        if matches!(cut.cut, Cut::Ranks(_)) {
            return Ok(n_left);
        }
        let last = column.bin(cut.last_left);
        let n_stored: u32 = counts.iter().map(Cell::n).sum();
        let has_zeros = (n_stored as usize) < samples.len();
        let has_rows = |bin: usize| counts[bin].n() > 0 || (has_zeros && column.zero == Some(bin));
        let below = (0..=last).rev().find(|&bin| has_rows(bin)).unwrap_or(last);
        let above = (last + 1..column.n_known()).find(|&bin| has_rows(bin));
        let is_of_node = |row: u32| self.members[row as usize] == number;
        let zero_of = |bin: usize| self.zero_rank(cut.feature).filter(|_| has_zeros && column.zero == Some(bin));
        let last_left = self.present_ranks(cut.feature, below, is_of_node).next_back().max(zero_of(below));
        let first_right = match above {
            Some(above) => self.present_ranks(cut.feature, above, is_of_node).chain(zero_of(above)).min(),
            None => missing_rank,
        };
        let between = Candidate::between(
            cut.feature,
            last_left.unwrap_or(cut.last_left),
            first_right.unwrap_or(cut.last_left + 1),
            n_left,
        );
        *cut = Candidate { missing: cut.missing, ..between };
        Ok(n_left)
    }

    /// The rank of zeros of a sparse column.
    fn zero_rank(&self, feature: u32) -> Option<u32> {
        match self.data.columns() {
            Columns::Dense(_) => None,
            Columns::Sparse(columns) => Some(columns.zero_rank(feature)),
        }
    }

    /// The ranks of a bin of numbers that the node has, ascending, but for zeros that are not stored.
    fn present_ranks<'b>(
        &'b self,
        feature: u32,
        bin: usize,
        is_of_node: impl Fn(u32) -> bool + 'b,
    ) -> Box<dyn DoubleEndedIterator<Item = u32> + 'b> {
        let column = &self.bins.columns[feature as usize];
        let ranks = column.ranks(bin);
        // The only rank of a bin that has rows.
        let Some(coarse) = column.coarse.as_ref().filter(|_| ranks.len() > 1) else {
            return Box::new(ranks);
        };
        let places = coarse.first_rows[bin] as usize..coarse.first_rows[bin + 1] as usize;
        match self.data.columns() {
            Columns::Dense(columns) => {
                let column = columns.column(feature);
                let rows = places.filter(move |&at| is_of_node(coarse.rows[at]));
                Box::new(rows.map(move |at| coarse.rank_at(at, ranks.start, column)))
            }
            Columns::Sparse(columns) => {
                let column = columns.column(feature);
                let rows = places.filter(move |&at| is_of_node(column.samples[at]));
                Box::new(rows.map(move |at| column.ranks.at(at)))
            }
        }
    }

    fn partition_sparse(
        &mut self,
        samples: &mut SampleSet<'_>,
        feature: u32,
        goes_left: impl Fn(u32) -> bool,
    ) -> usize {
        let Columns::Sparse(columns) = self.data.columns() else { return 0 };
        let column = columns.column(feature);
        let zeros_go_left = goes_left(column.zero_rank);
        let is_moved = |&(at, _): &(usize, &u32)| goes_left(column.ranks.at(at)) != zeros_go_left;
        let moved: Vec<u32> = column.samples.iter().enumerate().filter(is_moved).map(|(_, &row)| row).collect();
        self.moved.insert_all(&moved);
        let n_left = samples.partition(|_, row| self.moved.contains(row) != zeros_go_left);
        self.moved.remove_all(&moved);
        n_left
    }
}

/// By bin, whether a loose cut sends it left.
fn left_bins(cut: &Candidate, column: &BinnedColumn) -> [bool; MAX_BINS] {
    let missing = (column.has_missing && !column.is_categorical && cut.missing_go_left()).then(|| column.n_bins - 1);
    let last = column.bin(cut.last_left);
    std::array::from_fn(|bin| match cut.cut {
        // Of categories, missing ones are one more.
        Cut::Ranks(set) => set[bin / 64] >> (bin % 64) & 1 == 1,
        _ => bin <= last || missing == Some(bin),
    })
}

impl<E: Engine> Ord for Fork<'_, E> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.priority.total_cmp(&other.priority).then(other.id.cmp(&self.id))
    }
}

impl<E: Engine> PartialOrd for Fork<'_, E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E: Engine> PartialEq for Fork<'_, E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E: Engine> Eq for Fork<'_, E> {}
