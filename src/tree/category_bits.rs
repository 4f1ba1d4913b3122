//! Categories as bits, so that a cluster tests the set of a split in the step that compares the cuts of the
//! others: a row goes right if its cell and the split have a bit in common.
//!
//! The cell of a feature of at most [`FEW`] categories has one bit: that of the row's category. A split has
//! the bits of the categories that go right. A feature of more categories has its cells anew for each tree: a
//! bit for each of 32 of the tree's splits on it, set if the row's category goes right there, from a table by
//! category. If a tree has too many splits for that, or too few for so many categories, splits on such
//! features are clusters of their own, whose sets are looked up.

use super::sets::{CategorySets, SetView};

/// The most categories whose bits, with one for values that are none of them and one for missing values, fit
/// in a cell.
pub(super) const FEW: u32 = 30;

/// Where a value stands among the entries for `n_categories` categories, values that are none, and missing
/// ones.
#[inline]
pub(super) fn entry(value: f64, n_categories: u32) -> u32 {
    let code = value as u32;
    if f64::from(code) == value { code.min(n_categories) } else { n_categories + u32::from(value.is_nan()) }
}

/// The bit of a value of a feature of few categories.
#[inline]
pub(super) fn bit(value: f64, n_categories: u32) -> f32 {
    f32::from_bits(1 << entry(value, n_categories))
}

/// The split of a categorical feature: its set, and where missing values go.
#[derive(Debug, Clone, Copy)]
pub struct SetSplit<'a> {
    pub set: SetView<'a>,
    pub missing_go_left: bool,
}

impl SetSplit<'_> {
    /// For each entry whether it goes right.
    fn right(self, n_categories: u32) -> impl Iterator<Item = bool> {
        let codes = (0..n_categories).map(move |code| !self.set.goes_left(code.into()));
        codes.chain([!self.set.others_left(), !self.missing_go_left])
    }

    /// The bits of the values of few categories that go right.
    pub(super) fn bits(self, n_categories: u32) -> u32 {
        self.right(n_categories).enumerate().map(|(entry, right)| u32::from(right) << entry).sum()
    }
}

/// How the splits of a tree on each feature are tested.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Test {
    /// The feature is numeric.
    Cut,
    /// It has few categories.
    Bit,
    /// It has many. Here and below, it is known by its place among such features.
    Answers(usize),
    /// It has many, and too many splits.
    Alone(usize),
}

/// A table of answers has at most so many entries for each split.
const ENTRIES_PER_SPLIT: usize = 64;

/// The test of each feature, given its number of categories and of splits. All answers take at most `most`
/// cells.
pub(super) fn tests(n_categories: &[u32], n_splits: &[usize], most: usize) -> Vec<Test> {
    let mut tests = vec![Test::Cut; n_splits.len()];
    let mut many = Vec::new();
    for (feature, &n) in n_categories.iter().enumerate().filter(|&(_, &n)| n > 0) {
        if n <= FEW {
            tests[feature] = Test::Bit;
        } else {
            tests[feature] = Test::Alone(many.len());
            many.push((many.len(), feature));
        }
    }
    many.retain(|&(_, feature)| n_categories[feature] as usize <= ENTRIES_PER_SPLIT * n_splits[feature]);
    many.sort_by_key(|&(_, feature)| n_splits[feature]);
    let mut n_cells = 0;
    for (place, feature) in many {
        n_cells += n_splits[feature].div_ceil(u32::BITS as usize);
        if n_cells <= most {
            tests[feature] = Test::Answers(place);
        }
    }
    tests
}

/// The sets of splits that are clusters of their own.
#[derive(Debug, Default)]
pub(super) struct Alone {
    splits: Vec<AloneSplit>,
    sets: CategorySets,
}

#[derive(Debug)]
struct AloneSplit {
    place: usize,
    /// The entry of missing values.
    missing: u32,
    missing_go_left: bool,
}

impl Alone {
    /// Adds a split and returns its number.
    pub fn add(&mut self, place: usize, split: SetSplit<'_>, n_categories: u32) -> usize {
        let missing_go_left = split.missing_go_left;
        self.splits.push(AloneSplit { place, missing: n_categories + 1, missing_go_left });
        self.sets.push(split.set)
    }

    /// Whether the value with the entry that `entry` has for a feature goes right.
    #[inline]
    pub fn goes_right(&self, number: usize, entry: impl Fn(usize) -> u32) -> bool {
        let split = &self.splits[number];
        let entry = entry(split.place);
        !if entry == split.missing { split.missing_go_left } else { self.sets.get(number).goes_left(entry.into()) }
    }

    pub fn n_bytes(&self) -> usize {
        size_of_val(&self.splits[..]) + size_of_val(self.sets.words()) + self.splits.len() * size_of::<usize>()
    }
}

/// Where up to 32 splits of a tree on a feature of many categories send its values.
#[derive(Debug)]
pub(super) struct Answers {
    pub place: usize,
    n_splits: u32,
    /// By entry, a bit for each split.
    right: Box<[u32]>,
}

impl Answers {
    fn new(place: usize, n_categories: u32) -> Self {
        Self { place, n_splits: 0, right: vec![0; n_categories as usize + 2].into() }
    }

    /// The cell of a row, by the entry of its value.
    #[inline]
    pub fn cell(&self, entry: u32) -> f32 {
        f32::from_bits(self.right[entry as usize])
    }

    pub fn n_bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&self.right[..])
    }

    /// Adds a split to the last of `answers` about its feature, or to new ones; returns their place and the
    /// bit.
    pub fn add(answers: &mut Vec<Self>, place: usize, split: SetSplit<'_>, n_categories: u32) -> (usize, u32) {
        let at = answers.iter().rposition(|of| of.place == place && of.n_splits < u32::BITS);
        let at = at.unwrap_or_else(|| {
            answers.push(Self::new(place, n_categories));
            answers.len() - 1
        });
        let bit = 1 << answers[at].n_splits;
        answers[at].n_splits += 1;
        for (bits, right) in answers[at].right.iter_mut().zip(split.right(n_categories)) {
            *bits |= if right { bit } else { 0 };
        }
        (at, bit)
    }
}
