//! The heritage of a node of a tree on sparse data: what the search of the parent hands on to the
//! node. A node that draws all features inherits its columns and their bounds; a node that draws
//! some features inherits how much the entries of each column weigh (see `column_weights`).
//!
//! The larger child of a split takes over the columns and bounds of its parent, at the cost of the rows that
//! leave. So a chain of splits that each take a few rows off costs only the rows taken off, however many rows
//! are left. The smaller child begins anew, from its own rows: each row is in a smaller child at most log2(n)
//! times.
//!
//! The columns of a heritage are numbered, heavy columns first; the number of a column is called its *slot*.
//! At first the columns are the data set's. Once most entries of the columns have left the node, the columns
//! are copied in value order without the entries that left, which costs a constant per entry that left.

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::Arc;

use crate::bitset::Bitset;
use crate::criterion::Criterion;
use crate::criterion::bounded::Summary;
use crate::data::SparseColumns;
use crate::data::entry::{Entry, samples_of};
use crate::params::Strategy;
use crate::split::node::{Node, Search};
use crate::split::sparse::bounds::ColumnBounds;
use crate::split::sparse::column_weights::ColumnWeights;
use crate::split::sparse::intersect::{Gather, ValueOrdered};
use crate::tuning::tuned;

tuned! {
    /// A node with at least this many rows gets columns and bounds of its own, if it has enough
    /// entries too (bench `sweep`).
    fn known_from_samples() -> usize = 24;
    /// A node with at least this many entries gets columns and bounds of its own, if it has enough
    /// rows too (bench `sweep`).
    fn known_from_entries() -> usize = 256;
    /// A child that draws features has its columns weighed if it has at least this many entries per
    /// feature of the data set (bench `sweep`).
    fn weigh_from() -> f64 = 0.1;
    /// The columns are copied once the node has less than this share of their entries (bench
    /// `sweep`).
    fn copy_below() -> f64 = 0.5;
    /// The bounds of the columns are forgotten once a split removes more than this many entries per column on
    /// average: updating the bounds then costs more than it saves (bench `sweep`).
    fn forget_from() -> usize = 4;
    /// A smaller child with at least this share of the entries of its parent's columns filters the
    /// parent's columns instead of sorting its own entries (bench `sweep`).
    fn filter_from() -> f64 = 0.1;
}

/// Copies of the columns of a node, each in value order. Entries of rows that have left the node
/// since the copy was made may still be there.
#[derive(Debug)]
pub struct LocalColumns {
    /// The column of each slot.
    slots: Vec<LocalColumn>,
    entries: Vec<Entry>,
}

/// Where the copy of one column is.
#[derive(Debug)]
struct LocalColumn {
    feature: u32,
    zero_rank: u32,
    /// Where the column begins and ends among the entries of all columns.
    span: Range<usize>,
}

impl LocalColumns {
    fn column(&self, slot: u32) -> ValueOrdered<'_> {
        let LocalColumn { zero_rank, span, .. } = &self.slots[slot as usize];
        ValueOrdered::Copied { entries: &self.entries[span.clone()], zero_rank: *zero_rank }
    }

    /// The summary of the entries of each column.
    fn summaries<C: Criterion>(&self, criterion: &C, scan: &mut C::Scan) -> Vec<Summary<C::Spread>> {
        let summary = |column: &LocalColumn| criterion.summary(samples_of(&self.entries[column.span.clone()]), scan);
        self.slots.iter().map(summary).collect()
    }
}

/// Tells the slot of each feature in copied columns, for one set of copied columns at a time.
#[derive(Debug, Default)]
pub(crate) struct SlotMap {
    /// The copied columns to which the slots belong; `None` before the first use.
    owner: Option<Arc<LocalColumns>>,
    /// The slot of each feature of the owner. The number of any other feature means nothing.
    slots: Vec<u32>,
}

impl SlotMap {
    pub fn new(n_features: usize) -> Self {
        Self { owner: None, slots: vec![0; n_features] }
    }

    /// Makes this the map of `columns`. O(columns), or O(1) if this is their map already.
    fn load(&mut self, columns: &Arc<LocalColumns>) {
        if self.owner.as_ref().is_none_or(|owner| !Arc::ptr_eq(owner, columns)) {
            for (slot, column) in (0..).zip(&columns.slots) {
                self.slots[column.feature as usize] = slot;
            }
            self.owner = Some(Arc::clone(columns));
        }
    }
}

/// The knowledge of columns that a node of a tree on sparse data takes over from its parent's search, and
/// hands on to its children.
///
/// A heritage owns all that it needs, including the set of the node's rows. So a heritage may be
/// dropped, kept, or sent to another thread at any time.
pub enum Heritage<C: Criterion> {
    /// The columns of the node and their bounds, for a node that draws all features.
    Columns(Box<KnownColumns<C>>),
    /// The weights of the entries of each column, for a node that draws some features.
    Weights(ColumnWeights),
}

/// The heritages of the two children of a node.
pub struct Heirs<C: Criterion> {
    /// The heritage of the smaller child, if there is one.
    pub small: Option<Heritage<C>>,
    /// The heritage of the larger child, if there is one.
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

/// A node that is split: all that is needed to divide the node's heritage among the children.
pub struct Division<'a, C: Criterion> {
    /// The statistics of the node that is split.
    pub node: &'a C::Totals,
    /// The smaller child: the ids of its rows, the statistics of the rows, and the number of their
    /// entries.
    pub small: (&'a [u32], &'a C::Totals, usize),
    /// The larger child: the statistics of its rows, and the number of the rows' entries.
    pub large: (&'a C::Totals, usize),
    /// Which children will be searched.
    pub wanted: Wanted,
}

impl<C: Criterion> Heritage<C> {
    /// Makes the heritage of a node that has taken over none: the columns and their bounds, or, if
    /// the node is a root that draws some features, the weights of columns. `None` if a heritage
    /// does not pay.
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
            return Some(Self::Weights(ColumnWeights::of_root(search, columns, ids, members)));
        }
        Some(Self::Columns(Box::new(if is_root {
            KnownColumns::of_whole(criterion, columns, members, scan)
        } else {
            KnownColumns::of_rows(criterion, columns, members, ids, node.n_entries, scan, gather)
        })))
    }

    /// Divides the heritage of a node among the children that are wanted. Of columns and bounds,
    /// the larger child always gets some, the smaller child only where that pays; weights are given
    /// to either child only where that pays. O(entries of the smaller child).
    pub(crate) fn divide(
        self,
        search: &Search<'_, C>,
        columns: &SparseColumns,
        division: &Division<'_, C>,
        scan: &mut C::Scan,
        slot_map: &mut SlotMap,
    ) -> Heirs<C> {
        let criterion = search.criterion;
        let &Division { small: (samples, small, n_small), large: (large, n_large), wanted, .. } = division;
        match self {
            Self::Columns(mut known) => {
                let for_small = wanted != Wanted::Large
                    && !criterion.is_pure(small)
                    && is_worth_knowing(search, samples.len(), n_small, false);
                let branch = if for_small { known.branch(criterion, columns, samples, n_small, scan) } else { None };
                let large = (wanted != Wanted::Small).then(|| {
                    known.leave(criterion, columns, division, slot_map);
                    Self::Columns(known)
                });
                Heirs { small: branch.map(|branch| Self::Columns(Box::new(branch))), large }
            }
            Self::Weights(weights) => {
                let least = match search.params.force_strategy {
                    None => weigh_from() * search.data.n_features() as f64,
                    Some(_) => 0.0,
                };
                let is_worth = |totals, nnz: usize| !criterion.is_pure(totals) && nnz as f64 >= least;
                let for_small = wanted != Wanted::Large && is_worth(small, n_small);
                let for_large = wanted != Wanted::Small && is_worth(large, n_large);
                let (small, large) = weights.divide(criterion, columns, samples, for_small, for_large);
                let large = large.filter(|_| wanted != Wanted::Small);
                Heirs { small: small.map(Self::Weights), large: large.map(Self::Weights) }
            }
        }
    }
}

/// Whether a heritage should be made for a node that has taken over none. Columns and bounds can be
/// made for any node, weights only for the root.
fn is_worth_knowing<C: Criterion>(search: &Search<'_, C>, n_samples: usize, nnz: usize, is_root: bool) -> bool {
    let draws_all = search.draws_all();
    (is_root || draws_all)
        // With monotonic constraints bounds would not hold: a cut that is illegal in a node may be
        // legal in a descendant, and gain more there than the best legal cut of the node.
        && (search.criterion.is_squared_distance() && search.params.monotonic_cst.is_none() || !draws_all)
        && nnz > 0
        && (is_root || Gather::fits(nnz))
        && match search.params.force_strategy {
            Some(strategy) => strategy == Strategy::Bounds,
            None => n_samples >= known_from_samples() && nnz >= known_from_entries(),
        }
}

/// The columns of a node and their bounds.
pub struct KnownColumns<C: Criterion> {
    /// The columns, if they were copied; `None` if they are the columns of the data set.
    columns: Option<Arc<LocalColumns>>,
    /// How many entries the columns have, including entries of rows that have left since.
    nnz: usize,
    /// The rows of the node.
    pub(crate) members: Bitset,
    /// The bounds of the columns, by slot.
    pub(crate) bounds: ColumnBounds<C>,
    /// The slot of a column that is likely to have one of the best cuts: in the last node the best
    /// column but the winner.
    pub(crate) leader: Option<u32>,
}

impl<C: Criterion> KnownColumns<C> {
    /// Makes columns from the rows `samples` of a node, which have `nnz` entries; `members` is the
    /// set of these rows. O(nnz) and the sorts of the columns.
    pub fn of_rows(
        criterion: &C,
        data: &SparseColumns,
        members: Bitset,
        samples: &[u32],
        nnz: usize,
        scan: &mut C::Scan,
        gather: &mut Gather,
    ) -> Self {
        let mut entries = Vec::with_capacity(nnz);
        let mut groups = Vec::new();
        gather.for_each(data, samples, |feature, group| {
            group.sort_unstable();
            let start = entries.len();
            entries.extend_from_slice(group);
            let column = LocalColumn { feature, zero_rank: data.zero_rank(feature), span: start..entries.len() };
            groups.push((column, criterion.summary(samples_of(group), scan)));
        });
        groups.sort_unstable_by_key(|(column, _)| (Reverse(column.span.len()), column.feature));
        let (slots, summaries) = groups.into_iter().unzip();
        let columns = Some(Arc::new(LocalColumns { slots, entries }));
        Self { columns, nnz, members, bounds: ColumnBounds::new(summaries), leader: None }
    }

    /// Takes the columns of the data set as the columns of a node whose rows are `members`. This
    /// reads all entries of the data set, so it is only done for the root of a tree. O(entries of
    /// the data set).
    pub fn of_whole(criterion: &C, data: &SparseColumns, members: Bitset, scan: &mut C::Scan) -> Self {
        let summary = |slot| {
            let samples = data.column(data.by_frequency(slot)).samples.iter().copied();
            criterion.summary(samples.filter(|&sample| members.contains(sample)), scan)
        };
        let bounds = ColumnBounds::new((0..data.n_features() as u32).map(summary).collect());
        Self { columns: None, nnz: data.nnz(), members, bounds, leader: None }
    }

    /// The feature whose column has this slot.
    pub(crate) fn feature(&self, data: &SparseColumns, slot: u32) -> u32 {
        self.columns.as_ref().map_or_else(|| data.by_frequency(slot), |columns| columns.slots[slot as usize].feature)
    }

    /// The column of a slot. The column has all entries of the node, and may have entries of other
    /// rows.
    pub(crate) fn column<'a>(&'a self, data: &'a SparseColumns, slot: u32) -> ValueOrdered<'a> {
        match &self.columns {
            None => ValueOrdered::Stored(data.column(data.by_frequency(slot))),
            Some(columns) => columns.column(slot),
        }
    }

    /// The column of a feature. The column has all entries of the node, and may have entries of
    /// other rows. `None` if the column is known to have no entry in the node.
    pub(crate) fn column_of<'a>(
        &'a self,
        data: &'a SparseColumns,
        map: &mut SlotMap,
        feature: u32,
    ) -> Option<ValueOrdered<'a>> {
        let Some(columns) = &self.columns else { return Some(ValueOrdered::Stored(data.column(feature))) };
        map.load(columns);
        let slot = map.slots[feature as usize];
        let is_there = columns.slots.get(slot as usize).is_some_and(|column| column.feature == feature);
        is_there.then(|| columns.column(slot))
    }

    /// Turns the columns and bounds of a node into the columns and bounds of its larger child: the rows of
    /// the smaller child leave. O(entries of these rows).
    fn leave(&mut self, criterion: &C, data: &SparseColumns, division: &Division<'_, C>, map: &mut SlotMap) {
        let &Division { node, small: (samples, small, nnz), large: (large, _), .. } = division;
        self.members.remove_all(samples);
        let leave = self.bounds.leave(criterion, node, small, large);
        if nnz > forget_from() * self.bounds.n_columns() {
            self.bounds.clear();
        }
        if let Some(columns) = &self.columns {
            map.load(columns);
        }
        for &sample in samples {
            let growth = leave.growth(criterion, large, sample);
            for &feature in data.row(sample).features {
                let slot = match &self.columns {
                    None => data.frequency_rank(feature),
                    Some(_) => map.slots[feature as usize],
                };
                self.bounds.touch(criterion, slot, sample, &leave, growth);
            }
        }
    }

    /// Makes the columns of a smaller child, whose rows `samples` have `nnz` entries, by filtering
    /// the columns of the parent. `None` if sorting the entries of the child anew is cheaper.
    /// O(entries of the parent's columns).
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
        let copy = self.copy(data, &members, nnz, 0..self.bounds.n_columns() as u32);
        let bounds = ColumnBounds::new(copy.summaries(criterion, scan));
        Some(Self { columns: Some(Arc::new(copy)), nnz, members, bounds, leader: None })
    }

    /// Copies the columns without the entries of rows that have left, if most entries have left.
    /// `nnz` is the number of entries of the node.
    pub(crate) fn shrink(&mut self, criterion: &C, data: &SparseColumns, nnz: usize, scan: &mut C::Scan) {
        if nnz as f64 >= copy_below() * self.nnz as f64 {
            return;
        }
        let weights = (0..self.bounds.n_columns() as u32).map(|slot| (Reverse(self.bounds.weight(slot)), slot));
        let mut slots: Vec<(Reverse<_>, u32)> = weights.filter(|&(Reverse(weight), _)| weight > 0).collect();
        slots.sort_unstable();
        let slots: Vec<u32> = slots.into_iter().map(|(_, slot)| slot).collect();
        let copy = self.copy(data, &self.members, nnz, slots.iter().copied());
        self.bounds = self.bounds.pick(&slots, copy.summaries(criterion, scan));
        self.leader = self.leader.and_then(|leader| slots.iter().position(|&slot| slot == leader).map(|at| at as u32));
        self.columns = Some(Arc::new(copy));
        self.nnz = nnz;
    }

    /// Copies the columns of these slots with only the entries whose rows are `members`, `nnz` in
    /// all. Columns without such entries are left out.
    fn copy(
        &self,
        data: &SparseColumns,
        members: &Bitset,
        nnz: usize,
        slots: impl Iterator<Item = u32> + Clone,
    ) -> LocalColumns {
        // A filter needs room for the whole column, so there is room for the longest column behind
        // the entries.
        let longest = slots.clone().map(|slot| self.column(data, slot).len()).max().unwrap_or(0);
        let mut copy = LocalColumns { entries: vec![Entry::default(); nnz + longest], slots: Vec::new() };
        let mut end = 0;
        for slot in slots {
            let start = end;
            let column = self.column(data, slot);
            end += column.take_members(members, &mut copy.entries[start..]);
            if start < end {
                let (feature, zero_rank) = (self.feature(data, slot), column.zero_rank());
                copy.slots.push(LocalColumn { feature, zero_rank, span: start..end });
            }
        }
        copy.entries.truncate(end);
        copy
    }
}
