//! Gini impurity of classes in small subtrees; see `criterion::gini`.
//!
//! The classes of the subtree's rows are numbered among themselves. The rows of the subtree, and so
//! the rows of each node, are in the order of their classes: so they are searched class by class, and the
//! sums of one class at all cuts stay in registers. For each further output the rows of a node are listed
//! once more, in the order of its classes, and the squares are added up over all lists.

use std::cmp::Ordering;
use std::ops::Range;

use smallvec::SmallVec;

use super::{
    BY_RANK, BY_UNIT, ByRow, ExactScore, LANES, MAX_ROWS, MAX_WEIGHT, SmallCut, SmallRows, goes_left, higher,
    highest_of, is_end,
};
use crate::criterion::classes::{ClassCriterion, Measure};
use crate::criterion::component::ClassWeights;
use crate::criterion::statistics::Statistics;
use crate::criterion::weights::SampleWeights;
use crate::num::sort_by;
use crate::simd::{Level, vectorized};

/// Numerators of scores are at most the number of outputs times a fourth of the third power of the weight,
/// which must be below 2^31.
const MOST_OUTPUTS: usize = 8;
const _: () = assert!(MOST_OUTPUTS as u64 * MAX_WEIGHT.pow(3) / 4 < 1 << 31);

/// The rows of a small subtree.
pub struct SmallClasses {
    /// The weight of the row of each place.
    weights: ByRow<i32>,
    /// The number of the class of each place's row, of the first output and of all others.
    first: ByRow<u8>,
    others: Vec<ByRow<u16>>,
    /// Where the share of each class of the rows stands in the value of a node. The classes of an output
    /// ascend.
    shares: SmallVec<[u32; 8]>,
    /// The end of the classes of each output.
    ends: SmallVec<[usize; 4]>,
    /// The node's weight, and the weight of each class.
    weight: i32,
    counts: Vec<i32>,
    /// The weights of the node's rows, class by class; output after output.
    grouped: Vec<i32>,
    /// The groups that are not empty: the end of the group, and the weight of its class.
    groups: SmallVec<[(u16, i32); 8]>,
    /// See [`weight_of_rows`].
    per_output: i32,
    /// The most groups that an output has.
    most_groups: usize,
    /// The rows of the node in the order of the classes of the second output, then of the third, and so on.
    orders: Vec<u8>,
    /// The least weight that a child may have.
    least: i32,
    /// The sums of the cuts that were scored last, in lanes.
    cuts: [Sums; MAX_ROWS / LANES],
    /// Units of categories: their number, their weights, and group by group their weights in it.
    n_units: usize,
    unit_weights: ByRow<i32>,
    unit_counts: Vec<i32>,
    unit_classes: ClassWeights,
}

/// Some cuts side by side: the weight on the left, and the numerator of the score.
#[derive(Clone, Copy)]
struct Sums {
    left: [i32; LANES],
    numerator: [i32; LANES],
}

/// One cut of [`Sums`].
#[derive(Clone, Copy)]
struct OrderedSum {
    left: i32,
    numerator: i32,
}

impl SmallClasses {
    /// The sums of some cuts. `lefts(ranks, weights, all)` returns, for each cut, the weight of the rows of
    /// one class that go left; all rows of this class weigh `all`.
    #[inline]
    fn sums<const N: usize>(&self, ranks: &[u32], lefts: impl Fn(&[u32], &[i32], i32) -> [i32; N]) -> [OrderedSum; N] {
        let mut listed = SmallVec::new();
        let ranks = list(&self.orders, ranks, &mut listed);
        let mut sums = [(0, 0, 0); N];
        let mut start = 0;
        for &(group_end, count) in &self.groups {
            let rows = start..usize::from(group_end);
            start = rows.end;
            let lefts = lefts(&ranks[rows.clone()], &self.grouped[rows], count);
            for ((weight, inside, outside), left) in sums.iter_mut().zip(lefts) {
                *weight += left;
                *inside += left * left;
                *outside += (count - left) * (count - left);
            }
        }
        sums.map(|(weight, inside, outside)| {
            let left = weight_of_rows(weight, self.per_output);
            OrderedSum { left, numerator: numerator(self.weight, left, inside, outside) }
        })
    }

    /// The sum of the cut that sends rows of a rank below `end` left.
    #[inline]
    fn sum_below(&self, ranks: &[u32], end: u32) -> OrderedSum {
        let [sum] = self.sums(ranks, |ranks, weights, _| {
            [ranks.iter().zip(weights).map(|(&rank, &w)| w & -i32::from(rank < end)).sum()]
        });
        sum
    }

    fn sum_of_subset(&self, units: &[u32], subset: u32) -> OrderedSum {
        let [sum] = self.sums(units, |units, weights, _| {
            [units.iter().zip(weights).map(|(&unit, &w)| w & -i32::from(unit & subset != 0)).sum()]
        });
        sum
    }

    /// The sum of the `i`-th of the cuts that were scored last.
    fn sum(&self, i: usize) -> OrderedSum {
        let Sums { left, numerator } = &self.cuts[i / LANES];
        OrderedSum { left: left[i % LANES], numerator: numerator[i % LANES] }
    }

    fn cut_of(&self, sum: OrderedSum) -> SmallCut {
        let denominator = sum.left * (self.weight - sum.left);
        SmallCut { score: f64::from(sum.numerator) / f64::from(denominator), weight: sum.left as u64 }
    }

    fn exact_of(&self, sum: OrderedSum) -> ExactScore {
        let denominator = sum.left * (self.weight - sum.left);
        ExactScore { numerator: sum.numerator as u128, denominator: denominator as u32 }
    }
}

/// Numbers the class of a slot, whose share stands `moved` places after the slot in the value of a node, if
/// it is not that of the row before.
#[inline]
fn number_class(slot: u32, moved: u32, last: &mut Option<u32>, shares: &mut SmallVec<[u32; 8]>) {
    if *last != Some(slot) {
        *last = Some(slot);
        shares.push(slot + moved);
    }
}

/// Sets `grouped` to the weights of the rows of these places, which are in the order of their classes, and
/// appends the groups that the classes make; the first one begins at `start`. Returns their number.
#[inline]
fn group<T: Copy + PartialEq + Into<usize>>(
    classes: &ByRow<T>,
    places: &[u8],
    weights: &ByRow<i32>,
    counts: &[i32],
    start: usize,
    grouped: &mut [i32],
    groups: &mut SmallVec<[(u16, i32); 8]>,
) -> usize {
    let (mut last, before) = (None, groups.len());
    for (end, (&place, weight)) in (start as u16 + 1..).zip(places.iter().zip(grouped)) {
        let class = classes[usize::from(place)];
        *weight = weights[usize::from(place)];
        if last != Some(class) {
            last = Some(class);
            groups.push((end, counts[class.into()]));
        } else if let Some((group_end, _)) = groups.last_mut() {
            *group_end = end;
        }
    }
    groups.len() - before
}

/// The ranks of a node's rows, and once more in each of some orders, which are listed in `listed`.
fn list<'a>(orders: &[u8], ranks: &'a [u32], listed: &'a mut SmallVec<[u32; 128]>) -> &'a [u32] {
    if orders.is_empty() {
        return ranks;
    }
    listed.extend_from_slice(ranks);
    listed.extend(orders.iter().map(|&row| ranks[usize::from(row)]));
    listed
}

impl<W: SampleWeights, M: Measure> SmallRows<ClassCriterion<'_, W, M>> for SmallClasses {
    fn new(criterion: &ClassCriterion<'_, W, M>) -> Option<Self> {
        // One output of two classes has another criterion, and other orders of categories.
        let is_ours = criterion.n_slots() != 2 && criterion.n_outputs <= MOST_OUTPUTS;
        (W::ARE_SMALL && criterion.measure.is_squared_distance() && is_ours).then(|| Self {
            weights: [0; MAX_ROWS],
            first: [0; MAX_ROWS],
            others: vec![[0; MAX_ROWS]; criterion.n_outputs - 1],
            shares: SmallVec::new(),
            ends: SmallVec::new(),
            weight: 0,
            counts: Vec::new(),
            grouped: vec![0; MAX_ROWS * criterion.n_outputs],
            groups: SmallVec::new(),
            per_output: ((1 << OUTPUT_BITS) as u64).div_ceil(criterion.n_outputs as u64) as i32,
            most_groups: 0,
            orders: Vec::new(),
            least: 1,
            cuts: [Sums { left: [0; LANES], numerator: [0; LANES] }; MAX_ROWS / LANES],
            n_units: 0,
            unit_weights: [0; MAX_ROWS],
            unit_counts: Vec::new(),
            unit_classes: ClassWeights::default(),
        })
    }

    /// Several outputs have many orders of categories.
    fn has_categories(&self) -> bool {
        self.others.is_empty()
    }

    fn load(&mut self, criterion: &ClassCriterion<'_, W, M>, samples: &mut [u32]) -> bool {
        let Self { weights, first, others, shares, ends, counts, .. } = self;
        // The class above the sample, or above its place, in one integer.
        let key = |slot: u32, row: u32| u64::from(slot) << u32::BITS | u64::from(row);
        let mut sorted: SmallVec<[u64; 128]> =
            samples.iter().map(|&sample| key(criterion.slots(sample)[0], sample)).collect();
        sorted.sort_unstable();
        shares.clear();
        ends.clear();
        let (mut total, mut last) = (0, None);
        for (place, (&key, sample)) in sorted.iter().zip(&mut *samples).enumerate() {
            *sample = key as u32;
            number_class((key >> u32::BITS) as u32, 0, &mut last, shares);
            first[place] = (shares.len() - 1) as u8;
            let w = criterion.weights.weight(*sample);
            total += w;
            weights[place] = w as i32;
        }
        ends.push(shares.len());
        let width = (criterion.n_values() / criterion.n_outputs) as u32;
        for (output, classes) in (1..).zip(others) {
            let slot = |&sample: &u32| criterion.slots(sample)[output as usize];
            sorted.clear();
            sorted.extend((0..).zip(&*samples).map(|(place, sample)| key(slot(sample), place)));
            sorted.sort_unstable();
            let (moved, mut last) = (output * width - criterion.classes.first[output as usize], None);
            for &key in &sorted {
                number_class((key >> u32::BITS) as u32, moved, &mut last, shares);
                classes[key as u32 as usize] = (shares.len() - 1) as u16;
            }
            ends.push(shares.len());
        }
        counts.resize(shares.len(), 0);
        total <= MAX_WEIGHT
    }

    fn enter(&mut self, _criterion: &ClassCriterion<'_, W, M>, places: &[u8], _samples: &[u32]) {
        let Self { weights, first, others, counts, .. } = self;
        counts.fill(0);
        self.weight = 0;
        for &place in places {
            let place = usize::from(place);
            counts[usize::from(first[place])] += weights[place];
            self.weight += weights[place];
        }
        for classes in others {
            for &place in places {
                let place = usize::from(place);
                counts[usize::from(classes[place])] += weights[place];
            }
        }
    }

    fn weight(&self) -> u64 {
        self.weight as u64
    }

    fn is_pure(&self, _criterion: &ClassCriterion<'_, W, M>) -> bool {
        let is_pure = |classes: Range<usize>| self.counts[classes].contains(&self.weight);
        is_pure(0..self.ends[0]) && self.ends.windows(2).all(|ends| is_pure(ends[0]..ends[1]))
    }

    fn impurity(&self, criterion: &ClassCriterion<'_, W, M>) -> f64 {
        criterion.impurity_of(self.counts.iter().map(|&count| count as u64), self.weight as u64)
    }

    fn write_value(&self, _criterion: &ClassCriterion<'_, W, M>, _samples: &[u32], value: &mut [f64]) {
        value.fill(0.0);
        for (&share, &count) in self.shares.iter().zip(&self.counts) {
            value[share as usize] = f64::from(count) / f64::from(self.weight);
        }
    }

    fn row_weight(&self, place: u8) -> u64 {
        self.weights[usize::from(place)] as u64
    }

    fn write_row_value(&self, _criterion: &ClassCriterion<'_, W, M>, place: u8, _sample: u32, value: &mut [f64]) {
        value.fill(0.0);
        let place = usize::from(place);
        value[self.shares[usize::from(self.first[place])] as usize] = 1.0;
        for classes in &self.others {
            value[self.shares[usize::from(classes[place])] as usize] = 1.0;
        }
    }

    fn begin(&mut self, _criterion: &ClassCriterion<'_, W, M>, places: &[u8], _samples: &[u32], least_weight: f64) {
        let Self { weights, first, others, counts, grouped, groups, orders, .. } = self;
        self.least = least_weight.ceil() as i32;
        groups.clear();
        orders.clear();
        let n = places.len();
        self.most_groups = group(first, places, weights, counts, 0, &mut grouped[..n], groups);
        for (classes, start) in others.iter().zip((n..).step_by(n)) {
            // The class above the row, in one integer.
            let key = |(row, &place): (u32, &u8)| u32::from(classes[usize::from(place)]) << 8 | row;
            let mut sorted: SmallVec<[u32; 64]> = (0..).zip(places).map(key).collect();
            sorted.sort_unstable();
            orders.extend(sorted.iter().map(|&key| key as u8));
            let places: SmallVec<[u8; 64]> = sorted.iter().map(|&key| places[usize::from(key as u8)]).collect();
            let n_groups = group(classes, &places, weights, counts, start, &mut grouped[start..start + n], groups);
            self.most_groups = self.most_groups.max(n_groups);
        }
    }

    /// Two classes cannot be parted better than completely.
    fn most_score(&self) -> f64 {
        if self.most_groups == 2 { f64::from(self.weight) * self.ends.len() as f64 } else { f64::INFINITY }
    }

    fn score_cuts(
        &mut self,
        _criterion: &ClassCriterion<'_, W, M>,
        level: Level,
        ranks: &[u32],
        lasts: &[[u32; LANES]],
        scores: &mut [[f64; LANES]],
    ) -> f64 {
        let Self { grouped, groups, orders, weight, least, per_output, cuts, .. } = self;
        let whole = [*weight, *least, *per_output];
        let mut listed = SmallVec::new();
        let ranks = list(orders, ranks, &mut listed);
        score_cuts::<BY_RANK>(level, ranks, grouped, groups, lasts, whole, cuts, scores)
    }

    /// Squares do not add up, so the rows are added up anew.
    fn score_again(
        &mut self,
        criterion: &ClassCriterion<'_, W, M>,
        level: Level,
        ranks: &[u32],
        lasts: &[[u32; LANES]],
        scores: &mut [[f64; LANES]],
    ) -> f64 {
        SmallRows::<ClassCriterion<'_, W, M>>::score_cuts(self, criterion, level, ranks, lasts, scores)
    }

    /// Scores are at most the weight of the node times the outputs, and as quotients whose denominators are
    /// below 2^18, they differ by at least 2^-36: relatively by 2^-49.
    fn are_scores_exact(&self) -> bool {
        true
    }

    fn score_subsets(
        &mut self,
        _criterion: &ClassCriterion<'_, W, M>,
        level: Level,
        units: &[u32],
        lefts: &[u32; LANES],
        scores: &mut [f64; LANES],
    ) -> f64 {
        let Self { grouped, groups, weight, least, per_output, cuts, .. } = self;
        let whole = [*weight, *least, *per_output];
        let (all_lefts, all_scores) = (std::slice::from_ref(lefts), std::slice::from_mut(&mut *scores));
        score_cuts::<BY_UNIT>(level, units, grouped, groups, all_lefts, whole, cuts, all_scores)
    }

    fn scored_cut(&self, _criterion: &ClassCriterion<'_, W, M>, i: usize, _ranks: &[u32], _last: u32) -> SmallCut {
        self.cut_of(self.sum(i))
    }

    fn cut_below(&self, _criterion: &ClassCriterion<'_, W, M>, ranks: &[u32], end: u32) -> SmallCut {
        self.cut_of(self.sum_below(ranks, end))
    }

    fn compare_below(&self, _criterion: &ClassCriterion<'_, W, M>, a: (&[u32], u32), b: (&[u32], u32)) -> Ordering {
        self.exact_of(self.sum_below(a.0, a.1)).compare(&self.exact_of(self.sum_below(b.0, b.1)))
    }

    fn subset_cut(&self, _criterion: &ClassCriterion<'_, W, M>, units: &[u32], subset: u32) -> SmallCut {
        self.cut_of(self.sum_of_subset(units, subset))
    }

    fn compare_subsets(&self, _criterion: &ClassCriterion<'_, W, M>, units: &[u32], a: u32, b: u32) -> Ordering {
        self.exact_of(self.sum_of_subset(units, a)).compare(&self.exact_of(self.sum_of_subset(units, b)))
    }

    fn cuts_with_missing(
        &self,
        _criterion: &ClassCriterion<'_, W, M>,
        ranks: &[u32],
        end: u32,
        missing: u32,
    ) -> [SmallCut; 3] {
        let sums = self.sums(ranks, |ranks, weights, all| {
            let (mut below, mut absent) = (0, 0);
            for (&rank, &w) in ranks.iter().zip(weights) {
                below += w & -i32::from(rank < end);
                absent += w & -i32::from(rank == missing);
            }
            [below, all - absent, below + absent]
        });
        sums.map(|sum| self.cut_of(sum))
    }

    fn add_units(&mut self, _criterion: &ClassCriterion<'_, W, M>, units: &[u8], n_units: usize) {
        let Self { unit_weights, unit_counts, .. } = self;
        self.n_units = n_units;
        unit_weights[..n_units].fill(0);
        unit_counts.clear();
        unit_counts.resize(self.groups.len() * n_units, 0);
        let mut start = 0;
        for (&(end, _), counts) in self.groups.iter().zip(unit_counts.chunks_exact_mut(n_units)) {
            let rows = start..usize::from(end);
            start = rows.end;
            for (&unit, &weight) in units[rows.clone()].iter().zip(&self.grouped[rows]) {
                counts[usize::from(unit)] += weight;
                unit_weights[usize::from(unit)] += weight;
            }
        }
    }

    /// The score if each unit were a side of its own: sides that are united score no more.
    fn most_score_of_units(&self) -> f64 {
        let mut squares = [0; MAX_ROWS];
        for counts in self.unit_counts.chunks_exact(self.n_units) {
            squares.iter_mut().zip(counts).for_each(|(square, &count)| *square += count * count);
        }
        squares.iter().zip(&self.unit_weights[..self.n_units]).map(|(&s, &w)| f64::from(s) / f64::from(w)).sum()
    }

    /// An order by the shares of each class that the node has, and one by the first principal component. If
    /// the node has two classes, the order by the second class is the order by the first one backwards, up to
    /// units of equal shares. The score of a cut is convex in the weight that is moved from one side to the
    /// other, so that a cut among such units scores no more than the better one of the cuts beside them all,
    /// if these are legal.
    fn sort_units(&mut self, i: usize, all_legal: bool, units: &mut [u8]) -> bool {
        let Self { n_units, unit_weights, unit_counts, unit_classes, groups, .. } = self;
        let n_orders = if groups.len() == 2 && all_legal { 1 } else { groups.len() };
        let counts = |group: usize| &unit_counts[group * *n_units..][..*n_units];
        if i < n_orders {
            let counts = counts(i);
            let product = |a: u8, b: u8| counts[usize::from(a)] * unit_weights[usize::from(b)];
            sort_by(units, |a, b| product(a, b).cmp(&product(b, a)).then(a.cmp(&b)));
            return true;
        }
        if i > n_orders || groups.len() <= 2 {
            return false;
        }
        unit_classes.clear();
        for group in 0..groups.len() {
            unit_classes.push_class(counts(group).iter().map(|&count| f64::from(count)));
        }
        let coordinates = unit_classes.component(*n_units);
        let coordinate = |unit: u8| coordinates[usize::from(unit)];
        sort_by(units, |a, b| coordinate(a).total_cmp(&coordinate(b)).then(a.cmp(&b)));
        true
    }
}

/// The fractional bits of [`weight_of_rows`]'s factor.
const OUTPUT_BITS: u32 = 16;
const _: () = assert!(MAX_WEIGHT * (MOST_OUTPUTS as u64) < 1 << OUTPUT_BITS);

/// The weight of rows, from the sum over all outputs: each row is listed once for each of them. The factor
/// `per_output` is one over the number of outputs, rounded up: by too little to matter.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
fn weight_of_rows(sum: i32, per_output: i32) -> i32 {
    (sum * per_output) >> OUTPUT_BITS
}

/// The numerator of the score of a cut, from the weights of the node and of the left, and the sums
/// of squared class weights of either side. It is at most the product of the weights of the node
/// and of both sides and the number of outputs, see [`MOST_OUTPUTS`].
#[inline(always)]
#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
fn numerator(node: i32, left: i32, inside: i32, outside: i32) -> i32 {
    inside * (node - left) + outside * left
}

vectorized! {
    fn score_cuts<const BY: usize>(
        ranks: &[u32],
        weights: &[i32],
        groups: &[(u16, i32)],
        lasts: &[[u32; LANES]],
        whole: [i32; 3],
        cuts: &mut [Sums],
        scores: &mut [[f64; LANES]],
    ) -> f64 {
        // The weight of the node, and the least of a child.
        let [node_weight, least, per_output] = whole;
        let mut highest = [f64::NEG_INFINITY; LANES];
        for ((lasts, cut), scores) in lasts.iter().zip(cuts).zip(scores) {
            let (mut left, mut inside, mut outside) = ([0; LANES], [0; LANES], [0; LANES]);
            let mut start = 0;
            for &(end, count) in groups {
                let rows = start..usize::from(end);
                start = rows.end;
                let mut sum = [0; LANES];
                for (&rank, &weight) in ranks[rows.clone()].iter().zip(&weights[rows]) {
                    if is_end(weight) {
                        break;
                    }
                    for lane in 0..LANES {
                        sum[lane] += if goes_left::<BY>(rank, lasts[lane]) { weight } else { 0 };
                    }
                }
                for lane in 0..LANES {
                    left[lane] += sum[lane];
                    inside[lane] += sum[lane] * sum[lane];
                    outside[lane] += (count - sum[lane]) * (count - sum[lane]);
                }
            }
            // Not lane by lane in the loop below: the compiler would take the lanes apart, in the loop over
            // rows, too (`benches/notes/criteria.md`).
            let left = left.map(|sum| weight_of_rows(sum, per_output));
            cut.left = left;
            for lane in 0..LANES {
                let numerator = numerator(node_weight, left[lane], inside[lane], outside[lane]);
                cut.numerator[lane] = numerator;
                let score = f64::from(numerator) / f64::from(left[lane] * (node_weight - left[lane]));
                let is_legal = least <= left[lane] && left[lane] <= node_weight - least;
                scores[lane] = if is_legal { score } else { f64::NEG_INFINITY };
            }
            highest = higher(highest, scores);
        }
        highest_of(highest)
    }
}
