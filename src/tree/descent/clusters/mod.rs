//! A tree as clusters of up to fifteen splits that are decided at once.
//!
//! A cluster is a split and some of the splits below it (`knapsack`). All of them compare their
//! cuts with the values of a row in one step, whether or not the row passes them. Each of these tests
//! (`comparisons`) makes a bit: 1 where the row would go right. Which exit of the cluster the row takes
//! follows from these bits. In each exit's mask are the tests of the splits whose left side it lies on, and
//! the first exit from the left none of whose tests sends the row right is the one. In trees of forests, a
//! row passes three or four clusters where it passes seventeen splits.
//!
//! Cuts are in single precision, and a row goes right if its value is at least the cut: a cut is
//! the least number in single precision above the threshold. For a value that was rounded up to
//! single precision this decides as the threshold does, unless the value is equal to the cut. Then it is
//! compared how far value and threshold are below, in places of double precision.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod codings;
mod comparisons;
mod knapsack;
mod lists;
mod pages;

use super::split_view::{AT_LEAF, SplitView};
use crate::tree::flagged::{Flagged, narrow};
use codings::{Alone, MAX_CELLS};
use comparisons::{ALONE, Test, Tests};
use knapsack::{Chosen, Clustering, TESTS};

pub(super) use codings::Codings;
pub(super) use lists::{MAX_ROWS, RowDescent, is_possible};
pub(super) use pages::Pages;

/// The most exits of a cluster, and the numbers that are read for each.
pub const LANES: usize = TESTS + 1;
/// The most features of a tree that is clustered.
pub const MAX_FEATURES: usize = 128;
/// In the mask of an exit, which has a bit for each test: the test of the same place is one of a set.
pub const SET: u16 = 1 << TESTS;

/// A tree as clusters.
///
/// A cluster of `k` tests is `k + 1` places in each array and is known by its first place. Its exits, from
/// left to right, have the first places: one more than it has splits. Each array has [`LANES`] more items at
/// the end, so that [`LANES`] items can be read from every place.
#[derive(Debug)]
pub struct Clusters {
    /// The first cluster, or a leaf with [`AT_LEAF`].
    root: u32,
    /// Cells of a row.
    n_cells: usize,
    has_categories: bool,
    has_entries: bool,
    alone: Alone,
    tests: TestArrays,
    /// For each exit, the tests of the splits whose left side it lies on: none for the last exit alone. With
    /// [`SET`], for the test of the place.
    left_of: Box<[u16]>,
    exits: Exits,
}

/// The parts of [`Test`]s.
#[derive(Debug)]
struct TestArrays {
    cuts: Box<[f32]>,
    lows: Box<[u32]>,
    cells: Box<[u8]>,
}

/// For each exit, the cluster that follows, or a leaf with the flag.
#[derive(Debug)]
pub enum Exits {
    U16(Box<[u16]>),
    U32(Box<[u32]>),
}

/// A cluster: the items that are read from its first place on. Only the first of them are its own.
#[derive(Clone, Copy)]
pub struct Cluster<'a, E> {
    pub cuts: &'a [f32; LANES],
    pub lows: &'a [u32; LANES],
    pub cells: &'a [u8; LANES],
    pub left_of: &'a [u16; LANES],
    pub exits: &'a [E; LANES],
}

impl<E> Cluster<'_, E> {
    /// The number of the set, if the cluster has one split only, whose set is to be looked up.
    #[inline]
    pub(super) fn alone(&self) -> Option<usize> {
        (self.left_of[0] & SET != 0 && self.cells[0] == ALONE).then(|| self.cuts[0].to_bits() as usize)
    }
}

impl Clusters {
    /// Clusters the tree of the split or leaf `root`. `split` has the splits by their numbers,
    /// which are below `n_numbers`; the children of a split that are splits have greater ones.
    /// `n_categories` has the number of each feature, or nothing if all are numeric. Returns nothing
    /// if there are too many features. O(splits), and O(categories) for each split on a categorical feature.
    pub fn new<'a>(
        n_features: usize,
        n_categories: &[u32],
        n_numbers: usize,
        root: u32,
        split: impl Fn(u32) -> Option<SplitView<'a>>,
    ) -> Option<Self> {
        let has_categories = !n_categories.is_empty();
        let most = if has_categories { MAX_CELLS } else { MAX_FEATURES };
        if n_features > most {
            return None;
        }
        let codings = Codings::new(n_features, n_categories);
        let tests = Tests::new(&codings, n_numbers, &split);
        let children = |id: u32| split(id).map(|split| tests.children(id, split.children));
        let clustering = Clustering::new(n_numbers, children, |id| tests.len(id));
        let mut chosen = Chosen::default();
        let (mut cuts, mut lows, mut cells) = (Vec::new(), Vec::new(), Vec::new());
        let (mut left_of, mut exits) = (Vec::<u16>::new(), Vec::<u32>::new());
        // Splits at which clusters begin, each with the exit that leads to it.
        let mut waiting = Vec::new();
        if root & AT_LEAF == 0 {
            waiting.push((root, None));
        }
        while let Some((top, from)) = waiting.pop() {
            let first = exits.len();
            if let Some(from) = from {
                exits[from] = first as u32;
            }
            clustering.choose(top, &mut chosen);
            exits.extend(chosen.exits.iter().map(|&(child, _)| child));
            left_of.extend(chosen.exits.iter().map(|&(_, mask)| mask));
            waiting.extend(
                (first..)
                    .zip(&chosen.exits)
                    .filter_map(|(exit, &(child, _))| (child & AT_LEAF == 0).then_some((child, Some(exit)))),
            );
            let of_splits = chosen.splits.iter().flat_map(|&id| tests.of(id));
            for (place, test) in (first..).zip(of_splits.chain([&Test::NONE])) {
                cuts.push(test.cut);
                lows.push(test.low);
                cells.push(test.cell);
                if place == exits.len() {
                    exits.push(AT_LEAF);
                    left_of.push(0);
                }
                left_of[place] |= if test.is_set { SET } else { 0 };
            }
        }
        cuts.extend([f32::NAN; LANES]);
        lows.extend([0; LANES]);
        cells.extend([0; LANES]);
        left_of.extend([0; LANES]);
        exits.extend([AT_LEAF; LANES]);
        let root = if root & AT_LEAF == 0 { 0 } else { root };
        let exits = narrow(&exits).map_or_else(|| Exits::U32(exits.into()), Exits::U16);
        Some(Self {
            root,
            n_cells: codings.n_cells(),
            has_categories,
            has_entries: codings.has_entries(),
            alone: tests.alone,
            tests: TestArrays { cuts: cuts.into(), lows: lows.into(), cells: cells.into() },
            left_of: left_of.into(),
            exits,
        })
    }

    /// The first cluster, or a leaf with [`AT_LEAF`].
    #[inline]
    pub(super) fn root(&self) -> u32 {
        self.root
    }

    pub(super) fn n_cells(&self) -> usize {
        self.n_cells
    }

    pub(super) fn has_categories(&self) -> bool {
        self.has_categories
    }

    /// Whether the cells of a row hold [entries](codings).
    pub(super) fn has_entries(&self) -> bool {
        self.has_entries
    }

    /// The sets of clusters that [are alone](Cluster::alone).
    pub(super) fn alone(&self) -> &Alone {
        &self.alone
    }

    pub(super) fn exits(&self) -> &Exits {
        &self.exits
    }

    /// The cluster of a place.
    ///
    /// # Safety
    ///
    /// The place must be [`root`](Self::root) or an exit of a cluster, and no leaf. `exits` must come from
    /// [`exits`](Self::exits).
    #[inline]
    #[allow(unsafe_code, reason = "checked reads of the five arrays take a quarter longer")]
    pub(super) unsafe fn cluster<'a, E: Flagged>(&'a self, exits: &'a [E], place: u32) -> Cluster<'a, E> {
        let place = place as usize;
        debug_assert!(place + LANES < exits.len());
        // SAFETY: `new` has put `LANES` items behind the last place of each array.
        unsafe {
            Cluster {
                cuts: &*self.tests.cuts.as_ptr().add(place).cast(),
                lows: &*self.tests.lows.as_ptr().add(place).cast(),
                cells: &*self.tests.cells.as_ptr().add(place).cast(),
                left_of: &*self.left_of.as_ptr().add(place).cast(),
                exits: &*exits.as_ptr().add(place).cast(),
            }
        }
    }

    pub fn n_bytes(&self) -> usize {
        let TestArrays { cuts, lows, cells } = &self.tests;
        let exits = match &self.exits {
            Exits::U16(exits) => size_of_val(&exits[..]),
            Exits::U32(exits) => size_of_val(&exits[..]),
        };
        size_of_val(&cuts[..])
            + size_of_val(&lows[..])
            + size_of_val(&cells[..])
            + size_of_val(&self.left_of[..])
            + exits
            + self.alone.n_bytes()
    }
}
