"""Types of parameters that several estimators have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

Bootstrap: TypeAlias = bool | Literal["poisson"]
CategoryOrder: TypeAlias = Literal["auto", "node", "tree"]
ClassCriterion: TypeAlias = Literal["gini", "entropy", "log_loss"]
NumberCriterion: TypeAlias = Literal[
    "squared_error", "absolute_error", "quantile", "poisson", "friedman_mse"
]
_Weights: TypeAlias = Mapping[Any, float] | Sequence[Mapping[Any, float]]
ClassWeight: TypeAlias = _Weights | Literal["balanced"] | None
ForestClassWeight: TypeAlias = _Weights | Literal["balanced", "balanced_subsample"] | None
FeatureSampling: TypeAlias = Literal["all", "active"]
HandleUnknown: TypeAlias = Literal["ignore", "error"]
MaxFeatures: TypeAlias = float | Literal["sqrt", "log2"] | None
RandomState: TypeAlias = int | np.integer[Any] | np.random.RandomState | None
Splitter: TypeAlias = Literal["best", "random"]
SurvivalCriterion: TypeAlias = Literal["logrank", "logrank_fast"]
Traversal: TypeAlias = Literal["auto", "batched", "single", "eager"]
