//! One tree of several folds, which descend together.
//!
//! All folds begin with one root: it has the rows of all folds, and each fold holds a few of them out. A node
//! is searched once for all its folds (`split::folds`), and each fold gets its own exact split. Then children
//! whose rows are nearly the same become one node again: the node has the rows of all these children, and
//! each fold holds out the rows that are not its own. The children may come from splits on different
//! features. A fold that is left alone goes on as a lazy tree. A fold is only followed to children that some
//! of its query rows reach.
//!
//! Folds that hold nothing out of a node have the same split there and count as one fold, however
//! many they are. So with one row left out per fold, the cost of a node depends on the number of
//! its rows, not on the number of folds.

use std::sync::Arc;

use super::costs::Costs;
use super::union::{WantedSide, unite};
use crate::bitset::Bitset;
use crate::criterion;
use crate::criterion::{Criterion, Visitor};
use crate::data::query::Query;
use crate::data::{Dataset, Target};
use crate::error::{Error, Result};
use crate::grow::expand::{Anew, Pending, must_stop};
use crate::grow::{check_lengths, samples_with};
use crate::lazy::{Finds, LazyTree, Reached, descend};
use crate::params::ValidTreeParams;
use crate::rng::{NodeKey, Side};
use crate::runtime::Runtime;
use crate::split::folds::{FoldRows, FoldScratch, FoldsNode, HeldOut, best_splits, goes_left};
use crate::split::samples::Samples;
use crate::split::{Candidate, ConstantFeatures, Cut, Scratch, Search};
use crate::tree::sets::Rule;

/// In the place of a fold's number: no fold holds out this training row, or is asked about this
/// query row.
pub const NOBODY: u32 = u32::MAX;

/// The folds of one data set whose trees descend together.
#[derive(Debug, Clone, Copy)]
pub struct SharedFolds<'a> {
    /// Number of folds: `owners` and `askers` are below it, or [`NOBODY`].
    pub n_folds: usize,
    /// For each training row, the fold that holds it out, or [`NOBODY`].
    pub owners: &'a [u32],
    /// For each query row, the fold that is asked about it, or [`NOBODY`].
    pub askers: &'a [u32],
}

impl SharedFolds<'_> {
    /// Fails unless there is a legal fold, or [`NOBODY`], for each training row and each query row.
    fn check(&self, n_samples: usize, n_query: usize) -> Result<()> {
        for (name, folds, n_rows) in [("owners", self.owners, n_samples), ("askers", self.askers, n_query)] {
            if folds.len() != n_rows {
                let (expected, got) = (format!("{n_rows} values, one per row"), format!("{} values", folds.len()));
                return Err(Error::ShapeMismatch { what: name, expected, got });
            }
            if let Some(fold) = folds.iter().find(|&&fold| fold != NOBODY && fold as usize >= self.n_folds) {
                let expected = format!("below {}", self.n_folds);
                return Err(Error::InvalidArgument { name, got: format!("fold {fold}"), expected });
            }
        }
        Ok(())
    }
}

/// Finds the leaf of each query row in tree number `number` of the fold that is asked about the
/// row. `target` is the target of all rows. Returns `None` if folds cannot share descents with
/// these parameters and this target, or if one of the folds has no rows.
pub fn ask_shared(
    data: &Dataset,
    target: &Target,
    params: &ValidTreeParams,
    number: u64,
    folds: SharedFolds<'_>,
    query: &dyn Query,
    runtime: &Runtime<'_>,
) -> Result<Option<Reached>> {
    check_lengths(data, target)?;
    folds.check(data.n_samples(), query.shape().0)?;
    let Some(rows) = FoldRows::new(data, target, params) else { return Ok(None) };
    let shared = Shared { tree: LazyTree { data, target, params, number }, folds, query, runtime, rows };
    criterion::visit_classes(params.criterion, target, shared)
}

struct Shared<'a> {
    /// The tree of all rows.
    tree: LazyTree<'a>,
    folds: SharedFolds<'a>,
    query: &'a dyn Query,
    runtime: &'a Runtime<'a>,
    rows: FoldRows,
}

impl Visitor for Shared<'_> {
    type Output = Option<Reached>;

    fn visit<C: Criterion>(self, criterion: &C) -> Result<Option<Reached>> {
        let Self { tree: LazyTree { data, target, params, number }, folds, query, runtime, rows } = self;
        let ids = target.weighted_samples();
        let total_weight = criterion.weight(&criterion.totals(&ids));
        let search = Search::new(data, target, criterion, params, total_weight, runtime)?;
        let fold = |number| NodeFold { number: Some(number), held_out: Vec::new(), queries: Vec::new() };
        let mut of_root: Vec<NodeFold> = (0..folds.n_folds as u32).map(fold).collect();
        let mut held_out_weights = vec![0u64; folds.n_folds];
        for &id in &ids {
            let owner = folds.owners[id as usize] as usize;
            if let Some(fold) = of_root.get_mut(owner) {
                fold.held_out.push(id);
                held_out_weights[owner] += target.weights().get(id as usize);
            }
        }
        if held_out_weights.contains(&total_weight) {
            return Ok(None);
        }
        for (row, &asker) in (0..).zip(folds.askers) {
            if let Some(fold) = of_root.get_mut(asker as usize) {
                fold.queries.push(row);
            }
        }
        of_root.retain(|fold| !fold.queries.is_empty());
        let constants = Arc::new(ConstantFeatures::none(data.n_features()));
        let root = SharedNode { ids, folds: of_root, depth: 0, key: NodeKey::root(params.seed, number), constants };
        let mut descent = SharedDescent {
            scratch: Scratch::new(&search)?,
            scan: criterion.scan(),
            samples: samples_with(data, Vec::new()),
            columns: FoldScratch::new(data),
            search,
            query,
            rows,
            held_out_weights,
            holders: HeldOut::new(data.n_samples()),
            members: Bitset::new(data.n_samples()),
            finds: Finds::new(criterion.n_values(), false),
        };
        let mut stack = vec![root];
        while let Some(group) = stack.pop() {
            runtime.check_interrupt()?;
            descent.visit(group, &mut stack)?;
        }
        let mut reached = Reached::new(query.shape().0, false)?;
        reached.append(descent.finds);
        Ok(Some(reached))
    }
}

/// A node that several folds share.
struct SharedNode {
    /// Ids of the rows of the node. Each fold has these rows but the rows that it holds out.
    ids: Vec<u32>,
    folds: Vec<NodeFold>,
    depth: u64,
    key: NodeKey,
    constants: Arc<ConstantFeatures>,
}

/// A fold in a node. All folds that hold nothing out of the node are one such fold.
struct NodeFold {
    /// The number of the fold, or `None` if it is all folds that hold nothing out.
    number: Option<u32>,
    /// The rows of the node that the fold does not have, ascending.
    held_out: Vec<u32>,
    /// The query rows of the fold that have reached the node.
    queries: Vec<u32>,
}

impl NodeFold {
    /// Tells whether the fold has a row of the node. The rows must be asked about in their order.
    fn has(&self) -> impl FnMut(&u32) -> bool {
        let mut held_out = self.held_out.iter().peekable();
        move |id| held_out.next_if_eq(&id).is_none()
    }
}

/// A split that divides the rows of each of `folds` as the fold's own split does.
struct SharedCut {
    split: Candidate,
    /// The folds, by their positions in the node.
    folds: Vec<usize>,
}

struct SharedDescent<'a, C: Criterion> {
    search: Search<'a, C>,
    query: &'a dyn Query,
    rows: FoldRows,
    /// For each fold, the weight of the rows that it holds out of the root.
    held_out_weights: Vec<u64>,
    /// The rows that folds hold out of the node that is searched; empty between two searches.
    holders: HeldOut,
    finds: Finds,
    scratch: Scratch<C>,
    scan: C::Scan,
    /// The rows of a fold that goes alone: a table of all rows is made once, not for each of them.
    samples: Samples,
    columns: FoldScratch,
    /// The rows of the child that is made; empty between two children.
    members: Bitset,
}

impl<C: Criterion> SharedDescent<'_, C> {
    /// Searches a node, makes it a leaf of some of its folds, and pushes the children of all others
    /// on the stack.
    fn visit(&mut self, mut group: SharedNode, stack: &mut Vec<SharedNode>) -> Result<()> {
        self.finds.leaves.visits.visit(group.ids.len(), 0);
        let criterion = self.search.criterion;
        merge_whole(&mut group.folds);
        let all = criterion.totals(&group.ids);
        let mut totals = Vec::with_capacity(group.folds.len());
        for fold in std::mem::take(&mut group.folds) {
            let own = criterion.minus(&all, &criterion.totals(&fold.held_out));
            let n_samples = group.ids.len() - fold.held_out.len();
            if must_stop(&self.search, group.depth, n_samples, criterion.weight(&own), || criterion.is_pure(&own)) {
                self.give_leaf_value(&group, &fold, &own);
            } else {
                totals.push(own);
                group.folds.push(fold);
            }
        }
        if let [] | [_] = &group.folds[..] {
            return group.folds.iter().try_for_each(|fold| self.go_alone(&group, fold));
        }
        let (splits, constants) = self.splits(&group, &totals)?;
        group.constants = constants;
        for ((fold, own), split) in group.folds.iter().zip(&totals).zip(&splits) {
            match split {
                Some(_) => {}
                None if self.search.draws_all() => self.give_leaf_value(&group, fold, own),
                // No feature that was drawn varies, and only the search of a single tree can go on
                // drawing.
                None => self.go_alone(&group, fold)?,
            }
        }
        self.make_children(&group, &splits, stack)
    }

    /// Makes the node a leaf of a fold, whose query rows get the value of the leaf.
    fn give_leaf_value(&mut self, group: &SharedNode, fold: &NodeFold, totals: &C::Totals) {
        // The row ids are not needed: class shares follow from the statistics alone.
        self.search.criterion.write_value(totals, &[], self.finds.add(&fold.queries, group.depth));
    }

    /// Goes on with one fold as a lazy tree.
    fn go_alone(&mut self, group: &SharedNode, fold: &NodeFold) -> Result<()> {
        let held_out = fold.number.map_or(0, |number| self.held_out_weights[number as usize]);
        let search = self.search.with_total_weight(self.search.total_weight - held_out);
        self.samples.refill(group.ids.iter().copied().filter(fold.has()).collect());
        let constants = Arc::clone(&group.constants);
        let anew = Anew { depth: group.depth, key: group.key, constants, limits: None };
        let samples = self.samples.root();
        let totals = search.criterion.totals(samples.ids());
        let node = Pending::begin(&search, samples, totals, anew);
        let mut query_rows = fold.queries.clone();
        query_rows.sort_unstable();
        let mut query_rows = Samples::new(query_rows, self.query.shape().0, false);
        for found in descend(&search, self.query, node, query_rows.root(), &mut self.scratch)? {
            self.finds.append(found);
        }
        Ok(())
    }

    /// Searches the node for all folds. Returns the split of each fold, and the features that are
    /// known not to vary in the node.
    fn splits(
        &mut self,
        group: &SharedNode,
        totals: &[C::Totals],
    ) -> Result<(Vec<Option<Candidate>>, Arc<ConstantFeatures>)> {
        let held_out: Vec<&[u32]> = group.folds.iter().map(|fold| &fold.held_out[..]).collect();
        held_out.iter().enumerate().for_each(|(fold, samples)| self.holders.insert(fold, samples));
        let (samples, key, constants) = (&group.ids[..], group.key, &group.constants);
        let node = FoldsNode { samples, key, constants, held_out: &held_out, holders: &self.holders };
        let found = best_splits(&self.search, &self.rows, &node, totals, &mut self.columns, &mut self.scan)?;
        self.holders.clear(held_out.into_iter());
        Ok(found)
    }

    /// Makes the children of the node, and pushes the children that query rows reach on the stack.
    fn make_children(
        &mut self,
        group: &SharedNode,
        splits: &[Option<Candidate>],
        stack: &mut Vec<SharedNode>,
    ) -> Result<()> {
        let costs = Costs::new(self.search.data, self.search.params);
        let cuts = cuts_of(splits);
        let mut sides = Vec::with_capacity(cuts.len());
        for cut in &cuts {
            self.search.runtime.check_interrupt()?;
            sides.push(goes_left(&self.search, &group.ids, &cut.split, &mut self.columns)?);
        }
        let mut queries = vec![<[Vec<u32>; 2]>::default(); group.folds.len()];
        for (cut, goes_left) in cuts.iter().zip(&sides) {
            for &at in &cut.folds {
                if let Some(split) = &splits[at] {
                    queries[at] = self.route(group, &group.folds[at], split, goes_left);
                }
            }
        }
        for (at, side) in [Side::Left, Side::Right].into_iter().enumerate() {
            // For each cut, the folds that have query rows on this side.
            let mut wanted: Vec<WantedSide> = Vec::new();
            for (cut, SharedCut { folds, .. }) in cuts.iter().enumerate() {
                let folds = || folds.iter().filter(|&&fold| !queries[fold][at].is_empty());
                let n_singles = folds().filter(|&&fold| group.folds[fold].held_out.len() <= 1).count();
                if folds().next().is_some() {
                    wanted.push(WantedSide { cut, n_folds: folds().count(), n_singles });
                }
            }
            for union in unite(wanted, &sides, side == Side::Left, &costs) {
                self.search.runtime.check_interrupt()?;
                let ids = picked(&group.ids, union.holds.iter().copied());
                self.members.insert_all(&ids);
                let mut folds = Vec::new();
                for &cut in &union.cuts {
                    // The rows that the union has and this cut's child has not.
                    let mut foreign = Vec::new();
                    if union.cuts.len() > 1 {
                        let rows = union.holds.iter().zip(&sides[cut]);
                        foreign = picked(&group.ids, rows.map(|(&holds, &left)| holds && left != (side == Side::Left)));
                    }
                    for &fold in &cuts[cut].folds {
                        let queries = std::mem::take(&mut queries[fold][at]);
                        if !queries.is_empty() {
                            let NodeFold { number, held_out, .. } = &group.folds[fold];
                            let own = held_out.iter().filter(|&&id| self.members.contains(id));
                            let mut held_out: Vec<u32> = own.chain(&foreign).copied().collect();
                            #[allow(clippy::stable_sort_primitive, reason = "merges two ascending runs in O(rows)")]
                            held_out.sort();
                            held_out.dedup();
                            folds.push(NodeFold { number: *number, held_out, queries });
                        }
                    }
                }
                self.members.remove_all(&ids);
                merge_whole(&mut folds);
                let (depth, key) = (group.depth + 1, group.key.child(side));
                let node = |ids, folds| SharedNode { ids, folds, depth, key, constants: Arc::clone(&group.constants) };
                if costs.pays(union.size) {
                    stack.push(node(ids, folds));
                } else {
                    stack.extend(folds.into_iter().map(|fold| node(ids.clone(), vec![fold])));
                }
            }
        }
        Ok(())
    }

    /// Parts the query rows of a fold: the rows that go left, and the rows that go right. `goes_left` has,
    /// for each row of the node, whether it goes left.
    fn route(&self, group: &SharedNode, fold: &NodeFold, split: &Candidate, goes_left: &[bool]) -> [Vec<u32>; 2] {
        let rule = Rule::Threshold(split.threshold(self.search.data));
        let mut values = Vec::new();
        self.query.gather(split.feature, &fold.queries, &mut values);
        let missing_left = match split.missing {
            Some(side) => side == Side::Left,
            // The fold has no missing values here: they follow the heavier child, or the right one
            // if both weigh the same.
            None => {
                values.iter().any(|value| value.is_nan()) && {
                    let (mut has, mut weights) = (fold.has(), [0, 0]);
                    for (id, &left) in group.ids.iter().zip(goes_left).filter(|(id, _)| has(id)) {
                        weights[usize::from(left)] += self.search.target.weights().get(*id as usize);
                    }
                    weights[1] > weights[0]
                }
            }
        };
        let mut queries = [Vec::new(), Vec::new()];
        for (&row, &value) in fold.queries.iter().zip(&values) {
            queries[usize::from(!rule.goes_left(value, missing_left))].push(row);
        }
        queries
    }
}

/// Merges all folds that hold nothing out into one.
fn merge_whole(folds: &mut Vec<NodeFold>) {
    let whole: Vec<NodeFold> = folds.extract_if(.., |fold| fold.held_out.is_empty()).collect();
    if !whole.is_empty() {
        let queries = whole.into_iter().flat_map(|fold| fold.queries).collect();
        folds.push(NodeFold { number: None, held_out: Vec::new(), queries });
    }
}

/// The items of `ids` at whose place `is_wanted` has true.
fn picked(ids: &[u32], is_wanted: impl Iterator<Item = bool>) -> Vec<u32> {
    ids.iter().zip(is_wanted).filter(|&(_, is_wanted)| is_wanted).map(|(&id, _)| id).collect()
}

/// The cuts by which the folds are split. Folds share a cut if their splits are on the same feature
/// and treat missing values alike, and if one cut lies between the last left rank and the first
/// right rank of each fold.
fn cuts_of(splits: &[Option<Candidate>]) -> Vec<SharedCut> {
    let mut cuts: Vec<SharedCut> = Vec::new();
    for (fold, split) in splits.iter().enumerate() {
        let Some(split) = split else { continue };
        // The last rank on the left and the first one on the right of a cut for this fold, too.
        let ranks = |cut: &SharedCut| {
            let last_left = cut.split.last_left.max(split.last_left);
            let first_right = cut.split.first_right()?.min(split.first_right()?);
            (last_left < first_right).then_some((last_left, first_right))
        };
        let serves = |cut: &&mut SharedCut| {
            cut.split.feature == split.feature && cut.split.missing == split.missing && ranks(cut).is_some()
        };
        let found = cuts.iter_mut().find(serves);
        match found.and_then(|cut| ranks(cut).map(|ranks| (cut, ranks))) {
            Some((cut, (last_left, first_right))) => {
                cut.split.last_left = last_left;
                cut.split.cut = Cut::Before(first_right);
                cut.folds.push(fold);
            }
            None => cuts.push(SharedCut { split: *split, folds: vec![fold] }),
        }
    }
    cuts
}
