//! The handling of the nodes of a subtree, whichever walk reaches them.

use super::copies::Copies;
use super::expand::Split;
use super::facts::NodeFacts;
use crate::criterion::Criterion;
use crate::error::Result;
use crate::rng::Side;
use crate::split::Search;

/// Handles the nodes of a subtree. For each node the driver calls [`visit`](Self::visit), then either
/// [`finish_leaf`](Self::finish_leaf) or [`follow`](Self::follow), and, if both children are followed,
/// [`keep`](Self::keep).
pub trait Policy: Sync {
    /// The load of a node: what the policy passes on from a node to its children.
    type Load<'l>: Send + 'l;
    /// The findings of one task.
    type Finds: Send;
    /// The joined findings of all tasks of a subtree.
    type Whole;

    /// Begins the task number `task` at a node with this load. The tasks of a subtree are numbered
    /// from 0 on, and a task has a higher number than the task that started it.
    fn begin(&self, task: usize, load: &mut Self::Load<'_>) -> Self::Finds;

    /// Whether the subtree of a node with `n_samples` rows may be walked on a copy of these rows.
    fn admits_copy(&self, copies: &Copies, n_samples: usize, load: &Self::Load<'_>) -> bool;

    /// Called when a node is reached, before it is expanded.
    fn visit<C: Criterion>(
        &self,
        search: &Search<'_, C>,
        node: &impl NodeFacts,
        load: &mut Self::Load<'_>,
        finds: &mut Self::Finds,
    ) -> Result<()>;

    /// Called when the node that was visited last turns out to be a leaf.
    fn finish_leaf<C: Criterion>(
        &self,
        search: &Search<'_, C>,
        leaf: &impl NodeFacts,
        load: Self::Load<'_>,
        finds: &mut Self::Finds,
    );

    /// Called when the node that was visited last is split. `sizes` are the numbers of rows of the
    /// left and of the right child. Returns which children are followed.
    fn follow<'l, C: Criterion>(
        &self,
        search: &Search<'_, C>,
        split: &Split,
        sizes: [usize; 2],
        load: Self::Load<'l>,
    ) -> Follow<Self::Load<'l>>;

    /// Takes the split of a node if both of its children are followed. `_left` is the left child's load.
    fn keep(&self, _split: Split, _left: &Self::Load<'_>, _finds: &mut Self::Finds) {}

    /// The number of nodes in the findings, for a policy that records nodes.
    fn n_recorded(&self, _finds: &Self::Finds) -> usize {
        0
    }

    /// Called when a subtree of this height has been visited in preorder, the left child first.
    /// `first` is the number of nodes that were recorded before.
    fn finish_preorder(&self, _first: usize, _height: u64, _finds: &mut Self::Finds) {}

    /// Joins the findings of all tasks of a subtree. `tasks` is in no particular order.
    fn join(&self, tasks: Vec<Self::Finds>) -> Result<Self::Whole>;

    /// Adds to `finds` the findings of a subtree that was walked on a copy of its rows.
    fn absorb(&self, finds: &mut Self::Finds, whole: Self::Whole) -> Result<()>;
}

/// The children of a split that are followed, with their loads.
pub enum Follow<L> {
    /// Both children are followed. The loads are the left child's and the right child's.
    Both(L, L),
    /// One child is followed. Nothing is prepared for its sibling.
    One(Side, L),
}
