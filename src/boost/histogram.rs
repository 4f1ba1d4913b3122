//! Histograms of gradients: integers, so that the histogram of a larger child is exactly that of its
//! parent minus that of the smaller child.

use super::bins::{Bins, MAX_BINS, SparseBins};
use super::by_rows;
use crate::data::{Columns, Dataset};
use crate::error::Result;
use crate::runtime::Runtime;

/// Sums over the rows of a bin.
pub trait Cell: Copy + Default + Send + Sync {
    /// The number of rows.
    fn n(&self) -> u32;
    /// Adds the rows of another cell.
    fn add(&mut self, other: &Self);
    /// Takes away rows that were added.
    fn subtract(&mut self, other: &Self);
}

/// Nodes of fewer rows are counted where their histograms lie. For others it pays to count into an array
/// whose length is known, and to copy it (`benches/peers/hist_boosting.py`).
const DIRECT_BELOW: usize = 256;

/// One [`Cell`] for each bin of each column. If the data are sparse, the bin of zeros has none: its
/// rows are those of the node that are in no other bin.
pub type Histogram<C> = Box<[C]>;

/// Counts the rows of a node into the bins of all columns, on some threads. `rows` has a cell for each
/// row of the data set, `gathered` is scratch.
pub fn count<C: Cell>(
    (data, bins): (&Dataset, &Bins),
    rows: &[C],
    samples: &[u32],
    gathered: &mut Vec<C>,
    (n_threads, runtime): (usize, &Runtime<'_>),
) -> Result<Histogram<C>> {
    let serial = runtime.serial();
    let runtime = if n_threads == 1 { &serial } else { runtime };
    let mut histogram = vec![C::default(); bins.n_in_all].into_boxed_slice();
    match (data.columns(), &bins.sparse) {
        (_, Some(sparse)) => count_sparse((bins, sparse), rows, samples, &mut histogram, (n_threads, runtime))?,
        (Columns::Dense(columns), None) => {
            count_dense((bins, columns), rows, samples, gathered, &mut histogram, (n_threads, runtime))?;
        }
        // Bins of sparse columns know the entries of rows.
        (Columns::Sparse(_), None) => {}
    }
    Ok(histogram)
}

fn count_dense<C: Cell>(
    (bins, columns): (&Bins, &crate::data::DenseColumns),
    all_rows: &[C],
    samples: &[u32],
    gathered: &mut Vec<C>,
    histogram: &mut [C],
    (n_threads, runtime): (usize, &Runtime<'_>),
) -> Result<()> {
    let is_all = samples.len() == all_rows.len();
    if !is_all {
        gathered.resize(samples.len(), C::default());
        by_rows::for_each_part(gathered, 1, runtime, |first, cells| {
            cells.iter_mut().zip(&samples[first..]).for_each(|(cell, &row)| *cell = all_rows[row as usize]);
        })?;
    }
    let (mut rest, mut work) = (&mut *histogram, Vec::with_capacity(n_threads));
    for part in bins.parts(n_threads) {
        let (of_part, others) = rest.split_at_mut(part.slots.len());
        rest = others;
        work.push((part, of_part));
    }
    let rows = if is_all { all_rows } else { &gathered[..] };
    let is_small = samples.len() < DIRECT_BELOW;
    let chosen = (!is_all).then_some(samples);
    let of_rows = |feature: u32| bins.columns[feature as usize].of_rows(columns.column(feature));
    runtime.map(work, |(part, counted)| {
        let own = |feature: u32| {
            let column = &bins.columns[feature as usize];
            column.first - part.slots.start..column.first - part.slots.start + column.n_bins
        };
        let is_alone = |feature: &u32| !bins.columns[*feature as usize].is_bundled;
        let features: Vec<u32> = part.features.iter().copied().filter(is_alone).collect();
        if is_small {
            for feature in features {
                let (of_rows, of_column) = (of_rows(feature), &mut counted[own(feature)]);
                let cells = samples.iter().zip(rows);
                cells.for_each(|(&sample, row)| of_column[of_rows[sample as usize] as usize].add(row));
            }
            return Ok(());
        }
        let mut keep = |feature: u32, sums: &[C; MAX_BINS]| {
            let own = own(feature);
            counted[own.clone()].copy_from_slice(&sums[..own.len()]);
        };
        // Of two columns at a time, the cells of rows are read once.
        for pair in features.chunks(2) {
            if let [one, other] = *pair {
                let [of_one, of_other] = sum_up([of_rows(one), of_rows(other)], chosen, rows);
                keep(one, &of_one);
                keep(other, &of_other);
            } else {
                keep(pair[0], &sum_up([of_rows(pair[0])], chosen, rows)[0]);
            }
        }
        Ok(())
    })?;
    let bundles =
        runtime.map(bins.bundles.iter().collect(), |bundle| Ok((bundle, sum_up([&bundle.places], chosen, rows))))?;
    for (bundle, [sums]) in bundles {
        let mut all = C::default();
        for sums in &sums {
            all.add(sums);
        }
        for (&(feature, rare), sums) in bundle.features.iter().zip(&sums[1..]) {
            let column = &mut histogram[bins.columns[feature as usize].first..][..2];
            (column[rare], column[1 - rare]) = (*sums, all);
            column[1 - rare].subtract(sums);
        }
    }
    Ok(())
}

/// Adds each row to the bins of its entries. Threads have bins of their own: each reads all rows, and
/// of each row the entries of its columns.
fn count_sparse<C: Cell>(
    (bins, sparse): (&Bins, &SparseBins),
    rows: &[C],
    samples: &[u32],
    histogram: &mut [C],
    (n_threads, runtime): (usize, &Runtime<'_>),
) -> Result<()> {
    let (mut rest, mut work) = (&mut *histogram, Vec::with_capacity(n_threads));
    for part in bins.parts(n_threads) {
        let (of_part, others) = rest.split_at_mut(part.slots.len());
        rest = others;
        work.push((part.slots, of_part));
    }
    runtime.map(work, |(slots, counted)| {
        for &row in samples {
            let mut of_row = sparse.of_row(row);
            if n_threads > 1 {
                let start = of_row.partition_point(|&slot| (slot as usize) < slots.start);
                let end = of_row.partition_point(|&slot| (slot as usize) < slots.end);
                of_row = &of_row[start..end];
            }
            for &slot in of_row {
                counted[slot as usize - slots.start].add(&rows[row as usize]);
            }
        }
        Ok(())
    })?;
    Ok(())
}

/// The sums over the rows of each bin, for some columns or bundles. `chosen` are the rows of the data set
/// that `rows` are cells of; `None` for all.
fn sum_up<C: Cell, const N: usize>(bins: [&[u8]; N], chosen: Option<&[u32]>, rows: &[C]) -> [[C; MAX_BINS]; N] {
    let mut sums = [[C::default(); MAX_BINS]; N];
    let mut add = |at: usize, row: &C| {
        for (sums, bins) in sums.iter_mut().zip(bins) {
            sums[bins[at] as usize].add(row);
        }
    };
    match chosen {
        Some(chosen) => chosen.iter().zip(rows).for_each(|(&at, row)| add(at as usize, row)),
        None => rows.iter().enumerate().for_each(|(at, row)| add(at, row)),
    }
    sums
}

/// Subtracts the histogram of a child from that of its parent.
pub fn subtract<C: Cell>(parent: &mut [C], child: &[C]) {
    parent.iter_mut().zip(child).for_each(|(parent, child)| parent.subtract(child));
}
