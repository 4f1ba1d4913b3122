//! Random permutations of the features whose elements are computed on demand, not stored.

use super::{GOLDEN, high_product, mix};
use crate::simd::{Level, vectorized};

/// Up to this many features are shuffled: a Feistel network for so few values mixes badly.
const SHUFFLE_UP_TO: usize = 64;

/// A keyed random permutation of the features, and its inverse. A look-up takes O(1) time and
/// memory; with up to 64 features, a time in proportion to the position.
#[derive(Debug, Clone, Copy)]
pub struct Permutation(PermutationKind);

#[derive(Debug, Clone, Copy)]
enum PermutationKind {
    /// For up to [`SHUFFLE_UP_TO`] features.
    Shuffle(Shuffle),
    /// For more than [`SHUFFLE_UP_TO`] features.
    Network(Network),
}

impl Permutation {
    #[inline]
    pub(super) fn new(key: u64, n: usize) -> Self {
        debug_assert!(n > 0);
        Self(if n > SHUFFLE_UP_TO {
            PermutationKind::Network(Network::new(key, n as u32))
        } else {
            PermutationKind::Shuffle(Shuffle { key, n: n as u8 })
        })
    }

    /// The feature drawn at `position`.
    pub fn at(&self, position: u32) -> u32 {
        match &self.0 {
            PermutationKind::Shuffle(shuffle) => {
                shuffle.run(position as usize + 1, |_, _| false)[position as usize].into()
            }
            PermutationKind::Network(network) => network.walk(network.forwards(position), Network::forwards),
        }
    }

    /// The position at which `feature` is drawn: the inverse of [`at`](Self::at).
    pub fn position(&self, feature: u32) -> u32 {
        match &self.0 {
            PermutationKind::Shuffle(shuffle) => shuffle.position(feature),
            PermutationKind::Network(network) => network.walk(network.backwards(feature), Network::backwards),
        }
    }

    /// Sets `out` to the features at the positions from `start` on. Far cheaper than a call of
    /// [`at`](Self::at) per position (bench `draw`).
    #[inline]
    pub fn draw(&self, level: Level, start: u32, out: &mut [u32]) {
        match &self.0 {
            PermutationKind::Shuffle(shuffle) => shuffle.draw(start as usize, out),
            PermutationKind::Network(network) if out.len() <= LANES => draw_few(level, network, start, out),
            PermutationKind::Network(network) => draw(level, network, start, out),
        }
    }

    /// Visits the features in the order of the draw until `visit` returns something, which is returned.
    #[inline]
    pub fn find<T>(&self, level: Level, mut visit: impl FnMut(u32) -> Option<T>) -> Option<T> {
        match &self.0 {
            PermutationKind::Shuffle(shuffle) => {
                let mut features = Shuffle::ORDERED;
                (0..usize::from(shuffle.n)).find_map(|i| visit(shuffle.step(i, &mut features).into()))
            }
            PermutationKind::Network(network) => {
                let mut features = [0; LANES];
                (0..network.n).step_by(LANES).find_map(|start| {
                    let features = &mut features[..LANES.min((network.n - start) as usize)];
                    draw_few(level, network, start, features);
                    features.iter().find_map(|&feature| visit(feature))
                })
            }
        }
    }

    /// Sets `out` to the features at the positions `0..k`, in this order.
    pub fn first(&self, level: Level, k: u32, out: &mut Vec<u32>) {
        out.clear();
        out.resize(k as usize, 0);
        self.draw(level, 0, out);
    }

    /// Sets `out` to the positions at which `features` are drawn. Far cheaper than a call of
    /// [`position`](Self::position) per feature (bench `draw`).
    pub fn positions(&self, level: Level, features: &[u32], out: &mut [u32]) {
        match &self.0 {
            PermutationKind::Shuffle(shuffle) => {
                let mut positions = [0; SHUFFLE_UP_TO];
                for (position, feature) in (0..).zip(shuffle.run(usize::from(shuffle.n), |_, _| false)) {
                    positions[usize::from(feature)] = position;
                }
                out.iter_mut().zip(features).for_each(|(out, &feature)| *out = positions[feature as usize]);
            }
            PermutationKind::Network(network) => positions(level, network, features, out),
        }
    }
}

/// A shuffle from the front (Fisher & Yates), so that the first positions are known first.
#[derive(Debug, Clone, Copy)]
struct Shuffle {
    key: u64,
    n: u8,
}

impl Shuffle {
    /// All features in order.
    const ORDERED: [u8; SHUFFLE_UP_TO] = {
        let (mut features, mut i) = ([0; SHUFFLE_UP_TO], 0);
        while i < SHUFFLE_UP_TO {
            features[i] = i as u8;
            i += 1;
        }
        features
    };

    /// Draws the feature at a position; all positions before it must have been drawn.
    #[inline]
    fn step(self, i: usize, features: &mut [u8; SHUFFLE_UP_TO]) -> u8 {
        // The random number is a step of `SplitMix64`. It is mapped to the features that are left.
        let random = mix(self.key.wrapping_add(GOLDEN.wrapping_mul(i as u64 + 1)));
        let chosen = i + high_product(random, (usize::from(self.n) - i) as u64) as usize;
        features.swap(i, chosen);
        features[i]
    }

    /// Shuffles until the features at the positions `0..k` are final, and returns all features.
    /// Ends earlier if `stop` holds for a position and its feature.
    fn run(self, k: usize, mut stop: impl FnMut(usize, u8) -> bool) -> [u8; SHUFFLE_UP_TO] {
        debug_assert!(k <= usize::from(self.n));
        let mut features = Self::ORDERED;
        for i in 0..k {
            let feature = self.step(i, &mut features);
            if stop(i, feature) {
                break;
            }
        }
        features
    }

    /// See [`Permutation::draw`].
    fn draw(self, start: usize, out: &mut [u32]) {
        debug_assert!(start + out.len() <= usize::from(self.n));
        let mut features = Self::ORDERED;
        for i in 0..start {
            self.step(i, &mut features);
        }
        // Taken one by one: wide reads behind the loop would wait for the bytes that it writes.
        for (i, out) in (start..).zip(out) {
            *out = self.step(i, &mut features).into();
        }
    }

    fn position(self, feature: u32) -> u32 {
        let mut position = 0;
        self.run(usize::from(self.n), |i, drawn| {
            position = i as u32;
            u32::from(drawn) == feature
        });
        position
    }
}

/// Numbers that begin with a cache line, so that no vector register is read from two lines.
#[repr(align(64))]
struct Aligned([u16; BLOCK]);

/// Number of cycles of the network; a cycle is two rounds. With three cycles the frequencies of
/// pairs are just about even among 65 to 600 features, with two cycles they are not; four leave a
/// margin.
const CYCLES: usize = 4;
/// Number of values that are enciphered together: their halves are in the first-level cache.
const BLOCK: usize = 256;
/// A part of a block is as long as a multiple of this, so that vector registers are full. This many values
/// are enciphered in registers (bench `draw`).
const LANES: usize = 32;

/// A generalised Feistel network over the pairs (high, low) with high below `n_high` and low below
/// `2^low_bits`. The network permutes these pairs; cycle walking restricts it to `n` values (Black
/// & Rogaway, "Ciphers with arbitrary finite domains", 2002). The domain has less than `2^low_bits`
/// values more than `n`, which is at most sqrt(2 n), so walks are rare. All arithmetic is of 16
/// bits, so that a vector register of any x86-64 processor holds eight values: SSE2 can multiply
/// 16-bit integers, but not 32-bit ones.
#[derive(Debug, Clone, Copy)]
struct Network {
    n: u32,
    low_bits: u32,
    n_high: u16,
    cycles: [Cycle; CYCLES],
}

/// Two rounds of the network: the first changes the high half, the second the low half.
#[derive(Debug, Clone, Copy)]
struct Cycle {
    high: Hash,
    low: Hash,
}

/// A hash of 16 bits made of two multiply-shift steps (Dietzfelbinger et al., "A reliable
/// randomized algorithm for the closest-pair problem", 1997). One step alone is linear, and would
/// make the network linear. The high bits of the hash are the well-mixed ones.
#[derive(Debug, Clone, Copy)]
struct Hash {
    flip: u16,
    first: u16,
    second: u16,
}

impl Hash {
    /// Makes hash number `i` of a key from a step of `SplitMix64`.
    #[inline]
    fn new(key: u64, i: usize) -> Self {
        let bits = mix(key.wrapping_add(GOLDEN.wrapping_mul(i as u64 + 1)));
        Self { flip: bits as u16, first: (bits >> 16) as u16 | 1, second: (bits >> 32) as u16 | 1 }
    }

    #[inline]
    fn of(self, x: u16) -> u16 {
        let x = (x ^ self.flip).wrapping_mul(self.first);
        (x ^ (x >> 8)).wrapping_mul(self.second)
    }
}

impl Network {
    #[inline(never)]
    fn new(key: u64, n: u32) -> Self {
        // `bits / 2` is rounded down, so that the high half has at least nine values. With 31 bits
        // the high half would have one value too many for 16 bits, so the low half gets one bit
        // more.
        let bits = u32::BITS - (n - 1).leading_zeros();
        let low_bits = if bits == 31 { 16 } else { bits / 2 };
        let n_high = n.div_ceil(1 << low_bits);
        debug_assert!(u16::try_from(n_high).is_ok(), "too many features");
        let cycle = |i| Cycle { high: Hash::new(key, 2 * i), low: Hash::new(key, 2 * i + 1) };
        Self { n, low_bits, n_high: n_high as u16, cycles: std::array::from_fn(cycle) }
    }

    /// Repeats `step`, beginning with `x`, until the value is below `n`.
    #[inline]
    fn walk(&self, mut x: u32, step: impl Fn(&Self, u32) -> u32) -> u32 {
        while x >= self.n {
            x = step(self, x);
        }
        x
    }

    fn forwards(&self, x: u32) -> u32 {
        let halves = self.cycles.iter().fold(self.split(x), |halves, cycle| self.turn(cycle, halves, self.n_high));
        self.join(halves)
    }

    fn backwards(&self, x: u32) -> u32 {
        let cycles = self.cycles.iter().rev();
        self.join(cycles.fold(self.split(x), |halves, cycle| self.turn_back(cycle, halves, self.n_high)))
    }

    /// One cycle of the network. The third argument is `n_high`.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "compiled for each width of vector registers")]
    fn turn(&self, cycle: &Cycle, (high, low): (u16, u16), n_high: u16) -> (u16, u16) {
        let high = self.minus(high, shift(cycle, low, n_high));
        (high, low ^ self.flips(cycle, high))
    }

    /// The inverse of [`turn`](Self::turn).
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "compiled for each width of vector registers")]
    fn turn_back(&self, cycle: &Cycle, (high, low): (u16, u16), n_high: u16) -> (u16, u16) {
        let low = low ^ self.flips(cycle, high);
        (self.minus(high, self.n_high - shift(cycle, low, n_high)), low)
    }

    /// Sets the halves to what `cycles` make of these values. `n_high` has one item for each half.
    ///
    /// One cycle goes over all values before the next one begins, so that the processor need not
    /// wait for one value before it works on others.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "compiled for each width of vector registers")]
    fn encipher<'c>(
        &self,
        values: impl Iterator<Item = u32>,
        cycles: impl Iterator<Item = &'c Cycle>,
        turn: impl Fn(&Self, &Cycle, (u16, u16), u16) -> (u16, u16),
        (high, low): (&mut [u16], &mut [u16]),
        n_high: &[u16],
    ) {
        for ((high, low), value) in high.iter_mut().zip(low.iter_mut()).zip(values) {
            (*high, *low) = self.split(value);
        }
        for cycle in cycles {
            for ((high, low), &n_high) in high.iter_mut().zip(low.iter_mut()).zip(n_high) {
                (*high, *low) = turn(self, cycle, (*high, *low), n_high);
            }
        }
    }

    /// Sets `out` to the values of the halves, one for each pair. Values out of range walk on by `step`.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "compiled for each width of vector registers")]
    fn join_all(&self, (high, low): (&[u16], &[u16]), step: impl Fn(&Self, u32) -> u32, out: &mut [u32]) {
        let mut most = 0;
        for ((out, &high), &low) in out.iter_mut().zip(high).zip(low) {
            *out = self.join((high, low));
            most = most.max(*out);
        }
        if most >= self.n {
            self.walk_into_range(out, step);
        }
    }

    /// One copy of `n_high` for each value to encipher. The compiler multiplies in 16 bits only where it
    /// reads both factors from arrays of 16-bit numbers. If it knew that all numbers of one array are the
    /// same, it would keep that number in 32 bits (`benches/notes/sparse-search.md`), so `black_box` hides
    /// it.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "compiled for each width of vector registers")]
    fn copies_of_n_high<const N: usize>(&self) -> [u16; N] {
        std::hint::black_box([self.n_high; N])
    }

    /// Lets values out of range walk on by `step`. These are few, so values are looked at side by
    /// side first.
    fn walk_into_range(&self, values: &mut [u32], step: impl Fn(&Self, u32) -> u32) {
        for values in values.chunks_mut(LANES) {
            if values.iter().fold(0, |most, &x| x.max(most)) >= self.n {
                for x in values {
                    *x = self.walk(*x, &step);
                }
            }
        }
    }

    #[inline]
    fn split(&self, x: u32) -> (u16, u16) {
        ((x >> self.low_bits) as u16, (x & ((1 << self.low_bits) - 1)) as u16)
    }

    #[inline]
    fn join(&self, (high, low): (u16, u16)) -> u32 {
        u32::from(high) << self.low_bits | u32::from(low)
    }

    /// The bits that a cycle flips in the low half.
    #[inline]
    fn flips(&self, cycle: &Cycle, high: u16) -> u16 {
        cycle.low.of(high) >> (16 - self.low_bits)
    }

    /// `high - shift` modulo `n_high`.
    #[inline]
    fn minus(&self, high: u16, shift: u16) -> u16 {
        let difference = high.wrapping_sub(shift);
        if high < shift { difference.wrapping_add(self.n_high) } else { difference }
    }
}

/// The distance, below `n_high`, by which a cycle shifts the high half.
#[inline]
fn shift(cycle: &Cycle, low: u16, n_high: u16) -> u16 {
    ((u32::from(cycle.high.of(low)) * u32::from(n_high)) >> 16) as u16
}

vectorized! {
    /// At most [`LANES`] positions, whose halves stay in registers.
    fn draw_few(network: &Network, start: u32, out: &mut [u32]) {
        let (mut high, mut low) = ([0; LANES], [0; LANES]);
        let n_high = network.copies_of_n_high::<LANES>();
        let positions = (0..LANES as u32).map(|i| start.wrapping_add(i));
        network.encipher(positions, network.cycles.iter(), Network::turn, (&mut high, &mut low), &n_high);
        network.join_all((&high, &low), Network::forwards, out);
    }
}

vectorized! {
    fn draw(network: &Network, start: u32, out: &mut [u32]) {
        let (mut high, mut low) = (Aligned([0; BLOCK]), Aligned([0; BLOCK]));
        let n_high = network.copies_of_n_high::<BLOCK>();
        for (out, start) in out.chunks_mut(BLOCK).zip((start..).step_by(BLOCK)) {
            let n = out.len().next_multiple_of(LANES);
            let (high, low) = (&mut high.0[..n], &mut low.0[..n]);
            // The last position of a block of padding may be above the last number.
            let positions = (0..BLOCK as u32).map(|i| start.wrapping_add(i));
            network.encipher(positions, network.cycles.iter(), Network::turn, (high, low), &n_high[..n]);
            network.join_all((high, low), Network::forwards, out);
        }
    }
}

vectorized! {
    fn positions(network: &Network, features: &[u32], out: &mut [u32]) {
        let (mut high, mut low) = (Aligned([0; BLOCK]), Aligned([0; BLOCK]));
        let n_high = network.copies_of_n_high::<BLOCK>();
        for (features, out) in features.chunks(BLOCK).zip(out.chunks_mut(BLOCK)) {
            let n = out.len().next_multiple_of(LANES);
            let (high, low) = (&mut high.0[..n], &mut low.0[..n]);
            let features = features.iter().copied();
            let cycles = network.cycles.iter().rev();
            network.encipher(features, cycles, Network::turn_back, (high, low), &n_high[..n]);
            network.join_all((high, low), Network::backwards, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::rng::{NodeKey, Side};
    use crate::simd::Level;

    /// Numbers of features of 7 to 17 bits, odd and even, at both ends of the range of each.
    const WIDTHS: [usize; 20] =
        [65, 66, 72, 73, 100, 127, 128, 129, 200, 255, 256, 257, 400, 511, 512, 513, 1000, 4097, 56_436, 65_537];

    fn isqrt(n: usize) -> usize {
        (n as f64).sqrt() as usize
    }

    /// Calls `visit` with the first `k` features of each of `n_keys` keys.
    fn for_each_draw(n: usize, k: usize, n_keys: usize, mut visit: impl FnMut(&[u32])) {
        let mut drawn = Vec::new();
        for seed in 0..n_keys as u64 {
            NodeKey::root(seed, n as u64).feature_order(n).first(Level::widest(), k as u32, &mut drawn);
            visit(&drawn);
        }
    }

    /// The number of standard deviations by which chi-square exceeds its mean, for counts that
    /// should be equal.
    fn excess(counts: &[u32]) -> f64 {
        let expected = counts.iter().map(|&c| f64::from(c)).sum::<f64>() / counts.len() as f64;
        let chi2: f64 = counts.iter().map(|&c| (f64::from(c) - expected).powi(2) / expected).sum();
        let df = counts.len() as f64 - 1.0;
        (chi2 - df) / (2.0 * df).sqrt()
    }

    /// The chi-square of a good network stays below this excess. A network with two cycles is far
    /// above (20 to 300 deviations).
    const MAX_EXCESS: f64 = 5.0;

    #[test]
    fn wide_networks_are_bijections_and_invert() {
        for n in WIDTHS {
            for seed in 0..4 {
                let order = NodeKey::root(seed, 3).feature_order(n);
                let mut seen = vec![false; n];
                for position in 0..n as u32 {
                    let feature = order.at(position);
                    assert!(!std::mem::replace(&mut seen[feature as usize], true));
                    assert_eq!(order.position(feature), position);
                }
            }
        }
        // Numbers too large to list every position, up to the widest network.
        for n in [1usize << 24, (1 << 30) + 1, (1 << 31) - 1, 1 << 31, (1 << 31) + 1, 0xFFFF_0000] {
            let order = NodeKey::root(1, 2).feature_order(n);
            for position in (0..n).step_by(n / 999).chain([n - 1]).map(|position| position as u32) {
                let feature = order.at(position);
                assert!((feature as usize) < n);
                assert_eq!(order.position(feature), position, "n={n}");
            }
        }
    }

    #[test]
    fn blocks_are_what_is_drawn_one_by_one() {
        let mut drawn = vec![7];
        for (level, n) in
            Level::supported().flat_map(|l| [1usize, 5, 64].into_iter().chain(WIDTHS).map(move |n| (l, n)))
        {
            let order = NodeKey::root(5, 1).feature_order(n);
            for k in [0, 1, 2, 31, 32, 33, 64, isqrt(n), n - 1, n] {
                let k = k.min(n) as u32;
                order.first(level, k, &mut drawn);
                assert!(drawn.iter().copied().eq((0..k).map(|position| order.at(position))), "n={n} k={k}");
                let mut positions = vec![7; drawn.len()];
                order.positions(level, &drawn, &mut positions);
                assert!(positions.into_iter().eq(0..k), "n={n} k={k}");
                let start = n as u32 - k;
                order.draw(level, start, &mut drawn);
                assert!(drawn.iter().copied().eq((start..n as u32).map(|position| order.at(position))));
            }
        }
    }

    #[test]
    fn the_first_feature_is_even() {
        for n in WIDTHS {
            let mut counts = vec![0; n];
            for_each_draw(n, 1, 200_000.max(8 * n), |drawn| counts[drawn[0] as usize] += 1);
            let z = excess(&counts);
            assert!(z < MAX_EXCESS, "n={n}: {z}");
        }
    }

    /// Counts, for the first sqrt(n) features of a key, the ordered pairs of the first two and of
    /// the first and the last feature, and the differences modulo n of the first two.
    #[test]
    fn pairs_are_even() {
        for n in (65..=100).chain([127, 128, 129, 200, 256, 257, 400, 511, 512, 513]) {
            let k = isqrt(n);
            let (mut adjacent, mut ends) = (vec![0; n * n], vec![0; n * n]);
            let mut differences = vec![0; n];
            for_each_draw(n, k, (20 * n * n).clamp(200_000, 1_000_000), |drawn| {
                let [first, second, last] = [0, 1, k - 1].map(|i| drawn[i] as usize);
                adjacent[first * n + second] += 1;
                ends[first * n + last] += 1;
                differences[(n + second - first) % n] += 1;
            });
            for counts in [&mut adjacent, &mut ends] {
                for both in (0..n).rev() {
                    assert_eq!(counts.swap_remove(both * n + both), 0);
                }
            }
            assert_eq!(differences[0], 0);
            for (what, counts) in [("adjacent", &adjacent[..]), ("ends", &ends), ("differences", &differences[1..])] {
                let z = excess(counts);
                assert!(z < MAX_EXCESS, "n={n}, {what}: {z}");
            }
        }
    }

    /// Counts how often each feature, and each pair, is among the first sqrt(n). The counts must vary as in
    /// drawing without replacement.
    #[test]
    fn subsets_contain_each_feature_and_pair_evenly() {
        for n in WIDTHS {
            let k = isqrt(n);
            let n_keys = if n < 1000 { 100_000 } else { 20_000 };
            let n_pairs = if n < 600 { n * (n - 1) / 2 } else { 0 };
            let (mut counts, mut pair_counts) = (vec![0u32; n], vec![0u32; n_pairs]);
            for_each_draw(n, k, n_keys, |drawn| {
                for (i, &a) in drawn.iter().enumerate() {
                    counts[a as usize] += 1;
                    for &b in &drawn[..if n_pairs > 0 { i } else { 0 }] {
                        let (low, high) = (a.min(b) as usize, a.max(b) as usize);
                        pair_counts[high * (high - 1) / 2 + low] += 1;
                    }
                }
            });
            // In one draw a count is 0 or 1 and the sum of all counts is fixed. So the variance per
            // draw, once the mean is taken off, is p (1 - p) N / (N - 1). The variance of the ratio
            // below is close to 2 / (N - 1).
            let p = k as f64 / n as f64;
            let pair_p = p * (k - 1) as f64 / (n - 1) as f64;
            for (what, counts, p) in [("features", &counts, p), ("pairs", &pair_counts, pair_p)] {
                if counts.is_empty() {
                    continue;
                }
                let df = counts.len() as f64 - 1.0;
                let mean = n_keys as f64 * p;
                let squares: f64 = counts.iter().map(|&c| (f64::from(c) - mean).powi(2)).sum();
                let ratio = squares / (mean * (1.0 - p) * (df + 1.0));
                let z = (ratio - 1.0) / (2.0 / df).sqrt();
                // Pairs share features, which widens the distribution of their counts a little.
                assert!(z.abs() < 6.0, "n={n}, {what}: ratio {ratio} z {z}");
            }
        }
    }

    /// A node and each of its children, and the two children, share features as independent draws do: their
    /// number is hypergeometric.
    #[test]
    fn relatives_draw_independently() {
        for n in [65, 72, 100, 128, 200, 257, 500, 1000, 4097, 56_436] {
            let k = isqrt(n);
            let n_keys = 20_000;
            let mut sums = [0.0; 3];
            let mut squares = [0.0; 3];
            let mut drawn = [const { Vec::new() }; 3];
            let mut in_first = vec![false; n];
            for seed in 0..n_keys {
                let parent = NodeKey::root(seed, 9);
                for (key, drawn) in [parent, parent.child(Side::Left), parent.child(Side::Right)].iter().zip(&mut drawn)
                {
                    key.feature_order(n).first(Level::widest(), k as u32, drawn);
                }
                for (i, (a, b)) in [(0, 1), (0, 2), (1, 2)].into_iter().enumerate() {
                    drawn[a].iter().for_each(|&feature| in_first[feature as usize] = true);
                    let shared = drawn[b].iter().filter(|&&feature| in_first[feature as usize]).count() as f64;
                    drawn[a].iter().for_each(|&feature| in_first[feature as usize] = false);
                    sums[i] += shared;
                    squares[i] += shared * shared;
                }
            }
            let (n, k, n_keys) = (n as f64, k as f64, n_keys as f64);
            let mean = k * k / n;
            let variance = mean * (1.0 - k / n) * (n - k) / (n - 1.0);
            for (sum, squares) in sums.into_iter().zip(squares) {
                let found = sum / n_keys;
                let z = (found - mean) / (variance / n_keys).sqrt();
                assert!(z.abs() < MAX_EXCESS, "n={n}: {z}");
                let ratio = (squares / n_keys - found * found) / variance;
                assert!((ratio - 1.0).abs() < 0.08, "n={n}: {ratio}");
            }
        }
    }
}
