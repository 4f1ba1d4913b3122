//! The urn from which rows are drawn with replacement.

use std::collections::HashMap;

use crate::data::Target;
use crate::data::target::Weights;
use crate::error::Result;
use crate::memory;
use crate::rng::NodeKey;
use crate::runtime::Runtime;

/// Number of draws between two looks at the stop flag: some milliseconds.
const DRAW_BLOCK: u64 = 1 << 18;

/// The urn of bootstrap samples: the number of a row's balls in it is its integer weight. So a row is drawn
/// in proportion to its weight, which is the meaning of weights under a bootstrap in scikit-learn 1.9. Equal
/// weights draw the same rows as no weights.
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
        Self::of_ends((0..n_samples).scan(0, add).collect())
    }

    /// Makes the urn in which these are the numbers of balls of each row and all rows before it.
    pub(super) fn of_ends(ends: Box<[u64]>) -> Self {
        Self { n_samples: ends.len(), n_balls: ends.last().copied().unwrap_or(0), ends: Some(ends) }
    }

    /// How often each row is drawn among the `n_draws` draws of tree number `tree`: a function of
    /// the seed, the tree and the weights. `n_draws` must be below 2^32. O(`n_draws`), times the
    /// logarithm of the number of rows if their weights differ.
    pub fn draw(&self, seed: u64, tree: u64, n_draws: u64, runtime: &Runtime<'_>) -> Result<Vec<u32>> {
        let mut counts = vec![0; self.n_samples];
        self.visit(seed, tree, n_draws, runtime, |row, _| counts[row] += 1)?;
        Ok(counts)
    }

    /// The rows of the `n_draws` draws of tree number `tree`, in the order of the draws: the rows that
    /// [`draw`](Self::draw) counts.
    pub fn drawn(&self, seed: u64, tree: u64, n_draws: u64, runtime: &Runtime<'_>) -> Result<Vec<u32>> {
        let mut rows = memory::reserve("draws", n_draws as usize)?;
        self.visit(seed, tree, n_draws, runtime, |row, _| rows.push(row as u32))?;
        Ok(rows)
    }

    /// Calls `visit` with the row and the ball of each draw of tree number `tree`.
    fn visit(
        &self,
        seed: u64,
        tree: u64,
        n_draws: u64,
        runtime: &Runtime<'_>,
        mut visit: impl FnMut(usize, u64),
    ) -> Result<()> {
        let draws = NodeKey::root(seed, tree).bootstrap();
        for start in (0..n_draws).step_by(DRAW_BLOCK as usize) {
            runtime.check_interrupt()?;
            for i in start..n_draws.min(start + DRAW_BLOCK) {
                let ball = draws.below(self.n_balls, i);
                visit(self.row(ball), ball);
            }
        }
        Ok(())
    }

    /// Draws `n_draws` rows without replacement, in the order of the draws: each row with a chance in
    /// proportion to its balls among the rows that are left. At least `n_draws` rows must have balls.
    /// O(`n_draws`) if each row has one ball, else O(rows) and O(`n_draws`) times the logarithm of the number
    /// of rows.
    pub fn distinct(&self, seed: u64, tree: u64, n_draws: u64, runtime: &Runtime<'_>) -> Result<Vec<u32>> {
        let draws = NodeKey::root(seed, tree).subsample();
        let mut rows = memory::reserve("draws", n_draws as usize)?;
        let mut left = self.ends.as_ref().map(|ends| BallsLeft::new(ends));
        // The first steps of a shuffle (Fisher & Yates) of all rows; only rows that have moved are kept.
        let mut moved = HashMap::new();
        let mut n_balls = self.n_balls;
        for i in 0..n_draws {
            if i % DRAW_BLOCK == 0 {
                runtime.check_interrupt()?;
            }
            let ball = draws.below(n_balls, i);
            rows.push(match &mut left {
                None => {
                    n_balls -= 1;
                    let last = moved.remove(&n_balls).unwrap_or(n_balls);
                    (if ball == n_balls { last } else { moved.insert(ball, last).unwrap_or(ball) }) as u32
                }
                Some(left) => {
                    let (row, own) = left.take(ball);
                    n_balls -= own;
                    row
                }
            });
        }
        Ok(rows)
    }

    /// How many balls of each row are in pieces from which the draws take a ball. The balls of a row are
    /// divided into pieces of `size`; the last piece may be smaller. None if each row has one ball.
    /// O(`n_draws`) times its logarithm.
    pub fn drawn_balls(
        &self,
        seed: u64,
        tree: u64,
        n_draws: u64,
        size: u64,
        runtime: &Runtime<'_>,
    ) -> Result<Option<Vec<u64>>> {
        let Some(ends) = &self.ends else { return Ok(None) };
        // The row and the first ball of each piece.
        let mut pieces = memory::reserve("draws", n_draws as usize)?;
        self.visit(seed, tree, n_draws, runtime, |row, ball| {
            let start = row.checked_sub(1).map_or(0, |before| ends[before]);
            pieces.push((row as u32, start + (ball - start) / size * size));
        })?;
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

/// The balls of the rows that have not been drawn, as a tree of sums (Fenwick, 1994): place `i`, counted from
/// 1, has the sum of the balls of the last `b` rows up to `i`, where `b` is the lowest bit of `i`.
struct BallsLeft {
    sums: Vec<u64>,
}

impl BallsLeft {
    /// The balls of rows whose running totals are `ends`. O(rows).
    fn new(ends: &[u64]) -> Self {
        let total = |n: usize| n.checked_sub(1).map_or(0, |last| ends[last]);
        let sum = |place: usize| total(place) - total(place & place.wrapping_sub(1));
        Self { sums: (0..=ends.len()).map(sum).collect() }
    }

    /// Takes all balls of the row that has this ball, and returns the row and their number. O(log rows).
    fn take(&mut self, mut ball: u64) -> (u32, u64) {
        let n_rows = self.sums.len() - 1;
        let (mut row, mut step) = (0, (n_rows + 1).next_power_of_two());
        while step > 0 {
            if row + step <= n_rows && self.sums[row + step] <= ball {
                row += step;
                ball -= self.sums[row];
            }
            step /= 2;
        }
        let own = self.upto(row + 1) - self.upto(row);
        let mut place = row + 1;
        while place <= n_rows {
            self.sums[place] -= own;
            place += place & place.wrapping_neg();
        }
        (row as u32, own)
    }

    /// The balls of the first `n` rows.
    fn upto(&self, mut n: usize) -> u64 {
        let mut sum = 0;
        while n > 0 {
            sum += self.sums[n];
            n &= n - 1;
        }
        sum
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
    fn distinct_rows_are_drawn_by_weight() {
        let runtime = Runtime::unstoppable();
        let urn = |weights: &[f64]| {
            let classes = vec![0; weights.len()];
            Urn::new(&Target::classification(&classes, &[1], Some(weights)).unwrap())
        };
        // The second of two draws is by the balls of the rows that are left.
        let weights = [0.0, 3.0, 1.0, 0.0, 4.0];
        let weighted = urn(&weights);
        let (mut first, mut second) = ([0.0; 5], [0.0; 5]);
        let n_trees = 20_000;
        for tree in 0..n_trees {
            let rows = weighted.distinct(7, tree, 3, &runtime).unwrap();
            let mut sorted = rows.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [1, 2, 4]);
            assert_eq!(weighted.distinct(7, tree, 2, &runtime).unwrap(), rows[..2]);
            first[rows[0] as usize] += 1.0 / n_trees as f64;
            second[rows[1] as usize] += 1.0 / n_trees as f64;
        }
        for row in 0..5 {
            let others = (0..5).filter(|&other| other != row);
            let expected: f64 = others.map(|other| weights[other] / 8.0 * weights[row] / (8.0 - weights[other])).sum();
            assert!((first[row] - weights[row] / 8.0).abs() < 0.015, "{row}");
            assert!((second[row] - expected).abs() < 0.015, "{row}");
        }
        // Equal weights draw as if there were none, and all rows at the end.
        let plain = urn(&[1.0; 40]);
        let mut all = plain.distinct(3, 0, 40, &runtime).unwrap();
        assert_eq!(plain.distinct(3, 0, 17, &runtime).unwrap(), all[..17]);
        all.sort_unstable();
        assert!(all.into_iter().eq(0..40));
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
