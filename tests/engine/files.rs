//! Model files: forests come back as they were, and whatever is damaged is refused.

use std::sync::Arc;

use ndarray::Array2;
use proptest::collection::vec;
use proptest::prelude::*;
use spinney::error::Error;
use spinney::files::{TREE_SECTIONS, frame, read_forest, sections, write_forest};
use spinney::forest::{Forest, Member};
use spinney::params::{CriterionKind, TreeParams};
use spinney::tree::packed::PackedTree;

use super::common::{CRITERIA, Y, config, encode, grow, matrices, noise, params, runtime, targets};

fn forest_of(x: &Array2<f64>, y: &Y, weights: Option<&[f64]>, params: &TreeParams) -> Forest {
    let unit = y.target(weights).weight_unit();
    let members = (0..3).map(|seed| {
        let params = TreeParams { seed, ..params.clone() };
        let tree = grow(&encode(&x.view(), &runtime(1)), y, weights, &params, &runtime(1));
        Member { tree: Arc::new(PackedTree::new(&tree, unit)), seed: seed + 7 }
    });
    Forest::new(members.collect()).unwrap()
}

/// A file of the trees alone, and its sections.
fn file_of(parts: &[Vec<u8>]) -> Vec<u8> {
    let named: Vec<(&str, &[u8])> = TREE_SECTIONS.into_iter().zip(parts.iter().map(|part| &part[..])).collect();
    let mut file = frame(&named, &runtime(1)).unwrap();
    for (_, bytes) in named {
        file.resize(file.len().next_multiple_of(64), 0);
        file.extend(bytes);
    }
    file
}

fn read_file(file: &[u8]) -> Result<Forest, Error> {
    let sections = sections(file, &runtime(2))?;
    let names: Vec<&str> = sections.iter().map(|section| &section.name[..]).collect();
    assert_eq!(names, TREE_SECTIONS);
    let parts: Vec<&[u8]> = sections.iter().map(|section| &file[section.bytes.clone()]).collect();
    read_forest(parts.try_into().unwrap(), &runtime(2))
}

fn cases() -> impl Strategy<Value = Forest> {
    let criterion = prop::sample::select(&CRITERIA[..]);
    (matrices(1..60usize, 1..6usize), criterion).prop_flat_map(|(x, criterion)| {
        let (n, m) = x.dim();
        let weights = prop_oneof![
            1 => Just(None),
            1 => vec((1..9u8).prop_map(|w| f64::from(w) / 8.0), n).prop_map(Some),
            1 => vec(0.1..2.0, n).prop_map(Some),
        ];
        (Just(x), targets(n, criterion), weights, params(criterion, m))
            .prop_map(|(x, y, weights, params)| forest_of(&x, &y, weights.as_deref(), &params))
    })
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn forests_come_back(forest in cases()) {
        let parts = write_forest(&forest, &runtime(1)).unwrap();
        let file = file_of(&parts);
        let back = read_file(&file).unwrap();
        prop_assert!(back == forest);
        for (tree, expected) in back.trees().zip(forest.trees()) {
            prop_assert!(tree.unpack().unwrap() == expected.unpack().unwrap());
        }
        prop_assert!(write_forest(&back, &runtime(1)).unwrap() == parts);
    }

    /// Every bit of a file counts, and so does its length.
    #[test]
    fn damaged_files_are_refused(
        forest in cases(),
        place in any::<prop::sample::Index>(),
        bit in 0..8u32,
        end in any::<prop::sample::Index>(),
    ) {
        let file = file_of(&write_forest(&forest, &runtime(1)).unwrap());
        let mut flipped = file.clone();
        flipped[place.index(file.len())] ^= 1 << bit;
        prop_assert!(read_file(&flipped).is_err());
        prop_assert!(read_file(&file[..end.index(file.len())]).is_err());
        let longer = [&file[..], &[0]].concat();
        prop_assert!(read_file(&longer).is_err());
    }

    /// Sections that are forged, with checksums that agree: either refused, or a forest that can be
    /// asked and written.
    #[test]
    fn forged_sections_are_harmless(
        forest in cases(),
        section in 0..5usize,
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut parts = write_forest(&forest, &runtime(1)).unwrap();
        let part = &mut parts[section];
        if part.is_empty() {
            return Ok(());
        }
        for (at, value) in changes {
            let at = at.index(part.len());
            part[at] = value;
        }
        if let Some(cut) = cut {
            part.truncate(cut.index(part.len()));
        }
        match read_file(&file_of(&parts)) {
            Err(error) => {
                let is_legal = matches!(error, Error::Damaged { .. } | Error::InvalidArgument { .. });
                prop_assert!(is_legal, "{error}");
            }
            Ok(forest) if forest.n_values() < 10_000 && forest.n_features() < 10_000 => {
                let x = Array2::from_shape_fn((20, forest.n_features()), |(i, j)| noise(i as u64, j) * 4.0 - 1.0);
                let predicted = forest.predict(&x.view(), &runtime(1)).unwrap();
                prop_assert!(predicted.iter().all(|value| value.is_finite()));
                for tree in forest.trees() {
                    let unpacked = tree.unpack().unwrap();
                    prop_assert!(PackedTree::new(&unpacked, 1.0).unpack().unwrap().node_count() == tree.node_count());
                }
                prop_assert!(write_forest(&forest, &runtime(1)).is_ok());
            }
            Ok(_) => {}
        }
    }

    #[test]
    fn any_bytes_are_refused(bytes: Vec<u8>, n_sections in 0..3u32) {
        prop_assert!(sections(&bytes, &runtime(1)).is_err());
        let head = [b"\x89SPINNEY\x01\0\0\0", &n_sections.to_le_bytes()[..], &bytes].concat();
        prop_assert!(sections(&head, &runtime(1)).is_err());
    }
}

#[test]
fn the_section_is_named() {
    let x = Array2::from_shape_fn((200, 3), |(row, column)| noise(column as u64, row));
    let y = Y::Classes { values: (0..200).map(|row| u32::from(x[[row, 0]] > 0.5)).collect(), n_classes: vec![2] };
    let forest = forest_of(&x, &y, None, &TreeParams::new(CriterionKind::Gini));
    let parts = write_forest(&forest, &runtime(1)).unwrap();
    let file = file_of(&parts);
    let places = sections(&file, &runtime(1)).unwrap();
    assert_eq!(file_of(&parts), file);
    for section in places {
        let mut damaged = file.clone();
        damaged[section.bytes.start] ^= 1;
        match read_file(&damaged) {
            Err(Error::Damaged { section: name, .. }) => assert_eq!(name, section.name),
            other => panic!("{other:?}"),
        }
        // The length in the table, with the table's checksum as it was.
        let mut damaged = file.clone();
        damaged[64 + 48] ^= 1;
        assert!(matches!(read_file(&damaged), Err(Error::Damaged { section, .. }) if section == "table"));
    }
    // A tree whose index speaks of more splits than there are bytes.
    for n_splits in [2u64, 1 << 20, 1 << 30, 1 << 31, u64::MAX] {
        let mut forged = parts.clone();
        forged[1][8..16].copy_from_slice(&n_splits.to_le_bytes());
        assert!(matches!(read_file(&file_of(&forged)), Err(Error::Damaged { .. })), "{n_splits}");
    }
}

#[test]
fn newer_formats_are_refused() {
    let mut file = file_of(&write_forest(&stump(), &runtime(1)).unwrap());
    file[8..12].copy_from_slice(&2u32.to_le_bytes());
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&file[..60]);
    hasher.update(&file[64..64 + 5 * 64]);
    file[60..64].copy_from_slice(&hasher.finalize().to_le_bytes());
    assert!(matches!(read_file(&file), Err(Error::NewerFormat { got: 2, newest: 1, .. })));
}

fn stump() -> Forest {
    let x = Array2::from_shape_fn((4, 1), |(row, _)| row as f64);
    let y = Y::Numbers { values: vec![0.0, 0.0, 1.0, 1.0], n_outputs: 1 };
    forest_of(&x, &y, None, &TreeParams::new(CriterionKind::SquaredError))
}

/// Two classes, seven classes, and numbers: what issue files are asked to hold.
#[test]
fn files_are_small() {
    let (n, m) = (4000, 10);
    let x = Array2::from_shape_fn((n, m), |(row, column)| f64::from(noise(column as u64, row) as f32));
    let signal = |row: usize| x[[row, 0]] + x[[row, 1]] * x[[row, 2]] + noise(99, row) / 2.0;
    let classes = |n_classes: u32| Y::Classes {
        values: (0..n).map(|row| ((signal(row) / 2.5 * f64::from(n_classes)) as u32).min(n_classes - 1)).collect(),
        n_classes: vec![n_classes],
    };
    let numbers = Y::Numbers { values: (0..n).map(signal).collect(), n_outputs: 1 };
    // Counts of draws, as a bootstrap gives them.
    let counts: Vec<f64> = (0..n).map(|row| (noise(5, row) * 3.0).floor()).collect();
    for (y, criterion, most) in [
        (classes(2), CriterionKind::Gini, 8.0),
        (classes(2), CriterionKind::Entropy, 8.0),
        (classes(7), CriterionKind::Gini, 8.0),
        (numbers, CriterionKind::SquaredError, 12.0),
    ] {
        let forest = forest_of(&x, &y, Some(&counts), &TreeParams::new(criterion));
        let file = file_of(&write_forest(&forest, &runtime(1)).unwrap());
        let n_nodes: usize = forest.trees().map(PackedTree::node_count).sum();
        let per_node = file.len() as f64 / n_nodes as f64;
        assert!(per_node <= most, "{criterion:?}: {per_node} bytes a node");
    }
}
