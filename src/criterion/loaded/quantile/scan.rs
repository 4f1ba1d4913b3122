//! The losses of all cuts of a column, from two lists that samples are removed from.
//!
//! Let the order be known in which a scan will push samples. The losses of the samples not pushed
//! yet come from removing samples from the list of the node in that order. The losses of the pushed
//! samples come from removing samples from a list of the pass's own samples in the opposite order.
//! Both removals go on side by side: each has to wait for the one before it in its own list, but
//! not for the other list.
//!
//! The pushed samples are often not the whole node, as the rows of a column's common value are only
//! counted. The list of the pass's own samples is then made in O(m log m) or O(n), and the list of
//! the node is repaired afterwards by undoing the removals. So a pass over m samples costs
//! O(m log m), however large the node is.
//!
//! Where the order is not known before (random thresholds), the pushed samples are marked, and a
//! score walks over all samples of the node. If the pushed samples are few, a score sorts them
//! instead, and finds the quantile of the other samples in the gaps between them, from the node's
//! sums by place: O(m log m + log n).

use super::Quantile;
use super::bound::{Parts, PlaceClasses};
use super::level::{Balance, HalfLevel, LossLevel};
use super::line::Line;
use super::order::Ranking;
use super::peel::{ListStart, Peel, Plain, Weighted, plain_loss};
use super::ring::{Mask, PlaceLinks, Ring};
use super::sum::{WeightedSum, around};
use crate::criterion::weights::Moment;
use crate::params::QuantileLevel;

/// A pass has few samples if the node has more than `FEW` times their number. Then the pass sorts its samples
/// instead of counting them by place, and repairs the node's list instead of making it anew.
const FEW: usize = 16;

/// Passes with fewer samples are not bounded first.
const BOUND_FROM: usize = 512;

/// The samples of a node in the order of their targets for one output, and the losses of the cuts
/// of a pass.
#[derive(Default)]
pub(super) struct OutputScan<S> {
    /// The samples of the node. `loss` is their loss.
    line: Line,
    loss: S,
    start: ListStart<S>,
    /// The list of the node's places, with all of them linked between two passes. Not kept if a
    /// [`Mask`] suffices for the node.
    links: PlaceLinks,
    /// The place in the line of each sample of the node; anything for other samples.
    places: Vec<u32>,
    /// For each place, whether its sample is pushed. Only for passes that are not foreseen.
    marks: Vec<bool>,
    /// For each place, the sums over the samples up to and including it; empty until needed.
    sums: Vec<WeightedSum<S>>,
    /// The sums over the node's samples by class; `None` until needed.
    by_class: Option<Box<Parts<S>>>,
    /// For each number of samples that a foreseen pass has pushed, the loss of the other samples
    /// (`rest`) and of the pushed ones (`part`).
    rest: Vec<S>,
    part: Vec<S>,
}

impl<S: Moment> OutputScan<S> {
    pub fn new(n_samples: usize) -> Self {
        Self { places: vec![0; n_samples], ..Self::default() }
    }

    /// Loads the node whose samples have these ranks, ascending. O(n).
    pub fn load(&mut self, criterion: &Quantile<'_, S>, ranking: &Ranking, ranks: &[u32], loss: S) {
        let has_plain_median = criterion.has_plain_median();
        self.line.clear();
        self.line.values.extend(ranks.iter().map(|&rank| ranking.values[rank as usize]));
        if !ranking.weights.is_empty() {
            self.line.weights.extend(ranks.iter().map(|&rank| ranking.weights[rank as usize]));
        } else if !has_plain_median {
            self.line.weights.resize(ranks.len() + 1, 1);
        }
        for (place, &rank) in (1..).zip(ranks) {
            self.places[ranking.sample(rank) as usize] = place;
        }
        self.loss = loss;
        if !has_plain_median {
            self.start = start_of(&self.line, criterion.level);
        }
        if ranks.len() > Mask::MAX {
            self.links.link_all(&self.line);
        }
        self.marks.clear();
        self.marks.resize(ranks.len() + 1, false);
        self.sums.clear();
        self.by_class = None;
    }

    /// Prepares the sums for a pass that is not foreseen. O(n) for the first such pass of a node.
    pub fn sum_up(&mut self) {
        if self.sums.is_empty() {
            let mut sum = WeightedSum::default();
            self.sums.push(sum);
            for place in 1..=self.line.len() {
                sum = sum.with(self.line.weight(place), self.line.values[place]);
                self.sums.push(sum);
            }
        }
    }

    /// Marks a sample as pushed or as not pushed.
    pub fn mark(&mut self, sample: u32, is_pushed: bool) {
        self.marks[self.places[sample as usize] as usize] = is_pushed;
    }

    /// Whether the sample at a place, from 1 on, is marked as pushed.
    pub fn is_marked(&self, place: usize) -> bool {
        self.marks[place]
    }

    /// The loss of both sides together of the cut after this many samples of a foreseen pass.
    #[inline]
    pub fn foreseen(&self, n_pushed: usize) -> S {
        self.rest[n_pushed] + self.part[n_pushed]
    }

    /// The number of cuts of a foreseen pass, including the cuts that push no sample and all samples.
    pub fn n_cuts(&self) -> usize {
        self.rest.len()
    }

    /// The largest gain among the cuts of a foreseen pass.
    pub fn most_gain(&self) -> f64 {
        let least = self.rest.iter().zip(&self.part).fold(self.loss, |least, (&rest, &part)| least.min(rest + part));
        self.gain(least)
    }

    /// By how much a cut whose sides have this loss together lowers the loss of the node.
    pub fn gain(&self, loss: S) -> f64 {
        (self.loss - loss).to_f64()
    }

    /// The loss of both sides together of the cut between `pushed`, the marked samples, and all
    /// others. O(n), or O(m log m + log n) for m pushed samples if they are few.
    pub fn walked(&self, criterion: &Quantile<'_, S>, pushed: &[u32]) -> S {
        if pushed.len() * FEW < self.line.len() {
            self.part_few(criterion.level, pushed)
        } else if criterion.is_half() {
            self.walk(HalfLevel)
        } else {
            self.walk(criterion.level)
        }
    }

    /// Computes [`walked`](Self::walked) from the pushed samples and the sums by place.
    fn part_few(&self, level: impl LossLevel, pushed: &[u32]) -> S {
        let mut places: Vec<usize> = pushed.iter().map(|&sample| self.places[sample as usize] as usize).collect();
        places.sort_unstable();
        let with = |part: WeightedSum<S>, place: usize| part.with(self.line.weight(place), self.line.values[place]);
        let own = places.iter().fold(WeightedSum::default(), |part, &place| with(part, place));
        let all = self.sums[self.line.len()];
        let rest = all.minus(own);

        let samples = places.iter().map(|&place| (self.line.weight(place), self.line.values[place]));
        let (_, _, loss) = around(level, own.weight, samples);

        // Finds the first gap between pushed samples at whose end the other samples have their
        // share: their quantile is in that gap.
        let mut passed = WeightedSum::<S>::default();
        let mut first = 1;
        for end in places.into_iter().chain([self.line.len() + 1]) {
            let is_short = |sum: &WeightedSum<S>| level.falls_short(sum.minus(passed).weight, rest.weight);
            if !is_short(&self.sums[end - 1]) {
                let low = first + self.sums[first..end - 1].partition_point(is_short);
                let (point, below) = (self.line.values[low], self.sums[low - 1].minus(passed));
                return loss + level.loss(rest.minus(below).excess_over(point), below.lack_of(point));
            }
            if end <= self.line.len() {
                passed = with(passed, end);
            }
            first = end + 1;
        }
        loss
    }

    fn walk(&self, level: impl LossLevel) -> S {
        let mut weights = [0; 2];
        for place in 1..=self.line.len() {
            weights[usize::from(self.marks[place])] += self.line.weight(place);
        }
        let mut below = [WeightedSum::<S>::default(); 2];
        let mut above = [WeightedSum::<S>::default(); 2];
        let mut points = [None; 2];
        for (place, &value) in self.line.values.iter().enumerate().skip(1) {
            let (side, w) = (usize::from(self.marks[place]), self.line.weight(place));
            if points[side].is_some() {
                above[side] = above[side].with(w, value);
            } else if level.falls_short(below[side].weight + w, weights[side]) {
                below[side] = below[side].with(w, value);
            } else {
                points[side] = Some(value);
            }
        }
        let loss = |side: usize| {
            let point = points[side].unwrap_or_default();
            level.loss(above[side].excess_over(point), below[side].lack_of(point))
        };
        loss(0) + loss(1)
    }
}

/// Buffers of one worker for a pass. Whatever a pass before left in them is overwritten.
#[derive(Default)]
pub(super) struct PassScratch {
    /// The places of the pass's samples, in the order of the pass: in the node's line (`order`),
    /// and in a line of the pass's samples alone (`own_order`, `own`).
    order: Vec<u32>,
    own_order: Vec<u32>,
    own: Line,
    own_links: PlaceLinks,
    /// Pairs of a place in the node's line and a number in the pass, to sort the pass's samples by
    /// place.
    few: Vec<(u32, u32)>,
}

impl PassScratch {
    /// Sets the samples of the pass.
    pub fn list<S: Moment>(&mut self, output: &OutputScan<S>, samples: impl Iterator<Item = u32>) {
        self.order.clear();
        self.order.extend(samples.map(|sample| output.places[sample as usize]));
    }

    /// An upper bound of the gain of all cuts of the pass; infinity if the pass is too short for a
    /// bound to pay.
    pub fn most_gain<S: Moment>(&self, criterion: &Quantile<'_, S>, output: &mut OutputScan<S>) -> f64 {
        if self.order.len() < BOUND_FROM {
            return f64::INFINITY;
        }
        let classes = PlaceClasses::new(&output.line);
        let whole = output.by_class.get_or_insert_with(|| Box::new(classes.whole()));
        let least = classes.least_loss(criterion.level, whole, &self.order);
        output.gain(least)
    }

    /// Computes the losses of all cuts of the pass into `output`.
    pub fn foresee<S: Moment>(&mut self, criterion: &Quantile<'_, S>, output: &mut OutputScan<S>) {
        let (n, m) = (output.line.len(), self.order.len());
        output.rest.resize(m + 1, S::default());
        output.part.resize(m + 1, S::default());
        let is_whole = m == n;
        if !is_whole {
            self.make_own(&output.line, n);
        }
        let own = if is_whole { &output.line } else { &self.own };
        let own_order = if is_whole { &self.order } else { &self.own_order };
        let orders = (&self.order[..], &own_order[..]);
        let losses = (&mut output.rest[..], &mut output.part[..]);
        let lines = (&output.line, own);
        let starts = (output.start, output.loss);
        if n <= Mask::MAX {
            let rings = (Mask::new(&output.line, n), Mask::new(own, m));
            peel(criterion, lines, rings, starts, orders, losses);
            return;
        }
        if is_whole {
            self.own_links.copy_from(&output.links);
        } else {
            self.own_links.link_all(own);
        }
        peel(criterion, lines, (output.links.ring(), self.own_links.ring()), starts, orders, losses);
        if m * FEW < n {
            output.links.relink(&self.order);
        } else {
            output.links.link_all(&output.line);
        }
    }

    /// Makes the line of the pass's samples alone; `n` is the number of samples of the node.
    fn make_own(&mut self, line: &Line, n: usize) {
        let Self { order, own_order, own, few, .. } = self;
        own.clear();
        own_order.resize(order.len(), 0);
        few.clear();
        if order.len() * FEW < n {
            few.extend(order.iter().copied().zip(0..));
            few.sort_unstable();
        } else {
            // Sorts by counting: each place occurs at most once.
            few.resize(n + 1, (0, u32::MAX));
            for (i, &place) in (0..).zip(order.iter()) {
                few[place as usize] = (place, i);
            }
            few.retain(|&(_, i)| i != u32::MAX);
        }
        own.values.extend(few.iter().map(|&(place, _)| line.values[place as usize]));
        if line.weights.len() > 1 {
            own.weights.extend(few.iter().map(|&(place, _)| line.weights[place as usize]));
        }
        for (own_place, &(_, i)) in (1..).zip(few.iter()) {
            own_order[i as usize] = own_place;
        }
    }
}

/// Where the pointer starts in this line.
fn start_of<S: Moment>(line: &Line, level: QuantileLevel) -> ListStart<S> {
    if level == QuantileLevel::HALF { ListStart::of(line, HalfLevel) } else { ListStart::of(line, level) }
}

/// Computes the losses of the node's remaining samples, and of the pass's own remaining samples. Each pair
/// has the node's part first, then the pass's own. `start` and `loss` are the node's.
fn peel<R: Ring, S: Moment>(
    criterion: &Quantile<'_, S>,
    (line, own): (&Line, &Line),
    rings: (R, R),
    (start, loss): (ListStart<S>, S),
    orders: (&[u32], &[u32]),
    losses: (&mut [S], &mut [S]),
) {
    let is_whole = line.len() == own.len();
    if criterion.has_plain_median() {
        let own_loss = if is_whole { loss } else { plain_loss(own) };
        let lists = (Plain::new(rings.0, line.len(), loss), Plain::new(rings.1, own.len(), own_loss));
        remove_all(lists, (loss, own_loss), orders, losses);
    } else {
        let starts = (start, if is_whole { start } else { start_of(own, criterion.level) });
        if criterion.is_half() {
            weighted(HalfLevel, (line, own), rings, starts, orders, losses);
        } else {
            weighted(criterion.level, (line, own), rings, starts, orders, losses);
        }
    }
}

#[inline(never)]
fn weighted<R: Ring, S: Moment, L: Balance<S>>(
    level: L,
    lines: (&Line, &Line),
    rings: (R, R),
    starts: (ListStart<S>, ListStart<S>),
    orders: (&[u32], &[u32]),
    losses: (&mut [S], &mut [S]),
) {
    let lists = (Weighted::new(lines.0, rings.0, level, starts.0), Weighted::new(lines.1, rings.1, level, starts.1));
    remove_all(lists, (starts.0.loss, starts.1.loss), orders, losses);
}

/// Removes the samples of a pass from the first list forwards and from the second list backwards.
fn remove_all<S: Moment>(
    (mut rest, mut own): (impl Peel<S>, impl Peel<S>),
    whole: (S, S),
    (order, own_order): (&[u32], &[u32]),
    (rest_losses, own_losses): (&mut [S], &mut [S]),
) {
    let m = order.len();
    rest_losses[0] = whole.0;
    own_losses[m] = whole.1;
    let losses = rest_losses[1..].iter_mut().zip(own_losses[..m].iter_mut().rev());
    let places = order.iter().zip(own_order.iter().rev());
    for ((rest_loss, own_loss), (&place, &own_place)) in losses.zip(places) {
        *rest_loss = rest.remove(place);
        *own_loss = own.remove(own_place);
    }
}
