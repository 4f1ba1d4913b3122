//! The entries of a sparse matrix by column, as they are stored.

use crate::data::values::{Floats, Merge};
use crate::error::Result;
use crate::memory;

/// Stored entries by column, in stored order: zeros, duplicates and all.
pub(in crate::data) struct Raw {
    pub indptr: Box<[usize]>,
    pub samples: Vec<u32>,
    pub values: Floats,
    /// What several entries for the same cell mean.
    pub merge: Merge,
}

/// Offsets of `n` groups from the group of each member: a monotone array of length `n + 1`.
pub(super) fn offsets(n: usize, members: impl Iterator<Item = usize>) -> Result<Box<[usize]>> {
    let mut offsets = memory::zeros("offsets of X", n + 1)?;
    for group in members {
        offsets[group + 1] += 1;
    }
    cumulate(&mut offsets);
    Ok(offsets.into())
}

/// Replaces each size with the sum of all up to it.
fn cumulate(sizes: &mut [usize]) {
    let mut end = 0;
    for size in sizes {
        end += *size;
        *size = end;
    }
}

#[cfg(test)]
mod tests {
    use super::cumulate;

    /// Offsets do not wrap where 32 bits would, signed or not; a matrix of that size is too large
    /// for a test.
    #[test]
    fn offsets_pass_32_bits() {
        let mut sizes = [0, 1 << 31, 1 << 31, 5];
        cumulate(&mut sizes);
        assert_eq!(sizes, [0, 1 << 31, 1 << 32, (1 << 32) + 5]);
    }
}
