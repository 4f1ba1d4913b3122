//! Which categories the split of a node lists: the categories of the lighter child.

use smallvec::SmallVec;

use crate::data::Dataset;
use crate::rng::Side;
use crate::tree::sets::CategorySet;

/// The set of a split on `feature`, and the side to which missing values go. `left` and `right` are
/// the rows of the children, and all that the lighter one does not have goes to the `heavier` one.
/// `None` if the feature is numeric. O(rows of the lighter child).
pub(super) fn of_split(
    data: &Dataset,
    feature: u32,
    (left, right): (&[u32], &[u32]),
    heavier: Side,
) -> Option<(CategorySet, Side)> {
    let code = data.codes(feature)?;
    let rows = if heavier == Side::Left { right } else { left };
    let mut listed: SmallVec<[Option<u32>; 64]> = SmallVec::new();
    let n_ranks = data.n_ranks(feature);
    if rows.len() <= n_ranks {
        data.visit_ranks(feature, rows.iter().copied(), |_, rank| listed.push(code(rank)));
    } else {
        // Codes are looked up once for each rank, not for each row.
        let mut occurs = vec![false; n_ranks];
        data.visit_ranks(feature, rows.iter().copied(), |_, rank| occurs[rank as usize] = true);
        listed.extend((0..).zip(&occurs).filter(|&(_, &occurs)| occurs).map(|(rank, _)| code(rank)));
    }
    let has_missing = listed.iter().any(Option::is_none);
    let codes: SmallVec<[u32; 64]> = listed.into_iter().flatten().collect();
    Some(match heavier {
        Side::Left => (CategorySet::new(&[], &codes, true), if has_missing { Side::Right } else { Side::Left }),
        Side::Right => (CategorySet::new(&codes, &[], false), if has_missing { Side::Left } else { Side::Right }),
    })
}
