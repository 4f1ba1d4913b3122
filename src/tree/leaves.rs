//! What the leaves of a packed tree predict, laid out for prediction.

use std::sync::OnceLock;

/// The values of the leaves of a tree, in preorder.
#[derive(Debug)]
pub(super) enum LeafValues {
    /// All values of every leaf.
    Dense(Box<[f64]>),
    /// The class shares that are not 0.
    Shares(LeafShares),
}

/// In a code: all of the leaf is of one class.
const PURE: u32 = 1 << 31;

/// The class shares of leaves, of which most are of one class.
#[derive(Debug, Default)]
pub(super) struct LeafShares {
    /// For each leaf: the position of its only class among its values, with [`PURE`]; or its number
    /// among the other leaves.
    codes: Vec<u32>,
    /// Where the shares of each of the other leaves end.
    ends: Vec<u32>,
    /// The positions of these shares among the values of the leaf.
    positions: Vec<u32>,
    shares: Vec<f64>,
}

impl LeafShares {
    /// Adds a leaf with these shares, each with its position.
    pub fn push(&mut self, leaf: &[(u32, f64)]) {
        if let [(position, share)] = *leaf
            && share == 1.0
        {
            self.codes.push(position | PURE);
            return;
        }
        self.codes.push(self.ends.len() as u32);
        self.positions.extend(leaf.iter().map(|&(position, _)| position));
        self.shares.extend(leaf.iter().map(|&(_, share)| share));
        self.ends.push(self.shares.len() as u32);
    }

    #[inline]
    fn add(&self, leaf: u32, sums: &mut [f64]) {
        let code = self.codes[leaf as usize];
        if code & PURE != 0 {
            sums[(code & !PURE) as usize] += 1.0;
            return;
        }
        let code = code as usize;
        let start = if code == 0 { 0 } else { self.ends[code - 1] } as usize;
        let leaf = start..self.ends[code] as usize;
        for (&position, share) in self.positions[leaf.clone()].iter().zip(&self.shares[leaf]) {
            sums[position as usize] += share;
        }
    }

    fn n_bytes(&self) -> usize {
        size_of_val(&self.codes[..])
            + size_of_val(&self.ends[..])
            + size_of_val(&self.positions[..])
            + size_of_val(&self.shares[..])
    }
}

impl LeafValues {
    /// Adds the values of leaves to `sums`, one after the other.
    pub fn add(&self, leaves: &[u32], sums: &mut [f64]) {
        let n_values = sums.len() / leaves.len().max(1);
        match self {
            Self::Dense(values) if n_values == 1 => {
                leaves.iter().zip(sums).for_each(|(&leaf, sum)| *sum += values[leaf as usize]);
            }
            Self::Dense(values) => {
                for (&leaf, sums) in leaves.iter().zip(sums.chunks_exact_mut(n_values)) {
                    let values = &values[leaf as usize * n_values..][..n_values];
                    sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
                }
            }
            Self::Shares(shares) => {
                for (&leaf, sums) in leaves.iter().zip(sums.chunks_exact_mut(n_values)) {
                    shares.add(leaf, sums);
                }
            }
        }
    }

    pub fn n_bytes(&self) -> usize {
        match self {
            Self::Dense(values) => size_of_val(&values[..]),
            Self::Shares(shares) => shares.n_bytes(),
        }
    }
}

/// Values that are made when they are first needed. They follow from the rest of their tree, so any
/// two of them are equal.
#[derive(Debug, Default)]
pub(super) struct MadeLeafValues(OnceLock<LeafValues>);

impl MadeLeafValues {
    pub fn get_or_make(&self, make: impl FnOnce() -> LeafValues) -> &LeafValues {
        self.0.get_or_init(make)
    }

    pub fn n_bytes(&self) -> usize {
        self.0.get().map_or(0, LeafValues::n_bytes)
    }
}

impl PartialEq for MadeLeafValues {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}
