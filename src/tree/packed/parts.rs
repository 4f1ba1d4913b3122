//! Packed trees as bytes, for files and pickles: tighter than in memory, and checked on the way
//! back.
//!
//! The bytes of a tree are in three parts. The part *splits* has a bit for each node in preorder, 1
//! for a split; if any split sends missing values left, a bit for each split, 1 for those that do;
//! the feature of each split; the threshold of each split on a number, without the bytes at its end
//! that are 0 in all thresholds of the tree; and the category sets of all other splits
//! (`set_bytes`). The part *leaves* has what leaves predict: records of class counts, or numbers.
//! The part *statistics* has what only training needs. Everything is little-endian. An [`Entry`]
//! says how long the parts are and how to read them.
//!
//! Format 1 has thresholds of categorical splits, too, which mean nothing, and the words of sets.

use std::sync::Arc;

use super::numbers::{Form, Numbers, Weights};
use super::set_bytes::{StoredSets, write_set};
use super::shares::{Formula, Shares};
use super::{LEAF, MISSING_LEFT, Made, MadeLeafShares, NodeStatistics, PackedSplit, PackedTree, set_word};
use crate::tree::descent::flat::Layouts;
use crate::tree::descent::walk::Walk;
use crate::tree::sets::CategorySets;
use crate::tree::{MAX_NODES, n_values};

/// What all trees of a forest have in common.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    /// Number of features.
    pub n_features: usize,
    /// Number of classes of each output; 1 for numbers.
    pub n_classes: Vec<u32>,
    /// The number of categories of each feature, 0 of a numeric one; empty if all are numeric.
    pub n_categories: Arc<[u32]>,
}

/// The bytes of any number of trees, one after the other in each part.
#[derive(Debug, Default)]
pub struct Parts<T> {
    /// Where rows go.
    pub splits: T,
    /// What leaves predict.
    pub leaves: T,
    /// What prediction does not need.
    pub statistics: T,
}

/// The words that describe the bytes of a tree: its number of splits, the lengths of the three
/// parts, the number of splits with category sets (in format 1, of words of these), the unit of
/// weights as the bits of a number, and the flags.
pub type Entry = [u64; 7];

/// Which part of the bytes of a tree is at fault, and what is wrong with it.
pub type Fault = (&'static str, String);

/// The flags of an entry, from the lowest bit on: bytes per feature (4 bits), bytes per threshold
/// (4 bits), whether there are bits of missing values, the kind of statistics (2 bits), their
/// details (4 bits), and whether there are category sets that are no words.
struct Flags {
    feature_bytes: usize,
    threshold_bytes: usize,
    has_missing: bool,
    kind: PartKind,
    has_sets: bool,
}

enum PartKind {
    Shares(Formula),
    Numbers(Form),
}

impl Flags {
    fn to_word(&self) -> u64 {
        let (kind, details) = match self.kind {
            PartKind::Shares(formula) => (0, u64::from(formula == Formula::Entropy)),
            PartKind::Numbers(Form { weights, rows_add_up, leaves_are_pure }) => {
                let weights = match weights {
                    Weights::Rows => 0,
                    Weights::Multiples(_) => 1,
                    Weights::Any => 2,
                };
                (1, weights | u64::from(rows_add_up) << 2 | u64::from(leaves_are_pure) << 3)
            }
        };
        let widths = (self.feature_bytes | self.threshold_bytes << 4) as u64;
        widths | u64::from(self.has_missing) << 8 | kind << 9 | details << 11 | u64::from(self.has_sets) << 15
    }

    fn from_word(word: u64, unit: f64) -> Option<Self> {
        let has_sets = word >> 15 & 1 != 0;
        let details = (word & !(1 << 15)) >> 11;
        let kind = match (word >> 9 & 3, details) {
            (0, 0) => PartKind::Shares(Formula::Gini),
            (0, 1) => PartKind::Shares(Formula::Entropy),
            (1, 0..16) => PartKind::Numbers(Form {
                weights: match details & 3 {
                    0 => Weights::Rows,
                    1 => Weights::Multiples(unit),
                    2 => Weights::Any,
                    _ => return None,
                },
                rows_add_up: details & 4 != 0,
                leaves_are_pure: details & 8 != 0,
            }),
            _ => return None,
        };
        let (feature_bytes, threshold_bytes) = ((word & 15) as usize, (word >> 4 & 15) as usize);
        let is_sound = (1..=4).contains(&feature_bytes) && (1..=8).contains(&threshold_bytes);
        is_sound.then_some(Self { feature_bytes, threshold_bytes, has_missing: word >> 8 & 1 != 0, kind, has_sets })
    }
}

impl PackedTree {
    /// What the tree has in common with the other trees of its forest.
    pub fn shape(&self) -> Shape {
        let n_categories = Arc::clone(&self.n_categories);
        Shape { n_features: self.n_features, n_classes: self.n_classes.clone(), n_categories }
    }

    /// Appends the bytes of the tree to those of others. O(nodes).
    pub fn write(&self, parts: &mut Parts<Vec<u8>>) -> Entry {
        let before = [parts.splits.len(), parts.leaves.len(), parts.statistics.len()];
        let (kind, unit) = match &self.statistics {
            NodeStatistics::Shares(shares) => {
                parts.leaves.extend(&shares.records);
                parts.statistics.extend(&shares.impurities);
                (PartKind::Shares(shares.formula), shares.unit)
            }
            NodeStatistics::Numbers(Numbers { form, values, records }) => {
                parts.leaves.extend(values.iter().flat_map(|value| value.to_le_bytes()));
                parts.statistics.extend(records);
                let unit = if let Weights::Multiples(unit) = form.weights { unit } else { 1.0 };
                (PartKind::Numbers(*form), unit)
            }
        };
        let flags = self.write_splits(&mut parts.splits, kind);
        let after = [parts.splits.len(), parts.leaves.len(), parts.statistics.len()];
        let [splits, leaves, statistics] = [0, 1, 2].map(|part| (after[part] - before[part]) as u64);
        let n_sets = self.splits.iter().filter(|split| split.is_categorical()).count() as u64;
        [self.splits.len() as u64, splits, leaves, statistics, n_sets, unit.to_bits(), flags.to_word()]
    }

    fn write_splits(&self, bytes: &mut Vec<u8>, kind: PartKind) -> Flags {
        let numeric = self.splits.iter().filter(|split| !split.is_categorical());
        let max_feature = self.splits.iter().map(PackedSplit::feature).max().unwrap_or(0);
        let some_bits = numeric.clone().fold(0, |bits, split| bits | split.threshold);
        let flags = Flags {
            feature_bytes: (u32::BITS - max_feature.leading_zeros()).div_ceil(8).max(1) as usize,
            threshold_bytes: 8 - (some_bits.trailing_zeros() / 8).min(7) as usize,
            has_missing: self.splits.iter().any(PackedSplit::missing_go_left),
            kind,
            has_sets: numeric.clone().count() < self.splits.len(),
        };
        let mut nodes = Vec::with_capacity(self.node_count());
        let mut pending = vec![self.root()];
        while let Some(at) = pending.pop() {
            let split = self.splits.get(at as usize);
            nodes.push(split.is_some());
            pending.extend(split.iter().flat_map(|split| [split.children[1], split.children[0]]));
        }
        write_bits(bytes, nodes.into_iter());
        if flags.has_missing {
            write_bits(bytes, self.splits.iter().map(PackedSplit::missing_go_left));
        }
        for split in &self.splits {
            bytes.extend(&split.feature().to_le_bytes()[..flags.feature_bytes]);
        }
        for split in numeric {
            bytes.extend(&{ split.threshold }.to_le_bytes()[8 - flags.threshold_bytes..]);
        }
        for split in self.splits.iter().filter(|split| split.is_categorical()) {
            write_set(bytes, set_word::view(split.threshold, &self.sets), self.n_categories[split.feature() as usize]);
        }
        flags
    }

    /// Checks that the lengths of the parts of a tree are those of an entry, which may come from
    /// anywhere. O(1).
    pub fn check_lengths(shape: &Shape, entry: &Entry, parts: &Parts<&[u8]>) -> Result<(), Fault> {
        Columns::new(shape, entry, parts).map(drop)
    }

    /// Reads a tree from its bytes, which may come from anywhere. Nothing is allocated that is not
    /// in proportion to their lengths. O(nodes).
    pub fn read(shape: &Shape, entry: &Entry, parts: &Parts<&[u8]>) -> Result<Self, Fault> {
        let (columns, n_splits, flags) = Columns::new(shape, entry, parts)?;
        let unit = entry[5];
        let (splits, max_depth, sets) = columns.read(shape, n_splits, &flags)?;
        let statistics = match flags.kind {
            PartKind::Shares(formula) => {
                let (records, impurities) = (parts.leaves.into(), parts.statistics.into());
                let shares = Shares { unit: f64::from_bits(unit), formula, records, impurities };
                shares.check(n_splits, &shape.n_classes)?;
                NodeStatistics::Shares(shares)
            }
            PartKind::Numbers(form) => {
                let n_values = n_values(&shape.n_classes);
                let values = parts.leaves.as_chunks().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect();
                let records = parts.statistics.into();
                let numbers = Numbers { form, values, records };
                numbers.check(n_splits, n_values)?;
                NodeStatistics::Numbers(numbers)
            }
        };
        Ok(Self {
            n_features: shape.n_features,
            n_classes: shape.n_classes.clone(),
            max_depth,
            splits,
            statistics,
            n_categories: Arc::clone(&shape.n_categories),
            sets,
            leaves: MadeLeafShares::default(),
            layouts: Layouts::default(),
            clusters: Made::default(),
            ways: Made::default(),
        })
    }
}

/// The splits, the depth of the deepest leaf, and the words of the category sets that are not small.
type Links = (Box<[PackedSplit]>, usize, Box<[u64]>);

/// The part *splits* of a tree, divided.
struct Columns<'a> {
    nodes: &'a [u8],
    missing: &'a [u8],
    features: &'a [u8],
    thresholds: &'a [u8],
    sets: &'a [u8],
}

impl<'a> Columns<'a> {
    /// The columns of a tree, its number of splits, and its flags, if the lengths of all parts fit.
    fn new(shape: &Shape, entry: &Entry, parts: &Parts<&'a [u8]>) -> Result<(Self, usize, Flags), Fault> {
        let &[n_splits, _, _, _, n_sets, unit, flags] = entry;
        let flags = Flags::from_word(flags, f64::from_bits(unit));
        let flags = flags.ok_or_else(|| ("index", "the flags of a tree are unknown".into()))?;
        let n_splits = usize::try_from(n_splits).ok().filter(|&n| n <= MAX_NODES / 2);
        let n_splits = n_splits.ok_or_else(|| ("index", format!("a tree has {} splits", entry[0])))?;
        let columns = Self::divide(parts.splits, n_splits, n_sets, &flags)
            .ok_or_else(|| ("splits", format!("{} bytes for a tree of {n_splits} splits", parts.splits.len())))?;
        let per_leaf = match flags.kind {
            // A record has at least an integer for the rows, and three for each output.
            PartKind::Shares(_) => 1 + 3 * shape.n_classes.len(),
            PartKind::Numbers(_) => n_values(&shape.n_classes).saturating_mul(8),
        };
        let n_bytes = per_leaf.checked_mul(n_splits + 1);
        let fits = match flags.kind {
            PartKind::Shares(_) => n_bytes.is_some_and(|least| least <= parts.leaves.len()),
            PartKind::Numbers(_) => n_bytes == Some(parts.leaves.len()),
        };
        if !fits {
            return Err(("leaves", format!("{} bytes for {} leaves", parts.leaves.len(), n_splits + 1)));
        }
        if parts.statistics.len() < n_splits {
            return Err(("statistics", format!("{} bytes for {n_splits} splits", parts.statistics.len())));
        }
        Ok((columns, n_splits, flags))
    }

    /// `n_sets` is what an entry says about sets.
    fn divide(mut bytes: &'a [u8], n_splits: usize, n_sets: u64, flags: &Flags) -> Option<Self> {
        let n_sets = usize::try_from(n_sets).ok()?;
        let n_thresholds = n_splits.checked_sub(if flags.has_sets { n_sets } else { 0 })?;
        let mut take = |n: usize| bytes.split_off(..n);
        let columns = Self {
            nodes: take((2 * n_splits + 1).div_ceil(8))?,
            missing: take(if flags.has_missing { n_splits.div_ceil(8) } else { 0 })?,
            features: take(n_splits * flags.feature_bytes)?,
            thresholds: take(n_thresholds * flags.threshold_bytes)?,
            sets: bytes,
        };
        let n_bytes = columns.sets.len();
        // A set has a byte or more.
        let fits = if flags.has_sets { n_sets <= n_bytes } else { n_sets.checked_mul(8) == Some(n_bytes) };
        fits.then_some(columns)
    }

    fn read(&self, shape: &Shape, n_splits: usize, flags: &Flags) -> Result<Links, Fault> {
        let illegal = |what: String| Err(("splits", what));
        let stored = StoredSets::new(self.sets, !flags.has_sets);
        let mut stored = stored.map_err(|error| ("splits", error.to_string()))?;
        let (mut sets, mut n_sets) = (CategorySets::default(), 0);
        let n_thresholds = self.thresholds.len() / flags.threshold_bytes;
        let mut splits: Vec<PackedSplit> = Vec::with_capacity(n_splits);
        // Splits that wait for their right child, with their depths.
        let mut waiting: Vec<(u32, usize)> = Vec::new();
        // Where the next node hangs.
        let mut place: Option<(u32, usize)> = None;
        let (mut depth, mut max_depth) = (0, 0);
        for node in 0..=2 * n_splits {
            let is_split = bit(self.nodes, node);
            let n_leaves = (node - splits.len()) as u32;
            let id = if is_split { splits.len() as u32 } else { n_leaves | LEAF };
            if let Some((parent, side)) = place {
                splits[parent as usize].children[side] = id;
            }
            if !is_split {
                max_depth = max_depth.max(depth);
                match waiting.pop() {
                    Some((parent, its_depth)) => (place, depth) = (Some((parent, 1)), its_depth + 1),
                    None if node == 2 * n_splits => place = None,
                    None => return illegal(format!("the tree ends at node {node} of {}", 2 * n_splits + 1)),
                }
                continue;
            }
            if splits.len() == n_splits {
                return illegal(format!("more than {n_splits} splits"));
            }
            let feature = read_low(self.features, splits.len(), flags.feature_bytes);
            if feature >= shape.n_features as u64 {
                return illegal(format!("feature {feature} of {}", shape.n_features));
            }
            let n_categories = shape.n_categories.get(feature as usize).copied().unwrap_or(0);
            let threshold = if n_categories > 0 {
                let Some(set) = stored.read(n_categories) else {
                    return illegal(format!("category set {n_sets}"));
                };
                n_sets += 1;
                set_word::word(set.view(), &mut sets)
            } else {
                let at = if flags.has_sets { splits.len() - n_sets } else { splits.len() };
                if at == n_thresholds {
                    return illegal(format!("more than {n_thresholds} thresholds"));
                }
                let threshold = read_high(self.thresholds, at, flags.threshold_bytes);
                if f64::from_bits(threshold).is_nan() {
                    return illegal("a threshold is NaN".into());
                }
                threshold
            };
            let missing_left = flags.has_missing && bit(self.missing, splits.len());
            let feature = feature as u32 | if missing_left { MISSING_LEFT } else { 0 };
            splits.push(PackedSplit { threshold, feature, children: [LEAF; 2] });
            waiting.push((id, depth));
            (place, depth) = (Some((id, 0)), depth + 1);
        }
        if splits.len() != n_splits || place.is_some() {
            return illegal(format!("the nodes make no tree of {n_splits} splits"));
        }
        if !stored.are_read() || flags.has_sets && n_sets + n_thresholds != n_splits {
            return illegal(format!("more than {n_sets} category sets"));
        }
        Ok((splits.into(), max_depth, sets.words().into()))
    }
}

fn write_bits(bytes: &mut Vec<u8>, bits: impl Iterator<Item = bool>) {
    let mut bits = bits.peekable();
    while bits.peek().is_some() {
        bytes.push((0..8).zip(bits.by_ref()).fold(0, |byte, (at, bit)| byte | u8::from(bit) << at));
    }
}

#[inline]
fn bit(bytes: &[u8], at: usize) -> bool {
    bytes[at / 8] >> (at % 8) & 1 != 0
}

/// Integer number `at` of integers of `width` bytes each.
#[inline]
fn read_low(bytes: &[u8], at: usize, width: usize) -> u64 {
    let bytes = &bytes[at * width..];
    match bytes.first_chunk() {
        Some(&bytes) => u64::from_le_bytes(bytes) & (u64::MAX >> (u64::BITS as usize - 8 * width)),
        None => bytes[..width].iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    }
}

/// The word whose highest bytes are integer number `at`.
#[inline]
fn read_high(bytes: &[u8], at: usize, width: usize) -> u64 {
    read_low(bytes, at, width) << (u64::BITS as usize - 8 * width)
}
