//! The walk from a node down its subtree, on one thread or on several. A [`Policy`] handles the nodes on the
//! way: growth records all of them, a lazy descent visits only the nodes that query rows reach.
//!
//! The walk goes on with the smaller child of a node, and the larger child waits on the stack. So
//! at most log2(n) nodes wait, however deep the tree is. The smaller child may instead become a
//! task for another thread. The subtree of a node of dense data may be walked on a copy of its rows
//! (see `copies`). Neither tasks nor copies change what the policy finds.
//!
//! A thread that waits for others, in the search of a large node or at the end of a scope, takes over
//! tasks meanwhile, on top of what it is doing. In such a task it may wait again, and so on. So a
//! thread that is [`MOST_NESTED`] tasks deep walks the next one alone, where it waits for nobody:
//! that bounds its stack, and how much scratch it holds.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::Scope;

use super::copies::Copies;
use super::expand::{Anew, Expansion, Pending};
use super::policy::{Follow, Policy};
use super::small;
use crate::criterion::{self, Criterion, Visitor};
use crate::data::{Columns, Dataset};
use crate::error::Result;
use crate::split::samples::Samples;
use crate::split::{Effort, Scratch, Search};

/// A smaller child becomes a task of its own from this many nonzeros on (sparse data), or this many
/// cells of the columns that it draws (dense data). That is about 10 us of work
/// (`benches/peers/threads.py`, `dense.py`).
const TASK_FROM_NONZEROS: usize = 256;
const TASK_FROM_CELLS: usize = 4096;

/// How many tasks a thread may have begun that wait for others, before it walks one alone.
const MOST_NESTED: usize = 4;

thread_local! {
    /// How many tasks this thread has begun and not finished.
    static NESTED: Cell<usize> = const { Cell::new(0) };
}

/// A task that this thread has begun; dropped at its end, also by a panic.
struct Nested;

impl Nested {
    /// Begins a task. Also returns how many others this thread has begun.
    fn begin() -> (Self, usize) {
        (Self, NESTED.replace(NESTED.get() + 1))
    }
}

impl Drop for Nested {
    fn drop(&mut self) {
        NESTED.set(NESTED.get() - 1);
    }
}

/// Walks subtrees with one search and one policy, and holds what the threads share.
pub struct Driver<'a, C: Criterion, P: Policy> {
    search: Search<'a, C>,
    policy: &'a P,
    /// Which subtrees may be walked on a copy of their rows; `None` if there are none.
    copies: Option<Copies>,
    n_tasks: AtomicUsize,
    state: Mutex<State<C, P::Finds>>,
}

struct State<C: Criterion, F> {
    /// Scratch that no thread uses at the moment.
    idle: Vec<Scratch<C>>,
    tasks: Vec<Result<F>>,
    effort: Effort,
}

impl<'a, C: Criterion, P: Policy> Driver<'a, C, P> {
    /// Makes a driver for subtrees of the tree of `search`.
    pub fn new(search: Search<'a, C>, policy: &'a P) -> Self {
        Self {
            copies: Copies::of(search.data, search.n_drawn(), search.params.force_copies),
            search,
            policy,
            n_tasks: AtomicUsize::new(0),
            state: Mutex::new(State { idle: Vec::new(), tasks: Vec::new(), effort: Effort::default() }),
        }
    }

    /// How much of the data the finished tasks have read.
    pub fn effort(&self) -> Effort {
        self.lock().effort
    }

    /// Walks the whole subtree of a node, on several threads if the node is large enough to be a
    /// task.
    pub fn run<'s, 'l: 's>(&'s self, root: Pending<'s, C>, load: P::Load<'l>) -> Result<P::Whole> {
        let runtime = self.search.runtime;
        self.n_tasks.store(1, Ordering::Relaxed);
        if runtime.n_threads() > 1 && self.is_a_task(&root) {
            runtime.scope(|scope| self.run_task(0, root, load, Some(scope)))?;
        } else {
            self.run_task(0, root, load, None);
        }
        let tasks = std::mem::take(&mut self.lock().tasks);
        self.policy.join(tasks.into_iter().collect::<Result<_>>()?)
    }

    /// Walks the whole subtree of a node on this thread.
    pub fn run_with(&self, root: Pending<'_, C>, load: P::Load<'_>, scratch: &mut Scratch<C>) -> Result<P::Whole> {
        self.policy.join(vec![self.walk(&self.search, 0, root, load, scratch, |node, load| Some((node, load)))?])
    }

    fn run_task<'s, 'l: 's>(&'s self, task: usize, root: Pending<'s, C>, load: P::Load<'l>, scope: Option<&Scope<'s>>) {
        let (_nested, n_others) = Nested::begin();
        let finds = if n_others < MOST_NESTED || self.search.runtime.n_threads() == 1 {
            self.find(&self.search, task, root, load, scope)
        } else {
            let serial = self.search.runtime.serial();
            self.find(&self.search.with_runtime(&serial), task, root, load, None)
        };
        self.lock().tasks.push(finds);
    }

    /// Walks the subtree of a task, except parts of it that become tasks themselves.
    fn find<'s, 'l: 's>(
        &'s self,
        search: &Search<'_, C>,
        task: usize,
        root: Pending<'s, C>,
        load: P::Load<'l>,
        scope: Option<&Scope<'s>>,
    ) -> Result<P::Finds> {
        let idle = self.lock().idle.pop();
        let mut scratch = idle.map_or_else(|| Scratch::new(search), Ok)?;
        let finds = self.walk(search, task, root, load, &mut scratch, |node, load| match scope {
            Some(scope) if self.is_a_task(&node) => {
                let new = self.n_tasks.fetch_add(1, Ordering::Relaxed);
                scope.spawn(move |scope| self.run_task(new, node, load, Some(scope)));
                None
            }
            _ => Some((node, load)),
        })?;
        let mut state = self.lock();
        state.effort += self.search.take_effort(&mut scratch);
        state.idle.push(scratch);
        Ok(finds)
    }

    /// Walks a subtree. Each smaller child is passed to `keep_or_spawn`, and left out of the walk
    /// unless `keep_or_spawn` returns it.
    fn walk<'s, 'l>(
        &self,
        search: &Search<'_, C>,
        task: usize,
        root: Pending<'s, C>,
        mut load: P::Load<'l>,
        scratch: &mut Scratch<C>,
        keep_or_spawn: impl Fn(Pending<'s, C>, P::Load<'l>) -> Option<(Pending<'s, C>, P::Load<'l>)>,
    ) -> Result<P::Finds> {
        let policy = self.policy;
        let mut finds = policy.begin(task, &mut load);
        let mut stack = vec![(root, load)];
        while let Some((node, mut load)) = stack.pop() {
            if let Some(copy) = self.copy(&node, &load) {
                let whole = walk_copy(&copy, search, &node, policy, load)?;
                policy.absorb(&mut finds, whole)?;
                continue;
            }
            let samples = node.samples.ids();
            let is_small = (2..=scratch.most_small_rows).contains(&samples.len());
            // The walk down a small subtree knows no limits of predictions, and one set of features.
            if is_small && node.limits.is_none() && node.constants.is_settled() {
                if let Some(scratch) = scratch.small.load(search, samples, &node.constants) {
                    small::walk(search, policy, &node, load, &mut finds, scratch)?;
                    continue;
                }
                if let Some(scratch) = scratch.several.load(search, samples, &node.constants) {
                    small::walk(search, policy, &node, load, &mut finds, scratch)?;
                    continue;
                }
                if let Some(scratch) = scratch.wide.load(search, samples, &node.constants) {
                    small::walk(search, policy, &node, load, &mut finds, scratch)?;
                    continue;
                }
            }
            policy.visit(search, &node.facts(search.criterion), &mut load, &mut finds)?;
            let fork = match node.expand(search, scratch)? {
                Expansion::Split(fork) => fork,
                Expansion::Leaf(leaf) => {
                    policy.finish_leaf(search, &leaf.facts(search.criterion), load, &mut finds);
                    continue;
                }
            };
            let (left_load, right_load) = match policy.follow(search, &fork.split, fork.sizes(), load) {
                Follow::Both(left, right) => (left, right),
                Follow::One(side, load) => {
                    stack.push((fork.child(side, search, scratch), load));
                    continue;
                }
            };
            let (split, left, right) = fork.children(search, scratch);
            policy.keep(split, &left_load, &mut finds);
            let left_is_small = left.samples.len() <= right.samples.len();
            let (left, right) = ((left, left_load), (right, right_load));
            let (small, large) = if left_is_small { (left, right) } else { (right, left) };
            stack.push(large);
            stack.extend(keep_or_spawn(small.0, small.1));
        }
        Ok(finds)
    }

    /// Whether the subtree of a node is large enough to be a task of its own.
    fn is_a_task(&self, node: &Pending<'_, C>) -> bool {
        match self.search.data.columns() {
            Columns::Dense(_) => node.samples.len() * self.search.n_drawn() >= TASK_FROM_CELLS,
            Columns::Sparse(_) => node.n_entries >= TASK_FROM_NONZEROS,
        }
    }

    /// Copies the rows of a node, if its subtree is to be walked on a copy.
    fn copy(&self, node: &Pending<'_, C>, load: &P::Load<'_>) -> Option<Dataset> {
        let admits = self.policy.admits_copy(self.copies.as_ref()?, node.samples.len(), load);
        if admits && !node.must_stop(&self.search) {
            self.search.data.subset(node.samples.ids(), self.search.runtime)
        } else {
            None
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<C, P::Finds>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Walks the subtree of `node` on `copy`, which holds the rows of the node in their order. A walk without the
/// copy would find, bit for bit, the same nodes.
fn walk_copy<C: Criterion, P: Policy>(
    copy: &Dataset,
    search: &Search<'_, C>,
    node: &Pending<'_, C>,
    policy: &P,
    load: P::Load<'_>,
) -> Result<P::Whole> {
    let target = search.target.subset(node.samples.ids());
    let search = search.on_copy(copy, &target);
    let on_copy = OnCopy { search, root: node.anew(), policy, load };
    criterion::visit(search.kind, &target, on_copy, search.runtime)
}

/// The walk of a subtree whose rows are a data set and a target of their own; visits the criterion
/// that is made of this target.
struct OnCopy<'a, 'l, P: Policy> {
    search: Search<'a, ()>,
    root: Anew,
    policy: &'a P,
    load: P::Load<'l>,
}

impl<P: Policy> Visitor for OnCopy<'_, '_, P> {
    type Output = P::Whole;

    fn visit<C: Criterion>(self, criterion: &C) -> Result<P::Whole> {
        let Self { search, root, policy, load } = self;
        let search = search.with_criterion(criterion);
        let n_samples = search.data.n_samples();
        let mut samples = Samples::new((0..n_samples as u32).collect(), n_samples, false);
        let samples = samples.root();
        let totals = criterion.totals(samples.ids());
        let root = Pending::begin(&search, samples, totals, root);
        Driver::new(search, policy).run(root, load)
    }
}
