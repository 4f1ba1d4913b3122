//! Trees of few rows equal the trees of the brute-force grower.
#![no_main]

mod fitting;

use arbitrary::{Arbitrary, Unstructured};
use fitting::bytes::Bytes;
use fitting::cases::{Case, Reach};
use fitting::engine::oracle::{Case as Plain, Storage, check};
use libfuzzer_sys::fuzz_target;
use spinney::data::Format;
use spinney::params::TreeParams;

/// Multiples of an eighth as small integers, and the weight that 1 stands for: the brute-force grower
/// takes powers of them.
fn integers(weights: &[f64]) -> (Vec<u64>, f64) {
    let eighths: Vec<u64> = weights.iter().map(|weight| (weight * 8.0) as u64).collect();
    let gcd = |mut a: u64, mut b: u64| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let unit = eighths.iter().copied().fold(0, gcd);
    (eighths.iter().map(|eighth| eighth / unit).collect(), unit as f64 / 8.0)
}

#[derive(Debug)]
struct Integers(Plain);

impl<'a> Arbitrary<'a> for Integers {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let Case { x, y, weights, n_categories, params, choices, seed, .. } = Case::new(&mut Bytes(u), Reach::Integers);
        let mut tree = params.tree;
        let weights = weights.map_or_else(|| (vec![1; x.nrows()], 1.0), |weights| integers(&weights));
        // Beside huge weights improvements are rounding, and turns a matter of it.
        if weights.0.iter().any(|&weight| weight >= 1 << 32) {
            tree = TreeParams { max_leaf_nodes: None, monotonic_cst: None, ..tree };
        }
        let storage = match choices[0] % 6 {
            0 => Storage::Dense,
            1 => Storage::DenseByColumn,
            2 => Storage::Csc,
            3 => Storage::Csr,
            4 => Storage::Untidy(Format::Csc, seed),
            _ => Storage::Untidy(Format::Csr, seed),
        };
        Ok(Self(Plain { x, y, weights, params: tree, n_categories, storage }))
    }
}

fuzz_target!(|case: Integers| {
    if let Err(difference) = check(&case.0) {
        panic!("{difference}");
    }
});
