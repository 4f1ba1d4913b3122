//! The best split of a node, given its histogram: all cuts between bins, and those within the bins that may
//! hold a better one.
//!
//! An [`Engine`] bounds what the cuts within a bin can score. The rows of the bins that stay open are read.

use std::ops::{ControlFlow, Range};

use super::bins::{BinnedColumn, Bins, Coarse, MAX_BINS};
use super::growth::{Engine, SearchedNode};
use super::histogram::Cell;
use super::orders::Order;
use crate::bitset::{Bitset, ones};
use crate::data::{Columns, Dataset};
use crate::error::Result;
use crate::num::{sort_by, sort_by_key};
use crate::rng::Side;
use crate::runtime::Runtime;
use crate::split::{Candidate, Cut};

/// If a column has so many bins for each row of a node, the rows say which bins are not empty
/// (`benches/peers/hist_boosting.py`).
const BINS_PER_ROW: usize = 2;

/// Cells by rank, and rows of open bins, of one search after the other.
pub struct Scratch<C> {
    by_rank: Vec<C>,
    entries: Vec<u64>,
    /// The cells of a sparse column, with that of zeros.
    column: Vec<C>,
    cuts: Cuts<C>,
    /// The features of a node with bins of several ranks.
    coarse: Vec<u32>,
}

/// The cuts of a column between bins that the node has rows in.
struct Cuts<C> {
    lefts: [C; MAX_BINS],
    /// The last bin on the left.
    bins: [u8; MAX_BINS],
    scores: [f64; MAX_BINS],
    sums: [[f64; MAX_BINS]; 2],
}

impl<C: Cell> Default for Scratch<C> {
    fn default() -> Self {
        let cuts = Cuts {
            lefts: [C::default(); MAX_BINS],
            bins: [0; MAX_BINS],
            scores: [0.0; MAX_BINS],
            sums: [[0.0; MAX_BINS]; 2],
        };
        Self { by_rank: Vec::new(), entries: Vec::new(), column: Vec::new(), cuts, coarse: Vec::new() }
    }
}

/// The search of one node.
struct Search<'a, E: Engine> {
    engine: &'a E,
    data: &'a Dataset,
    node: &'a SearchedNode<'a, E>,
    at: E::AtNode,
}

/// The best cut of a node. The ranks beside it may be absent from the node if it is loose. A thread works
/// for each scratch.
pub fn best_cut<E: Engine>(
    engine: &E,
    (data, bins): (&Dataset, &Bins),
    node: &SearchedNode<'_, E>,
    features: Option<&[u32]>,
    scratches: &mut [Scratch<E::Cell>],
    runtime: &Runtime<'_>,
) -> Result<Option<Candidate>> {
    let search = Search { engine, data, node, at: engine.at_node(node) };
    let stored = features.is_none().then(|| features_of_entries(data, bins, node.samples)).flatten();
    let parts: Vec<&[u32]> = match features.or(stored.as_deref()) {
        Some(features) => features.chunks(features.len().div_ceil(scratches.len()).max(1)).collect(),
        None => bins.parts(scratches.len()).map(|part| part.features).collect(),
    };
    let scratches = &mut scratches[..parts.len()];
    let mut best = engine.no_cut();
    let between = |(part, scratch): (&[u32], &mut Scratch<E::Cell>)| {
        let mut best = engine.no_cut();
        scratch.coarse.clear();
        for &feature in part {
            let column = &bins.columns[feature as usize];
            if column.n_bins > 1 {
                let cells = search.cells(column, &mut scratch.column);
                if column.is_categorical {
                    search.offer_sets(feature, column, cells, &mut best);
                } else {
                    search.offer_between_bins((feature, column, cells), &mut scratch.cuts, &mut best);
                    if column.coarse.is_some() {
                        scratch.coarse.push(feature);
                    }
                }
            }
        }
        Ok(best)
    };
    for of_part in runtime.map(parts.into_iter().zip(&mut *scratches).collect(), between)? {
        engine.merge(node, &mut best, of_part);
    }
    let score = engine.score_of(&best);
    let within = |scratch: &mut Scratch<E::Cell>| {
        let mut best = engine.no_cut();
        if let Some(score) = score {
            engine.follow(node, &mut best, score);
        }
        for at in 0..scratch.coarse.len() {
            let feature = scratch.coarse[at];
            let column = &bins.columns[feature as usize];
            if let Some(coarse) = &column.coarse {
                search.search_within_bins((feature, column, coarse), scratch, &mut best);
            }
        }
        Ok(best)
    };
    if engine.reads_bins() {
        for of_part in runtime.map(scratches.iter_mut().collect(), within)? {
            engine.merge(node, &mut best, of_part);
        }
    }
    Ok(engine.candidate(best))
}

/// The features with an entry in the rows of a node, ascending: no other can be cut there. `None` if data are
/// dense, or if there may be so many that all features are looked through sooner. O(entries + features / 64).
fn features_of_entries(data: &Dataset, bins: &Bins, samples: &[u32]) -> Option<Vec<u32>> {
    let Columns::Sparse(columns) = data.columns() else { return None };
    if samples.iter().map(|&row| columns.row_nnz(row)).sum::<usize>() > bins.n_binned() {
        return None;
    }
    let mut features = Bitset::new(data.n_features());
    for &row in samples {
        features.insert_all(columns.row(row).features);
    }
    Some(features.iter().collect())
}

/// Where missing values may go: what is on the left before the first bin, and their side.
struct Ways<C> {
    starts: [C; 2],
    sides: [Option<Side>; 2],
    n: usize,
}

impl<C: Cell> Ways<C> {
    fn of(column: &BinnedColumn, cells: &[C]) -> Self {
        let missing = if column.has_missing { cells[column.n_bins - 1] } else { C::default() };
        if missing.n() == 0 {
            return Self { starts: [C::default(); 2], sides: [None; 2], n: 1 };
        }
        Self { starts: [C::default(), missing], sides: [Some(Side::Right), Some(Side::Left)], n: 2 }
    }

    fn each(&self) -> impl Iterator<Item = (C, Option<Side>)> {
        self.starts.into_iter().zip(self.sides).take(self.n)
    }
}

impl<E: Engine> Search<'_, E> {
    /// The cells of a column, with that of zeros. `filled` is memory.
    fn cells<'a>(&'a self, column: &BinnedColumn, filled: &'a mut Vec<E::Cell>) -> &'a [E::Cell] {
        let cells = &self.node.histogram[column.first..][..column.n_bins];
        let Some(zero) = column.zero else { return cells };
        filled.clear();
        filled.extend_from_slice(cells);
        let mut zeros = self.node.whole;
        for cell in cells {
            zeros.subtract(cell);
        }
        filled[zero].add(&zeros);
        filled
    }

    /// Offers the cuts between bins. Those that are worth a score are listed first, without a branch for each
    /// bin: most bins of a small node have no rows.
    fn offer_between_bins(
        &self,
        (feature, column, cells): (u32, &BinnedColumn, &[E::Cell]),
        Cuts { lefts, bins, scores, sums }: &mut Cuts<E::Cell>,
        best: &mut E::Best,
    ) {
        let ways = Ways::of(column, cells);
        let (least, n_rows) = (self.engine.min_leaf(), self.node.whole.n());
        let few = self.few_bins(feature, column);
        for (start, missing) in ways.each() {
            let (mut left, mut n) = (start, 0);
            let mut list = |bin: u8, cell: &E::Cell| {
                left.add(cell);
                if left.n() >= least {
                    if n_rows - left.n() < least {
                        return ControlFlow::Break(());
                    }
                    (lefts[n], bins[n]) = (left, bin);
                    n += usize::from(cell.n() > 0);
                }
                ControlFlow::Continue(())
            };
            // Ends where too few rows are left for the right side.
            let _ = match &few {
                Some(few) => few.iter().zip((0..).step_by(64)).try_for_each(|(&word, first)| {
                    ones(word).try_for_each(|bit| list((first + bit) as u8, &cells[(first + bit) as usize]))
                }),
                None => (0..=u8::MAX).zip(&cells[..column.n_known()]).try_for_each(|(bin, cell)| list(bin, cell)),
            };
            self.engine.score_all(self.at, &lefts[..n], sums, scores);
            let highest = scores[..n].iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let least = self.engine.floor(best).max(highest - 2.0 * self.engine.tolerance(self.node, highest));
            if highest < least || highest == f64::NEG_INFINITY {
                continue;
            }
            for ((left, &bin), &score) in lefts[..n].iter().zip(&*bins).zip(&*scores) {
                if score >= least && score >= self.engine.floor(best) {
                    let last = column.last_rank(bin.into());
                    let between = Candidate::between(feature, last, last + 1, left.n() as usize);
                    self.engine.offer(self.node, left, score, Candidate { missing, is_loose: true, ..between }, best);
                }
            }
        }
    }

    /// The bins that have rows, if these are so few that it is quicker to ask them than all bins.
    fn few_bins(&self, feature: u32, column: &BinnedColumn) -> Option<[u64; MAX_BINS / 64]> {
        let Columns::Dense(columns) = self.data.columns() else { return None };
        if self.node.samples.len() * BINS_PER_ROW > column.n_known() {
            return None;
        }
        let of_rows = column.of_rows(columns.column(feature));
        let mut bins = [0; MAX_BINS / 64];
        for &row in self.node.samples {
            let bin = of_rows[row as usize];
            bins[usize::from(bin) / 64] |= 1 << (bin % 64);
        }
        if column.has_missing {
            let missing = column.n_known();
            bins[missing / 64] &= !(1 << (missing % 64));
        }
        Some(bins)
    }

    /// Offers the sets of categories that are the first ones in the order of the tree, or else in that of
    /// their means, where all rare categories are as one.
    fn offer_sets(&self, feature: u32, column: &BinnedColumn, cells: &[E::Cell], best: &mut E::Best) {
        let mut order: Vec<usize> = (0..column.n_bins).filter(|&bin| cells[bin].n() > 0).collect();
        let mut is_rare = [false; MAX_BINS];
        match self.engine.order_of(feature) {
            Order::Unconfirmed => return,
            Order::Tree(places) => sort_by_key(&mut order, |bin| places[bin]),
            Order::Node => {
                let mut rare = E::Cell::default();
                for &bin in &order {
                    is_rare[bin] = cells[bin].n() < self.engine.min_samples_category();
                    if is_rare[bin] {
                        rare.add(&cells[bin]);
                    }
                }
                let mean_of = |bin: usize| if is_rare[bin] { &rare } else { &cells[bin] };
                sort_by(&mut order, |a, b| {
                    let by_mean = self.engine.compare_means(mean_of(a), mean_of(b));
                    by_mean.then(is_rare[a].cmp(&is_rare[b])).then(a.cmp(&b))
                });
            }
        }
        let (mut left, mut set) = (E::Cell::default(), [0; 4]);
        for (place, pair) in order.windows(2).enumerate() {
            let bin = pair[0];
            left.add(&cells[bin]);
            set[bin / 64] |= 1 << (bin % 64);
            if is_rare[bin] && is_rare[pair[1]] {
                continue;
            }
            let score = self.engine.score(self.at, &left);
            if score > f64::NEG_INFINITY && score >= self.engine.floor(best) {
                let between = Candidate::between(feature, place as u32, place as u32 + 1, left.n() as usize);
                let cut = Candidate { cut: Cut::Ranks(set), is_loose: true, ..between };
                self.engine.offer(self.node, &left, score, cut, best);
            }
        }
    }

    /// Offers the cuts within bins that may win.
    fn search_within_bins(
        &self,
        (feature, column, coarse): (u32, &BinnedColumn, &Coarse),
        scratch: &mut Scratch<E::Cell>,
        best: &mut E::Best,
    ) {
        let Scratch { by_rank, entries, column: filled, .. } = scratch;
        let cells = self.cells(column, filled);
        let ways = Ways::of(column, cells);
        let known = &cells[..column.n_known()];
        let mut open = [false; MAX_BINS];
        let (mut n_open_rows, mut n_open_ranks, mut n_listed) = (0, 0, 0);
        let mut befores = ways.starts;
        for (bin, cell) in known.iter().enumerate() {
            let ranks = column.ranks(bin);
            let holds = |before: &E::Cell| self.engine.may_hold(self.at, before, cell, self.engine.floor(best));
            if cell.n() > 1 && ranks.len() > 1 && befores[..ways.n].iter().any(holds) {
                open[bin] = true;
                n_open_rows += cell.n() as usize;
                n_open_ranks += ranks.len();
                n_listed += (coarse.first_rows[bin + 1] - coarse.first_rows[bin]) as usize;
            }
            for before in &mut befores {
                before.add(cell);
            }
        }
        if n_open_rows == 0 {
            return;
        }
        // Rows are added up by rank, or sorted.
        let is_sorted = n_open_rows * 8 < n_open_ranks;
        let rows = self.engine.rows();
        entries.clear();
        if !is_sorted {
            let n_ranks = coarse.first_ranks[column.n_bins] as usize;
            if by_rank.len() < n_ranks {
                by_rank.resize(n_ranks, E::Cell::default());
            }
            for bin in (0..known.len()).filter(|&bin| open[bin]) {
                let ranks = column.ranks(bin);
                by_rank[ranks.start as usize..ranks.end as usize].fill(E::Cell::default());
            }
        }
        self.visit_open((feature, column, coarse), (&open, n_listed), |row, rank| {
            if is_sorted {
                entries.push(u64::from(rank) << 32 | u64::from(row));
            } else {
                by_rank[rank as usize].add(&rows[row as usize]);
            }
        });
        entries.sort_unstable();
        let mut sorted = &entries[..];
        let mut befores = ways.starts;
        for (bin, cell) in known.iter().enumerate() {
            if open[bin] {
                let Range { start, end } = column.ranks(bin);
                let (of_bin, rest) = sorted.split_at(if is_sorted { cell.n() as usize } else { 0 });
                sorted = rest;
                for (before, missing) in befores.iter().zip(ways.sides).take(ways.n) {
                    if is_sorted {
                        let cells = of_bin.chunk_by(|a, b| a >> 32 == b >> 32).map(|of_rank| {
                            let mut cell = E::Cell::default();
                            for &entry in of_rank {
                                cell.add(&rows[entry as u32 as usize]);
                            }
                            ((of_rank[0] >> 32) as u32, cell)
                        });
                        self.offer_within(feature, (before, missing), cells, best);
                    } else {
                        let cells = (start..end).zip(by_rank[start as usize..end as usize].iter().copied());
                        self.offer_within(feature, (before, missing), cells.filter(|(_, cell)| cell.n() > 0), best);
                    }
                }
            }
            for before in &mut befores {
                before.add(cell);
            }
        }
    }

    /// Visits the rows of the node that are in open bins, with their ranks. They are found in the list by
    /// value, or among the rows of the node.
    fn visit_open(
        &self,
        (feature, column, coarse): (u32, &BinnedColumn, &Coarse),
        (open, n_listed): (&[bool; MAX_BINS], usize),
        mut visit: impl FnMut(u32, u32),
    ) {
        let places = |bin: usize| coarse.first_rows[bin] as usize..coarse.first_rows[bin + 1] as usize;
        let open_bins = (0..column.n_known()).filter(|&bin| open[bin]);
        match self.data.columns() {
            Columns::Dense(columns) => {
                let of_feature = columns.column(feature);
                if 2 * n_listed >= self.node.samples.len() {
                    let of_rows = column.of_rows(of_feature);
                    let rows = self.node.samples.iter().copied();
                    of_feature.visit_ranks(rows.filter(|&row| open[of_rows[row as usize] as usize]), visit);
                    return;
                }
                for bin in open_bins {
                    let first = coarse.first_ranks[bin];
                    for (at, &row) in places(bin).zip(&coarse.rows[places(bin)]) {
                        if self.node.has(row) {
                            visit(row, coarse.rank_at(at, first, of_feature));
                        }
                    }
                }
            }
            Columns::Sparse(columns) => {
                let stored = columns.column(feature);
                for place in open_bins.flat_map(places) {
                    let row = stored.samples[place];
                    if self.node.has(row) {
                        visit(row, stored.ranks.at(place));
                    }
                }
            }
        }
    }

    /// Offers the cuts between the ranks of a bin that the node has, given their cells, and what is on the
    /// left before the bin.
    fn offer_within(
        &self,
        feature: u32,
        (before, missing): (&E::Cell, Option<Side>),
        ranks: impl Iterator<Item = (u32, E::Cell)>,
        best: &mut E::Best,
    ) {
        let (mut left, mut previous) = (*before, None);
        for (rank, cell) in ranks {
            if let Some(previous) = previous {
                let score = self.engine.score(self.at, &left);
                if score > f64::NEG_INFINITY && score >= self.engine.floor(best) {
                    let between = Candidate::between(feature, previous, rank, left.n() as usize);
                    self.engine.offer(self.node, &left, score, Candidate { missing, ..between }, best);
                }
            }
            previous = Some(rank);
            left.add(&cell);
        }
    }
}
