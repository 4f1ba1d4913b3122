//! Bins of values that stay the same for all nodes of all rounds.
//!
//! Numbers are parted into bins of about equal weight. Missing values, zeros of sparse columns and
//! categories have bins of their own; of more categories than bins, the rare ones share one.

use std::cmp::Reverse;
use std::ops::Range;

use super::bundles::{self, Bundle};
use crate::data::dense::{DenseColumn, Ranks};
use crate::data::target::Weights;
use crate::data::{Columns, Dataset, SparseColumns};
use crate::error::Result;
use crate::memory;
use crate::num::sort_by_key;
use crate::runtime::Runtime;

/// The most bins of a column, as their numbers are bytes.
pub const MAX_BINS: usize = 256;
/// Stored entries of a sparse column for each of its bins, if it has so many: bins cost a walk in each node,
/// and wide ones leave more rows to be read (`benches/peers/boosting.py`).
const ENTRIES_PER_BIN: usize = 32;

/// The bins of all columns of a data set. A histogram has them column by column.
pub struct Bins {
    pub columns: Vec<BinnedColumn>,
    /// The features whose columns have bins, ascending.
    binned: Vec<u32>,
    /// The number of bins of all columns together.
    pub n_in_all: usize,
    /// Columns that are counted together.
    pub bundles: Vec<Bundle>,
    /// The entries of sparse rows; `None` if the data are dense.
    pub sparse: Option<SparseBins>,
}

/// Some features, one after the other in a histogram.
pub struct Part<'a> {
    pub features: &'a [u32],
    /// The places of their bins.
    pub slots: Range<usize>,
}

/// By row, the bins of its entries that are not 0.
pub struct SparseBins {
    starts: Vec<usize>,
    /// Places in a histogram, ascending in each row.
    slots: Vec<u32>,
}

impl SparseBins {
    /// The places in a histogram of the entries of a row.
    #[inline]
    pub fn of_row(&self, row: u32) -> &[u32] {
        &self.slots[self.starts[row as usize]..self.starts[row as usize + 1]]
    }
}

/// The bins of one column.
#[derive(Default)]
pub struct BinnedColumn {
    /// The place of its first bin in a histogram.
    pub first: usize,
    pub n_bins: usize,
    /// Nothing if each bin has one rank, which is then its number.
    pub coarse: Option<Coarse>,
    /// Whether it is in a bundle.
    pub is_bundled: bool,
    /// Whether the last bin is that of missing values.
    pub has_missing: bool,
    /// The bin of zeros, if the column is sparse.
    pub zero: Option<usize>,
    /// Whether bins have no order.
    pub is_categorical: bool,
}

/// The bins of a column with more ranks than bins.
pub struct Coarse {
    /// By rank.
    of_rank: Vec<u8>,
    /// By row; empty if the column is sparse.
    bins: Vec<u8>,
    /// The first rank of each bin, then the number of ranks; empty if bins have no order.
    pub first_ranks: Vec<u32>,
    /// The rows by value; empty if the column is sparse, which has them, or if bins have no order.
    pub rows: Vec<u32>,
    /// The last 16 bits of their ranks, if these tell the ranks of each bin apart and bins are read.
    low_ranks: Vec<u16>,
    /// Where the rows, or the entries of a sparse column, of each bin begin, then their number.
    pub first_rows: Vec<u32>,
}

impl Bins {
    /// The bins of a data set; if cuts within bins are left out, up to `max_bins` for the numbers of a
    /// column, the same whether the data are sparse or not. O(cells). `None` if ranks are keys.
    ///
    /// Sparse columns of fewer entries than `min_leaf`, the least rows of a leaf, have no bins: one side of a
    /// cut has entries alone, so that no cut of theirs is legal.
    pub fn of(
        (data, weights): (&Dataset, &Weights),
        max_bins: Option<usize>,
        min_leaf: u64,
        runtime: &Runtime<'_>,
    ) -> Result<Option<Self>> {
        let n_features = data.n_features() as u32;
        let is_keyed = |feature| match data.columns() {
            Columns::Dense(columns) => columns.column(feature).n_ranks == u32::MAX,
            Columns::Sparse(_) => false,
        };
        if (0..n_features).any(is_keyed) {
            return Ok(None);
        }
        let may_be_cut = |feature| match data.columns() {
            Columns::Dense(_) => true,
            Columns::Sparse(columns) => columns.column_nnz(feature) as u64 >= min_leaf,
        };
        let mut columns = runtime.map((0..n_features).collect(), |feature| {
            if may_be_cut(feature) {
                BinnedColumn::of((data, weights), feature, max_bins)
            } else {
                Ok(BinnedColumn::default())
            }
        })?;
        let mut n_bins = 0;
        for column in &mut columns {
            column.first = n_bins;
            n_bins += column.n_bins;
        }
        let binned = (0..n_features).filter(|&feature| columns[feature as usize].n_bins > 0).collect();
        let mut bins = Self { columns, binned, n_in_all: n_bins, bundles: Vec::new(), sparse: None };
        match data.columns() {
            Columns::Dense(columns) => {
                bins.bundles = bundles::find(&bins.columns, columns, data.n_samples(), runtime)?;
                for &(feature, _) in bins.bundles.iter().flat_map(|bundle| &bundle.features) {
                    bins.columns[feature as usize].is_bundled = true;
                }
            }
            Columns::Sparse(columns) => bins.sparse = Some(bins.of_sparse_rows(columns, runtime)?),
        }
        Ok(Some(bins))
    }

    fn of_sparse_rows(&self, columns: &SparseColumns, runtime: &Runtime<'_>) -> Result<SparseBins> {
        let n_entries = self.binned.iter().map(|&feature| columns.column_nnz(feature)).sum();
        let mut slots = memory::reserve("the bins of sparse rows", n_entries)?;
        let mut starts = memory::reserve("the bins of sparse rows", columns.n_samples() + 1)?;
        starts.push(0);
        for row in 0..columns.n_samples() as u32 {
            runtime.check_in_turn(row as usize)?;
            let of_row = columns.row(row);
            slots.extend(of_row.features.iter().enumerate().filter_map(|(at, &feature)| {
                let column = &self.columns[feature as usize];
                (column.n_bins > 0).then(|| (column.first + column.bin(of_row.ranks.at(at))) as u32)
            }));
            starts.push(slots.len());
        }
        Ok(SparseBins { starts, slots })
    }

    /// The number of columns with bins.
    pub fn n_binned(&self) -> usize {
        self.binned.len()
    }

    /// The features with bins in `n` parts, some of them perhaps empty, of about equally many bins.
    pub fn parts(&self, n: usize) -> impl ExactSizeIterator<Item = Part<'_>> {
        let first = |feature: u32| self.columns[feature as usize].first;
        let place = move |part: usize| {
            let slot = part * self.n_in_all / n;
            if part == n { self.binned.len() } else { self.binned.partition_point(|&feature| first(feature) < slot) }
        };
        let slot = move |at: usize| self.binned.get(at).map_or(self.n_in_all, |&feature| first(feature));
        (0..n).map(move |part| {
            let (start, end) = (place(part), place(part + 1));
            Part { features: &self.binned[start..end], slots: slot(start)..slot(end) }
        })
    }
}

impl BinnedColumn {
    fn of((data, weights): (&Dataset, &Weights), feature: u32, max_bins: Option<usize>) -> Result<Self> {
        let n_ranks = data.n_ranks(feature);
        let missing = data.missing_rank(feature).map(|rank| rank as usize);
        let is_categorical = data.is_categorical(feature);
        let zero = match data.columns() {
            Columns::Dense(_) => None,
            Columns::Sparse(columns) => Some(columns.zero_rank(feature) as usize),
        };
        let fine = Self {
            first: 0,
            n_bins: n_ranks,
            coarse: None,
            is_bundled: false,
            has_missing: missing.is_some(),
            zero,
            is_categorical,
        };
        let limit = max_bins.filter(|_| !is_categorical);
        if has_bin_per_rank(data, feature, max_bins) && limit.is_none_or(|limit| data.n_distinct(feature) <= limit) {
            return Ok(fine);
        }
        let (n_rows, mut weight_of_rank) = count_ranks(data, weights, feature)?;
        let n_stored: usize = n_rows.iter().map(|&n| n as usize).sum();
        // Zeros of sparse columns are alone where the rows of all other bins are listed by value.
        let is_zero_alone = zero.is_some() && limit.is_none() && !is_categorical;
        if let Some(zero) = zero.filter(|_| !is_zero_alone) {
            let total: u64 = (0..data.n_samples()).map(|row| weights.get(row)).sum();
            weight_of_rank[zero] = total - weight_of_rank.iter().sum::<u64>();
        }
        let of_rank = if is_categorical {
            bins_of_categories(&weight_of_rank, data.identities(feature).unwrap_or_default())
        } else {
            let of_sparse = if is_zero_alone { (n_stored / ENTRIES_PER_BIN).max(1) } else { MAX_BINS };
            // The bins of zeros and of missing values, and those that begin because zeros part numbers.
            let n_others = 2 * usize::from(is_zero_alone) + usize::from(missing.is_some());
            let n_bins = limit.unwrap_or(MAX_BINS).min(of_sparse).min(MAX_BINS - n_others);
            bins_of_numbers(&weight_of_rank, [zero.filter(|_| is_zero_alone), missing], n_bins)
        };
        let n_bins = of_rank.iter().max().map_or(0, |&bin| usize::from(bin) + 1);
        let zero = zero.map(|rank| usize::from(of_rank[rank]));
        let mut coarse = Coarse {
            of_rank,
            bins: Vec::new(),
            first_ranks: Vec::new(),
            rows: Vec::new(),
            low_ranks: Vec::new(),
            first_rows: Vec::new(),
        };
        if !is_categorical {
            coarse.list_ranks(&n_rows, n_bins);
        }
        if let Columns::Dense(columns) = data.columns() {
            let column = columns.column(feature);
            coarse.list_rows(column, n_rows, data.n_samples(), is_categorical)?;
            if max_bins.is_none() {
                coarse.list_ranks_of_rows(column)?;
            }
        }
        Ok(Self { n_bins, zero, coarse: Some(coarse), ..fine })
    }

    /// The bin of a rank.
    #[inline]
    pub fn bin(&self, rank: u32) -> usize {
        self.coarse.as_ref().map_or(rank as usize, |coarse| coarse.of_rank[rank as usize].into())
    }

    /// The bin of each row. `column` is the dense column that the bins are of.
    pub fn of_rows<'a>(&'a self, column: &'a DenseColumn) -> &'a [u8] {
        match (&self.coarse, &column.ranks) {
            (Some(coarse), _) => &coarse.bins,
            (None, Ranks::U8(ranks)) => ranks,
            // Columns of wider ranks have coarse bins.
            (None, _) => &[],
        }
    }

    /// The ranks of a bin of numbers.
    pub fn ranks(&self, bin: usize) -> Range<u32> {
        match &self.coarse {
            Some(coarse) => coarse.first_ranks[bin]..coarse.first_ranks[bin + 1],
            None => bin as u32..bin as u32 + 1,
        }
    }

    /// The last rank of a bin of numbers.
    pub fn last_rank(&self, bin: usize) -> u32 {
        self.ranks(bin).end - 1
    }

    /// The number of bins of values that are not missing.
    pub fn n_known(&self) -> usize {
        self.n_bins - usize::from(self.has_missing)
    }
}

impl Coarse {
    fn list_ranks(&mut self, n_rows: &[u32], n_bins: usize) {
        self.first_ranks.reserve_exact(n_bins + 1);
        self.first_rows.reserve_exact(n_bins + 1);
        let mut n = 0;
        for (rank, (&bin, n_rows)) in self.of_rank.iter().zip(n_rows).enumerate() {
            if usize::from(bin) == self.first_ranks.len() {
                self.first_ranks.push(rank as u32);
                self.first_rows.push(n);
            }
            n += n_rows;
        }
        self.first_ranks.push(n_rows.len() as u32);
        self.first_rows.push(n);
    }

    /// Sets what a dense column knows by row and by value. `starts` are the numbers of rows by rank.
    fn list_rows(
        &mut self,
        column: &DenseColumn,
        mut starts: Vec<u32>,
        n_samples: usize,
        is_categorical: bool,
    ) -> Result<()> {
        let all = 0..n_samples as u32;
        self.bins = memory::zeros("the bins of rows", n_samples)?;
        if is_categorical {
            column.visit_ranks(all, |row, rank| self.bins[row as usize] = self.of_rank[rank as usize]);
            return Ok(());
        }
        let mut n = 0;
        for start in &mut starts {
            n += std::mem::replace(start, n);
        }
        self.rows = memory::zeros("the rows by value", n_samples)?;
        column.visit_ranks(all, |row, rank| {
            self.bins[row as usize] = self.of_rank[rank as usize];
            let place = &mut starts[rank as usize];
            self.rows[*place as usize] = row;
            *place += 1;
        });
        Ok(())
    }

    /// Sets the ranks of the rows by value. They are read anew for each open bin of each node.
    fn list_ranks_of_rows(&mut self, column: &DenseColumn) -> Result<()> {
        let is_narrow = |bin: &[u32]| bin[1] - bin[0] <= 1 << u16::BITS;
        if self.first_ranks.windows(2).all(is_narrow) {
            self.low_ranks = memory::reserve("the rows by value", self.rows.len())?;
            column.visit_ranks(self.rows.iter().copied(), |_, rank| self.low_ranks.push(rank as u16));
        }
        Ok(())
    }

    /// The rank of the row at a place of a dense column's list by value. `first` is the first rank of its
    /// bin.
    #[inline]
    pub fn rank_at(&self, place: usize, first: u32, column: &DenseColumn) -> u32 {
        match self.low_ranks.get(place) {
            Some(&low) => first + u32::from(low.wrapping_sub(first as u16)),
            None => column.rank(self.rows[place]),
        }
    }
}

/// Whether a column needs no more bins than it has ranks.
fn has_bin_per_rank(data: &Dataset, feature: u32, max_bins: Option<usize>) -> bool {
    let n_ranks = data.n_ranks(feature);
    match data.columns() {
        Columns::Dense(columns) => matches!(columns.column(feature).ranks, Ranks::U8(_)),
        Columns::Sparse(columns) if max_bins.is_none() && !data.is_categorical(feature) => {
            n_ranks <= MAX_BINS && columns.column_nnz(feature) >= n_ranks * ENTRIES_PER_BIN / 2
        }
        Columns::Sparse(_) => n_ranks <= MAX_BINS,
    }
}

/// By rank, the rows or the entries of a sparse column that have it, and their weight.
fn count_ranks(data: &Dataset, weights: &Weights, feature: u32) -> Result<(Vec<u32>, Vec<u64>)> {
    let n_ranks = data.n_ranks(feature);
    let mut n_rows = memory::zeros::<u32>("the rows of a rank", n_ranks)?;
    let mut weight_of_rank = memory::zeros::<u64>("the rows of a rank", n_ranks)?;
    let mut take = |row: u32, rank: u32| {
        n_rows[rank as usize] += 1;
        weight_of_rank[rank as usize] += weights.get(row as usize);
    };
    match data.columns() {
        Columns::Dense(columns) => columns.column(feature).visit_ranks(0..data.n_samples() as u32, take),
        Columns::Sparse(columns) => {
            let column = columns.column(feature);
            column.samples.iter().enumerate().for_each(|(at, &row)| take(row, column.ranks.at(at)));
        }
    }
    Ok((n_rows, weight_of_rank))
}

/// The bin of each rank of a column of numbers: one for each rank of any weight if these are few, else bins
/// of about equal weight. Some ranks have bins of their own.
fn bins_of_numbers(weights: &[u64], alone: [Option<usize>; 2], n_bins: usize) -> Vec<u8> {
    let is_alone = |rank: usize| alone.contains(&Some(rank));
    let others = || weights.iter().enumerate().filter(|&(rank, _)| !is_alone(rank)).map(|(_, &weight)| weight);
    let total: u64 = others().sum();
    let are_few = others().filter(|&weight| weight > 0).count() <= n_bins;
    let share = |before: u64| (u128::from(before) * n_bins as u128 / u128::from(total.max(1))) as u64;
    let (mut before, mut of_bin, mut bin) = (0, 0, 0);
    let mut of_rank = vec![0; weights.len()];
    for (rank, (of_rank, &weight)) in of_rank.iter_mut().zip(weights).enumerate() {
        let is_full = weight > 0 && if are_few { before > 0 } else { share(before) > of_bin };
        if rank > 0 && (is_alone(rank) || is_alone(rank - 1) || is_full) {
            bin += 1;
            of_bin = share(before);
        }
        *of_rank = bin as u8;
        before += if is_alone(rank) { 0 } else { weight };
    }
    of_rank
}

/// The bin of each rank of a column of categories: one for each of the most frequent ones. All others
/// share the last.
fn bins_of_categories(weights: &[u64], identities: &[u32]) -> Vec<u8> {
    let mut ranks: Vec<usize> = (0..weights.len()).collect();
    sort_by_key(&mut ranks, |rank| (Reverse(weights[rank]), identities[rank]));
    let mut of_rank = vec![(MAX_BINS - 1) as u8; weights.len()];
    for (bin, &rank) in ranks.iter().take(MAX_BINS - 1).enumerate() {
        of_rank[rank] = bin as u8;
    }
    of_rank
}
