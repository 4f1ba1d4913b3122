//! The class `Tree`: read-only views of the arrays of a tree, and prediction.
#![allow(clippy::doc_markdown, reason = "the doc comments of Python functions are numpydoc")]
#![allow(unsafe_code, reason = "views of Rust memory as numpy arrays, without a copy per access")]

use std::sync::{Arc, OnceLock};

use numpy::ndarray::ArrayView1;
use numpy::{
    Element as NumpyElement, IntoPyArray, PyArray1, PyArray3, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2,
    PyReadonlyArray3,
};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;

use super::array::{Array1, csr_matrix, run_with_matrix};
use super::forest::PyForest;
use super::run::{catch, run};
use super::sections::{Reduced, TreeState, read, reduce, with_slices};
use super::task::{Grown, Task};
use crate::data::Matrix;
use crate::error::Result;
use crate::forest::{Forest, Member, grow_tree};
use crate::memory;
use crate::runtime::Runtime;
use crate::tree::packed::PackedTree;
use crate::tree::sets::{CategorySets, SetView};
use crate::tree::{NodeArrays, Tree};

/// A grown tree: read-only arrays with one entry per node, in preorder, under scikit-learn's names.
#[pyclass(name = "Tree", module = "spinney._spinney", frozen)]
pub struct PyTree {
    source: Source,
    shown: Shown,
}

/// Arrays as Python sees them where the tree has others; each is made when it is first asked for.
#[derive(Default)]
struct Shown {
    /// Of a tree with categorical splits.
    threshold: OnceLock<Vec<f64>>,
    /// scikit-learn has integers of 64 bits, and tools hand the memory on as such.
    children_left: OnceLock<Vec<i64>>,
    children_right: OnceLock<Vec<i64>>,
    feature: OnceLock<Vec<i64>>,
    /// Kept, as it keeps what explanations need.
    forest: OnceLock<Py<PyForest>>,
}

enum Source {
    /// With the unit of the weights of its nodes.
    Grown(Tree, f64),
    /// A tree of a forest: shared, and unpacked when its arrays are first asked for.
    OfForest { packed: Arc<PackedTree>, arrays: OnceLock<Tree> },
}

impl PyTree {
    pub fn new(tree: Tree, unit: f64) -> Self {
        Self { source: Source::Grown(tree, unit), shown: Shown::default() }
    }

    pub fn of_forest(packed: Arc<PackedTree>) -> Self {
        Self { source: Source::OfForest { packed, arrays: OnceLock::new() }, shown: Shown::default() }
    }

    /// The tree of the sections of a forest of one tree.
    pub fn of_sections(py: Python<'_>, (format_number, sections): &TreeState<'_>) -> PyResult<Self> {
        let forest = with_slices(*format_number, sections, |slices| read(py, slices, 1))?;
        match forest.members() {
            [member] => Ok(Self::of_forest(Arc::clone(&member.tree))),
            members => {
                Err(PyValueError::new_err(format!("The sections must be of one tree. Got {} trees.", members.len())))
            }
        }
    }

    /// The tree as a forest keeps it.
    pub fn packed(&self) -> PyResult<Arc<PackedTree>> {
        match &self.source {
            Source::Grown(tree, unit) => catch(|| Ok(Arc::new(PackedTree::new(tree, *unit)))),
            Source::OfForest { packed, .. } => Ok(Arc::clone(packed)),
        }
    }

    /// A forest of this tree alone.
    fn as_forest(&self) -> PyResult<Forest> {
        Ok(Forest::new(vec![Member { tree: self.packed()?, seed: 0 }])?)
    }

    /// The feature and the categories of the split of a node.
    fn set_of(&self, node: i64) -> PyResult<(usize, SetView<'_>)> {
        let tree = self.tree()?;
        let Some(at) = usize::try_from(node).ok().filter(|&node| node < tree.node_count()) else {
            let message = format!("the tree has {} nodes. Got node {node}.", tree.node_count());
            return Err(PyIndexError::new_err(message));
        };
        let set = tree.category_set(at).ok_or_else(|| {
            PyValueError::new_err(format!("node must be one that splits a categorical feature. Got {node} instead."))
        })?;
        Ok((tree.nodes().feature[at] as usize, set))
    }

    /// Runs a method of the tree on a matrix.
    fn run<T: Send>(
        &self,
        x: &Bound<'_, PyAny>,
        n_threads: usize,
        method: impl FnOnce(&Tree, &dyn Matrix, &Runtime<'_>) -> Result<T> + Send,
    ) -> PyResult<T> {
        let tree = self.tree()?;
        run_with_matrix(x, n_threads, None, |x, runtime| method(tree, x, runtime))
    }

    fn tree(&self) -> PyResult<&Tree> {
        match &self.source {
            Source::Grown(tree, _) => Ok(tree),
            Source::OfForest { packed, arrays } => {
                if let Some(tree) = arrays.get() {
                    return Ok(tree);
                }
                let tree = catch(|| Ok(packed.unpack()?))?;
                Ok(arrays.get_or_init(|| tree))
            }
        }
    }
}

/// The name of the memory for values of a decision path, in errors.
pub(super) const PATH: &str = "the decision path";

/// A read-only numpy view of an array of the tree.
fn view<'py, T: NumpyElement>(
    this: &Bound<'py, PyTree>,
    array: fn(&NodeArrays) -> &Vec<T>,
) -> PyResult<Array1<'py, T>> {
    view_slice(this, array(this.get().tree()?.nodes()))
}

/// A read-only numpy view of an array of the tree as integers of 64 bits.
fn view_wide<'py>(
    this: &Bound<'py, PyTree>,
    array: fn(&NodeArrays) -> &Vec<i32>,
    shown: fn(&Shown) -> &OnceLock<Vec<i64>>,
) -> PyResult<Array1<'py, i64>> {
    let tree = this.get();
    let narrow = array(tree.tree()?.nodes());
    let shown = shown(&tree.shown);
    if let Some(wide) = shown.get() {
        return as_long_long(&view_slice(this, wide)?);
    }
    let mut wide: Vec<i64> = memory::zeros("an array of nodes", narrow.len())?;
    wide.iter_mut().zip(narrow).for_each(|(wide, &narrow)| *wide = i64::from(narrow));
    as_long_long(&view_slice(this, shown.get_or_init(|| wide))?)
}

/// The same array with the type code of C's `long long`, which scikit-learn's trees have: some packages ask
/// for it.
fn as_long_long<'py>(array: &Array1<'py, i64>) -> PyResult<Array1<'py, i64>> {
    Ok(array.call_method1("view", ("q",))?.cast_into::<PyArray1<i64>>()?)
}

/// A read-only numpy view of an array that `this` owns.
fn view_slice<'py, T: NumpyElement>(this: &Bound<'py, PyTree>, array: &[T]) -> PyResult<Array1<'py, T>> {
    let array = ArrayView1::from(array);
    // SAFETY: the array belongs to `this` (the private callers pass nothing else). `PyTree` is
    // frozen, and its arrays are made once and kept, so the memory neither moves nor changes while
    // `this` lives, and the numpy array keeps `this` alive. It is marked read-only before anyone
    // else sees it.
    let view = unsafe { PyArray1::borrow_from_array(&array, this.clone().into_any()) };
    view.getattr("flags")?.setattr("writeable", false)?;
    Ok(view)
}

#[pymethods]
impl PyTree {
    /// A forest of this tree alone, whose seed is 0.
    #[getter]
    fn forest(&self, py: Python<'_>) -> PyResult<Py<PyForest>> {
        if let Some(forest) = self.shown.forest.get() {
            return Ok(forest.clone_ref(py));
        }
        let made = Py::new(py, PyForest::new(self.as_forest()?))?;
        Ok(self.shown.forest.get_or_init(|| made).clone_ref(py))
    }

    /// Make a tree of arrays under scikit-learn's names, with one entry per node.
    #[new]
    #[pyo3(signature = (
        n_features, n_classes, children_left, children_right, feature, threshold, missing_go_to_left, impurity,
        n_node_samples, weighted_n_node_samples, value, n_categories = None, category_words = None
    ))]
    #[allow(clippy::too_many_arguments, clippy::needless_pass_by_value, reason = "the boundary to Python")]
    fn from_arrays(
        n_features: usize,
        n_classes: Vec<u32>,
        children_left: PyReadonlyArray1<'_, i32>,
        children_right: PyReadonlyArray1<'_, i32>,
        feature: PyReadonlyArray1<'_, i32>,
        threshold: PyReadonlyArray1<'_, f64>,
        missing_go_to_left: PyReadonlyArray1<'_, u8>,
        impurity: PyReadonlyArray1<'_, f64>,
        n_node_samples: PyReadonlyArray1<'_, i64>,
        weighted_n_node_samples: PyReadonlyArray1<'_, f64>,
        value: PyReadonlyArray3<'_, f64>,
        n_categories: Option<PyReadonlyArray1<'_, u32>>,
        category_words: Option<PyReadonlyArray1<'_, u64>>,
    ) -> PyResult<Self> {
        let n_categories = n_categories.map_or_else(Arc::default, |array| array.as_array().to_vec().into());
        let words = category_words.map_or_else(Vec::new, |array| array.as_array().to_vec());
        let nodes = NodeArrays {
            children_left: children_left.as_array().to_vec(),
            children_right: children_right.as_array().to_vec(),
            feature: feature.as_array().to_vec(),
            threshold: threshold.as_array().to_vec(),
            missing_go_to_left: missing_go_to_left.as_array().to_vec(),
            impurity: impurity.as_array().to_vec(),
            n_node_samples: n_node_samples.as_array().to_vec(),
            weighted_n_node_samples: weighted_n_node_samples.as_array().to_vec(),
            value: value.as_array().iter().copied().collect(),
        };
        let tree = catch(|| {
            let sets = CategorySets::from_words(&words)?;
            Ok(Tree::with_categories(n_features, n_classes, nodes, n_categories, sets)?)
        })?;
        Ok(Self::new(tree, 1.0))
    }

    /// Return a tree of the same splits, whose nodes predict numbers of shape (node_count, n_outputs).
    #[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
    fn with_values(&self, value: PyReadonlyArray2<'_, f64>) -> PyResult<Self> {
        let value = value.as_array();
        let tree = self.tree()?.with_numbers(value.iter().copied().collect(), value.ncols());
        Ok(Self::new(tree?, 1.0))
    }

    /// Return the tree of rows each of which stands for as many copies as it weighs.
    fn with_copies(&self) -> PyResult<Self> {
        Ok(Self::new(self.tree()?.with_copies()?, 1.0))
    }

    /// A pickle carries the sections of a file of a forest of this tree.
    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        reduce(this.py(), "read_tree", &this.get().as_forest()?)
    }

    /// scikit-learn's class of trees, if it is loaded and can express the splits, so that tools that ask
    /// `isinstance` before they read the arrays accept this tree. `type` tells the truth.
    #[getter]
    fn __class__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let own = || Ok(this.get_type().into_any());
        if !this.get().tree()?.category_sets().is_empty() {
            return own();
        }
        let loaded = this.py().import("sys")?.getattr("modules")?.call_method1("get", ("sklearn.tree._tree",))?;
        loaded.getattr_opt("Tree")?.map_or_else(own, Ok)
    }

    /// Packages that refuse a tree show this text, so it names the methods that do the same.
    fn __repr__(&self) -> PyResult<String> {
        let tree = self.tree()?;
        let size = format!("a tree of spinney with {} nodes", tree.node_count());
        if tree.category_sets().is_empty() {
            return Ok(format!("<{size}>"));
        }
        Ok(format!(
            "<{size} and splits by sets of categories, which other packages do not know: for SHAP values use the \
             methods shap_values and to_shap of the tree or forest>"
        ))
    }

    /// The names of its own class, not of the one that `__class__` names.
    fn __dir__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("builtins")?.call_method1("dir", (this.get_type(),))
    }

    /// The object cannot change.
    fn __deepcopy__(this: Bound<'_, Self>, _memo: Bound<'_, PyAny>) -> Py<Self> {
        this.unbind()
    }

    /// Left child of each node, -1 for a leaf. Shape (node_count,), int64.
    #[getter]
    fn children_left<'py>(this: &Bound<'py, Self>) -> PyResult<Array1<'py, i64>> {
        view_wide(this, |nodes| &nodes.children_left, |shown| &shown.children_left)
    }

    /// Right child of each node, -1 for a leaf. Shape (node_count,), int64.
    #[getter]
    fn children_right<'py>(this: &Bound<'py, Self>) -> PyResult<Array1<'py, i64>> {
        view_wide(this, |nodes| &nodes.children_right, |shown| &shown.children_right)
    }

    /// Feature of each split, -2 for a leaf. Shape (node_count,), int64.
    #[getter]
    fn feature<'py>(this: &Bound<'py, Self>) -> PyResult<Array1<'py, i64>> {
        view_wide(this, |nodes| &nodes.feature, |shown| &shown.feature)
    }

    /// Threshold of each split, -2.0 for a leaf; values up to it go left. NaN where the split is on
    /// a categorical feature: `category_sets` says which categories go where. Shape (node_count,),
    /// float64.
    #[getter]
    fn threshold<'py>(this: &Bound<'py, Self>) -> PyResult<Array1<'py, f64>> {
        let tree = this.get().tree()?;
        if tree.category_sets().is_empty() {
            return view(this, |nodes| &nodes.threshold);
        }
        let thresholds = catch(|| Ok(this.get().shown.threshold.get_or_init(|| tree.numeric_thresholds())))?;
        view_slice(this, thresholds)
    }

    /// Whether missing values go left. Shape (node_count,), uint8.
    #[getter]
    fn missing_go_to_left<'py>(this: &Bound<'py, Self>) -> PyResult<Array1<'py, u8>> {
        view(this, |nodes| &nodes.missing_go_to_left)
    }

    /// Impurity of each node. Shape (node_count,), float64.
    #[getter]
    fn impurity<'py>(this: &Bound<'py, Self>) -> PyResult<Array1<'py, f64>> {
        view(this, |nodes| &nodes.impurity)
    }

    /// Training rows of each node with a weight above 0. Shape (node_count,), int64.
    #[getter]
    fn n_node_samples<'py>(this: &Bound<'py, Self>) -> PyResult<Array1<'py, i64>> {
        as_long_long(&view(this, |nodes| &nodes.n_node_samples)?)
    }

    /// Weight of the training rows of each node. Shape (node_count,), float64.
    #[getter]
    fn weighted_n_node_samples<'py>(this: &Bound<'py, Self>) -> PyResult<Array1<'py, f64>> {
        view(this, |nodes| &nodes.weighted_n_node_samples)
    }

    /// Class shares or means of each node. Shape (node_count, n_outputs, max_n_classes), float64.
    #[getter]
    fn value<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let tree = this.get().tree()?;
        let shape = [tree.node_count(), tree.n_outputs(), tree.max_n_classes()];
        view(this, |nodes| &nodes.value)?.reshape(shape)
    }

    /// Number of nodes.
    #[getter]
    fn node_count(&self) -> PyResult<usize> {
        Ok(self.tree()?.node_count())
    }

    /// Depth of the deepest leaf.
    #[getter]
    fn max_depth(&self) -> PyResult<usize> {
        Ok(self.tree()?.max_depth())
    }

    /// Number of leaves.
    #[getter]
    fn n_leaves(&self) -> PyResult<usize> {
        Ok(self.tree()?.n_leaves())
    }

    /// Number of features of the training data.
    #[getter]
    fn n_features(&self) -> PyResult<usize> {
        Ok(self.tree()?.n_features())
    }

    /// Number of outputs.
    #[getter]
    fn n_outputs(&self) -> PyResult<usize> {
        Ok(self.tree()?.n_outputs())
    }

    /// Number of classes of each output, 1 for regression. Shape (n_outputs,), int64.
    #[getter]
    fn n_classes<'py>(&self, py: Python<'py>) -> PyResult<Array1<'py, i64>> {
        Ok(self.tree()?.n_classes().iter().map(|&n| i64::from(n)).collect::<Vec<_>>().into_pyarray(py))
    }

    /// The largest number of classes of an output.
    #[getter]
    fn max_n_classes(&self) -> PyResult<usize> {
        Ok(self.tree()?.max_n_classes())
    }

    /// Number of categories of each feature, 0 of a numeric one. Shape (n_features,), int64.
    #[getter]
    fn n_categories<'py>(&self, py: Python<'py>) -> PyResult<Array1<'py, i64>> {
        let tree = self.tree()?;
        let mut counts: Vec<i64> = memory::zeros("numbers of categories", tree.n_features())?;
        for (count, &n) in counts.iter_mut().zip(tree.n_categories().iter()) {
            *count = i64::from(n);
        }
        Ok(counts.into_pyarray(py))
    }

    /// What the split of a node lists, on a categorical feature: codes of categories, ascending, int64; and
    /// whether these go left. All other values go the other way: the node's other categories, categories that
    /// it did not hold, and categories that are not known from training.
    fn category_set<'py>(&self, py: Python<'py>, node: i64) -> PyResult<(Array1<'py, i64>, bool)> {
        let (_, set) = self.set_of(node)?;
        let listed: Vec<i64> = catch(|| Ok(set.listed().map(i64::from).collect()))?;
        Ok((listed.into_pyarray(py), !set.others_left()))
    }

    /// Which categories go left and which go right at a node that splits a categorical feature: two arrays of
    /// codes, ascending, int64. Together they have each category of the feature, also categories that the
    /// node did not hold.
    fn category_sets<'py>(&self, py: Python<'py>, node: i64) -> PyResult<(Array1<'py, i64>, Array1<'py, i64>)> {
        let (feature, set) = self.set_of(node)?;
        let n = self.tree()?.n_categories()[feature];
        let (left, right): (Vec<i64>, Vec<i64>) =
            catch(|| Ok((0..i64::from(n)).partition(|&code| set.goes_left(code as f64))))?;
        Ok((left.into_pyarray(py), right.into_pyarray(py)))
    }

    /// Mean decrease of impurity per feature. Shape (n_features,), float64.
    #[pyo3(signature = (normalize = true))]
    fn compute_feature_importances<'py>(&self, py: Python<'py>, normalize: bool) -> PyResult<Array1<'py, f64>> {
        let tree = self.tree()?;
        let importances = run(py, 1, None, |_| tree.compute_feature_importances(normalize))?;
        Ok(importances.into_pyarray(py))
    }

    /// The prices per leaf at which subtrees become the best, and the total impurities of their
    /// leaves: two arrays of float64.
    fn cost_complexity_path<'py>(&self, py: Python<'py>) -> PyResult<(Array1<'py, f64>, Array1<'py, f64>)> {
        let tree = self.tree()?;
        let path = run(py, 1, None, |runtime| tree.cost_complexity_path(runtime))?;
        Ok((path.ccp_alphas.into_pyarray(py), path.impurities.into_pyarray(py)))
    }

    /// The value of the leaf that each row reaches: (n_samples, n_classes) for one output, else
    /// (n_samples, n_outputs, max_n_classes).
    #[pyo3(signature = (x, n_threads = 1))]
    fn predict<'py>(&self, x: &Bound<'py, PyAny>, n_threads: usize) -> PyResult<Bound<'py, PyAny>> {
        let values = self.run(x, n_threads, Tree::predict)?.into_pyarray(x.py());
        let (n_outputs, n_classes) = (self.tree()?.n_outputs(), self.tree()?.max_n_classes());
        let n_samples = values.len()? / self.tree()?.n_values();
        if n_outputs == 1 {
            Ok(values.reshape([n_samples, n_classes])?.into_any())
        } else {
            Ok(values.reshape([n_samples, n_outputs, n_classes])?.into_any())
        }
    }

    /// The leaf that each row reaches. Shape (n_samples,), int64.
    #[pyo3(signature = (x, n_threads = 1))]
    fn apply<'py>(&self, x: &Bound<'py, PyAny>, n_threads: usize) -> PyResult<Array1<'py, i64>> {
        Ok(self.run(x, n_threads, Tree::apply)?.into_pyarray(x.py()))
    }

    /// The nodes that each row passes: a CSR matrix of ones of shape (n_samples, node_count).
    #[pyo3(signature = (x, n_threads = 1))]
    fn decision_path<'py>(&self, x: &Bound<'py, PyAny>, n_threads: usize) -> PyResult<Bound<'py, PyAny>> {
        let (indptr, indices) = self.run(x, n_threads, Tree::decision_path)?;
        let ones = memory::filled(PATH, 1i64, indices.len())?;
        csr_matrix(x.py(), ones, indices, indptr, self.tree()?.node_count())
    }
}

/// Grow one tree.
///
/// Parameters
/// ----------
/// x : ndarray of shape (n_samples, n_features), or CSC/CSR matrix
/// task : spinney._fit.task.Task
///     The task of one tree on all rows.
///
/// Returns
/// -------
/// tree : Tree
/// max_features : int
///     The number of features that each node draws.
/// with_missing : int64 ndarray
///     The features that have missing values in `x`, ascending.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "the boundary to Python")]
pub fn fit_tree<'py>(x: &Bound<'py, PyAny>, task: Task<'py>) -> PyResult<Grown<'py, PyTree>> {
    task.grow(x, task.plan(x)?, |data, plan, runtime| {
        Ok(PyTree::new(grow_tree(data, &plan.target, &plan.valid, runtime)?, plan.target.weight_unit()))
    })
}
