//! One node: stop rules, search, partition, children. Every driver goes through here.

use std::ops::Range;
use std::sync::Arc;

use crate::criterion::Criterion;
use crate::error::Result;
use crate::rng::{NodeKey, Side};
use crate::samples::SampleSet;
use crate::split::{Candidate, ConstantFeatures, Node, Scratch, Search};

/// A node that has been reached and not yet expanded.
pub struct Pending<C: Criterion> {
    /// Its rows, as a range of the sample set.
    pub range: Range<usize>,
    /// Distance from the root.
    pub depth: u64,
    /// The key of its random choices.
    pub key: NodeKey,
    /// The statistics of its rows.
    pub totals: C::Totals,
    /// Entries that its rows store.
    pub n_entries: usize,
    /// Features known not to vary in it.
    pub constants: Arc<ConstantFeatures>,
}

/// What has become of a node.
pub enum Expansion<C: Criterion> {
    /// A stop rule holds, or no split is legal.
    Leaf,
    /// It was split; its rows are partitioned.
    Split {
        /// The split.
        split: Candidate,
        /// The child with `x <= threshold`.
        left: Pending<C>,
        /// The other child.
        right: Pending<C>,
    },
}

impl<C: Criterion> Pending<C> {
    /// The root of tree number `tree` over all of `samples`.
    pub fn root(search: &Search<'_, C>, samples: &SampleSet, tree: u64) -> Self {
        let range = 0..samples.len();
        Self {
            totals: search.criterion.totals(samples.node(range.clone())),
            n_entries: search.n_entries(samples.node(range.clone())),
            range,
            depth: 0,
            key: NodeKey::root(search.params.seed, tree),
            constants: Arc::new(ConstantFeatures::none(search.data.n_features())),
        }
    }

    /// Splits the node, or finds that it is a leaf.
    pub fn expand(
        &self,
        search: &Search<'_, C>,
        samples: &mut SampleSet,
        scratch: &mut Scratch<C>,
    ) -> Result<Expansion<C>> {
        search.runtime.check_interrupt()?;
        if self.must_stop(search) {
            return Ok(Expansion::Leaf);
        }
        let node = Node {
            set: samples,
            range: self.range.clone(),
            n_entries: self.n_entries,
            totals: &self.totals,
            key: self.key,
            constants: Arc::clone(&self.constants),
        };
        let found = search.best_split(&node, scratch)?;
        let Some(split) = found.best else { return Ok(Expansion::Leaf) };
        let middle = search.partition(samples, self.range.clone(), &split, scratch);
        debug_assert_eq!(middle - self.range.start, split.n_left, "the scan's promise");
        // Add up the smaller child and subtract it for the larger: exact, and at most half the work.
        let (left_range, right_range) = (self.range.start..middle, middle..self.range.end);
        let left_is_small = left_range.len() <= right_range.len();
        let small = samples.node(if left_is_small { left_range.clone() } else { right_range.clone() });
        let small = (search.criterion.totals(small), search.n_entries(small));
        let large = (search.criterion.minus(&self.totals, &small.0), self.n_entries - small.1);
        let (left, right) = if left_is_small { (small, large) } else { (large, small) };
        if search.params.min_impurity_decrease > 0.0 && self.gains_too_little(search, &left.0, &right.0) {
            return Ok(Expansion::Leaf);
        }
        let child = |range, (totals, n_entries), side| Self {
            range,
            depth: self.depth + 1,
            key: self.key.child(side),
            totals,
            n_entries,
            constants: Arc::clone(&found.constants),
        };
        let (left, right) = (child(left_range, left, Side::Left), child(right_range, right, Side::Right));
        Ok(Expansion::Split { split, left, right })
    }

    fn must_stop(&self, search: &Search<'_, C>) -> bool {
        let params = search.params;
        self.depth >= params.max_depth
            || (self.range.len() as u64) < params.min_samples_split
            || (search.criterion.weight(&self.totals) as f64) < 2.0 * search.min_weight_leaf
            || search.criterion.is_pure(&self.totals)
    }

    /// Whether the decrease of impurity, weighted by the node's share of the total, is too small. A decrease within
    /// one unit of rounding of the limit passes, as in scikit-learn.
    fn gains_too_little(&self, search: &Search<'_, C>, left: &C::Totals, right: &C::Totals) -> bool {
        let criterion = search.criterion;
        let weight = |totals| criterion.weight(totals) as f64;
        let node = weight(&self.totals);
        let children =
            weight(left) / node * criterion.impurity(left) + weight(right) / node * criterion.impurity(right);
        let decrease = node / search.total_weight as f64 * (criterion.impurity(&self.totals) - children);
        decrease + f64::EPSILON < search.params.min_impurity_decrease
    }
}
