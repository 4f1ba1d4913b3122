//! Positions of rows in a tree, and splits as the forms of a tree that serve batches need them.

use crate::tree::flagged::FLAG;
use crate::tree::sets::SetView;

/// In a position: it is a leaf. Without this bit, a position is a split or a leaf by its number.
pub const AT_LEAF: u32 = FLAG;

/// A split, as the forms of a tree that serve batches need it.
#[derive(Debug, Clone, Copy)]
pub struct SplitView<'a> {
    pub feature: u32,
    /// Means nothing if there is a `set`.
    pub threshold: f64,
    pub missing_go_left: bool,
    /// The rule of a split on a categorical feature.
    pub set: Option<SetView<'a>>,
    /// The positions of the left and the right child.
    pub children: [u32; 2],
}
