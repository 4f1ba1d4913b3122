//! Small nodes of dense data: the drawn columns stand side by side, one per lane of a vector
//! register, and one network of comparators sorts all of them.
//!
//! A key is a rank and the place of its row in the node. Batcher's odd-even merge sort ("Sorting
//! networks and their applications", AFIPS 1968) compares the same pairs whatever the keys are, so
//! all lanes go through it together and no branch is mispredicted. O(w log^2 w) steps for w rows,
//! for as many columns as there are lanes.
//!
//! Columns are taken in the order in which the node draws them, so the column that comes first wins
//! a tie. If the best conceivable split is known, the first column that reaches it ends the search.
//! Missing values are at the end of the sorted columns; each cut has two scores, one for missing
//! values on either side.

use crate::criterion::packed::Packed;
use crate::tuning::tuned;

use crate::criterion::Criterion;
use crate::criterion::packed::lanes::{Cuts, Keys, LANES, MAX_PLACES, PLACE_BITS, Scores, place, rank};
use crate::data::DenseColumns;
use crate::error::Result;
use crate::rng::Side;
use crate::split::best::Best;
use crate::split::candidate::{Candidate, Cut};
use crate::split::dense::categories::search_categorical;
use crate::split::dense::column::RowsOf;
use crate::split::dense::lanes::{highest_scores, load_lane, sort_lanes};
use crate::split::entries::Entry;
use crate::split::found::Found;
use crate::split::node::{NodeColumn, NodeSearch};
use crate::split::scan::best_cut;

/// The most rows of a node that is sorted in this way: the place of a row is a byte of the key.
pub(crate) const MAX_ROWS: usize = MAX_PLACES;
/// Ranks must be below this: a rank has the remaining bits of the key.
pub(crate) const MAX_RANKS: usize = 1 << (u32::BITS - PLACE_BITS);
tuned! {
    /// A node with more columns than this computes its best conceivable split (bench `sweep`).
    fn best_conceivable_from_features() -> usize = 2 * LANES;
}

/// Buffers of one worker. Each search assumes that they are dirty.
#[derive(Debug, Default)]
pub(crate) struct SmallScratch {
    keys: Vec<Keys>,
    scores: Vec<Scores>,
    others: Vec<Scores>,
    features: Vec<u32>,
    categorical: Vec<u32>,
    entries: Vec<Entry>,
}

/// The best split of a node of at most [`MAX_ROWS`] rows, all of whose columns have at most
/// [`MAX_RANKS`] ranks. Without `packed` the sorted columns are scanned one by one.
pub(crate) fn best_split<C: Criterion>(
    at: NodeSearch<'_, C>,
    columns: &DenseColumns,
    drawn: Option<&[u32]>,
    rows: &mut RowsOf<C>,
    packed: Option<&mut C::Packed>,
    scan: &mut C::Scan,
    scratch: &mut SmallScratch,
) -> Result<Found<C>> {
    let NodeSearch { search, node, order } = at;
    let samples = node.samples.ids();
    let n_features = search.data.n_features() as u32;
    let SmallScratch { keys, scores, others, features, categorical, entries } = scratch;
    at.list_features(drawn, features, categorical);
    let best_conceivable =
        if features.len() > best_conceivable_from_features() { at.best_conceivable(scan) } else { None };
    keys.resize(samples.len(), [0; LANES]);
    scores.resize(samples.len() - 1, [0.0; LANES]);
    others.resize(samples.len() - 1, [0.0; LANES]);
    if let Some(packed) = &packed {
        packed.load(search.criterion, node.totals, samples, rows);
    }
    let best = Best::below(best_conceivable, !search.data.has_categories());
    let mut small = Small { at, columns, rows, packed, keys, scores, others, entries, scan, best };
    let mut n_varying = 0;
    for batch in features.chunks(LANES) {
        search.runtime.check_interrupt()?;
        small.sort(batch);
        n_varying += small.search(batch);
        if small.best.is_final(search.criterion, node.totals) {
            break;
        }
    }
    if !categorical.is_empty() {
        n_varying += small.search_categorical(categorical)?;
    }
    // No drawn column varies: search the first column that does among the others, in the order of
    // the permutation.
    if n_varying == 0 {
        for start in (search.n_drawn() as u32..n_features).step_by(LANES) {
            search.runtime.check_interrupt()?;
            let mut batch = [0; LANES];
            let batch = &mut batch[..LANES.min((n_features - start) as usize)];
            order.draw(search.level, start, batch);
            small.sort(batch);
            if let Some(lane) = (0..batch.len()).find(|&lane| small.varies(lane)) {
                let first = &batch[lane..=lane];
                if search.data.is_categorical(first[0]) {
                    small.search_categorical(first)?;
                    break;
                }
                small.sort(first);
                small.search(first);
                break;
            }
        }
    }
    Ok(Found { best: small.best.candidate(), constants: None, heritage: None })
}

/// The search of one node.
struct Small<'a, C: Criterion> {
    at: NodeSearch<'a, C>,
    columns: &'a DenseColumns,
    rows: &'a RowsOf<C>,
    packed: Option<&'a mut C::Packed>,
    /// For each row of the node, one key per lane. `sort` sorts every lane.
    keys: &'a mut [Keys],
    /// For each lane, the scores of the cuts after each key but the last, with missing values on
    /// the right.
    scores: &'a mut [Scores],
    /// For each lane, the scores of these cuts with missing values on the left. Only set if some
    /// column of the batch has missing values in the node.
    others: &'a mut [Scores],
    entries: &'a mut Vec<Entry>,
    scan: &'a mut C::Scan,
    best: Best<C>,
}

impl<C: Criterion> Small<'_, C> {
    /// Loads each column of the batch into a lane, and sorts the lanes.
    fn sort(&mut self, batch: &[u32]) {
        let samples = self.at.node.samples.ids();
        if batch.len() < LANES {
            // Lanes without a column must not keep the keys of another node: the rows at those
            // places may weigh more in all than this node, and its sums cannot hold that.
            self.keys.iter_mut().zip(0..).for_each(|(row, place)| *row = [place; LANES]);
        }
        for (lane, &feature) in batch.iter().enumerate() {
            let key = |rank: u32, place: usize| rank << PLACE_BITS | place as u32;
            load_lane(self.columns.column(feature), samples, self.keys, lane, key);
        }
        sort_lanes(self.at.search.level, self.keys);
    }

    fn varies(&self, lane: usize) -> bool {
        rank(self.keys[0][lane]) != rank(self.keys[self.keys.len() - 1][lane])
    }

    /// The rank of missing values in each column of the batch: `u32::MAX`, above all ranks, where
    /// the node has none. `None` if no column has missing values in the node.
    fn missing(&self, batch: &[u32]) -> Option<Keys> {
        let data = self.at.search.data;
        if !data.has_missing() {
            return None;
        }
        let last = self.keys[self.keys.len() - 1];
        let mut ranks = [u32::MAX; LANES];
        for (lane, &feature) in batch.iter().enumerate() {
            if let Some(missing) = data.missing_rank(feature)
                && rank(last[lane]) == missing
            {
                ranks[lane] = missing;
            }
        }
        (ranks != [u32::MAX; LANES]).then_some(ranks)
    }

    /// Offers the cuts of the sorted lanes. Returns the number of columns that vary.
    fn search(&mut self, batch: &[u32]) -> usize {
        let NodeSearch { search, node, .. } = self.at;
        let missing = self.missing(batch);
        let missing_rank = |lane: usize| missing.map(|ranks| ranks[lane]).filter(|&rank| rank != u32::MAX);
        if let Some(packed) = &mut self.packed
            && let to_left = missing.as_ref().map(|ranks| (ranks, &mut *self.others))
            && let cuts = (Cuts { keys: self.keys, scores: self.scores, missing: to_left })
            && packed.lane_scores(search.level, node.totals, self.rows, cuts)
        {
            let all_legal = search.all_legal();
            let plain = highest_scores(search.level, self.scores);
            let none = [f64::NEG_INFINITY; LANES];
            let other = if missing.is_some() { highest_scores(search.level, self.others) } else { none };
            for (lane, &feature) in batch.iter().enumerate() {
                let highest = plain[lane].max(other[lane]);
                if highest == f64::NEG_INFINITY || !self.best.may_win(highest) {
                    continue;
                }
                let mut least = self.best.floor();
                if all_legal {
                    least = least.max(highest - search.criterion.tolerance(node.totals, highest));
                }
                let missing_rank = missing_rank(lane);
                if plain[lane] >= least {
                    self.offer(feature, lane, missing_rank.map(|_| Side::Right), 0, least);
                }
                if let Some(missing_rank) = missing_rank.filter(|_| other[lane] >= least) {
                    let n_values = self.keys.partition_point(|row| rank(row[lane]) < missing_rank);
                    self.offer(feature, lane, Some(Side::Left), self.keys.len() - n_values, least);
                }
            }
            return plain[..batch.len()].iter().filter(|&&score| score > f64::NEG_INFINITY).count();
        }
        let mut n_varying = 0;
        for (lane, &feature) in batch.iter().enumerate() {
            if self.varies(lane) {
                n_varying += 1;
                self.scan(feature, lane);
            }
        }
        n_varying
    }

    /// Offers the cuts of a lane that score at least `least`. `missing` is the side of missing
    /// values if the node has any in this column. The last `n_first` rows of the lane, the missing
    /// values that go left, are on the left of all cuts.
    fn offer(&mut self, feature: u32, lane: usize, missing: Option<Side>, n_first: usize, least: f64) {
        let NodeSearch { search, node, order } = self.at;
        let (criterion, samples) = (search.criterion, node.samples.ids());
        let mut pushed = criterion.begin(node.totals, self.scan);
        for row in &self.keys[self.keys.len() - n_first..] {
            criterion.push(node.totals, self.scan, &mut pushed, samples[place(row[lane])]);
        }
        let scores = if missing == Some(Side::Left) { &*self.others } else { &*self.scores };
        let mut n_pushed = 0;
        for (i, scores) in scores.iter().enumerate() {
            let score = scores[lane];
            if score < least || score == f64::NEG_INFINITY {
                continue;
            }
            for row in &self.keys[n_pushed..=i] {
                criterion.push(node.totals, self.scan, &mut pushed, samples[place(row[lane])]);
            }
            n_pushed = i + 1;
            let n_left = n_first + n_pushed;
            if self.best.may_win(score) && search.is_legal(node, feature, (Side::Left, n_left), (self.scan, pushed)) {
                debug_assert_eq!(score, criterion.score(node.totals, self.scan, pushed));
                let (last_left, first_right) = (rank(self.keys[i][lane]), rank(self.keys[i + 1][lane]));
                let cut = Cut::Before(first_right);
                let candidate = Candidate { feature, last_left, missing, order: 0, cut, n_left, is_loose: false };
                self.best.offer(criterion, node.totals, order, (self.scan, pushed), score, candidate);
            }
        }
    }

    /// Offers the cuts of categorical columns. Returns how many of them vary.
    fn search_categorical(&mut self, features: &[u32]) -> Result<usize> {
        let packed = self.packed.as_deref_mut().map(|packed| (packed, self.rows));
        search_categorical(self.at, self.columns, features, packed, self.scan, &mut self.best)
    }

    /// Offers the cuts of a lane by the scan that all storages share, one row after the other.
    fn scan(&mut self, feature: u32, lane: usize) {
        let samples = self.at.node.samples.ids();
        self.entries.clear();
        self.entries.extend(self.keys.iter().map(|row| Entry::new(rank(row[lane]), samples[place(row[lane])])));
        let column = NodeColumn { feature, entries: self.entries, n_common: 0, common_rank: 0 };
        best_cut(self.at, column, self.scan, &mut self.best);
    }
}
