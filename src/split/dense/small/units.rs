//! The categories of a column in a node of a small subtree.

use smallvec::SmallVec;

use crate::criterion::small::ByRow;
use crate::data::Dataset;
use crate::rng::NodeKey;
use crate::split::categorical::RandomSubset;

/// Ranks below this are bits of a word.
pub(super) const FEW_RANKS: usize = u64::BITS as usize;

/// The categories of a column in a node, grouped into units as in `split::categorical`: all
/// categories with too few rows are one unit together, every other category is a unit of its own.
/// Units are numbered by the identities of their categories.
pub(super) struct SmallUnits {
    n: usize,
    /// The identity, the rank and the unit of each category, in the order of identities.
    categories: SmallVec<[(u32, u32, u8); 16]>,
    /// Whether the column has few ranks. Then the unit of each rank, not used for ranks that the
    /// node does not have.
    are_few: bool,
    by_few_ranks: [u8; FEW_RANKS],
    /// Otherwise the categories as ranks and units, in the order of ranks.
    by_rank: Vec<(u32, u8)>,
}

impl SmallUnits {
    pub fn new() -> Self {
        let by_few_ranks = [0; FEW_RANKS];
        Self { n: 0, categories: SmallVec::new(), are_few: false, by_few_ranks, by_rank: Vec::new() }
    }

    /// The number of units.
    pub fn len(&self) -> usize {
        self.n
    }

    /// The unit of the rows of a rank that the node has.
    #[inline]
    pub fn unit(&self, rank: u32) -> u8 {
        if self.are_few {
            self.by_few_ranks[rank as usize % FEW_RANKS]
        } else {
            self.by_rank[self.by_rank.partition_point(|&(other, _)| other < rank)].1
        }
    }

    /// Groups the rows of a node, which have these ranks. Categories of fewer than `least_rows`
    /// rows are one unit. O(rows), or O(rows log(rows)) if the column has many ranks.
    pub fn group(&mut self, data: &Dataset, feature: u32, ranks: &[u32], least_rows: u64) {
        let identities = data.identities(feature).unwrap_or_default();
        let Self { n, categories, are_few, by_few_ranks, by_rank } = self;
        let category = |rank: u32| (identities[rank as usize], rank, 0);
        categories.clear();
        *are_few = identities.len() <= FEW_RANKS;
        if *are_few {
            categories.extend(ranks_of(set_of(ranks.iter().copied())).map(category));
        } else {
            by_rank.clear();
            by_rank.extend(ranks.iter().map(|&rank| (rank, 0)));
            by_rank.sort_unstable();
            by_rank.dedup();
            categories.extend(by_rank.iter().map(|&(rank, _)| category(rank)));
        }
        categories.sort_unstable();
        *n = 0;
        let mut small = None;
        for (_, rank, unit) in &mut *categories {
            let n_rows = || ranks.iter().filter(|&other| other == rank).count() as u64;
            *unit = *n as u8;
            if least_rows > 1 && n_rows() < least_rows {
                *unit = *small.get_or_insert(*n as u8);
            }
            *n += usize::from(usize::from(*unit) == *n);
        }
        if *are_few {
            categories.iter().for_each(|&(_, rank, unit)| by_few_ranks[rank as usize % FEW_RANKS] = unit);
        } else {
            by_rank.clear();
            by_rank.extend(categories.iter().map(|&(_, rank, unit)| (rank, unit)));
            by_rank.sort_unstable();
        }
    }

    /// Sets the places of units to 0 for a [`RandomSubset`], and to 1 for all others.
    pub fn place_at_random(&self, key: NodeKey, feature: u32, places: &mut ByRow<u8>) {
        // A unit of several categories is named by its first category. Units are numbered in the order
        // of these categories.
        let mut identities = SmallVec::<[u32; 16]>::new();
        for &(identity, _, unit) in &self.categories {
            if usize::from(unit) == identities.len() {
                identities.push(identity);
            }
        }
        let left = RandomSubset::of(key, feature, identities.iter().copied());
        for (place, &identity) in places.iter_mut().zip(&identities) {
            *place = u8::from(!left.has(identity));
        }
    }
}

/// A set of ranks below [`FEW_RANKS`], with a bit for each.
pub(super) fn set_of(ranks: impl Iterator<Item = u32>) -> u64 {
    ranks.fold(0, |set, rank| set | 1 << (rank % u64::BITS))
}

/// The ranks of a [set](set_of), which ascend.
pub(super) fn ranks_of(mut set: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let first = (set != 0).then(|| set.trailing_zeros())?;
        set &= set - 1;
        Some(first)
    })
}
