//! The ways to store a matrix, and to search it, that must not show.

use ndarray::{Array2, ArrayView2, ShapeBuilder, s};
use spinney::data::values::TableValue;
use spinney::data::{Dataset, Element, Format};
use spinney::params::Strategy;
use spinney::params::Tier;

use super::{Sparse, encode, runtime};

pub const FORMATS: [Format; 2] = [Format::Csc, Format::Csr];
/// The cost rule's choice, and each kernel against it.
pub const KERNELS: [Option<Strategy>; 6] = [
    None,
    Some(Strategy::Bitmap),
    Some(Strategy::Search),
    Some(Strategy::Gather),
    Some(Strategy::Bounds),
    Some(Strategy::Positions),
];

/// The choice by size for dense columns, and each tier against it.
pub const TIERS: [Option<Tier>; 4] = [None, Some(Tier::Small), Some(Tier::Sort), Some(Tier::Histogram)];

/// The matrix in every storage and, if it holds small integers, every element type.
pub fn storages(x: &Array2<f64>, seed: u64) -> Vec<(String, Dataset)> {
    let mut all = Vec::new();
    add_storages(&mut all, "f64", x, seed, |v| v);
    if x.iter().all(|&v| f64::from(v as f32) == v) {
        add_storages(&mut all, "f32", x, seed, |v| v as f32);
    }
    if x.iter().all(|&v| f64::from(v as i16) == v) {
        add_storages(&mut all, "i16", x, seed, |v| v as i16);
        add_storages(&mut all, "i64", x, seed, |v| v as i64);
    }
    all
}

fn add_storages<T>(
    all: &mut Vec<(String, Dataset)>,
    name: &str,
    x: &Array2<f64>,
    seed: u64,
    element: impl Fn(f64) -> T + Copy,
) where
    T: Element<Value: TableValue>,
{
    let runtime = runtime(1);
    let mut add = |storage: &str, data| all.push((format!("{name} {storage}"), data));
    let mut add_dense = |storage, x: ArrayView2<'_, T>| add(storage, encode(&x, &runtime));
    let (n, m) = x.dim();
    add_dense("C", Array2::from_shape_fn((n, m), |at| element(x[at])).view());
    add_dense("F", Array2::from_shape_fn((n, m).f(), |at| element(x[at])).view());
    // Every other cell of a larger matrix, backwards; and negative zeros, where the type has them.
    let spread = Array2::from_shape_fn((2 * n, 2 * m), |(i, j)| element(-(-x[[n - 1 - i / 2, m - 1 - j / 2]])));
    add_dense("strided", spread.slice(s![..;-2, ..;-2]));
    add_dense("-0.0", x.mapv(|v| element(if v == 0.0 { -0.0 } else { v })).view());
    for format in FORMATS {
        add(&format!("{format:?} i32"), Sparse::<T, i32>::new(x, format, element).dataset(&runtime));
        add(&format!("{format:?} keys"), Sparse::<T, i32>::new(x, format, element).dataset_of_keys(&runtime));
        add(&format!("{format:?} i64"), Sparse::<T, i64>::new(x, format, element).dataset(&runtime));
        add(&format!("{format:?} untidy i32"), Sparse::<T, i32>::untidy(x, format, element, seed).dataset(&runtime));
        add(&format!("{format:?} untidy i64"), Sparse::<T, i64>::untidy(x, format, element, !seed).dataset(&runtime));
    }
}
