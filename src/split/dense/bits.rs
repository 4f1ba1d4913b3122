//! The columns of few values in a large node: one pass over the words of the node's rows adds up what
//! is on the left of eight cuts, of whichever columns.

use crate::criterion::Criterion;
use crate::criterion::packed::lanes::LANES;
use crate::criterion::packed::{Packed, Summed};
use crate::data::dense::{BitColumns, Place, gather};
use crate::error::Result;
use crate::simd::vectorized;
use crate::split::by_column::Progress;
use crate::split::dense::column::RowsOf;
use crate::split::dense::offer_loose;
use crate::split::node::NodeSearch;

/// Buffers of one worker. Each search assumes that they are dirty.
#[derive(Debug, Default)]
pub(super) struct BitScratch {
    columns: Vec<DrawnColumn>,
    words: Vec<u64>,
    cuts: Vec<DrawnCut>,
}

/// A column of few values that a node draws.
#[derive(Debug, Clone, Copy)]
struct DrawnColumn {
    place: Place,
    feature: u32,
    /// The position at which the node draws the feature, if that is known.
    position: Option<u32>,
}

/// A cut with rows of the node on both sides.
#[derive(Debug, Clone, Copy)]
struct DrawnCut {
    bit: u32,
    column: DrawnColumn,
}

/// Where the bits of a feature are, if it is searched [here](search).
pub(super) fn place_of<C: Criterion>(at: NodeSearch<'_, C>, bits: &BitColumns, feature: u32) -> Option<Place> {
    let data = at.search.data;
    bits.place(feature).filter(|_| !data.is_categorical(feature) && data.missing_rank(feature).is_none())
}

/// Offers the cuts of the columns of few values among those that the node draws; `None` means all.
/// `rows` are the rows of the node in packed form. O(rows), for each word and for each eight cuts.
#[allow(clippy::too_many_arguments, reason = "columns of a node, and scratch")]
pub(super) fn search<C: Criterion>(
    at: NodeSearch<'_, C>,
    bits: &BitColumns,
    drawn: Option<&[u32]>,
    rows: &RowsOf<C>,
    packed: &mut C::Packed,
    scan: &mut C::Scan,
    scratch: &mut BitScratch,
    progress: &mut Progress<C>,
) -> Result<()> {
    let NodeSearch { search, node, .. } = at;
    let BitScratch { columns, words, cuts } = scratch;
    let in_order = drawn.is_some() && search.draws_in_order();
    let column = |position: u32| {
        let feature = drawn.map_or(position, |drawn| drawn[position as usize]);
        let place = place_of(at, bits, feature).filter(|_| !node.constants.contains(feature))?;
        Some(DrawnColumn { place, feature, position: in_order.then_some(position) })
    };
    columns.clear();
    columns.extend((0..drawn.map_or(search.data.n_features(), <[u32]>::len) as u32).filter_map(column));
    columns.sort_unstable_by_key(|column| (column.place.word, column.place.first));
    words.resize(node.samples.len(), 0);
    for columns in columns.chunk_by(|a, b| a.place.word == b.place.word) {
        search.runtime.check_interrupt()?;
        gather(bits.words(columns[0].place.word), node.samples.ids(), words);
        let varying = varying_bits(search.level, words);
        cuts.clear();
        for &column in columns {
            let Place { first, n_cuts, .. } = column.place;
            if varying & column.place.bits() == 0 {
                progress.constants.push(column.feature);
                continue;
            }
            progress.n_varying += 1;
            let varying = (first..first + n_cuts).filter(|bit| varying >> bit & 1 != 0);
            cuts.extend(varying.map(|bit| DrawnCut { bit, column }));
        }
        for cuts in cuts.chunks(LANES) {
            let mut of_lanes = [0; LANES];
            of_lanes.iter_mut().zip(cuts).for_each(|(bit, cut)| *bit = cut.bit);
            packed.add_without(search.level, rows, words, &of_lanes);
            for (lane, &DrawnCut { bit, column }) in cuts.iter().enumerate() {
                progress.best.set_position(column.position);
                let pushed = packed.pushed(search.criterion, node.totals, scan, Summed::Lane(lane));
                let n_left = || words.iter().filter(|&&word| word >> bit & 1 == 0).count();
                let cut = (column.feature, bit - column.place.first, None);
                offer_loose(at, cut, (scan, pushed), n_left, &mut progress.best);
            }
        }
    }
    Ok(())
}

vectorized! {
    /// The bits that some words have and others have not.
    fn varying_bits(words: &[u64]) -> u64 {
        let (all, any) = words.iter().fold((u64::MAX, 0), |(all, any), &word| (all & word, any | word));
        any & !all
    }
}
