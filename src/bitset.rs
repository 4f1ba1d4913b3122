//! A fixed-size set of small integers, one bit each.

/// A set of integers below a bound that is fixed when the set is made.
#[derive(Debug, Clone, Default)]
pub struct Bitset {
    words: Box<[u64]>,
}

impl Bitset {
    /// The empty set of integers below `bound`.
    pub fn new(bound: usize) -> Self {
        Self { words: vec![0; bound.div_ceil(64)].into() }
    }

    /// Whether `i` is in the set.
    #[inline]
    pub fn contains(&self, i: u32) -> bool {
        self.words[i as usize / 64] >> (i % 64) & 1 != 0
    }

    /// Adds `i`, which must be below the bound.
    #[inline]
    pub fn insert(&mut self, i: u32) {
        self.words[i as usize / 64] |= 1 << (i % 64);
    }

    /// Adds all of `members`.
    pub fn insert_all(&mut self, members: &[u32]) {
        for &i in members {
            self.insert(i);
        }
    }

    /// Removes all of `members`.
    pub fn remove_all(&mut self, members: &[u32]) {
        for &i in members {
            self.words[i as usize / 64] &= !(1 << (i % 64));
        }
    }

    /// The members, ascending. O(bound / 64 + members).
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.words.iter().zip((0..).step_by(64)).flat_map(|(&word, first)| ones(word).map(move |bit| first + bit))
    }
}

/// Packs eight bytes that are 0 or 1 into the lowest eight bits: the first byte becomes the lowest bit.
#[inline]
pub fn bits_of_bytes(bytes: [u8; 8]) -> u64 {
    // Byte `i` times the power of two `56 - 7 i` is bit `i` of the highest byte of the product.
    u64::from_le_bytes(bytes).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// The places of the bits that are set, ascending.
#[inline(always)]
#[allow(clippy::inline_always, reason = "compiled for each width of registers")]
pub fn ones(word: u64) -> impl Iterator<Item = u32> + Clone {
    let mut rest = word;
    std::iter::from_fn(move || {
        let first = (rest != 0).then(|| rest.trailing_zeros());
        rest &= rest.wrapping_sub(1);
        first
    })
}
