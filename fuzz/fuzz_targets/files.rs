//! Forests and data sets come back from their sections as they were, and packed trees are the plain
//! ones.
#![no_main]

mod fitting;

use fitting::cases::Case;
use fitting::engine::common::Sparse;
use fitting::storage::stored;
use fitting::threads::{one, two};
use libfuzzer_sys::fuzz_target;
use spinney::data::decode::Decoded;
use spinney::data::rows::Row;
use spinney::data::{Dataset, Format, SparseView};
use spinney::files::{read_forest, write_forest};
use spinney::grow::grow;
use spinney::tree::Walk;
use spinney::tree::packed::PackedTree;

fuzz_target!(|case: Case| {
    let case = case.or_times();
    let Some(target) = case.target() else { return };
    let data = stored(&case, case.choices[0]);
    let params = &case.params.tree;
    let Ok(valid) = params.check(case.x.nrows(), case.x.ncols()) else { return };
    let Ok(tree) = grow(&data, &target, &valid, case.seed, &one()) else { return };

    // The sections of the data set, and what they are decoded to.
    // Keys have no sections.
    if let Ok(parts) = data.parts(&one()) {
        let parts: Vec<_> = parts.into_iter().map(|(name, bytes)| (name, bytes.to_vec().into())).collect();
        let read = Dataset::from_parts(&parts, &one()).expect("what was written");
        assert_eq!(grow(&read, &target, &valid, case.seed, &one()).expect("a tree"), tree);
    }
    if !case.has_categories() {
        let again = match data.decode(&one()).expect("values") {
            Decoded::Dense(cells) => {
                let cells = ndarray::Array2::from_shape_vec(case.x.dim(), cells).expect("as many cells");
                Dataset::from_dense(cells.view(), &one())
            }
            Decoded::Csr { indptr, indices, data } => {
                let view = SparseView::new(case.x.dim(), Format::Csr, &indptr, &indices, &data).expect("a matrix");
                Dataset::from_sparse(&view, &one())
            }
        };
        let again = grow(&again.expect("a data set"), &target, &valid, case.seed, &one());
        assert_eq!(again.expect("a tree"), tree);
    }

    // A packed tree, whatever its unit.
    let query = case.query.view();
    for unit in [target.weight_unit(), 0.3] {
        let packed = PackedTree::new(&tree, unit);
        assert_eq!(packed.unpack().expect("a tree"), tree);
        for row in 0..case.query.nrows() as u32 {
            let leaf = packed.leaf(Row::Asked(&query, row), |_| ());
            assert_eq!(leaf, tree.leaf(Row::Asked(&query, row), |_| ()));
        }
    }

    let Ok(forest) = case.forest(&target, &data, &one()) else { return };
    let sections = write_forest(&forest, &one()).expect("sections");
    let back = read_forest(sections.each_ref().map(|section| &section[..]), two()).expect("what was written");
    assert!(back == forest);
    assert!(write_forest(&back, &one()).expect("sections") == sections);
    let bits = |values: Vec<f64>| values.into_iter().map(f64::to_bits).collect::<Vec<_>>();
    let expected = bits(forest.predict(&query, &one()).expect("means"));
    assert_eq!(bits(back.predict(&query, &one()).expect("means")), expected);
    let single = Sparse::<f64, i32>::new(&case.query, Format::Csr, |v| v);
    assert_eq!(bits(back.predict(&single.view(), two()).expect("means")), expected);
});
