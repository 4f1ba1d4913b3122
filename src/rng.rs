//! Keyed randomness: every random choice is a pure function of (seed, tree, node path, purpose).
//!
//! No generator carries a state from one choice to the next. So the order of growth, the number of threads,
//! and whether a node is visited at all cannot change what is drawn elsewhere. The idea is from counter-based
//! generators (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). The mixing function is
//! the finalizer of `SplitMix64` (Steele, Lea, Flood, "Fast splittable pseudorandom number generators",
//! OOPSLA 2014).

mod permutation;
mod poisson;

pub use permutation::Permutation;
pub use poisson::PoissonCounts;

use crate::simd::vectorized;

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

#[inline]
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// The inverse of [`mix`]. Shifts are undone from the high bits down, and multiplications by the
/// inverses of the odd factors modulo 2^64.
fn unmix(x: u64) -> u64 {
    let x = (x ^ (x >> 31) ^ (x >> 62)).wrapping_mul(0x3196_42B2_D24D_8EC3);
    let x = (x ^ (x >> 27) ^ (x >> 54)).wrapping_mul(0x96DE_1B17_3F11_9089);
    x ^ (x >> 30) ^ (x >> 60)
}

/// A number that depends on both numbers and their order; two other numbers hardly ever give the same one.
#[inline]
pub(crate) fn combine(key: u64, word: u64) -> u64 {
    combine_hashed(key, hashed(word))
}

/// The part of [`combine`] that depends on the word alone.
#[inline]
pub(crate) fn hashed(word: u64) -> u64 {
    mix(word.wrapping_add(GOLDEN))
}

/// As [`combine`], for a word that is [hashed].
#[inline]
fn combine_hashed(key: u64, hashed: u64) -> u64 {
    mix(key.wrapping_add(GOLDEN) ^ hashed)
}

vectorized! {
    /// [Combines](combine) each key with a word that is [hashed].
    pub(crate) fn combine_all(keys: &mut [u64], hashed: &[u64]) {
        for (key, &hashed) in keys.iter_mut().zip(hashed) {
            *key = combine_hashed(*key, hashed);
        }
    }
}

/// The most coins that are tossed for rows of the same contents.
const MOST_TOSSES: u32 = 1024;

/// A child of a node, or the side of a cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The left side: `x <= threshold`.
    Left,
    /// The right side: `x > threshold`.
    Right,
}

/// The purpose of a random number. Each purpose has its own stream of numbers.
#[derive(Clone, Copy)]
enum Purpose {
    Features = 1,
    Threshold = 2,
    Bootstrap = 3,
    Subsample = 4,
    Poisson = 5,
    Categories = 6,
    Halves = 7,
    TreeFeatures = 8,
    Missing = 9,
    LeafRows = 10,
    Honesty = 11,
    HalfSample = 12,
    Dropout = 13,
}

/// The seed whose tree number 0 is tree number `tree` of `seed`. With this seed, a tree of a forest
/// can be grown alone.
pub fn seed_of_tree(seed: u64, tree: u64) -> u64 {
    // Solves `NodeKey::root(s, 0) == NodeKey::root(seed, tree)` for `s`.
    let word = |tree: u64| mix(tree.wrapping_add(GOLDEN));
    unmix((mix(seed).wrapping_add(GOLDEN) ^ word(tree) ^ word(0)).wrapping_sub(GOLDEN))
}

/// The key of a node, from which all random choices in the node are derived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeKey(u64);

impl NodeKey {
    /// The key of the root of tree number `tree`.
    pub fn root(seed: u64, tree: u64) -> Self {
        Self(combine(mix(seed), tree))
    }

    /// The key of the child on one side.
    #[must_use]
    pub fn child(self, side: Side) -> Self {
        Self(combine(self.0, side as u64))
    }

    /// The order in which the node draws its features.
    #[inline]
    pub fn feature_order(self, n_features: usize) -> Permutation {
        Permutation::new(combine(self.0, Purpose::Features as u64), n_features)
    }

    /// The order in which a tree draws the features of all its nodes. The key must be the root's.
    pub fn tree_feature_order(self, n_features: usize) -> Permutation {
        Permutation::new(combine(self.0, Purpose::TreeFeatures as u64), n_features)
    }

    /// On which side of the random threshold of `feature` missing values go, where no side is better.
    pub fn side_of_missing(self, feature: u32) -> Side {
        let bits = combine(combine(self.0, Purpose::Missing as u64), u64::from(feature));
        if bits >> 63 == 0 { Side::Left } else { Side::Right }
    }

    /// The position in [0, 1) of the random threshold of `feature` between its extremes in the
    /// node.
    pub fn threshold_position(self, feature: u32) -> f64 {
        let bits = combine(combine(self.0, Purpose::Threshold as u64), u64::from(feature));
        (bits >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A random number whose lowest bit says whether a category is in the node's random subset of
    /// the categories of `feature`. The category is named by its identity.
    pub fn category(self, feature: u32, identity: u32) -> u64 {
        combine(combine(self.0, Purpose::Categories as u64), u64::from(feature) << 32 | u64::from(identity))
    }

    /// How many of `n` rows of these contents are in the second half of the rows of a tree: a binomial
    /// number, or for many rows one of nearly the same mean and variance. The key must be the root's.
    pub fn in_second_half(self, contents: u64, n: u32) -> u32 {
        let key = combine(combine(self.0, Purpose::Halves as u64), contents);
        let heads = |n_tosses: u32| -> u32 {
            let words = (0..n_tosses.div_ceil(u64::BITS)).map(|i| {
                let unused = u64::BITS.saturating_sub(n_tosses - i * u64::BITS);
                combine(key, i.into()) << unused
            });
            words.map(u64::count_ones).sum()
        };
        if n <= MOST_TOSSES {
            return heads(n);
        }
        let deviation = f64::from(heads(MOST_TOSSES)) - f64::from(MOST_TOSSES / 2);
        let (n, scale) = (f64::from(n), f64::from(MOST_TOSSES));
        (n / 2.0 + deviation * (n / scale).sqrt()).round() as u32
    }

    /// The draws with replacement of the rows of a tree. The key must be the root's.
    pub fn bootstrap(self) -> Draws {
        Draws(combine(self.0, Purpose::Bootstrap as u64))
    }

    /// The draws without replacement of the rows of a tree. The key must be the root's.
    pub fn subsample(self) -> Draws {
        Draws(combine(self.0, Purpose::Subsample as u64))
    }

    /// The draws without replacement of the rows that a leaf keeps. The key must be the root's.
    pub fn leaf_rows(self, node: u64) -> Draws {
        Draws(combine(combine(self.0, Purpose::LeafRows as u64), node))
    }

    /// The draws of the half of the rows that the trees of a subforest share. The key must be the root's of
    /// the first of them.
    pub fn half_sample(self) -> Draws {
        Draws(combine(self.0, Purpose::HalfSample as u64))
    }

    /// The draws of the rounds of boosting that are dropped while a tree is grown. The key must be the
    /// root's.
    pub fn dropout(self) -> Draws {
        Draws(combine(self.0, Purpose::Dropout as u64))
    }

    /// The draws of the rows that choose the splits of an honest tree. The key must be the root's.
    pub fn honesty(self) -> Draws {
        Draws(combine(self.0, Purpose::Honesty as u64))
    }

    /// The Poisson counts of the rows of a tree. Each number `attempt` gives independent counts. The key must
    /// be the root's.
    pub fn poisson(self, attempt: u64) -> PoissonCounts {
        PoissonCounts::new(combine(combine(self.0, Purpose::Poisson as u64), attempt))
    }
}

/// A sequence of independent uniform integers. Any element can be computed without the elements before it.
#[derive(Debug, Clone, Copy)]
pub struct Draws(u64);

impl Draws {
    /// Element number `i` of the sequence: an integer below `n`. The chance of each integer is
    /// within 2^-64 of `1 / n`.
    #[inline]
    pub fn below(self, n: u64, i: u64) -> u64 {
        high_product(combine(self.0, i), n)
    }

    /// Whether element number `i` of the sequence is an event of this chance.
    #[inline]
    pub fn is_below(self, chance: f64, i: u64) -> bool {
        const STEPS: u64 = 1 << 53;
        (self.below(STEPS, i) as f64) < chance * STEPS as f64
    }
}

/// Maps 64 random bits to an integer below `n`: the high half of their product with `n`.
#[inline]
fn high_product(random: u64, n: u64) -> u64 {
    ((u128::from(random) * u128::from(n)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Level;
    use std::collections::HashMap;

    #[test]
    fn permutations_are_bijections_and_invert() {
        for n in [1usize, 2, 3, 4, 5, 7, 8, 9, 31, 64, 100, 1000] {
            let order = NodeKey::root(7, n as u64).feature_order(n);
            let mut seen = vec![false; n];
            for position in 0..n as u32 {
                let feature = order.at(position);
                assert!(!std::mem::replace(&mut seen[feature as usize], true));
                assert_eq!(order.position(feature), position);
            }
            let mut visited = Vec::new();
            let found: Option<()> = order.find(Level::widest(), |feature| {
                visited.push(feature);
                None
            });
            assert!(found.is_none());
            assert_eq!(visited, (0..n as u32).map(|position| order.at(position)).collect::<Vec<_>>());
            assert_eq!(order.find(Level::widest(), Some), Some(visited[0]));
        }
    }

    #[test]
    fn subsets_are_drawn_evenly() {
        for (n, k) in [
            (2u32, 1u32),
            (3, 1),
            (3, 2),
            (4, 2),
            (5, 2),
            (6, 3),
            (7, 2),
            (10, 1),
            (10, 2),
            (17, 2),
            (30, 2),
            (65, 2),
            (100, 2),
            (300, 1),
        ] {
            let n_subsets = (0..k).fold(1, |c, i| c * (n - i) / (i + 1));
            let draws = 40_000.max(30 * n_subsets);
            let mut counts: HashMap<Vec<u32>, u32> = HashMap::new();
            for seed in 0..draws {
                let order = NodeKey::root(u64::from(seed), 0).feature_order(n as usize);
                let mut subset: Vec<u32> = (0..k).map(|position| order.at(position)).collect();
                subset.sort_unstable();
                *counts.entry(subset).or_default() += 1;
            }
            let expected = f64::from(draws) / f64::from(n_subsets);
            assert_eq!(counts.len() as u32, n_subsets);
            let chi2: f64 = counts.values().map(|&c| (f64::from(c) - expected).powi(2) / expected).sum();
            // Chi-square has mean df and standard deviation sqrt(2 df). A value more than six
            // deviations above the mean shows a biased draw.
            let df = f64::from(n_subsets - 1);
            assert!(chi2 < df + 6.0 * (2.0 * df).sqrt().max(1.5), "n={n} k={k}: chi2 {chi2} df {df}");
        }
    }

    #[test]
    fn a_tree_has_a_seed_of_its_own() {
        for x in [0, 1, 0xFFFF_FFFF, GOLDEN, u64::MAX] {
            assert_eq!(unmix(mix(x)), x);
            assert_eq!(mix(unmix(x)), x);
            assert_eq!(seed_of_tree(x, 0), x);
            for tree in [0, 1, 2, 1000, u64::MAX] {
                assert_eq!(NodeKey::root(seed_of_tree(x, tree), 0), NodeKey::root(x, tree));
            }
        }
    }

    #[test]
    fn positions_are_uniform_and_keys_independent() {
        let key = NodeKey::root(1, 0);
        let mean = (0..10_000).map(|f| key.threshold_position(f)).sum::<f64>() / 10_000.0;
        assert!((mean - 0.5).abs() < 0.02);
        assert_ne!(key.child(Side::Left), key.child(Side::Right));
        assert_ne!(NodeKey::root(1, 0), NodeKey::root(0, 1));
    }
}
