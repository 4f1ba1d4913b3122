"""Conversion to source code: m2cgen goes by the names of classes, and has a table of them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from spinney.conversion._classes import list_counterparts


def register_m2cgen() -> None:
    """Let m2cgen write trees and forests of spinney as source code, as it writes scikit-learn's.

    Call it once, before `m2cgen.export_to_c` and its likes. The code compares in float64, as we do.
    A quantile forest becomes code that predicts its mean. Models with categorical features or
    several outputs, and those that were fitted to missing values, are refused: m2cgen has no words
    for them.

    Raises
    ------
    ImportError
        If m2cgen is not installed.

    Examples
    --------
    >>> import m2cgen, spinney  # doctest: +SKIP
    >>> spinney.conversion.register_m2cgen()  # doctest: +SKIP
    >>> m2cgen.export_to_c(forest)  # doctest: +SKIP
    """
    try:
        table = import_module("m2cgen.assemblers").SUPPORTED_MODELS
    except ImportError as error:
        raise ImportError("register_m2cgen needs the package m2cgen.") from error
    for ours, theirs in list_counterparts():
        assembler = table.get(f"sklearn_{theirs.__name__}")
        if assembler is not None:
            table[f"spinney_{ours.__name__}"] = _make_checked(assembler)


def _make_checked(assembler: Any) -> Any:
    """Return a function that makes an assembler of a model, unless it cannot be expressed."""

    def check_and_make(model: Any) -> Any:
        name = type(model).__name__
        if model.is_categorical_ is not None:
            raise ValueError(
                f"m2cgen has no splits by sets of categories, and this {name} has categorical "
                "features. Fit it to encoded categories instead."
            )
        if model.n_outputs_ > 1:
            raise ValueError(
                f"m2cgen has no several outputs. Got a {name} with {model.n_outputs_}."
            )
        growths = getattr(model, "_growths", [])
        known = [growth.with_missing for growth in growths] or [model._with_missing]
        if np.concatenate(known).size:
            raise ValueError(
                f"m2cgen does not know where missing values go, to which this {name} was fitted."
            )
        return assembler(model)

    return check_and_make
