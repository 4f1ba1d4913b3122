//! The trees of a forest as five sections of bytes, which files and pickles have in common.
//!
//! `shape` has 32-bit integers: the number of outputs, and of features; the classes of each output;
//! the categories of each feature, or nothing if all are numeric. `index` has eight 64-bit words
//! for each tree: its seed, and the [`Entry`] that describes its bytes in the sections `splits`,
//! `leaves` and `statistics`, where trees follow each other without gaps (`tree/packed/parts.rs`).

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::forest::{Forest, Member};
use crate::runtime::Runtime;
use crate::tree::packed::{Entry, PackedTree, Parts, Shape};

/// The number of the newest format of these sections that is read: of forests with categories, whose
/// sets format 1 had as words. Forests without are equal in both, and are written as format 1, so
/// that older versions read them.
pub const TREE_FORMAT: u32 = 2;
/// How many sections the trees of a forest take.
pub const N_TREE_SECTIONS: usize = 5;
/// The names of the sections, in the order of the file.
pub const TREE_SECTIONS: [&str; N_TREE_SECTIONS] = ["shape", "index", "splits", "leaves", "statistics"];
/// Bytes of the index for each tree.
const INDEX_BYTES: usize = 64;

/// The sections of a forest, in the order of [`TREE_SECTIONS`]. O(nodes).
pub fn write_forest(forest: &Forest, runtime: &Runtime<'_>) -> Result<[Vec<u8>; N_TREE_SECTIONS]> {
    let first = forest.members()[0].tree.shape();
    let numbers = [first.n_classes.len() as u32, first.n_features as u32].into_iter();
    let numbers = numbers.chain(first.n_classes).chain(first.n_categories.iter().copied());
    let shape = numbers.flat_map(u32::to_le_bytes).collect();
    let mut index = Vec::with_capacity(forest.len() * INDEX_BYTES);
    let mut parts = Parts::<Vec<u8>>::default();
    for Member { tree, seed } in forest.members() {
        runtime.check_interrupt()?;
        let words = [*seed].into_iter().chain(tree.write(&mut parts));
        index.extend(words.flat_map(u64::to_le_bytes));
    }
    Ok([shape, index, parts.splits, parts.leaves, parts.statistics])
}

/// The number of the format in which a forest is written.
pub fn tree_format(forest: &Forest) -> u32 {
    if forest.members()[0].tree.n_categories().is_empty() { 1 } else { TREE_FORMAT }
}

/// A forest without the bytes of its trees: their common shape, their seeds and sizes.
#[derive(Debug, Clone, PartialEq)]
pub struct Outline {
    /// The shape that all trees share.
    pub shape: Shape,
    /// The seed of each tree, and what describes its bytes.
    pub trees: Vec<(u64, Entry)>,
}

impl Outline {
    /// The outline of a forest.
    pub fn of(forest: &Forest) -> Self {
        let trees = forest.members().iter().map(|Member { tree, seed }| {
            let mut entry = Entry::default();
            entry[0] = (tree.node_count() / 2) as u64;
            (*seed, entry)
        });
        Self { shape: forest.members()[0].tree.shape(), trees: trees.collect() }
    }

    /// Reads the outline from sections that may come from anywhere. Their lengths must agree with the
    /// outline. O(trees).
    pub fn read(sections: &[&[u8]; N_TREE_SECTIONS]) -> Result<Self> {
        Ok(read_outline(sections)?.0)
    }

    /// The number of nodes of each tree.
    pub fn node_counts(&self) -> impl Iterator<Item = i64> {
        self.trees.iter().map(|(_, entry)| (entry[0] as i64).saturating_mul(2).saturating_add(1))
    }
}

/// The outline of a forest, and the bytes of each tree.
fn read_outline<'a>(sections: &[&'a [u8]; N_TREE_SECTIONS]) -> Result<(Outline, Vec<Parts<&'a [u8]>>)> {
    let &[shape, index, splits, leaves, statistics] = sections;
    let shape = read_shape(shape).ok_or_else(|| damaged("shape", "its numbers contradict each other".into()))?;
    let (entries, rest) = index.as_chunks::<INDEX_BYTES>();
    if entries.is_empty() || !rest.is_empty() {
        return Err(damaged("index", format!("{} bytes for trees of {INDEX_BYTES}", index.len())));
    }
    let mut rest = [splits, leaves, statistics];
    let (mut trees, mut parts) = (Vec::with_capacity(entries.len()), Vec::with_capacity(entries.len()));
    for entry in entries {
        let mut words = entry.as_chunks().0.iter().map(|&bytes| u64::from_le_bytes(bytes));
        let seed = words.next().unwrap_or(0);
        let mut entry = Entry::default();
        entry.iter_mut().zip(words).for_each(|(word, value)| *word = value);
        let mut part = |at: usize| {
            let length = usize::try_from(entry[1 + at]).ok();
            let bytes = length.and_then(|length| rest[at].split_off(..length));
            bytes.ok_or_else(|| {
                let got = format!("{} bytes for a tree, where {} are left", entry[1 + at], rest[at].len());
                damaged(TREE_SECTIONS[2 + at], got)
            })
        };
        parts.push(Parts { splits: part(0)?, leaves: part(1)?, statistics: part(2)? });
        trees.push((seed, entry));
    }
    if let Some(at) = rest.iter().position(|rest| !rest.is_empty()) {
        return Err(damaged(TREE_SECTIONS[2 + at], format!("{} bytes belong to no tree", rest[at].len())));
    }
    for ((_, entry), parts) in trees.iter().zip(&parts) {
        PackedTree::check_lengths(&shape, entry, parts).map_err(|(section, reason)| damaged(section, reason))?;
    }
    Ok((Outline { shape, trees }, parts))
}

/// The forest of sections that may come from anywhere. O(nodes).
pub fn read_forest(sections: [&[u8]; N_TREE_SECTIONS], runtime: &Runtime<'_>) -> Result<Forest> {
    let (Outline { shape, trees }, parts) = read_outline(&sections)?;
    let members = runtime.map(trees.into_iter().zip(parts).collect(), |((seed, entry), parts)| {
        runtime.check_interrupt()?;
        let tree = PackedTree::read(&shape, &entry, &parts).map_err(|(section, reason)| damaged(section, reason))?;
        Ok(Member { tree: Arc::new(tree), seed })
    })?;
    Forest::new(members)
}

fn read_shape(bytes: &[u8]) -> Option<Shape> {
    let (numbers, rest) = bytes.as_chunks();
    let mut numbers = numbers.iter().map(|&bytes| u32::from_le_bytes(bytes));
    let (n_outputs, n_features) = (numbers.next()? as usize, numbers.next()? as usize);
    // Features share a word with a bit.
    let is_sound = rest.is_empty() && (1..=numbers.len()).contains(&n_outputs) && n_features <= 1 << 31;
    let n_classes: Vec<u32> = numbers.by_ref().take(if is_sound { n_outputs } else { 0 }).collect();
    let n_categories: Arc<[u32]> = numbers.collect();
    let is_of_features =
        n_categories.is_empty() || n_categories.len() == n_features && n_categories.iter().any(|&n| n > 0);
    let is_sound = is_sound && is_of_features && n_classes.iter().all(|&n| n > 0);
    is_sound.then_some(Shape { n_features, n_classes, n_categories })
}

fn damaged(section: &str, reason: String) -> Error {
    Error::Damaged { section: section.into(), reason }
}
