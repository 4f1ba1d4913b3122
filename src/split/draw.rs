//! The features that a node draws, in the order of the node's permutation: all features; the first
//! `max_features` of all; or the first `max_features` that vary in the node.
//!
//! With the first `max_features` of all, it is left to the search whether these vary: the search goes on
//! drawing if none of them does (see `by_column`). The first features that vary are found in one of two ways.
//! A *walk* goes along the permutation and tests one column after the other. The other way, for sparse data,
//! reads all *rows* of the node, sees which features vary, and takes the ones with the smallest positions in
//! the permutation. The cost of reading the rows is known in advance; the cost of a walk depends on how many
//! features do not vary. So a walk is given up once reading the rows seems cheaper, and a walk never costs
//! more than reading the rows does.

use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use crate::bitset::Bitset;
use crate::criterion::Criterion;
use crate::data::dense::Ranks;
use crate::data::sparse::SparseColumn;
use crate::data::{Columns, DenseColumns, SparseColumns};
use crate::error::Result;
use crate::params::{FeatureSampling, Strategy};
use crate::rng::{NodeKey, Permutation};
use crate::runtime::Runtime;
use crate::simd::Level;
use crate::split::constants::ConstantFeatures;
use crate::split::entries::entries_vary;
use crate::split::node::{Node, Search};
use crate::split::samples::SampleSet;
use crate::split::sparse::intersect::{Gather, NodeCosts};
use crate::split::sparse::scratch::SearchScratch;

/// How many features of the permutation a walk computes at a time.
const BLOCK: usize = 64;
/// The cost of computing the feature at a position and seeing that the feature is known to be
/// constant, in nanoseconds (bench `draw`).
const PASS_COST: f64 = 3.0;
/// The cost of computing the position of a feature, in nanoseconds (bench `draw`).
const PLACE_COST: f64 = 15.0;
/// The rough cost of marking a row and unmarking it again, in nanoseconds.
const MARK_COST: f64 = 2.0;

/// The result of the draw of a node.
pub(crate) struct Drawn {
    /// The features that the node draws; `None` if the node draws all features. The list is empty
    /// only if no feature varies in the node.
    pub features: Option<SmallVec<[u32; 16]>>,
    /// All features known not to vary in the node; `None` if the draw has found no new ones.
    pub constants: Option<Arc<ConstantFeatures>>,
}

impl<C: Criterion> Search<'_, C> {
    /// The features whose columns no node of tree number `tree` reads, as constants of its root: those with
    /// one value in all rows, those that the tree does not draw, and those that may not interact at all.
    pub fn features_of_no_node(&self, tree: u64) -> ConstantFeatures {
        let n_features = self.data.n_features();
        let constants = ConstantFeatures::none(n_features);
        let mut of_no_node = match self.data.columns() {
            Columns::Dense(columns) => columns.constants().to_vec(),
            Columns::Sparse(_) => Vec::new(),
        };
        if let Some(n_own) = self.params.max_tree_features.filter(|&n| n < n_features as u64) {
            let order = NodeKey::root(self.params.seed, tree).tree_feature_order(n_features);
            of_no_node.extend((n_own as u32..n_features as u32).map(|position| order.at(position)));
        }
        let constants = constants.with(&of_no_node, &|_| 0).map_or(constants, Arc::unwrap_or_clone);
        match &self.params.interaction_cst {
            None => constants,
            Some(groups) => constants.at_root(groups, n_features),
        }
    }

    /// Draws the features of a node, whose permutation of the features is `order`.
    pub(crate) fn draw(&self, node: &Node<'_, C>, order: &Permutation, scratch: &mut SearchScratch) -> Result<Drawn> {
        if self.draws_all() {
            return Ok(Drawn { features: None, constants: None });
        }
        if self.params.feature_sampling == FeatureSampling::All {
            let mut features = smallvec![0; self.n_drawn()];
            order.draw(self.level, 0, &mut features);
            return Ok(Drawn { features: Some(features), constants: None });
        }
        let draw = ActiveDraw {
            samples: node.samples,
            n_entries: node.n_entries,
            order,
            constants: node.constants,
            n_features: self.data.n_features(),
            n_drawn: self.n_drawn(),
            level: self.level,
            runtime: self.runtime,
        };
        let forced = self.params.force_strategy;
        let (DrawWalk { varying, constants, .. }, column_nnz): (_, &dyn Fn(u32) -> usize) = match self.data.columns() {
            Columns::Dense(columns) => (draw.dense(columns)?, &|_| node.samples.len()),
            Columns::Sparse(columns) => {
                (draw.sparse(columns, forced, scratch)?, &|feature| columns.column_nnz(feature))
            }
        };
        Ok(Drawn { features: Some(varying.into()), constants: node.constants.with(&constants, &column_nnz) })
    }
}

/// A draw among the features that vary in a node.
struct ActiveDraw<'a> {
    samples: &'a SampleSet<'a>,
    /// How many entries the rows store.
    n_entries: usize,
    order: &'a Permutation,
    constants: &'a ConstantFeatures,
    n_features: usize,
    n_drawn: usize,
    level: Level,
    runtime: &'a Runtime<'a>,
}

/// The findings of a walk. Features that were known before to be constant are in neither list.
#[derive(Debug, Default)]
struct DrawWalk {
    varying: Vec<u32>,
    constants: Vec<u32>,
    /// Whether enough features vary, or no features are left.
    is_complete: bool,
}

impl ActiveDraw<'_> {
    fn dense(&self, columns: &DenseColumns) -> Result<DrawWalk> {
        let ids = self.samples.ids();
        let varies = |feature| match &columns.column(feature).ranks {
            Ranks::U8(ranks) => differ(ids, |sample| ranks[sample as usize]),
            Ranks::U16(ranks) => differ(ids, |sample| ranks[sample as usize]),
            Ranks::U32(ranks) => differ(ids, |sample| ranks[sample as usize]),
        };
        self.walk(f64::INFINITY, |_| 0.0, varies)
    }

    fn sparse(
        &self,
        columns: &SparseColumns,
        forced: Option<Strategy>,
        scratch: &mut SearchScratch,
    ) -> Result<DrawWalk> {
        let costs = NodeCosts::new(self.samples.len(), self.n_entries);
        let by_rows = match forced {
            None => costs.gather_cost(None) + self.n_entries.min(self.n_features) as f64 * PLACE_COST,
            Some(Strategy::Gather) => 0.0,
            Some(_) => f64::INFINITY,
        };
        self.sparse_within(by_rows, columns, &costs, forced, scratch)
    }

    /// Walks as long as a walk seems to cost less than `by_rows`, the cost of reading the rows;
    /// otherwise reads the rows.
    fn sparse_within(
        &self,
        by_rows: f64,
        columns: &SparseColumns,
        costs: &NodeCosts,
        forced: Option<Strategy>,
        scratch: &mut SearchScratch,
    ) -> Result<DrawWalk> {
        let SearchScratch { members, gather, .. } = scratch;
        let ids = self.samples.ids();
        let mut walk = DrawWalk::default();
        // A feature that varies has an entry in the node. So at most this share of the features
        // varies, and on average the walk visits at least `n_drawn / most_varying` features.
        let most_varying = (self.n_entries as f64 / self.n_features as f64).min(1.0);
        if costs.columns_visited_cost(self.n_drawn) / most_varying < by_rows {
            let cost = |feature| costs.columns_visited_cost(1) + costs.column_cost(columns.column_nnz(feature));
            // The rows are only marked if that costs less than visiting the columns: in a chain of
            // large nodes, marking all rows would cost more than the search.
            let marks = self.samples.len() as f64 * MARK_COST < costs.columns_visited_cost(self.n_drawn);
            let varies = |members: &Bitset, feature| {
                let column = columns.column(feature);
                match forced.unwrap_or_else(|| costs.strategy_for_column(column.samples.len())) {
                    Strategy::Search => differ(ids, |sample| columns.stored_rank(feature, sample)),
                    _ if marks => column_varies(column, self.samples.len(), |sample| members.contains(sample)),
                    _ => column_varies(column, self.samples.len(), |sample| self.samples.contains(sample)),
                }
            };
            if marks {
                members.insert_all(ids);
            }
            let result = self.walk(by_rows, cost, |feature| varies(members, feature));
            if marks {
                members.remove_all(ids);
            }
            walk = result?;
        }
        if !walk.is_complete {
            self.runtime.check_interrupt()?;
            walk.varying = self.by_rows(columns, gather);
        }
        Ok(walk)
    }

    /// Tests the features in the order of the permutation, until enough features vary, or the walk
    /// has cost more than `budget`, or the walk seems to cost more than `budget` in the end.
    fn walk(&self, budget: f64, cost: impl Fn(u32) -> f64, varies: impl Fn(u32) -> bool) -> Result<DrawWalk> {
        let mut walk = DrawWalk::default();
        let mut block = [0; BLOCK];
        let mut spent = 0.0;
        for start in (0..self.n_features).step_by(BLOCK) {
            let block = &mut block[..BLOCK.min(self.n_features - start)];
            self.runtime.check_interrupt()?;
            // The estimate counts one more varying feature than the walk has met, as the next
            // feature may vary.
            let at_this_rate = spent * self.n_drawn as f64 / (walk.varying.len() + 1) as f64;
            if at_this_rate - spent > budget {
                return Ok(walk);
            }
            self.order.draw(self.level, start as u32, block);
            spent += block.len() as f64 * PASS_COST;
            for &feature in block.iter().filter(|&&feature| !self.constants.contains(feature)) {
                self.runtime.check_interrupt()?;
                spent += cost(feature);
                if spent > budget {
                    return Ok(walk);
                }
                if !varies(feature) {
                    walk.constants.push(feature);
                    continue;
                }
                walk.varying.push(feature);
                if walk.varying.len() == self.n_drawn {
                    walk.is_complete = true;
                    return Ok(walk);
                }
            }
        }
        walk.is_complete = true;
        Ok(walk)
    }

    /// Finds by the rows of the node which features vary, and returns the features that are drawn first, in
    /// no particular order. O(entries).
    fn by_rows(&self, columns: &SparseColumns, gather: &mut Gather) -> Vec<u32> {
        let mut varying = Vec::new();
        gather.for_each(columns, self.samples.ids(), |feature, entries| {
            // Features that the tree does without are known as constant.
            if !self.constants.contains(feature) && entries_vary(entries, self.samples.len()) {
                varying.push(feature);
            }
        });
        if varying.len() <= self.n_drawn {
            return varying;
        }
        let mut positions = vec![0; varying.len()];
        self.order.positions(self.level, &varying, &mut positions);
        let mut placed: Vec<_> = positions.into_iter().zip(varying).collect();
        placed.select_nth_unstable(self.n_drawn);
        placed[..self.n_drawn].iter().map(|&(_, feature)| feature).collect()
    }
}

/// Whether a column varies among the `n_samples` rows for which `is_member` holds. Stops reading
/// once the answer is clear.
fn column_varies(column: SparseColumn<'_>, n_samples: usize, is_member: impl Fn(u32) -> bool) -> bool {
    if column.samples.len() < n_samples {
        // At least one row of the node stores nothing in this column, so any entry of a member is
        // another value.
        return column.samples.iter().any(|&sample| is_member(sample));
    }
    let (mut first, mut n_entries) = (None, 0);
    for (at, _) in column.samples.iter().enumerate().filter(|&(_, &sample)| is_member(sample)) {
        let rank = column.ranks.at(at);
        if *first.get_or_insert(rank) != rank {
            return true;
        }
        n_entries += 1;
    }
    n_entries > 0 && n_entries < n_samples
}

/// Whether `rank` differs between any two of the rows.
fn differ<T: PartialEq>(samples: &[u32], rank: impl Fn(u32) -> T) -> bool {
    samples.split_first().is_some_and(|(&first, others)| {
        let first = rank(first);
        others.iter().any(|&sample| rank(sample) != first)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use ndarray::Array2;
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::data::{Dataset, Format, SparseView};
    use crate::params::Strategy as Kernel;
    use crate::rng::NodeKey;
    use crate::split::samples::Samples;

    const KERNELS: [Option<Kernel>; 6] = [
        None,
        Some(Kernel::Bitmap),
        Some(Kernel::Search),
        Some(Kernel::Gather),
        Some(Kernel::Bounds),
        Some(Kernel::Positions),
    ];

    fn sparse(x: &Array2<f64>, runtime: &Runtime<'_>) -> Dataset {
        let (mut indptr, mut indices, mut data) = (vec![0i32], Vec::new(), Vec::new());
        for row in x.rows() {
            for (feature, &value) in row.iter().enumerate().filter(|cell| *cell.1 != 0.0) {
                indices.push(feature as i32);
                data.push(value);
            }
            indptr.push(data.len() as i32);
        }
        let view = SparseView::new(x.dim(), Format::Csr, &indptr, &indices, &data).unwrap();
        Dataset::from_sparse(&view, runtime).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Numbers of features are on both sides of the size up to which permutations are shuffled;
        /// most columns are constant in the node.
        #[test]
        fn both_ways_draw_the_first_that_vary(
            cells in vec(prop_oneof![20 => Just(0i8), 1 => 1..=2i8], 32 * 150),
            kinds in vec(0..=4u8, 150),
            n_features in prop_oneof![1..=64usize, 65..=150usize],
            samples in prop::sample::subsequence((0..32u32).collect::<Vec<_>>(), 1..=32),
            n_drawn in prop_oneof![1..=2usize, 1..=40usize],
            known in vec(any::<bool>(), 150),
            budget in 0.0..4000.0f64,
            seed: u64,
        ) {
            let cell = |(row, column): (usize, usize)| {
                let value = f64::from(cells[row * 150 + column]);
                match kinds[column] {
                    0 | 1 => f64::from(kinds[column]),
                    2 => value + 1.0,
                    _ => value,
                }
            };
            let x = Array2::from_shape_fn((32, n_features), cell);
            let varies = |feature: u32| differ(&samples, |row| x[[row as usize, feature as usize]].to_bits());
            let order = NodeKey::root(seed, 0).feature_order(n_features);
            let mut expected: Vec<u32> =
                (0..n_features as u32).map(|p| order.at(p)).filter(|&f| varies(f)).take(n_drawn).collect();
            expected.sort_unstable();

            let stop = AtomicBool::new(false);
            let runtime = Runtime::new(1, &stop);
            let known: Vec<u32> = (0..n_features as u32).filter(|&f| known[f as usize] && !varies(f)).collect();
            let constants = ConstantFeatures::none(n_features);
            let constants = constants.with(&known, &|_| 0).map_or(constants, |known| (*known).clone());
            let n_entries = samples.iter().flat_map(|&row| x.row(row as usize)).filter(|&&v| v != 0.0).count();
            let mut grouped = Samples::new(samples.clone(), 32, true);
            let draw = ActiveDraw {
                samples: &grouped.root(),
                n_entries,
                order: &order,
                constants: &constants,
                n_features,
                n_drawn,
                level: Level::widest(),
                runtime: &runtime,
            };
            let check = |walk: DrawWalk| {
                let mut drawn = walk.varying;
                drawn.sort_unstable();
                prop_assert_eq!(&drawn, &expected);
                prop_assert!(walk.constants.iter().all(|&feature| !varies(feature) && !constants.contains(feature)));
                Ok(())
            };
            let dense = Dataset::from_dense(x.view(), &runtime).unwrap();
            let Columns::Dense(columns) = dense.columns() else { unreachable!() };
            check(draw.dense(columns).unwrap())?;
            let data = sparse(&x, &runtime);
            let Columns::Sparse(columns) = data.columns() else { unreachable!() };
            let mut scratch = SearchScratch::new(32, n_features).unwrap();
            for forced in KERNELS {
                check(draw.sparse(columns, forced, &mut scratch).unwrap())?;
            }
            // With this budget the walk is given up somewhere on the way.
            let costs = NodeCosts::new(samples.len(), n_entries);
            check(draw.sparse_within(budget, columns, &costs, None, &mut scratch).unwrap())?;
        }
    }

    #[test]
    fn a_raised_flag_ends_a_walk() {
        let x = Array2::<f64>::eye(8);
        let (stop, raised) = (AtomicBool::new(false), AtomicBool::new(true));
        let data = sparse(&x, &Runtime::new(1, &stop));
        let Columns::Sparse(columns) = data.columns() else { unreachable!() };
        let order = NodeKey::root(0, 0).feature_order(8);
        let samples: Vec<u32> = (0..8).collect();
        let mut grouped = Samples::new(samples.clone(), 8, true);
        let draw = ActiveDraw {
            samples: &grouped.root(),
            n_entries: 8,
            order: &order,
            constants: &ConstantFeatures::none(8),
            n_features: 8,
            n_drawn: 2,
            level: Level::widest(),
            runtime: &Runtime::new(1, &raised),
        };
        for forced in KERNELS {
            let mut scratch = SearchScratch::new(8, 8).unwrap();
            assert!(draw.sparse(columns, forced, &mut scratch).is_err());
            assert!(samples.iter().all(|&sample| !scratch.members.contains(sample)));
        }
    }
}
