"""Intervals and sets that hold: they cover as often as they say, whatever the data are."""

from spinney.conformal._cross import CrossConformalClassifier, CrossConformalRegressor
from spinney.conformal._jackknife import (
    JackknifeAfterBootstrapClassifier,
    JackknifeAfterBootstrapRegressor,
)
from spinney.conformal._quantile import ConformalizedQuantileRegressor

__all__ = [
    "ConformalizedQuantileRegressor",
    "CrossConformalClassifier",
    "CrossConformalRegressor",
    "JackknifeAfterBootstrapClassifier",
    "JackknifeAfterBootstrapRegressor",
]
