//! Sorted columns side by side: what a search hands to a criterion for the scores of their cuts.

/// Columns side by side.
pub const LANES: usize = 8;
/// Low bits of a key: the place of a row in its node.
pub const PLACE_BITS: u32 = 8;
/// Most rows of a node.
pub const MAX_PLACES: usize = 1 << PLACE_BITS;

/// One key of each column: a rank above, the place of a row below.
pub type Keys = [u32; LANES];
/// One score of each column.
pub type Scores = [f64; LANES];

/// The place of a key.
#[inline]
pub fn place(key: u32) -> usize {
    (key & (MAX_PLACES as u32 - 1)) as usize
}

/// The rank of a key.
#[inline]
pub fn rank(key: u32) -> u32 {
    key >> PLACE_BITS
}

/// Adds up, by lane, what `add` says of the rows with the highest rank if that is the lane's of `missing`.
pub fn add_missing<T: Copy + Default>(keys: &[Keys], missing: &Keys, add: impl Fn(T, usize) -> T) -> [T; LANES] {
    std::array::from_fn(|lane| {
        let rows = keys.iter().rev().map(|row| row[lane]).take_while(|&key| rank(key) == missing[lane]);
        rows.fold(T::default(), |sum, key| add(sum, place(key)))
    })
}

/// Sets each score to minus infinity where the next rank is that of missing values.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
pub fn mask_missing(next: &Keys, missing: &Keys, scores: &mut Scores) {
    for lane in 0..LANES {
        if rank(next[lane]) >= missing[lane] {
            scores[lane] = f64::NEG_INFINITY;
        }
    }
}

/// Sets each score to minus infinity where the next rank is the same, so that there is no cut.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
pub fn mask_ties(keys: &Keys, next: &Keys, scores: &mut Scores) {
    for lane in 0..LANES {
        if rank(keys[lane]) == rank(next[lane]) {
            scores[lane] = f64::NEG_INFINITY;
        }
    }
}
