//! What tests and benches can force in the place of the engine's own choice. No tree depends on it.

/// A kernel that intersects columns with a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// Read whole columns, test each entry's row.
    Bitmap,
    /// Look each row of the node up.
    Search,
    /// Read the node's rows and group by feature.
    Gather,
    /// Look drawn features up in a copy of the pattern of a few rows (see `split`).
    Block,
    /// Hand columns and bounds on from parent to child, and read columns by bitmap (see `split`).
    Bounds,
}

/// How the columns of a node of dense data are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// Sort them one by one.
    Sort,
    /// Sort them side by side; in nodes of up to 256 rows.
    Network,
    /// Count them in bins, and sort what may hold the best cut; where the criterion has histograms.
    Histogram,
}
