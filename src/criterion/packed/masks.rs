//! The rows of a large node as bits, class by class: 64 rows of weight 1 are counted at once.
//!
//! The rows of a class that are on one side of a cut are the bits that the class and the side have in
//! common. Rows that are added up one by one wait for the row before, if that is of the same class
//! (`benches/notes/dense-search.md`).

use super::row::slot_of;
use super::{MAX_CLASSES, TURNS};
use crate::simd::{Level, vectorized};

/// Rows whose bits share a word.
const ROWS: usize = u64::BITS as usize;

/// For each class, which rows of a node are of the class.
pub struct ClassMasks {
    n_classes: usize,
    /// The bits of the first 64 rows, a word for each class; then the bits of the next 64 rows, and so on.
    words: Vec<u64>,
}

impl ClassMasks {
    /// The masks of [packed rows](super::row::packed_row), whose classes are below `n_classes`. With
    /// several outputs a row has several classes: there are `n_rows` rows for each output. O(rows).
    pub fn of(n_rows: usize, n_classes: usize, rows: &[u64]) -> Self {
        let mut words = vec![0u64; n_rows.div_ceil(ROWS) * n_classes];
        for rows in rows.chunks_exact(n_rows) {
            let (blocks, rest) = rows.as_chunks::<{ TURNS * ROWS }>();
            let mut words = words.chunks_mut(TURNS * n_classes);
            for (rows, words) in blocks.iter().zip(&mut words) {
                // The words of a block in turn: two bits of one word would wait for each other.
                for place in 0..ROWS {
                    for word in 0..TURNS {
                        words[word * n_classes + slot_of(rows[word * ROWS + place])] |= 1 << place;
                    }
                }
            }
            let words = words.next().unwrap_or_default();
            for (words, rows) in words.chunks_mut(n_classes).zip(rest.chunks(ROWS)) {
                for (place, &row) in rows.iter().enumerate() {
                    words[slot_of(row)] |= 1 << place;
                }
            }
        }
        Self { n_classes, words }
    }

    /// The number of rows of each class whose rank is below `end`. O(rows).
    pub fn count_below(&self, level: Level, ranks: &[u32], end: u32) -> [u32; MAX_CLASSES] {
        count_below(level, &self.words, self.n_classes, ranks, end)
    }
}

vectorized! {
    fn count_below(words: &[u64], n_classes: usize, ranks: &[u32], end: u32) -> [u32; MAX_CLASSES] {
        let bit = |(place, &rank): (usize, &u32)| u64::from(rank < end) << place;
        let (chunks, rest) = ranks.as_chunks::<ROWS>();
        let of_chunks = chunks.iter().map(|ranks| ranks.iter().enumerate().map(bit).sum());
        let of_rest = std::iter::once_with(|| rest.iter().enumerate().map(bit).sum());
        let mut counts = [0; MAX_CLASSES];
        for (words, below) in words.chunks_exact(n_classes).zip(of_chunks.chain(of_rest)) {
            let below: u64 = below;
            for (count, word) in counts.iter_mut().zip(words) {
                *count += (word & below).count_ones();
            }
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::criterion::packed::row::packed_row;

    proptest! {
        #[test]
        fn masks_count_what_rows_count(
            rows in vec((0..5u32, 0..3u32, 0..9u32), 1..300),
            end in 0..10u32,
        ) {
            // Two outputs, of five and of three classes. Each row weighs 1.
            let classes = rows.iter().map(|row| row.0).chain(rows.iter().map(|row| 5 + row.1));
            let of_outputs: Vec<u64> = classes.map(|class| packed_row(1, class)).collect();
            let ranks: Vec<u32> = rows.iter().map(|row| row.2).collect();
            let expected: Vec<u32> = (0..8)
                .map(|class| {
                    let is_of = |row: &&(u32, u32, u32)| row.2 < end && (row.0 == class || 5 + row.1 == class);
                    rows.iter().filter(is_of).count() as u32
                })
                .collect();
            let masks = ClassMasks::of(rows.len(), 8, &of_outputs);
            for level in Level::supported() {
                prop_assert_eq!(&masks.count_below(level, &ranks, end)[..8], &expected[..]);
            }
        }
    }
}
