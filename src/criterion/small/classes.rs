//! Gini impurity of the classes of one output in small subtrees; see `criterion::gini`.
//!
//! The classes of the subtree's rows are numbered among themselves. The rows of the subtree, and so the rows
//! of each node, are in the order of their classes. So they are searched class by class, and the sums of one
//! class at all cuts stay in registers.

use std::cmp::Ordering;

use smallvec::SmallVec;

use super::{
    BY_RANK, BY_UNIT, ByRow, ExactScore, LANES, MAX_ROWS, MAX_WEIGHT, SmallCut, SmallRows, goes_left, higher,
    highest_of, is_end,
};
use crate::criterion::classes::{ClassCriterion, Measure};
use crate::criterion::component::ClassWeights;
use crate::criterion::weights::SampleWeights;
use crate::simd::{Level, vectorized};

/// The rows of a small subtree.
pub struct SmallClasses {
    /// By place: the weight of the row, and the number of its class.
    weights: ByRow<i32>,
    classes: ByRow<u8>,
    /// The slot of each class of the rows, ascending.
    slots: SmallVec<[u32; 8]>,
    /// The node's weight, and the weight of each class.
    weight: i32,
    counts: ByRow<i32>,
    /// The weights of the node's rows, class by class.
    grouped: ByRow<i32>,
    /// The groups that are not empty: the end of the group, and the weight of its class.
    groups: SmallVec<[(u16, i32); 8]>,
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
        sums.map(|(left, inside, outside)| OrderedSum {
            left,
            numerator: numerator(self.weight, left, inside, outside),
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

    fn counts(&self) -> &[i32] {
        &self.counts[..self.slots.len()]
    }
}

impl<W: SampleWeights, M: Measure> SmallRows<ClassCriterion<'_, W, M>> for SmallClasses {
    fn new(criterion: &ClassCriterion<'_, W, M>) -> Option<Self> {
        // Targets of two classes have another criterion, and other orders of categories.
        let is_there = W::ARE_SMALL && M::IS_SQUARED_DISTANCE && criterion.n_outputs == 1 && criterion.n_slots() != 2;
        is_there.then(|| Self {
            weights: [0; MAX_ROWS],
            classes: [0; MAX_ROWS],
            slots: SmallVec::new(),
            weight: 0,
            counts: [0; MAX_ROWS],
            grouped: [0; MAX_ROWS],
            groups: SmallVec::new(),
            least: 1,
            cuts: [Sums { left: [0; LANES], numerator: [0; LANES] }; MAX_ROWS / LANES],
            n_units: 0,
            unit_weights: [0; MAX_ROWS],
            unit_counts: Vec::new(),
            unit_classes: ClassWeights::default(),
        })
    }

    fn load(&mut self, criterion: &ClassCriterion<'_, W, M>, samples: &mut [u32]) -> bool {
        let slot = |sample: u32| criterion.classes.slots[sample as usize];
        // The class above the row, in one integer.
        let key = |&sample: &u32| u64::from(slot(sample)) << u32::BITS | u64::from(sample);
        let mut sorted: SmallVec<[u64; 128]> = samples.iter().map(key).collect();
        sorted.sort_unstable();
        samples.iter_mut().zip(&sorted).for_each(|(sample, &key)| *sample = key as u32);
        self.slots.clear();
        let mut total = 0;
        for ((weight, class), &sample) in self.weights.iter_mut().zip(&mut self.classes).zip(&*samples) {
            let (w, slot) = (criterion.weights.weight(sample), slot(sample));
            if self.slots.last() != Some(&slot) {
                self.slots.push(slot);
            }
            total += w;
            *weight = w as i32;
            *class = (self.slots.len() - 1) as u8;
        }
        total <= MAX_WEIGHT
    }

    fn enter(&mut self, _criterion: &ClassCriterion<'_, W, M>, places: &[u8], _samples: &[u32]) {
        self.counts[..self.slots.len()].fill(0);
        self.weight = 0;
        for &place in places {
            let place = usize::from(place);
            self.counts[usize::from(self.classes[place])] += self.weights[place];
            self.weight += self.weights[place];
        }
    }

    fn weight(&self) -> u64 {
        self.weight as u64
    }

    fn is_pure(&self, _criterion: &ClassCriterion<'_, W, M>) -> bool {
        self.counts().contains(&self.weight)
    }

    fn impurity(&self, criterion: &ClassCriterion<'_, W, M>) -> f64 {
        criterion.impurity_of(self.counts().iter().map(|&count| count as u64), self.weight as u64)
    }

    fn write_value(&self, _criterion: &ClassCriterion<'_, W, M>, _samples: &[u32], value: &mut [f64]) {
        value.fill(0.0);
        for (&slot, &count) in self.slots.iter().zip(self.counts()) {
            value[slot as usize] = f64::from(count) / f64::from(self.weight);
        }
    }

    fn row_weight(&self, place: u8) -> u64 {
        self.weights[usize::from(place)] as u64
    }

    fn write_row_value(&self, _criterion: &ClassCriterion<'_, W, M>, place: u8, _sample: u32, value: &mut [f64]) {
        value.fill(0.0);
        value[self.slots[usize::from(self.classes[usize::from(place)])] as usize] = 1.0;
    }

    fn begin(&mut self, _criterion: &ClassCriterion<'_, W, M>, places: &[u8], _samples: &[u32], least_weight: f64) {
        self.least = least_weight.ceil() as i32;
        self.groups.clear();
        let mut last = None;
        for (end, (&place, weight)) in (1..).zip(places.iter().zip(&mut self.grouped)) {
            let class = self.classes[usize::from(place)];
            *weight = self.weights[usize::from(place)];
            if last != Some(class) {
                last = Some(class);
                self.groups.push((end, self.counts[usize::from(class)]));
            } else if let Some((group_end, _)) = self.groups.last_mut() {
                *group_end = end;
            }
        }
    }

    /// Two classes cannot be parted better than completely.
    fn most_score(&self) -> f64 {
        if self.groups.len() == 2 { self.weight.into() } else { f64::INFINITY }
    }

    fn score_cuts(
        &mut self,
        _criterion: &ClassCriterion<'_, W, M>,
        level: Level,
        ranks: &[u32],
        lasts: &[[u32; LANES]],
        scores: &mut [[f64; LANES]],
    ) -> f64 {
        let Self { grouped, groups, weight, least, cuts, .. } = self;
        let whole = [*weight, *least];
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

    /// Scores are at most the weight of the node, and as quotients whose denominators are below 2^18, they
    /// differ by at least 2^-36: relatively by 2^-46.
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
        let Self { grouped, groups, weight, least, cuts, .. } = self;
        let whole = [*weight, *least];
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
            units.sort_unstable_by(|&a, &b| product(a, b).cmp(&product(b, a)).then(a.cmp(&b)));
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
        units.sort_unstable_by(|&a, &b| coordinate(a).total_cmp(&coordinate(b)).then(a.cmp(&b)));
        true
    }
}

/// The numerator of the score of a cut, from the weights of the node and of the left, and the sums
/// of squared class weights of either side. It is at most the product of the weights of the node
/// and of both sides, so below 2^28.
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
        whole: [i32; 2],
        cuts: &mut [Sums],
        scores: &mut [[f64; LANES]],
    ) -> f64 {
        // The weight of the node, and the least of a child.
        let [node_weight, least] = whole;
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
