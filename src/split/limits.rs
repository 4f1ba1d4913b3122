//! Monotonic constraints: predictions must not fall, or not rise, where a feature grows.
//!
//! A cut on a constrained feature is legal if its sides are in the right order. That alone would not do, as the
//! descendants of the two sides could still overlap: so the middle of two sides is a limit for all that is below. A cut on a
//! constrained feature with a side beyond the limits of its node is illegal; any other may go beyond them, and predictions are
//! kept within. As in scikit-learn (C. Bartley et al., "Enhanced random forest algorithms for partially monotone ordinal
//! classification", AAAI 2019, describe the same for forests).
//!
//! Values are `f64` quotients of exact statistics, the same whichever way a cut was found.

use std::sync::Arc;

use crate::criterion::Criterion;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::params::ValidTreeParams;
use crate::rng::Side;

/// Fails if predictions of the target have no order, or if a constrained feature is categorical.
pub fn check<C: Criterion>(data: &Dataset, criterion: &C, params: &ValidTreeParams) -> Result<()> {
    if params.monotonic_cst.is_some() && criterion.n_means() == 0 {
        return Err(Error::InvalidArgument {
            name: "monotonic_cst",
            got: "a target of several classes or of several outputs of classes".into(),
            expected: "None unless the target is numbers or two classes".into(),
        });
    }
    let is_constrained = |&feature: &u32| data.is_categorical(feature) && params.constraint(feature) != 0;
    if data.has_categories()
        && let Some(feature) = (0..data.n_features() as u32).find(is_constrained)
    {
        return Err(Error::InvalidArgument {
            name: "monotonic_cst",
            got: format!("a constraint on feature {feature}, which is categorical"),
            expected: "0 for categorical features".into(),
        });
    }
    Ok(())
}

/// Between what the predictions below a node must lie: the least and the greatest of each output that has an order.
#[derive(Debug, Clone)]
pub struct Limits(Arc<[[f64; 2]]>);

impl Limits {
    /// No limits for predictions of `n_means` outputs.
    pub fn none(n_means: usize) -> Self {
        Self(vec![[f64::NEG_INFINITY, f64::INFINITY]; n_means].into())
    }

    /// Whether a cut on a feature with this constraint, whose pushed samples are on this side, is legal.
    pub fn allow<C: Criterion>(
        &self,
        criterion: &C,
        (node, scan, pushed): (&C::Totals, &C::Scan, C::Pushed),
        constraint: i8,
        side: Side,
    ) -> bool {
        constraint == 0
            || self.0.iter().enumerate().all(|(output, &[low, high])| {
                let [own, rest] = criterion.side_means(node, scan, pushed, output);
                let (left, right) = if side == Side::Left { (own, rest) } else { (rest, own) };
                let is_ordered = if constraint > 0 { left <= right } else { left >= right };
                is_ordered && [left, right].iter().all(|&mean| low <= mean && mean <= high)
            })
    }

    /// The limits of the two children of a split on a feature with this constraint.
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
                // Low values are on the left of a feature that raises predictions.
                if (constraint > 0) == (side == Side::Left) { [low, high.min(middle)] } else { [low.max(middle), high] }
            });
            Self(limits.collect())
        };
        [with(Side::Left), with(Side::Right)]
    }

    /// Moves the prediction of a node within the limits: means, or the shares of two classes.
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
