//! The cells that the rows of a bag have, asked for one feature at a time.
//!
//! A tree of 256 rows reads few of their cells (2,300 of 7,700 where there are 30 features), each
//! once or a few times. So a dense matrix is read in place. Of a sparse one, the entries of the rows
//! are linked by feature once per tree.

use crate::data::query::Query;
use crate::data::row_group::RowEntries;
use crate::error::{Error, Result};
use crate::memory;
use crate::rng::Permutation;
use crate::simd::Level;

/// The extremes of a feature that varies in a node. Missing values are apart: if they alone differ
/// from the others, the extremes are equal.
#[derive(Debug, Clone, Copy)]
pub(super) struct Varying {
    pub feature: u32,
    pub lowest: f64,
    pub highest: f64,
    pub has_missing: bool,
}

/// The order in which a node draws features, and the features that its tree has.
pub(super) struct FeatureDraw {
    pub order: Permutation,
    /// The order in which the tree has drawn its features, and how many; `None` if it has all.
    pub of_tree: Option<(Permutation, u32)>,
}

impl FeatureDraw {
    fn has(&self, feature: u32) -> bool {
        self.of_tree.is_none_or(|(order, n)| order.position(feature) < n)
    }
}

/// The cells of the rows of a bag.
pub(super) trait Cells {
    /// Takes the rows of the next bag, each once. Fails if they have too many entries.
    fn load(&mut self, bag: &[u32]) -> Result<()>;

    /// Finds the first feature that varies among the rows at these places of the bag, which ascend and
    /// may repeat. Sets `values` to the values that they have.
    fn find(&mut self, places: &[u32], draw: &FeatureDraw, values: &mut Vec<f64>) -> Option<Varying>;
}

/// The cells of a matrix that can be read in place.
pub(super) struct InPlace<'a> {
    matrix: &'a dyn Query,
    bag: Vec<u32>,
    rows: Vec<u32>,
}

impl<'a> InPlace<'a> {
    pub fn new(matrix: &'a dyn Query) -> Self {
        Self { matrix, bag: Vec::new(), rows: Vec::new() }
    }
}

impl Cells for InPlace<'_> {
    fn load(&mut self, bag: &[u32]) -> Result<()> {
        self.bag.clear();
        self.bag.extend_from_slice(bag);
        Ok(())
    }

    fn find(&mut self, places: &[u32], draw: &FeatureDraw, values: &mut Vec<f64>) -> Option<Varying> {
        let Self { matrix, bag, rows } = self;
        rows.clear();
        rows.extend(places.iter().map(|&place| bag[place as usize]));
        draw.order.find(Level::widest(), |feature| {
            if !draw.has(feature) {
                return None;
            }
            matrix.gather(feature, rows, values);
            varying(feature, values)
        })
    }
}

/// The entries of the rows of a bag.
pub(super) struct Linked<'a> {
    matrix: &'a dyn RowEntries,
    /// For each feature the place of its last entry, and [`NONE`] if it has none.
    heads: Vec<u32>,
    /// Where the entries of each row of the bag begin, and where the last ones end.
    starts: Vec<u32>,
    /// For each entry the feature, the value, and how it is linked.
    features: Vec<u32>,
    values: Vec<f64>,
    links: Vec<Link>,
    /// For each row of the bag, the number of the last node that had it.
    nodes: Vec<u32>,
    n_nodes: u32,
    /// For each row of the bag, its value of one feature.
    cells: Vec<f64>,
    positions: Vec<u32>,
}

/// The place in the bag of an entry's row, and the place of the entry before it of the same feature.
#[derive(Debug, Clone, Copy)]
struct Link {
    row: u32,
    before: u32,
}

/// In the place of an earlier entry, if there is none.
const NONE: u32 = u32::MAX;

/// Positions of features in an order that are computed together.
const BLOCK: usize = 64;

impl<'a> Linked<'a> {
    /// Fails if there is no memory for the number of features.
    pub fn new(matrix: &'a dyn RowEntries, n_features: usize) -> Result<Self> {
        Ok(Self {
            matrix,
            heads: memory::filled("the entries of a bag", NONE, n_features)?,
            starts: Vec::new(),
            features: Vec::new(),
            values: Vec::new(),
            links: Vec::new(),
            nodes: Vec::new(),
            n_nodes: 0,
            cells: Vec::new(),
            positions: vec![0; BLOCK],
        })
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

    /// Whether a feature varies among the `n_rows` rows of the last node.
    fn varies(&self, feature: u32, n_rows: usize) -> bool {
        let mut own = self.entries(feature).filter(|&(row, _)| self.nodes[row as usize] == self.n_nodes);
        let Some((_, first)) = own.next() else { return false };
        let (n_stored, differs) = own.fold((1, false), |(n, differs), (_, value)| {
            let is_same = value == first || value.is_nan() && first.is_nan();
            (n + 1, differs || !is_same)
        });
        // No entry is 0.
        differs || n_stored < n_rows
    }

    /// The first feature that varies among the rows of the last node: each of the features is tried,
    /// but at most `most` of them. `None` if none of these varies.
    fn try_features(&self, draw: &FeatureDraw, n_rows: usize, most: usize) -> Option<u32> {
        let mut n_tried = 0;
        let found = draw.order.find(Level::widest(), |feature| {
            if n_tried == most {
                return Some(None);
            }
            n_tried += 1;
            (draw.has(feature) && self.varies(feature, n_rows)).then_some(Some(feature))
        });
        found.flatten()
    }

    /// The first feature that varies among the rows of the last node, found by the entries of its rows.
    fn try_entries(&mut self, rows: impl Iterator<Item = u32>, draw: &FeatureDraw, n_rows: usize) -> Option<u32> {
        let mut positions = std::mem::take(&mut self.positions);
        let mut first: Option<(u32, u32)> = None;
        for row in rows {
            let own = self.starts[row as usize] as usize..self.starts[row as usize + 1] as usize;
            for features in self.features[own].chunks(BLOCK) {
                let positions = &mut positions[..features.len()];
                draw.order.positions(Level::widest(), features, positions);
                for (&position, &feature) in positions.iter().zip(features) {
                    let is_earlier = first.is_none_or(|(before, _)| position < before);
                    if is_earlier && draw.has(feature) && self.varies(feature, n_rows) {
                        first = Some((position, feature));
                    }
                }
            }
        }
        self.positions = positions;
        first.map(|(_, feature)| feature)
    }

    fn clear(&mut self) {
        if self.features.len() * 8 < self.heads.len() {
            self.features.iter().for_each(|&feature| self.heads[feature as usize] = NONE);
        } else {
            self.heads.fill(NONE);
        }
        self.features.clear();
        self.values.clear();
        self.links.clear();
        self.starts.clear();
    }
}

impl Cells for Linked<'_> {
    fn load(&mut self, bag: &[u32]) -> Result<()> {
        self.clear();
        for (place, &row) in (0..).zip(bag) {
            let start = self.features.len();
            self.starts.push(start as u32);
            self.matrix.copy_row_apart(row as usize, &mut self.features, &mut self.values);
            let is_tidy = self.features[start..].is_sorted_by(|a, b| a < b) && !self.values[start..].contains(&0.0);
            if !is_tidy {
                self.tidy_row(start);
            }
            if self.features.len() >= NONE as usize {
                let (limit, got) = (u64::from(NONE) - 1, self.features.len() as u64);
                return Err(Error::TooLarge { what: "the number of entries of the samples of a tree", limit, got });
            }
            for (number, &feature) in (start as u32..).zip(&self.features[start..]) {
                let before = std::mem::replace(&mut self.heads[feature as usize], number);
                self.links.push(Link { row: place, before });
            }
        }
        self.starts.push(self.features.len() as u32);
        self.nodes.clear();
        self.nodes.resize(bag.len(), 0);
        self.n_nodes = 0;
        self.cells.resize(bag.len(), 0.0);
        Ok(())
    }

    fn find(&mut self, places: &[u32], draw: &FeatureDraw, values: &mut Vec<f64>) -> Option<Varying> {
        self.n_nodes += 1;
        let (mut n_rows, mut n_entries) = (0, 0);
        for rows in places.chunk_by(|a, b| a == b) {
            let row = rows[0] as usize;
            self.nodes[row] = self.n_nodes;
            self.cells[row] = 0.0;
            n_rows += 1;
            n_entries += (self.starts[row + 1] - self.starts[row]) as usize;
        }
        // At most `n_entries` features vary. Reading the entries costs about as much as trying half that
        // number of features.
        let most = n_entries / 2;
        let hopes = most.saturating_mul(n_entries) > self.heads.len();
        let tried = if hopes { self.try_features(draw, n_rows, most) } else { None };
        let rows = places.chunk_by(|a, b| a == b).map(|rows| rows[0]);
        let feature = tried.or_else(|| self.try_entries(rows, draw, n_rows))?;
        let mut cells = std::mem::take(&mut self.cells);
        self.entries(feature).for_each(|(row, value)| cells[row as usize] = value);
        self.cells = cells;
        values.clear();
        values.extend(places.iter().map(|&place| self.cells[place as usize]));
        varying(feature, values)
    }
}

impl Linked<'_> {
    /// Sorts the entries of the last row, which begin at `start`, merges the entries of a cell in their
    /// order, and drops zeros.
    fn tidy_row(&mut self, start: usize) {
        let mut row: Vec<(u32, f64)> = self.features.drain(start..).zip(self.values.drain(start..)).collect();
        // Stable: duplicates stay in order.
        row.sort_by_key(|&(feature, _)| feature);
        let matrix = self.matrix;
        row.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1 = matrix.merge(kept.1, next.1);
            }
            is_same
        });
        for (feature, value) in row.into_iter().filter(|entry| entry.1 != 0.0) {
            self.features.push(feature);
            self.values.push(value);
        }
    }
}

/// The extremes of the values of a feature; `None` if it does not vary.
fn varying(feature: u32, values: &[f64]) -> Option<Varying> {
    let (mut lowest, mut highest, mut n_missing) = (f64::INFINITY, f64::NEG_INFINITY, 0);
    for &value in values {
        lowest = if value < lowest { value } else { lowest };
        highest = if value > highest { value } else { highest };
        n_missing += usize::from(value.is_nan());
    }
    let has_missing = n_missing > 0;
    if n_missing == values.len() || lowest == highest && !has_missing {
        return None;
    }
    // Negative zeros are zeros.
    Some(Varying { feature, lowest: lowest + 0.0, highest: highest + 0.0, has_missing })
}
