//! The set of a categorical split as a word in the place of its threshold. The word is a NaN, so that no
//! comparison holds; its lower bits are the set if it is small, and else say where the set begins.

use crate::tree::sets::{CategorySets, SetView, SmallSet};

/// The lower 51 bits are the number of the first word of a set.
const SET: u64 = 0x7FF8 << 48;
/// The lower 51 bits are a [`SmallSet`].
const SMALL_SET: u64 = 1 << 63 | SET;

/// The word of a set, which is added to `sets` if it is not small.
pub fn word(set: SetView<'_>, sets: &mut CategorySets) -> u64 {
    if let Some(small) = SmallSet::of(set) {
        return SMALL_SET | small.bits();
    }
    let start = sets.words().len();
    sets.push(set);
    SET | start as u64
}

/// The set of a word. `sets` has the words of the sets that are not small.
#[inline]
pub fn view(word: u64, sets: &[u64]) -> SetView<'_> {
    match small(word) {
        Some(set) => set.view(),
        None => SetView::at(sets, number(word)),
    }
}

/// Whether a value that is not missing goes left by the set of a word.
#[inline]
pub fn goes_left(word: u64, sets: &[u64], value: f64) -> bool {
    match small(word) {
        Some(set) => set.goes_left(value),
        None => SetView::at(sets, number(word)).goes_left(value),
    }
}

/// The small set of a word, if it has one.
#[inline]
fn small(word: u64) -> Option<SmallSet> {
    (word & SMALL_SET == SMALL_SET).then(|| SmallSet::from_bits(word))
}

/// Whether a word, of a set or of a number, is of a set that is not small.
#[inline]
pub fn is_looked_up(word: u64) -> bool {
    word & SMALL_SET == SET
}

/// The word of a set that [`word`] has not been asked for yet: its number among the sets of a tree.
pub fn of_number(number: usize) -> u64 {
    SET | number as u64
}

/// What [`of_number`] was told, or where the set of a word begins that is not small.
#[inline]
pub fn number(word: u64) -> usize {
    (word & !SMALL_SET) as usize
}
