//! The search of a node one column at a time, on one thread or on several.
//!
//! If all features that a node draws (see `draw`) are constant in the node, the draw goes on until
//! a feature varies. A feature that does not vary in a node does not vary in the node's
//! descendants, so its column is not read again there (see `constants`).

use crate::criterion::Criterion;
use crate::error::Result;
use crate::split::best::Best;
use crate::split::found::Found;
use crate::split::node::{NodeSearch, Outcome};
use crate::split::sparse::column_weights::NarrowNumbers;
use crate::split::spread::{Scans, parallel_from, spread};
use crate::tuning::tuned;

/// The part of a storage that [`search_columns`] needs: the search of a single column.
pub(crate) trait ColumnSearch<C: Criterion>: Sync {
    /// Buffers of one worker. Each search assumes that they are dirty.
    type Scratch: Send;
    /// Lends scratch to a worker.
    fn lend(&self) -> Self::Scratch;
    /// Takes back the buffers of a worker.
    fn take_back(&self, _scratch: Self::Scratch) {}
    /// Offers the cuts of the column of a feature to `best`.
    fn search(
        &self,
        at: NodeSearch<'_, C>,
        feature: u32,
        scan: &mut C::Scan,
        scratch: &mut Self::Scratch,
        best: &mut Best<C>,
    ) -> Outcome;
    /// Offers the cuts that the search of some columns with this scratch has postponed.
    fn finish(&self, _at: NodeSearch<'_, C>, _scan: &mut C::Scan, _scratch: &mut Self::Scratch, _best: &mut Best<C>) {}
    /// Makes the `Best` of a worker that has found nothing yet.
    fn best(&self, at: NodeSearch<'_, C>) -> Best<C>;
    /// Fetches the part of a feature's column that will be read first, so that the cache misses of
    /// several columns overlap.
    fn warm(&self, feature: u32);
    /// How many entries the column of a feature stores: in the whole data set if sparse, in the
    /// node if dense.
    fn column_nnz(&self, feature: u32) -> usize;
    /// How much the entries of each column weigh in the node, if that is known.
    fn weights(&self) -> Option<&NarrowNumbers> {
        None
    }
    /// Whether the column of a feature has been searched, if the node draws it.
    fn is_searched(&self, _at: NodeSearch<'_, C>, _feature: u32) -> bool {
        false
    }
    /// Whether the column of a feature may win, by the number or the weight of its entries.
    fn may_win(&self, feature: u32, best: &Best<C>) -> bool;
}

tuned! {
    /// The first cache misses of this many columns overlap (bench `sweep`).
    fn warm_ahead() -> usize = 16;
}
/// How many jobs there are per thread: several, so that columns of unequal length even out.
const JOBS_PER_THREAD: usize = 8;

/// A feature that a node draws, and at which position; `None` if that is not known.
#[derive(Debug, Clone, Copy)]
struct DrawnColumn {
    feature: u32,
    position: Option<u32>,
}

/// The findings of one worker so far.
pub(crate) struct Progress<C: Criterion> {
    pub best: Best<C>,
    /// How many columns vary in the node. Columns that were passed over because they cannot win are
    /// not counted.
    pub n_varying: usize,
    /// The features that do not vary in the node.
    pub constants: Vec<u32>,
}

impl<C: Criterion> Progress<C> {
    /// No column has been searched; `best` may hold an earlier candidate.
    pub fn new(best: Best<C>) -> Self {
        Self { best, n_varying: 0, constants: Vec::new() }
    }
}

/// Finds the best split of a node by searching the features that the node draws one by one. `drawn`
/// lists these features; `None` means all. `work` is an estimate of the cost of the whole search in
/// nanoseconds: enough work is spread over the threads. `progress` is what the search of some of them
/// has found.
pub(crate) fn search_columns<C: Criterion, S: ColumnSearch<C>>(
    at: NodeSearch<'_, C>,
    drawn: Option<&[u32]>,
    columns: &S,
    work: f64,
    scans: &mut Scans<C>,
    scratch: &mut S::Scratch,
    mut progress: Progress<C>,
) -> Result<Found<C>> {
    let NodeSearch { search, node, order } = at;
    let n_features = search.data.n_features() as u32;
    let unknown = |feature: u32| !node.constants.contains(feature) && columns.column_nnz(feature) > 0;
    let in_order = search.draws_in_order();
    let column = |place: u32| match drawn {
        None => DrawnColumn { feature: place, position: None },
        Some(drawn) => DrawnColumn { feature: drawn[place as usize], position: in_order.then_some(place) },
    };
    let places = 0..drawn.map_or(n_features, |drawn| drawn.len() as u32);
    // Heavy columns come first. Once these have set the bar, light columns may be passed over.
    let ordered: Vec<DrawnColumn> = if let Some(weights) = columns.weights() {
        // A column and its weight as one number, so that the sort looks nothing up.
        let heavier = |place: u32| u64::from(u32::MAX - weights.at(column(place).feature)) << 32 | u64::from(place);
        let mut ordered: Vec<u64> =
            places.map(heavier).filter(|&weighed| weighed >> 32 < u64::from(u32::MAX)).collect();
        ordered.sort_unstable();
        let ordered = ordered.into_iter().map(|weighed| column(weighed as u32));
        ordered.filter(|drawn| !node.constants.contains(drawn.feature)).collect()
    } else {
        let is_short = |drawn: &DrawnColumn| columns.column_nnz(drawn.feature) < node.samples.len() / 2;
        let drawn = places.map(column).filter(|drawn| !columns.is_searched(at, drawn.feature));
        let (short, long): (Vec<_>, Vec<_>) = drawn.filter(|drawn| unknown(drawn.feature)).partition(is_short);
        [long, short].concat()
    };

    let n_threads = search.runtime.n_threads();
    if n_threads > 1 && work >= parallel_from() {
        let job_len = ordered.len().div_ceil(JOBS_PER_THREAD * n_threads).max(1);
        let jobs = ordered.chunks(job_len).collect();
        let parts = spread(at, jobs, scans, |job: &[DrawnColumn], scan, lead| {
            let mut part = Progress::new(columns.best(at));
            let mut scratch = columns.lend();
            for &drawn in job {
                lead.exchange(at, &mut part.best);
                visit(at, columns, drawn, scan, &mut scratch, &mut part)?;
            }
            lead.exchange(at, &mut part.best);
            columns.finish(at, scan, &mut scratch, &mut part.best);
            lead.exchange(at, &mut part.best);
            columns.take_back(scratch);
            Ok(part)
        })?;
        for part in parts {
            progress.best.merge(search.criterion, node.totals, order, part.best);
            progress.n_varying += part.n_varying;
            progress.constants.extend(part.constants);
        }
    } else {
        for group in ordered.chunks(warm_ahead()) {
            let may_win = |drawn: &&DrawnColumn| columns.may_win(drawn.feature, &progress.best);
            group.iter().filter(may_win).for_each(|drawn| columns.warm(drawn.feature));
            for &drawn in group {
                visit(at, columns, drawn, &mut scans.own, scratch, &mut progress)?;
            }
        }
    }
    let rest = (search.n_drawn() as u32..n_features)
        .map(|position| DrawnColumn { feature: order.at(position), position: Some(position) });
    let mut rest = rest.filter(|drawn| unknown(drawn.feature));
    while progress.n_varying == 0 {
        let Some(drawn) = rest.next() else { break };
        visit(at, columns, drawn, &mut scans.own, scratch, &mut progress)?;
    }
    columns.finish(at, &mut scans.own, scratch, &mut progress.best);
    let constants = node.constants.with(&progress.constants, &|feature| columns.column_nnz(feature));
    Ok(Found { best: progress.best.candidate(), constants, heritage: None })
}

/// Searches one column, unless it has too few entries to win, and notes whether it varies.
fn visit<C: Criterion, S: ColumnSearch<C>>(
    at: NodeSearch<'_, C>,
    columns: &S,
    DrawnColumn { feature, position }: DrawnColumn,
    scan: &mut C::Scan,
    scratch: &mut S::Scratch,
    progress: &mut Progress<C>,
) -> Result<()> {
    if !columns.may_win(feature, &progress.best) {
        return Ok(());
    }
    progress.best.set_position(position);
    at.search.runtime.check_interrupt()?;
    match columns.search(at, feature, scan, scratch, &mut progress.best) {
        Outcome::Constant => progress.constants.push(feature),
        Outcome::Hopeless | Outcome::Highest(_) => progress.n_varying += 1,
    }
    Ok(())
}
