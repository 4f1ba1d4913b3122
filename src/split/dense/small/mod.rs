//! The search of the nodes of small subtrees (see `criterion::small`): column by column, in the
//! order in which the node draws them, without a sort. Of a column nothing is kept but the ranks of the
//! rows, if it is the best one so far.
//!
//! The columns of a node are read from where they are. Ties go to the column that is drawn first,
//! so a column that comes later must be better to win. If the classes are parted completely, no
//! column that comes later is read.

mod categories;
mod columns;
mod legal;
mod node;
mod rows;
mod units;

use std::cell::OnceCell;
use std::ops::Range;

use crate::bitset::Bitset;
use crate::criterion::Criterion;
use crate::criterion::packed::LANES as SIDE_BY_SIDE;
use crate::criterion::small::{ByRow, FEW_ROWS, LANES, MAX_ROWS, SmallRows};
use crate::data::dense::{BitColumns, Place, all_and_any};
use crate::data::{Columns, DenseColumns};
use crate::params::{FeatureSampling, Splitter, Tier};
use crate::rng::{NodeKey, Side};
use crate::simd::Level;
use crate::split::candidate::{Candidate, Cut, ThresholdRule, random_threshold};
use crate::split::constants::ConstantFeatures;
use crate::split::dense::cells::beside;
use crate::split::dense::random::bits_of;
use crate::split::found::Found;
use crate::split::node::{Node, Search};
use crate::tuning::tuned;

use legal::Legal;
use node::{CutAt, SmallBest, SmallNode};
use rows::{RowList, ask_for};
use units::SmallUnits;

tuned! {
    /// In a data set of at least this many rows, a node asks for its ranks in all columns that it
    /// draws before it searches the first of them: each is a cache miss, and the misses of all
    /// columns overlap (bench `sweep`).
    fn ask_ahead_from() -> usize = 200_000;
}

tuned! {
    /// A node asks first which columns of few values vary, for which it reads all words of its rows, if
    /// it draws at least this many of these columns per word (bench `sweep`).
    fn bits_per_word() -> f64 = 3.0;
}

tuned! {
    /// Subtrees of at most this many rows are small; at most [`MAX_ROWS`] (bench `sweep`).
    fn small_up_to() -> usize = 64;
    /// The most rows of a small subtree where nodes draw few columns: more of
    /// a node's time then goes into what does not depend on its rows (bench `sweep`).
    fn small_of_few_columns_up_to() -> usize = 96;
    /// The most rows of a small subtree where nodes draw few columns and thresholds are random: the time of
    /// their search does not grow with the square of the rows. Not where large nodes read columns of few
    /// values as bits, from packed forms (bench `sweep`).
    fn small_of_few_random_up_to() -> usize = MAX_ROWS;
}

/// How many features a node draws at a time, once those that it draws in any case do not vary.
const BATCH: u32 = 16;

/// Buffers of one worker.
pub struct SmallScratch<R> {
    /// The numbers of the rows of the subtree.
    pub rows: R,
    legal: Legal,
    /// Two lists of these rows: the search of a node copies the rows of the node from one list to the other.
    lists: [RowList; 2],
    /// The node that was entered last.
    node: SmallNodeRows,
    features: Vec<u32>,
    /// The ranks of the node's rows in the column that is searched, and in the column of the best candidate
    /// so far. A column of categories has places in an order or units in the place of ranks.
    ranks: [ByRow<u32>; 2],
    /// Which of the two are those of the column that is searched.
    current: usize,
    /// The ranks after which the column is cut, and the scores of these cuts.
    lasts: [[u32; LANES]; MAX_ROWS / LANES],
    scores: [[f64; LANES]; MAX_ROWS / LANES],
    units: SmallUnits,
    /// The features that may not split the nodes of the subtree; `None` if all may.
    excluded: Option<Bitset>,
    /// Whether columns of nodes of few rows are searched side by side.
    are_side_by_side: bool,
    /// Whether nodes ask first which columns of few values vary, and for each word of these columns, the
    /// bits that vary in the node.
    asks_bits: bool,
    varying_bits: Vec<u64>,
}

/// The rows of a node of a small subtree: a range of one of the two lists of rows. All fields are as wide as
/// registers: the compiler moves narrow ones in pieces, and a read of all soon after waits until they are in
/// the cache (`benches/notes/small-subtrees.md`).
#[derive(Clone, Copy)]
pub struct SmallNodeRows {
    list: usize,
    start: usize,
    end: usize,
}

impl SmallNodeRows {
    /// The root of a subtree of this many rows.
    pub fn root(n: usize) -> Self {
        Self { list: 0, start: 0, end: n }
    }

    /// The number of rows.
    pub fn n_samples(&self) -> usize {
        self.end - self.start
    }

    /// The node whose children are this one, on the left, and another one.
    pub fn united(self, right: Self) -> Self {
        Self { end: right.end, ..self }
    }

    fn range(&self) -> Range<usize> {
        self.start..self.end
    }
}

/// The best split of a node of a small subtree.
#[derive(Clone, Copy)]
pub struct SmallSplit {
    /// The feature that is cut.
    pub feature: u32,
    /// Which values go left, if they are numbers.
    pub threshold: ThresholdRule,
    /// The largest rank that goes left.
    last_left: u32,
    /// The side of missing numbers, if the node has any in the column.
    pub missing: Option<Side>,
    /// The number of rows that go left.
    pub n_left: usize,
    /// Their weight.
    pub weight: u64,
}

impl SmallSplit {
    /// The split as a candidate of a search whose columns are numbers.
    fn candidate(&self) -> Candidate {
        let Self { feature, threshold, last_left, missing, n_left, .. } = *self;
        let cut = match threshold {
            ThresholdRule::Between { first_right, .. } => Cut::Before(first_right),
            ThresholdRule::At(threshold) => Cut::At(threshold),
            ThresholdRule::Random { key, lowest, highest } => Cut::Random { key, lowest, highest },
        };
        Candidate { missing, cut, ..Candidate::between(feature, last_left, last_left, n_left) }
    }
}

/// The scratch of one form of small subtrees, made when a subtree is first tried: trees of few rows are grown
/// in less time than the buffers of all forms take to clear.
pub struct SmallForm<R>(OnceCell<Option<Box<SmallScratch<R>>>>);

impl<R> Default for SmallForm<R> {
    fn default() -> Self {
        Self(OnceCell::new())
    }
}

impl<R> SmallForm<R> {
    /// The scratch; `None` if the criterion does not have this form.
    fn scratch<C: Criterion>(&mut self, search: &Search<'_, C>) -> Option<&mut SmallScratch<R>>
    where
        R: SmallRows<C>,
    {
        self.0.get_or_init(|| SmallScratch::new(search));
        self.0.get_mut()?.as_deref_mut()
    }

    /// The scratch with the rows of a subtree, at most `most_rows`, whose nodes may be split by all features
    /// but `constants`. `None` if it is not searched in this way.
    pub fn load<C: Criterion>(
        &mut self,
        search: &Search<'_, C>,
        samples: &[u32],
        constants: &ConstantFeatures,
    ) -> Option<&mut SmallScratch<R>>
    where
        R: SmallRows<C>,
    {
        let scratch = self.scratch(search)?;
        scratch.excluded = search.params.interaction_cst.as_ref().map(|_| constants.set().clone());
        scratch.load(search.criterion, samples).then_some(scratch)
    }

    /// The best split of a node alone, at most `most_rows`. `None` if it is not searched in this way.
    pub fn find<C: Criterion>(&mut self, search: &Search<'_, C>, node: &Node<'_, C>) -> Option<Found<C>>
    where
        R: SmallRows<C>,
    {
        let samples = node.samples.ids();
        let scratch = self.load(search, samples, node.constants)?;
        scratch.enter(search.criterion, SmallNodeRows::root(samples.len()));
        let best = scratch.best_split(search, node.key).map(|split| split.candidate());
        Some(Found { best, constants: None, heritage: None })
    }
}

/// The most rows of a small subtree; 0 if there are none, as columns are sparse.
/// `has_packed` says whether the criterion has packed forms, by which large nodes are searched.
pub fn most_rows<C: Criterion>(search: &Search<'_, C>, has_packed: bool) -> usize {
    let Columns::Dense(columns) = search.data.columns() else { return 0 };
    let is_free = matches!(search.params.force_tier, None | Some(Tier::Small));
    if !is_free {
        return 0;
    }
    let tuned = match search.params.splitter {
        _ if search.params.force_tier.is_some() => MAX_ROWS,
        _ if search.n_drawn() >= SIDE_BY_SIDE => small_up_to(),
        Splitter::Random if !has_packed || bits_of(search, columns).is_none() => small_of_few_random_up_to(),
        Splitter::Best | Splitter::Random => small_of_few_columns_up_to(),
    };
    tuned.min(MAX_ROWS)
}

impl<R> SmallScratch<R> {
    /// Makes scratch; `None` if the criterion does not have these statistics, or not for the columns.
    pub fn new<C: Criterion>(search: &Search<'_, C>) -> Option<Box<Self>>
    where
        R: SmallRows<C>,
    {
        let Columns::Dense(columns) = search.data.columns() else { return None };
        let rows = R::new(search.criterion)?;
        if search.data.has_categories() && !rows.has_categories() {
            return None;
        }
        Some(Box::new(Self {
            are_side_by_side: rows.scores_columns() && columns::are_side_by_side(search),
            rows,
            legal: Legal::new(search.min_weight_leaf),
            lists: [RowList::new(), RowList::new()],
            node: SmallNodeRows::root(0),
            features: Vec::new(),
            ranks: [[0; MAX_ROWS]; 2],
            current: 0,
            lasts: [[0; LANES]; MAX_ROWS / LANES],
            scores: [[0.0; LANES]; MAX_ROWS / LANES],
            units: SmallUnits::new(),
            excluded: None,
            asks_bits: columns
                .bits(search.runtime)
                .is_some_and(|bits| bits.drawn_per_word(search.n_drawn()) >= bits_per_word()),
            varying_bits: Vec::new(),
        }))
    }

    /// Loads the rows of a subtree. Returns false if it is not searched in this way.
    fn load<C: Criterion>(&mut self, criterion: &C, samples: &[u32]) -> bool
    where
        R: SmallRows<C>,
    {
        self.rows.load(criterion, self.lists[0].load(samples))
    }

    /// The place and the id of the row of a node that has one.
    pub fn row(&self, node: SmallNodeRows) -> (u8, u32) {
        let rows = &self.lists[node.list];
        (rows.places(node.range())[0], rows.samples(node.range())[0])
    }

    /// Enters a node.
    pub fn enter<C: Criterion>(&mut self, criterion: &C, node: SmallNodeRows)
    where
        R: SmallRows<C>,
    {
        let rows = &self.lists[node.list];
        self.rows.enter(criterion, rows.places(node.range()), rows.samples(node.range()));
        self.node = node;
    }

    /// The ids of the rows of the node. Once its best split is found, those that go left come first.
    pub fn samples(&self) -> &[u32] {
        self.lists[self.node.list].samples(self.node.range())
    }

    /// The places of the rows of the node.
    fn places(&self) -> &[u8] {
        self.lists[self.node.list].places(self.node.range())
    }

    /// The left and the right child of the node, whose best split sends `n_left` rows left.
    pub fn children(&self, n_left: usize) -> [SmallNodeRows; 2] {
        let middle = self.node.start + n_left;
        [SmallNodeRows { end: middle, ..self.node }, SmallNodeRows { start: middle, ..self.node }]
    }

    /// The best split of the node. `None` if no feature varies.
    pub fn best_split<C: Criterion>(&mut self, search: &Search<'_, C>, key: NodeKey) -> Option<SmallSplit>
    where
        R: SmallRows<C>,
    {
        let Columns::Dense(columns) = search.data.columns() else { return None };
        let n = self.node.n_samples();
        if let &[first, second] = self.samples()
            && !search.criterion.forbids_cuts()
            && search.all_legal()
        {
            let (feature, ranks) = first_difference(search, columns, key, [first, second], self.excluded.as_ref())?;
            let highest = ranks[0].max(ranks[1]);
            if !search.data.is_categorical(feature) && search.data.missing_rank(feature) != Some(highest) {
                return Some(self.part_pair(search, key, feature, ranks));
            }
        }
        let rows = &self.lists[self.node.list];
        self.legal.begin(search.params.least_rows(n), n, self.rows.weight());
        let (places, samples) = (rows.places(self.node.range()), rows.samples(self.node.range()));
        self.rows.begin(search.criterion, places, samples, self.legal.least_weight);
        let order = key.feature_order(search.data.n_features());
        let (n_features, n_drawn) = (search.data.n_features() as u32, search.n_drawn() as u32);
        // How many of the features must be looked at in any case, and how many must vary.
        let (n_certain, n_wanted) = match search.params.feature_sampling {
            FeatureSampling::All => (n_drawn, 1),
            FeatureSampling::Active => (0, n_drawn),
        };
        let bits = columns.bits(search.runtime).filter(|_| self.asks_bits);
        if let Some(bits) = bits {
            self.find_varying_bits(bits);
        }
        let mut node = SmallNode { search, key, columns, best: None };
        let mut features = std::mem::take(&mut self.features);
        let (mut start, mut n_varying) = (0, 0);
        let are_enough = |position, n_varying| position >= n_certain && n_varying >= n_wanted;
        'draw: while start < n_features && !are_enough(start, n_varying) {
            let end = if start == 0 { n_drawn } else { n_features.min(start + BATCH) };
            features.resize((end - start) as usize, 0);
            order.draw(search.level, start, &mut features);
            if !columns.constants().is_empty() {
                features.retain(|&feature| !columns.column(feature).is_constant());
            }
            if let Some(excluded) = &self.excluded {
                features.retain(|&feature| !excluded.contains(feature));
            }
            if start == 0 && search.data.n_samples() >= ask_ahead_from() {
                ask_for(columns, &features, self.samples());
            }
            if start == 0
                && self.are_side_by_side
                && (3..=FEW_ROWS).contains(&n)
                && let Some(n_found) = node.search_columns(self, &features)
            {
                n_varying += n_found;
                start = end;
                continue;
            }
            for (position, &feature) in (start..end).zip(&features) {
                if are_enough(position, n_varying) {
                    break 'draw;
                }
                if bits.and_then(|bits| bits.place(feature)).is_some_and(|place| self.is_constant(place)) {
                    continue;
                }
                n_varying += u32::from(node.search_column(self, feature));
                if node.is_decided(&self.rows, n) {
                    break 'draw;
                }
            }
            start = end;
        }
        self.features = features;
        let SmallBest { cut, at: CutAt { feature, last_left, threshold }, missing, ranks } = node.best?;
        // The next rank is looked for here, once per node, and not for each column that was the best for
        // a while.
        let threshold = threshold.unwrap_or_else(|| {
            let (_, first_right, _) = beside(search.level, &self.ranks[ranks][..n], last_left);
            ThresholdRule::Between { last_left, first_right }
        });
        let [first, second] = &mut self.lists;
        let (rows, out) = if self.node.list == 0 { (first, second) } else { (second, first) };
        let n_left = rows.partition(self.node.range(), &self.ranks[ranks], last_left, out);
        self.node.list = 1 - self.node.list;
        Some(SmallSplit { feature, threshold, last_left, missing, n_left, weight: cut.weight })
    }
}

/// The first drawn column but the `excluded` ones in which two rows differ, and their ranks in it.
fn first_difference<C: Criterion>(
    search: &Search<'_, C>,
    columns: &DenseColumns,
    key: NodeKey,
    rows: [u32; 2],
    excluded: Option<&Bitset>,
) -> Option<(u32, [u32; 2])> {
    let order = key.feature_order(search.data.n_features());
    order.find(search.level, |feature| {
        let column = columns.column(feature);
        if column.is_constant() || excluded.is_some_and(|excluded| excluded.contains(feature)) {
            return None;
        }
        let ranks = rows.map(|row| column.rank(row));
        (ranks[0] != ranks[1]).then_some((feature, ranks))
    })
}

impl<R> SmallScratch<R> {
    /// Parts the two rows of the node, which have these ranks in a column of numbers. No score is needed, as
    /// every such column parts them alike.
    fn part_pair<C: Criterion>(
        &mut self,
        search: &Search<'_, C>,
        key: NodeKey,
        feature: u32,
        ranks: [u32; 2],
    ) -> SmallSplit
    where
        R: SmallRows<C>,
    {
        if ranks[1] < ranks[0] {
            self.lists[self.node.list].swap(self.node.start, self.node.start + 1);
        }
        let (lowest, highest) = (ranks[0].min(ranks[1]), ranks[0].max(ranks[1]));
        let threshold = match search.params.splitter {
            Splitter::Best => ThresholdRule::Between { last_left: lowest, first_right: highest },
            Splitter::Random => ThresholdRule::At(random_threshold(search.data, key, feature, lowest, highest)),
        };
        let weight = self.rows.row_weight(self.places()[0]);
        SmallSplit { feature, threshold, last_left: lowest, missing: None, n_left: 1, weight }
    }

    /// Finds the cuts of columns of few values that have rows on both sides in the node.
    fn find_varying_bits(&mut self, bits: &BitColumns) {
        let samples = self.lists[self.node.list].samples(self.node.range());
        self.varying_bits.clear();
        self.varying_bits.extend((0..bits.n_words() as u32).map(|number| {
            let words = bits.words(number);
            let [all, any] = all_and_any(samples.iter().map(|&sample| words[sample as usize]));
            any & !all
        }));
    }

    /// Whether a column of few values does not vary in the node.
    fn is_constant(&self, place: Place) -> bool {
        self.varying_bits[place.word as usize] & place.bits() == 0
    }

    /// Sets the ranks after which a column is cut, between the extremes of its values: the ranks of
    /// the rows, or the `n_cuts` first ones if that is fewer. A cut after a rank that no row has is
    /// the same as one of a lower rank, so it does not win. Returns the number of chunks of
    /// [`LANES`] cuts.
    fn set_cuts(&mut self, extremes: Range<u32>, n_cuts: u32) -> usize {
        let n = self.node.n_samples();
        let n_chunks = n.min(n_cuts as usize).div_ceil(LANES);
        let lasts = &mut self.lasts.as_flattened_mut()[..n_chunks * LANES];
        let ranks = &self.ranks[self.current];
        if n_chunks < n.div_ceil(LANES) {
            lasts.iter_mut().zip(extremes.start..).for_each(|(last, rank)| *last = rank);
        } else {
            let (lasts, padding) = lasts.split_at_mut(n);
            lasts.copy_from_slice(&ranks[..n]);
            padding.fill(extremes.end);
        }
        n_chunks
    }

    /// Scores the cuts of the column whose ranks are loaded.
    fn score_cuts<C: Criterion>(&mut self, criterion: &C, level: Level, n_chunks: usize) -> f64
    where
        R: SmallRows<C>,
    {
        let ranks = &self.ranks[self.current][..self.node.n_samples()];
        self.rows.score_cuts(criterion, level, ranks, &self.lasts[..n_chunks], &mut self.scores[..n_chunks])
    }

    /// The ranks of the rows of the node in the column that is searched.
    fn ranks(&self) -> &[u32] {
        &self.ranks[self.current][..self.node.n_samples()]
    }

    /// As [`ranks`](Self::ranks), to be changed.
    fn ranks_mut(&mut self) -> &mut [u32] {
        &mut self.ranks[self.current][..self.node.n_samples()]
    }
}
