//! One tree of several folds at once.
//!
//! All folds begin with one root: the rows of all of them, of which each fold holds a few out itself. Where they split alike
//! they stay together, one search for all (`split::folds`); where they differ each group goes on with the rows of its own
//! children; and a fold that is left alone goes on as a lazy tree. Only query rows make a fold worth following: a child that
//! none of a fold's query rows reaches is not visited for it.
//!
//! Folds that hold nothing out of a node have one and the same split there and count as one, however many they are. So with
//! one row left out per fold a node costs what its own rows make it cost.

use std::sync::Arc;

use crate::categories::Rule;
use crate::criterion::{self, Criterion, Visitor};
use crate::data::query::Query;
use crate::data::{Dataset, Target};
use crate::error::Result;
use crate::expand::{Pending, must_stop};
use crate::grow::{check_lengths, search_of};
use crate::lazy::{Finds, Reached, descend};
use crate::params::ValidTreeParams;
use crate::rng::{NodeKey, Side};
use crate::runtime::Runtime;
use crate::samples::Samples;
use crate::split::folds::{Contest, FoldRows, FoldScratch, FoldsNode, NOBODY, Verdict, best_among, best_splits};
use crate::split::{Candidate, ConstantFeatures, Scratch, Search};

/// Folds of one data set.
#[derive(Debug, Clone, Copy)]
pub struct SharedFolds<'a> {
    /// Their number.
    pub n_folds: usize,
    /// For each training row, the fold that holds it out, or [`NOBODY`].
    pub owners: &'a [u32],
    /// For each query row, the fold that is asked about it.
    pub askers: &'a [u32],
}

/// What tree number `number` of each fold predicts for its query rows. The target is that of the rows of all folds. Nothing if
/// the folds have nothing to share with these parameters, or one of them has no rows.
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
    let Some(rows) = FoldRows::new(data, target, params, folds.owners) else { return Ok(None) };
    let shared = Shared { data, target, params, number, folds, query, runtime, rows };
    criterion::visit(params.criterion, target, shared)
}

struct Shared<'a> {
    data: &'a Dataset,
    target: &'a Target,
    params: &'a ValidTreeParams,
    number: u64,
    folds: SharedFolds<'a>,
    query: &'a dyn Query,
    runtime: &'a Runtime<'a>,
    rows: FoldRows,
}

impl Visitor for Shared<'_> {
    type Output = Option<Reached>;

    fn visit<C: Criterion>(self, criterion: &C) -> Result<Option<Reached>> {
        let Self { data, target, params, number, folds, query, runtime, rows } = self;
        let mut search = search_of(data, target, criterion, params, runtime)?;
        let ids = target.weighted_samples();
        let mut weights = vec![0u64; folds.n_folds];
        for &id in &ids {
            if let Some(weight) = weights.get_mut(folds.owners[id as usize] as usize) {
                *weight += target.weights().get(id as usize);
            }
        }
        search.total_weight = criterion.weight(&criterion.totals(&ids));
        if weights.contains(&search.total_weight) {
            return Ok(None);
        }
        let mut descent = Descent {
            scratch: Scratch::new(&search),
            folds_scratch: FoldScratch::new(data),
            search,
            target,
            query,
            folds,
            rows,
            held_out: weights,
            lanes: vec![NOBODY; folds.n_folds],
            finds: Finds::new(criterion.n_values(), false),
        };
        let root = Group {
            ids,
            queries: (0..query.shape().0 as u32).collect(),
            depth: 0,
            key: NodeKey::root(params.seed, number),
            constants: Arc::new(ConstantFeatures::none(data.n_features())),
        };
        descent.run(root)?;
        let mut reached = Reached::new(query.shape().0, false);
        reached.append(descent.finds);
        Ok(Some(reached))
    }
}

/// A node of several folds, which are those that the query rows ask.
struct Group {
    /// The rows of all of them.
    ids: Vec<u32>,
    queries: Vec<u32>,
    depth: u64,
    key: NodeKey,
    constants: Arc<ConstantFeatures>,
}

/// Folds of a group with the same rows in the node: one that holds some out, or all that hold none.
struct Lane<C: Criterion> {
    /// The fold that holds rows out.
    fold: Option<u32>,
    held_out: Vec<u32>,
    queries: Vec<u32>,
    totals: C::Totals,
}

/// A split of some lanes, and the ranks between which it is the same for all of them.
struct Common {
    candidate: Candidate,
    lanes: Vec<usize>,
    last_left: u32,
    first_right: u32,
}

struct Descent<'a, C: Criterion> {
    search: Search<'a, C>,
    target: &'a Target,
    query: &'a dyn Query,
    folds: SharedFolds<'a>,
    rows: FoldRows,
    /// By fold, the weight that it holds out of the tree.
    held_out: Vec<u64>,
    /// By fold, its lane in the node that is visited.
    lanes: Vec<u32>,
    finds: Finds,
    scratch: Scratch<C>,
    folds_scratch: FoldScratch,
}

impl<C: Criterion> Descent<'_, C> {
    fn run(&mut self, root: Group) -> Result<()> {
        let mut stack = vec![root];
        while let Some(group) = stack.pop() {
            self.search.runtime.check_interrupt()?;
            self.visit(group, &mut stack)?;
        }
        Ok(())
    }

    fn visit(&mut self, group: Group, stack: &mut Vec<Group>) -> Result<()> {
        self.finds.visits.visit(group.ids.len(), 0);
        let (totals, lanes) = self.lanes_of(&group);
        let mut live = Vec::new();
        for lane in lanes {
            let n_samples = group.ids.len() - lane.held_out.len();
            if must_stop(&self.search, group.depth, n_samples, &lane.totals) {
                self.settle(&group, &lane);
            } else {
                live.push(lane);
            }
        }
        if live.len() < 2 {
            return live.into_iter().try_for_each(|lane| self.go_alone(&group, &lane));
        }
        let (splits, constants) = self.splits(&group, &totals, &live)?;
        for (lane, fate) in splits.iter().enumerate() {
            match fate {
                Fate::Leaf => self.settle(&group, &live[lane]),
                Fate::Alone => self.go_alone(&group, &live[lane])?,
                Fate::Split(_) => {}
            }
        }
        for common in agree(&splits) {
            self.part(&group, &live, &splits, common, &constants, stack);
        }
        Ok(())
    }

    /// The folds that are asked, and the statistics of all rows.
    fn lanes_of(&mut self, group: &Group) -> (C::Totals, Vec<Lane<C>>) {
        let criterion = self.search.criterion;
        let all = criterion.totals(&group.ids);
        let mut queries = group.queries.clone();
        let asker = |&row: &u32| self.folds.askers[row as usize];
        queries.sort_by_key(asker);
        let mut members: Vec<(u32, &[u32], Vec<u32>)> = Vec::new();
        for rows in queries.chunk_by(|a, b| asker(a) == asker(b)) {
            self.lanes[asker(&rows[0]) as usize] = members.len() as u32;
            members.push((asker(&rows[0]), rows, Vec::new()));
        }
        for &id in &group.ids {
            let lane = self.lanes.get(self.rows.owner(id) as usize).map_or(usize::MAX, |&lane| lane as usize);
            if let Some((_, _, held_out)) = members.get_mut(lane) {
                held_out.push(id);
            }
        }
        let mut lanes: Vec<Lane<C>> = Vec::new();
        let mut whole: Vec<u32> = Vec::new();
        for (fold, rows, held_out) in members {
            self.lanes[fold as usize] = NOBODY;
            if held_out.is_empty() {
                whole.extend_from_slice(rows);
            } else {
                let totals = criterion.minus(&all, &criterion.totals(&held_out));
                lanes.push(Lane { fold: Some(fold), held_out, queries: rows.to_vec(), totals });
            }
        }
        if !whole.is_empty() {
            let totals = criterion.totals(&group.ids);
            lanes.push(Lane { fold: None, held_out: Vec::new(), queries: whole, totals });
        }
        (all, lanes)
    }

    /// The rows of a lane.
    fn ids_of(&self, group: &Group, lane: &Lane<C>) -> Vec<u32> {
        let is_in = |&id: &u32| lane.fold.is_none_or(|fold| self.rows.owner(id) != fold);
        group.ids.iter().copied().filter(is_in).collect()
    }

    /// Gives the value of a leaf to the query rows.
    fn settle(&mut self, group: &Group, lane: &Lane<C>) {
        let ids = self.ids_of(group, lane);
        self.search.criterion.write_value(&lane.totals, &ids, self.finds.add(&lane.queries, group.depth));
    }

    /// Goes on with a lane as a lazy tree.
    fn go_alone(&mut self, group: &Group, lane: &Lane<C>) -> Result<()> {
        let Search { data, criterion, params, total_weight, max_weight, min_weight_leaf, runtime, level } = self.search;
        let held_out = lane.fold.map_or(0, |fold| self.held_out[fold as usize]);
        let total_weight = total_weight - held_out;
        let search = Search { data, criterion, params, total_weight, max_weight, min_weight_leaf, runtime, level };
        let is_sparse = !matches!(data.columns(), crate::data::Columns::Dense(_));
        let mut samples = Samples::new(self.ids_of(group, lane), data.n_samples(), is_sparse);
        let samples = samples.root();
        let node = Pending {
            totals: criterion.totals(samples.ids()),
            n_entries: search.n_entries(samples.ids()),
            samples,
            depth: group.depth,
            key: group.key,
            constants: Arc::clone(&group.constants),
            known: None,
            limits: None,
        };
        let mut query_rows = lane.queries.clone();
        query_rows.sort_unstable();
        let mut query_rows = Samples::new(query_rows, self.query.shape().0, false);
        let found = descend(search, self.target, self.query, node, query_rows.root(), &mut self.scratch)?;
        self.finds.append(found);
        Ok(())
    }

    /// What becomes of each lane, and the features that are known not to vary.
    fn splits(&mut self, group: &Group, _all: &C::Totals, live: &[Lane<C>]) -> Result<(Vec<Fate>, Arc<ConstantFeatures>)> {
        let n_classes = self.rows.n_classes();
        let mut counts = vec![0; n_classes];
        self.rows.count(&group.ids, &mut counts);
        let mut held_out = vec![0; n_classes * live.len()];
        for (number, (lane, counts)) in live.iter().zip(held_out.chunks_exact_mut(n_classes)).enumerate() {
            self.rows.count(&lane.held_out, counts);
            if let Some(fold) = lane.fold {
                self.lanes[fold as usize] = number as u32;
            }
        }
        let n_held_out: Vec<usize> = live.iter().map(|lane| lane.held_out.len()).collect();
        let node = FoldsNode {
            n_held_out: &n_held_out,
            samples: &group.ids,
            key: group.key,
            constants: &group.constants,
            counts: &counts,
            held_out: &held_out,
            lanes: &self.lanes,
            n_lanes: live.len(),
        };
        let (verdicts, constants) = best_splits(&self.search, &self.rows, &node, &mut self.folds_scratch)?;
        let mut contests: Vec<Contest<'_, C>> = Vec::new();
        for (lane, verdict) in verdicts.iter().enumerate() {
            if let Verdict::Among(features) = verdict {
                contests.push(Contest { lane, totals: &live[lane].totals, features });
            }
        }
        let (folds, scratch) = (&mut self.folds_scratch, &mut self.scratch);
        let mut found = best_among(&self.search, &self.rows, &node, &contests, folds, scratch)?.into_iter();
        let mut fates = Vec::with_capacity(live.len());
        for verdict in &verdicts {
            let split = match verdict {
                Verdict::Split(candidate) => Some(*candidate),
                Verdict::Constant => None,
                Verdict::Among(_) => found.next().flatten(),
            };
            fates.push(match split {
                Some(candidate) => Fate::Split(candidate),
                None if self.search.draws_all() => Fate::Leaf,
                None => Fate::Alone,
            });
        }
        for fold in live.iter().filter_map(|lane| lane.fold) {
            self.lanes[fold as usize] = NOBODY;
        }
        Ok((fates, constants))
    }

    /// Makes the children of folds that split alike.
    fn part(
        &mut self,
        group: &Group,
        live: &[Lane<C>],
        splits: &[Fate],
        common: Common,
        constants: &Arc<ConstantFeatures>,
        stack: &mut Vec<Group>,
    ) {
        let data = self.search.data;
        let Common { candidate, lanes, last_left, .. } = common;
        let feature = candidate.feature;
        let missing_rank = data.missing_rank(feature);
        let ids = match &lanes[..] {
            &[only] => &self.ids_of(group, &live[only]),
            _ => &group.ids,
        };
        let goes_left = |&id: &u32| {
            let rank = data.rank(feature, id);
            if Some(rank) == missing_rank { candidate.missing_go_left() } else { rank <= last_left }
        };
        let (left_ids, right_ids): (Vec<u32>, Vec<u32>) = ids.iter().partition(|id| goes_left(id));
        let mut queries = [Vec::new(), Vec::new()];
        let mut values = Vec::new();
        for &lane in &lanes {
            let Fate::Split(candidate) = &splits[lane] else { continue };
            let lane = &live[lane];
            let rule = Rule::Threshold(candidate.threshold(data));
            self.query.gather(feature, &lane.queries, &mut values);
            let missing_left = match candidate.missing {
                Some(side) => side == Side::Left,
                None => values.iter().any(|value| value.is_nan()) && {
                    let is_in = |id: &&u32| lane.fold.is_none_or(|fold| self.rows.owner(**id) != fold);
                    let weight = |ids: &[u32]| -> u64 {
                        ids.iter().filter(is_in).map(|&id| self.target.weights().get(id as usize)).sum()
                    };
                    weight(&left_ids) > weight(&right_ids)
                },
            };
            for (&row, &value) in lane.queries.iter().zip(&values) {
                queries[usize::from(!rule.goes_left(value, missing_left))].push(row);
            }
        }
        let [left_queries, right_queries] = queries;
        for (ids, queries, side) in [(left_ids, left_queries, Side::Left), (right_ids, right_queries, Side::Right)] {
            if !queries.is_empty() {
                let (depth, key) = (group.depth + 1, group.key.child(side));
                stack.push(Group { ids, queries, depth, key, constants: Arc::clone(constants) });
            }
        }
    }
}

/// What becomes of a lane.
enum Fate {
    Leaf,
    /// It is to be searched on its own.
    Alone,
    Split(Candidate),
}

/// Groups lanes that split alike: where one cut of all rows gives each its own.
fn agree(fates: &[Fate]) -> Vec<Common> {
    let mut found: Vec<Common> = Vec::new();
    for (lane, fate) in fates.iter().enumerate() {
        let Fate::Split(candidate) = fate else { continue };
        let (last_left, first_right) = candidate.ranks();
        let fits = |common: &&mut Common| {
            common.candidate.feature == candidate.feature
                && common.candidate.missing == candidate.missing
                && common.last_left.max(last_left) < common.first_right.min(first_right)
        };
        match found.iter_mut().find(fits) {
            Some(common) => {
                common.last_left = common.last_left.max(last_left);
                common.first_right = common.first_right.min(first_right);
                common.lanes.push(lane);
            }
            None => found.push(Common { candidate: *candidate, lanes: vec![lane], last_left, first_right }),
        }
    }
    found
}
