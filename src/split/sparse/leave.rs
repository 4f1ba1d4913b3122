//! The step from a node to its larger child: what the bounds of columns (see `bounds`) lose by the
//! rows that leave.

use crate::criterion::Criterion;
use crate::criterion::bounded::Ceiling;
use crate::split::bar::SLACK;

/// Above the rounding of a difference of two costs, relative to the larger cost.
const COST_SLACK: f64 = 1e-14;

/// A step from a node to its larger child.
pub(crate) struct Leave<C: Criterion> {
    /// The weight of the larger child, after the rows have left.
    pub weight: f64,
    /// How far the mean has moved, rounded up.
    pub step: f64,
    /// The criterion's constants of the larger child, for distances from its mean.
    ceiling: Ceiling<C::Mean>,
}

impl<C: Criterion> Leave<C> {
    /// The step from `node` to its child `large`: the rows of `small` leave.
    pub fn new(criterion: &C, node: &C::Totals, small: &C::Totals, large: &C::Totals) -> Self {
        let weight = |totals| criterion.weight(totals) as f64;
        let (all, left) = (criterion.cost(node), criterion.cost(small));
        let between = (all - left - criterion.cost(large)).max(0.0) + all * COST_SLACK;
        // `|u - u'| W'` is the length of a sum of vectors: from `u` to each row that leaves, times
        // the row's weight. So it is at most the sum of the vectors' lengths, which by Cauchy and
        // Schwarz is at most the root of the weight of these rows times `square`, the sum of their
        // weighted squared distances from `u`. The same holds if only a part of these rows has
        // left.
        let square = left + between * (weight(large) / weight(node));
        let step = (weight(small) * square).sqrt() / weight(large) * (1.0 + SLACK);
        Self { weight: weight(large), step, ceiling: criterion.ceiling(large) }
    }

    /// By how much the gain of a column can grow when this row leaves: by what the row adds to the cost of
    /// its side, less what the row adds to the cost of the node. `large` has the statistics of the larger
    /// child, after all rows have left. While the rows leave one by one, the mean of the remaining rows is
    /// always within two steps of the mean of the larger child.
    pub fn growth(&self, criterion: &C, large: &C::Totals, sample: u32) -> f64 {
        let own = criterion.sample_weight(sample) as f64;
        let distance =
            criterion.distance(large, &self.ceiling, sample).max(0.0).sqrt() * (1.0 - SLACK) - 2.0 * self.step;
        let least = own * self.weight / (own + self.weight) * distance.max(0.0).powi(2);
        (criterion.farthest_distance(sample) - least * (1.0 - SLACK)).max(0.0)
    }
}
