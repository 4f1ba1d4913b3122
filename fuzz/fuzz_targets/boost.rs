//! Boosting, of all losses by both engines: neither storage nor threads show, and what is predicted is
//! finite.
#![no_main]

mod fitting;

use fitting::boosting::Boosting;
use fitting::cases::Case;
use fitting::engine::common::Sparse;
use fitting::storage::{encoded, plain};
use fitting::threads::{one, two};
use libfuzzer_sys::fuzz_target;
use spinney::boost::RoundLosses;
use spinney::data::Format;
use spinney::error::Result;
use spinney::forest::Forest;

/// The bits of losses, as some are NaN.
fn bits(losses: &[RoundLosses]) -> Vec<[u64; 3]> {
    losses.iter().map(|losses| losses.map(f64::to_bits)).collect()
}

fn assert_equal(found: &Result<(Forest, Vec<RoundLosses>)>, expected: &Result<(Forest, Vec<RoundLosses>)>) {
    match (found, expected) {
        (Ok((found, losses)), Ok((expected, of_expected))) => {
            assert!(found == expected, "{found:?} {expected:?}");
            assert_eq!(bits(losses), bits(of_expected));
        }
        (Err(found), Err(expected)) => assert_eq!(found, expected),
        _ => panic!("{:?} {:?}", found.as_ref().err(), expected.as_ref().err()),
    }
}

fuzz_target!(|case: Case| {
    let Some(boosting) = Boosting::of(&case) else { return };
    let [storage, other, ..] = case.choices;
    let expected = boosting.grow(&case, &plain(&case), &one());
    assert_equal(&boosting.grow(&case, &plain(&case), two()), &expected);
    for choice in [storage, other] {
        assert_equal(&boosting.grow(&case, &encoded(&case, choice), two()), &expected);
    }
    let Ok((forest, _)) = &expected else { return };
    let predicted = forest.predict(&case.query.view(), &one()).expect("sums");
    assert!(boosting.may_overflow() || predicted.iter().all(|value| value.is_finite()), "{predicted:?}");
    let sparse = Sparse::<f64, i32>::new(&case.query, Format::Csr, |v| v);
    let of_sparse = forest.predict(&sparse.view(), two()).expect("sums");
    assert!(of_sparse.iter().zip(&predicted).all(|(a, b)| a.to_bits() == b.to_bits()));
});
