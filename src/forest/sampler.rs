//! Which rows each tree of a forest sees, and how often. This is a pure function of the tree's
//! seed, so it need not be stored.

use std::collections::HashMap;
use std::sync::Arc;

use super::Urn;
use crate::bitset::Bitset;
use crate::data::target::Weights;
use crate::error::{Error, Result};
use crate::memory;
use crate::params::{Bootstrap, GivenRows, Groups, Honesty, Strata, Subforests};
use crate::rng::{Draws, NodeKey};
use crate::runtime::Runtime;

/// Trees whose draws are held at once, a bit per row and tree.
pub(super) const TREES_AT_ONCE: usize = 64;

/// Draws the rows of the trees of a forest. A row of weight 0 is never drawn; only if rows are given it
/// may be among them.
#[derive(Debug)]
pub struct RowSampler {
    n_samples: usize,
    scheme: Scheme,
    parts: Option<Parts>,
}

/// How the rows of honest trees are divided.
#[derive(Debug)]
struct Parts {
    honesty: Honesty,
    /// A row of weight 0 is in neither part.
    weights: Weights,
}

/// The part of the rows of an honest tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The rows that choose the splits.
    Growing,
    /// Those that fill the leaves.
    Filling,
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
    Groups {
        groups: Arc<Groups>,
        /// The groups that have a row of a weight above 0.
        drawn_from: Vec<u32>,
        n_draws: u64,
        replace: bool,
        weights: Weights,
    },
    Subforests {
        subforests: Arc<Subforests>,
        /// The rows, or the groups, that have a weight.
        units: Vec<u32>,
        /// How many of a half a tree draws.
        n_draws: usize,
        /// The seed of the first tree of a subforest, by the seeds of its trees.
        firsts: HashMap<u64, u64>,
        weights: Weights,
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

    /// Rows of shared halves. O(rows + trees).
    fn of_subforests(weights: &Weights, n_samples: usize, subforests: &Arc<Subforests>) -> Result<Self> {
        let rows = list_weighted(weights, n_samples);
        let (units, what) = if let Some(groups) = &subforests.groups {
            groups.check(n_samples)?;
            (list_groups(groups, &rows), "groups")
        } else {
            (rows, "samples")
        };
        let n_half = units.len() / 2;
        let n_draws = subforests.n_draws.unwrap_or(n_half as u64);
        if n_draws < 1 || n_draws > n_half as u64 {
            return Err(Error::InvalidArgument {
                name: "max_samples with subforest_size",
                got: format!("{n_draws} draws of {} {what} with a weight above 0", units.len()),
                expected: "1 to half of them, from which all trees of a subforest draw".into(),
            });
        }
        let seeds = &subforests.tree_seeds;
        let first = |(place, &seed): (usize, &u64)| (seed, seeds[place - place % subforests.size]);
        let firsts = seeds.iter().enumerate().map(first).collect();
        let subforests = Arc::clone(subforests);
        Ok(Self::Subforests { subforests, units, n_draws: n_draws as usize, firsts, weights: weights.clone() })
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

/// How often each row counts, given how often each group does; 0 for rows without a weight.
fn counts_of_groups(groups: &Groups, of_group: &[u32], weights: &Weights) -> Vec<u32> {
    let count = |(row, &group): (usize, &u32)| if weights.is_positive(row) { of_group[group as usize] } else { 0 };
    groups.of_row.iter().enumerate().map(count).collect()
}

/// The groups of some rows, ascending.
fn list_groups(groups: &Groups, rows: &[u32]) -> Vec<u32> {
    let mut has_row = vec![false; groups.n_groups as usize];
    for &row in rows {
        has_row[groups.of_row[row as usize] as usize] = true;
    }
    (0..groups.n_groups).filter(|&group| has_row[group as usize]).collect()
}

/// The rows of a weight above 0, ascending.
fn list_weighted(weights: &Weights, n_samples: usize) -> Vec<u32> {
    (0..n_samples as u32).filter(|&row| weights.is_positive(row as usize)).collect()
}

/// The rows that are given for the tree with this seed.
fn find_rows<'a>(given: &'a GivenRows, places: &HashMap<u64, usize>, seed: u64) -> Result<&'a [u32]> {
    let rows = places.get(&seed).map(|&place| given.of(place));
    rows.ok_or_else(|| unknown_tree(given.tree_seeds.len()))
}

fn unknown_tree(n_trees: usize) -> Error {
    let got = format!("samples of {n_trees} trees, and another tree");
    Error::InvalidArgument { name: "samples", got, expected: "given for each tree of the forest".into() }
}

impl Honesty {
    /// A part of the rows or groups of a tree, as `what` calls them. Puts them in another order.
    fn divide<'a>(&self, units: &'a mut [u32], what: &str, part: Part, draws: Draws) -> Result<&'a [u32]> {
        let n = units.len();
        if n < 2 {
            return Err(Error::InvalidArgument {
                name: "honest=True",
                got: format!("{n} for a tree"),
                expected: format!("given at least two {what} of positive weight for each tree, which are divided"),
            });
        }
        let n_growing = ((self.fraction * n as f64).round() as usize).clamp(1, n - 1);
        shuffle_first(units, n_growing, draws);
        let (growing, filling) = units.split_at(n_growing);
        Ok(if part == Part::Growing { growing } else { filling })
    }
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
            &Bootstrap::Groups { ref groups, n_draws, replace } => {
                groups.check(n_samples)?;
                let drawn_from = list_groups(groups, &list_weighted(weights, n_samples));
                if !replace && n_draws > drawn_from.len() as u64 {
                    return Err(Error::InvalidArgument {
                        name: "max_samples with replace=False",
                        got: format!("{n_draws} draws from {} groups", drawn_from.len()),
                        expected: "at most the number of groups with a weight above 0".into(),
                    });
                }
                Scheme::Groups { groups: Arc::clone(groups), drawn_from, n_draws, replace, weights: weights.clone() }
            }
            Bootstrap::Subforests(subforests) => Scheme::of_subforests(weights, n_samples, subforests)?,
        };
        Ok(Self { n_samples, scheme, parts: None })
    }

    /// The sampler of honest trees, the weights of whose rows are `weights`.
    #[must_use]
    pub fn divided(self, honesty: Option<&Honesty>, weights: &Weights) -> Self {
        let parts = honesty.map(|honesty| Parts { honesty: honesty.clone(), weights: weights.clone() });
        Self { parts, ..self }
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
            Scheme::Groups { groups, drawn_from, n_draws, replace, weights } => {
                let urn = Urn::of_weights(&Weights::Unit, drawn_from.len());
                let draw = if *replace { Urn::drawn } else { Urn::distinct };
                let mut of_group = vec![0; groups.n_groups as usize];
                for at in draw(&urn, seed, 0, *n_draws, runtime)? {
                    of_group[drawn_from[at as usize] as usize] += 1;
                }
                Some(counts_of_groups(groups, &of_group, weights))
            }
            Scheme::Subforests { subforests, units, n_draws, firsts, weights } => {
                let first = firsts.get(&seed).ok_or_else(|| unknown_tree(firsts.len()))?;
                let mut units = units.clone();
                let n_half = units.len() / 2;
                shuffle_first(&mut units, n_half, NodeKey::root(*first, 0).half_sample());
                units.truncate(n_half);
                shuffle_first(&mut units, *n_draws, key.subsample());
                let n_units = subforests.groups.as_ref().map_or(self.n_samples, |groups| groups.n_groups as usize);
                let mut counts = vec![0; n_units];
                units[..*n_draws].iter().for_each(|&unit| counts[unit as usize] = 1);
                Some(match &subforests.groups {
                    Some(groups) => counts_of_groups(groups, &counts, weights),
                    None => counts,
                })
            }
        })
    }

    /// How often each row counts in a part of the rows of the tree with this seed, whose counts are
    /// `counts`. All copies of a row are in one part. Returns `None` if trees are not honest. O(rows).
    pub fn part_of(&self, part: Part, seed: u64, counts: Option<&[u32]>) -> Result<Option<Vec<u32>>> {
        let Some(Parts { honesty, weights }) = &self.parts else { return Ok(None) };
        let count = |row: u32| counts.map_or(1, |counts| counts[row as usize]);
        let is_of_tree = |&row: &u32| count(row) > 0 && weights.is_positive(row as usize);
        let mut rows: Vec<u32> = memory::reserve("draws", self.n_samples)?;
        rows.extend((0..self.n_samples as u32).filter(is_of_tree));
        let draws = NodeKey::root(seed, 0).honesty();
        let mut of_part: Vec<u32> = memory::zeros("draws", self.n_samples)?;
        if let Some(groups) = &honesty.groups {
            let mut of_tree = list_groups(groups, &rows);
            let mut is_own = vec![false; groups.n_groups as usize];
            for &group in honesty.divide(&mut of_tree, "groups", part, draws)? {
                is_own[group as usize] = true;
            }
            let is_of_part = |&&row: &&u32| is_own[groups.of_row[row as usize] as usize];
            rows.iter().filter(is_of_part).for_each(|&row| of_part[row as usize] = count(row));
        } else {
            let own = honesty.divide(&mut rows, "different samples", part, draws)?;
            for &row in own {
                of_part[row as usize] = count(row);
            }
        }
        Ok(Some(of_part))
    }

    /// How often each row counts among those that fill the leaves of the tree with this seed: all of its
    /// rows, unless it is honest.
    pub fn filling(&self, seed: u64, runtime: &Runtime<'_>) -> Result<Option<Vec<u32>>> {
        let counts = self.counts(seed, runtime)?;
        Ok(self.part_of(Part::Filling, seed, counts.as_deref())?.or(counts))
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
            _ => return Ok(self.list(self.counts(seed, runtime)?)),
        };
        drawn.sort_unstable();
        Ok(drawn)
    }

    /// The rows that fill the leaves of the tree with this seed, ascending: what
    /// [`filling`](Self::filling) counts.
    pub fn filling_rows(&self, seed: u64, runtime: &Runtime<'_>) -> Result<Vec<u32>> {
        Ok(self.list(self.filling(seed, runtime)?))
    }

    /// The rows that are counted, each as often as it counts; all rows if there are no counts.
    fn list(&self, counts: Option<Vec<u32>>) -> Vec<u32> {
        let Some(counts) = counts else { return (0..self.n_samples as u32).collect() };
        let repeated = |(row, count): (u32, u32)| std::iter::repeat_n(row, count as usize);
        (0..).zip(counts).flat_map(repeated).collect()
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

    /// Draws `n_draws` of `rows` without replacement.
    fn subset(&self, key: NodeKey, rows: &[u32], n_draws: usize) -> Vec<u32> {
        let mut counts = vec![0; self.n_samples];
        let mut rows = rows.to_vec();
        shuffle_first(&mut rows, n_draws, key.subsample());
        rows[..n_draws].iter().for_each(|&row| counts[row as usize] = 1);
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

/// Puts `n` drawn items first: the first `n` steps of a shuffle (Fisher & Yates).
fn shuffle_first(items: &mut [u32], n: usize, draws: Draws) {
    for i in 0..n {
        let chosen = i + draws.below((items.len() - i) as u64, i as u64) as usize;
        items.swap(i, chosen);
    }
}
