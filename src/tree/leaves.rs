//! The predictions of the leaves of a packed tree of classes, laid out for prediction.

use std::sync::OnceLock;

use super::flagged::{FLAG, Flagged, narrow};

/// In a code: all of the leaf is of one class.
const PURE: u32 = FLAG;

/// The class shares that are not 0, for trees in which most leaves are of one class. In preorder.
#[derive(Debug)]
pub(super) struct LeafShares {
    codes: Codes,
    mixed: MixedLeaves,
}

/// For each leaf: the position of its only class among its values, with [`PURE`]; or its number among
/// the leaves of several classes.
#[derive(Debug)]
enum Codes {
    U8(Box<[u8]>),
    U16(Box<[u16]>),
    U32(Box<[u32]>),
}

/// The leaves of several classes.
#[derive(Debug, Default)]
struct MixedLeaves {
    /// Where the shares of each leaf end.
    ends: Vec<u32>,
    /// The positions of these shares among the values of the leaf.
    positions: Vec<u32>,
    shares: Vec<f64>,
}

/// Makes [`LeafShares`], leaf by leaf.
pub(super) struct LeafSharesBuilder {
    codes: Vec<u32>,
    mixed: MixedLeaves,
}

impl LeafSharesBuilder {
    /// A builder with room for `n_leaves` leaves.
    pub fn new(n_leaves: usize) -> Self {
        Self { codes: Vec::with_capacity(n_leaves), mixed: MixedLeaves::default() }
    }

    /// Adds a leaf that has one class, at this position.
    #[inline]
    pub fn push_pure(&mut self, position: u32) {
        self.codes.push(position | PURE);
    }

    /// Adds a leaf with these shares, each with its position.
    pub fn push(&mut self, leaf: &[(u32, f64)]) {
        if let [(position, share)] = *leaf
            && share == 1.0
        {
            return self.push_pure(position);
        }
        let Self { codes, mixed: MixedLeaves { ends, positions, shares } } = self;
        codes.push(ends.len() as u32);
        positions.extend(leaf.iter().map(|&(position, _)| position));
        shares.extend(leaf.iter().map(|&(_, share)| share));
        ends.push(shares.len() as u32);
    }

    /// The shares of the leaves that have been added. Codes are as narrow as all of them allow.
    pub fn finish(self) -> LeafShares {
        let Self { codes, mut mixed } = self;
        mixed.ends.shrink_to_fit();
        mixed.positions.shrink_to_fit();
        mixed.shares.shrink_to_fit();
        let narrowest = narrow(&codes).map(Codes::U8).or_else(|| narrow(&codes).map(Codes::U16));
        LeafShares { codes: narrowest.unwrap_or_else(|| Codes::U32(codes.into())), mixed }
    }
}

impl LeafShares {
    /// Adds the shares of leaves to `sums`, one after the other.
    pub fn add(&self, leaves: &[u32], sums: &mut [f64]) {
        match &self.codes {
            Codes::U8(codes) => self.mixed.add(leaves, codes, sums),
            Codes::U16(codes) => self.mixed.add(leaves, codes, sums),
            Codes::U32(codes) => self.mixed.add(leaves, codes, sums),
        }
    }

    fn n_bytes(&self) -> usize {
        let codes = match &self.codes {
            Codes::U8(codes) => size_of_val(&codes[..]),
            Codes::U16(codes) => size_of_val(&codes[..]),
            Codes::U32(codes) => size_of_val(&codes[..]),
        };
        let MixedLeaves { ends, positions, shares } = &self.mixed;
        codes + size_of_val(&ends[..]) + size_of_val(&positions[..]) + size_of_val(&shares[..])
    }
}

impl MixedLeaves {
    /// Adds the shares of leaves of any kind to `sums`. `codes` has the code of each leaf of the tree.
    fn add<C: Flagged>(&self, leaves: &[u32], codes: &[C], sums: &mut [f64]) {
        let n_values = sums.len() / leaves.len().max(1);
        for (&leaf, sums) in leaves.iter().zip(sums.chunks_exact_mut(n_values)) {
            let code = codes[leaf as usize].widen();
            if code & PURE != 0 {
                sums[(code & !PURE) as usize] += 1.0;
                continue;
            }
            let code = code as usize;
            let start = if code == 0 { 0 } else { self.ends[code - 1] } as usize;
            let leaf = start..self.ends[code] as usize;
            for (&position, share) in self.positions[leaf.clone()].iter().zip(&self.shares[leaf]) {
                sums[position as usize] += share;
            }
        }
    }
}

/// Shares that are made when they are first needed. They follow from the rest of their tree, so any
/// two of them are equal.
#[derive(Debug, Default)]
pub(super) struct MadeLeafShares(OnceLock<LeafShares>);

impl MadeLeafShares {
    pub fn get_or_make(&self, make: impl FnOnce() -> LeafShares) -> &LeafShares {
        self.0.get_or_init(make)
    }

    pub fn n_bytes(&self) -> usize {
        self.0.get().map_or(0, LeafShares::n_bytes)
    }
}

impl Clone for MadeLeafShares {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for MadeLeafShares {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Leaves of one and of two classes, whose positions are below `n_values`.
    fn check(n_leaves: u32, n_values: u32) -> LeafShares {
        let leaf = |number: u32| {
            let (first, second) = (n_values - 1 - number * 7 % n_values, number * 5 % n_values);
            if first >= second { vec![(first, 1.0)] } else { vec![(first, 0.25), (second, 0.75)] }
        };
        let mut builder = LeafSharesBuilder::new(n_leaves as usize);
        (0..n_leaves).for_each(|number| builder.push(&leaf(number)));
        let shares = builder.finish();
        for number in (0..n_leaves).rev() {
            let mut sums = vec![0.5; 2 * n_values as usize];
            shares.add(&[number, 0], &mut sums);
            let mut expected = vec![0.5; 2 * n_values as usize];
            for (first, leaf) in [(0, leaf(number)), (n_values, leaf(0))] {
                for (position, share) in leaf {
                    expected[(first + position) as usize] += share;
                }
            }
            assert_eq!(sums, expected, "leaf {number}");
        }
        shares
    }

    #[test]
    fn codes_of_every_width_give_the_shares() {
        assert!(matches!(check(100, 3).codes, Codes::U8(_)));
        assert!(matches!(check(1000, 3).codes, Codes::U16(_)));
        // More leaves of two classes, then more classes, than there are codes of 16 bits.
        assert!(matches!(check(1 << 17, 3).codes, Codes::U32(_)));
        assert!(matches!(check(20, 1 << 15 | 1).codes, Codes::U32(_)));
    }
}
