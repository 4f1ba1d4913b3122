//! Which forms of its statistics each criterion has, for loops over many rows.
//!
//! A criterion knows none of its forms: they are made from the criterion, and this file joins the two.

use super::binary::BinaryGini;
use super::bounded::Bounded;
use super::classes::{ClassCriterion, Measure};
use super::loaded::Loaded;
use super::ordered::Ordered;
use super::packed::{NotPacked, Packed, PackedBinary, PackedClasses, PackedSums};
use super::poisson::Poisson;
use super::small::{BinaryRows, Filter, NotSmall, SmallClasses, SmallKernel, SmallRows, SmallSums, SquareRows};
use super::squared_error::SquaredError;
use super::statistics::Statistics;
use super::weights::{SampleWeights, SmallWeights};
use crate::data::target::Weights;

/// All that the engine asks of a criterion. Implemented by whatever implements the parts.
pub trait Criterion: Ordered + Bounded + Forms {}

impl<T: Ordered + Bounded + Forms> Criterion for T {}

/// The forms of the statistics of a criterion.
pub trait Forms: Statistics {
    /// The packed forms of these statistics, for the nodes of many rows; [`NotPacked`] if there are none.
    type Packed: Packed<Self>;
    /// The statistics of small subtrees, if their weights are small integers; [`NotSmall`] if there are none.
    type Small: SmallRows<Self>;
    /// The statistics of small subtrees for several outputs, if `Small` is for one output alone.
    type Several: SmallRows<Self>;
    /// The statistics of small subtrees of any weights.
    type Wide: SmallRows<Self>;
}

/// Kinds of weights, by which the forms of a criterion depend on them.
pub trait WeightForms: SampleWeights {
    /// `R`, the statistics of small subtrees of small weights; [`NotSmall`] if no weights are small.
    type IfSmall<C: Statistics, R: SmallRows<C>>: SmallRows<C>;
}

impl WeightForms for SmallWeights<'_> {
    type IfSmall<C: Statistics, R: SmallRows<C>> = R;
}

impl WeightForms for &Weights {
    type IfSmall<C: Statistics, R: SmallRows<C>> = NotSmall;
}

impl<W: WeightForms> Forms for BinaryGini<'_, W> {
    type Packed = PackedBinary<W::Pair>;
    type Small = W::IfSmall<Self, SmallKernel<BinaryRows>>;
    type Several = NotSmall;
    type Wide = SmallKernel<Filter<Self>>;
}

impl<W: SampleWeights, M: Measure> Forms for ClassCriterion<'_, W, M> {
    type Packed = PackedClasses<W::Count>;
    type Small = SmallClasses;
    type Several = NotSmall;
    type Wide = SmallKernel<Filter<Self>>;
}

impl<W: WeightForms> Forms for SquaredError<'_, W> {
    type Packed = PackedSums<W::Moment>;
    type Small = W::IfSmall<Self, SmallKernel<SquareRows>>;
    type Several = W::IfSmall<Self, SmallSums>;
    type Wide = SmallKernel<Filter<Self>>;
}

impl Forms for Poisson<'_> {
    type Packed = PackedSums<i64>;
    type Small = SmallSums;
    type Several = NotSmall;
    type Wide = NotSmall;
}

impl Forms for Loaded<'_> {
    type Packed = NotPacked;
    type Small = NotSmall;
    type Several = NotSmall;
    type Wide = SmallKernel<Filter<Self>>;
}
