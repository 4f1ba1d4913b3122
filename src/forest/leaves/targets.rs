//! The targets of training rows in order.

use crate::error::{Error, Result};
use crate::memory;
use crate::num::{RadixSort, SortKey};
use crate::runtime::Runtime;

/// The name of the memory in errors.
const ORDER: &str = "the order of the targets";

/// The targets of the training rows.
#[derive(Debug, Clone, Copy)]
pub struct RankedTargets<'a> {
    /// For each output the targets, ascending; output after output.
    pub values: &'a [f64],
    /// For each output but the first, by rank in the first one, the rank in this one.
    pub ranks: &'a [u32],
    /// Number of training rows.
    pub n_samples: usize,
}

impl RankedTargets<'_> {
    pub(super) fn n_outputs(&self) -> usize {
        self.values.len() / self.n_samples.max(1)
    }

    pub(super) fn check(&self) -> Result<()> {
        let n = self.n_samples;
        let n_outputs = self.n_outputs();
        let is_sound = n > 0
            && n_outputs > 0
            && self.values.len() == n * n_outputs
            && self.ranks.len() == n * (n_outputs - 1)
            && self.ranks.iter().all(|&rank| (rank as usize) < n);
        if is_sound {
            return Ok(());
        }
        let (got, expected) = (format!("{} targets of {n} rows", self.values.len()), "as fit has made them".into());
        Err(Error::InvalidArgument { name: "leaf_rows", got, expected })
    }

    /// The rank in an output of the row that has this rank in the first one.
    #[inline]
    pub(super) fn rank(&self, output: usize, first: u32) -> u32 {
        if output == 0 { first } else { self.ranks[(output - 1) * self.n_samples + first as usize] }
    }

    /// The targets of an output, ascending.
    pub(super) fn of_output(&self, output: usize) -> &[f64] {
        &self.values[output * self.n_samples..][..self.n_samples]
    }
}

/// The targets of training rows in order, and the rank of each row.
#[derive(Debug)]
pub struct TargetRanks {
    values: Vec<f64>,
    ranks: Vec<u32>,
    /// The rank of each row in the first output.
    pub of_row: Vec<u32>,
}

impl TargetRanks {
    /// Puts targets in order, which are row-major `(n_samples, n_outputs)` and no NaN. O(n) per output, and
    /// the outputs are spread over the threads.
    pub fn new(y: &[f64], n_outputs: usize, runtime: &Runtime<'_>) -> Result<Self> {
        let n_samples = y.len() / n_outputs;
        let orders = runtime.map((0..n_outputs).collect(), |output| {
            let mut cells = memory::reserve(ORDER, n_samples)?;
            cells.extend((0..n_samples).map(|row| y[row * n_outputs + output].cell(row as u32)));
            let key = |cell| f64::key_of(cell);
            RadixSort::default().sort(&mut cells, key, || runtime.check_interrupt())?;
            let mut order: Vec<u32> = memory::reserve(ORDER, n_samples)?;
            order.extend(cells.into_iter().map(f64::row_of));
            Ok(order)
        })?;
        let mut values = memory::reserve(ORDER, y.len())?;
        let mut ranks = memory::reserve(ORDER, y.len() - n_samples.min(y.len()))?;
        for (output, order) in orders.iter().enumerate() {
            runtime.check_interrupt()?;
            values.extend(order.iter().map(|&row| y[row as usize * n_outputs + output]));
            if output > 0 {
                let of_row = inverse(order)?;
                ranks.extend(orders[0].iter().map(|&row| of_row[row as usize]));
            }
        }
        Ok(Self { values, ranks, of_row: inverse(&orders[0])? })
    }

    /// The targets by rank.
    pub fn targets(&self) -> RankedTargets<'_> {
        RankedTargets { values: &self.values, ranks: &self.ranks, n_samples: self.of_row.len() }
    }
}

/// The place of each row in an order.
fn inverse(order: &[u32]) -> Result<Vec<u32>> {
    let mut places = memory::zeros(ORDER, order.len())?;
    (0..).zip(order).for_each(|(place, &row)| places[row as usize] = place);
    Ok(places)
}
