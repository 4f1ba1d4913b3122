//! Trees of few rows are those of the brute-force grower.
#![no_main]

mod fitting;

use arbitrary::{Arbitrary, Unstructured};
use fitting::bytes::Bytes;
use fitting::cases::{Case, Reach};
use fitting::engine::oracle::{Case as Plain, Storage, check};
use libfuzzer_sys::fuzz_target;
use spinney::data::Format;
use spinney::params::TreeParams;

#[derive(Debug)]
struct Integers(Plain);

impl<'a> Arbitrary<'a> for Integers {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let Case { x, y, weights, n_categories, params, choices, seed, .. } = Case::new(&mut Bytes(u), Reach::Integers);
        let mut tree = params.tree;
        // In units of an eighth, of which all weights are multiples.
        let weights = match weights {
            None => (vec![1; x.nrows()], 1.0),
            Some(weights) => (weights.iter().map(|weight| (weight * 8.0) as u64).collect(), 0.125),
        };
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
