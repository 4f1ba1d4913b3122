//! The rows of a tree as folds see them: classes and weights, and the scores that class counts make.

use smallvec::SmallVec;

use crate::data::target::TargetValues;
use crate::data::{Dataset, Target};
use crate::num::log2::EXACT_UP_TO;
use crate::params::{CriterionKind, FeatureSampling, Splitter, ValidTreeParams};

/// Up to so many classes folds are searched together.
const MAX_CLASSES: usize = 16;
/// Up to this total weight, for which the table has an entry each. Logarithms of larger ones are rounded so much that a cut
/// between two rows of a class may be better, by a hair, than those on either side (`num::log2`).
const MAX_WEIGHT: u64 = EXACT_UP_TO;

/// Class counts.
pub(crate) type Counts = SmallVec<[u32; 4]>;

/// Whether folds of a data set can be searched together with these parameters, unless some tree weighs too much: the pass
/// knows class counts of one output, and takes any cut for legal.
pub fn shares(data: &Dataset, target: &Target, params: &ValidTreeParams) -> bool {
    let TargetValues::Classes(classes) = target.values() else { return false };
    let draws_as_told =
        params.feature_sampling == FeatureSampling::All || params.max_features >= data.n_features() as u64;
    // Poisson counts add up to about as many as there are rows.
    let n_samples = target.n_samples() as f64;
    target.n_outputs() == 1
        && n_samples + 6.0 * n_samples.sqrt() <= MAX_WEIGHT as f64
        && classes.first[1] as usize <= MAX_CLASSES
        && matches!(params.criterion, CriterionKind::Entropy | CriterionKind::Gini)
        && params.splitter == Splitter::Best
        && params.min_samples_leaf <= 1
        && params.min_weight_fraction_leaf <= 0.0
        && params.min_impurity_decrease <= 0.0
        && params.monotonic_cst.is_none()
        && params.max_leaf_nodes.is_none()
        && params.ccp_alpha <= 0.0
        && draws_as_told
        && !data.has_categories()
}

/// What the pass needs to know of the rows of a tree.
pub struct FoldRows {
    pub(crate) rows: Vec<Row>,
    pub(crate) n_classes: usize,
    is_gini: bool,
    /// `c log2 c`, or `c^2`.
    table: Vec<f64>,
    /// What the scores of two cuts may differ by for rounding.
    pub(crate) tolerance: f64,
}

/// A row.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub class: u32,
    pub weight: u32,
}

impl FoldRows {
    /// Of the rows of a target. Nothing if folds cannot be searched together, see [`shares`].
    pub fn new(data: &Dataset, target: &Target, params: &ValidTreeParams) -> Option<Self> {
        let TargetValues::Classes(classes) = target.values() else { return None };
        let n_classes = classes.first[1] as usize;
        let weights = target.weights();
        let total: u64 = (0..target.n_samples()).map(|sample| weights.get(sample)).sum();
        if total > MAX_WEIGHT || !shares(data, target, params) {
            return None;
        }
        let row = |sample: usize| Row { class: classes.slots[sample], weight: weights.get(sample) as u32 };
        let is_gini = params.criterion == CriterionKind::Gini;
        let of = |c: f64| if is_gini { c * c } else { c * c.max(1.0).log2() };
        let table: Vec<f64> = (0..=total).map(|c| of(c as f64)).collect();
        // Each side is made of one term per class and one of the weight. None is above the last of the table, or, after the
        // division, above the weight.
        let most = if is_gini { total as f64 } else { table.last().copied().unwrap_or_default() };
        let tolerance = 16.0 * f64::EPSILON * (n_classes + 1) as f64 * most;
        let rows = (0..target.n_samples()).map(row).collect();
        Some(Self { rows, n_classes, is_gini, table, tolerance })
    }

    /// The score of a cut, given class counts of all rows on the left, of those of them that a lane holds out, and of all
    /// rows of the lane.
    #[inline]
    pub(crate) fn score(&self, left: &[u32], held_out: &[u32], totals: &[u32]) -> f64 {
        let (left, held_out, totals) =
            (&left[..self.n_classes], &held_out[..self.n_classes], &totals[..self.n_classes]);
        let at = |count: u32| self.table[count as usize];
        let (mut inside, mut outside, mut weight, mut rest) = (0.0, 0.0, 0, 0);
        for class in 0..left.len() {
            let count = left[class] - held_out[class];
            let other = totals[class] - count;
            inside += at(count);
            outside += at(other);
            weight += count;
            rest += other;
        }
        self.side(inside, weight) + self.side(outside, rest)
    }

    /// What a side adds to a score: the negative cost, or the sum of squares that Gini impurity takes from it.
    #[inline]
    fn side(&self, sum: f64, weight: u32) -> f64 {
        // A side without rows is no side; its sum is 0.
        if self.is_gini { sum / f64::from(weight.max(1)) } else { sum - self.table[weight as usize] }
    }

    /// The same for two classes, given those of the lane on the left.
    #[inline]
    pub(crate) fn score_of_two(&self, [a, b]: [u32; 2], totals: [u32; 2]) -> f64 {
        let at = |count: u32| self.table[count as usize];
        let (c, d) = (totals[0] - a, totals[1] - b);
        self.side(at(a) + at(b), a + b) + self.side(at(c) + at(d), c + d)
    }

    /// Adds the class counts of some rows.
    pub(crate) fn count(&self, samples: &[u32], counts: &mut [u32]) {
        for &sample in samples {
            let row = self.rows[sample as usize];
            counts[row.class as usize] += row.weight;
        }
    }
}
