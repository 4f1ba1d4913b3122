use std::sync::atomic::AtomicBool;

use ndarray::array;
use spinney::data::{Dataset, Target};
use spinney::error::Result;
use spinney::grow::grow;
use spinney::params::{CriterionKind, TreeParams};
use spinney::runtime::Runtime;

fn main() -> Result<()> {
    let x = array![[0.0, 1.0], [0.0, 2.0], [3.0, 1.0], [4.0, 2.0]];
    let stop = AtomicBool::new(false);
    let runtime = Runtime::new(1, &stop);

    let data = Dataset::from_dense(x.view(), &runtime)?;
    let target = Target::classification(&[0, 0, 1, 1], &[2], None)?;
    let params = TreeParams::new(CriterionKind::Gini).check(4, 2)?;
    let tree = grow(&data, &target, &params, 0, &runtime)?;

    assert_eq!(tree.nodes().feature[0], 0);
    assert_eq!(tree.nodes().threshold[0], 1.5);
    assert_eq!(tree.predict(&x.view(), &runtime)?, [1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0]);
    Ok(())
}
