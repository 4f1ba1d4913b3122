//! Several columns of a node of few rows side by side, one per lane of a vector register.
//!
//! The few cuts of one column do not fill a register, and most of the time of such a node goes into
//! what is done once per column. Side by side, it is done once for eight columns.

use crate::simd::vectorized;

/// The number of columns that are searched side by side.
pub const COLUMNS: usize = 8;
/// Scores that differ by at most this share of the other one are compared exactly: more than
/// [`MARGIN`](super::MARGIN), a share of the greater one.
const NEAR: f64 = 4.0 * super::MARGIN;

/// A number for each column.
pub type ByColumn<T> = [T; COLUMNS];

/// The best cut of each of several columns.
#[derive(Debug, Clone, Copy)]
pub struct BestByColumn {
    /// The score; minus infinity if the column does not vary.
    pub scores: ByColumn<f64>,
    /// The rank after which the column is cut: the lowest of those whose cuts are equally good.
    pub lasts: ByColumn<u32>,
    /// The weight on the left.
    pub weights: ByColumn<i32>,
    /// The excess on the left.
    pub excesses: ByColumn<i64>,
    /// Whether two scores are so close that another cut may be the best one; 0 if not.
    pub are_close: ByColumn<u32>,
}

vectorized! {
    /// The best cuts by squared error. `ranks`, `weights` and `excesses` are those of the node's rows.
    /// O(rows^2).
    pub(super) fn best_by_column(
        ranks: &[ByColumn<u32>],
        weights: &[i32],
        excesses: &[i64],
        node_weight: i32,
    ) -> BestByColumn {
        // Arrays of their own, which are kept in registers.
        let mut best_scores = [f64::NEG_INFINITY; COLUMNS];
        let (mut best_lasts, mut best_weights, mut best_excesses) = ([0; COLUMNS], [0; COLUMNS], [0i64; COLUMNS]);
        let mut are_close = [0; COLUMNS];
        for lasts in ranks {
            let (mut left, mut excess) = ([0; COLUMNS], [0; COLUMNS]);
            for ((ranks, &row_weight), &row_excess) in ranks.iter().zip(weights).zip(excesses) {
                // Without branches on ranks, which would be mispredicted.
                let mut masks = [0; COLUMNS];
                for lane in 0..COLUMNS {
                    masks[lane] = -i32::from(ranks[lane] <= lasts[lane]);
                }
                for lane in 0..COLUMNS {
                    left[lane] += row_weight & masks[lane];
                }
                for lane in 0..COLUMNS {
                    excess[lane] += row_excess & i64::from(masks[lane]);
                }
            }
            for lane in 0..COLUMNS {
                let product = left[lane] * (node_weight - left[lane]);
                let (root, other) = (excess[lane] as f64, best_scores[lane]);
                let score = root * root / f64::from(product);
                // Equal scores of equal squares and products are equal exactly.
                let is_same = excess[lane].unsigned_abs() == best_excesses[lane].unsigned_abs()
                    && product == best_weights[lane] * (node_weight - best_weights[lane]);
                let is_near = score <= other + other * NEAR && score >= other - other * NEAR;
                let is_cut = left[lane] < node_weight;
                let wins = is_cut && (score > other || score == other && lasts[lane] < best_lasts[lane]);
                are_close[lane] |= u32::from(is_cut && is_near && !is_same);
                best_scores[lane] = if wins { score } else { other };
                best_lasts[lane] = if wins { lasts[lane] } else { best_lasts[lane] };
                best_weights[lane] = if wins { left[lane] } else { best_weights[lane] };
                best_excesses[lane] = if wins { excess[lane] } else { best_excesses[lane] };
            }
        }
        BestByColumn {
            scores: best_scores,
            lasts: best_lasts,
            weights: best_weights,
            excesses: best_excesses,
            are_close,
        }
    }
}
