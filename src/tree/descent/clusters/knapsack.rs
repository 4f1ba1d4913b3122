//! Which splits of a tree make a cluster (see `clusters`).
//!
//! Every cluster costs the leaves below it, as a row is the likelier to pass it the more there are,
//! and as much as a few leaves more for its memory. The clusters of least cost are found from the
//! bottom up: how many tests of a cluster are best taken from the left and from the right of a
//! split follows from the costs of both sides (tree knapsack; Johnson and Niemi, "On Knapsacks,
//! Partitions, and a New Dynamic Programming Technique for Trees", 1983). Taking the split with the
//! most leaves below it, again and again, leaves clusters of half the size (`benches/notes/prediction.md`).

use crate::tuning::tuned;

/// The most tests of a cluster. A split on a number is one test, a split on categories can be several.
pub const TESTS: usize = 15;

tuned! {
    /// The cost of a cluster beside the leaves below it, in units of the cost of one leaf (bench `sweep`).
    fn per_cluster() -> f32 = 2.0;
}

/// By the number of tests of a cluster that are taken from below a split, the split included: the
/// cost of all clusters that begin below it. Without tests, a cluster begins at the split.
type Costs = [f32; TESTS + 1];

/// The best clusters of a tree.
pub struct Clustering<F, N> {
    /// The children of a split; none of a leaf.
    children: F,
    /// The number of tests of a split, 0 if the split is a cluster of its own.
    n_tests: N,
    /// The summary of the tree below each split, by the number of the split.
    below: Vec<Below>,
}

#[derive(Clone)]
struct Below {
    n_leaves: u32,
    /// The tests that a cluster above can take, at most [`TESTS`].
    n_tests: u8,
    costs: Costs,
}

/// The splits of a cluster, and its exits from left to right: splits or leaves, each with the tests
/// of the splits of the cluster whose left side it lies on. The tests have the order of their splits.
#[derive(Default)]
pub struct Chosen {
    pub splits: Vec<u32>,
    pub exits: Vec<(u32, u16)>,
    n_tests: usize,
}

impl<F: Fn(u32) -> Option<[u32; 2]>, N: Fn(u32) -> usize> Clustering<F, N> {
    /// Finds the best clusters of the splits whose numbers are below `n_numbers`; the children of a split
    /// that are splits have greater ones. `n_tests` has the number of tests of a split, at most [`TESTS`],
    /// and 0 if the split is a cluster of its own. O(splits), 72 bytes each.
    pub fn new(n_numbers: usize, children: F, n_tests: N) -> Self {
        let mut below = vec![Below { n_leaves: 1, n_tests: 0, costs: [f32::INFINITY; TESTS + 1] }; n_numbers];
        for id in (0..n_numbers).rev() {
            let Some(children) = children(id as u32) else { continue };
            let mut costs = [f32::INFINITY; TESTS + 1];
            let own = n_tests(id as u32);
            let [of_left, of_right] = children.map(|child| options(&below, child));
            let [of_left, of_right] = if own == 0 { [&of_left[..1], &of_right[..1]] } else { [of_left, of_right] };
            for (n_left, left) in of_left.iter().enumerate() {
                for (cost, right) in costs.iter_mut().skip(n_left + own.max(1)).zip(of_right) {
                    *cost = cost.min(left + right);
                }
            }
            let [of_left, of_right] = children.map(|child| below.get(child as usize));
            let n_leaves = [of_left, of_right].map(|of| of.map_or(1, |below| below.n_leaves)).iter().sum();
            let n_below: usize = [of_left, of_right].map(|of| of.map_or(0, |below| below.n_tests.into())).iter().sum();
            costs[0] = least(&costs) + n_leaves as f32 + per_cluster();
            let n_tests = if own == 0 { 0 } else { TESTS.min(own + n_below) as u8 };
            below[id] = Below { n_leaves, n_tests, costs };
        }
        Self { children, n_tests, below }
    }

    /// Sets `chosen` to the cluster that begins at a split.
    pub fn choose(&self, top: u32, chosen: &mut Chosen) {
        chosen.splits.clear();
        chosen.exits.clear();
        chosen.n_tests = 0;
        // Costs are infinite for a number of tests that cannot be taken.
        let costs = &self.below[top as usize].costs[1..];
        let least = least(costs);
        let n_tests = 1 + costs.iter().position(|&cost| cost == least).unwrap_or(0);
        self.add(top, n_tests, 0, chosen);
    }

    /// Adds splits of `n_tests` tests from `at` on, which lies on the left side of the tests in `mask`. At
    /// most [`TESTS`] deep.
    fn add(&self, at: u32, n_tests: usize, mask: u16, chosen: &mut Chosen) {
        let (1.., Some([left, right])) = (n_tests, (self.children)(at)) else {
            chosen.exits.push((at, mask));
            return;
        };
        let own = (self.n_tests)(at).max(1);
        let tests = ((1 << own) - 1) << chosen.n_tests;
        chosen.splits.push(at);
        chosen.n_tests += own;
        let n_below = n_tests - own;
        let (of_left, of_right) = (options(&self.below, left), options(&self.below, right));
        let cost = |n_left: usize| match (of_left.get(n_left), of_right.get(n_below - n_left)) {
            (Some(left), Some(right)) => left + right,
            _ => f32::INFINITY,
        };
        let n_left = (0..=n_below).min_by(|&a, &b| cost(a).total_cmp(&cost(b))).unwrap_or(0);
        self.add(left, n_left, mask | tests, chosen);
        self.add(right, n_below - n_left, mask, chosen);
    }
}

/// The costs below a child, by the number of tests that a cluster above takes; a leaf costs nothing, and has
/// no tests.
fn options(below: &[Below], child: u32) -> &[f32] {
    below.get(child as usize).map_or(&[0.0], |Below { n_tests, costs, .. }| &costs[..=usize::from(*n_tests)])
}

fn least(costs: &[f32]) -> f32 {
    costs.iter().copied().fold(f32::INFINITY, f32::min)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rng::NodeKey;
    use crate::tree::descent::split_view::AT_LEAF;

    fn n_leaves(children: &[[u32; 2]], at: u32) -> u32 {
        if at & AT_LEAF != 0 { 1 } else { children[at as usize].map(|child| n_leaves(children, child)).iter().sum() }
    }

    /// The least cost of all ways to divide the splits from `at` on into clusters, `room` being how
    /// many tests the cluster above can still take. Returns a cost by how many it took.
    fn by_trying(children: &[[u32; 2]], n_tests: &[usize], at: u32, room: usize) -> Vec<(usize, f32)> {
        if at & AT_LEAF != 0 {
            return vec![(0, 0.0)];
        }
        let is_alone = n_tests[at as usize] == 0;
        let own = n_tests[at as usize].max(1);
        let taking = |room: usize| {
            let mut found = Vec::new();
            let [left, right] = children[at as usize];
            let room = if is_alone { 1 } else { room };
            for (n_left, left) in by_trying(children, n_tests, left, room - own) {
                for (n_right, right) in by_trying(children, n_tests, right, room - own - n_left) {
                    found.push((own + n_left + n_right, left + right));
                }
            }
            found
        };
        let least = taking(TESTS).iter().map(|&(_, cost)| cost).fold(f32::INFINITY, f32::min);
        let mut found = vec![(0, least + n_leaves(children, at) as f32 + per_cluster())];
        if room >= own && !is_alone {
            found.extend(taking(room));
        }
        found
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn clusters_cost_least(n_splits in 1..20usize, most in 1..6u64, n_alone in 0..=2u64, seed: u64) {
            // Each split is put in the place of a leaf drawn at random.
            let draws = NodeKey::root(seed, 0).bootstrap();
            let mut children = vec![[AT_LEAF; 2]];
            let mut open = vec![(0, 0), (0, 1)];
            for id in 1..n_splits {
                let (parent, side): (usize, usize) = open.swap_remove(draws.below(open.len() as u64, id as u64) as usize);
                children[parent][side] = id as u32;
                children.push([AT_LEAF; 2]);
                open.extend([(id, 0), (id, 1)]);
            }
            let n_tests = |id: u64| match draws.below(4, 1000 + id) {
                kind if kind < n_alone => 0,
                _ => 1 + draws.below(most, 2000 + id) as usize,
            };
            let n_tests: Vec<usize> = (0..n_splits as u64).map(n_tests).collect();
            let expected = by_trying(&children, &n_tests, 0, 0)[0].1;
            let children_of = |id: u32| children.get(id as usize).copied();
            let clustering = Clustering::new(n_splits, children_of, |id| n_tests[id as usize]);
            prop_assert_eq!(clustering.below[0].costs[0], expected);
            let mut seen = vec![0; n_splits];
            let (mut cost, mut waiting, mut chosen) = (0.0, vec![0], Chosen::default());
            while let Some(top) = waiting.pop() {
                clustering.choose(top, &mut chosen);
                let own = |&split: &u32| n_tests[split as usize].max(1);
                prop_assert_eq!(chosen.n_tests, chosen.splits.iter().map(own).sum::<usize>());
                prop_assert!(chosen.n_tests <= TESTS && chosen.exits.len() == chosen.splits.len() + 1);
                chosen.splits.iter().for_each(|&split| seen[split as usize] += 1);
                prop_assert!(chosen.splits.len() == 1 || chosen.splits.iter().all(|&split| n_tests[split as usize] > 0));
                cost += n_leaves(&children, top) as f32 + per_cluster();
                waiting.extend(chosen.exits.iter().map(|&(exit, _)| exit).filter(|exit| exit & AT_LEAF == 0));
            }
            prop_assert!(seen.iter().all(|&n| n == 1));
            prop_assert_eq!(cost, expected);
        }
    }
}
