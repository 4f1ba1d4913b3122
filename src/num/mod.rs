//! Numbers: float order, thresholds, powers of two, exact comparison. The lowest room of the house.

pub mod log2;
mod order;
mod wide;

pub use order::{SortKey, bit_length, exponent, mid_threshold, scale_by_power_of_two};
pub use wide::{Exact, Ratio, Wide};
