//! Category sets: which categories a split on a categorical feature sends left.
//!
//! A category is a code, an integer below the feature's number of categories. A set lists some of
//! the codes that occur in the split's node. The listed codes go to one side and everything else
//! goes to the other: the other codes of the node, codes that do not occur in the node, and values
//! that are no codes. A set says nothing about missing values.
//!
//! The sets of a tree lie one after the other in one array of words. A set is a header and its
//! words: a bit for each code from the least to the largest listed one, or, where these are fewer
//! words, the listed codes. The header holds the side to which listed codes go, which of the two
//! the words are, the number of the first word of bits, and the number of words. Invariant of
//! [`CategorySets`]: headers and words are consistent, the first and the last word of bits of a
//! set are not 0, and listed codes ascend, so that equal sets have equal words. A look-up is O(1)
//! in bits, and O(log codes) in codes.

mod small;

use smallvec::SmallVec;

use crate::bitset::ones;
use crate::error::{Error, Result};
pub(super) use small::SmallSet;

/// Bit of a header: codes that are not listed go left.
const OTHERS_LEFT: u64 = 1 << 63;
/// Bit of a header: the words are the listed codes.
const CODES: u64 = 1 << 62;
/// The bits of a header from this one on hold the number of words. The bits below it hold the
/// number of the first word of bits: how many words of zeros are left out before it.
const LEN_SHIFT: u32 = 32;
/// Number of words that hold one bit for each `u32`. Codes are `u32`, so no set has a word of bits
/// beyond these.
const MAX_WORDS: u64 = 1 << (u32::BITS - 6);

/// How a split divides the values of its feature that are not missing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule<'a> {
    /// The feature is numeric: values up to this threshold go left.
    Threshold(f64),
    /// The feature is categorical: the set says which codes go left.
    Categories(&'a CategorySet),
}

impl Rule<'_> {
    /// Whether a value goes left. `missing_left` says whether missing values (NaN) do.
    #[inline]
    pub fn goes_left(self, value: f64, missing_left: bool) -> bool {
        match self {
            Self::Threshold(threshold) => value <= threshold || value.is_nan() && missing_left,
            Self::Categories(_) if value.is_nan() => missing_left,
            Self::Categories(set) => set.goes_left(value),
        }
    }
}

/// The codes that a split lists, and the side to which they go: a header and its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CategorySet {
    words: Box<[u64]>,
}

impl CategorySet {
    /// Makes the set of a split that sends the codes `left` left and the codes `right` right. All
    /// other codes go left if `others_left`, and the set then lists `right`; else it lists `left`.
    /// O(codes log codes + words).
    pub fn new(left: &[u32], right: &[u32], others_left: bool) -> Self {
        let mut listed: SmallVec<[u32; 64]> = SmallVec::from_slice(if others_left { right } else { left });
        listed.sort_unstable();
        listed.dedup();
        Self::of(listed.iter().copied(), others_left)
    }

    /// Makes the set that lists `codes`, which ascend; all others go left if `others_left`.
    /// O(codes).
    pub(crate) fn of(codes: impl Iterator<Item = u32> + Clone, others_left: bool) -> Self {
        let side = if others_left { OTHERS_LEFT } else { 0 };
        let word_of = |code: u32| u64::from(code / u64::BITS);
        let first = codes.clone().next().map_or(0, word_of);
        let (n_codes, last) = codes.clone().fold((0, None), |(n, _), code| (n + 1, Some(code)));
        let n_words = last.map_or(0, |code| word_of(code) - first + 1);
        if n_codes < n_words {
            let header = CODES | n_codes << LEN_SHIFT | side;
            return Self { words: [header].into_iter().chain(codes.map(u64::from)).collect() };
        }
        let mut words = vec![0; 1 + n_words as usize];
        words[0] = first | n_words << LEN_SHIFT | side;
        codes.for_each(|code| words[1 + (word_of(code) - first) as usize] |= 1 << (code % u64::BITS));
        Self { words: words.into() }
    }

    /// Whether a value that is not missing goes left.
    #[inline]
    pub fn goes_left(&self, value: f64) -> bool {
        self.view().goes_left(value)
    }

    /// The set in the form that sets in a [`CategorySets`] have.
    #[inline]
    pub fn view(&self) -> SetView<'_> {
        SetView { header: self.words[0], words: Words::Borrowed(&self.words[1..]) }
    }
}

/// One set, borrowed from an array of sets or from a [`CategorySet`], or made of the integer of a small set.
#[derive(Debug, Clone, Copy)]
pub struct SetView<'a> {
    header: u64,
    words: Words<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Words<'a> {
    Borrowed(&'a [u64]),
    One(u64),
}

impl Words<'_> {
    #[inline]
    fn as_slice(&self) -> &[u64] {
        match self {
            Self::Borrowed(words) => words,
            Self::One(word) => std::slice::from_ref(word),
        }
    }
}

impl PartialEq for SetView<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.header == other.header && self.words.as_slice() == other.words.as_slice()
    }
}

impl Eq for SetView<'_> {}

impl<'a> SetView<'a> {
    /// The set whose header is `words[start]`. The array must satisfy the invariant of
    /// [`CategorySets`].
    #[inline]
    pub(crate) fn at(words: &'a [u64], start: usize) -> Self {
        let header = words[start];
        Self { header, words: Words::Borrowed(&words[start + 1..][..len(header)]) }
    }

    /// Whether a value that is not missing goes left. Only integers can be listed, and negative
    /// zero counts as 0.
    #[inline]
    pub fn goes_left(self, value: f64) -> bool {
        self.lists(value) != self.others_left()
    }

    /// Whether codes that are not listed go left. Listed codes go to the other side.
    #[inline]
    pub fn others_left(self) -> bool {
        self.header & OTHERS_LEFT != 0
    }

    /// The listed codes, ascending.
    pub fn listed(self) -> impl Iterator<Item = u32> + Clone + 'a {
        (0..len(self.header)).flat_map(move |at| {
            let word = self.words.as_slice()[at];
            let (bits, least) = if self.lists_codes() {
                (1, word as u32)
            } else {
                (word, (first(self.header) + at as u32) * u64::BITS)
            };
            ones(bits).map(move |bit| least + bit)
        })
    }

    /// The largest listed code, or `None` if no code is listed.
    pub fn last(self) -> Option<u32> {
        let words = self.words.as_slice();
        let &last = words.last()?;
        if self.lists_codes() {
            return Some(last as u32);
        }
        let word = first(self.header) + words.len() as u32 - 1;
        Some(word * u64::BITS + u64::BITS - 1 - last.leading_zeros())
    }

    #[inline]
    fn lists_codes(self) -> bool {
        self.header & CODES != 0
    }

    #[inline]
    fn lists(self, value: f64) -> bool {
        // The cast truncates and saturates, so a value that is no code differs from the cast
        // result.
        let code = value as u32;
        if f64::from(code) != value {
            return false;
        }
        let words = self.words.as_slice();
        if self.lists_codes() {
            return words.binary_search(&code.into()).is_ok();
        }
        let word = (code / u64::BITS).wrapping_sub(first(self.header)) as usize;
        words.get(word).is_some_and(|word| word >> (code % u64::BITS) & 1 != 0)
    }
}

/// Where a value stands among the entries for `n_categories` categories, values that are none, and missing
/// ones.
#[inline]
pub(super) fn entry(value: f64, n_categories: u32) -> u32 {
    let code = value as u32;
    if f64::from(code) == value { code.min(n_categories) } else { n_categories + u32::from(value.is_nan()) }
}

#[inline]
fn first(header: u64) -> u32 {
    header as u32
}

#[inline]
fn len(header: u64) -> usize {
    ((header & !(OTHERS_LEFT | CODES)) >> LEN_SHIFT) as usize
}

/// The sets of a tree, numbered in the order of their splits. Only [`push`](Self::push) changes
/// them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CategorySets {
    words: Vec<u64>,
    starts: Vec<usize>,
}

impl CategorySets {
    /// Reads the sets of trees that version 0.2 has stored: headers and words of bits, also where
    /// codes would be fewer words. Fails if the array holds anything else.
    pub fn from_words(words: &[u64]) -> Result<Self> {
        let mut sets = Self::default();
        let mut at = 0;
        while let Some(&header) = words.get(at) {
            let bits = words.get(at + 1..at + 1 + len(header)).unwrap_or(&[]);
            let is_sound = header & CODES == 0
                && bits.len() == len(header)
                && u64::from(first(header)) + bits.len() as u64 <= MAX_WORDS
                && match (bits.first(), bits.last()) {
                    (Some(&first), Some(&last)) => first != 0 && last != 0,
                    _ => first(header) == 0,
                };
            if !is_sound {
                return Err(Error::InvalidArgument {
                    name: "the tree's category sets",
                    got: format!("header {header:#x} at word {at} of {}", words.len()),
                    expected: "headers, each followed by the words of its set".into(),
                });
            }
            let set = SetView { header, words: Words::Borrowed(bits) };
            sets.push(CategorySet::of(set.listed(), set.others_left()).view());
            at += 1 + bits.len();
        }
        Ok(sets)
    }

    /// Adds a set behind all others. Returns its number.
    pub fn push(&mut self, set: SetView<'_>) -> usize {
        self.starts.push(self.words.len());
        self.words.push(set.header);
        self.words.extend_from_slice(set.words.as_slice());
        self.starts.len() - 1
    }

    /// The set of this number, as [`push`](Self::push) has returned it.
    #[inline]
    pub fn get(&self, number: usize) -> SetView<'_> {
        SetView::at(&self.words, self.starts[number])
    }

    /// Number of sets, which are numbered from 0.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether there are no sets.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// The headers and words of all sets, one set after the other.
    pub fn words(&self) -> &[u64] {
        &self.words
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::{btree_set, vec};
    use proptest::prelude::*;

    use super::*;

    /// Draws codes near 0, codes near each other, and codes anywhere.
    fn code() -> impl Strategy<Value = u32> {
        prop_oneof![0..4u32, 60..140u32, any::<u32>().prop_map(|code| code >> 12)]
    }

    /// A header and words of bits, from the first that is not 0 to the last, whatever the codes.
    fn words_of_version_0_2(set: SetView<'_>) -> Vec<u64> {
        let word_of = |code: u32| u64::from(code / u64::BITS);
        let first = set.listed().next().map_or(0, word_of);
        let n_words = set.last().map_or(0, |code| word_of(code) - first + 1);
        let mut words = vec![0; 1 + n_words as usize];
        words[0] = first | n_words << LEN_SHIFT | set.header & OTHERS_LEFT;
        set.listed().for_each(|code| words[1 + (word_of(code) - first) as usize] |= 1 << (code % u64::BITS));
        words
    }

    proptest! {
        #[test]
        fn sets_say_what_they_were_told(
            left in btree_set(code(), 0..8),
            right in btree_set(code(), 0..8),
            others_left: bool,
            others in vec(code(), 8),
        ) {
            let right: Vec<u32> = right.difference(&left).copied().collect();
            let left: Vec<u32> = left.into_iter().collect();
            let set = CategorySet::new(&left, &right, others_left);
            for &code in left.iter().chain(&right).chain(&others) {
                let goes_left = left.contains(&code) || !right.contains(&code) && others_left;
                prop_assert_eq!(set.goes_left(f64::from(code)), goes_left, "{}", code);
                prop_assert_eq!(set.goes_left(f64::from(code) + 0.5), others_left);
                prop_assert_eq!(set.goes_left(-f64::from(code) - 1.0), others_left);
                for missing_left in [false, true] {
                    let rule = Rule::Categories(&set);
                    prop_assert_eq!(rule.goes_left(f64::from(code), missing_left), goes_left);
                    prop_assert_eq!(rule.goes_left(f64::NAN, missing_left), missing_left);
                }
            }
            for value in [1e300, f64::INFINITY, f64::NEG_INFINITY, f64::from(u32::MAX), 1e10, 1e-300] {
                prop_assert_eq!(set.goes_left(value), others_left);
            }
            prop_assert_eq!(set.goes_left(-0.0), set.goes_left(0.0));
            prop_assert_eq!(set.view().others_left(), others_left);
            let listed = if others_left { right } else { left };
            prop_assert_eq!(set.view().last(), listed.last().copied());
            prop_assert_eq!(set.view().listed().collect::<Vec<_>>(), listed);
        }

        #[test]
        fn sets_of_version_0_2_are_read(
            parts in vec((btree_set(code(), 0..8), any::<bool>()), 0..6),
            spoiled in any::<prop::sample::Index>(),
            by in prop_oneof![Just(1u64 << 63), Just(1 << 32), Just(3 << 32), Just(1), Just(1 << 40), any::<u64>()],
        ) {
            let mut sets = CategorySets::default();
            let mut words = Vec::new();
            for (number, (codes, others_left)) in parts.iter().enumerate() {
                let codes: Vec<u32> = codes.iter().copied().collect();
                let set = CategorySet::new(&codes, &codes, *others_left);
                prop_assert_eq!(sets.push(set.view()), number);
                prop_assert_eq!(sets.get(number), set.view());
                words.extend(words_of_version_0_2(set.view()));
            }
            prop_assert_eq!(&CategorySets::from_words(&words).unwrap(), &sets);
            // Words that `from_words` accepts can be read.
            if words.is_empty() {
                return Ok(());
            }
            let at = spoiled.index(words.len());
            words[at] ^= by;
            if let Ok(sets) = CategorySets::from_words(&words) {
                for number in 0..sets.len() {
                    let listed: Vec<u32> = sets.get(number).listed().collect();
                    prop_assert!(listed.is_sorted());
                    let others_left = sets.get(number).others_left();
                    for code in listed {
                        prop_assert_eq!(sets.get(number).goes_left(f64::from(code)), !others_left);
                    }
                }
            }
        }
    }

    #[test]
    fn few_codes_far_apart_are_words() {
        for (codes, n_words) in
            [(vec![], 0), (vec![5, 63], 1), (vec![5, 70], 2), (vec![5, 130], 2), (vec![0, u32::MAX], 2)]
        {
            let set = CategorySet::new(&codes, &[], false);
            assert_eq!(set.view().words.as_slice().len(), n_words, "{codes:?}");
            assert_eq!(set.view().lists_codes(), codes.contains(&130) || codes.contains(&u32::MAX));
        }
    }

    #[test]
    fn unsound_words_are_refused() {
        let header = |first: u64, len: u64| first | len << LEN_SHIFT;
        assert!(CategorySets::from_words(&[]).is_ok());
        assert!(CategorySets::from_words(&[header(0, 0), header(MAX_WORDS - 1, 1), 1]).is_ok());
        for words in [
            vec![header(1, 0)],
            vec![header(0, 1)],
            vec![header(0, 1), 0],
            vec![header(0, 2), 1, 0],
            vec![header(0, 3), 1, 1],
            vec![header(MAX_WORDS, 1), 1],
            vec![header(u64::from(u32::MAX), 1), 1],
            vec![header(0, (1 << 31) - 1), 1],
            vec![header(0, 1) | CODES, 1],
            vec![u64::MAX],
        ] {
            assert!(CategorySets::from_words(&words).is_err(), "{words:?}");
        }
    }
}
