//! First derivatives of all rows, as cells of histograms.

use super::histogram::Cell;

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

impl Cell for Bin {
    #[inline]
    fn n(&self) -> u32 {
        self.n
    }

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

/// The gradients of all rows.
pub struct Gradients {
    /// A bin of each row alone.
    pub rows: Vec<Bin>,
    /// The unit of sums of squares: all together are below 2^32 of it.
    pub unit: f64,
}

impl Gradients {
    /// Gradients in fixed point, of which `samples` take part.
    pub fn new(fixed: &[i64], samples: &[u32]) -> Self {
        let total: f64 = samples.iter().map(|&row| square(fixed[row as usize])).sum();
        let unit = (total / f64::from(1u32 << 31)).max(1.0);
        // Not below the quotient, whatever it is rounded to.
        let squares = |fixed: i64| (square(fixed) / unit) as u32 + 1;
        let rows = fixed.iter().map(|&fixed| Bin { sum: fixed, n: 1, squares: squares(fixed) }).collect();
        Self { rows, unit }
    }
}

fn square(fixed: i64) -> f64 {
    fixed as f64 * fixed as f64
}
