//! Splits on categorical features: which categories go left.
//!
//! A category is a code, an integer below the feature's number of categories. A split lists some of the codes that its node
//! holds; they go to one side, and everything else goes to the other: the node's other categories, those that it does not
//! hold, and values that are no category. So a set takes a bit per code between the least and the largest that it lists,
//! however many categories there are. Missing values are no business of a set.
//!
//! The sets of a tree lie in one array of words. A set is a header, the side of what it lists and the extent of its bits, and
//! the words of its bits. Invariant of [`CategorySets`]: headers and words are consistent, the first and the last word of
//! a set are not 0, so that equal sets are equal words. O(1) per look-up.

use crate::error::{Error, Result};

/// In a header: what is not listed goes left.
const OTHERS_LEFT: u64 = 1 << 63;
/// Where a header has the number of words; below it is the number of words of zeros before them.
const LEN_SHIFT: u32 = 32;
/// Codes are `u32`: more words, or words further on, are not needed.
const MAX_WORDS: u64 = 1 << (u32::BITS - 6);

/// How a split divides the values of its feature that are not missing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule<'a> {
    /// Values up to this one go left.
    Threshold(f64),
    /// The feature is categorical.
    Categories(&'a CategorySet),
}

impl Rule<'_> {
    /// Whether a value goes left, given whether missing ones do.
    #[inline]
    pub fn goes_left(self, value: f64, missing_left: bool) -> bool {
        match self {
            Self::Threshold(threshold) => value <= threshold || value.is_nan() && missing_left,
            Self::Categories(_) if value.is_nan() => missing_left,
            Self::Categories(set) => set.goes_left(value),
        }
    }
}

/// The categories that a split lists, and the side to which they go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CategorySet {
    words: Box<[u64]>,
}

impl CategorySet {
    /// A split of the categories of a node into those that go left and those that go right; all else goes left or not.
    /// O(codes + largest code / 64).
    pub fn new(left: &[u32], right: &[u32], others_left: bool) -> Self {
        let listed = if others_left { right } else { left };
        let word_of = |code: u32| u64::from(code / u64::BITS);
        let first = listed.iter().copied().min().map_or(0, word_of);
        let len = listed.iter().copied().max().map_or(0, |code| word_of(code) - first + 1);
        let mut words = vec![0; 1 + len as usize];
        words[0] = first | len << LEN_SHIFT | if others_left { OTHERS_LEFT } else { 0 };
        for &code in listed {
            words[1 + (word_of(code) - first) as usize] |= 1 << (code % u64::BITS);
        }
        Self { words: words.into() }
    }

    /// Whether a value that is not missing goes left.
    #[inline]
    pub fn goes_left(&self, value: f64) -> bool {
        self.view().goes_left(value)
    }

    /// As sets in an array are seen.
    #[inline]
    pub fn view(&self) -> SetView<'_> {
        SetView { header: self.words[0], words: &self.words[1..] }
    }
}

/// A set in an array of sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetView<'a> {
    header: u64,
    words: &'a [u64],
}

impl<'a> SetView<'a> {
    /// The set that begins at a word of a sound array.
    #[inline]
    pub(crate) fn at(words: &'a [u64], start: usize) -> Self {
        let header = words[start];
        Self { header, words: &words[start + 1..][..len(header)] }
    }

    /// Whether a value that is not missing goes left. Only integers can be listed; negative zero is 0.
    #[inline]
    pub fn goes_left(self, value: f64) -> bool {
        self.lists(value) != self.others_left()
    }

    /// Whether what is not listed goes left, and what is listed right.
    #[inline]
    pub fn others_left(self) -> bool {
        self.header & OTHERS_LEFT != 0
    }

    /// The codes that are listed, ascending.
    pub fn listed(self) -> impl Iterator<Item = u32> + 'a {
        let firsts = (first(self.header)..).map(|word| word * u64::BITS);
        self.words.iter().zip(firsts).flat_map(|(&word, first)| {
            (0..u64::BITS).filter(move |bit| word >> bit & 1 != 0).map(move |bit| first + bit)
        })
    }

    /// The largest code that is listed.
    pub fn last(self) -> Option<u32> {
        let last = self.words.last()?;
        let word = first(self.header) + self.words.len() as u32 - 1;
        Some(word * u64::BITS + u64::BITS - 1 - last.leading_zeros())
    }

    #[inline]
    fn lists(self, value: f64) -> bool {
        // Saturates: what is no code is not itself again.
        let code = value as u32;
        let word = (code / u64::BITS).wrapping_sub(first(self.header)) as usize;
        f64::from(code) == value && self.words.get(word).is_some_and(|word| word >> (code % u64::BITS) & 1 != 0)
    }
}

#[inline]
fn first(header: u64) -> u32 {
    header as u32
}

#[inline]
fn len(header: u64) -> usize {
    ((header & !OTHERS_LEFT) >> LEN_SHIFT) as usize
}

/// The sets of a tree, numbered in the order of their splits. Immutable but for [`push`](Self::push).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CategorySets {
    words: Vec<u64>,
    starts: Vec<usize>,
}

impl CategorySets {
    /// The sets in an array of [`words`](Self::words), which must be sound.
    pub fn from_words(words: Vec<u64>) -> Result<Self> {
        let mut starts = Vec::new();
        let mut at = 0;
        while let Some(&header) = words.get(at) {
            let bits = words.get(at + 1..at + 1 + len(header)).unwrap_or(&[]);
            let is_sound = bits.len() == len(header)
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
            starts.push(at);
            at += 1 + bits.len();
        }
        Ok(Self { words, starts })
    }

    /// Adds a set behind the others; returns its number.
    pub fn push(&mut self, set: SetView<'_>) -> usize {
        self.starts.push(self.words.len());
        self.words.push(set.header);
        self.words.extend_from_slice(set.words);
        self.starts.len() - 1
    }

    /// The set of this number.
    #[inline]
    pub fn get(&self, number: usize) -> SetView<'_> {
        SetView::at(&self.words, self.starts[number])
    }

    /// The word at which the set of this number begins.
    pub(crate) fn start(&self, number: usize) -> usize {
        self.starts[number]
    }

    /// Number of sets.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// The sets, one after the other.
    pub fn words(&self) -> &[u64] {
        &self.words
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::{btree_set, vec};
    use proptest::prelude::*;

    use super::*;

    /// Codes near 0, near each other, and anywhere.
    fn code() -> impl Strategy<Value = u32> {
        prop_oneof![0..4u32, 60..140u32, any::<u32>().prop_map(|code| code >> 12)]
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
        fn sets_come_back_from_their_words(
            parts in vec((btree_set(code(), 0..8), any::<bool>()), 0..6),
            spoiled in any::<prop::sample::Index>(),
            by in prop_oneof![Just(1u64 << 63), Just(1 << 32), Just(3 << 32), Just(1), Just(1 << 40), any::<u64>()],
        ) {
            let mut sets = CategorySets::default();
            for (number, (codes, others_left)) in parts.iter().enumerate() {
                let codes: Vec<u32> = codes.iter().copied().collect();
                let set = CategorySet::new(&codes, &codes, *others_left);
                prop_assert_eq!(sets.push(set.view()), number);
                prop_assert_eq!(sets.get(number), set.view());
            }
            prop_assert_eq!(&CategorySets::from_words(sets.words().to_vec()).unwrap(), &sets);
            // Whatever is accepted can be read.
            let mut words = sets.words().to_vec();
            if words.is_empty() {
                return Ok(());
            }
            let at = spoiled.index(words.len());
            words[at] ^= by;
            if let Ok(sets) = CategorySets::from_words(words) {
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
    fn unsound_words_are_refused() {
        let header = |first: u64, len: u64| first | len << LEN_SHIFT;
        assert!(CategorySets::from_words(vec![]).is_ok());
        assert!(CategorySets::from_words(vec![header(0, 0), header(MAX_WORDS - 1, 1), 1]).is_ok());
        for words in [
            vec![header(1, 0)],
            vec![header(0, 1)],
            vec![header(0, 1), 0],
            vec![header(0, 2), 1, 0],
            vec![header(0, 3), 1, 1],
            vec![header(MAX_WORDS, 1), 1],
            vec![header(u64::from(u32::MAX), 1), 1],
            vec![header(0, (1 << 31) - 1), 1],
            vec![u64::MAX],
        ] {
            assert!(CategorySets::from_words(words.clone()).is_err(), "{words:?}");
        }
    }
}
