//! Proximities: how often rows share leaves.
//!
//! For each tree, rows are listed by leaf. Each row then counts the others in its leaves, tree by
//! tree: once to know how many there are, and once to write them down, so that nothing is held
//! beside the result.

use std::cmp::Reverse;

use crate::error::{Error, Result};
use crate::forest::idle::Idle;
use crate::memory;
use crate::num::sort_by_key;
use crate::runtime::Runtime;

/// Rows of a task.
pub(in crate::forest) const ROWS_PER_TASK: usize = 64;
/// The name of the memory in errors.
pub(in crate::forest) const WHAT: &str = "proximities";

/// The leaves that rows reach.
#[derive(Debug, Clone, Copy)]
pub struct Leaves<'a> {
    /// Ids of nodes, row-major `(n_samples, n_trees)`.
    pub ids: &'a [i64],
    /// In the shape of `ids`, 0 where a tree has seen a row and does not count. `None` if all count.
    pub unseen: Option<&'a [u8]>,
    /// The number of trees.
    pub n_trees: usize,
}

/// The shares of trees in which rows share a leaf, as a CSR matrix without zeros.
#[derive(Debug, Clone, PartialEq)]
pub struct Proximities {
    /// Where the entries of each row begin, then the number of all entries.
    pub indptr: Vec<i64>,
    /// The other row of each entry, ascending in a row.
    pub indices: Vec<i32>,
    /// The shares of the trees that count for both rows.
    pub shares: Vec<f64>,
}

/// In how many trees each of some rows shares a leaf with each of others, as a share of the trees
/// that count for both. O(pairs of rows in a leaf), and O(rows trees).
pub fn proximities(rows: Leaves<'_>, others: Leaves<'_>, runtime: &Runtime<'_>) -> Result<Proximities> {
    let (n_rows, n_others) = (rows.n_rows()?, others.n_rows()?);
    if rows.n_trees != others.n_trees || i32::try_from(n_others).is_err() {
        let expected = format!("fewer than 2^31 rows, and leaves of {} trees", rows.n_trees);
        let got = format!("{n_others} rows and {} trees", others.n_trees);
        return Err(Error::ShapeMismatch { what: "Y", expected, got });
    }
    let by_leaf = runtime.map((0..rows.n_trees).collect(), |tree| {
        runtime.check_interrupt()?;
        ByLeaf::new(others, n_others, tree)
    })?;
    let sets = rows.unseen.zip(others.unseen).map(|sets| <[_; 2]>::from(sets).map(|set| pack(set, rows.n_trees)));
    let idle = Idle::new();
    let new_counter = || Counter::new(n_others);
    let mut indptr: Vec<i64> = memory::zeros(WHAT, n_rows + 1)?;
    let parts = (0..n_rows).step_by(ROWS_PER_TASK).zip(indptr[1..].chunks_mut(ROWS_PER_TASK));
    runtime.map(parts.collect(), |(first, lengths): (usize, &mut [i64])| {
        idle.with(new_counter, |counter| {
            for (row, length) in (first..).zip(&mut *lengths) {
                runtime.check_interrupt()?;
                counter.count(rows, row, &by_leaf);
                *length = counter.found.len() as i64;
                counter.clear();
            }
            Ok(())
        })
    })?;
    for row in 0..n_rows {
        indptr[row + 1] += indptr[row];
    }
    let n = usize::try_from(indptr[n_rows]).unwrap_or(usize::MAX);
    let (mut indices, mut shares): (Vec<i32>, Vec<f64>) = (memory::zeros(WHAT, n)?, memory::zeros(WHAT, n)?);
    let (mut rest_of_indices, mut rest_of_shares) = (&mut indices[..], &mut shares[..]);
    let mut parts = Vec::new();
    for first in (0..n_rows).step_by(ROWS_PER_TASK) {
        let last = (first + ROWS_PER_TASK).min(n_rows);
        let len = (indptr[last] - indptr[first]) as usize;
        let (of_indices, of_shares);
        (of_indices, rest_of_indices) = rest_of_indices.split_at_mut(len);
        (of_shares, rest_of_shares) = rest_of_shares.split_at_mut(len);
        parts.push((first..last, of_indices, of_shares));
    }
    runtime.map(parts, |(block, indices, shares)| {
        idle.with(new_counter, |counter| {
            let mut cells = indices.iter_mut().zip(&mut *shares);
            for row in block.clone() {
                runtime.check_interrupt()?;
                counter.count(rows, row, &by_leaf);
                counter.found.sort_unstable();
                for (&other, (index, share)) in counter.found.iter().zip(&mut cells) {
                    let n_trees =
                        sets.as_ref().map_or(rows.n_trees, |[own, others]| own.count_both(row, others, other));
                    *index = other as i32;
                    *share = f64::from(counter.counts[other as usize]) / n_trees as f64;
                }
                counter.clear();
            }
            Ok(())
        })
    })?;
    Ok(Proximities { indptr, indices, shares })
}

impl Leaves<'_> {
    fn n_rows(&self) -> Result<usize> {
        let n_trees = self.n_trees.max(1);
        let is_legal = self.ids.len().is_multiple_of(n_trees)
            && self.unseen.is_none_or(|unseen| unseen.len() == self.ids.len())
            && self.ids.iter().all(|&id| u32::try_from(id).is_ok());
        if is_legal {
            return Ok(self.ids.len() / n_trees);
        }
        let expected = format!("ids of nodes of {} trees for each row", self.n_trees);
        Err(Error::ShapeMismatch { what: "leaves", expected, got: format!("{} numbers", self.ids.len()) })
    }

    /// The leaf of a row in a tree, if the tree counts.
    fn leaf(&self, row: usize, tree: usize) -> Option<usize> {
        let at = row * self.n_trees + tree;
        self.unseen.is_none_or(|unseen| unseen[at] != 0).then(|| self.ids[at] as usize)
    }
}

/// The rows in each leaf of a tree.
pub(in crate::forest) struct ByLeaf {
    /// By node, where its rows begin; then the end.
    starts: Vec<u32>,
    rows: Vec<u32>,
}

impl ByLeaf {
    pub(in crate::forest) fn new(leaves: Leaves<'_>, n_rows: usize, tree: usize) -> Result<Self> {
        let of_rows = || (0..n_rows).filter_map(|row| Some((row, leaves.leaf(row, tree)?)));
        let n_nodes = of_rows().map(|(_, leaf)| leaf + 1).max().unwrap_or(0);
        let mut starts: Vec<u32> = memory::zeros(WHAT, n_nodes + 1)?;
        for (_, leaf) in of_rows() {
            starts[leaf] += 1;
        }
        let mut end = 0;
        for start in &mut starts {
            end += *start;
            *start = end;
        }
        let mut rows: Vec<u32> = memory::zeros(WHAT, end as usize)?;
        // From the last row on, so that rows ascend in each leaf.
        for row in (0..n_rows).rev() {
            if let Some(leaf) = leaves.leaf(row, tree) {
                starts[leaf] -= 1;
                rows[starts[leaf] as usize] = row as u32;
            }
        }
        Ok(Self { starts, rows })
    }

    fn rows(&self, leaf: usize) -> &[u32] {
        match self.starts.get(leaf..leaf + 2) {
            Some(&[first, end]) => &self.rows[first as usize..end as usize],
            _ => &[],
        }
    }
}

/// Counts the trees in which a row shares a leaf with others.
pub(in crate::forest) struct Counter {
    /// By other row, the trees so far in which it shares the leaf.
    counts: Vec<u32>,
    /// The other rows whose count is above 0.
    found: Vec<u32>,
}

impl Counter {
    pub(in crate::forest) fn new(n_others: usize) -> Result<Self> {
        Ok(Self { counts: memory::zeros(WHAT, n_others)?, found: Vec::new() })
    }

    pub(in crate::forest) fn count(&mut self, rows: Leaves<'_>, row: usize, by_leaf: &[ByLeaf]) {
        for (tree, by_leaf) in by_leaf.iter().enumerate() {
            let Some(leaf) = rows.leaf(row, tree) else { continue };
            for &other in by_leaf.rows(leaf) {
                let count = &mut self.counts[other as usize];
                if *count == 0 {
                    self.found.push(other);
                }
                *count += 1;
            }
        }
    }

    /// Visits the rows with the highest counts, at most `k`, each with its place and its count.
    pub(in crate::forest) fn take_most(&mut self, k: usize, mut visit: impl FnMut(usize, u32, u32)) {
        let Self { counts, found } = self;
        let order = |&other: &u32| (Reverse(counts[other as usize]), other);
        let most = if k < found.len() {
            found.select_nth_unstable_by_key(k, order);
            &mut found[..k]
        } else {
            &mut found[..]
        };
        sort_by_key(most, |other| order(&other));
        for (place, &mut other) in most.iter_mut().enumerate() {
            visit(place, other, counts[other as usize]);
        }
    }

    pub(in crate::forest) fn clear(&mut self) {
        for other in self.found.drain(..) {
            self.counts[other as usize] = 0;
        }
    }
}

/// A set of trees for each row, a bit each.
struct Sets {
    words: Vec<u64>,
    n_words: usize,
}

fn pack(sets: &[u8], n_trees: usize) -> Sets {
    let word = |trees: &[u8]| trees.iter().rev().fold(0, |word, &is_in| word << 1 | u64::from(is_in != 0));
    let words = sets.chunks(n_trees.max(1)).flat_map(|trees| trees.chunks(64).map(word)).collect();
    Sets { words, n_words: n_trees.div_ceil(64) }
}

impl Sets {
    fn of(&self, row: usize) -> &[u64] {
        &self.words[row * self.n_words..][..self.n_words]
    }

    /// How many trees are in the sets of both rows.
    fn count_both(&self, row: usize, others: &Self, other: u32) -> usize {
        let both = self.of(row).iter().zip(others.of(other as usize));
        both.map(|(one, other)| (one & other).count_ones() as usize).sum()
    }
}
