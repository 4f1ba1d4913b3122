//! How often training rows lie in the leaves that query rows reach: the proximity counts of quantile
//! forests.

use super::query::{QueryLeaves, RowsOfLeaves};
use crate::error::{Error, Result};
use crate::forest::idle::Idle;
use crate::memory;
use crate::runtime::Runtime;

/// The name of the memory in errors.
const WHAT: &str = "proximity counts";
/// Rows of a task.
const ROWS_PER_TASK: usize = 64;

/// Training rows with their counts, as a CSR matrix.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeafCounts {
    /// Where query rows begin, and the end.
    pub indptr: Vec<i64>,
    /// Training rows; the most frequent one first, and of equally frequent ones the first.
    pub rows: Vec<u32>,
    /// How often each of them lies in the leaves; several times in a leaf if it was drawn so.
    pub counts: Vec<u64>,
}

/// Counts the training rows in the leaves of each query row, and keeps the `most` frequent ones. `order` has
/// for each rank of `n_samples` the training row. O(rows of the leaves + n log n) for each query row, where n
/// is the number of different ones.
pub fn count_in_leaves(
    rows: &impl RowsOfLeaves,
    (order, n_samples): (&[u32], usize),
    query: QueryLeaves<'_>,
    most: usize,
    runtime: &Runtime<'_>,
) -> Result<LeafCounts> {
    let n_trees = rows.n_trees();
    let n_query = query.n_rows(n_trees)?;
    if order.len() != n_samples || order.iter().any(|&row| row as usize >= n_samples) {
        let (got, expected) = (format!("{} rows", order.len()), format!("{n_samples} rows, all below that number"));
        return Err(Error::InvalidArgument { name: "order", got, expected });
    }
    let firsts = (0..n_query).step_by(ROWS_PER_TASK);
    let idle = Idle::new();
    let count = |first: usize, count_of_rank: &mut Vec<u64>| {
        let (mut ranks, mut found) = (Vec::new(), Vec::new());
        let mut part = LeafCounts::default();
        for row in first..(first + ROWS_PER_TASK).min(n_query) {
            runtime.check_interrupt()?;
            for (tree, leaf) in query.leaves(row, n_trees) {
                rows.visit(tree, leaf, |(rank, count)| {
                    let sum = &mut count_of_rank[rank as usize];
                    if *sum == 0 {
                        ranks.push(rank);
                    }
                    *sum += count;
                })?;
            }
            found.clear();
            for rank in ranks.drain(..) {
                found.push((order[rank as usize], std::mem::take(&mut count_of_rank[rank as usize])));
            }
            found.sort_unstable_by_key(|&(row, count)| (std::cmp::Reverse(count), row));
            found.truncate(most);
            memory::make_room(WHAT, &mut part.rows, found.len())?;
            memory::make_room(WHAT, &mut part.counts, found.len())?;
            part.rows.extend(found.iter().map(|&(row, _)| row));
            part.counts.extend(found.iter().map(|&(_, count)| count));
            part.indptr.push(part.rows.len() as i64);
        }
        Ok(part)
    };
    let parts = runtime.map(firsts.collect(), |first| {
        idle.with(|| memory::zeros(WHAT, n_samples), |count_of_rank| count(first, count_of_rank))
    })?;
    let mut all = LeafCounts { indptr: vec![0], ..LeafCounts::default() };
    for part in parts {
        let start = all.rows.len() as i64;
        memory::make_room(WHAT, &mut all.rows, part.rows.len())?;
        memory::make_room(WHAT, &mut all.counts, part.counts.len())?;
        all.indptr.extend(part.indptr.iter().map(|end| start + end));
        all.rows.extend(part.rows);
        all.counts.extend(part.counts);
    }
    Ok(all)
}
