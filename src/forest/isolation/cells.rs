//! The cells that the rows of a bag have, asked for one feature at a time.
//!
//! A tree of 256 rows reads few of their cells (2,300 of 7,700 where there are 30 features), each
//! once or a few times. So a dense matrix is read in place. Of a sparse one, the entries of the rows
//! are linked by feature once per tree ([`linked`](super::linked)), or, if there are many, stored with the
//! zeros among them ([`filled`](super::filled)).

use crate::data::query::Query;
use crate::error::Result;
use crate::memory;
use crate::rng::Permutation;
use crate::runtime::Runtime;
use crate::simd::Level;

/// The name of the memory in errors.
pub(super) const BAG: &str = "the samples of a tree";

/// The extremes of a feature that varies in a node. Missing values are apart: if they alone differ
/// from the others, the extremes are equal.
#[derive(Debug, Clone, Copy)]
pub(super) struct Varying {
    pub feature: u32,
    pub lowest: f64,
    pub highest: f64,
    pub has_missing: bool,
}

/// The order in which a node draws features, and the features that its tree has.
pub(super) struct FeatureDraw {
    pub order: Permutation,
    /// The order in which the tree has drawn its features, and how many; `None` if it has all.
    pub of_tree: Option<(Permutation, u32)>,
}

impl FeatureDraw {
    pub fn has(&self, feature: u32) -> bool {
        self.of_tree.is_none_or(|(order, n)| order.position(feature) < n)
    }
}

/// The cells of the rows of a bag.
pub(super) trait Cells {
    /// Takes the rows of the next bag, each once. Fails if they have too many entries.
    fn load(&mut self, bag: &[u32], runtime: &Runtime<'_>) -> Result<()>;

    /// Finds the first feature that varies among the rows at these places of the bag, which ascend and
    /// may repeat. Sets `values` to the values that they have.
    fn find(&mut self, places: &[u32], draw: &FeatureDraw, values: &mut Vec<f64>) -> Option<Varying>;
}

/// The cells of a matrix that can be read in place.
pub(super) struct InPlace<'a> {
    matrix: &'a dyn Query,
    bag: Vec<u32>,
    rows: Vec<u32>,
}

impl<'a> InPlace<'a> {
    pub fn new(matrix: &'a dyn Query) -> Self {
        Self { matrix, bag: Vec::new(), rows: Vec::new() }
    }
}

impl Cells for InPlace<'_> {
    fn load(&mut self, bag: &[u32], _: &Runtime<'_>) -> Result<()> {
        self.bag.clear();
        memory::make_room(BAG, &mut self.bag, bag.len())?;
        self.bag.extend_from_slice(bag);
        Ok(())
    }

    fn find(&mut self, places: &[u32], draw: &FeatureDraw, values: &mut Vec<f64>) -> Option<Varying> {
        let Self { matrix, bag, rows } = self;
        rows.clear();
        rows.extend(places.iter().map(|&place| bag[place as usize]));
        first_varying(draw, values, |feature, values| matrix.gather(feature, rows, values))
    }
}

/// The first feature that varies, where `gather` sets the values to those of a feature.
pub(super) fn first_varying(
    draw: &FeatureDraw,
    values: &mut Vec<f64>,
    gather: impl Fn(u32, &mut Vec<f64>),
) -> Option<Varying> {
    draw.order.find(Level::widest(), |feature| {
        if !draw.has(feature) {
            return None;
        }
        gather(feature, values);
        varying(feature, values)
    })
}

/// The extremes of the values of a feature; `None` if it does not vary.
pub(super) fn varying(feature: u32, values: &[f64]) -> Option<Varying> {
    let (mut lowest, mut highest, mut n_missing) = (f64::INFINITY, f64::NEG_INFINITY, 0);
    for &value in values {
        lowest = if value < lowest { value } else { lowest };
        highest = if value > highest { value } else { highest };
        n_missing += usize::from(value.is_nan());
    }
    let has_missing = n_missing > 0;
    if n_missing == values.len() || lowest == highest && !has_missing {
        return None;
    }
    // Negative zeros are zeros.
    Some(Varying { feature, lowest: lowest + 0.0, highest: highest + 0.0, has_missing })
}
