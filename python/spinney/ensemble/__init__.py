"""Forests: random forests, extra trees, and lazy forests, which predict without storing a tree."""

from spinney.ensemble._extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from spinney.ensemble._lazy import LazyForestClassifier, LazyForestRegressor
from spinney.ensemble._lazy_base import Exploration
from spinney.ensemble._random_forest import RandomForestClassifier, RandomForestRegressor

__all__ = [
    "Exploration",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "LazyForestClassifier",
    "LazyForestRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
]
