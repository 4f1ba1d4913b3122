//! What it costs folds to descend together, or alone.

use crate::data::{Columns, Dataset};
use crate::params::{CriterionKind, ValidTreeParams};

/// What the cost of a node depends on.
#[derive(Debug, Clone, Copy)]
#[allow(clippy::struct_field_names, reason = "numbers, of different things")]
pub(super) struct Size {
    pub n_rows: usize,
    pub n_lanes: usize,
    /// Lanes that hold out a row at most.
    pub n_singles: usize,
    /// The rows of all lanes, added up.
    pub n_lane_rows: usize,
}

impl Size {
    /// With other lanes, whose rows are so many more: they hold out what is not theirs. That the lanes of before hold those out
    /// now is counted as rows held out, not as lanes that are no longer single.
    pub fn with(self, other: Self, n_more: usize) -> Self {
        Self {
            n_rows: self.n_rows + n_more,
            n_lanes: self.n_lanes + other.n_lanes,
            n_singles: self.n_singles,
            n_lane_rows: self.n_lane_rows + other.n_lane_rows,
        }
    }
}

/// What a node costs per row: of all lanes, of each lane, for each lane that holds it out; or of a lane that is alone. Only
/// the ratios matter, and only for speed (`benches/peers/crossval.py`).
pub(super) struct Costs {
    union: f64,
    lane: f64,
    held_out: f64,
    alone: f64,
}

/// Lanes that hold out one row are so many times cheaper: most are scored together.
const SINGLES_PER_LANE: f64 = 8.0;

impl Costs {
    /// Dense columns are sorted for a union; for a lane that is alone only if the criterion has no packed forms. Sparse ones are
    /// sorted already, and most have few values.
    pub fn new(data: &Dataset, params: &ValidTreeParams) -> Self {
        let is_packed = params.criterion == CriterionKind::Gini;
        match data.columns() {
            Columns::Dense(_) => {
                Self { union: 30.0, lane: 5.0, held_out: 10.0, alone: if is_packed { 4.0 } else { 20.0 } }
            }
            Columns::Sparse(_) => {
                Self { union: 8.0, lane: 2.0, held_out: 15.0, alone: if is_packed { 3.0 } else { 6.0 } }
            }
        }
    }

    /// Of a node.
    pub fn of(&self, size: Size) -> f64 {
        let Size { n_rows, n_lanes, n_singles, n_lane_rows } = size;
        let lanes = (n_lanes - n_singles) as f64 + n_singles as f64 / SINGLES_PER_LANE;
        let n_held_out = n_lanes * n_rows - n_lane_rows;
        n_rows as f64 * (self.union + lanes * self.lane) + n_held_out as f64 * self.held_out
    }

    /// Of its lanes, each alone.
    fn of_lanes(&self, size: Size) -> f64 {
        size.n_lane_rows as f64 * self.alone
    }

    pub fn of_best(&self, size: Size) -> f64 {
        self.of(size).min(self.of_lanes(size))
    }

    pub fn pays(&self, size: Size) -> bool {
        self.of(size) < self.of_lanes(size)
    }
}

/// Whether it is cheaper for so many folds, which hold out so many rows in all, to descend together than alone, on so many
/// threads at once.
pub fn pays(data: &Dataset, params: &ValidTreeParams, n_folds: usize, n_held_out: usize, n_threads: usize) -> bool {
    let n_rows = data.n_samples();
    let n_singles = if n_held_out <= n_folds { n_folds } else { 0 };
    let size = Size { n_rows, n_lanes: n_folds, n_singles, n_lane_rows: n_folds * n_rows - n_held_out };
    let costs = Costs::new(data, params);
    costs.of(size) < costs.of_lanes(size) / n_threads.min(n_folds) as f64
}
