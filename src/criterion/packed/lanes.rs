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

/// The sorted columns of a node, and room for the scores of their cuts.
pub struct Cuts<'a> {
    /// For each row of the node, one key per lane; each lane is sorted.
    pub keys: &'a [Keys],
    /// `scores[i]` is for the cuts between `keys[i]` and `keys[i + 1]`, with missing values on the
    /// right.
    pub scores: &'a mut [Scores],
    /// If the node has missing values in some of the columns: the rank of missing values of each
    /// column, which is the column's last (above all ranks if the node has no missing values
    /// there), and room for the scores of the same cuts with missing values on the left.
    pub missing: Option<(&'a Keys, &'a mut [Scores])>,
}

impl Cuts<'_> {
    /// Adds up the rows with a missing value in each lane. `add` adds the row at a place to a sum.
    pub fn missing_sums<T: Copy + Default>(&self, add: impl Fn(T, usize) -> T) -> [T; LANES] {
        let mut sums = [T::default(); LANES];
        self.missing_rows().for_each(|(lane, place)| sums[lane] = add(sums[lane], place));
        sums
    }

    /// The rows with a missing value, each as a lane and a place.
    pub fn missing_rows(&self) -> impl Iterator<Item = (usize, usize)> {
        let lanes = self.missing.iter().flat_map(|(ranks, _)| ranks.iter().enumerate());
        lanes.flat_map(|(lane, &missing)| {
            let keys = self.keys.iter().rev().map(move |row| row[lane]);
            keys.take_while(move |&key| rank(key) == missing).map(move |key| (lane, place(key)))
        })
    }
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
