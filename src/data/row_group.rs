//! Up to 64 sparse rows, feature by feature.
//!
//! A word of bits tells which of the rows have an entry of a feature, so that rows without one cost nothing:
//! for most features, no row has one.

use crate::error::Result;
use crate::memory;

/// The most rows of a group: the bits of a word.
pub const GROUP: usize = 64;
/// The name of the memory in errors.
const WHAT: &str = "rows of X";

/// The entries of the rows of a sparse matrix.
pub trait RowEntries: Sync {
    /// How many entries of a row are stored.
    fn n_entries(&self, row: usize) -> usize;
    /// Adds the entries of a row, each with its feature, to `entries`, in stored order.
    fn copy_row(&self, row: usize, entries: &mut Vec<(u32, f64)>);
    /// Adds the features of a row's entries to `features`, and their values to `values`, in stored order.
    fn copy_row_apart(&self, row: usize, features: &mut Vec<u32>, values: &mut Vec<f64>) {
        let mut entries = Vec::new();
        self.copy_row(row, &mut entries);
        features.extend(entries.iter().map(|entry| entry.0));
        values.extend(entries.iter().map(|entry| entry.1));
    }
    /// The value of a cell with several entries: `value` is stored after entries that are worth `sum`.
    fn merge(&self, sum: f64, value: f64) -> f64;
}

/// The entries of up to [`GROUP`] rows.
#[derive(Debug)]
pub struct RowGroup {
    /// By feature, a bit for each row that has an entry. Behind the last feature, a word of ones.
    stored: Vec<u64>,
    /// By feature that is stored, where its values begin. They come in the order of the rows.
    starts: Vec<u32>,
    values: Vec<f64>,
    /// The features that are stored.
    features: Vec<u32>,
    /// Room for the entries of all rows as they are stored; `ends` has where the entries of each row end.
    entries: Vec<(u32, f64)>,
    ends: Vec<usize>,
    /// By value, whether it has been set; empty unless a cell has several entries.
    is_set: Vec<bool>,
}

impl RowGroup {
    /// A group that has no rows yet.
    pub fn new(n_features: usize) -> Result<Self> {
        let mut stored = memory::zeros(WHAT, n_features + 1)?;
        stored[n_features] = u64::MAX;
        let starts = memory::zeros(WHAT, n_features)?;
        let (values, features, entries) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { stored, starts, values, features, entries, ends: Vec::new(), is_set: Vec::new() })
    }

    /// Replaces the rows of the group by these, at most [`GROUP`]. Several entries for a cell become one.
    /// O(entries).
    pub fn fill(&mut self, matrix: &dyn RowEntries, rows: &[usize]) {
        assert!(rows.len() <= GROUP, "too many rows");
        self.features.drain(..).for_each(|feature| self.stored[feature as usize] = 0);
        self.entries.clear();
        self.ends.clear();
        for &row in rows {
            matrix.copy_row(row, &mut self.entries);
            self.ends.push(self.entries.len());
        }
        // Each entry writes its feature behind the features found before, and the list grows if the feature
        // is new. A branch on whether it is new would often be mispredicted.
        self.features.resize(self.entries.len(), 0);
        let (mut n_features, mut has_several, mut first) = (0, false, 0);
        for (lane, &end) in self.ends.iter().enumerate() {
            for &(feature, _) in &self.entries[first..end] {
                let stored = &mut self.stored[feature as usize];
                self.features[n_features] = feature;
                n_features += usize::from(*stored == 0);
                has_several |= *stored >> lane & 1 != 0;
                *stored |= 1 << lane;
            }
            first = end;
        }
        self.features.truncate(n_features);
        let mut n_values = 0;
        for &feature in &self.features {
            self.starts[feature as usize] = n_values;
            n_values += self.stored[feature as usize].count_ones();
        }
        self.values.resize(n_values as usize, 0.0);
        self.is_set.clear();
        self.is_set.resize(if has_several { n_values as usize } else { 0 }, false);
        first = 0;
        for (lane, &end) in self.ends.iter().enumerate() {
            for &(feature, value) in &self.entries[first..end] {
                let place = self.place(feature, lane as u32);
                let was_set = has_several && std::mem::replace(&mut self.is_set[place], true);
                self.values[place] = if was_set { matrix.merge(self.values[place], value) } else { value };
            }
            first = end;
        }
    }

    /// By feature, a bit for each row that has an entry; and a word of ones.
    #[inline]
    pub fn stored(&self) -> &[u64] {
        &self.stored
    }

    /// The value of a feature in row number `lane`, which must have an entry of it.
    #[inline]
    pub fn value(&self, feature: u32, lane: u32) -> f64 {
        self.values[self.place(feature, lane)]
    }

    #[inline]
    fn place(&self, feature: u32, lane: u32) -> usize {
        let before = self.stored[feature as usize] & ((1 << lane) - 1);
        (self.starts[feature as usize] + before.count_ones()) as usize
    }
}
