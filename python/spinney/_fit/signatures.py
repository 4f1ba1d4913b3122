"""The parameters that trees and forests share, with the defaults that most of them have.

A public class names its groups of parameters among its bases, and writes those that it alone has,
or gives another default. `with_parameters` makes its `__init__` of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any, Literal

from spinney._common.types import (
    Bootstrap,
    CategoryOrder,
    FeatureSampling,
    HandleUnknown,
    MaxFeatures,
    RandomState,
    Splitter,
    SurvivalCriterion,
    Traversal,
)
from spinney._fit.params import with_parameters


@with_parameters
class TreeParameters:
    """Of all trees and all forests of them."""

    max_depth: int | None = None
    min_samples_split: float = 2
    min_samples_leaf: float = 1
    min_weight_fraction_leaf: float = 0.0
    max_leaf_nodes: int | None = None
    n_jobs: int | None = None
    random_state: RandomState = None
    ccp_alpha: float = 0.0
    feature_sampling: FeatureSampling = "all"
    categorical_features: Any = None
    min_samples_category: int = 1
    handle_unknown: HandleUnknown = "ignore"
    interaction_cst: Any = None


@with_parameters
class ImpurityParameters(TreeParameters):
    """Of those that reduce an impurity, of classes or numbers."""

    min_impurity_decrease: float = 0.0
    monotonic_cst: Any = None


@with_parameters
class SurvivalParameters(TreeParameters):
    """Of those whose targets are times of events."""

    criterion: SurvivalCriterion = "logrank"
    min_samples_split: float = 6
    min_samples_leaf: float = 3
    low_memory: bool = False
    min_events_leaf: int | None = None
    cause: int | None = None


@with_parameters
class BoostingParameters(ImpurityParameters):
    """Of gradient boosting."""

    learning_rate: float = 0.1
    n_estimators: int = 100
    subsample: float = 1.0
    criterion: str = "deprecated"
    max_depth: int | None = 3
    init: Any = None
    max_features: MaxFeatures = None
    verbose: int = 0
    warm_start: bool = False
    validation_fraction: float = 0.1
    n_iter_no_change: int | None = None
    tol: float = 1e-4
    category_order: CategoryOrder = "auto"
    second_order: bool = False
    l2_regularization: float = 0.0


@with_parameters
class SurvivalBoostingParameters(BoostingParameters):
    """Of gradient boosting of times of events."""

    criterion: str = field(init=False)
    init: Any = field(init=False)
    cause: int | None = None
    dropout_rate: float = 0.0


@with_parameters
class HistogramParameters:
    """Of boosting with the names of scikit-learn's histogram boosting."""

    learning_rate: float = 0.1
    max_iter: int = 100
    max_leaf_nodes: int | None = 31
    max_depth: int | None = None
    min_samples_leaf: float = 20
    l2_regularization: float = 0.0
    max_features: float = 1.0
    max_bins: int | None = 255
    categorical_features: Any = "from_dtype"
    monotonic_cst: Any = None
    interaction_cst: Any = None
    warm_start: bool = False
    early_stopping: bool | Literal["auto"] = "auto"
    scoring: str | Callable[..., Any] | None = "loss"
    validation_fraction: float | None = 0.1
    n_iter_no_change: int = 10
    tol: float = 1e-7
    verbose: int = 0
    random_state: RandomState = None
    n_jobs: int | None = None
    handle_unknown: HandleUnknown = "ignore"


@with_parameters
class BaggedParameters:
    """Of all forests."""

    n_estimators: int = field(default=100, kw_only=False)
    bootstrap: Bootstrap = True
    verbose: int = 0
    max_samples: float | None = None


@with_parameters
class GrownParameters(BaggedParameters):
    """Of forests that store their trees."""

    oob_score: bool | str | Callable[..., Any] = False
    warm_start: bool = False


@with_parameters
class HonestParameters(GrownParameters):
    """Of grown forests whose trees may be honest, and share halves of the samples."""

    honest: bool = False
    honest_fraction: float = 0.5
    subforest_size: int | None = None


@with_parameters
class LazyParameters(BaggedParameters):
    """Of forests that grow what a prediction needs."""

    splitter: Splitter = "best"
    traversal: Traversal = "auto"
    replace: bool = True
    category_order: CategoryOrder = "auto"
