//! The lazy descent of query rows through a tree, or through one of its subtrees.
//!
//! Of two children that are both reached the larger waits, and the smaller may become a task for another thread, as in
//! [`grow`](crate::grow). Nothing is prepared for a child that no query row reaches. Leaves are values of their own: which task
//! found them does not show.
//!
//! Scratch of sparse searches knows the rows of some pending nodes, and wants the smaller of two children first. A child
//! that is dropped, or goes to another thread, is forgotten at once; then the rule holds for whatever remains.

use std::sync::{Mutex, PoisonError};

use rayon::Scope;

use super::Finds;
use super::whole::OnCopy;
use crate::criterion::Criterion;
use crate::data::query::Query;
use crate::data::{Dataset, Target};
use crate::error::Result;
use crate::grow::copies::{Copies, on_copy};
use crate::grow::expand::{Expansion, Leaf, Pending};
use crate::grow::is_a_task;
use crate::rng::Side;
use crate::split::samples::SampleSet;
use crate::split::{Scratch, Search};

/// A node with the query rows that have reached it.
pub(super) struct Visit<'s, C: Criterion> {
    pub node: Pending<'s, C>,
    pub query_rows: SampleSet<'s>,
    /// Words that the nodes above and beside it hold.
    pub held: u64,
}

/// What query rows find below a node, on one thread. The node has taken nothing over.
pub(crate) fn descend<C: Criterion>(
    search: Search<'_, C>,
    target: &Target,
    query: &dyn Query,
    node: Pending<'_, C>,
    query_rows: SampleSet<'_>,
    scratch: &mut Scratch<C>,
) -> Result<Finds> {
    let descent = Descent::new(search, target, query, false);
    descent.run_with(Visit { node, query_rows, held: 0 }, scratch, None)
}

/// What the threads share.
pub(super) struct Descent<'a, C: Criterion> {
    pub search: Search<'a, C>,
    pub target: &'a Target,
    pub query: &'a dyn Query,
    /// Whether the training rows of the leaves are wanted.
    pub rows: bool,
    copies: Option<Copies>,
    state: Mutex<State<C>>,
}

struct State<C: Criterion> {
    /// Scratch that no thread uses.
    idle: Vec<Scratch<C>>,
    finds: Vec<Result<Finds>>,
}

impl<'a, C: Criterion> Descent<'a, C> {
    pub fn new(search: Search<'a, C>, target: &'a Target, query: &'a dyn Query, rows: bool) -> Self {
        // Where rows have new numbers nobody could say which they are.
        let copies = if rows { None } else { Copies::of(search.data, search.n_drawn(), search.params.force_copies) };
        Self { search, target, query, rows, copies, state: Mutex::new(State { idle: Vec::new(), finds: Vec::new() }) }
    }

    /// Visits what is reached below a node, on several threads if it is large.
    pub fn run<'s>(&'s self, root: Visit<'s, C>) -> Result<Vec<Finds>> {
        let runtime = self.search.runtime;
        if runtime.n_threads() > 1 && is_a_task(&self.search, &root.node) {
            runtime.scope(|scope| self.run_task(root, Some(scope)))?;
        } else {
            self.run_task(root, None);
        }
        let mut found = std::mem::take(&mut self.lock().finds).into_iter().collect::<Result<Vec<_>>>()?;
        // Tasks end in any order; no two have a query row in common.
        found.sort_unstable_by_key(Finds::first_row);
        Ok(found)
    }

    fn run_task<'s>(&'s self, root: Visit<'s, C>, scope: Option<&Scope<'s>>) {
        let idle = self.lock().idle.pop();
        let mut scratch = idle.unwrap_or_else(|| Scratch::new(&self.search));
        let finds = self.run_with(root, &mut scratch, scope);
        let mut state = self.lock();
        if finds.is_ok() {
            state.idle.push(scratch);
        }
        state.finds.push(finds);
    }

    fn run_with<'s>(
        &'s self,
        root: Visit<'s, C>,
        scratch: &mut Scratch<C>,
        scope: Option<&Scope<'s>>,
    ) -> Result<Finds> {
        let search = &self.search;
        search.adopt(root.node.known.as_ref(), root.node.samples.ids(), scratch);
        let mut finds = Finds::new(search.criterion.n_values(), self.rows);
        let mut values = Vec::new();
        let mut stack = vec![root];
        while let Some(Visit { node, mut query_rows, held }) = stack.pop() {
            if let Some(copy) = self.copy(&node, query_rows.len()) {
                let descent = OnCopy { query: self.query, query_rows, held };
                for more in on_copy(&copy, search, self.target, &node, descent)? {
                    finds.append(more);
                }
                continue;
            }
            let (n_rows, depth) = (node.samples.len(), node.depth);
            finds.visits.visit(n_rows, held);
            let fork = match node.expand(search, scratch)? {
                Expansion::Split(fork) => fork,
                Expansion::Leaf(leaf) => {
                    self.settle(&leaf, query_rows.ids(), depth, &mut finds);
                    continue;
                }
            };
            let (rule, missing_left) = (fork.split.rule(search.data), fork.split.missing_go_left());
            let goes_left = |value| rule.goes_left(value, missing_left);
            self.query.gather(fork.split.feature(), query_rows.ids(), &mut values);
            let n_left = values.iter().filter(|&&value| goes_left(value)).count();
            let held = held + n_rows as u64;
            if n_left == 0 || n_left == values.len() {
                let side = if n_left == 0 { Side::Right } else { Side::Left };
                stack.push(Visit { node: fork.child(side, search, scratch), query_rows, held });
                continue;
            }
            let mut next = values.iter();
            query_rows.partition(|_| next.next().is_some_and(|&value| goes_left(value)));
            let (left_rows, right_rows) = query_rows.split_at(n_left);
            let (_, left, right) = fork.children(search, scratch);
            let (n_left, n_right) = (left.samples.len() as u64, right.samples.len() as u64);
            let left = Visit { node: left, query_rows: left_rows, held: held + n_right };
            let right = Visit { node: right, query_rows: right_rows, held: held + n_left };
            let (small, large) = if n_left <= n_right { (left, right) } else { (right, left) };
            stack.push(large);
            match scope {
                Some(scope) if is_a_task(search, &small.node) => {
                    search.forget(small.node.known.as_ref(), small.node.samples.ids(), scratch);
                    scope.spawn(move |scope| self.run_task(small, Some(scope)));
                }
                _ => stack.push(small),
            }
        }
        Ok(finds)
    }

    /// Gives the value of a leaf to its query rows.
    fn settle(&self, leaf: &Leaf<'_, C>, query_rows: &[u32], depth: u64, finds: &mut Finds) {
        let criterion = self.search.criterion;
        leaf.write_value(criterion, finds.add(query_rows, depth));
        let Some(rows) = &mut finds.rows else { return };
        let total = criterion.weight(&leaf.totals) as f64;
        for &sample in leaf.samples.ids() {
            rows.rows.push(sample);
            rows.shares.push(self.target.weights().get(sample as usize) as f64 / total);
        }
        rows.ends.push(rows.rows.len());
    }

    /// A copy of a node's rows, if the descent is to go on in one.
    fn copy(&self, node: &Pending<'_, C>, n_query: usize) -> Option<Dataset> {
        let admits = self.copies.as_ref()?.admit_visits(node.samples.len(), n_query) && !node.must_stop(&self.search);
        if admits { self.search.data.subset(node.samples.ids()) } else { None }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State<C>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
