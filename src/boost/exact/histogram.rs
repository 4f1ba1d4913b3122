//! Histograms of gradients: integers, so that the histogram of a larger child is exactly that of its
//! parent minus that of the smaller child.

use super::bins::{BinnedColumn, Bins, MAX_BINS};
use crate::data::DenseColumns;
use crate::error::Result;
use crate::runtime::Runtime;

/// Sums over the rows of a bin.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Bin {
    /// Of fixed-point gradients.
    pub sum: i64,
    /// The number of rows.
    pub n: u32,
    /// Of squared gradients, rounded up, in the unit of [`Gradients`].
    pub squares: u32,
}

/// One [`Bin`] for each bin of each column.
pub type Histogram = Box<[Bin]>;

/// The gradients of all rows.
pub struct Gradients<'a> {
    pub fixed: &'a [i64],
    /// A bin of each row alone.
    rows: Vec<Bin>,
    /// The unit of sums of squares: all together are below 2^32 of it.
    pub unit: f64,
}

impl<'a> Gradients<'a> {
    /// Gradients in fixed point, of which `samples` take part.
    pub fn new(fixed: &'a [i64], samples: &[u32]) -> Self {
        let total: f64 = samples.iter().map(|&row| square(fixed[row as usize])).sum();
        let unit = (total / f64::from(1u32 << 31)).max(1.0);
        // One more for what the quotient is rounded by.
        let squares = |fixed: i64| (square(fixed) / unit).ceil() as u32;
        let rows = fixed.iter().map(|&fixed| Bin { sum: fixed, n: 1, squares: squares(fixed) }).collect();
        Self { fixed, rows, unit }
    }
}

fn square(fixed: i64) -> f64 {
    fixed as f64 * fixed as f64
}

/// Counts the rows of a node into the bins of all columns, on some threads. `gathered` is scratch.
pub fn count(
    bins: &Bins,
    columns: &DenseColumns,
    gradients: &Gradients<'_>,
    samples: &[u32],
    gathered: &mut Vec<Bin>,
    (n_threads, runtime): (usize, &Runtime<'_>),
) -> Result<Histogram> {
    let is_all = samples.len() == gradients.rows.len();
    if !is_all {
        gathered.clear();
        gathered.extend(samples.iter().map(|&row| gradients.rows[row as usize]));
    }
    let mut histogram = vec![Bin::default(); bins.n_bins].into_boxed_slice();
    let (mut rest, mut work) = (&mut histogram[..], Vec::with_capacity(n_threads));
    for part in bins.parts(n_threads) {
        let n_bins = bins.columns[part.clone()].iter().map(|column| column.n_bins).sum();
        let (of_part, others) = rest.split_at_mut(n_bins);
        rest = others;
        work.push((part, of_part));
    }
    let gathered = &gathered[..];
    runtime.map(work, |(part, mut counted)| {
        for feature in part {
            let column = &bins.columns[feature];
            let of_rows = column.of_rows(columns.column(feature as u32));
            let (of_column, others) = counted.split_at_mut(column.n_bins);
            counted = others;
            if is_all {
                count_column(column, of_column, of_rows.iter().copied(), &gradients.rows);
            } else {
                count_column(column, of_column, samples.iter().map(|&row| of_rows[row as usize]), gathered);
            }
        }
        Ok(())
    })?;
    Ok(histogram)
}

/// Counts rows into the bins of a column, given the bin and the gradient of each.
fn count_column(column: &BinnedColumn, counted: &mut [Bin], bins: impl Iterator<Item = u8>, rows: &[Bin]) {
    if column.n_bins == 2 {
        // No row waits until the bin of the row before is written.
        let mut ones = Bin::default();
        let mut all = Bin::default();
        for (bin, row) in bins.zip(rows) {
            let mask = (-i64::from(bin), u32::from(bin).wrapping_neg());
            ones.sum += row.sum & mask.0;
            ones.n += u32::from(bin);
            ones.squares += row.squares & mask.1;
            all.sum += row.sum;
            all.squares += row.squares;
        }
        counted[1] = ones;
        counted[0] =
            Bin { sum: all.sum - ones.sum, n: rows.len() as u32 - ones.n, squares: all.squares - ones.squares };
        return;
    }
    let mut sums = [Bin::default(); MAX_BINS];
    for (bin, row) in bins.zip(rows) {
        let sums = &mut sums[bin as usize];
        sums.sum += row.sum;
        sums.n += row.n;
        sums.squares += row.squares;
    }
    counted.copy_from_slice(&sums[..column.n_bins]);
}

/// Subtracts the histogram of a child from that of its parent.
pub fn subtract(parent: &mut [Bin], child: &[Bin]) {
    for (parent, child) in parent.iter_mut().zip(child) {
        parent.sum -= child.sum;
        parent.n -= child.n;
        parent.squares -= child.squares;
    }
}
