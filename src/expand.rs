//! One node: stop rules, search, partition, children. Every driver goes through here.

use std::sync::Arc;

use crate::categories::{CategorySet, Rule};
use crate::criterion::Criterion;
use crate::data::Dataset;
use crate::error::Result;
use crate::monotonic::Limits;
use crate::rng::{NodeKey, Side};
use crate::samples::SampleSet;
use crate::split::{Candidate, ConstantFeatures, Found, Known, Node, Scratch, Search};

/// A node that has been reached and not yet expanded.
pub struct Pending<'s, C: Criterion> {
    /// Its rows.
    pub samples: SampleSet<'s>,
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
    /// What it has taken over from its parent's search.
    pub known: Option<Known<C>>,
    /// Between what predictions must lie, if features are constrained.
    pub limits: Option<Limits>,
}

/// A node that is not split.
pub struct Leaf<'s, C: Criterion> {
    /// Its rows.
    pub samples: SampleSet<'s>,
    /// The statistics of its rows.
    pub totals: C::Totals,
    /// Between what its prediction must lie, if features are constrained.
    pub limits: Option<Limits>,
}

impl<C: Criterion> Leaf<'_, C> {
    /// Writes what it predicts.
    pub fn write_value(&self, criterion: &C, value: &mut [f64]) {
        criterion.write_value(&self.totals, self.samples.ids(), value);
        if let Some(limits) = &self.limits {
            limits.clip(value);
        }
    }
}

/// What has become of a node.
#[allow(clippy::large_enum_variant, reason = "taken apart at once; a box would cost an allocation per split")]
pub enum Expansion<'s, C: Criterion> {
    /// A stop rule holds, or no split is legal.
    Leaf(Leaf<'s, C>),
    /// It was split; its rows are partitioned.
    Split {
        /// The split.
        split: Split,
        /// The child with `x <= threshold`.
        left: Pending<'s, C>,
        /// The other child.
        right: Pending<'s, C>,
    },
}

/// A split, for rows that the node has and others.
#[derive(Debug)]
pub struct Split {
    /// The cut, which says where missing values go even if the node has none.
    cut: Candidate,
    /// If the feature is categorical, what goes left; what the node does not have goes with most of the weight.
    set: Option<CategorySet>,
}

impl Split {
    /// The feature.
    pub fn feature(&self) -> u32 {
        self.cut.feature
    }

    /// Whether missing values go left.
    pub fn missing_go_left(&self) -> bool {
        self.cut.missing_go_left()
    }

    /// What goes left of all that is not missing.
    pub fn rule(self, data: &Dataset) -> Rule {
        self.set.map_or_else(|| Rule::Threshold(self.cut.threshold(data)), Rule::Categories)
    }
}

impl<'s, C: Criterion> Pending<'s, C> {
    /// The root of tree number `tree` over all of `samples`.
    pub fn root(search: &Search<'_, C>, samples: SampleSet<'s>, tree: u64) -> Self {
        Self {
            totals: search.criterion.totals(samples.ids()),
            n_entries: search.n_entries(samples.ids()),
            samples,
            depth: 0,
            key: NodeKey::root(search.params.seed, tree),
            constants: Arc::new(ConstantFeatures::none(search.data.n_features())),
            known: None,
            limits: search.params.monotonic_cst.is_some().then(|| Limits::none(search.criterion.n_means())),
        }
    }

    /// Splits the node, or finds that it is a leaf.
    ///
    /// Of the two children the smaller and all its descendants must be expanded first if the same scratch is used for
    /// both.
    pub fn expand(self, search: &Search<'_, C>, scratch: &mut Scratch<C>) -> Result<Expansion<'s, C>> {
        search.runtime.check_interrupt()?;
        let stops = self.must_stop(search);
        let Self { mut samples, depth, key, totals, n_entries, constants, known, limits } = self;
        if stops {
            search.forget(known.as_ref(), samples.ids(), scratch);
            return Ok(Expansion::Leaf(Leaf { samples, totals, limits }));
        }
        let node =
            Node { samples: &samples, n_entries, totals: &totals, key, constants: &constants, limits: limits.as_ref() };
        let Found { best, constants: more, known } = search.best_split(&node, known, scratch)?;
        let Some(mut split) = best else {
            search.forget(known.as_ref(), samples.ids(), scratch);
            return Ok(Expansion::Leaf(Leaf { samples, totals, limits }));
        };
        let (sides, goes_left) = search.divide(&node, &mut split).unzip();
        let middle = match goes_left {
            None => search.partition(&mut samples, &split, known.as_ref(), scratch),
            Some(goes_left) => {
                let mut goes_left = goes_left.into_iter();
                samples.partition(|_| goes_left.next().unwrap_or_default())
            }
        };
        debug_assert_eq!(middle, split.n_left, "the scan's promise");
        // Add up the smaller child and subtract it for the larger: exact, and at most half the work.
        let left_is_small = middle <= samples.len() - middle;
        let (left_ids, right_ids) = samples.ids().split_at(middle);
        let small_ids = if left_is_small { left_ids } else { right_ids };
        let small = (search.criterion.totals(small_ids), search.n_entries(small_ids));
        let large = (search.criterion.minus(&totals, &small.0), n_entries - small.1);
        if search.params.min_impurity_decrease > 0.0 && gains_too_little(search, &totals, &small.0, &large.0) {
            search.forget(known.as_ref(), samples.ids(), scratch);
            return Ok(Expansion::Leaf(Leaf { samples, totals, limits }));
        }
        let heirs = search.bequeath(known, (&totals, &small.0, &large.0), (small_ids, small.1), large.1, scratch);
        let (left_samples, right_samples) = samples.split_at(middle);
        let constants = more.unwrap_or(constants);
        let child = |samples, (totals, n_entries), side, known, constants, limits| Self {
            samples,
            depth: depth + 1,
            key: key.child(side),
            totals,
            n_entries,
            constants,
            known,
            limits,
        };
        let (of_left, of_right, left_heir, right_heir) = if left_is_small {
            (small, large, heirs.small, heirs.large)
        } else {
            (large, small, heirs.large, heirs.small)
        };
        // With most of the weight, if there are none.
        let weight = |totals| search.criterion.weight(totals);
        let larger = if weight(&of_left.0) > weight(&of_right.0) { Side::Left } else { Side::Right };
        split.missing.get_or_insert(larger);
        let constraint = search.params.constraint(split.feature);
        let [left_limits, right_limits] = match limits {
            Some(limits) => limits.of_children(search.criterion, (&of_left.0, &of_right.0), constraint).map(Some),
            None => [None, None],
        };
        let left = child(left_samples, of_left, Side::Left, left_heir, Arc::clone(&constants), left_limits);
        let right = child(right_samples, of_right, Side::Right, right_heir, constants, right_limits);
        let set = sides.map(|sides| CategorySet::new(&sides.left, &sides.right, larger == Side::Left));
        Ok(Expansion::Split { split: Split { cut: split, set }, left, right })
    }

    /// Whether a stop rule holds.
    pub fn must_stop(&self, search: &Search<'_, C>) -> bool {
        let params = search.params;
        self.depth >= params.max_depth
            || (self.samples.len() as u64) < params.min_samples_split
            || (search.criterion.weight(&self.totals) as f64) < 2.0 * search.min_weight_leaf
            || search.criterion.is_pure(&self.totals)
    }
}

/// Whether the decrease of impurity, weighted by the node's share of the total, is too small. A decrease within one unit
/// of rounding of the limit passes, as in scikit-learn.
fn gains_too_little<C: Criterion>(search: &Search<'_, C>, node: &C::Totals, a: &C::Totals, b: &C::Totals) -> bool {
    let criterion = search.criterion;
    let weight = |totals| criterion.weight(totals) as f64;
    let children = weight(a) / weight(node) * criterion.impurity(a) + weight(b) / weight(node) * criterion.impurity(b);
    let decrease = weight(node) / search.total_weight as f64 * (criterion.impurity(node) - children);
    decrease + f64::EPSILON < search.params.min_impurity_decrease
}
