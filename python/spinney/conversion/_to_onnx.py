"""Conversion to ONNX: skl2onnx goes by exact classes, and has a register of them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from spinney.conversion._classes import list_counterparts

# Their converters read private attributes of scikit-learn's classes.
_LEFT_OUT = ("GradientBoostingClassifier", "GradientBoostingRegressor", "IsolationForest")


def register_onnx() -> None:
    """Let skl2onnx convert trees and forests of spinney as it converts scikit-learn's.

    Call it once, before `skl2onnx.to_onnx` or `skl2onnx.convert_sklearn`. ONNX compares in float32:
    see :meth:`RandomForestClassifier.to_sklearn` for what that means. Models with categorical
    features are refused; isolation forests and boosting are converted by their `to_sklearn` first.
    A quantile forest becomes the forest that predicts its mean.

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
        if theirs in alias_of and theirs.__name__ not in _LEFT_OUT and ours not in alias_of:
            alias = alias_of[ours] = alias_of[theirs]
            if theirs in parsers:
                parsers[ours] = parsers[theirs]
            shapes[alias] = _refuse_categories(shapes[alias])


def _refuse_categories(find_shapes: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function of an operator that raises ValueError if it has categorical features."""

    def check_and_find(operator: Any) -> Any:
        # The converters of scikit-learn's classes have them, too.
        if getattr(operator.raw_operator, "is_categorical_", None) is not None:
            raise ValueError(
                "ONNX has no splits by sets of categories, and the estimator has categorical "
                "features. Fit it to encoded categories instead."
            )
        return find_shapes(operator)

    return check_and_find
