"""Types of parameters that several estimators have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import IO, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Bootstrap: TypeAlias = bool | Literal["poisson"]
CategoryOrder: TypeAlias = Literal["auto", "node", "tree"]
ClassCriterion: TypeAlias = Literal["gini", "entropy", "log_loss"]
# A list of arrays for several outputs. A checker takes what both have, or an array alone.
# The names of strategies are imbalanced-learn's.
_ClassNames: TypeAlias = Literal["all", "auto", "majority", "not majority", "not minority"]
SamplesByClass: TypeAlias = _ClassNames | float | Mapping[Any, int] | Callable[[Any], Any]
Classes: TypeAlias = NDArray[Any] | Any
ColumnOrder: TypeAlias = Literal["ascending", "descending"]
ConformityScore: TypeAlias = Literal["lac", "aps"]
DependenceKind: TypeAlias = Literal["average", "individual", "both"]
ImportanceType: TypeAlias = Literal["permutation", "impurity"]
Interpolation: TypeAlias = Literal["linear", "lower", "higher", "midpoint", "nearest"]
LabelledNodes: TypeAlias = Literal["all", "root", "none"]
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
RankKind: TypeAlias = Literal["rank", "weak", "strict", "mean"]
ShadowImportance: TypeAlias = Literal["impurity", "corrected", "permutation"]
Splitter: TypeAlias = Literal["best", "random"]
SurvivalCriterion: TypeAlias = Literal["logrank", "logrank_fast"]
Sink: TypeAlias = str | PathLike[str] | IO[bytes]
Source: TypeAlias = str | PathLike[str] | IO[bytes] | bytes | bytearray | memoryview
Traversal: TypeAlias = Literal["auto", "batched", "single", "eager"]
