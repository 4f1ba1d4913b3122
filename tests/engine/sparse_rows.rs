//! Rows of wide sparse matrices reach the leaves of a plain descent, whatever the tree is.

use std::sync::Arc;

use ndarray::Array2;
use proptest::prelude::*;
use spinney::data::rows::Row;
use spinney::data::{EncodedMatrix, Format, Matrix};
use spinney::forest::{Forest, Member};
use spinney::tree::packed::PackedTree;
use spinney::tree::sets::{CategorySet, CategorySets};
use spinney::tree::{NodeArrays, TREE_LEAF, TREE_UNDEFINED, Tree, Walk};

use super::common::{Sparse, config, noise, runtime};

/// More features than are copied.
const N_FEATURES: usize = 300;
/// Every third of the features that are often split on is categorical.
const N_CATEGORIES: u32 = 70;

fn n_categories() -> Vec<u32> {
    (0..N_FEATURES).map(|feature| if is_categorical(feature) { N_CATEGORIES } else { 0 }).collect()
}

fn is_categorical(feature: usize) -> bool {
    feature < 30 && feature.is_multiple_of(3)
}

struct Builder {
    nodes: NodeArrays,
    sets: CategorySets,
    seed: u64,
    /// One child has at most so many splits.
    skew: usize,
    categories: bool,
}

impl Builder {
    fn draw(&self, purpose: u64, bound: usize) -> usize {
        (noise(self.seed + purpose, self.nodes.feature.len()) * bound as f64) as usize
    }

    /// Adds a subtree of so many splits.
    fn add(&mut self, n_splits: usize) {
        let id = self.nodes.feature.len();
        let feature = if self.draw(0, 2) == 0 { self.draw(1, 30) } else { self.draw(1, N_FEATURES) };
        let threshold = if n_splits == 0 {
            f64::from(TREE_UNDEFINED)
        } else if self.categories && is_categorical(feature) {
            let left = [self.draw(2, 2) as u32 * 66, 67];
            self.sets.push(CategorySet::new(&left, &[1, 3], self.draw(3, 2) == 0).view()) as f64
        } else {
            [-1.0, -0.0, 0.0, 0.1, 0.1_f32.into(), 0.5, 1.0, f64::INFINITY, f64::NEG_INFINITY][self.draw(4, 9)]
        };
        let few = self.draw(5, n_splits.min(self.skew).max(1));
        let n_left = if self.draw(6, 2) == 0 { few } else { n_splits.saturating_sub(1 + few) };
        self.nodes.children_left.push(if n_splits == 0 { TREE_LEAF } else { id as i32 + 1 });
        self.nodes.children_right.push(TREE_LEAF);
        self.nodes.feature.push(if n_splits == 0 { TREE_UNDEFINED } else { feature as i32 });
        self.nodes.threshold.push(threshold);
        self.nodes.missing_go_to_left.push(self.draw(7, 2) as u8);
        self.nodes.impurity.push(0.0);
        self.nodes.n_node_samples.push(1);
        self.nodes.weighted_n_node_samples.push(1.0);
        self.nodes.value.push(id as f64);
        if n_splits > 0 {
            self.add(n_left);
            self.nodes.children_right[id] = self.nodes.feature.len() as i32;
            self.add(n_splits - 1 - n_left);
        }
    }
}

fn tree(n_splits: usize, skew: usize, categories: bool, seed: u64) -> Tree {
    let (nodes, sets) = (NodeArrays::default(), CategorySets::default());
    let mut builder = Builder { nodes, sets, seed, skew, categories };
    builder.add(n_splits);
    let n_categories = if categories { n_categories() } else { Vec::new() };
    Tree::with_categories(N_FEATURES, vec![1], builder.nodes, n_categories.into(), builder.sets).unwrap()
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn rows_reach_the_leaves_of_a_plain_descent(
        n_splits in prop::sample::select(vec![0usize, 1, 20, 250]),
        skew in prop::sample::select(vec![1usize, 3, 1000]),
        n_rows in prop::sample::select(vec![1usize, 7, 8, 64, 65, 300]),
        sixths in 0..6usize,
        categories: bool,
        n_threads in 1..3usize,
        seed in 0..u64::from(u32::MAX),
    ) {
        let x = Array2::from_shape_fn((n_rows, N_FEATURES), |(row, feature)| {
            let at = row * N_FEATURES + feature;
            let values = [-1.5, 0.1, 0.1_f32.into(), 0.5, 1.0, 3.0, f64::NAN, f64::INFINITY, 1e300];
            match (noise(seed, at) * 6.0) as usize {
                dice if dice >= sixths => 0.0,
                _ if categories && is_categorical(feature) => [0.0, 1.0, 3.0, 66.0, 67.0, 69.0, f64::NAN][at % 7],
                _ => values[(noise(!seed, at) * 9.0) as usize],
            }
        });
        let trees: Vec<Tree> = (0..3).map(|tree_id| tree(n_splits, skew, categories, seed + 1000 * tree_id)).collect();
        let view = x.view();
        let plain = |tree: &Tree, row: usize| tree.leaf(Row::Asked(&view, row as u32), |_| ()) as i64;
        let runtime = runtime(n_threads);
        let tidy: Sparse<f64, i32> = Sparse::new(&x, Format::Csr, |value| value);
        // Values are stored in parts, which sum up to what they were.
        let untidy: Sparse<f64, i64> = Sparse::untidy(&x, Format::Csr, |value| value, seed);
        let encoded = EncodedMatrix::new(tidy.dataset(&runtime));
        let (tidy, untidy) = (tidy.view(), untidy.view());
        let matrices: [&dyn Matrix; 3] = [&tidy, &untidy, &encoded];
        let members = trees.iter().map(|tree| Member { tree: Arc::new(PackedTree::new(tree, 1.0)), seed: 0 });
        let forest = Forest::new(members.collect()).unwrap();
        let expected: Vec<i64> = (0..n_rows).flat_map(|row| trees.iter().map(move |tree| plain(tree, row))).collect();
        for matrix in matrices {
            prop_assert_eq!(&forest.apply(matrix, &runtime).unwrap(), &expected);
            let means = forest.predict(matrix, &runtime).unwrap();
            let mean = |leaves: &[i64]| leaves.iter().map(|&leaf| leaf as f64).sum::<f64>() / 3.0;
            prop_assert_eq!(means, expected.chunks(3).map(mean).collect::<Vec<f64>>());
            for (at, tree) in trees.iter().enumerate() {
                let leaves: Vec<i64> = expected.chunks(3).map(|leaves| leaves[at]).collect();
                prop_assert_eq!(tree.apply(matrix, &runtime).unwrap(), leaves);
            }
        }
    }
}
