//! What a split minimises, in exact integers.
//!
//! A criterion knows targets and weights, never storage. Its statistics are integers that add up in any order, so a
//! scan may push samples from either end, and a child's statistics may be subtracted from its parent's. Candidates are
//! compared by an `f64` score; where two scores lie within their rounding error, by an exact proof. Hence the order of
//! candidates is that of mathematics, whichever way they were found.
//!
//! Adding a criterion: one file with an implementation of [`Criterion`] (or of [`classes::Measure`] if it is a
//! function of class counts), a name in `params::CriterionKind`, and a line in `visit_weighted`, the registry.

pub mod binary;
pub mod bounded;
pub mod classes;
pub mod entropy;
pub mod gini;
pub mod ordered;
pub mod packed;
pub mod poisson;
pub mod quantile;
pub mod squared_error;
pub mod weights;

use std::cmp::Ordering;

use crate::data::Target;
use crate::data::target::{Classes, Numbers, TargetValues, Weights};
use crate::error::{Error, Result};
use crate::params::CriterionKind;

use binary::BinaryGini;
pub use bounded::Bounded;
use classes::ClassCriterion;
use entropy::Entropy;
use gini::Gini;
pub use ordered::Ordered;
use packed::Packed;
use poisson::Poisson;
use quantile::AnyQuantile;
use squared_error::SquaredError;
use weights::{SampleWeights, SmallWeights, UnitWeights};

/// Statistics, scores and values of nodes: what every criterion has.
pub trait Statistics: Sync {
    /// The exact statistics of a set of samples.
    type Totals: Send + Sync;
    /// Scratch of a scan over a node's samples.
    type Scan: Send;
    /// Running statistics of a scan: of the pushed samples, and of the rest. Small, so that loops keep it in registers.
    type Pushed: Copy + Send;
    /// What the exact score of a candidate is computed from, if it comes to that.
    type Proof: Send;
    /// The same statistics in packed forms, for loops over many rows.
    type Packed: Packed<Self>;
    /// Whether [`score`](Self::score) forbids some cuts.
    const FORBIDS_CUTS: bool = false;

    /// The statistics of `samples`. O(their number).
    fn totals(&self, samples: &[u32]) -> Self::Totals;
    /// The statistics of a node without those of one of its children.
    fn minus(&self, node: &Self::Totals, child: &Self::Totals) -> Self::Totals;
    /// The weight of a sample.
    fn sample_weight(&self, sample: u32) -> u64;
    /// The total weight, as an integer.
    fn weight(&self, totals: &Self::Totals) -> u64;
    /// Whether no split can improve the node.
    fn is_pure(&self, totals: &Self::Totals) -> bool;
    /// The impurity, averaged over outputs: Gini impurity, bits, or the target's unit squared.
    fn impurity(&self, totals: &Self::Totals) -> f64;
    /// The cost of a node: its weight times its impurity, summed over outputs, in any fixed unit.
    fn cost(&self, totals: &Self::Totals) -> f64;
    /// Values per node: outputs times classes of the output that has most.
    fn n_values(&self) -> usize;
    /// The prediction of a node with these samples: class shares padded with 0, or means.
    fn write_value(&self, totals: &Self::Totals, samples: &[u32], value: &mut [f64]);

    /// How many predictions can be ordered, and so constrained: those of numbers, or one for two classes of one output.
    fn n_means(&self) -> usize;
    /// A prediction that can be ordered, unrefined: a mean, or the share of the second class.
    fn mean(&self, totals: &Self::Totals, output: usize) -> f64;
    /// The [mean](Self::mean) of the pushed samples and that of the rest.
    fn side_means(&self, node: &Self::Totals, scan: &Self::Scan, pushed: Self::Pushed, output: usize) -> [f64; 2];

    /// A new scan. Call [`begin`](Self::begin) before each use.
    fn scan(&self) -> Self::Scan;
    /// Begins a scan: nothing is pushed yet.
    fn begin(&self, node: &Self::Totals, scan: &mut Self::Scan) -> Self::Pushed;
    /// Says right after [`begin`](Self::begin) which samples will be pushed, and in which order, if that is known. A
    /// criterion whose statistics do not add up can then compute the losses of all cuts at once. Returns a score that no
    /// cut exceeds; if the score is below `floor`, nothing needs to be scored.
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
    /// A score of the split between the pushed samples and the rest: the more the impurity falls, the higher. Both
    /// sides must have a weight above 0. Scores of different nodes cannot be compared. NaN if the cut is forbidden.
    fn score(&self, node: &Self::Totals, scan: &Self::Scan, pushed: Self::Pushed) -> f64;
    /// Whether [`score`](Self::score) may be at least `least`, which is minus infinity, or 0 or more. Never wrongly
    /// false. Cheaper than a score, as it does not divide.
    #[inline]
    fn may_score(&self, node: &Self::Totals, scan: &Self::Scan, pushed: Self::Pushed, least: f64) -> bool {
        self.score(node, scan, pushed) >= least
    }
    /// A bound on the difference that rounding may cause between two scores of a node, the higher being `score`.
    fn tolerance(&self, node: &Self::Totals, score: f64) -> f64;
    /// What proves the score. Cheap.
    fn proof(&self, scan: &Self::Scan, pushed: Self::Pushed) -> Self::Proof;
    /// The exact order of two scores of one node; the greater is the better split.
    fn compare(&self, node: &Self::Totals, a: &Self::Proof, b: &Self::Proof) -> Ordering;
}

/// All that the engine asks of a criterion.
pub trait Criterion: Ordered + Bounded {}

impl<T: Ordered + Bounded> Criterion for T {}

/// Lowers the product by which a quotient is tested, far beyond the rounding of either.
const QUOTIENT_SLACK: f64 = 1.0 - 32.0 * f64::EPSILON;

/// What to do with a criterion, whatever its type.
pub trait Visitor {
    /// The result.
    type Output;
    /// Does it.
    fn visit<C: Criterion>(self, criterion: &C) -> Result<Self::Output>;
}

/// The criterion of a tree with this target. Subtrees that are grown on a copy of their rows must use the same.
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
/// The engine is compiled for each of the types named here. Unit and small weights have copies of their own for Gini
/// impurity and squared error, where the weights decide the width of the statistics and whether there are packed forms; all
/// other criteria look weights up whatever their kind.
pub fn visit<V: Visitor>(kind: CriterionKind, target: &Target, visitor: V) -> Result<V::Output> {
    match target.values() {
        TargetValues::Classes(_) => visit_classes(kind, target, visitor),
        TargetValues::Numbers(numbers) => visit_numbers(kind, target, numbers, visitor),
    }
}

/// As [`visit`] for targets that are classes: the visitor is compiled for the criteria of classes alone.
pub fn visit_classes<V: Visitor>(kind: CriterionKind, target: &Target, visitor: V) -> Result<V::Output> {
    let weights = target.weights();
    match (kind, target.values()) {
        (CriterionKind::Gini, TargetValues::Classes(classes)) => match weights {
            Weights::Unit => visit_gini(classes, UnitWeights, visitor),
            Weights::Small(small) => visit_gini(classes, SmallWeights(small), visitor),
            Weights::Large(_) => visit_gini(classes, weights, visitor),
        },
        (CriterionKind::Entropy, TargetValues::Classes(classes)) => {
            visitor.visit(&ClassCriterion::new(classes, weights, Entropy::new(target.n_outputs())))
        }
        (kind, _) => Err(mismatch(kind, "'gini' or 'entropy'")),
    }
}

fn visit_numbers<V: Visitor>(kind: CriterionKind, target: &Target, numbers: &Numbers, visitor: V) -> Result<V::Output> {
    let weights = target.weights();
    let level = match kind {
        CriterionKind::SquaredError => {
            return match weights {
                Weights::Unit if numbers.sums_fit_i64 => {
                    visitor.visit(&SquaredError::<_, i64>::new(numbers, UnitWeights))
                }
                Weights::Small(small) if numbers.sums_fit_i64 => {
                    visitor.visit(&SquaredError::<_, i64>::new(numbers, SmallWeights(small)))
                }
                _ => visitor.visit(&SquaredError::<_, i128>::new(numbers, weights)),
            };
        }
        CriterionKind::Poisson => return visitor.visit(&Poisson::new(numbers, weights)?),
        CriterionKind::AbsoluteError => None,
        CriterionKind::Quantile(level) => Some(level),
        CriterionKind::Gini | CriterionKind::Entropy => {
            return Err(mismatch(kind, "'squared_error', 'absolute_error', 'quantile' or 'poisson'"));
        }
    };
    match AnyQuantile::new(target, numbers, level) {
        AnyQuantile::Narrow(criterion) => visitor.visit(&criterion),
        AnyQuantile::Wide(criterion) => visitor.visit(&criterion),
    }
}

fn visit_gini<V: Visitor, W: SampleWeights>(classes: &Classes, weights: W, visitor: V) -> Result<V::Output> {
    match BinaryGini::new(classes, weights) {
        Some(criterion) => visitor.visit(&criterion),
        None => visitor.visit(&ClassCriterion::new(classes, weights, Gini::<W::Square>::new())),
    }
}

fn mismatch(kind: CriterionKind, expected: &'static str) -> Error {
    Error::InvalidParameter { name: "criterion", got: format!("'{}'", kind.name()), expected }
}
