//! Integers and numbers as bytes: seven bits of an integer a byte, the lowest first.
//!
//! A number is written as its distance from a guess, in units of the last place: a good guess makes
//! it one byte, a bad one ten, and in any case it comes back bit for bit. Guesses are made of
//! sums, products and quotients alone, which are the same on every platform.

/// Appends an integer.
pub fn write_integer(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Appends a difference of two integers, which wraps around.
pub fn write_difference(bytes: &mut Vec<u8>, value: i64, guess: i64) {
    let difference = value.wrapping_sub(guess);
    write_integer(bytes, ((difference << 1) ^ (difference >> 63)) as u64);
}

/// Appends a number, given what it might be.
pub fn write_number(bytes: &mut Vec<u8>, value: f64, guess: f64) {
    write_difference(bytes, value.to_bits() as i64, bits(guess));
}

/// Bytes that are added from the last one to the first one.
pub struct Backwards(Vec<u8>);

impl Backwards {
    /// No bytes yet, and room for `n_bytes`.
    pub fn with_capacity(n_bytes: usize) -> Self {
        Self(Vec::with_capacity(n_bytes))
    }

    /// Adds an integer in front of all others.
    pub fn add_integer(&mut self, value: u64) {
        let begin = self.0.len();
        write_integer(&mut self.0, value);
        self.turn_round(begin);
    }

    /// Adds integers, each in front of all others.
    pub fn add_integers<const N: usize>(&mut self, values: [u64; N]) {
        if values.iter().all(|&value| value < 0x80) {
            self.0.extend_from_slice(&values.map(|value| value as u8));
        } else {
            for value in values {
                self.add_integer(value);
            }
        }
    }

    /// Adds a number in front of all others, given what it might be.
    pub fn add_number(&mut self, value: f64, guess: f64) {
        let begin = self.0.len();
        write_number(&mut self.0, value, guess);
        self.turn_round(begin);
    }

    fn turn_round(&mut self, begin: usize) {
        // Most integers take a byte.
        if self.0.len() > begin + 1 {
            self.0[begin..].reverse();
        }
    }

    /// The bytes, from the first one on.
    pub fn into_bytes(self) -> Box<[u8]> {
        let Self(mut bytes) = self;
        bytes.reverse();
        bytes.into()
    }
}

/// The bits of a guess. Those of a NaN that comes out of a calculation depend on the platform.
fn bits(guess: f64) -> i64 {
    if guess.is_nan() { 0 } else { guess.to_bits() as i64 }
}

/// Whether the bytes are exactly `n` integers.
pub fn are_integers(bytes: &[u8], n: usize) -> bool {
    let n_ends = bytes.iter().filter(|&&byte| byte < 0x80).count();
    n_ends == n && bytes.last().is_none_or(|&last| last < 0x80)
}

/// The bytes that are still to be read. Beyond their end all integers are 0.
#[derive(Debug, Clone, Copy)]
pub struct ByteReader<'a>(pub &'a [u8]);

impl ByteReader<'_> {
    #[inline]
    pub fn integer(&mut self) -> u64 {
        let (mut value, mut shift) = (0, 0);
        while let Some((&byte, rest)) = self.0.split_first() {
            self.0 = rest;
            value |= u64::from(byte & 0x7F).checked_shl(shift).unwrap_or(0);
            shift = (shift + 7).min(u64::BITS);
            if byte < 0x80 {
                break;
            }
        }
        value
    }

    /// An integer of at most 64 bits that does not go beyond the end.
    pub fn whole_integer(&mut self) -> Option<u64> {
        let most = self.0.len().min(10);
        let last = self.0[..most].iter().position(|&byte| byte < 0x80)?;
        // The tenth byte has the highest bit.
        (last < 9 || self.0[9] < 2).then(|| self.integer())
    }

    pub fn difference(&mut self, guess: i64) -> i64 {
        let coded = self.integer();
        guess.wrapping_add((coded >> 1) as i64 ^ -((coded & 1) as i64))
    }

    pub fn number(&mut self, guess: f64) -> f64 {
        f64::from_bits(self.difference(bits(guess)) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn integers_and_numbers_come_back(integer: u64, value: u64, guess: u64, a: i64, b: i64) {
            let (value, guess) = (f64::from_bits(value), f64::from_bits(guess));
            let mut bytes = Vec::new();
            write_integer(&mut bytes, integer);
            write_number(&mut bytes, value, guess);
            write_difference(&mut bytes, a, b);
            prop_assert!(are_integers(&bytes, 3));
            prop_assert!(!are_integers(&bytes, 2) && !are_integers(&bytes[..bytes.len() - 1], 3));
            let mut reader = ByteReader(&bytes);
            prop_assert_eq!(reader.whole_integer(), Some(integer));
            prop_assert_eq!(reader.number(guess).to_bits(), value.to_bits());
            prop_assert_eq!(reader.difference(b), a);
            prop_assert_eq!((reader.integer(), reader.whole_integer()), (0, None));
        }

        #[test]
        fn any_bytes_can_be_read(bytes: Vec<u8>) {
            let mut reader = ByteReader(&bytes);
            while !reader.0.is_empty() {
                reader.integer();
            }
        }
    }

    #[test]
    fn a_good_guess_takes_a_byte() {
        let mut bytes = Vec::new();
        write_number(&mut bytes, 0.1 + 0.2, 0.3);
        write_number(&mut bytes, 0.0, 0.0);
        assert_eq!(bytes.len(), 2);
    }
}
