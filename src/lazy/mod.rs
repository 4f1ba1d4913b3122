//! Lazy trees: what a tree predicts for given rows, without the tree.
//!
//! After Guillame-Bert & Dubrawski, "Batched Lazy Decision Trees" (2016). Training rows and query rows descend together: a
//! node is [expanded](crate::grow::expand) as in [`grow`](crate::grow), the query rows are compared with the threshold, and a
//! child that none of them reaches is dropped with its training rows. At a leaf the value goes to the query rows; no node
//! is kept. The three algorithms of that paper are [`Traversal`]s.
//!
//! Invariant: a node is a pure function of its rows and its path, so a visited node is, bit for bit, the node of the eager
//! tree; which others are visited does not matter. Costs: the nodes that some query row reaches, each once (batched)
//! or once per row (single). With m query rows a node that a share q of them may reach is visited with chance
//! `1 - (1 - q)^m`. Memory O(training rows + query rows): pending nodes are disjoint ranges of two arrays, the larger
//! child waits, so at most log2(n) nodes are pending. Explicit stack. The unit of parallel work is the tree, or the
//! subtree where trees are fewer than threads.
//!
//! The rule of "auto". A node costs batched what it costs eager, or less: a child that is not reached is not prepared. So
//! batched saves the nodes that are not visited, which are the small ones: with m query rows, about those of fewer than n/m
//! training rows. It pays for the query rows: each is divided among children on each level of its path, where eager walks it
//! down the finished tree, for less. Both are m times the depth; against the search, of columns of n rows per level, that
//! counts only where m exceeds n, and then hardly a node is left out. Hence: batched up to twice as many query rows as
//! training rows, then eager. Single is batched for one row, and never better.
//!
//! Trees that are pruned or grown best first (`ccp_alpha`, `max_leaf_nodes`) are known only as a whole: they cannot be lazy.

mod descent;
mod eager;
mod reached;

pub(crate) use descent::descend;
pub(crate) use reached::Finds;
pub use reached::{LeafRows, Reached, Visits};

use crate::criterion;
use crate::data::query::Query;
use crate::data::{Dataset, Target};
use crate::error::{Error, Result};
use crate::grow::check_lengths;
use crate::params::ValidTreeParams;
use crate::runtime::Runtime;

/// How query rows meet a tree. No prediction depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Traversal {
    /// All at once: nodes that some of them reach are visited, each once.
    Batched,
    /// One after the other: a path each ("Lazy Decision Trees", Friedman, Kohavi & Yun 1996, as the paper has them).
    Single,
    /// The tree is grown, asked, and dropped.
    Eager,
}

/// From this many query rows per training row on, "auto" is eager (last table of `benches/peers/lazy.py`).
const EAGER_FROM: usize = 2;

impl Traversal {
    /// The cheapest, by the rule above; eager if trees are needed as a whole.
    pub fn auto(params: &ValidTreeParams, n_training: usize, n_query: usize) -> Self {
        let is_flooded = n_query / EAGER_FROM >= n_training;
        if Self::whole_trees(params).is_some() || is_flooded { Self::Eager } else { Self::Batched }
    }

    /// The parameter, if any, because of which a tree is known only as a whole.
    fn whole_trees(params: &ValidTreeParams) -> Option<&'static str> {
        if params.max_leaf_nodes.is_some() {
            Some("max_leaf_nodes")
        } else {
            (params.ccp_alpha > 0.0).then_some("ccp_alpha")
        }
    }

    /// Fails if trees with these parameters cannot be traversed so.
    pub fn check(self, params: &ValidTreeParams) -> Result<()> {
        match Self::whole_trees(params) {
            Some(name) if self != Self::Eager => Err(Error::InvalidArgument {
                name: "traversal",
                got: if self == Self::Single { "'single'".into() } else { "'batched'".into() },
                expected: format!("'eager' or 'auto' with {name}, by which trees are known only as a whole"),
            }),
            _ => Ok(()),
        }
    }
}

/// A tree that is asked and never kept: what [`grow`](crate::grow::grow) would be given.
#[derive(Debug, Clone, Copy)]
pub struct LazyTree<'a> {
    /// The training data.
    pub data: &'a Dataset,
    /// The target, with the weights of the rows in this tree.
    pub target: &'a Target,
    /// Hyperparameters.
    pub params: &'a ValidTreeParams,
    /// Number of the tree.
    pub number: u64,
}

impl LazyTree<'_> {
    /// What the tree predicts for each row of `query`, and what that took. `rows`: also the training rows of each leaf, which
    /// a lazy traversal alone can tell.
    pub fn ask(&self, query: &dyn Query, traversal: Traversal, rows: bool, runtime: &Runtime<'_>) -> Result<Reached> {
        traversal.check(self.params)?;
        check_lengths(self.data, self.target)?;
        if traversal == Traversal::Eager {
            if rows {
                return Err(Error::InvalidArgument {
                    name: "traversal",
                    got: "'eager'".into(),
                    expected: "a lazy one where the training rows of the leaves are asked for".into(),
                });
            }
            return eager::ask(self, query, runtime);
        }
        let is_single = traversal == Traversal::Single;
        let question = descent::Question { tree: *self, query, is_single, rows, runtime };
        criterion::visit(self.params.criterion, self.target, question)
    }
}
