"""From estimators of spinney to models of treelite."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import sklearn.ensemble
from sklearn.base import is_classifier

from spinney._spinney import Forest, Tree


def convert_to_treelite(estimator: Any, forest: Forest) -> Any:
    """Return a model of treelite that predicts as `estimator` does, which is fitted."""
    treelite = _import_treelite()
    # treelite's importer knows neither sets of categories nor classifiers of one class.
    has_one_class = is_classifier(estimator) and max(forest.n_classes) == 1
    if not forest.n_categories and not has_one_class:
        return treelite.sklearn.import_model(_make_model(estimator, forest))
    return _build(treelite.model_builder, estimator, forest)


def convert_boosting_to_treelite(estimator: Any) -> Any:
    """Return a model of treelite that predicts as boosting does, which is fitted."""
    model_builder = _import_treelite().model_builder
    if estimator._start is None:
        raise ValueError(
            f"treelite has no models that begin with an estimator. Got init={estimator.init!r}."
        )
    loss, forest = estimator._loss, estimator.forest_
    if loss.levels is not None:
        raise ValueError(
            "treelite cannot sort what trees predict, so that quantiles do not cross. This "
            f"{type(estimator).__name__} predicts {list(loss.levels)}: fit a model for each level, "
            "and convert these."
        )
    n_raw, n_trees = loss.n_raw, len(forest)
    function = {"log_loss": "sigmoid", "exponential": "sigmoid"}
    of_number = "exponential" if loss.is_of_logs else "identity"
    name = "softmax" if n_raw > 1 else function.get(loss.name, of_number)
    is_steep = loss.name == "exponential"
    task = "kRegressor" if name in ("identity", "exponential") else "kBinaryClf"
    builder = model_builder.ModelBuilder(
        threshold_type="float64",
        leaf_output_type="float64",
        metadata=model_builder.Metadata(
            num_feature=forest.n_features,
            task_type="kMultiClf" if n_raw > 1 else task,
            average_tree_output=False,
            num_target=1,
            num_class=[n_raw],
            leaf_vector_shape=(1, 1),
        ),
        tree_annotation=model_builder.TreeAnnotation(
            num_tree=n_trees,
            target_id=[0] * n_trees,
            class_id=[tree % n_raw for tree in range(n_trees)],
        ),
        postprocessor=model_builder.PostProcessorFunc(
            name=name, **({"sigmoid_alpha": 2.0} if is_steep else {})
        ),
        base_scores=estimator._start.tolist(),
    )
    for number in range(n_trees):
        _add_tree(builder, forest.tree(number), estimator._rate)
    return builder.commit()


def _import_treelite() -> Any:
    try:
        import treelite
    except ImportError as error:
        raise ImportError(
            "to_treelite needs the package treelite: python -m pip install treelite"
        ) from error
    return treelite


def _make_model(estimator: Any, forest: Forest) -> Any:
    """Return a model of scikit-learn's class with our trees, whose arrays treelite reads at once.

    No tree of scikit-learn is made. Thresholds stay float64, as treelite keeps them.
    """
    n_classes, classifies = forest.n_classes, is_classifier(estimator)
    name = f"RandomForest{'Classifier' if classifies else 'Regressor'}"
    model: Any = getattr(sklearn.ensemble, name)(n_estimators=len(forest))
    model.n_features_in_, model.n_outputs_ = forest.n_features, len(n_classes)
    if classifies:
        model.n_classes_ = n_classes if len(n_classes) > 1 else n_classes[0]
    # One tree after the other.
    model.estimators_ = (SimpleNamespace(tree_=forest.tree(t)) for t in range(len(forest)))
    return model


def _build(model_builder: Any, estimator: Any, forest: Forest) -> Any:
    """Return a model that is built node by node, which takes long."""
    n_classes, n_trees = forest.n_classes, len(forest)
    classifies = is_classifier(estimator)
    max_n_classes = max(n_classes)
    builder = model_builder.ModelBuilder(
        threshold_type="float64",
        leaf_output_type="float64",
        metadata=model_builder.Metadata(
            num_feature=forest.n_features,
            task_type="kMultiClf" if classifies else "kRegressor",
            average_tree_output=True,
            num_target=len(n_classes),
            num_class=n_classes,
            leaf_vector_shape=(len(n_classes), max_n_classes),
        ),
        tree_annotation=model_builder.TreeAnnotation(
            num_tree=n_trees,
            # A leaf has values for all targets and classes.
            target_id=[-1 if len(n_classes) > 1 else 0] * n_trees,
            class_id=[-1 if max_n_classes > 1 else 0] * n_trees,
        ),
        postprocessor=model_builder.PostProcessorFunc(
            name="identity_multiclass" if classifies else "identity"
        ),
        base_scores=[0.0] * (len(n_classes) * max_n_classes),
    )
    for number in range(n_trees):
        _add_tree(builder, forest.tree(number))
    return builder.commit()


def _add_tree(builder: Any, tree: Tree, scale: float = 1.0) -> None:
    """Add a tree whose leaves are multiplied by `scale`."""
    builder.start_tree()
    lefts, rights = tree.children_left.tolist(), tree.children_right.tolist()
    features, thresholds = tree.feature.tolist(), tree.threshold.tolist()
    missing_left, values = tree.missing_go_to_left.astype(bool).tolist(), scale * tree.value
    is_categorical = tree.n_categories > 0
    for node, (left, right) in enumerate(zip(lefts, rights, strict=True)):
        builder.start_node(node)
        if left < 0:
            leaf = values[node].ravel().tolist()
            builder.leaf(leaf[0] if len(leaf) == 1 else leaf)
        elif is_categorical[features[node]]:
            codes, listed_go_left = tree.category_set(node)
            builder.categorical_test(
                feature_id=features[node],
                default_left=missing_left[node],
                category_list=codes.tolist(),
                category_list_right_child=not listed_go_left,
                left_child_key=left,
                right_child_key=right,
            )
        else:
            builder.numerical_test(
                feature_id=features[node],
                threshold=thresholds[node],
                default_left=missing_left[node],
                opname="<=",
                left_child_key=left,
                right_child_key=right,
            )
        builder.end_node()
    builder.end_tree()
