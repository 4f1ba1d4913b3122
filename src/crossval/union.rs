//! Which children of folds are one node.

use super::costs::{Costs, Size};

/// Nodes that are tried for a fold before it gets its own.
const MAX_TRIALS: usize = 8;

/// Children of one side that are one node.
pub(super) struct Union {
    /// By position in the parent, whether a row is in one of them.
    pub holds: Vec<bool>,
    pub size: Size,
    /// Of whom.
    pub cuts: Vec<usize>,
}

/// Lanes that want the child on one side of a cut.
pub(super) struct Wanted {
    pub cut: usize,
    pub n_lanes: usize,
    /// Those that held one row out of the parent, or none.
    pub n_singles: usize,
}

/// Unites the children on one side of some cuts where that is cheaper than not to.
pub(super) fn unite(cuts: &[Wanted], goes_left: &[Vec<bool>], left: bool, costs: &Costs) -> Vec<Union> {
    let mut unions: Vec<Union> = Vec::new();
    for &Wanted { cut, n_lanes, n_singles } in cuts {
        let holds = || goes_left[cut].iter().map(|&goes_left| goes_left == left);
        let n_rows = holds().filter(|&holds| holds).count();
        let own = Size { n_rows, n_lanes, n_singles, n_lane_rows: n_lanes * n_rows };
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
