//! What a split minimises, in exact integers.
//!
//! A criterion knows targets and weights, never how features are stored. Its statistics of a set of
//! samples are integers that add up in any order. So a scan may push samples from either end, and
//! the statistics of one child are those of the node minus those of the other child. Candidates are
//! compared by an `f64` score, and by an exact proof where two scores lie within their rounding
//! error. Hence the order of candidates is the mathematical order, whichever tier found them.
//!
//! To add a criterion: write one file with an implementation of [`Statistics`], [`Ordered`] and
//! [`Bounded`] (or of [`classes::Measure`] if the criterion is a function of class counts), add a
//! name to `params::CriterionKind`, and add a line to `visit_classes` or `visit_numbers`, the
//! registry.

pub mod binary;
pub mod bounded;
pub mod classes;
pub mod component;
pub mod entropy;
pub mod gini;
pub mod ordered;
pub mod packed;
pub mod poisson;
pub mod quantile;
pub mod small;
pub mod squared_error;
pub mod sums;
pub mod weights;

use std::cmp::Ordering;

use crate::data::Target;
use crate::data::target::{Classes, Numbers, TargetValues};
use crate::error::{Error, Result};
use crate::params::CriterionKind;
use crate::runtime::Runtime;

use binary::BinaryGini;
pub use bounded::Bounded;
use classes::ClassCriterion;
use entropy::Entropy;
use gini::Gini;
pub use ordered::Ordered;
use packed::Packed;
use poisson::Poisson;
use quantile::Quantile;
use small::SmallRows;
use squared_error::SquaredError;
use weights::{SampleWeights, SmallWeights};

/// Statistics, scores and values of nodes, which every criterion has.
///
/// A scan tries the cuts of one column in one node: it pushes samples, one at a time, from one side
/// of the cut to the other, and asks for scores in between.
pub trait Statistics: Sync {
    /// The exact statistics of a set of samples, usually those of a node.
    type Totals: Send + Sync;
    /// Buffers of a scan over a node's samples, reused from scan to scan.
    type Scan: Send;
    /// The running statistics of a scan: of the pushed samples, or of those and the rest. Small, so
    /// that loops keep them in registers.
    type Pushed: Copy + Send;
    /// The integers from which [`compare`](Self::compare) computes the exact score of a candidate.
    /// Only candidates whose scores are too close to tell apart in `f64` need it.
    type Proof: Send;
    /// The packed forms of these statistics, for loops over many rows; [`packed::NotPacked`] if
    /// there are none.
    type Packed: Packed<Self>;
    /// The statistics of small subtrees, if their weights are small integers; [`small::NotSmall`] if there
    /// are none.
    type Small: SmallRows<Self>;
    /// The same where the first ones are for one output and the target has several.
    type Several: SmallRows<Self>;
    /// The statistics of small subtrees of any weights.
    type Wide: SmallRows<Self>;
    /// Whether [`score`](Self::score) forbids some cuts, by scoring them NaN.
    const FORBIDS_CUTS: bool = false;

    /// The statistics of `samples`. O(number of samples), up to a logarithm.
    fn totals(&self, samples: &[u32]) -> Self::Totals;
    /// The statistics of a node without the samples of one of its children.
    fn minus(&self, node: &Self::Totals, child: &Self::Totals) -> Self::Totals;
    /// The integer weight of a sample.
    fn sample_weight(&self, sample: u32) -> u64;
    /// The total weight, as an integer multiple of the target's unit of weight.
    fn weight(&self, totals: &Self::Totals) -> u64;
    /// Whether no split can improve the node.
    fn is_pure(&self, totals: &Self::Totals) -> bool;
    /// The impurity in the unit that users see, averaged over outputs: Gini impurity, entropy in
    /// bits, half Poisson deviance, or the unit of the target, squared for squared error.
    fn impurity(&self, totals: &Self::Totals) -> f64;
    /// The cost of a node: its weight times its impurity, summed over outputs. The unit may be any,
    /// if it is the same for all nodes.
    fn cost(&self, totals: &Self::Totals) -> f64;
    /// The number of values per node: outputs, times the largest number of classes of an output.
    /// The default is for numbers.
    fn n_values(&self) -> usize {
        self.n_means()
    }
    /// Writes the prediction of a node with these samples: per output the class shares, padded with
    /// 0, or one number.
    fn write_value(&self, totals: &Self::Totals, samples: &[u32], value: &mut [f64]);

    /// How many predictions can be ordered, so that monotonic constraints may apply to them: one
    /// per output for numbers, one for two classes of one output, otherwise none.
    fn n_means(&self) -> usize;
    /// A prediction that can be ordered: the mean (or quantile) of an output, or the share of the
    /// second class. Not refined as [`write_value`](Self::write_value) may refine it.
    fn mean(&self, totals: &Self::Totals, output: usize) -> f64;
    /// The [`mean`](Self::mean) of the pushed samples and the mean of the rest.
    fn side_means(&self, node: &Self::Totals, scan: &Self::Scan, pushed: Self::Pushed, output: usize) -> [f64; 2];

    /// Makes the buffers of a scan. Call [`begin`](Self::begin) before each use.
    fn scan(&self) -> Self::Scan;
    /// Begins a scan of a column: no sample is pushed yet.
    fn begin(&self, node: &Self::Totals, scan: &mut Self::Scan) -> Self::Pushed;
    /// Announces, right after [`begin`](Self::begin), which samples will be pushed and in which
    /// order, if the caller knows. A criterion whose statistics do not add up can then compute the
    /// losses of all cuts at once.
    ///
    /// Returns an upper bound of the scores of all these cuts. If the bound is below `floor`, the
    /// cuts may not have been prepared: the caller must give the column up.
    #[inline]
    fn foresee(
        &self,
        _node: &Self::Totals,
        _scan: &mut Self::Scan,
        _samples: impl Iterator<Item = u32> + Clone,
        _floor: f64,
    ) -> f64 {
        f64::INFINITY
    }
    /// Moves a sample of the node to the pushed side. O(1) per output.
    fn push(&self, node: &Self::Totals, scan: &mut Self::Scan, pushed: &mut Self::Pushed, sample: u32);
    /// The weight of the pushed samples.
    fn pushed_weight(pushed: &Self::Pushed) -> u64;
    /// A score of the split between the pushed samples and the rest: the more the impurity falls,
    /// the higher the score. Both sides must have a weight above 0. Scores of different nodes
    /// cannot be compared. NaN if the cut is forbidden.
    fn score(&self, node: &Self::Totals, scan: &Self::Scan, pushed: Self::Pushed) -> f64;
    /// Whether [`score`](Self::score) may be at least `least`, which may be minus infinity. Never
    /// false if the score is that high; may be true if the score is lower. Cheaper than a score
    /// where the criterion can test without a division.
    #[inline]
    fn may_score(&self, node: &Self::Totals, scan: &Self::Scan, pushed: Self::Pushed, least: f64) -> bool {
        self.score(node, scan, pushed) >= least
    }
    /// An upper bound of the difference that rounding may cause between two scores of a node, of
    /// which the higher is `score`. The default is for scores that come from exact integers by some
    /// eight roundings at most.
    #[inline]
    fn tolerance(&self, _node: &Self::Totals, score: f64) -> f64 {
        few_roundings(score)
    }
    /// The integers that decide the exact score. Cheap to make.
    fn proof(&self, scan: &Self::Scan, pushed: Self::Pushed) -> Self::Proof;
    /// The exact order of two candidates of one node, given their proofs; the greater one is the
    /// better split.
    fn compare(&self, node: &Self::Totals, a: &Self::Proof, b: &Self::Proof) -> Ordering;
}

/// All that the engine asks of a criterion. Implemented by whatever implements the parts.
pub trait Criterion: Ordered + Bounded {}

impl<T: Ordered + Bounded> Criterion for T {}

/// What some eight roundings at most change in a score that comes from exact integers.
#[inline]
fn few_roundings(score: f64) -> f64 {
    score.abs() * (16.0 * f64::EPSILON)
}

/// Factor that lowers the right side where `s / w >= least` is tested as `s >= least * w`. The
/// rounding of either form is far below the difference, so the test is never wrongly false.
const QUOTIENT_SLACK: f64 = 1.0 - 32.0 * f64::EPSILON;

/// Code that needs a criterion, whatever its type; see [`visit`].
pub trait Visitor {
    /// The result of the visit.
    type Output;
    /// Runs the code with this criterion.
    fn visit<C: Criterion>(self, criterion: &C) -> Result<Self::Output>;
}

/// The criterion of a tree with this target. Subtrees that are grown on a copy of their rows must
/// use the same.
pub fn resolve(kind: CriterionKind, target: &Target) -> CriterionKind {
    match (kind, target.values()) {
        (CriterionKind::Quantile(level), TargetValues::Numbers(numbers)) => {
            CriterionKind::Quantile(quantile::resolve(level, target, numbers))
        }
        _ => kind,
    }
}

/// Calls the visitor with the criterion `kind` over `target`.
///
/// The engine is compiled once for each type named here. For Gini impurity and squared error, small
/// weights have an instance of their own, because there the weights decide how wide the statistics
/// are and whether there are packed forms. All other criteria have one instance, which looks each
/// weight up whatever its kind. Medians and quantiles sort the targets first, which ends when the
/// runtime is stopped.
pub fn visit<V: Visitor>(kind: CriterionKind, target: &Target, visitor: V, runtime: &Runtime<'_>) -> Result<V::Output> {
    match target.values() {
        TargetValues::Classes(_) => visit_classes(kind, target, visitor),
        TargetValues::Numbers(numbers) => visit_numbers(kind, target, numbers, visitor, runtime),
    }
}

/// Like [`visit`], for targets that are classes. The visitor is compiled for the criteria of
/// classes alone.
pub fn visit_classes<V: Visitor>(kind: CriterionKind, target: &Target, visitor: V) -> Result<V::Output> {
    let weights = target.weights();
    match (kind, target.values()) {
        (CriterionKind::Gini, TargetValues::Classes(classes)) => match SmallWeights::of(weights) {
            Some(small) => visit_gini(classes, small, visitor),
            None => visit_gini(classes, weights, visitor),
        },
        (CriterionKind::Entropy, TargetValues::Classes(classes)) => {
            visitor.visit(&ClassCriterion::new(classes, weights, Entropy::new(target.n_outputs())))
        }
        (kind, _) => Err(mismatch(kind, "'gini' or 'entropy'")),
    }
}

fn visit_numbers<V: Visitor>(
    kind: CriterionKind,
    target: &Target,
    numbers: &Numbers,
    visitor: V,
    runtime: &Runtime<'_>,
) -> Result<V::Output> {
    let weights = target.weights();
    let level = match resolve(kind, target) {
        CriterionKind::SquaredError => {
            return match SmallWeights::of(weights).filter(|_| numbers.sums_fit_i64) {
                Some(small) => visitor.visit(&SquaredError::new(numbers, small)),
                None => visitor.visit(&SquaredError::new(numbers, weights)),
            };
        }
        CriterionKind::Poisson => return visitor.visit(&Poisson::new(numbers, weights)?),
        CriterionKind::AbsoluteError => None,
        CriterionKind::Quantile(level) => Some(level),
        CriterionKind::Gini | CriterionKind::Entropy => {
            return Err(mismatch(kind, "'squared_error', 'absolute_error', 'quantile' or 'poisson'"));
        }
    };
    if quantile::is_narrow(target, numbers, level) {
        visitor.visit(&Quantile::<i64>::new(target, numbers, level, runtime)?)
    } else {
        visitor.visit(&Quantile::<i128>::new(target, numbers, level, runtime)?)
    }
}

fn visit_gini<V: Visitor, W: SampleWeights>(classes: &Classes, weights: W, visitor: V) -> Result<V::Output> {
    match BinaryGini::new(classes, weights) {
        Some(criterion) => visitor.visit(&criterion),
        None => visitor.visit(&ClassCriterion::new(classes, weights, Gini::<W::Moment>::default())),
    }
}

fn mismatch(kind: CriterionKind, expected: &'static str) -> Error {
    Error::InvalidParameter { name: "criterion", got: format!("'{}'", kind.name()), expected }
}
