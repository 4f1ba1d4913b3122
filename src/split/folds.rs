//! The best splits of a node for several folds at once.
//!
//! Each fold, here a lane, has the rows of one set without a few that it holds out. A column is filled and sorted once;
//! then one pass keeps the class counts of all rows and of the rows that each lane holds out, and the difference is what the
//! lane sees. After Blockeel & Struyf, "Efficient algorithms for decision tree cross-validation", JMLR 3, 2002, who
//! share the tests that are evaluated; here the folds get their own exact splits.
//!
//! The pass scores in `f64` from a table of `c log2 c`, or `c^2` for Gini impurity, and is no more than a filter: where a fold's best cut is ahead
//! of all others by more than the error of that, it is the best; otherwise the columns that come near are searched for this
//! fold alone, by the scan that everybody uses, which is exact and knows the tie rule. Only cuts at boundary points are
//! scored, between runs of equal values that are not both of one and the same class: any other is worse than one of
//! those (Fayyad & Irani, "On the handling of continuous-valued attributes in decision tree generation", Machine Learning 8,
//! 1992; Elomaa & Rousu 1999 for all concave impurities), also when some rows are taken out.
//!
//! O(rows log rows + cuts * folds) per column.

use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use super::best::{Best, Candidate, Cut};
use super::sort::{self, SortScratch};
use super::sparse::node_column;
use super::{ConstantFeatures, Node, NodeColumn, NodeSearch, Scratch, Search};
use crate::bitset::Bitset;
use crate::criterion::Criterion;
use crate::data::sparse::Rank;
use crate::data::target::{Target, TargetValues};
use crate::data::{Columns, Dataset, SparseColumns};
use crate::error::Result;
use crate::intersect::{self, Entry, Gather, NodeCosts, Strategy};
use crate::num::log2::EXACT_UP_TO;
use crate::params::{CriterionKind, FeatureSampling, Splitter, ValidTreeParams};
use crate::rng::{NodeKey, Permutation, Side};
use crate::samples::{SampleSet, Samples};

/// Up to so many classes folds are searched together.
const MAX_CLASSES: usize = 16;
/// Up to this total weight, for which the table has an entry each. Logarithms of larger ones are rounded so much that a cut
/// between two rows of a class may be better, by a hair, than those on either side (`num::log2`).
const MAX_WEIGHT: u64 = EXACT_UP_TO;
/// Lanes from which on those that hold out one row of the same kind are scored together: each kind has two scores.
const SINGLES_FROM: usize = 4;
/// Rows of all lanes whose contests are decided at once.
const CONTEST_ROWS: usize = 1 << 20;
/// Class of a run with several.
const MIXED: u32 = u32::MAX;

type Counts = SmallVec<[u32; 4]>;

/// Whether folds of a data set can be searched together with these parameters, unless some tree weighs too much: the pass
/// knows class counts of one output, and takes any cut for legal.
pub fn shares(data: &Dataset, target: &Target, params: &ValidTreeParams) -> bool {
    let TargetValues::Classes(classes) = target.values() else { return false };
    let draws_as_told =
        params.feature_sampling == FeatureSampling::All || params.max_features >= data.n_features() as u64;
    // Poisson counts add up to about as many as there are rows.
    let n_samples = target.n_samples() as f64;
    target.n_outputs() == 1
        && n_samples + 6.0 * n_samples.sqrt() <= MAX_WEIGHT as f64
        && classes.first[1] as usize <= MAX_CLASSES
        && matches!(params.criterion, CriterionKind::Entropy | CriterionKind::Gini)
        && params.splitter == Splitter::Best
        && params.min_samples_leaf <= 1
        && params.min_weight_fraction_leaf <= 0.0
        && params.min_impurity_decrease <= 0.0
        && params.monotonic_cst.is_none()
        && params.max_leaf_nodes.is_none()
        && params.ccp_alpha <= 0.0
        && draws_as_told
        && !data.has_categories()
}

/// What the pass needs to know of the rows of a tree.
pub struct FoldRows {
    rows: Vec<Row>,
    n_classes: usize,
    is_gini: bool,
    /// `c log2 c`, or `c^2`.
    table: Vec<f64>,
    /// What the scores of two cuts may differ by for rounding.
    tolerance: f64,
}

#[derive(Clone, Copy)]
struct Row {
    class: u32,
    weight: u32,
}

impl FoldRows {
    /// Of the rows of a target. Nothing if folds cannot be searched together, see [`shares`].
    pub fn new(data: &Dataset, target: &Target, params: &ValidTreeParams) -> Option<Self> {
        let TargetValues::Classes(classes) = target.values() else { return None };
        let n_classes = classes.first[1] as usize;
        let weights = target.weights();
        let total: u64 = (0..target.n_samples()).map(|sample| weights.get(sample)).sum();
        if total > MAX_WEIGHT || !shares(data, target, params) {
            return None;
        }
        let row = |sample: usize| Row { class: classes.slots[sample], weight: weights.get(sample) as u32 };
        let is_gini = params.criterion == CriterionKind::Gini;
        let of = |c: f64| if is_gini { c * c } else { c * c.max(1.0).log2() };
        let table: Vec<f64> = (0..=total).map(|c| of(c as f64)).collect();
        // Each side is made of one term per class and one of the weight. None is above the last of the table, or, after the
        // division, above the weight.
        let most = if is_gini { total as f64 } else { table.last().copied().unwrap_or_default() };
        let tolerance = 16.0 * f64::EPSILON * (n_classes + 1) as f64 * most;
        let rows = (0..target.n_samples()).map(row).collect();
        Some(Self { rows, n_classes, is_gini, table, tolerance })
    }

    /// The score of a cut, given class counts of all rows on the left, of those of them that a lane holds out, and of all
    /// rows of the lane.
    #[inline]
    fn score(&self, left: &[u32], own: &[u32], totals: &[u32]) -> f64 {
        let (left, own, totals) = (&left[..self.n_classes], &own[..self.n_classes], &totals[..self.n_classes]);
        let at = |count: u32| self.table[count as usize];
        let (mut inside, mut outside, mut weight, mut rest) = (0.0, 0.0, 0, 0);
        for class in 0..left.len() {
            let count = left[class] - own[class];
            let other = totals[class] - count;
            inside += at(count);
            outside += at(other);
            weight += count;
            rest += other;
        }
        self.side(inside, weight) + self.side(outside, rest)
    }

    /// What a side adds to a score: the negative cost, or the sum of squares that Gini impurity takes from it.
    #[inline]
    fn side(&self, sum: f64, weight: u32) -> f64 {
        // A side without rows is no side; its sum is 0.
        if self.is_gini { sum / f64::from(weight.max(1)) } else { sum - self.table[weight as usize] }
    }

    /// The same for two classes, given those of the lane on the left.
    #[inline]
    fn score_of_two(&self, [a, b]: [u32; 2], totals: [u32; 2]) -> f64 {
        let at = |count: u32| self.table[count as usize];
        let (c, d) = (totals[0] - a, totals[1] - b);
        self.side(at(a) + at(b), a + b) + self.side(at(c) + at(d), c + d)
    }

    /// Adds the class counts of some rows.
    fn count(&self, samples: &[u32], counts: &mut [u32]) {
        for &sample in samples {
            let row = self.rows[sample as usize];
            counts[row.class as usize] += row.weight;
        }
    }
}

/// Which lanes hold a row out.
#[derive(Debug)]
pub struct HeldOut {
    /// By row: 0 for none, one more than the lane for one, or a list with the highest bit set.
    tags: Vec<u32>,
    lists: Vec<Vec<u32>>,
}

const IS_LIST: u32 = 1 << 31;

impl HeldOut {
    /// Nothing is held out of so many rows.
    pub fn new(n_samples: usize) -> Self {
        Self { tags: vec![0; n_samples], lists: Vec::new() }
    }

    /// A lane holds these rows out.
    pub fn insert(&mut self, lane: usize, samples: &[u32]) {
        let lane = lane as u32;
        for &sample in samples {
            let tag = &mut self.tags[sample as usize];
            if *tag == 0 {
                *tag = lane + 1;
            } else if *tag & IS_LIST != 0 {
                self.lists[(*tag ^ IS_LIST) as usize].push(lane);
            } else {
                self.lists.push(vec![*tag - 1, lane]);
                *tag = IS_LIST | (self.lists.len() - 1) as u32;
            }
        }
    }

    /// Nobody holds these rows out, which are all that anybody did.
    pub fn clear<'a>(&mut self, samples: impl Iterator<Item = &'a [u32]>) {
        samples.flatten().for_each(|&sample| self.tags[sample as usize] = 0);
        self.lists.clear();
    }

    /// Whether a lane does not hold a row out.
    #[inline]
    fn is_in(&self, lane: usize, sample: u32) -> bool {
        let tag = self.tags[sample as usize];
        if tag & IS_LIST == 0 { tag != lane as u32 + 1 } else { !self.list(tag).contains(&(lane as u32)) }
    }

    #[inline]
    fn list(&self, tag: u32) -> &[u32] {
        &self.lists[(tag ^ IS_LIST) as usize]
    }
}

/// A node, to be split for several folds.
pub struct FoldsNode<'a> {
    /// The rows of all lanes.
    pub samples: &'a [u32],
    /// The key of its random choices.
    pub key: NodeKey,
    /// Features known not to vary in it.
    pub constants: &'a Arc<ConstantFeatures>,
    /// For each lane, the rows that it holds out.
    pub held_out: &'a [&'a [u32]],
    /// The same by row.
    pub lanes: &'a HeldOut,
}

impl FoldsNode<'_> {
    fn n_lanes(&self) -> usize {
        self.held_out.len()
    }

    /// The number of rows of a lane.
    fn n_samples(&self, lane: usize) -> usize {
        self.samples.len() - self.held_out[lane].len()
    }
}

/// A split of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoldSplit {
    /// The feature, which is a number.
    pub feature: u32,
    /// Where missing values go, if the lane has any.
    pub missing: Option<Side>,
    /// The rank before the cut.
    pub last_left: u32,
    /// The rank behind it.
    pub first_right: u32,
}

impl FoldSplit {
    fn of(candidate: &Candidate) -> Self {
        let &Candidate { feature, missing, last_left, cut, .. } = candidate;
        let first_right = match cut {
            Cut::Before(first_right) => first_right,
            Cut::Random { .. } => unreachable!("thresholds are not random"),
        };
        Self { feature, missing, last_left, first_right }
    }

    /// Values up to this one go left.
    pub fn threshold(&self, data: &Dataset) -> f64 {
        let &Self { feature, missing, last_left, first_right } = self;
        let cut = Cut::Before(first_right);
        Candidate { feature, last_left, missing, order: 0, cut, n_left: 0, is_loose: false }.threshold(data)
    }
}

/// What is known of the best split of a lane.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// It is this one.
    Split(FoldSplit),
    /// It is in one of these columns.
    Among(SmallVec<[u32; 4]>),
    /// No feature that was drawn varies.
    Constant,
}

/// The best cut of a lane so far.
struct Leader {
    score: f64,
    feature: u32,
    /// Ranks up to this one go left.
    rank: u32,
    /// Class counts on the left.
    left: Counts,
    /// Columns with a cut that comes near, this one included.
    near: SmallVec<[u32; 4]>,
    is_alone: bool,
}

/// Buffers of one worker.
#[derive(Default)]
pub struct FoldScratch {
    sort: SortScratch,
    gather: Gather,
    members: Bitset,
    marks: Bitset,
    entries: Vec<Entry>,
    own: Vec<u32>,
    features: Vec<u32>,
}

impl FoldScratch {
    /// For a data set.
    pub fn new(data: &Dataset) -> Self {
        match data.columns() {
            Columns::Dense(_) => Self::default(),
            Columns::SparseU16(_) | Columns::SparseU32(_) => Self {
                gather: Gather::new(data.n_features()),
                members: Bitset::new(data.n_samples()),
                marks: Bitset::new(data.n_samples()),
                ..Self::default()
            },
        }
    }
}

/// Lanes that hold out one row each, of the same class and weight: any cut has one of two scores for all of them.
struct Singles {
    class: u32,
    weight: u32,
    lanes: Vec<u32>,
    /// The least of their floors, or lower.
    floor: f64,
}

/// The search of one node.
struct Sweep<'a, 'n> {
    rows: &'a FoldRows,
    node: &'a FoldsNode<'n>,
    order: &'a Permutation,
    /// The class counts of all rows; by lane, what it holds out, and the rest.
    counts: Counts,
    held_out: Vec<u32>,
    totals: Vec<u32>,
    floors: Vec<f64>,
    leaders: Vec<Option<Leader>>,
    /// Lanes that hold out one row, by its class and weight.
    singles: Vec<Singles>,
    /// All other lanes.
    plural: Vec<u32>,
    /// Columns that the pass cannot score.
    others: SmallVec<[u32; 4]>,
    /// In one column: counts of what is on the left, of all rows and of those that the lanes hold out.
    left: SmallVec<[u32; MAX_CLASSES]>,
    own: Vec<u32>,
    /// Lanes for which a cut may be the best, and its scores.
    hits: Vec<(u32, f64)>,
    /// The last run.
    class: u32,
    rank: Option<u32>,
}

impl<'a, 'n> Sweep<'a, 'n> {
    fn new(rows: &'a FoldRows, node: &'a FoldsNode<'n>, order: &'a Permutation, own: Vec<u32>) -> Self {
        let (n_classes, n_lanes) = (rows.n_classes, node.n_lanes());
        let mut counts: Counts = smallvec![0; n_classes];
        rows.count(node.samples, &mut counts);
        let mut held_out = vec![0; n_classes * n_lanes];
        for (samples, counts) in node.held_out.iter().zip(held_out.chunks_exact_mut(n_classes)) {
            rows.count(samples, counts);
        }
        let totals =
            held_out.chunks_exact(n_classes).flat_map(|own| counts.iter().zip(own).map(|(all, own)| all - own));
        let mut singles: Vec<Singles> = Vec::new();
        let mut plural = Vec::new();
        for (lane, held_out) in (0..).zip(node.held_out) {
            let &[sample] = *held_out else {
                plural.push(lane);
                continue;
            };
            let Row { class, weight } = rows.rows[sample as usize];
            match singles.iter_mut().find(|singles| singles.class == class && singles.weight == weight) {
                Some(singles) => singles.lanes.push(lane),
                None => singles.push(Singles { class, weight, lanes: vec![lane], floor: f64::NEG_INFINITY }),
            }
        }
        for few in singles.extract_if(.., |singles| singles.lanes.len() < SINGLES_FROM) {
            plural.extend(few.lanes);
        }
        Self {
            rows,
            node,
            order,
            singles,
            plural,
            totals: totals.collect(),
            counts,
            held_out,
            floors: vec![f64::NEG_INFINITY; n_lanes],
            leaders: (0..n_lanes).map(|_| None).collect(),
            others: SmallVec::new(),
            left: smallvec![0; n_classes],
            own,
            hits: Vec::new(),
            class: MIXED,
            rank: None,
        }
    }

    /// Scores the cuts of a column. Returns whether it varies.
    fn column(&mut self, column: NodeColumn<'_>, missing_rank: Option<u32>) -> bool {
        let NodeColumn { feature, entries, n_common, common_rank } = column;
        let (Some(first), Some(last)) = (entries.first(), entries.last()) else { return false };
        if n_common == 0 && first.rank() == last.rank() {
            return false;
        }
        if missing_rank.is_some_and(|rank| last.rank() == rank || (n_common > 0 && common_rank == rank)) {
            self.others.push(feature);
            return true;
        }
        self.rank = None;
        self.left.fill(0);
        self.own.clear();
        self.own.resize(self.held_out.len(), 0);
        if n_common == 0 {
            self.runs(feature, entries);
            return true;
        }
        let (low, high) = entries.split_at(entries.partition_point(|entry| entry.rank() < common_rank));
        self.runs(feature, low);
        // What is on the left with the common run is all but what is above it.
        self.cut(feature, MIXED, common_rank);
        self.left.copy_from_slice(&self.counts);
        self.own.copy_from_slice(&self.held_out);
        for &entry in high {
            self.push::<false>(entry);
        }
        self.runs(feature, high);
        true
    }

    /// Puts a row on the left, or takes it away.
    #[inline]
    fn push<const IN: bool>(&mut self, entry: Entry) {
        let Row { class, weight } = self.rows.rows[entry.sample() as usize];
        let add = |count: &mut u32| if IN { *count += weight } else { *count -= weight };
        add(&mut self.left[class as usize]);
        let (n_classes, tag) = (self.rows.n_classes, self.node.lanes.tags[entry.sample() as usize]);
        if tag & IS_LIST != 0 {
            for &lane in self.node.lanes.list(tag) {
                add(&mut self.own[lane as usize * n_classes + class as usize]);
            }
        } else if tag > 0 {
            add(&mut self.own[(tag as usize - 1) * n_classes + class as usize]);
        }
    }

    /// Goes through runs of equal ranks.
    fn runs(&mut self, feature: u32, entries: &[Entry]) {
        for run in entries.chunk_by(|a, b| a.rank() == b.rank()) {
            let class_of = |entry: &Entry| self.rows.rows[entry.sample() as usize].class;
            let first = class_of(&run[0]);
            let class = if run[1..].iter().all(|entry| class_of(entry) == first) { first } else { MIXED };
            self.cut(feature, class, run[0].rank());
            for &entry in run {
                self.push::<true>(entry);
            }
        }
    }

    /// Scores the cut before a run, for all lanes.
    fn cut(&mut self, feature: u32, class: u32, rank: u32) {
        let last = self.rank.replace(rank);
        let is_boundary = std::mem::replace(&mut self.class, class) != class || class == MIXED;
        let Some(last) = last else { return };
        if !is_boundary {
            return;
        }
        let mut hits = std::mem::take(&mut self.hits);
        self.score_singles(&mut hits);
        self.score_plural(&mut hits);
        let has_hits = !hits.is_empty();
        for (lane, score) in hits.drain(..) {
            self.consider(lane as usize, score, feature, last);
        }
        self.hits = hits;
        if has_hits {
            self.raise_floors();
        }
    }

    /// Sets the floors of lanes that are scored together.
    fn raise_floors(&mut self) {
        for singles in &mut self.singles {
            let floors = singles.lanes.iter().map(|&lane| self.floors[lane as usize]);
            singles.floor = floors.fold(f64::INFINITY, f64::min);
        }
    }

    /// Scores a cut for the lanes that hold out one row: on the left, or on the right.
    fn score_singles(&self, hits: &mut Vec<(u32, f64)>) {
        let n_classes = self.rows.n_classes;
        for singles in &self.singles {
            let (class, weight) = (singles.class as usize, singles.weight);
            let mut own: Counts = smallvec![0; n_classes];
            let mut totals = self.counts.clone();
            totals[class] -= weight;
            own[class] = weight;
            let none: Counts = smallvec![0; n_classes];
            let score_of = |on_left: bool| self.rows.score(&self.left, if on_left { &own } else { &none }, &totals);
            // A row is where the cut has it: one of the two may not occur.
            let inside = if self.left[class] >= weight { score_of(true) } else { f64::NEG_INFINITY };
            let outside =
                if self.left[class] + weight <= self.counts[class] { score_of(false) } else { f64::NEG_INFINITY };
            if inside.max(outside) < singles.floor {
                continue;
            }
            for &lane in &singles.lanes {
                let is_left = self.own[lane as usize * n_classes + class] > 0;
                let score = if is_left { inside } else { outside };
                if score >= self.floors[lane as usize] {
                    hits.push((lane, score));
                }
            }
        }
    }

    /// Scores a cut for all other lanes.
    fn score_plural(&self, hits: &mut Vec<(u32, f64)>) {
        if let (&[left_0, left_1], true) = (&self.left[..], self.singles.is_empty()) {
            // The usual case, without indirection.
            let lanes = self.own.as_chunks::<2>().0.iter().zip(self.totals.as_chunks::<2>().0).zip(&self.floors);
            for (lane, ((own, totals), &floor)) in (0..).zip(lanes) {
                let score = self.rows.score_of_two([left_0 - own[0], left_1 - own[1]], *totals);
                if score >= floor {
                    hits.push((lane, score));
                }
            }
            return;
        }
        let n_classes = self.rows.n_classes;
        for &lane in &self.plural {
            let slots = lane as usize * n_classes..(lane as usize + 1) * n_classes;
            let score = self.rows.score(&self.left, &self.own[slots.clone()], &self.totals[slots]);
            if score >= self.floors[lane as usize] {
                hits.push((lane, score));
            }
        }
    }

    /// Takes a cut that may be the best of a lane.
    #[cold]
    fn consider(&mut self, lane: usize, score: f64, feature: u32, rank: u32) {
        let n_classes = self.rows.n_classes;
        let own = &self.own[n_classes * lane..][..n_classes];
        let totals = &self.totals[n_classes * lane..][..n_classes];
        let left: Counts = self.left.iter().zip(own).map(|(left, own)| left - own).collect();
        if left.iter().all(|&count| count == 0) || left[..] == *totals {
            return;
        }
        let tolerance = self.rows.tolerance;
        let slot = &mut self.leaders[lane];
        match slot {
            Some(leader) if score <= leader.score + tolerance => {
                let mirrored = leader.left.iter().zip(&left).zip(totals).all(|((a, b), total)| a + b == *total);
                if leader.left == left || mirrored {
                    // A tie. Of one column the first is kept, which also is the one where only rows that the fold
                    // holds out lie between.
                    if feature != leader.feature && self.order.position(feature) < self.order.position(leader.feature) {
                        if leader.is_alone {
                            leader.near.clear();
                        }
                        leader.near.push(feature);
                        (leader.feature, leader.rank) = (feature, rank);
                    }
                } else {
                    leader.is_alone = false;
                    if leader.near.last() != Some(&feature) {
                        leader.near.push(feature);
                    }
                    leader.score = leader.score.max(score);
                }
            }
            _ => *slot = Some(Leader { score, feature, rank, left, near: smallvec![feature], is_alone: true }),
        }
        if let Some(leader) = slot {
            self.floors[lane] = leader.score - tolerance;
        }
    }
}

/// Calls `visit` with the columns of some features, sorted: all that may vary or not; sparse ones without entries may be left
/// out.
fn fill_columns<C: Criterion>(
    search: &Search<'_, C>,
    samples: &[u32],
    (features, are_all): (&[u32], bool),
    scratch: &mut FoldScratch,
    mut visit: impl FnMut(NodeColumn<'_>),
) -> Result<()> {
    match search.data.columns() {
        Columns::Dense(columns) => {
            for &feature in features {
                search.runtime.check_interrupt()?;
                visit(sort::node_column(feature, columns.column(feature), samples, true, &mut scratch.sort));
            }
            Ok(())
        }
        Columns::SparseU16(columns) => fill_sparse(search, columns, samples, (features, are_all), scratch, &mut visit),
        Columns::SparseU32(columns) => fill_sparse(search, columns, samples, (features, are_all), scratch, &mut visit),
    }
}

fn fill_sparse<C: Criterion, R: Rank>(
    search: &Search<'_, C>,
    columns: &SparseColumns<R>,
    samples: &[u32],
    (features, are_all): (&[u32], bool),
    scratch: &mut FoldScratch,
    visit: &mut impl FnMut(NodeColumn<'_>),
) -> Result<()> {
    let FoldScratch { gather, members, entries, .. } = scratch;
    let n_entries = search.n_entries(samples);
    let costs = NodeCosts::new(samples.len(), n_entries);
    let one_by_one: f64 = features.iter().map(|&feature| costs.column_cost(columns.column_nnz(feature))).sum();
    let one_by_one = one_by_one + costs.columns_visited_cost(features.len());
    if are_all && costs.gather_cost(None) < one_by_one {
        gather.for_each(columns, samples, |feature, entries| {
            entries.sort_unstable();
            visit(node_column(columns, samples, feature, entries));
        });
        return search.runtime.check_interrupt();
    }
    members.insert_all(samples);
    let mut result = Ok(());
    for &feature in features {
        result = search.runtime.check_interrupt();
        if result.is_err() {
            break;
        }
        let found = match costs.strategy_for_column(columns.column_nnz(feature)) {
            Strategy::Search => intersect::by_search(columns, feature, samples, entries),
            _ => intersect::by_bitmap(Entry::of_column(columns.column(feature)), members, entries),
        };
        visit(node_column(columns, samples, feature, found));
    }
    members.remove_all(samples);
    result
}

/// What is known of the best split of each lane, and the features that are known not to vary.
pub fn best_splits<C: Criterion>(
    search: &Search<'_, C>,
    rows: &FoldRows,
    node: &FoldsNode<'_>,
    scratch: &mut FoldScratch,
) -> Result<(Vec<Verdict>, Arc<ConstantFeatures>)> {
    let order = node.key.feature_order(search.data.n_features());
    let mut features = std::mem::take(&mut scratch.features);
    if search.draws_all() {
        features.clear();
        features.extend(0..search.data.n_features() as u32);
    } else {
        order.first(search.n_drawn() as u32, &mut features);
    }
    features.retain(|&feature| !node.constants.contains(feature));
    let mut sweep = Sweep::new(rows, node, &order, std::mem::take(&mut scratch.own));
    let mut constants = Vec::new();
    fill_columns(search, node.samples, (&features, search.draws_all()), scratch, |column| {
        let feature = column.feature;
        if !sweep.column(column, search.data.missing_rank(feature)) {
            constants.push(feature);
        }
    })?;
    let Sweep { leaders, others, own, .. } = sweep;
    (scratch.own, scratch.features) = (own, features);
    let constants = node.constants.with(&constants, |_| 0).unwrap_or_else(|| Arc::clone(node.constants));
    let mut verdicts: Vec<Verdict> = Vec::with_capacity(leaders.len());
    let mut winners: Vec<(u32, usize, u32)> = Vec::new();
    for (lane, leader) in leaders.into_iter().enumerate() {
        verdicts.push(match leader {
            Some(leader) if leader.is_alone && others.is_empty() => {
                winners.push((leader.feature, lane, leader.rank));
                Verdict::Constant
            }
            Some(leader) => Verdict::Among(leader.near.iter().chain(&others).copied().collect()),
            None if others.is_empty() => Verdict::Constant,
            None => Verdict::Among(others.clone()),
        });
    }
    winners.sort_unstable_by_key(|&(feature, lane, rank)| (feature, rank, lane));
    for winners in winners.chunk_by(|a, b| a.0 == b.0) {
        let feature = winners[0].0;
        fill_columns(search, node.samples, (&[feature], false), scratch, |column| {
            for winners in winners.chunk_by(|a, b| a.2 == b.2) {
                let of_all = Beside::new(node, None, winners[0].2, column);
                for &(_, lane, rank) in winners {
                    // Most lanes have the rows beside the cut.
                    let Beside { last_left, first_right, .. } =
                        if of_all.is_of(node, lane) { of_all } else { Beside::new(node, Some(lane), rank, column) };
                    verdicts[lane] = Verdict::Split(FoldSplit { feature, missing: None, last_left, first_right });
                }
            }
        })?;
    }
    Ok((verdicts, constants))
}

/// The ranks beside a cut.
#[derive(Clone, Copy)]
struct Beside {
    last_left: u32,
    first_right: u32,
    /// A row with each, if only one that is in an entry has it.
    rows: [Option<u32>; 2],
}

impl Beside {
    /// The last rank up to `rank` and the first above, of all rows or of a lane's.
    fn new(node: &FoldsNode<'_>, lane: Option<usize>, rank: u32, column: NodeColumn<'_>) -> Self {
        let NodeColumn { entries, n_common, common_rank, .. } = column;
        let is_in = |entry: &&Entry| lane.is_none_or(|lane| node.lanes.is_in(lane, entry.sample()));
        let has_common = match lane {
            _ if n_common == 0 => false,
            None => true,
            Some(lane) if n_common > node.held_out[lane].len() => true,
            Some(lane) => entries.iter().filter(is_in).count() < node.n_samples(lane),
        };
        let (low, high) = entries.split_at(entries.partition_point(|entry| entry.rank() <= rank));
        let beside = [low.iter().rev().find(is_in), high.iter().find(is_in)];
        let mut ranks = beside.map(|entry| entry.map(|entry| entry.rank()));
        let mut rows = beside.map(|entry| entry.map(|entry| entry.sample()));
        if has_common {
            let at = usize::from(common_rank > rank);
            let is_nearer = |other: u32| if at == 0 { common_rank > other } else { common_rank < other };
            if ranks[at].is_none_or(is_nearer) {
                (ranks[at], rows[at]) = (Some(common_rank), None);
            }
        }
        debug_assert!(ranks.iter().all(Option::is_some), "a lane has rows on both sides of its cut");
        let [last_left, first_right] = ranks;
        Self { last_left: last_left.unwrap_or(rank), first_right: first_right.unwrap_or(rank + 1), rows }
    }

    /// Whether these are of all rows and of a lane: it has one with each.
    fn is_of(&self, node: &FoldsNode<'_>, lane: usize) -> bool {
        self.rows.iter().all(|row| row.is_some_and(|row| node.lanes.is_in(lane, row)))
    }
}

/// A lane whose best split is in one of some columns.
pub struct Contest<'a, C: Criterion> {
    /// The lane.
    pub lane: usize,
    /// The statistics of its rows.
    pub totals: &'a C::Totals,
    /// The columns.
    pub features: &'a [u32],
}

/// The best splits of lanes among some columns: exact, by the scan that everybody uses.
pub fn best_among<C: Criterion>(
    search: &Search<'_, C>,
    node: &FoldsNode<'_>,
    contests: &[Contest<'_, C>],
    folds: &mut FoldScratch,
    scratch: &mut Scratch<C>,
) -> Result<Vec<Option<FoldSplit>>> {
    let order = node.key.feature_order(search.data.n_features());
    let mut found = Vec::with_capacity(contests.len());
    let per_chunk = (CONTEST_ROWS / node.samples.len()).max(1);
    for contests in contests.chunks(per_chunk) {
        search.runtime.check_interrupt()?;
        found.extend(decide(search, node, &order, contests, folds, scratch)?);
    }
    Ok(found)
}

/// The same for some of them, whose rows are listed at once.
fn decide<C: Criterion>(
    search: &Search<'_, C>,
    node: &FoldsNode<'_>,
    order: &Permutation,
    contests: &[Contest<'_, C>],
    folds: &mut FoldScratch,
    scratch: &mut Scratch<C>,
) -> Result<Vec<Option<FoldSplit>>> {
    let mut features: Vec<u32> = contests.iter().flat_map(|contest| contest.features).copied().collect();
    features.sort_unstable();
    features.dedup();
    let mut samples: Vec<Samples> = contests
        .iter()
        .map(|contest| {
            let is_in = |&sample: &u32| node.lanes.is_in(contest.lane, sample);
            Samples::new(node.samples.iter().copied().filter(is_in).collect(), search.data.n_samples(), false)
        })
        .collect();
    let samples: Vec<SampleSet<'_>> = samples.iter_mut().map(Samples::root).collect();
    let mut bests: Vec<Best<C>> = contests.iter().map(|_| Best::new()).collect();
    let mut own = Vec::new();
    fill_columns(search, node.samples, (&features, false), folds, |column| {
        for ((contest, samples), best) in contests.iter().zip(&samples).zip(&mut bests) {
            if !contest.features.contains(&column.feature) {
                continue;
            }
            own.clear();
            let is_in = |entry: &Entry| node.lanes.is_in(contest.lane, entry.sample());
            own.extend(column.entries.iter().copied().filter(is_in));
            let (totals, n_common) = (contest.totals, samples.len() - own.len());
            let alone = Node { samples, n_entries: 0, totals, key: node.key, constants: node.constants, limits: None };
            let at = NodeSearch { search, node: &alone, order };
            at.evaluate(NodeColumn { entries: &own, n_common, ..column }, &mut scratch.scan, best);
        }
    })?;
    Ok(bests.into_iter().map(|best| best.candidate().map(|candidate| FoldSplit::of(&candidate))).collect())
}

/// Of each row whether it goes left by a split.
pub fn goes_left<C: Criterion>(
    search: &Search<'_, C>,
    samples: &[u32],
    split: &FoldSplit,
    scratch: &mut FoldScratch,
) -> Result<Vec<bool>> {
    let missing_rank = search.data.missing_rank(split.feature);
    let goes_left = |rank| {
        if Some(rank) == missing_rank { split.missing == Some(Side::Left) } else { rank <= split.last_left }
    };
    if let Columns::Dense(columns) = search.data.columns() {
        let column = columns.column(split.feature);
        return Ok(samples.iter().map(|&sample| goes_left(column.rank(sample))).collect());
    }
    // Marks are on the rows that do not go where the common value goes.
    let mut marks = std::mem::take(&mut scratch.marks);
    let mut marked = Vec::new();
    let mut common_left = false;
    fill_columns(search, samples, (&[split.feature], false), scratch, |column| {
        common_left = goes_left(column.common_rank);
        let others = column.entries.iter().filter(|entry| goes_left(entry.rank()) != common_left);
        marked.extend(others.map(|entry| entry.sample()));
    })?;
    marks.insert_all(&marked);
    let sides = samples.iter().map(|&sample| marks.contains(sample) != common_left).collect();
    marks.remove_all(&marked);
    scratch.marks = marks;
    Ok(sides)
}
