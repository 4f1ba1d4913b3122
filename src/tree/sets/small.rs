//! Sets of categories that fit into one integer, as most do: a split then holds its set itself.

use super::{LEN_SHIFT, OTHERS_LEFT, SetView, Words, entry};

/// The bit of values that are no codes, and of all codes from this one on.
const OTHERS: u32 = 50;
const ALL: u64 = (1 << (OTHERS + 1)) - 1;

/// A set that lists no code from [`OTHERS`] on: a bit for each code below, and one for all other values. It
/// is 1 for those that go left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tree) struct SmallSet(u64);

impl SmallSet {
    /// The set, if it is small. O(listed codes).
    pub fn of(set: SetView<'_>) -> Option<Self> {
        if set.last().is_some_and(|code| code >= OTHERS) {
            return None;
        }
        let listed = set.listed().fold(0, |bits, code| bits | 1 << code);
        Some(Self(if set.others_left() { ALL & !listed } else { listed }))
    }

    /// The set in the form that sets in an array have.
    pub fn view(self) -> SetView<'static> {
        let others_left = self.0 >> OTHERS & 1 != 0;
        let (side, listed) = if others_left { (OTHERS_LEFT, ALL & !self.0) } else { (0, self.0) };
        if listed == 0 {
            return SetView { header: side, words: Words::Borrowed(&[]) };
        }
        SetView { header: 1 << LEN_SHIFT | side, words: Words::One(listed) }
    }

    /// An integer of 51 bits.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// The set of these bits; those above the lowest 51 do not count.
    #[inline]
    pub fn from_bits(bits: u64) -> Self {
        Self(bits & ALL)
    }

    /// The bit of a value that is not missing in the bits of every small set.
    #[inline]
    pub fn bit(value: f64) -> u64 {
        1 << entry(value, OTHERS)
    }

    /// Whether a value that is not missing goes left.
    #[inline]
    pub fn goes_left(self, value: f64) -> bool {
        self.0 & Self::bit(value) != 0
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::{btree_set, vec};
    use proptest::prelude::*;

    use super::*;
    use crate::tree::sets::CategorySet;

    proptest! {
        #[test]
        fn small_sets_are_the_sets_that_they_are_made_of(
            codes in btree_set(prop_oneof![0..8u32, 40..54u32], 0..8),
            others_left: bool,
            values in vec(prop_oneof![(0..60u32).prop_map(f64::from), any::<f64>()], 8),
        ) {
            let set = CategorySet::of(codes.iter().copied(), others_left);
            let small = SmallSet::of(set.view());
            prop_assert_eq!(small.is_some(), codes.iter().all(|&code| code < OTHERS));
            let Some(small) = small else { return Ok(()) };
            prop_assert_eq!(small.view(), set.view());
            prop_assert_eq!(small.view().listed().collect::<Vec<_>>(), codes.into_iter().collect::<Vec<_>>());
            prop_assert_eq!(SmallSet::from_bits(small.bits() | u64::MAX << 51), small);
            let values = values.into_iter().chain([-0.0, 49.0, 49.5, 50.0, 1e300, f64::INFINITY, -1.0]);
            for value in values.filter(|value| !value.is_nan()) {
                prop_assert_eq!(small.goes_left(value), set.goes_left(value), "{}", value);
                prop_assert_eq!(small.view().goes_left(value), set.goes_left(value), "{}", value);
            }
        }
    }
}
