//! Sparse columns of categories that have places in an order.

use super::SparseColumns;
use super::encode::Half;
use crate::data::ordered::Places;
use crate::error::Result;
use crate::runtime::Runtime;

impl SparseColumns {
    /// These columns with the places of categories as the ranks of some, which ascend. A column
    /// whose categories are not told apart stores nothing. O(nnz).
    pub(in crate::data) fn with_places(&self, places: &[Places], runtime: &Runtime<'_>) -> Result<Self> {
        let mut half = Half {
            indptr: self.indptr.clone(),
            samples: Box::default(),
            ranks: Box::default(),
            zero_ranks: self.zero_ranks.clone(),
        };
        let (mut samples, mut ranks) = (Vec::with_capacity(self.nnz()), Vec::with_capacity(self.nnz()));
        let mut end_rank = 1;
        let mut places = places.iter().peekable();
        for feature in 0..self.n_features() as u32 {
            runtime.check_interrupt()?;
            let column = self.column(feature);
            let entries = column.samples.iter().enumerate().map(|(at, &sample)| (column.ranks.at(at), sample));
            match places.next_if(|places| places.feature == feature) {
                None => {
                    samples.extend_from_slice(column.samples);
                    ranks.extend(entries.map(|(rank, _)| rank));
                }
                Some(Places { of_ranks: None, .. }) => half.zero_ranks[feature as usize] = 0,
                Some(Places { of_ranks: Some(of_ranks), .. }) => {
                    half.zero_ranks[feature as usize] = of_ranks[column.zero_rank as usize];
                    let mut moved: Vec<(u32, u32)> =
                        entries.map(|(rank, sample)| (of_ranks[rank as usize], sample)).collect();
                    moved.sort_unstable();
                    samples.extend(moved.iter().map(|&(_, sample)| sample));
                    ranks.extend(moved.iter().map(|&(rank, _)| rank));
                }
            }
            half.indptr[feature as usize + 1] = samples.len();
            let stored = &ranks[half.indptr[feature as usize]..];
            let last = stored.last().map_or(0, |&rank: &u32| rank as usize);
            end_rank = end_rank.max(last + 1).max(half.zero_ranks[feature as usize] as usize + 1);
        }
        half.samples = samples.into();
        half.ranks = ranks.into();
        Self::with_rows(half, end_rank, self.n_samples(), runtime)
    }
}
