//! Growth of whole trees: depth first with an explicit stack, and with large subtrees on threads of
//! their own (`driver`), or best first if the number of leaves is limited (`best_first`).
//!
//! Each task grows a part of the tree, and the parts are joined at the end. The final numbers of
//! the nodes do not depend on which task grew a node (see `tree`).

pub(crate) mod best_first;
mod codes;
pub(crate) mod copies;
pub(crate) mod driver;
pub mod expand;
pub(crate) mod facts;
pub(crate) mod part;
pub(crate) mod policy;
mod small;

use crate::criterion::{self, Criterion, Visitor};
use crate::data::{Columns, Dataset, Target};
use crate::error::{Error, Result};
use crate::params::ValidTreeParams;
use crate::runtime::Runtime;
use crate::split::samples::{SampleSet, Samples};
use crate::split::{Effort, Search};
use crate::tree::Tree;
use crate::tree::packed::PackedTree;
use crate::tree::records::Records;

use copies::Copies;
use driver::Driver;
use expand::{Anew, Pending, Split};
use facts::NodeFacts;
use part::Part;
pub(crate) use part::SpareParts;
use policy::{Follow, Policy};

/// Grows tree number `tree` of the parameters' seed over all rows with a weight above 0.
///
/// The tree is exact: every node takes the best split over the features it draws and all their
/// thresholds. The tree is a pure function of data, target, parameters and `tree`; the number of
/// threads, the storage and the tiers of the search make no difference. The tree is pruned if
/// `ccp_alpha` is above 0.
pub fn grow(
    data: &Dataset,
    target: &Target,
    params: &ValidTreeParams,
    tree: u64,
    runtime: &Runtime<'_>,
) -> Result<Tree> {
    Ok(grow_counted(data, target, params, tree, runtime)?.0)
}

/// Does what [`grow`] does, and also returns how much of the data was read. On several threads the
/// amount varies a little from run to run; the tree does not.
pub fn grow_counted(
    data: &Dataset,
    target: &Target,
    params: &ValidTreeParams,
    tree: u64,
    runtime: &Runtime<'_>,
) -> Result<(Tree, Effort)> {
    let spare = SpareParts::default();
    let Grown { records, effort, .. } = grow_records(data, target, params, tree, runtime, &spare)?;
    let grown = records.into_tree()?;
    Ok((if params.ccp_alpha > 0.0 { grown.pruned(params.ccp_alpha, runtime)? } else { grown }, effort))
}

/// Grows the same tree as [`grow`] and packs it. Faster than [`PackedTree::new`] of that tree,
/// unless it is pruned: its arrays are not made. Trees of one data set that share `spare` also
/// share memory, one after the other.
pub(crate) fn grow_packed(
    data: &Dataset,
    target: &Target,
    params: &ValidTreeParams,
    tree: u64,
    runtime: &Runtime<'_>,
    spare: &SpareParts,
) -> Result<PackedTree> {
    if params.ccp_alpha > 0.0 {
        return Ok(PackedTree::new(&grow(data, target, params, tree, runtime)?, target.weight_unit()));
    }
    let Grown { records, mut part, .. } = grow_records(data, target, params, tree, runtime, spare)?;
    let packed = PackedTree::of(&records, target.weight_unit());
    part.nodes.reuse(records);
    spare.keep(part);
    Ok(packed)
}

/// A grown tree that is not pruned yet, and the part that held its nodes.
struct Grown {
    records: Records,
    part: Part,
    effort: Effort,
}

fn grow_records(
    data: &Dataset,
    target: &Target,
    params: &ValidTreeParams,
    tree: u64,
    runtime: &Runtime<'_>,
    spare: &SpareParts,
) -> Result<Grown> {
    check_lengths(data, target)?;
    criterion::visit(params.criterion, target, Growth { data, target, params, tree, runtime, spare }, runtime)
}

/// Fails unless each row has a target.
pub(crate) fn check_lengths(data: &Dataset, target: &Target) -> Result<()> {
    if data.n_samples() != target.n_samples() {
        return Err(Error::ShapeMismatch {
            what: "y",
            expected: format!("{} samples, as many as X", data.n_samples()),
            got: format!("{} samples", target.n_samples()),
        });
    }
    Ok(())
}

/// A node of the rows `ids`, which must be ascending. Rows of sparse data get a table of positions,
/// so that a few of them can be moved to an edge of the node.
pub(crate) fn samples_with(data: &Dataset, ids: Vec<u32>) -> Samples {
    let is_sparse = !matches!(data.columns(), Columns::Dense(_));
    Samples::new(ids, data.n_samples(), is_sparse)
}

/// Makes the root of tree number `tree`, with the rows `samples`, and the search of all nodes of
/// the tree.
pub(crate) fn root<'a, 's, C: Criterion>(
    data: &'a Dataset,
    target: &'a Target,
    criterion: &'a C,
    params: &'a ValidTreeParams,
    tree: u64,
    runtime: &'a Runtime<'a>,
    samples: SampleSet<'s>,
) -> Result<(Search<'a, C>, Pending<'s, C>)> {
    let totals = criterion.totals(samples.ids());
    let search = Search::new(data, target, criterion, params, criterion.weight(&totals), runtime)?;
    let root = Pending::begin(&search, samples, totals, Anew::root(&search, tree));
    Ok((search, root))
}

struct Growth<'a> {
    data: &'a Dataset,
    target: &'a Target,
    params: &'a ValidTreeParams,
    tree: u64,
    runtime: &'a Runtime<'a>,
    spare: &'a SpareParts,
}

impl Visitor for Growth<'_> {
    type Output = Grown;

    fn visit<C: Criterion>(self, criterion: &C) -> Result<Self::Output> {
        let Self { data, target, params, tree, runtime, spare } = self;
        let mut samples = samples_with(data, target.weighted_samples());
        let (search, root) = root(data, target, criterion, params, tree, runtime, samples.root())?;
        let (mut part, effort) = if let Some(max_leaf_nodes) = params.max_leaf_nodes {
            best_first::grow(&search, root, max_leaf_nodes)?
        } else {
            let policy = RecordPolicy { n_values: criterion.n_values(), spare };
            let driver = Driver::new(search, &policy);
            let whole = driver.run(root, None)?;
            (whole.part, driver.effort())
        };
        let mut records = part.finish(data, target.n_classes());
        if criterion.splits_carry_gain() {
            records.fold_gains();
        }
        Ok(Grown { records, part, effort })
    }
}

/// The policy of growth: records every node.
struct RecordPolicy<'a> {
    /// Number of values that a node predicts.
    n_values: usize,
    spare: &'a SpareParts,
}

/// The place where a node hangs: its parent, and on which side.
#[derive(Debug, Clone, Copy)]
struct Link {
    /// Number of the task that recorded the parent.
    task: usize,
    /// Id of the parent among the nodes of that task.
    node: usize,
    /// The place among the parent's children: 0 on the left, 1 on the right. As wide as the other
    /// fields: the compiler moves a bool and the padding behind it in two pieces that overlap, and a
    /// read of both soon after waits until they are in the cache (`benches/notes/small-subtrees.md`).
    place: usize,
}

/// The part of the tree that one task has recorded.
struct TaskPart {
    task: usize,
    /// The parent of the part's first node, which another task recorded; `None` at the root of the
    /// tree.
    link: Option<Link>,
    part: Part,
}

impl Policy for RecordPolicy<'_> {
    type Load<'l> = Option<Link>;
    type Finds = TaskPart;
    type Whole = TaskPart;

    fn begin(&self, task: usize, load: &mut Option<Link>) -> TaskPart {
        TaskPart { task, link: load.take(), part: self.spare.take(self.n_values) }
    }

    fn admits_copy(&self, copies: &Copies, n_samples: usize, _load: &Option<Link>) -> bool {
        copies.admit(n_samples)
    }

    fn visit<C: Criterion>(
        &self,
        search: &Search<'_, C>,
        node: &impl NodeFacts,
        load: &mut Option<Link>,
        finds: &mut TaskPart,
    ) -> Result<()> {
        let id = finds.part.add(search.target.weight_unit(), node, load.map(|link| (link.node, link.place)))?;
        *load = Some(Link { task: finds.task, node: id, place: 0 });
        Ok(())
    }

    fn finish_leaf<C: Criterion>(
        &self,
        _search: &Search<'_, C>,
        _leaf: &impl NodeFacts,
        _load: Option<Link>,
        _finds: &mut TaskPart,
    ) {
    }

    fn follow<'l, C: Criterion>(
        &self,
        _search: &Search<'_, C>,
        _split: &Split,
        _sizes: [usize; 2],
        load: Self::Load<'l>,
    ) -> Follow<Self::Load<'l>> {
        Follow::Both(load, load.map(|link| Link { place: 1, ..link }))
    }

    fn keep(&self, split: Split, left: &Option<Link>, finds: &mut TaskPart) {
        if let Some(link) = left {
            finds.part.keep(link.node, split);
        }
    }

    fn n_recorded(&self, finds: &TaskPart) -> usize {
        finds.part.nodes.len()
    }

    fn finish_preorder(&self, first: usize, height: u64, finds: &mut TaskPart) {
        finds.part.nodes.mark_preorder(first, height);
    }

    fn join(&self, mut tasks: Vec<TaskPart>) -> Result<TaskPart> {
        // In the order of the tasks' numbers, a part comes after the part that it hangs on. The
        // first part hangs on a node outside the subtree, which `absorb` links.
        tasks.sort_unstable_by_key(|task| task.task);
        let mut tasks = tasks.into_iter();
        let first = tasks.next();
        let mut whole = first.unwrap_or_else(|| self.begin(0, &mut None));
        let mut offsets = vec![0];
        for TaskPart { link, mut part, .. } in tasks {
            let offset = whole.part.append(&mut part)?;
            if let Some(Link { task, node, place }) = link {
                whole.part.nodes.link(offsets[task] + node, place, offset);
            }
            offsets.push(offset);
            self.spare.keep(part);
        }
        Ok(whole)
    }

    fn absorb(&self, finds: &mut TaskPart, mut whole: TaskPart) -> Result<()> {
        let offset = finds.part.append(&mut whole.part)?;
        if let Some(Link { node, place, .. }) = whole.link {
            finds.part.nodes.link(node, place, offset);
        }
        self.spare.keep(whole.part);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use ndarray::Array2;

    use super::*;
    use crate::params::{CriterionKind, MaxFeatures, QuantileLevel, TreeParams};

    #[test]
    fn large_nodes_may_draw_known_constants_only() {
        // Column 0 can be split once, column 1 is constant. The root may find column 1 constant
        // before it splits on column 0; a child may then draw known constants alone. The nodes are
        // large enough for several threads.
        let n = 100_000;
        let x = Array2::from_shape_fn((n, 2), |(i, j)| if j == 0 { (i % 2) as f32 } else { 1.0 });
        let classes: Vec<u32> = (0..n as u32).map(|i| u32::from(i % 3 == 0)).collect();
        let target = Target::classification(&classes, &[2], None).unwrap();
        let stop = AtomicBool::new(false);
        let runtime = Runtime::new(2, &stop);
        let data = Dataset::from_dense(x.view(), &runtime).unwrap();
        for seed in 0..8 {
            let max_features = MaxFeatures::Absolute(1);
            let params = TreeParams { max_features, seed, ..TreeParams::new(CriterionKind::Gini) };
            let params = params.check(n, 2).unwrap();
            let tree = grow(&data, &target, &params, 0, &runtime).unwrap();
            assert_eq!(tree.node_count(), 3);
        }
    }

    #[test]
    fn a_copy_uses_the_level_of_its_tree() {
        // Outliers make the targets 61 bits wide, and fractional weights make the total weight 51 bits wide.
        // So the fraction that stands for the level in the whole tree has a smaller denominator than 50,000,
        // which 0.12346 has; half of the rows would have room for it.
        let n = 600;
        let x = Array2::from_shape_fn((n, 4), |(i, j)| ((i * (j + 3) * 7919) % 997) as f64);
        let y: Vec<f64> = (0..n).map(|i| if i == 0 { 1e12 } else { ((i * 31) % 101) as f64 * 0.37 }).collect();
        let weights: Vec<f64> = (0..n).map(|i| (0.1 + ((i * 37) % 89) as f64 * 0.013_7).sqrt()).collect();
        let target = Target::regression(&y, 1, Some(&weights)).unwrap();
        let stop = AtomicBool::new(false);
        let runtime = Runtime::new(1, &stop);
        let data = Dataset::from_dense(x.view(), &runtime).unwrap();
        let kind = CriterionKind::Quantile(QuantileLevel::new(0.12346).unwrap());
        assert_ne!(criterion::resolve(kind, &target), kind);
        let [whole, copied] = [false, true].map(|copies| {
            let params = TreeParams { force_copies: Some(copies), ..TreeParams::new(kind) };
            grow(&data, &target, &params.check(n, 4).unwrap(), 0, &runtime).unwrap()
        });
        assert!(whole.node_count() > 100);
        assert_eq!(whole, copied);
    }

    #[test]
    fn a_raised_flag_stops_growth() {
        let stop = AtomicBool::new(true);
        let runtime = Runtime::new(1, &stop);
        let x = Array2::<f32>::zeros((10, 2));
        assert_eq!(Dataset::from_dense(x.view(), &runtime).unwrap_err(), Error::Interrupted);
    }
}
