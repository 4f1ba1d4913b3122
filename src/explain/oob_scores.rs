//! Predictions out of bag with permuted columns, for scores of any kind.

use super::oob::{RESULT, Training, Unseen, check_rows, unseen};
use crate::error::Result;
use crate::forest::{Forest, Member};
use crate::memory;
use crate::runtime::Runtime;
use crate::tree::{TREE_LEAF, Tree, Walk};

/// Sums that a task adds up.
const SUMS_PER_TASK: usize = 1 << 12;

/// A row that reaches another leaf: its group and its number, in one; the tree; the number of the
/// leaf.
type Changed = (u64, u32, u32);

/// For each of some pairs of a row and a group, the changes in all trees.
type Runs<'a> = &'a [&'a [Changed]];

/// Predictions out of bag that change if the columns of groups of features are permuted.
#[derive(Debug, Clone, PartialEq)]
pub struct OobChanges {
    /// By group, where its rows begin; then the end of the last ones.
    pub starts: Vec<i64>,
    /// The rows whose prediction changes, ascending for each group.
    pub rows: Vec<u32>,
    /// By such row: the sum of what the trees predict then that have not seen it. Row-major
    /// `(rows.len(), n_values)`.
    pub sums: Vec<f64>,
}

/// The [sums of predictions out of bag](Forest::sum_oob) that change if each row gets the values of another
/// one, `donors[row]`, for the features of a group. Bit for bit, a matrix with these values would give the
/// same sums. `groups` has the group of each feature; features of groups from `n_groups` on are left as they
/// are. Targets are not read. The runtime counts trees.
pub fn oob_changes(
    forest: &Forest,
    training: Training<'_>,
    (groups, n_groups): (&[u32], usize),
    donors: &[u32],
    runtime: &Runtime<'_>,
) -> Result<OobChanges> {
    let rows = check_rows(forest, &training)?;
    let reach = |(number, member): (u32, &Member)| {
        let unseen = unseen(&training, member, runtime)?;
        let unpacked = member.tree.unpack()?;
        let numbers = number_leaves(&unpacked)?;
        let tree = Unseen { tree: &unpacked, rows: &unseen, training: &training };
        let donors: Vec<u32> = unseen.iter().map(|&row| donors[row as usize]).collect();
        let (mut own, mut changes) = (Vec::with_capacity(unseen.len()), Vec::new());
        tree.reroute(
            rows,
            (groups, n_groups),
            &[donors],
            runtime,
            |row, leaf| own.push((row, numbers[leaf])),
            |change| {
                if unpacked.value(change.leaf) != unpacked.value(change.reached) {
                    let key = (change.group as u64) << 32 | u64::from(change.row);
                    changes.push((key, number, numbers[change.reached]));
                }
            },
        )?;
        runtime.advance();
        Ok((own, changes))
    };
    let of_trees = runtime.map((0..).zip(forest.members()).collect(), reach)?;
    let (own, changes): (Vec<_>, Vec<_>) = of_trees.into_iter().unzip();
    let own = ByRow::new(&own, rows.shape().0)?;
    // By group and row, and then in the order of the trees.
    let mut changes: Vec<Changed> = changes.concat();
    changes.sort_unstable();
    let (mut starts, mut rows): (Vec<i64>, Vec<u32>) = (memory::zeros(RESULT, n_groups + 1)?, Vec::new());
    let runs: Vec<&[Changed]> = changes.chunk_by(|one, other| one.0 == other.0).collect();
    for &(key, ..) in runs.iter().map(|run| &run[0]) {
        starts[(key >> 32) as usize + 1] += 1;
        rows.push(key as u32);
    }
    for group in 0..n_groups {
        starts[group + 1] += starts[group];
    }
    let n_values = forest.n_values();
    let mut sums: Vec<f64> = memory::zeros(RESULT, runs.len().saturating_mul(n_values))?;
    let trees: Vec<_> = forest.trees().collect();
    let parts = runs.chunks(SUMS_PER_TASK).zip(sums.chunks_mut(SUMS_PER_TASK * n_values));
    runtime.map(parts.collect(), |(runs, sums): (Runs<'_>, &mut [f64])| {
        runtime.check_interrupt()?;
        for (run, sum) in runs.iter().zip(sums.chunks_exact_mut(n_values)) {
            let mut changed = run.iter().map(|&(_, tree, leaf)| (tree, leaf)).peekable();
            for &(tree, leaf) in own.row(run[0].0 as u32) {
                let other = changed.next_if(|change| change.0 == tree).map(|change| change.1);
                trees[tree as usize].add_values(&[other.unwrap_or(leaf)], sum);
            }
        }
        Ok(())
    })?;
    Ok(OobChanges { starts, rows, sums })
}

/// The number of each leaf among the leaves of a tree, by node.
fn number_leaves(tree: &Tree) -> Result<Vec<u32>> {
    let mut numbers: Vec<u32> = memory::zeros(RESULT, tree.node_count())?;
    let mut n_leaves = 0;
    for (number, &left) in numbers.iter_mut().zip(&tree.nodes().children_left) {
        *number = n_leaves;
        n_leaves += u32::from(left == TREE_LEAF);
    }
    Ok(numbers)
}

/// The trees that have not seen a row, and the number of the leaf that it reaches in each.
struct ByRow {
    starts: Vec<usize>,
    leaves: Vec<(u32, u32)>,
}

impl ByRow {
    /// Given for each tree its rows and their leaves.
    fn new(of_trees: &[Vec<(u32, u32)>], n_rows: usize) -> Result<Self> {
        let mut starts: Vec<usize> = memory::zeros(RESULT, n_rows + 1)?;
        for &(row, _) in of_trees.iter().flatten() {
            starts[row as usize + 1] += 1;
        }
        for row in 0..n_rows {
            starts[row + 1] += starts[row];
        }
        let mut next = starts.clone();
        let mut leaves = memory::filled(RESULT, (0, 0), starts[n_rows])?;
        for (tree, rows) in (0..).zip(of_trees) {
            for &(row, leaf) in rows {
                leaves[next[row as usize]] = (tree, leaf);
                next[row as usize] += 1;
            }
        }
        Ok(Self { starts, leaves })
    }

    fn row(&self, row: u32) -> &[(u32, u32)] {
        &self.leaves[self.starts[row as usize]..self.starts[row as usize + 1]]
    }
}
