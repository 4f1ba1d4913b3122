//! A batch of rows that go down trees, and what the ways of going there have in common.

use super::row_bits::RowBits;
use super::walk::Walk;
use crate::data::rows::Reader;
use crate::runtime::Runtime;

/// Batches of fewer rows than this go one by one, each row through several trees side by side.
const SEVERAL: usize = 8;

/// Some rows of a block, and the trees that all of them go down.
pub struct Batch<'a, 't, 'r, W> {
    pub trees: &'a [&'t W],
    pub reader: &'a mut Reader<'r>,
    /// The numbers of the rows, as the reader knows them.
    pub rows: &'a [usize],
    pub runtime: &'a Runtime<'a>,
}

impl<'t, W: Walk> Batch<'_, 't, '_, W> {
    /// Whether the rows are so many that they go through one tree after the other.
    pub fn are_several(&self) -> bool {
        self.rows.len() >= SEVERAL
    }

    /// A form of each tree, if all trees have it. Forms that do not exist yet are made, from the tree on that
    /// has the share of the trees before it that the batch has of the rows before it: threads with different
    /// rows do not wait for each other.
    pub fn forms<F>(&self, form: impl Fn(&'t W, usize) -> Option<&'t F>) -> Option<Vec<&'t F>> {
        let (trees, n_samples) = (self.trees, self.reader.n_samples());
        let share = self.reader.share_before(self.rows[0]);
        let (before, after) = trees.split_at((share * trees.len() as f64) as usize);
        let all_exist = after.iter().chain(before).all(|tree| form(tree, n_samples).is_some());
        if all_exist { trees.iter().map(|tree| form(tree, n_samples)).collect() } else { None }
    }

    /// Room for the bits of the categories of rows, if the trees make use of them.
    pub fn row_bits(&self, n_rows: usize) -> Option<RowBits> {
        let n_categories = self.trees.first().filter(|_| W::HOLDS_SETS)?.n_categories();
        RowBits::new(n_categories, n_rows, self.trees.len())
    }
}
