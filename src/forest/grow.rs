//! Growing the trees of a forest over one data set.
//!
//! Trees are the unit of work. Each tree is grown by one thread, and tree number `t` is a function
//! of the seed and `t` alone. So neither the number of threads nor the number of trees changes a
//! tree.
//!
//! A sample of the rows is a weight per row, as in scikit-learn: no row is copied, and all trees
//! share the encoded columns and the values of the target.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use super::copies::drawn_copies;
use super::halves::KnownRows;
use super::orders::{self, KnownCategories, Sample, TreeRows};
use super::sampler::Part;
use super::{Forest, Member, RowSampler};
use crate::data::target::TargetValues;
use crate::data::{Dataset, Target};
use crate::error::{Error, Result};
use crate::grow::{SpareParts, check_lengths, grow, grow_packed};
use crate::params::ValidForestParams;
use crate::rng::seed_of_tree;
use crate::runtime::Runtime;
use crate::tree::Tree;

/// Grows the trees of a forest, spread over the threads. The forest has them in the order of their
/// numbers. `sample_ids` are the rows' names in Poisson samples; without them, a row's name is its
/// number.
///
/// Without a bootstrap, tree `t` is [`grow_tree`] of the seed of tree `t`. With a bootstrap, it is
/// [`grow_tree`] on a target with other weights, which depend on how often the [`RowSampler`] draws each row.
/// With replacement, or if rows are distinct, the weights are the chances of the draws, and the tree sees
/// only the numbers of draws. Otherwise the weights are multiplied by the numbers of draws. The rows that are
/// not drawn put the categories of some features in order (`orders`).
///
/// Of honest trees this makes the splits. The leaves have what the rows say that choose these, until
/// [`fill_trees`](super::refill::fill_trees) fills them.
pub fn grow_forest(
    data: &Dataset,
    target: &Target,
    params: &ValidForestParams,
    sample_ids: Option<&[u64]>,
    runtime: &Runtime<'_>,
) -> Result<Forest> {
    check_lengths(data, target)?;
    let data = data.identified(target, None, runtime)?;
    let bags = Bags::new(target, params, sample_ids)?;
    let spare = SpareParts::default();
    let member = |number| {
        let bag = bags.bag(number, runtime)?;
        let data = bags.order(&data, None, &bag, runtime)?;
        // Each tree is one item of work.
        let tree = grow_packed(&data, &bag.target, &params.tree, number, &runtime.serial(), &spare)?;
        runtime.advance();
        Ok(Member { tree: Arc::new(tree), seed: bag.seed })
    };
    Forest::new(runtime.map(params.trees.clone().collect(), member)?)
}

/// Grows a tree of its own: tree number 0 of a forest whose trees have all rows. It is
/// [`grow`](crate::grow::grow) of tree 0, but one half of the rows puts the categories of some
/// features in order (`halves`).
pub fn grow_tree(data: &Dataset, target: &Target, params: &ValidForestParams, runtime: &Runtime<'_>) -> Result<Tree> {
    check_lengths(data, target)?;
    let data = data.identified(target, None, runtime)?;
    grow_tree_of(&data, target, None, params, runtime)
}

/// [`grow_tree`] on data that are [identified](Dataset::identified). `known` are the rows of the target,
/// where the caller has them.
pub(crate) fn grow_tree_of(
    data: &Dataset,
    target: &Target,
    known: Option<Arc<KnownRows>>,
    params: &ValidForestParams,
    runtime: &Runtime<'_>,
) -> Result<Tree> {
    let bags = Bags { rows: known.map_or_else(OnceLock::new, OnceLock::from), ..Bags::new(target, params, None)? };
    let bag = bags.bag(0, runtime)?;
    let data = bags.order(data, None, &bag, runtime)?;
    grow(&data, &bag.target, &params.tree, 0, runtime)
}

/// The bags of a forest: on which target, with which weights of the rows, each tree is grown.
pub(crate) struct Bags<'a> {
    sampler: RowSampler,
    /// The target with the weights by which rows are drawn, where they are.
    given: &'a Target,
    /// The target whose weights are multiplied by the numbers of draws.
    target: Cow<'a, Target>,
    params: &'a ValidForestParams,
    categories: KnownCategories,
    rows: OnceLock<Arc<KnownRows>>,
}

/// The rows that a tree is grown on, as a target with the tree's weights.
pub(crate) struct Bag<'a> {
    seed: u64,
    /// The target with the weights that its rows have in this tree.
    pub target: Cow<'a, Target>,
    /// How often each row was drawn, to choose splits or to fill leaves; `None` if the tree has all rows as
    /// they are.
    counts: Option<Vec<u32>>,
}

impl<'a> Bags<'a> {
    /// The bags that [`grow_forest`] describes. Fails if the rows cannot be drawn so. O(rows).
    pub fn new(target: &'a Target, params: &'a ValidForestParams, sample_ids: Option<&[u64]>) -> Result<Self> {
        let (weights, n_samples) = (target.weights(), target.n_samples());
        let sampler = RowSampler::new(weights, n_samples, &params.bootstrap, sample_ids)?;
        let sampler = sampler.divided(params.honesty.as_ref(), weights);
        let given = target;
        let target = if params.bootstrap.draws_by_weight() {
            Cow::Owned(target.equally_weighted())
        } else {
            Cow::Borrowed(target)
        };
        Ok(Self { sampler, given, target, params, categories: KnownCategories::default(), rows: OnceLock::new() })
    }

    /// The bag of tree number `number`.
    pub fn bag(&self, number: u64, runtime: &Runtime<'_>) -> Result<Bag<'_>> {
        let seed = seed_of_tree(self.params.tree.seed, number);
        let counts = self.sampler.counts(seed, runtime)?;
        let growing = self.sampler.part_of(Part::Growing, seed, counts.as_deref())?;
        let target = self.weigh(growing.as_ref().or(counts.as_ref()), runtime)?;
        Ok(Bag { seed, target, counts })
    }

    /// The target with the weights of the rows that fill the leaves of the tree with this seed.
    pub fn filling(&self, seed: u64, runtime: &Runtime<'_>) -> Result<Cow<'_, Target>> {
        self.weigh(self.sampler.filling(seed, runtime)?.as_ref(), runtime)
    }

    /// The target with the weights of rows that count so often; `None`: all as they are.
    fn weigh(&self, counts: Option<&Vec<u32>>, runtime: &Runtime<'_>) -> Result<Cow<'_, Target>> {
        Ok(match counts {
            None => Cow::Borrowed(&*self.target),
            Some(counts) if self.params.balanced_subsample => Cow::Owned(balanced(&self.target, counts, runtime)?),
            Some(counts) => Cow::Owned(counted(&self.target, counts, runtime)?),
        })
    }

    /// The data set that the tree of a bag is grown on, with the orders of categories that depend
    /// on the bag. `rows` has the number in the data set of each row of the target, if that is not
    /// its own number. All calls must be for the same data set and rows.
    pub fn order<'d>(
        &self,
        data: &'d Dataset,
        rows: Option<&[u32]>,
        bag: &Bag<'_>,
        runtime: &Runtime<'_>,
    ) -> Result<Cow<'d, Dataset>> {
        let most = self.params.most_ordered_by_node();
        let Some(most) = most.filter(|&most| data.features_with_more(most).next().is_some()) else {
            return Ok(Cow::Borrowed(data));
        };
        let target = self.given;
        let order = |sample| {
            let rows = TreeRows { numbers: rows, target, sample };
            orders::with_orders(data, &rows, &self.categories, most, runtime)
        };
        if let Some(counts) = &bag.counts {
            return match drawn_copies(&self.sampler, target, bag.seed, runtime)? {
                Some(copies) => order(Sample::Copies(&copies)),
                None => order(Sample::Bag(counts)),
            };
        }
        let known = if let Some(known) = self.rows.get() {
            known
        } else {
            let known = Arc::new(KnownRows::new(data, rows, target, most, runtime)?);
            self.rows.get_or_init(|| known)
        };
        order(Sample::Halves(known, &known.in_second_half(bag.seed)))
    }
}

/// The target with the weights multiplied by `counts`. The products are rounded if they are too
/// large as integers in the target's unit.
fn counted(target: &Target, counts: &[u32], runtime: &Runtime<'_>) -> Result<Target> {
    match target.reweighted(counts) {
        Err(Error::TooLarge { .. }) => target.with_sample_weight(&products(target, counts, |_| 1.0), runtime),
        reweighted => reweighted,
    }
}

/// The target with the weights multiplied by `counts` and by a factor per class, which makes the classes of
/// the sample weigh the same. The factor is the weight of the sample, draws counted, divided by the weight of
/// the class and by the number of classes drawn; factors are multiplied over the outputs. This is
/// scikit-learn's "`balanced_subsample`", where a row of weight k stands for k copies: rows that are drawn by
/// weight weigh 1 here, so that draws alone count, as there.
fn balanced(target: &Target, counts: &[u32], runtime: &Runtime<'_>) -> Result<Target> {
    let TargetValues::Classes(classes) = target.values() else { return counted(target, counts, runtime) };
    // The weight of each class in the sample, and of the whole sample, in the target's unit.
    let mut weights = vec![0u128; classes.first.last().map_or(0, |&n_slots| n_slots as usize)];
    let mut total = 0;
    for (sample, (slots, &count)) in classes.slots.chunks_exact(target.n_outputs()).zip(counts).enumerate() {
        let weight = u128::from(target.weights().get(sample)) * u128::from(count);
        total += weight;
        for &slot in slots {
            weights[slot as usize] += weight;
        }
    }
    let mut factors = vec![0.0; weights.len()];
    for output in classes.first.windows(2) {
        let slots = output[0] as usize..output[1] as usize;
        let n_drawn = weights[slots.clone()].iter().filter(|&&weight| weight > 0).count();
        for slot in slots {
            factors[slot] = total as f64 / (n_drawn as f64 * weights[slot] as f64);
        }
    }
    let factor = |sample: usize| {
        let slots = &classes.slots[sample * target.n_outputs()..][..target.n_outputs()];
        slots.iter().map(|&slot| factors[slot as usize]).product::<f64>()
    };
    target.with_sample_weight(&products(target, counts, factor), runtime)
}

/// For each row, weight times count times factor; 0 if the count is 0, even if the factor is
/// infinite.
fn products(target: &Target, counts: &[u32], factor: impl Fn(usize) -> f64) -> Vec<f64> {
    let weight = |sample: usize| target.weights().get(sample) as f64 * target.weight_unit();
    let product = |(sample, &count): (usize, &u32)| match count {
        0 => 0.0,
        _ => f64::from(count) * weight(sample) * factor(sample),
    };
    counts.iter().enumerate().map(product).collect()
}
