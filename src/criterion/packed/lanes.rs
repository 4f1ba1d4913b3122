//! Sorted columns of a small node side by side, one per lane of a vector register: how a search
//! hands them to a criterion, which scores their cuts.

/// The number of columns side by side.
pub const LANES: usize = 8;
/// The low bits of a key, which hold the place of a row in its node.
pub const PLACE_BITS: u32 = 8;
/// The largest number of rows of a node that has keys.
pub const MAX_PLACES: usize = 1 << PLACE_BITS;

/// One key of each column: the rank in the high bits, the place of the row in the low bits.
pub type Keys = [u32; LANES];
/// One score of each column.
pub type Scores = [f64; LANES];

/// The place of the row of a key.
#[inline]
pub fn place(key: u32) -> usize {
    (key & (MAX_PLACES as u32 - 1)) as usize
}

/// The rank in a key.
#[inline]
pub fn rank(key: u32) -> u32 {
    key >> PLACE_BITS
}

/// Adds up, in each lane, the rows with a missing value: those whose rank is the lane's rank in
/// `missing`. They are the last of the sorted `keys`. `add` adds the row at a place to a sum.
pub fn add_missing<T: Copy + Default>(keys: &[Keys], missing: &Keys, add: impl Fn(T, usize) -> T) -> [T; LANES] {
    std::array::from_fn(|lane| {
        let rows = keys.iter().rev().map(|row| row[lane]).take_while(|&key| rank(key) == missing[lane]);
        rows.fold(T::default(), |sum, key| add(sum, place(key)))
    })
}

/// Sets scores to minus infinity where the next key has the rank of missing values: the cut would
/// part missing values from all others.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
pub fn mask_missing(next: &Keys, missing: &Keys, scores: &mut Scores) {
    for lane in 0..LANES {
        if rank(next[lane]) >= missing[lane] {
            scores[lane] = f64::NEG_INFINITY;
        }
    }
}

/// Sets scores to minus infinity where the next key has the same rank, so that there is no cut.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
pub fn mask_ties(keys: &Keys, next: &Keys, scores: &mut Scores) {
    for lane in 0..LANES {
        if rank(keys[lane]) == rank(next[lane]) {
            scores[lane] = f64::NEG_INFINITY;
        }
    }
}
