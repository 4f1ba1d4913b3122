//! Which children of different folds become one node. All folds that hold nothing out of a node
//! count as one fold.

use std::cmp::Reverse;

use super::costs::{Costs, Size};

/// A child joins one of the first unions of its side, or becomes a union of its own. At most this many unions
/// are tried.
const MAX_TRIALS: usize = 8;

/// Children on one side of one or several cuts that become one node.
pub(super) struct Union {
    /// For each row of the parent, by position, whether one of the children has the row.
    pub holds: Vec<bool>,
    pub size: Size,
    /// The cuts whose children these are, by their positions in the list of the parent's cuts.
    pub cuts: Vec<usize>,
}

/// The child on one side of a cut, and the folds that have query rows there.
pub(super) struct WantedSide {
    pub cut: usize,
    pub n_folds: usize,
    /// Number of these folds that hold one row out of the parent, or none.
    pub n_singles: usize,
}

/// Unites the children on one side of `cuts` where one node for several children is cheaper than a
/// node for each. `left` says which side; `goes_left` has, for each cut and each row of the parent,
/// whether the row goes left.
pub(super) fn unite(mut cuts: Vec<WantedSide>, goes_left: &[Vec<bool>], left: bool, costs: &Costs) -> Vec<Union> {
    // The cut of most folds comes first, so that others join its child.
    cuts.sort_unstable_by_key(|wanted| (Reverse(wanted.n_folds), wanted.cut));
    let mut unions: Vec<Union> = Vec::new();
    for WantedSide { cut, n_folds, n_singles } in cuts {
        let holds = || goes_left[cut].iter().map(|&goes_left| goes_left == left);
        let n_rows = holds().filter(|&holds| holds).count();
        let own = Size { n_rows, n_folds, n_singles, n_fold_rows: n_folds * n_rows };
        let n_more = |union: &Union| holds().zip(&union.holds).filter(|&(own, &holds)| own && !holds).count();
        let pays = |union: &&mut Union| {
            let together = costs.of(union.size.with(own, n_more(union)));
            together < costs.of_best(union.size) + costs.of_best(own)
        };
        match unions.iter_mut().take(MAX_TRIALS).find(pays) {
            Some(union) => {
                union.size = union.size.with(own, n_more(union));
                union.holds.iter_mut().zip(holds()).for_each(|(all, own)| *all |= own);
                union.cuts.push(cut);
            }
            None => unions.push(Union { holds: holds().collect(), size: own, cuts: vec![cut] }),
        }
    }
    unions
}
