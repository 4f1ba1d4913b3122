//! The lazy descent of query rows through a tree, or through one of its subtrees.
//!
//! The driver of growth walks the tree. The policy in this file takes query rows along, follows
//! only children that some query row reaches, and keeps what the leaves predict for their query
//! rows. The result does not depend on which task found a leaf.

use super::{LazyTree, Reached};
use crate::criterion::{Criterion, Visitor};
use crate::data::query::Query;
use crate::error::Result;
use crate::grow::copies::Copies;
use crate::grow::driver::Driver;
use crate::grow::expand::{Pending, Split};
use crate::grow::facts::NodeFacts;
use crate::grow::policy::{Follow, Policy};
use crate::grow::{root, samples_with};
use crate::lazy::Finds;
use crate::rng::Side;
use crate::runtime::Runtime;
use crate::split::samples::{SampleSet, Samples};
use crate::split::{Scratch, Search};

/// Tasks per thread where query rows descend one by one, so that tasks of unequal cost even out.
const TASKS_PER_THREAD: usize = 8;

/// The policy of a lazy descent: visits the nodes that some query row reaches.
pub(super) struct Descent<'a> {
    pub query: &'a dyn Query,
    /// Whether the training rows of each leaf are to be kept.
    pub rows: bool,
    /// Number of values that a leaf predicts.
    pub n_values: usize,
}

/// The load of a node in a lazy descent.
pub(super) struct Visit<'s> {
    /// The query rows that have reached the node.
    pub query_rows: SampleSet<'s>,
    /// Number of words held by the node's ancestors, and by the siblings of the node and of its
    /// ancestors as far as they are followed; see
    /// [`Visits::peak_words`](super::Visits::peak_words).
    pub held: u64,
}

impl Policy for Descent<'_> {
    type Load<'l> = Visit<'l>;
    type Finds = Finds;
    type Whole = Vec<Finds>;

    fn begin(&self, _task: usize, _load: &mut Visit<'_>) -> Finds {
        Finds::new(self.n_values, self.rows)
    }

    fn admits_copy(&self, copies: &Copies, n_samples: usize, load: &Visit<'_>) -> bool {
        // The rows of a copy have new numbers, so the training rows of a leaf could not be named.
        !self.rows && copies.admit_visits(n_samples, load.query_rows.len())
    }

    fn visit<C: Criterion>(
        &self,
        _search: &Search<'_, C>,
        node: &impl NodeFacts,
        load: &mut Visit<'_>,
        finds: &mut Finds,
    ) -> Result<()> {
        finds.leaves.visits.visit(node.samples().len(), load.held);
        Ok(())
    }

    fn finish_leaf<C: Criterion>(
        &self,
        search: &Search<'_, C>,
        leaf: &impl NodeFacts,
        load: Visit<'_>,
        finds: &mut Finds,
    ) {
        leaf.write_value(finds.add(load.query_rows.ids(), leaf.depth()));
        let Some(rows) = &mut finds.leaves.rows else { return };
        for &sample in leaf.samples() {
            rows.rows.push(sample);
            rows.weights.push(search.target.weights().get(sample as usize));
        }
        rows.ends.push(rows.rows.len());
    }

    fn follow<'l, C: Criterion>(
        &self,
        search: &Search<'_, C>,
        split: &Split,
        [n_left, n_right]: [usize; 2],
        load: Self::Load<'l>,
    ) -> Follow<Self::Load<'l>> {
        let Visit { mut query_rows, held } = load;
        let (rule, missing_left) = (split.rule(search.data), split.missing_go_left());
        let mut values = Vec::with_capacity(query_rows.len());
        self.query.gather(split.feature(), query_rows.ids(), &mut values);
        let goes_left = |value| rule.goes_left(value, missing_left);
        let n_left_rows = values.iter().filter(|&&value| goes_left(value)).count();
        let held = held + (n_left + n_right) as u64;
        if n_left_rows == 0 || n_left_rows == values.len() {
            let side = if n_left_rows == 0 { Side::Right } else { Side::Left };
            return Follow::One(side, Visit { query_rows, held });
        }
        query_rows.partition(|place, _| goes_left(values[place]));
        let (left_rows, right_rows) = query_rows.split_at(n_left_rows);
        Follow::Both(
            Visit { query_rows: left_rows, held: held + n_right as u64 },
            Visit { query_rows: right_rows, held: held + n_left as u64 },
        )
    }

    fn join(&self, mut tasks: Vec<Finds>) -> Result<Vec<Finds>> {
        // Tasks end in any order, but no two of them have a query row in common: the first query
        // row of each task gives an order that is the same in each run.
        tasks.sort_unstable_by_key(|finds| finds.query_rows.first().copied());
        Ok(tasks)
    }

    fn absorb(&self, finds: &mut Finds, whole: Vec<Finds>) -> Result<()> {
        for more in whole {
            finds.append(more);
        }
        Ok(())
    }
}

/// Walks the subtree of `node` with some query rows, on this thread. Returns the leaves that the
/// query rows reach.
pub(crate) fn descend<C: Criterion>(
    search: &Search<'_, C>,
    query: &dyn Query,
    node: Pending<'_, C>,
    query_rows: SampleSet<'_>,
    scratch: &mut Scratch<C>,
) -> Result<Vec<Finds>> {
    let policy = Descent { query, rows: false, n_values: search.criterion.n_values() };
    Driver::new(*search, &policy).run_with(node, Visit { query_rows, held: 0 }, scratch)
}

/// A question to a whole tree: which leaves do the query rows reach?
pub(super) struct Question<'a> {
    pub tree: LazyTree<'a>,
    pub query: &'a dyn Query,
    /// Whether query rows descend one at a time.
    pub is_single: bool,
    /// Whether the training rows of each leaf are to be kept.
    pub rows: bool,
    pub runtime: &'a Runtime<'a>,
}

impl Visitor for Question<'_> {
    type Output = Reached;

    fn visit<C: Criterion>(self, criterion: &C) -> Result<Reached> {
        let n_query = self.query.shape().0;
        let mut reached = Reached::new(n_query, self.rows)?;
        let all: Vec<u32> = (0..n_query as u32).collect();
        let n_threads = self.runtime.n_threads();
        let found = if !self.is_single || n_threads == 1 || n_query <= 1 {
            let batch_len = if self.is_single { 1 } else { n_query.max(1) };
            self.ask(criterion, all.chunks(batch_len), self.runtime)?
        } else {
            let tasks = all.chunks(n_query.div_ceil(TASKS_PER_THREAD * n_threads)).collect();
            let run = |rows: &[u32]| self.ask(criterion, rows.chunks(1), &self.runtime.serial());
            self.runtime.map(tasks, run)?.into_iter().flatten().collect()
        };
        for finds in found {
            reached.append(finds);
        }
        Ok(reached)
    }
}

impl Question<'_> {
    /// Descends from the root with each batch of query rows, one batch after the other.
    fn ask<'b, C: Criterion>(
        &self,
        criterion: &C,
        batches: impl Iterator<Item = &'b [u32]>,
        runtime: &Runtime<'_>,
    ) -> Result<Vec<Finds>> {
        let LazyTree { data, target, params, number } = self.tree;
        let policy = Descent { query: self.query, rows: self.rows, n_values: criterion.n_values() };
        let mut driver = None;
        let mut found = Vec::new();
        for batch in batches {
            let mut samples = samples_with(data, target.weighted_samples());
            let (search, node) = root(data, target, criterion, params, number, runtime, samples.root())?;
            let driver: &Driver<'_, C, _> = driver.get_or_insert_with(|| Driver::new(search, &policy));
            let mut query_rows = Samples::new(batch.to_vec(), self.query.shape().0, false);
            found.extend(driver.run(node, Visit { query_rows: query_rows.root(), held: 0 })?);
        }
        Ok(found)
    }
}
