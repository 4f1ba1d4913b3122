//! The columns of few values as bits: a column of `v` values has `v - 1` cuts, and for each of them a
//! bit that says on which side of the cut a row is. A word of a row has the bits of up to 64 cuts.
//!
//! A node reads one word of a row where it would read the ranks of many columns. That pays for one-hot
//! tables, and for others in which most columns have few values.

use super::{BLOCK, DenseColumn, Ranks, gather};
use crate::error::Result;
use crate::memory;
use crate::runtime::Runtime;
use crate::simd::{Level, vectorized};
use crate::tuning::tuned;

tuned! {
    /// Columns of at most this many values are also stored as bits (bench `sweep`).
    fn bits_up_to() -> usize = 6;
    /// But only if they have at least this many cuts together (bench `sweep`).
    fn bits_from() -> usize = 4;
}

/// The bits of a word.
const WORD: usize = u64::BITS as usize;
/// Rows whose words are written between two looks at the stop flag: some milliseconds.
const ROWS_AT_ONCE: usize = 1 << 18;

/// Columns of few values as bits: a row has a bit for each cut between ranks of a column.
#[derive(Debug)]
pub struct BitColumns {
    n_rows: usize,
    /// The number of words of a row.
    n_words: usize,
    /// How many columns have places.
    n_columns: usize,
    /// By column; `None` for a column of many values.
    places: Box<[Option<Place>]>,
    /// The first words of all rows, then their second words, and so on.
    words: Vec<u64>,
}

/// Where the bits of a column are.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// Which of a row's words has the bits.
    pub word: u32,
    /// The bit of the lowest cut, between the ranks 0 and 1: it is set in rows above the cut. The bits of
    /// the next cuts follow.
    pub first: u32,
    /// The number of cuts: one less than the column has ranks, and at least 1.
    pub n_cuts: u32,
}

impl Place {
    /// The bits of the column, as a mask of its word.
    pub fn bits(&self) -> u64 {
        ((1 << self.n_cuts) - 1) << self.first
    }
}

/// The bits that all of the words have, and the bits that any of them has.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
pub fn all_and_any(words: impl Iterator<Item = u64>) -> [u64; 2] {
    words.fold([u64::MAX, 0], |[all, any], word| [all & word, any | word])
}

vectorized! {
    /// Sets the bits of a word in all rows. Each bit has its cut: the ranks of a column, and the rank before
    /// the cut.
    fn write_words(words: &mut [u64], cuts: &[Option<(&[u8], u8)>]) {
        for (words, start) in words.chunks_mut(BLOCK).zip((0..).step_by(BLOCK)) {
            // Eight bits at a time, which are bytes of vector registers.
            for (cuts, shift) in cuts.chunks(8).zip((0..).step_by(8)) {
                let mut bytes = [0; BLOCK];
                for (bit, &(ranks, cut)) in (0..).zip(cuts).filter_map(|(bit, cut)| Some((bit, cut.as_ref()?))) {
                    // Blocks of one length stay in registers.
                    let ranks = &ranks[start..];
                    let ranks: [u8; BLOCK] = ranks.first_chunk().copied().unwrap_or_else(|| {
                        std::array::from_fn(|place| ranks.get(place).copied().unwrap_or(0))
                    });
                    bytes = std::array::from_fn(|place| {
                        bytes[place] | (u8::from(ranks[place] > cut).wrapping_neg() & 1 << bit)
                    });
                }
                words.iter_mut().zip(bytes).for_each(|(word, byte)| *word |= u64::from(byte) << shift);
            }
        }
    }
}

impl BitColumns {
    /// The columns of few ranks among some columns. `None` if they are too few, if memory is
    /// [short](memory::is_to_spare), or if the memory of one is not
    /// [ours](crate::data::buffer::Buffer::is_ours): a file may be larger than memory. O(cells of these
    /// columns, times their values).
    pub(super) fn of(columns: &[DenseColumn], runtime: &Runtime<'_>) -> Result<Option<Self>> {
        let most_values = bits_up_to().min(WORD);
        // By bit: the ranks of the column, and the rank before the cut.
        let mut cuts: Vec<Option<(&[u8], u8)>> = Vec::new();
        let mut places = vec![None; columns.len()];
        for (place, column) in places.iter_mut().zip(columns) {
            let n_ranks = column.n_ranks as usize;
            let Ranks::U8(ranks) = &column.ranks else { continue };
            if n_ranks > most_values {
                continue;
            }
            if !ranks.is_ours() {
                return Ok(None);
            }
            // A column of one value has one cut as well, which no node has rows on both sides of.
            let n_cuts = n_ranks.max(2) - 1;
            if cuts.len() % WORD + n_cuts > WORD {
                cuts.resize(cuts.len().next_multiple_of(WORD), None);
            }
            let (word, first) = (cuts.len() / WORD, cuts.len() % WORD);
            *place = Some(Place { word: word as u32, first: first as u32, n_cuts: n_cuts as u32 });
            cuts.extend((0..n_cuts).map(|cut| Some((&ranks[..], cut as u8))));
        }
        let Some(first) = columns.first().filter(|_| cuts.len() >= bits_from()) else { return Ok(None) };
        let level = Level::widest();
        let n_rows = first.ranks.len();
        let n_words = cuts.len().div_ceil(WORD);
        let n_items = n_rows.saturating_mul(n_words);
        if !memory::is_to_spare(n_items.saturating_mul(size_of::<u64>())) {
            return Ok(None);
        }
        let Ok(mut words) = memory::zeros("the bits of X", n_items) else { return Ok(None) };
        for (words, cuts) in words.chunks_exact_mut(n_rows.max(1)).zip(cuts.chunks(WORD)) {
            for (words, start) in words.chunks_mut(ROWS_AT_ONCE).zip((0..).step_by(ROWS_AT_ONCE)) {
                runtime.check_interrupt()?;
                let cuts: Vec<_> = cuts.iter().map(|cut| cut.map(|(ranks, cut)| (&ranks[start..], cut))).collect();
                write_words(level, words, &cuts);
            }
        }
        let n_columns = places.iter().flatten().count();
        Ok(Some(Self { n_rows, n_words, n_columns, places: places.into(), words }))
    }

    /// Where the bits of a column are; `None` if the column has many values.
    #[inline]
    pub fn place(&self, feature: u32) -> Option<Place> {
        self.places[feature as usize]
    }

    /// The words of this number, by row.
    pub fn words(&self, number: u32) -> &[u64] {
        &self.words[number as usize * self.n_rows..][..self.n_rows]
    }

    /// How many columns of a word a node draws that draws `n_drawn` of all columns, on average.
    pub fn drawn_per_word(&self, n_drawn: usize) -> f64 {
        (self.n_columns * n_drawn) as f64 / (self.places.len() * self.n_words()) as f64
    }

    /// The number of words of a row.
    pub fn n_words(&self) -> usize {
        self.n_words
    }

    /// These columns for some rows, in the order of `rows`. O(rows) for each word.
    pub(super) fn take(&self, rows: &[u32]) -> Self {
        let mut words = vec![0; self.n_words * rows.len()];
        for (number, words) in (0..).zip(words.chunks_exact_mut(rows.len().max(1))) {
            gather::<u64, u64>(self.words(number), rows, words);
        }
        let places = self.places.clone();
        Self { n_rows: rows.len(), n_words: self.n_words, n_columns: self.n_columns, places, words }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::DenseColumns;
    use super::*;

    proptest! {
        #[test]
        fn bits_are_sides_of_cuts(
            n_ranks in proptest::collection::vec(1..2 * bits_up_to() as u32, 1..100),
            n_rows in 1usize..200,
            seed: u32,
        ) {
            let number = |i: usize| (i as u32).wrapping_add(seed).wrapping_mul(0x9E37_79B9) >> 8;
            let column = |(feature, &n_ranks): (usize, &u32)| {
                let ranks: Vec<u8> = (0..n_rows).map(|row| (number(feature * n_rows + row) % n_ranks) as u8).collect();
                DenseColumn { ranks: Ranks::U8(ranks.into()), common_rank: 0, n_ranks, is_sparse: false }
            };
            let columns = DenseColumns::new(n_ranks.iter().enumerate().map(column).collect());
            let rows: Vec<u32> = (0..n_rows as u32).filter(|&row| number(row as usize) % 3 > 0).collect();
            let runtime = &Runtime::unstoppable();
            let (whole, part) = (columns.bits(runtime), columns.subset(&rows, runtime));
            prop_assert_eq!(whole.is_some(), part.bits(runtime).is_some());
            for columns in [&columns, &part] {
                let Some(bits) = columns.bits(runtime) else { continue };
                let mut seen = vec![0u64; bits.n_words()];
                for (feature, &n_ranks) in (0..).zip(&n_ranks) {
                    let place = bits.place(feature);
                    prop_assert_eq!(place.is_some(), n_ranks as usize <= bits_up_to());
                    let Some(place) = place else { continue };
                    prop_assert_eq!(place.n_cuts, n_ranks.max(2) - 1);
                    prop_assert_eq!(seen[place.word as usize] & place.bits(), 0);
                    seen[place.word as usize] |= place.bits();
                    for (row, &word) in (0..).zip(bits.words(place.word)) {
                        for cut in 0..place.n_cuts {
                            let is_above = word >> (place.first + cut) & 1 != 0;
                            prop_assert_eq!(is_above, columns.column(feature).rank(row) > cut);
                        }
                    }
                }
            }
        }
    }
}
