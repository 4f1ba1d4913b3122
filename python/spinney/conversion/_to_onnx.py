"""Conversion to ONNX: skl2onnx goes by exact classes, and has a register of them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import sklearn.ensemble

from spinney.conversion._classes import list_counterparts

# Converters of these read private attributes of what `to_sklearn` makes, which turns histogram
# boosting into the exact one.
_BY_SKLEARN = ("GradientBoostingClassifier", "GradientBoostingRegressor", "IsolationForest")


def register_onnx() -> None:
    """Let skl2onnx convert trees and forests of spinney as it converts scikit-learn's.

    Call it once, before `skl2onnx.to_onnx` or `skl2onnx.convert_sklearn`. ONNX compares in float32:
    see :meth:`RandomForestClassifier.to_sklearn` for what that means. Models with categorical
    features are refused, and so is what `to_sklearn` refuses of boosting. A quantile forest becomes
    the forest that predicts its mean.

    Raises
    ------
    ImportError
        If skl2onnx is not installed.

    Examples
    --------
    >>> import skl2onnx, spinney  # doctest: +SKIP
    >>> spinney.conversion.register_onnx()  # doctest: +SKIP
    >>> skl2onnx.to_onnx(forest, X[:1].astype("float32"))  # doctest: +SKIP
    """
    try:
        operators = import_module("skl2onnx._supported_operators")
        parsers = import_module("skl2onnx._parse").sklearn_parsers_map
        shapes = import_module("skl2onnx.common._registration")._shape_calculator_pool
    except ImportError as error:
        raise ImportError("register_onnx needs the package skl2onnx.") from error
    # Its public functions would also register a converter anew, with options of its own.
    alias_of = operators.sklearn_operator_name_map
    for ours, theirs in list_counterparts():
        name = theirs.__name__.removeprefix("Hist")
        kind = getattr(sklearn.ensemble, name, theirs)
        if kind in alias_of and ours not in alias_of:
            alias = alias_of[ours] = alias_of[kind]
            if kind in parsers:
                parsers[ours] = parsers[kind]
            shapes[alias] = _take_ours(shapes[alias], ours, name in _BY_SKLEARN)


def _take_ours(
    find_shapes: Callable[[Any], Any], ours: type[Any], is_converted: bool
) -> Callable[[Any], Any]:
    """Return a function of an operator that makes what the converters can read of a model of ours.

    It raises ValueError if the model has categorical features. `is_converted` tells whether the
    converters, which are called after it, get what `to_sklearn` returns.
    """

    def check_and_find(operator: Any) -> Any:
        model = operator.raw_operator
        # The converters of scikit-learn's classes have it, too.
        if getattr(model, "is_categorical_", None) is not None:
            raise ValueError(
                "ONNX has no splits by sets of categories, and the estimator has categorical "
                "features. Fit it to encoded categories instead."
            )
        if is_converted and type(model) is ours:
            operator.raw_operator = model.to_sklearn()
        return find_shapes(operator)

    return check_and_find
