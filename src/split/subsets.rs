//! The subsets of a few categories that a column has offered already.
//!
//! Several orders of the same categories have cuts in common. A cut that has been offered loses
//! every tie to itself, so an order without a new cut need not be scored.

/// With more units than this, orders have few cuts in common.
const MAX_UNITS: usize = 7;

/// The cuts of the orders so far. A subset of the units and the rest of them are the same cut.
#[derive(Debug)]
pub(crate) struct Subsets {
    n_units: usize,
    /// A bit for each subset that does not have the first unit; not used if there are many units.
    offered: u64,
}

impl Subsets {
    /// No cuts so far.
    pub fn new(n_units: usize) -> Self {
        Self { n_units, offered: 0 }
    }

    /// Adds the cuts of an order of the units. Returns whether one of them is new, or may be.
    pub fn add(&mut self, order: impl IntoIterator<Item = usize>) -> bool {
        if self.n_units > MAX_UNITS {
            return true;
        }
        let all = (1 << self.n_units) - 1;
        let (mut left, before) = (0usize, self.offered);
        for unit in order {
            left |= 1 << unit;
            let without_first = if left & 1 == 0 { left } else { all & !left };
            self.offered |= 1 << (without_first / 2);
        }
        // The empty subset is no cut; the last unit of the order makes it.
        self.offered &= !1;
        self.offered != before
    }

    /// Whether there is no other cut.
    pub fn are_all(&self) -> bool {
        self.n_units <= MAX_UNITS && self.offered.count_ones() as usize == (1 << (self.n_units - 1)) - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_and_its_reverse_have_the_same_cuts() {
        let mut subsets = Subsets::new(3);
        assert!(subsets.add([0, 1, 2]));
        assert!(!subsets.add([2, 1, 0]));
        assert!(!subsets.are_all());
        assert!(subsets.add([1, 0, 2]));
        assert!(subsets.are_all());
        assert!(!subsets.add([1, 2, 0]));
        let mut two = Subsets::new(2);
        assert!(two.add([1, 0]) && two.are_all());
    }

    #[test]
    fn all_orders_together_have_all_cuts() {
        for n in 2..=MAX_UNITS {
            let mut subsets = Subsets::new(n);
            // Each subset leads an order in which the other units follow.
            for subset in 1..(1usize << n) - 1 {
                let (first, last): (Vec<_>, Vec<_>) = (0..n).partition(|unit| subset >> unit & 1 != 0);
                subsets.add(first.into_iter().chain(last));
            }
            assert!(subsets.are_all());
        }
        let mut many = Subsets::new(MAX_UNITS + 1);
        assert!(many.add(0..=MAX_UNITS) && many.add(0..=MAX_UNITS) && !many.are_all());
    }
}
