//! The order of all samples by their targets. The rank of a sample is its place in the order of the
//! targets as given; see [`SampleOrder`] for the samples of nodes.

use crate::criterion::loaded::NodeWeights;
use crate::criterion::loaded::sample_order::SampleOrder;
use crate::data::ranking::sort_cells;
use crate::data::target::Numbers;
use crate::error::Result;
use crate::num::{RadixSort, SortKey};
use crate::runtime::Runtime;

/// All samples in the order of their targets for one output.
pub(super) struct Ranking {
    pub order: SampleOrder,
    /// The fixed-point target of each rank.
    pub values: Box<[i64]>,
    /// The weight of each rank; empty if all weights are 1.
    pub weights: Box<[u64]>,
}

impl Ranking {
    /// The order for the output of this number. O(N) for N samples in all.
    pub fn new(numbers: &Numbers, output: usize, weights: NodeWeights<'_>, runtime: &Runtime<'_>) -> Result<Self> {
        let n_outputs = numbers.peak.len();
        let of_output = || numbers.raw.iter().skip(output).step_by(n_outputs);
        let mut cells: Vec<_> = of_output().zip(0..).map(|(y, sample)| y.cell(sample)).collect();
        sort_cells::<f64>(&mut cells, &mut RadixSort::default(), runtime)?;
        let order = SampleOrder::new(cells.into_iter().map(f64::row_of).collect());
        let fixed = |&sample: &u32| numbers.fixed[sample as usize * n_outputs + output];
        let values = order.samples().iter().map(fixed).collect();
        Ok(Self { values, weights: weights.by_rank(&order), order })
    }

    /// The sample of a rank.
    pub fn sample(&self, rank: u32) -> u32 {
        self.order.sample(rank)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::data::Target;
    use crate::data::target::TargetValues;
    use crate::error::Error;

    #[test]
    fn samples_are_ordered_by_target_then_number() {
        let y: Vec<f64> = (0..1000).map(|i| f64::from(i * 7919 % 10) - 4.5).collect();
        let target = Target::regression(&y, 1, None).unwrap();
        let TargetValues::Numbers(numbers) = target.values() else { panic!("numbers") };
        let weights = NodeWeights::new(target.weights());
        let ranking = Ranking::new(numbers, 0, weights, &Runtime::unstoppable()).unwrap();
        let mut expected: Vec<u32> = (0..1000).collect();
        expected.sort_by(|&a, &b| y[a as usize].total_cmp(&y[b as usize]));
        assert!(ranking.order.samples()[..] == expected[..]);
        let stopped = AtomicBool::new(true);
        let interrupted = Ranking::new(numbers, 0, weights, &Runtime::new(1, &stopped));
        assert_eq!(interrupted.err(), Some(Error::Interrupted));
    }
}
