//! Explanations of forests: SHAP values, importances out of bag, and partial dependence.
//!
//! [`shap_values`] gives each feature its share of a prediction: the path-dependent SHAP value. It
//! is the mean, over all orders of the features, of what the prediction changes when the feature
//! becomes known. Where a feature is not known, both children of a split on it are followed, with
//! weights in proportion to their training weights.
//!
//! For a leaf, the weight of a set of known features is a product over the features of its path: of
//! `1` or `0` for a known feature, as the row goes along all its splits or not, and of the product
//! `w` of the shares of training weight for an unknown one. If each feature is known with
//! probability `p`, independently, the mean weight is a product of factors `w + (1 - w) p` and `w
//! (1 - p)`. The SHAP value of a feature is the integral over `p` from 0 to 1 of the derivative by
//! this feature's own probability: the product without its factor, times `1 - w` or `-w`. All
//! factors lie between 0 and 1, so that nothing cancels in a product, however long it is.
//! (Wettenstein, Mitchell, Yu, "Quadrature-TreeSHAP: depth-independent `TreeSHAP` and Shapley
//! interactions", 2026.)
//!
//! The integrand of a path of `d` features is a polynomial of degree `d - 1`. So the Gauss-Legendre rule of 8
//! points is exact for paths of up to 16 features, and longer paths get the number of points that a bound of
//! the error asks for ([`quadrature`]): at most the number that the worst row needs, and no row gets more
//! than it needs itself. A batch of rows goes through the tree together: on the way down the products are
//! kept, and on the way back up the leaves are summed up. Either eight points are worked on side by side
//! (`kernel`, or `one_row` for a batch of one row) or eight rows (`teams`).

mod blocks;
mod covers;
mod dependence;
mod kernel;
mod lanes;
mod one_row;
mod oob;
mod oob_scores;
mod plan;
pub mod quadrature;
mod shap;
mod steps;
mod teams;
mod thresholds;
mod turns;

pub use blocks::CsrMatrix;
pub use dependence::partial_dependence;
pub use oob::{Loss, Permutations, Training, impurity_importances, permutation_importances};
pub use oob_scores::{OobChanges, oob_changes};
pub use shap::{
    Explained, KeptPlans, ShapValues, SideBySide, expected_value, shap_interactions, shap_values, shap_values_by,
    sparse_shap_values,
};
pub use thresholds::thresholds_around;
