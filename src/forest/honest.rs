//! Honest forests of effects (Athey, Tibshirani, Wager, "Generalized Random Forests", Annals of
//! Statistics 47, 2019): the splits of a tree come from some rows, and its leaves know the moments of
//! others.
//!
//! With the treatment W, the outcome Y and the weight s of a row, a leaf predicts the sums of s, sW, sY, sWY
//! and sWW over its rows, divided by their number. The means of these over the trees give the effect at a
//! row, as the slope of a weighted regression.

use super::Forest;
use super::refill::refill;
use crate::data::Matrix;
use crate::error::{Error, Result};
use crate::memory;
use crate::runtime::Runtime;
use crate::tree::Tree;
use crate::tree::packed::PackedTree;
use crate::tree::refill::Filling;

/// Numbers that a leaf predicts.
pub const N_MOMENTS: usize = 5;
/// The name of the memory in errors.
const WHAT: &str = "the moments of the leaves";

/// Treatments, outcomes and weights by row.
#[derive(Debug, Clone, Copy)]
pub struct Treated<'a> {
    /// Centred.
    pub treatments: &'a [f64],
    /// Centred.
    pub outcomes: &'a [f64],
    /// `None` if all are 1.
    pub weights: Option<&'a [f64]>,
}

/// The rows that fill the leaves of each tree.
#[derive(Debug, Clone, Copy)]
pub struct FillingRows<'a> {
    /// Where the rows of each tree begin, and where the last ones end.
    pub starts: &'a [i64],
    /// Tree by tree.
    pub rows: &'a [u32],
}

impl FillingRows<'_> {
    fn of(&self, tree: usize) -> &[u32] {
        &self.rows[self.starts[tree] as usize..self.starts[tree + 1] as usize]
    }

    /// Fails unless each tree has rows, all of which are there.
    fn check(&self, n_trees: usize, n_rows: usize) -> Result<()> {
        let ends = [self.starts.first(), self.starts.last()].map(Option::<&i64>::copied);
        let is_sound = self.starts.len() == n_trees + 1
            && ends == [Some(0), i64::try_from(self.rows.len()).ok()]
            && self.starts.windows(2).all(|pair| pair[0] < pair[1])
            && self.rows.iter().all(|&row| (row as usize) < n_rows);
        if is_sound {
            return Ok(());
        }
        let got = format!("{} rows for {n_trees} trees, in {} parts", self.rows.len(), self.starts.len());
        let expected = format!("at least one of the {n_rows} rows for each tree");
        Err(Error::InvalidArgument { name: "rows", got, expected })
    }
}

/// The sums of a node over its rows.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    n_rows: i64,
    moments: [f64; N_MOMENTS],
    /// Of the weight times the square of the outcome.
    squares: f64,
}

impl Sums {
    fn of_row(data: &Treated<'_>, row: usize) -> Self {
        let (w, y) = (data.treatments[row], data.outcomes[row]);
        let s = data.weights.map_or(1.0, |weights| weights[row]);
        Self { n_rows: 1, moments: [s, s * w, s * y, s * w * y, s * w * w], squares: s * y * y }
    }

    fn add(&mut self, other: &Self) {
        self.n_rows += other.n_rows;
        self.squares += other.squares;
        self.moments.iter_mut().zip(other.moments).for_each(|(sum, of_other)| *sum += of_other);
    }

    /// What the node predicts. Its impurity is the mean square of what the regression of outcomes on
    /// treatments, without an intercept, leaves over.
    fn filling(&self, values: &mut Vec<f64>) -> Filling {
        let [weight, _, _, products, squares] = self.moments;
        let explained = if squares > 0.0 { products * products / squares } else { 0.0 };
        let impurity = ((self.squares - explained) / weight).max(0.0);
        values.extend(self.moments.map(|sum| sum / self.n_rows as f64));
        Filling { n_rows: self.n_rows, weight, impurity }
    }
}

/// The forest with the splits of another, whose leaves predict the moments of the given rows, each with a
/// weight above 0. `x` has all rows. A leaf that has none of the rows is left out: its sibling takes the
/// place of their parent. O(rows of `x` times depth) for each tree.
pub fn fill_honest_leaves(
    forest: &Forest,
    x: &dyn Matrix,
    data: &Treated<'_>,
    filling: &FillingRows<'_>,
    runtime: &Runtime<'_>,
) -> Result<Forest> {
    let n_rows = x.shape().0;
    let lengths = [data.treatments.len(), data.outcomes.len(), data.weights.map_or(n_rows, <[f64]>::len)];
    if lengths != [n_rows; 3] {
        let expected = format!("{n_rows} values, one per row");
        return Err(Error::ShapeMismatch { what: "treatments and outcomes", expected, got: format!("{lengths:?}") });
    }
    filling.check(forest.len(), n_rows)?;
    refill(forest, x, runtime, |at, tree, leaf| {
        let filled = fill_tree(&tree.unpack()?, data, filling.of(at), leaf, runtime)?;
        Ok(PackedTree::new(&filled, 1.0))
    })
}

fn fill_tree(
    tree: &Tree,
    data: &Treated<'_>,
    rows: &[u32],
    leaf: impl Fn(u32) -> usize,
    runtime: &Runtime<'_>,
) -> Result<Tree> {
    let mut sums: Vec<Sums> = memory::filled(WHAT, Sums::default(), tree.node_count())?;
    for &row in rows {
        sums[leaf(row)].add(&Sums::of_row(data, row as usize));
    }
    let nodes = tree.nodes();
    // In preorder, children come after their parents.
    for node in (0..tree.node_count()).rev().filter(|&node| nodes.children_left[node] >= 0) {
        let (left, right) = (nodes.children_left[node] as usize, nodes.children_right[node] as usize);
        let of_right = sums[right];
        sums[node] = sums[left];
        sums[node].add(&of_right);
    }
    let filling = |node: usize, values: &mut Vec<f64>| sums[node].filling(values);
    tree.refilled(vec![1; N_MOMENTS], &|node| sums[node].n_rows, &filling, runtime)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::NodeArrays;

    /// A chain: x <= 0 -> leaf 1; else x <= 1 -> leaf 3, else leaf 4.
    fn chain() -> Tree {
        let nodes = NodeArrays {
            children_left: vec![1, -1, 3, -1, -1],
            children_right: vec![2, -1, 4, -1, -1],
            feature: vec![0, -2, 0, -2, -2],
            threshold: vec![0.0, -2.0, 1.0, -2.0, -2.0],
            missing_go_to_left: vec![0; 5],
            impurity: vec![0.0; 5],
            n_node_samples: vec![3, 1, 2, 1, 1],
            weighted_n_node_samples: vec![3.0, 1.0, 2.0, 1.0, 1.0],
            value: vec![0.0; 5],
        };
        Tree::new(1, vec![1], nodes).expect("a sound tree")
    }

    fn filled(leaves: &[usize]) -> Tree {
        let data =
            Treated { treatments: &[1.0, -1.0, 2.0], outcomes: &[1.0, 2.0, 3.0], weights: Some(&[1.0, 0.5, 2.0]) };
        let rows: Vec<u32> = (0..leaves.len() as u32).collect();
        let runtime = Runtime::unstoppable();
        fill_tree(&chain(), &data, &rows, |row| leaves[row as usize], &runtime).expect("a filled tree")
    }

    #[test]
    fn leaves_have_moments_of_their_rows() {
        let tree = filled(&[1, 3, 4]);
        assert_eq!(tree.node_count(), 5);
        assert_eq!(tree.value(1), [1.0, 1.0, 1.0, 1.0, 1.0]);
        assert_eq!(tree.value(3), [0.5, -0.5, 1.0, -1.0, 0.5]);
        assert_eq!(tree.value(4), [2.0, 4.0, 6.0, 12.0, 8.0]);
        assert_eq!(tree.nodes().n_node_samples, [3, 1, 2, 1, 1]);
    }

    #[test]
    fn siblings_of_empty_leaves_take_the_place_of_parents() {
        assert_eq!(filled(&[1, 1, 3]).nodes().threshold[..1], [0.0]);
        assert_eq!(filled(&[1, 1, 3]).node_count(), 3);
        assert_eq!(filled(&[3, 4, 4]).nodes().threshold[..1], [1.0]);
        assert_eq!(filled(&[4, 4, 4]).node_count(), 1);
    }
}
