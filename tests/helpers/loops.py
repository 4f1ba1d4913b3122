"""The loop of fits that cross-validation stands for, with nothing shared and nothing encoded."""

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

ABSENT = {"predict_proba": 0.0, "predict_log_proba": np.finfo(np.float64).min}


def predict_by_fits(estimator, X, y, splits, method, params=None):
    """Return what `cross_val_predict` is to return: each fold is fitted to labels as they are.

    Probabilities have a column for each class, in the order of the sorted classes.
    """
    labels = np.asarray(y)
    classes = [np.unique(column) for column in labels.reshape(len(labels), -1).T]
    results = [np.full((len(labels), len(known)), ABSENT.get(method)) for known in classes]
    predicted = {}
    for train, test in splits:
        given = {name: _safe_indexing(value, train) for name, value in (params or {}).items()}
        fold = clone(estimator).fit(_safe_indexing(X, train), _safe_indexing(y, train), **given)
        found = getattr(fold, method)(_safe_indexing(X, test))
        if method not in ABSENT:
            predicted.update(zip(test.tolist(), found, strict=True))
            continue
        probas, own = (found, fold.classes_) if labels.ndim == 2 else ([found], [fold.classes_])
        for result, known, proba, present in zip(results, classes, probas, own, strict=True):
            result[np.ix_(test, np.searchsorted(known, present))] = proba
    if method not in ABSENT:
        return np.array([predicted[row] for row in range(len(labels))])
    return results[0] if labels.ndim == 1 else results
