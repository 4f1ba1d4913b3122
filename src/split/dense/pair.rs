//! The search of nodes of two rows. Every column in which the two rows differ separates them, so all these
//! columns tie, and the first of them that the node draws wins.
//!
//! In a fully grown tree a quarter of all splits or more are of such nodes. No statistics are
//! needed.

use crate::criterion::Criterion;
use crate::data::DenseColumns;
use crate::params::Splitter;
use crate::rng::Side;
use crate::split::candidate::{Candidate, Cut};
use crate::split::node::NodeSearch;

/// The split of a node of two rows that have different targets. `Err` has the feature if it is
/// categorical. `None` if no column separates the rows. `drawn` lists the features that the node
/// draws, in the order of the draw; `None` means all. If none of these columns separates the rows,
/// the draw goes on.
pub(crate) fn best_split<C: Criterion>(
    at: NodeSearch<'_, C>,
    columns: &DenseColumns,
    drawn: Option<&[u32]>,
) -> Option<Result<Candidate, u32>> {
    let NodeSearch { search, node, order } = at;
    let samples = node.samples.ids();
    debug_assert_eq!(samples.len(), 2);
    let part = |feature: u32| {
        if at.is_excluded(feature) {
            return None;
        }
        let column = columns.column(feature);
        let [a, b] = [samples[0], samples[1]].map(|sample| column.rank(sample));
        let (lowest, highest) = (a.min(b), a.max(b));
        // Missing values are separated from all values, whatever the splitter.
        let missing = (search.data.missing_rank(feature) == Some(highest)).then_some(Side::Right);
        let cut = match search.params.splitter {
            Splitter::Random if missing.is_none() => Cut::Random { key: node.key, lowest, highest },
            Splitter::Best | Splitter::Random => Cut::Before(highest),
        };
        if a != b && search.data.is_categorical(feature) {
            return Some(Err(feature));
        }
        let candidate = Candidate { feature, last_left: lowest, missing, order: 0, cut, n_left: 1, is_loose: false };
        (a != b).then_some(Ok(candidate))
    };
    let n_features = search.data.n_features() as u32;
    let n_known = drawn.map_or(0, <[u32]>::len) as u32;
    let first = drawn.unwrap_or_default().iter().copied();
    // Positions of the permutation are computed one by one, only until a column separates the rows.
    first.chain((n_known..n_features).map(|position| order.at(position))).find_map(part)
}
