//! The distinct values of a column and their counts, before it has ranks, however they were found.

/// The distinct values of a column, ascending, and how many rows each has.
pub(super) struct Distinct<V> {
    pub values: Vec<V>,
    pub counts: Vec<u32>,
    pub n_missing: usize,
}

/// The cells of a column whose distinct values are known.
pub(super) trait DistinctCells {
    /// The rank of each row, if the least value has `first_rank`.
    fn ranks<R: Copy>(&self, first_rank: u32, missing_rank: u32, narrow: impl Fn(u32) -> R) -> Box<[R]>;
}
