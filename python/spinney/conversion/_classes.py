"""Which class of scikit-learn a class of ours is known as."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sklearn.ensemble
import sklearn.tree

from spinney.storage._classes import list_classes


def list_counterparts() -> Iterator[tuple[Any, Any]]:
    """Yield the classes of ours that are virtual subclasses of scikit-learn's, and these.

    Quantile forests are known as the forests that predict their means.
    """
    theirs = [
        kind
        for module in (sklearn.tree, sklearn.ensemble)
        for kind in (getattr(module, name) for name in module.__all__)
        if isinstance(kind, type)
    ]
    for _, ours in list_classes():
        known = [kind for kind in theirs if issubclass(ours, kind)]
        if known:
            # An extra tree of scikit-learn is a decision tree, too.
            yield ours, max(known, key=lambda kind: len(kind.__mro__))
