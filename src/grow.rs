//! Eager growth, depth first, with an explicit stack.
//!
//! Of two children the larger waits: then at most log2(n) nodes are pending however deep the tree is. Node ids do not
//! depend on this order (see `tree`).

use crate::criterion::{self, Criterion, Visitor};
use crate::data::{Columns, Dataset, Target};
use crate::error::{Error, Result};
use crate::expand::{Expansion, Pending};
use crate::params::ValidTreeParams;
use crate::runtime::Runtime;
use crate::samples::Samples;
use crate::split::{Scratch, Search};
use crate::tree::{NodeRecord, Tree, TreeBuilder};

/// Grows tree number `tree` of the parameters' seed over all rows with a weight above 0.
///
/// The tree is exact: every node takes the best split over the features it draws and all their thresholds. It is a
/// pure function of data, target, parameters and number; threads, storage and kernels do not show.
pub fn grow(
    data: &Dataset,
    target: &Target,
    params: &ValidTreeParams,
    tree: u64,
    runtime: &Runtime<'_>,
) -> Result<Tree> {
    if data.n_samples() != target.n_samples() {
        return Err(Error::ShapeMismatch {
            what: "y",
            expected: format!("{} samples, as many as X", data.n_samples()),
            got: format!("{} samples", target.n_samples()),
        });
    }
    criterion::visit(params.criterion, target, DepthFirst { data, target, params, tree, runtime })
}

struct DepthFirst<'a> {
    data: &'a Dataset,
    target: &'a Target,
    params: &'a ValidTreeParams,
    tree: u64,
    runtime: &'a Runtime<'a>,
}

impl Visitor for DepthFirst<'_> {
    type Output = Tree;

    fn visit<C: Criterion>(self, criterion: &C) -> Result<Tree> {
        let Self { data, target, params, tree, runtime } = self;
        let is_sparse = !matches!(data.columns(), Columns::Dense(_));
        let mut samples = Samples::new(target.weighted_samples(), data.n_samples(), is_sparse);
        let max_weight = target.weights().max();
        let mut search = Search { data, criterion, params, total_weight: 0, max_weight, min_weight_leaf: 0.0, runtime };
        let root = Pending::root(&search, samples.root(), tree);
        search.total_weight = criterion.weight(&root.totals);
        search.min_weight_leaf = params.min_weight_fraction_leaf * search.total_weight as f64;
        let mut scratch = Scratch::new(&search);
        let mut builder = TreeBuilder::new(criterion.n_values());
        // (parent and whether it is the left child, node)
        let mut stack = vec![(None, root)];
        while let Some((parent, node)) = stack.pop() {
            let record = NodeRecord {
                impurity: criterion.impurity(&node.totals),
                n_samples: node.samples.len(),
                weight: criterion.weight(&node.totals) as f64 * target.weight_unit(),
            };
            let (id, value) = builder.add(&record)?;
            criterion.write_value(&node.totals, node.samples.ids(), value);
            if let Some((parent, is_left)) = parent {
                builder.link(parent, is_left, id);
            }
            if let Expansion::Split { split, left, right } = node.expand(&search, &mut scratch)? {
                builder.split(id, split.feature, split.threshold(data));
                let (left, right) = ((Some((id, true)), left), (Some((id, false)), right));
                if left.1.samples.len() <= right.1.samples.len() {
                    stack.extend([right, left]);
                } else {
                    stack.extend([left, right]);
                }
            }
        }
        builder.finish(data.n_features(), target.n_classes())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use ndarray::Array2;

    use super::*;
    use crate::params::{CriterionKind, MaxFeatures, TreeParams};

    #[test]
    fn large_nodes_may_draw_known_constants_only() {
        // Column 0 splits once. The root may find column 1 constant, and its children then draw nothing else at first;
        // they are large enough for several threads.
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
    fn a_raised_flag_stops_growth() {
        let stop = AtomicBool::new(true);
        let runtime = Runtime::new(1, &stop);
        let x = Array2::<f32>::zeros((10, 2));
        assert_eq!(Dataset::from_dense(x.view(), &runtime).unwrap_err(), Error::Interrupted);
    }
}
