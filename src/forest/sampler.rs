//! Which rows each tree of a forest sees, and how often. This is a pure function of the tree's
//! seed, so it need not be stored.

use std::collections::HashMap;
use std::sync::Arc;

use super::Urn;
use crate::bitset::Bitset;
use crate::data::target::Weights;
use crate::error::{Error, Result};
use crate::memory;
use crate::params::{Bootstrap, GivenRows, Strata};
use crate::rng::NodeKey;
use crate::runtime::Runtime;

/// Trees whose draws are held at once, a bit per row and tree.
pub(super) const TREES_AT_ONCE: usize = 64;

/// Draws the rows of the trees of a forest. A row of weight 0 is never drawn; only if rows are given it
/// may be among them.
#[derive(Debug)]
pub struct RowSampler {
    n_samples: usize,
    scheme: Scheme,
}

#[derive(Debug)]
enum Scheme {
    All,
    Urn {
        urn: Urn,
        n_draws: u64,
    },
    /// Without replacement: `n_draws` of these rows.
    Subset {
        rows: Vec<u32>,
        n_draws: usize,
    },
    /// Without replacement, by weight.
    Distinct {
        urn: Urn,
        n_draws: u64,
    },
    Strata {
        /// The rows of each stratum.
        rows: Vec<Vec<u32>>,
        strata: Arc<Strata>,
    },
    Poisson {
        ids: Option<Box<[u64]>>,
        weights: Weights,
    },
    Given {
        rows: Arc<GivenRows>,
        /// The places of the trees, by their seeds.
        places: HashMap<u64, usize>,
    },
}

/// Fails unless `sample_ids`, if there are any, has one id for each sample.
pub(crate) fn check_sample_ids(sample_ids: Option<&[u64]>, n_samples: usize) -> Result<()> {
    match sample_ids {
        Some(ids) if ids.len() != n_samples => Err(Error::ShapeMismatch {
            what: "sample_ids",
            expected: format!("{n_samples} values, one per sample"),
            got: format!("{} values", ids.len()),
        }),
        _ => Ok(()),
    }
}

/// Fails if more rows are to be drawn without replacement than there are.
fn check_enough(n_draws: u64, n_rows: usize) -> Result<()> {
    if n_draws <= n_rows as u64 {
        return Ok(());
    }
    Err(Error::InvalidArgument {
        name: "max_samples with replace=False",
        got: format!("{n_draws} draws from {n_rows} samples"),
        expected: "at most the number of samples with a weight above 0".into(),
    })
}

/// Fails unless a row has a weight.
fn check_any_weight(weights: &Weights, n_samples: usize) -> Result<()> {
    if (0..n_samples).any(|sample| weights.is_positive(sample)) {
        return Ok(());
    }
    Err(Error::InvalidArgument {
        name: "sample_weight",
        got: format!("{n_samples} samples without a weight"),
        expected: "positive for at least one sample".into(),
    })
}

impl Scheme {
    /// Rows of strata. O(rows).
    fn of_strata(weights: &Weights, n_samples: usize, strata: &Arc<Strata>) -> Result<Self> {
        if strata.of_row.len() != n_samples {
            return Err(Error::ShapeMismatch {
                what: "strata",
                expected: format!("{n_samples} values, one per sample"),
                got: format!("{} values", strata.of_row.len()),
            });
        }
        let mut rows = vec![Vec::new(); strata.n_draws.len()];
        for (row, &stratum) in (0..).zip(&strata.of_row).filter(|&(row, _)| weights.is_positive(row as usize)) {
            rows[stratum as usize].push(row);
        }
        for (rows, &n_draws) in rows.iter().zip(&strata.n_draws) {
            let n_draws = n_draws.unwrap_or(0);
            if !strata.replace || rows.is_empty() {
                check_enough(n_draws, rows.len())?;
            }
        }
        Ok(Self::Strata { rows, strata: Arc::clone(strata) })
    }

    /// Rows that are given; each tree must have at least one row with a weight.
    fn of_rows(weights: &Weights, n_samples: usize, given: &Arc<GivenRows>) -> Result<Self> {
        given.check(n_samples)?;
        let is_positive = |&row: &u32| weights.is_positive(row as usize);
        if let Some(tree) = (0..given.tree_seeds.len()).find(|&tree| !given.of(tree).iter().any(is_positive)) {
            return Err(Error::InvalidArgument {
                name: "samples",
                got: format!("samples of weight 0 for tree {tree}"),
                expected: "such that each tree has a sample with a weight above 0".into(),
            });
        }
        let places = given.tree_seeds.iter().enumerate().map(|(place, &seed)| (seed, place)).collect();
        Ok(Self::Given { rows: Arc::clone(given), places })
    }
}

/// The rows that are given for the tree with this seed.
fn find_rows<'a>(given: &'a GivenRows, places: &HashMap<u64, usize>, seed: u64) -> Result<&'a [u32]> {
    let rows = places.get(&seed).map(|&place| given.of(place));
    rows.ok_or_else(|| Error::InvalidArgument {
        name: "samples",
        got: format!("samples of {} trees, and another tree", given.tree_seeds.len()),
        expected: "given for each tree of the forest".into(),
    })
}

impl RowSampler {
    /// Makes the sampler of rows with these weights. `sample_ids` has a name for each row; Poisson counts are
    /// functions of these names, other schemes ignore them. O(rows).
    pub fn new(weights: &Weights, n_samples: usize, bootstrap: &Bootstrap, sample_ids: Option<&[u64]>) -> Result<Self> {
        check_sample_ids(sample_ids, n_samples)?;
        bootstrap.check()?;
        check_any_weight(weights, n_samples)?;
        let scheme = match bootstrap {
            Bootstrap::None => Scheme::All,
            &Bootstrap::WithReplacement { n_draws } => {
                Scheme::Urn { urn: Urn::of_weights(weights, n_samples), n_draws }
            }
            Bootstrap::WithoutReplacement { n_draws } => {
                let rows: Vec<u32> = (0..n_samples as u32).filter(|&row| weights.is_positive(row as usize)).collect();
                let n_draws = n_draws.unwrap_or(rows.len() as u64);
                check_enough(n_draws, rows.len())?;
                Scheme::Subset { rows, n_draws: n_draws as usize }
            }
            &Bootstrap::Distinct { n_draws } => {
                check_enough(n_draws, (0..n_samples).filter(|&row| weights.is_positive(row)).count())?;
                Scheme::Distinct { urn: Urn::of_weights(weights, n_samples), n_draws }
            }
            Bootstrap::Poisson => Scheme::Poisson { ids: sample_ids.map(Into::into), weights: weights.clone() },
            Bootstrap::Strata(strata) => Scheme::of_strata(weights, n_samples, strata)?,
            Bootstrap::Given(rows) => Scheme::of_rows(weights, n_samples, rows)?,
        };
        Ok(Self { n_samples, scheme })
    }

    /// Number of rows of the data, drawn or not.
    pub fn n_samples(&self) -> usize {
        self.n_samples
    }

    /// How often each row is drawn for the tree with this seed; at least one row is drawn. Returns
    /// `None` if every tree sees all rows as they are. O(rows + draws), times the logarithm of the
    /// number of rows if rows of different weights are drawn with replacement.
    pub fn counts(&self, seed: u64, runtime: &Runtime<'_>) -> Result<Option<Vec<u32>>> {
        runtime.check_interrupt()?;
        let key = NodeKey::root(seed, 0);
        Ok(match &self.scheme {
            Scheme::All => None,
            Scheme::Urn { urn, n_draws } => Some(urn.draw(seed, 0, *n_draws, runtime)?),
            Scheme::Subset { rows, n_draws } => Some(self.subset(key, rows, *n_draws)),
            Scheme::Distinct { urn, n_draws } => {
                let mut counts = vec![0; self.n_samples];
                urn.distinct(seed, 0, *n_draws, runtime)?.into_iter().for_each(|row| counts[row as usize] = 1);
                Some(counts)
            }
            Scheme::Strata { rows, strata } => Some(self.draw_strata(seed, rows, strata, runtime)?),
            Scheme::Poisson { ids, weights } => Some(self.poisson(key, ids.as_deref(), weights)),
            Scheme::Given { rows, places } => {
                let mut counts = vec![0; self.n_samples];
                find_rows(rows, places, seed)?.iter().for_each(|&row| counts[row as usize] += 1);
                Some(counts)
            }
        })
    }

    /// [`Urn::drawn_balls`] for the tree with this seed; none where rows are not drawn by weight.
    pub(super) fn drawn_balls(&self, seed: u64, size: u64, runtime: &Runtime<'_>) -> Result<Option<Vec<u64>>> {
        match &self.scheme {
            Scheme::Urn { urn, n_draws } => urn.drawn_balls(seed, 0, *n_draws, size, runtime),
            _ => Ok(None),
        }
    }

    /// The rows that are drawn for the tree with this seed, ascending, each as often as it is drawn: what
    /// [`counts`](Self::counts) counts. Where rows are drawn by weight, O(draws) up to a logarithm, and for
    /// distinct rows of different weights O(rows).
    pub fn drawn(&self, seed: u64, runtime: &Runtime<'_>) -> Result<Vec<u32>> {
        let mut drawn = match &self.scheme {
            Scheme::Urn { urn, n_draws } => urn.drawn(seed, 0, *n_draws, runtime)?,
            Scheme::Distinct { urn, n_draws } => urn.distinct(seed, 0, *n_draws, runtime)?,
            Scheme::Given { rows, places } => return Ok(find_rows(rows, places, seed)?.to_vec()),
            _ => {
                let counts = self.counts(seed, runtime)?.unwrap_or_else(|| vec![1; self.n_samples]);
                let repeated = |(row, count): (u32, u32)| std::iter::repeat_n(row, count as usize);
                return Ok((0..).zip(counts).flat_map(repeated).collect());
            }
        };
        drawn.sort_unstable();
        Ok(drawn)
    }

    /// The rows that the tree with this seed has not seen, or `None` if every tree sees all rows.
    pub(crate) fn unseen(&self, seed: u64, runtime: &Runtime<'_>) -> Result<Option<Bitset>> {
        let Some(counts) = self.counts(seed, runtime)? else { return Ok(None) };
        let mut unseen = Bitset::new(self.n_samples);
        (0..).zip(&counts).filter(|&(_, &count)| count == 0).for_each(|(row, _)| unseen.insert(row));
        Ok(Some(unseen))
    }

    /// Which of the trees with these seeds have not seen each row: a bit for each tree, row-major
    /// `(n_samples, seeds.len().div_ceil(8))`, eight trees in a byte, the first in the lowest bit. O(rows)
    /// for each tree, beside its draws.
    pub fn unseen_bits(&self, seeds: &[u64], runtime: &Runtime<'_>) -> Result<Vec<u8>> {
        let n_bytes = seeds.len().div_ceil(8);
        let mut bits: Vec<u8> = memory::zeros("draws", self.n_samples.saturating_mul(n_bytes))?;
        for (first, seeds) in (0..).step_by(TREES_AT_ONCE).zip(seeds.chunks(TREES_AT_ONCE)) {
            let unseen = runtime.map(seeds.to_vec(), |seed| self.unseen(seed, runtime))?;
            for (tree, unseen) in (first..).zip(&unseen) {
                runtime.check_interrupt()?;
                for row in unseen.iter().flat_map(Bitset::iter) {
                    bits[row as usize * n_bytes + tree / 8] |= 1 << (tree % 8);
                }
            }
        }
        Ok(bits)
    }

    /// Draws rows of each stratum, and maybe again from these.
    fn draw_strata(&self, seed: u64, rows: &[Vec<u32>], strata: &Strata, runtime: &Runtime<'_>) -> Result<Vec<u32>> {
        let mut counts = vec![0u32; self.n_samples];
        // Each stratum has random numbers of its own.
        for (stratum, (rows, &n_draws)) in (0..).zip(rows.iter().zip(&strata.n_draws)) {
            let urn = Urn::of_weights(&Weights::Unit, rows.len());
            match n_draws {
                None => rows.iter().for_each(|&row| counts[row as usize] += 1),
                Some(0) => {}
                Some(n) => {
                    let draw = if strata.replace { Urn::drawn } else { Urn::distinct };
                    for at in draw(&urn, seed, stratum, n, runtime)? {
                        counts[rows[at as usize] as usize] += 1;
                    }
                }
            }
        }
        let Some(n_draws) = strata.n_draws_again else { return Ok(counts) };
        let ends = counts.iter().scan(0, |end, &count| {
            *end += u64::from(count);
            Some(*end)
        });
        Urn::of_ends(ends.collect()).draw(seed, rows.len() as u64, n_draws, runtime)
    }

    /// Draws `n_draws` of `rows` without replacement: the first `n_draws` steps of a shuffle
    /// (Fisher & Yates).
    fn subset(&self, key: NodeKey, rows: &[u32], n_draws: usize) -> Vec<u32> {
        let draws = key.subsample();
        let mut counts = vec![0; self.n_samples];
        let mut rows = rows.to_vec();
        for i in 0..n_draws {
            let chosen = i + draws.below((rows.len() - i) as u64, i as u64) as usize;
            rows.swap(i, chosen);
            counts[rows[i] as usize] = 1;
        }
        counts
    }

    /// Draws a Poisson count for each row of positive weight. No tree can be grown if all counts
    /// are 0: then all rows draw again, with the next key. An attempt succeeds with a chance of at
    /// least 0.63; with a dozen rows or more, the first attempt practically always does.
    fn poisson(&self, key: NodeKey, ids: Option<&[u64]>, weights: &Weights) -> Vec<u32> {
        let mut attempt = 0;
        loop {
            let poisson = key.poisson(attempt);
            let id = |row: usize| ids.map_or(row as u64, |ids| ids[row]);
            let count = |row| if weights.is_positive(row) { poisson.of(id(row)) } else { 0 };
            let counts: Vec<u32> = (0..self.n_samples).map(count).collect();
            if counts.iter().any(|&count| count > 0) {
                return counts;
            }
            attempt += 1;
        }
    }
}
