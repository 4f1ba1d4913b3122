//! Weighted sums of the numbers of several outputs: what a scan keeps of the pushed samples, and
//! what two candidates are compared by.

use super::weights::Moment;

/// The numbers of a sample in an array with `n_outputs` numbers per sample.
#[inline]
pub(super) fn row<T>(all: &[T], sample: u32, n_outputs: usize) -> &[T] {
    if n_outputs == 1 {
        std::slice::from_ref(&all[sample as usize])
    } else {
        &all[sample as usize * n_outputs..][..n_outputs]
    }
}

/// Per output, by how many bits its scale is coarser than the finest: fixed-point values times
/// 2 to this power have one scale for all outputs.
pub(super) fn shifts(scale: &[i32]) -> impl Iterator<Item = u32> {
    let finest = scale.iter().copied().max().unwrap_or(0);
    scale.iter().map(move |scale| (finest - scale) as u32)
}

/// Per output, 2 to the power of its shift.
pub(super) fn factors(scale: &[i32]) -> Box<[f64]> {
    shifts(scale).map(|shift| 2f64.powi(shift as i32)).collect()
}

/// The weight of the pushed samples, and their weighted sum for the first output. A scan keeps the
/// sums for the other outputs, which are none in most trees.
#[derive(Debug, Clone, Copy, Default)]
pub struct SumPushed<S> {
    pub(super) weight: u64,
    pub(super) first: S,
}

/// The weight of the pushed samples and their sums: for the first output, and for the other
/// outputs.
pub type SumProof<S> = (SumPushed<S>, Box<[S]>);

impl<S: Moment> SumPushed<S> {
    /// Pushes a sample with this weight and these numbers.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "as `push` of a criterion")]
    pub(super) fn push(&mut self, others: &mut [S], weight: u64, numbers: &[i64]) {
        self.weight += weight;
        self.first = self.first.plus_product(weight, numbers[0]);
        for (sum, &number) in others.iter_mut().zip(&numbers[1..]) {
            *sum = sum.plus_product(weight, number);
        }
    }

    /// The sums of all outputs.
    #[inline]
    pub(super) fn sums(&self, others: &[S]) -> impl Iterator<Item = S> {
        std::iter::once(self.first).chain(others.iter().copied())
    }
}

/// Whether two candidates have the same weights and sums on their sides, perhaps with the sides
/// exchanged. `weight` and `sums` are those of the node.
pub(super) fn are_same<S: Moment>(
    weight: u64,
    sums: impl Iterator<Item = S>,
    (a, a_others): &SumProof<S>,
    (b, b_others): &SumProof<S>,
) -> bool {
    let rest = sums.zip(b.sums(b_others)).map(|(whole, sum)| whole - sum);
    (a.weight == b.weight && a.sums(a_others).eq(b.sums(b_others)))
        || (a.weight == weight - b.weight && a.sums(a_others).eq(rest))
}
