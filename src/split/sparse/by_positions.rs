//! The search of a node of few entries, by the positions at which the node draws their features.
//!
//! A node that draws k of many features must find its entries in the drawn features: few entries, or none.
//! One way is to draw the k features, and to look each of them up. The way here goes backwards: the inverse
//! of the node's permutation tells at which position the feature of each entry is drawn, and the entries at
//! the first k positions are wanted. It needs neither the draw nor a look-up, and the positions are at hand
//! for ties, and for the first feature that varies if none of the drawn ones does. O(entries),
//! and O(entries * log(features)) if few features vary.

use std::ops::ControlFlow;

use crate::criterion::Criterion;
use crate::data::SparseColumns;
use crate::error::Result;
use crate::params::{FeatureSampling, Strategy};
use crate::split::best::Best;
use crate::split::found::Found;
use crate::split::node::{Node, NodeSearch, Search};
use crate::split::sparse::by_rows::Groups;
use crate::split::sparse::scratch::SearchScratch;
use crate::tuning::tuned;

tuned! {
    /// A node with fewer entries than this many times the features that it draws computes the
    /// positions of its entries (bench `sweep`).
    fn positions_below() -> f64 = 2.0;
}

/// Whether a node is searched in this way.
pub(crate) fn is_cheapest<C: Criterion>(search: &Search<'_, C>, node: &Node<'_, C>) -> bool {
    search.params.feature_sampling == FeatureSampling::All
        && !search.draws_all()
        && match search.params.force_strategy {
            None => (node.n_entries as f64) < positions_below() * search.n_drawn() as f64,
            Some(strategy) => strategy == Strategy::Positions,
        }
}

/// Finds the best split of a node that draws some features. The draw is not needed.
pub(crate) fn search_positions<C: Criterion>(
    at: NodeSearch<'_, C>,
    columns: &SparseColumns,
    scan: &mut C::Scan,
    scratch: &mut SearchScratch,
) -> Result<Found<C>> {
    at.search.runtime.check_interrupt()?;
    let SearchScratch { positions, entries, winner, .. } = scratch;
    let best = Best::with_bar(at.search, at.node, 0.0).in_order();
    let mut groups = Groups::new(at, columns, scan, winner, best);
    let n_drawn = at.search.n_drawn() as u32;
    positions.load(at, columns);
    let _ = positions.for_each_of(at, columns, 0..n_drawn, entries, |feature, entries| {
        groups.visit(feature, entries);
        ControlFlow::Continue(())
    });
    if groups.n_varying == 0
        && let Some(feature) = positions.first_varying(at, columns, n_drawn, entries)?
    {
        groups.visit(feature, entries);
    }
    Ok(groups.into_found())
}
