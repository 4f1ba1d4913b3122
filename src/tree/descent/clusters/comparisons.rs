//! What the splits of a tree test in clusters: a threshold is one test, a set of categories one or more.

use super::codings::{Alone, Coding, Codings, MAX_CELLS, SetSplit};
use super::pages::places_below;
use crate::tree::descent::split_view::SplitView;

/// In the cell of a test of a number: missing values go right.
const MISSING_RIGHT: u8 = 1 << 7;
/// In the cell of a test of a set: the integer in the cell must be equal to the cut. Otherwise a bit that
/// both have is enough.
const COMPARED: u8 = MISSING_RIGHT;
/// The cell of a test that is no comparison: its cut is the number of a set among those that are looked up.
pub const ALONE: u8 = COMPARED | MAX_CELLS as u8;

/// A comparison of the cell of a row with a cut. The row goes right at a split if any of its tests says so.
#[derive(Debug, Clone, Copy)]
pub struct Test {
    /// With flags.
    pub cell: u8,
    /// NaN where no value goes right. If `is_set`, an integer.
    pub cut: f32,
    /// How far the threshold is below the cut, see [`places_below`]; 0 where that cannot be said.
    pub low: u32,
    pub is_set: bool,
}

impl Test {
    /// Sends no row right.
    pub const NONE: Self = Self { cell: 0, cut: f32::NAN, low: 0, is_set: false };

    fn threshold(&SplitView { feature, threshold, missing_go_left, .. }: &SplitView<'_>) -> Self {
        let cut = least_above(threshold);
        let cell = feature as u8 | if missing_go_left { 0 } else { MISSING_RIGHT };
        Self { cell, cut, low: places_below(threshold, cut).unwrap_or(0), is_set: false }
    }

    fn set(cell: u8, cut: u32) -> Self {
        Self { cell, cut: f32::from_bits(cut), low: 0, is_set: true }
    }
}

/// The tests of all splits of a tree.
#[derive(Debug)]
pub struct Tests {
    all: Vec<Test>,
    /// By the number of the split.
    splits: Vec<SplitTests>,
    /// The sets that are looked up.
    pub alone: Alone,
}

#[derive(Debug, Clone, Copy)]
struct SplitTests {
    first: u32,
    len: u32,
    /// The tests say what goes left.
    is_mirrored: bool,
    is_alone: bool,
}

impl Tests {
    /// The tests of the splits whose numbers are below `n_numbers`. O(splits), and O(categories) for each
    /// split on a categorical feature.
    pub fn new<'a>(codings: &Codings, n_numbers: usize, split: impl Fn(u32) -> Option<SplitView<'a>>) -> Self {
        let (all, splits) = (Vec::with_capacity(n_numbers), Vec::with_capacity(n_numbers));
        let mut tests = Self { all, splits, alone: Alone::default() };
        for split in (0..n_numbers as u32).map(split) {
            let (first, mut is_mirrored) = (tests.all.len(), false);
            if let Some(split) = split {
                let feature = split.feature as usize;
                match SetSplit::of(&split) {
                    Some(set) => is_mirrored = tests.add_set(set, feature, codings.of()[feature]),
                    None => tests.all.push(Test::threshold(&split)),
                }
            }
            let of_split = &tests.all[first..];
            let is_alone = of_split.first().is_some_and(|test| test.is_set && test.cell == ALONE);
            let len = of_split.len() as u32;
            tests.splits.push(SplitTests { first: first as u32, len, is_mirrored, is_alone });
        }
        tests
    }

    /// Adds the tests of a set; at least one. Returns whether they say what goes left.
    fn add_set(&mut self, split: SetSplit<'_>, feature: usize, coding: Coding) -> bool {
        match coding {
            Coding::Bits { n_categories, more, .. } => {
                let (bits, is_left) = split.bits(n_categories);
                let cell = |at: usize| (if at == 0 { feature } else { more + at - 1 }) as u8;
                self.all.extend(bits.iter().map(|&(at, bits)| Test::set(cell(at), bits)));
                if bits.is_empty() {
                    self.all.push(Test::NONE);
                }
                is_left
            }
            Coding::Entry { n_categories, place } => {
                if let Some((entries, is_left)) = split.compared(n_categories) {
                    let cell = feature as u8 | COMPARED;
                    self.all.extend(entries.iter().map(|&entry| Test::set(cell, entry)));
                    if entries.is_empty() {
                        self.all.push(Test::NONE);
                    }
                    return is_left;
                }
                let number = self.alone.add(place, split, n_categories);
                self.all.push(Test::set(ALONE, number as u32));
                false
            }
            Coding::Value => unreachable!("a set is of a categorical feature"),
        }
    }

    /// The tests of a split.
    pub fn of(&self, id: u32) -> &[Test] {
        let SplitTests { first, len, .. } = self.splits[id as usize];
        &self.all[first as usize..][..len as usize]
    }

    /// The number of tests of a split in a cluster, 0 if the split is a cluster of its own.
    pub fn len(&self, id: u32) -> usize {
        let SplitTests { len, is_alone, .. } = self.splits[id as usize];
        if is_alone { 0 } else { len as usize }
    }

    /// The children of a split, first the one of rows for which no test holds.
    pub fn children(&self, id: u32, [left, right]: [u32; 2]) -> [u32; 2] {
        if self.splits[id as usize].is_mirrored { [right, left] } else { [left, right] }
    }
}

/// The least number in single precision that is above a threshold; NaN if there is none.
fn least_above(threshold: f64) -> f32 {
    let nearest = threshold as f32;
    match f64::from(nearest) > threshold {
        true => nearest,
        false if nearest == f32::INFINITY => f32::NAN,
        false => nearest.next_up(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_are_the_least_numbers_above() {
        for threshold in [0.1, -0.1, 1.0 / 3.0, -1e300, 1e-300, -1e-300, 16_777_217.0, -0.0, f64::NEG_INFINITY] {
            let cut = least_above(threshold);
            assert!(f64::from(cut) > threshold && f64::from(cut.next_down()) <= threshold, "{threshold}");
        }
        assert_eq!(least_above(1e300), f32::INFINITY);
        assert!(least_above(f64::INFINITY).is_nan());
    }
}
