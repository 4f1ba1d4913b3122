//! Choices of the engine that tests and benches can force. No tree depends on them.

/// A way to find the entries that the rows of a node have in sparse columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// Read whole columns, and test in a bitmap whether the row of each entry is in the node.
    Bitmap,
    /// Look up each row of the node in a column.
    Search,
    /// Read the rows of the node, and group their entries by feature.
    Gather,
    /// Hand columns and their bounds on from parent to child, and read columns by bitmap (see
    /// `split::sparse`).
    Bounds,
    /// Compute at which positions the node draws the features of its entries (see `split::sparse`).
    Positions,
}

/// A way to search the columns of a node of dense data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// Walk subtrees of up to 256 rows without making nodes, and search their columns without a
    /// sort. Larger nodes are searched as if no tier were forced.
    Small,
    /// Sort the columns one by one.
    Sort,
    /// Count the rows of each column in bins, and sort only bins that may hold the best cut. Only
    /// if the criterion has histograms.
    Histogram,
}
