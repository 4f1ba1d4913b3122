//! What a node of a sparse tree knows when it is searched: its columns and their bounds, handed from parent to child.
//!
//! The larger child of a split takes over what its parent knew, at the cost of the rows that left. So a chain of
//! splits that each peel a few rows off costs those rows, however many are left. The smaller child starts anew, from
//! its rows: each row is in a smaller child at most log2(n) times.
//!
//! Columns are numbered by *lanes*, heaviest first. At first they are the columns of the data set; once most of their
//! entries have left the node they are copied (value order and all) without those, which costs a constant per entry
//! that left.

use std::sync::Arc;

use crate::bitset::Bitset;
use crate::criterion::Criterion;
use crate::data::SparseColumns;
use crate::params::Strategy;
use crate::split::entries::Entry;
use crate::split::node::{Node, Search};
use crate::split::sparse::bounds::ColumnBounds;
use crate::split::sparse::entry_counts::EntryCounts;
use crate::split::sparse::intersect::{Gather, ValueOrdered};
use crate::tuning::tuned;

tuned! {
    /// Nodes with this many rows and entries get columns and bounds of their own (bench `sweep`).
    fn known_from_samples() -> usize = 24;
    fn known_from_entries() -> usize = 256;
    /// A node that draws features and has this many entries per feature of the data set counts them (bench `sweep`).
    fn count_from() -> f64 = 0.25;
    /// Columns are copied once the node has less than this share of their entries (bench `sweep`).
    fn copy_below() -> f64 = 0.5;
    /// Memory of columns from which more entries leave on average at once is not worth its upkeep (bench `sweep`).
    fn forget_from() -> usize = 4;
    /// A smaller child with this share of the entries of its parent's columns filters those instead of sorting its own
    /// (bench `sweep`).
    fn filter_from() -> f64 = 0.1;
}

/// Copies of the columns of a node, in value order. Entries of rows that left since may linger.
#[derive(Debug, Default)]
pub struct LocalColumns {
    features: Vec<u32>,
    zero_ranks: Vec<u32>,
    /// Lane `i` has the entries `spans[i].0..spans[i].1`.
    spans: Vec<(usize, usize)>,
    entries: Vec<Entry>,
}

impl LocalColumns {
    fn column(&self, lane: u32) -> ValueOrdered<'_> {
        let (start, end) = self.spans[lane as usize];
        ValueOrdered::Copied { entries: &self.entries[start..end], zero_rank: self.zero_ranks[lane as usize] }
    }
}

/// The lanes of the features of one set of local columns at a time.
#[derive(Debug, Default)]
pub(crate) struct LaneMap {
    owner: Option<Arc<LocalColumns>>,
    /// Valid for features of the owner; may be anything for others.
    lanes: Vec<u32>,
}

impl LaneMap {
    pub fn new(n_features: usize) -> Self {
        Self { owner: None, lanes: vec![0; n_features] }
    }

    /// Makes the map that of `columns`. O(their number), unless it is already.
    fn load(&mut self, columns: &Arc<LocalColumns>) {
        if self.owner.as_ref().is_none_or(|owner| !Arc::ptr_eq(owner, columns)) {
            for (lane, &feature) in columns.features.iter().enumerate() {
                self.lanes[feature as usize] = lane as u32;
            }
            self.owner = Some(Arc::clone(columns));
        }
    }
}

/// What a node of a sparse tree takes over from its parent's search, and hands on to its children.
///
/// A heritage owns all that it needs, the set of the node's rows included: it may be dropped, kept, or sent to another thread
/// at any time.
pub enum Heritage<C: Criterion> {
    /// Of nodes that draw all features: the columns of the node and their bounds.
    Columns(Box<KnownColumns<C>>),
    /// Of nodes that draw some features: the numbers of entries.
    Counts(EntryCounts),
}

/// The heritage of the two children of a node.
pub struct Heirs<C: Criterion> {
    /// Of the smaller child.
    pub small: Option<Heritage<C>>,
    /// Of the larger child.
    pub large: Option<Heritage<C>>,
}

/// Which children of a node will be searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Both children.
    Both,
    /// The smaller child alone.
    Small,
    /// The larger child alone.
    Large,
}

/// A node that is split, as its heritage sees it.
pub struct Division<'a, C: Criterion> {
    /// The statistics of the node.
    pub node: &'a C::Totals,
    /// The smaller child: its rows, their statistics, and the number of their entries.
    pub small: (&'a [u32], &'a C::Totals, usize),
    /// The larger child: the statistics of its rows, and the number of their entries.
    pub large: (&'a C::Totals, usize),
    /// Which children will be searched.
    pub wanted: Wanted,
}

impl<C: Criterion> Heritage<C> {
    /// What a node finds out about its columns before it is searched, if that pays: bounds of all columns, or, if the node
    /// is a root that draws features, the numbers of entries.
    pub(crate) fn of_node(
        search: &Search<'_, C>,
        node: &Node<'_, C>,
        columns: &SparseColumns,
        scan: &mut C::Scan,
        gather: &mut Gather,
    ) -> Option<Self> {
        let (criterion, ids) = (search.criterion, node.samples.ids());
        let is_root = criterion.weight(node.totals) == search.total_weight;
        if !is_worth_knowing(search, ids.len(), node.n_entries, is_root) {
            return None;
        }
        let mut members = Bitset::new(columns.n_samples());
        members.insert_all(ids);
        if !search.draws_all() {
            return Some(Self::Counts(EntryCounts::of_root(columns, members)));
        }
        Some(Self::Columns(Box::new(if is_root {
            KnownColumns::of_whole(criterion, columns, members, scan)
        } else {
            KnownColumns::of_rows(criterion, columns, members, ids, node.n_entries, scan, gather)
        })))
    }

    /// Divides the heritage of a node among its children. Of two children that are both wanted only the larger always gets
    /// something. O(entries of the smaller child).
    pub(crate) fn divide(
        self,
        search: &Search<'_, C>,
        columns: &SparseColumns,
        division: &Division<'_, C>,
        scan: &mut C::Scan,
        lane_map: &mut LaneMap,
    ) -> Heirs<C> {
        let criterion = search.criterion;
        let &Division { node, small: (samples, small, n_small), large: (large, n_large), wanted } = division;
        match self {
            Self::Columns(mut known) => {
                let for_small = wanted != Wanted::Large
                    && !criterion.is_pure(small)
                    && is_worth_knowing(search, samples.len(), n_small, false);
                let branch = if for_small { known.branch(criterion, columns, samples, n_small, scan) } else { None };
                let small_heir = branch.map(|branch| Self::Columns(Box::new(branch)));
                if wanted == Wanted::Small {
                    return Heirs { small: small_heir, large: None };
                }
                known.leave(criterion, columns, (node, small, large), samples, n_small, lane_map);
                Heirs { small: small_heir, large: Some(Self::Columns(known)) }
            }
            Self::Counts(counts) => {
                let is_worth = |totals, nnz| !criterion.is_pure(totals) && is_worth_counting(search, nnz);
                let for_small = wanted != Wanted::Large && is_worth(small, n_small);
                let for_large = wanted != Wanted::Small && is_worth(large, n_large);
                let (small, large) = counts.divide(columns, samples, for_small, for_large);
                let large = large.filter(|_| wanted != Wanted::Small);
                Heirs { small: small.map(Self::Counts), large: large.map(Self::Counts) }
            }
        }
    }
}

/// Whether a node that has taken nothing over finds something out that it can hand on: bounds of all columns, or, if
/// features are drawn, at the root, counts.
fn is_worth_knowing<C: Criterion>(search: &Search<'_, C>, n_samples: usize, nnz: usize, is_root: bool) -> bool {
    let draws_all = search.draws_all();
    (is_root || draws_all)
        // A cut that is illegal in a node may be legal below, with more gain than the node's best.
        && (C::IS_SQUARED_DISTANCE && search.params.monotonic_cst.is_none() || !draws_all)
        && nnz > 0
        && (is_root || Gather::fits(nnz))
        && match search.params.force_strategy {
            Some(strategy) => strategy == Strategy::Bounds,
            None => n_samples >= known_from_samples() && nnz >= known_from_entries(),
        }
}

/// Whether a child with so many entries, whose parent has counts, gets some.
fn is_worth_counting<C: Criterion>(search: &Search<'_, C>, nnz: usize) -> bool {
    let least = count_from() * search.data.n_features() as f64;
    search.params.force_strategy.is_some() || nnz as f64 >= least
}

/// The columns of a node and their bounds.
pub struct KnownColumns<C: Criterion> {
    /// Copied columns; if there are none, those of the data set.
    columns: Option<Arc<LocalColumns>>,
    /// Entries of the columns when they were copied.
    nnz: usize,
    /// The rows of the node.
    members: Bitset,
    pub(crate) bounds: ColumnBounds<C>,
    /// A column that is likely to have one of the best cuts.
    pub(crate) leader: Option<u32>,
}

impl<C: Criterion> KnownColumns<C> {
    /// What the rows `samples` say, with columns of their own. `nnz` is the number of their entries. O(nnz) and the sorts
    /// of the columns.
    pub fn of_rows(
        criterion: &C,
        data: &SparseColumns,
        members: Bitset,
        samples: &[u32],
        nnz: usize,
        scan: &mut C::Scan,
        gather: &mut Gather,
    ) -> Self {
        let mut columns = LocalColumns::default();
        columns.entries.reserve_exact(nnz);
        let mut groups = Vec::new();
        gather.for_each(data, samples, |feature, entries| {
            entries.sort_unstable();
            let start = columns.entries.len();
            columns.entries.extend_from_slice(entries);
            let summary = criterion.summary(samples_of(entries), scan);
            groups.push((feature, start, columns.entries.len(), summary));
        });
        groups.sort_unstable_by_key(|&(feature, start, end, _)| (std::cmp::Reverse(end - start), feature));
        columns.features = groups.iter().map(|group| group.0).collect();
        columns.zero_ranks = columns.features.iter().map(|&feature| data.zero_rank(feature)).collect();
        columns.spans = groups.iter().map(|&(_, start, end, _)| (start, end)).collect();
        let bounds = ColumnBounds::new(groups.into_iter().map(|group| group.3).collect());
        Self { columns: Some(Arc::new(columns)), nnz, members, bounds, leader: None }
    }

    /// What the rows `samples` say, with the columns of the data set: all other rows must be known to be no members, which
    /// only the root of a tree can vouch for. O(entries of the rows).
    pub fn of_whole(criterion: &C, data: &SparseColumns, members: Bitset, scan: &mut C::Scan) -> Self {
        let summary = |lane| {
            let samples = data.column(data.by_frequency(lane)).samples.iter().copied();
            criterion.summary(samples.filter(|&sample| members.contains(sample)), scan)
        };
        let bounds = ColumnBounds::new((0..data.n_features() as u32).map(summary).collect());
        Self { columns: None, nnz: data.nnz(), members, bounds, leader: None }
    }

    /// The feature of a lane.
    pub(crate) fn feature(&self, data: &SparseColumns, lane: u32) -> u32 {
        self.columns.as_ref().map_or_else(|| data.by_frequency(lane), |columns| columns.features[lane as usize])
    }

    /// The column of a lane, with all entries of the node and maybe more.
    pub(crate) fn column<'a>(&'a self, data: &'a SparseColumns, lane: u32) -> ValueOrdered<'a> {
        match &self.columns {
            None => ValueOrdered::Stored(data.column(data.by_frequency(lane))),
            Some(columns) => columns.column(lane),
        }
    }

    /// The column of a feature, with all entries of the node and maybe more; none if it is known to have none.
    pub(crate) fn column_of<'a>(
        &'a self,
        data: &'a SparseColumns,
        map: &mut LaneMap,
        feature: u32,
    ) -> Option<ValueOrdered<'a>> {
        let Some(columns) = &self.columns else { return Some(ValueOrdered::Stored(data.column(feature))) };
        map.load(columns);
        let lane = map.lanes[feature as usize];
        (columns.features.get(lane as usize) == Some(&feature)).then(|| columns.column(lane))
    }

    /// Lets the rows of a smaller child leave. O(their entries).
    #[allow(clippy::too_many_arguments, reason = "a node and its children")]
    pub(crate) fn leave(
        &mut self,
        criterion: &C,
        data: &SparseColumns,
        (node, small, large): (&C::Totals, &C::Totals, &C::Totals),
        samples: &[u32],
        nnz: usize,
        map: &mut LaneMap,
    ) {
        self.members.remove_all(samples);
        let leave = self.bounds.leave(criterion, node, small, large);
        if nnz > forget_from() * self.bounds.n_lanes() {
            self.bounds.forget();
        }
        if let Some(columns) = &self.columns {
            map.load(columns);
        }
        for &sample in samples {
            let growth = leave.growth(criterion, large, sample);
            for &feature in data.row(sample).features {
                let lane = match &self.columns {
                    None => data.frequency_rank(feature),
                    Some(_) => map.lanes[feature as usize],
                };
                self.bounds.touch(criterion, lane, sample, &leave, growth);
            }
        }
    }

    /// What is known of a smaller child with these rows and `nnz` entries, if filtering the columns of the parent is
    /// cheaper than sorting the entries anew. O(entries of the columns).
    fn branch(
        &self,
        criterion: &C,
        data: &SparseColumns,
        samples: &[u32],
        nnz: usize,
        scan: &mut C::Scan,
    ) -> Option<Self> {
        if (nnz as f64) < filter_from() * self.nnz as f64 {
            return None;
        }
        let mut members = Bitset::new(data.n_samples());
        members.insert_all(samples);
        let copy = self.copy(data, &members, nnz, 0..self.bounds.n_lanes() as u32);
        let bounds = ColumnBounds::new(copy.summaries(criterion, scan));
        Some(Self { columns: Some(Arc::new(copy)), nnz, members, bounds, leader: None })
    }

    /// Copies the columns without the entries that have left, if those are the most. `nnz` is the number of entries of
    /// the node.
    pub(crate) fn shrink(&mut self, criterion: &C, data: &SparseColumns, nnz: usize, scan: &mut C::Scan) {
        if nnz as f64 >= copy_below() * self.nnz as f64 {
            return;
        }
        let mut lanes: Vec<u32> =
            (0..self.bounds.n_lanes() as u32).filter(|&lane| self.bounds.weight(lane) > 0).collect();
        lanes.sort_by_key(|&lane| std::cmp::Reverse(self.bounds.weight(lane)));
        let copy = self.copy(data, &self.members, nnz, lanes.iter().copied());
        self.bounds = self.bounds.pick(&lanes, copy.summaries(criterion, scan));
        self.leader = self.leader.and_then(|leader| lanes.iter().position(|&lane| lane == leader).map(|at| at as u32));
        self.columns = Some(Arc::new(copy));
        self.nnz = nnz;
    }

    /// The rows of the node.
    pub(crate) fn members(&self) -> &Bitset {
        &self.members
    }

    /// The `nnz` entries of these lanes whose rows are `members`; lanes without any are left out.
    fn copy(
        &self,
        data: &SparseColumns,
        members: &Bitset,
        nnz: usize,
        lanes: impl Iterator<Item = u32> + Clone,
    ) -> LocalColumns {
        // Room for one column before it is filtered, behind the entries.
        let longest = lanes.clone().map(|lane| self.column(data, lane).len()).max().unwrap_or(0);
        let mut copy = LocalColumns { entries: vec![Entry::default(); nnz + longest], ..LocalColumns::default() };
        let mut end = 0;
        for lane in lanes {
            let start = end;
            let column = self.column(data, lane);
            end += column.take_members(members, &mut copy.entries[start..]);
            if start < end {
                copy.features.push(self.feature(data, lane));
                copy.zero_ranks.push(column.zero_rank());
                copy.spans.push((start, end));
            }
        }
        copy.entries.truncate(end);
        copy
    }
}

impl LocalColumns {
    fn summaries<C: Criterion>(&self, criterion: &C, scan: &mut C::Scan) -> Vec<C::Summary> {
        self.spans.iter().map(|&(start, end)| criterion.summary(samples_of(&self.entries[start..end]), scan)).collect()
    }
}

fn samples_of(entries: &[Entry]) -> impl Iterator<Item = u32> + Clone {
    entries.iter().map(|entry| entry.sample())
}
