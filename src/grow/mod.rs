//! Eager growth, depth first, with an explicit stack; large subtrees on threads of their own. With a limited number of
//! leaves, see `best_first`.
//!
//! Of two children the larger waits: then at most log2(n) nodes are pending however deep the tree is. The smaller may
//! instead become a task for another thread, which grows a part of the tree; parts are joined at the end. Node ids do
//! not depend on any of this (see `tree`).

mod best_first;
pub(crate) mod copies;
pub mod expand;
mod part;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::Scope;

use crate::criterion;
use crate::criterion::{Criterion, Visitor};
use crate::data::{Columns, Dataset, Target};
use crate::error::{Error, Result};
use crate::params::ValidTreeParams;
use crate::runtime::Runtime;
use crate::simd::Level;
use crate::split::samples::Samples;
use crate::split::{Effort, Scratch, Search};
use crate::tree::Tree;
use copies::{Copies, Subtree, on_copy};
use expand::{Expansion, Pending};
use part::Part;

/// A smaller child with this many nonzeros, or this many cells of columns that it draws, is a task of its own: some 10 us of
/// work (`benches/peers/threads.py`, `dense.py`).
const TASK_FROM_NONZEROS: usize = 256;
const TASK_FROM_CELLS: usize = 4096;

/// Grows tree number `tree` of the parameters' seed over all rows with a weight above 0.
///
/// The tree is exact: every node takes the best split over the features it draws and all their thresholds. It is a
/// pure function of data, target, parameters and number; threads, storage and kernels do not show. It is pruned if the
/// parameters say so.
pub fn grow(
    data: &Dataset,
    target: &Target,
    params: &ValidTreeParams,
    tree: u64,
    runtime: &Runtime<'_>,
) -> Result<Tree> {
    Ok(grow_counted(data, target, params, tree, runtime)?.0)
}

/// As [`grow`], and how much of the data was read. On several threads the count varies a little from run to run, the
/// tree does not.
pub fn grow_counted(
    data: &Dataset,
    target: &Target,
    params: &ValidTreeParams,
    tree: u64,
    runtime: &Runtime<'_>,
) -> Result<(Tree, Effort)> {
    check_lengths(data, target)?;
    let (grown, effort) = criterion::visit(params.criterion, target, Whole { data, target, params, tree, runtime })?;
    Ok((if params.ccp_alpha > 0.0 { grown.pruned(params.ccp_alpha)? } else { grown }, effort))
}

/// Whether rows and targets are as many.
pub(crate) fn check_lengths(data: &Dataset, target: &Target) -> Result<()> {
    if data.n_samples() != target.n_samples() {
        return Err(Error::ShapeMismatch {
            what: "y",
            expected: format!("{} samples, as many as X", data.n_samples()),
            got: format!("{} samples", target.n_samples()),
        });
    }
    Ok(())
}

/// The rows of a tree, all in its root.
pub(crate) fn samples_of(data: &Dataset, target: &Target) -> Samples {
    samples_with(data, target.weighted_samples())
}

/// Some rows, ascending, in one node.
pub(crate) fn samples_with(data: &Dataset, ids: Vec<u32>) -> Samples {
    let is_sparse = !matches!(data.columns(), Columns::Dense(_));
    Samples::new(ids, data.n_samples(), is_sparse)
}

/// What the searches of a tree share. Its weights are known when there is a root, see [`weigh`].
pub(crate) fn search_of<'a, C: Criterion>(
    data: &'a Dataset,
    target: &Target,
    criterion: &'a C,
    params: &'a ValidTreeParams,
    runtime: &'a Runtime<'a>,
) -> Result<Search<'a, C>> {
    if params.monotonic_cst.is_some() && criterion.n_means() == 0 {
        return Err(Error::InvalidArgument {
            name: "monotonic_cst",
            got: "a target of several classes or of several outputs of classes".into(),
            expected: "None unless the target is numbers or two classes".into(),
        });
    }
    let is_constrained = |&feature: &u32| data.is_categorical(feature) && params.constraint(feature) != 0;
    if data.has_categories()
        && let Some(feature) = (0..data.n_features() as u32).find(is_constrained)
    {
        return Err(Error::InvalidArgument {
            name: "monotonic_cst",
            got: format!("a constraint on feature {feature}, which is categorical"),
            expected: "0 for categorical features".into(),
        });
    }
    let max_weight = target.weights().max();
    let level = params.force_level.unwrap_or_else(Level::widest);
    Ok(Search { data, criterion, params, total_weight: 0, max_weight, min_weight_leaf: 0.0, runtime, level })
}

/// Tells the searches of a tree what its root weighs.
pub(crate) fn weigh<C: Criterion>(search: &mut Search<'_, C>, root: &Pending<'_, C>) {
    search.total_weight = search.criterion.weight(&root.totals);
    search.min_weight_leaf = search.params.min_weight_fraction_leaf * search.total_weight as f64;
}

/// Whether the subtree of a node is worth a task of its own.
pub(crate) fn is_a_task<C: Criterion>(search: &Search<'_, C>, node: &Pending<'_, C>) -> bool {
    match search.data.columns() {
        Columns::Dense(_) => node.samples.len() * search.n_drawn() >= TASK_FROM_CELLS,
        Columns::Sparse(_) => node.n_entries >= TASK_FROM_NONZEROS,
    }
}

struct Whole<'a> {
    data: &'a Dataset,
    target: &'a Target,
    params: &'a ValidTreeParams,
    tree: u64,
    runtime: &'a Runtime<'a>,
}

impl Visitor for Whole<'_> {
    type Output = (Tree, Effort);

    fn visit<C: Criterion>(self, criterion: &C) -> Result<Self::Output> {
        let Self { data, target, params, tree, runtime } = self;
        let mut samples = samples_of(data, target);
        let mut search = search_of(data, target, criterion, params, runtime)?;
        let root = Pending::root(&search, samples.root(), tree);
        weigh(&mut search, &root);
        let (whole, effort) = if let Some(max_leaf_nodes) = params.max_leaf_nodes {
            best_first::grow(&search, target, root, max_leaf_nodes)?
        } else {
            let growth = Growth::new(search, target);
            let whole = growth.grow_all(root)?;
            let effort = growth.lock().effort;
            (whole, effort)
        };
        Ok((whole.finish(data, target.n_classes())?, effort))
    }
}

/// A subtree on a copy of its rows.
struct OnCopy;

impl Subtree for OnCopy {
    type Output = Part;

    fn grow<C: Criterion>(self, search: Search<'_, C>, target: &Target, root: Pending<'_, C>) -> Result<Part> {
        Growth::new(search, target).grow_all(root)
    }
}

/// The node that a part hangs on.
#[derive(Clone, Copy)]
struct Link {
    part: usize,
    node: usize,
    is_left: bool,
}

/// What the threads share.
struct Growth<'a, C: Criterion> {
    search: Search<'a, C>,
    target: &'a Target,
    /// Which subtrees are grown on a copy of their rows, if any.
    copies: Option<Copies>,
    n_parts: AtomicUsize,
    state: Mutex<State<C>>,
}

struct State<C: Criterion> {
    /// Scratch that no thread uses.
    idle: Vec<Scratch<C>>,
    parts: Vec<(usize, Option<Link>, Result<Part>)>,
    effort: Effort,
}

impl<'a, C: Criterion> Growth<'a, C> {
    fn new(search: Search<'a, C>, target: &'a Target) -> Self {
        Self {
            copies: Copies::of(search.data, search.n_drawn(), search.params.force_copies),
            search,
            target,
            n_parts: AtomicUsize::new(1),
            state: Mutex::new(State { idle: Vec::new(), parts: Vec::new(), effort: Effort::default() }),
        }
    }

    /// Grows the whole subtree of `root`, on several threads if it is large.
    fn grow_all<'s>(&'s self, root: Pending<'s, C>) -> Result<Part> {
        let runtime = self.search.runtime;
        if runtime.n_threads() > 1 && is_a_task(&self.search, &root) {
            runtime.scope(|scope| self.grow_part(0, None, root, Some(scope)))?;
        } else {
            self.grow_part(0, None, root, None);
        }
        let parts = std::mem::take(&mut self.lock().parts);
        let mut parts = parts.into_iter().map(|(id, link, part)| Ok((id, link, part?))).collect::<Result<Vec<_>>>()?;
        // A part comes after the one it hangs on.
        parts.sort_unstable_by_key(|part| part.0);
        let mut whole = Part::new(self.search.criterion.n_values());
        let mut offsets = Vec::with_capacity(parts.len());
        for (_, link, part) in parts {
            let offset = whole.append(part)?;
            if let Some(Link { part, node, is_left }) = link {
                let parent: usize = offsets[part];
                whole.nodes.link(parent + node, is_left, offset);
            }
            offsets.push(offset);
        }
        Ok(whole)
    }

    /// Grows the part number `id` of the tree from `root` down.
    fn grow_part<'s>(&'s self, id: usize, link: Option<Link>, root: Pending<'s, C>, scope: Option<&Scope<'s>>) {
        let idle = self.lock().idle.pop();
        let mut scratch = idle.unwrap_or_else(|| Scratch::new(&self.search));
        let part = self.grow_with(id, root, &mut scratch, scope);
        let mut state = self.lock();
        state.effort += self.search.take_effort(&mut scratch);
        if part.is_ok() {
            state.idle.push(scratch);
        }
        state.parts.push((id, link, part));
    }

    fn grow_with<'s>(
        &'s self,
        part: usize,
        root: Pending<'s, C>,
        scratch: &mut Scratch<C>,
        scope: Option<&Scope<'s>>,
    ) -> Result<Part> {
        self.search.adopt(root.known.as_ref(), root.samples.ids(), scratch);
        let mut grown = Part::new(self.search.criterion.n_values());
        // (parent and whether it is the left child, node)
        let mut stack = vec![(None, root)];
        while let Some((parent, node)) = stack.pop() {
            if let Some(copy) = self.copy(&node) {
                let id = grown.append(on_copy(&copy, &self.search, self.target, &node, OnCopy)?)?;
                if let Some((parent, is_left)) = parent {
                    grown.nodes.link(parent, is_left, id);
                }
                continue;
            }
            let id = grown.add(&self.search, self.target, &node, parent)?;
            if let Expansion::Split(fork) = node.expand(&self.search, scratch)? {
                let (split, left, right) = fork.children(&self.search, scratch);
                grown.splits.push((id, split));
                let left_is_small = left.samples.len() <= right.samples.len();
                let (small, large) = if left_is_small { (left, right) } else { (right, left) };
                stack.push((Some((id, !left_is_small)), large));
                match scope {
                    Some(scope) if is_a_task(&self.search, &small) => {
                        self.search.forget(small.known.as_ref(), small.samples.ids(), scratch);
                        let link = Link { part, node: id, is_left: left_is_small };
                        let new = self.n_parts.fetch_add(1, Ordering::Relaxed);
                        scope.spawn(move |scope| self.grow_part(new, Some(link), small, Some(scope)));
                    }
                    _ => stack.push((Some((id, left_is_small)), small)),
                }
            }
        }
        Ok(grown)
    }

    /// A copy of a node's rows, if its subtree is to be grown on one.
    fn copy(&self, node: &Pending<'_, C>) -> Option<Dataset> {
        let admits = self.copies.as_ref()?.admit(node.samples.len()) && !node.must_stop(&self.search);
        if admits { self.search.data.subset(node.samples.ids()) } else { None }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State<C>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use ndarray::Array2;

    use super::*;
    use crate::params::{CriterionKind, MaxFeatures, TreeParams};

    #[test]
    fn large_nodes_may_draw_known_constants_only() {
        // Column 0 splits once. The root may find column 1 constant, and its children then draw nothing else at first;
        // they are large enough for several threads.
        let n = 100_000;
        let x = Array2::from_shape_fn((n, 2), |(i, j)| if j == 0 { (i % 2) as f32 } else { 1.0 });
        let classes: Vec<u32> = (0..n as u32).map(|i| u32::from(i % 3 == 0)).collect();
        let target = Target::classification(&classes, &[2], None).unwrap();
        let stop = AtomicBool::new(false);
        let runtime = Runtime::new(2, &stop);
        let data = Dataset::from_dense(x.view(), &runtime).unwrap();
        for seed in 0..8 {
            let max_features = MaxFeatures::Absolute(1);
            let params = TreeParams { max_features, seed, ..TreeParams::new(CriterionKind::Gini) };
            let params = params.check(n, 2).unwrap();
            let tree = grow(&data, &target, &params, 0, &runtime).unwrap();
            assert_eq!(tree.node_count(), 3);
        }
    }

    #[test]
    fn a_raised_flag_stops_growth() {
        let stop = AtomicBool::new(true);
        let runtime = Runtime::new(1, &stop);
        let x = Array2::<f32>::zeros((10, 2));
        assert_eq!(Dataset::from_dense(x.view(), &runtime).unwrap_err(), Error::Interrupted);
    }
}
