//! The columns of few values in a large node: one pass over the words of the node's rows adds up what
//! is on the left of eight cuts, of whichever columns.

use crate::criterion::Criterion;
use crate::criterion::packed::LANES;
use crate::criterion::packed::{Packed, Summed};
use crate::data::dense::{BitColumns, Place, all_and_any, gather};
use crate::error::Result;
use crate::params::Splitter;
use crate::simd::vectorized;
use crate::split::by_column::Progress;
use crate::split::candidate::{Candidate, Cut, threshold_between};
use crate::split::dense::column::RowsOf;
use crate::split::dense::offer;
use crate::split::node::NodeSearch;

/// Buffers of one worker. Each search assumes that they are dirty.
#[derive(Debug, Default)]
pub(super) struct BitScratch {
    columns: Vec<(Place, u32)>,
    words: Vec<u64>,
    cuts: Vec<BitCut>,
}

/// A cut with rows of the node on both sides. Rows without the bit go left.
#[derive(Debug, Clone, Copy)]
struct BitCut {
    bit: u32,
    candidate: Candidate,
}

/// Where the bits of a feature are, if it is searched [here](search).
pub(super) fn place_of<C: Criterion>(at: NodeSearch<'_, C>, bits: &BitColumns, feature: u32) -> Option<Place> {
    let data = at.search.data;
    bits.place(feature).filter(|_| !data.is_categorical(feature) && data.missing_rank(feature).is_none())
}

/// Brings columns that share words together. Compiled once, not for each criterion.
fn sort_by_place(columns: &mut [(Place, u32)]) {
    columns.sort_unstable_by_key(|(place, _)| (place.word, place.first));
}

/// Offers the cuts of the columns of few values among these features: all cuts, or for random thresholds
/// one. Columns that are known to be constant are left out. `rows` are the rows of the node in packed
/// form. O(rows), for each word and for each eight cuts.
#[allow(clippy::too_many_arguments, reason = "columns of a node, and scratch")]
pub(super) fn search<C: Criterion>(
    at: NodeSearch<'_, C>,
    bits: &BitColumns,
    features: impl Iterator<Item = u32>,
    rows: &RowsOf<C>,
    packed: &mut C::Packed,
    scan: &mut C::Scan,
    scratch: &mut BitScratch,
    progress: &mut Progress<C>,
) -> Result<()> {
    let NodeSearch { search, node, .. } = at;
    let BitScratch { columns, words, cuts } = scratch;
    let features = features.filter(|&feature| !node.constants.contains(feature));
    columns.clear();
    columns.extend(features.filter_map(|feature| Some((place_of(at, bits, feature)?, feature))));
    sort_by_place(columns);
    words.resize(node.samples.len(), 0);
    for columns in columns.chunk_by(|(a, _), (b, _)| a.word == b.word) {
        search.runtime.check_interrupt()?;
        gather(bits.words(columns[0].0.word), node.samples.ids(), words);
        let [all, any] = bits_of(search.level, words);
        cuts.clear();
        for &(place, feature) in columns {
            // The number of bits that a row has is its rank: one for each cut below it.
            let [lowest, highest] = [all, any].map(|bits| (bits & place.bits()).count_ones());
            if lowest == highest {
                progress.constants.push(feature);
                continue;
            }
            progress.n_varying += 1;
            match search.params.splitter {
                Splitter::Best => {
                    let varying = (lowest..highest).filter(|cut| (any & !all) >> (place.first + cut) & 1 != 0);
                    cuts.extend(varying.map(|cut| BitCut {
                        bit: place.first + cut,
                        candidate: Candidate { is_loose: true, ..Candidate::between(feature, cut, cut + 1, 0) },
                    }));
                }
                Splitter::Random => {
                    let (low, high) = (search.data.value(feature, lowest), search.data.value(feature, highest));
                    let threshold = threshold_between(node.key, feature, low, high);
                    let last = search.data.rank_above(feature, threshold, lowest + 1..highest) - 1;
                    let cut = Cut::Random { key: node.key, lowest, highest };
                    let candidate = Candidate { cut, ..Candidate::between(feature, last, last + 1, 0) };
                    cuts.push(BitCut { bit: place.first + last, candidate });
                }
            }
        }
        for cuts in cuts.chunks(LANES) {
            let mut of_lanes = [0; LANES];
            of_lanes.iter_mut().zip(cuts).for_each(|(bit, cut)| *bit = cut.bit);
            packed.add_without(search.level, rows, words, &of_lanes);
            for (lane, &BitCut { bit, candidate }) in cuts.iter().enumerate() {
                let pushed = packed.pushed(search.criterion, node.totals, scan, Summed::Lane(lane));
                let n_left = || words.iter().filter(|&&word| word >> bit & 1 == 0).count();
                offer(at, candidate, (scan, pushed), n_left, &mut progress.best);
            }
        }
    }
    Ok(())
}

vectorized! {
    /// See [`all_and_any`].
    fn bits_of(words: &[u64]) -> [u64; 2] {
        all_and_any(words.iter().copied())
    }
}
