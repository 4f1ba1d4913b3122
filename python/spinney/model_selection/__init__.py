"""Cross-validation by scikit-learn's functions, in which folds share their work."""

from spinney.model_selection._functions import (
    cross_val_predict,
    cross_val_score,
    cross_validate,
)

__all__ = ["cross_val_predict", "cross_val_score", "cross_validate"]
