//! Damaged trees are refused, or are trees: they predict, and are written as they were read.
#![no_main]

mod damage;
mod runtime;

use std::sync::{Arc, LazyLock};

use damage::{Damage, data};
use libfuzzer_sys::fuzz_target;
use ndarray::Array2;
use runtime::runtime;
use spinney::data::Target;
use spinney::files::{read_forest, write_forest};
use spinney::forest::{Forest, Member};
use spinney::grow::grow;
use spinney::params::{CriterionKind, TreeParams};
use spinney::tree::packed::PackedTree;

/// The sections of a forest of classes, and of one of numbers.
static FORESTS: LazyLock<[Vec<Vec<u8>>; 2]> = LazyLock::new(|| {
    let classes: Vec<u32> = (0..40).map(|row| row * row % 3).collect();
    let classes = Target::classification(&classes, &[3], None).expect("classes below three");
    let numbers: Vec<f64> = (0..40).map(|row| f64::from(row * row % 17)).collect();
    let numbers = Target::regression(&numbers, 1, None).expect("finite");
    [(CriterionKind::Gini, classes), (CriterionKind::SquaredError, numbers)].map(|(criterion, target)| {
        let (data, params) = (data(), TreeParams::new(criterion).check(40, 3).expect("legal"));
        let member = |seed| {
            let tree = grow(&data, &target, &params, seed, &runtime()).expect("a tree");
            Member { tree: Arc::new(PackedTree::new(&tree, target.weight_unit())), seed }
        };
        let forest = Forest::new((0..2).map(member).collect()).expect("trees of one target");
        write_forest(&forest, &runtime()).expect("sections").into()
    })
});

fuzz_target!(|input: (bool, Vec<Damage>)| {
    let (is_second, damages) = input;
    let mut sections = FORESTS[usize::from(is_second)].clone();
    damages.iter().for_each(|damage| damage.apply(&mut sections));
    let parts: Vec<&[u8]> = sections.iter().map(|section| &section[..]).collect();
    let Ok(forest) = read_forest(parts.try_into().expect("five sections"), &runtime()) else { return };
    // Much memory may be what such a forest needs: a file may say that there are 2^31 features.
    if forest.n_features() <= 1000 && forest.n_values() <= 1000 {
        let x = Array2::from_shape_fn((40, forest.n_features()), |(row, column)| (row * (column + 2) % 9) as f64);
        let _ = forest.predict(&x.view(), &runtime());
    }
    let again = write_forest(&forest, &runtime()).expect("sections");
    let parts = again.each_ref().map(|section| &section[..]);
    let read = read_forest(parts, &runtime()).expect("what was written");
    assert_eq!(write_forest(&read, &runtime()).expect("sections"), again);
});
