"""Conversion to ONNX: skl2onnx goes by exact classes, and has a register of them."""

from __future__ import annotations

from importlib import import_module

from spinney.storage._classes import list_classes


def register_onnx() -> None:
    """Let skl2onnx convert trees and forests of spinney as it converts those of scikit-learn.

    Call it once, before `skl2onnx.to_onnx` or `skl2onnx.convert_sklearn`. ONNX compares in float32:
    see :meth:`RandomForestClassifier.to_sklearn` for what that means.

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
    except ImportError as error:
        raise ImportError("register_onnx needs the package skl2onnx.") from error
    # Its public function would also register a converter anew, with options of its own.
    alias_of = operators.sklearn_operator_name_map
    theirs = {known.__name__: alias for known, alias in alias_of.items()}
    for name, ours in list_classes():
        if name in theirs:
            alias_of[ours] = theirs[name]
