//! What no cut of a column can better, from the sums of few classes of targets: cheaper than the losses of all cuts, and enough to
//! tell that most columns of a large node cannot win.
//!
//! A set of samples has at least the loss of any part of it, so within a block of cuts both sides have at least the loss of
//! what is certainly there. For that loss in turn: the quantile of a set lies in one of the classes, which are ranges of places; the
//! samples of other classes lie to one side of it, so that their loss is linear in the quantile, and least at an end of the
//! class. The class's own samples may be as near as one likes.
//!
//! O(m) for a pass of m samples, and O([`CLASSES`]) per block.

use super::level::Level;
use super::line::Line;
use super::sum::{Part, Sum};

/// At most so many classes.
const CLASSES: usize = 16;
/// At most so many blocks, and of at least this length.
const BLOCKS: usize = 64;
const BLOCK_FROM: usize = 32;

/// Classes of places.
pub(super) struct Classes<'a> {
    line: &'a Line,
    /// A class has `2^shift` places.
    shift: u32,
}

/// Sums by class.
pub(super) type Parts<S> = [Part<S>; CLASSES];

impl<'a> Classes<'a> {
    /// Of all places of a line.
    pub fn new(line: &'a Line) -> Self {
        Self { line, shift: line.len().div_ceil(CLASSES).next_power_of_two().ilog2() }
    }

    fn add<S: Sum>(&self, parts: &mut Parts<S>, place: usize) {
        let part = &mut parts[(place - 1) >> self.shift & (CLASSES - 1)];
        *part = part.with(self.line.weight(place), self.line.values[place]);
    }

    /// The sums of all samples of the line. O(W).
    pub fn whole<S: Sum>(&self) -> Parts<S> {
        let mut parts = [Part::default(); CLASSES];
        (1..=self.line.len()).for_each(|place| self.add(&mut parts, place));
        parts
    }

    /// At most the loss of both sides of any cut of a pass over these places, where `whole` has the sums of the whole node.
    pub fn least_loss<S: Sum>(&self, level: impl Level, whole: &Parts<S>, order: &[u32]) -> S {
        let mut pushed = [Part::default(); CLASSES];
        let mut least = None;
        let mut own = S::default();
        for block in order.chunks(order.len().div_ceil(BLOCKS).max(BLOCK_FROM)) {
            for &place in block {
                self.add(&mut pushed, place as usize);
            }
            let rest = std::array::from_fn(|class| whole[class].minus(pushed[class]));
            let loss = own + self.at_most_loss(level, &rest);
            least = Some(least.map_or(loss, |least: S| least.min(loss)));
            own = self.at_most_loss(level, &pushed);
        }
        least.unwrap_or_default()
    }

    /// At most the loss of samples with these sums.
    fn at_most_loss<S: Sum>(&self, level: impl Level, parts: &Parts<S>) -> S {
        let all = parts.iter().fold(Part::default(), |all: Part<S>, &part| all.plus(part));
        if all.weight == 0 {
            return S::default();
        }
        let (mut class, mut below) = (0, Part::<S>::default());
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
    use crate::criterion::quantile::level::Half;
    use crate::params::QuantileLevel;

    /// The least loss of samples, by trying each as the quantile.
    fn loss_of(level: impl Level, samples: &[(u64, i64)]) -> i64 {
        let about = |&(_, point): &(u64, i64)| {
            let distance = |is_above: bool| {
                let side = samples.iter().filter(|sample| (sample.1 > point) == is_above);
                side.map(|&(w, value)| w as i64 * (value - point).abs()).sum::<i64>()
            };
            level.loss(distance(true), distance(false))
        };
        samples.iter().map(about).min().unwrap_or(0)
    }

    fn check(level: impl Level, line: &Line, order: &[u32]) -> Result<(), TestCaseError> {
        let classes = Classes::new(line);
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
            check(Half, &line, &order)?;
            check(QuantileLevel::fraction(tenths, 10).unwrap(), &line, &order)?;
        }
    }

    #[test]
    fn bounds_tell_noise_from_signal() {
        // Of 1024 samples, pushed in the order of their targets or so that both halves alternate.
        let mut line = Line::default();
        line.clear();
        line.values.extend(1..=1024);
        let classes = Classes::new(&line);
        let whole = classes.whole::<i64>();
        let signal: Vec<u32> = (1..=1024).collect();
        let noise: Vec<u32> = (1..=512).flat_map(|i| [i, 1025 - i]).collect();
        // All: 2 (1 + 3 + ... + 1023) / 2 = 2^18. The best cut of the signal halves the halves: 2^17.
        let bound = |order: &[u32]| classes.least_loss(Half, &whole, order);
        assert!(bound(&signal) > 1 << 16 && bound(&signal) <= 1 << 17);
        assert!(bound(&noise) > 225_000 && bound(&noise) <= 1 << 18);
    }
}
