//! The lazy descent through one tree: one driver for all query rows at once and for one at a time.
//!
//! Scratch of sparse searches knows the rows of some pending nodes, and wants the smaller of two children first. A child
//! that is dropped is forgotten at once; then the rule holds for whatever remains.

use std::sync::Arc;

use super::{LazyTree, Reached};
use crate::copies::Copies;
use crate::criterion::{self, Criterion, Visitor};
use crate::data::query::Query;
use crate::data::{Dataset, Target};
use crate::error::Result;
use crate::expand::{Expansion, Leaf, Pending};
use crate::grow::{samples_of, search_of, weigh};
use crate::monotonic::Limits;
use crate::params::ValidTreeParams;
use crate::rng::NodeKey;
use crate::runtime::Runtime;
use crate::samples::{SampleSet, Samples};
use crate::simd::Level;
use crate::split::{ConstantFeatures, Scratch, Search};

/// A whole tree.
pub struct Whole<'a> {
    pub tree: LazyTree<'a>,
    pub query: &'a dyn Query,
    /// One query row at a time.
    pub is_single: bool,
    /// The training rows of the leaves are wanted.
    pub rows: bool,
    pub runtime: &'a Runtime<'a>,
}

impl Visitor for Whole<'_> {
    type Output = Reached;

    fn visit<C: Criterion>(self, criterion: &C) -> Result<Reached> {
        let Self { tree: LazyTree { data, target, params, number }, query, is_single, rows, runtime } = self;
        let n_query = query.shape().0;
        let mut reached = Reached::new(n_query, rows);
        let mut search = search_of(data, target, criterion, params, runtime)?;
        let batches: Vec<Vec<u32>> = if is_single {
            (0..n_query as u32).map(|row| vec![row]).collect()
        } else {
            vec![(0..n_query as u32).collect()]
        };
        let mut scratch = None;
        for batch in batches {
            if batch.is_empty() {
                break;
            }
            let mut samples = samples_of(data, target);
            let root = Pending::root(&search, samples.root(), number);
            weigh(&mut search, &root);
            let mut batch = Samples::new(batch, n_query, false);
            let descent = Descent::new(&search, target, query, rows);
            let scratch = scratch.get_or_insert_with(|| Scratch::new(&search));
            descent.run(root, batch.root(), 0, scratch, &mut reached)?;
        }
        Ok(reached)
    }
}

/// A subtree whose rows are a data set and a target of their own.
struct OnCopy<'a, 'q> {
    data: &'a Dataset,
    target: &'a Target,
    params: &'a ValidTreeParams,
    runtime: &'a Runtime<'a>,
    level: Level,
    /// These three are of the whole tree.
    total_weight: u64,
    max_weight: u64,
    min_weight_leaf: f64,
    depth: u64,
    key: NodeKey,
    constants: Arc<ConstantFeatures>,
    limits: Option<Limits>,
    query: &'a dyn Query,
    query_rows: SampleSet<'q>,
    held: u64,
    reached: &'a mut Reached,
}

impl Visitor for OnCopy<'_, '_> {
    type Output = ();

    fn visit<C: Criterion>(self, criterion: &C) -> Result<()> {
        let Self { data, target, params, runtime, level, total_weight, max_weight, min_weight_leaf, .. } = self;
        let search = Search { data, criterion, params, total_weight, max_weight, min_weight_leaf, runtime, level };
        let n_samples = data.n_samples();
        let mut samples = Samples::new((0..n_samples as u32).collect(), n_samples, false);
        let samples = samples.root();
        let root = Pending {
            totals: criterion.totals(samples.ids()),
            n_entries: search.n_entries(samples.ids()),
            samples,
            depth: self.depth,
            key: self.key,
            constants: self.constants,
            known: None,
            limits: self.limits,
        };
        let mut scratch = Scratch::new(&search);
        // Where rows have new numbers nobody wants to know them.
        Descent::new(&search, target, self.query, false).run(
            root,
            self.query_rows,
            self.held,
            &mut scratch,
            self.reached,
        )
    }
}

/// A node with the query rows that have reached it.
struct Visit<'s, 'q, C: Criterion> {
    node: Pending<'s, C>,
    query_rows: SampleSet<'q>,
    /// Words that the nodes above and beside it hold.
    held: u64,
}

struct Descent<'a, C: Criterion> {
    search: &'a Search<'a, C>,
    target: &'a Target,
    query: &'a dyn Query,
    rows: bool,
    copies: Option<Copies>,
}

impl<'a, C: Criterion> Descent<'a, C> {
    fn new(search: &'a Search<'a, C>, target: &'a Target, query: &'a dyn Query, rows: bool) -> Self {
        let copies = if rows { None } else { Copies::of(search.data, search.n_drawn(), search.params.force_copies) };
        Self { search, target, query, rows, copies }
    }

    fn run(
        &self,
        root: Pending<'_, C>,
        query_rows: SampleSet<'_>,
        held: u64,
        scratch: &mut Scratch<C>,
        reached: &mut Reached,
    ) -> Result<()> {
        let search = self.search;
        let mut values = Vec::new();
        let mut stack = vec![Visit { node: root, query_rows, held }];
        while let Some(Visit { node, mut query_rows, held }) = stack.pop() {
            if let Some(copy) = self.copy(&node, query_rows.len()) {
                self.run_on(&copy, &node, query_rows, held, reached)?;
                continue;
            }
            let (n_rows, depth) = (node.samples.len(), node.depth);
            reached.visits.visit(n_rows, held);
            let (split, left, right) = match node.expand(search, scratch)? {
                Expansion::Split { split, left, right } => (split, left, right),
                Expansion::Leaf(leaf) => {
                    self.settle(&leaf, query_rows.ids(), depth, reached);
                    continue;
                }
            };
            let missing_left = split.missing_go_left();
            self.query.gather(split.feature(), query_rows.ids(), &mut values);
            let rule = split.rule(search.data);
            let mut next = values.iter();
            let middle =
                query_rows.partition(|_| next.next().is_some_and(|&value| rule.goes_left(value, missing_left)));
            let (left_rows, right_rows) = query_rows.split_at(middle);
            let held = held + n_rows as u64;
            if left_rows.is_empty() || right_rows.is_empty() {
                let (node, dropped, query_rows) =
                    if left_rows.is_empty() { (right, left, right_rows) } else { (left, right, left_rows) };
                search.forget(dropped.known.as_ref(), dropped.samples.ids(), scratch);
                stack.push(Visit { node, query_rows, held });
                continue;
            }
            let (n_left, n_right) = (left.samples.len() as u64, right.samples.len() as u64);
            let left = Visit { node: left, query_rows: left_rows, held: held + n_right };
            let right = Visit { node: right, query_rows: right_rows, held: held + n_left };
            let (small, large) = if n_left <= n_right { (left, right) } else { (right, left) };
            stack.push(large);
            stack.push(small);
        }
        Ok(())
    }

    /// Gives the value of a leaf to its query rows.
    fn settle(&self, leaf: &Leaf<'_, C>, query_rows: &[u32], depth: u64, reached: &mut Reached) {
        let criterion = self.search.criterion;
        leaf.write_value(criterion, reached.add(query_rows, depth, criterion.n_values()));
        let Some(rows) = reached.rows.as_mut().filter(|_| self.rows) else { return };
        let total = criterion.weight(&leaf.totals) as f64;
        for &sample in leaf.samples.ids() {
            rows.rows.push(sample);
            rows.shares.push(self.target.weights().get(sample as usize) as f64 / total);
        }
        rows.ends.push(rows.rows.len());
    }

    /// A copy of a node's rows, if the descent is to go on in one.
    fn copy(&self, node: &Pending<'_, C>, n_query: usize) -> Option<Dataset> {
        let admits = self.copies.as_ref()?.admit_visits(node.samples.len(), n_query) && !node.must_stop(self.search);
        if admits { self.search.data.subset(node.samples.ids()) } else { None }
    }

    /// Goes on in a copy of a node's rows.
    fn run_on(
        &self,
        data: &Dataset,
        node: &Pending<'_, C>,
        query_rows: SampleSet<'_>,
        held: u64,
        reached: &mut Reached,
    ) -> Result<()> {
        let Search { params, runtime, level, total_weight, max_weight, min_weight_leaf, .. } = *self.search;
        let target = self.target.subset(node.samples.ids());
        let on_copy = OnCopy {
            data,
            target: &target,
            params,
            runtime,
            level,
            total_weight,
            max_weight,
            min_weight_leaf,
            depth: node.depth,
            key: node.key,
            constants: Arc::clone(&node.constants),
            limits: node.limits.clone(),
            query: self.query,
            query_rows,
            held,
            reached,
        };
        criterion::visit(params.criterion, &target, on_copy)
    }
}
