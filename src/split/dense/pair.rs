//! Nodes of two rows: any column in which they differ parts them, and the first that the node draws wins the tie.
//!
//! In a fully grown tree a quarter of all splits or more are of this kind. No statistics are needed.

use crate::criterion::Criterion;
use crate::data::DenseColumns;
use crate::params::Splitter;
use crate::rng::Side;
use crate::split::candidate::{Candidate, Cut};
use crate::split::node::NodeSearch;

/// The split of a node of two rows that differ in their target, if it may be split; or the feature if it is categorical.
/// `drawn` are the features in the order of the draw, or the first of all.
pub(crate) fn best_split<C: Criterion>(
    at: NodeSearch<'_, C>,
    columns: &DenseColumns,
    drawn: Option<&[u32]>,
) -> Option<Result<Candidate, u32>> {
    let NodeSearch { search, node, order } = at;
    let samples = node.samples.ids();
    debug_assert_eq!(samples.len(), 2);
    let part = |feature: u32| {
        let column = columns.column(feature);
        let [a, b] = [samples[0], samples[1]].map(|sample| column.rank(sample));
        let (lowest, highest) = (a.min(b), a.max(b));
        // Missing values are parted from all others, whatever the splitter.
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
    // With all features the order of the draw is only asked for if there is a choice.
    first.chain((n_known..n_features).map(|position| order.at(position))).find_map(part)
}
