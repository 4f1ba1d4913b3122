"""Automatic logging by mlflow, which goes by a list of scikit-learn's classes."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_MODULES = ("spinney.tree", "spinney.ensemble", "spinney.survival")


def register_mlflow() -> None:
    """Let mlflow's autologging of scikit-learn see the estimators of spinney.

    Call it once, before `mlflow.sklearn.autolog()`. Trees and forests are then logged as those of
    scikit-learn are: parameters, scores and models of each `fit`.

    Raises
    ------
    ImportError
        If mlflow is not installed.

    Examples
    --------
    >>> import mlflow, spinney  # doctest: +SKIP
    >>> spinney.conversion.register_mlflow()  # doctest: +SKIP
    >>> mlflow.sklearn.autolog()  # doctest: +SKIP
    """
    try:
        utils: Any = import_module("mlflow.sklearn.utils")
    except ImportError as error:
        raise ImportError("register_mlflow needs the package mlflow.") from error
    list_theirs = utils._all_estimators
    if getattr(list_theirs, "has_spinney", False):
        return

    def list_all() -> list[tuple[str, Any]]:
        return [*list_theirs(), *_list_estimators()]

    list_all.has_spinney = True  # type: ignore[attr-defined]
    utils._all_estimators = list_all


def _list_estimators() -> list[tuple[str, Any]]:
    modules = map(import_module, _MODULES)
    named = [(name, getattr(module, name)) for module in modules for name in module.__all__]
    return [(name, kind) for name, kind in named if hasattr(kind, "fit")]
