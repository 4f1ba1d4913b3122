//! The search of a node one column at a time, on one thread or on several.
//!
//! If all features that a node draws (see `draw`) are constant in the node, the draw goes on until
//! a feature varies. A feature that does not vary in a node does not vary in the node's
//! descendants, so its column is not read again there (see `constants`).

use std::cmp::Reverse;

use crate::criterion::Criterion;
use crate::error::Result;
use crate::split::best::Best;
use crate::split::found::Found;
use crate::split::node::{NodeSearch, Outcome};
use crate::split::spread::{Scans, parallel_from, spread};
use crate::tuning::tuned;

/// The part of a storage that [`search_columns`] needs: the search of a single column.
pub(crate) trait ColumnSearch<C: Criterion>: Sync {
    /// Buffers of one worker. Each search assumes that they are dirty.
    type Scratch: Send;
    /// Lends buffers to a worker.
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
    /// Makes the `Best` of a worker that has found nothing yet.
    fn best(&self, at: NodeSearch<'_, C>) -> Best<C>;
    /// Fetches the part of a feature's column that will be read first, so that the cache misses of
    /// several columns overlap.
    fn warm(&self, feature: u32);
    /// How many entries the column of a feature stores: in the whole data set if sparse, in the
    /// node if dense.
    fn column_nnz(&self, feature: u32) -> usize;
    /// Whether [`most_entries`](Self::most_entries) is the exact number of entries in the node.
    fn counts_entries(&self) -> bool {
        false
    }
    /// An upper bound of the number of entries that the column of a feature has in the node.
    fn most_entries(&self, feature: u32) -> usize {
        self.column_nnz(feature)
    }
}

tuned! {
    /// The first cache misses of this many columns overlap (bench `sweep`).
    fn warm_ahead() -> usize = 16;
}
/// How many jobs there are per thread: several, so that columns of unequal length even out.
const JOBS_PER_THREAD: usize = 8;

/// What one worker has found so far.
struct Progress<C: Criterion> {
    best: Best<C>,
    /// How many columns vary in the node. Columns that were passed over because they cannot win are
    /// not counted.
    n_varying: usize,
    /// The features that do not vary in the node.
    constants: Vec<u32>,
}

/// Finds the best split of a node by searching the features that the node draws one by one. `drawn`
/// lists these features; `None` means all. `work` is an estimate of the cost of the whole search in
/// nanoseconds: enough work is spread over the threads.
pub(crate) fn search_columns<C: Criterion, S: ColumnSearch<C>>(
    at: NodeSearch<'_, C>,
    drawn: Option<&[u32]>,
    columns: &S,
    work: f64,
    scans: &mut Scans<C>,
    scratch: &mut S::Scratch,
) -> Result<Found<C>> {
    let NodeSearch { search, node, order } = at;
    let n_features = search.data.n_features() as u32;
    let unknown = |feature: &u32| !node.constants.contains(*feature) && columns.most_entries(*feature) > 0;
    let mut drawn: Vec<u32> = match drawn {
        None => (0..n_features).filter(unknown).collect(),
        Some(drawn) => drawn.iter().copied().filter(unknown).collect(),
    };
    // Columns with many entries come first. Once these have set the bar, columns with few entries
    // may be passed over.
    if columns.counts_entries() {
        drawn.sort_unstable_by_key(|&feature| Reverse(columns.most_entries(feature)));
    } else {
        let is_short = |feature: &u32| columns.column_nnz(*feature) < node.samples.len() / 2;
        let (short, long): (Vec<u32>, Vec<u32>) = drawn.into_iter().partition(is_short);
        drawn = [long, short].concat();
    }

    let nothing = || Progress { best: columns.best(at), n_varying: 0, constants: Vec::new() };
    let mut progress = nothing();
    let n_threads = search.runtime.n_threads();
    if n_threads > 1 && work >= parallel_from() {
        let job_len = drawn.len().div_ceil(JOBS_PER_THREAD * n_threads).max(1);
        let jobs = drawn.chunks(job_len).collect();
        let parts = spread(at, jobs, scans, |features: &[u32], scan, lead| {
            let mut part = nothing();
            let mut scratch = columns.lend();
            for &feature in features {
                lead.exchange(at, &mut part.best);
                visit(at, columns, feature, scan, &mut scratch, &mut part)?;
            }
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
        for features in drawn.chunks(warm_ahead()) {
            let may_win = |&&feature: &&u32| progress.best.may_win_with(columns.most_entries(feature));
            features.iter().filter(may_win).for_each(|&feature| columns.warm(feature));
            for &feature in features {
                visit(at, columns, feature, &mut scans.own, scratch, &mut progress)?;
            }
        }
    }
    let mut rest = (search.n_drawn() as u32..n_features).map(|position| order.at(position)).filter(unknown);
    while progress.n_varying == 0 {
        let Some(feature) = rest.next() else { break };
        visit(at, columns, feature, &mut scans.own, scratch, &mut progress)?;
    }
    let constants = node.constants.with(&progress.constants, |feature| columns.column_nnz(feature));
    Ok(Found { best: progress.best.candidate(), constants, heritage: None })
}

/// Searches one column, unless it has too few entries to win, and notes whether it varies.
fn visit<C: Criterion, S: ColumnSearch<C>>(
    at: NodeSearch<'_, C>,
    columns: &S,
    feature: u32,
    scan: &mut C::Scan,
    scratch: &mut S::Scratch,
    progress: &mut Progress<C>,
) -> Result<()> {
    if !progress.best.may_win_with(columns.most_entries(feature)) {
        return Ok(());
    }
    at.search.runtime.check_interrupt()?;
    match columns.search(at, feature, scan, scratch, &mut progress.best) {
        Outcome::Constant => progress.constants.push(feature),
        Outcome::Hopeless | Outcome::Highest(_) => progress.n_varying += 1,
    }
    Ok(())
}
