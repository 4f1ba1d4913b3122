"""Intervals and sets that cover new targets as often as they say, if samples are exchangeable."""

from spinney.conformal._cross import CrossConformalClassifier, CrossConformalRegressor
from spinney.conformal._jackknife import (
    JackknifeAfterBootstrapClassifier,
    JackknifeAfterBootstrapRegressor,
)
from spinney.conformal._quantile import ConformalizedQuantileRegressor
from spinney.conformal._split import SplitConformalClassifier, SplitConformalRegressor

__all__ = [
    "ConformalizedQuantileRegressor",
    "CrossConformalClassifier",
    "CrossConformalRegressor",
    "JackknifeAfterBootstrapClassifier",
    "JackknifeAfterBootstrapRegressor",
    "SplitConformalClassifier",
    "SplitConformalRegressor",
]
