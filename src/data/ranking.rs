//! From the nonzero values of a column to ranks: sort (value key, row) pairs, list the distinct
//! values, number the runs of equal keys. Zero has its place between the negatives and the
//! positives and is never in the pairs.
//!
//! The sort is an LSD radix sort over 8-bit digits that skips the digits which all keys share:
//! stable, O(n) per digit that varies. Values that an `f32` holds exactly have at most four such
//! digits even as `f64`.

use crate::error::Result;
use crate::num::SortKey;
use crate::runtime::Runtime;

/// A value's key and the row it is in.
pub type Pair<V> = (<V as SortKey>::Key, u32);

/// Arrays shorter than this are sorted by comparisons, which is faster (group `encode` of the bench
/// `fit`).
const RADIX_FROM: usize = 256;

/// Sorts `pairs` by key; `scratch` is assumed dirty.
pub fn sort_pairs<V: SortKey>(
    pairs: &mut Vec<Pair<V>>,
    scratch: &mut Vec<Pair<V>>,
    runtime: &Runtime<'_>,
) -> Result<()> {
    let n = pairs.len();
    if n < RADIX_FROM {
        pairs.sort_unstable();
        return Ok(());
    }
    scratch.clear();
    scratch.extend_from_slice(pairs);
    let mut counts = vec![[0usize; 256]; V::DIGITS as usize];
    for &(key, _) in pairs.iter() {
        for (position, counts) in counts.iter_mut().enumerate() {
            counts[V::digit(key, position as u32)] += 1;
        }
    }
    for (position, counts) in counts.iter_mut().enumerate() {
        if counts.contains(&n) {
            continue;
        }
        runtime.check_interrupt()?;
        let mut start = 0;
        for count in counts.iter_mut() {
            start += std::mem::replace(count, start);
        }
        for &pair in pairs.iter() {
            let slot = &mut counts[V::digit(pair.0, position as u32)];
            scratch[*slot] = pair;
            *slot += 1;
        }
        std::mem::swap(pairs, scratch);
    }
    Ok(())
}

/// The ascending distinct values of sorted `pairs`, with the zero in its place if `with_zero`; and
/// the rank that the zero has or would have.
pub fn distinct_values<V: SortKey>(pairs: &[Pair<V>], with_zero: bool) -> (Vec<V>, u32) {
    let (negative, positive) = pairs.split_at(pairs.partition_point(|&(key, _)| V::from_key(key).widen() < 0.0));
    let runs =
        |pairs: &[Pair<V>]| -> Vec<V> { pairs.chunk_by(|a, b| a.0 == b.0).map(|run| V::from_key(run[0].0)).collect() };
    let mut distinct = runs(negative);
    let zero_rank = distinct.len() as u32;
    if with_zero {
        distinct.push(V::ZERO);
    }
    distinct.extend(runs(positive));
    (distinct, zero_rank)
}

/// Calls `visit(rank, run)` for every run of equal keys in sorted `pairs`, with ranks from `first`
/// on; `zero_rank` is left out of the numbering.
pub fn number_runs<V: SortKey>(
    pairs: &[Pair<V>],
    first: u32,
    zero_rank: Option<u32>,
    mut visit: impl FnMut(u32, &[Pair<V>]),
) {
    let mut rank = first;
    for run in pairs.chunk_by(|a, b| a.0 == b.0) {
        if zero_rank == Some(rank) {
            rank += 1;
        }
        visit(rank, run);
        rank += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn radix_agrees_with_sort(values in prop::collection::vec(-1e3f64..1e3, 0..1500), coarse: bool) {
            let mut pairs: Vec<Pair<f64>> = values
                .iter()
                .enumerate()
                .map(|(row, &v)| (if coarse { v.round() } else { v }.key(), row as u32))
                .collect();
            let mut expected = pairs.clone();
            expected.sort_unstable();
            let stop = AtomicBool::new(false);
            sort_pairs::<f64>(&mut pairs, &mut Vec::new(), &Runtime::new(1, &stop)).unwrap();
            prop_assert_eq!(pairs, expected);
        }
    }
}
