//! The values behind the ranks: per feature an ascending table of its distinct values, and for long
//! tables an index from values to ranks.
//!
//! Where a feature has missing values, these have the last rank, and no value has rank 0: so missing values
//! can be read at either end of the order. The table is padded with infinities there.
//!
//! The table of a feature may exceed every cache, where a binary search is a chain of misses. The
//! index divides the range of values into equal bins and has the first rank of each: one look-up
//! leaves few ranks to be searched, unless values are very unevenly spread. The index of a feature is
//! made when it is first needed. There is none where the places for the indices of all features would
//! take more memory than the values, as they do for a billion features that are nearly all 0.

use std::ops::Range;
use std::sync::OnceLock;

use super::buffer::Buffer;
use super::floats::Floats;
pub use super::floats::TableValue;
use crate::num::SortKey;
use crate::tuning::tuned;

/// Ascending distinct values of every feature, stored as `f32` if all values are exact in it.
#[derive(Debug, Clone)]
pub struct ValueTable {
    /// `values[indptr[f]..indptr[f + 1]]` belongs to feature `f`; monotone, starts at 0.
    indptr: Box<[usize]>,
    values: Floats,
    /// By feature; empty if there are none at all.
    has_missing: Box<[bool]>,
    /// By feature, none for short tables; each is made when a threshold of the feature is first looked
    /// up. Empty if they would take more memory than the values.
    indices: OnceLock<Box<[FeatureIndex]>>,
}

/// The index of one feature.
type FeatureIndex = OnceLock<Option<RankIndex>>;

/// The ranks of equal parts of the range of values.
#[derive(Debug, Clone)]
struct RankIndex {
    lowest: f64,
    /// Bins per unit of the values.
    scale: f64,
    /// The first rank of each bin, and of none beyond the last.
    starts: Box<[u32]>,
}

/// The rank of missing values where ranks are keys; no number has it, nor 0.
pub(super) const MISSING_KEY: u32 = u32::MAX;
tuned! {
    /// Tables up to this length have no index: they are in cache soon enough (bench `sweep`).
    fn index_from() -> usize = 1024;
    /// Ranks per bin, on average (bench `sweep`).
    fn ranks_per_bin() -> usize = 32;
}

impl RankIndex {
    fn new(values: &[impl SortKey]) -> Option<Self> {
        if values.len() < index_from() {
            return None;
        }
        // Infinite values fall into the outer bins.
        let finite = || values.iter().map(|value| value.widen()).filter(|value| value.is_finite());
        let (lowest, highest) = (finite().next()?, finite().next_back()?);
        let n_bins = values.len() / ranks_per_bin();
        let scale = n_bins as f64 / (highest - lowest);
        let mut index = Self { lowest, scale, starts: vec![0; n_bins + 1].into() };
        let mut next = 0;
        for (rank, value) in values.iter().enumerate() {
            let bin = index.bin(value.widen());
            for start in &mut index.starts[next.min(bin + 1)..=bin] {
                *start = rank as u32;
            }
            next = next.max(bin + 1);
        }
        index.starts[next..].fill(values.len() as u32);
        Some(index)
    }

    /// The bin of a value: the larger the value, the larger or the same.
    #[inline]
    fn bin(&self, value: f64) -> usize {
        (((value - self.lowest) * self.scale) as usize).min(self.starts.len() - 2)
    }

    /// The first rank above the threshold is one of these, or the one after them.
    #[inline]
    fn ranks(&self, threshold: f64) -> Range<usize> {
        let bin = self.bin(threshold);
        self.starts[bin] as usize..self.starts[bin + 1] as usize
    }
}

/// The table of a feature that has missing values.
pub(super) fn padded<V: SortKey>(values: Vec<V>) -> Vec<V> {
    [vec![V::NEG_INFINITY], values, vec![V::INFINITY]].concat()
}

impl ValueTable {
    /// The table. `has_missing` says which features have missing values, and padded tables.
    pub(super) fn new(indptr: Vec<usize>, values: Floats, mut has_missing: Vec<bool>) -> Self {
        if !has_missing.contains(&true) {
            has_missing = Vec::new();
        }
        let values = match values {
            Floats::F64(values) if values.iter().all(|&v| f64::from(v as f32) == v) => {
                Floats::F32(values.into_iter().map(|v| v as f32).collect())
            }
            values => values,
        };
        Self { indptr: indptr.into(), values, has_missing: has_missing.into(), indices: OnceLock::new() }
    }

    /// Whether any feature has missing values.
    #[inline]
    pub(crate) fn has_missing(&self) -> bool {
        !self.has_missing.is_empty()
    }

    /// The rank of missing values, if the feature has any.
    #[inline]
    pub(crate) fn missing_rank(&self, feature: usize) -> Option<u32> {
        let has_missing = self.has_missing.get(feature).is_some_and(|&has_missing| has_missing);
        let last = || if self.is_keyed(feature) { MISSING_KEY } else { self.n_ranks(feature) as u32 - 1 };
        has_missing.then(last)
    }

    /// The values of all features as bytes, and the bytes of a value.
    pub(super) fn bytes(&self) -> (Buffer<u8>, u64) {
        match &self.values {
            Floats::F32(values) => (Buffer::from(values.clone()).bytes(), 4),
            Floats::F64(values) => (Buffer::from(values.clone()).bytes(), 8),
        }
    }

    /// The values of a feature by rank, if they have this type; else nothing. Empty if ranks are
    /// keys.
    pub(super) fn of<V: TableValue>(&self, feature: usize) -> Option<&[V]> {
        let values = V::of(&self.values);
        (values.len() == self.values.len()).then(|| &values[self.indptr[feature]..self.indptr[feature + 1]])
    }

    /// Where the values of a feature are, without the infinities of a padded table.
    fn numbers(&self, feature: usize) -> Range<usize> {
        let padding = usize::from(self.missing_rank(feature).is_some() && !self.is_keyed(feature));
        self.indptr[feature] + padding..self.indptr[feature + 1] - padding
    }

    /// The distinct values of a feature, ascending; empty if ranks are keys.
    pub(super) fn distinct(&self, feature: usize) -> Vec<f64> {
        match &self.values {
            Floats::F32(values) => values[self.numbers(feature)].iter().map(|&value| value.into()).collect(),
            Floats::F64(values) => values[self.numbers(feature)].to_vec(),
        }
    }

    /// Puts 0, 1 and so on in the place of the values of some features.
    pub(super) fn put_codes(&mut self, features: impl Iterator<Item = usize>) {
        fn number<V: TableValue>(values: &mut [V]) {
            values.iter_mut().zip(0u32..).for_each(|(value, code)| *value = V::from_wide(code.into()));
        }
        self.indices = OnceLock::new();
        for feature in features {
            let numbers = self.numbers(feature);
            match &mut self.values {
                Floats::F32(values) => number(&mut values[numbers]),
                Floats::F64(values) => number(&mut values[numbers]),
            }
        }
    }

    pub(crate) fn n_ranks(&self, feature: usize) -> usize {
        self.indptr[feature + 1] - self.indptr[feature]
    }

    /// The index of a feature, if it has one.
    #[inline]
    fn index(&self, feature: usize) -> Option<&RankIndex> {
        let index = self.indices.get_or_init(|| self.no_indices()).get(feature)?;
        index.get_or_init(|| self.new_index(feature)).as_ref()
    }

    /// A place for the index of each feature, unless these places would take more memory than the values.
    #[cold]
    fn no_indices(&self) -> Box<[FeatureIndex]> {
        let n_features = self.indptr.len() - 1;
        let are_worth_it = n_features.saturating_mul(size_of::<FeatureIndex>()) <= self.value_bytes();
        (0..if are_worth_it { n_features } else { 0 }).map(|_| OnceLock::new()).collect()
    }

    /// Makes the index of a feature; none for a short table. O(values of the feature).
    #[cold]
    fn new_index(&self, feature: usize) -> Option<RankIndex> {
        let range = self.indptr[feature]..self.indptr[feature + 1];
        match &self.values {
            Floats::F32(values) => RankIndex::new(&values[range]),
            Floats::F64(values) => RankIndex::new(&values[range]),
        }
    }

    fn value_bytes(&self) -> usize {
        match &self.values {
            Floats::F32(values) => size_of_val(&values[..]),
            Floats::F64(values) => size_of_val(&values[..]),
        }
    }

    /// Ranks of a feature that the first one above `threshold` is among, or is the one after.
    #[inline]
    pub(crate) fn ranks_around(&self, feature: usize, threshold: f64) -> Range<usize> {
        if self.is_keyed(feature) {
            let nearest = threshold as f32;
            let above = nearest.key() as usize + usize::from(f64::from(nearest) <= threshold);
            return above..above;
        }
        match self.index(feature) {
            Some(index) => index.ranks(threshold),
            None => 0..self.n_ranks(feature),
        }
    }

    /// Whether the ranks of a feature are the keys of its values, all of them `f32`, so that no
    /// table is needed.
    #[inline]
    pub(super) fn is_keyed(&self, feature: usize) -> bool {
        self.indptr[feature] == self.indptr[feature + 1]
    }

    #[inline]
    pub(crate) fn value(&self, feature: usize, rank: usize) -> f64 {
        if self.is_keyed(feature) {
            return f32::from_key(rank as u32).widen();
        }
        let at = self.indptr[feature] + rank;
        debug_assert!(at < self.indptr[feature + 1]);
        match &self.values {
            Floats::F32(values) => f64::from(values[at]),
            Floats::F64(values) => values[at],
        }
    }

    /// The first rank of `ranks` whose value is above `threshold`, or the one after them.
    pub(crate) fn rank_above(&self, feature: usize, threshold: f64, ranks: Range<usize>) -> usize {
        let start = self.indptr[feature];
        let around = self.ranks_around(feature, threshold);
        let ranks = around.start.clamp(ranks.start, ranks.end)..around.end.clamp(ranks.start, ranks.end);
        if self.is_keyed(feature) {
            return ranks.start;
        }
        let range = start + ranks.start..start + ranks.end;
        ranks.start
            + match &self.values {
                Floats::F32(values) => values[range].partition_point(|&v| f64::from(v) <= threshold),
                Floats::F64(values) => values[range].partition_point(|&v| v <= threshold),
            }
    }

    /// See [`Dataset::cut_between`](super::Dataset::cut_between).
    #[inline]
    pub(crate) fn cut_between(
        &self,
        feature: usize,
        extremes: Range<u32>,
        ranks: &[u32],
        threshold: impl FnOnce(f64, f64) -> f64,
    ) -> (u32, f64) {
        fn cut<F: SortKey>(
            values: &[F],
            extremes: Range<u32>,
            ranks: &[u32],
            threshold: impl FnOnce(f64, f64) -> f64,
        ) -> (u32, f64) {
            let value = |rank: u32| values[rank as usize].widen();
            let threshold = threshold(value(extremes.start), value(extremes.end));
            // The highest rank of a value up to the threshold, found without branches on values, which
            // would be mispredicted.
            let later = |last: u32, &rank: &u32| last.max(rank & u32::from(value(rank) <= threshold).wrapping_neg());
            (ranks.iter().fold(extremes.start, later), threshold)
        }
        if self.is_keyed(feature) {
            let value = |rank: u32| f32::from_key(rank).widen();
            let threshold = threshold(value(extremes.start), value(extremes.end));
            return (self.ranks_around(feature, threshold).start as u32 - 1, threshold);
        }
        let range = self.indptr[feature]..self.indptr[feature + 1];
        match &self.values {
            Floats::F32(values) => cut(&values[range], extremes, ranks, threshold),
            Floats::F64(values) => cut(&values[range], extremes, ranks, threshold),
        }
    }

    pub(crate) fn n_bytes(&self) -> usize {
        let indices = self.indices.get().map_or(0, |indices| {
            let made = indices.iter().filter_map(|index| index.get()?.as_ref());
            size_of_val(&indices[..]) + made.map(|index| size_of_val(&index.starts[..])).sum::<usize>()
        });
        self.value_bytes() + size_of_val(&self.indptr[..]) + size_of_val(&self.has_missing[..]) + indices
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A billion features that are nearly all 0 have no values, and would have the places of indices.
    #[test]
    fn indices_do_not_outweigh_values() {
        for (n_others, are_made) in [(0, true), (10, true), (10_000, false)] {
            let mut values: Vec<f32> = (0..4000).map(|i| i as f32 / 3.0).collect();
            let mut indptr = vec![0, values.len()];
            for _ in 0..n_others {
                values.push(0.0);
                indptr.push(values.len());
            }
            let has_missing = vec![false; n_others + 1];
            let table = ValueTable::new(indptr, Floats::F32(values), has_missing);
            let before = table.n_bytes();
            let around = table.ranks_around(0, 100.0);
            assert_eq!(around.len() < 4000, are_made);
            assert!(around.start <= 301 && around.end >= 301);
            assert_eq!(table.rank_above(0, 100.0, 0..4000), 301);
            assert!(table.n_bytes() <= 2 * before + 4000);
        }
    }

    proptest! {
        #[test]
        fn indices_find_what_a_search_finds(
            mut values in prop::collection::vec(any::<f64>(), 1..3000),
            exponent in 1..40i32,
            thresholds in prop::collection::vec(any::<prop::sample::Index>(), 20),
            extreme: bool,
        ) {
            for (i, value) in values.iter_mut().enumerate() {
                *value = if extreme && !value.is_nan() { *value } else { f64::from(i as u32 % 2500 + 1).powi(exponent) };
            }
            values.sort_unstable_by(f64::total_cmp);
            values.dedup();
            let table = ValueTable::new(vec![0, values.len()], Floats::F64(values.clone()), vec![false]);
            for threshold in thresholds {
                let at = threshold.index(values.len());
                for threshold in [values[at], values[at] / 2.0 + values[values.len() / 2] / 2.0] {
                    let expected = values.partition_point(|&v| v <= threshold);
                    let around = table.ranks_around(0, threshold);
                    prop_assert!(around.start <= expected && expected <= around.end);
                    prop_assert_eq!(table.rank_above(0, threshold, 0..values.len()), expected);
                    let part = at / 2..(at + values.len()).div_ceil(2);
                    let expected = expected.clamp(part.start, part.end);
                    prop_assert_eq!(table.rank_above(0, threshold, part), expected);
                }
            }
        }
    }
}
