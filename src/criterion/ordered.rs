//! What the search of categorical columns asks of a criterion: by which means to put the categories
//! of a node in order. The cuts of an order are subsets of the categories.
//!
//! One order suffices for two classes or one number (Fisher, "On grouping for maximum homogeneity",
//! 1958; Breiman et al., "Classification and Regression Trees", 1984, section 4.2.2).

use super::statistics::Statistics;

/// Orders of categories. Order `i` sorts the categories of a node by the mean, over the samples of
/// a category, of a number that each sample has.
pub trait Ordered: Statistics {
    /// The number of orders that the search tries. By default one per output of numbers.
    fn n_orders(&self) -> usize {
        self.n_means()
    }
    /// The number that each sample has for an order: 1 or 0 for whether the sample is of a certain
    /// class, or the fixed-point target of an output, moved so that none is negative.
    fn order(&self, order: usize) -> impl Fn(u32) -> u64;
    /// The weighted sum of these numbers over the samples of a node. O(1) if the statistics have
    /// the sum, O(samples) otherwise.
    fn order_total(&self, _totals: &Self::Totals, samples: &[u32], order: usize) -> u128 {
        let value = self.order(order);
        samples.iter().map(|&sample| u128::from(self.sample_weight(sample)) * u128::from(value(sample))).sum()
    }
    /// How many of the orders, the first ones, are by the shares of the classes of a single output
    /// with more than two classes; else 0.
    fn n_shares(&self) -> usize {
        0
    }
    /// What moves samples of a node to the pushed side, given their weight and the weighted sum of the
    /// only order's numbers. `None` if there are several orders, or if the statistics of a category
    /// are more than these two numbers.
    #[expect(clippy::type_complexity, reason = "types of a closure's arguments cannot be named in a trait")]
    fn sum_pusher(&self) -> Option<impl Fn(&Self::Totals, &mut Self::Pushed, u64, u128)> {
        None::<fn(&Self::Totals, &mut Self::Pushed, u64, u128)>
    }
}
