//! The search of small subtrees, whatever the criterion. A criterion says what its rows are
//! ([`CriterionRows`]) and how they stand in the lanes of vector registers ([`Lanes`]); all else is here.
//!
//! The scores in lanes may be rounded. They tell which cuts may be the best ones; the exact sums of these are
//! added up afterwards, and compared.

use std::cmp::Ordering;

use super::{BY_RANK, BY_UNIT, ByColumn, FEW_ROWS, LANES, MARGIN, SmallCut, SmallRows, least_close};
use crate::criterion::statistics::Statistics;
use crate::num::sort_by;
use crate::simd::Level;

/// The numbers of a node's rows in the lanes of vector registers, and the scores of cuts that follow from
/// them.
pub trait Lanes: Send + Sized {
    /// Room for the rows.
    fn new() -> Self;

    /// Begins a node of this weight, whose children must weigh at least `least`, which is above 0.
    fn begin(&mut self, weight: u64, least: f64);

    /// Scores cuts, `N` at a time: see [`SmallRows::score_cuts`], or by unit [`SmallRows::score_subsets`].
    /// Returns the highest score.
    fn score_cuts<const BY: usize, const N: usize>(
        &mut self,
        level: Level,
        ranks: &[u32],
        lasts: &[u32],
        scores: &mut [f64],
    ) -> f64;

    /// Scores the same cuts again: see [`SmallRows::score_again`].
    fn score_again<const N: usize>(&mut self, level: Level, ranks: &[u32], lasts: &[u32], scores: &mut [f64]) -> f64;

    /// Scores columns side by side: see [`SmallRows::score_columns`].
    fn score_columns(
        &mut self,
        level: Level,
        ranks: &[ByColumn<u32>],
        scores: &mut [ByColumn<f64>],
    ) -> Option<ByColumn<f64>>;

    /// The score of the cut that sends rows of a rank below `end` left.
    fn score_below(&self, level: Level, ranks: &[u32], end: u32) -> f64;
}

/// How the rows of a criterion stand in lanes.
pub trait Held: Send + Sized {
    /// The form in which lanes hold the rows of a node.
    type Lanes: Lanes;
    /// Whether the sums in lanes are exact.
    const ARE_EXACT: bool;
    /// Whether columns are searched side by side.
    const SIDE_BY_SIDE: bool;
    /// Whether single cuts are scored in lanes before they are exactly.
    const ROUGH_FIRST: bool;
    /// Whether columns of categories are served.
    const CATEGORIES: bool;
}

/// By how much scores in lanes may differ from exact ones, and how they compare with [`SmallCut::score`].
#[derive(Clone, Copy)]
pub enum Precision {
    /// Both are equal but for few roundings: see [`MARGIN`].
    Exact,
    /// Scores are squares.
    Squares {
        /// How far the root of a score in lanes may be from the exact one, in the unit of the lanes.
        error: f64,
        /// One over the unit of the roots of scores in lanes.
        per_unit: f64,
        /// How far a [`SmallCut::score`] may be from the exact one, beside [`MARGIN`].
        absolute: f64,
    },
    /// Both have the same unit.
    Same {
        /// How far a score in lanes may be from the exact one.
        in_lanes: f64,
        /// How far a [`SmallCut::score`] may be from the exact one, beside [`MARGIN`].
        of_cuts: f64,
    },
}

impl Precision {
    /// See [`SmallRows::least_close`].
    fn least_close(self, highest: f64) -> f64 {
        match self {
            Self::Exact => least_close(highest),
            Self::Squares { error, .. } => least_square(highest.sqrt() * (1.0 - MARGIN) - 2.0 * error),
            Self::Same { in_lanes, .. } => highest - 2.0 * in_lanes,
        }
    }

    /// See [`SmallRows::least_to_win`].
    fn least_to_win(self, score: f64) -> f64 {
        match self {
            Self::Exact => least_close(score),
            Self::Squares { error, per_unit, absolute } => {
                let score = (score - 2.0 * absolute).max(0.0);
                least_square(score.sqrt() * (per_unit * (1.0 - MARGIN)) - error)
            }
            Self::Same { in_lanes, of_cuts } => score - in_lanes - of_cuts - score.abs() * MARGIN,
        }
    }

    /// How far a [`SmallCut::score`] may be from the exact one, beside [`MARGIN`].
    fn absolute(self) -> f64 {
        match self {
            Self::Exact => 0.0,
            Self::Squares { absolute, .. } | Self::Same { of_cuts: absolute, .. } => absolute,
        }
    }
}

/// The square of the least root that a score may have, or 0 if it may have any.
fn least_square(root: f64) -> f64 {
    let root = root.max(0.0);
    root * root * (1.0 - MARGIN)
}

/// The rows of a small subtree, as one criterion has them.
pub trait CriterionRows<C: Statistics + ?Sized>: Held {
    /// The exact sums of the rows on one side.
    type Left;

    /// See [`SmallRows::new`].
    fn new(criterion: &C) -> Option<Self>;
    /// Loads the rows, which may be put in another order.
    fn load(&mut self, criterion: &C, samples: &mut [u32]) -> bool;
    /// Adds up the rows of a node.
    fn enter(&mut self, criterion: &C, places: &[u8], samples: &[u32]);
    /// The weight of the node that was entered last.
    fn weight(&self) -> u64;
    /// Whether this node is pure.
    fn is_pure(&self, criterion: &C) -> bool;
    /// The impurity of this node, with the bits of [`Statistics::impurity`].
    fn impurity(&self, criterion: &C) -> f64;
    /// The value of this node, with the bits of [`Statistics::write_value`].
    fn write_value(&self, criterion: &C, samples: &[u32], value: &mut [f64]);
    /// See [`SmallRows::gain_of_split`].
    fn gain_of_split(&self, _criterion: &C, _left: &[u32]) -> f64 {
        0.0
    }
    /// The weight of a row, by its place in the subtree.
    fn row_weight(&self, place: u8) -> u64;
    /// The value of a node of one row.
    fn write_row_value(&self, criterion: &C, place: u8, sample: u32, value: &mut [f64]);
    /// Loads the exact numbers of the node's rows.
    fn begin(&mut self, criterion: &C, places: &[u8], samples: &[u32]);
    /// Sets the numbers in lanes. Exact ones are set at once, others when the node is first searched, without
    /// places.
    fn set_lanes(&self, criterion: &C, places: &[u8], n: usize, lanes: &mut Self::Lanes) -> Precision;
    /// No cut has a higher score.
    fn most_score(&self) -> f64;
    /// Whether different scores never round to the same number.
    fn are_scores_exact(&self) -> bool {
        false
    }
    /// The exact sums of the rows for which each of `K` conditions on their ranks holds.
    fn lefts<const K: usize>(
        &self,
        criterion: &C,
        lanes: &Self::Lanes,
        ranks: &[u32],
        is_left: impl Fn(u32) -> [bool; K],
    ) -> [Self::Left; K];
    /// The cut with these sums on its left.
    fn cut(&self, criterion: &C, left: &Self::Left) -> SmallCut;
    /// The exact order of two cuts.
    fn compare(&self, criterion: &C, a: &Self::Left, b: &Self::Left) -> Ordering;
    /// The sums in lanes of a cut, if they are exact.
    fn of_lanes(_lanes: &Self::Lanes, _i: usize) -> Option<Self::Left> {
        None
    }
    /// The weight and the excess of a row of the node, exactly, if categories are served.
    fn row(&self, _lanes: &Self::Lanes, _row: usize) -> Option<(i64, i64)> {
        None
    }
    /// The exact excess of the rows on the left, if categories are served.
    fn excess(_left: &Self::Left) -> Option<i64> {
        None
    }
}

/// The rows of a small subtree, and the cuts of its nodes.
pub struct SmallKernel<R: Held> {
    rows: R,
    lanes: R::Lanes,
    /// The number of the node's rows.
    n: usize,
    /// Whether the lanes have the rows of the node.
    is_current: bool,
    precision: Precision,
    /// The weight and the excess of each unit of categories.
    units: Vec<(i64, i64)>,
}

impl<R: Held> SmallKernel<R> {
    #[inline]
    fn set_lanes<C: Statistics>(&mut self, criterion: &C, places: &[u8])
    where
        R: CriterionRows<C>,
    {
        if !self.is_current {
            self.precision = self.rows.set_lanes(criterion, places, self.n, &mut self.lanes);
            self.is_current = true;
        }
    }
}

impl<C: Statistics, R: CriterionRows<C>> SmallRows<C> for SmallKernel<R> {
    fn new(criterion: &C) -> Option<Self> {
        Some(Self {
            rows: R::new(criterion)?,
            lanes: R::Lanes::new(),
            n: 0,
            is_current: false,
            precision: Precision::Exact,
            units: Vec::new(),
        })
    }

    fn has_categories(&self) -> bool {
        R::CATEGORIES
    }

    fn load(&mut self, criterion: &C, samples: &mut [u32]) -> bool {
        self.rows.load(criterion, samples)
    }

    fn enter(&mut self, criterion: &C, places: &[u8], samples: &[u32]) {
        self.rows.enter(criterion, places, samples);
    }

    fn weight(&self) -> u64 {
        self.rows.weight()
    }

    fn is_pure(&self, criterion: &C) -> bool {
        self.rows.is_pure(criterion)
    }

    fn impurity(&self, criterion: &C) -> f64 {
        self.rows.impurity(criterion)
    }

    fn write_value(&self, criterion: &C, samples: &[u32], value: &mut [f64]) {
        self.rows.write_value(criterion, samples, value);
    }

    fn gain_of_split(&self, criterion: &C, left: &[u32]) -> f64 {
        self.rows.gain_of_split(criterion, left)
    }

    fn row_weight(&self, place: u8) -> u64 {
        self.rows.row_weight(place)
    }

    fn write_row_value(&self, criterion: &C, place: u8, sample: u32, value: &mut [f64]) {
        self.rows.write_row_value(criterion, place, sample, value);
    }

    fn begin(&mut self, criterion: &C, places: &[u8], samples: &[u32], least_weight: f64) {
        self.rows.begin(criterion, places, samples);
        self.n = places.len();
        self.is_current = false;
        self.lanes.begin(self.rows.weight(), least_weight);
        if R::ARE_EXACT {
            self.set_lanes(criterion, places);
        }
    }

    fn most_score(&self) -> f64 {
        self.rows.most_score()
    }

    fn score_cuts(
        &mut self,
        criterion: &C,
        level: Level,
        ranks: &[u32],
        lasts: &[[u32; LANES]],
        scores: &mut [[f64; LANES]],
    ) -> f64 {
        self.set_lanes(criterion, &[]);
        let (lasts, scores) = (lasts.as_flattened(), scores.as_flattened_mut());
        if ranks.len() > FEW_ROWS {
            return self.lanes.score_cuts::<BY_RANK, LANES>(level, ranks, lasts, scores);
        }
        // Most nodes have few rows; their cuts need half of the divisions.
        let (scores, others) = scores.split_at_mut(FEW_ROWS);
        others.fill(f64::NEG_INFINITY);
        self.lanes.score_cuts::<BY_RANK, FEW_ROWS>(level, ranks, &lasts[..FEW_ROWS], scores)
    }

    fn score_again(
        &mut self,
        _criterion: &C,
        level: Level,
        ranks: &[u32],
        lasts: &[[u32; LANES]],
        scores: &mut [[f64; LANES]],
    ) -> f64 {
        let (lasts, scores) = (lasts.as_flattened(), scores.as_flattened_mut());
        if ranks.len() > FEW_ROWS {
            return self.lanes.score_again::<LANES>(level, ranks, lasts, scores);
        }
        self.lanes.score_again::<FEW_ROWS>(level, ranks, &lasts[..FEW_ROWS], &mut scores[..FEW_ROWS])
    }

    fn score_subsets(
        &mut self,
        criterion: &C,
        level: Level,
        units: &[u32],
        lefts: &[u32; LANES],
        scores: &mut [f64; LANES],
    ) -> f64 {
        self.set_lanes(criterion, &[]);
        self.lanes.score_cuts::<BY_UNIT, LANES>(level, units, lefts, scores)
    }

    fn scores_columns(&self) -> bool {
        R::SIDE_BY_SIDE
    }

    fn score_columns(
        &mut self,
        criterion: &C,
        level: Level,
        ranks: &[ByColumn<u32>],
        scores: &mut [ByColumn<f64>],
    ) -> Option<ByColumn<f64>> {
        self.set_lanes(criterion, &[]);
        self.lanes.score_columns(level, ranks, scores)
    }

    fn compare(&self, cut: &SmallCut, other: &SmallCut, exactly: impl FnOnce() -> Ordering) -> Ordering {
        let difference = (cut.score - other.score).abs();
        let highest = cut.score.abs().max(other.score.abs());
        let is_close = difference <= highest * MARGIN + self.precision.absolute();
        if self.rows.are_scores_exact() || !is_close {
            return cut.score.partial_cmp(&other.score).unwrap_or(Ordering::Equal);
        }
        exactly()
    }

    fn least_close(&self, highest: f64) -> f64 {
        if R::ARE_EXACT { least_close(highest) } else { self.precision.least_close(highest) }
    }

    fn least_to_win(&self, score: f64) -> f64 {
        if R::ARE_EXACT { least_close(score) } else { self.precision.least_to_win(score) }
    }

    fn absolute(&self) -> f64 {
        2.0 * self.precision.absolute()
    }

    #[inline]
    fn scored_cut(&self, criterion: &C, i: usize, ranks: &[u32], last: u32) -> SmallCut {
        let left = R::of_lanes(&self.lanes, i).unwrap_or_else(|| {
            let [left] = self.rows.lefts(criterion, &self.lanes, ranks, |rank| [rank <= last]);
            left
        });
        self.rows.cut(criterion, &left)
    }

    #[inline]
    fn cut_below(&self, criterion: &C, ranks: &[u32], end: u32) -> SmallCut {
        let [left] = self.rows.lefts(criterion, &self.lanes, ranks, |rank| [rank < end]);
        self.rows.cut(criterion, &left)
    }

    fn rough_below(&mut self, criterion: &C, level: Level, ranks: &[u32], end: u32) -> f64 {
        if !R::ROUGH_FIRST {
            return f64::INFINITY;
        }
        self.set_lanes(criterion, &[]);
        self.lanes.score_below(level, ranks, end)
    }

    fn compare_below(
        &self,
        criterion: &C,
        (ranks, end): (&[u32], u32),
        (others, other_end): (&[u32], u32),
    ) -> Ordering {
        let [a] = self.rows.lefts(criterion, &self.lanes, ranks, |rank| [rank < end]);
        let [b] = self.rows.lefts(criterion, &self.lanes, others, |rank| [rank < other_end]);
        self.rows.compare(criterion, &a, &b)
    }

    fn cuts_with_missing(&self, criterion: &C, ranks: &[u32], end: u32, missing: u32) -> [SmallCut; 3] {
        let is_left = |rank: u32| [rank < end, rank != missing, rank < end || rank == missing];
        self.rows.lefts(criterion, &self.lanes, ranks, is_left).map(|left| self.rows.cut(criterion, &left))
    }

    fn subset_cut(&self, criterion: &C, units: &[u32], subset: u32) -> SmallCut {
        let [left] = self.rows.lefts(criterion, &self.lanes, units, |unit| [unit & subset != 0]);
        self.rows.cut(criterion, &left)
    }

    fn compare_subsets(&self, criterion: &C, units: &[u32], a: u32, b: u32) -> Ordering {
        let [a, b] = self.rows.lefts(criterion, &self.lanes, units, |unit| [unit & a != 0, unit & b != 0]);
        self.rows.compare(criterion, &a, &b)
    }

    fn compare_subset_mean(&self, criterion: &C, units: &[u32], subset: u32) -> Option<Ordering> {
        let [left] = self.rows.lefts(criterion, &self.lanes, units, |unit| [unit & subset != 0]);
        R::excess(&left).map(|excess| excess.cmp(&0))
    }

    fn add_units(&mut self, criterion: &C, units: &[u8], n_units: usize) {
        self.set_lanes(criterion, &[]);
        self.units.clear();
        self.units.resize(n_units, (0, 0));
        let rows = (0..units.len()).map_while(|row| self.rows.row(&self.lanes, row));
        for ((weight, excess), &unit) in rows.zip(units) {
            let unit = &mut self.units[usize::from(unit)];
            *unit = (unit.0 + weight, unit.1 + excess);
        }
    }

    fn sort_units(&mut self, i: usize, _all_legal: bool, units: &mut [u8]) -> bool {
        let product =
            |a: u8, b: u8| i128::from(self.units[usize::from(a)].1) * i128::from(self.units[usize::from(b)].0);
        if i == 0 {
            sort_by(units, |a, b| product(a, b).cmp(&product(b, a)).then(a.cmp(&b)));
        }
        i == 0
    }
}
