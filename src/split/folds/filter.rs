//! The pass over a column that scores its cuts for all folds of a node.

use smallvec::{SmallVec, smallvec};

use super::FoldsNode;
use super::class_scores::{Counts, FoldRow, FoldRows};
use super::held_out::IS_LIST;
use crate::data::Entry;
use crate::rng::Permutation;
use crate::split::node::NodeColumn;

/// If at least this many folds hold out one row each, of the same class and weight, they are scored
/// together: a cut has only two scores for all of them.
const SINGLES_FROM: usize = 4;
/// The class of a run whose rows have, or may have, several classes.
const MIXED: u32 = u32::MAX;

/// The best cut of a fold so far.
pub(crate) struct Leader {
    score: f64,
    pub feature: u32,
    /// Rows with ranks up to this one go left.
    pub rank: u32,
    /// The fold's class counts on the left of the cut.
    left: Counts,
    /// The features whose columns have a cut that comes near by rounding, including `feature`.
    pub near: SmallVec<[u32; 4]>,
    /// Whether all cuts that come near tie with this one by equal counts.
    pub is_alone: bool,
}

/// Folds that hold out one row each, of the same class and weight. A cut has one score for all of
/// these folds whose row is on the left, and one for all others.
struct SingleFolds {
    class: u32,
    weight: u32,
    folds: Vec<u32>,
    /// The least floor of these folds, or a lower number.
    floor: f64,
}

/// The pass over the columns of one node.
pub(crate) struct Sweep<'a, 'n> {
    rows: &'a FoldRows,
    node: &'a FoldsNode<'n>,
    order: &'a Permutation,
    /// The class counts of all rows of the node.
    counts: Counts,
    /// The class counts of the rows that each fold holds out: the count of class `c` for fold `l`
    /// is at `l * n_classes + c`.
    held_out: Vec<u32>,
    /// The class counts of the rows of each fold, laid out like `held_out`.
    totals: Vec<u32>,
    /// For each fold, the score below which no cut can be the best.
    floors: Vec<f64>,
    pub leaders: Vec<Option<Leader>>,
    /// Folds that hold out one row, grouped by the class and the weight of that row.
    singles: Vec<SingleFolds>,
    /// Folds that are in no group of `singles`; they are scored one by one.
    plural: Vec<u32>,
    /// Features with missing values in the node, whose columns the pass cannot score.
    pub others: SmallVec<[u32; 4]>,
    /// In the column of the pass, the class counts of all rows on the left of the cut.
    left: Counts,
    /// In the column of the pass, the class counts of the rows on the left that each fold holds
    /// out, laid out like `held_out`.
    held_left: Vec<u32>,
    /// The folds for which a cut may be the best, each with the score of the cut.
    hits: Vec<(u32, f64)>,
    /// The class of the run before the cut, or `MIXED`.
    class: u32,
    /// The rank of the run before the cut; `None` before the first run of a column.
    rank: Option<u32>,
}

impl<'a, 'n> Sweep<'a, 'n> {
    pub fn new(rows: &'a FoldRows, node: &'a FoldsNode<'n>, order: &'a Permutation) -> Self {
        let (n_classes, n_folds) = (rows.n_classes, node.held_out.len());
        let mut counts: Counts = smallvec![0; n_classes];
        rows.count(node.samples, &mut counts);
        let mut held_out = vec![0; n_classes * n_folds];
        for (samples, counts) in node.held_out.iter().zip(held_out.chunks_exact_mut(n_classes)) {
            rows.count(samples, counts);
        }
        let totals = held_out
            .chunks_exact(n_classes)
            .flat_map(|held_out| counts.iter().zip(held_out).map(|(all, held_out)| all - held_out));
        let mut singles: Vec<SingleFolds> = Vec::new();
        let mut plural = Vec::new();
        for (fold, held_out) in (0..).zip(node.held_out) {
            let &[sample] = *held_out else {
                plural.push(fold);
                continue;
            };
            let FoldRow { class, weight } = rows.rows[sample as usize];
            match singles.iter_mut().find(|singles| singles.class == class && singles.weight == weight) {
                Some(singles) => singles.folds.push(fold),
                None => singles.push(SingleFolds { class, weight, folds: vec![fold], floor: f64::NEG_INFINITY }),
            }
        }
        for few in singles.extract_if(.., |singles| singles.folds.len() < SINGLES_FROM) {
            plural.extend(few.folds);
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
            floors: vec![f64::NEG_INFINITY; n_folds],
            leaders: (0..n_folds).map(|_| None).collect(),
            others: SmallVec::new(),
            left: smallvec![0; n_classes],
            held_left: Vec::new(),
            hits: Vec::new(),
            class: MIXED,
            rank: None,
        }
    }

    /// Scores the cuts of a column for all folds. Returns whether the column varies in the node.
    pub fn column(&mut self, column: NodeColumn<'_>, missing_rank: Option<u32>) -> bool {
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
        self.held_left.clear();
        self.held_left.resize(self.held_out.len(), 0);
        if n_common == 0 {
            self.runs(feature, entries);
            return true;
        }
        let (low, high) = entries.split_at(entries.partition_point(|entry| entry.rank() < common_rank));
        self.runs(feature, low);
        // Once the rows of the common rank are on the left too, all rows but `high` are on the left. Counting
        // starts with all rows, and takes the rows of `high` away.
        self.cut(feature, MIXED, common_rank);
        self.left.copy_from_slice(&self.counts);
        self.held_left.copy_from_slice(&self.held_out);
        for &entry in high {
            self.push::<false>(entry);
        }
        self.runs(feature, high);
        true
    }

    /// Puts a row on the left if `IN`, else takes the row away from the left.
    #[inline]
    fn push<const IN: bool>(&mut self, entry: Entry) {
        let FoldRow { class, weight } = self.rows.rows[entry.sample() as usize];
        let add = |count: &mut u32| if IN { *count += weight } else { *count -= weight };
        add(&mut self.left[class as usize]);
        let (n_classes, tag) = (self.rows.n_classes, self.node.holders.tags[entry.sample() as usize]);
        if tag & IS_LIST != 0 {
            for &fold in self.node.holders.list(tag) {
                add(&mut self.held_left[fold as usize * n_classes + class as usize]);
            }
        } else if tag > 0 {
            add(&mut self.held_left[(tag as usize - 1) * n_classes + class as usize]);
        }
    }

    /// Scores the cut before each run of equal ranks, and puts the rows of the run on the left.
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

    /// Scores the cut before a run for all folds, if the cut is a boundary point. `class` is the
    /// class of the rows of the run, or `MIXED`.
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
        if !hits.is_empty() {
            for (fold, score) in hits.drain(..) {
                self.consider(fold as usize, score, feature, last);
            }
            for singles in &mut self.singles {
                let floors = singles.folds.iter().map(|&fold| self.floors[fold as usize]);
                singles.floor = floors.fold(f64::INFINITY, f64::min);
            }
        }
        self.hits = hits;
    }

    /// Scores a cut for the folds of `singles`: once with the row that a fold holds out on the
    /// left, once with the row on the right.
    fn score_singles(&self, hits: &mut Vec<(u32, f64)>) {
        let n_classes = self.rows.n_classes;
        for singles in &self.singles {
            let (class, weight) = (singles.class as usize, singles.weight);
            let mut held_out: Counts = smallvec![0; n_classes];
            let mut totals = self.counts.clone();
            totals[class] -= weight;
            held_out[class] = weight;
            let none: Counts = smallvec![0; n_classes];
            let score_of =
                |on_left: bool| self.rows.score(&self.left, if on_left { &held_out } else { &none }, &totals);
            // Where no row of the class can be on that side, the score does not occur.
            let inside = if self.left[class] >= weight { score_of(true) } else { f64::NEG_INFINITY };
            let outside =
                if self.left[class] + weight <= self.counts[class] { score_of(false) } else { f64::NEG_INFINITY };
            if inside.max(outside) < singles.floor {
                continue;
            }
            for &fold in &singles.folds {
                let is_left = self.held_left[fold as usize * n_classes + class] > 0;
                let score = if is_left { inside } else { outside };
                if score >= self.floors[fold as usize] {
                    hits.push((fold, score));
                }
            }
        }
    }

    /// Scores a cut for each fold of `plural`.
    fn score_plural(&self, hits: &mut Vec<(u32, f64)>) {
        if let (&[left_0, left_1], true) = (&self.left[..], self.singles.is_empty()) {
            // The usual case: two classes, and every fold in `plural`, so that folds need not be
            // looked up there.
            let folds = self.held_left.as_chunks::<2>().0.iter().zip(self.totals.as_chunks::<2>().0).zip(&self.floors);
            for (fold, ((held_out, totals), &floor)) in (0..).zip(folds) {
                let score = self.rows.score_of_two([left_0 - held_out[0], left_1 - held_out[1]], *totals);
                if score >= floor {
                    hits.push((fold, score));
                }
            }
            return;
        }
        let n_classes = self.rows.n_classes;
        for &fold in &self.plural {
            let slots = fold as usize * n_classes..(fold as usize + 1) * n_classes;
            let score = self.rows.score(&self.left, &self.held_left[slots.clone()], &self.totals[slots]);
            if score >= self.floors[fold as usize] {
                hits.push((fold, score));
            }
        }
    }

    /// Compares a cut that may be the best of a fold with the fold's best cut so far.
    #[cold]
    fn consider(&mut self, fold: usize, score: f64, feature: u32, rank: u32) {
        let n_classes = self.rows.n_classes;
        let held_out = &self.held_left[n_classes * fold..][..n_classes];
        let totals = &self.totals[n_classes * fold..][..n_classes];
        let left: Counts = self.left.iter().zip(held_out).map(|(left, held_out)| left - held_out).collect();
        if left.iter().all(|&count| count == 0) || left[..] == *totals {
            return;
        }
        let tolerance = self.rows.tolerance;
        let slot = &mut self.leaders[fold];
        match slot {
            Some(leader) if score <= leader.score + tolerance => {
                let mirrored = leader.left.iter().zip(&left).zip(totals).all(|((a, b), total)| a + b == *total);
                if leader.left == left || mirrored {
                    // A tie. Of two such cuts of one column the first is kept. This also holds
                    // where only rows that the fold holds out lie between the two cuts, which then
                    // are the same cut for the fold.
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
            self.floors[fold] = leader.score - tolerance;
        }
    }
}
