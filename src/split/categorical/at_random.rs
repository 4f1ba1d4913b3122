//! A random split of categories: a random subset of the node's categories goes left.

use crate::rng::NodeKey;

/// A random subset of the categories, or of the units of categories, of a column in a node. Neither the
/// subset nor the set of all others is empty. Each category is named by its identity, so that the subset
/// depends on no code.
pub struct RandomSubset {
    key: NodeKey,
    feature: u32,
    /// If all numbers are on one side, the least number: its category changes sides.
    moved: Option<u64>,
}

impl RandomSubset {
    /// A subset of categories of at least two different names. A name may come several times.
    pub fn of(key: NodeKey, feature: u32, identities: impl Iterator<Item = u32>) -> Self {
        let numbers = identities.map(|identity| key.category(feature, identity));
        // Different names have different numbers.
        let (least, all, any) =
            numbers.fold((u64::MAX, 1, 0), |(least, all, any), number| (number.min(least), all & number, any | number));
        Self { key, feature, moved: (all == any & 1).then_some(least) }
    }

    /// Whether a category goes left.
    #[inline]
    pub fn has(&self, identity: u32) -> bool {
        let number = self.key.category(self.feature, identity);
        (number & 1 == 0) != (self.moved == Some(number))
    }
}
