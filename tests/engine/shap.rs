//! Contributions: two ways to compute them agree, and the bits of each depend neither on batches
//! nor on threads nor on storage.

use std::sync::Arc;

use ndarray::{Array2, s};
use proptest::prelude::*;
use spinney::data::{Format, Matrix};
use spinney::explain::{SideBySide, shap_values, shap_values_by, sparse_shap_values};
use spinney::forest::{Forest, Member};
use spinney::params::{Count, CriterionKind, MaxFeatures, TreeParams};
use spinney::tree::packed::PackedTree;

use super::common::{Sparse, Y, config, grow_dense, noise, runtime};

/// Cells of few values, so that paths meet features several times; many are 0. With as many columns
/// as rows, there is one cell in each row and column, so that trees are chains through many
/// features.
fn matrix(n: usize, m: usize, seed: u64) -> Array2<f64> {
    if n == m {
        return Array2::from_diag_elem(n, 1.0 + seed as f64);
    }
    let cell = |at| if noise(seed, at) < 0.4 { 0.0 } else { (noise(seed + 1, at) * 20.0).floor() - 8.0 };
    Array2::from_shape_fn((n, m), |(row, column)| cell(row * m + column))
}

fn target(x: &Array2<f64>, n_values: usize, is_class: bool, seed: u64) -> Y {
    let signal = |row: usize| x.row(row).sum() + 10.0 * noise(seed, row);
    let rows = 0..x.nrows();
    if is_class {
        let class = |row| (signal(row).abs() as usize % n_values) as u32;
        return Y::Classes { values: rows.map(class).collect(), n_classes: vec![n_values as u32] };
    }
    let numbers = |row| (0..n_values).map(move |value| (signal(row) * noise(value as u64, row) * 8.0).round() / 8.0);
    Y::Numbers { values: rows.flat_map(numbers).collect(), n_outputs: n_values }
}

/// Three trees. Those whose bits are set in `leaves` are one leaf each.
fn forest(x: &Array2<f64>, y: &Y, criterion: CriterionKind, max_depth: Option<u64>, leaves: u8) -> Forest {
    let member = |seed| {
        let max_features = MaxFeatures::Absolute(2);
        let is_leaf = leaves >> seed & 1 != 0;
        let min_samples_split = Count::Absolute(if is_leaf { x.nrows() as u64 + 1 } else { 2 });
        let params = TreeParams { max_depth, min_samples_split, max_features, seed, ..TreeParams::new(criterion) };
        Member { tree: Arc::new(PackedTree::new(&grow_dense(x, y, None, &params), 1.0)), seed }
    };
    Forest::new((0..3).map(member).collect()).unwrap()
}

proptest! {
    #![proptest_config(config(48))]

    #[test]
    fn points_and_rows_side_by_side_agree(
        (n, m) in prop_oneof![(2usize..120, 2usize..6), (2usize..400, 30usize..60), (40usize..80).prop_map(|n| (n, n))],
        n_values in 1usize..6, is_class: bool,
        max_depth in prop_oneof![Just(None), Just(Some(3))], n_rows in 1usize..40, seed in 0u64..1000,
        leaves in prop_oneof![2 => Just(0u8), 1 => 1u8..8],
    ) {
        let x = matrix(n, m, seed);
        let y = target(&x, n_values + usize::from(is_class), is_class, seed);
        let criterion = if is_class { CriterionKind::Gini } else { CriterionKind::SquaredError };
        let forest = forest(&x, &y, criterion, max_depth, leaves);
        let queries = matrix(n_rows, m, seed + 7);
        let expected = shap_values(&forest, &queries.view(), &runtime(1)).unwrap();
        for what in [SideBySide::Points, SideBySide::Rows] {
            let by = |x: &dyn Matrix, n_threads| shap_values_by(&forest, x, Some(what), &runtime(n_threads)).unwrap();
            let of_one = by(&queries.view(), 1);
            prop_assert_eq!(&of_one.features, &expected.features);
            let largest = expected.values.iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
            for (found, expected) in of_one.values.iter().zip(&expected.values) {
                prop_assert!((found - expected).abs() <= 1e-13 * largest, "{:?}: {} {}", what, found, expected);
            }
            prop_assert_eq!(&by(&queries.view(), 3), &of_one);
            // One row as among the others.
            let first = by(&queries.slice(s![..1, ..]), 1);
            prop_assert_eq!(&first.values[..], &of_one.values[..first.values.len()]);
            let rows: Sparse<f64, i32> = Sparse::new(&queries, Format::Csr, |value| value);
            prop_assert_eq!(&by(&rows.view(), 2), &of_one);
        }
        // The matrices have what is not 0.
        let n_values = forest.n_values();
        let matrices = sparse_shap_values(&forest, &queries.view(), &runtime(2)).unwrap();
        prop_assert_eq!(matrices.len(), n_values);
        for (value, matrix) in matrices.iter().enumerate() {
            let mut dense = vec![0.0; n_rows * m];
            for row in 0..n_rows {
                for at in matrix.indptr[row] as usize..matrix.indptr[row + 1] as usize {
                    prop_assert!(matrix.data[at] != 0.0);
                    dense[row * m + matrix.indices[at] as usize] = matrix.data[at];
                }
            }
            for row in 0..n_rows {
                for (number, &feature) in expected.features.iter().enumerate() {
                    let at = (row * expected.features.len() + number) * n_values + value;
                    prop_assert_eq!(dense[row * m + feature as usize], expected.values[at]);
                }
            }
        }
    }
}
