//! The expansion of one node: stop rules, search for the best split, partition of the rows,
//! children. Every walk down a tree expands its nodes here.

use std::sync::Arc;

use super::codes;
use super::facts::Facts;
use crate::criterion::Criterion;
use crate::data::Dataset;
use crate::error::Result;
use crate::rng::{NodeKey, Side};
use crate::split::limits::Limits;
use crate::split::samples::SampleSet;
use crate::split::{
    Candidate, ConstantFeatures, Division, Found, Heirs, Heritage, Node, Scratch, Search, Searched, ThresholdRule,
    Wanted,
};
use crate::tree::sets::{CategorySet, Rule};

/// A node that has been reached and not yet expanded.
pub struct Pending<'s, C: Criterion> {
    /// Ids of the training rows of the node.
    pub samples: SampleSet<'s>,
    /// Distance from the root of the tree.
    pub depth: u64,
    /// The key of the node's random choices.
    pub key: NodeKey,
    /// The statistics of all rows of the node.
    pub totals: C::Totals,
    /// Number of entries that the rows store: cells of dense data, nonzeros of sparse data.
    pub n_entries: usize,
    /// Features known not to vary in the node, or that may not split it.
    pub constants: Arc<ConstantFeatures>,
    /// The knowledge that the node has taken over from its parent's search. Dropping it costs speed and
    /// nothing else.
    pub heritage: Option<Heritage<C>>,
    /// Limits of the predictions below the node; `None` unless features have monotonic constraints.
    pub limits: Option<Limits>,
}

/// The state of a node that has no parent in its search: the root of a tree, or of a copy of rows.
pub struct Anew {
    /// Distance from the root of the tree.
    pub depth: u64,
    /// The key of the node's random choices.
    pub key: NodeKey,
    /// Features known not to vary in the node, or that may not split it.
    pub constants: Arc<ConstantFeatures>,
    /// Limits of the predictions below the node; `None` unless features have monotonic constraints.
    pub limits: Option<Limits>,
}

/// A node that is not split.
pub struct Leaf<'s, C: Criterion> {
    /// Ids of the training rows of the leaf.
    pub samples: SampleSet<'s>,
    /// Distance from the root of the tree.
    pub depth: u64,
    /// The statistics of all rows of the leaf.
    pub totals: C::Totals,
    /// Limits of the prediction; `None` unless features have monotonic constraints.
    pub limits: Option<Limits>,
}

impl<C: Criterion> Leaf<'_, C> {
    /// The facts that a policy may ask about the leaf.
    pub fn facts<'a>(&'a self, criterion: &'a C) -> Facts<'a, C> {
        let Self { samples, depth, totals, limits } = self;
        Facts { criterion, samples: samples.ids(), depth: *depth, totals, limits: limits.as_ref() }
    }
}

/// What [`Pending::expand`] makes of a node.
#[allow(clippy::large_enum_variant, reason = "taken apart at once; a box would cost an allocation per split")]
pub enum Expansion<'s, C: Criterion> {
    /// A stop rule holds, or no split is legal.
    Leaf(Leaf<'s, C>),
    /// The node is split, and its rows are partitioned.
    Split(Fork<'s, C>),
}

/// A node that is split and whose rows are partitioned. [`children`](Self::children) or
/// [`child`](Self::child) make the children once it is known which are wanted, so that nothing is prepared
/// for an unwanted child.
pub struct Fork<'s, C: Criterion> {
    /// The split, which routes any row.
    pub split: Split,
    node: Pending<'s, C>,
    parts: ChildrenFacts<C>,
}

/// Number of rows and statistics of the two children of a node.
struct ChildrenFacts<C: Criterion> {
    /// Number of rows that went left.
    n_left: usize,
    left_is_small: bool,
    /// Statistics of the smaller child, and the number of entries that its rows store.
    small: (C::Totals, usize),
    /// Statistics of the larger child, and the number of entries that its rows store.
    large: (C::Totals, usize),
}

/// The split of a node, complete enough to route any row, also a row with a value or a category
/// that does not occur in the node.
#[derive(Debug)]
pub struct Split {
    feature: u32,
    /// If the node has no missing values, they follow the heavier child, or the right one if both weigh
    /// the same.
    missing_go_left: bool,
    values: SplitValues,
    /// The gain of the split; 0 if impurities tell it.
    gain: f64,
}

/// The rule by which values that are not missing go left.
#[derive(Debug)]
enum SplitValues {
    /// Values up to a threshold. It is computed later, as the values of ranks lie in tables far apart.
    UpTo(ThresholdRule),
    /// The categories of a set. Categories that do not occur in the node follow the heavier child.
    Of(CategorySet),
}

impl Split {
    /// The split of a node by a feature. `children` are the rows on the left and on the right; the `heavier`
    /// side weighs more. `missing` is the side of missing numbers, if the node has any, and `threshold` makes
    /// the threshold of a numeric feature.
    pub(crate) fn of(
        data: &Dataset,
        feature: u32,
        children: (&[u32], &[u32]),
        heavier: Side,
        missing: Option<Side>,
        threshold: impl FnOnce() -> ThresholdRule,
    ) -> Self {
        let (values, missing) = match codes::of_split(data, feature, children, heavier) {
            Some((set, missing)) => (SplitValues::Of(set), missing),
            None => (SplitValues::UpTo(threshold()), missing.unwrap_or(heavier)),
        };
        Self { feature, missing_go_left: missing == Side::Left, values, gain: 0.0 }
    }

    /// The feature on which the node is split.
    pub fn feature(&self) -> u32 {
        self.feature
    }

    /// Whether missing values go left.
    pub fn missing_go_left(&self) -> bool {
        self.missing_go_left
    }

    /// The gain of the split, if splits of the criterion carry their gain; else 0.
    pub fn gain(&self) -> f64 {
        self.gain
    }

    /// The split, with what it gains.
    pub(crate) fn with_gain(self, gain: f64) -> Self {
        Self { gain, ..self }
    }

    /// The threshold, if it need not be looked up.
    pub fn known_threshold(&self) -> Option<f64> {
        match self.values {
            SplitValues::UpTo(ThresholdRule::At(threshold)) => Some(threshold),
            _ => None,
        }
    }

    /// The threshold or the category set that says which of the values that are not missing go
    /// left.
    pub fn rule(&self, data: &Dataset) -> Rule<'_> {
        match &self.values {
            SplitValues::UpTo(rule) => Rule::Threshold(rule.threshold(data, self.feature)),
            SplitValues::Of(set) => Rule::Categories(set),
        }
    }
}

impl Anew {
    /// The state of the root of tree number `tree`.
    pub fn root<C: Criterion>(search: &Search<'_, C>, tree: u64) -> Self {
        Self {
            depth: 0,
            key: NodeKey::root(search.params.seed, tree),
            constants: Arc::new(search.features_of_no_node(tree)),
            limits: search.params.monotonic_cst.is_some().then(|| Limits::none(search.criterion.n_means())),
        }
    }
}

impl<'s, C: Criterion> Pending<'s, C> {
    /// Makes a node that has no parent in this search. O(rows).
    pub fn begin(search: &Search<'_, C>, samples: SampleSet<'s>, totals: C::Totals, anew: Anew) -> Self {
        let Anew { depth, key, constants, limits } = anew;
        Self {
            totals,
            n_entries: search.data.n_entries(samples.ids()),
            samples,
            depth,
            key,
            constants,
            heritage: None,
            limits,
        }
    }

    /// The facts that a policy may ask about the node.
    pub fn facts<'a>(&'a self, criterion: &'a C) -> Facts<'a, C> {
        let Self { samples, depth, totals, limits, .. } = self;
        Facts { criterion, samples: samples.ids(), depth: *depth, totals, limits: limits.as_ref() }
    }

    /// The state with which this node begins in the search of a copy of its rows.
    pub fn anew(&self) -> Anew {
        Anew { depth: self.depth, key: self.key, constants: Arc::clone(&self.constants), limits: self.limits.clone() }
    }

    /// Splits the node, or finds that it is a leaf.
    pub fn expand(mut self, search: &Search<'_, C>, scratch: &mut Scratch<C>) -> Result<Expansion<'s, C>> {
        search.runtime.check_interrupt()?;
        if self.must_stop(search) {
            return Ok(self.into_leaf());
        }
        let node = Node {
            samples: &self.samples,
            n_entries: self.n_entries,
            totals: &self.totals,
            key: self.key,
            constants: &self.constants,
            limits: self.limits.as_ref(),
        };
        let (Found { best, constants, heritage }, searched) =
            search.best_split(&node, self.heritage.take(), scratch)?;
        let Some(mut cut) = best else { return Ok(self.into_leaf()) };
        let goes_left = search.divide(&node, &mut cut)?;
        self.heritage = heritage;
        if let Some(constants) = constants {
            self.constants = constants;
        }
        let parts = self.partition_rows(&cut, searched, goes_left, search, scratch);
        debug_assert_eq!(parts.n_left, cut.n_left, "the search says how many rows go left");
        let size = |totals| NodeSize::of(search.criterion, totals);
        if search.params.min_impurity_decrease > 0.0
            && gains_too_little(search, size(&self.totals), size(&parts.small.0), size(&parts.large.0))
        {
            return Ok(self.into_leaf());
        }
        let weight = |part: &(C::Totals, usize)| search.criterion.weight(&part.0);
        let (left, right) =
            if parts.left_is_small { (&parts.small, &parts.large) } else { (&parts.large, &parts.small) };
        let heavier = if weight(left) > weight(right) { Side::Left } else { Side::Right };
        let rows = self.samples.ids().split_at(parts.n_left);
        let mut split = Split::of(search.data, cut.feature, rows, heavier, cut.missing, || cut.threshold_rule());
        if search.criterion.splits_carry_gain() {
            split = split.with_gain(search.criterion.gain_of_split(&self.totals, &left.0));
        }
        Ok(Expansion::Split(Fork { split, node: self, parts }))
    }

    /// Partitions the rows of the node: by `goes_left`, which has an element per row, or by the cut
    /// if there is none. The numbers of rows of the children are taken from the partition itself,
    /// not from the number that the cut claims.
    fn partition_rows(
        &mut self,
        cut: &Candidate,
        searched: Searched,
        goes_left: Option<Vec<bool>>,
        search: &Search<'_, C>,
        scratch: &mut Scratch<C>,
    ) -> ChildrenFacts<C> {
        let Self { samples, totals, n_entries, heritage, .. } = self;
        let n_left = match goes_left {
            None => search.partition(samples, searched, cut, heritage.as_ref(), scratch),
            Some(goes_left) => samples.partition(|place, _| goes_left[place]),
        };
        // Add up the statistics of the smaller child, and subtract them from the node's for the
        // larger child: exact, and at most half the work.
        let left_is_small = n_left <= samples.len() - n_left;
        let (left_ids, right_ids) = samples.ids().split_at(n_left);
        let small_ids = if left_is_small { left_ids } else { right_ids };
        let small = (search.criterion.totals(small_ids), search.data.n_entries(small_ids));
        let large = (search.criterion.minus(totals, &small.0), *n_entries - small.1);
        ChildrenFacts { n_left, left_is_small, small, large }
    }

    fn into_leaf(self) -> Expansion<'s, C> {
        let Self { samples, depth, totals, limits, .. } = self;
        Expansion::Leaf(Leaf { samples, depth, totals, limits })
    }

    /// Whether a stop rule makes this node a leaf without a search.
    pub fn must_stop(&self, search: &Search<'_, C>) -> bool {
        let weight = search.criterion.weight(&self.totals);
        must_stop(search, self.depth, self.samples.len(), weight, || search.criterion.is_pure(&self.totals))
    }
}

impl<'s, C: Criterion> Fork<'s, C> {
    /// The numbers of rows of the left child and of the right one.
    pub fn sizes(&self) -> [usize; 2] {
        [self.parts.n_left, self.node.samples.len() - self.parts.n_left]
    }

    /// Returns the split, the left child and the right child.
    pub fn children(
        mut self,
        search: &Search<'_, C>,
        scratch: &mut Scratch<C>,
    ) -> (Split, Pending<'s, C>, Pending<'s, C>) {
        let heirs = self.divide_heritage(Wanted::Both, search, scratch);
        self.into_children(heirs, search)
    }

    /// This node without a heritage, so its children begin without one, too.
    pub fn without_heritage(mut self) -> Self {
        self.node.heritage = None;
        self
    }

    /// Returns the child on one side. The other child is dropped, and nothing is prepared for it.
    pub fn child(mut self, side: Side, search: &Search<'_, C>, scratch: &mut Scratch<C>) -> Pending<'s, C> {
        let is_small = self.parts.left_is_small == (side == Side::Left);
        let heirs = self.divide_heritage(if is_small { Wanted::Small } else { Wanted::Large }, search, scratch);
        let (_, left, right) = self.into_children(heirs, search);
        if side == Side::Left { left } else { right }
    }

    /// Makes both children, each with its share of the node's heritage. Returns the split, the left
    /// child and the right child.
    fn into_children(self, heirs: Heirs<C>, search: &Search<'_, C>) -> (Split, Pending<'s, C>, Pending<'s, C>) {
        let [left_limits, right_limits] = self.limits(search);
        let Self { split, node, parts: ChildrenFacts { n_left, left_is_small, small, large } } = self;
        let (small, large) = ((small, heirs.small), (large, heirs.large));
        let (of_left, of_right) = if left_is_small { (small, large) } else { (large, small) };
        let Pending { samples, depth, key, mut constants, .. } = node;
        if let Some(groups) = &search.params.interaction_cst {
            let column_nnz = |feature| search.data.column_entries(feature);
            constants = constants.below(split.feature, groups, search.data.n_features(), &column_nnz);
        }
        let (left, right) = samples.split_at(n_left);
        let child = |side, samples, ((totals, n_entries), heritage), constants, limits| Pending {
            samples,
            depth: depth + 1,
            key: key.child(side),
            totals,
            n_entries,
            constants,
            heritage,
            limits,
        };
        let left = child(Side::Left, left, of_left, Arc::clone(&constants), left_limits);
        let right = child(Side::Right, right, of_right, constants, right_limits);
        (split, left, right)
    }

    /// Divides the heritage of the node among the wanted children.
    fn divide_heritage(&mut self, wanted: Wanted, search: &Search<'_, C>, scratch: &mut Scratch<C>) -> Heirs<C> {
        let ChildrenFacts { n_left, left_is_small, small, large } = &self.parts;
        let Pending { samples, totals, heritage, .. } = &mut self.node;
        let (left_ids, right_ids) = samples.ids().split_at(*n_left);
        let small_ids = if *left_is_small { left_ids } else { right_ids };
        let division =
            Division { node: totals, small: (small_ids, &small.0, small.1), large: (&large.0, large.1), wanted };
        search.divide_heritage(heritage.take(), &division, scratch)
    }

    /// The limits of the predictions of the left child and of the right child.
    fn limits(&self, search: &Search<'_, C>) -> [Option<Limits>; 2] {
        let Some(limits) = &self.node.limits else { return [None, None] };
        let ChildrenFacts { left_is_small, small, large, .. } = &self.parts;
        let (left, right) = if *left_is_small { (&small.0, &large.0) } else { (&large.0, &small.0) };
        let constraint = search.params.constraint(self.split.feature());
        limits.of_children(search.criterion, (left, right), constraint).map(Some)
    }
}

/// Whether a stop rule makes a node of this depth, with `n_samples` rows of this weight, a leaf without a
/// search.
#[inline]
pub fn must_stop<C>(
    search: &Search<'_, C>,
    depth: u64,
    n_samples: usize,
    weight: u64,
    is_pure: impl FnOnce() -> bool,
) -> bool {
    let params = search.params;
    depth >= params.max_depth
        || (n_samples as u64) < params.min_samples_split.max(params.min_samples_leaf.saturating_mul(2))
        || (weight as f64) < 2.0 * search.min_weight_leaf
        || is_pure()
}

/// The weight and the impurity of a node.
#[derive(Clone, Copy)]
pub(crate) struct NodeSize {
    pub weight: u64,
    pub impurity: f64,
}

impl NodeSize {
    pub(crate) fn of<C: Criterion>(criterion: &C, totals: &C::Totals) -> Self {
        Self { weight: criterion.weight(totals), impurity: criterion.impurity(totals) }
    }
}

/// Whether the split of `node` into the children `a` and `b` decreases the impurity by less than
/// `min_impurity_decrease`. The decrease is weighted by the node's share of the total weight. A
/// decrease within one unit of rounding of the limit passes, as in scikit-learn.
pub(crate) fn gains_too_little<C: Criterion>(search: &Search<'_, C>, node: NodeSize, a: NodeSize, b: NodeSize) -> bool {
    let weight = |node: NodeSize| node.weight as f64;
    let children = weight(a) / weight(node) * a.impurity + weight(b) / weight(node) * b.impurity;
    let decrease = weight(node) / search.total_weight as f64 * (node.impurity - children);
    decrease + f64::EPSILON < search.params.min_impurity_decrease
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use ndarray::array;

    use super::*;
    use crate::criterion::{Visitor, visit};
    use crate::data::{Dataset, Target};
    use crate::params::{CriterionKind, TreeParams};
    use crate::runtime::Runtime;
    use crate::split::Cut;
    use crate::split::samples::Samples;

    /// Partitions all rows by a cut of the only feature.
    struct PartitionRows<'a> {
        data: &'a Dataset,
        target: &'a Target,
        cut: Candidate,
        runtime: &'a Runtime<'a>,
    }

    impl Visitor for PartitionRows<'_> {
        /// The number of rows and the weight of the smaller child, and the number of rows on the
        /// left.
        type Output = (usize, u64, usize);

        fn visit<C: Criterion>(self, criterion: &C) -> Result<Self::Output> {
            let Self { data, target, cut, runtime } = self;
            let params = TreeParams::new(CriterionKind::Gini).check(data.n_samples(), 1)?;
            let search = Search::new(data, target, criterion, &params, data.n_samples() as u64, runtime)?;
            let mut samples = Samples::new((0..data.n_samples() as u32).collect(), data.n_samples(), false);
            let samples = samples.root();
            let totals = criterion.totals(samples.ids());
            let mut root = Pending::begin(&search, samples, totals, Anew::root(&search, 0));
            let parts = root.partition_rows(&cut, Searched::NONE, None, &search, &mut Scratch::new(&search)?);
            let n_small = parts.n_left.min(data.n_samples() - parts.n_left);
            Ok((n_small, criterion.weight(&parts.small.0), parts.n_left))
        }
    }

    #[test]
    fn children_have_the_rows_that_the_partition_gives_them() {
        let x = array![[0.0], [1.0], [2.0], [3.0], [4.0]];
        let stop = AtomicBool::new(false);
        let runtime = Runtime::new(1, &stop);
        let data = Dataset::from_dense(x.view(), &runtime).unwrap();
        let target = Target::classification(&[0, 0, 1, 1, 1], &[2], None).unwrap();
        // Two rows go left, whatever the cut says.
        for n_left in [0, 2, 4] {
            let cut = Cut::Before(2);
            let cut = Candidate { feature: 0, last_left: 1, missing: None, order: 0, cut, n_left, is_loose: false };
            let partition = PartitionRows { data: &data, target: &target, cut, runtime: &runtime };
            assert_eq!(visit(CriterionKind::Gini, &target, partition, &runtime).unwrap(), (2, 2, 2));
        }
    }
}
