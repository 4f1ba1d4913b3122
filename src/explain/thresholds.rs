//! The thresholds next to the values of a row: with fewer digits than tell it from these, it is another row.

use crate::error::Result;
use crate::forest::Forest;
use crate::runtime::Runtime;
use crate::tree::Walk;
use crate::tree::packed::PackedTree;

/// For each feature the largest threshold of the forest below its value, then for each the smallest of the
/// others; infinite where there is none, as for missing values and for categories.
pub fn thresholds_around(forest: &Forest, values: &[f64], runtime: &Runtime<'_>) -> Result<Vec<f64>> {
    let of_tree = |tree: &PackedTree| {
        let mut around = vec![f64::NEG_INFINITY; values.len()];
        around.resize(2 * values.len(), f64::INFINITY);
        let (below, above) = around.split_at_mut(values.len());
        for at in 0..tree.node_count() / 2 {
            runtime.check_in_turn(at)?;
            let split = tree.split(at as u32);
            let feature = split.feature as usize;
            if split.set.is_some() {
                continue;
            }
            if split.threshold < values[feature] {
                below[feature] = below[feature].max(split.threshold);
            } else if split.threshold >= values[feature] {
                above[feature] = above[feature].min(split.threshold);
            }
        }
        Ok(around)
    };
    let of_trees = runtime.map(forest.trees().collect(), of_tree)?;
    let widest = [f64::NEG_INFINITY, f64::INFINITY].map(|end| vec![end; values.len()]).concat();
    Ok(of_trees.into_iter().fold(widest, |mut nearest, around| {
        let (below, above) = nearest.split_at_mut(values.len());
        below.iter_mut().zip(&around).for_each(|(nearest, &own)| *nearest = nearest.max(own));
        above.iter_mut().zip(&around[values.len()..]).for_each(|(nearest, &own)| *nearest = nearest.min(own));
        nearest
    }))
}
