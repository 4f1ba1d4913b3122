//! The best splits of a node for several folds at once.
//!
//! The folds' rows are those of one node without the few that each holds out itself. A column is filled and sorted once;
//! then one pass keeps the class counts of all rows and of the rows that each fold holds out, and the difference is what the
//! fold sees. After Blockeel & Struyf, "Efficient algorithms for decision tree cross-validation", JMLR 3, 2002, who
//! share the tests that are evaluated; here the folds get their own exact splits.
//!
//! The pass scores in `f64` from a table of `c log2 c` and is no more than a filter: where a fold's best cut is ahead
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
use super::{ConstantFeatures, Node, NodeColumn, NodeSearch, Outcome, Scratch, Search};
use crate::bitset::Bitset;
use crate::criterion::Criterion;
use crate::data::sparse::Rank;
use crate::data::target::{Target, TargetValues};
use crate::data::{Columns, Dataset, SparseColumns};
use crate::error::Result;
use crate::intersect::{self, Entry, Gather, NodeCosts, Strategy};
use crate::params::{CriterionKind, FeatureSampling, Splitter, ValidTreeParams};
use crate::rng::{NodeKey, Permutation};
use crate::samples::Samples;

/// A row that no fold holds out.
pub const NOBODY: u32 = u32::MAX;
/// Classes from which on folds are searched one by one.
const MAX_CLASSES: usize = 16;
/// The same for the total weight: the table of `c log2 c` has an entry for each.
const MAX_WEIGHT: u64 = 1 << 20;
/// Class of a run with several.
const MIXED: u32 = u32::MAX;

/// What the pass needs to know of the rows of a tree.
pub struct FoldRows {
    rows: Vec<Row>,
    n_classes: usize,
    /// `c log2 c`.
    table: Vec<f64>,
    /// What the scores of two cuts may differ by for rounding.
    tolerance: f64,
}

#[derive(Clone, Copy)]
struct Row {
    class: u32,
    weight: u32,
    /// The fold that holds it out.
    owner: u32,
}

impl FoldRows {
    /// Of the rows of a target, given the fold that holds each out or [`NOBODY`]. Nothing if folds cannot be searched together
    /// with these parameters: the pass knows class counts of one output, and takes any cut for legal.
    pub fn new(data: &Dataset, target: &Target, params: &ValidTreeParams, owners: &[u32]) -> Option<Self> {
        let TargetValues::Classes(classes) = target.values() else { return None };
        let n_classes = classes.first[1] as usize;
        let weights = target.weights();
        let total: u64 = (0..target.n_samples()).map(|sample| weights.get(sample)).sum();
        let draws_as_told = params.feature_sampling == FeatureSampling::All || params.max_features >= data.n_features() as u64;
        let is_plain = params.splitter == Splitter::Best
            && params.min_samples_leaf <= 1
            && params.min_weight_fraction_leaf <= 0.0
            && params.min_impurity_decrease <= 0.0
            && params.monotonic_cst.is_none()
            && params.max_leaf_nodes.is_none()
            && params.ccp_alpha <= 0.0
            && draws_as_told;
        if target.n_outputs() > 1
            || params.criterion != CriterionKind::Entropy
            || n_classes > MAX_CLASSES
            || total > MAX_WEIGHT
            || data.has_categories()
            || !is_plain
        {
            return None;
        }
        let row = |(sample, &owner): (usize, &u32)| Row {
            class: classes.slots[sample],
            weight: weights.get(sample) as u32,
            owner,
        };
        let table: Vec<f64> = (0..=total).map(|c| if c == 0 { 0.0 } else { c as f64 * (c as f64).log2() }).collect();
        let most = table.last().copied().unwrap_or_default();
        // Each side is a sum of one term per class and one of the weight, none above the last of the table.
        let tolerance = 16.0 * f64::EPSILON * (n_classes + 1) as f64 * most;
        Some(Self { rows: owners.iter().enumerate().map(row).collect(), n_classes, table, tolerance })
    }

    /// The fold that holds a row out.
    #[inline]
    pub fn owner(&self, sample: u32) -> u32 {
        self.rows[sample as usize].owner
    }

    /// Number of classes.
    pub fn n_classes(&self) -> usize {
        self.n_classes
    }

    /// Adds the class counts of some rows.
    pub fn count(&self, samples: &[u32], counts: &mut [u32]) {
        for &sample in samples {
            let row = self.rows[sample as usize];
            counts[row.class as usize] += row.weight;
        }
    }
}

/// A node, to be split for several folds.
pub struct FoldsNode<'a> {
    /// The rows of all folds.
    pub samples: &'a [u32],
    /// The key of its random choices.
    pub key: NodeKey,
    /// Features known not to vary in it.
    pub constants: &'a Arc<ConstantFeatures>,
    /// The class counts of all rows.
    pub counts: &'a [u32],
    /// For each lane one after the other, the class counts of what it holds out.
    pub held_out: &'a [u32],
    /// By fold, its lane; anything above for those that hold nothing out here.
    pub lanes: &'a [u32],
    /// Number of lanes.
    pub n_lanes: usize,
}

impl FoldsNode<'_> {
    /// The lane that holds a row out, or the one after the last.
    #[inline]
    pub fn lane(&self, owner: u32) -> usize {
        self.lanes.get(owner as usize).map_or(self.n_lanes, |&lane| self.n_lanes.min(lane as usize))
    }
}

/// What is known of the best split of a fold.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// It is this one.
    Split(Candidate),
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
    /// Weight on the left: tells the cuts of a column apart.
    weight: u32,
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
                ..Self::default()
            },
        }
    }

    /// Sets the entries to those of a column: of all rows, in their order.
    fn load(&mut self, data: &Dataset, samples: &[u32], feature: u32) {
        self.entries.clear();
        self.entries.extend(samples.iter().map(|&sample| Entry::new(data.rank(feature, sample), sample)));
    }
}

/// The search of one node.
struct Sweep<'a, 'n> {
    rows: &'a FoldRows,
    node: &'a FoldsNode<'n>,
    /// By lane, its class counts.
    totals: Vec<u32>,
    floors: Vec<f64>,
    leaders: Vec<Option<Leader>>,
    /// Columns that the pass cannot score.
    others: SmallVec<[u32; 4]>,
    /// In one column: counts of what is on the left, of all rows and of those that the lanes hold out.
    left: SmallVec<[u32; MAX_CLASSES]>,
    own: Vec<u32>,
    /// The last run.
    class: u32,
    rank: Option<u32>,
}

impl<'a, 'n> Sweep<'a, 'n> {
    fn new(rows: &'a FoldRows, node: &'a FoldsNode<'n>, own: Vec<u32>) -> Self {
        let totals = node.held_out.chunks_exact(rows.n_classes).flat_map(|held_out| {
            node.counts.iter().zip(held_out).map(|(all, own)| all - own)
        });
        Self {
            rows,
            node,
            totals: totals.collect(),
            floors: vec![f64::NEG_INFINITY; node.n_lanes],
            leaders: (0..node.n_lanes).map(|_| None).collect(),
            others: SmallVec::new(),
            left: smallvec![0; rows.n_classes],
            own,
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
        // One more lane for rows that nobody here holds out.
        self.own.resize((self.node.n_lanes + 1) * self.rows.n_classes, 0);
        if n_common == 0 {
            self.runs(feature, entries);
            return true;
        }
        let (low, high) = entries.split_at(entries.partition_point(|entry| entry.rank() < common_rank));
        self.runs(feature, low);
        // What is on the left with the common run is all but what is above it.
        self.cut(feature, MIXED, common_rank);
        self.left.copy_from_slice(self.node.counts);
        let n_own = self.node.held_out.len();
        self.own[..n_own].copy_from_slice(self.node.held_out);
        for entry in high {
            let (row, lane) = self.row(*entry);
            self.left[row.class as usize] -= row.weight;
            let own = &mut self.own[lane * self.rows.n_classes + row.class as usize];
            *own = own.wrapping_sub(row.weight);
        }
        self.runs(feature, high);
        true
    }

    #[inline]
    fn row(&self, entry: Entry) -> (Row, usize) {
        let row = self.rows.rows[entry.sample() as usize];
        (row, self.node.lane(row.owner))
    }

    /// Goes through runs of equal ranks.
    fn runs(&mut self, feature: u32, entries: &[Entry]) {
        let n_classes = self.rows.n_classes;
        for run in entries.chunk_by(|a, b| a.rank() == b.rank()) {
            let class_of = |entry: &Entry| self.rows.rows[entry.sample() as usize].class;
            let first = class_of(&run[0]);
            let class = if run[1..].iter().all(|entry| class_of(entry) == first) { first } else { MIXED };
            self.cut(feature, class, run[0].rank());
            for &entry in run {
                let (row, lane) = self.row(entry);
                self.left[row.class as usize] += row.weight;
                let own = &mut self.own[lane * n_classes + row.class as usize];
                *own = own.wrapping_add(row.weight);
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
        let table = &self.rows.table[..];
        if let &[left_0, left_1] = &self.left[..] {
            for lane in 0..self.node.n_lanes {
                let (own, totals) = (&self.own[2 * lane..2 * lane + 2], &self.totals[2 * lane..2 * lane + 2]);
                let (a, b) = (left_0 - own[0], left_1 - own[1]);
                let (c, d) = (totals[0] - a, totals[1] - b);
                let at = |count: u32| table[count as usize];
                let score = (at(a) + at(b) - at(a + b)) + (at(c) + at(d) - at(c + d));
                if score >= self.floors[lane] {
                    self.consider(lane, score, feature, last, a + b, a + b + c + d);
                }
            }
            return;
        }
        let n_classes = self.rows.n_classes;
        for lane in 0..self.node.n_lanes {
            let own = &self.own[n_classes * lane..][..n_classes];
            let totals = &self.totals[n_classes * lane..][..n_classes];
            let (mut inside, mut outside, mut weight, mut rest) = (0.0, 0.0, 0, 0);
            for ((left, own), total) in self.left.iter().zip(own).zip(totals) {
                let count = left - own;
                inside += table[count as usize];
                outside += table[(total - count) as usize];
                weight += count;
                rest += total - count;
            }
            let score = (inside - table[weight as usize]) + (outside - table[rest as usize]);
            if score >= self.floors[lane] {
                self.consider(lane, score, feature, last, weight, weight + rest);
            }
        }
    }

    #[cold]
    fn consider(&mut self, lane: usize, score: f64, feature: u32, rank: u32, weight: u32, total: u32) {
        if weight == 0 || weight == total {
            return;
        }
        let tolerance = self.rows.tolerance;
        match &mut self.leaders[lane] {
            // Only rows that the fold holds out lie between.
            Some(leader) if leader.feature == feature && leader.weight == weight => return,
            Some(leader) if score <= leader.score + tolerance => {
                leader.is_alone = false;
                if leader.near.last() != Some(&feature) {
                    leader.near.push(feature);
                }
                leader.score = leader.score.max(score);
            }
            leader => {
                *leader = Some(Leader { score, feature, rank, weight, near: smallvec![feature], is_alone: true });
            }
        }
        if let Some(leader) = &self.leaders[lane] {
            self.floors[lane] = leader.score - tolerance;
        }
    }
}

/// Calls `visit` with the columns of the features that a node draws, sorted.
fn fill_columns<C: Criterion>(
    search: &Search<'_, C>,
    node: &FoldsNode<'_>,
    order: &Permutation,
    scratch: &mut FoldScratch,
    mut visit: impl FnMut(NodeColumn<'_>),
) -> Result<()> {
    let FoldScratch { features, .. } = scratch;
    if search.draws_all() {
        features.clear();
        features.extend(0..search.data.n_features() as u32);
    } else {
        order.first(search.n_drawn() as u32, features);
    }
    features.retain(|&feature| !node.constants.contains(feature));
    let features = std::mem::take(features);
    match search.data.columns() {
        Columns::Dense(columns) => {
            for &feature in &features {
                search.runtime.check_interrupt()?;
                visit(sort::node_column(feature, columns.column(feature), node.samples, true, &mut scratch.sort));
            }
        }
        Columns::SparseU16(columns) => fill_sparse(search, columns, node.samples, &features, scratch, &mut visit)?,
        Columns::SparseU32(columns) => fill_sparse(search, columns, node.samples, &features, scratch, &mut visit)?,
    }
    scratch.features = features;
    Ok(())
}

fn fill_sparse<C: Criterion, R: Rank>(
    search: &Search<'_, C>,
    columns: &SparseColumns<R>,
    samples: &[u32],
    features: &[u32],
    scratch: &mut FoldScratch,
    visit: &mut impl FnMut(NodeColumn<'_>),
) -> Result<()> {
    let FoldScratch { gather, members, entries, .. } = scratch;
    let n_entries = search.n_entries(samples);
    let costs = NodeCosts::new(samples.len(), n_entries);
    let one_by_one: f64 = features.iter().map(|&feature| costs.column_cost(columns.column_nnz(feature))).sum();
    let one_by_one = one_by_one + costs.columns_visited_cost(features.len());
    if search.draws_all() && costs.gather_cost(None) < one_by_one {
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
    let mut sweep = Sweep::new(rows, node, std::mem::take(&mut scratch.own));
    let mut constants = Vec::new();
    fill_columns(search, node, &order, scratch, |column| {
        let feature = column.feature;
        if !sweep.column(column, search.data.missing_rank(feature)) {
            constants.push(feature);
        }
    })?;
    let Sweep { leaders, others, own, .. } = sweep;
    scratch.own = own;
    let constants = node.constants.with(&constants, |_| 0).unwrap_or_else(|| Arc::clone(node.constants));
    let mut column = None;
    let mut verdict = |(lane, leader): (usize, Option<Leader>)| match leader {
        Some(leader) if leader.is_alone && others.is_empty() => {
            if column.replace(leader.feature) != Some(leader.feature) {
                scratch.load(search.data, node.samples, leader.feature);
            }
            Verdict::Split(candidate_of(rows, node, lane, &leader, &scratch.entries))
        }
        Some(leader) => Verdict::Among(leader.near.iter().chain(&others).copied().collect()),
        None if others.is_empty() => Verdict::Constant,
        None => Verdict::Among(others.clone()),
    };
    let found = leaders.into_iter().enumerate().map(&mut verdict).collect();
    Ok((found, constants))
}

/// The cut of a lane, between ranks that it has.
fn candidate_of(
    rows: &FoldRows,
    node: &FoldsNode<'_>,
    lane: usize,
    leader: &Leader,
    entries: &[Entry],
) -> Candidate {
    let (mut last_left, mut first_right, mut n_left) = (0, u32::MAX, 0);
    for entry in entries {
        if node.lane(rows.owner(entry.sample())) == lane {
            continue;
        }
        if entry.rank() <= leader.rank {
            last_left = last_left.max(entry.rank());
            n_left += 1;
        } else {
            first_right = first_right.min(entry.rank());
        }
    }
    Candidate {
        feature: leader.feature,
        last_left,
        missing: None,
        order: 0,
        cut: Cut::Before(first_right),
        n_left,
        is_loose: false,
    }
}

/// The best split of a lane among some columns: exact, by the scan that everybody uses.
pub fn best_among<C: Criterion>(
    search: &Search<'_, C>,
    rows: &FoldRows,
    node: &FoldsNode<'_>,
    lane: usize,
    (totals, features): (&C::Totals, &[u32]),
    folds: &mut FoldScratch,
    scratch: &mut Scratch<C>,
) -> Option<Candidate> {
    let order = node.key.feature_order(search.data.n_features());
    let is_of_lane = |sample: u32| node.lane(rows.owner(sample)) != lane;
    let ids: Vec<u32> = node.samples.iter().copied().filter(|&sample| is_of_lane(sample)).collect();
    let mut samples = Samples::new(ids, search.data.n_samples(), false);
    let samples = &samples.root();
    let alone = Node { samples, n_entries: 0, totals, key: node.key, constants: node.constants, limits: None };
    let at = NodeSearch { search, node: &alone, order: &order };
    let mut best = Best::new();
    for &feature in features {
        folds.sort.entries.clear();
        folds.sort.entries.extend(samples.ids().iter().map(|&id| Entry::new(search.data.rank(feature, id), id)));
        folds.sort.sort();
        let column = NodeColumn { feature, entries: &folds.sort.entries, n_common: 0, common_rank: u32::MAX };
        let outcome = at.evaluate(column, &mut scratch.scan, &mut best);
        debug_assert!(outcome != Outcome::Hopeless, "no entries are common");
    }
    best.candidate()
}
