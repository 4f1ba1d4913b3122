//! Some rows of an encoded data set are what encoding these rows gives, in every storage.

use ndarray::{Array2, Axis};
use proptest::collection::vec;
use proptest::prelude::*;
use spinney::data::dense::Ordinals;
use spinney::data::{Columns, Dataset, EncodedMatrix, Encoding, Format, Matrix};
use spinney::error::Error;
use spinney::params::{Splitter, TreeParams};

use super::common::storages::storages;
use super::common::{CRITERIA, Sparse, config, encode, grow, matrices, params, runtime, targets, to_codes, with_holes};

/// A matrix, how many categories its features have, and some of its rows.
fn cases() -> impl Strategy<Value = (Array2<f64>, Vec<u32>, Vec<usize>, u64)> {
    with_holes(matrices(1..60usize, 1..6usize))
        .prop_flat_map(|x| {
            let (n, m) = x.dim();
            let some = vec(0..n, 1..2 * n + 1);
            let ascending = vec(any::<bool>(), n).prop_map(|keep| {
                let rows: Vec<usize> = keep.iter().enumerate().filter(|(_, keep)| **keep).map(|(row, _)| row).collect();
                if rows.is_empty() { vec![0] } else { rows }
            });
            let rows = prop_oneof![1 => some, 1 => ascending, 1 => Just((0..n).collect())];
            (Just(x), prop_oneof![1 => Just(vec![false; m]), 1 => vec(any::<bool>(), m)], rows, any::<u64>())
        })
        .prop_map(|(mut x, are_categorical, rows, seed)| {
            let mut count = |feature| if are_categorical[feature] { to_codes(&mut x, feature) } else { 0 };
            let n_categories = (0..are_categorical.len()).map(&mut count).collect();
            (x, n_categories, rows, seed)
        })
}

/// The rows of a matrix as somebody writes them who has no others: codes are numbered from 0 on.
fn own_rows(x: &Array2<f64>, n_categories: &[u32], rows: &[usize]) -> (Array2<f64>, Vec<u32>) {
    let mut own = x.select(Axis(0), rows);
    let mut counts = vec![0; n_categories.len()];
    for feature in (0..counts.len()).filter(|&feature| n_categories[feature] > 0) {
        let mut codes: Vec<f64> = own.column(feature).iter().copied().filter(|code| !code.is_nan()).collect();
        codes.sort_unstable_by(f64::total_cmp);
        codes.dedup();
        let place = |code: f64| codes.partition_point(|&other| other < code) as f64;
        own.column_mut(feature).mapv_inplace(|code| if code.is_nan() { code } else { place(code) });
        counts[feature] = codes.len() as u32;
    }
    (own, counts)
}

fn assert_same(name: &str, found: &Dataset, expected: &Dataset) {
    assert_eq!(found.columns(), expected.columns(), "{name}");
    assert_eq!(found.n_categories(), expected.n_categories(), "{name}");
    assert_eq!(found.has_missing(), expected.has_missing(), "{name}");
    for feature in 0..expected.n_features() as u32 {
        assert_eq!(found.n_distinct(feature), expected.n_distinct(feature), "{name}");
        assert_eq!(found.missing_rank(feature), expected.missing_rank(feature), "{name}");
        let first = u32::from(expected.missing_rank(feature).is_some());
        for rank in first..first + expected.n_distinct(feature) as u32 {
            let (value, wanted) = (found.value(feature, rank), expected.value(feature, rank));
            assert_eq!(value.to_bits(), wanted.to_bits(), "{name}");
        }
    }
    assert_eq!(found.n_bytes(), expected.n_bytes(), "{name}");
}

proptest! {
    #![proptest_config(config(192))]

    #[test]
    fn taken_rows_are_those_rows_encoded((x, n_categories, rows, seed) in cases()) {
        let runtime = runtime(1 + (seed % 2) as usize);
        let (own, own_categories) = own_rows(&x, &n_categories, &rows);
        let numbers: Vec<u32> = rows.iter().map(|&row| row as u32).collect();
        let dense = encode(&own.view(), &runtime).with_categories(&own_categories).unwrap();
        let sparse = Sparse::<f64, i32>::new(&own, Format::Csc, |v| v).dataset(&runtime);
        let sparse = sparse.with_categories(&own_categories).unwrap();
        for (name, data) in storages(&x, seed) {
            if name.ends_with("keys") && n_categories.iter().any(|&n| n > 0) {
                continue; // Categories are ranks.
            }
            let data = data.with_categories(&n_categories).unwrap();
            let expected = if matches!(data.columns(), Columns::Dense(_)) { &dense } else { &sparse };
            let taken = data.take(&numbers, &runtime).unwrap();
            assert_same(&name, &taken, expected);
            // A part of a part.
            let half: Vec<u32> = (0..numbers.len() as u32).step_by(2).rev().collect();
            let of_half: Vec<u32> = half.iter().map(|&row| numbers[row as usize]).collect();
            let part = taken.take(&half, &runtime).unwrap();
            assert_same(&name, &part, &data.take(&of_half, &runtime).unwrap());
        }
    }

    #[test]
    fn trees_of_taken_rows_are_those_of_the_rows(
        ((x, n_categories, rows, seed), y, params) in (cases(), prop::sample::select(&CRITERIA[..])).prop_flat_map(
            |(case, criterion)| (Just(case.clone()), targets(case.2.len(), criterion), params(criterion, case.0.ncols())),
        ),
    ) {
        let runtime = runtime(1);
        let (own, own_categories) = own_rows(&x, &n_categories, &rows);
        let weights: Vec<f64> = (0..rows.len()).map(|row| f64::from((row as u32).wrapping_mul(7) % 3)).collect();
        let weights = (seed.is_multiple_of(2) && weights.iter().any(|&weight| weight > 0.0)).then_some(&weights[..]);
        let numbers: Vec<u32> = rows.iter().map(|&row| row as u32).collect();
        let ordinals = if own_categories.iter().all(|&n| n == 0) { ordinals(&params) } else { Ordinals::Ranks };
        let encoding = Encoding { ordinals, n_categories: Some(&own_categories) };
        let expected = own.view().encode(&encoding, &runtime).unwrap();
        let expected = grow(&expected, &y, weights, &params, &runtime);
        for (name, data) in storages(&x, seed) {
            if name.ends_with("keys") && n_categories.iter().any(|&n| n > 0) {
                continue; // Categories are ranks.
            }
            let all = EncodedMatrix::new(data.with_categories(&n_categories).unwrap());
            let rows = all.with_rows(numbers.clone()).unwrap();
            let data = rows.encode(&encoding, &runtime).unwrap();
            let tree = grow(&data, &y, weights, &params, &runtime);
            prop_assert!(tree == expected, "{}", name);
            // Predictions read values from the tables, categories by the codes of the tree.
            let codes = codes_among(&x, &n_categories, &numbers);
            let query = if data.has_categories() { rows.with_codes(codes).unwrap() } else { rows };
            prop_assert_eq!(tree.predict(&query, &runtime).unwrap(), expected.predict(&own.view(), &runtime).unwrap());
        }
    }

    #[test]
    fn keys_are_those_of_the_matrix((x, _, rows, seed) in cases()) {
        let runtime = runtime(1);
        let encoding = Encoding { ordinals: Ordinals::Keys, n_categories: None };
        let own = x.select(Axis(0), &rows).mapv(|value| value / 3.0);
        let singles = own.mapv(|value| value as f32);
        let doubles = EncodedMatrix::new(encode(&own.view(), &runtime)).encode(&encoding, &runtime).unwrap();
        assert_same("f64", &doubles, &own.view().encode(&encoding, &runtime).unwrap());
        let keys = EncodedMatrix::new(encode(&singles.view(), &runtime)).encode(&encoding, &runtime).unwrap();
        let expected = singles.view().encode(&encoding, &runtime).unwrap();
        assert_same("f32", &keys, &expected);
        // Rows of keys.
        let half: Vec<u32> = (0..rows.len() as u32).filter(|row| (seed >> (row % 64)) & 1 == 0 || *row == 0).collect();
        let places: Vec<usize> = half.iter().map(|&row| row as usize).collect();
        let part = singles.select(Axis(0), &places);
        let taken = EncodedMatrix::new(expected.take(&half, &runtime).unwrap()).encode(&encoding, &runtime).unwrap();
        assert_same("part", &taken, &part.view().encode(&encoding, &runtime).unwrap());
    }
}

/// What trees of these parameters are grown on.
fn ordinals(params: &TreeParams) -> Ordinals {
    if params.splitter == Splitter::Random { Ordinals::Keys } else { Ordinals::Ranks }
}

/// By feature, the code among these rows of each code of all rows; NaN of one that these rows lack.
fn codes_among(x: &Array2<f64>, n_categories: &[u32], rows: &[u32]) -> Vec<Box<[f64]>> {
    let of_feature = |(feature, &n): (usize, &u32)| {
        let occurs = |code: u32| rows.iter().any(|&row| x[[row as usize, feature]] == f64::from(code));
        let mut next = 0.0;
        let mut number = |code| {
            if !occurs(code) {
                return f64::NAN;
            }
            next += 1.0;
            next - 1.0
        };
        (0..n).map(&mut number).collect()
    };
    n_categories.iter().enumerate().map(of_feature).collect()
}

#[test]
fn rows_that_do_not_exist_are_refused() {
    let data = encode(&ndarray::array![[1.0], [2.0]].view(), &runtime(1));
    assert!(matches!(data.take(&[0, 2], &runtime(1)), Err(Error::InvalidArgument { name: "rows", .. })));
    assert!(matches!(data.take(&[], &runtime(1)), Err(Error::ShapeMismatch { what: "X", .. })));
    let all = EncodedMatrix::new(data);
    assert!(matches!(all.with_rows(vec![5]), Err(Error::InvalidArgument { name: "rows", .. })));
    assert!(matches!(all.with_codes(vec![Box::default()]), Err(Error::ShapeMismatch { what: "codes", .. })));
}
