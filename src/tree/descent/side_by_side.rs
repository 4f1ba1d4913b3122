//! Many descents side by side: of several rows through one tree, or of one row through several
//! trees.
//!
//! A descent is a chain of dependent reads, and which way it goes is a coin toss. One after the other,
//! descents wait for memory and for mispredicted branches. Side by side each takes one step in turn, the
//! reads of different descents overlap, and no branch depends on a value. A descent that has reached its leaf
//! leaves the list of descents that go on.

use super::split_view::AT_LEAF;
use super::walk::Walk;

/// The most descents side by side.
pub const MOST: usize = 256;

/// Ends descents, at most [`MOST`], at leaves, whose positions are written to `at`. Descent number
/// `i` goes through `tree(i)`, with the values `value(i, feature)`. If there are [bits](super::row_bits) of
/// categories, they are `bit(i, feature)`.
#[inline]
pub fn descend<'t, W: Walk + 't>(
    at: &mut [u32],
    tree: impl Fn(usize) -> &'t W,
    value: impl Fn(usize, u32) -> f64,
    bit: Option<impl Fn(usize, u32) -> u64>,
) {
    at.iter_mut().enumerate().for_each(|(i, at)| *at = tree(i).root());
    match bit {
        Some(bit) => run(at, |i, at| tree(i).step_by_bits(at, |feature| value(i, feature), |feature| bit(i, feature))),
        None => run(at, |i, at| tree(i).step(at, |feature| value(i, feature))),
    }
}

/// Takes each descent from its position to its leaf, by `step(descent, position)`.
#[inline]
fn run(at: &mut [u32], step: impl Fn(usize, u32) -> u32) {
    debug_assert!(at.len() <= MOST);
    let mut open = [0u16; MOST];
    let mut n_open = 0;
    for (i, at) in at.iter().enumerate() {
        open[n_open] = i as u16;
        n_open += usize::from(*at & AT_LEAF == 0);
    }
    while n_open > 0 {
        let mut n_left = 0;
        for k in 0..n_open {
            let i = usize::from(open[k]);
            let next = step(i, at[i]);
            at[i] = next;
            open[n_left] = i as u16;
            n_left += usize::from(next & AT_LEAF == 0);
        }
        n_open = n_left;
    }
}
