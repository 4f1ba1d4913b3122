//! Damaged data sets are refused, or are data sets: a tree can be grown of them.
#![no_main]

mod damage;
mod runtime;

use std::sync::LazyLock;

use damage::{Damage, data};
use libfuzzer_sys::fuzz_target;
use runtime::runtime;
use spinney::data::{Dataset, Target};
use spinney::grow::grow;
use spinney::params::{CriterionKind, TreeParams};

static SECTIONS: LazyLock<(Vec<String>, Vec<Vec<u8>>)> =
    LazyLock::new(|| data().parts(&runtime()).expect("ranks").into_iter().map(|(name, bytes)| (name, bytes.to_vec())).unzip());

fuzz_target!(|damages: Vec<Damage>| {
    let (names, mut sections) = (*SECTIONS).clone();
    damages.iter().for_each(|damage| damage.apply(&mut sections));
    let parts: Vec<_> = names.into_iter().zip(sections.into_iter().map(Into::into)).collect();
    let Ok(data) = Dataset::from_parts(&parts, &runtime()) else { return };
    let n = data.n_samples();
    let y: Vec<f64> = (0..n).map(|row| (row % 7) as f64).collect();
    let Ok(target) = Target::regression(&y, 1, None) else { return };
    let params = TreeParams::new(CriterionKind::SquaredError).check(n, data.n_features()).expect("legal");
    grow(&data, &target, &params, 0, &runtime()).expect("a tree");
});
