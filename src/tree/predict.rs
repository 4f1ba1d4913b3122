//! Prediction with grown trees: the leaves that rows reach in one tree, or in each of many.
//!
//! Rows are the unit of parallel work, in blocks; within a block, tree after tree is applied, so
//! that the top of a tree stays in the cache. O(depth) per row and tree. Values are added in the
//! order of the trees whatever the blocks are, so that their sum has one rounding.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::category_bits::Codings;
use super::clusters::Clusters;
use super::group_descent::GroupDescent;
use super::pages::Pages;
use super::partition::{self, MAX_ROWS, RowDescent};
use super::position::AT_LEAF;
use super::row_bits::RowBits;
use super::side_by_side::{self, MOST};
use super::singles::Singles;
use super::walk::{SplitView, Walk};
use super::ways::Ways;
use super::{TREE_LEAF, Tree};
use crate::data::Matrix;
use crate::data::row_group::GROUP;
use crate::data::rows::{CellRows, Reader, Rows, for_each_row};
use crate::error::{Error, Result};
use crate::memory;
use crate::runtime::Runtime;
use crate::tuning::tuned;

/// Rows per block: many, so that a tree is worth being brought into the cache. All threads have the
/// same number of blocks. Clusters want the longest lists of rows there can be, so a thread has one
/// block if `block_bytes` allows (`benches/notes/prediction.md`). Otherwise each of several threads has
/// [`BLOCKS_PER_THREAD`], so that a thread that is slowed down leaves blocks to the others.
const MIN_BLOCK: usize = 256;
const MAX_BLOCK: usize = 4096;
const BLOCKS_PER_THREAD: usize = 2;
/// The number of class shares that a thread holds while it chooses labels: 16 MB. Only with more than 64
/// classes is a part of a block smaller than a block.
const MEANS_AT_ONCE: usize = 1 << 21;
tuned! {
    /// The most bytes of a block of rows that are divided among clusters: long lists of rows are
    /// worth more than rows in the second-level cache (bench `sweep`).
    fn block_bytes() -> usize = 1 << 21;
    /// Batches of at least this many rows go through clusters (bench `sweep`).
    fn clusters_from() -> usize = 64;
}
/// Fewer rows than this go one by one, each through several trees side by side.
const SEVERAL: usize = 8;

/// Finding out the ids of this many leaves costs about what one descent does that counts nodes.
const LEAVES_PER_DESCENT: usize = 32;

/// A position is the id of a node.
impl Walk for Tree {
    #[inline]
    fn root(&self) -> u32 {
        self.position(0)
    }

    fn split(&self, at: u32) -> SplitView<'_> {
        let (nodes, node) = (self.nodes(), at as usize);
        SplitView {
            feature: nodes.feature[node] as u32,
            threshold: nodes.threshold[node],
            missing_go_left: nodes.missing_go_to_left[node] != 0,
            set: self.category_set(node),
            children: [nodes.children_left[node], nodes.children_right[node]].map(|child| self.position(child)),
        }
    }

    #[inline]
    fn step(&self, at: u32, value: impl Fn(u32) -> f64) -> u32 {
        let (nodes, node) = (self.nodes(), at as usize);
        let goes_left = self.goes_left(node, value(nodes.feature[node] as u32));
        self.position(if goes_left { nodes.children_left[node] } else { nodes.children_right[node] })
    }

    #[inline]
    fn add_values(&self, leaves: &[u32], sums: &mut [f64]) {
        for (&leaf, sums) in leaves.iter().zip(sums.chunks_exact_mut(self.n_values())) {
            sums.iter_mut().zip(self.value(leaf as usize)).for_each(|(sum, value)| *sum += value);
        }
    }

    fn n_leaves(&self) -> usize {
        Self::n_leaves(self)
    }

    fn n_categories(&self) -> &[u32] {
        Self::n_categories(self)
    }

    fn clusters(&self, n_rows: usize) -> Option<&Clusters> {
        self.clusters.for_batch(self.n_leaves() - 1, n_rows, || {
            let nodes = self.nodes();
            Clusters::new(self.n_features(), self.n_categories(), self.node_count(), self.root(), |id| {
                (nodes.children_left.get(id as usize)? != &TREE_LEAF).then(|| self.split(id))
            })
        })
    }

    fn ways(&self, n_rows: usize) -> Option<&Ways> {
        self.ways.for_batch(self.n_leaves() - 1, n_rows, || Some(Ways::new(self, self.n_features())))
    }

    #[inline]
    fn descend(&self, value: impl Fn(u32) -> f64, mut pass: impl FnMut(usize)) -> usize {
        let mut at = self.root();
        while at & AT_LEAF == 0 {
            pass(at as usize);
            at = self.step(at, &value);
        }
        let leaf = (at & !AT_LEAF) as usize;
        pass(leaf);
        leaf
    }
}

impl Tree {
    #[inline]
    fn position(&self, node: i32) -> u32 {
        let is_leaf = self.nodes().children_left[node as usize] == TREE_LEAF;
        node as u32 | if is_leaf { AT_LEAF } else { 0 }
    }

    /// The leaf that each row reaches. Shape `(n_samples,)`.
    pub fn apply(&self, x: &dyn Matrix, runtime: &Runtime<'_>) -> Result<Vec<i64>> {
        apply(&[self], &self.blocks(x, runtime)?, runtime)
    }

    /// The value of the leaf that each row reaches. Row-major `(n_samples, n_values)`.
    pub fn predict(&self, x: &dyn Matrix, runtime: &Runtime<'_>) -> Result<Vec<f64>> {
        // Added to minus 0, the one number that leaves every other as it is, minus 0 included.
        means(&[self], -0.0, self.n_values(), &self.blocks(x, runtime)?, runtime)
    }

    /// The nodes that each row passes, as a CSR structure: `(indptr, indices)`.
    pub fn decision_path(&self, x: &dyn Matrix, runtime: &Runtime<'_>) -> Result<(Vec<i64>, Vec<i64>)> {
        decision_path(&[self], &[0], &self.blocks(x, runtime)?, runtime)
    }

    fn blocks<'x>(&self, x: &'x dyn Matrix, runtime: &Runtime<'_>) -> Result<RowBlocks<'x>> {
        RowBlocks::new(x, self.n_features(), self.max_depth(), runtime)
    }
}

/// The rows of a matrix, in blocks.
pub(crate) struct RowBlocks<'x> {
    rows: &'x dyn Rows,
    /// The rows of all blocks.
    all: Range<usize>,
    len: usize,
    n_reads: usize,
}

impl<'x> RowBlocks<'x> {
    /// The rows of `x`, which must have the features of the training data. About `n_reads` cells of each row
    /// will be read.
    pub fn new(x: &'x dyn Matrix, n_features: usize, n_reads: usize, runtime: &Runtime<'_>) -> Result<Self> {
        Self::of_rows(x, 0..x.shape().0, n_features, n_reads, runtime)
    }

    /// As [`new`](Self::new), of these rows alone.
    pub fn of_rows(
        x: &'x dyn Matrix,
        all: Range<usize>,
        n_features: usize,
        n_reads: usize,
        runtime: &Runtime<'_>,
    ) -> Result<Self> {
        let rows = x.rows()?;
        let n_rows = check_features(x.shape(), n_features)?;
        if all.start > all.end || all.end > n_rows {
            let expected = format!("rows of the {n_rows} of X");
            return Err(Error::ShapeMismatch { what: "rows", expected, got: format!("{all:?}") });
        }
        let n_samples = all.len();
        let n_threads = runtime.n_threads();
        let (most, per_thread) = if partition::is_possible(n_features) {
            ((block_bytes() / Pages::row_bytes(n_features)).min(MAX_ROWS), 1)
        } else {
            (MAX_BLOCK, if n_threads > 1 { BLOCKS_PER_THREAD } else { 1 })
        };
        let n_blocks = n_threads * n_samples.div_ceil(n_threads * most).max(per_thread);
        let len = n_samples.div_ceil(n_blocks).clamp(MIN_BLOCK, most);
        Ok(Self { rows, all, len: Reader::block_len(rows, len), n_reads })
    }

    /// Number of rows in all blocks.
    pub fn n_samples(&self) -> usize {
        self.all.len()
    }

    /// Rows of each block but the last, which may have fewer.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Calls `visit` for each block with its rows and its part of the results; returns the parts.
    pub fn visit<P: Send>(
        &self,
        parts: impl Iterator<Item = P>,
        runtime: &Runtime<'_>,
        visit: impl Fn(&mut Reader<'_>, Range<usize>, &mut P) -> Result<()> + Sync,
    ) -> Result<Vec<P>> {
        let idle = Mutex::new(Vec::new());
        let lock = || idle.lock().unwrap_or_else(PoisonError::into_inner);
        let visit = |(start, mut part): (usize, P)| {
            runtime.check_interrupt()?;
            let reader = lock().pop();
            let mut reader = match reader {
                Some(reader) => reader,
                None => Reader::new(self.rows, self.len, self.n_reads)?,
            };
            let rows = start..(start + self.len).min(self.all.end);
            reader.load(rows.clone());
            visit(&mut reader, rows, &mut part)?;
            lock().push(reader);
            Ok(part)
        };
        runtime.map(self.all.clone().step_by(self.len).zip(parts).collect(), visit)
    }
}

/// The leaf that each row reaches in each tree. Row-major `(n_samples, n_trees)`.
pub(crate) fn apply<W: Walk>(trees: &[&W], blocks: &RowBlocks<'_>, runtime: &Runtime<'_>) -> Result<Vec<i64>> {
    let n_trees = trees.len();
    let mut leaves = memory::zeros(RESULT, blocks.n_samples().saturating_mul(n_trees))?;
    let n_leaves: usize = trees.iter().map(|tree| tree.n_leaves()).sum();
    let parts = leaves.chunks_mut(blocks.len() * n_trees);
    if n_leaves / LEAVES_PER_DESCENT > blocks.n_samples() * n_trees {
        // Rows are few, so each finds out the ids of its leaves.
        blocks.visit(parts, runtime, |reader, rows, leaves| {
            for (at, tree) in trees.iter().enumerate() {
                for (leaves, row) in leaves.chunks_exact_mut(n_trees).zip(rows.clone()) {
                    runtime.check_in_turn(row - rows.start)?;
                    leaves[at] = tree.leaf(reader.row(row), |_| ()) as i64;
                }
            }
            Ok(())
        })?;
        return Ok(leaves);
    }
    let ids = runtime.map(trees.to_vec(), |tree| Ok(tree.leaf_ids()))?;
    blocks.visit(parts, runtime, |reader, rows, leaves| {
        let rows: Vec<usize> = rows.collect();
        visit_leaves(trees, reader, &rows, runtime, |first, at, numbers| {
            for (leaves, &number) in leaves[first * n_trees..].chunks_exact_mut(n_trees).zip(numbers) {
                leaves[at] = ids[at].as_ref().map_or(number, |ids| ids[number as usize]).into();
            }
        })
    })?;
    Ok(leaves)
}

/// The mean of the values of the leaves that each row reaches, added to `start`. Row-major
/// `(n_samples, n_values)`.
pub(crate) fn means<W: Walk>(
    trees: &[&W],
    start: f64,
    n_values: usize,
    blocks: &RowBlocks<'_>,
    runtime: &Runtime<'_>,
) -> Result<Vec<f64>> {
    let mut means = memory::zeros(RESULT, blocks.n_samples().saturating_mul(n_values))?;
    blocks.visit(means.chunks_mut(blocks.len() * n_values), runtime, |reader, rows, means| {
        block_means(trees, start, reader, rows, runtime, means)
    })?;
    Ok(means)
}

/// For each row and output, the class with the greatest mean share, the first of several. Row-major
/// `(n_samples, n_outputs)`. Each thread holds the means of a part of a block at a time.
pub(crate) fn classes<W: Walk>(
    trees: &[&W],
    (n_outputs, n_values): (usize, usize),
    blocks: &RowBlocks<'_>,
    runtime: &Runtime<'_>,
) -> Result<Vec<u32>> {
    let mut classes: Vec<u32> = memory::zeros(RESULT, blocks.n_samples().saturating_mul(n_outputs))?;
    blocks.visit(classes.chunks_mut(blocks.len() * n_outputs), runtime, |reader, rows, classes| {
        let n_at_once = (MEANS_AT_ONCE / n_values).clamp(MIN_BLOCK, rows.len().max(MIN_BLOCK));
        let mut means = memory::zeros(RESULT, rows.len().min(n_at_once) * n_values)?;
        for (first, classes) in rows.clone().step_by(n_at_once).zip(classes.chunks_mut(n_at_once * n_outputs)) {
            let rows = first..rows.end.min(first + n_at_once);
            let means = &mut means[..rows.len() * n_values];
            block_means(trees, 0.0, reader, rows, runtime, means)?;
            for (class, shares) in classes.iter_mut().zip(means.chunks_exact(n_values / n_outputs)) {
                let best = (1..shares.len()).fold(0, |best, at| if shares[at] > shares[best] { at } else { best });
                *class = best as u32;
            }
        }
        Ok(())
    })?;
    Ok(classes)
}

/// The means of the rows of a block, see [`means`].
fn block_means<W: Walk>(
    trees: &[&W],
    start: f64,
    reader: &mut Reader<'_>,
    rows: Range<usize>,
    runtime: &Runtime<'_>,
    means: &mut [f64],
) -> Result<()> {
    let n_values = means.len() / rows.len();
    means.fill(start);
    let rows: Vec<usize> = rows.collect();
    visit_leaves(trees, reader, &rows, runtime, |first, at, leaves| {
        trees[at].add_values(leaves, &mut means[first * n_values..][..leaves.len() * n_values]);
    })?;
    divide(means, trees.len() as f64);
    Ok(())
}

/// Calls `found(first, tree, leaves)` with the numbers of the leaves that some rows of a block reach in a
/// tree. `first` is the place of the first of these rows in `rows`, and `tree` the place of the tree in
/// `trees`. For each row, the trees come in their order.
pub(crate) fn visit_leaves<W: Walk>(
    trees: &[&W],
    reader: &mut Reader<'_>,
    rows: &[usize],
    runtime: &Runtime<'_>,
    mut found: impl FnMut(usize, usize, &[u32]),
) -> Result<()> {
    let mut positions = [0; MOST];
    let n_samples = reader.n_samples();
    // Rows that lie in memory go through one tree side by side.
    if rows.len() >= SEVERAL
        && let Some(cells) = reader.cells()
    {
        let starts: Vec<usize> = rows.iter().map(|&row| cells.start(row)).collect();
        if rows.len() >= clusters_from()
            && partition::is_possible(cells.width())
            && let Some(clusters) = forms(trees, reader.share_before(rows[0]), |tree| tree.clusters(n_samples))
        {
            for (first, starts) in (0..).step_by(MAX_ROWS).zip(starts.chunks(MAX_ROWS)) {
                through_clusters(trees, &clusters, &cells, starts, runtime, |at, leaves| found(first, at, leaves))?;
            }
            return Ok(());
        }
        let bits = row_bits(trees, starts.len()).map(|mut bits| {
            for (row, &start) in starts.iter().enumerate() {
                bits.set(row, |feature| cells.value(start, feature));
            }
            bits
        });
        let singles = |starts| if bits.is_some() { Singles::No } else { Singles::of(&cells, starts) };
        let chunks: Vec<_> = starts.chunks(MOST).map(|starts| (starts, singles(starts))).collect();
        for (at, &tree) in trees.iter().enumerate() {
            for (first, (starts, singles)) in (0..).step_by(MOST).zip(&chunks) {
                runtime.check_interrupt()?;
                let positions = &mut positions[..starts.len()];
                // A tree is laid out only if there are rows that the layout is for.
                let flat = if matches!(singles, Singles::No) { None } else { tree.flat() };
                let bit = bits.as_ref().map(|bits| move |i: usize, feature: u32| bits.bit(first + i, feature));
                match (singles, flat, cells) {
                    (Singles::InPlace(cells), Some(flat), _) => flat.descend(cells, starts, positions),
                    (Singles::Copied(cells, starts), Some(flat), _) => flat.descend(cells, starts, positions),
                    (_, _, CellRows::F32(cells)) => {
                        let value = |i: usize, feature: u32| cells.cells[starts[i] + feature as usize].into();
                        side_by_side::descend(positions, |_| tree, value, bit);
                    }
                    (_, _, CellRows::F64(cells)) => {
                        let value = |i: usize, feature: u32| cells.cells[starts[i] + feature as usize];
                        side_by_side::descend(positions, |_| tree, value, bit);
                    }
                }
                for position in &mut *positions {
                    *position &= !AT_LEAF;
                }
                found(first, at, positions);
            }
        }
        return Ok(());
    }
    // Rows of a wide sparse matrix go through one tree side by side, one for each bit of a word.
    if rows.len() >= SEVERAL
        && reader.has_groups()
        && let Some(ways) = forms(trees, reader.share_before(rows[0]), |tree| tree.ways(n_samples))
    {
        let mut descent = GroupDescent::new();
        for (first, rows) in (0..).step_by(GROUP).zip(rows.chunks(GROUP)) {
            runtime.check_interrupt()?;
            let Some(group) = reader.group(rows)? else { unreachable!("the reader has groups") };
            let leaves = &mut positions[..rows.len()];
            for (at, (&tree, ways)) in trees.iter().zip(&ways).enumerate() {
                descent.run(tree, ways, group, leaves);
                found(first, at, leaves);
            }
        }
        return Ok(());
    }
    // A row that is hard to come by, or almost alone, goes through several trees side by side.
    let mut bits = row_bits(trees, 1);
    for (i, &row) in rows.iter().enumerate() {
        runtime.check_in_turn(i)?;
        let row = reader.row(row);
        if let Some(bits) = &mut bits {
            for_each_row!(row, |value| bits.set(0, value));
        }
        let bit = bits.as_ref().map(|bits| |_: usize, feature: u32| bits.bit(0, feature));
        for (first, trees) in (0..).step_by(MOST).zip(trees.chunks(MOST)) {
            let positions = &mut positions[..trees.len()];
            for_each_row!(row, |value| {
                side_by_side::descend(positions, |i| trees[i], |_, feature| value(feature), bit);
            });
            for (at, &leaf) in (first..).zip(&*positions) {
                found(i, at, &[leaf & !AT_LEAF]);
            }
        }
    }
    Ok(())
}

/// Room for the bits of the categories of rows, if the trees make use of them.
fn row_bits<W: Walk>(trees: &[&W], n_rows: usize) -> Option<RowBits> {
    let n_categories = trees.first().filter(|_| W::HOLDS_SETS)?.n_categories();
    RowBits::new(n_categories, n_rows, trees.len())
}

/// A form of each tree, if all trees have it. Forms that do not exist yet are made, from the tree
/// on that has a `share` of the trees before it: threads with different shares do not wait for each
/// other.
fn forms<'t, W, F>(trees: &[&'t W], share: f64, form: impl Fn(&'t W) -> Option<&'t F>) -> Option<Vec<&'t F>> {
    let (before, after) = trees.split_at((share * trees.len() as f64) as usize);
    let all_exist = after.iter().chain(before).all(|tree| form(tree).is_some());
    if all_exist { trees.iter().map(|tree| form(tree)).collect() } else { None }
}

/// Calls `found` with the numbers of the leaves that rows reach in each tree, by clusters. The
/// values of the rows, at most [`MAX_ROWS`], begin at `starts`.
fn through_clusters<W: Walk>(
    trees: &[&W],
    clusters: &[&Clusters],
    cells: &CellRows<'_>,
    starts: &[usize],
    runtime: &Runtime<'_>,
    mut found: impl FnMut(usize, &[u32]),
) -> Result<()> {
    let (mut pages, mut descent) = (Pages::default(), RowDescent::default());
    let codings = Codings::new(cells.width(), trees.first().map_or(&[][..], |tree| tree.n_categories()));
    pages.copy(cells, starts, &codings)?;
    for (at, (tree, clusters)) in trees.iter().zip(clusters).enumerate() {
        runtime.check_interrupt()?;
        descent.run(clusters, &pages);
        descent.set_doubtful(|row| {
            let mut at = tree.root();
            while at & AT_LEAF == 0 {
                at = tree.step(at, |feature| cells.value(starts[row], feature));
            }
            at & !AT_LEAF
        });
        found(at, descent.leaves());
    }
    Ok(())
}

/// The nodes that each row passes in all trees, as a CSR structure `(indptr, indices)`. The nodes
/// of tree `t` have the numbers from `first[t]` on, which is 0 for the first tree alone.
pub(crate) fn decision_path<W: Walk>(
    trees: &[&W],
    first: &[i64],
    blocks: &RowBlocks<'_>,
    runtime: &Runtime<'_>,
) -> Result<(Vec<i64>, Vec<i64>)> {
    // At least the root of each tree, twice: in parts, and in one piece.
    let least = blocks.n_samples().saturating_mul(trees.len()).saturating_mul(2 * size_of::<i64>());
    memory::check(RESULT, least)?;
    let parts = (0..blocks.n_samples()).step_by(blocks.len()).map(|_| Vec::new());
    let parts = blocks.visit(parts, runtime, |reader, rows, nodes| {
        let mut path = Vec::new();
        for row in rows {
            runtime.check_interrupt()?;
            let row = reader.row(row);
            path.clear();
            for (tree, first) in trees.iter().zip(first) {
                tree.leaf(row, |node| path.push(first + node as i64));
            }
            memory::make_room(RESULT, nodes, path.len())?;
            nodes.extend_from_slice(&path);
        }
        Ok(())
    })?;
    let mut nodes = memory::reserve(RESULT, parts.iter().map(Vec::len).sum())?;
    for part in &parts {
        runtime.check_interrupt()?;
        nodes.extend_from_slice(part);
    }
    // Every path begins at the root of the first tree, which is node 0 and in no path again.
    let mut indptr = memory::reserve(RESULT, blocks.n_samples() + 1)?;
    for (part, first) in nodes.chunks(MIN_BLOCK).zip((0..).step_by(MIN_BLOCK)) {
        runtime.check_interrupt()?;
        indptr.extend((first..).zip(part).filter(|&(_, &node)| node == 0).map(|(at, _)| at));
    }
    indptr.push(nodes.len() as i64);
    Ok((indptr, nodes))
}

/// The name of the memory for results, in errors.
const RESULT: &str = "the result";

/// Divides all values by `divisor`.
pub(crate) fn divide(values: &mut [f64], divisor: f64) {
    for value in values {
        *value /= divisor;
    }
}

/// The number of rows of a matrix of this shape, if it has the features of the training data.
pub(crate) fn check_features((n_samples, n_features): (usize, usize), expected: usize) -> Result<usize> {
    if n_features == expected {
        return Ok(n_samples);
    }
    Err(Error::ShapeMismatch {
        what: "X",
        expected: format!("{expected} features, as in training"),
        got: format!("{n_features} features"),
    })
}
