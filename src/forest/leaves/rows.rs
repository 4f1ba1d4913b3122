//! Which training rows lie in which leaf, and how often: what quantile forests ask for (Meinshausen,
//! "Quantile Regression Forests", Journal of Machine Learning Research 7, 2006).
//!
//! Rows are named by their ranks: their places in the order of the first target. Each tree has a list
//! of the rows that it has seen, leaf by leaf, and in a leaf by rank. Bits mark the nodes that are
//! leaves, and the rows that are the first of their leaf: so a row takes 4 bytes, another one for its
//! count, and a fifth of a byte for marks.

use std::ops::Range;

use crate::data::target::Weights;
use crate::error::{Error, Result};
use crate::forest::RowSampler;
use crate::marks::{Marks, mark, words_for};
use crate::memory;
use crate::rng::NodeKey;
use crate::runtime::Runtime;

/// The name of the memory in errors.
const WHAT: &str = "the rows of the leaves";
/// Trees that are listed at once by each thread.
const TREES_PER_THREAD: usize = 4;

/// The rows of the leaves of the trees of a forest, tree by tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeafLists {
    /// For each tree, how many items of `rows` and `counts` it has.
    pub n_rows: Vec<i64>,
    /// For each tree, the number of its nodes.
    pub n_nodes: Vec<i64>,
    /// The rows of the leaves, by their ranks in the order of all rows.
    pub rows: Vec<u32>,
    /// How often each of `rows` counts.
    pub counts: Vec<u32>,
    /// For each tree, bits of its rows: the first ones of their leaves.
    pub firsts: Vec<u64>,
    /// For each tree, bits of its nodes: its leaves.
    pub leaves: Vec<u64>,
}

impl LeafLists {
    /// Puts the lists of other trees behind these.
    fn append(&mut self, others: Self) -> Result<()> {
        memory::make_room(WHAT, &mut self.rows, others.rows.len())?;
        memory::make_room(WHAT, &mut self.counts, others.counts.len())?;
        memory::make_room(WHAT, &mut self.firsts, others.firsts.len())?;
        memory::make_room(WHAT, &mut self.leaves, others.leaves.len())?;
        self.n_rows.extend(others.n_rows);
        self.n_nodes.extend(others.n_nodes);
        self.rows.extend(others.rows);
        self.counts.extend(others.counts);
        self.firsts.extend(others.firsts);
        self.leaves.extend(others.leaves);
        Ok(())
    }
}

/// How many of the rows of a leaf are kept, each copy counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeafLimit(pub u64);

/// Lists the rows of each leaf. `leaf_ids` has for each row and tree the node that the row reaches,
/// row-major; `n_nodes` the number of nodes of each tree, and `seeds` its seed. `order` lists all rows by
/// rank. Rows without a weight are left out, and of honest trees those that choose splits. Of a leaf of
/// more than `limit` rows, `limit` rows are drawn. O(rows) for each tree.
pub fn list_leaf_rows(
    leaf_ids: &[i64],
    (n_nodes, seeds): (&[i64], &[u64]),
    (sampler, weights): (&RowSampler, &Weights),
    order: &[u32],
    limit: Option<LeafLimit>,
    runtime: &Runtime<'_>,
) -> Result<LeafLists> {
    let (n_samples, n_trees) = (sampler.n_samples(), seeds.len());
    if leaf_ids.len() != n_samples * n_trees || n_nodes.len() != n_trees || order.len() != n_samples {
        let expected = format!("a leaf for each of {n_samples} samples and {n_trees} trees");
        return Err(Error::ShapeMismatch { what: "leaves", expected, got: format!("{} of them", leaf_ids.len()) });
    }
    let list = |tree: usize| {
        runtime.check_interrupt()?;
        let drawn = sampler.filling(seeds[tree], runtime)?;
        let count = |row: u32| match &drawn {
            Some(counts) if weights.is_positive(row as usize) => counts[row as usize],
            None if weights.is_positive(row as usize) => 1,
            _ => 0,
        };
        let leaf = |row: u32| leaf_ids[row as usize * n_trees + tree];
        list_tree(order, n_nodes[tree], count, leaf, limit, seeds[tree])
    };
    let mut lists = LeafLists::default();
    let trees: Vec<usize> = (0..n_trees).collect();
    // Beside the lists of all trees, those of some trees are held.
    for trees in trees.chunks(TREES_PER_THREAD * runtime.n_threads()) {
        for of_tree in runtime.map(trees.to_vec(), list)? {
            lists.append(of_tree)?;
        }
    }
    Ok(lists)
}

/// Lists the rows of one tree.
fn list_tree(
    order: &[u32],
    n_nodes: i64,
    count: impl Fn(u32) -> u32,
    leaf: impl Fn(u32) -> i64,
    limit: Option<LeafLimit>,
    seed: u64,
) -> Result<LeafLists> {
    let n = usize::try_from(n_nodes).unwrap_or(0);
    let mut ends: Vec<u32> = memory::zeros(WHAT, n + 1)?;
    for &row in order.iter().filter(|&&row| count(row) > 0) {
        let node = usize::try_from(leaf(row)).ok().filter(|&node| node < n);
        let node = node.ok_or_else(|| illegal("leaves", format!("node {}", leaf(row)), format!("nodes below {n}")))?;
        ends[node + 1] += 1;
    }
    let mut leaves: Vec<u64> = memory::zeros(WHAT, words_for(n))?;
    (0..n).filter(|&node| ends[node + 1] > 0).for_each(|node| mark(&mut leaves, node));
    for node in 0..n {
        ends[node + 1] += ends[node];
    }
    let n_rows = ends[n] as usize;
    let (mut rows, mut counts): (Vec<u32>, Vec<u32>) = (memory::zeros(WHAT, n_rows)?, memory::zeros(WHAT, n_rows)?);
    let mut next: Vec<u32> = memory::reserve(WHAT, n + 1)?;
    next.extend_from_slice(&ends);
    for (rank, &row) in (0..).zip(order).filter(|&(_, &row)| count(row) > 0) {
        let at = &mut next[leaf(row) as usize];
        (rows[*at as usize], counts[*at as usize]) = (rank, count(row));
        *at += 1;
    }
    let mut kept = 0;
    let mut marks: Vec<u64> = memory::zeros(WHAT, words_for(n_rows))?;
    for node in (0..n).filter(|&node| ends[node + 1] > ends[node]) {
        let own = ends[node] as usize..ends[node + 1] as usize;
        if let Some(LeafLimit(most)) = limit {
            keep_some(&mut counts[own.clone()], most, seed, node as u64)?;
        }
        mark(&mut marks, kept);
        for at in own {
            if counts[at] > 0 {
                (rows[kept], counts[kept]) = (rows[at], counts[at]);
                kept += 1;
            }
        }
    }
    rows.truncate(kept);
    counts.truncate(kept);
    marks.truncate(words_for(kept));
    Ok(LeafLists { n_rows: vec![kept as i64], n_nodes: vec![n_nodes], rows, counts, firsts: marks, leaves })
}

/// Keeps `most` of the copies of the rows of a leaf, drawn at random.
fn keep_some(counts: &mut [u32], most: u64, seed: u64, node: u64) -> Result<()> {
    let total: u64 = counts.iter().map(|&count| u64::from(count)).sum();
    if total <= most {
        return Ok(());
    }
    let draws = NodeKey::root(seed, 0).leaf_rows(node);
    let mut copies: Vec<u32> = memory::reserve(WHAT, usize::try_from(total).unwrap_or(usize::MAX))?;
    copies.extend((0..).zip(&*counts).flat_map(|(row, &count)| std::iter::repeat_n(row, count as usize)));
    counts.fill(0);
    for i in 0..most as usize {
        let chosen = i + draws.below((copies.len() - i) as u64, i as u64) as usize;
        copies.swap(i, chosen);
        counts[copies[i] as usize] += 1;
    }
    Ok(())
}

/// The lists of [`LeafLists`], to be asked.
#[derive(Debug)]
pub struct LeafRows<'a> {
    trees: Vec<TreeRows<'a>>,
    rows: &'a [u32],
    counts: Counts<'a>,
    /// By rank, the weight of each row beside its count; `None` if all are 1.
    weights: Option<&'a [u64]>,
}

/// How often rows count.
#[derive(Debug, Clone, Copy)]
pub enum Counts<'a> {
    /// Every row counts once.
    Once,
    /// Up to 255 times.
    U8(&'a [u8]),
    /// Any number of times.
    U32(&'a [u32]),
}

#[derive(Debug)]
struct TreeRows<'a> {
    leaves: Marks<'a>,
    firsts: Marks<'a>,
    /// Where the rows of the tree begin among the rows of all trees.
    start: usize,
}

/// A row of a leaf: its rank, and what it weighs.
pub type RowWeight = (u32, u64);

impl<'a> LeafRows<'a> {
    /// Takes lists; `weights` are by rank. Fails unless the parts fit together. O(rows).
    #[allow(clippy::too_many_arguments, reason = "the fields of the lists")]
    pub fn new(
        (n_rows, n_nodes): (&[i64], &[i64]),
        (rows, counts): (&'a [u32], Counts<'a>),
        (firsts, leaves): (&'a [u64], &'a [u64]),
        weights: Option<&'a [u64]>,
        n_samples: usize,
    ) -> Result<Self> {
        let damaged = |what: &str| illegal("leaf_rows", what.into(), "as fit has made them".into());
        let n_counts = match counts {
            Counts::Once => rows.len(),
            Counts::U8(counts) => counts.len(),
            Counts::U32(counts) => counts.len(),
        };
        if n_counts != rows.len() || n_rows.len() != n_nodes.len() || weights.is_some_and(|w| w.len() != n_samples) {
            return Err(damaged("lists of other lengths"));
        }
        if rows.iter().any(|&row| row as usize >= n_samples) {
            return Err(damaged("rows that are not there"));
        }
        let (mut start, mut rest_firsts, mut rest_leaves) = (0, firsts, leaves);
        let mut trees = Vec::with_capacity(n_rows.len());
        for (&n_rows, &n_nodes) in n_rows.iter().zip(n_nodes) {
            let of_tree = (usize::try_from(n_rows), usize::try_from(n_nodes));
            let (Ok(n_rows), Ok(n_nodes)) = of_tree else { return Err(damaged("negative numbers")) };
            let (n_firsts, n_leaves) = (words_for(n_rows), words_for(n_nodes));
            if n_firsts > rest_firsts.len() || n_leaves > rest_leaves.len() || start + n_rows > rows.len() {
                return Err(damaged("lists of other lengths"));
            }
            let (own_firsts, own_leaves);
            (own_firsts, rest_firsts) = rest_firsts.split_at(n_firsts);
            (own_leaves, rest_leaves) = rest_leaves.split_at(n_leaves);
            let (firsts, leaves) = (Marks::new(own_firsts, n_rows), Marks::new(own_leaves, n_nodes));
            if firsts.n_marked() != leaves.n_marked() || n_rows > 0 && !firsts.contains(0) {
                return Err(damaged("other leaves"));
            }
            trees.push(TreeRows { leaves, firsts, start });
            start += n_rows;
        }
        if start != rows.len() || !rest_firsts.is_empty() || !rest_leaves.is_empty() {
            return Err(damaged("lists of other lengths"));
        }
        Ok(Self { trees, rows, counts, weights })
    }

    /// Number of trees.
    pub fn n_trees(&self) -> usize {
        self.trees.len()
    }

    /// Calls `visit` with the rows of a leaf. Fails unless the node is a leaf of the tree.
    #[inline]
    pub fn visit(&self, tree: usize, node: i64, mut visit: impl FnMut(RowWeight)) -> Result<()> {
        for at in self.range(tree, node)? {
            let count = match self.counts {
                Counts::Once => 1,
                Counts::U8(counts) => counts[at].into(),
                Counts::U32(counts) => counts[at].into(),
            };
            let rank = self.rows[at];
            visit((rank, self.weights.map_or(count, |weights| weights[rank as usize].saturating_mul(count))));
        }
        Ok(())
    }

    fn range(&self, tree: usize, node: i64) -> Result<Range<usize>> {
        let TreeRows { leaves, firsts, start } = &self.trees[tree];
        let is_leaf = |&node: &usize| node / 64 < leaves.n_words() && leaves.contains(node);
        let Some(node) = usize::try_from(node).ok().filter(is_leaf) else {
            return Err(illegal("leaf_rows", format!("node {node} of tree {tree}"), "of this forest".into()));
        };
        let first = firsts.select(leaves.rank(node));
        Ok(start + first..start + firsts.next(first))
    }
}

fn illegal(name: &'static str, got: String, expected: String) -> Error {
    Error::InvalidArgument { name, got, expected }
}
