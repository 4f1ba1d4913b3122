//! The entries of the rows of a bag, linked by feature.
//!
//! A feature of a node is read in one of two ways, whichever takes fewer steps: all its entries in the bag,
//! or a search in each row of the node. So a feature costs no more than its entries, and little more than the
//! rows of the node, as in dense data.

use super::cells::{Cells, FeatureDraw, Varying, varying};
use crate::data::row_group::RowEntries;
use crate::error::{Error, Result};
use crate::memory;
use crate::runtime::Runtime;
use crate::simd::Level;

/// The cells of a sparse matrix.
pub(super) struct Linked<'a> {
    matrix: &'a dyn RowEntries,
    bag: Bag,
    node: Node,
    /// For each feature, the number of the last node that has tried it.
    tried: Vec<u32>,
    /// For each row of the bag, its value of one feature.
    cells: Vec<f64>,
}

/// The entries of a bag.
struct Bag {
    /// For each feature the place of its last entry, [`NONE`] if it has none; and how many entries it has.
    heads: Vec<u32>,
    n_entries: Vec<u32>,
    /// Where the entries of each row of the bag begin, and where the last ones end.
    starts: Vec<u32>,
    /// For each entry the feature, the value, and how it is linked. Features ascend in a row, and no value
    /// is 0.
    features: Vec<u32>,
    values: Vec<f64>,
    links: Vec<Link>,
    /// The steps of a search in a row of mean length.
    search: usize,
}

/// The place in the bag of an entry's row, and the place of the entry before it of the same feature.
#[derive(Debug, Clone, Copy)]
struct Link {
    row: u32,
    before: u32,
}

/// The rows of the last node.
#[derive(Default)]
struct Node {
    /// Nodes are numbered from 1.
    number: u32,
    rows: Vec<u32>,
    /// How many entries the rows have.
    n_entries: usize,
    /// For each row of the bag, the number of the last node that had it.
    last: Vec<u32>,
}

/// In the place of an earlier entry, if there is none.
const NONE: u32 = u32::MAX;

/// Positions of features in an order that are computed together.
const BLOCK: usize = 64;

/// The name of the memory in errors.
pub(super) const WHAT: &str = "the entries of the samples of a tree";

/// The bytes of a linked entry.
pub(super) const BYTES_PER_ENTRY: usize = size_of::<u32>() + size_of::<f64>() + size_of::<Link>();

impl<'a> Linked<'a> {
    /// Fails if there is no memory for the number of features.
    pub fn new(matrix: &'a dyn RowEntries, n_features: usize) -> Result<Self> {
        let (node, tried, cells) = (Node::default(), memory::zeros(WHAT, n_features)?, Vec::new());
        Ok(Self { matrix, bag: Bag::new(n_features)?, node, tried, cells })
    }

    /// Whether a feature varies in the last node, and how many steps it took to see that. A feature that the
    /// node has tried before does not.
    fn varies(bag: &Bag, node: &Node, tried: &mut [u32], feature: u32) -> (bool, usize) {
        let is_absent = bag.heads[feature as usize] == NONE;
        if is_absent || std::mem::replace(&mut tried[feature as usize], node.number) == node.number {
            return (false, 1);
        }
        bag.varies(node, feature)
    }

    /// The first feature that varies in the last node. Features are tried in their order, until that has
    /// taken `most` steps; then it is not known, which is an `Err`.
    fn try_features(&mut self, draw: &FeatureDraw, most: usize) -> std::result::Result<Option<u32>, ()> {
        let Self { bag, node, tried, .. } = self;
        let mut n_steps = 0;
        let found = draw.order.find(Level::widest(), |feature| {
            if n_steps >= most {
                return Some(Err(()));
            }
            let (varies, n_more) = if draw.has(feature) { Self::varies(bag, node, tried, feature) } else { (false, 1) };
            n_steps += n_more;
            varies.then_some(Ok(feature))
        });
        found.transpose()
    }

    /// The first feature that varies in the last node, found by the entries of its rows.
    fn try_entries(&mut self, draw: &FeatureDraw) -> Option<u32> {
        let Self { bag, node, tried, .. } = self;
        let mut positions = [0; BLOCK];
        let mut first: Option<(u32, u32)> = None;
        for &row in &node.rows {
            for features in bag.features_of(row).chunks(BLOCK) {
                let positions = &mut positions[..features.len()];
                draw.order.positions(Level::widest(), features, positions);
                for (&position, &feature) in positions.iter().zip(features) {
                    let is_earlier = first.is_none_or(|(before, _)| position < before);
                    if is_earlier && draw.has(feature) && Self::varies(bag, node, tried, feature).0 {
                        first = Some((position, feature));
                    }
                }
            }
        }
        first.map(|(_, feature)| feature)
    }
}

impl Cells for Linked<'_> {
    fn load(&mut self, rows: &[u32], runtime: &Runtime<'_>) -> Result<()> {
        let Self { matrix, bag, node, tried, cells } = self;
        bag.clear(tried);
        bag.load(*matrix, rows, runtime)?;
        node.load(rows.len())?;
        cells.clear();
        memory::make_room(WHAT, cells, rows.len())?;
        cells.resize(rows.len(), 0.0);
        Ok(())
    }

    fn find(&mut self, places: &[u32], draw: &FeatureDraw, values: &mut Vec<f64>) -> Option<Varying> {
        self.node.take(places, &self.bag);
        // At most `n_entries` features vary. Reading the entries costs about as much as trying half that
        // number of features that no row has.
        let n_entries = self.node.n_entries;
        let hopes = (n_entries / 2).saturating_mul(n_entries) > self.bag.heads.len();
        let tried = if hopes { self.try_features(draw, n_entries) } else { Err(()) };
        let feature = tried.unwrap_or_else(|()| self.try_entries(draw))?;
        let Self { bag, node, cells, .. } = self;
        bag.read(node, feature, cells);
        values.clear();
        values.extend(places.iter().map(|&place| cells[place as usize]));
        varying(feature, values)
    }
}

impl Node {
    /// Makes room for the rows of a bag.
    fn load(&mut self, n_rows: usize) -> Result<()> {
        self.number = 0;
        self.rows.clear();
        memory::make_room(WHAT, &mut self.rows, n_rows)?;
        self.last.clear();
        memory::make_room(WHAT, &mut self.last, n_rows)?;
        self.last.resize(n_rows, 0);
        Ok(())
    }

    /// Takes the next node: its rows are at these places of the bag, which ascend and may repeat.
    fn take(&mut self, places: &[u32], bag: &Bag) {
        self.number += 1;
        self.rows.clear();
        self.rows.extend(places.chunk_by(|a, b| a == b).map(|alike| alike[0]));
        self.n_entries = 0;
        for &row in &self.rows {
            self.last[row as usize] = self.number;
            self.n_entries += bag.features_of(row).len();
        }
    }
}

impl Bag {
    fn new(n_features: usize) -> Result<Self> {
        Ok(Self {
            heads: memory::filled(WHAT, NONE, n_features)?,
            n_entries: memory::zeros(WHAT, n_features)?,
            starts: Vec::new(),
            features: Vec::new(),
            values: Vec::new(),
            links: Vec::new(),
            search: 1,
        })
    }

    /// Sets `tried` to 0, too.
    fn clear(&mut self, tried: &mut [u32]) {
        let Self { heads, n_entries, features, .. } = self;
        if features.len() * 8 < heads.len() {
            for at in features.iter().map(|&feature| feature as usize) {
                (heads[at], n_entries[at], tried[at]) = (NONE, 0, 0);
            }
        } else {
            heads.fill(NONE);
            n_entries.fill(0);
            tried.fill(0);
        }
        features.clear();
        self.values.clear();
        self.links.clear();
        self.starts.clear();
    }

    /// Takes the entries of some rows. Fails if they are too many.
    fn load(&mut self, matrix: &dyn RowEntries, rows: &[u32], runtime: &Runtime<'_>) -> Result<()> {
        let n_entries: usize = rows.iter().map(|&row| matrix.n_entries(row as usize)).sum();
        if n_entries >= NONE as usize {
            let (limit, got) = (u64::from(NONE) - 1, n_entries as u64);
            return Err(Error::TooLarge { what: "the number of entries of the samples of a tree", limit, got });
        }
        memory::make_room(WHAT, &mut self.features, n_entries)?;
        memory::make_room(WHAT, &mut self.values, n_entries)?;
        memory::make_room(WHAT, &mut self.links, n_entries)?;
        memory::make_room(WHAT, &mut self.starts, rows.len() + 1)?;
        for (place, &row) in (0..).zip(rows) {
            runtime.check_in_turn(place as usize)?;
            let start = self.features.len();
            self.starts.push(start as u32);
            copy_row(matrix, row, &mut self.features, &mut self.values);
            for (number, &feature) in (start as u32..).zip(&self.features[start..]) {
                let before = std::mem::replace(&mut self.heads[feature as usize], number);
                self.links.push(Link { row: place, before });
                self.n_entries[feature as usize] += 1;
            }
        }
        self.starts.push(self.features.len() as u32);
        self.search = 2 + (self.features.len() / rows.len().max(1)).max(1).ilog2() as usize;
        Ok(())
    }

    /// The features that a row has entries of.
    fn features_of(&self, row: u32) -> &[u32] {
        &self.features[self.starts[row as usize] as usize..self.starts[row as usize + 1] as usize]
    }

    /// The value of a feature in a row.
    fn cell(&self, row: u32, feature: u32) -> f64 {
        let place = self.features_of(row).binary_search(&feature);
        place.map_or(0.0, |place| self.values[self.starts[row as usize] as usize + place])
    }

    /// Visits the entries of a feature: the place in the bag of each one's row, and its value.
    fn entries(&self, feature: u32) -> impl Iterator<Item = (u32, f64)> {
        let mut at = self.heads[feature as usize];
        std::iter::from_fn(move || {
            let entry = at as usize;
            let &Link { row, before } = self.links.get(entry)?;
            at = before;
            Some((row, self.values[entry]))
        })
    }

    /// Whether to search the rows of a node for a feature, rather than to read all entries of the feature.
    fn is_searched(&self, node: &Node, feature: u32) -> bool {
        node.rows.len() * self.search < self.n_entries[feature as usize] as usize
    }

    /// Whether a feature varies in a node, and how many steps it took to see that.
    fn varies(&self, node: &Node, feature: u32) -> (bool, usize) {
        let is_other = |first: f64, value: f64| value != first && !(value.is_nan() && first.is_nan());
        if self.is_searched(node, feature) {
            let mut values = node.rows.iter().map(|&row| self.cell(row, feature));
            let first = values.next().unwrap_or(0.0);
            let n_alike = values.position(|value| is_other(first, value));
            return (n_alike.is_some(), (1 + n_alike.unwrap_or(node.rows.len())) * self.search);
        }
        let (mut n_read, mut n_stored, mut first) = (0, 0, None);
        for (row, value) in self.entries(feature) {
            n_read += 1;
            if node.last[row as usize] == node.number {
                n_stored += 1;
                if is_other(*first.get_or_insert(value), value) {
                    return (true, n_read);
                }
            }
        }
        // No entry is 0.
        (n_stored > 0 && n_stored < node.rows.len(), n_read)
    }

    /// Sets the cells of the rows of a node to their values of a feature.
    fn read(&self, node: &Node, feature: u32, cells: &mut [f64]) {
        if self.is_searched(node, feature) {
            node.rows.iter().for_each(|&row| cells[row as usize] = self.cell(row, feature));
        } else {
            node.rows.iter().for_each(|&row| cells[row as usize] = 0.0);
            self.entries(feature).for_each(|(row, value)| cells[row as usize] = value);
        }
    }
}

/// Adds the entries of a row: features ascend, the entries of a cell are merged in their order, and there are
/// no zeros.
pub(super) fn copy_row(matrix: &dyn RowEntries, row: u32, features: &mut Vec<u32>, values: &mut Vec<f64>) {
    let start = features.len();
    matrix.copy_row_apart(row as usize, features, values);
    if features[start..].is_sorted_by(|a, b| a < b) && !values[start..].contains(&0.0) {
        return;
    }
    let mut row: Vec<(u32, f64)> = features.drain(start..).zip(values.drain(start..)).collect();
    // Stable: duplicates stay in order.
    row.sort_by_key(|&(feature, _)| feature);
    row.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        if is_same {
            kept.1 = matrix.merge(kept.1, next.1);
        }
        is_same
    });
    for (feature, value) in row.into_iter().filter(|entry| entry.1 != 0.0) {
        features.push(feature);
        values.push(value);
    }
}
