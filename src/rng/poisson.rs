//! Random counts with a Poisson distribution of mean 1. Any count can be computed without the
//! others.

use super::combine;

/// 2^64 / e, rounded down. 1 / e is the chance of the count 0, and of the count 1.
const E_INVERSE: u64 = 6_786_177_901_268_885_274;

/// The chances of a count of at most 0, 1, 2, ... as multiples of 2^-64. Chances beyond the last
/// element are within rounding of 1.
const AT_MOST: [u64; 20] = {
    let mut at_most = [E_INVERSE; 20];
    let mut exactly = E_INVERSE;
    let mut k = 1;
    while k < at_most.len() {
        exactly /= k as u64;
        at_most[k] = at_most[k - 1] + exactly;
        k += 1;
    }
    at_most
};

/// A count for every integer. The counts are independent and have a Poisson distribution of mean 1.
/// The counts of a bootstrap have nearly this distribution if there are many rows, but depend on
/// each other; Poisson counts of different rows do not (Oza & Russell, "Online bagging and
/// boosting", AISTATS 2001).
#[derive(Debug, Clone, Copy)]
pub struct PoissonCounts(u64);

impl PoissonCounts {
    pub(super) fn new(key: u64) -> Self {
        Self(key)
    }

    /// The count of `id`, by inversion of the distribution function. The chance of each count is
    /// within 2^-59 of the exact chance.
    #[inline]
    pub fn of(self, id: u64) -> u32 {
        let random = combine(self.0, id);
        // The loop takes two steps on average.
        AT_MOST.iter().take_while(|&&at_most| random >= at_most).count() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::NodeKey;

    #[test]
    fn chances_are_those_of_the_distribution() {
        let (mut exactly, mut at_most) = ((-1f64).exp(), 0.0);
        for (k, &chance) in AT_MOST.iter().enumerate() {
            at_most += exactly;
            exactly /= (k + 1) as f64;
            assert!((chance as f64 / 2f64.powi(64) - at_most).abs() < 1e-15, "{k}");
        }
    }

    #[test]
    fn counts_are_distributed_so_and_keys_independent() {
        let n = 100_000;
        let counts = |tree, attempt| {
            let counts = NodeKey::root(5, tree).poisson(attempt);
            (0..n).map(move |id| counts.of(id)).collect::<Vec<_>>()
        };
        let one = counts(0, 0);
        let mut chance = (-1f64).exp();
        for k in 0..6 {
            let share = one.iter().filter(|&&count| count == k).count() as f64 / n as f64;
            // Six standard deviations.
            assert!((share - chance).abs() < 6.0 * (chance * (1.0 - chance) / n as f64).sqrt(), "{k}: {share}");
            chance /= f64::from(k + 1);
        }
        for other in [counts(1, 0), counts(0, 1)] {
            let product: u32 = one.iter().zip(&other).map(|(a, b)| a * b).sum();
            // The product of independent counts has mean 1 and variance 3.
            assert!((f64::from(product) / n as f64 - 1.0).abs() < 6.0 * (3.0 / n as f64).sqrt());
        }
    }
}
