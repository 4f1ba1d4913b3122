//! A few small trees as text: a change of the engine that changes trees shows here first, line by
//! line.
//!
//! After a change that is meant to change trees, `SPINNEY_BLESS=1 cargo test engine::golden`
//! writes the files anew; the commit explains the difference.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use ndarray::{Array2, array};
use spinney::params::{CriterionKind, MaxFeatures, Splitter, TreeParams};
use spinney::tree::{TREE_LEAF, Tree};

use super::common::{Y, grow_dense};

/// One line per node, children indented below their parent, every number with all its digits.
fn render(tree: &Tree) -> String {
    let nodes = tree.nodes();
    let mut text = String::new();
    let mut pending = vec![(0, 0)];
    while let Some((node, depth)) = pending.pop() {
        let indent = "    ".repeat(depth);
        let (left, right) = (nodes.children_left[node], nodes.children_right[node]);
        let what = if left == TREE_LEAF {
            format!("value {:?}", tree.value(node))
        } else {
            pending.extend([(right as usize, depth + 1), (left as usize, depth + 1)]);
            format!("x[{}] <= {:?}", nodes.feature[node], nodes.threshold[node])
        };
        let (n, weight, impurity) =
            (nodes.n_node_samples[node], nodes.weighted_n_node_samples[node], nodes.impurity[node]);
        writeln!(text, "{indent}{what}  (n {n}, weight {weight:?}, impurity {impurity:?})").unwrap();
    }
    text
}

fn check(name: &str, tree: &Tree) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/engine/golden").join(name).with_extension("txt");
    let text = render(tree);
    if env::var_os("SPINNEY_BLESS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let golden = fs::read_to_string(&path).unwrap_or_default();
    assert!(text == golden, "{name} has changed:\n{text}\nfrom:\n{golden}\nTo accept it, set SPINNEY_BLESS=1.");
}

/// Outlook (sunny, overcast, rain), temperature (hot, mild, cool), humidity (high, normal), wind
/// (weak, strong), and whether to play: Quinlan, "Induction of decision trees", Machine Learning 1,
/// 1986, table 1.
fn weather() -> (Array2<f64>, Y) {
    let x = array![
        [0., 0., 0., 0.],
        [0., 0., 0., 1.],
        [1., 0., 0., 0.],
        [2., 1., 0., 0.],
        [2., 2., 1., 0.],
        [2., 2., 1., 1.],
        [1., 2., 1., 1.],
        [0., 1., 0., 0.],
        [0., 2., 1., 0.],
        [2., 1., 1., 0.],
        [0., 1., 1., 1.],
        [1., 1., 0., 1.],
        [1., 0., 1., 0.],
        [2., 1., 0., 1.],
    ];
    let play = vec![0, 0, 1, 1, 1, 0, 1, 0, 1, 1, 1, 1, 1, 0];
    (x, Y::Classes { values: play, n_classes: vec![2] })
}

#[test]
fn weather_by_entropy() {
    let (x, y) = weather();
    check("weather_by_entropy", &grow_dense(&x, &y, None, &TreeParams::new(CriterionKind::Entropy)));
}

/// Pins the keyed random choices: the features drawn and the thresholds.
#[test]
fn weather_at_random() {
    let (x, y) = weather();
    let params = TreeParams {
        splitter: Splitter::Random,
        max_features: MaxFeatures::Sqrt,
        max_depth: Some(3),
        seed: 1986,
        ..TreeParams::new(CriterionKind::Gini)
    };
    check("weather_at_random", &grow_dense(&x, &y, None, &params));
}

/// Two outputs, fractional weights, one of them 0, and values on both sides of 0.
#[test]
fn weighted_regression_of_two_outputs() {
    let x = array![[-2.0, 0.0], [-1.5, 3.0], [0.0, 0.0], [0.0, 1.0], [0.25, 0.0], [1.0, -4.0], [1.5, 0.0], [7.0, 0.0]];
    let values = vec![1., 10., 1., 12., 2., 12., 2., 14., 5., 3., 5.5, 2., 5., 0., 8., -100.];
    let y = Y::Numbers { values, n_outputs: 2 };
    let weights = [0.5, 1.5, 0.75, 1., 1., 2., 0.0, 0.25];
    let params = TreeParams { min_impurity_decrease: 0.01, ..TreeParams::new(CriterionKind::SquaredError) };
    check("weighted_regression_of_two_outputs", &grow_dense(&x, &y, Some(&weights), &params));
}
