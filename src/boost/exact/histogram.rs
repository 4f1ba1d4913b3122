//! Histograms of gradients: integers, so that the histogram of a larger child is exactly that of its
//! parent minus that of the smaller child.

use super::bins::{Bins, MAX_BINS};
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

impl Bin {
    #[inline]
    fn add(&mut self, other: &Self) {
        self.sum += other.sum;
        self.n += other.n;
        self.squares += other.squares;
    }

    #[inline]
    fn subtract(&mut self, other: &Self) {
        self.sum -= other.sum;
        self.n -= other.n;
        self.squares -= other.squares;
    }
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
    let serial = runtime.serial();
    let runtime = if n_threads == 1 { &serial } else { runtime };
    let is_all = samples.len() == gradients.rows.len();
    if !is_all {
        gathered.clear();
        gathered.extend(samples.iter().map(|&row| gradients.rows[row as usize]));
    }
    let mut histogram = vec![Bin::default(); bins.n_in_all].into_boxed_slice();
    let (mut rest, mut work) = (&mut histogram[..], Vec::with_capacity(n_threads));
    for part in bins.parts(n_threads) {
        let n_bins = bins.columns[part.clone()].iter().map(|column| column.n_bins).sum();
        let (of_part, others) = rest.split_at_mut(n_bins);
        rest = others;
        work.push((part, of_part));
    }
    let rows = if is_all { &gradients.rows[..] } else { &gathered[..] };
    // The sums of a column or bundle, given the bin of each row.
    let count = |bins: &[u8]| {
        if is_all {
            sum_up(bins.iter().copied(), rows)
        } else {
            sum_up(samples.iter().map(|&row| bins[row as usize]), rows)
        }
    };
    runtime.map(work, |(part, mut counted)| {
        for feature in part {
            let column = &bins.columns[feature];
            let (of_column, others) = counted.split_at_mut(column.n_bins);
            counted = others;
            if !column.is_bundled {
                of_column.copy_from_slice(&count(column.of_rows(columns.column(feature as u32)))[..column.n_bins]);
            }
        }
        Ok(())
    })?;
    let bundles = runtime.map(bins.bundles.iter().collect(), |bundle| Ok((bundle, count(&bundle.places))))?;
    for (bundle, sums) in bundles {
        let mut all = Bin::default();
        for sums in &sums {
            all.add(sums);
        }
        for (&(feature, rare), sums) in bundle.features.iter().zip(&sums[1..]) {
            let column = &mut histogram[bins.columns[feature as usize].first..][..2];
            (column[rare], column[1 - rare]) = (*sums, all);
            column[1 - rare].subtract(sums);
        }
    }
    Ok(histogram)
}

/// The sums over the rows of each bin.
fn sum_up(bins: impl Iterator<Item = u8>, rows: &[Bin]) -> [Bin; MAX_BINS] {
    let mut sums = [Bin::default(); MAX_BINS];
    for (bin, row) in bins.zip(rows) {
        sums[bin as usize].add(row);
    }
    sums
}

/// Subtracts the histogram of a child from that of its parent.
pub fn subtract(parent: &mut [Bin], child: &[Bin]) {
    parent.iter_mut().zip(child).for_each(|(parent, child)| parent.subtract(child));
}
