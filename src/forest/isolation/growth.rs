//! The growth of one isolation tree from the values of its rows, which are neither sorted nor coded.

use std::ops::Range;
use std::sync::Arc;

use super::IsolationParams;
use super::cells::{BAG, Cells, FeatureDraw, Varying};
use crate::criterion::mean_path_length;
use crate::error::Result;
use crate::memory;
use crate::rng::{NodeKey, Side};
use crate::runtime::Runtime;
use crate::split::threshold_between;
use crate::tree::builder::TreeBuilder;
use crate::tree::packed::PackedTree;
use crate::tree::sets::Rule;

/// Path lengths up to this number of rows are computed once.
const KNOWN_LENGTHS: usize = 4096;

/// Grows trees one after the other, in memory that they share.
pub(super) struct Grower<C> {
    cells: C,
    n_features: usize,
    builder: TreeBuilder,
    /// The path length of each number of rows.
    lengths: Arc<[f64]>,
    /// The places of the rows of the bag, as often as they count, and ascending in each node.
    places: Vec<u32>,
    values: Vec<f64>,
    right: Vec<u32>,
    pending: Vec<Pending>,
}

/// A node that is not grown yet.
struct Pending {
    places: Range<usize>,
    key: NodeKey,
    depth: u64,
    /// The parent, and the place among its children: 0 on the left, 1 on the right.
    link: Option<(usize, usize)>,
}

/// The path lengths that trees of up to `n_rows` rows ask for.
pub(super) fn list_lengths(n_rows: usize) -> Arc<[f64]> {
    (0..=n_rows.min(KNOWN_LENGTHS) as u64).map(mean_path_length).collect()
}

impl<C: Cells> Grower<C> {
    pub fn new(cells: C, n_features: usize, lengths: Arc<[f64]>) -> Self {
        Self {
            cells,
            n_features,
            builder: TreeBuilder::new(1),
            lengths,
            places: Vec::new(),
            values: Vec::new(),
            right: Vec::new(),
            pending: Vec::new(),
        }
    }

    /// Grows tree number `number` of the rows of a bag, which ascend, each as often as it counts.
    pub fn grow(
        &mut self,
        bag: &[u32],
        number: u64,
        params: &IsolationParams,
        runtime: &Runtime<'_>,
    ) -> Result<PackedTree> {
        let key = NodeKey::root(params.seed, number);
        let n_own = params.max_features.filter(|&n| n < self.n_features as u64);
        let of_tree = n_own.map(|n| (key.tree_feature_order(self.n_features), n as u32));
        self.take(bag, runtime)?;
        self.pending.push(Pending { places: 0..bag.len(), key, depth: 0, link: None });
        while let Some(Pending { places, key, depth, link }) = self.pending.pop() {
            runtime.check_interrupt()?;
            let id = self.add(&places, depth, link)?;
            let is_single = self.places[places.start] == self.places[places.end - 1];
            if depth >= params.max_depth || is_single {
                continue;
            }
            let draw = FeatureDraw { order: key.feature_order(self.n_features), of_tree };
            let Some(varying) = self.cells.find(&self.places[places.clone()], &draw, &mut self.values) else {
                continue;
            };
            let n_left = self.split(id, &places, varying, key);
            let middle = places.start + n_left;
            let child = |places, side: Side| Pending {
                places,
                key: key.child(side),
                depth: depth + 1,
                link: Some((id, usize::from(side == Side::Right))),
            };
            self.pending.push(child(middle..places.end, Side::Right));
            self.pending.push(child(places.start..middle, Side::Left));
        }
        let records = self.builder.finish(self.n_features, vec![1], Arc::default());
        let packed = PackedTree::of(&records, 1.0);
        self.builder.reuse(records);
        Ok(packed)
    }

    /// Takes the rows of a bag.
    fn take(&mut self, bag: &[u32], runtime: &Runtime<'_>) -> Result<()> {
        let mut rows = memory::reserve(BAG, bag.len())?;
        rows.extend_from_slice(bag);
        rows.dedup();
        self.places.clear();
        memory::make_room(BAG, &mut self.places, bag.len())?;
        self.values.clear();
        memory::make_room(BAG, &mut self.values, bag.len())?;
        self.right.clear();
        memory::make_room(BAG, &mut self.right, bag.len())?;
        for (place, copies) in (0..).zip(bag.chunk_by(|a, b| a == b)) {
            self.places.extend(std::iter::repeat_n(place, copies.len()));
        }
        self.cells.load(&rows, runtime)
    }

    /// Adds a node, as a leaf, to the tree.
    fn add(&mut self, places: &Range<usize>, depth: u64, link: Option<(usize, usize)>) -> Result<usize> {
        let weight = places.len();
        let length = self.lengths.get(weight).copied().unwrap_or_else(|| mean_path_length(weight as u64));
        let n_rows = 1 + self.places[places.clone()].windows(2).filter(|pair| pair[0] != pair[1]).count();
        let (id, value) = self.builder.add(length, n_rows, weight as f64)?;
        value[0] = length + depth as f64;
        if let Some((parent, place)) = link {
            self.builder.link(parent, place, id);
        }
        Ok(id)
    }

    /// Splits a node by a random threshold of a feature. Returns how many of its places go left.
    fn split(&mut self, id: usize, places: &Range<usize>, varying: Varying, key: NodeKey) -> usize {
        let Varying { feature, lowest, highest, has_missing } = varying;
        let (threshold, missing) = if lowest < highest {
            let missing = has_missing.then(|| key.side_of_missing(feature));
            (threshold_between(key, feature, lowest, highest), missing)
        } else {
            (f64::INFINITY, Some(Side::Right))
        };
        let missing_left = missing == Some(Side::Left);
        let places = &mut self.places[places.clone()];
        self.right.clear();
        let mut n_left = 0;
        for (at, &value) in self.values.iter().enumerate() {
            let place = places[at];
            if value <= threshold || missing_left && value.is_nan() {
                places[n_left] = place;
                n_left += 1;
            } else {
                self.right.push(place);
            }
        }
        places[n_left..].copy_from_slice(&self.right);
        // A value that is missing only later follows the heavier child.
        let missing_left = if missing.is_some() { missing_left } else { n_left > self.right.len() };
        self.builder.split(id, feature, Rule::Threshold(threshold), missing_left);
        n_left
    }
}
