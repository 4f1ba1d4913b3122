//! The steps of [lists of rows](super::lists) through clusters, by AVX-512 with VBMI2.

#![allow(unsafe_code, reason = "vectors of registers, and rows without checked indices")]

#[allow(clippy::wildcard_imports, reason = "names of instructions")]
use std::arch::x86_64::*;

use super::lists::{ClusterRows, RowDescent};
use super::pages::{PAGE, Page, Pages};
use super::{Cluster, Clusters, Exits, LANES, SET};
use crate::tree::descent::split_view::AT_LEAF;
use crate::tree::flagged::Flagged;
use crate::tuning::tuned;

tuned! {
    /// Lists of at most this many rows, and at most [`MAX_FEW`], go on side by side (bench `sweep`).
    fn few() -> usize = 16;
}
/// The most rows that go on side by side.
const MAX_FEW: usize = 32;
/// Row numbers of a vector, which is written even where fewer are left.
const IDS: usize = 32;

pub fn is_supported() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512vbmi2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("popcnt")
}

/// The caller has checked that this is supported, and that rows have the features of the tree.
pub fn run(descent: &mut RowDescent, clusters: &Clusters, rows: &Pages) {
    let (n_rows, per_row) = (rows.n_rows(), rows.per_row());
    assert!(Pages::pages_of(clusters.n_cells()) <= per_row, "rows are shorter than the tree wants");
    assert!(n_rows * per_row <= rows.pages().len(), "rows have their pages");
    assert!(rows.lows().is_empty() || n_rows * per_row <= rows.lows().len(), "all values were rounded");
    descent.leaves.clear();
    descent.doubtful.clear();
    descent.leaves.resize(n_rows, clusters.root() & !AT_LEAF);
    if clusters.root() & AT_LEAF == 0 {
        for ids in &mut descent.ids {
            ids.resize(ids.len().max(n_rows + IDS), 0);
        }
        descent.ids[0].iter_mut().zip(0..n_rows as u16).for_each(|(id, row)| *id = row);
        descent.exits.resize(descent.exits.len().max(n_rows + IDS), 0);
        let len = n_rows as u32;
        descent.pending.push(ClusterRows { cluster: clusters.root(), start: 0, len, side: false });
        match clusters.exits() {
            Exits::U16(exits) => run_with(descent, clusters, exits, rows),
            Exits::U32(exits) => run_with(descent, clusters, exits, rows),
        }
    }
}

/// Sends the rows in the one list that is pending to their leaves.
fn run_with<E: Flagged>(descent: &mut RowDescent, clusters: &Clusters, exits: &[E], rows: &Pages) {
    macro_rules! divide_with {
        ($pages:literal) => {
            match (clusters.has_categories(), clusters.has_entries()) {
                (false, _) => divide_with!($pages, false, false),
                (true, false) => divide_with!($pages, true, false),
                (true, true) => divide_with!($pages, true, true),
            }
        };
        ($($constants:literal),+) => {
            divide::<$($constants,)+ E>(descent, clusters, exits, rows)
        };
    }
    // SAFETY: the features are supported. There is a page for each of the features of each row, and one
    // of lows if there are any. There is room for the lists, and the exits belong to the clusters.
    unsafe {
        match rows.per_row() {
            1 => divide_with!(1),
            2 => divide_with!(2),
            4 => divide_with!(4),
            _ => divide_with!(8),
        }
    }
    descent.leaves.iter_mut().for_each(|leaf| *leaf &= !E::FLAG);
}

/// A cluster in registers.
struct Loaded {
    lanes: __m512i,
    /// Lanes whose feature is in an odd pair of pages, and in the second half of eight pages.
    odd: __mmask16,
    far: __mmask16,
    /// Lanes of numbers, and those of them where missing values go right.
    numbers: __mmask16,
    missing_right: __mmask16,
    /// Lanes of sets: those whose bits are tested, and those whose integers are compared.
    bits: __mmask16,
    compared: __mmask16,
    cuts: __m512,
    /// In 32 bits each, as the compiler knows no short way from a mask to lanes of 16.
    left_of: __m512i,
    /// The number of the split that is a cluster of its own, if it is one.
    alone: Option<usize>,
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,bmi1,popcnt")]
fn load<const PAGES: usize, const CATEGORIES: bool, const ENTRIES: bool, E>(cluster: &Cluster<'_, E>) -> Loaded {
    // SAFETY: each of these has 16 items.
    let (cells, cuts, left_of) = unsafe {
        (
            _mm_loadu_si128(cluster.cells.as_ptr().cast()),
            _mm512_loadu_ps(cluster.cuts.as_ptr()),
            _mm256_loadu_si256(cluster.left_of.as_ptr().cast()),
        )
    };
    // Without the lane behind the last test of the largest cluster, whose bit in the masks is taken.
    let sets = if CATEGORIES { _mm256_movepi16_mask(left_of) } else { 0 };
    let numbers = if CATEGORIES { !(sets | SET) } else { !0 };
    let flagged = _mm_movepi8_mask(cells);
    let (lanes, left_of) = (_mm512_cvtepu8_epi32(cells), _mm512_cvtepu16_epi32(left_of));
    let has_bit = |bit: i32| _mm512_test_epi32_mask(lanes, _mm512_set1_epi32(bit));
    Loaded {
        lanes,
        odd: if PAGES > 2 { has_bit(2 * PAGE as i32) } else { 0 },
        far: if PAGES > 4 { has_bit(4 * PAGE as i32) } else { 0 },
        numbers,
        missing_right: flagged & numbers,
        bits: if ENTRIES { sets & !flagged & !SET } else { sets & !SET },
        compared: sets & flagged & !SET,
        cuts,
        left_of,
        alone: if ENTRIES { cluster.alone() } else { None },
    }
}

/// The cells of a row that the splits of a cluster ask for. `row` is the first of its pages.
///
/// # Safety
///
/// The row must have `PAGES` pages.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,bmi1,popcnt")]
unsafe fn gather<const PAGES: usize>(cluster: &Loaded, row: *const Page) -> __m512 {
    debug_assert!(row.is_aligned(), "a row begins with a page");
    // SAFETY: the caller promises `PAGES` pages.
    let page = |at: usize| unsafe { _mm512_load_ps(row.add(at).cast()) };
    let of_two = |at: usize| _mm512_permutex2var_ps(page(at), cluster.lanes, page(at + 1));
    let of_four = |at: usize| _mm512_mask_mov_ps(of_two(at), cluster.odd, of_two(at + 2));
    match PAGES {
        1 => _mm512_permutexvar_ps(cluster.lanes, page(0)),
        2 => of_two(0),
        4 => of_four(0),
        _ => _mm512_mask_mov_ps(of_four(0), cluster.far, of_four(4)),
    }
}

/// The values of rows, as the steps of a descent read them.
#[derive(Clone, Copy)]
struct Values<'a> {
    rows: &'a Pages,
    pages: *const Page,
    has_missing: bool,
    are_rounded: bool,
    /// Of no use if no value was rounded.
    lows: *const Page,
}

impl<'a> Values<'a> {
    fn new(rows: &'a Pages) -> Self {
        let (has_missing, are_rounded) = (rows.has_missing(), !rows.lows().is_empty());
        Self { rows, pages: rows.pages().as_ptr(), has_missing, are_rounded, lows: rows.lows().as_ptr() }
    }

    /// The exit that a row takes, and whether that is doubtful: a value is equal to a cut, and what was
    /// rounded cannot be compared.
    ///
    /// # Safety
    ///
    /// There must be `PAGES` pages of the row, and `PAGES` pages of lows if values are rounded.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,bmi1,popcnt")]
    unsafe fn exit<const PAGES: usize, const CATEGORIES: bool, const ENTRIES: bool>(
        self,
        clusters: &Clusters,
        cluster: &Loaded,
        lows: &[u32; LANES],
        row: usize,
    ) -> (usize, bool) {
        if ENTRIES && let Some(split) = cluster.alone {
            let goes_right = clusters.alone().goes_right(split, |place| self.rows.entry(row, place));
            return (usize::from(goes_right), false);
        }
        // SAFETY: the caller promises the pages.
        let values = unsafe { gather::<PAGES>(cluster, self.pages.add(row * PAGES)) };
        let mut right = _mm512_mask_cmp_ps_mask::<_CMP_GE_OQ>(cluster.numbers, values, cluster.cuts);
        let mut is_doubtful = false;
        if self.has_missing {
            right |= _mm512_mask_cmp_ps_mask::<_CMP_UNORD_Q>(cluster.missing_right, values, values);
        }
        if self.are_rounded {
            let equal = _mm512_mask_cmp_ps_mask::<_CMP_EQ_OQ>(cluster.numbers, values, cluster.cuts);
            if equal != 0 {
                // SAFETY: the caller promises these pages as well. `lows` has 16 items.
                let (of_row, of_cuts) = unsafe {
                    let of_row = gather::<PAGES>(cluster, self.lows.add(row * PAGES));
                    (_mm512_castps_si512(of_row), _mm512_loadu_si512(lows.as_ptr().cast()))
                };
                right = right & !equal | equal & _mm512_cmplt_epu32_mask(of_row, of_cuts);
                is_doubtful = _mm512_testn_epi32_mask(of_cuts, of_cuts) & equal != 0;
            }
        }
        if CATEGORIES {
            let (values, cuts) = (_mm512_castps_si512(values), _mm512_castps_si512(cluster.cuts));
            right |= _mm512_mask_test_epi32_mask(cluster.bits, values, cuts);
            if ENTRIES {
                right |= _mm512_mask_cmpeq_epi32_mask(cluster.compared, values, cuts);
            }
        }
        // The last exit is on the left side of no split, so one is found.
        let open = _mm512_testn_epi32_mask(_mm512_set1_epi32(right.into()), cluster.left_of);
        debug_assert_ne!(open, 0, "a row takes an exit");
        let exit = u32::from(open).trailing_zeros() as usize;
        debug_assert!(exit < LANES, "a cluster has at most `LANES` exits");
        (exit, is_doubtful)
    }
}

/// Divides the lists that are pending until all rows have come to leaves.
///
/// # Safety
///
/// The ids in pending lists must be ids of rows that have leaves and pages, and pages of lows if values
/// are rounded. Each side of the ids, and the exits, must have [`IDS`] items more than there are rows.
/// `following` must be the exits of the clusters.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,bmi1,popcnt")]
unsafe fn divide<const PAGES: usize, const CATEGORIES: bool, const ENTRIES: bool, E: Flagged>(
    descent: &mut RowDescent,
    clusters: &Clusters,
    following: &[E],
    rows: &Pages,
) {
    let RowDescent { leaves, doubtful, ids: [first, second], exits, pending } = descent;
    // The checks of debug builds compare with these.
    let (n_rows, n_ids, n_exits) = (leaves.len(), first.len().min(second.len()), exits.len());
    let is_a_row = |row: usize| row < n_rows && (row + 1) * PAGES <= rows.pages().len();
    let (leaves, exits, values) = (leaves.as_mut_ptr(), exits.as_mut_ptr(), Values::new(rows));
    let sides = [first.as_mut_ptr(), second.as_mut_ptr()];
    while let Some(ClusterRows { cluster, start, len, side }) = pending.pop() {
        let (start, len) = (start as usize, len as usize);
        debug_assert!(start + len + IDS <= n_ids && len + IDS <= n_exits, "lists have room behind them");
        // SAFETY: lists lie within their side. Writes behind the end of a list stay before the end of the
        // side, as the caller promises.
        let (ids, parts) = unsafe { (sides[usize::from(side)].add(start), sides[usize::from(!side)].add(start)) };
        if len <= few().min(MAX_FEW) {
            // SAFETY: the list is one of rows, which have `PAGES` pages and a leaf.
            unsafe {
                let ids = std::slice::from_raw_parts(ids, len);
                debug_assert!(ids.iter().all(|&row| is_a_row(row.into())), "lists are of rows");
                go_on::<PAGES, CATEGORIES, ENTRIES, E>(clusters, following, cluster, ids, values, leaves, doubtful);
            }
            continue;
        }
        // SAFETY: only clusters are pending.
        let cluster = unsafe { clusters.cluster(following, cluster) };
        let loaded = load::<PAGES, CATEGORIES, ENTRIES, E>(&cluster);
        for at in 0..len {
            // SAFETY: as above; an exit is below `LANES`.
            unsafe {
                let row = usize::from(*ids.add(at));
                debug_assert!(is_a_row(row), "lists are of rows");
                let (exit, is_doubtful) =
                    values.exit::<PAGES, CATEGORIES, ENTRIES>(clusters, &loaded, cluster.lows, row);
                *exits.add(at) = exit as u8;
                *leaves.add(row) = (*cluster.exits.get_unchecked(exit)).into();
                if is_doubtful {
                    doubtful.push(row as u16);
                }
            }
        }
        // Behind the list, no exit.
        // SAFETY: there is room for `IDS` more.
        unsafe { std::slice::from_raw_parts_mut(exits.add(len), IDS) }.fill(u8::MAX);
        // Lists are divided from left to right, and the last one goes on first: so what a
        // vector writes behind the end of a list is overwritten, or has been a list before.
        let mut end = 0;
        for (exit, &next) in cluster.exits.iter().enumerate() {
            let next = next.into();
            if next & E::FLAG == 0 {
                let wanted = _mm256_set1_epi8(exit as i8);
                let begin = end;
                for at in (0..len).step_by(IDS) {
                    debug_assert!(start + end.max(at) + IDS <= n_ids && at + IDS <= n_exits);
                    // SAFETY: there is room for `IDS` more behind the list and its parts.
                    unsafe {
                        let taken = _mm256_cmpeq_epi8_mask(_mm256_loadu_si256(exits.add(at).cast()), wanted);
                        let taking = _mm512_maskz_compress_epi16(taken, _mm512_loadu_si512(ids.add(at).cast()));
                        _mm512_storeu_si512(parts.add(end).cast(), taking);
                        end += taken.count_ones() as usize;
                    }
                }
                if end > begin {
                    let (start, len) = ((start + begin) as u32, (end - begin) as u32);
                    pending.push(ClusterRows { cluster: next, start, len, side: !side });
                }
            }
            if cluster.left_of[exit] & !SET == 0 {
                break;
            }
        }
    }
}

/// Sends a few rows from a cluster to their leaves, side by side.
///
/// # Safety
///
/// There must be pages and a leaf for each row, and pages of lows if values are rounded. `cluster`
/// must be one, and `following` the exits of the clusters.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,bmi1,popcnt")]
unsafe fn go_on<const PAGES: usize, const CATEGORIES: bool, const ENTRIES: bool, E: Flagged>(
    clusters: &Clusters,
    following: &[E],
    cluster: u32,
    ids: &[u16],
    values: Values<'_>,
    leaves: *mut u32,
    doubtful: &mut Vec<u16>,
) {
    debug_assert!(ids.len() <= MAX_FEW);
    let mut places = [cluster; MAX_FEW];
    let mut open: [u8; MAX_FEW] = std::array::from_fn(|at| at as u8);
    let mut n_open = ids.len();
    while n_open > 0 {
        let mut n_left = 0;
        for at in 0..n_open {
            let which = usize::from(open[at]);
            // SAFETY: a row is open as long as its place is a cluster. The caller promises the
            // pages.
            let (next, is_doubtful) = unsafe {
                let cluster = clusters.cluster(following, places[which]);
                let row = usize::from(ids[which]);
                let loaded = load::<PAGES, CATEGORIES, ENTRIES, E>(&cluster);
                let (exit, is_doubtful) =
                    values.exit::<PAGES, CATEGORIES, ENTRIES>(clusters, &loaded, cluster.lows, row);
                ((*cluster.exits.get_unchecked(exit)).into(), is_doubtful)
            };
            if is_doubtful {
                doubtful.push(ids[which]);
            }
            places[which] = next;
            open[n_left] = which as u8;
            n_left += usize::from(next & E::FLAG == 0);
        }
        n_open = n_left;
    }
    for (&row, &leaf) in ids.iter().zip(&places) {
        // SAFETY: the caller promises a leaf for each row.
        unsafe { *leaves.add(usize::from(row)) = leaf };
    }
}
