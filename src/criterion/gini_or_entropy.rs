//! Gini impurity or entropy, for weights of any kind: the engine is compiled once for both.
//!
//! Both have sums of the same type, and look each weight up. Which of the two it is, is asked at each sample,
//! where the answer is always the same; loops in vector registers ask once, as their terms are chosen.

use std::cmp::Ordering;

use super::classes::{Measure, Sides, TermsVisitor};
use super::entropy::Entropy;
use super::gini::Gini;

pub enum GiniOrEntropy {
    Gini(Gini<i128>),
    Entropy(Entropy),
}

/// The same expression for either measure.
macro_rules! either {
    ($either:expr, $measure:ident => $value:expr) => {
        match $either {
            GiniOrEntropy::Gini($measure) => $value,
            GiniOrEntropy::Entropy($measure) => $value,
        }
    };
}

impl Measure for GiniOrEntropy {
    type Sum = i128;

    fn is_squared_distance(&self) -> bool {
        either!(self, measure => measure.is_squared_distance())
    }

    #[inline]
    fn growth(&self, count: u64, weight: u64) -> i128 {
        either!(self, measure => measure.growth(count, weight))
    }

    fn impurity(&self, sum: i128, weight: u64, n_outputs: usize) -> f64 {
        either!(self, measure => measure.impurity(sum, weight, n_outputs))
    }

    fn score_of_none(&self, sum: i128, weight: u64, n_outputs: usize) -> f64 {
        either!(self, measure => measure.score_of_none(sum, weight, n_outputs))
    }

    fn cost(&self, sum: i128, weight: u64, n_outputs: usize) -> f64 {
        either!(self, measure => measure.cost(sum, weight, n_outputs))
    }

    #[inline]
    fn score(&self, split: &Sides<i128>) -> f64 {
        either!(self, measure => measure.score(split))
    }

    #[inline]
    fn may_score(&self, split: &Sides<i128>, least: f64) -> bool {
        either!(self, measure => measure.may_score(split, least))
    }

    #[inline]
    fn tolerance(&self, score: f64, weight: u64, n_outputs: usize, n_slots: usize) -> f64 {
        either!(self, measure => measure.tolerance(score, weight, n_outputs, n_slots))
    }

    fn most_score(&self, weight: f64, n_outputs: f64) -> f64 {
        either!(self, measure => measure.most_score(weight, n_outputs))
    }

    fn error_of_terms(&self, weight: f64, n_outputs: f64, n_terms: f64) -> f64 {
        either!(self, measure => measure.error_of_terms(weight, n_outputs, n_terms))
    }

    fn visit_terms<V: TermsVisitor>(&self, visitor: V) -> V::Output {
        either!(self, measure => measure.visit_terms(visitor))
    }

    fn compare(&self, a: &Sides<i128>, b: &Sides<i128>) -> Ordering {
        either!(self, measure => measure.compare(a, b))
    }
}
