//! The losses of all cuts of a column, from two lists that samples are removed from.
//!
//! With the samples in the order in which a scan will push them, the losses of what is not pushed yet come from removing them
//! from the node's list in that order, and the losses of what is pushed from removing them from a list of their own in the
//! opposite order. Both go on side by side: each removal waits for the one before it, but not for the other list's.
//!
//! The pushed samples are often not the whole node, as a column's common value is only counted: their own list is made in
//! O(m log m) or O(W), and the node's is repaired backwards, so that a pass over m samples costs O(m log m) however large the
//! node is.
//!
//! Where the order is not known before (random thresholds), the pushed samples are marked, and a score walks the node; if they are
//! few, it sorts them and finds the quantile of the others between them, in the node's sums by place: O(m log m + log W).

use super::Quantile;
use super::bound::{Classes, Parts};
use super::level::{Balance, Half, Level};
use super::line::Line;
use super::order::Ranking;
use super::peel::{Peel, Plain, Start, Weighted, plain_loss};
use super::ring::{Links, Mask, Ring};
use super::sum::{Part, Sum};
use crate::params::QuantileLevel;

/// A pass over this many times fewer samples than the node has sorts them, and repairs the list of the node.
const FEW: usize = 16;

/// Passes from this length on are bounded before.
const BOUND_FROM: usize = 512;

/// The samples of a node in the order of one output, and the losses of cuts.
pub(super) struct OutputScan<S> {
    /// The node's samples, and their loss.
    line: Line,
    loss: S,
    start: Start<S>,
    /// All linked, between two passes; unless the node is small.
    links: Links,
    /// The place of each sample of the node in the line.
    places: Vec<u32>,
    /// Whether the sample at a place is pushed.
    marks: Vec<bool>,
    /// The samples up to each place; empty until asked for.
    sums: Vec<Part<S>>,
    /// The samples by class; once asked for.
    by_class: Option<Box<Parts<S>>>,
    /// After so many samples: the loss of the others, and theirs.
    rest: Vec<S>,
    part: Vec<S>,
}

impl<S: Sum> OutputScan<S> {
    pub fn new(n_samples: usize) -> Self {
        Self {
            line: Line::default(),
            loss: S::default(),
            start: Start::default(),
            links: Links::default(),
            places: vec![0; n_samples],
            marks: Vec::new(),
            sums: Vec::new(),
            by_class: None,
            rest: Vec::new(),
            part: Vec::new(),
        }
    }

    /// Sets the node to that of these ranks. O(W).
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

    /// Prepares for a pass that is not foreseen. O(W) for the first of a node.
    pub fn sum_up(&mut self) {
        if self.sums.is_empty() {
            let mut sum = Part::default();
            self.sums.push(sum);
            for place in 1..=self.line.len() {
                sum = sum.with(self.line.weight(place), self.line.values[place]);
                self.sums.push(sum);
            }
        }
    }

    /// Marks a sample as pushed, or not.
    pub fn mark(&mut self, sample: u32, is_pushed: bool) {
        self.marks[self.places[sample as usize] as usize] = is_pushed;
    }

    /// Whether the sample at a place, from 1 on, is pushed.
    pub fn is_marked(&self, place: usize) -> bool {
        self.marks[place]
    }

    /// The loss of both sides of the cut after so many of the samples that were foreseen.
    #[inline]
    pub fn foreseen(&self, n_pushed: usize) -> S {
        self.rest[n_pushed] + self.part[n_pushed]
    }

    /// The number of cuts of the pass that was foreseen, with none and all of its samples.
    pub fn n_cuts(&self) -> usize {
        self.rest.len()
    }

    /// The most that one of these cuts gains.
    pub fn most_gain(&self) -> f64 {
        let least = self.rest.iter().zip(&self.part).fold(self.loss, |least, (&rest, &part)| least.min(rest + part));
        self.gain(least)
    }

    /// What a cut with this loss gains.
    pub fn gain(&self, loss: S) -> f64 {
        (self.loss - loss).to_f64()
    }

    /// The loss of both sides of the cut between the marked samples, which these are, and the others. O(W), or less if they are
    /// few.
    pub fn walked(&self, criterion: &Quantile<'_, S>, pushed: &[u32]) -> S {
        let is_few = pushed.len() * FEW < self.line.len();
        match (is_few, criterion.is_half()) {
            (false, true) => self.walk(Half),
            (false, false) => self.walk(criterion.level),
            (true, true) => self.part_few(Half, pushed),
            (true, false) => self.part_few(criterion.level, pushed),
        }
    }

    /// The same from the samples of the pushed side and sums by place.
    fn part_few(&self, level: impl Level, pushed: &[u32]) -> S {
        let mut places: Vec<usize> = pushed.iter().map(|&sample| self.places[sample as usize] as usize).collect();
        places.sort_unstable();
        let with = |part: Part<S>, place: usize| part.with(self.line.weight(place), self.line.values[place]);
        let own = places.iter().fold(Part::default(), |part, &place| with(part, place));
        let all = self.sums[self.line.len()];
        let rest = all.minus(own);

        let mut below = Part::<S>::default();
        let mut loss = S::default();
        for &place in &places {
            let next = with(below, place);
            if !level.falls_short(next.weight, own.weight) {
                let point = self.line.values[place];
                loss = level.loss(own.minus(below).excess_over(point), below.lack_of(point));
                break;
            }
            below = next;
        }

        // The first gap between pushed samples at whose end the others have their share.
        let mut passed = Part::<S>::default();
        let mut first = 1;
        for end in places.into_iter().chain([self.line.len() + 1]) {
            let is_short = |place: usize| level.falls_short(self.sums[place].minus(passed).weight, rest.weight);
            if !is_short(end - 1) {
                let (mut low, mut high) = (first, end - 1);
                while low < high {
                    let middle = usize::midpoint(low, high);
                    if is_short(middle) {
                        low = middle + 1;
                    } else {
                        high = middle;
                    }
                }
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

    fn walk(&self, level: impl Level) -> S {
        let mut weights = [0; 2];
        for place in 1..=self.line.len() {
            weights[usize::from(self.marks[place])] += self.line.weight(place);
        }
        let mut below = [Part::<S>::default(); 2];
        let mut above = [Part::<S>::default(); 2];
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

/// Buffers of one worker for a pass, assumed dirty.
#[derive(Default)]
pub(super) struct PassScratch {
    /// Places in the node's line, in the order of the pass, and in the pass's own.
    order: Vec<u32>,
    own_order: Vec<u32>,
    own: Line,
    own_links: Links,
    /// To sort a few places: each with its number in the pass.
    few: Vec<(u32, u32)>,
}

impl PassScratch {
    /// Sets the samples of a pass.
    pub fn list<S: Sum>(&mut self, output: &OutputScan<S>, samples: impl Iterator<Item = u32>) {
        self.order.clear();
        self.order.extend(samples.map(|sample| output.places[sample as usize]));
    }

    /// What no cut of the pass can gain more than. Infinity if asking costs too much.
    pub fn most_gain<S: Sum>(&self, criterion: &Quantile<'_, S>, output: &mut OutputScan<S>) -> f64 {
        if self.order.len() < BOUND_FROM {
            return f64::INFINITY;
        }
        let classes = Classes::new(&output.line);
        let whole = output.by_class.get_or_insert_with(|| Box::new(classes.whole()));
        let least = if criterion.is_half() {
            classes.least_loss(Half, whole, &self.order)
        } else {
            classes.least_loss(criterion.level, whole, &self.order)
        };
        output.gain(least)
    }

    /// The losses of all cuts of the pass.
    pub fn foresee<S: Sum>(&mut self, criterion: &Quantile<'_, S>, output: &mut OutputScan<S>) {
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

    /// The line of the samples of the pass alone.
    fn make_own(&mut self, line: &Line, n: usize) {
        let Self { order, own_order, own, few, .. } = self;
        own.clear();
        own_order.resize(order.len(), 0);
        few.clear();
        if order.len() * FEW < n {
            few.extend(order.iter().copied().zip(0..));
            few.sort_unstable();
        } else {
            // By counting: every place occurs once or not at all.
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

/// The start of a line, at one half or another level.
fn start_of<S: Sum>(line: &Line, level: QuantileLevel) -> Start<S> {
    if level == QuantileLevel::HALF { Start::of(line, Half) } else { Start::of(line, level) }
}

/// The losses of all that is left of the node, and of the pass's own samples: of their lines, rings and orders. Of the node the
/// start and the loss are known.
fn peel<R: Ring, S: Sum>(
    criterion: &Quantile<'_, S>,
    (line, own): (&Line, &Line),
    rings: (R, R),
    (start, loss): (Start<S>, S),
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
            weighted(Half, (line, own), rings, starts, orders, losses);
        } else {
            weighted(criterion.level, (line, own), rings, starts, orders, losses);
        }
    }
}

#[inline(never)]
fn weighted<R: Ring, S: Sum, L: Balance<S>>(
    level: L,
    lines: (&Line, &Line),
    rings: (R, R),
    starts: (Start<S>, Start<S>),
    orders: (&[u32], &[u32]),
    losses: (&mut [S], &mut [S]),
) {
    let lists = (Weighted::new(lines.0, rings.0, level, starts.0), Weighted::new(lines.1, rings.1, level, starts.1));
    remove_all(lists, (starts.0.loss, starts.1.loss), orders, losses);
}

/// Removes from the first list forwards and from the second backwards.
fn remove_all<S: Sum>(
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
