//! The two ranks between which a fold cuts a column.

use super::FoldsNode;
use crate::data::Entry;
use crate::split::node::NodeColumn;

/// The ranks beside a cut: the last rank on the left and the first rank on the right that some row
/// has, among all rows of a node or among the rows of one fold.
#[derive(Clone, Copy)]
pub(crate) struct CutRanks {
    pub last_left: u32,
    pub first_right: u32,
    /// A row with rank `last_left` and a row with rank `first_right`. `None` where the rank is the common
    /// rank, whose rows have no entries.
    rows: [Option<u32>; 2],
}

impl CutRanks {
    /// The ranks beside the cut after `rank` in a column of a node: of the rows of `fold`, or of
    /// all rows without a fold. There must be such rows on both sides.
    pub fn new(node: &FoldsNode<'_>, fold: Option<usize>, rank: u32, column: NodeColumn<'_>) -> Self {
        let NodeColumn { entries, n_common, common_rank, .. } = column;
        let is_in = |entry: &&Entry| fold.is_none_or(|fold| node.holders.is_in(fold, entry.sample()));
        let has_common = match fold {
            _ if n_common == 0 => false,
            None => true,
            Some(fold) if n_common > node.held_out[fold].len() => true,
            Some(fold) => entries.iter().filter(is_in).count() < node.samples.len() - node.held_out[fold].len(),
        };
        let (low, high) = entries.split_at(entries.partition_point(|entry| entry.rank() <= rank));
        let beside = [low.iter().rev().find(is_in), high.iter().find(is_in)];
        let mut ranks = beside.map(|entry| entry.map(|entry| entry.rank()));
        let mut rows = beside.map(|entry| entry.map(|entry| entry.sample()));
        if has_common {
            let at = usize::from(common_rank > rank);
            let is_nearer = |other: u32| if at == 0 { common_rank > other } else { common_rank < other };
            if ranks[at].is_none_or(is_nearer) {
                (ranks[at], rows[at]) = (Some(common_rank), None);
            }
        }
        debug_assert!(ranks.iter().all(Option::is_some), "a fold has rows on both sides of its cut");
        let [last_left, first_right] = ranks;
        Self { last_left: last_left.unwrap_or(rank), first_right: first_right.unwrap_or(rank + 1), rows }
    }

    /// Whether these ranks, which were found among all rows, certainly hold for a fold too: the fold has both
    /// rows of `rows`.
    pub fn is_of(&self, node: &FoldsNode<'_>, fold: usize) -> bool {
        self.rows.iter().all(|row| row.is_some_and(|row| node.holders.is_in(fold, row)))
    }
}
