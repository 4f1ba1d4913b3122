//! The best splits of a node for several folds at once.
//!
//! Each fold has the rows of the node without a few rows that it holds out. (All folds that hold
//! nothing out count as one.) A column is filled and sorted once. Then one pass keeps the class
//! counts of all rows on the left of the cut, and of the rows there that each fold holds out; the
//! differences are the class counts of the folds. After Blockeel & Struyf, "Efficient algorithms
//! for decision tree cross-validation", JMLR 3, 2002, who share the tests that are evaluated; here
//! the folds get their own exact splits.
//!
//! The pass scores cuts in `f64` from a table of `c log2 c`, or `c^2` for Gini impurity, and is
//! only a filter. If a fold's best cut is ahead of all others by more than the rounding error, or
//! ties with them by equal counts, it is the best. Otherwise the columns that come near are
//! searched for this fold alone by the scan that all storages share, which is exact.
//!
//! Only cuts at boundary points are scored. These are the cuts between two runs of equal values,
//! unless all rows of both runs are of one class. Any other cut is worse than some cut at a
//! boundary point (Fayyad & Irani, "On the handling of continuous-valued attributes in decision
//! tree generation", Machine Learning 8, 1992; Elomaa & Rousu, "General and efficient
//! multisplitting of numerical attributes", Machine Learning 36, 1999, for all concave impurities),
//! also if some rows are held out. For entropy in fixed point this holds while logarithms are exact
//! to more digits than a row can count for: see `MAX_WEIGHT` in `class_scores`.
//!
//! O(rows log rows + cuts * folds) per column.

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

use crate::criterion::Criterion;
use crate::data::Columns;
use crate::error::Result;
use crate::rng::NodeKey;
use crate::split::candidate::Candidate;
use crate::split::constants::ConstantFeatures;
use crate::split::node::Search;

use columns::fill_columns;
use cut_ranks::CutRanks;
use exact::{Contest, best_among};
use filter::Sweep;

/// A node to be split for several folds, which are numbered by their places in `held_out`.
pub struct FoldsNode<'a> {
    /// The ids of the rows of the node.
    pub samples: &'a [u32],
    /// The key from which the node's random choices are derived.
    pub key: NodeKey,
    /// The features that are known not to vary in the node.
    pub constants: &'a Arc<ConstantFeatures>,
    /// For each fold, the rows that it holds out.
    pub held_out: &'a [&'a [u32]],
    /// For each row, the folds that hold it out.
    pub holders: &'a HeldOut,
}

/// Finds the best split of each fold, given the statistics of the rows of each. A fold has no split
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
    let order = node.key.feature_order(search.data.n_features());
    let mut features = Vec::new();
    if search.draws_all() {
        features.extend(0..search.data.n_features() as u32);
    } else {
        order.first(search.level, search.n_drawn() as u32, &mut features);
    }
    features.retain(|&feature| !node.constants.contains(feature));
    let mut sweep = Sweep::new(rows, node, &order);
    let mut constants = Vec::new();
    fill_columns(
        (search.data, search.runtime),
        node.samples,
        (&features, search.draws_all()),
        scratch,
        &mut |column| {
            let feature = column.feature;
            if !sweep.column(column, search.data.missing_rank(feature)) {
                constants.push(feature);
            }
        },
    )?;
    let Sweep { leaders, others, .. } = sweep;
    let constants = node
        .constants
        .with(&constants, &|feature| search.data.column_entries(feature))
        .unwrap_or_else(|| Arc::clone(node.constants));
    let mut winners: Vec<(u32, u32, usize)> = Vec::new();
    let mut contests: Vec<Contest<'_, C>> = Vec::new();
    for ((fold, leader), totals) in leaders.into_iter().enumerate().zip(totals) {
        match leader {
            Some(leader) if leader.is_alone && others.is_empty() => winners.push((leader.feature, leader.rank, fold)),
            // No feature that was drawn varies.
            None if others.is_empty() => {}
            leader => {
                let mut features = leader.map(|leader| leader.near).unwrap_or_default();
                features.extend_from_slice(&others);
                contests.push(Contest { fold, totals, features });
            }
        }
    }
    let mut splits = vec![None; node.held_out.len()];
    winners.sort_unstable();
    for winners in winners.chunk_by(|a, b| a.0 == b.0) {
        let feature = winners[0].0;
        fill_columns((search.data, search.runtime), node.samples, (&[feature], false), scratch, &mut |column| {
            for winners in winners.chunk_by(|a, b| a.1 == b.1) {
                let of_all = CutRanks::new(node, None, winners[0].1, column);
                for &(_, rank, fold) in winners {
                    // Most folds have the two rows beside the cut of all rows.
                    let CutRanks { last_left, first_right, .. } =
                        if of_all.is_of(node, fold) { of_all } else { CutRanks::new(node, Some(fold), rank, column) };
                    let split = Candidate::between(feature, last_left, first_right, 0);
                    splits[fold] = Some(Candidate { is_loose: true, ..split });
                }
            }
        })?;
    }
    let found = best_among(search, node, &contests, scratch, scan)?;
    contests.iter().zip(found).for_each(|(contest, split)| splits[contest.fold] = split);
    Ok((splits, constants))
}

/// For each row, whether it goes left by a split.
pub fn goes_left<C: Criterion>(
    search: &Search<'_, C>,
    samples: &[u32],
    split: &Candidate,
    scratch: &mut FoldScratch,
) -> Result<Vec<bool>> {
    let missing_rank = search.data.missing_rank(split.feature);
    let goes_left = |rank| split.goes_left(rank, missing_rank);
    if let Columns::Dense(columns) = search.data.columns() {
        let column = columns.column(split.feature);
        return Ok(samples.iter().map(|&sample| goes_left(column.rank(sample))).collect());
    }
    // Marked rows do not go to the side of the common value.
    let mut marks = std::mem::take(&mut scratch.marks);
    let mut marked = Vec::new();
    let mut common_left = false;
    fill_columns((search.data, search.runtime), samples, (&[split.feature], false), scratch, &mut |column| {
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
            let mut holders = HeldOut::new(n);
            let all = criterion.totals(&samples);
            let mut totals = Vec::new();
            for (fold, rows) in held_out.iter().enumerate() {
                holders.insert(fold, rows);
                totals.push(criterion.minus(&all, &criterion.totals(rows)));
            }
            let constants = Arc::new(ConstantFeatures::none(data.n_features()));
            let key = NodeKey::root(0, 0);
            let node =
                FoldsNode { samples: &samples, key, constants: &constants, held_out: &held_out, holders: &holders };
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
