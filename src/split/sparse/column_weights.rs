//! How much the entries of each column weigh in a node that draws features, handed from parent to
//! child.
//!
//! Most columns that a node draws have no entry in the node, and the entries of most others weigh
//! too little to win. The weights tell this without a look at the columns. The weights of the
//! smaller child are added up from its rows, and subtracted from the weights of the parent, which
//! so become the weights of the larger child. A row is in a smaller child at most log2(n) times, so
//! all weights together cost O(entries * log n).
//!
//! Where rows have weights, the bound that a weight gives is several times as tight as the bound that a
//! number of entries gives: the weights of a bootstrap are 1 to 6.

use crate::bitset::Bitset;
use crate::criterion::Criterion;
use crate::data::SparseColumns;
use crate::split::node::Search;

/// Numbers in 16 bits where the largest allows it: less memory, so fewer cache misses.
#[derive(Debug)]
pub(crate) enum NarrowNumbers {
    Narrow(Box<[u16]>),
    Wide(Box<[u32]>),
}

impl NarrowNumbers {
    /// Room for `n` weights of at most `total`.
    fn zeros(n: usize, total: u32) -> Self {
        if u16::try_from(total).is_ok() { Self::Narrow(vec![0; n].into()) } else { Self::Wide(vec![0; n].into()) }
    }

    /// The weight of a column's entries in the node.
    #[inline]
    pub fn at(&self, feature: u32) -> u32 {
        match self {
            Self::Narrow(weights) => weights[feature as usize].into(),
            Self::Wide(weights) => weights[feature as usize],
        }
    }

    /// Adds the weight of a row to the weights of the columns in which it has entries.
    fn add(&mut self, features: &[u32], weight: u32) {
        match self {
            Self::Narrow(weights) => features.iter().for_each(|&f| weights[f as usize] += weight as u16),
            Self::Wide(weights) => features.iter().for_each(|&f| weights[f as usize] += weight),
        }
    }

    /// Subtracts the weight of a row from the weights of the columns in which it has entries.
    fn subtract(&mut self, features: &[u32], weight: u32) {
        match self {
            Self::Narrow(weights) => features.iter().for_each(|&f| weights[f as usize] -= weight as u16),
            Self::Wide(weights) => features.iter().for_each(|&f| weights[f as usize] -= weight),
        }
    }
}

/// How a row counts, and the total of all rows.
#[derive(Debug, Clone, Copy)]
struct Unit {
    /// By its weight, or, if the total weight exceeds 32 bits, as 1.
    by_weight: bool,
    total: u32,
}

impl Unit {
    fn of<C: Criterion>(search: &Search<'_, C>) -> Self {
        match u32::try_from(search.total_weight) {
            Ok(total) => Self { by_weight: true, total },
            Err(_) => Self { by_weight: false, total: search.data.n_samples() as u32 },
        }
    }

    fn of_row<C: Criterion>(self, criterion: &C, sample: u32) -> u32 {
        if self.by_weight { criterion.sample_weight(sample) as u32 } else { 1 }
    }
}

/// The weights of the entries of all columns in one node.
#[derive(Debug)]
pub struct ColumnWeights {
    /// The weight of each column in the node; `None` once the weights cost more to keep than they
    /// save.
    pub(crate) weights: Option<NarrowNumbers>,
    /// The rows of the node. They are kept for the root, for its larger child, for the larger child
    /// of that one, and so on; all other nodes have `None`.
    pub(crate) members: Option<Bitset>,
    unit: Unit,
}

impl ColumnWeights {
    /// The weights of a root with the rows `samples`; `members` is the set of these rows. O(features +
    /// entries of the rows).
    pub(crate) fn of_root<C: Criterion>(
        search: &Search<'_, C>,
        columns: &SparseColumns,
        samples: &[u32],
        members: Bitset,
    ) -> Self {
        let unit = Unit::of(search);
        let mut weights = NarrowNumbers::zeros(columns.n_features(), unit.total);
        for &sample in samples {
            weights.add(columns.row(sample).features, unit.of_row(search.criterion, sample));
        }
        Self { weights: Some(weights), members: Some(members), unit }
    }

    /// The largest weight that a unit of these weights may stand for.
    pub(crate) fn scale<C: Criterion>(&self, search: &Search<'_, C>) -> f64 {
        if self.unit.by_weight { 1.0 } else { search.max_weight as f64 }
    }

    /// Turns the weights of a node into the weights of its children: first of the smaller child, whose rows
    /// are `small`, then of the larger one. `for_small` and `for_large` say which child is to have weights. A
    /// larger child without weights is still given the rows, if they are kept. O(entries of the smaller
    /// child), and O(features) for new weights.
    pub(crate) fn divide<C: Criterion>(
        self,
        criterion: &C,
        columns: &SparseColumns,
        small: &[u32],
        for_small: bool,
        for_large: bool,
    ) -> (Option<Self>, Option<Self>) {
        let Self { weights, mut members, unit } = self;
        if let Some(members) = &mut members {
            members.remove_all(small);
        }
        let mut of_large = weights.filter(|_| for_large);
        let mut of_small = for_small.then(|| NarrowNumbers::zeros(columns.n_features(), unit.total));
        for &sample in small.iter().filter(|_| for_small || for_large) {
            let (features, weight) = (columns.row(sample).features, unit.of_row(criterion, sample));
            if let Some(weights) = &mut of_large {
                weights.subtract(features, weight);
            }
            if let Some(weights) = &mut of_small {
                weights.add(features, weight);
            }
        }
        let small = of_small.map(|weights| Self { weights: Some(weights), members: None, unit });
        let is_kept = members.is_some() || for_large;
        (small, is_kept.then_some(Self { weights: of_large, members, unit }))
    }
}
