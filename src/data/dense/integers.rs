//! Columns of integers of a small range, which most codes and counts are. The code of a cell is how
//! far its value is above the column's lowest one.

use crate::data::floats::{FloatSlice, TableValue};
use crate::simd::{Level, vectorized};
use crate::tuning::tuned;

tuned! {
    /// The range of a column that is coded has at most this many integers, and no more than the column has
    /// rows (bench `sweep`).
    fn integers_up_to() -> usize = 4096;
    /// Columns of at most this many codes are counted code by code (bench `sweep`).
    fn code_by_code_up_to() -> usize = 16;
}
/// No range has more integers than this, so that codes have 16 bits.
const MOST: usize = 1 << 15;
/// The range of integers that fit in a byte is coded however few rows there are.
pub(super) const N_BYTES: usize = 256;
/// Cells between two looks at the range so far: other columns are given up after the first one.
const BLOCK: usize = 512;
/// The sum of this number and an integer between -2^51 and 2^51 has the integer in its low bits.
const OFFSET: f64 = 1.5 * TWO_52;
const TWO_52: f64 = (1u64 << 52) as f64;

/// The range of a column's integers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Integers {
    /// The lowest integer, which has the code 0.
    pub lowest: f64,
    /// One more than the highest code.
    pub n_codes: usize,
}

/// Sets `codes` to the codes of a column, whatever it held before. `None` if some cells are not
/// integers, or if their range is large. O(rows).
pub(super) fn code<V: TableValue>(column: &[V], codes: &mut Vec<u16>) -> Option<Integers> {
    let level = Level::widest();
    let most = most_integers(column.len()) as u64;
    codes.resize(column.len(), 0);
    let (mut lowest, mut highest) = (u64::MAX, 0);
    for (values, codes) in column.chunks(BLOCK).zip(codes.chunks_mut(BLOCK)) {
        let sums = code_block(level, V::slice(values), codes)?;
        (lowest, highest) = (lowest.min(sums.0), highest.max(sums.1));
        if highest - lowest >= most {
            return None;
        }
    }
    // In these sums, and in no others, the last bit stands for 1.
    let exact = TWO_52.to_bits()..(2.0 * TWO_52).to_bits();
    if !(exact.contains(&lowest) && exact.contains(&highest)) {
        return None;
    }
    for code in codes {
        *code = code.wrapping_sub(lowest as u16);
    }
    Some(Integers { lowest: f64::from_bits(lowest) - OFFSET, n_codes: (highest - lowest) as usize + 1 })
}

/// The most integers in the range of a column of `n_rows` rows that is coded.
fn most_integers(n_rows: usize) -> usize {
    integers_up_to().min(MOST).min(n_rows).max(N_BYTES)
}

vectorized! {
    /// Sets `codes` to the low bits of the sums of these values and [`OFFSET`], and returns the least
    /// and the greatest of the bits of these sums. `None` if a value is not an integer.
    fn code_block(values: FloatSlice<'_>, codes: &mut [u16]) -> Option<(u64, u64)> {
        #[inline(always)]
        #[allow(clippy::inline_always, reason = "compiled for each width")]
        fn code<V: TableValue>(values: &[V], codes: &mut [u16]) -> Option<(u64, u64)> {
            let (mut lowest, mut highest, mut are_integers) = (u64::MAX, 0, true);
            for (value, code) in values.iter().zip(codes) {
                let value = value.widen();
                let sum = value + OFFSET;
                are_integers &= sum - OFFSET == value;
                let bits = sum.to_bits();
                lowest = lowest.min(bits);
                highest = highest.max(bits);
                *code = bits as u16;
            }
            are_integers.then_some((lowest, highest))
        }
        match values {
            FloatSlice::F32(values) => code(values, codes),
            FloatSlice::F64(values) => code(values, codes),
        }
    }
}

/// The number of rows of each code below `n_codes`; other codes are not counted. O(rows + codes).
pub(super) fn count(codes: &[u16], n_codes: usize) -> Vec<u32> {
    if n_codes <= code_by_code_up_to() {
        let mut counts = vec![0; n_codes];
        count_few(Level::widest(), codes, &mut counts);
        return counts;
    }
    // Rows are counted in turn in four copies, as additions to one number would wait for each
    // other.
    let mut turns = [(); 4].map(|()| vec![0u32; n_codes]);
    let (chunks, rest) = codes.as_chunks::<4>();
    for codes in chunks {
        for (turn, &code) in turns.iter_mut().zip(codes) {
            if let Some(count) = turn.get_mut(usize::from(code)) {
                *count += 1;
            }
        }
    }
    for &code in rest {
        if let Some(count) = turns[0].get_mut(usize::from(code)) {
            *count += 1;
        }
    }
    (0..n_codes).map(|code| turns.iter().map(|turn| turn[code]).sum()).collect()
}

vectorized! {
    /// Adds to each number how many rows have its place as their code.
    fn count_few(codes: &[u16], counts: &mut [u32]) {
        for codes in codes.chunks(BLOCK) {
            for (code, count) in (0..).zip(counts.iter_mut()) {
                *count += u32::from(codes.iter().map(|&other| u16::from(other == code)).sum::<u16>());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The codes and the numbers of rows of a column by their definition; `None` if it is not coded.
    fn oracle(column: &[f64]) -> Option<(f64, Vec<u16>, Vec<u32>)> {
        let lowest = column.iter().copied().reduce(f64::min)?;
        let highest = column.iter().copied().reduce(f64::max)?;
        let most = most_integers(column.len()) as f64;
        let are_coded =
            column.iter().all(|value| value.fract() == 0.0 && value.abs() < TWO_52 / 2.0) && highest - lowest < most;
        let codes: Vec<u16> = are_coded.then(|| column.iter().map(|value| (value - lowest) as u16).collect())?;
        let n = |code: u16| codes.iter().filter(|&&other| other == code).count() as u32;
        let counts = (0..=(highest - lowest) as u16).map(n).collect();
        Some((lowest, codes, counts))
    }

    fn coded<V: TableValue>(column: &[V]) -> Option<(f64, Vec<u16>, Vec<u32>)> {
        // Earlier contents do not matter.
        let mut codes = vec![7; 3];
        let Integers { lowest, n_codes } = code(column, &mut codes)?;
        let counts = count(&codes, n_codes);
        Some((lowest, codes, counts))
    }

    proptest! {
        #[test]
        fn integers_are_coded_from_the_lowest_one_on(
            numbers in prop::collection::vec(0u32..5000, 1..1500),
            n_values in prop::sample::select(vec![1u32, 2, 16, 17, 256, 257, 4096, 4097]),
            lowest in prop::sample::select(vec![0.0, -1.0, -300.0, 1e6, -8e6, 1e15, -2e15, 4e15, 1e300]),
            odd in prop::option::of((0usize..1500, prop::sample::select(vec![0.5, f64::NAN, -0.0]))),
        ) {
            let mut column: Vec<f64> = numbers.iter().map(|number| lowest + f64::from(number % n_values)).collect();
            if let Some((at, value)) = odd {
                let at = at % column.len();
                column[at] = value;
            }
            prop_assert_eq!(coded(&column), oracle(&column));
            if column.iter().all(|&value| value.is_nan() || f64::from(value as f32) == value) {
                let singles: Vec<f32> = column.iter().map(|&value| value as f32).collect();
                prop_assert_eq!(coded(&singles), oracle(&column));
            }
        }
    }

    #[test]
    fn widths_agree() {
        let column: Vec<f32> = (0..700).map(|row| (row * row % 300) as f32 - 50.0).collect();
        let (mut codes, mut expected) = (vec![0; 700], vec![0; 700]);
        let sums = code_block(Level::BASELINE, f32::slice(&column), &mut expected);
        let n = (0..16).map(|code| expected.iter().filter(|&&other| other == code).count() as u32).collect::<Vec<_>>();
        for level in Level::supported() {
            assert_eq!(code_block(level, f32::slice(&column), &mut codes), sums);
            assert_eq!(codes, expected);
            let mut counts = vec![0; 16];
            count_few(level, &codes, &mut counts);
            assert_eq!(counts, n);
        }
    }
}
