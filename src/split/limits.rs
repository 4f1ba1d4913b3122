//! Monotonic constraints: predictions must not fall, or not rise, where a feature grows.
//!
//! A cut on a constrained feature is legal if the predictions of its two sides are in the right
//! order. This rule alone is not enough, as the predictions of descendants of the two sides could
//! still overlap. So the middle between the predictions of the two sides is a limit for all nodes
//! below. A cut on a constrained feature is illegal if the prediction of one of its sides is beyond
//! the limits of the node. A cut on any other feature may have such sides; the predictions of nodes
//! are then moved to the limits. This is what scikit-learn does (C. Bartley et al., "Enhanced
//! random forest algorithms for partially monotone ordinal classification", AAAI 2019, describe the
//! method for forests).
//!
//! Predictions are `f64` quotients of exact statistics, so they have the same bits whichever way a
//! cut was found.

use std::sync::Arc;

use crate::criterion::Criterion;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::params::ValidTreeParams;
use crate::rng::Side;

/// Fails if predictions of the target have no order, or if a constrained feature is categorical.
pub fn check<C: Criterion>(data: &Dataset, criterion: &C, params: &ValidTreeParams) -> Result<()> {
    let illegal =
        |got, expected: &str| Err(Error::InvalidArgument { name: "monotonic_cst", got, expected: expected.into() });
    if params.monotonic_cst.is_some() && criterion.n_means() == 0 {
        let got = "a target of several classes or of several outputs of classes".into();
        return illegal(got, "None unless the target is numbers or two classes");
    }
    let is_constrained = |&feature: &u32| data.has_codes(feature) && params.constraint(feature) != 0;
    if data.has_categories()
        && let Some(feature) = (0..data.n_features() as u32).find(is_constrained)
    {
        let got = format!("a constraint on feature {feature}, which is categorical");
        return illegal(got, "0 for categorical features");
    }
    Ok(())
}

/// The range in which the predictions below a node must lie: the least and the greatest prediction
/// of each output whose predictions can be ordered.
#[derive(Debug, Clone)]
pub struct Limits(Arc<[[f64; 2]]>);

impl Limits {
    /// No limits for predictions of `n_means` outputs.
    pub fn none(n_means: usize) -> Self {
        Self(vec![[f64::NEG_INFINITY, f64::INFINITY]; n_means].into())
    }

    /// Whether a cut is legal, the pushed samples being on side `side`. `constraint` belongs to the cut's
    /// feature: predictions must not fall (1) or not rise (-1) where the feature grows, or are free (0).
    pub fn allow<C: Criterion>(
        &self,
        criterion: &C,
        (node, scan, pushed): (&C::Totals, &C::Scan, C::Pushed),
        constraint: i8,
        side: Side,
    ) -> bool {
        self.allow_means(constraint, |output| {
            let [own, rest] = criterion.side_means(node, scan, pushed, output);
            if side == Side::Left { [own, rest] } else { [rest, own] }
        })
    }

    /// Whether a split into these children is legal.
    pub fn allow_children<C: Criterion>(
        &self,
        criterion: &C,
        (left, right): (&C::Totals, &C::Totals),
        constraint: i8,
    ) -> bool {
        self.allow_means(constraint, |output| [left, right].map(|totals| criterion.mean(totals, output)))
    }

    /// Whether a cut is legal, given the means of its left and of its right side in each output.
    fn allow_means(&self, constraint: i8, means: impl Fn(usize) -> [f64; 2]) -> bool {
        constraint == 0
            || self.0.iter().enumerate().all(|(output, &[low, high])| {
                let [left, right] = means(output);
                let is_ordered = if constraint > 0 { left <= right } else { left >= right };
                is_ordered && [left, right].iter().all(|&mean| low <= mean && mean <= high)
            })
    }

    /// The limits of the left and of the right child of a split on a feature with this constraint.
    pub fn of_children<C: Criterion>(
        &self,
        criterion: &C,
        (left, right): (&C::Totals, &C::Totals),
        constraint: i8,
    ) -> [Self; 2] {
        if constraint == 0 {
            return [self.clone(), self.clone()];
        }
        let with = |side: Side| {
            let limits = self.0.iter().enumerate().map(|(output, &[low, high])| {
                let middle = criterion.mean(left, output) / 2.0 + criterion.mean(right, output) / 2.0;
                // Where predictions rise with the feature, the left child has the low predictions.
                if (constraint > 0) == (side == Side::Left) { [low, high.min(middle)] } else { [low.max(middle), high] }
            });
            Self(limits.collect())
        };
        [with(Side::Left), with(Side::Right)]
    }

    /// Moves the prediction of a node into the limits. `value` holds one mean per output, or the
    /// shares of two classes.
    pub fn clip(&self, value: &mut [f64]) {
        match (&self.0[..], value) {
            ([[low, high]], [first, second]) => {
                *second = second.clamp(*low, *high);
                *first = 1.0 - *second;
            }
            (limits, value) => {
                value.iter_mut().zip(limits).for_each(|(mean, &[low, high])| *mean = mean.clamp(low, high));
            }
        }
    }
}
