//! Small nodes of dense data: the drawn columns side by side, one per lane of a vector register, sorted by one network of
//! comparators.
//!
//! A key is a rank and the place of its row in the node. Batcher's odd-even merge sort ("Sorting networks and their
//! applications", AFIPS 1968) compares the same pairs whatever the keys are, so all lanes go through it together and
//! nothing is ever mispredicted. O(W log^2 W) steps for as many columns as there are lanes.
//!
//! Columns are taken in the order in which the node draws them if the best conceivable split is known: the first column
//! that makes it ends the search, as every later one can at best tie and ties are lost.

use super::best::Best;
use super::scan::{Pass, Start};
use super::{Found, NodeSearch};
use crate::criterion::Criterion;
use crate::data::DenseColumns;
use crate::data::dense::{DenseColumn, Ranks};
use crate::error::Result;
use crate::intersect::Entry;
use crate::rng::Side;
use crate::simd::vectorized;

/// Places in a node are bytes.
pub(super) const MAX_ROWS: usize = 1 << PLACE_BITS;
/// Ranks take the other bits of a key.
pub(super) const MAX_RANKS: usize = 1 << (u32::BITS - PLACE_BITS);
const PLACE_BITS: u32 = 8;
/// Nodes up to this size ask for the best conceivable split (bench `fit`).
const SUMMIT_UP_TO: usize = 16;
/// Columns side by side.
const LANES: usize = 8;

/// Keys of one row.
type Row = [u32; LANES];

/// Buffers of one worker, assumed dirty.
#[derive(Debug, Default)]
pub(super) struct SmallScratch {
    keys: Vec<Row>,
    features: Vec<u32>,
}

/// The best split of a node of at most [`MAX_ROWS`] rows, all of whose columns have at most [`MAX_RANKS`] ranks.
pub(super) fn best_split<C: Criterion>(
    at: NodeSearch<'_, C>,
    columns: &DenseColumns,
    drawn: Option<&[u32]>,
    scan: &mut C::Scan,
    scratch: &mut SmallScratch,
) -> Result<Found<C>> {
    let NodeSearch { search, node, order } = at;
    let samples = node.samples.ids();
    let summit = if samples.len() <= SUMMIT_UP_TO { search.criterion.summit(node.totals, samples, scan) } else { None };
    let n_features = search.data.n_features() as u32;
    let SmallScratch { keys, features } = scratch;
    features.clear();
    match drawn {
        Some(drawn) => features.extend_from_slice(drawn),
        None if summit.is_some() => order.first(n_features, features),
        None => features.extend(0..n_features),
    }
    features.retain(|&feature| !node.constants.contains(feature));
    keys.resize(samples.len(), [0; LANES]);
    let mut best = Best::below(summit);
    let mut n_varying = 0;
    for batch in features.chunks(LANES) {
        search.runtime.check_interrupt()?;
        sort_columns(at, columns, batch, keys);
        for (lane, &feature) in batch.iter().enumerate() {
            if varies(keys, lane) {
                n_varying += 1;
                scan_lane(at, feature, keys, lane, scan, &mut best);
            }
        }
        if best.is_final(search.criterion, node.totals) {
            break;
        }
    }
    // Of those that are not drawn, the first that varies.
    if n_varying == 0 {
        for start in (search.n_drawn() as u32..n_features).step_by(LANES) {
            search.runtime.check_interrupt()?;
            let mut batch = [0; LANES];
            let batch = &mut batch[..LANES.min((n_features - start) as usize)];
            order.draw(start, batch);
            sort_columns(at, columns, batch, keys);
            if let Some(lane) = (0..batch.len()).find(|&lane| varies(keys, lane)) {
                scan_lane(at, batch[lane], keys, lane, scan, &mut best);
                break;
            }
        }
    }
    Ok(Found { best: best.candidate(), constants: node.constants.clone(), known: None })
}

/// Sets each lane to the sorted keys of a column.
fn sort_columns<C: Criterion>(at: NodeSearch<'_, C>, columns: &DenseColumns, batch: &[u32], keys: &mut [Row]) {
    let samples = at.node.samples.ids();
    for (lane, &feature) in batch.iter().enumerate() {
        load_lane(columns.column(feature), samples, keys, lane);
    }
    sort_lanes(at.search.level, keys);
}

fn load_lane(column: &DenseColumn, samples: &[u32], keys: &mut [Row], lane: usize) {
    fn load<R: Copy + Into<u32>>(ranks: &[R], samples: &[u32], keys: &mut [Row], lane: usize) {
        for (place, (row, &sample)) in keys.iter_mut().zip(samples).enumerate() {
            row[lane] = ranks[sample as usize].into() << PLACE_BITS | place as u32;
        }
    }
    match &column.ranks {
        Ranks::U8(ranks) => load(ranks, samples, keys, lane),
        Ranks::U16(ranks) => load(ranks, samples, keys, lane),
        Ranks::U32(ranks) => load(ranks, samples, keys, lane),
    }
}

fn varies(keys: &[Row], lane: usize) -> bool {
    keys[0][lane] >> PLACE_BITS != keys[keys.len() - 1][lane] >> PLACE_BITS
}

/// Offers the cuts of a sorted lane.
fn scan_lane<C: Criterion>(
    at: NodeSearch<'_, C>,
    feature: u32,
    keys: &[Row],
    lane: usize,
    scan: &mut C::Scan,
    best: &mut Best<C>,
) {
    let samples = at.node.samples.ids();
    let place = |key: u32| (key & ((1 << PLACE_BITS) - 1)) as usize;
    let entries = keys.iter().map(|row| Entry::new(row[lane] >> PLACE_BITS, samples[place(row[lane])]));
    Pass { at, feature, side: Side::Left }.run(entries, Start::of(at, scan), None, scan, best);
}

vectorized! {
    /// Sorts every lane.
    fn sort_lanes(keys: &mut [Row]) {
        let n = keys.len();
        let mut merged = 1;
        while merged < n {
            let mut step = merged;
            while step > 0 {
                for first in (step % merged..n - step.min(n)).step_by(2 * step) {
                    for low in first..(first + step).min(n - step) {
                        // Both ends lie in one of the runs that are being merged.
                        if low / (2 * merged) == (low + step) / (2 * merged) {
                            let high = low + step;
                            let (a, b) = (keys[low], keys[high]);
                            for lane in 0..LANES {
                                keys[low][lane] = a[lane].min(b[lane]);
                                keys[high][lane] = a[lane].max(b[lane]);
                            }
                        }
                    }
                }
                step /= 2;
            }
            merged *= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::simd::Level;

    #[test]
    fn networks_sort_zeros_and_ones() {
        // A network that sorts all sequences of zeros and ones sorts all (Knuth, "The Art of Computer Programming", volume
        // 3, section 5.3.4, theorem Z).
        for n in 1..=16 {
            for first in (0..1u32 << n).step_by(LANES) {
                let mut keys: Vec<Row> =
                    (0..n).map(|i| std::array::from_fn(|lane| (first + lane as u32) >> i & 1)).collect();
                sort_lanes(Level::widest(), &mut keys);
                assert!((0..LANES).all(|lane| keys.is_sorted_by_key(|row| row[lane])), "n={n}");
            }
        }
    }

    proptest! {
        #[test]
        fn networks_sort(keys in prop::collection::vec(any::<Row>(), 1..=MAX_ROWS)) {
            for level in Level::supported() {
                let mut sorted = keys.clone();
                sort_lanes(level, &mut sorted);
                for lane in 0..LANES {
                    let mut expected: Vec<u32> = keys.iter().map(|row| row[lane]).collect();
                    expected.sort_unstable();
                    prop_assert!(sorted.iter().map(|row| row[lane]).eq(expected));
                }
            }
        }
    }
}
