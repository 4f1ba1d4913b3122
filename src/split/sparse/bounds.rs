//! Bounds on what each column can gain in a node, known without reading the column.
//!
//! See targets as points (a class as a unit vector). Then the cost of a node, by Gini impurity or
//! squared error, is the sum of the weighted squared distances of its points to their mean.
//! Splitting a set `S` of weight `w` off a node `L` of weight `W` and mean `u` lowers the cost by
//! the gain
//!
//! ```text
//! g = w W / (W - w) |mean(S) - u|^2                                                  (1)
//! ```
//!
//! Every threshold of a sparse column has a subset `S` of the column's nonzeros on one side. Let
//! `m` be the weight of all these nonzeros in the node. There are two upper bounds on the gain of a
//! column, and the lower one counts.
//!
//! * **Summary.** The first bound is the most that splitting off any subset of the nonzeros can
//!   gain. It follows from a summary of the nonzeros alone: their weight, or their class weights
//!   ([`Bounded::most_gain`](crate::criterion::Bounded::most_gain)).
//! * **Memory.** The second bound is for a column that was read in `L`, where its best cut gained
//!   `g`. Rows that are zero in the column have left the node since; the rest is `L'`, of weight
//!   `W'` and mean `u'`. The rows that left are in none of the sets `S`. So by (1) and the triangle
//!   inequality, the gain `g'` of any cut in `L'` satisfies
//!
//!   ```text
//!   sqrt(g' (W' - m) / W') <= sqrt(g (W - m) / W) + sqrt(m) |u - u'|                 (2)
//!   ```
//!
//!   The distance `|u - u'|` is at most the sum of the steps of the mean on the way from `L` to
//!   `L'`; this sum is called the drift. When a row `x` leaves that is nonzero in the column, `g`
//!   can grow: by what `x` adds to the cost of its side, less what `x` adds to the cost of the node
//!   ([`Leave::growth`]). What `x` adds to the cost of its side is at most its weighted squared
//!   distance to the farthest target
//!   ([`Bounded::farthest_distance`](crate::criterion::Bounded::farthest_distance)). A cut that is
//!   legal after rows have left was legal before, so `g` may be the best gain of the legal cuts
//!   alone.
//!
//! Trees on sparse data are long chains of splits that take a few rows off (rows have mean depths
//! of 50 to 800 on the matrices of Table I of "Sparsified Trees"). Along a chain the means hardly
//! move, so the memory of most columns stays of use, and few columns are read again. This is lazy
//! evaluation in the sense of Minoux ("Accelerated greedy algorithms for maximizing submodular set
//! functions", 1978), with bounds that drift instead of standing still.
//!
//! All results are rounded in such a way that the bounds hold for the exact values.

use crate::criterion::Criterion;
use crate::criterion::bounded::Summary;
use crate::split::bar::{Bar, DRIFT_SLACK, SLACK};
use crate::split::sparse::leave::Leave;

/// The bounds of all columns of a node. Columns are numbered by slots (see `heritage`), which index
/// the arrays.
pub(crate) struct ColumnBounds<C: Criterion> {
    /// `sqrt(g (W - m) / W) - slope * drift` at the time when the column was read last; infinite if
    /// the column was never read.
    starts: Vec<f64>,
    /// `sqrt(m)` at the time when the column was read last; 0 if the column was never read.
    slopes: Vec<f64>,
    /// The summary of the column's nonzeros in the node.
    summaries: Vec<Summary<C::Spread>>,
    /// The weight of the column's nonzeros when these bounds were made.
    weights: Vec<u64>,
    /// The greatest of the `weights` from this slot on. So these numbers fall, even if the weights
    /// do not.
    heaviest: Vec<f64>,
    /// How far the node's mean has moved, step by step, since the first bounds were made.
    drift: f64,
}

impl<C: Criterion> ColumnBounds<C> {
    /// The bounds of columns, from summaries of the columns alone.
    pub fn new(summaries: Vec<Summary<C::Spread>>) -> Self {
        let n = summaries.len();
        let weights: Vec<u64> = summaries.iter().map(|summary| summary.weight).collect();
        let mut heaviest = vec![0.0; n];
        let mut most = 0.0f64;
        for (heaviest, &weight) in heaviest.iter_mut().zip(&weights).rev() {
            most = most.max(weight as f64);
            *heaviest = most;
        }
        Self { starts: vec![f64::INFINITY; n], slopes: vec![0.0; n], summaries, weights, heaviest, drift: 0.0 }
    }

    /// The bounds of these slots alone, in this order, with new summaries.
    pub fn pick(&self, slots: &[u32], summaries: Vec<Summary<C::Spread>>) -> Self {
        let pick = |array: &[f64]| slots.iter().map(|&slot| array[slot as usize]).collect::<Vec<_>>();
        let picked = Self::new(summaries);
        Self { starts: pick(&self.starts), slopes: pick(&self.slopes), drift: self.drift, ..picked }
    }

    pub fn summary(&self, slot: u32) -> &Summary<C::Spread> {
        &self.summaries[slot as usize]
    }

    pub fn weight(&self, slot: u32) -> u64 {
        self.summary(slot).weight
    }

    /// Whether no row with an entry in the column has left since these bounds were made.
    pub fn is_whole(&self, slot: u32) -> bool {
        self.weight(slot) == self.weights[slot as usize]
    }

    pub fn n_columns(&self) -> usize {
        self.starts.len()
    }

    pub fn drift(&self) -> f64 {
        self.drift
    }

    /// Calls `visit` with the slot and the bound of every column that may win.
    pub fn candidates(&self, bar: &Bar<C>, mut visit: impl FnMut(u32, f64)) {
        let least = bar.least_weight();
        let end = self.heaviest.partition_point(|&weight| weight >= least);
        for at in 0..end {
            let root = self.starts[at] + self.slopes[at] * bar.drift;
            // The test is (2) without its divisions. While there is no candidate, the gain of the
            // bar is minus infinity; then the right side is minus infinity or NaN, and no column is
            // passed over.
            let rest = (bar.weight - self.slopes[at] * self.slopes[at]).max(0.0);
            if root * root * bar.weight < bar.gain * rest * (1.0 - SLACK) {
                continue;
            }
            let most_gain = bar.most_gain(&self.summaries[at]);
            if bar.admits(most_gain) && self.summaries[at].weight > 0 {
                visit(at as u32, self.bound_at(at, bar.drift, bar.weight).min(most_gain));
            }
        }
    }

    /// The greatest gain that (2) allows in a node of this weight, after this drift.
    fn bound_at(&self, at: usize, drift: f64, weight: f64) -> f64 {
        let (root, mass) = (self.starts[at] + self.slopes[at] * drift, self.slopes[at] * self.slopes[at]);
        if weight > mass { root * root * weight / (weight - mass) * (1.0 + SLACK) } else { f64::INFINITY }
    }

    /// Remembers that no legal cut of a column gains more than `gain` in a node of this weight.
    pub fn remember(&mut self, slot: u32, gain: f64, weight: f64) {
        let at = slot as usize;
        let mass = self.summaries[at].weight as f64;
        // The slope is rounded up: its square must not fall short of the mass, which may be all of
        // the node's weight.
        let slope = mass.sqrt() * (1.0 + 4.0 * f64::EPSILON);
        let start = (gain.max(0.0) * (1.0 + SLACK) * (weight - mass).max(0.0) / weight).sqrt();
        self.slopes[at] = slope;
        self.starts[at] = start - slope * self.drift;
    }

    /// Makes all columns unread: their bounds allow any gain. The summaries stay.
    pub fn clear(&mut self) {
        self.starts.fill(f64::INFINITY);
        self.slopes.fill(0.0);
    }

    /// Turns the bounds of `node` into the bounds of its larger child `large`: the rows of `small` leave.
    /// [`touch`](Self::touch) must then be called for every entry of every row that leaves.
    pub fn leave(&mut self, criterion: &C, node: &C::Totals, small: &C::Totals, large: &C::Totals) -> Leave<C> {
        let leave = Leave::new(criterion, node, small, large);
        self.drift += leave.step;
        leave
    }

    /// Updates the bounds of a column for a row that has left and stores an entry in the column.
    /// `growth` is the result of [`Leave::growth`] for this row.
    pub fn touch(&mut self, criterion: &C, slot: u32, sample: u32, leave: &Leave<C>, growth: f64) {
        let at = slot as usize;
        criterion.exclude(&mut self.summaries[at], sample);
        if self.starts[at] == f64::INFINITY {
            return;
        }
        let bound = self.bound_at(at, self.drift * (1.0 + DRIFT_SLACK), leave.weight);
        if bound.is_finite() {
            self.remember(slot, bound + growth, leave.weight);
        } else {
            self.starts[at] = f64::INFINITY;
            self.slopes[at] = 0.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::criterion::{Visitor, visit};
    use crate::data::Target;
    use crate::error::Result;
    use crate::params::CriterionKind;
    use crate::runtime::Runtime;

    /// The events between two checks.
    #[derive(Debug, Clone)]
    struct Step {
        /// Bit `i`: row `i` leaves, as long as any is left.
        leaving: u32,
        /// Bit `i`: column `i` is read.
        read: u32,
        /// Whether the slots are renumbered.
        pick: bool,
    }

    /// Checks the bounds of a node from which rows leave.
    struct Check<'a> {
        n: u32,
        /// The rows of the nonzeros of each column, in the order of their values.
        columns: &'a [Vec<u32>],
        steps: &'a [Step],
    }

    /// All cuts of a column: its first entries against the rest of the node.
    fn cuts(n: usize) -> Vec<u32> {
        (0..n).map(|last| (2 << last) - 1).collect()
    }

    /// The highest score and the highest gain of a split between one of these subsets of `entries`
    /// and the rest; `None` if no subset leaves a rest. The gain is computed from the costs.
    fn best<C: Criterion>(criterion: &C, rows: &[u32], entries: &[u32], subsets: &[u32]) -> Option<(f64, f64)> {
        let node = criterion.totals(rows);
        let mut scan = criterion.scan();
        let mut best = None;
        for subset in subsets {
            let side: Vec<u32> = (0..entries.len()).filter(|i| subset >> i & 1 == 1).map(|i| entries[i]).collect();
            if side.len() == rows.len() {
                continue;
            }
            let mut pushed = criterion.begin(&node, &mut scan);
            for &sample in &side {
                criterion.push(&node, &mut scan, &mut pushed, sample);
            }
            let score = criterion.score(&node, &scan, pushed);
            let totals = criterion.totals(&side);
            let gain =
                criterion.cost(&node) - criterion.cost(&totals) - criterion.cost(&criterion.minus(&node, &totals));
            let (best_score, best_gain) = best.unwrap_or((f64::NEG_INFINITY, f64::NEG_INFINITY));
            best = Some((score.max(best_score), gain.max(best_gain)));
        }
        best
    }

    impl Visitor for Check<'_> {
        type Output = std::result::Result<(), TestCaseError>;

        fn visit<C: Criterion>(self, criterion: &C) -> Result<Self::Output> {
            Ok(self.check(criterion))
        }
    }

    impl Check<'_> {
        fn check<C: Criterion>(&self, criterion: &C) -> std::result::Result<(), TestCaseError> {
            let mut scan = criterion.scan();
            let mut rows: Vec<u32> = (0..self.n).collect();
            let mut features: Vec<usize> = (0..self.columns.len()).collect();
            let entries = |rows: &[u32], feature: usize| -> Vec<u32> {
                self.columns[feature].iter().copied().filter(|row| rows.contains(row)).collect()
            };
            let mut summaries = |rows: &[u32], features: &[usize]| -> Vec<Summary<C::Spread>> {
                features
                    .iter()
                    .map(|&feature| criterion.summary(entries(rows, feature).into_iter(), &mut scan))
                    .collect()
            };
            let mut bounds = ColumnBounds::<C>::new(summaries(&rows, &features));
            for step in self.steps {
                let (small, left): (Vec<u32>, Vec<u32>) = rows.iter().partition(|&&row| step.leaving >> row & 1 == 1);
                if !small.is_empty() && !left.is_empty() {
                    let node = criterion.totals(&rows);
                    let gone = criterion.totals(&small);
                    let large = criterion.minus(&node, &gone);
                    let leave = bounds.leave(criterion, &node, &gone, &large);
                    for &sample in &small {
                        let growth = leave.growth(criterion, &large, sample);
                        for (slot, &feature) in features.iter().enumerate() {
                            if self.columns[feature].contains(&sample) {
                                bounds.touch(criterion, slot as u32, sample, &leave, growth);
                            }
                        }
                    }
                    rows = left;
                }
                let fresh = ColumnBounds::<C>::new(summaries(&rows, &features));
                if step.pick {
                    let slots: Vec<u32> = (0..features.len() as u32).rev().collect();
                    features.reverse();
                    bounds = bounds.pick(&slots, summaries(&rows, &features));
                }
                let node = criterion.totals(&rows);
                for (slot, &feature) in features.iter().enumerate() {
                    let entries = entries(&rows, feature);
                    let weight: u64 = entries.iter().map(|&sample| criterion.sample_weight(sample)).sum();
                    prop_assert_eq!(bounds.weight(slot as u32), weight);
                    let subsets: Vec<u32> = (1..1 << entries.len()).collect();
                    let Some(of_subsets) = best(criterion, &rows, &entries, &subsets) else { continue };
                    let of_cuts = best(criterion, &rows, &entries, &cuts(entries.len())).unwrap_or((0.0, 0.0));
                    let at = features.len() - 1 - slot;
                    let fresh_slot = if step.pick { at } else { slot } as u32;
                    for (what, bounds, slot, (score, gain)) in
                        [("memory", &bounds, slot as u32, of_cuts), ("summary", &fresh, fresh_slot, of_subsets)]
                    {
                        let mut bar = Bar::new(criterion, &node, bounds.drift());
                        bar.raise(criterion, &node, score);
                        let mut found = None;
                        bounds.candidates(&bar, |candidate, bound| {
                            if candidate == slot {
                                found = Some(bound);
                            }
                        });
                        prop_assert!(found.is_some(), "{} column {}: {} is passed over", what, feature, gain);
                        let bound = found.unwrap_or(0.0);
                        prop_assert!(bar.admits(bound), "{} column {}: {} < {}", what, feature, bound, bar.gain);
                        let rounding = gain.abs() * 1e-9 + criterion.cost(&node) * 1e-13;
                        prop_assert!(bound >= gain - rounding, "{} column {}: {} < {}", what, feature, bound, gain);
                    }
                    if step.read >> feature & 1 == 1 {
                        let score = of_cuts.0;
                        let gain = criterion.gain(&node, score + criterion.tolerance(&node, score));
                        bounds.remember(slot as u32, gain, criterion.weight(&node) as f64);
                    }
                }
            }
            Ok(())
        }
    }

    /// All that a case has beside its target: the number of rows, the columns, and the steps. In
    /// the first step no row leaves and all columns are read.
    fn shapes() -> impl Strategy<Value = (u32, Vec<Vec<u32>>, Vec<Step>)> {
        (2..=16u32).prop_flat_map(|n| {
            let column = (vec(0..n, 1..=8), any::<bool>()).prop_map(move |(mut rows, is_front)| {
                if is_front {
                    rows = (0..rows.len().min(n as usize) as u32).collect();
                }
                let mut seen = 0u32;
                rows.retain(|row| {
                    let is_new = seen >> row & 1 == 0;
                    seen |= 1 << row;
                    is_new
                });
                rows
            });
            // Mostly one row leaves or few rows leave, as along a chain.
            let leaving =
                prop_oneof![3 => (0..n).prop_map(|row| 1 << row), 2 => (any::<u32>(), any::<u32>()).prop_map(|(a, b)| a & b)];
            let read = prop_oneof![2 => Just(0), 1 => any::<u32>()];
            let step = (leaving, read, prop::bool::weighted(0.2)).prop_map(|(leaving, read, pick)| Step { leaving, read, pick });
            let steps = vec(step, 1..7).prop_map(|mut steps| {
                steps.insert(0, Step { leaving: 0, read: u32::MAX, pick: false });
                steps
            });
            (Just(n), vec(column, 1..5), steps)
        })
    }

    /// Weights of 16 rows: none, integers, or fractions.
    fn weights() -> impl Strategy<Value = Option<Vec<f64>>> {
        prop_oneof![
            Just(None),
            vec((1..=5u8).prop_map(f64::from), 16).prop_map(Some),
            vec(0.001..1.0f64, 16).prop_map(Some),
        ]
    }

    /// Numbers of one kind for 16 rows and two outputs: small; of any size and sign; or two values
    /// beside outliers on both sides.
    fn numbers() -> impl Strategy<Value = Vec<f64>> {
        let any_size = (-1.0..1.0f64, 0..60i32).prop_map(|(value, exponent)| value * 2f64.powi(exponent));
        let outliers = (20..56i32).prop_flat_map(|exponent| {
            let value = prop_oneof![6 => Just(0.0), 6 => Just(1.0), 1 => Just(1.0), 2 => Just(-0.5)];
            vec((value, any::<bool>()), 32).prop_map(move |values| {
                let scale = |(value, is_far): (f64, bool)| {
                    if is_far && value != 0.0 { value * 2f64.powi(exponent) } else { value }
                };
                values.into_iter().map(scale).collect::<Vec<_>>()
            })
        });
        prop_oneof![vec((-4..=4i8).prop_map(f64::from), 32), vec(any_size, 32), outliers]
    }

    fn check(
        kind: CriterionKind,
        target: &Target,
        (n, columns, steps): &(u32, Vec<Vec<u32>>, Vec<Step>),
    ) -> std::result::Result<(), TestCaseError> {
        visit(kind, target, Check { n: *n, columns, steps }, &Runtime::unstoppable()).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_subset_of_two_classes_gains_more(shape in shapes(), noise in vec(0..4u32, 16), w in weights()) {
            let n = shape.0 as usize;
            // One row in four has the second class, so that nodes are lopsided.
            let classes: Vec<u32> = noise[..n].iter().map(|&noise| noise / 3).collect();
            let target = Target::classification(&classes, &[2], w.as_ref().map(|w| &w[..n])).unwrap();
            check(CriterionKind::Gini, &target, &shape)?;
        }

        #[test]
        fn no_subset_of_many_classes_gains_more(
            shape in shapes(),
            noise in vec(any::<u32>(), 32),
            n_classes in prop_oneof![vec(3..=5u32, 1), vec(2..=3u32, 2)],
            w in weights(),
        ) {
            let n = shape.0 as usize;
            let n_outputs = n_classes.len();
            let classes: Vec<u32> =
                noise[..n * n_outputs].iter().enumerate().map(|(at, noise)| noise % n_classes[at % n_outputs]).collect();
            let target = Target::classification(&classes, &n_classes, w.as_ref().map(|w| &w[..n])).unwrap();
            check(CriterionKind::Gini, &target, &shape)?;
        }

        #[test]
        fn no_subset_of_numbers_gains_more(
            shape in shapes(),
            numbers in numbers(),
            n_outputs in 1..=2usize,
            w in weights(),
        ) {
            let n = shape.0 as usize;
            let target = Target::regression(&numbers[..n * n_outputs], n_outputs, w.as_ref().map(|w| &w[..n])).unwrap();
            check(CriterionKind::SquaredError, &target, &shape)?;
        }
    }

    /// Most targets are far from the middle of the range, and the outliers are balanced around
    /// them. So the mean of the node and the center of the targets are close to each other, and far
    /// from 0 in fixed point.
    #[test]
    fn outliers_do_not_blur_summaries() {
        for exponent in 20..56 {
            let far = 2f64.powi(exponent);
            for share in 1..8 {
                let mut y = vec![far, -far / 2.0, -far / 2.0];
                y.extend((0..10).map(|row| f64::from(u8::from(row < share))));
                let target = Target::regression(&y, 1, None).unwrap();
                let columns = [(3..3 + share).collect(), (3 + share..13).rev().take(7).collect(), vec![3, 12]];
                let steps = [0, 7, 8, 1 << 12].map(|leaving| Step { leaving, read: 0, pick: false });
                check(CriterionKind::SquaredError, &target, &(13, columns.to_vec(), steps.to_vec())).unwrap();
            }
        }
    }

    /// A visitor that returns three bounds of a column: from its summary; after the column was
    /// read; and after one of many rows has left.
    struct Keep;

    impl Visitor for Keep {
        type Output = [f64; 3];

        fn visit<C: Criterion>(self, criterion: &C) -> Result<Self::Output> {
            let rows: Vec<u32> = (0..1000).collect();
            let column: Vec<u32> = (0..8).collect();
            let node = criterion.totals(&rows);
            let mut bounds = ColumnBounds::<C>::new(vec![criterion.summary(column.into_iter(), &mut criterion.scan())]);
            let bound = |bounds: &ColumnBounds<C>, node| {
                let mut found = f64::NAN;
                bounds.candidates(&Bar::new(criterion, node, bounds.drift()), |_, bound| found = bound);
                found
            };
            let unread = bound(&bounds, &node);
            bounds.remember(0, unread / 16.0, 1000.0);
            let read = bound(&bounds, &node);
            let gone = criterion.totals(&rows[999..]);
            let large = criterion.minus(&node, &gone);
            bounds.leave(criterion, &node, &gone, &large);
            Ok([unread, read, bound(&bounds, &large)])
        }
    }

    /// Infinite bounds would hold, but be of no use.
    #[test]
    fn memory_fades_slowly() {
        let classes: Vec<u32> = (0..1000).map(|row| row % 2).collect();
        let numbers: Vec<f64> = (0..1000).map(|row| f64::from(row % 7)).collect();
        for (kind, target) in [
            (CriterionKind::Gini, Target::classification(&classes, &[2], None).unwrap()),
            (CriterionKind::Gini, Target::classification(&classes, &[3], None).unwrap()),
            (CriterionKind::SquaredError, Target::regression(&numbers, 1, None).unwrap()),
        ] {
            let [unread, read, later] = visit(kind, &target, Keep, &Runtime::unstoppable()).unwrap();
            assert!(unread.is_finite() && (read * 16.0 - unread).abs() < unread * 1e-6, "{unread} {read}");
            assert!(read <= later && later < read * 1.1, "{read} {later}");
        }
    }
}
