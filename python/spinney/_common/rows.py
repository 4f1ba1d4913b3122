"""Rows of whatever scikit-learn's splitters take: arrays, matrices, frames, lists."""

# It has no public name, but scikit-learn keeps it for other packages.
from sklearn.utils import _safe_indexing as take_rows

__all__ = ["take_rows"]
