//! Arithmetic: the order of floats, a sort by integers, thresholds, powers of two, fixed-point
//! logarithms, exact comparison of scores, and the concordance of risks and times. The lowest module: it
//! imports no other module of the crate.

mod concordance;
pub mod log2;
mod order;
mod radix;
mod sort;
mod threshold;
mod wide;

pub use concordance::{Concordance, concordance};
pub use order::{SortKey, bit_length, exponent, nearest, quotient, round_ties_even, scale_by_power_of_two};
pub use radix::RadixSort;
pub use sort::{sort_by, sort_by_key};
pub use threshold::{mid_threshold, settled_threshold};
pub use wide::{Exact, Ratio, Wide, quotient_by_two_to_128};
