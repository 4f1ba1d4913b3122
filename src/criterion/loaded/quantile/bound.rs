//! A lower bound of the losses of all cuts of a column, from sums over few classes of targets. It
//! costs less than the losses themselves, and proves that most columns of a large node cannot win.
//!
//! A set of samples has at least the loss of any part of the set. The cuts of a pass are taken in blocks: for
//! all cuts of a block, the pushed side has at least the samples that were pushed before the block, and the
//! other side at least the samples that are not pushed after it. To bound the loss of such a part, the
//! samples are put into classes, which are ranges of places in the order of targets. The quantile of the part
//! lies in one class. The samples of all other classes lie to one side of that class, so that their loss is
//! linear while the quantile moves within the class, and least at an end of the class. The loss of the
//! samples of the quantile's own class is bounded by 0.
//!
//! O(m) for a pass of m samples, and O([`CLASSES`]) per block.

use super::level::LossLevel;
use super::line::Line;
use super::sum::WeightedSum;
use crate::criterion::weights::Moment;

/// The largest number of classes.
const CLASSES: usize = 16;
/// The largest number of blocks, and the least number of cuts of a block (but the last).
const BLOCKS: usize = 64;
const BLOCK_FROM: usize = 32;

/// The places of a line, divided into classes.
pub(super) struct PlaceClasses<'a> {
    line: &'a Line,
    /// A class is a range of `2^shift` places.
    shift: u32,
}

/// The sums of weights and targets of some samples, by class.
pub(super) type Parts<S> = [WeightedSum<S>; CLASSES];

impl<'a> PlaceClasses<'a> {
    /// Divides all places of a line into classes.
    pub fn new(line: &'a Line) -> Self {
        Self { line, shift: line.len().div_ceil(CLASSES).next_power_of_two().ilog2() }
    }

    fn add<S: Moment>(&self, parts: &mut Parts<S>, place: usize) {
        let part = &mut parts[(place - 1) >> self.shift & (CLASSES - 1)];
        *part = part.with(self.line.weight(place), self.line.values[place]);
    }

    /// The sums over all samples of the line. O(n).
    pub fn whole<S: Moment>(&self) -> Parts<S> {
        let mut parts = [WeightedSum::default(); CLASSES];
        (1..=self.line.len()).for_each(|place| self.add(&mut parts, place));
        parts
    }

    /// A lower bound of the loss of both sides together, for all cuts of a pass that pushes these
    /// places in this order. `whole` has the sums over all samples of the node.
    pub fn least_loss<S: Moment>(&self, level: impl LossLevel, whole: &Parts<S>, order: &[u32]) -> S {
        let mut pushed = [WeightedSum::default(); CLASSES];
        let mut least = None;
        let mut own = S::default();
        for block in order.chunks(order.len().div_ceil(BLOCKS).max(BLOCK_FROM)) {
            for &place in block {
                self.add(&mut pushed, place as usize);
            }
            let rest = std::array::from_fn(|class| whole[class].minus(pushed[class]));
            let loss = own + self.lower_bound(level, &rest);
            least = Some(least.map_or(loss, |least: S| least.min(loss)));
            own = self.lower_bound(level, &pushed);
        }
        least.unwrap_or_default()
    }

    /// A lower bound of the loss of samples with these sums.
    fn lower_bound<S: Moment>(&self, level: impl LossLevel, parts: &Parts<S>) -> S {
        let all = parts.iter().fold(WeightedSum::default(), |all: WeightedSum<S>, &part| all.plus(part));
        if all.weight == 0 {
            return S::default();
        }
        let (mut class, mut below) = (0, WeightedSum::<S>::default());
        while level.falls_short(below.weight + parts[class].weight, all.weight) {
            below = below.plus(parts[class]);
            class += 1;
        }
        let above = all.minus(below).minus(parts[class]);
        let (first, end) = ((class << self.shift) + 1, (class + 1) << self.shift);
        let ends = [self.line.values[first], self.line.values[end.min(self.line.len())]];
        let [low, high] = ends.map(|point| level.loss(above.excess_over(point), below.lack_of(point)));
        low.min(high)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::criterion::loaded::quantile::level::HalfLevel;
    use crate::params::QuantileLevel;

    /// The least loss of samples about any of their targets.
    fn loss_of(level: impl LossLevel, samples: &[(u64, i64)]) -> i64 {
        let about = |&(_, point): &(u64, i64)| {
            let distance = |is_above: bool| {
                let side = samples.iter().filter(|sample| (sample.1 > point) == is_above);
                side.map(|&(w, value)| w as i64 * (value - point).abs()).sum::<i64>()
            };
            level.loss(distance(true), distance(false))
        };
        samples.iter().map(about).min().unwrap_or(0)
    }

    fn check(level: impl LossLevel, line: &Line, order: &[u32]) -> Result<(), TestCaseError> {
        let classes = PlaceClasses::new(line);
        let bound: i64 = classes.least_loss(level, &classes.whole(), order);
        let sample = |place: usize| (line.weights[place], line.values[place]);
        let mut least = i64::MAX;
        for n in 1..=order.len() {
            let (mut sides, pushed) = ([Vec::new(), Vec::new()], &order[..n]);
            (1..=line.len()).for_each(|place| sides[usize::from(pushed.contains(&(place as u32)))].push(sample(place)));
            least = least.min(loss_of(level, &sides[0]) + loss_of(level, &sides[1]));
        }
        prop_assert!(0 <= bound && bound <= least, "{} {}", bound, least);
        Ok(())
    }

    proptest! {
        #[test]
        fn no_cut_has_less(
            (samples, order, share) in prop::collection::vec((1..5u64, -50..50i64), 1..150).prop_flat_map(|samples| {
                let order = Just((1..=samples.len() as u32).collect::<Vec<_>>()).prop_shuffle();
                (Just(samples), order, 0.0..1.0f64)
            }),
            tenths in 1..10u64,
            is_sorted: bool,
        ) {
            let mut samples = samples;
            samples.sort_unstable_by_key(|sample| sample.1);
            let mut line = Line::default();
            line.clear();
            line.weights.extend(samples.iter().map(|sample| sample.0));
            line.values.extend(samples.iter().map(|sample| sample.1));
            let mut order = order;
            if is_sorted {
                order.sort_unstable();
            }
            order.truncate(((order.len() as f64 * share).ceil() as usize).max(1));
            check(HalfLevel, &line, &order)?;
            check(QuantileLevel::fraction(tenths, 10).unwrap(), &line, &order)?;
        }
    }

    #[test]
    fn bounds_tell_noise_from_signal() {
        // 1024 samples, pushed in the order of their targets (signal) or alternately from both ends
        // of the order (noise).
        let mut line = Line::default();
        line.clear();
        line.values.extend(1..=1024);
        let classes = PlaceClasses::new(&line);
        let whole = classes.whole::<i64>();
        let signal: Vec<u32> = (1..=1024).collect();
        let noise: Vec<u32> = (1..=512).flat_map(|i| [i, 1025 - i]).collect();
        // The loss of all samples: 2 (1 + 3 + ... + 1023) / 2 = 2^18. The best cut of the signal
        // leaves two sides with half the samples and a quarter of the loss each: 2^17.
        let bound = |order: &[u32]| classes.least_loss(HalfLevel, &whole, order);
        assert!(bound(&signal) > 1 << 16 && bound(&signal) <= 1 << 17);
        assert!(bound(&noise) > 225_000 && bound(&noise) <= 1 << 18);
    }
}
