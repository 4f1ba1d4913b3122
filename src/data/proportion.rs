//! Weights that stand to each other as small integers do.
//!
//! Class weights are mostly ratios of counts: "balanced" gives a class of `n_c` of `n` samples the
//! weight `n / (k n_c)`. As doubles these are rounded, and two classes whose total weights are meant to
//! be equal differ in the last bit, which then decides what a leaf predicts. So the ratio of each weight
//! to the least one is read as the simplest fraction that rounding allows for, and all fractions are
//! brought to one denominator: then equal is equal.
//!
//! The simplest fraction within an interval is found by continued fractions: Knuth, "The Art of Computer
//! Programming", volume 2, section 4.5.3.

/// More distinct weights than classes usually have are no class weights.
const MOST_DISTINCT: usize = 256;
/// Numerators and denominators are below this. Fractions below it are so sparse that fewer than one
/// random number in a thousand is as near to one as [`ROUNDING`] asks.
const MOST: u64 = 1 << 20;
/// The relative difference allowed between a ratio and its fraction: weights are products and quotients of
/// numbers, and each operation rounds.
const ROUNDING: f64 = 4.0 * f64::EPSILON;

/// Weights as the smallest integers in the same proportion.
#[derive(Debug)]
pub(super) struct Proportion {
    pub integers: Vec<u64>,
    /// The weight that the integer 1 stands for.
    pub unit: f64,
}

/// The weights, at least one of them positive, as the smallest integers that stand to each other as
/// they do; none if there are none with a total below `limit`. O(weights) times the logarithm of
/// the number of distinct ones.
pub(super) fn proportion(weights: &[f64], limit: u64) -> Option<Proportion> {
    let mut distinct: Vec<f64> = Vec::new();
    for &weight in weights.iter().filter(|&&weight| weight > 0.0) {
        if let Err(place) = distinct.binary_search_by(|other| other.total_cmp(&weight)) {
            if distinct.len() == MOST_DISTINCT {
                return None;
            }
            distinct.insert(place, weight);
        }
    }
    let least = *distinct.first()?;
    let fractions = distinct.iter().map(|&weight| simplest(weight / least)).collect::<Option<Vec<_>>>()?;
    let common =
        fractions.iter().try_fold(1, |common, &(_, denominator)| least_common_multiple(common, denominator))?;
    let integer = |&(numerator, denominator): &(u64, u64)| numerator.checked_mul(common / denominator);
    let integers = fractions.iter().map(integer).collect::<Option<Vec<_>>>()?;
    let integer_of = |&weight: &f64| match distinct.binary_search_by(|other| other.total_cmp(&weight)) {
        Ok(place) => integers[place],
        Err(_) => 0,
    };
    let integers: Vec<u64> = weights.iter().map(integer_of).collect();
    let total = integers.iter().try_fold(0u64, |total, &integer| total.checked_add(integer))?;
    (total < limit).then_some(Proportion { integers, unit: least / common as f64 })
}

/// The fraction of the least denominator that a ratio of at least 1 may be but for rounding.
fn simplest(ratio: f64) -> Option<(u64, u64)> {
    // Convergents of the continued fraction. Of two that follow one another, the last is the nearer one.
    let (mut before, mut last) = ((0, 1), (1, 0));
    let mut rest = ratio;
    loop {
        let whole = rest.floor();
        if whole >= MOST as f64 {
            return None;
        }
        let next = (whole as u64 * last.0 + before.0, whole as u64 * last.1 + before.1);
        (before, last) = (last, next);
        if last.0.max(last.1) >= MOST {
            return None;
        }
        if (last.0 as f64 / last.1 as f64 - ratio).abs() <= ROUNDING * ratio {
            return Some(last);
        }
        rest = 1.0 / (rest - whole);
    }
}

fn least_common_multiple(a: u64, b: u64) -> Option<u64> {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x).checked_mul(b)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn balanced_weights_are_ratios_of_counts() {
        // Of 9 samples, 2, 3 and 4 are of each class.
        let weights = [2.0, 3.0, 4.0].map(|n| 9.0 / (3.0 * n));
        let Proportion { integers, unit } = proportion(&weights, 1 << 52).unwrap();
        assert_eq!(integers, [6, 4, 3]);
        assert!((unit - 0.25).abs() < 1e-15);
        let with_zero = proportion(&[0.3, 0.0, 0.5], 1 << 52).unwrap();
        assert_eq!(with_zero.integers, [3, 0, 5]);
    }

    #[test]
    fn other_weights_are_not() {
        for weights in [vec![1.0, std::f64::consts::PI], vec![1.0, 1e-9], vec![1.0, 1.0 + 1e-9]] {
            assert!(proportion(&weights, 1 << 52).is_none(), "{weights:?}");
        }
        let many: Vec<f64> = (0..1000).map(|i| 1.0 + f64::from(i) / 7.0).collect();
        assert!(proportion(&many, 1 << 52).is_none());
        assert!(proportion(&[1.0, 2.0], 3).is_none());
    }

    proptest! {
        #[test]
        fn totals_of_balanced_classes_are_equal(
            counts in prop::collection::vec(1u32..1000, 1..4), of_samples in prop::sample::select(vec![1.0, 3.0, 0.1]),
        ) {
            let n: u32 = counts.iter().sum();
            let weights: Vec<f64> = counts
                .iter()
                .map(|&count| f64::from(n) / (counts.len() as f64 * f64::from(count)) * of_samples)
                .collect();
            let found = proportion(&weights, 1 << 52).unwrap();
            let totals: Vec<u64> = counts.iter().zip(&found.integers).map(|(&n, w)| u64::from(n) * w).collect();
            prop_assert!(totals.windows(2).all(|pair| pair[0] == pair[1]), "{:?}", totals);
            for (weight, integer) in weights.iter().zip(&found.integers) {
                prop_assert!((*integer as f64 * found.unit / weight - 1.0).abs() < 1e-14);
            }
        }
    }
}
