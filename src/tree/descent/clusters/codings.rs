//! Categories as bits, so that a cluster tests the set of a split in the step that compares the cuts of the
//! others.
//!
//! A feature of at most 254 categories has a bit for each in one to eight cells of a row, and a row has the
//! bit of its category. A split has the bits of the categories that go right: the row goes right if they have
//! a bit in common. Each cell is a test of its own. A split without bits for a cell does not test it, and the
//! sides of a split change places where that leaves fewer tests.
//!
//! The cell of a feature of more categories has the number of the row's category. A split that sends a few
//! categories to one side compares that number with each. Any other split on such a feature is a cluster of
//! its own, whose set is looked up.

use crate::tree::descent::split_view::SplitView;
use crate::tree::sets::{CategorySets, SetView};
use crate::tuning::tuned;

tuned! {
    /// The most cells for the bits of the categories of a feature (bench `sweep`).
    fn most_cells() -> u32 = 8;
    /// The most categories that a split compares one by one, at most the tests of a cluster (bench `sweep`).
    fn most_compared() -> usize = 8;
}

/// The most cells of a row if features are categorical: the next number says that a set is looked up.
pub const MAX_CELLS: usize = 127;

/// How the values of a feature are in the cells of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Coding {
    /// The feature is numeric: its cell has the value.
    Value,
    /// It has a bit for each entry, the first 32 in its cell, the others in `n_more` cells from `more` on.
    Bits { n_categories: u32, more: usize, n_more: usize },
    /// Its cell has the number of the entry. Here and below, `place` is the place of the feature among such
    /// features.
    Entry { n_categories: u32, place: usize },
}

/// The coding of each feature.
#[derive(Debug)]
pub struct Codings {
    of: Vec<Coding>,
    n_cells: usize,
}

impl Codings {
    /// The codings of features with these numbers of categories, none if all are numeric.
    pub fn new(n_features: usize, n_categories: &[u32]) -> Self {
        let (mut of, mut n_cells, mut places) = (vec![Coding::Value; n_features], n_features, 0..);
        for (coding, &n_categories) in of.iter_mut().zip(n_categories).filter(|&(_, &n)| n > 0) {
            let n_bit_cells = n_categories.saturating_add(2).div_ceil(u32::BITS);
            let n_more = n_bit_cells as usize - 1;
            *coding = if n_bit_cells <= most_cells() && n_cells + n_more <= MAX_CELLS {
                n_cells += n_more;
                Coding::Bits { n_categories, more: n_cells - n_more, n_more }
            } else {
                Coding::Entry { n_categories, place: places.next().unwrap_or(0) }
            };
        }
        Self { of, n_cells }
    }

    pub fn of(&self) -> &[Coding] {
        &self.of
    }

    /// Whether the cell of any feature has the number of an entry.
    pub fn has_entries(&self) -> bool {
        self.of.iter().any(|coding| matches!(coding, Coding::Entry { .. }))
    }

    /// The cells of a row.
    pub fn n_cells(&self) -> usize {
        self.n_cells
    }
}

/// The split of a categorical feature: its set, and where missing values go.
#[derive(Debug, Clone, Copy)]
pub struct SetSplit<'a> {
    pub set: SetView<'a>,
    pub missing_go_left: bool,
}

impl<'a> SetSplit<'a> {
    /// The set of a split, if it has one.
    pub(super) fn of(split: &SplitView<'a>) -> Option<Self> {
        split.set.map(|set| Self { set, missing_go_left: split.missing_go_left })
    }

    /// For each entry whether it goes right.
    fn right(self, n_categories: u32) -> impl Iterator<Item = bool> + 'a {
        let codes = (0..n_categories).map(move |code| !self.set.goes_left(code.into()));
        codes.chain([!self.set.others_left(), !self.missing_go_left])
    }

    /// The bits of the entries of one side, for each cell with any: the number of the cell, and the bits. The
    /// side is the one with bits in fewer cells; also returns whether it is the left one.
    pub(super) fn bits(self, n_categories: u32) -> (Vec<(usize, u32)>, bool) {
        let mut sides = [Vec::new(), Vec::new()];
        for (entry, is_right) in (0..).zip(self.right(n_categories)) {
            let (cell, bit) = ((entry / u32::BITS) as usize, 1 << (entry % u32::BITS));
            let side: &mut Vec<(usize, u32)> = &mut sides[usize::from(is_right)];
            match side.last_mut() {
                Some((last, bits)) if *last == cell => *bits |= bit,
                _ => side.push((cell, bit)),
            }
        }
        let [left, right] = sides;
        if left.len() < right.len() { (left, true) } else { (right, false) }
    }

    /// The entries that go to the side to which the set does not send all others, and whether that is the
    /// left one; `None` if they are more than are compared one by one.
    pub(super) fn compared(self, n_categories: u32) -> Option<(Vec<u32>, bool)> {
        let is_left = !self.set.others_left();
        let missing = (self.missing_go_left == is_left).then_some(n_categories + 1);
        let entries: Vec<u32> = self.set.listed().chain(missing).take(most_compared() + 1).collect();
        (entries.len() <= most_compared()).then_some((entries, is_left))
    }
}

/// The sets of splits that are clusters of their own.
#[derive(Debug, Default)]
pub struct Alone {
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

    /// Whether the value with the entry that `entry` has for a feature goes right. A call, so that the steps
    /// that do not come here stay short.
    #[inline(never)]
    pub fn goes_right(&self, number: usize, entry: impl Fn(usize) -> u32) -> bool {
        let split = &self.splits[number];
        let entry = entry(split.place);
        !if entry == split.missing { split.missing_go_left } else { self.sets.get(number).goes_left(entry.into()) }
    }

    pub fn n_bytes(&self) -> usize {
        size_of_val(&self.splits[..]) + size_of_val(self.sets.words()) + self.splits.len() * size_of::<usize>()
    }
}
