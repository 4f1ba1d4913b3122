//! The facts that a policy may ask about a node, whatever has walked to it.

use crate::criterion::Criterion;
use crate::split::limits::Limits;

/// A node, as a policy sees it.
pub trait NodeFacts {
    /// Ids of the training rows of the node.
    fn samples(&self) -> &[u32];
    /// Distance from the root of the tree.
    fn depth(&self) -> u64;
    /// The weight of the rows, in integer units.
    fn weight(&self) -> u64;
    /// The impurity in the unit that users see.
    fn impurity(&self) -> f64;
    /// Writes what the node predicts, moved into its limits if it has any.
    fn write_value(&self, value: &mut [f64]);
}

/// The facts of a node with statistics of its own.
pub struct Facts<'a, C: Criterion> {
    pub criterion: &'a C,
    pub samples: &'a [u32],
    pub depth: u64,
    pub totals: &'a C::Totals,
    pub limits: Option<&'a Limits>,
}

impl<C: Criterion> NodeFacts for Facts<'_, C> {
    fn samples(&self) -> &[u32] {
        self.samples
    }

    fn depth(&self) -> u64 {
        self.depth
    }

    fn weight(&self) -> u64 {
        self.criterion.weight(self.totals)
    }

    fn impurity(&self) -> f64 {
        self.criterion.impurity(self.totals)
    }

    fn write_value(&self, value: &mut [f64]) {
        self.criterion.write_value(self.totals, self.samples, value);
        if !self.criterion.has_target() {
            value[0] += self.depth as f64;
        }
        if let Some(limits) = self.limits {
            limits.clip(value);
        }
    }
}
