//! What the search of categorical columns asks of a criterion: by what to put categories in order.
//!
//! One order suffices for two classes or one number (Fisher, "On grouping for maximum homogeneity", 1958; Breiman et al.,
//! "Classification and Regression Trees", 1984, section 4.2.2).

use super::Statistics;

/// Orders of categories.
pub trait Ordered: Statistics {
    /// In how many orders categories are tried.
    fn n_orders(&self) -> usize;
    /// The number of a sample by whose mean an order is: whether a class is there, or a number in fixed point.
    fn order(&self, order: usize) -> impl Fn(u32) -> u64;
    /// The weighted sum, over the samples of a node, of the numbers that an [order](Self::order) is by. O(1) if the
    /// statistics have the sum, O(samples) otherwise.
    fn order_total(&self, _totals: &Self::Totals, samples: &[u32], order: usize) -> u128 {
        let value = self.order(order);
        samples.iter().map(|&sample| u128::from(self.sample_weight(sample)) * u128::from(value(sample))).sum()
    }
    /// How many of the first orders are of the classes of one output, if there are more than two classes.
    fn n_shares(&self) -> usize {
        0
    }
    /// Whether [`push_sum`](Self::push_sum) may be called: statistics are functions of the weights and of the sums of the
    /// only order.
    fn pushes_sums(&self) -> bool {
        false
    }
    /// Moves samples with this weight, and with this weighted sum of the only order, to the pushed side.
    fn push_sum(&self, _node: &Self::Totals, _pushed: &mut Self::Pushed, _weight: u64, _sum: u128) {
        unreachable!("`pushes_sums` says whether sums can be pushed")
    }
}
