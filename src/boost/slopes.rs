//! First and second derivatives of rows, as cells of histograms: a wide cell, and one of two thirds of its
//! size for most data. The fewer bytes, the faster a histogram is counted.

use super::histogram::Cell;

/// Sums of derivatives over the rows of a bin.
pub trait Slopes: Cell {
    /// Sums of second derivatives are below two to this number.
    const HESSIAN_BITS: i32;

    /// One row. `squares` is its squared gradient, rounded up, in a unit of which all rows together have less
    /// than 2^32.
    fn of_row(gradient: i64, hessian: i64, squares: u32, is_constant: bool) -> Self;
    fn gradient(&self) -> i64;
    /// `constant` is the second derivative of each row, if it is the same for all.
    fn hessian(&self, constant: Option<i64>) -> i64;
    /// The sum of squared gradients.
    fn squares(&self) -> u64;
}

/// A cell for all data.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Wide {
    gradient: i64,
    hessian: i64,
    n: u32,
    squares: u32,
}

impl Cell for Wide {
    #[inline]
    fn n(&self) -> u32 {
        self.n
    }

    #[inline]
    fn add(&mut self, other: &Self) {
        self.gradient += other.gradient;
        self.hessian += other.hessian;
        self.n += other.n;
        self.squares += other.squares;
    }

    #[inline]
    fn subtract(&mut self, other: &Self) {
        self.gradient -= other.gradient;
        self.hessian -= other.hessian;
        self.n -= other.n;
        self.squares -= other.squares;
    }
}

impl Slopes for Wide {
    const HESSIAN_BITS: i32 = 61;

    fn of_row(gradient: i64, hessian: i64, squares: u32, _: bool) -> Self {
        Self { gradient, hessian, n: 1, squares }
    }

    #[inline]
    fn gradient(&self) -> i64 {
        self.gradient
    }

    #[inline]
    fn hessian(&self, _: Option<i64>) -> i64 {
        self.hessian
    }

    fn squares(&self) -> u64 {
        self.squares.into()
    }
}

/// A cell that lacks one of the four sums: that of second derivatives where these are constant, else that of
/// squares, which only cuts within bins need.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Short {
    gradient: i64,
    /// The number of rows in the lower [`N_BITS`](Self::N_BITS) bits, the third sum above them.
    others: u64,
}

impl Short {
    const N_BITS: u32 = 22;

    /// Whether it can count so many rows.
    pub fn holds(n_samples: usize) -> bool {
        n_samples < 1 << Self::N_BITS
    }
}

impl Cell for Short {
    #[inline]
    fn n(&self) -> u32 {
        self.others as u32 & ((1 << Self::N_BITS) - 1)
    }

    #[inline]
    fn add(&mut self, other: &Self) {
        self.gradient += other.gradient;
        self.others += other.others;
    }

    #[inline]
    fn subtract(&mut self, other: &Self) {
        self.gradient -= other.gradient;
        self.others -= other.others;
    }
}

impl Slopes for Short {
    const HESSIAN_BITS: i32 = 64 - Self::N_BITS as i32;

    fn of_row(gradient: i64, hessian: i64, squares: u32, is_constant: bool) -> Self {
        let third = if is_constant { squares.into() } else { hessian as u64 };
        Self { gradient, others: third << Self::N_BITS | 1 }
    }

    #[inline]
    fn gradient(&self) -> i64 {
        self.gradient
    }

    #[inline]
    fn hessian(&self, constant: Option<i64>) -> i64 {
        match constant {
            Some(hessian) => i64::from(self.n()) * hessian,
            None => (self.others >> Self::N_BITS) as i64,
        }
    }

    fn squares(&self) -> u64 {
        self.others >> Self::N_BITS
    }
}
