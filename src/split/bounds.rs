//! What each column can gain at most in a node, without reading it.
//!
//! See targets as points (a class as a unit vector); then Gini impurity and squared error cost a node its squared
//! distances to its mean, and splitting a set `S` of weight `w` off a node `L` of weight `W` and mean `u` gains
//!
//! ```text
//! g = w W / (W - w) |mean(S) - u|^2                                                                            (1)
//! ```
//!
//! Every threshold of a sparse column puts a subset of the column's nonzeros, of weight `m` in the node, on one side.
//! Two bounds follow, of which the lower counts.
//!
//! * **Cap** (ALGORITHMS, section 2.3): from a summary of the nonzeros alone, their weight or class weights.
//! * **Memory.** Let the column have been read in `L`, its best cut gaining `g`, and let rows that are zero in the column
//!   have left the node since, `L'` being the rest. They are in none of the sets `S`, so by (1) and the triangle
//!   inequality no cut gains more than `g'` in
//!
//!   ```text
//!   sqrt(g' (W' - m) / W') <= sqrt(g (W - m) / W) + sqrt(m) |u - u'|                                           (2)
//!   ```
//!
//!   and `|u - u'|` is at most the sum of the steps on the way from `L` to `L'`. When a row `x` with a nonzero leaves,
//!   `g` grows by what `x` adds to the cost of its side, which is below its squared distance to the farthest target
//!   ([`Criterion::reach`]), less what it adds to the cost of the node ([`Leave::growth`]). A cut that is legal after
//!   rows have left was legal before, so `g` may be the best of the legal ones.
//!
//! Sparse trees are long chains of splits that peel a few rows off (mean depths of 50 to 800 in the seed's Table I):
//! along a chain the means hardly move, most columns keep their memory, and few are read again. This is lazy
//! evaluation in the sense of Minoux ("Accelerated greedy algorithms for maximizing submodular set functions", 1978),
//! with bounds that drift instead of standing still.
//!
//! All is rounded so that the bounds hold for the exact values.

use crate::criterion::Criterion;

/// Above the rounding of a few dozen operations on doubles, far below what would change what is read.
const SLACK: f64 = 1e-9;
/// Bounds the cancellation in `start + slope * drift`, relative to the products.
const DRIFT_SLACK: f64 = 1e-12;
/// Above the rounding of a difference of costs, relative to the larger.
const COST_SLACK: f64 = 1e-14;

/// Bounds of the columns of a node, by lane (a numbering of columns, see `known`).
pub(super) struct ColumnBounds<C: Criterion> {
    /// `sqrt(g (W - m) / W) - slope * drift` when the column was read last; infinite if it never was.
    starts: Vec<f64>,
    /// `sqrt(m)` at that time.
    slopes: Vec<f64>,
    /// Of the column's nonzeros in the node.
    summaries: Vec<C::Summary>,
    /// The weight of the heaviest column from each lane on, at first.
    heaviest: Vec<f64>,
    /// The way of the node's mean so far.
    drift: f64,
}

/// What tells which columns may win in a node.
pub(super) struct Bar<C: Criterion> {
    ceiling: C::Ceiling,
    weight: f64,
    /// The least gain that can win.
    gain: f64,
    drift: f64,
}

impl<C: Criterion> Bar<C> {
    /// The bar of a node whose best candidate so far has this score.
    pub fn new(criterion: &C, node: &C::Totals, drift: f64) -> Self {
        let weight = criterion.weight(node) as f64;
        Self { ceiling: criterion.ceiling(node), weight, gain: f64::NEG_INFINITY, drift: drift * (1.0 + DRIFT_SLACK) }
    }

    /// Raises the bar to the gain of a candidate.
    pub fn raise(&mut self, criterion: &C, node: &C::Totals, score: f64) {
        let gain = criterion.gain(node, score - criterion.tolerance(node, score));
        self.gain = gain - gain.abs() * SLACK;
    }

    /// Whether a column that gains this at most can win.
    #[inline]
    pub fn admits(&self, bound: f64) -> bool {
        bound >= self.gain
    }

    /// What the nonzeros of this summary can gain.
    #[inline]
    pub fn cap(&self, summary: &C::Summary) -> f64 {
        C::cap(&self.ceiling, summary)
    }

    /// The least weight of nonzeros that can win.
    pub fn least_weight(&self) -> f64 {
        let radius = C::radius(&self.ceiling) * (1.0 + SLACK);
        if self.gain > 0.0 { self.gain * self.weight / (radius * self.weight + self.gain) } else { 0.0 }
    }
}

impl<C: Criterion> ColumnBounds<C> {
    /// Nothing but summaries is known.
    pub fn new(summaries: Vec<C::Summary>) -> Self {
        let n = summaries.len();
        let mut heaviest = vec![0.0; n];
        let mut most = 0.0f64;
        for lane in (0..n).rev() {
            most = most.max(C::summary_weight(&summaries[lane]) as f64);
            heaviest[lane] = most;
        }
        Self { starts: vec![f64::INFINITY; n], slopes: vec![0.0; n], summaries, heaviest, drift: 0.0 }
    }

    /// Keeps these lanes, in this order, with new summaries.
    pub fn pick(&self, lanes: &[u32], summaries: Vec<C::Summary>) -> Self {
        let pick = |array: &[f64]| lanes.iter().map(|&lane| array[lane as usize]).collect::<Vec<_>>();
        let picked = Self::new(summaries);
        Self { starts: pick(&self.starts), slopes: pick(&self.slopes), drift: self.drift, ..picked }
    }

    pub fn summary(&self, lane: u32) -> &C::Summary {
        &self.summaries[lane as usize]
    }

    pub fn weight(&self, lane: u32) -> u64 {
        C::summary_weight(self.summary(lane))
    }

    pub fn n_lanes(&self) -> usize {
        self.starts.len()
    }

    pub fn drift(&self) -> f64 {
        self.drift
    }

    /// Calls `visit` with every lane that may win, and its bound.
    pub fn candidates(&self, bar: &Bar<C>, mut visit: impl FnMut(u32, f64)) {
        let least = bar.least_weight();
        let end = self.heaviest.partition_point(|&weight| weight >= least);
        for at in 0..end {
            let reach = self.starts[at] + self.slopes[at] * bar.drift;
            // (2) without its divisions. While there is nothing to beat, the right side is below 0 or no number.
            let rest = (bar.weight - self.slopes[at] * self.slopes[at]).max(0.0);
            if reach * reach * bar.weight < bar.gain * rest * (1.0 - SLACK) {
                continue;
            }
            let cap = bar.cap(&self.summaries[at]);
            if bar.admits(cap) && C::summary_weight(&self.summaries[at]) > 0 {
                visit(at as u32, self.bound_at(at, bar.drift, bar.weight).min(cap));
            }
        }
    }

    /// The gain that (2) allows.
    fn bound_at(&self, at: usize, drift: f64, weight: f64) -> f64 {
        let (reach, mass) = (self.starts[at] + self.slopes[at] * drift, self.slopes[at] * self.slopes[at]);
        if weight > mass { reach * reach * weight / (weight - mass) * (1.0 + SLACK) } else { f64::INFINITY }
    }

    /// Remembers that no legal cut of a column gains more than `gain` in a node of this weight.
    pub fn remember(&mut self, lane: u32, gain: f64, weight: f64) {
        let at = lane as usize;
        let mass = C::summary_weight(&self.summaries[at]) as f64;
        // Rounded up: its square must not fall short of the mass where that is all of the node.
        let slope = mass.sqrt() * (1.0 + 4.0 * f64::EPSILON);
        let start = (gain.max(0.0) * (1.0 + SLACK) * (weight - mass).max(0.0) / weight).sqrt();
        self.slopes[at] = slope;
        self.starts[at] = start - slope * self.drift;
    }

    /// Forgets what was read.
    pub fn forget(&mut self) {
        self.starts.fill(f64::INFINITY);
        self.slopes.fill(0.0);
    }

    /// The rows of `small` leave `node`, `large` is left.
    pub fn leave(&mut self, criterion: &C, node: &C::Totals, small: &C::Totals, large: &C::Totals) -> Leave<C> {
        let weight = |totals| criterion.weight(totals) as f64;
        let (all, left) = (criterion.cost(node), criterion.cost(small));
        let between = (all - left - criterion.cost(large)).max(0.0) + all * COST_SLACK;
        // |u - u'| W' is the length of the sum of the leaving rows' distances from u: at most the sum of their lengths,
        // for any part of them too.
        let square = left + between * (weight(large) / weight(node));
        let step = (weight(small) * square).sqrt() / weight(large) * (1.0 + SLACK);
        self.drift += step;
        Leave { weight: weight(large), step, ceiling: criterion.ceiling(large) }
    }

    /// A row that has left stores an entry in the column. `growth` is that of [`Leave::growth`].
    pub fn touch(&mut self, criterion: &C, lane: u32, sample: u32, leave: &Leave<C>, growth: f64) {
        let at = lane as usize;
        criterion.exclude(&mut self.summaries[at], sample);
        if self.starts[at] == f64::INFINITY {
            return;
        }
        let bound = self.bound_at(at, self.drift * (1.0 + DRIFT_SLACK), leave.weight);
        if bound.is_finite() {
            self.remember(lane, bound + growth, leave.weight);
        } else {
            self.starts[at] = f64::INFINITY;
            self.slopes[at] = 0.0;
        }
    }
}

/// A step from a node to its larger child.
pub(super) struct Leave<C: Criterion> {
    /// The weight that is left.
    weight: f64,
    /// How far the mean has moved, or more.
    step: f64,
    ceiling: C::Ceiling,
}

impl<C: Criterion> Leave<C> {
    /// By how much the gain of a column can grow when this row leaves, `large` being what is left at last: what the row adds
    /// to the cost of its side, less what it adds to that of the node. The mean of any node on the way is within two
    /// steps of the last.
    pub fn growth(&self, criterion: &C, large: &C::Totals, sample: u32) -> f64 {
        let own = criterion.sample_weight(sample) as f64;
        let distance =
            criterion.distance(large, &self.ceiling, sample).max(0.0).sqrt() * (1.0 - SLACK) - 2.0 * self.step;
        let least = own * self.weight / (own + self.weight) * distance.max(0.0).powi(2);
        (criterion.reach(sample) - least * (1.0 - SLACK)).max(0.0)
    }
}
