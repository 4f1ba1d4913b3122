//! Numbers in small subtrees, of up to a few outputs, for the criteria whose scores follow
//! from weighted sums of them; see `criterion::squared_error` and `criterion::poisson`.
//!
//! For squared error, let `W` be the weight of the node and `S` the weighted sum of its numbers `q`.
//! A row of weight `w` has the excess `w (W q - S)`, and a cut has the sum of the excesses on its
//! left, which is exact. The score is the square of that sum over `w (W - w)`, `w` being the weight
//! on the left. The squares of several outputs are added up, in the scale of the finest output.
//!
//! For Poisson deviance, the excess of a row is `w q`. The score is the criterion's score in floating point
//! plus twice the sum of the node, so scores are far above 0, and [`MARGIN`](super::MARGIN) covers their
//! rounding. The exact numerator is the criterion's integer, raised above 0.

use std::cmp::Ordering;

use smallvec::SmallVec;

use super::{
    BY_RANK, BY_RANK_OF_FEW, BY_UNIT, ByRow, ExactScore, FEW_ROWS, LANES, MAX_ROWS, MAX_WEIGHT, SmallCut, SmallRows,
    goes_left, higher, highest_of, is_end, n_lanes,
};
use crate::criterion::sums::{LOGS, NarrowTotals, OverSums, SQUARES, Whole};
use crate::num::log2::Log2;
use crate::num::sort_by;
use crate::simd::{Level, vectorized};

/// For squares: the square of the total weight, times the range of the numbers, is at most this, so
/// that sums of excesses fit in 64 bits in whatever order they are added up. The squares of
/// eight such sums fit in 128 bits.
const MAX_PRODUCT: u64 = 1 << 61;
/// For logarithms: the total weight times the greatest number is at most this, so that products of
/// eight such sums with logarithms are below [`ABOVE_ALL`].
const MAX_SUM: u64 = 1 << 56;
/// A number that makes every sum of products with logarithms positive when it is added.
const ABOVE_ALL: i128 = 1 << 126;

/// The rows of a small subtree.
pub struct SmallSums {
    /// By place: the weight of the row.
    weights: ByRow<i32>,
    weight: i64,
    /// The least weight that a child may have.
    least: i32,
    /// By position in the node: the weight of the row.
    row_weights: ByRow<i32>,
    /// The weights on the left of the cuts that were scored last.
    lefts: [[i32; LANES]; MAX_ROWS / LANES],
    /// The weights of units of categories.
    unit_weights: ByRow<i32>,
    outputs: Box<[OutputNumbers]>,
    /// Only for [`LOGS`].
    log2: Option<Log2>,
}

/// The numbers of one output.
struct OutputNumbers {
    /// By how many bits the unit of the numbers is coarser than the finest one.
    shift: u32,
    /// The sums of the node as scores need them.
    whole: Whole,
    /// For squares, the number of the subtree's first row, from which all others are distances; else
    /// 0.
    origin: i64,
    /// By place: the number of the row, and for logarithms, its product with its own logarithm.
    numbers: ByRow<i64>,
    terms: Box<[u128]>,
    /// The sums of the node.
    totals: NarrowTotals,
    /// By position in the node: the excess of the row.
    row_excesses: ByRow<i64>,
    /// The excesses on the left of the cuts that were scored last.
    excesses: [[i64; LANES]; MAX_ROWS / LANES],
    /// The excesses of units of categories.
    unit_excesses: ByRow<i64>,
}

impl SmallSums {
    /// The cut that has `left(output)` on its left: its weight, and the excess of an output.
    #[inline]
    fn cut_of<C: OverSums>(&self, left: impl Fn(usize, &OutputNumbers) -> (i32, i64)) -> SmallCut {
        let (mut weight, mut parts) = (0, 0.0);
        for (number, output) in self.outputs.iter().enumerate() {
            let excess;
            (weight, excess) = left(number, output);
            let (weight, excess) = (f64::from(weight), excess as f64);
            parts += match C::LOSS {
                LOGS => output.whole.part::<LOGS>(weight, excess),
                _ => output.whole.part::<SQUARES>(weight, excess),
            };
        }
        let weight = weight as u32;
        let score = match C::LOSS {
            LOGS => parts + offset(&self.outputs),
            _ => parts / f64::from(self.product(weight)),
        };
        SmallCut { score, weight: weight.into() }
    }

    /// The exact score of this cut.
    fn exact_of<C: OverSums>(&self, left: impl Fn(usize, &OutputNumbers) -> (i32, i64)) -> ExactScore {
        if C::LOSS == LOGS { self.exact_by_logs(left) } else { self.exact_by_squares(left) }
    }

    fn exact_by_squares(&self, left: impl Fn(usize, &OutputNumbers) -> (i32, i64)) -> ExactScore {
        let (mut weight, mut numerator) = (0, 0);
        for (number, output) in self.outputs.iter().enumerate() {
            let excess;
            (weight, excess) = left(number, output);
            let excess = u128::from(excess.unsigned_abs()) << output.shift;
            numerator += excess * excess;
        }
        ExactScore { numerator, denominator: self.product(weight as u32) }
    }

    fn exact_by_logs(&self, left: impl Fn(usize, &OutputNumbers) -> (i32, i64)) -> ExactScore {
        let mut numerator = ABOVE_ALL;
        let log2 = self.log2.unwrap_or_else(Log2::new);
        let log = |of: i64| i128::from(log2.log2(of as u64));
        for (number, output) in self.outputs.iter().enumerate() {
            let (weight, excess) = left(number, output);
            let side = |sum: i64, weight: i64| i128::from(sum) * (log(sum) - log(weight));
            let weight = i64::from(weight);
            let both = side(excess, weight) + side(output.totals.sum - excess, self.weight - weight);
            numerator += both << output.shift;
        }
        ExactScore { numerator: numerator as u128, denominator: 1 }
    }

    /// The product of the weights of both sides of a cut.
    fn product(&self, left: u32) -> u32 {
        left * (self.weight as u32 - left)
    }

    /// The weight and the excess on the left of the `i`-th of the cuts that were scored last.
    fn scored(&self, i: usize) -> impl Fn(usize, &OutputNumbers) -> (i32, i64) {
        move |_, output| (self.lefts.as_flattened()[i], output.excesses.as_flattened()[i])
    }

    fn of_subset(&self, units: &[u32], subset: u32) -> impl Fn(usize, &OutputNumbers) -> (i32, i64) {
        move |_, output| sums_where(units, &self.row_weights, &output.row_excesses, |unit| unit & subset != 0)
    }

    /// The weight and the excess of the rows of a rank below `end`.
    fn below(&self, ranks: &[u32], end: u32) -> impl Fn(usize, &OutputNumbers) -> (i32, i64) {
        move |_, output| sums_where(ranks, &self.row_weights, &output.row_excesses, |rank| rank < end)
    }
}

/// A number that makes scores by logarithms positive when it is added.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
fn offset(outputs: &[OutputNumbers]) -> f64 {
    outputs.iter().map(|output| 2.0 * output.whole.sum * output.whole.factor).sum()
}

impl<C: OverSums> SmallRows<C> for SmallSums {
    fn new(criterion: &C) -> Option<Self> {
        // Squares of one output have a form of their own (`squares`).
        let n_outputs = criterion.n_small_outputs().filter(|&n| C::LOSS == LOGS || n > 1)?;
        let output = |number| OutputNumbers {
            shift: criterion.shift(number),
            whole: Whole { factor: criterion.unit(number), ..Whole::default() },
            origin: 0,
            numbers: [0; MAX_ROWS],
            terms: vec![0; if C::LOSS == LOGS { MAX_ROWS } else { 0 }].into(),
            totals: NarrowTotals::default(),
            row_excesses: [0; MAX_ROWS],
            excesses: [[0; LANES]; MAX_ROWS / LANES],
            unit_excesses: [0; MAX_ROWS],
        };
        Some(Self {
            weights: [0; MAX_ROWS],
            weight: 0,
            least: 1,
            row_weights: [0; MAX_ROWS],
            lefts: [[0; LANES]; MAX_ROWS / LANES],
            unit_weights: [0; MAX_ROWS],
            outputs: (0..n_outputs).map(output).collect(),
            // The tables of logarithms take a millisecond to make.
            log2: (C::LOSS == LOGS).then(Log2::new),
        })
    }

    fn load(&mut self, criterion: &C, samples: &mut [u32]) -> bool {
        let mut total = 0;
        for (weight, &sample) in self.weights.iter_mut().zip(&*samples) {
            let w = criterion.sample_weight(sample);
            total += w;
            *weight = w as i32;
        }
        if total > MAX_WEIGHT {
            return false;
        }
        let log2 = self.log2;
        self.outputs.iter_mut().enumerate().all(|(number, output)| {
            let row = criterion.rows(number);
            output.origin = if C::LOSS == LOGS { 0 } else { row(samples[0]).1 };
            let (mut least, mut most) = (0, 0);
            for (distance, &sample) in output.numbers.iter_mut().zip(&*samples) {
                *distance = row(sample).1 - output.origin;
                least = (*distance).min(least);
                most = (*distance).max(most);
            }
            if let Some(log2) = log2 {
                for (term, &number) in output.terms.iter_mut().zip(&output.numbers[..samples.len()]) {
                    *term = number as u128 * u128::from(log2.log2(number as u64));
                }
            }
            // Neither the shift nor the range is above 61 bits.
            let most_range = if C::LOSS == LOGS { MAX_SUM / total } else { MAX_PRODUCT / (total * total) };
            output.shift <= 61 && u128::from(most.abs_diff(least)) << output.shift <= u128::from(most_range)
        })
    }

    fn enter(&mut self, _criterion: &C, places: &[u8], _samples: &[u32]) {
        for output in &mut self.outputs {
            // The weights are added up anew for each output, which costs less than a loop for them.
            let (mut weight, mut sum, mut squares) = (0, 0, 0);
            for &place in places {
                let place = usize::from(place);
                let (w, q) = (i64::from(self.weights[place]), output.numbers[place]);
                weight += w;
                sum += w * q;
                squares += i128::from(w * q) * i128::from(q);
            }
            self.weight = weight;
            let variance = (i128::from(weight) * squares - i128::from(sum) * i128::from(sum)) as u128;
            let mut terms = 0;
            if C::LOSS == LOGS {
                let rows = places.iter().map(|&place| usize::from(place));
                terms = rows.map(|place| self.weights[place] as u128 * output.terms[place]).sum();
                output.whole = Whole { weight: weight as f64, sum: sum as f64, ..output.whole };
            }
            output.totals = NarrowTotals { weight: weight as u64, origin: output.origin, sum, variance, terms };
        }
    }

    fn weight(&self) -> u64 {
        self.weight as u64
    }

    fn is_pure(&self, _criterion: &C) -> bool {
        self.outputs.iter().all(|output| output.totals.variance == 0)
            || C::LOSS == LOGS && self.outputs.iter().any(|output| output.totals.sum == 0)
    }

    fn impurity(&self, criterion: &C) -> f64 {
        if C::LOSS == LOGS && self.outputs.iter().any(|output| output.totals.sum == 0) {
            return f64::INFINITY;
        }
        // Half of the nodes are leaves of one row.
        if SmallRows::<C>::is_pure(self, criterion) {
            return 0.0;
        }
        let parts =
            self.outputs.iter().enumerate().map(|(number, output)| criterion.narrow_impurity(number, &output.totals));
        parts.sum::<f64>() / self.outputs.len() as f64
    }

    fn write_value(&self, criterion: &C, samples: &[u32], value: &mut [f64]) {
        for (number, (value, output)) in value.iter_mut().zip(&self.outputs).enumerate() {
            *value = criterion.narrow_value(number, samples, &output.totals);
        }
    }

    fn row_weight(&self, place: u8) -> u64 {
        self.weights[usize::from(place)] as u64
    }

    fn row_impurity(&self, place: u8) -> f64 {
        let has_zero = C::LOSS == LOGS && self.outputs.iter().any(|output| output.numbers[usize::from(place)] == 0);
        if has_zero { f64::INFINITY } else { 0.0 }
    }

    fn write_row_value(&self, criterion: &C, _place: u8, sample: u32, value: &mut [f64]) {
        for (number, value) in value.iter_mut().enumerate() {
            *value = criterion.narrow_value(number, &[sample], &NarrowTotals::default());
        }
    }

    fn begin(&mut self, _criterion: &C, places: &[u8], _samples: &[u32], least_weight: f64) {
        self.least = least_weight.ceil() as i32;
        for output in &mut self.outputs {
            let rows = self.row_weights.iter_mut().zip(&mut output.row_excesses);
            let (scale, less) = if C::LOSS == LOGS { (1, 0) } else { (self.weight, output.totals.sum) };
            for ((row_weight, row_excess), &place) in rows.zip(places) {
                let place = usize::from(place);
                *row_weight = self.weights[place];
                *row_excess = i64::from(self.weights[place]) * (scale * output.numbers[place] - less);
            }
        }
    }

    fn score_cuts(
        &mut self,
        _criterion: &C,
        level: Level,
        ranks: &[u32],
        lasts: &[[u32; LANES]],
        scores: &mut [[f64; LANES]],
    ) -> f64 {
        let Self { row_weights, weight, least, lefts, outputs, .. } = self;
        let whole = [*weight as i32, *least];
        // Most nodes have few rows; few rows need half of the divisions.
        let score = match (C::LOSS, ranks.len() <= FEW_ROWS) {
            (LOGS, true) => score_cuts::<BY_RANK_OF_FEW, LOGS>,
            (LOGS, false) => score_cuts::<BY_RANK, LOGS>,
            (_, true) => score_cuts::<BY_RANK_OF_FEW, SQUARES>,
            (_, false) => score_cuts::<BY_RANK, SQUARES>,
        };
        score(level, ranks, row_weights, outputs, lasts, whole, lefts, scores)
    }

    fn score_again(
        &mut self,
        _criterion: &C,
        level: Level,
        ranks: &[u32],
        lasts: &[[u32; LANES]],
        scores: &mut [[f64; LANES]],
    ) -> f64 {
        let Self { row_weights, weight, least, lefts, outputs, .. } = self;
        let (whole, lefts) = ([*weight as i32, *least], &mut lefts[..lasts.len()]);
        let score = match (C::LOSS, ranks.len() <= FEW_ROWS) {
            (LOGS, true) => score_moved::<BY_RANK_OF_FEW, LOGS>,
            (LOGS, false) => score_moved::<BY_RANK, LOGS>,
            (_, true) => score_moved::<BY_RANK_OF_FEW, SQUARES>,
            (_, false) => score_moved::<BY_RANK, SQUARES>,
        };
        score(level, ranks, row_weights, outputs, whole, lefts, scores)
    }

    fn score_subsets(
        &mut self,
        _criterion: &C,
        level: Level,
        units: &[u32],
        lefts: &[u32; LANES],
        scores: &mut [f64; LANES],
    ) -> f64 {
        let Self { row_weights, weight, least, lefts: weights, outputs, .. } = self;
        let whole = [*weight as i32, *least];
        let (all_lefts, all_scores) = (std::slice::from_ref(lefts), std::slice::from_mut(&mut *scores));
        let score = if C::LOSS == LOGS { score_cuts::<BY_UNIT, LOGS> } else { score_cuts::<BY_UNIT, SQUARES> };
        score(level, units, row_weights, outputs, all_lefts, whole, weights, all_scores)
    }

    fn compare_subset_mean(&self, _criterion: &C, units: &[u32], subset: u32) -> Option<Ordering> {
        let OutputNumbers { row_excesses, totals, .. } = &self.outputs[0];
        let (left, excess) = sums_where(units, &self.row_weights, row_excesses, |unit| unit & subset != 0);
        Some(match C::LOSS {
            LOGS => (excess * self.weight).cmp(&(totals.sum * i64::from(left))),
            _ => excess.cmp(&0),
        })
    }

    fn scored_cut(&self, _criterion: &C, i: usize, _ranks: &[u32], _last: u32) -> SmallCut {
        self.cut_of::<C>(self.scored(i))
    }

    fn cut_below(&self, _criterion: &C, ranks: &[u32], end: u32) -> SmallCut {
        self.cut_of::<C>(self.below(ranks, end))
    }

    fn compare_below(&self, _criterion: &C, a: (&[u32], u32), b: (&[u32], u32)) -> Ordering {
        self.exact_of::<C>(self.below(a.0, a.1)).compare(&self.exact_of::<C>(self.below(b.0, b.1)))
    }

    fn subset_cut(&self, _criterion: &C, units: &[u32], subset: u32) -> SmallCut {
        self.cut_of::<C>(self.of_subset(units, subset))
    }

    fn compare_subsets(&self, _criterion: &C, units: &[u32], a: u32, b: u32) -> Ordering {
        self.exact_of::<C>(self.of_subset(units, a)).compare(&self.exact_of::<C>(self.of_subset(units, b)))
    }

    fn cuts_with_missing(&self, _criterion: &C, ranks: &[u32], end: u32, missing: u32) -> [SmallCut; 3] {
        let row_weights = &self.row_weights;
        // For each output, the weights and the excesses on the left.
        let lefts: SmallVec<[_; 1]> = (self.outputs.iter())
            .map(|OutputNumbers { row_excesses, totals, .. }| {
                let (below, excess) = sums_where(ranks, row_weights, row_excesses, |rank| rank < end);
                let (absent, missing) = sums_where(ranks, row_weights, row_excesses, |rank| rank == missing);
                // For squares, the excesses of all rows add up to 0.
                let all = if C::LOSS == LOGS { totals.sum } else { 0 };
                [(below, excess), (self.weight as i32 - absent, all - missing), (below + absent, excess + missing)]
            })
            .collect();
        std::array::from_fn(|cut| self.cut_of::<C>(|number, _| lefts[number][cut]))
    }

    fn add_units(&mut self, _criterion: &C, units: &[u8], n_units: usize) {
        self.unit_weights[..n_units].fill(0);
        for (&unit, row_weight) in units.iter().zip(&self.row_weights) {
            self.unit_weights[usize::from(unit)] += row_weight;
        }
        for OutputNumbers { unit_excesses, row_excesses, .. } in &mut self.outputs {
            unit_excesses[..n_units].fill(0);
            for (&unit, row_excess) in units.iter().zip(row_excesses) {
                unit_excesses[usize::from(unit)] += *row_excess;
            }
        }
    }

    /// An order by the means of each target.
    fn sort_units(&mut self, i: usize, _all_legal: bool, units: &mut [u8]) -> bool {
        let Some(output) = self.outputs.get(i) else { return false };
        let excess = |unit: u8| i128::from(output.unit_excesses[usize::from(unit)]);
        let weight = |unit: u8| i128::from(self.unit_weights[usize::from(unit)]);
        sort_by(units, |a, b| (excess(a) * weight(b)).cmp(&(excess(b) * weight(a))).then(a.cmp(&b)));
        true
    }
}

vectorized! {
    fn score_cuts<const BY: usize, const LOSS: usize>(
        ranks: &[u32],
        row_weights: &[i32],
        outputs: &mut [OutputNumbers],
        lasts: &[[u32; LANES]],
        whole: [i32; 2],
        lefts: &mut [[i32; LANES]],
        scores: &mut [[f64; LANES]],
    ) -> f64 {
        let mut highest = [f64::NEG_INFINITY; LANES];
        let offset = if LOSS == LOGS { offset(outputs) } else { 0.0 };
        let Some((first, others)) = outputs.split_first_mut() else { return f64::NEG_INFINITY };
        for (chunk, ((lasts, lefts), scores)) in lasts.iter().zip(lefts).zip(scores).enumerate() {
            // The weights are added up together with the first output. In lanes without a cut, all
            // rows are on the left.
            let (mut left, mut excess) = ([0; LANES], [0; LANES]);
            left[n_lanes(BY)..].fill(whole[0]);
            for ((&rank, &row_weight), &row_excess) in ranks.iter().zip(row_weights).zip(&first.row_excesses) {
                if is_end(row_weight) {
                    break;
                }
                for lane in 0..n_lanes(BY) {
                    left[lane] += if goes_left::<BY>(rank, lasts[lane]) { row_weight } else { 0 };
                    excess[lane] += if goes_left::<BY>(rank, lasts[lane]) { row_excess } else { 0 };
                }
            }
            *lefts = left;
            first.excesses[chunk] = excess;
            let mut parts = [0.0; LANES];
            for lane in 0..n_lanes(BY) {
                parts[lane] = first.whole.part::<LOSS>(f64::from(left[lane]), excess[lane] as f64);
            }
            for output in &mut *others {
                let mut excess = [0; LANES];
                for ((&rank, &row_weight), &row_excess) in ranks.iter().zip(row_weights).zip(&output.row_excesses) {
                    if is_end(row_weight) {
                        break;
                    }
                    for lane in 0..n_lanes(BY) {
                        excess[lane] += if goes_left::<BY>(rank, lasts[lane]) { row_excess } else { 0 };
                    }
                }
                output.excesses[chunk] = excess;
                for lane in 0..n_lanes(BY) {
                    parts[lane] += output.whole.part::<LOSS>(f64::from(left[lane]), excess[lane] as f64);
                }
            }
            *scores = score::<BY, LOSS>(parts, left, whole, offset);
            highest = higher(highest, scores);
        }
        highest_of(highest)
    }
}

vectorized! {
    /// Scores the cuts that were scored last again, with the rows of rank 0 on the left of all.
    fn score_moved<const BY: usize, const LOSS: usize>(
        ranks: &[u32],
        row_weights: &ByRow<i32>,
        outputs: &mut [OutputNumbers],
        whole: [i32; 2],
        lefts: &mut [[i32; LANES]],
        scores: &mut [[f64; LANES]],
    ) -> f64 {
        let offset = if LOSS == LOGS { offset(outputs) } else { 0.0 };
        for (number, output) in outputs.iter_mut().enumerate() {
            let (weight, excess) = sums_where(ranks, row_weights, &output.row_excesses, |rank| rank == 0);
            for ((excesses, lefts), scores) in output.excesses.iter_mut().zip(&mut *lefts).zip(&mut *scores) {
                for lane in 0..n_lanes(BY) {
                    lefts[lane] += if number == 0 { weight } else { 0 };
                    excesses[lane] += excess;
                    let part = output.whole.part::<LOSS>(f64::from(lefts[lane]), excesses[lane] as f64);
                    // The sums of parts wait in the place of the scores.
                    scores[lane] = part + if number == 0 { 0.0 } else { scores[lane] };
                }
            }
        }
        let mut highest = [f64::NEG_INFINITY; LANES];
        for (lefts, scores) in lefts.iter_mut().zip(scores) {
            *scores = score::<BY, LOSS>(*scores, *lefts, whole, offset);
            highest = higher(highest, scores);
        }
        highest_of(highest)
    }
}

/// The scores of cuts, given the sums of their parts and the weights on their left.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
fn score<const BY: usize, const LOSS: usize>(
    parts: [f64; LANES],
    left: [i32; LANES],
    [node_weight, least]: [i32; 2],
    offset: f64,
) -> [f64; LANES] {
    let mut scores = [f64::NEG_INFINITY; LANES];
    for lane in 0..n_lanes(BY) {
        let score = if LOSS == LOGS {
            parts[lane] + offset
        } else {
            parts[lane] / f64::from(left[lane] * (node_weight - left[lane]))
        };
        let is_legal = least <= left[lane] && left[lane] <= node_weight - least;
        scores[lane] = if is_legal { score } else { f64::NEG_INFINITY };
    }
    scores
}

/// The weight and the excess of rows of certain ranks.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
fn sums_where(
    ranks: &[u32],
    row_weights: &ByRow<i32>,
    row_excesses: &ByRow<i64>,
    is_summed: impl Fn(u32) -> bool,
) -> (i32, i64) {
    let (mut weight, mut excess) = (0, 0);
    for ((&rank, &row_weight), &row_excess) in ranks.iter().zip(row_weights).zip(row_excesses) {
        // Without branches on ranks, which would be mispredicted.
        weight += row_weight & -i32::from(is_summed(rank));
        excess += row_excess & -i64::from(is_summed(rank));
    }
    (weight, excess)
}
