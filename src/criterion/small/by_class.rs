//! Rows that have one of several classes in each output, in lanes: the rows of each class are added up apart.
//!
//! Weights are doubles, and their sums exact. Scores are rounded.

use smallvec::{SmallVec, smallvec};

use super::filter::Rough;
use super::kernel::{Lanes, Precision};
use super::{BY_RANK, BY_UNIT, ByColumn, ByRow, FEW_ROWS, LANES, MAX_ROWS, goes_left, higher, highest_of};
use crate::criterion::classes::{ClassCriterion, ClassTotals, Measure, Terms, TermsVisitor};
use crate::criterion::gini::SquareTerms;
use crate::criterion::statistics::Statistics;
use crate::criterion::weights::SampleWeights;
use crate::num::sort_by_key;
use crate::simd::{Level, vectorized};

/// The most outputs that are served.
const MAX_OUTPUTS: usize = 8;

/// The rows of a node, class by class.
pub struct ByClass {
    /// The weights of the rows.
    weights: ByRow<f64>,
    outputs: Vec<OutputRows>,
    whole: NodeWeights,
    loops: Loops,
}

/// The rows in the order of their classes of one output.
struct OutputRows {
    rows: ByRow<u8>,
    /// For each class that the node has: the end of its rows, and their weight.
    groups: Vec<(u16, f64)>,
}

/// The weight of the node, and the least weight of a child.
#[derive(Clone, Copy, Default)]
struct NodeWeights {
    weight: f64,
    least: f64,
}

/// The loops over the rows of a node, compiled for the terms of a measure.
#[derive(Clone, Copy)]
struct Loops {
    /// [`score_cuts`] by ranks, by ranks of at most [`FEW_ROWS`] cuts, and by units.
    by_rank: ScoreCuts,
    by_rank_of_few: ScoreCuts,
    by_unit: ScoreCuts,
    /// [`scores_of`] one cut.
    of_one: ScoresOfOne,
}

type ScoresOfOne = fn(&[u32], &[f64], &[OutputRows], NodeWeights, &[u32; 1]) -> [f64; 1];
type ScoreCuts = fn(Level, &[u32], &[f64], &[OutputRows], NodeWeights, &[u32], &mut [f64]) -> f64;

/// Makes the [`Loops`] of a measure.
struct LoopsOf;

impl TermsVisitor for LoopsOf {
    type Output = Loops;

    fn visit<T: Terms>(self) -> Loops {
        Loops {
            by_rank: score_cuts::<T, BY_RANK, LANES>,
            by_rank_of_few: score_cuts::<T, BY_RANK, FEW_ROWS>,
            by_unit: score_cuts::<T, BY_UNIT, LANES>,
            of_one: scores_of::<T, BY_RANK, 1>,
        }
    }
}

/// Scores of cuts: minus infinity if a child weighs too little.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a part of loops that are compiled for each vector width")]
fn scores_of<T: Terms, const BY: usize, const N: usize>(
    ranks: &[u32],
    weights: &[f64],
    outputs: &[OutputRows],
    whole: NodeWeights,
    lasts: &[u32; N],
) -> [f64; N] {
    let mut left = [0.0; N];
    let mut terms = [[0.0; N]; 2];
    for (number, output) in outputs.iter().enumerate() {
        let mut start = 0;
        for &(end, weight_of_class) in &output.groups {
            let rows = start..usize::from(end);
            start = rows.end;
            let mut own = [0.0; N];
            for &row in &output.rows[rows] {
                let (rank, weight) = (ranks[usize::from(row)], weights[usize::from(row)]);
                // See `is_end`: no row weighs nothing.
                if weight == 0.0 {
                    break;
                }
                for lane in 0..N {
                    // -0 changes no sum: a choice of 0 cannot be made an addition under a mask.
                    own[lane] += if goes_left::<BY>(rank, lasts[lane]) { weight } else { -0.0 };
                }
            }
            for lane in 0..N {
                left[lane] += if number == 0 { own[lane] } else { -0.0 };
                let [first, second] = T::class_terms(own[lane], weight_of_class - own[lane]);
                terms[0][lane] += first;
                terms[1][lane] += second;
            }
        }
    }
    let mut scores = [0.0; N];
    for lane in 0..N {
        let sides = [left[lane], whole.weight - left[lane]];
        let score = T::score_of_terms([terms[0][lane], terms[1][lane]], sides, outputs.len() as f64);
        let is_legal = whole.least <= sides[0] && whole.least <= sides[1];
        scores[lane] = if is_legal { score } else { f64::NEG_INFINITY };
    }
    scores
}

vectorized! {
    fn score_cuts<T: Terms, const BY: usize, const N: usize>(
        ranks: &[u32],
        weights: &[f64],
        outputs: &[OutputRows],
        whole: NodeWeights,
        lasts: &[u32],
        scores: &mut [f64],
    ) -> f64 {
        let mut highest = [f64::NEG_INFINITY; N];
        for (lasts, scores) in lasts.as_chunks::<N>().0.iter().zip(scores.as_chunks_mut::<N>().0) {
            *scores = scores_of::<T, BY, N>(ranks, weights, outputs, whole, lasts);
            highest = higher(highest, scores);
        }
        highest_of(highest)
    }
}

impl Lanes for ByClass {
    fn new() -> Self {
        // Each node sets the loops of its measure.
        let loops = LoopsOf.visit::<SquareTerms>();
        Self { weights: [0.0; MAX_ROWS], outputs: Vec::new(), whole: NodeWeights::default(), loops }
    }

    fn begin(&mut self, weight: u64, least: f64) {
        self.whole = NodeWeights { weight: weight as f64, least };
    }

    fn score_cuts<const BY: usize, const N: usize>(
        &mut self,
        level: Level,
        ranks: &[u32],
        lasts: &[u32],
        scores: &mut [f64],
    ) -> f64 {
        let Self { weights, outputs, whole, loops } = self;
        let run = match (BY, N) {
            (BY_UNIT, _) => loops.by_unit,
            (_, FEW_ROWS) => loops.by_rank_of_few,
            _ => loops.by_rank,
        };
        run(level, ranks, weights, outputs, *whole, lasts, scores)
    }

    /// Terms of classes do not add up over rows, so the rows are added up anew.
    fn score_again<const N: usize>(&mut self, level: Level, ranks: &[u32], lasts: &[u32], scores: &mut [f64]) -> f64 {
        self.score_cuts::<BY_RANK, N>(level, ranks, lasts, scores)
    }

    fn score_columns(
        &mut self,
        _level: Level,
        _ranks: &[ByColumn<u32>],
        _scores: &mut [ByColumn<f64>],
    ) -> Option<ByColumn<f64>> {
        None
    }

    fn score_below(&self, _level: Level, ranks: &[u32], end: u32) -> f64 {
        let Self { weights, outputs, whole, loops } = self;
        let [score] = (loops.of_one)(ranks, weights, outputs, *whole, &[end - 1]);
        score
    }
}

impl<W: SampleWeights, M: Measure> Rough for ClassCriterion<'_, W, M> {
    type Lanes = ByClass;
    const SIDE_BY_SIDE: bool = false;
    const ROUGH_FIRST: bool = true;

    fn is_served(&self) -> bool {
        self.n_outputs <= MAX_OUTPUTS
    }

    /// By class of the first output.
    fn arrange(&self, samples: &mut [u32]) {
        sort_by_key(samples, |sample| self.slots(sample)[0]);
    }

    fn set_lanes(
        &self,
        node: &ClassTotals<M::Sum>,
        samples: &[u32],
        row_weights: &[u64],
        lanes: &mut ByClass,
    ) -> Precision {
        let ByClass { weights, outputs, loops, .. } = lanes;
        *loops = self.measure.visit_terms(LoopsOf);
        weights.iter_mut().zip(row_weights).for_each(|(weight, &w)| *weight = w as f64);
        outputs.resize_with(self.n_outputs, || OutputRows { rows: [0; MAX_ROWS], groups: Vec::new() });
        let mut n_groups = 0;
        for (number, OutputRows { rows, groups }) in outputs.iter_mut().enumerate() {
            let slot = |row: u8| self.slots(samples[usize::from(row)])[number];
            let rows = &mut rows[..samples.len()];
            (0..=u8::MAX).zip(&mut *rows).for_each(|(number, row)| *row = number);
            if number > 0 {
                sort_by_key(rows, slot);
            }
            groups.clear();
            let mut end = 0;
            for of_class in rows.chunk_by(|&a, &b| slot(a) == slot(b)) {
                end += of_class.len() as u16;
                groups.push((end, of_class.iter().map(|&row| weights[usize::from(row)]).sum()));
            }
            n_groups += groups.len();
        }
        Precision::Same {
            in_lanes: self.measure.error_of_terms(node.weight as f64, self.n_outputs as f64, n_groups as f64),
            of_cuts: self.tolerance(node, 0.0),
        }
    }

    /// Each sample changes two counts of each output, and with them `f`. Where there are fewer classes, `f`
    /// is taken of each count once, at the end.
    fn pushed(&self, node: &Self::Totals, scan: &mut Self::Scan, samples: &[u32]) -> Self::Pushed {
        if samples.len() * self.n_outputs < self.n_slots() {
            let mut pushed = self.begin(node, scan);
            for &sample in samples {
                self.push(node, scan, &mut pushed, sample);
            }
            return pushed;
        }
        let mut counts: SmallVec<[u64; 16]> = smallvec![0; self.n_slots()];
        for &sample in samples {
            let weight = self.weights.weight(sample);
            self.slots(sample).iter().for_each(|&slot| counts[slot as usize] += weight);
        }
        ClassCriterion::pushed(self, node, scan, counts.into_iter())
    }

    /// The score if a cut parted all classes of all outputs completely.
    fn most_score(&self, node: &ClassTotals<M::Sum>) -> f64 {
        self.measure.most_score(node.weight as f64, self.n_outputs as f64)
    }

    fn write_row_value(&self, sample: u32, value: &mut [f64]) {
        value.fill(0.0);
        let width = value.len() / self.n_outputs;
        for (output, (&slot, first)) in self.slots(sample).iter().zip(&*self.classes.first).enumerate() {
            value[output * width + (slot - first) as usize] = 1.0;
        }
    }
}
