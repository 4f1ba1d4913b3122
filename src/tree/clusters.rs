//! A tree as clusters of up to fifteen splits that are decided at once.
//!
//! A cluster is a split and some of the splits below it (`clustering`). All of them compare their
//! cuts with the values of a row in one step, whether or not the row passes them, which makes a bit
//! each: 1 where the row would go right. Which exit of the cluster the row takes follows from these
//! bits. In each exit's mask are the splits whose left side it lies on, and the first exit from the
//! left none of whose splits send the row right is the one. In trees of forests, a row passes three
//! or four clusters where it passes seventeen splits.
//!
//! Cuts are in single precision, and a row goes right if its value is at least the cut: a cut is
//! the least number in single precision above the threshold. For a value that was rounded up to
//! single precision this decides as the threshold does, unless the value is equal to the cut. Then it is
//! compared how far value and threshold are below, in places of double precision.

use super::category_bits::{Alone, Answers, SetSplit, Test, tests};
use super::clustering::{Chosen, Clustering, SPLITS};
use super::flagged::{Flagged, narrow};
use super::pages::places_below;
use super::position::AT_LEAF;
use super::walk::SplitView;
use crate::tuning::tuned;

/// The most exits of a cluster, and the numbers that are read for each.
pub(super) const LANES: usize = SPLITS + 1;
/// The most features of a tree that is clustered.
pub(super) const MAX_FEATURES: usize = 128;
/// In a feature: missing values go right.
const MISSING_RIGHT: u8 = 1 << 7;
/// In the mask of an exit, which has a bit for each split: the cut of the same place is bits
/// (`category_bits`).
pub(super) const BITS: u16 = 1 << SPLITS;
/// In a feature with [`BITS`]: the split is alone, and its cut is its number among such splits.
const ALONE: u8 = MISSING_RIGHT;
tuned! {
    /// The most cells of a row that a tree may add for features of many categories: each costs a look-up per
    /// row and four bytes per category (bench `sweep`).
    fn most_answers() -> usize = 16;
}

/// A tree as clusters.
///
/// A cluster of `k` splits is `k + 1` places in each array, one for each exit from left to right, and is
/// known by its first place. Each array has [`LANES`] more items at the end, so that [`LANES`] items can be
/// read from every place.
#[derive(Debug)]
pub struct Clusters {
    /// The first cluster, or a leaf with [`AT_LEAF`].
    root: u32,
    /// Cells of a row: one for each feature, and one for each of `answers`.
    n_cells: usize,
    has_categories: bool,
    answers: Vec<Answers>,
    alone: Alone,
    splits: Splits,
    exits: Exits,
}

/// The splits of clusters, and where their exits lie.
#[derive(Debug)]
struct Splits {
    /// The cuts of the splits; NaN where no value goes right. Of a categorical feature, bits.
    cuts: Box<[f32]>,
    /// How far thresholds are below the cuts, see [`places_below`]; 0 where that cannot be said.
    lows: Box<[u32]>,
    /// The cells of the splits, with [`MISSING_RIGHT`].
    features: Box<[u8]>,
    /// For each exit, the splits whose left side it lies on: none for the last exit alone. With [`BITS`].
    left_of: Box<[u16]>,
}

/// For each exit, the cluster that follows, or a leaf with the flag.
#[derive(Debug)]
pub(super) enum Exits {
    U16(Box<[u16]>),
    U32(Box<[u32]>),
}

/// A cluster: the items that are read from its first place on. Only the first of them are its own.
#[derive(Clone, Copy)]
pub(super) struct Cluster<'a, E> {
    pub cuts: &'a [f32; LANES],
    pub lows: &'a [u32; LANES],
    pub features: &'a [u8; LANES],
    pub left_of: &'a [u16; LANES],
    pub exits: &'a [E; LANES],
}

impl<E> Cluster<'_, E> {
    /// The number of the split, if the cluster has one only, whose set is to be looked up.
    #[inline]
    pub(super) fn alone(&self) -> Option<usize> {
        (self.left_of[0] & BITS != 0 && self.features[0] == ALONE).then(|| self.cuts[0].to_bits() as usize)
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
        if n_features > MAX_FEATURES {
            return None;
        }
        let mut n_splits = vec![0; n_features];
        for split in (0..n_numbers as u32).filter_map(&split).filter(|split| split.set.is_some()) {
            n_splits[split.feature as usize] += 1;
        }
        let tests = tests(n_categories, &n_splits, most_answers().min(MAX_FEATURES - n_features));
        let (mut answers, mut alone, mut are_bits) = (Vec::new(), Alone::default(), Vec::new());
        let is_alone = |id: u32| split(id).is_some_and(|split| matches!(tests[split.feature as usize], Test::Alone(_)));
        let clustering = Clustering::new(n_numbers, |id| split(id).map(|split| split.children), is_alone);
        let mut chosen = Chosen::default();
        let (mut cuts, mut lows, mut features) = (Vec::new(), Vec::new(), Vec::new());
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
            for SplitView { feature, threshold, missing_go_left, set, .. } in
                chosen.splits.iter().filter_map(|&id| split(id))
            {
                let Some(set) = set else {
                    let cut = least_above(threshold);
                    cuts.push(cut);
                    lows.push(places_below(threshold, cut).unwrap_or(0));
                    features.push(feature as u8 | if missing_go_left { 0 } else { MISSING_RIGHT });
                    continue;
                };
                let (set, n_categories) = (SetSplit { set, missing_go_left }, n_categories[feature as usize]);
                let (cell, bits) = match tests[feature as usize] {
                    Test::Cut | Test::Bit => (feature as u8, set.bits(n_categories)),
                    Test::Answers(place) => {
                        let (at, bit) = Answers::add(&mut answers, place, set, n_categories);
                        ((n_features + at) as u8, bit)
                    }
                    Test::Alone(place) => (ALONE, alone.add(place, set, n_categories) as u32),
                };
                are_bits.push(cuts.len());
                cuts.push(f32::from_bits(bits));
                lows.push(0);
                features.push(cell);
            }
            cuts.push(f32::NAN);
            lows.push(0);
            features.push(0);
            left_of.extend(chosen.exits.iter().map(|&(_, mask)| mask));
            are_bits.drain(..).for_each(|place| left_of[place] |= BITS);
            exits.extend(chosen.exits.iter().map(|&(child, _)| child));
            waiting.extend(
                (first..)
                    .zip(&chosen.exits)
                    .filter_map(|(exit, &(child, _))| (child & AT_LEAF == 0).then_some((child, Some(exit)))),
            );
        }
        cuts.extend([f32::NAN; LANES]);
        lows.extend([0; LANES]);
        features.extend([0; LANES]);
        left_of.extend([0; LANES]);
        exits.extend([AT_LEAF; LANES]);
        let root = if root & AT_LEAF == 0 { 0 } else { root };
        let splits =
            Splits { cuts: cuts.into(), lows: lows.into(), features: features.into(), left_of: left_of.into() };
        let exits = narrow(&exits).map_or_else(|| Exits::U32(exits.into()), Exits::U16);
        let (n_cells, has_categories) = (n_features + answers.len(), !n_categories.is_empty());
        Some(Self { root, n_cells, has_categories, answers, alone, splits, exits })
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

    /// The sets of clusters that [are alone](Cluster::alone).
    pub(super) fn alone(&self) -> &Alone {
        &self.alone
    }

    /// What the cells behind the cells of the features are made of.
    pub(super) fn answers(&self) -> &[Answers] {
        &self.answers
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
                cuts: &*self.splits.cuts.as_ptr().add(place).cast(),
                lows: &*self.splits.lows.as_ptr().add(place).cast(),
                features: &*self.splits.features.as_ptr().add(place).cast(),
                left_of: &*self.splits.left_of.as_ptr().add(place).cast(),
                exits: &*exits.as_ptr().add(place).cast(),
            }
        }
    }

    pub fn n_bytes(&self) -> usize {
        let Splits { cuts, lows, features, left_of } = &self.splits;
        let exits = match &self.exits {
            Exits::U16(exits) => size_of_val(&exits[..]),
            Exits::U32(exits) => size_of_val(&exits[..]),
        };
        let answers: usize = self.answers.iter().map(Answers::n_bytes).sum();
        size_of_val(&cuts[..])
            + size_of_val(&lows[..])
            + size_of_val(&features[..])
            + size_of_val(&left_of[..])
            + exits
            + answers
            + self.alone.n_bytes()
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
