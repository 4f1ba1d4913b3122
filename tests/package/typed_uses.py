"""What the type checker of a user accepts and what it refuses. `make lint` runs mypy on this file.

mypy in strict mode refuses a comment `type: ignore` where there is no error.
"""

from io import BytesIO

import numpy as np

import spinney
import spinney.ensemble
import spinney.tree
from spinney import (
    Dataset,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    LazyForestClassifier,
    LazyForestRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    export_graphviz,
    export_text,
    from_sklearn,
    load,
    plot_importance,
    plot_tree,
    to_sklearn,
)
from spinney.conformal import CrossConformalClassifier, JackknifeAfterBootstrapClassifier
from spinney.ensemble import (
    BalancedRandomForestClassifier,
    IsolationForest,
    RandomForestQuantileRegressor,
)
from spinney.feature_selection import Boruta
from spinney.impute import MissForestImputer
from spinney.inspection import class_prototypes, outlier_scores, partial_dependence
from spinney.model_selection import cross_val_predict, cross_val_score, cross_validate

X, y = np.zeros((8, 2)), np.zeros(8)
tree = DecisionTreeClassifier(criterion="entropy", max_depth=3, random_state=0).fit(X, y)
numbers = DecisionTreeRegressor(criterion="poisson", splitter="random").fit(X, y, y)
forest = RandomForestClassifier(10, max_features="sqrt", class_weight="balanced_subsample")
others = RandomForestRegressor(max_samples=0.5, bootstrap="poisson", oob_score=False, n_jobs=-1)
lazy = LazyForestClassifier(20, traversal="single", feature_sampling="active")

# Right.
score: float = forest.fit(X, y).score(X, y)
depth: int = tree.get_depth()
leaves: int = tree.get_n_leaves()
labels: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = tree.predict(X)
importances: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = tree.feature_importances_
rows: np.ndarray[tuple[int, ...], np.dtype[np.int64]] = forest.apply(X)
n_features: int = forest.n_features_in_
n_outputs: int = forest.n_outputs_
parameters: dict[str, object] = forest.get_params(deep=False)
same: RandomForestClassifier = forest.set_params(max_depth=4)
again: RandomForestClassifier = forest.fit(X, y, sample_weight=y, sample_ids=np.arange(8))
requested: DecisionTreeClassifier = tree.set_fit_request(sample_weight=True)
classes: object = forest.classes_
one_tree: object = forest.estimators_[0]
n_trees: int = len(forest)
text: str = export_text(tree, decimals=3)
graph: str | None = export_graphviz(tree)
boxes: object = plot_tree(tree, filled=True)
bars: object = plot_importance(forest, n_features=5)
scores: object = cross_val_score(forest, X, y, cv=3)
predictions: object = cross_val_predict(forest, X, y, method="predict_proba")
results: dict[str, object] = cross_validate(forest, X, y, scoring="accuracy")
dataset: Dataset = Dataset(X, categorical_features=[0])
view: Dataset = dataset[:4]
shape: tuple[int, int] = dataset.shape
seen: spinney.ensemble.Exploration = lazy.fit(X, y).explore(X, weights=True)
visited: int = seen.n_visited_nodes
curve: object = partial_dependence(others, X, ["a", "b"], kind="both")
theirs: object = to_sklearn(forest)
ours: object = from_sklearn(theirs)
version: str = spinney.__version__
nested: type[spinney.tree.BaseDecisionTree] = spinney.tree.ExtraTreeClassifier
extra: ExtraTreeClassifier = ExtraTreeClassifier(max_features=None, class_weight={0: 1.0})
random: ExtraTreeRegressor = ExtraTreeRegressor(criterion="quantile", quantile=0.9)
extras: ExtraTreesClassifier = ExtraTreesClassifier(criterion="log_loss", ccp_alpha=0.01)
more: ExtraTreesRegressor = ExtraTreesRegressor(handle_unknown="error", replace=False)
slow: LazyForestRegressor = LazyForestRegressor(splitter="random", max_features=0.3)
forest.save(BytesIO())
loaded = load("file", n_jobs=2)
isolation: spinney.IsolationForest = spinney.IsolationForest(contamination=0.1).fit(X)
votes: spinney.AdaBoostClassifier = spinney.AdaBoostClassifier(tree, n_estimators=9).fit(X, y)
several = spinney.GradientBoostingRegressor(loss="quantile", alpha=[0.1, 0.9])
committee: spinney.BaggingRegressor = spinney.BaggingRegressor(several, 5).fit(X, y)
medians: object = spinney.AdaBoostRegressor(loss="square", learning_rate=0.5).fit(X, y).predict(X)
anomalies: object = isolation.fit_predict(X)
rare: spinney.BalancedRandomForestClassifier = spinney.BalancedRandomForestClassifier(
    sampling_strategy={0: 10}
)
quantiles: object = spinney.RandomForestQuantileRegressor(max_samples_leaf=5).fit(X, y)
codes: object = spinney.RandomTreesEmbedding(max_depth=3).fit_transform(X)
lengths: object = isolation.path_length(X)
scored: float = loaded.score(X, y)
values: object = forest.shap_values(X, interactions=True)
nearest: object = forest.nearest(X, Y=X, k=3)
why: spinney.inspection.ExplainedPrediction = forest.explain(X[:1], n_features=3)
best: str = tree.splitter
order: str = tree.category_order
in_nodes: object = lazy.category_order
names: np.ndarray[tuple[int, ...], np.dtype[np.str_]] = forest.feature_names_in_
n_classes: int = forest.classes_.shape[0]
asked: RandomForestRegressor = others.set_predict_request(return_std=True)

# Wrong.
DecisionTreeClassifier(criterion="ginni")  # type: ignore[arg-type]
DecisionTreeClassifier(criterion="squared_error")  # type: ignore[arg-type]
DecisionTreeRegressor(criterion="gini")  # type: ignore[arg-type]
DecisionTreeClassifier("gini")  # type: ignore[call-arg, arg-type]
DecisionTreeClassifier(splitter="Best")  # type: ignore[arg-type]
DecisionTreeClassifier(max_depth="3")  # type: ignore[arg-type]
DecisionTreeClassifier(max_depth=3.5)  # type: ignore[arg-type]
DecisionTreeClassifier(max_feature=3)  # type: ignore[call-arg]
DecisionTreeClassifier(max_features="auto")  # type: ignore[arg-type]
DecisionTreeClassifier(class_weight="balanced_subsample")  # type: ignore[arg-type]
DecisionTreeClassifier(class_weight=3.0)  # type: ignore[arg-type]
DecisionTreeClassifier(random_state="0")  # type: ignore[arg-type]
DecisionTreeClassifier(min_samples_leaf="one")  # type: ignore[arg-type]
DecisionTreeClassifier(n_jobs="all")  # type: ignore[arg-type]
DecisionTreeClassifier(feature_sampling="some")  # type: ignore[arg-type]
DecisionTreeClassifier(category_order="trees")  # type: ignore[arg-type]
DecisionTreeClassifier(handle_unknown="warn")  # type: ignore[arg-type]
ExtraTreeClassifier(criterion="mse")  # type: ignore[arg-type]
ExtraTreeRegressor(quantile="median")  # type: ignore[arg-type]
RandomForestClassifier("10")  # type: ignore[arg-type]
RandomForestClassifier(10, "gini")  # type: ignore[call-arg, arg-type]
RandomForestClassifier(bootstrap="bayes")  # type: ignore[arg-type]
RandomForestClassifier(oob_score=0.5)  # type: ignore[arg-type]
RandomForestClassifier(max_samples="half")  # type: ignore[arg-type]
RandomForestRegressor(class_weight="balanced")  # type: ignore[call-arg]
RandomForestRegressor(warm_start="no")  # type: ignore[arg-type]
ExtraTreesRegressor(n_estimator=3)  # type: ignore[call-arg]
LazyForestClassifier(traversal="quick")  # type: ignore[arg-type]
LazyForestRegressor(warm_start=True)  # type: ignore[call-arg]
tree.fitt(X, y)  # type: ignore[attr-defined]
tree.fit(X)  # type: ignore[call-arg]
tree.fit(X, y, weights=y)  # type: ignore[call-arg]
tree.predict()  # type: ignore[call-arg]
numbers.predict_proba(X)  # type: ignore[attr-defined]
forest.feature_importance_  # type: ignore[attr-defined]
forest.n_features_in_.real_number  # type: ignore[attr-defined]
lazy.feature_importances_  # type: ignore[attr-defined]
spinney.nothing  # type: ignore[attr-defined]
spinney.tree.nothing  # type: ignore[attr-defined]
spinney.ensemble.Forest()  # type: ignore[attr-defined]
load()  # type: ignore[call-arg]
load(3)  # type: ignore[arg-type]
forest.save(b"bytes")  # type: ignore[arg-type]
forest.classes_.shpae  # type: ignore[union-attr]
forest.splitter  # type: ignore[attr-defined]
export_text(tree, decimal=3)  # type: ignore[call-arg]
outlier_scores(X)  # type: ignore[call-arg]
class_prototypes(X, y, neighbours=3)  # type: ignore[call-arg]
cross_val_score(forest, X, y, fold=3)  # type: ignore[call-arg]
plot_tree(tree, label="some")  # type: ignore[arg-type]
export_graphviz(tree, label="some")  # type: ignore[arg-type]
partial_dependence(tree, X, 0, kind="mean")  # type: ignore[arg-type]
forest.permutation_importance_oob(X, y, importance_type="gain")  # type: ignore[arg-type]
RandomForestClassifier(class_sampling="most")  # type: ignore[arg-type]
BalancedRandomForestClassifier(sampling_strategy="most")  # type: ignore[arg-type]
spinney.AdaBoostRegressor(loss="cubic")  # type: ignore[arg-type]
IsolationForest(max_samples="all")  # type: ignore[arg-type]
IsolationForest(contamination="some")  # type: ignore[arg-type]
RandomForestQuantileRegressor().predict(X, interpolation="cubic")  # type: ignore[arg-type]
RandomForestQuantileRegressor().quantile_ranks(X, y, kind="low")  # type: ignore[arg-type]
Boruta(importance_type="gain")  # type: ignore[arg-type]
Boruta(n_estimators="many")  # type: ignore[arg-type]
MissForestImputer(columns="random")  # type: ignore[arg-type]
JackknifeAfterBootstrapClassifier(conformity_score="raps")  # type: ignore[arg-type]
CrossConformalClassifier(conformity_score="raps")  # type: ignore[arg-type]
Dataset(X, categories=[0])  # type: ignore[call-arg]
dataset.open_("file")  # type: ignore[attr-defined]
