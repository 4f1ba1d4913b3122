//! The best split of a node, given its histogram: all cuts between bins, and those within the bins that may
//! hold a better one.
//!
//! Within a bin of `m` rows whose gradients have the sum of squared deviations `S`, the sum of any `k` of
//! the rows differs from `k` times their mean by at most `sqrt(k (m - k) S / m)` (Cauchy and Schwarz). That
//! bounds the scores of the cuts within a bin, first for all of them, then for each eighth of the bin. The
//! rows of the bins that stay open are read.

use std::ops::Range;

use super::bins::{BinnedColumn, Bins, Coarse, MAX_BINS};
use super::histogram::{Bin, Gradients};
use crate::criterion::Statistics;
use crate::criterion::squared_error::{SquaredError, SumTotals};
use crate::criterion::sums::SumPushed;
use crate::criterion::weights::SmallWeights;
use crate::data::DenseColumns;
use crate::error::Result;
use crate::rng::Permutation;
use crate::runtime::Runtime;
use crate::split::Candidate;
use crate::split::best::Best;

/// The criterion: all rows of a bag weigh 1.
pub type Criterion<'a> = SquaredError<'a, SmallWeights<'a>>;

/// The number of the node of rows that are in no node.
pub const NO_NODE: u16 = u16::MAX;
/// Parts of a bin that are bounded by themselves.
const SEGMENTS: usize = 8;
/// Bounds are raised by this share, as they are rounded.
const SLACK: f64 = 1.0 + 1e-9;

/// A node, as its search sees it.
pub struct SearchedNode<'a> {
    pub samples: &'a [u32],
    pub totals: &'a SumTotals<i64>,
    pub histogram: &'a [Bin],
    pub order: Permutation,
    /// The number by which `members` knows the rows of the node.
    pub number: u16,
}

/// What the searches of all nodes of a tree share.
pub struct Searcher<'a, 'c> {
    pub bins: &'a Bins,
    pub columns: &'a DenseColumns,
    pub gradients: &'a Gradients<'a>,
    pub criterion: &'a Criterion<'c>,
    /// The least number of rows of a child.
    pub min_leaf: u32,
    /// By row, the number of its node.
    pub members: &'a [u16],
}

/// Sums by rank, and rows of open bins, of one search after the other.
#[derive(Default)]
pub struct Scratch {
    by_rank: Vec<(i64, u32)>,
    entries: Vec<(u32, i64)>,
}

/// The mean of a node as an integer and a fraction, so that excesses lose no digits.
#[derive(Clone, Copy)]
struct Mean {
    n: u32,
    whole: i64,
    fraction: f64,
}

impl Mean {
    /// How much the sum of `n` rows exceeds `n` times the mean.
    #[inline]
    fn excess(self, sum: i64, n: u32) -> f64 {
        (sum - i64::from(n) * self.whole) as f64 - f64::from(n) * self.fraction
    }

    /// The score of a cut that `n` rows are on the left of.
    #[inline]
    fn score(self, excess: f64, n: u32) -> f64 {
        excess * excess / (f64::from(n) * f64::from(self.n - n))
    }
}

impl<'c> Searcher<'_, 'c> {
    /// The best cut of a node. The ranks beside it may be absent from the node. A thread works for each
    /// scratch.
    pub fn best_cut(
        &self,
        node: &SearchedNode<'_>,
        scratches: &mut [Scratch],
        runtime: &Runtime<'_>,
    ) -> Result<Option<Candidate>> {
        let n = node.samples.len() as u32;
        let first = &node.histogram[..self.bins.columns[0].n_bins];
        let sum: i64 = first.iter().map(|bin| bin.sum).sum();
        let mean = Mean {
            n,
            whole: sum.div_euclid(i64::from(n)),
            fraction: sum.rem_euclid(i64::from(n)) as f64 / f64::from(n),
        };
        let mut best = Best::new();
        let parts = self.bins.parts(scratches.len());
        let between = |part: Range<usize>| {
            let mut best = Best::new();
            for feature in part {
                self.offer_between_bins(node, mean, feature as u32, &self.bins.columns[feature], &mut best);
            }
            Ok(best)
        };
        for of_part in runtime.map(parts.clone(), between)? {
            best.merge(self.criterion, node.totals, &node.order, of_part);
        }
        let score = best.score();
        let within = |(part, scratch): (Range<usize>, &mut Scratch)| {
            let mut best = Best::new();
            if let Some(score) = score {
                best.follow(self.criterion, node.totals, score);
            }
            for feature in part {
                let column = &self.bins.columns[feature];
                if let Some(coarse) = &column.coarse {
                    self.search_within_bins(node, mean, (feature as u32, column, coarse), scratch, &mut best);
                }
            }
            Ok(best)
        };
        for of_part in runtime.map(parts.into_iter().zip(scratches).collect(), within)? {
            best.merge(self.criterion, node.totals, &node.order, of_part);
        }
        Ok(best.candidate())
    }

    fn is_legal(&self, mean: Mean, n_left: u32) -> bool {
        n_left >= self.min_leaf && mean.n - n_left >= self.min_leaf
    }

    fn offer(
        &self,
        node: &SearchedNode<'_>,
        (sum, score): (i64, f64),
        candidate: Candidate,
        best: &mut Best<Criterion<'c>>,
    ) {
        let mut others = self.criterion.scan();
        let pushed = SumPushed::new(candidate.n_left as u64, [sum].into_iter(), &mut others);
        best.offer(self.criterion, node.totals, &node.order, (&others, pushed), score, candidate);
    }

    fn offer_between_bins(
        &self,
        node: &SearchedNode<'_>,
        mean: Mean,
        feature: u32,
        column: &BinnedColumn,
        best: &mut Best<Criterion<'c>>,
    ) {
        let bins = &node.histogram[column.first..][..column.n_bins];
        let mut scores = [f64::NEG_INFINITY; MAX_BINS];
        let (mut sum, mut n, mut highest) = (0, 0, f64::NEG_INFINITY);
        for (bin, score) in bins.iter().zip(&mut scores) {
            sum += bin.sum;
            n += bin.n;
            if bin.n > 0 && self.is_legal(mean, n) {
                *score = mean.score(mean.excess(sum, n), n);
                highest = highest.max(*score);
            }
        }
        let least = best.floor().max(highest - 2.0 * self.criterion.tolerance(node.totals, highest));
        if highest < least || highest == f64::NEG_INFINITY {
            return;
        }
        let (mut sum, mut n) = (0, 0);
        for (number, (bin, &score)) in bins.iter().zip(&scores).enumerate() {
            sum += bin.sum;
            n += bin.n;
            if score >= least && best.may_win(score) {
                let last = column.last_rank(number);
                let cut = Candidate { is_loose: true, ..Candidate::between(feature, last, last + 1, n as usize) };
                self.offer(node, (sum, score), cut, best);
            }
        }
    }

    /// Offers the cuts within bins that may win.
    fn search_within_bins(
        &self,
        node: &SearchedNode<'_>,
        mean: Mean,
        (feature, column, coarse): (u32, &BinnedColumn, &Coarse),
        scratch: &mut Scratch,
        best: &mut Best<Criterion<'c>>,
    ) {
        let bins = &node.histogram[column.first..][..column.n_bins];
        let mut open = [false; MAX_BINS];
        let (mut sum, mut n, mut n_open_rows, mut n_open_ranks, mut n_listed) = (0, 0, 0, 0, 0);
        for (number, bin) in bins.iter().enumerate() {
            if bin.n > 1 && self.may_hold(mean, (sum, n), bin, best.floor()) {
                open[number] = true;
                n_open_rows += bin.n as usize;
                n_open_ranks += (coarse.first_ranks[number + 1] - coarse.first_ranks[number]) as usize;
                n_listed += (coarse.first_rows[number + 1] - coarse.first_rows[number]) as usize;
            }
            sum += bin.sum;
            n += bin.n;
        }
        if n_open_rows == 0 {
            return;
        }
        // Rows are found in the list by value, or among the rows of the node; and added up by rank, or
        // sorted.
        let is_listed = 2 * n_listed < node.samples.len() && node.number != NO_NODE;
        let is_sorted = n_open_rows * 8 < n_open_ranks;
        let Scratch { by_rank, entries } = scratch;
        entries.clear();
        if by_rank.len() < self.columns.column(feature).n_ranks as usize {
            by_rank.resize(self.columns.column(feature).n_ranks as usize, (0, 0));
        }
        let is_open = |number: &usize| open[*number];
        if !is_sorted {
            for number in (0..column.n_bins).filter(is_open) {
                let ranks = coarse.first_ranks[number] as usize..coarse.first_ranks[number + 1] as usize;
                by_rank[ranks].fill((0, 0));
            }
        }
        let mut take = |row: u32, rank: u32| {
            let gradient = self.gradients.fixed[row as usize];
            if is_sorted {
                entries.push((rank, gradient));
            } else {
                let sums = &mut by_rank[rank as usize];
                *sums = (sums.0 + gradient, sums.1 + 1);
            }
        };
        if is_listed {
            for number in (0..column.n_bins).filter(is_open) {
                let places = coarse.first_rows[number] as usize..coarse.first_rows[number + 1] as usize;
                for (&row, &rank) in coarse.rows[places.clone()].iter().zip(&coarse.ranks[places]) {
                    if self.members[row as usize] == node.number {
                        take(row, rank);
                    }
                }
            }
        } else {
            let of_rows = column.of_rows(self.columns.column(feature));
            let rows = node.samples.iter().copied().filter(|&row| open[of_rows[row as usize] as usize]);
            self.columns.column(feature).visit_ranks(rows, take);
        }
        entries.sort_unstable_by_key(|&(rank, _)| rank);
        let mut sorted = &entries[..];
        let (mut sum, mut n) = (0, 0);
        for (number, bin) in bins.iter().enumerate() {
            if open[number] {
                let ranks = coarse.first_ranks[number]..coarse.first_ranks[number + 1];
                let before = (sum, n);
                if is_sorted {
                    let (of_bin, rest) = sorted.split_at(bin.n as usize);
                    sorted = rest;
                    let groups = of_bin.chunk_by(|a, b| a.0 == b.0);
                    let sums = groups.map(|of_rank| {
                        (of_rank[0].0, (of_rank.iter().map(|entry| entry.1).sum(), of_rank.len() as u32))
                    });
                    self.offer_within(node, mean, feature, before, sums, best);
                } else {
                    let sums = ranks.clone().zip(by_rank[ranks.start as usize..ranks.end as usize].iter().copied());
                    self.offer_within(node, mean, feature, before, sums.filter(|(_, (_, n))| *n > 0), best);
                }
            }
            sum += bin.sum;
            n += bin.n;
        }
    }

    /// Offers the cuts between the ranks of a bin that the node has, given their sums and numbers of rows,
    /// and those of the bins before.
    fn offer_within(
        &self,
        node: &SearchedNode<'_>,
        mean: Mean,
        feature: u32,
        (mut sum, mut n): (i64, u32),
        ranks: impl Iterator<Item = (u32, (i64, u32))>,
        best: &mut Best<Criterion<'c>>,
    ) {
        let mut previous = None;
        for (rank, (of_rank, n_of_rank)) in ranks {
            if let Some(previous) = previous
                && self.is_legal(mean, n)
            {
                let score = mean.score(mean.excess(sum, n), n);
                if best.may_win(score) {
                    self.offer(node, (sum, score), Candidate::between(feature, previous, rank, n as usize), best);
                }
            }
            previous = Some(rank);
            sum += of_rank;
            n += n_of_rank;
        }
    }

    /// Whether a cut within a bin may have a score of at least `floor`, given the sum and the number of the
    /// rows before it.
    fn may_hold(&self, mean: Mean, (sum, n): (i64, u32), bin: &Bin, floor: f64) -> bool {
        if n + bin.n < self.min_leaf + 1 || mean.n < n + 1 + self.min_leaf {
            return false;
        }
        if floor == f64::NEG_INFINITY {
            return true;
        }
        let size = f64::from(bin.n);
        let (before, after) = (mean.excess(sum, n), mean.excess(sum + bin.sum, n + bin.n));
        let squares = f64::from(bin.squares) * self.gradients.unit;
        let of_mean = bin.sum as f64 * bin.sum as f64 / size;
        let spread = (squares - of_mean * (1.0 - 1e-14)).max(0.0);
        // The least product of the numbers of rows on both sides is at an end of the legal cuts.
        let bound = |first: f64, last: f64, excess: f64, within: f64| {
            let most = f64::from(mean.n) - f64::from(self.min_leaf);
            let (first, last) = (first.max(f64::from(self.min_leaf)), last.min(most));
            if first > last {
                return f64::NEG_INFINITY;
            }
            let product = (first * (f64::from(mean.n) - first)).min(last * (f64::from(mean.n) - last));
            (excess + within) * (excess + within) / product * SLACK
        };
        let (first, last) = (f64::from(n) + 1.0, f64::from(n) + size - 1.0);
        if bound(first, last, before.abs().max(after.abs()), 0.5 * (size * spread).sqrt()) < floor {
            return false;
        }
        (0..SEGMENTS).any(|segment| {
            let share = |at: usize| at as f64 / SEGMENTS as f64 * size;
            let (start, end) = (share(segment).max(1.0), share(segment + 1).min(size - 1.0));
            if start > end {
                return false;
            }
            let at = |k: f64| (before + k / size * (after - before)).abs();
            let widest = (size / 2.0).clamp(start, end);
            let within = (widest * (size - widest) / size * spread).sqrt();
            bound(f64::from(n) + start, f64::from(n) + end, at(start).max(at(end)), within) >= floor
        })
    }
}
