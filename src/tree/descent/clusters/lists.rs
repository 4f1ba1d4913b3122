//! Rows go down a tree of clusters as lists, which each cluster divides among its exits.
//!
//! The reads of one row do not wait for the reads of another, a cluster is loaded once for all rows of its
//! list, and no branch depends on a value. Below a few rows a list is not divided further: its rows go on
//! side by side, each with its own cluster.
//!
//! This takes AVX-512 with VBMI2. Other processors have [`FlatTree`](crate::tree::descent::flat::FlatTree).

#[cfg(target_arch = "x86_64")]
use super::avx512;
use super::pages::Pages;
use super::{Clusters, MAX_FEATURES};

/// The most rows of a block: their numbers have 16 bits.
pub const MAX_ROWS: usize = 1 << 15;

/// Whether this machine can send rows with `n_features` features through clusters.
pub fn is_possible(n_features: usize) -> bool {
    #[cfg(target_arch = "x86_64")]
    let is_supported = avx512::is_supported();
    #[cfg(not(target_arch = "x86_64"))]
    let is_supported = false;
    is_supported && n_features <= MAX_FEATURES
}

/// The exits that a descent of rows finds, and the room that it needs: 13 bytes for each row.
#[derive(Debug, Default)]
pub struct RowDescent {
    /// By row, the number of the leaf that it has reached.
    pub(super) leaves: Vec<u32>,
    /// Rows that have met a cut that is equal to a value of theirs, where what was rounded cannot be
    /// compared: infinite cuts and the smallest ones. Their leaves may be wrong. A row can be there more than
    /// once.
    pub(super) doubtful: Vec<u16>,
    /// Lists of rows, and room for the lists that they are divided into.
    pub(super) ids: [Vec<u16>; 2],
    /// By place in a list, the exit that the row takes.
    pub(super) exits: Vec<u8>,
    pub(super) pending: Vec<ClusterRows>,
}

/// A list of rows that has come to a cluster.
#[derive(Debug, Clone, Copy)]
pub struct ClusterRows {
    pub cluster: u32,
    /// Where the list is in [`RowDescent::ids`].
    pub start: u32,
    pub len: u32,
    pub side: bool,
}

impl RowDescent {
    /// Sends all rows, at most [`MAX_ROWS`], through a tree of the same number of features. O(rows * depth).
    /// Panics unless it [is possible](is_possible).
    pub fn run(&mut self, clusters: &Clusters, rows: &Pages) {
        assert!(is_possible(clusters.n_cells()) && rows.n_rows() <= MAX_ROWS, "clusters cannot be used");
        #[cfg(target_arch = "x86_64")]
        avx512::run(self, clusters, rows);
    }

    /// By row, the number of the leaf that it has reached, unless it is
    /// [`doubtful`](Self::doubtful).
    pub fn leaves(&self) -> &[u32] {
        &self.leaves
    }

    /// Sets the leaves of the doubtful rows.
    pub fn set_doubtful(&mut self, leaf: impl Fn(usize) -> u32) {
        for row in self.doubtful.drain(..).map(usize::from) {
            self.leaves[row] = leaf(row);
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;
    use proptest::prelude::*;

    use super::*;
    use crate::data::Matrix;
    use crate::data::rows::Reader;
    use crate::rng::{Draws, NodeKey};
    use crate::tree::descent::clusters::codings::{Codings, MAX_CELLS};
    use crate::tree::descent::split_view::{AT_LEAF, SplitView};
    use crate::tree::sets::CategorySet;

    /// Numbers of a few values; single precision does not tell some of them apart.
    fn number(draws: Draws, at: u64) -> f64 {
        let value = draws.below(7, 3 * at) as f64 / 10.0 - 0.3;
        match draws.below(4, 3 * at + 1) {
            0 => value,
            1 => f64::from(value as f32),
            2 => f64::from((value as f32).next_up()),
            _ => value + (draws.below(9, 3 * at + 2) as f64 - 4.0) * 1e-9,
        }
    }

    /// Sets of a categorical feature.
    const SETS: usize = 20;

    /// Sets of features with these numbers of categories, [`SETS`] of each.
    fn sets(n_categories: &[u32], draws: Draws) -> Vec<CategorySet> {
        let set = |(at, n): (u64, u32)| {
            let one_in = [3, 200][draws.below(2, 40_000_000 + at) as usize];
            let [left, right] = [0, 1].map(|side| {
                let is_on = |&code: &u32| draws.below(one_in, 20_000_000 + at * 1000 + u64::from(code)) == side;
                (0..n).filter(is_on).collect::<Vec<_>>()
            });
            CategorySet::new(&left, &right, draws.below(2, 30_000_000 + at) == 0)
        };
        let of_sets = n_categories.iter().flat_map(|&n| [n; SETS]);
        (0..).zip(of_sets).map(set).collect()
    }

    /// A tree of some shape; its right or its left sides may be the heavier ones. The leaves are numbered
    /// from `first_leaf` on.
    fn tree(
        n_splits: u64,
        n_features: u64,
        skew: u64,
        first_leaf: u32,
        sets: &[CategorySet],
        draws: Draws,
    ) -> (Vec<SplitView<'_>>, u32) {
        let (mut splits, mut n_leaves) = (Vec::new(), first_leaf);
        // Subtrees of this many splits, each with the split and the side it is on.
        let mut pending = vec![(n_splits, None)];
        while let Some((size, from)) = pending.pop() {
            let id = splits.len() as u32;
            let at = if size == 0 { n_leaves | AT_LEAF } else { id };
            if let Some((parent, side)) = from {
                let parent: &mut SplitView<'_> = &mut splits[parent as usize];
                parent.children[side] = at;
            }
            if size == 0 {
                n_leaves += 1;
                continue;
            }
            let word = u64::from(id);
            splits.push(SplitView {
                feature: draws.below(n_features, 5 * word) as u32,
                threshold: match draws.below(20, 5 * word + 1) {
                    0 => f64::INFINITY,
                    1 => f64::NEG_INFINITY,
                    2 => 1e300,
                    _ => number(draws, 1_000_000 + word),
                },
                missing_go_left: draws.below(2, 5 * word + 2) == 0,
                set: None,
                children: [0; 2],
            });
            let split = &mut splits[id as usize];
            if let Some(sets) = sets.chunks(SETS).nth(split.feature as usize) {
                split.set = Some(sets[draws.below(sets.len() as u64, 7_000_000 + word) as usize].view());
            }
            let few = draws.below(size.min(skew), 5 * word + 3);
            let left = if draws.below(2, 5 * word + 4) == 0 { few } else { size - 1 - few };
            pending.push((size - 1 - left, Some((id, 1))));
            pending.push((left, Some((id, 0))));
        }
        let root = if n_splits == 0 { first_leaf | AT_LEAF } else { 0 };
        (splits, root)
    }

    proptest! {
        #[test]
        fn rows_reach_the_leaves_of_a_plain_descent(
            n_splits in prop_oneof![0..300u64, 2000..3000u64], n_features in prop_oneof![1..=6usize, 1..=MAX_FEATURES],
            skew in prop::sample::select(vec![1, 3, 1000]), first_leaf in prop::sample::select(vec![0, 1 << 15]),
            n_rows in 1..400usize, (has_missing, is_single) in any::<(bool, bool)>(),
            categorical in prop::collection::vec(prop::sample::select(vec![1, 2, 7, 30, 31, 200, 300]), 0..4), seed: u64,
        ) {
            if !is_possible(n_features) {
                return Ok(());
            }
            let draws = NodeKey::root(seed, 0).bootstrap();
            // The first features are categorical.
            let n_categorical = if n_features > MAX_CELLS { 0 } else { categorical.len().min(n_features) };
            let categorical = &categorical[..n_categorical];
            let mut n_categories = categorical.to_vec();
            if !categorical.is_empty() {
                n_categories.resize(n_features, 0);
            }
            let sets = sets(categorical, draws);
            let (splits, root) = tree(n_splits, n_features as u64, skew, first_leaf, &sets, draws);
            let split = |id: u32| splits.get(id as usize).copied();
            let clusters = Clusters::new(n_features, &n_categories, splits.len(), root, split).unwrap();
            let x = Array2::from_shape_fn((n_rows, n_features), |(row, feature)| {
                let at = 2_000_000 + (row * n_features + feature) as u64;
                match draws.below(if has_missing { 30 } else { 1000 }, 10_000_000 + at) {
                    0 => f64::INFINITY,
                    1 => f64::NEG_INFINITY,
                    2 if has_missing => f64::NAN,
                    3 if !is_single => -1e300,
                    _ if feature < categorical.len() => {
                        draws.below(u64::from(categorical[feature]) + 3, at) as f64 - 1.0
                    }
                    _ if is_single => f64::from(number(draws, at) as f32),
                    _ => number(draws, at),
                }
            });
            let leaf = |row: usize| {
                let mut at = root;
                while at & AT_LEAF == 0 {
                    let split = &splits[at as usize];
                    let value = x[[row, split.feature as usize]];
                    let goes_left = match split.set {
                        _ if value.is_nan() => split.missing_go_left,
                        Some(set) => set.goes_left(value),
                        None => value <= split.threshold,
                    };
                    at = split.children[usize::from(!goes_left)];
                }
                at & !AT_LEAF
            };
            let expected: Vec<u32> = (0..n_rows).map(leaf).collect();
            let mut descent = RowDescent::default();
            let mut found = |x: &dyn Matrix| {
                let mut reader = Reader::new(x.rows().unwrap(), n_rows, usize::MAX).unwrap();
                reader.load(0..n_rows);
                let cells = reader.cells().unwrap();
                let starts: Vec<usize> = (0..n_rows).map(|row| cells.start(row)).collect();
                let (mut pages, codings) = (Pages::default(), Codings::new(n_features, &n_categories));
                pages.copy(&cells, &starts, &codings).unwrap();
                descent.run(&clusters, &pages);
                descent.set_doubtful(leaf);
                descent.leaves().to_vec()
            };
            prop_assert_eq!(&found(&x.view()), &expected);
            if is_single {
                prop_assert_eq!(&found(&x.mapv(|value| value as f32).view()), &expected);
            }
        }
    }
}
