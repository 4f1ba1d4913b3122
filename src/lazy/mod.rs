//! Lazy trees: the predictions of a tree for given query rows, computed without growing the tree.
//!
//! After Guillame-Bert & Dubrawski, "Batched Lazy Decision Trees" (2016). Training rows and query
//! rows descend together. A node is [expanded](crate::grow::expand) as in [`grow`](crate::grow),
//! and the query rows are compared with its threshold. A child that no query row reaches is dropped
//! with its training rows. At a leaf, the query rows there get the leaf's value; no node is kept.
//! The three algorithms of the paper are the [`Traversal`]s.
//!
//! Invariant: a node is a pure function of its rows and its path. So a visited node is, bit for
//! bit, the node of the eager tree, whichever other nodes are visited.
//!
//! Costs: the nodes that some query row reaches, each once (batched) or once per query row
//! (single). With m query rows, a node that a share q of all possible rows reaches is visited with
//! chance `1 - (1 - q)^m`. Memory is O(training rows + query rows): pending nodes are disjoint
//! ranges of two arrays, and as the larger child waits, at most log2(n) nodes are pending. The
//! stack is explicit. The unit of parallel work is the tree, or the subtree if there are fewer
//! trees than threads.
//!
//! The rule of "auto": batched if there are fewer than twice as many query rows as training rows, else eager.
//! In a batched traversal a node costs no more than in an eager one, as a child that no query row reaches is
//! not prepared. The batched traversal saves the nodes that no query row reaches. These are small nodes: with
//! m query rows, about the nodes of fewer than n/m training rows. In return the batched traversal divides the
//! query rows among the children at each level, while the eager one walks the query rows down the finished
//! tree, which costs less. Either way the query rows cost m times the depth. Compared with the search, which
//! reads columns of n rows per level, this counts only if m exceeds n, and then hardly any node is left
//! unvisited. With one query row the single traversal does what the batched one does; with more it is never
//! better.
//!
//! A tree that is pruned (`ccp_alpha`) or grown best first (`max_leaf_nodes`) is known only as a
//! whole, so it cannot be lazy.

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

/// How query rows traverse a tree. No prediction depends on the traversal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Traversal {
    /// All query rows descend at once. Each node that some of them reach is visited once.
    Batched,
    /// The query rows descend one after the other, each along its own path ("Lazy Decision Trees",
    /// Friedman, Kohavi & Yun 1996, in the form that the paper of Guillame-Bert & Dubrawski gives
    /// them).
    Single,
    /// The whole tree is grown, predicts, and is dropped.
    Eager,
}

/// From this many query rows per training row on, "auto" is eager (last table of
/// `benches/peers/lazy.py`).
const EAGER_FROM: usize = 2;

impl Traversal {
    /// The traversal that "auto" means, by the rule in the module's header. Eager if trees with
    /// these parameters are known only as a whole.
    pub fn auto(params: &ValidTreeParams, n_training: usize, n_query: usize) -> Self {
        let is_eager_cheaper = n_query / EAGER_FROM >= n_training;
        if Self::whole_trees(params).is_some() || is_eager_cheaper { Self::Eager } else { Self::Batched }
    }

    /// The name of the parameter, if any, that makes a tree known only as a whole.
    fn whole_trees(params: &ValidTreeParams) -> Option<&'static str> {
        if params.max_leaf_nodes.is_some() {
            Some("max_leaf_nodes")
        } else {
            (params.ccp_alpha > 0.0).then_some("ccp_alpha")
        }
    }

    /// Fails if trees with these parameters do not allow this traversal.
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

/// A tree that predicts without being kept: the arguments that [`grow`](crate::grow::grow) would
/// get.
#[derive(Debug, Clone, Copy)]
pub struct LazyTree<'a> {
    /// The encoded training data.
    pub data: &'a Dataset,
    /// The target, with the weights that the training rows have in this tree.
    pub target: &'a Target,
    /// The checked hyperparameters, with which the whole tree would grow.
    pub params: &'a ValidTreeParams,
    /// Number of the tree in its forest; 0 for a single tree.
    pub number: u64,
}

impl LazyTree<'_> {
    /// Finds the leaf of each row of `query`, with the leaf's values and the cost of the traversal.
    /// If `rows`, also the training rows of each leaf, which only a lazy traversal can tell.
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
        criterion::visit(self.params.criterion, self.target, question, runtime)
    }
}
