//! Positions of rows in a tree: a split or a leaf by its number.

/// In a position: it is a leaf.
pub const AT_LEAF: u32 = super::flagged::FLAG;
