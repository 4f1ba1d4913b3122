//! All criteria by their names, and the types of weights for which each is compiled.

use super::binary::BinaryGini;
use super::classes::{ClassCriterion, Measure};
use super::entropy::Entropy;
use super::forms::{Criterion, WeightForms};
use super::gini::Gini;
use super::gini_or_entropy::GiniOrEntropy;
use super::loaded::Loaded;
use super::loaded::effects::Effects;
use super::loaded::isolation::Isolation;
use super::loaded::log_rank::{self, Expected, LogRank, Pairs};
use super::loaded::quantile::{self, Quantile};
use super::poisson::Poisson;
use super::squared_error::SquaredError;
use super::weights::SmallWeights;
use crate::data::Target;
use crate::data::survival::Survival;
use crate::data::target::{Classes, Numbers, TargetValues};
use crate::error::{Error, Result};
use crate::params::CriterionKind;
use crate::runtime::Runtime;

/// Code that needs a criterion, whatever its type; see [`visit`].
pub trait Visitor {
    /// What [`visit`](Self::visit) returns.
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
/// are and whether there are packed forms. Entropy shares one with the Gini impurity of any weights and more
/// than two classes, and Poisson deviance has one; both look each weight up whatever its kind. All other
/// criteria share one, `loaded::Loaded`. Medians and quantiles sort the targets first, which ends when the
/// runtime is stopped.
pub fn visit<V: Visitor>(kind: CriterionKind, target: &Target, visitor: V, runtime: &Runtime<'_>) -> Result<V::Output> {
    match target.values() {
        TargetValues::Classes(_) => visit_classes(kind, target, visitor),
        TargetValues::Numbers(numbers) => visit_numbers(kind, target, numbers, visitor, runtime),
        TargetValues::Survival(survival) => visit_times(kind, target, survival, visitor),
        TargetValues::Absent => match kind {
            CriterionKind::Isolation => visitor.visit(&Loaded::new(Isolation, target.weights())),
            kind => Err(mismatch(kind, "'isolation'")),
        },
    }
}

/// Like [`visit`], for targets that are classes. The visitor is compiled for the criteria of
/// classes alone.
pub fn visit_classes<V: Visitor>(kind: CriterionKind, target: &Target, visitor: V) -> Result<V::Output> {
    let weights = target.weights();
    match (kind, target.values()) {
        (CriterionKind::Gini, TargetValues::Classes(classes)) => match SmallWeights::of(weights) {
            Some(small) => visit_gini(classes, small, Gini::<i64>::default(), visitor),
            None => visit_gini(classes, weights, GiniOrEntropy::Gini(Gini::default()), visitor),
        },
        (CriterionKind::Entropy, TargetValues::Classes(classes)) => {
            let measure = GiniOrEntropy::Entropy(Entropy::new(target.n_outputs()));
            visitor.visit(&ClassCriterion::new(classes, weights, measure))
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
        CriterionKind::Effects if numbers.scale.len() > 2 => {
            return visitor.visit(&Loaded::new(Effects::new(target, numbers), weights));
        }
        CriterionKind::AbsoluteError => None,
        CriterionKind::Quantile(level) => Some(level),
        _ => {
            return Err(mismatch(kind, "'squared_error', 'absolute_error', 'quantile' or 'poisson'"));
        }
    };
    let criterion = if quantile::is_narrow(target, numbers, level) {
        Loaded::new(Quantile::<i64>::new(target, numbers, level, runtime)?, weights)
    } else {
        Loaded::new(Quantile::<i128>::new(target, numbers, level, runtime)?, weights)
    };
    visitor.visit(&criterion)
}

fn visit_times<V: Visitor>(kind: CriterionKind, target: &Target, survival: &Survival, visitor: V) -> Result<V::Output> {
    let weights = target.weights();
    let criterion = match kind {
        CriterionKind::LogRank { min_events } if log_rank::is_narrow(target) => {
            Loaded::new(LogRank::<Pairs<i64>>::new(target, survival, min_events), weights)
        }
        CriterionKind::LogRank { min_events } => {
            Loaded::new(LogRank::<Pairs<i128>>::new(target, survival, min_events), weights)
        }
        CriterionKind::LogRankFast { min_events } => {
            Loaded::new(LogRank::<Expected>::new(target, survival, min_events), weights)
        }
        _ => return Err(mismatch(kind, "'logrank' or 'logrank_fast'")),
    };
    visitor.visit(&criterion)
}

/// `measure` is Gini impurity, for more than two classes.
fn visit_gini<V: Visitor, W: WeightForms, M: Measure>(
    classes: &Classes,
    weights: W,
    measure: M,
    visitor: V,
) -> Result<V::Output> {
    match BinaryGini::new(classes, weights) {
        Some(criterion) => visitor.visit(&criterion),
        None => visitor.visit(&ClassCriterion::new(classes, weights, measure)),
    }
}

fn mismatch(kind: CriterionKind, expected: &'static str) -> Error {
    Error::InvalidParameter { name: "criterion", got: format!("'{}'", kind.name()), expected }
}
