//! The urn from which rows are drawn with replacement.

use crate::data::Target;
use crate::data::target::Weights;
use crate::error::Result;
use crate::memory;
use crate::rng::NodeKey;
use crate::runtime::Runtime;

/// Number of draws between two looks at the stop flag: some milliseconds.
const DRAW_BLOCK: u64 = 1 << 18;

/// The urn of bootstrap samples: each row has as many balls in it as its integer weight. So a row
/// is drawn in proportion to its weight, which is the meaning of weights under a bootstrap in
/// scikit-learn 1.9. Equal weights draw the same rows as no weights.
#[derive(Debug)]
pub struct Urn {
    n_samples: usize,
    n_balls: u64,
    /// For each row, the number of balls of this row and of all rows before it. `None` if each row
    /// has one ball.
    ends: Option<Box<[u64]>>,
}

impl Urn {
    /// Makes the urn of a target's weights. O(samples).
    pub fn new(target: &Target) -> Self {
        Self::of_weights(target.weights(), target.n_samples())
    }

    /// Makes the urn of the weights of `n_samples` rows. O(samples).
    pub fn of_weights(weights: &Weights, n_samples: usize) -> Self {
        if matches!(weights, Weights::Unit) {
            return Self { n_samples, n_balls: n_samples as u64, ends: None };
        }
        let add = |end: &mut u64, sample| {
            *end += weights.get(sample);
            Some(*end)
        };
        let ends: Box<[u64]> = (0..n_samples).scan(0, add).collect();
        Self { n_samples, n_balls: ends.last().copied().unwrap_or(0), ends: Some(ends) }
    }

    /// How often each row is drawn among the `n_draws` draws of tree number `tree`: a function of
    /// the seed, the tree and the weights. `n_draws` must be below 2^32. O(`n_draws`), times the
    /// logarithm of the number of rows if their weights differ.
    pub fn draw(&self, seed: u64, tree: u64, n_draws: u64, runtime: &Runtime<'_>) -> Result<Vec<u32>> {
        let draws = NodeKey::root(seed, tree).bootstrap();
        let mut counts = vec![0; self.n_samples];
        for start in (0..n_draws).step_by(DRAW_BLOCK as usize) {
            runtime.check_interrupt()?;
            for i in start..n_draws.min(start + DRAW_BLOCK) {
                counts[self.row(draws.below(self.n_balls, i))] += 1;
            }
        }
        Ok(counts)
    }

    /// How many balls of each row are in pieces of which the same draws take a ball: the balls of a row are
    /// divided into pieces of `size`, the last one of which may be smaller. None if each row has one
    /// ball. O(`n_draws`) times its logarithm.
    pub fn drawn_balls(
        &self,
        seed: u64,
        tree: u64,
        n_draws: u64,
        size: u64,
        runtime: &Runtime<'_>,
    ) -> Result<Option<Vec<u64>>> {
        let Some(ends) = &self.ends else { return Ok(None) };
        let draws = NodeKey::root(seed, tree).bootstrap();
        // The row and the first ball of each piece.
        let mut pieces = memory::reserve("draws", n_draws as usize)?;
        for i in 0..n_draws {
            if i % DRAW_BLOCK == 0 {
                runtime.check_interrupt()?;
            }
            let ball = draws.below(self.n_balls, i);
            let row = self.row(ball);
            let start = row.checked_sub(1).map_or(0, |before| ends[before]);
            pieces.push((row as u32, start + (ball - start) / size * size));
        }
        pieces.sort_unstable();
        pieces.dedup();
        let mut drawn = vec![0; self.n_samples];
        for (row, first) in pieces {
            drawn[row as usize] += size.min(ends[row as usize] - first);
        }
        Ok(Some(drawn))
    }

    /// The row that a ball belongs to. A row without balls is never returned.
    #[inline]
    fn row(&self, ball: u64) -> usize {
        match &self.ends {
            None => ball as usize,
            Some(ends) => ends.partition_point(|&end| end <= ball),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_drawn_as_copies_are() {
        let weights = [0.0, 2.0, 1.0, 5.0];
        let urn = Urn::new(&Target::classification(&[0, 1, 1, 0], &[2], Some(&weights)).unwrap());
        let copies = Urn::new(&Target::classification(&[0; 8], &[1], None).unwrap());
        let runtime = Runtime::unstoppable();
        for seed in 0..20 {
            let of_copies = copies.draw(seed, 3, 6, &runtime).unwrap();
            let drawn = |range: std::ops::Range<usize>| of_copies[range].iter().filter(|&&n| n > 0).count() as u64;
            let expected = vec![0, drawn(0..2), drawn(2..3), drawn(3..8)];
            assert_eq!(urn.drawn_balls(seed, 3, 6, 1, &runtime).unwrap(), Some(expected));
            let whole = urn.drawn_balls(seed, 3, 6, 5, &runtime).unwrap().unwrap();
            let counts = urn.draw(seed, 3, 6, &runtime).unwrap();
            let all = |(&n, balls): (&u32, [u64; 1])| if n > 0 { balls[0] } else { 0 };
            assert_eq!(whole, counts.iter().zip([[0], [2], [1], [5]]).map(all).collect::<Vec<_>>());
        }
        assert_eq!(copies.drawn_balls(0, 0, 6, 1, &runtime).unwrap(), None);
    }

    #[test]
    fn balls_belong_to_rows_by_weight() {
        let target = |weights: Option<&[f64]>| Target::classification(&[0, 1, 1, 0], &[2], weights).unwrap();
        let urn = Urn::new(&target(Some(&[0.0, 2.0, 0.0, 3.0])));
        assert_eq!(urn.n_balls, 5);
        assert_eq!([0, 1, 2, 3, 4].map(|ball| urn.row(ball)), [1, 1, 3, 3, 3]);
        for plain in [Urn::new(&target(None)), Urn::new(&target(Some(&[0.3; 4])))] {
            assert_eq!(plain.n_balls, 4);
            assert_eq!([0, 1, 2, 3].map(|ball| plain.row(ball)), [0, 1, 2, 3]);
        }
    }
}
