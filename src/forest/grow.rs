//! Growing the trees of a forest over one data set.
//!
//! Trees are the unit of work: each is grown by one thread, and tree number `t` is a function of the seed and `t`
//! alone. So neither the number of threads nor the number of trees can show in a tree.
//!
//! A sample of the rows is a weight per row, as in scikit-learn: no row is copied, and every tree shares the encoded
//! columns and the target's values.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Forest, Member, RowSampler};
use crate::data::target::TargetValues;
use crate::data::{Dataset, Target};
use crate::error::{Error, Result};
use crate::grow::grow;
use crate::params::{Bootstrap, ValidForestParams};
use crate::rng::seed_of_tree;
use crate::runtime::Runtime;
use crate::tree::packed::PackedTree;

/// Grows trees of a forest, spread over the threads, in the order of their numbers. `sample_ids` are the rows' names in
/// Poisson samples; without them, a row's name is its number.
///
/// On all rows, tree `t` is [`grow`] of tree `t`. Otherwise it is that on the target reweighted by what the
/// [`RowSampler`] of its weights draws. With replacement weights have their say in the draws, and the tree sees counts
/// alone; without, and by Poisson counts, they are multiplied.
pub fn grow_forest(
    data: &Dataset,
    target: &Target,
    params: &ValidForestParams,
    sample_ids: Option<&[u64]>,
    runtime: &Runtime<'_>,
) -> Result<Forest> {
    let bags = Bags::new(target, params, sample_ids)?;
    let member = |number| {
        let (seed, target) = bags.bag(number, runtime)?;
        let tree = grow(data, &target, &params.tree, number, &runtime.serial())?;
        runtime.advance();
        Ok(Member { tree: Arc::new(PackedTree::new(&tree, target.weight_unit())), seed })
    };
    Forest::new(runtime.map(params.trees.clone().collect(), member)?)
}

/// What each tree of a forest is grown on.
pub(crate) struct Bags<'a> {
    sampler: RowSampler,
    target: Cow<'a, Target>,
    params: &'a ValidForestParams,
}

impl<'a> Bags<'a> {
    /// As [`grow_forest`] describes them. O(rows).
    pub fn new(target: &'a Target, params: &'a ValidForestParams, sample_ids: Option<&[u64]>) -> Result<Self> {
        let sampler = RowSampler::new(target.weights(), target.n_samples(), params.bootstrap, sample_ids)?;
        let drawn_by_weight = matches!(params.bootstrap, Bootstrap::WithReplacement { .. });
        let target = if drawn_by_weight { Cow::Owned(target.equally_weighted()) } else { Cow::Borrowed(target) };
        Ok(Self { sampler, target, params })
    }

    /// The seed of tree number `number`, and the target with the weights that its rows have in it.
    pub fn bag(&self, number: u64, runtime: &Runtime<'_>) -> Result<(u64, Cow<'_, Target>)> {
        let seed = seed_of_tree(self.params.tree.seed, number);
        let target = match &self.sampler.counts(seed, runtime)? {
            None => Cow::Borrowed(&*self.target),
            Some(counts) if self.params.balanced_subsample => Cow::Owned(balanced(&self.target, counts)?),
            Some(counts) => Cow::Owned(counted(&self.target, counts)?),
        };
        Ok((seed, target))
    }
}

/// The weights times the counts; rounded if integers of the target's unit become too large.
fn counted(target: &Target, counts: &[u32]) -> Result<Target> {
    match target.reweighted(counts) {
        Err(Error::TooLarge { .. }) => target.with_sample_weight(&products(target, counts, |_| 1.0)),
        reweighted => reweighted,
    }
}

/// The same times a weight per class that makes the classes of the sample weigh the same: the number of draws over that of
/// the class and of the classes drawn, multiplied over outputs; scikit-learn's "`balanced_subsample`".
fn balanced(target: &Target, counts: &[u32]) -> Result<Target> {
    let TargetValues::Classes(classes) = target.values() else { return counted(target, counts) };
    let rows = || classes.slots.chunks_exact(target.n_outputs()).zip(counts);
    let mut draws = vec![0u64; classes.first.last().map_or(0, |&n_slots| n_slots as usize)];
    for (slots, &count) in rows() {
        for &slot in slots {
            draws[slot as usize] += u64::from(count);
        }
    }
    let total: u64 = counts.iter().map(|&count| u64::from(count)).sum();
    let mut factors = vec![0.0; draws.len()];
    for output in classes.first.windows(2) {
        let slots = output[0] as usize..output[1] as usize;
        let n_drawn = draws[slots.clone()].iter().filter(|&&n| n > 0).count();
        for slot in slots {
            factors[slot] = total as f64 / (n_drawn as f64 * draws[slot] as f64);
        }
    }
    let factor = |sample: usize| {
        let slots = &classes.slots[sample * target.n_outputs()..][..target.n_outputs()];
        slots.iter().map(|&slot| factors[slot as usize]).product::<f64>()
    };
    target.with_sample_weight(&products(target, counts, factor))
}

/// Weight times count times factor of each row; 0 where the first two are.
fn products(target: &Target, counts: &[u32], factor: impl Fn(usize) -> f64) -> Vec<f64> {
    let weight = |sample: usize| target.weights().get(sample) as f64 * target.weight_unit();
    let product = |(sample, &count): (usize, &u32)| match count {
        0 => 0.0,
        _ => f64::from(count) * weight(sample) * factor(sample),
    };
    counts.iter().enumerate().map(product).collect()
}
