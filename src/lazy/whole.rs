//! Where a lazy descent begins: at the root of a tree, with all query rows or with one after the other, or at a node whose
//! rows have been copied.

use super::descent::{Descent, Visit};
use super::{Finds, LazyTree, Reached};
use crate::criterion::{Criterion, Visitor};
use crate::data::Target;
use crate::data::query::Query;
use crate::error::Result;
use crate::grow::copies::Subtree;
use crate::grow::expand::Pending;
use crate::grow::{samples_of, search_of, weigh};
use crate::runtime::Runtime;
use crate::split::Search;
use crate::split::samples::{SampleSet, Samples};

/// Tasks per thread where query rows descend one by one, so that those of unequal cost even out.
const TASKS_PER_THREAD: usize = 8;

/// A whole tree.
pub(super) struct Whole<'a> {
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
        let n_query = self.query.shape().0;
        let mut reached = Reached::new(n_query, self.rows);
        let all: Vec<u32> = (0..n_query as u32).collect();
        let n_threads = self.runtime.n_threads();
        let found = if all.is_empty() {
            Vec::new()
        } else if !self.is_single || n_threads == 1 || n_query == 1 {
            let batch_len = if self.is_single { 1 } else { n_query };
            self.descend(criterion, all.chunks(batch_len), self.runtime)?
        } else {
            let tasks = all.chunks(n_query.div_ceil(TASKS_PER_THREAD * n_threads)).collect();
            let run = |rows: &[u32]| self.descend(criterion, rows.chunks(1), &self.runtime.serial());
            self.runtime.map(tasks, run)?.into_iter().flatten().collect()
        };
        for finds in found {
            reached.append(finds);
        }
        Ok(reached)
    }
}

impl Whole<'_> {
    /// Descends with each batch of query rows, one after the other.
    fn descend<'b, C: Criterion>(
        &self,
        criterion: &C,
        batches: impl Iterator<Item = &'b [u32]>,
        runtime: &Runtime<'_>,
    ) -> Result<Vec<Finds>> {
        let LazyTree { data, target, params, number } = self.tree;
        let mut search = search_of(data, target, criterion, params, runtime)?;
        let mut samples = samples_of(data, target);
        let root = Pending::root(&search, samples.root(), number);
        weigh(&mut search, &root);
        let descent = Descent::new(search, target, self.query, self.rows);
        let (mut root, mut found) = (Some(root), Vec::new());
        for batch in batches {
            let mut samples;
            let node = if let Some(root) = root.take() {
                root
            } else {
                samples = samples_of(data, target);
                Pending::root(&descent.search, samples.root(), number)
            };
            let mut query_rows = Samples::new(batch.to_vec(), self.query.shape().0, false);
            found.extend(descent.run(Visit { node, query_rows: query_rows.root(), held: 0 })?);
        }
        Ok(found)
    }
}

/// A descent that goes on in a copy of the rows of a node.
pub(super) struct OnCopy<'a> {
    pub query: &'a dyn Query,
    pub query_rows: SampleSet<'a>,
    pub held: u64,
}

impl Subtree for OnCopy<'_> {
    type Output = Vec<Finds>;

    fn grow<C: Criterion>(self, search: Search<'_, C>, target: &Target, node: Pending<'_, C>) -> Result<Vec<Finds>> {
        let Self { query, query_rows, held } = self;
        Descent::new(search, target, query, false).run(Visit { node, query_rows, held })
    }
}
