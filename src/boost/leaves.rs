//! The rows of a data set by the nodes of a tree that they reach, found by ranks.

use std::ops::Range;

use crate::bitset::Bitset;
use crate::data::{Columns, Dataset};
use crate::error::Result;
use crate::runtime::Runtime;
use crate::tree::{TREE_LEAF, Tree};

/// All rows, in an order in which those of each node come one after the other, ascending in a leaf.
pub struct RowsByNode {
    rows: Vec<u32>,
    /// By node, where its rows are.
    ranges: Vec<Range<usize>>,
}

impl RowsByNode {
    /// Sends the rows of the data set down a tree that was grown on it, all splits of which are between
    /// ranks. O(rows times depth), and O(entries of the columns of splits) if the data are sparse.
    pub fn new(data: &Dataset, tree: &Tree, runtime: &Runtime<'_>) -> Result<Self> {
        let n = data.n_samples();
        let nodes = tree.nodes();
        let mut rows: Vec<u32> = (0..n as u32).collect();
        let mut ranges = vec![0..n; tree.node_count()];
        let mut scratch = Scratch { left: vec![0; n], right: vec![0; n], moved: Bitset::new(n) };
        // In preorder, parents come before their children.
        for node in 0..tree.node_count() {
            if nodes.children_left[node] == TREE_LEAF {
                continue;
            }
            runtime.check_interrupt()?;
            let Range { start, end } = ranges[node].clone();
            let n_left = scratch.partition(data, tree, node, &mut rows[start..end]);
            ranges[nodes.children_left[node] as usize] = start..start + n_left;
            ranges[nodes.children_right[node] as usize] = start + n_left..end;
        }
        Ok(Self { rows, ranges })
    }

    /// The rows that a tree was grown on, in the order of its leaves; those of a leaf ascend if they
    /// `must_ascend`. O(rows).
    pub fn of_grown(mut rows: Vec<u32>, tree: &Tree, must_ascend: bool) -> Self {
        let nodes = tree.nodes();
        let mut ranges = vec![0..rows.len(); tree.node_count()];
        for node in (0..tree.node_count()).filter(|&node| nodes.children_left[node] != TREE_LEAF) {
            let [left, right] = [nodes.children_left[node], nodes.children_right[node]].map(|child| child as usize);
            let Range { start, end } = ranges[node].clone();
            let middle = start + nodes.n_node_samples[left] as usize;
            (ranges[left], ranges[right]) = (start..middle, middle..end);
        }
        // A leaf whose split did not have its turn has the rows of its children one after the other.
        let is_leaf = |node: &usize| must_ascend && nodes.children_left[*node] == TREE_LEAF;
        for leaf in (0..tree.node_count()).filter(is_leaf) {
            #[allow(clippy::stable_sort_primitive, reason = "it merges runs that are sorted")]
            rows[ranges[leaf].clone()].sort();
        }
        Self { rows, ranges }
    }

    /// The rows that reach a node.
    pub fn of(&self, node: usize) -> &[u32] {
        &self.rows[self.ranges[node].clone()]
    }
}

struct Scratch {
    left: Vec<u32>,
    right: Vec<u32>,
    /// Rows that do not go where most rows of a sparse column go.
    moved: Bitset,
}

impl Scratch {
    /// Moves the rows that go left before the others; both keep their order. Returns how many go left.
    fn partition(&mut self, data: &Dataset, tree: &Tree, node: usize, rows: &mut [u32]) -> usize {
        let feature = tree.nodes().feature[node] as u32;
        let side = Side::of(data, tree, node, feature);
        match data.columns() {
            Columns::Dense(_) => {
                let (mut n_left, mut n_right) = (0, 0);
                let Self { left, right, .. } = self;
                data.visit_ranks(feature, rows.iter().copied(), |row, rank| {
                    let goes_left = side.is_left(rank);
                    left[n_left] = row;
                    right[n_right] = row;
                    n_left += usize::from(goes_left);
                    n_right += usize::from(!goes_left);
                });
                self.write(n_left, rows)
            }
            Columns::Sparse(columns) => {
                let column = columns.column(feature);
                let zero_is_left = side.is_left(column.zero_rank);
                let other = |&(at, _): &(usize, &u32)| side.is_left(column.ranks.at(at)) != zero_is_left;
                let moved: Vec<u32> =
                    column.samples.iter().enumerate().filter(other).map(|(_, &sample)| sample).collect();
                self.moved.insert_all(&moved);
                let (mut n_left, mut n_right) = (0, 0);
                for &row in &*rows {
                    let goes_left = self.moved.contains(row) != zero_is_left;
                    self.left[n_left] = row;
                    self.right[n_right] = row;
                    n_left += usize::from(goes_left);
                    n_right += usize::from(!goes_left);
                }
                self.moved.remove_all(&moved);
                self.write(n_left, rows)
            }
        }
    }

    fn write(&self, n_left: usize, rows: &mut [u32]) -> usize {
        let (left, right) = rows.split_at_mut(n_left);
        left.copy_from_slice(&self.left[..n_left]);
        right.copy_from_slice(&self.right[..right.len()]);
        n_left
    }
}

/// Which ranks of a feature a split sends left.
enum Side {
    /// Ranks below the first number, and the second if there is one: that of missing values.
    Below(u32, Option<u32>),
    /// By rank.
    OfRank(Box<[bool]>),
}

impl Side {
    fn of(data: &Dataset, tree: &Tree, node: usize, feature: u32) -> Self {
        let missing_left = tree.nodes().missing_go_to_left[node] != 0;
        if let Some(set) = tree.category_set(node)
            && let Some(code) = data.codes(feature)
        {
            let is_left = |rank| code(rank).map_or(missing_left, |code| set.goes_left(code.into()));
            return Self::OfRank((0..data.n_ranks(feature) as u32).map(is_left).collect());
        }
        let missing = data.missing_rank(feature);
        let n_ranks = data.n_ranks(feature) as u32;
        let cut = data.rank_above(feature, tree.nodes().threshold[node], 0..missing.unwrap_or(n_ranks));
        Self::Below(cut, missing.filter(|_| missing_left))
    }

    #[inline]
    fn is_left(&self, rank: u32) -> bool {
        match self {
            Self::Below(cut, missing) => rank < *cut || *missing == Some(rank),
            Self::OfRank(is_left) => is_left[rank as usize],
        }
    }
}
