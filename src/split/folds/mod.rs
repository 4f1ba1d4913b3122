//! The best splits of a node for several folds at once.
//!
//! A lane is one fold, or all folds that hold nothing out of the node. Each lane has the rows of
//! the node without a few rows that it holds out. A column is filled and sorted once. Then one pass
//! keeps the class counts of all rows on the left of the cut, and of the rows there that each lane
//! holds out; the differences are the class counts of the lanes. After Blockeel & Struyf,
//! "Efficient algorithms for decision tree cross-validation", JMLR 3, 2002, who share the tests
//! that are evaluated; here the folds get their own exact splits.
//!
//! The pass scores cuts in `f64` from a table of `c log2 c`, or `c^2` for Gini impurity, and is
//! only a filter. If a lane's best cut is ahead of all others by more than the rounding error, or
//! ties with them by equal counts, it is the best. Otherwise the columns that come near are
//! searched for this lane alone by the scan that all storages share, which is exact.
//!
//! Only cuts at boundary points are scored. These are the cuts between two runs of equal values,
//! unless all rows of both runs are of one class. Any other cut is worse than some cut at a
//! boundary point (Fayyad & Irani, "On the handling of continuous-valued attributes in decision
//! tree generation", Machine Learning 8, 1992; Elomaa & Rousu, "General and efficient
//! multisplitting of numerical attributes", Machine Learning 36, 1999, for all concave impurities),
//! also if some rows are held out. For entropy in fixed point this holds while logarithms are exact
//! to more digits than a row can count for: see `MAX_WEIGHT` in `class_scores`.
//!
//! O(rows log rows + cuts * lanes) per column.

mod class_scores;
mod columns;
mod cut_ranks;
mod exact;
mod filter;
mod held_out;

pub use class_scores::{FoldRows, shares};
pub use columns::FoldScratch;
pub use held_out::HeldOut;

use std::sync::Arc;

use smallvec::SmallVec;

use crate::criterion::Criterion;
use crate::data::Columns;
use crate::error::Result;
use crate::rng::{NodeKey, Side};
use crate::split::candidate::{Candidate, Cut};
use crate::split::constants::ConstantFeatures;
use crate::split::node::Search;

use columns::fill_columns;
use cut_ranks::CutRanks;
use exact::{Contest, best_among};
use filter::Sweep;

/// A node to be split for several lanes.
pub struct FoldsNode<'a> {
    /// The ids of the rows of the node.
    pub samples: &'a [u32],
    /// The key from which the node's random choices are derived.
    pub key: NodeKey,
    /// The features that are known not to vary in the node.
    pub constants: &'a Arc<ConstantFeatures>,
    /// For each lane, the rows that it holds out.
    pub held_out: &'a [&'a [u32]],
    /// For each row, the lanes that hold it out.
    pub lanes: &'a HeldOut,
}

impl FoldsNode<'_> {
    fn n_lanes(&self) -> usize {
        self.held_out.len()
    }

    /// The number of rows that a lane has in the node.
    fn n_samples(&self, lane: usize) -> usize {
        self.samples.len() - self.held_out[lane].len()
    }
}

/// What the filter finds out about the best split of a lane.
#[derive(Debug, Clone, PartialEq)]
enum Verdict {
    /// This split is the best one.
    Split(Candidate),
    /// The best split is in the column of one of these features.
    Among(SmallVec<[u32; 4]>),
    /// No feature that was drawn varies.
    Constant,
}

/// Finds the best split of each lane, given the statistics of the rows of each. A lane has no split
/// if no drawn feature varies in it. Also returns the features that are known not to vary in the
/// node.
pub fn best_splits<C: Criterion>(
    search: &Search<'_, C>,
    rows: &FoldRows,
    node: &FoldsNode<'_>,
    totals: &[C::Totals],
    scratch: &mut FoldScratch,
    scan: &mut C::Scan,
) -> Result<(Vec<Option<Candidate>>, Arc<ConstantFeatures>)> {
    let (verdicts, constants) = filter(search, rows, node, scratch)?;
    let mut contests: Vec<Contest<'_, C>> = Vec::new();
    for (lane, verdict) in verdicts.iter().enumerate() {
        if let Verdict::Among(features) = verdict {
            contests.push(Contest { lane, totals: &totals[lane], features });
        }
    }
    let mut found = best_among(search, node, &contests, scratch, scan)?.into_iter();
    let splits = verdicts.iter().map(|verdict| match verdict {
        Verdict::Split(split) => Some(*split),
        Verdict::Constant => None,
        Verdict::Among(_) => found.next().flatten(),
    });
    Ok((splits.collect(), constants))
}

/// Makes one pass over each drawn column. Returns what the pass finds out about the best split of
/// each lane, and the features that are known not to vary in the node.
fn filter<C: Criterion>(
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
    let mut sweep = Sweep::new(rows, node, &order, std::mem::take(&mut scratch.held_left));
    let mut constants = Vec::new();
    fill_columns(search, node.samples, (&features, search.draws_all()), scratch, |column| {
        let feature = column.feature;
        if !sweep.column(column, search.data.missing_rank(feature)) {
            constants.push(feature);
        }
    })?;
    let Sweep { leaders, others, held_left, .. } = sweep;
    (scratch.held_left, scratch.features) = (held_left, features);
    let constants = node
        .constants
        .with(&constants, |feature| search.data.column_entries(feature))
        .unwrap_or_else(|| Arc::clone(node.constants));
    let mut verdicts: Vec<Verdict> = Vec::with_capacity(leaders.len());
    let mut winners: Vec<(u32, usize, u32)> = Vec::new();
    for (lane, leader) in leaders.into_iter().enumerate() {
        verdicts.push(match leader {
            // Replaced below by a split, whose ranks are looked up column by column.
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
                let of_all = CutRanks::new(node, None, winners[0].2, column);
                for &(_, lane, rank) in winners {
                    // Most lanes have the two rows beside the cut of all rows.
                    let CutRanks { last_left, first_right, .. } =
                        if of_all.is_of(node, lane) { of_all } else { CutRanks::new(node, Some(lane), rank, column) };
                    let cut = Cut::Before(first_right);
                    verdicts[lane] = Verdict::Split(Candidate {
                        feature,
                        last_left,
                        missing: None,
                        order: 0,
                        cut,
                        n_left: 0,
                        is_loose: true,
                    });
                }
            }
        })?;
    }
    Ok((verdicts, constants))
}

/// For each row, whether it goes left by a split.
pub fn goes_left<C: Criterion>(
    search: &Search<'_, C>,
    samples: &[u32],
    split: &Candidate,
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
    // Marked rows are those that do not go to the side of the common value.
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::criterion::{Visitor, visit_classes};
    use crate::data::{Dataset, Format, SparseView, Target};
    use crate::params::{CriterionKind, TreeParams};
    use crate::runtime::Runtime;

    /// Searches a node of all rows for two folds.
    struct TwoFolds<'a> {
        data: &'a Dataset,
        target: &'a Target,
        runtime: &'a Runtime<'a>,
    }

    impl Visitor for TwoFolds<'_> {
        /// Entries of the features that do not vary.
        type Output = usize;

        fn visit<C: Criterion>(self, criterion: &C) -> Result<usize> {
            let Self { data, target, runtime } = self;
            let n = data.n_samples();
            let params = TreeParams::new(CriterionKind::Entropy).check(n, data.n_features())?;
            let search = Search::new(data, target, criterion, &params, n as u64, runtime)?;
            let rows = FoldRows::new(data, target, &params).expect("folds can share these parameters");
            let samples: Vec<u32> = (0..n as u32).collect();
            let held_out: [&[u32]; 2] = [&[0], &[1]];
            let mut lanes = HeldOut::new(n);
            let all = criterion.totals(&samples);
            let mut totals = Vec::new();
            for (lane, rows) in held_out.iter().enumerate() {
                lanes.insert(lane, rows);
                totals.push(criterion.minus(&all, &criterion.totals(rows)));
            }
            let constants = Arc::new(ConstantFeatures::none(data.n_features()));
            let key = NodeKey::root(0, 0);
            let node = FoldsNode { samples: &samples, key, constants: &constants, held_out: &held_out, lanes: &lanes };
            let mut scratch = FoldScratch::new(data);
            let (_, found) = best_splits(&search, &rows, &node, &totals, &mut scratch, &mut criterion.scan())?;
            Ok(found.nnz())
        }
    }

    /// The number of entries of constant columns tells which way to read columns is cheaper.
    #[test]
    fn entries_of_constant_features_are_counted() {
        // Column 0 stores 1.0 in every row, column 1 in half of the rows.
        let (indptr, indices) = ([0, 6, 9], [0, 1, 2, 3, 4, 5, 0, 2, 4]);
        let view = SparseView::new((6, 2), Format::Csc, &indptr, &indices, &[1.0f32; 9]).unwrap();
        let stop = AtomicBool::new(false);
        let runtime = Runtime::new(1, &stop);
        let data = Dataset::from_sparse(&view, &runtime).unwrap();
        let target = Target::classification(&[0, 1, 0, 1, 0, 1], &[2], None).unwrap();
        let folds = TwoFolds { data: &data, target: &target, runtime: &runtime };
        assert_eq!(visit_classes(CriterionKind::Entropy, &target, folds).unwrap(), 6);
    }
}
