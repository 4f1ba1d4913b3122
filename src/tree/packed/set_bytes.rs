//! Category sets as bytes.
//!
//! A set is integers. The first holds, from its lowest bit on, whether codes that are not listed go
//! left, whether more follows, and the first listed code plus 1, or 0. Each further integer says in
//! its lowest bit whether another follows, and above it how many codes lie between its code and the
//! one before. So a listed code is mostly a byte, and a set that lists no other is one byte.
//!
//! Where a bit for each category of the feature takes fewer bytes, these bits follow a first
//! integer that says that more follows, and has 0 for the code.

use super::bytes::{ByteReader, write_integer};
use crate::tree::sets::{CategorySet, CategorySets, SetView};

const OTHERS_LEFT: u64 = 1;
/// In the first integer of a set, and shifted by one in all others.
const MORE: u64 = 2;

/// Appends a set of a feature of so many categories. O(listed codes).
pub fn write_set(bytes: &mut Vec<u8>, set: SetView<'_>, n_categories: u32) {
    let begin = bytes.len();
    let others_left = if set.others_left() { OTHERS_LEFT } else { 0 };
    let mut codes = set.listed().map(u64::from).peekable();
    let mut before = None;
    while let Some(code) = codes.next() {
        let more = if codes.peek().is_some() { MORE } else { 0 };
        match before {
            None => write_integer(bytes, (code + 1) << 2 | more | others_left),
            Some(before) => write_integer(bytes, (code - before - 1) << 1 | more >> 1),
        }
        before = Some(code);
    }
    let n_bytes = n_categories.div_ceil(8) as usize;
    if before.is_none() {
        bytes.push(others_left as u8);
    } else if bytes.len() - begin > 1 + n_bytes {
        bytes.truncate(begin);
        bytes.push((MORE | others_left) as u8);
        bytes.resize(begin + 1 + n_bytes, 0);
        set.listed().for_each(|code| bytes[begin + 1 + code as usize / 8] |= 1 << (code % 8));
    }
}

/// Reads a set of a feature of so many categories, from bytes that may come from anywhere. `codes`
/// is scratch. Nothing if the bytes end, or a code is no category. O(bytes).
fn read_set(reader: &mut ByteReader<'_>, n_categories: u32, codes: &mut Vec<u32>) -> Option<CategorySet> {
    let head = reader.whole_integer()?;
    let others_left = head & OTHERS_LEFT != 0;
    codes.clear();
    if head & !OTHERS_LEFT == MORE {
        let bytes = reader.0.split_off(..n_categories.div_ceil(8) as usize)?;
        let of_byte =
            |(&byte, first): (&u8, u32)| (0..8).filter(move |bit| byte >> bit & 1 != 0).map(move |bit| first + bit);
        let listed = bytes.iter().zip((0..).step_by(8)).flat_map(of_byte);
        let is_sound = listed.clone().last().is_none_or(|last| last < n_categories);
        return is_sound.then(|| CategorySet::of(listed, others_left));
    }
    let (mut next, mut more) = ((head >> 2).checked_sub(1), head & MORE != 0);
    while let Some(code) = next {
        codes.push(u32::try_from(code).ok().filter(|&code| code < n_categories)?);
        next = None;
        if more {
            let integer = reader.whole_integer()?;
            more = integer & (MORE >> 1) != 0;
            next = Some(code + 1 + (integer >> 1));
        }
    }
    Some(CategorySet::of(codes.iter().copied(), others_left))
}

/// The sets of a tree that are still to be read, in the order of their splits.
pub enum StoredSets<'a> {
    /// Format 1: words, all of which have been read, and how many sets have been taken.
    Words(CategorySets, usize),
    /// Bytes, and scratch.
    Bytes(ByteReader<'a>, Vec<u32>),
}

impl<'a> StoredSets<'a> {
    /// The sets that are stored as words, in whole words of 8 bytes, or else as bytes.
    pub fn new(bytes: &'a [u8], are_words: bool) -> crate::error::Result<Self> {
        if !are_words {
            return Ok(Self::Bytes(ByteReader(bytes), Vec::new()));
        }
        let words: Vec<u64> = bytes.as_chunks().0.iter().map(|&bytes| u64::from_le_bytes(bytes)).collect();
        Ok(Self::Words(CategorySets::from_words(&words)?, 0))
    }

    /// Reads the next set, of a feature of so many categories. Returns nothing if there is no such
    /// set.
    pub fn read(&mut self, n_categories: u32) -> Option<CategorySet> {
        match self {
            Self::Words(all, n_taken) if *n_taken < all.len() => {
                let set = all.get(*n_taken);
                *n_taken += 1;
                let is_sound = set.last().is_none_or(|code| code < n_categories);
                is_sound.then(|| CategorySet::of(set.listed(), set.others_left()))
            }
            Self::Words(..) => None,
            Self::Bytes(reader, codes) => read_set(reader, n_categories, codes),
        }
    }

    /// Whether all sets have been read.
    pub fn are_read(&self) -> bool {
        match self {
            Self::Words(all, n_taken) => *n_taken == all.len(),
            Self::Bytes(reader, _) => reader.0.is_empty(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::{btree_set, vec};
    use proptest::prelude::*;

    use super::*;

    /// Draws a number of categories and codes below it: few, some, or all but a few.
    fn set() -> impl Strategy<Value = (u32, Vec<u32>, bool)> {
        let n_categories = prop_oneof![1..9u32, 1..70u32, 1..1000u32, any::<u32>().prop_map(|n| (n >> 4).max(1))];
        (n_categories, any::<bool>(), any::<bool>()).prop_flat_map(|(n, is_complement, others_left)| {
            let most = n.min(40) as usize;
            let codes = btree_set(0..n, 0..=most).prop_map(move |codes| {
                if is_complement && n < 1000 {
                    (0..n).filter(|code| !codes.contains(code)).collect()
                } else {
                    codes.into_iter().collect()
                }
            });
            (Just(n), codes, Just(others_left))
        })
    }

    fn write(sets: &[(u32, Vec<u32>, bool)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (n_categories, codes, others_left) in sets {
            let before = bytes.len();
            write_set(&mut bytes, CategorySet::of(codes.iter().copied(), *others_left).view(), *n_categories);
            assert!(bytes.len() - before <= 1 + n_categories.div_ceil(8) as usize);
        }
        bytes
    }

    fn read(bytes: &[u8], n_categories: impl Iterator<Item = u32>) -> Option<CategorySets> {
        let (mut stored, mut sets) = (StoredSets::new(bytes, false).unwrap(), CategorySets::default());
        for n in n_categories {
            sets.push(stored.read(n)?.view());
        }
        stored.are_read().then_some(sets)
    }

    proptest! {
        #[test]
        fn sets_come_back(sets in vec(set(), 0..6)) {
            let bytes = write(&sets);
            let back = read(&bytes, sets.iter().map(|&(n, ..)| n)).unwrap();
            prop_assert_eq!(back.len(), sets.len());
            for (number, (_, codes, others_left)) in sets.iter().enumerate() {
                let expected = CategorySet::of(codes.iter().copied(), *others_left);
                prop_assert_eq!(back.get(number), expected.view());
                prop_assert_eq!(&back.get(number).listed().collect::<Vec<_>>(), codes);
            }
        }

        #[test]
        fn damaged_bytes_are_refused_or_sets(
            sets in vec(set(), 1..6),
            changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
            end in any::<prop::sample::Index>(),
        ) {
            let mut bytes = write(&sets);
            prop_assert!(read(&bytes[..end.index(bytes.len())], sets.iter().map(|&(n, ..)| n)).is_none());
            for (at, value) in changes {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            if let Some(back) = read(&bytes, sets.iter().map(|&(n, ..)| n)) {
                for (number, &(n, ..)) in sets.iter().enumerate() {
                    prop_assert!(back.get(number).last().is_none_or(|last| last < n));
                    prop_assert!(back.get(number).listed().is_sorted());
                }
                // A header and a start for each set, and a word for each byte of a list.
                prop_assert!(back.words().len() <= sets.len() + bytes.len());
            }
        }

        #[test]
        fn any_bytes_are_refused_or_sets(bytes: Vec<u8>, n_categories in vec(any::<u32>(), 0..6)) {
            if let Some(sets) = read(&bytes, n_categories.iter().copied()) {
                prop_assert!(sets.words().len() <= sets.len() + bytes.len());
            }
        }
    }

    #[test]
    fn sets_take_few_bytes() {
        for (n_categories, codes, expected) in [
            (2, vec![], vec![0]),
            (2, vec![1], vec![2 << 2]),
            (40, vec![3, 4, 30], vec![4 << 2 | 2, 1, 25 << 1]),
            (4000, vec![0, 3000], vec![1 << 2 | 2, (2999 << 1 & 0x7F) as u8 | 0x80, (2999 >> 6) as u8]),
            (9, (0..9).collect(), vec![2, 0xFF, 1]),
        ] {
            assert_eq!(write(&[(n_categories, codes.clone(), false)]), expected, "{codes:?}");
            let with_others = [vec![expected[0] | 1], expected[1..].to_vec()].concat();
            assert_eq!(write(&[(n_categories, codes, true)]), with_others);
        }
    }

    #[test]
    fn forged_codes_are_refused() {
        for (n_categories, bytes) in [
            (3, &[4 << 2][..]),
            (3, &[1 << 2 | 2, 2 << 1]),
            (3, &[2, 8]),
            (9, &[2, 0]),
            (3, &[0x80]),
            (u32::MAX, &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1]),
            (u32::MAX, &[6, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1]),
        ] {
            assert!(read(bytes, [n_categories].into_iter()).is_none(), "{bytes:?}");
        }
        // Two integers for a code, which are two words.
        assert!(read(&[6, 0xFA, 0xFF, 0xFF, 0xFF, 0x1F], [u32::MAX].into_iter()).is_some());
    }
}
