//! Data for the tests of engines.

use ndarray::Array2;

use crate::data::Dataset;
use crate::data::sparse::{Format, SparseView};
use crate::runtime::Runtime;

/// Numbers that look random.
pub fn noise(seed: u64, at: usize) -> f64 {
    let mixed = (seed ^ at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (mixed >> 11) as f64 / (1u64 << 53) as f64
}

/// Columns of two, some or very many distinct values; those of two are codes of one number.
pub fn matrix(n: usize, n_features: usize, seed: u64) -> Array2<f64> {
    Array2::from_shape_fn((n, n_features), |(row, column)| {
        let value = noise(seed, row * n_features + column);
        match column % 4 {
            0 => value,
            1 => (value * 9.0).floor(),
            2 => f64::from(u8::from((noise(seed, row) * 8.0) as usize == column)),
            _ => (value * value * 700.0).floor(),
        }
    })
}

/// The matrix as a data set; with some cells missing, or with most cells 0 and the others stored.
pub fn dataset(mut x: Array2<f64>, seed: u64, has_missing: bool, is_sparse: bool) -> Dataset {
    let (n, n_features) = x.dim();
    for ((row, column), cell) in x.indexed_iter_mut() {
        let share = noise(seed ^ 0x5151, row * n_features + column);
        if has_missing && column % 3 != 1 && share < 0.15 {
            *cell = f64::NAN;
        } else if is_sparse && (share > 0.5 || *cell == 0.0) {
            *cell = 0.0;
        } else if is_sparse && column % 2 == 0 {
            *cell -= 0.3;
        }
    }
    let runtime = Runtime::unstoppable();
    if !is_sparse {
        return Dataset::from_dense(x.view(), &runtime).unwrap();
    }
    let (mut indptr, mut indices, mut values) = (vec![0i64], Vec::new(), Vec::new());
    for row in 0..n {
        for column in (0..n_features).filter(|&column| x[[row, column]] != 0.0) {
            indices.push(column as i64);
            values.push(x[[row, column]]);
        }
        indptr.push(indices.len() as i64);
    }
    let view = SparseView::new((n, n_features), Format::Csr, &indptr, &indices, &values).unwrap();
    Dataset::from_sparse(&view, &runtime).unwrap()
}
