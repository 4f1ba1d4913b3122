//! Sparse rows go down a tree in groups, and only their entries are looked at.
//!
//! At a split, a row without an entry of its feature goes the way of zero. So a row follows the way
//! of zero until it meets a split at which an entry of its own sends it the other way: on text,
//! that happens two or three times where the way to its leaf has eighty splits. The splits of a way
//! follow each other in memory. Each is met by a group of rows at once: one word tells whether any
//! row that follows the way has an entry of its feature. Rows that leave the way follow another
//! one, from the other child on.
//!
//! What an entry decides is decided by the tree itself, so this serves every tree: with missing
//! values, with categories, and with values that single precision does not hold.

use super::position::AT_LEAF;
use super::walk::{SplitView, Walk};

/// The ways of zero of a tree.
#[derive(Debug)]
pub struct Ways {
    /// The first step of the way that begins at the root, or a leaf.
    pub(super) root: u32,
    pub(super) steps: Box<[Step]>,
}

/// A split on a way, or the end of the way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    /// NaN if the split has a set of categories.
    pub threshold: f64,
    /// At the end of a way, the number of features, as every row stops there.
    pub feature: u32,
    /// The first step of the way of rows that leave, or a leaf with [`AT_LEAF`]. At the end of the
    /// way, its leaf.
    pub other: u32,
    /// The position of the split in the tree. At the end of the way, its leaf.
    pub at: u32,
}

impl Ways {
    /// The ways of a tree over `n_features` features. O(splits).
    pub fn new(tree: &impl Walk, n_features: usize) -> Self {
        let root = tree.root();
        let mut steps = Vec::<Step>::with_capacity(2 * tree.n_leaves());
        // Splits at which ways begin, each with the step that leads to it.
        let mut waiting = Vec::new();
        if root & AT_LEAF == 0 {
            waiting.push((root, None));
        }
        while let Some((mut at, from)) = waiting.pop() {
            if let Some(from) = from {
                let first = steps.len() as u32;
                let from: &mut Step = &mut steps[from];
                from.other = first;
            }
            while at & AT_LEAF == 0 {
                let SplitView { feature, threshold, set, children: [left, right], .. } = tree.split(at);
                let threshold = if set.is_some() { f64::NAN } else { threshold };
                let zero = tree.step(at, |_| 0.0);
                let other = if zero == left { right } else { left };
                if other & AT_LEAF == 0 {
                    waiting.push((other, Some(steps.len())));
                }
                steps.push(Step { threshold, feature, other, at });
                at = zero;
            }
            steps.push(Step { threshold: 0.0, feature: n_features as u32, other: at, at });
        }
        let root = if root & AT_LEAF == 0 { 0 } else { root };
        Self { root, steps: steps.into() }
    }

    pub fn n_bytes(&self) -> usize {
        size_of_val(&self.steps[..])
    }
}
