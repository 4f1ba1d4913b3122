//! Packed forms of the classes of one or several outputs. `entropy` has the scores and bounds of
//! histograms by entropy.
//!
//! The classes of all outputs are counted side by side, as if there were one output and each row had several
//! classes of it: sums of squares add up over classes and outputs alike.

use std::cmp::Ordering;
use std::sync::OnceLock;

use super::masks::ClassMasks;
use super::row::{packed_row, slot_of, weight_of};
use super::{
    ByBin, FEW_BINS, Inside, LANES, MAX_BINS, MAX_CLASSES, Packed, SLACK, Summed, TURNS, compare_means, entropy,
    in_turns, masks_without,
};
use crate::criterion::bins::BinCount;
use crate::criterion::classes::{ClassCriterion, ClassPushed, ClassTotals, Measure};
use crate::criterion::entropy::tolerance;
use crate::criterion::weights::SampleWeights;
use crate::simd::{Level, vectorized};

/// Histogram of weights by class, and buffers.
pub struct PackedClasses<B> {
    n_bins: usize,
    /// The number of outputs, of classes of the first output, and of classes of all outputs.
    n_outputs: usize,
    n_first: usize,
    n_classes: usize,
    /// Whether all samples that take part are known to weigh 1.
    are_unit: bool,
    /// For each order of categories, the class whose shares it sorts by.
    order_classes: Box<[u32]>,
    /// The counts of a bin begin at its number times `2^shift`.
    shift: u32,
    bins: Vec<B>,
    /// Four copies of a histogram of few bins.
    turns: Vec<B>,
    /// `weights[b]` is the weight of all bins before bin `b`.
    weights: Box<[f64; MAX_BINS + 1]>,
    /// The weight of all bins before each, by class: `MAX_BINS + 1` numbers of the first class,
    /// then of the second, and so on.
    ends: Vec<f64>,
    /// For entropy, a term of the score for each number in `ends`; empty for Gini impurity.
    terms: Vec<f64>,
    /// For each class, the weight of its rows below the end of each column.
    below: Box<[[B; LANES]]>,
    /// Four partial copies of `below`, one per row modulo 4, so that additions do not wait for each other.
    below_in_turns: Box<[[B; LANES]]>,
    /// Scratch for the bounds: four sums over the classes by bin, see `inner_bounds`; for entropy the scores
    /// at the ends of bins alone.
    work: Box<[[f64; ENDS]; 4]>,
}

const ENDS: usize = MAX_BINS + 1;

/// The rows of a node.
#[derive(Default)]
pub struct ClassRows {
    /// For each row, its [class and weight](packed_row): all rows with their classes of the first output,
    /// then all rows with their classes of the second, and so on.
    rows: Vec<u64>,
    /// The rows of each class as bits, made when they are first needed.
    masks: OnceLock<ClassMasks>,
}

impl<B: BinCount> PackedClasses<B> {
    /// Sets `weights` and `ends` from these bins.
    fn add_up(&mut self, order: &(impl ExactSizeIterator<Item = usize> + Clone)) {
        self.n_bins = order.len();
        let Self { n_bins, n_first, shift, bins, weights, ends, .. } = self;
        let weights = &mut weights[..=*n_bins];
        weights.fill(0.0);
        for (class, ends) in ends.chunks_exact_mut(ENDS).enumerate() {
            let mut sum = B::default();
            for (place, bin) in (1..).zip(order.clone()) {
                sum += bins[(bin << *shift) + class];
                ends[place] = sum.to_f64();
                // The classes of one output have all of the weight.
                weights[place] += if class < *n_first { sum.to_f64() } else { 0.0 };
            }
        }
    }

    /// The weights of a bin, by class.
    fn counts(&self, bin: u8) -> &[B] {
        &self.bins[usize::from(bin) << self.shift..][..self.n_classes]
    }
}

impl<W: SampleWeights, M: Measure> Packed<ClassCriterion<'_, W, M>> for PackedClasses<W::Count> {
    type Rows = ClassRows;

    fn new(criterion: &ClassCriterion<'_, W, M>) -> Option<Self> {
        let n_classes = criterion.n_slots();
        (n_classes <= MAX_CLASSES).then(|| {
            let shift = n_classes.next_power_of_two().ilog2();
            Self {
                n_bins: 0,
                n_outputs: criterion.n_outputs,
                n_first: criterion.classes.first[1] as usize,
                n_classes,
                are_unit: criterion.weights.are_unit(),
                order_classes: criterion.orders().map(|(_, slot)| slot).collect(),
                shift,
                bins: vec![W::Count::default(); MAX_BINS << shift],
                turns: Vec::new(),
                weights: Box::new([0.0; ENDS]),
                ends: vec![0.0; ENDS * n_classes],
                terms: vec![0.0; if criterion.measure.is_squared_distance() { 0 } else { ENDS * n_classes }],
                below: vec![[W::Count::default(); LANES]; n_classes].into(),
                below_in_turns: vec![[W::Count::default(); LANES]; TURNS * n_classes].into(),
                work: Box::new([[0.0; ENDS]; 4]),
            }
        })
    }

    fn load(
        &self,
        criterion: &ClassCriterion<'_, W, M>,
        _node: &ClassTotals<M::Sum>,
        samples: &[u32],
        rows: &mut ClassRows,
    ) {
        let ClassRows { rows, masks } = rows;
        rows.clear();
        masks.take();
        // Copies of what does not change: behind a reference it would be read anew for each row.
        let (slots, weights, n_outputs) = (&criterion.classes.slots[..], criterion.weights, self.n_outputs);
        for output in 0..n_outputs {
            let slot = |sample: u32| slots[sample as usize * n_outputs + output];
            rows.extend(samples.iter().map(|&sample| packed_row(weights.weight(sample), slot(sample))));
        }
    }

    fn count(&mut self, _node: &ClassTotals<M::Sum>, rows: &ClassRows, bins: &[u8], n_bins: usize, _with_bounds: bool) {
        self.n_bins = n_bins;
        let counts = &mut self.bins[..n_bins << self.shift];
        counts.fill(W::Count::default());
        let slot = |row: u64, bin: u8| ((bin as usize) << self.shift) + slot_of(row);
        let of_outputs = rows.rows.chunks_exact(bins.len());
        if n_bins <= FEW_BINS {
            let size = counts.len();
            self.turns.clear();
            self.turns.resize(TURNS * size, W::Count::default());
            for rows in of_outputs {
                in_turns(rows, bins, |turn, &row, bin| {
                    self.turns[turn * size + slot(row, bin)] += W::Count::of(weight_of(row));
                });
            }
            for turn in self.turns.chunks_exact(size) {
                counts.iter_mut().zip(turn).for_each(|(count, &more)| *count += more);
            }
        } else {
            for (&row, &bin) in of_outputs.flat_map(|rows| rows.iter().zip(bins)) {
                counts[slot(row, bin)] += W::Count::of(weight_of(row));
            }
        }
        self.add_up(&(0..n_bins));
    }

    fn rotate(&mut self, _node: &ClassTotals<M::Sum>) {
        self.bins[..self.n_bins << self.shift].rotate_right(1 << self.shift);
        self.add_up(&(0..self.n_bins));
    }

    fn bin_has_rows(&self, bin: u8) -> bool {
        self.counts(bin).iter().any(|&count| count.into() > 0)
    }

    fn compare_bins(&self, number: usize, a: u8, b: u8) -> Ordering {
        let class = self.order_classes[number] as usize;
        let mean = |bin: u8| {
            let counts = self.counts(bin);
            let weight: u64 = counts[class].into();
            (weight as i64, counts[..self.n_first].iter().map(|&count| count.into()).sum())
        };
        compare_means(mean(a), mean(b))
    }

    fn class_weights(&self) -> Option<impl Fn(usize, u8) -> f64> {
        Some(|class: usize, bin| self.counts(bin)[class].to_f64())
    }

    fn put_in_order(&mut self, _node: &ClassTotals<M::Sum>, bins: &[u8]) {
        self.add_up(&bins.iter().map(|&bin| usize::from(bin)));
    }

    fn scores(&mut self, level: Level, node: &ClassTotals<M::Sum>, scores: &mut [f64]) {
        let n = self.n_bins;
        if !self.terms.is_empty() {
            let terms = self.terms.chunks_exact_mut(ENDS).zip(self.ends.chunks_exact(ENDS));
            for ((terms, ends), &count) in terms.zip(&node.counts) {
                entropy::class_terms(level, &ends[..=n], count as f64, &mut terms[..=n]);
            }
            let n_outputs = self.n_outputs as f64;
            let of_ends = &mut self.work[0][..=n];
            entropy::cut_scores(level, &self.terms, ENDS, &self.weights[..=n], n_outputs, scores, of_ends);
            return;
        }
        cut_scores(level, &self.weights[..=n], &self.ends, &node.counts, node.weight as f64, scores);
    }

    fn bounds(&mut self, level: Level, node: &ClassTotals<M::Sum>, all_legal: bool, bounds: &mut [f64]) {
        let n = self.n_bins;
        let (weights, ends, counts) = (&self.weights[..=n], &self.ends[..], &node.counts[..]);
        let has_best_at_ends = all_legal && self.n_outputs == 1;
        let (weight, n_outputs) = (node.weight as f64, self.n_outputs as f64);
        if !self.terms.is_empty() {
            let error = tolerance(node.weight, self.n_outputs, self.n_classes);
            let (terms, of_ends) = (&self.terms, &self.work[0][..=n]);
            entropy::inner_bounds(
                level,
                terms,
                ends,
                ENDS,
                weights,
                n_outputs,
                of_ends,
                has_best_at_ends,
                error,
                bounds,
            );
            return;
        }
        inner_bounds(level, weights, ends, counts, weight, n_outputs, has_best_at_ends, &mut self.work, bounds);
    }

    fn add_below<const N: usize>(&mut self, level: Level, rows: &ClassRows, ranks: &[[u32; N]], ends: &[u32; N]) {
        let Self { n_classes, below, .. } = self;
        below.fill([W::Count::default(); LANES]);
        if N == 1 && self.are_unit {
            let masks = rows.masks.get_or_init(|| ClassMasks::of(ranks.len(), *n_classes, &rows.rows));
            let counts = masks.count_below(level, ranks.as_flattened(), ends[0]);
            below.iter_mut().zip(counts).for_each(|(below, count)| below[0] = W::Count::of(count.into()));
            return;
        }
        for rows in rows.rows.chunks_exact(ranks.len()) {
            counts_below(level, rows, ranks, ends, below);
        }
        if N == 1 {
            for counts in below {
                counts[0] = counts.iter().copied().sum();
            }
        }
    }

    fn add_without(&mut self, level: Level, rows: &ClassRows, words: &[u64], bits: &[u32; LANES]) {
        let Self { n_classes, below, below_in_turns, .. } = self;
        below_in_turns.fill([W::Count::default(); LANES]);
        for rows in rows.rows.chunks_exact(words.len()) {
            counts_without(level, rows, words, bits, *n_classes, below_in_turns);
        }
        below.fill([W::Count::default(); LANES]);
        for turn in below_in_turns.chunks_exact(*n_classes) {
            let counts = below.as_flattened_mut().iter_mut().zip(turn.as_flattened());
            counts.for_each(|(count, &more)| *count += more);
        }
    }

    fn pushed(
        &self,
        criterion: &ClassCriterion<'_, W, M>,
        node: &ClassTotals<M::Sum>,
        scan: &mut Box<[u64]>,
        rows: Summed,
    ) -> ClassPushed<M::Sum> {
        match rows {
            Summed::Bins(n_bins) => {
                criterion.pushed(node, scan, self.ends.chunks_exact(ENDS).map(|ends| ends[n_bins] as u64))
            }
            Summed::Lane(lane) => criterion.pushed(node, scan, self.below.iter().map(|counts| counts[lane].into())),
        }
    }
}

vectorized! {
    /// Adds to the counts in `below`: each column counts in its lane, and a single column counts in all lanes
    /// together.
    fn counts_below<B: BinCount, const N: usize>(rows: &[u64], ranks: &[[u32; N]], ends: &[u32; N], below: &mut [[B; LANES]]) {
        if N == 1 {
            // Rows are counted in turn in all lanes, as additions to one number would wait for each
            // other.
            for (rows, ranks) in rows.chunks(LANES).zip(ranks.chunks(LANES)) {
                for (lane, (&row, ranks)) in rows.iter().zip(ranks).enumerate() {
                    let (counts, weight) = (&mut below[slot_of(row)], B::of(weight_of(row)));
                    counts[lane] += if ranks[0] < ends[0] { weight } else { B::default() };
                }
            }
            return;
        }
        for (&row, ranks) in rows.iter().zip(ranks) {
            let (counts, weight) = (&mut below[slot_of(row)], B::of(weight_of(row)));
            for lane in 0..N {
                counts[lane] += if ranks[lane] < ends[lane] { weight } else { B::default() };
            }
        }
    }
}

vectorized! {
    /// Adds, for each bit in its lane, the rows without the bit to the counts of their turn.
    fn counts_without<B: BinCount>(
        rows: &[u64],
        words: &[u64],
        bits: &[u32; LANES],
        n_classes: usize,
        turns: &mut [[B; LANES]],
    ) {
        in_turns(rows, words, |turn, &row, word| {
            let (counts, weight) = (&mut turns[turn * n_classes + slot_of(row)], B::of(weight_of(row)));
            let masks = masks_without(word, bits);
            for lane in 0..LANES {
                counts[lane] += weight.masked(masks[lane]);
            }
        });
    }
}

vectorized! {
    /// The score of each cut: the sum of squared class weights over the weight, of both sides.
    fn cut_scores(weights: &[f64], ends: &[f64], counts: &[u64], node_weight: f64, scores: &mut [f64]) {
        let n = scores.len();
        let mut inside: ByBin = [0.0; MAX_BINS];
        let mut outside: ByBin = [0.0; MAX_BINS];
        let (inside, outside) = (&mut inside[..n], &mut outside[..n]);
        for (ends, &whole) in ends.chunks_exact(ENDS).zip(counts) {
            let (ends, whole) = (&ends[1..=n], whole as f64);
            for bin in 0..n {
                inside[bin] += ends[bin] * ends[bin];
                outside[bin] += (whole - ends[bin]) * (whole - ends[bin]);
            }
        }
        let (before, after) = (&weights[..n], &weights[1..=n]);
        for bin in 0..n {
            let weight = after[bin];
            let score = inside[bin] / weight + outside[bin] / (node_weight - weight);
            scores[bin] = if weight > before[bin] && weight < node_weight { score } else { f64::NEG_INFINITY };
        }
    }
}

vectorized! {
    /// Let a class be a unit vector, and a row the sum of one such vector for each output. Then the gain of a
    /// split is the squared excess of a side over the node's shares, times the node's weight, over the
    /// product of the weights of both sides.
    #[allow(clippy::too_many_arguments, reason = "arrays over bins")]
    fn inner_bounds(
        weights: &[f64],
        ends: &[f64],
        counts: &[u64],
        node_weight: f64,
        n_outputs: f64,
        has_best_at_ends: bool,
        work: &mut [[f64; ENDS]; 4],
        bounds: &mut [f64],
    ) {
        let n = bounds.len();
        for sums in work.iter_mut() {
            sums[..=n].fill(0.0);
        }
        // The excess of a class in some rows is its weight there less the node's share of the class
        // times their weight. `before` is the squared excess of all rows before each bin, `middle`
        // the square of twice the excess half way through each bin. `squares` has the weighted
        // squared distances between the bin's rows and the node's shares, `peaks` the weight of the
        // most frequent class of the bin.
        let [before, middle, squares, peaks] = work;
        let (before, middle, squares, peaks) = (&mut before[..=n], &mut middle[..n], &mut squares[..n], &mut peaks[..n]);
        let (weights_before, weights_after) = (&weights[..n], &weights[1..=n]);
        let share = |count: u64| count as f64 / node_weight;
        let all_squares: f64 = counts.iter().map(|&count| share(count) * share(count)).sum();
        for (ends, &count) in ends.chunks_exact(ENDS).zip(counts) {
            let p = share(count);
            for bin in 0..=n {
                let excess = ends[bin] - p * weights[bin];
                before[bin] += excess * excess;
            }
            let (low, high) = (&ends[..n], &ends[1..=n]);
            // Adds up to the squared distance of a row over its classes, one of each output.
            let distance = 1.0 - 2.0 * p + all_squares / n_outputs;
            for bin in 0..n {
                let excess = (low[bin] + high[bin]) - p * (weights_before[bin] + weights_after[bin]);
                middle[bin] += excess * excess;
                let own = high[bin] - low[bin];
                squares[bin] += own * distance;
                peaks[bin] = own.max(peaks[bin]);
            }
        }
        let none = all_squares * node_weight;
        for bin in 0..n {
            let (low, high) = (weights_before[bin], weights_after[bin]);
            let inside = Inside {
                low,
                high,
                before: before[bin],
                after: before[bin + 1],
                middle: middle[bin],
                squares: squares[bin],
            };
            let gain = inside.most_gain(node_weight);
            // A bin of one class has its best cuts at its ends, as the score is strictly convex in
            // the weight of a class.
            let is_open = peaks[bin] < high - low || !has_best_at_ends;
            bounds[bin] = if is_open { (none + gain) * SLACK } else { f64::NEG_INFINITY };
        }
    }
}
