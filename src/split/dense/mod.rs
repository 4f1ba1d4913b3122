//! Dense columns: how the best split of a node is searched, which depends on the number of its
//! rows, and how the rows are partitioned.
//!
//! * Two rows: `pair`.
//! * Many rows: each column counted in bins (`histogram`), but the cuts of columns of few values
//!   eight at a time (`bits`).
//! * A random threshold per column: no order at all, whatever the number of rows (`random`).
//! * A feature of few categories: counted (`categories`).
//! * All else: each column filled (`column`) and given to the scan that all storages share. This is
//!   for few rows, for criteria and weights without packed forms, and for columns in which one value is
//!   very frequent.
//!
//! Most subtrees of few rows do not come here (`small`).

mod bits;
mod categories;
mod cells;
pub(crate) mod column;
mod histogram;
mod lanes;
mod pair;
mod random;
pub mod small;

use crate::criterion::packed::Packed;
use crate::tuning::tuned;

use crate::criterion::Criterion;
use crate::data::DenseColumns;
use crate::data::dense::{BitColumns, Ranks};
use crate::error::Result;
use crate::params::{Splitter, Tier};
use crate::rng::Side;
use crate::split::best::Best;
use crate::split::by_column::{ColumnSearch, Progress, search_columns};
use crate::split::candidate::{Candidate, Cut};
use crate::split::dense::categories::search_categorical;
use crate::split::dense::cells::{Cells, beside};
use crate::split::dense::column::{RowsOf, fill_column};
use crate::split::entries::SortScratch;
use crate::split::found::Found;
use crate::split::node::{NodeSearch, Outcome};
use crate::split::samples::SampleSet;
use crate::split::spread::{Scans, Spare};

use bits::BitScratch;
use histogram::{HistogramScratch, Postponed};
use random::RandomScratch;

tuned! {
    /// The cost of searching one cell of a large node, in nanoseconds (bench `sweep`).
    fn cell_cost() -> f64 = 2.0;
    /// From this many rows on, the columns of a node are counted in bins, and not sorted (bench `sweep`).
    fn histogram_from() -> usize = 65;
}

/// Scratch of one worker. Each search assumes that it is dirty.
pub(crate) struct DenseScratch<C: Criterion> {
    rows: RowsOf<C>,
    columns: ColumnScratch<C>,
    /// Buffers to lend to other workers that help with a large node.
    spare: Spare<ColumnScratch<C>>,
    random: RandomScratch,
    bits: BitScratch,
    /// The ranks of the winning column of the last search, if it had to load them: the partition
    /// reads them next.
    winner: Cells,
    /// Whether `winner` has these ranks.
    has_winner: bool,
}

impl<C: Criterion> DenseScratch<C> {
    pub fn new(criterion: &C) -> Self {
        Self {
            rows: RowsOf::<C>::default(),
            columns: ColumnScratch::new(criterion),
            spare: Spare::default(),
            random: RandomScratch::default(),
            bits: BitScratch::default(),
            winner: Cells::default(),
            has_winner: false,
        }
    }

    /// Whether the criterion has packed forms.
    pub fn has_packed(&self) -> bool {
        self.columns.packed.is_some()
    }

    /// Marks the leftovers of the last search as not belonging to the node at hand.
    pub fn forget(&mut self) {
        self.has_winner = false;
        self.random.forget();
    }
}

/// Buffers for searching one column after the other.
struct ColumnScratch<C: Criterion> {
    packed: Option<Box<C::Packed>>,
    codes: Vec<u8>,
    sort: SortScratch,
    bins: HistogramScratch,
    postponed: Postponed<C>,
}

impl<C: Criterion> ColumnScratch<C> {
    fn new(criterion: &C) -> Self {
        Self {
            packed: C::Packed::new(criterion).map(Box::new),
            codes: Vec::new(),
            sort: SortScratch::default(),
            bins: HistogramScratch::new(),
            postponed: Postponed::new(),
        }
    }
}

/// The best split of a node over dense columns.
pub(crate) fn best_split<C: Criterion>(
    at: NodeSearch<'_, C>,
    columns: &DenseColumns,
    drawn: Option<&[u32]>,
    scans: &mut Scans<C>,
    scratch: &mut DenseScratch<C>,
) -> Result<Found<C>> {
    let NodeSearch { search, node, .. } = at;
    let samples = node.samples.ids();
    // The tier of small subtrees leaves the choice in all other nodes free.
    let forced = search.params.force_tier.filter(|&tier| tier != Tier::Small);
    // If a category needs two rows or more to be told apart, two rows may have no cut.
    let are_told_apart = !search.data.has_categories() || search.params.min_samples_category <= 1;
    let any_cut_will_do = search.all_legal() && !search.criterion.forbids_cuts() && are_told_apart;
    if samples.len() == 2 && any_cut_will_do && forced.is_none() {
        let best = match pair::best_split(at, columns, drawn) {
            Some(Err(feature)) => {
                let mut best = Best::new();
                search_categorical(at, columns, &[feature], None, &mut scans.own, &mut best)?;
                best.candidate()
            }
            Some(Ok(best)) => Some(best),
            None => None,
        };
        return Ok(Found { best, constants: None, heritage: None });
    }
    let DenseScratch { rows, columns: buffers, spare, random, bits: of_bits, winner, has_winner } = scratch;
    let tier = forced.unwrap_or(if samples.len() >= histogram_from() { Tier::Histogram } else { Tier::Sort });
    let rows = match (search.params.splitter, tier, &mut buffers.packed) {
        (Splitter::Random, _, Some(packed)) if forced != Some(Tier::Sort) => {
            return random::best_split(at, columns, drawn, rows, packed, &mut scans.own, random, of_bits);
        }
        (Splitter::Best, Tier::Histogram, Some(packed)) => {
            packed.load(search.criterion, node.totals, samples, rows);
            Some(&*rows)
        }
        _ => None,
    };
    let mut progress = Progress::new(Best::new());
    let bits = rows.and_then(|_| columns.bits(search.runtime));
    if let (Some(rows), Some(bits), Some(packed)) = (rows, bits, &mut buffers.packed) {
        let n_of_all = if drawn.is_none() { search.data.n_features() as u32 } else { 0 };
        let features = (0..n_of_all).chain(drawn.into_iter().flatten().copied());
        bits::search(at, bits, features, rows, packed, &mut scans.own, of_bits, &mut progress)?;
    }
    let one_by_one = DenseSearch { criterion: search.criterion, columns, samples, rows, bits, spare };
    let work = (samples.len() * search.n_drawn()) as f64 * cell_cost();
    let mut found = search_columns(at, drawn, &one_by_one, work, scans, buffers, progress)?;
    // `Search::divide` counts the rows of sets of categories.
    if let Some(best) = found.best.as_mut().filter(|best| best.is_loose && !matches!(best.cut, Cut::Ranks(_))) {
        if !buffers.postponed.give_cells(best.feature, winner) {
            winner.load_ranks(columns.column(best.feature), samples);
        }
        tighten(at, best, &winner.ranks);
        *has_winner = true;
    }
    Ok(found)
}

/// The search of the columns of one node, one after the other.
struct DenseSearch<'a, C: Criterion> {
    criterion: &'a C,
    columns: &'a DenseColumns,
    samples: &'a [u32],
    /// The node's rows in packed form, if its columns are to be counted in bins.
    rows: Option<&'a RowsOf<C>>,
    /// The columns of few values as bits, if the search has already tried the ones that the node draws.
    bits: Option<&'a BitColumns>,
    /// Buffers to lend to other workers.
    spare: &'a Spare<ColumnScratch<C>>,
}

impl<C: Criterion> ColumnSearch<C> for DenseSearch<'_, C> {
    type Scratch = ColumnScratch<C>;

    fn lend(&self) -> ColumnScratch<C> {
        self.spare.lend(|| ColumnScratch::new(self.criterion))
    }

    fn take_back(&self, scratch: ColumnScratch<C>) {
        self.spare.take_back(scratch);
    }

    fn search(
        &self,
        at: NodeSearch<'_, C>,
        feature: u32,
        scan: &mut C::Scan,
        scratch: &mut ColumnScratch<C>,
        best: &mut Best<C>,
    ) -> Outcome {
        let column = self.columns.column(feature);
        let is_categorical = at.search.data.is_categorical(feature);
        if let (Some(rows), Some(packed)) = (self.rows, &mut scratch.packed) {
            if !column.is_sparse && !is_categorical {
                let (bins, postponed) = (&mut scratch.bins, &mut scratch.postponed);
                return histogram::best_cut(at, feature, column, rows, packed, bins, postponed, scan, best);
            }
            if is_categorical
                && let Some(outcome) =
                    categories::best_cut(at, feature, column, (packed, rows), &mut scratch.codes, scan, best)
            {
                return outcome;
            }
        }
        let is_sorted = at.search.params.splitter == Splitter::Best && !is_categorical;
        let column = fill_column(feature, column, self.samples, is_sorted, &mut scratch.sort);
        at.evaluate(column, scan, best)
    }

    fn finish(&self, at: NodeSearch<'_, C>, scan: &mut C::Scan, scratch: &mut ColumnScratch<C>, best: &mut Best<C>) {
        scratch.postponed.search(at, &mut scratch.bins, scan, best);
    }

    fn best(&self, _at: NodeSearch<'_, C>) -> Best<C> {
        Best::new()
    }

    /// Does nothing: the columns of a dense matrix are long, and the processor reads them ahead by
    /// itself.
    fn warm(&self, _feature: u32) {}

    fn may_win(&self, _feature: u32, _best: &Best<C>) -> bool {
        true
    }

    fn is_searched(&self, at: NodeSearch<'_, C>, feature: u32) -> bool {
        self.bits.is_some_and(|bits| bits::place_of(at, bits, feature).is_some())
    }

    fn column_nnz(&self, _feature: u32) -> usize {
        self.samples.len()
    }
}

/// Offers a candidate that pushes these rows. `n_left` tells how many rows go left, for which a loose
/// candidate is asked only if not all cuts are legal. Returns whether the candidate is the best now.
#[inline]
fn offer<C: Criterion>(
    at: NodeSearch<'_, C>,
    candidate: Candidate,
    (scan, pushed): (&C::Scan, C::Pushed),
    n_left: impl Fn() -> usize,
    best: &mut Best<C>,
) -> bool {
    let NodeSearch { search, node, order } = at;
    let score = search.criterion.score(node.totals, scan, pushed);
    if !best.may_win(score) {
        return false;
    }
    let all_legal = search.all_legal();
    let n_left = if all_legal && candidate.is_loose { 0 } else { n_left() };
    if !(all_legal || search.is_legal(node, candidate.feature, (Side::Left, n_left), (scan, pushed))) {
        return false;
    }
    best.offer(search.criterion, node.totals, order, (scan, pushed), score, Candidate { n_left, ..candidate });
    best.feature() == Some(candidate.feature)
}

/// Replaces the ranks beside a loose cut by the nearest ranks that the node has, and counts the rows that go
/// left. `ranks` has the ranks of the node's rows in the column of the cut. O(rows).
fn tighten<C: Criterion>(at: NodeSearch<'_, C>, split: &mut Candidate, ranks: &[u32]) {
    let (last_left, first_right, mut n_left) = beside(at.search.level, ranks, split.last_left);
    if split.missing == Some(Side::Left) {
        let missing_rank = at.search.data.missing_rank(split.feature);
        n_left += ranks.iter().filter(|&&rank| Some(rank) == missing_rank).count();
    }
    *split = Candidate { last_left, cut: Cut::Before(first_right), n_left, is_loose: false, ..*split };
}

/// Moves the rows that go left to the front of the node's rows, and returns their number. The ranks
/// that the search of the node has left in the scratch are used. `missing_rank` is the rank of missing
/// values in the column of the split, if it has any. O(rows).
pub(crate) fn partition<C: Criterion>(
    columns: &DenseColumns,
    samples: &mut SampleSet<'_>,
    split: &Candidate,
    missing_rank: Option<u32>,
    scratch: &mut DenseScratch<C>,
) -> usize {
    if let Some(n_left) = scratch.random.partition(samples, split) {
        return n_left;
    }
    let loaded = std::mem::take(&mut scratch.has_winner).then_some(&scratch.winner.ranks[..]);
    match (loaded, &columns.column(split.feature).ranks) {
        (Some(ranks), _) => partition_by(samples, split, missing_rank, |place, _| ranks[place]),
        (None, Ranks::U8(ranks)) => {
            partition_by(samples, split, missing_rank, |_, sample| ranks[sample as usize].into())
        }
        (None, Ranks::U16(ranks)) => {
            partition_by(samples, split, missing_rank, |_, sample| ranks[sample as usize].into())
        }
        (None, Ranks::U32(ranks)) => partition_by(samples, split, missing_rank, |_, sample| ranks[sample as usize]),
    }
}

/// Partitions rows by their ranks. `rank` tells the rank of a row by its place in the node and its
/// id.
fn partition_by(
    samples: &mut SampleSet<'_>,
    split: &Candidate,
    missing_rank: Option<u32>,
    rank: impl Fn(usize, u32) -> u32,
) -> usize {
    match missing_rank {
        // The rank of missing values is above all others. Subtracting it makes it 0 and wraps the
        // others around, so that missing values come first and the others keep their order.
        Some(missing_rank) if split.missing_go_left() => {
            let last_left = split.last_left.wrapping_sub(missing_rank);
            samples.partition(|place, sample| rank(place, sample).wrapping_sub(missing_rank) <= last_left)
        }
        Some(_) | None => samples.partition(|place, sample| rank(place, sample) <= split.last_left),
    }
}
