//! How many rows a row of some weight stands for, and how many of these a bag has.
//!
//! A row of weight k does what k copies of it do. With replacement, a heavy row is in nearly every bag as one
//! row, but not all of its copies are: if a row were out of bag only when it is never drawn, only light rows
//! would ever be out of bag. So the balls of a row in the urn are divided into copies, and a copy is in the
//! bag if one of its balls was drawn.

use super::RowSampler;
use crate::data::Target;
use crate::error::Result;
use crate::runtime::Runtime;

/// Whole weights are numbers of rows if there are at most this many of them for each row.
const MOST_COPIES: f64 = (1u64 << 20) as f64;

/// The copies that a row stands for. They need not be whole numbers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RowCopies {
    /// At least 1, or 0 for a row of weight 0.
    pub n: f64,
    /// How many of these copies are in the bag.
    pub n_drawn: f64,
}

/// Whether the weights of these rows are the numbers of rows that they stand for: whole numbers, and not
/// too many.
pub(super) fn are_counts(target: &Target, rows: &[u32]) -> bool {
    let weight = |row: &u32| target.weights().get(*row as usize) as f64 * target.weight_unit();
    rows.iter().all(|row| weight(row).fract() == 0.0)
        && rows.iter().map(weight).sum::<f64>() <= MOST_COPIES * rows.len() as f64
}

/// The copies of each row, and how many the tree with this seed has, where rows are drawn by weight from an
/// urn; none where weights do not decide on draws, or are equal. O(rows), and O(draws) times their
/// logarithm.
pub(super) fn drawn_copies(
    sampler: &RowSampler,
    target: &Target,
    seed: u64,
    runtime: &Runtime<'_>,
) -> Result<Option<Vec<RowCopies>>> {
    let rows = target.weighted_samples();
    let weights = target.weights();
    let size = if are_counts(target, &rows) {
        1.0 / target.weight_unit()
    } else {
        // Copies of the mean weight: fractions say nothing of how many rows there are.
        rows.iter().map(|&row| weights.get(row as usize) as f64).sum::<f64>() / rows.len() as f64
    };
    let size = (size.round() as u64).max(1);
    let Some(drawn) = sampler.drawn_balls(seed, size, runtime)? else { return Ok(None) };
    let mut copies = vec![RowCopies::default(); target.n_samples()];
    for row in rows {
        let balls = weights.get(row as usize);
        let n = (balls as f64 / size as f64).max(1.0);
        copies[row as usize] = RowCopies { n, n_drawn: n * drawn[row as usize] as f64 / balls as f64 };
    }
    Ok(Some(copies))
}
