"""Forests, and pipelines that end in one: how they are fitted, and what their forests get."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline


def get_forest(model: Any) -> Any:
    """Return a forest, or the one that a pipeline ends in."""
    return model.steps[-1][1] if isinstance(model, Pipeline) and model.steps else model


def fit_model(model: Any, X: Any, y: Any, **arguments: Any) -> Any:
    """Fit a forest or a pipeline; the last step alone gets the arguments beside `X` and `y`."""
    if isinstance(model, Pipeline):
        head, last = model[:-1], model.steps[-1]
        if head.steps:
            X = head.fit_transform(X, y)
        model.steps = [*head.steps, last]
    get_forest(model).fit(X, y, **arguments)
    return model


def transform(model: Any, X: Any) -> Any:
    """Return what the forest of a fitted model gets."""
    return model[:-1].transform(X) if isinstance(model, Pipeline) and model[:-1].steps else X


def predict_means(model: Any, X: Any) -> NDArray[np.float64]:
    """Return means, also of forests that predict quantiles by default."""
    forest = get_forest(model)
    rows = forest._validate_X_predict(transform(model, X))
    means: NDArray[np.float64] = forest.forest_.predict(rows, forest._count_threads())[:, 0]
    return means
