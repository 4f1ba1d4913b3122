//! Rows go down a tree of clusters as lists, which each cluster divides among its exits.
//!
//! The reads of one row do not wait for the reads of another, a cluster is loaded once for all rows of its
//! list, and no branch depends on a value. Below a few rows a list is not divided further: its rows go on
//! side by side, each with its own cluster.
//!
//! This takes AVX-512 with VBMI2. Other processors have [`FlatTree`](super::flat::FlatTree).

#![allow(unsafe_code, reason = "vectors of registers, and rows without checked indices")]

use super::clusters::{Clusters, MAX_FEATURES};
use super::pages::Pages;

/// The most rows of a block: their numbers have 16 bits.
pub(super) const MAX_ROWS: usize = 1 << 15;

/// Whether this machine can send rows with `n_features` features through clusters.
pub(super) fn is_possible(n_features: usize) -> bool {
    #[cfg(target_arch = "x86_64")]
    let is_supported = avx512::is_supported();
    #[cfg(not(target_arch = "x86_64"))]
    let is_supported = false;
    is_supported && n_features <= MAX_FEATURES
}

/// The exits that a descent of rows finds, and the room that it needs: 13 bytes for each row.
#[derive(Debug, Default)]
pub(super) struct RowDescent {
    /// By row, the number of the leaf that it has reached.
    leaves: Vec<u32>,
    /// Rows that have met a cut that is equal to a value of theirs, where what was rounded cannot be
    /// compared: infinite cuts and the smallest ones. Their leaves may be wrong. A row can be there more than
    /// once.
    doubtful: Vec<u16>,
    /// Lists of rows, and room for the lists that they are divided into.
    ids: [Vec<u16>; 2],
    /// By place in a list, the exit that the row takes.
    exits: Vec<u8>,
    pending: Vec<ClusterRows>,
}

/// A list of rows that has come to a cluster.
#[derive(Debug, Clone, Copy)]
struct ClusterRows {
    cluster: u32,
    /// Where the list is in [`RowDescent::ids`].
    start: u32,
    len: u32,
    side: bool,
}

impl RowDescent {
    /// Sends all rows, at most [`MAX_ROWS`], through a tree of the same number of features. O(rows * depth).
    /// Panics unless it [is possible](is_possible).
    pub fn run(&mut self, clusters: &Clusters, rows: &Pages) {
        assert!(is_possible(clusters.n_cells()) && rows.n_rows() <= MAX_ROWS, "clusters cannot be used");
        #[cfg(target_arch = "x86_64")]
        avx512::run(self, clusters, rows);
    }

    /// By row, the number of the leaf that it has reached, unless it is
    /// [`doubtful`](Self::doubtful).
    pub fn leaves(&self) -> &[u32] {
        &self.leaves
    }

    /// Sets the leaves of the doubtful rows.
    pub fn set_doubtful(&mut self, leaf: impl Fn(usize) -> u32) {
        for row in self.doubtful.drain(..).map(usize::from) {
            self.leaves[row] = leaf(row);
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    #[allow(clippy::wildcard_imports, reason = "names of instructions")]
    use std::arch::x86_64::*;

    use super::super::clusters::{Cluster, Clusters, Exits, LANES, SET};
    use super::super::flagged::Flagged;
    use super::super::pages::{PAGE, Page, Pages};
    use super::super::position::AT_LEAF;
    use super::{ClusterRows, RowDescent};
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
            ($pages:literal, $categories:literal, $entries:literal) => {
                match (rows.has_missing(), rows.lows().is_empty()) {
                    (false, true) => {
                        divide::<$pages, false, false, $categories, $entries, E>(descent, clusters, exits, rows)
                    }
                    (false, false) => {
                        divide::<$pages, false, true, $categories, $entries, E>(descent, clusters, exits, rows)
                    }
                    (true, true) => {
                        divide::<$pages, true, false, $categories, $entries, E>(descent, clusters, exits, rows)
                    }
                    (true, false) => {
                        divide::<$pages, true, true, $categories, $entries, E>(descent, clusters, exits, rows)
                    }
                }
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
        /// Of no use if no value was rounded.
        lows: *const Page,
    }

    impl<'a> Values<'a> {
        fn new(rows: &'a Pages) -> Self {
            Self { rows, pages: rows.pages().as_ptr(), lows: rows.lows().as_ptr() }
        }

        /// The exit that a row takes, and whether that is doubtful: a value is equal to a cut, and what was
        /// rounded cannot be compared. Values may be missing only if they are said to be `MISSING`,
        /// and have been rounded only if they are `ROUNDED`.
        ///
        /// # Safety
        ///
        /// There must be `PAGES` pages of the row, and `PAGES` pages of lows if values are `ROUNDED`.
        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,bmi1,popcnt")]
        unsafe fn exit<
            const PAGES: usize,
            const MISSING: bool,
            const ROUNDED: bool,
            const CATEGORIES: bool,
            const ENTRIES: bool,
        >(
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
            if MISSING {
                right |= _mm512_mask_cmp_ps_mask::<_CMP_UNORD_Q>(cluster.missing_right, values, values);
            }
            if ROUNDED {
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
    /// are `ROUNDED`. Each side of the ids, and the exits, must have [`IDS`] items more than there are rows.
    /// `following` must be the exits of the clusters.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,bmi1,popcnt")]
    unsafe fn divide<
        const PAGES: usize,
        const MISSING: bool,
        const ROUNDED: bool,
        const CATEGORIES: bool,
        const ENTRIES: bool,
        E: Flagged,
    >(
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
                    go_on::<PAGES, MISSING, ROUNDED, CATEGORIES, ENTRIES, E>(
                        clusters, following, cluster, ids, values, leaves, doubtful,
                    );
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
                    let (exit, is_doubtful) = values.exit::<PAGES, MISSING, ROUNDED, CATEGORIES, ENTRIES>(
                        clusters,
                        &loaded,
                        cluster.lows,
                        row,
                    );
                    *exits.add(at) = exit as u8;
                    *leaves.add(row) = (*cluster.exits.get_unchecked(exit)).into();
                    if ROUNDED && is_doubtful {
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
    /// There must be pages and a leaf for each row, and pages of lows if values are `ROUNDED`. `cluster`
    /// must be one, and `following` the exits of the clusters.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,bmi1,popcnt")]
    unsafe fn go_on<
        const PAGES: usize,
        const MISSING: bool,
        const ROUNDED: bool,
        const CATEGORIES: bool,
        const ENTRIES: bool,
        E: Flagged,
    >(
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
                    let (exit, is_doubtful) = values.exit::<PAGES, MISSING, ROUNDED, CATEGORIES, ENTRIES>(
                        clusters,
                        &loaded,
                        cluster.lows,
                        row,
                    );
                    ((*cluster.exits.get_unchecked(exit)).into(), is_doubtful)
                };
                if ROUNDED && is_doubtful {
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
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;
    use proptest::prelude::*;

    use super::*;
    use crate::data::Matrix;
    use crate::data::rows::Reader;
    use crate::rng::{Draws, NodeKey};
    use crate::tree::category_bits::{Codings, MAX_CELLS};
    use crate::tree::position::AT_LEAF;
    use crate::tree::sets::CategorySet;
    use crate::tree::walk::SplitView;

    /// Numbers of a few values; single precision does not tell some of them apart.
    fn number(draws: Draws, at: u64) -> f64 {
        let value = draws.below(7, 3 * at) as f64 / 10.0 - 0.3;
        match draws.below(4, 3 * at + 1) {
            0 => value,
            1 => f64::from(value as f32),
            2 => f64::from((value as f32).next_up()),
            _ => value + (draws.below(9, 3 * at + 2) as f64 - 4.0) * 1e-9,
        }
    }

    /// Sets of a categorical feature.
    const SETS: usize = 20;

    /// Sets of features with these numbers of categories, [`SETS`] of each.
    fn sets(n_categories: &[u32], draws: Draws) -> Vec<CategorySet> {
        let set = |(at, n): (u64, u32)| {
            let one_in = [3, 200][draws.below(2, 40_000_000 + at) as usize];
            let [left, right] = [0, 1].map(|side| {
                let is_on = |&code: &u32| draws.below(one_in, 20_000_000 + at * 1000 + u64::from(code)) == side;
                (0..n).filter(is_on).collect::<Vec<_>>()
            });
            CategorySet::new(&left, &right, draws.below(2, 30_000_000 + at) == 0)
        };
        let of_sets = n_categories.iter().flat_map(|&n| [n; SETS]);
        (0..).zip(of_sets).map(set).collect()
    }

    /// A tree of some shape; its right or its left sides may be the heavier ones. The leaves are numbered
    /// from `first_leaf` on.
    fn tree(
        n_splits: u64,
        n_features: u64,
        skew: u64,
        first_leaf: u32,
        sets: &[CategorySet],
        draws: Draws,
    ) -> (Vec<SplitView<'_>>, u32) {
        let (mut splits, mut n_leaves) = (Vec::new(), first_leaf);
        // Subtrees of this many splits, each with the split and the side it is on.
        let mut pending = vec![(n_splits, None)];
        while let Some((size, from)) = pending.pop() {
            let id = splits.len() as u32;
            let at = if size == 0 { n_leaves | AT_LEAF } else { id };
            if let Some((parent, side)) = from {
                let parent: &mut SplitView<'_> = &mut splits[parent as usize];
                parent.children[side] = at;
            }
            if size == 0 {
                n_leaves += 1;
                continue;
            }
            let word = u64::from(id);
            splits.push(SplitView {
                feature: draws.below(n_features, 5 * word) as u32,
                threshold: match draws.below(20, 5 * word + 1) {
                    0 => f64::INFINITY,
                    1 => f64::NEG_INFINITY,
                    2 => 1e300,
                    _ => number(draws, 1_000_000 + word),
                },
                missing_go_left: draws.below(2, 5 * word + 2) == 0,
                set: None,
                children: [0; 2],
            });
            let split = &mut splits[id as usize];
            if let Some(sets) = sets.chunks(SETS).nth(split.feature as usize) {
                split.set = Some(sets[draws.below(sets.len() as u64, 7_000_000 + word) as usize].view());
            }
            let few = draws.below(size.min(skew), 5 * word + 3);
            let left = if draws.below(2, 5 * word + 4) == 0 { few } else { size - 1 - few };
            pending.push((size - 1 - left, Some((id, 1))));
            pending.push((left, Some((id, 0))));
        }
        let root = if n_splits == 0 { first_leaf | AT_LEAF } else { 0 };
        (splits, root)
    }

    proptest! {
        #[test]
        fn rows_reach_the_leaves_of_a_plain_descent(
            n_splits in prop_oneof![0..300u64, 2000..3000u64], n_features in prop_oneof![1..=6usize, 1..=MAX_FEATURES],
            skew in prop::sample::select(vec![1, 3, 1000]), first_leaf in prop::sample::select(vec![0, 1 << 15]),
            n_rows in 1..400usize, (has_missing, is_single) in any::<(bool, bool)>(),
            categorical in prop::collection::vec(prop::sample::select(vec![1, 2, 7, 30, 31, 200, 300]), 0..4), seed: u64,
        ) {
            if !is_possible(n_features) {
                return Ok(());
            }
            let draws = NodeKey::root(seed, 0).bootstrap();
            // The first features are categorical.
            let n_categorical = if n_features > MAX_CELLS { 0 } else { categorical.len().min(n_features) };
            let categorical = &categorical[..n_categorical];
            let mut n_categories = categorical.to_vec();
            if !categorical.is_empty() {
                n_categories.resize(n_features, 0);
            }
            let sets = sets(categorical, draws);
            let (splits, root) = tree(n_splits, n_features as u64, skew, first_leaf, &sets, draws);
            let split = |id: u32| splits.get(id as usize).copied();
            let clusters = Clusters::new(n_features, &n_categories, splits.len(), root, split).unwrap();
            let x = Array2::from_shape_fn((n_rows, n_features), |(row, feature)| {
                let at = 2_000_000 + (row * n_features + feature) as u64;
                match draws.below(if has_missing { 30 } else { 1000 }, 10_000_000 + at) {
                    0 => f64::INFINITY,
                    1 => f64::NEG_INFINITY,
                    2 if has_missing => f64::NAN,
                    3 if !is_single => -1e300,
                    _ if feature < categorical.len() => {
                        draws.below(u64::from(categorical[feature]) + 3, at) as f64 - 1.0
                    }
                    _ if is_single => f64::from(number(draws, at) as f32),
                    _ => number(draws, at),
                }
            });
            let leaf = |row: usize| {
                let mut at = root;
                while at & AT_LEAF == 0 {
                    let split = &splits[at as usize];
                    let value = x[[row, split.feature as usize]];
                    let goes_left = match split.set {
                        _ if value.is_nan() => split.missing_go_left,
                        Some(set) => set.goes_left(value),
                        None => value <= split.threshold,
                    };
                    at = split.children[usize::from(!goes_left)];
                }
                at & !AT_LEAF
            };
            let expected: Vec<u32> = (0..n_rows).map(leaf).collect();
            let mut descent = RowDescent::default();
            let mut found = |x: &dyn Matrix| {
                let mut reader = Reader::new(x.rows().unwrap(), n_rows, usize::MAX).unwrap();
                reader.load(0..n_rows);
                let cells = reader.cells().unwrap();
                let starts: Vec<usize> = (0..n_rows).map(|row| cells.start(row)).collect();
                let (mut pages, codings) = (Pages::default(), Codings::new(n_features, &n_categories));
                pages.copy(&cells, &starts, &codings).unwrap();
                descent.run(&clusters, &pages);
                descent.set_doubtful(leaf);
                descent.leaves().to_vec()
            };
            prop_assert_eq!(&found(&x.view()), &expected);
            if is_single {
                prop_assert_eq!(&found(&x.mapv(|value| value as f32).view()), &expected);
            }
        }
    }
}
