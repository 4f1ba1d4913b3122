//! The rows of a tree as folds see them: the class and the weight of each row, and the score of a
//! cut from class counts.

use smallvec::SmallVec;

use crate::data::target::TargetValues;
use crate::data::{Dataset, Target};
use crate::num::log2::EXACT_UP_TO;
use crate::params::{CriterionKind, FeatureSampling, Splitter, ValidTreeParams};

/// Folds are searched together for at most this many classes.
const MAX_CLASSES: usize = 16;
/// Folds are searched together up to this total weight of the rows; the table of scores has an
/// entry for each weight up to the total. Logarithms of larger numbers are rounded so much that a
/// cut between two rows of one class may score slightly higher than the cuts on either side of
/// these rows (`num::log2`). But the pass scores no cuts between rows of one class.
const MAX_WEIGHT: u64 = EXACT_UP_TO;

/// For each class, the sum of the weights of its rows.
pub(crate) type Counts = SmallVec<[u32; 4]>;

/// Whether folds of a data set can be searched together with these parameters, unless the rows of
/// some tree weigh too much (see [`FoldRows::new`]). The pass over a column only knows class counts
/// of one output, and takes every cut to be legal.
pub fn shares(data: &Dataset, target: &Target, params: &ValidTreeParams) -> bool {
    let TargetValues::Classes(classes) = target.values() else { return false };
    let draws_from_all =
        params.feature_sampling == FeatureSampling::All || params.max_features >= data.n_features() as u64;
    // The sum of Poisson counts is about the number of rows, and hardly ever more than six standard
    // deviations above.
    let n_samples = target.n_samples() as f64;
    target.n_outputs() == 1
        && n_samples + 6.0 * n_samples.sqrt() <= MAX_WEIGHT as f64
        && classes.first[1] as usize <= MAX_CLASSES
        && matches!(params.criterion, CriterionKind::Entropy | CriterionKind::Gini)
        && params.splitter == Splitter::Best
        && params.min_samples_leaf <= 1
        && params.min_share_leaf <= 0.0
        && params.min_weight_fraction_leaf <= 0.0
        && params.min_impurity_decrease <= 0.0
        && params.monotonic_cst.is_none()
        && params.interaction_cst.is_none()
        && params.max_leaf_nodes.is_none()
        && params.ccp_alpha <= 0.0
        && draws_from_all
        && !data.has_categories()
}

/// The rows of a tree, with the table and the tolerance by which the pass over a column scores
/// cuts.
pub struct FoldRows {
    pub(crate) rows: Vec<FoldRow>,
    pub(crate) n_classes: usize,
    is_gini: bool,
    /// For each weight `c`: `c log2 c` for entropy, `c^2` for Gini impurity.
    table: Vec<f64>,
    /// The most by which rounding changes the difference between the scores of two cuts.
    pub(crate) tolerance: f64,
}

/// The class of a row, and its weight in the tree.
#[derive(Clone, Copy)]
pub(crate) struct FoldRow {
    pub class: u32,
    pub weight: u32,
}

impl FoldRows {
    /// Makes the rows from a target. `None` if folds cannot be searched together (see [`shares`]),
    /// or if the rows weigh too much.
    pub fn new(data: &Dataset, target: &Target, params: &ValidTreeParams) -> Option<Self> {
        let TargetValues::Classes(classes) = target.values() else { return None };
        let n_classes = classes.first[1] as usize;
        let weights = target.weights();
        let total: u64 = (0..target.n_samples()).map(|sample| weights.get(sample)).sum();
        if total > MAX_WEIGHT || !shares(data, target, params) {
            return None;
        }
        let row = |sample: usize| FoldRow { class: classes.slots[sample], weight: weights.get(sample) as u32 };
        let is_gini = params.criterion == CriterionKind::Gini;
        let of = |c: f64| if is_gini { c * c } else { c * c.max(1.0).log2() };
        let table: Vec<f64> = (0..=total).map(|c| of(c as f64)).collect();
        // The score of a side has one term per class and one for the weight. No term is above the
        // last entry of the table (entropy), or above the total weight after the division (Gini
        // impurity).
        let most = if is_gini { total as f64 } else { table.last().copied().unwrap_or_default() };
        let tolerance = 16.0 * f64::EPSILON * (n_classes + 1) as f64 * most;
        let rows = (0..target.n_samples()).map(row).collect();
        Some(Self { rows, n_classes, is_gini, table, tolerance })
    }

    /// The score of a cut for a fold. `left` has the class counts of all rows on the left of the
    /// cut, `held_out` the class counts of the rows on the left that the fold holds out, and
    /// `totals` the class counts of all rows of the fold.
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

    /// The part of the score that one side of a cut adds, for a sum of table entries over classes. For
    /// entropy: minus the cost of the side. For Gini impurity: the sum of squared counts over the weight,
    /// that is, the weight minus the cost.
    #[inline]
    fn side(&self, sum: f64, weight: u32) -> f64 {
        // A side without rows has the sum 0, which is divided by 1 instead of 0.
        if self.is_gini { sum / f64::from(weight.max(1)) } else { sum - self.table[weight as usize] }
    }

    /// The score of a cut in a node of two classes, from the fold's own class counts on the left of
    /// the cut (`[a, b]`) and in all.
    #[inline]
    pub(crate) fn score_of_two(&self, [a, b]: [u32; 2], totals: [u32; 2]) -> f64 {
        let at = |count: u32| self.table[count as usize];
        let (c, d) = (totals[0] - a, totals[1] - b);
        self.side(at(a) + at(b), a + b) + self.side(at(c) + at(d), c + d)
    }

    /// Adds the weights of some rows to the counts of their classes.
    pub(crate) fn count(&self, samples: &[u32], counts: &mut [u32]) {
        for &sample in samples {
            let row = self.rows[sample as usize];
            counts[row.class as usize] += row.weight;
        }
    }
}
