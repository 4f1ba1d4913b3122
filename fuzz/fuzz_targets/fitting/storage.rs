//! A data set of a case in the storage that a byte chooses.

use ndarray::{Array2, ShapeBuilder, s};
use spinney::data::dense::Ordinals;
use spinney::data::values::TableValue;
use spinney::data::{Dataset, Element, Format};

use super::cases::Case;
use super::engine::common::{Sparse, runtime};

/// How many storages there are of an element type.
const N_STORAGES: u8 = 13;

/// The data set of the rows of a case as they are.
pub fn plain(case: &Case) -> Dataset {
    let data = Dataset::from_dense(case.x.view(), &runtime(1)).expect("numbers, or missing");
    data.with_categories(&case.n_categories).expect("codes below the number of categories")
}

/// The same data set in another storage, or element type if that has all values.
pub fn stored(case: &Case, choice: u8) -> Dataset {
    let (x, kind) = (&case.x, choice % N_STORAGES);
    let is_integer = |v: &f64| f64::from(*v as i16) == *v;
    let data = match choice / N_STORAGES % 4 {
        1 if x.iter().all(|&v| v.is_nan() || f64::from(v as f32) == v) => of_type(case, kind, |v| v as f32),
        2 if x.iter().all(is_integer) => of_type(case, kind, |v| v as i16),
        3 if x.iter().all(is_integer) => of_type(case, kind, |v| v as i64),
        _ => of_type(case, kind, |v| v),
    };
    data.with_categories(&case.n_categories).expect("codes below the number of categories")
}

/// The same data set in a storage whose values have ranks, as boosting needs.
pub fn encoded(case: &Case, choice: u8) -> Dataset {
    const KINDS: [u8; 9] = [0, 1, 2, 3, 4, 5, 8, 9, 12];
    let (kind, of_element) = (choice % N_STORAGES, choice / N_STORAGES % 4);
    stored(case, of_element * N_STORAGES + KINDS[usize::from(kind) % KINDS.len()])
}

fn of_type<T: Element<Value: TableValue>>(case: &Case, kind: u8, element: impl Fn(f64) -> T + Copy) -> Dataset {
    let (x, seed, runtime) = (&case.x, case.seed, runtime(1));
    let (n, m) = x.dim();
    let dense = |x: &Array2<T>| Dataset::from_dense(x.view(), &runtime).expect("numbers, or missing");
    // Parts of a cell add up to it, and categories are ranks.
    let can_be_untidy = x.iter().all(|v| v.is_nan() || (v.abs() < 1e6 && (v * 8.0).fract() == 0.0));
    let has_keys = !case.has_categories();
    let format = if kind % 2 == 0 { Format::Csc } else { Format::Csr };
    match kind {
        0 => dense(&Array2::from_shape_fn((n, m), |at| element(x[at]))),
        1 => dense(&Array2::from_shape_fn((n, m).f(), |at| element(x[at]))),
        2 => {
            let spread = Array2::from_shape_fn((2 * n, 2 * m), |(i, j)| element(x[[n - 1 - i / 2, m - 1 - j / 2]]));
            Dataset::from_dense(spread.slice(s![..;-2, ..;-2]), &runtime).expect("numbers, or missing")
        }
        3 => dense(&x.mapv(|v| element(if v == 0.0 { -0.0 } else { v }))),
        4 | 5 => Sparse::<T, i64>::new(x, format, element).dataset(&runtime),
        6 | 7 if has_keys => Sparse::<T, i32>::new(x, format, element).dataset_of_keys(&runtime),
        8 | 9 if can_be_untidy => Sparse::<T, i32>::untidy(x, format, element, seed).dataset(&runtime),
        10 if has_keys => {
            let cells = Array2::from_shape_fn((n, m), |at| element(x[at]));
            Dataset::from_dense_with(cells.view(), Ordinals::Keys, &runtime).expect("numbers, or missing")
        }
        _ => Sparse::<T, i32>::new(x, format, element).dataset(&runtime),
    }
}
