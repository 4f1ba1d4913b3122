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

use super::bounds::ColumnBounds;
use crate::bitset::Bitset;
use crate::criterion::Criterion;
use crate::data::SparseColumns;
use crate::data::sparse::{Rank, SparseColumn};
use crate::intersect::Gather;

/// Columns are copied once the node has less than this share of their entries (bench `fit`).
const COPY_BELOW: f64 = 0.5;

/// Copies of the columns of a node, in value order. Entries of rows that left since may linger.
#[derive(Debug, Default)]
pub struct LocalColumns {
    features: Vec<u32>,
    zero_ranks: Vec<u32>,
    /// Lane `i` has the entries `bounds[i].0..bounds[i].1`.
    spans: Vec<(usize, usize)>,
    samples: Vec<u32>,
    ranks: Vec<u32>,
}

impl LocalColumns {
    fn column(&self, lane: u32) -> SparseColumn<'_, u32> {
        let (start, end) = self.spans[lane as usize];
        SparseColumn {
            samples: &self.samples[start..end],
            ranks: &self.ranks[start..end],
            zero_rank: self.zero_ranks[lane as usize],
        }
    }
}

/// The lanes of the features of one set of local columns at a time.
#[derive(Debug, Default)]
pub(super) struct LaneMap {
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

/// The columns of a node and their bounds.
pub struct Known<C: Criterion> {
    /// Copied columns; if there are none, those of the data set.
    columns: Option<Arc<LocalColumns>>,
    /// Entries of the columns when they were copied.
    nnz: usize,
    pub(super) bounds: ColumnBounds<C>,
    /// A column that is likely to have one of the best cuts.
    pub(super) leader: Option<u32>,
}

/// A column of a node, of the data set or a copy.
pub(super) enum Column<'a, R> {
    Whole(SparseColumn<'a, R>),
    Local(SparseColumn<'a, u32>),
}

impl<C: Criterion> Known<C> {
    /// What the rows `samples` say, with columns of their own. `nnz` is the number of their entries. O(nnz) and the sorts
    /// of the columns.
    pub fn of_rows<R: Rank>(
        criterion: &C,
        data: &SparseColumns<R>,
        samples: &[u32],
        nnz: usize,
        gather: &mut Gather,
    ) -> Self {
        let mut columns = LocalColumns::default();
        columns.samples.reserve_exact(nnz);
        columns.ranks.reserve_exact(nnz);
        let mut groups = Vec::new();
        gather.for_each(data, samples, |feature, entries| {
            entries.sort_unstable();
            let mut summary = C::Summary::default();
            let start = columns.samples.len();
            for entry in entries.iter() {
                columns.samples.push(entry.sample());
                columns.ranks.push(entry.rank());
                criterion.include(&mut summary, entry.sample());
            }
            groups.push((feature, start, columns.samples.len(), summary));
        });
        groups.sort_unstable_by_key(|&(feature, start, end, _)| (std::cmp::Reverse(end - start), feature));
        columns.features = groups.iter().map(|group| group.0).collect();
        columns.zero_ranks = columns.features.iter().map(|&feature| data.zero_rank(feature)).collect();
        columns.spans = groups.iter().map(|&(_, start, end, _)| (start, end)).collect();
        let bounds = ColumnBounds::new(groups.into_iter().map(|group| group.3).collect());
        Self { columns: Some(Arc::new(columns)), nnz, bounds, leader: None }
    }

    /// What the rows `samples` say, with the columns of the data set: all other rows must be known to be no members, which
    /// only the root of a tree can vouch for. O(entries of the rows).
    pub fn of_whole<R: Rank>(criterion: &C, data: &SparseColumns<R>, samples: &[u32]) -> Self {
        let mut summaries = vec![C::Summary::default(); data.n_features()];
        for &sample in samples {
            for &feature in data.row(sample).features {
                criterion.include(&mut summaries[data.frequency_rank(feature) as usize], sample);
            }
        }
        Self { columns: None, nnz: data.nnz(), bounds: ColumnBounds::new(summaries), leader: None }
    }

    /// The feature of a lane.
    pub(super) fn feature<R: Rank>(&self, data: &SparseColumns<R>, lane: u32) -> u32 {
        self.columns.as_ref().map_or_else(|| data.by_frequency(lane), |columns| columns.features[lane as usize])
    }

    /// The column of a lane, with all entries of the node and maybe more.
    pub(super) fn column<'a, R: Rank>(&'a self, data: &'a SparseColumns<R>, lane: u32) -> Column<'a, R> {
        match &self.columns {
            None => Column::Whole(data.column(data.by_frequency(lane))),
            Some(columns) => Column::Local(columns.column(lane)),
        }
    }

    /// The lane of a feature; none if the feature has no entry in the node.
    pub(super) fn lane<R: Rank>(&self, data: &SparseColumns<R>, map: &mut LaneMap, feature: u32) -> Option<u32> {
        let lane = match &self.columns {
            None => data.frequency_rank(feature),
            Some(columns) => {
                map.load(columns);
                let lane = map.lanes[feature as usize];
                (columns.features.get(lane as usize) == Some(&feature)).then_some(lane)?
            }
        };
        (self.bounds.weight(lane) > 0).then_some(lane)
    }

    /// Lets the rows of a smaller child leave. O(their entries).
    #[allow(clippy::too_many_arguments, reason = "a node and its children")]
    pub(super) fn leave<R: Rank>(
        &mut self,
        criterion: &C,
        data: &SparseColumns<R>,
        (node, small, large): (&C::Totals, &C::Totals, &C::Totals),
        samples: &[u32],
        map: &mut LaneMap,
    ) {
        self.bounds.leave(criterion, node, small, large);
        let weight = criterion.weight(large) as f64;
        if let Some(columns) = &self.columns {
            map.load(columns);
        }
        for &sample in samples {
            for &feature in data.row(sample).features {
                let lane = match &self.columns {
                    None => data.frequency_rank(feature),
                    Some(_) => map.lanes[feature as usize],
                };
                self.bounds.touch(criterion, lane, sample, weight);
            }
        }
    }

    /// Copies the columns without the entries that have left, if those are the most. `members` holds the rows of the
    /// node, `nnz` is the number of its entries.
    pub(super) fn shrink<R: Rank>(&mut self, data: &SparseColumns<R>, members: &Bitset, nnz: usize) {
        if nnz as f64 >= COPY_BELOW * self.nnz as f64 {
            return;
        }
        let n_lanes = self.columns.as_ref().map_or(data.n_features(), |columns| columns.features.len());
        let mut lanes: Vec<u32> = (0..n_lanes as u32).filter(|&lane| self.bounds.weight(lane) > 0).collect();
        lanes.sort_by_key(|&lane| std::cmp::Reverse(self.bounds.weight(lane)));
        let mut copy = LocalColumns::default();
        copy.samples.reserve_exact(nnz);
        copy.ranks.reserve_exact(nnz);
        for &lane in &lanes {
            let start = copy.samples.len();
            let zero_rank = match self.column(data, lane) {
                Column::Whole(column) => copy.take(column, members),
                Column::Local(column) => copy.take(column, members),
            };
            copy.features.push(self.feature(data, lane));
            copy.zero_ranks.push(zero_rank);
            copy.spans.push((start, copy.samples.len()));
        }
        self.bounds = self.bounds.pick(&lanes);
        self.leader = self.leader.and_then(|leader| lanes.iter().position(|&lane| lane == leader).map(|at| at as u32));
        self.columns = Some(Arc::new(copy));
        self.nnz = nnz;
    }
}

impl LocalColumns {
    fn take<R: Rank>(&mut self, column: SparseColumn<'_, R>, members: &Bitset) -> u32 {
        for (&sample, rank) in column.samples.iter().zip(column.ranks) {
            if members.contains(sample) {
                self.samples.push(sample);
                self.ranks.push(rank.widen());
            }
        }
        column.zero_rank
    }
}
